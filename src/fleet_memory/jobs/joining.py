"""Equal words carried out: lessons join the entry of their words, or make one; candidates that may
are published.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.fenced_writer import FencedWriter
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.repositories.retrying import attempt_each, new_commit_id, retry_conflicts
from fleet_memory.repositories.snapshots import VersionedEntry
from fleet_memory.rules.deciding import entry_for, with_membership
from fleet_memory.rules.entries import (
    EntryChange,
    JoiningLesson,
    better_text,
    candidate_of,
    entry_state,
    keys_of,
    same_program,
    settled,
    under_policy,
    with_lesson,
)
from fleet_memory.rules.lifecycle.stamping import stamped
from fleet_memory.rules.proposing import EqualWords
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Program
from fleet_memory.stores import Write

MAINTAINER = "maintainer"  # how the ledger names a run
PROGRAMS_PER_JOIN: Final = 20  # chosen: a busy or large program delays no others
_PROGRAMS_TO_SPLIT: Final = 4  # two programs make an entry


class JoinedEntry(NamedTuple):
    """An entry after lessons joined it, and their programs; `echoes` of the lessons had no vote."""

    change: EntryChange
    programs: Sequence[Program] = ()
    echoes: int = 0


class JoinedGroup(NamedTuple):
    """An entry after a group joined it, None when nothing did, and the parts of the group that were
    skipped.
    """

    joined: JoinedEntry | None
    skipped: Sequence[EqualWords]


async def join_equal_words(
    fleet: Fleet, writer: FencedWriter, group: EqualWords, policy: Policy
) -> JoinedGroup:
    """Let lessons of equal words join their entry, or make one: 20 programs a commit, fewer where
    one is skipped.

    Raises LeaseLostError. Billed 1 read for each program, 1 read for the key of each commit.
    """
    queue, skipped = deque(_parts(group, PROGRAMS_PER_JOIN)), list[EqualWords]()
    joined, key = None, group.key
    while queue:
        part = queue.popleft()._replace(key=key)
        attempts = await attempt_each(
            [part], lambda part: _join(fleet, writer, part, policy), name_of_group
        )
        programs = len({lesson.program_id for lesson in part.lessons})
        if attempts.skipped and programs > 1 and key is not None:
            queue += _parts(part, 1)
        elif attempts.skipped and programs >= _PROGRAMS_TO_SPLIT:
            queue += _parts(part, (programs + 1) // 2)
        elif attempts.skipped:
            skipped.append(part)
        for result in attempts.results:
            joined = _both(joined, result)
        if joined is not None and key is None:
            key = joined.change.entry.key
            queue += [each for group in skipped for each in _parts(group, 1)]
            skipped.clear()
    return JoinedGroup(joined, skipped)


def name_of_group(group: EqualWords) -> str:
    """Return the name of a group for people."""
    return f"entry {group.key}" if group.key else f"lesson {group.lessons[0].lesson_id}"


def _parts(group: EqualWords, size: int) -> list[EqualWords]:
    """Return the group in parts of so many programs."""
    names = sorted({lesson.program_id for lesson in group.lessons})
    shares = [set(names[start : start + size]) for start in range(0, len(names), size)]
    return [
        group._replace(lessons=[lesson for lesson in group.lessons if lesson.program_id in share])
        for share in shares
    ]


def _both(before: JoinedEntry | None, after: JoinedEntry | None) -> JoinedEntry | None:
    """Return two joins of one entry as one."""
    if before is None or after is None:
        return after or before
    change = after.change._replace(before=before.change.before)
    return JoinedEntry(change, [*before.programs, *after.programs], before.echoes + after.echoes)


async def _join(
    fleet: Fleet, writer: FencedWriter, group: EqualWords, policy: Policy
) -> JoinedEntry | None:
    """Let lessons join in one commit; None when they changed since, or the entry has gone."""

    async def attempt() -> JoinedEntry | None:
        names = sorted({lesson.program_id for lesson in group.lessons})
        versioned = dict(zip(names, await fleet.programs.read_many(*names), strict=True))
        lessons = _joining(group, versioned)
        if not lessons:
            return None
        if group.key is not None:
            keys = [group.key]
        else:
            keys = [*keys_of(candidate_of(better_text(lessons), policy))]
        entries = dict(zip(keys, await fleet.knowledge.read_versioned(*keys), strict=True))
        known = {key: each.entry for key, each in entries.items() if each.entry is not None}
        if group.key is not None and group.key not in known:
            return None
        if group.key is not None:
            entry = known[group.key]
        else:
            entry = entry_for(better_text(lessons), known, policy)
        joined, writes = _joined(fleet, policy, versioned, entries[entry.key], entry, lessons)
        await writer.commit(*writes)
        return joined

    return await retry_conflicts(attempt, f"entry {group.key or group.lessons[0].text[:40]}")


def _joining(group: EqualWords, versioned: Mapping[str, VersionedProgram]) -> list[JoiningLesson]:
    """Return the lessons of a group that are as they were compared; none where they make no entry
    any more.
    """
    joining = [
        JoiningLesson(lesson.program_id, pattern, "equal_words", shown=program.shown)
        for lesson in group.lessons
        for program in [versioned[lesson.program_id].program]
        if (pattern := program.patterns.get(lesson.lesson_id))
        and (pattern.words, pattern.knowledge_key) == (group.words, None)
    ]
    programs = {same_program(lesson.program_id) for lesson in joining}
    return joining if group.key is not None or len(programs) > 1 else []


def _joined(
    fleet: Fleet,
    policy: Policy,
    versioned: Mapping[str, VersionedProgram],
    before: VersionedEntry,
    entry: Entry,
    lessons: Sequence[JoiningLesson],
) -> tuple[JoinedEntry, list[Write]]:
    """Return the entry with the lessons, and the writes of it and of their programs."""
    now, echoes = fleet.now(), 0
    programs = {name: program.program for name, program in versioned.items()}
    text = better_text(lessons) if before.entry is None else None
    for lesson in lessons:
        outcome = with_lesson(entry, lesson._replace(basis="text") if lesson is text else lesson)
        entry, echoes = outcome.entry, echoes + outcome.echo
        name = lesson.program_id
        programs[name] = with_membership(
            programs[name], lesson.pattern.id, entry.key, echo=outcome.echo
        )
    final = settled(before.entry, entry, policy, now)
    writes = fleet.knowledge.writes(
        before,
        final,
        by=MAINTAINER,
        why="equal words",
        now=now,
        commit_id=new_commit_id(),
        patterns=tuple(f"{lesson.program_id}/{lesson.pattern.id}" for lesson in lessons),
    )
    changed: list[Program] = []
    for name, program in programs.items():
        after = stamped(versioned[name].program, program, now)
        writes += fleet.programs.writes(versioned[name], after)
        if after is not versioned[name].program:
            changed.append(after)
    return JoinedEntry(_change(before.entry, final, now), changed, echoes), writes


def _change(before: Entry | None, after: Entry, now: datetime) -> EntryChange:
    return EntryChange(after, entry_state(before, now) if before else None, entry_state(after, now))


async def publish_candidates(
    fleet: Fleet, writer: FencedWriter, candidates: Sequence[VersionedEntry], policy: Policy
) -> list[JoinedEntry]:
    """Publish the candidates that reach the policy's threshold now; one that somebody changes
    meanwhile waits.

    Raises LeaseLostError.
    """
    published: list[JoinedEntry] = []
    for versioned in candidates:
        now, entry = fleet.now(), versioned.entry
        if entry is None or (after := under_policy(entry, policy)) is entry:
            continue
        final = settled(entry, after, policy, now)
        if entry_state(final, now) == "candidate":
            continue
        why, id_ = "reached the threshold", new_commit_id()
        writes = fleet.knowledge.writes(
            versioned, final, by=MAINTAINER, why=why, now=now, commit_id=id_
        )
        if await writer.try_commit(*writes):
            published.append(JoinedEntry(_change(entry, final, now)))
    return published
