"""Equal words carried out: lessons join the entry of their words, or make one; candidates that may
are published.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Final, NamedTuple

from fleet_memory.errors import ConflictError, StoreRejectedError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.fenced_writer import FencedWriter
from fleet_memory.repositories.commits import new_commit_id
from fleet_memory.repositories.entry_codec import VersionedEntry
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.repositories.retrying import attempt_each, retry_conflicts
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
from fleet_memory.schemas.value import InvalidValueError
from fleet_memory.stores import Write

MAINTAINER = "maintainer"  # how the ledger names a run
PROGRAMS_PER_JOIN: Final = 20  # chosen: a busy or large program delays no others
GROUPS_PER_JOIN: Final = 10  # entries of one commit, for which a call waits; chosen
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


def in_commits(groups: Iterable[EqualWords]) -> list[list[EqualWords]]:
    """Return the groups to join in one commit each, those of the same programs together: each is
    read less often.
    """
    named = [(sorted({lesson.program_id for lesson in group.lessons}), group) for group in groups]
    commits: list[list[EqualWords]] = []
    programs: set[str] = set()
    for names, group in sorted(named, key=lambda item: item[0]):
        fits = (
            commits
            and len(commits[-1]) < GROUPS_PER_JOIN
            and len(programs | set(names)) <= PROGRAMS_PER_JOIN
        )
        programs = programs | set(names) if fits else set(names)
        if fits:
            commits[-1].append(group)
        else:
            commits.append([group])
    return commits


async def join_together(
    fleet: Fleet, writer: FencedWriter, groups: Sequence[EqualWords], policy: Policy
) -> list[JoinedGroup]:
    """Let groups join in one commit; where that fails, and where two of them meet in one entry,
    each in its own.

    Raises LeaseLostError. Billed 1 read for each program, 1 read for the keys of each group.
    """
    joined: Sequence[JoinedGroup | None] = [None] * len(groups)
    if len(groups) > 1:
        with suppress(ConflictError, StoreRejectedError, InvalidValueError):
            joined = await _join_once(fleet, writer, groups, policy)
    return [
        joined_group or await join_equal_words(fleet, writer, group, policy)
        for group, joined_group in zip(groups, joined, strict=True)
    ]


async def join_equal_words(
    fleet: Fleet, writer: FencedWriter, group: EqualWords, policy: Policy
) -> JoinedGroup:
    """Let lessons of equal words join their entry, or make one: 20 programs a commit, fewer where
    one is skipped.

    Raises LeaseLostError. Billed 1 read for each program, 1 read for the key of each commit.
    """
    queue, skipped, joined, key = (
        deque(_parts(group, PROGRAMS_PER_JOIN)),
        list[EqualWords](),
        None,
        group.key,
    )
    while queue:
        part = queue.popleft()._replace(key=key)
        attempts = await attempt_each(
            [part], lambda part: _join_part(fleet, writer, part, policy), name_of_group
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


async def _join_part(
    fleet: Fleet, writer: FencedWriter, group: EqualWords, policy: Policy
) -> JoinedEntry | None:
    """Let lessons join in one commit; None when they changed since."""
    attempt = partial(_join_once, fleet, writer, [group], policy)
    (only,) = await retry_conflicts(attempt, f"entry {group.key or group.lessons[0].text[:40]}")
    return only.joined if only else None


async def _join_once(
    fleet: Fleet, writer: FencedWriter, groups: Sequence[EqualWords], policy: Policy
) -> list[JoinedGroup | None]:
    """Commit the joins of groups; None for each whose entry another of them has changed in this
    commit.
    """
    names = sorted({lesson.program_id for group in groups for lesson in group.lessons})
    versioned = dict(zip(names, await fleet.programs.read_many(*names), strict=True))
    joining = [_joining(group, versioned) for group in groups]
    keys = [_keys(group, lessons, policy) for group, lessons in zip(groups, joining, strict=True)]
    every = [*dict.fromkeys(key for each in keys for key in each)]
    entries = (
        dict(zip(every, await fleet.knowledge.read_versioned(*every), strict=True)) if every else {}
    )
    join = _Join(
        fleet, policy, versioned, {name: program.program for name, program in versioned.items()}
    )
    for group, lessons, each in zip(groups, joining, keys, strict=True):
        join.add(group, lessons, {key: entries[key] for key in each})
    return await join.commit(writer)


def _joining(group: EqualWords, versioned: Mapping[str, VersionedProgram]) -> list[JoiningLesson]:
    """Return the lessons of a group that are as they were compared; none where they make no entry
    any more.
    """
    joining = [
        JoiningLesson(
            lesson.program_id,
            pattern,
            "equal_words",
            shown=versioned[lesson.program_id].program.shown,
        )
        for lesson in group.lessons
        if (pattern := versioned[lesson.program_id].program.patterns.get(lesson.lesson_id))
        and (pattern.words, pattern.knowledge_key) == (group.words, None)
    ]
    if (
        group.key is None
        and len({same_program(joining_lesson.program_id) for joining_lesson in joining}) < 2
    ):
        return []
    return joining


def _keys(group: EqualWords, joining: Sequence[JoiningLesson], policy: Policy) -> list[str]:
    if not joining:
        return []
    return (
        [group.key]
        if group.key is not None
        else [*keys_of(candidate_of(better_text(joining), policy))]
    )


@dataclass
class _Join:
    """Lessons about to join entries in one commit: the programs as they were read and as they shall
    be.
    """

    fleet: Fleet
    policy: Policy
    versioned: Mapping[str, VersionedProgram]
    programs: dict[str, Program]
    joined: list[JoinedEntry | None] = field(default_factory=list)
    left: set[int] = field(default_factory=set)
    writes: list[Write] = field(default_factory=list)
    now: datetime = field(init=False)
    commit_id: str = field(default_factory=new_commit_id)

    def __post_init__(self) -> None:
        """Take the time of the commit."""
        self.now = self.fleet.now()

    def add(
        self,
        group: EqualWords,
        joining: Sequence[JoiningLesson],
        entries: Mapping[str, VersionedEntry],
    ) -> None:
        """Let lessons join the entry of their group, or make one; none where the entry has gone
        since.
        """
        known = {
            key: versioned.entry
            for key, versioned in entries.items()
            if versioned.entry is not None
        }
        if not joining or (group.key is not None and group.key not in known):
            self.joined.append(None)
            return
        entry = (
            known[group.key]
            if group.key is not None
            else entry_for(better_text(joining), known, self.policy)
        )
        if any(
            joined_entry is not None and joined_entry.change.entry.key == entry.key
            for joined_entry in self.joined
        ):
            self.left.add(len(self.joined))
            self.joined.append(None)
        else:
            self.joined.append(self._joined(entries[entry.key], entry, joining))

    def _joined(
        self, before: VersionedEntry, entry: Entry, lessons: Sequence[JoiningLesson]
    ) -> JoinedEntry:
        echoes = 0
        text = better_text(lessons) if before.entry is None else None
        for lesson in lessons:
            outcome = with_lesson(
                entry, lesson._replace(basis="text") if lesson is text else lesson
            )
            entry, echoes = outcome.entry, echoes + outcome.echo
            program = self.programs[lesson.program_id]
            marked = with_membership(program, lesson.pattern.id, entry.key, echo=outcome.echo)
            self.programs[lesson.program_id] = marked
        final = settled(before.entry, entry, self.policy, self.now)
        places = tuple(f"{lesson.program_id}/{lesson.pattern.id}" for lesson in lessons)
        self.writes += self.fleet.knowledge.writes(
            before,
            final,
            by=MAINTAINER,
            why="equal words",
            now=self.now,
            commit_id=self.commit_id,
            patterns=places,
        )
        state = entry_state(before.entry, self.now) if before.entry else None
        return JoinedEntry(EntryChange(final, state, entry_state(final, self.now)), (), echoes)

    async def commit(self, writer: FencedWriter) -> list[JoinedGroup | None]:
        """Write the entries and the programs; return the joined entries, None for groups that must
        join alone.
        """
        after = {
            name: stamped(self.versioned[name].program, program, self.now)
            for name, program in self.programs.items()
        }
        for name, program in after.items():
            self.writes += self.fleet.programs.writes(self.versioned[name], program)
        if self.writes:
            await writer.commit(*self.writes)
        changed = [
            program
            for name, program in after.items()
            if program is not self.versioned[name].program
        ]
        first = next(
            (at for at, joined_entry in enumerate(self.joined) if joined_entry is not None), None
        )
        return [
            None
            if at in self.left
            else JoinedGroup(
                joined_entry._replace(programs=changed)
                if joined_entry is not None and at == first
                else joined_entry,
                (),
            )
            for at, joined_entry in enumerate(self.joined)
        ]


async def publish_candidates(
    fleet: Fleet, writer: FencedWriter, candidates: Sequence[VersionedEntry], policy: Policy
) -> list[JoinedEntry]:
    """Publish the candidates that reach the policy's threshold now; one that somebody changes
    meanwhile waits.

    Raises LeaseLostError.
    """
    published: list[JoinedEntry] = []
    for versioned in candidates:
        now = fleet.now()
        if (
            versioned.entry is None
            or (after := under_policy(versioned.entry, policy)) is versioned.entry
        ):
            continue
        final = settled(versioned.entry, after, policy, now)
        if entry_state(final, now) == "candidate":
            continue
        writes = fleet.knowledge.writes(
            versioned,
            final,
            by=MAINTAINER,
            why="reached the threshold",
            now=now,
            commit_id=new_commit_id(),
        )
        if await writer.try_commit(*writes):
            published.append(JoinedEntry(EntryChange(final, "candidate", entry_state(final, now))))
    return published
