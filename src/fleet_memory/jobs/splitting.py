"""Takes one contribution out of an entry for good: its lesson is not the same as the entry's
text.
"""

from dataclasses import replace
from typing import NamedTuple

from fleet_memory.errors import InvalidArgumentError, KnowledgeNotFoundError, UnknownNameError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.curation import clean_text, commit_entry
from fleet_memory.jobs.publishing import publish_now
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.rules.curating import parted
from fleet_memory.rules.deciding import with_membership
from fleet_memory.rules.entries import entry_state, same_program, settled, without_lesson
from fleet_memory.rules.lifecycle.stamping import stamped
from fleet_memory.rules.text.keys import pair_id, text_hash
from fleet_memory.schemas.knowledge import Contribution, Entry, EntryState
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Program
from fleet_memory.stores import Write


class SplitEntry(NamedTuple):
    """An entry without the contribution that left it, and the lesson that made it."""

    key: str
    state: EntryState
    program_id: str
    pattern_id: str


async def split_entry(
    fleet: Fleet, key: str, program_id: str, pattern_id: str | None, why: str
) -> SplitEntry:
    """Take a program's contribution out of an entry, and publish; the two texts stay apart for
    good.

    The lesson is compared with others again. `pattern_id` is needed where the program contributes
    several lessons. Raises KnowledgeNotFoundError, ForbiddenError unless the caller may curate,
    ConflictError when every race was lost, InvalidArgumentError when there is no such contribution,
    several, or one of the entry's own words. Billed at most 4R 5W, and the publication.
    """
    fleet.caller.require_curation()
    why = await clean_text(fleet, "--why", why)
    await fleet.knowledge.found(key, hidden=True)
    policy = await fleet.policies.read(fleet.now())

    async def attempt() -> SplitEntry:
        return await _split_once(fleet, key, (program_id, pattern_id), policy, why)

    split = await retry_conflicts(attempt, f"entry {key}")
    await publish_now(fleet)
    return split


async def _split_once(
    fleet: Fleet, key: str, wanted: tuple[str, str | None], policy: Policy, why: str
) -> SplitEntry:
    now = fleet.now()
    (versioned,) = await fleet.knowledge.read_versioned(key)
    if versioned.entry is None:
        raise KnowledgeNotFoundError(key)
    line = _contribution(versioned.entry, *wanted)
    (author,) = await fleet.programs.read_versioned(line.program_id)
    after = settled(
        versioned.entry,
        without_lesson(versioned.entry, line.program_id, line.pattern_id),
        policy,
        now,
    )
    others = await _parting(fleet, versioned.entry, line, author.program, why)
    others += fleet.programs.writes(
        author, stamped(author.program, _freed(author.program, line, key), now)
    )
    await commit_entry(
        fleet,
        versioned,
        after,
        others,
        event="split",
        why=why,
        patterns=[f"{line.program_id}/{line.pattern_id}"],
    )
    return SplitEntry(key, entry_state(after, now), line.program_id, line.pattern_id)


def _contribution(entry: Entry, program_id: str, pattern_id: str | None) -> Contribution:
    """Return the contribution that people name. Raises InvalidArgumentError, which lists those
    there are.
    """
    name, words = same_program(program_id), text_hash(entry.value.pattern)
    theirs = [line for line in entry.provenance if same_program(line.program_id) == name]
    lines = [line for line in theirs if pattern_id in (None, line.pattern_id)]
    if not theirs:
        names = ", ".join(sorted({line.program_id for line in entry.provenance})) or "nobody"
        raise UnknownNameError(
            f"--program: {program_id} contributes nothing to {entry.key}; contributors: {names}"
        )
    if len(lines) != 1:
        ids = ", ".join(line.pattern_id for line in theirs)
        raise InvalidArgumentError(
            f"--pattern: name the one of {program_id}'s lessons in {entry.key} to take out: {ids}"
        )
    if text_hash(lines[0].pattern) == words:
        raise InvalidArgumentError(
            f"--program: {program_id}'s lesson has the words of {entry.key}, and equal words "
            "are the same. "
            "Run `fleet-memory reword` first, or `fleet-memory retire`."
        )
    return lines[0]


async def _parting(
    fleet: Fleet, entry: Entry, line: Contribution, program: Program, why: str
) -> list[Write]:
    """Return the writes that part the lesson, as it joined and as it is now, from the entry's
    text.
    """
    lesson = program.patterns.get(line.pattern_id)
    words = text_hash(entry.value.pattern)
    lines = {text_hash(line.pattern): line}
    if lesson is not None and lesson.knowledge_key == entry.key and lesson.words != words:
        lines[lesson.words] = replace(line, pattern=lesson.pattern, evidence=lesson.evidence)
    ids = {pair_id(words, other): each for other, each in lines.items()}
    known = await fleet.pairs.read(*ids)
    return [
        fleet.pairs.write(before, parted(before.pair, id_, entry, each, fleet.now(), why))
        for before, (id_, each) in zip(known, ids.items(), strict=True)
    ]


def _freed(program: Program, line: Contribution, key: str) -> Program:
    """Return the program with the lesson in no entry; the same object when it has left the memory,
    or this entry.
    """
    lesson = program.patterns.get(line.pattern_id)
    if lesson is None or lesson.knowledge_key != key:
        return program
    return with_membership(program, line.pattern_id, None)
