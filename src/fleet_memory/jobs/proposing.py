"""The maintainer's run: it reads the changes, joins equal words, proposes pairs, and stamps the
programs.

It runs under the maintainer's lease. Killed anywhere it leaves whole promotions and whole pairs,
and the programs that it did not stamp wait for the next run. Long work runs in threads, so that
other calls of the server go on.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Final

from anyio import to_thread

from fleet_memory.errors import EmbedderError
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
    Standing,
    questions,
    renewed,
    with_thirds,
    with_unanswered,
)
from fleet_memory.rules.proposing import (
    MAX_OPEN_PER_PROGRAM,
    Comparison,
    EqualWords,
    Place,
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
from fleet_memory.stores import ABSENT, Write

# runs of other servers that a warm one reads up on; behind more it starts again. Chosen
MAX_RUNS_BEHIND: Final = 20
# a warm server finds reinforcements, which no run waits for, no later. Chosen
READ_AGAIN_AFTER: Final = timedelta(days=1)
PROGRAMS_PER_READ: Final = 10  # chosen: a call waits for one read, and 10 programs are some 15 ms
PAIRS_PER_READ: Final = 100  # chosen: some 5 ms on SQLite


@dataclass
class ProposalReport:
    """A run's results: the entries that lessons joined, the pairs that it opened, the documents
    that it skipped.

    `waiting` counts the living lessons that are in no entry.
    """

    joined: list[JoinedEntry] = field(default_factory=list)
    opened: int = 0
    waiting: int = 0
    skipped: list[str] = field(default_factory=list)


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
    await run.compare()
    await progress(3, 4, "writing pairs")
    if not writer.is_dry_run:
        await run.leave()
    await progress(4, 4, "done")
    return run.report


@dataclass
class _Run:
    """A run under way: `pending` are the ids of the lessons to consider by program, `entries` every
    entry by key, `candidates` those of them that may be published now, `waiting` the pairs that
    somebody is asked about.
    """

    fleet: Fleet
    writer: FencedWriter
    policy: Policy
    progress: Progress
    memory: ProposingMemory
    last: VersionedLastRun
    began: float
    """Seconds since 1970; lessons that are stale before it are not compared."""
    pending: dict[str, tuple[str, ...]] = field(default_factory=dict)
    seen: dict[str, dict[str, tuple[object, ...]]] = field(default_factory=dict)
    """What was read of the lessons of these programs, and what this run made of it."""
    entries: dict[str, ComparableLesson] = field(default_factory=dict)
    candidates: Sequence[VersionedEntry] = ()
    waiting: dict[str, Pair] = field(default_factory=dict)
    vectors: dict[str, dict[str, LessonVectors]] = field(default_factory=dict)
    """New vectors by program and pattern id."""
    standing: dict[Place, Standing] = field(default_factory=dict)
    texts: dict[str, EntryText] = field(default_factory=dict)
    thirds: Callable[[Pair], Pair] = field(default=lambda pair: pair)
    renewed: dict[str, Pair] = field(default_factory=dict)
    opened: dict[str, Pair] = field(default_factory=dict)
    judged: list[Pair] = field(default_factory=list)
    """Pairs of the same texts that were judged before: their verdicts apply to these sides too."""
    left: set[Place] = field(default_factory=set)
    """The places of the lessons and entries that were skipped."""
    report: ProposalReport = field(default_factory=ProposalReport)

    @property
    def number(self) -> int:
        """The number of this run."""
        return self.last.last.run + 1

    def living(self) -> list[ComparableLesson]:
        """Return the lessons that are not stale."""
        return self.memory.living(self.fleet.now())

    def considered(self) -> list[ComparableLesson]:
        """Return the lessons to be considered, stale ones too."""
        return [
            lesson
            for name, ids in self.pending.items()
            for lesson in self.memory.lessons[name]
            if lesson.lesson_id in ids
        ]

    # Reading

    async def read(self) -> None:
        """Bring the memory up to date, and find the lessons to consider.

        Billed 1 read for each program that changed or that another server's run considered since,
        all of them on a cold server and once a day; 1 read for each pair that asks somebody, each
        candidate, and each entry that the snapshot is behind; 8 queries.
        """
        memory, last = self.memory, self.last.last
        is_old = memory.read_at and self.fleet.now() - memory.read_at >= READ_AGAIN_AFTER
        is_behind = not 0 <= last.run - memory.run <= MAX_RUNS_BEHIND
        if self._is_whole or memory.epoch != last.epoch or is_old or is_behind:
            memory.forget()
        if memory.is_cold:
            memory.read_at = self.fleet.now()
            async for block in self.fleet.programs.in_blocks(PROGRAMS_PER_READ):
                self.report.skipped += [str(unreadable) for unreadable in block.unreadable]
                await to_thread.run_sync(self._take_up, block.programs)
        else:
            changed = list(await self.fleet.programs.dirty())
            # a run that ended before its note stamped with the next number
            for run in range(memory.run + 1, self.number + 1):
                changed += await self.fleet.programs.considered_in(run)
            for start in range(0, len(changed), PROGRAMS_PER_READ):
                await to_thread.run_sync(self._take_up, changed[start : start + PROGRAMS_PER_READ])
        memory.epoch, memory.run = last.epoch, last.run
        self.waiting = {pair.pair_id: pair for pair in await self.fleet.pairs.waiting()}
        knowledge = self.fleet.knowledge
        rows = (await knowledge.snapshots.read()).rows
        self.entries = {row.key: comparable_entry(row) for row in rows if row.state != "candidate"}
        self.candidates = await knowledge.in_state("candidate")
        for versioned in (*self.candidates, *await knowledge.behind()):
            if versioned.entry is not None and is_empty(versioned.entry):
                self.entries.pop(versioned.entry.key, None)
            elif versioned.entry is not None:
                self.entries[versioned.entry.key] = comparable_entry(versioned.entry)

    @property
    def _is_whole(self) -> bool:
        """Whether this run considers every lesson, because some came from another fleet's store."""
        return self.last.last.considered != self.last.last.epoch

    def _take_up(self, block: Sequence[VersionedProgram]) -> None:
        for program in (versioned.program for versioned in block):
            self.memory.remember(program)
            every = program.patterns if self._is_whole else ()
            if pending := tuple(dict.fromkeys((*program.pending, *every))):
                self.pending[program.program_id] = pending
                self.seen[program.program_id] = self._facts(program)

    def _facts(self, program: Program) -> dict[str, tuple[object, ...]]:
        """Return what a run makes of each lesson: a word about one changes it if it was stale."""
        return {
            lesson.lesson_id: (*lesson[:6], lesson.stale_at >= self.began, lesson.knowledge_key)
            for lesson in comparable_lessons(program)
        }

    # Joining equal words

    async def join(self) -> None:
        """Join equal words, and publish the candidates that may be."""
        for group in await to_thread.run_sync(self._equal_words):
            joined = await join_equal_words(self.fleet, self.writer, group, self.policy)
            for part in joined.skipped:
                self.report.skipped.append(name_of_group(part))
                self.left |= {lesson.place for lesson in part.lessons}
                self.left |= {("", part.key)} if part.key is not None else set()
            await self._follow([joined.joined] if joined.joined else [])
        await self._follow(
            await publish_candidates(self.fleet, self.writer, self.candidates, self.policy)
        )

    def _equal_words(self) -> list[EqualWords]:
        """Return the groups of equal words with a lesson or an entry to be considered."""
        free, by_words = dict[str, list[ComparableLesson]](), dict[str, list[ComparableLesson]]()
        for entry in self.entries.values():
            by_words.setdefault(entry.words, []).append(entry)
        for lesson in self.living():
            if lesson.knowledge_key is None:
                free.setdefault(lesson.words, []).append(lesson)
        considered = self.considered()
        wanted = {lesson.words for lesson in considered}
        wanted |= {self.entries[key].words for key in self._new_keys() if key in self.entries}
        return equal_words(wanted, free, by_words)

    def _new_keys(self) -> set[str]:
        """Return the keys of the entries that lessons to be considered are in."""
        return {lesson.knowledge_key for lesson in self.considered() if lesson.knowledge_key}

    async def _follow(
        self, joined: Sequence[JoinedEntry], programs: Iterable[Program] = ()
    ) -> None:
        """Report entries that lessons joined; memory and entries follow.

        A lesson that its author changed since it was read stays pending.
        """
        for each in joined:
            if not self.writer.is_dry_run:
                log_change(MAINTAINER, each.change)
            self.entries[each.change.entry.key] = comparable_entry(each.change.entry)
        for program in (*programs, *(program for each in joined for program in each.programs)):
            await to_thread.run_sync(self.memory.remember, program)
            seen, now = self.seen.get(program.program_id, {}), self._facts(program)
            seen |= {
                id_: facts for id_, facts in now.items() if seen.get(id_, ())[:-1] == facts[:-1]
            }
        self.report.joined += [each._replace(programs=()) for each in joined]

    # Comparing

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
                self.vectors.setdefault(lesson.program_id, {})[lesson.lesson_id] = row
        for name, made in self.vectors.items():
            self.memory.lessons[name] = [
                lesson._replace(
                    vector=vector_bytes(made[lesson.lesson_id].vector), embedder=embedder.name
                )
                if lesson.lesson_id in made
                else lesson
                for lesson in self.memory.lessons[name]
            ]
        self.left |= {
            lesson.place
            for lesson in self.considered()
            if lesson.knowledge_key is None and lesson.embedder != embedder.name
        }

    def _lacking(self) -> list[ComparableLesson]:
        engine, stands_in = self.fleet.embedder.name, bool(self.fleet.embedder.degraded)
        lessons = (lesson for name in self.pending for lesson in self.memory.lessons[name])
        lacking = (lesson for lesson in lessons if lesson.embedder != engine)
        return [lesson for lesson in lacking if not (stands_in and lesson.embedder)]

    async def compare(self) -> None:
        """Compare the lessons to be considered with all others, and look at the waiting pairs
        again.
        """
        free = [lesson for lesson in self.living() if lesson.knowledge_key is None]
        compared = [*free, *self.entries.values()]
        await to_thread.run_sync(self._renew_waiting)
        wanted = await to_thread.run_sync(self._wanted, compared)
        engine, proposed = self.fleet.embedder, list[Proposal]()
        if wanted:
            prepared = partial(Comparison, compared, engine.name, engine.profile)
            work = await to_thread.run_sync(prepared, abandon_on_cancel=True)
            blocks = work.blocks(wanted)
            for at, block in enumerate(blocks):
                message = f"comparing lessons: {at} of {len(blocks)} blocks"
                await self.progress(2 + at / len(blocks), 4, message)
                proposed += await to_thread.run_sync(work.partners, block, abandon_on_cancel=True)
        await self._open(proposed)
        self.report.waiting = len(free)

    def _renew_waiting(self) -> None:
        """Find the waiting pairs that go on otherwise than before, or not at all."""
        self.standing = {
            lesson.place: Standing(lesson.words, lesson.knowledge_key) for lesson in self.living()
        }
        self.texts = {
            key: EntryText(entry.words, entry.text, entry.domain, entry.asked)
            for key, entry in self.entries.items()
        }
        self.thirds = partial(
            with_thirds,
            programs=self.memory.programs(),
            contributors=self.memory.contributors(),
        )
        after = {id_: self._renewed(pair) for id_, pair in self.waiting.items()}
        self.renewed = {id_: pair for id_, pair in after.items() if pair is not self.waiting[id_]}

    def _renewed(self, pair: Pair) -> Pair:
        after = renewed(pair, lambda *place: self.standing.get(place), self.texts)
        return with_unanswered(self.thirds(after), self.fleet.now())

    def _wanted(self, compared: Sequence[ComparableLesson]) -> set[Place]:
        """Return the places of the lessons to compare with all others.

        These are new entries, and, as a limit may have left out pairs of theirs, all lessons of the
        programs with a lesson to be considered or a pair that asks them no more, unless as many
        pairs as may be ask them.
        """
        after = {**self.waiting, **self.renewed}
        ended = [
            pair for id_, pair in self.waiting.items() if _asks(pair) and not _asks(after[id_])
        ]
        asking = Counter(
            name
            for pair in after.values()
            if _asks(pair)
            for name in {pair.a.program_id, pair.b.program_id}
        )
        names = {*self.pending, *(side.program_id for pair in ended for side in (pair.a, pair.b))}
        names = {name for name in names if asking[name] < MAX_OPEN_PER_PROGRAM}
        keys = self._new_keys()
        return {
            lesson.place
            for lesson in compared
            if (lesson.lesson_id in keys if lesson.is_entry else lesson.program_id in names)
        }

    async def _open(self, proposed: Sequence[Proposal]) -> None:
        """Choose the best proposals that are no pairs yet, and those that are judged.

        Which pairs are known is read for those that would be opened alone, until none of them is.
        Billed 1 read each.
        """
        waiting = {**self.waiting, **self.renewed}.values()
        places = [(_place_of(pair.a), _place_of(pair.b)) for pair in waiting if _asks(pair)]
        # one judge's `same` applies to others too
        undecided = {pair.pair_id for pair in waiting if pair.state == "open"}
        read: dict[str, VersionedPair] = {}
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
            for start in range(0, len(unread), PAIRS_PER_READ):
                for versioned in await self.fleet.pairs.read(
                    *unread[start : start + PAIRS_PER_READ]
                ):
                    read[versioned.pair_id] = versioned
                    self._take_verdict(versioned.pair, picked[versioned.pair_id])
        self.opened = {
            id_: self.thirds(self._pair(proposal, read[id_])) for id_, proposal in picked.items()
        }
        self.report.opened = sum(
            pair.state == "open" and read[id_].pair is None for id_, pair in self.opened.items()
        )

    def _take_verdict(self, pair: Pair | None, proposal: Proposal) -> None:
        """Have the verdict of a judged pair apply to the sides of a proposal of the same texts."""
        if pair is not None and pair.state in ("same", "contradict"):
            again = replace(pair, a=proposal.a.side, b=proposal.b.side)
            if pair.state == "same" or pair.unsaid or not _keys(again) <= _keys(pair):
                self.judged.append(again)  # else its words are with the entries already

    def _pair(self, proposal: Proposal, before: VersionedPair) -> Pair:
        a, b = proposal.a.side, proposal.b.side
        orders = (lesson_steering(side.text, side.evidence, side.domain) for side in (a, b))
        return Pair(
            pair_id=before.pair_id,
            a=a,
            b=b,
            cosine=proposal.cosine,
            margin=proposal.margin,
            rank=proposal.margin,
            steering=(before.pair.steering if before.pair else "")
            or next(filter(None, orders), ""),
            judgements=before.pair.judgements if before.pair else (),
            likely=proposal.margin > self.fleet.embedder.profile.likely,
            opened_at=self.fleet.now(),
        )

    # The end

    async def leave(self) -> None:
        """Carry out known verdicts, write the pairs and the stamps, the note of this run and the
        snapshot.

        Each program is one commit with its pairs, as all of them are then; one that cannot be
        written is skipped and named. Billed 2 reads and 2 writes for each program, 1 read and 1
        write for each pair. Raises LeaseLostError.
        """
        await self._apply_judged()
        by_owner: dict[str, list[str]] = {name: [] for name in self.pending}
        for pair in (*self.renewed.values(), *self.opened.values()):
            by_owner.setdefault(_owner(pair), []).append(pair.pair_id)
        attempts = await attempt_each(
            sorted(by_owner), lambda name: self._stamp(name, by_owner[name]), "program {}".format
        )
        self.report.skipped += [attempt.name for attempt in attempts.skipped]
        now, last = self.fleet.now(), self.last.last
        by = self.fleet.caller.program_id or self.fleet.caller.client or MAINTAINER
        note = replace(last, run=self.number, considered=last.epoch, at=now, by=by)
        write = self.fleet.last_runs.write(self.last, note)
        await retry_conflicts(lambda: self.writer.commit(write), "the note of the last run", 0.0)
        self.memory.run = self.number
        await self.writer.publish(consolidated_at=now)

    async def _apply_judged(self) -> None:
        attempts = await attempt_each(
            self.judged,
            lambda pair: apply_stored(self.fleet, pair, self.policy),
            lambda pair: f"pair {pair.pair_id}",
        )
        skipped = {attempt.name for attempt in attempts.skipped}
        left = (pair for pair in self.judged if f"pair {pair.pair_id}" in skipped)
        self.left |= {_place_of(side) for pair in left for side in (pair.a, pair.b)}
        self.report.skipped += sorted(skipped)
        changed = [each.change for each in attempts.results if each is not None and each.change]
        sides = [side for pair in self.judged for side in (pair.a, pair.b) if side.key is None]
        names = sorted({side.program_id for side in sides}) if changed else []
        versioned = await self.fleet.programs.read_many(*names) if names else []
        await self._follow(
            [JoinedEntry(change) for change in changed], [each.program for each in versioned]
        )

    async def _stamp(self, name: str, ids: Sequence[str]) -> None:
        """Stamp one program and write its pairs in one commit, as they are now."""
        writes: list[Write] = []
        for now in await self.fleet.pairs.read(*ids) if ids else []:
            if now.pair is None or now.pair.state == "gone":
                after = self.opened.get(now.pair_id)
            else:
                after = self._renewed(now.pair)
            if after is not None and after is not now.pair:
                writes.append(self.fleet.pairs.write(now, after))
        read = await self.fleet.programs.read_many(name) if name in self.pending else []
        changed = [each for each in read if each.revision != ABSENT]  # else it was deleted
        for before in changed:
            program = await to_thread.run_sync(self._considered, before.program)
            writes += self.fleet.programs.writes(before, program)
        if writes:
            await self.writer.commit(*writes)
        for _ in changed:
            await to_thread.run_sync(self.memory.remember, program)

    def _considered(self, program: Program) -> Program:
        """Return the program without the pending ids of lessons that are as they were read, and
        that were not skipped.
        """
        name, facts = program.program_id, self._facts(program)
        unchanged = {
            id_
            for id_ in self.pending[name]
            if facts.get(id_) == self.seen[name].get(id_) and (name, id_) not in self.left
        }
        patterns = dict(program.patterns)
        unchanged -= {
            id_
            for id_ in unchanged & patterns.keys()
            if ("", patterns[id_].knowledge_key or "") in self.left
        }
        for id_, vectors in self.vectors.get(name, {}).items():
            if id_ in unchanged and id_ in patterns:
                patterns[id_] = replace(
                    patterns[id_], **vectors._asdict(), embedder=self.fleet.embedder.name
                )
        pending = tuple(id_ for id_ in program.pending if id_ not in unchanged)
        after = replace(program, patterns=patterns, pending=pending, run=self.number)
        return with_fitting_vectors(program, after)


def _place_of(side: Side) -> Place:
    """Return where a side stands, as `ComparableLesson.place`."""
    return ("", side.key) if side.key is not None else (side.program_id, side.pattern_id)


def _asks(pair: Pair) -> bool:
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
