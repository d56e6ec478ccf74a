"""Carrying out what consolidation decided: each promotion and each attachment is one atomic commit under the lease."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from fleet_memory.errors import ConflictError
from fleet_memory.rules.consolidation import Group
from fleet_memory.rules.keys import text_hash
from fleet_memory.rules.promotion import Waiting, attached, entry_of, independent_origins, is_echo, returned
from fleet_memory.schemas.knowledge import Entry, LedgerEvent, LedgerLine
from fleet_memory.schemas.patterns import Pattern, Verdict
from fleet_memory.schemas.programs import Archived, Program
from fleet_memory.stores import Write
from fleet_memory.stores.knowledge import HeldEntry, Knowledge
from fleet_memory.stores.leases import Lease, refreshed
from fleet_memory.stores.programs import Held, Programs

BY: Final = "consolidation"
_MOST_RACES: Final = 20


class Change(NamedTuple):
    """A program after consolidation touched it; nothing is archived."""

    program: Program
    archived: tuple[Archived, ...] = ()


class Attached(NamedTuple):
    """An entry after a lesson met it; `echo` when the lesson confirmed it without a vote."""

    entry: Entry
    echo: bool


class Promotions:
    """The hands of one consolidation; every commit carries the fence of its lease. Without one nothing is written."""

    def __init__(
        self,
        programs: Programs,
        knowledge: Knowledge,
        lease: Lease | None = None,
        until: Callable[[], datetime | None] = lambda: None,
    ) -> None:
        self._programs = programs
        self._knowledge = knowledge
        self.lease = lease
        self._until = until  # every commit moves the lease's end there
        self._imagined: dict[str, Entry] = {}  # what a dry run would have written, so that its answers add up

    async def promote(self, lessons: Sequence[Waiting], group: Group, *, now: datetime) -> Entry | None:
        """Make a group knowledge: the entry, the mark on every contributor and the ledger line, or nothing of it.

        Returns None when a lesson changed meanwhile: the next run decides anew. Raises ConflictError when the lease
        was lost.
        """
        members = [lessons[position] for position in group.members]
        for _ in range(_MOST_RACES):
            held = await self._programs.hold(*(lesson.program_id for lesson in members))
            if not _still_so(held, members):
                return None
            before, entry, event = await self._entry(lessons, group, now)
            line = LedgerLine(event=event, key=entry.key, at=now, by=BY, why=group.explain, patterns=_names(members))
            marks = [
                write for one, lesson in zip(held, members, strict=True) for write in self._mark(one, lesson, entry.key)
            ]
            if await self._committed(entry, *self._knowledge.writes(before, entry, line), *marks):
                return entry
        raise ConflictError(f"The contributors of {group.text!r} are being written without a pause; call again later.")

    async def attach(self, lesson: Waiting, key: str, similarity: float, *, now: datetime) -> Attached | None:
        """Attach a lesson to an entry: a contributor if its origin is independent, else an echo that confirms.

        Returns None when the lesson or the entry changed meanwhile. Raises ConflictError when the lease was lost.
        """
        for _ in range(_MOST_RACES):
            held = (await self._programs.hold(lesson.program_id))[0]
            before = await self._held_entry(key)
            if before.entry is None or before.entry.status == "retired" or not _still_so([held], [lesson]):
                return None
            echo = not _independent(before.entry, lesson)
            entry = _confirmed(before.entry, lesson) if echo else attached(before.entry, lesson, similarity, now=now)
            event: LedgerEvent = "confirmed" if echo else "attached"
            why = "echo: no vote" if echo else f"cosine {similarity:.2f}"
            line = LedgerLine(event=event, key=key, at=now, by=BY, why=why, patterns=_names([lesson]))
            writes = self._knowledge.writes(before, entry, line)
            if await self._committed(entry, *writes, *self._mark(held, lesson, key, echo=echo)):
                return Attached(entry, echo)
        raise ConflictError(f"{key} is being written without a pause; call again later.")

    async def consider(self, program_id: str, patterns: Sequence[Pattern]) -> None:
        """Record that these patterns were considered, with their vectors; one that changed meanwhile stays pending."""
        await self._programs.update(program_id, lambda program: considered(program, patterns))

    async def judge(self, program_id: str, pattern_id: str, other: str, verdict: Verdict) -> None:
        """Record a verdict about a program's pattern and the lesson whose text hash is `other`."""
        await self._programs.update(program_id, lambda program: judged(program, pattern_id, other, verdict))

    async def publish(self, *, now: datetime) -> None:
        """Bring the snapshot that boot reads up to date; an entry that moves meanwhile makes it start over."""
        for _ in range(_MOST_RACES):
            if self.lease is None:
                return
            try:
                await self._knowledge.publish(self.lease.guard(self._until()), now=now)
            except ConflictError:
                self.lease = await refreshed(self._knowledge.store, self.lease)
                continue
            self.lease = await refreshed(self._knowledge.store, self.lease)
            return
        raise ConflictError("Entries are being written without a pause; the snapshot follows with the next run.")

    async def _entry(
        self, lessons: Sequence[Waiting], group: Group, now: datetime
    ) -> tuple[HeldEntry, Entry, LedgerEvent]:
        """Return the entry to write and what its key holds: nothing, or a retired entry of the same words."""
        members = [lessons[position] for position in group.members]
        text = group.members.index(group.text)
        entry = entry_of(members, text, group.similarities, now=now)
        before = await self._held_entry(entry.key)
        if before.entry is None:
            return before, entry, "promoted"
        if before.entry.status == "retired" and text_hash(before.entry.value.pattern) == text_hash(entry.value.pattern):
            return before, returned(before.entry, entry), "returned"
        entry = entry_of(members, text, group.similarities, now=now, taken=[entry.key])
        return await self._held_entry(entry.key), entry, "promoted"

    def _mark(self, held: Held, lesson: Waiting, key: str, *, echo: bool = False) -> list[Write]:
        program, id_ = held.program, lesson.pattern.id
        marked = program.patterns[id_].changed(knowledge_key=key, echo=echo)
        after = program.changed(
            patterns={**program.patterns, id_: marked}, pending=tuple(name for name in program.pending if name != id_)
        )
        return self._programs.writes(held, after)

    async def _held_entry(self, key: str) -> HeldEntry:
        held = (await self._knowledge.hold(key))[0]
        return HeldEntry(self._imagined.get(key, held.entry), held.document)

    async def _committed(self, entry: Entry, *writes: Write) -> bool:
        """Commit under the fence. False when somebody else wrote first; raises ConflictError when the lease is lost."""
        if self.lease is None:
            self._imagined[entry.key] = entry
            return True
        try:
            await self._knowledge.store.commit(self.lease.guard(self._until()), *writes)
        except ConflictError:
            self.lease = await refreshed(self._knowledge.store, self.lease)
            return False
        self.lease = await refreshed(self._knowledge.store, self.lease)
        return True


def considered(program: Program, patterns: Sequence[Pattern]) -> Change:
    """Return the program without these patterns pending, and with their vectors where they were made anew."""
    changed, done = {}, set()
    for seen in patterns:
        pattern = program.patterns.get(seen.id)
        if pattern is not None and (pattern.pattern, pattern.domain) == (seen.pattern, seen.domain):
            done.add(seen.id)
            if pattern.embedder != seen.embedder:
                changed[seen.id] = pattern.changed(vector=seen.vector, embedder=seen.embedder)
    pending = tuple(id_ for id_ in program.pending if id_ not in done)
    if pending == program.pending and not changed:
        return Change(program)
    return Change(program.changed(patterns={**program.patterns, **changed}, pending=pending))


def judged(program: Program, pattern_id: str, other: str, verdict: Verdict) -> Change:
    """Return the program with a verdict about one of its patterns and the text hash `other`."""
    pattern = program.patterns.get(pattern_id)
    if pattern is None or pattern.verdicts.get(other) == verdict:
        return Change(program)
    marked = pattern.changed(verdicts={**pattern.verdicts, other: verdict})
    return Change(program.changed(patterns={**program.patterns, pattern_id: marked}))


def _still_so(held: Sequence[Held], lessons: Sequence[Waiting]) -> bool:
    def same(one: Held, lesson: Waiting) -> bool:
        now, then = one.program.patterns.get(lesson.pattern.id), lesson.pattern
        return (
            now is not None and now.knowledge_key is None and (now.pattern, now.domain) == (then.pattern, then.domain)
        )

    return all(same(one, lesson) for one, lesson in zip(held, lessons, strict=True))


def _independent(entry: Entry, lesson: Waiting) -> bool:
    if lesson.program_id in entry.value.contributors or is_echo(lesson.pattern, entry.since):
        return False
    before = [(line.program_id, line.session_id) for line in entry.provenance]
    return independent_origins([*before, (lesson.program_id, lesson.pattern.session_id)]) > independent_origins(before)


def _confirmed(entry: Entry, lesson: Waiting) -> Entry:
    return entry.changed(
        last_confirmed=max(entry.last_confirmed, lesson.pattern.last_reinforced),
        version=entry.version + 1,
        unpublished=True,
    )


def _names(lessons: Sequence[Waiting]) -> tuple[str, ...]:
    return tuple(f"{lesson.program_id}/{lesson.pattern.id}" for lesson in lessons)
