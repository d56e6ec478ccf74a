"""The maintainer's run: it reads the changes, joins equal words, proposes pairs, and stamps the
programs.

It runs under the maintainer's lease. Killed anywhere it leaves whole promotions and whole pairs,
and the programs that it did not stamp wait for the next run. Long work runs in threads, so that
other calls of the server go on.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Final, NamedTuple

from anyio import to_thread

from fleet_memory.errors import ConflictError, EmbedderError, StoreRejectedError
from fleet_memory.fleet import Fleet, Progress
from fleet_memory.jobs.auditing import log_change
from fleet_memory.jobs.embedding import lesson_vectors
from fleet_memory.jobs.fenced_writer import FencedWriter
from fleet_memory.jobs.joining import (
    MAINTAINER,
    JoinedEntry,
    join_equal_words,
    name_of_group,
    publish_candidates,
)
from fleet_memory.jobs.judging import apply_stored
from fleet_memory.repositories.pairs import VersionedPair
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.repositories.programs import with_fitting_vectors
from fleet_memory.repositories.proposing_memory import (
    ProposingMemory,
    comparable_entry,
    comparable_lessons,
)
from fleet_memory.repositories.retrying import attempt_each, retry_conflicts
from fleet_memory.repositories.runs import VersionedLastRun
from fleet_memory.repositories.snapshots import VersionedEntry
from fleet_memory.rules.entries import is_empty
from fleet_memory.rules.pairs import (
    EntryText,
    Questions,
    Standing,
    closed,
    questions,
    renewed,
    with_thirds,
    with_unanswered,
)
from fleet_memory.rules.proposing import (
    MAX_OPEN_PER_PROGRAM,
    Comparison,
    EqualWords,
    chosen,
    equal_words,
)
from fleet_memory.rules.text.keys import pair_id
from fleet_memory.rules.text.steering import lesson_steering
from fleet_memory.rules.text.vectors import LessonVectors
from fleet_memory.schemas.comparison import ComparableLesson, Proposal
from fleet_memory.schemas.fields import vector_bytes
from fleet_memory.schemas.pairs import Pair, Side
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Program
from fleet_memory.schemas.value import InvalidValueError
from fleet_memory.stores import ABSENT, Write

# runs of other servers that a warm one reads up on; behind more it starts again. Chosen
MAX_RUNS_BEHIND: Final = 20
# a warm server finds answers that are overdue, and reinforcements, which no run waits for, no
# later. Chosen
READ_AGAIN_AFTER: Final = timedelta(days=1)
PROGRAMS_PER_READ: Final = 10  # chosen: a call waits for one read, and 10 programs are some 15 ms
PROGRAMS_PER_COMMIT: Final = 5  # chosen: a call waits for one commit
PAIRS_PER_READ: Final = 100  # chosen: some 5 ms on SQLite
MAX_STEPS_REPORTED: Final = 20  # reports of progress in one phase of a run; chosen
_FACTS: Final = 6  # fields of a `ComparableLesson` that its author wrote


@dataclass
class ProposalReport:
    """A run's results: the entries that lessons joined, the pairs that it opened, the documents
    that it skipped.

    `waiting` counts the living lessons that are in no entry.
    """

    joined: list[JoinedEntry] = field(default_factory=list)
    opened: int = 0
    closed: int = 0
    waiting: int = 0
    skipped: list[str] = field(default_factory=list)


class PairChange(NamedTuple):
    """A pair to open, to renew or to close, and the program that caused it."""

    before: VersionedPair
    after: Pair
    owner: str


async def propose(
    fleet: Fleet, writer: FencedWriter, policy: Policy, progress: Progress
) -> ProposalReport:
    """Run once. A dry run reports the entries and counts the pairs, and leaves nothing.

    Raises LeaseLostError, ConflictError when every race for the note of the run was lost, and the
    store's errors.
    """
    memory = fleet.memory.copy() if writer.is_dry_run else fleet.memory
    await progress(0, 4, "reading what changed")
    last = await fleet.last_runs.read()
    run = _Run(fleet, writer, policy, progress, memory, last, fleet.now().timestamp())
    await run.read()
    await progress(1, 4, "joining equal words")
    await run.join()
    await run.embed()
    await progress(2, 4, "comparing lessons")
    changes, judged = await run.pairs()
    await progress(3, 4, "writing pairs")
    if not writer.is_dry_run:
        await run.apply_stored(judged)
        await run.leave(changes)
    await progress(4, 4, "done")
    return run.report


@dataclass
class _Run:
    """A run under way: `pending` are the ids of the lessons to consider by program, `entries` every
    entry by key, `candidates` those that may be published now.
    """

    fleet: Fleet
    writer: FencedWriter
    policy: Policy
    progress: Progress
    memory: ProposingMemory
    last: VersionedLastRun
    began: float
    """Seconds since 1970; lessons that are stale before it are not compared."""
    pending: dict[str, Sequence[str]] = field(default_factory=dict)
    entries: dict[str, ComparableLesson] = field(default_factory=dict)
    candidates: Sequence[VersionedEntry] = ()
    vectors: dict[str, dict[str, LessonVectors]] = field(default_factory=dict)
    """New vectors by program and pattern id."""
    compared: dict[str, Sequence[ComparableLesson]] = field(default_factory=dict)
    """The lessons of each program to consider, as they were compared."""
    considered: dict[str, Sequence[str]] = field(default_factory=dict)
    """The ids of those of them that are considered once this run ends."""
    left: set[tuple[str, str]] = field(default_factory=set)
    """The places of the lessons and entries that were skipped."""
    report: ProposalReport = field(default_factory=ProposalReport)

    @property
    def number(self) -> int:
        """The number of this run."""
        return self.last.last.run + 1

    @property
    def is_whole(self) -> bool:
        """Whether this run considers every lesson, because some came from another fleet's store."""
        return self.last.last.considered != self.last.last.epoch

    def living(self) -> list[ComparableLesson]:
        """Return the lessons that are not stale."""
        return self.memory.living(self.fleet.now())

    def is_pending(self, lesson: ComparableLesson) -> bool:
        """Whether a lesson is to be considered."""
        return lesson.lesson_id in self.pending.get(lesson.program_id, ())

    def new_keys(self) -> set[str]:
        """Return the keys of the entries that lessons to be considered have joined since."""
        lessons = (lesson for name in self.pending for lesson in self.memory.lessons[name])
        return {
            lesson.knowledge_key
            for lesson in lessons
            if lesson.knowledge_key is not None and self.is_pending(lesson)
        }

    # Reading

    async def read(self) -> None:
        """Bring the memory up to date, and find the lessons to consider.

        Billed 1 read for each program that changed or that another server's run considered since,
        all of them on a cold server and once a day; 2 queries and their pairs for each of these, 3
        queries for all pairs where all programs are read; 1 query for the entries that the snapshot
        is behind, and 1 read for each candidate if a program, an entry or the policy has changed
        since the last run.
        """
        memory, last = self.memory, self.last.last
        is_behind = not 0 <= last.run - memory.run <= MAX_RUNS_BEHIND
        is_old = memory.pairs_at and self.fleet.now() - memory.pairs_at >= READ_AGAIN_AFTER
        if self.is_whole or memory.epoch != last.epoch or is_old or is_behind:
            memory.forget()
        if memory.is_cold:
            await self._read_everything()
        elif await self._read_changes() or self.policy != memory.policy:
            memory.candidates = None
        memory.epoch, memory.run = last.epoch, last.run
        await self._read_entries()

    async def _read_everything(self) -> None:
        """Read every program; report whenever twice as many were read as at the report before."""
        lessons, reported = self.memory.lessons, PROGRAMS_PER_READ
        async for block in self.fleet.programs.in_blocks(PROGRAMS_PER_READ):
            self.report.skipped += [str(unreadable) for unreadable in block.unreadable]
            await to_thread.run_sync(self._take_up, block.programs)
            del block
            if len(lessons) >= 2 * reported:
                share = 1 - reported / len(lessons)
                await self.progress(share, 4, f"reading: {len(lessons)} programs")
                reported = len(lessons)
        waiting = await self.fleet.pairs.waiting()
        self.memory.pairs = {pair.pair_id: pair for pair in waiting}
        self.memory.pairs_at = self.fleet.now()

    async def _read_changes(self) -> bool:
        """Take up the programs that changed; return whether there are any."""
        changed = list(await self.fleet.programs.dirty())
        # a run that ended before its note stamped with the next number
        for run in range(self.memory.run + 1, self.number + 1):
            changed += await self.fleet.programs.considered_in(run)
        for start in range(0, len(changed), PROGRAMS_PER_READ):
            await to_thread.run_sync(self._take_up, changed[start : start + PROGRAMS_PER_READ])
        names = sorted({versioned.program.program_id for versioned in changed})
        waiting = [each.pair for name in names for each in await self.fleet.pairs.waiting_of(name)]
        self.memory.remember_pairs(names, filter(None, waiting))
        return bool(changed)

    def _take_up(self, block: Sequence[VersionedProgram]) -> None:
        for versioned in block:
            program = versioned.program
            self.memory.remember(program)
            every = program.patterns if self.is_whole else ()
            if pending := tuple(dict.fromkeys((*program.pending, *every))):
                self.pending[program.program_id] = pending

    async def _read_entries(self) -> None:
        knowledge, memory = self.fleet.knowledge, self.memory
        rows = (await knowledge.snapshots.read()).rows
        self.entries = {row.key: comparable_entry(row) for row in rows if row.state != "candidate"}
        behind = await knowledge.behind()
        if memory.candidates is None or behind:
            memory.candidates = self.candidates = await knowledge.in_state("candidate")
        remembered = [
            candidate
            for candidate in memory.candidates
            if candidate.entry and candidate.entry.key not in self.entries
        ]
        for versioned in (*remembered, *behind, *self.candidates):
            if versioned.entry is not None and is_empty(versioned.entry):
                self.entries.pop(versioned.entry.key, None)
            elif versioned.entry is not None:
                self.entries[versioned.entry.key] = comparable_entry(versioned.entry)

    # Joining equal words

    async def join(self) -> None:
        """Join equal words, and publish the candidates that may be."""
        if not self.writer.is_dry_run:
            await self.apply_stored(await self._judged_words())
        groups = await to_thread.run_sync(self._equal_words)
        for at, group in enumerate(groups):
            if is_step(at, len(groups)):
                share = 1 + at / len(groups)
                await self.progress(share, 4, f"joining equal words: {at} of {len(groups)} texts")
            joined = await join_equal_words(self.fleet, self.writer, group, self.policy)
            for part in joined.skipped:
                self.report.skipped.append(name_of_group(part))
                self.left |= {lesson.place for lesson in part.lessons}
                self.left |= {("", part.key)} if part.key is not None else set()
            await self._joined([joined.joined] if joined.joined else [])
        await self._joined(
            await publish_candidates(self.fleet, self.writer, self.candidates, self.policy)
        )

    def _equal_words(self) -> list[EqualWords]:
        """Return the groups of equal words with a lesson or an entry to be considered."""
        new, free = self.new_keys(), dict[str, list[ComparableLesson]]()
        by_words: dict[str, list[ComparableLesson]] = {}
        for entry in self.entries.values():
            by_words.setdefault(entry.words, []).append(entry)
        wanted = {entry.words for key, entry in self.entries.items() if key in new}
        for lesson in self.living():
            if lesson.knowledge_key is None:
                free.setdefault(lesson.words, []).append(lesson)
                if self.is_pending(lesson):
                    wanted.add(lesson.words)
        return equal_words(wanted, free, by_words)

    async def _judged_words(self) -> list[Pair]:
        """Return the pairs judged the same, about each lesson to be considered that is in no entry
        and has the words of another program's lesson that was judged the same as an entry.

        Billed 1 read for each hash of words and entry.
        """
        living, members = self.living(), dict[str, set[str]]()
        for lesson in living:
            if lesson.knowledge_key in self.entries:
                members.setdefault(lesson.words, set()).add(str(lesson.knowledge_key))
        pairs: list[Pair] = []
        for lesson in living:
            words = lesson.words
            if lesson.knowledge_key is not None or not self.is_pending(lesson):
                continue
            every = [self.entries[key] for key in sorted(members.get(words, ()))]
            entries = [entry for entry in every if entry.words != words]
            ids = [pair_id(words, entry.words) for entry in entries]
            known = await self.fleet.pairs.read(*ids) if ids else []
            pairs += [
                replace(versioned.pair, a=lesson.side, b=entry.side)
                for versioned, entry in zip(known, entries, strict=True)
                if versioned.pair is not None and versioned.pair.state == "same"
            ][:1]
        return pairs

    async def apply_stored(self, judged: Sequence[Pair]) -> None:
        """Carry out the verdicts of pairs after a text moved to another lesson or an entry."""
        attempts = await attempt_each(
            judged,
            lambda pair: apply_stored(self.fleet, pair, self.policy),
            lambda pair: f"pair {pair.pair_id}",
        )
        skipped = {attempt.name for attempt in attempts.skipped}
        left = (pair for pair in judged if f"pair {pair.pair_id}" in skipped)
        self.left |= {place_of(side) for pair in left for side in (pair.a, pair.b)}
        self.report.skipped += [attempt.name for attempt in attempts.skipped]
        changed = [each.change for each in attempts.results if each is not None and each.change]
        sides = [side for pair in judged for side in (pair.a, pair.b) if side.key is None]
        names = sorted({side.program_id for side in sides}) if changed else []
        versioned = await self.fleet.programs.read_versioned(*names) if names else []
        programs = [each.program for each in versioned]
        await self._joined([JoinedEntry(change) for change in changed], programs)

    async def _joined(
        self, joined: Sequence[JoinedEntry], programs: Iterable[Program] = ()
    ) -> None:
        """Report entries that lessons joined; memory and entries follow."""
        for each in joined:
            if not self.writer.is_dry_run:
                log_change(MAINTAINER, each.change)
            self.entries[each.change.entry.key] = comparable_entry(each.change.entry)
        changed = {program.program_id: program for each in joined for program in each.programs}
        changed |= {program.program_id: program for program in programs}
        for program in changed.values():
            await to_thread.run_sync(self._remember, program)
        self.report.joined += [each._replace(programs=()) for each in joined]

    def _remember(self, program: Program) -> None:
        """Take up a program after its lessons joined an entry; a lesson that changed meanwhile
        stays pending.

        A word about a lesson does not change it, unless it was stale.
        """

        def compared(lesson: ComparableLesson) -> tuple[object, ...]:
            return *lesson[:_FACTS], lesson.stale_at >= self.began

        name = program.program_id
        before = {compared(lesson) for lesson in self.memory.lessons[name]}
        self.memory.remember(program)
        lessons = self.memory.lessons[name]
        seen = {lesson.lesson_id for lesson in lessons if compared(lesson) in before}
        seen |= {id_ for id_ in self.pending.get(name, ()) if id_ not in program.patterns}
        self.pending[name] = [id_ for id_ in program.pending if id_ in seen]

    # Embedding

    async def embed(self) -> None:
        """Make the vectors that lessons of the considered programs lack.

        None while the engine does not answer: equal words still meet, and these lessons wait for
        the next run. A stand-in replaces no vector of another engine: those lessons wait for a
        server that has it.
        """
        embedder = self.fleet.embedder
        await embedder.check()
        if self._lacking():
            await embedder.ready()
        if missing := self._lacking():
            texts = [(lesson.text, lesson.domain, lesson.evidence) for lesson in missing]
            try:
                rows = await lesson_vectors(embedder, texts)
            except EmbedderError:
                rows = []
            for lesson, row in zip(missing, rows, strict=False):  # none where the engine failed
                name, id_ = lesson.place
                self.vectors.setdefault(name, {})[id_] = row
        for name, made in self.vectors.items():
            self.memory.lessons[name] = [
                lesson._replace(vector=vector_bytes(made[id_].vector), embedder=embedder.name)
                if (id_ := lesson.lesson_id) in made
                else lesson
                for lesson in self.memory.lessons[name]
            ]
        for name, pending in self.pending.items():
            self.compared[name] = self.memory.lessons[name]
            bare = {
                lesson.lesson_id
                for lesson in self.compared[name]
                if lesson.knowledge_key is None and lesson.embedder != embedder.name
            }
            self.considered[name] = [id_ for id_ in pending if id_ not in bare]

    def _lacking(self) -> list[ComparableLesson]:
        engine, stands_in = self.fleet.embedder.name, bool(self.fleet.embedder.degraded)
        lessons = (lesson for name in self.pending for lesson in self.memory.lessons[name])
        lacking = (lesson for lesson in lessons if lesson.embedder != engine)
        return [lesson for lesson in lacking if not (stands_in and lesson.embedder)]

    # Pairs

    async def pairs(self) -> tuple[list[PairChange], list[Pair]]:
        """Compare the lessons to be considered with all others, and look at the open pairs again.

        Return the pairs to write, and those that were judged before about the same texts: their
        verdicts apply again.
        """
        free = [lesson for lesson in self.living() if lesson.knowledge_key is None]
        compared = [*free, *(entry for _, entry in sorted(self.entries.items()))]
        after = {pair.pair_id: pair for pair in await to_thread.run_sync(self._renewed_pairs)}
        wanted = await to_thread.run_sync(self._wanted, compared, after)
        proposed = await self._proposed(compared, wanted) if wanted else []
        opened, judged = await self._opened(proposed, after)
        changes = [*opened, *await self._renewals([*after.values()])]
        self.report.opened = sum(
            change.after.state == "open" and change.before.pair is None for change in changes
        )
        self.report.closed = sum(change.after.state == "gone" for change in changes)
        self.report.waiting = len(free)
        return changes, judged

    def _renewed_pairs(self) -> list[Pair]:
        """Return the pairs that wait and go on otherwise than before, or not at all."""
        standing = {
            lesson.place: Standing(lesson.words, lesson.knowledge_key) for lesson in self.living()
        }
        texts = {
            key: EntryText(entry.words, entry.text, entry.domain, entry.asked)
            for key, entry in self.entries.items()
        }
        programs, contributors = self.memory.programs(), self.memory.contributors()
        now, changed = self.fleet.now(), list[Pair]()
        for pair in self.memory.pairs.values():
            after = renewed(pair, lambda *place: standing.get(place), texts)
            after = with_unanswered(with_thirds(after, programs, contributors), now)
            if after is not pair:
                changed.append(after)
        return changed

    def _wanted(
        self, compared: Sequence[ComparableLesson], after: Mapping[str, Pair]
    ) -> set[tuple[str, str]]:
        """Return the places of the lessons to compare with all others.

        These are the pending ones, new entries, the lessons of a pair that asks them no more, and,
        as a limit may have left out pairs of theirs, all lessons of a program with one of these
        while fewer pairs than may be ask it.
        """
        new_keys, known = self.new_keys(), self.memory.pairs
        ended = (
            pair for id_, pair in after.items() if _takes_a_place(known[id_]) > _takes_a_place(pair)
        )
        left = {side for pair in ended for side in (pair.a, pair.b)}
        places = {place_of(side) for side in left if side.key is None}
        asking = Counter(
            name
            for pair in {**known, **after}.values()
            if _takes_a_place(pair)
            for name in {pair.a.program_id, pair.b.program_id}
        )
        names = {*self.pending, *(side.program_id for side in left)}
        freed = {name for name in names if asking[name] < MAX_OPEN_PER_PROGRAM}

        def is_wanted(lesson: ComparableLesson) -> bool:
            if lesson.is_entry:
                return lesson.lesson_id in new_keys
            may = lesson.program_id in freed or lesson.place in places
            return may or self.is_pending(lesson)

        return {lesson.place for lesson in compared if is_wanted(lesson)}

    async def _proposed(
        self, compared: Sequence[ComparableLesson], wanted: Collection[tuple[str, str]]
    ) -> list[Proposal]:
        """Return the pairs of the wanted lessons, compared in threads, one block of lessons after
        the other.
        """
        engine = self.fleet.embedder
        prepared = partial(Comparison, compared, engine.name, engine.profile)
        work = await to_thread.run_sync(prepared, abandon_on_cancel=True)
        steps, found = work.blocks(wanted), list[Proposal]()
        for at, block in enumerate(steps):
            if is_step(at, len(steps)):
                share = 2 + at / len(steps)
                await self.progress(share, 4, f"comparing lessons: {at} of {len(steps)} blocks")
            found += await to_thread.run_sync(work.partners, block, abandon_on_cancel=True)
        return found

    async def _opened(
        self, proposed: Sequence[Proposal], after: Mapping[str, Pair]
    ) -> tuple[list[PairChange], list[Pair]]:
        """Return the best proposals that are no pairs yet, and those that are judged.

        Which pairs are known is read for those that would be opened alone, until none of them is.
        Billed 1 read each.
        """
        waiting = [*{**self.memory.pairs, **after}.values()]
        places = [(place_of(pair.a), place_of(pair.b)) for pair in waiting if _takes_a_place(pair)]
        # one judge's `same` applies to others too
        undecided = {pair.pair_id for pair in waiting if pair.state == "open"}
        read: dict[str, VersionedPair] = {}
        judged: list[Pair] = []
        while True:
            known = {id_ for id_, each in read.items() if each.pair and each.pair.state != "gone"}
            choose = partial(chosen, proposed, known | undecided, places)
            picked = {
                pair_id(pair.a.words, pair.b.words): pair
                for pair in await to_thread.run_sync(choose, abandon_on_cancel=True)
            }
            unread = [id_ for id_ in picked if id_ not in read]
            if not unread:
                break
            for versioned in await self._read_pairs(unread):
                read[versioned.pair_id] = versioned
                pair, proposal = versioned.pair, picked[versioned.pair_id]
                if pair is None or pair.state not in ("same", "contradict"):
                    continue
                again = replace(pair, a=proposal.a.side, b=proposal.b.side)
                if pair.state == "same" or pair.unsaid or not _keys(again) <= _keys(pair):
                    judged.append(again)  # else its words are with the entries already
        programs, contributors = self.memory.programs(), self.memory.contributors()
        changes: list[PairChange] = []
        for id_, proposal in picked.items():
            pair = self._pair(proposal, read[id_])
            pair = with_thirds(pair, programs, contributors)
            changes.append(PairChange(read[id_], pair, _owner(pair)))
        return changes, judged

    def _pair(self, proposal: Proposal, before: VersionedPair) -> Pair:
        a, b = proposal.a.side, proposal.b.side
        steering = before.pair.steering if before.pair else ""
        orders = (lesson_steering(side.text, side.evidence, side.domain) for side in (a, b))
        return Pair(
            pair_id=before.pair_id,
            a=a,
            b=b,
            cosine=proposal.cosine,
            margin=proposal.margin,
            rank=proposal.margin,
            steering=steering or next(filter(None, orders), ""),
            judgements=before.pair.judgements if before.pair else (),
            likely=proposal.margin > self.fleet.embedder.profile.likely,
            opened_at=self.fleet.now(),
        )

    async def _read_pairs(self, ids: Sequence[str]) -> list[VersionedPair]:
        """Return pairs, 100 a read: a first run opens thousands, and calls wait for each read."""
        parts = [
            ids[start : start + PAIRS_PER_READ] for start in range(0, len(ids), PAIRS_PER_READ)
        ]
        return [pair for part in parts for pair in await self.fleet.pairs.read(*part)]

    async def _renewals(self, planned: Sequence[Pair]) -> list[PairChange]:
        """Return the open pairs that change, with the verdicts of now; the memory learns which are
        no longer open.
        """
        changes: list[PairChange] = []
        pairs = await self._read_pairs([pair.pair_id for pair in planned])
        for now, pair in zip(pairs, planned, strict=True):
            as_compared = VersionedPair(pair.pair_id, self.memory.pairs[pair.pair_id], "")
            change = with_others_verdicts(PairChange(as_compared, pair, _owner(pair)), now)
            after = with_unanswered(change.after, self.fleet.now()) if change is not None else None
            if change is not None and after is not None and after != now.pair:
                changes.append(change._replace(after=after))
            elif now.pair is not None:
                self.memory.remember_pair(now.pair)
        return changes

    # The end

    async def leave(self, changes: Sequence[PairChange]) -> None:
        """Write the pairs, the stamps, the snapshot and the note of this run; the memory follows.

        Programs go together, five a commit; when somebody writes one of them, or judges one of
        their pairs, each goes alone with the pairs as they are then, and one that cannot be written
        is skipped and named. A lesson that changed since it was compared stays pending. Billed 1
        read and 1 write for each program, 1 write for each pair. Raises LeaseLostError.
        """
        by_owner: dict[str, list[PairChange]] = {name: [] for name in self.considered}
        for change in changes:
            by_owner.setdefault(change.owner, []).append(change)
        names = sorted(by_owner)
        for start in range(0, len(names), PROGRAMS_PER_COMMIT):
            batch = {name: by_owner[name] for name in names[start : start + PROGRAMS_PER_COMMIT]}
            try:
                await self._stamp(batch)
            except (ConflictError, StoreRejectedError, InvalidValueError):
                alone = await attempt_each(
                    batch, partial(self._stamp_alone, batch), "program {}".format
                )
                self.report.skipped += [attempt.name for attempt in alone.skipped]
        now, last = self.fleet.now(), self.last.last
        by = self.fleet.caller.program_id or self.fleet.caller.client or MAINTAINER
        note = replace(last, run=self.number, considered=last.epoch, at=now, by=by)
        write = self.fleet.last_runs.write(self.last, note)
        await retry_conflicts(lambda: self.writer.commit(write), "the note of the last run", 0.0)
        self.memory.run = self.number
        if self.report.joined or self.memory.policy != self.policy:
            self.memory.candidates = None
        self.memory.policy = self.policy
        await self.writer.publish(consolidated_at=now)

    async def _stamp(self, batch: Mapping[str, Sequence[PairChange]]) -> None:
        """Stamp programs and write their pairs in one commit."""
        names = [name for name in batch if name in self.considered]
        read = await self.fleet.programs.read_many(*names) if names else []
        versioned = [each for each in read if each.revision != ABSENT]  # others were deleted
        after = await to_thread.run_sync(lambda: [*map(self._considered, versioned)])
        changes = [change for each in batch.values() for change in each]
        writes: list[Write] = [
            self.fleet.pairs.write(change.before, change.after) for change in changes
        ]
        for before, program in zip(versioned, after, strict=True):
            writes += self.fleet.programs.writes(before, program)
        await self.writer.commit(*writes)
        for change in changes:
            self.memory.remember_pair(change.after)
        for program in after:
            self.memory.remember(program)

    async def _stamp_alone(self, batch: Mapping[str, Sequence[PairChange]], name: str) -> None:
        """Stamp one program, and write its pairs with the verdicts that others gave since."""
        planned = batch[name]
        present = await self._read_pairs([change.after.pair_id for change in planned])
        changes: list[PairChange] = []
        for planned_change, now in zip(planned, present, strict=True):
            if (change := with_others_verdicts(planned_change, now)) is not None:
                changes.append(change)
            elif now.pair:
                self.memory.remember_pair(now.pair)
        await self._stamp({name: changes})

    def _considered(self, versioned: VersionedProgram) -> Program:
        """Return the program without the pending ids of lessons that are as they were compared, and
        that were not skipped.
        """

        def as_compared(lessons: Iterable[ComparableLesson]) -> dict[str, tuple[object, ...]]:
            return {
                each.lesson_id: (*each[:_FACTS], each.stale_at, each.knowledge_key)
                for each in lessons
            }

        program = versioned.program
        name, engine = program.program_id, self.fleet.embedder.name
        compared, present = (
            as_compared(self.compared[name]),
            as_compared(comparable_lessons(program)),
        )
        skipped = {
            lesson.lesson_id
            for lesson in self.compared[name]
            if lesson.place in self.left or ("", lesson.knowledge_key) in self.left
        }
        unchanged = {id_ for id_ in self.considered[name] if compared.get(id_) == present.get(id_)}
        unchanged -= skipped
        patterns = dict(program.patterns)
        for id_, vectors in self.vectors.get(name, {}).items():
            if id_ in unchanged and id_ in patterns:
                patterns[id_] = replace(patterns[id_], **vectors._asdict(), embedder=engine)
        pending = tuple(id_ for id_ in program.pending if id_ not in unchanged)
        after = replace(program, patterns=patterns, pending=pending, run=self.number)
        return with_fitting_vectors(program, after)


def with_others_verdicts(change: PairChange, now: VersionedPair) -> PairChange | None:
    """Return the change for a pair that others may have judged since; None once there is nothing
    left to change.
    """
    if now.revision == change.before.revision:
        return change
    before = change.before.pair
    if (
        now.pair is None
        or before is None
        or now.pair.state != before.state
        or questions(now.pair) == Questions()
    ):
        return None
    after = replace(now.pair, a=change.after.a, b=change.after.b, thirds=change.after.thirds)
    return change._replace(
        before=now, after=closed(after) if change.after.state == "gone" else after
    )


def is_step(at: int, count: int) -> bool:
    """Whether to report before item `at` of so many: 20 times at most, and not before the first."""
    return at * MAX_STEPS_REPORTED // count > max(0, at - 1) * MAX_STEPS_REPORTED // count


def place_of(side: Side) -> tuple[str, str]:
    """Return where a side stands, as `ComparableLesson.place`."""
    return ("", side.key) if side.key is not None else (side.program_id, side.pattern_id)


def _takes_a_place(pair: Pair) -> bool:
    """Whether a pair counts for the limits of its programs: it is open, and a program with a side
    is asked.
    """
    return pair.state == "open" and bool(questions(pair).programs)


def _keys(pair: Pair) -> set[str]:
    return {side.key for side in (pair.a, pair.b) if side.key is not None}


def _owner(pair: Pair) -> str:
    """Return the program with which a pair is committed: that of a lesson, else one that is asked
    about an entry.
    """
    sides = sorted((pair.a, pair.b), key=lambda side: side.key is not None)
    return next((side.program_id for side in sides if side.program_id), "")
