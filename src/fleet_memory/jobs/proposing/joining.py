"""Equal words carried out: lessons join the entry of their words, or make one; candidates that may are published."""

import uuid
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.fenced_writer import FencedWriter
from fleet_memory.repositories.entry_codec import VersionedEntry
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.repositories.retrying import attempt_each, retry_conflicts
from fleet_memory.rules.consensus.deciding import entry_for, with_membership
from fleet_memory.rules.consensus.equal_words import EqualWords
from fleet_memory.rules.knowledge.entries import (
    JoiningLesson,
    better_text,
    candidate_of,
    keys_of,
    settled,
    under_policy,
    with_lesson,
)
from fleet_memory.rules.knowledge.state import EntryChange, entry_state
from fleet_memory.rules.knowledge.votes import same_program
from fleet_memory.rules.lifecycle.stamping import stamped
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Program

MAINTAINER = "maintainer"  # how the ledger names a run
PROGRAMS_PER_JOIN: Final = 20  # chosen, as in a stamping commit: a busy or large one delays no others
_PROGRAMS_TO_SPLIT: Final = 4  # two programs make an entry


class JoinedEntry(NamedTuple):
    """An entry after lessons joined it, and their programs; `echoes` of the lessons had no vote."""

    change: EntryChange
    programs: Sequence[Program] = ()
    echoes: int = 0


class JoinedGroup(NamedTuple):
    """An entry after a group joined it, None when nothing did, and the parts of the group that were skipped."""

    joined: JoinedEntry | None
    skipped: Sequence[EqualWords]


async def join_equal_words(fleet: Fleet, writer: FencedWriter, group: EqualWords, policy: Policy) -> JoinedGroup:
    """Let lessons of equal words join their entry, or make one: 20 programs a commit, fewer where one is skipped.

    Raises LeaseLostError. Billed 1 read for each program, 1 read for the key of each commit.
    """
    queue, skipped, joined, key = deque(_parts(group, PROGRAMS_PER_JOIN)), list[EqualWords](), None, group.key
    while queue:
        part = queue.popleft()._replace(key=key)
        attempts = await attempt_each([part], lambda one: _join_part(fleet, writer, one, policy), name_of_group)
        programs = len({lesson.program_id for lesson in part.lessons})
        if attempts.skipped and programs > 1 and key is not None:
            queue += _parts(part, 1)
        elif attempts.skipped and programs >= _PROGRAMS_TO_SPLIT:
            queue += _parts(part, (programs + 1) // 2)
        elif attempts.skipped:
            skipped.append(part)
        for one in attempts.results:
            joined = _both(joined, one)
        if joined is not None and key is None:
            key = joined.change.entry.key
            queue += [each for one in skipped for each in _parts(one, 1)]
            skipped.clear()
    return JoinedGroup(joined, skipped)


def name_of_group(group: EqualWords) -> str:
    """Return the name of a group for people."""
    return f"entry {group.key}" if group.key else f"lesson {group.lessons[0].lesson_id}"


def _parts(group: EqualWords, size: int) -> list[EqualWords]:
    """Return the group in parts of so many programs."""
    names = sorted({lesson.program_id for lesson in group.lessons})
    shares = [set(names[start : start + size]) for start in range(0, len(names), size)]
    return [group._replace(lessons=[one for one in group.lessons if one.program_id in share]) for share in shares]


def _both(before: JoinedEntry | None, after: JoinedEntry | None) -> JoinedEntry | None:
    """Return two joins of one entry as one."""
    if before is None or after is None:
        return after or before
    change = after.change._replace(before=before.change.before)
    return JoinedEntry(change, [*before.programs, *after.programs], before.echoes + after.echoes)


async def _join_part(fleet: Fleet, writer: FencedWriter, group: EqualWords, policy: Policy) -> JoinedEntry | None:
    """Let lessons join in one commit; None when they changed since."""
    attempt = partial(_join_once, fleet, writer, group, policy)
    return await retry_conflicts(attempt, f"entry {group.key or group.lessons[0].text[:40]}")


async def _join_once(fleet: Fleet, writer: FencedWriter, group: EqualWords, policy: Policy) -> JoinedEntry | None:
    names = sorted({lesson.program_id for lesson in group.lessons})
    versioned = dict(zip(names, await fleet.programs.read_versioned(*names), strict=True))
    joining = [
        JoiningLesson(lesson.program_id, pattern, "equal_words", shown=versioned[lesson.program_id].program.shown)
        for lesson in group.lessons
        if (pattern := versioned[lesson.program_id].program.patterns.get(lesson.lesson_id))
        and (pattern.words, pattern.knowledge_key) == (group.words, None)
    ]
    if not joining or (group.key is None and len({same_program(one.program_id) for one in joining}) < 2):
        return None
    entries = await _entries(fleet, group, joining, policy)
    known = {key: one.entry for key, one in entries.items() if one.entry is not None}
    if group.key is not None and group.key not in known:
        return None
    entry = known[group.key] if group.key is not None else entry_for(better_text(joining), known, policy)
    return await _commit(fleet, writer, _Join(entries[entry.key], entry, joining, versioned), policy)


async def _entries(
    fleet: Fleet, group: EqualWords, joining: Sequence[JoiningLesson], policy: Policy
) -> dict[str, VersionedEntry]:
    keys = [group.key] if group.key is not None else [*keys_of(candidate_of(better_text(joining), policy))]
    return dict(zip(keys, await fleet.knowledge.read_versioned(*keys), strict=True))


class _Join(NamedTuple):
    """Lessons about to join an entry, and the documents as they were read."""

    before: VersionedEntry
    entry: Entry
    lessons: Sequence[JoiningLesson]
    programs: dict[str, VersionedProgram]


async def _commit(fleet: Fleet, writer: FencedWriter, join: _Join, policy: Policy) -> JoinedEntry:
    now, commit_id, entry = fleet.now(), uuid.uuid4().hex, join.entry
    after = {name: one.program for name, one in join.programs.items()}
    echoes = 0
    text = better_text(join.lessons) if join.before.entry is None else None
    for lesson in join.lessons:
        outcome = with_lesson(entry, lesson._replace(basis="text") if lesson is text else lesson)
        entry, echoes = outcome.entry, echoes + outcome.echo
        program = after[lesson.program_id]
        after[lesson.program_id] = with_membership(program, lesson.pattern.id, entry.key, echo=outcome.echo)
    final = settled(join.before.entry, entry, policy, now)
    stamped_programs = {name: stamped(join.programs[name].program, program, now) for name, program in after.items()}
    places = tuple(f"{lesson.program_id}/{lesson.pattern.id}" for lesson in join.lessons)
    writes = fleet.knowledge.writes(
        join.before, final, by=MAINTAINER, why="equal words", now=now, commit_id=commit_id, patterns=places
    )
    for name, program in stamped_programs.items():
        writes += fleet.programs.writes(join.programs[name], program)
    await writer.commit(*writes)
    before = entry_state(join.before.entry, now) if join.before.entry else None
    return JoinedEntry(EntryChange(final, before, entry_state(final, now)), list(stamped_programs.values()), echoes)


async def publish_candidates(
    fleet: Fleet, writer: FencedWriter, candidates: Sequence[VersionedEntry], policy: Policy
) -> list[JoinedEntry]:
    """Publish the candidates that reach the policy's threshold now; one that somebody changes meanwhile waits.

    Raises LeaseLostError.
    """
    published: list[JoinedEntry] = []
    for versioned in candidates:
        now = fleet.now()
        if versioned.entry is None or (after := under_policy(versioned.entry, policy)) is versioned.entry:
            continue
        final = settled(versioned.entry, after, policy, now)
        if entry_state(final, now) == "candidate":
            continue
        writes = fleet.knowledge.writes(
            versioned, final, by=MAINTAINER, why="reached the threshold", now=now, commit_id=uuid.uuid4().hex
        )
        if await writer.try_commit(*writes):
            published.append(JoinedEntry(EntryChange(final, "candidate", entry_state(final, now))))
    return published
