"""Equal words carried out: lessons join the entry of their words, or make one; candidates that may
are published.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.drafting import read_drafts
from fleet_memory.jobs.fenced_writer import FencedWriter
from fleet_memory.repositories.retrying import attempt_each
from fleet_memory.repositories.snapshots import VersionedEntry
from fleet_memory.rules.entries import (
    EntryChange,
    better_text,
    candidate_of,
    entry_change,
    entry_for,
    entry_state,
    in_order_of_time,
    keys_of,
    origin_of,
    settled,
    under_policy,
)
from fleet_memory.rules.pairs import joining_of, with_member
from fleet_memory.rules.standing import EqualWords
from fleet_memory.schemas.policy import Policy

MAINTAINER = "maintainer"  # how the ledger names a run
PROGRAMS_PER_JOIN: Final = 20  # chosen: a busy or large program delays no others


class JoinedEntry(NamedTuple):
    """An entry after lessons joined it, and their places.

    `key` is the entry that the lessons are in, which may be read through that of `change`.
    """

    change: EntryChange
    key: str = ""
    lessons: frozenset[tuple[str, str]] = frozenset()


class JoinedGroup(NamedTuple):
    """An entry after a group joined it, None when nothing did, and the parts of the group that were
    skipped.
    """

    joined: JoinedEntry | None
    skipped: Sequence[EqualWords]


async def join_equal_words(
    fleet: Fleet, writer: FencedWriter, group: EqualWords, policy: Policy
) -> JoinedGroup:
    """Let lessons of equal words join their entry, or make one: 20 programs a commit, and each
    alone where such a commit is refused.

    Raises LeaseLostError. Billed 1 read for each program, and 3 for the entry of each commit.
    """
    queue, joined, skipped = _parts(group, PROGRAMS_PER_JOIN), None, list[EqualWords]()
    while queue:
        part = queue.pop(0)._replace(key=joined.key if joined else group.key)
        attempts = await attempt_each(
            [part], lambda part: _join(fleet, writer, part, policy), name_of_group
        )
        alone = _parts(part, 1)
        if attempts.skipped and len(alone) > 1:
            queue += alone
        elif attempts.skipped:
            skipped.append(part)
        for result in attempts.results:
            joined = _both(joined, result)
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
    return JoinedEntry(change, after.key, before.lessons | after.lessons)


async def _join(
    fleet: Fleet, writer: FencedWriter, group: EqualWords, policy: Policy
) -> JoinedEntry | None:
    """Let lessons join in one commit; None when they changed since, or the entry has gone."""
    names = sorted({lesson.program_id for lesson in group.lessons})
    read = dict(zip(names, await fleet.programs.read_many(*names), strict=True))
    joining = in_order_of_time(
        joining_of(program, pattern)._replace(basis="equal_words")
        for lesson in group.lessons
        for program in [read[lesson.program_id].program]
        if (pattern := program.patterns.get(lesson.lesson_id)) and pattern.words == group.words
    )
    origins = {origin_of(lesson.program_id) for lesson in joining}
    if not joining or (group.key is None and len(origins) == 1 < len(names)):
        return None
    best = better_text(joining)
    fresh = candidate_of(best, policy, group.project_id)
    keys = keys_of(fresh) if group.key is None else [group.key]
    drafts = await read_drafts(fleet, keys, fleet.now(), read.values())
    known = drafts.documents.entries
    if group.key is not None and group.key not in known:
        return None
    named = known[group.key] if group.key is not None else entry_for(fresh, known)
    documents = drafts.documents.with_entry(named)
    for lesson in joining:
        is_text = named.key not in known and lesson is best
        joined = lesson._replace(basis="text") if is_text else lesson
        documents = with_member(documents, joined, named.key)
    drafts = replace(drafts, policy=policy).left_as(documents, "equal words")
    entry = drafts.documents.read_as(named.key)
    await writer.commit(*drafts.writes(fleet, MAINTAINER))
    lessons = frozenset((lesson.program_id, lesson.pattern.id) for lesson in joining)
    change = entry_change(drafts.entries[entry.key].entry, entry, drafts.now)
    return JoinedEntry(change, named.key, lessons)


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
        writes = fleet.knowledge.writes(
            versioned, final, by=MAINTAINER, why="reached the threshold", now=now
        )
        if await writer.try_commit(*writes):
            published.append(JoinedEntry(entry_change(versioned.entry, final, now)))
    return published
