"""Shared knowledge for tests of jobs and commands: lessons of programs, and an entry that is made
of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.publishing import publish_now
from fleet_memory.repositories.retrying import commit_settled
from fleet_memory.repositories.snapshots import ABSENT_ENTRY
from fleet_memory.rules.entries import JoiningLesson, candidate_of, settled, with_lesson
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.rules.pairs import with_membership
from fleet_memory.rules.text.keys import pair_id, text_hash
from fleet_memory.schemas.knowledge import Basis, Entry
from fleet_memory.schemas.pairs import Pair, Side
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program

LOOK = "Look whether a task is still free before you claim it"
CHECK = "Check that nobody else has claimed a task before claiming it"
LATE = "A task may be taken by the time you claim it, so check again"
FREE = "Claim free tasks only"
TEXTS = {"basher": LOOK, "iso": CHECK, "sark": LATE, "ram": FREE}
"""Each program's lesson, in its own words; the first is the entry's text."""
KEY = "pattern/tasks/look-whether-task-still-free-before"


class Lesson(NamedTuple):
    """One program's lesson: whose, its text and its id."""

    program_id: str
    text: str
    id_: str = "open"


async def learnt(fleet: Fleet, program_id: str, text: str, id_: str = "mine") -> Pattern:
    """Store a lesson as it is, without a tool."""
    now = fleet.now()
    pattern = Pattern(
        id=id_,
        domain="tasks",
        pattern=text,
        confidence=0.8,
        evidence=f"{program_id} lost a day",
        discovered_at=now,
        last_reinforced=now,
        stored_at=now,
        words=text_hash(text),
    )

    def change(program: Program) -> ProgramChange:
        return ProgramChange(replace(program, patterns={**program.patterns, id_: pattern}))

    await fleet.programs.update(program_id, change, now)
    return pattern


async def shared_entry(fleet: Fleet, *program_ids: str, basis: Basis = "judged") -> Entry:
    """Let these programs learn their texts, make them one entry of the first one's text, and
    publish it.
    """
    policy, now = await fleet.policies.read(fleet.now()), fleet.now()
    lessons: list[JoiningLesson] = []
    for name in program_ids:
        pattern = await learnt(fleet, name, TEXTS[name])
        lessons.append(
            JoiningLesson(
                await fleet.programs.read(name),
                pattern,
                basis if lessons else "text",
                0.7 if lessons else 1.0,
            )
        )
    entry = candidate_of(lessons[0], policy)
    for lesson in lessons:
        entry = with_lesson(entry, lesson)
    entry = settled(None, entry, policy, now)
    writes = fleet.knowledge.writes(ABSENT_ENTRY, entry, by="judge", why="", now=now)
    await fleet.knowledge.store.commit(*writes)
    for name in program_ids:
        await fleet.programs.update(name, _joining(entry.key), now)
    await publish_now(fleet)
    return await fleet.knowledge.found(entry.key)


async def change_entry(
    fleet: Fleet, key: str, change: Callable[[Entry], Entry], *, by: str, why: str = ""
) -> Entry:
    """Change an entry in one commit with its ledger line, at the fleet's time."""
    (before,) = await fleet.knowledge.read_versioned(key)
    assert before.entry is not None
    after = change(before.entry)
    writes = fleet.knowledge.writes(before, after, by=by, why=why, now=fleet.now())
    await commit_settled(fleet.knowledge.store, *writes)
    return after


def _joining(key: str) -> Callable[[Program], ProgramChange]:
    def change(program: Program) -> ProgramChange:
        return ProgramChange(with_membership(program, "mine", key, is_member=True))

    return change


async def opened_pair(
    fleet: Fleet, one: Lesson, other: Lesson, *, margin: float = 0.5, steering: str = ""
) -> Pair:
    """Let two programs learn these lessons, and open the pair of them."""
    a, b = [_side(lesson, await learnt(fleet, *lesson)) for lesson in (one, other)]
    pair = Pair(
        pair_id=pair_id(text_hash(a.text), text_hash(b.text)),
        a=a,
        b=b,
        cosine=0.7,
        margin=margin,
        steering=steering,
        opened_at=fleet.now(),
    )
    (before,) = await fleet.pairs.read(pair.pair_id)
    await fleet.pairs.store.commit(fleet.pairs.write(before, pair))
    return pair


def _side(lesson: Lesson, pattern: Pattern) -> Side:
    return Side(
        program_id=lesson.program_id,
        pattern_id=pattern.id,
        domain=pattern.domain,
        text=pattern.pattern,
        evidence=pattern.evidence,
    )


async def published_keys(fleet: Fleet) -> Sequence[str]:
    """Return the keys that boot reads: of entries that are neither retired nor candidates."""
    rows = (await fleet.knowledge.snapshots.read()).rows
    return [row.key for row in rows if row.state not in ("retired", "candidate")]
