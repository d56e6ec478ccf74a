"""The maintainer's run: it reads the changes, joins equal words, proposes pairs, and stamps the
programs.

It runs under the maintainer's lease. Killed anywhere it leaves whole promotions and whole pairs,
and the programs that it did not stamp wait for the next run. Long work runs in threads, so that
other calls of the server go on.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Final

from anyio import to_thread

from fleet_memory.errors import EmbedderError
from fleet_memory.fleet import Fleet, Progress
from fleet_memory.jobs.auditing import log_change
from fleet_memory.jobs.drafting import Drafts, read_drafts
from fleet_memory.jobs.judging import apply_stored
from fleet_memory.jobs.publishing import FencedWriter
from fleet_memory.jobs.storing import lesson_vectors
from fleet_memory.repositories.documents import Versioned, groups_of
from fleet_memory.repositories.programs import VersionedProgram, with_fitting_vectors
from fleet_memory.repositories.proposing_memory import (
    ProposingMemory,
    comparable_entry,
    comparable_lessons,
)
from fleet_memory.repositories.retrying import attempt_each, retry_conflicts
from fleet_memory.repositories.runs import LastRun
from fleet_memory.repositories.snapshots import VersionedEntry
from fleet_memory.rules.entries import (
    EntryChange,
    JoiningLesson,
    better_text,
    candidate_of,
    entry_change,
    entry_for,
    in_order_of_time,
    is_empty,
    keys_of,
    origin_of,
    under_policy,
)
from fleet_memory.rules.pairs import (
    FOUND_BY_MODEL,
    ruling,
    sides_in_order,
    takes_a_place,
    with_judgement,
    with_member,
)
from fleet_memory.rules.proposing import (
    Comparison,
    EqualWords,
    Place,
    chosen,
    equal_words,
    is_free,
    orders_of,
    renewed,
    side_of,
)
from fleet_memory.rules.text.keys import pair_id
from fleet_memory.rules.text.vectors import LessonVectors
from fleet_memory.schemas.comparison import ComparableLesson, Proposal
from fleet_memory.schemas.fields import vector_bytes
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.pairs import Pair, Side
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Program
from fleet_memory.stores import ABSENT

# runs of other servers that a warm one reads up on; behind more it starts again. Chosen
MAX_RUNS_BEHIND: Final = 20
# a warm server finds reinforcements, which no run waits for, no later. Chosen
READ_AGAIN_AFTER: Final = timedelta(days=1)
# of equal words; chosen: Firestore takes 10 MiB a commit, and a busy program delays 19 others
LESSONS_PER_COMMIT: Final = 20
PROGRAMS_PER_READ: Final = 10  # chosen: a call waits for one read, and 10 programs are some 15 ms
PAIRS_PER_READ: Final = 100  # chosen: some 5 ms on SQLite
MAINTAINER: Final = "maintainer"  # how the ledger names a run


def _with_vector(entry: Entry, of: ComparableLesson, vector: str) -> Entry:
    """Return an entry with the vector of a text, the same object where it has another by now."""
    if entry.value.pattern != of.text:
        return entry
    return replace(entry, vector=vector, embedder=of.embedder, unpublished=True)


@dataclass
class ProposalReport:
    """A run's results: the changes of entries by key, the pairs that it opened, the documents that
    it skipped.

    `waiting` counts the living lessons that are in no entry, `embedded` the lessons and entries
    that got a vector.
    """

    changes: dict[str, EntryChange] = field(default_factory=dict)
    opened: int = 0
    waiting: int = 0
    embedded: int = 0
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
    run = _Run(fleet, writer, policy, memory, last, fleet.now().timestamp())
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
    memory: ProposingMemory
    last: Versioned[LastRun]
    began: float
    """Seconds since 1970; lessons that are stale before it are not compared."""
    pending: dict[str, set[str]] = field(default_factory=dict)
    entries: dict[str, ComparableLesson] = field(default_factory=dict)
    younger: list[ComparableLesson] = field(default_factory=list)
    """The entries that are read through an older one: nothing is compared with them."""
    candidates: Sequence[VersionedEntry] = ()
    waiting: dict[str, Pair] = field(default_factory=dict)
    vectors: dict[Place, LessonVectors] = field(default_factory=dict)
    """New vectors of lessons and entries."""
    renew: Callable[[Pair], Pair] = field(default=lambda pair: pair)
    """Returns a waiting pair as it is now (`rules.proposing.renewed`)."""
    renewed: dict[str, Pair] = field(default_factory=dict)
    opened: dict[str, Pair] = field(default_factory=dict)
    judged: dict[str, Pair] = field(default_factory=dict)
    """Pairs of which a verdict is to be carried out, for these sides."""
    left: set[Place] = field(default_factory=set)
    """The places of the lessons that were skipped."""
    report: ProposalReport = field(default_factory=ProposalReport)

    @property
    def number(self) -> int:
        """The number of this run."""
        return self.last.value.run + 1

    @property
    def is_whole(self) -> bool:
        """Whether every lesson is considered, e.g. after an import or for `maintain --rebuild`."""
        return self.last.value.considered != self.last.value.epoch

    def living(self) -> list[ComparableLesson]:
        """Return the lessons that are not stale."""
        return [lesson for lesson in self.memory.all() if lesson.stale_at >= self.began]

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
        candidate, and each entry that the snapshot is behind; 6 queries.
        """
        memory, last = self.memory, self.last.value
        is_old = memory.read_at and self.fleet.now() - memory.read_at >= READ_AGAIN_AFTER
        is_behind = not 0 <= last.run - memory.run <= MAX_RUNS_BEHIND
        if self.is_whole or memory.epoch != last.epoch or is_old or is_behind:
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
        behind = await knowledge.snapshots.behind()
        read = {each.entry.key: each.entry for each in (*self.candidates, *behind) if each.entry}
        for key, entry in read.items():
            self.entries.pop(key, None)
            if entry.read_through is not None:
                self.younger.append(comparable_entry(entry))
            elif not is_empty(entry):
                self.entries[key] = comparable_entry(entry)
        names = {row.key: row.contributors for row in rows}
        names |= {key: entry.value.contributors for key, entry in read.items()}
        self.entries |= {  # whose program was deleted: the next that discovered it is asked
            key: entry._replace(asked=next((it for it in names[key] if it in memory.lessons), ""))
            for key, entry in self.entries.items()
            if entry.asked not in memory.lessons
        }

    def _take_up(self, block: Sequence[VersionedProgram]) -> None:
        for program in (versioned.program for versioned in block):
            self.memory.remember(program)
            if pending := {*program.pending, *(program.patterns if self.is_whole else ())}:
                self.pending[program.program_id] = pending

    # Joining equal words

    async def join(self) -> None:
        """Join equal words, and publish the candidates that reach the policy's threshold now; one
        that somebody changes meanwhile waits.
        """
        name = "lesson {.lessons[0].lesson_id}".format
        for group in await to_thread.run_sync(self._equal_words):
            key = group.key
            first = {origin_of(it.program_id): it for it in reversed(group.lessons)}
            # the first of each origin first: a part of one origin alone makes no entry
            ordered = sorted(group.lessons, key=lambda it: it not in first.values())
            for lessons in groups_of(LESSONS_PER_COMMIT, ordered):
                part = group._replace(key=key, lessons=lessons)
                keys, skipped = await attempt_each([part], self._join, name)
                self.report.skipped += map(name, skipped)
                if joined := next(iter(keys), None):
                    key = joined
                else:  # e.g. the first part is of one origin: the next run finds the entry
                    self.left |= {lesson.place for lesson in lessons}
        for versioned in self.candidates:
            if (entry := versioned.entry) is None:
                continue
            drafts = Drafts(self.policy, self.fleet.now()).with_read(entries={entry.key: versioned})
            drafts = drafts.with_entry(under_policy(entry, self.policy), "reached the threshold")
            for change in drafts.changes:
                writes = drafts.writes(self.fleet, MAINTAINER)
                if change.is_promotion and await self.writer.try_commit(*writes):
                    self._follow(change)

    async def _join(self, group: EqualWords) -> str | None:
        """Let lessons of equal words join their entry, or make one, in one commit; return its key,
        None when they changed since, or the entry has gone.

        Raises LeaseLostError, ConflictError. Billed 1 read for each program, and 3 for the entry.
        """
        names = sorted({lesson.program_id for lesson in group.lessons})
        read = dict(zip(names, await self.fleet.programs.read_versioned(*names), strict=True))
        joining = in_order_of_time(
            JoiningLesson(program, pattern, "equal_words")
            for lesson in group.lessons
            for program in [read[lesson.program_id].program]
            if (pattern := program.patterns.get(lesson.lesson_id)) and pattern.words == group.words
        )
        origins = {origin_of(lesson.program_id) for lesson in joining}
        if not joining or (group.key is None and len(origins) == 1 < len(names)):
            return None
        best = better_text(joining)
        fresh = candidate_of(best, self.policy, group.project_id)
        keys = keys_of(fresh) if group.key is None else [group.key]
        drafts = await read_drafts(self.fleet, keys, self.fleet.now(), read.values())
        known = drafts.documents.entries
        if group.key is not None and group.key not in known:
            return None
        named = known[group.key] if group.key is not None else entry_for(fresh, known)
        documents = drafts.documents.with_entry(named)
        for lesson in joining:
            is_text = named.key not in known and lesson is best
            joined = lesson.as_text() if is_text else lesson
            documents = with_member(documents, joined, named.key)
        drafts = replace(drafts, policy=self.policy).left_as(documents, "equal words")
        entry = drafts.documents.read_as(named.key)
        await self.writer.commit(*drafts.writes(self.fleet, MAINTAINER))
        places = {(lesson.program_id, lesson.pattern.id) for lesson in joining}
        for name, id_ in places:
            self.pending.setdefault(name, set()).add(id_)
        self.memory.replace(
            lesson._replace(knowledge_keys=(*lesson.knowledge_keys, named.key))
            for name in names
            for lesson in self.memory.lessons[name]
            if lesson.place in places
        )
        self._follow(entry_change(drafts.entries[entry.key].entry, entry, drafts.now))
        return named.key

    def _equal_words(self) -> list[EqualWords]:
        """Return the groups of equal words with a lesson or an entry to be considered."""
        wanted = {lesson.words for lesson in self.considered()}
        wanted |= {self.entries[key].words for key in self._new_keys()}
        return equal_words(wanted, self.living(), [*self.entries.values(), *self.younger])

    def _new_keys(self) -> set[str]:
        """Return the keys of the entries that lessons to be considered are in."""
        keys = {key for lesson in self.considered() for key in lesson.knowledge_keys}
        return keys & self.entries.keys()

    def _follow(self, change: EntryChange) -> None:
        """Log and report a changed entry, once with its earlier changes; the entries follow."""
        if not self.writer.is_dry_run:
            log_change(MAINTAINER, change)
        key = change.entry.key
        self.entries[key] = comparable_entry(change.entry)
        before = self.report.changes.pop(key, change).before
        self.report.changes[key] = change._replace(before=before)

    # Comparing

    async def embed(self) -> None:
        """Make the vectors that lessons of the considered programs and entries lack; lessons that
        get none wait for the next run, though equal words meet.

        A stand-in replaces no vector of another engine: those wait for a server that has it. A run
        that considers every lesson replaces those of entries too.
        """
        embedder = self.fleet.embedder
        texts = [lesson for name in self.pending for lesson in self.memory.lessons[name]]
        entries = (*self.entries.values(), *self.younger)
        texts += (entry for entry in entries if self.is_whole or not entry.embedder)
        await embedder.check()
        if any(lesson.embedder != embedder.name for lesson in texts):
            await embedder.ready()
        missing = (lesson for lesson in texts if lesson.embedder != embedder.name)
        asked = [lesson for lesson in missing if not (embedder.degraded and lesson.embedder)]
        sent = [(lesson.text, lesson.domain, lesson.evidence) for lesson in asked]
        with suppress(EmbedderError):  # they get none while it does not answer
            rows = await lesson_vectors(embedder, sent) if sent else []
            places = (lesson.place for lesson in asked)
            self.vectors = dict(zip(places, rows, strict=True))
        made = [
            lesson._replace(vector=vector_bytes(row.vector), embedder=embedder.name)
            for lesson in texts
            if (row := self.vectors.get(lesson.place))
        ]
        self.report.embedded = len(made)
        self.memory.replace(lesson for lesson in made if not lesson.is_entry)
        for entry in (lesson for lesson in made if lesson.is_entry):
            if entry.lesson_id in self.entries:
                self.entries[entry.lesson_id] = entry
            if not self.writer.is_dry_run:
                change = partial(_with_vector, of=entry, vector=self.vectors[entry.place].vector)
                await self.fleet.knowledge.update(entry.lesson_id, change)
        self.left |= {
            lesson.place
            for lesson in self.considered()
            if not lesson.knowledge_keys and lesson.embedder != embedder.name
        }

    async def compare(self) -> None:
        """Compare the lessons to be considered with all others, and look at the waiting pairs
        again.
        """
        projects = {key: entry.project_id for key, entry in self.entries.items()}
        free = [lesson for lesson in self.living() if is_free(lesson, {None}, projects)]
        self.report.waiting = sum(not lesson.knowledge_keys for lesson in free)
        compared = [*free, *self.entries.values()]
        await to_thread.run_sync(self._renew_waiting)
        wanted = await to_thread.run_sync(self._wanted, compared)
        engine, proposed = self.fleet.embedder, list[Proposal]()
        if wanted:
            prepared = partial(Comparison, compared, engine.name, engine.profile)
            work = await to_thread.run_sync(prepared, abandon_on_cancel=True)
            for block in work.blocks(wanted):
                found = await to_thread.run_sync(work.partners, block, abandon_on_cancel=True)
                proposed += (
                    pair
                    for pair in found
                    if is_free(pair.a, {pair.b.project_id, None}, projects)
                    and is_free(pair.b, {pair.a.project_id, None}, projects)
                )
        await self._open(proposed)

    def _renew_waiting(self) -> None:
        """Find the waiting pairs that go on otherwise than before, or not at all."""
        lessons = {lesson.place: lesson for lesson in self.memory.all()}
        now = self.fleet.now()
        self.renew = lambda pair: renewed(pair, lessons, self.entries, now)
        for id_, pair in self.waiting.items():
            after = self.renew(pair)
            if after.state in ("same", "contradict") and after.state != pair.state:
                self.judged[id_] = after
            elif after is not pair:
                self.renewed[id_] = after

    def _wanted(self, compared: Sequence[ComparableLesson]) -> set[Place]:
        """Return the places of the lessons to compare with all others.

        These are new entries, and, as a limit may have left out pairs of theirs, all lessons of the
        programs with a lesson to be considered or a pair that asks them no more.
        """
        ended = (
            side
            for id_, pair in self.waiting.items()
            if id_ in self.judged or (id_ in self.renewed and not takes_a_place(self.renewed[id_]))
            for side in (pair.a, pair.b)
        )
        names = {*self.pending, *(side.program_id for side in ended)}
        keys = self._new_keys()
        return {
            lesson.place
            for lesson in compared
            if (lesson.lesson_id in keys if lesson.is_entry else lesson.program_id in names)
        }

    def _open_sides(self) -> list[tuple[Place, Place]]:
        """Return the places of both sides of each pair that takes a place."""
        return [
            (_place_of(pair.a), _place_of(pair.b))
            for id_, pair in {**self.waiting, **self.renewed}.items()
            if id_ not in self.judged and takes_a_place(pair)
        ]

    async def _open(self, proposed: Sequence[Proposal]) -> None:
        """Choose the best proposals that are no pairs yet, and those that are judged.

        Which pairs are known is read for those that would be opened alone, until none of them is.
        Billed 1 read each.
        """
        places, read = self._open_sides(), dict[str, Pair | None]()
        undecided = {id_ for id_, pair in self.waiting.items() if pair.state == "open"}
        ended = {id_ for id_, pair in self.renewed.items() if pair.state == "gone"}
        while True:
            known = {id_ for id_, pair in read.items() if pair and pair.state != "gone"}
            choose = partial(chosen, proposed, (known | undecided) - ended, places)
            picked = {
                pair_id(pair.a.words, pair.b.words): pair
                for pair in await to_thread.run_sync(choose, abandon_on_cancel=True)
            }
            unread = [id_ for id_ in picked if id_ not in read]
            if not unread:
                break
            for start in range(0, len(unread), PAIRS_PER_READ):
                for each in await self.fleet.pairs.read(*unread[start : start + PAIRS_PER_READ]):
                    read[each.pair_id] = each.pair
                    after = self._pair(picked[each.pair_id], each.pair)
                    # a word of these entries is with them already
                    is_new = each.pair is None or not _keys(after) <= _keys(each.pair)
                    if after.state == "same" or (after.state == "contradict" and is_new):
                        self.judged[each.pair_id] = after
        self.opened = {
            id_: self._pair(proposal, read[id_])
            for id_, proposal in picked.items()
            if id_ not in self.judged
        }
        self.report.opened = sum(
            pair.state == "open" and read[id_] is None for id_, pair in self.opened.items()
        )

    def _pair(self, proposal: Proposal, before: Pair | None) -> Pair:
        """Return the pair of a proposal, with the verdicts that its texts have."""
        found = before.steering if before and before.steering == FOUND_BY_MODEL else ""
        a, b = sides_in_order(side_of(proposal.a), side_of(proposal.b))
        pair = Pair(
            pair_id=pair_id(proposal.a.words, proposal.b.words),
            a=a,
            b=b,
            cosine=proposal.cosine,
            margin=proposal.margin,
            steering=orders_of(proposal.a) or orders_of(proposal.b) or found,
            judgements=before.judgements if before else (),
            opened_at=self.fleet.now(),
        )
        return replace(pair, state=ruling(pair))

    # The end

    async def leave(self) -> None:
        """Write the pairs and carry out known verdicts, then write the stamps, the note of this run
        and the snapshot.

        Each pair and each program is a commit of its own, as it is then; one that cannot be written
        is skipped and named, and lessons of such a pair are considered again. Billed 2 reads and 2
        writes each. Raises LeaseLostError.
        """
        ids = dict.fromkeys((*self.judged, *self.renewed, *self.opened))
        changes, unwritten = await attempt_each(ids, self._write_pair, "pair {}".format)
        for change in filter(None, changes):
            self._follow(change)
        of = {**self.renewed, **self.opened, **self.judged}
        self.left |= {_place_of(side) for id_ in unwritten for side in (of[id_].a, of[id_].b)}
        pending = sorted(self.pending)
        _, unstamped = await attempt_each(pending, self._stamp, "program {}".format)
        self.report.skipped += map("pair {}".format, unwritten)
        self.report.skipped += map("program {}".format, unstamped)
        now, last = self.fleet.now(), self.last.value
        by = self.fleet.caller.program_id or self.fleet.caller.client or MAINTAINER
        note = replace(last, run=self.number, considered=last.epoch, at=now, by=by)
        write = self.fleet.last_runs.write(self.last, note)
        await retry_conflicts(lambda: self.writer.commit(write), "the note of the last run", 0.0)
        self.memory.run = self.number
        await self.writer.publish(consolidated_at=now)

    def _as_judged(self, stored: Pair) -> Pair:
        """Return a stored pair about the sides that its verdict is carried out for."""
        judged = self.judged[stored.pair_id]
        after = replace(stored, a=judged.a, b=judged.b)
        for silence in (each for each in judged.judgements if each.is_silence):
            after = with_judgement(after, silence)
        return replace(after, state=ruling(after))

    async def _write_pair(self, id_: str) -> EntryChange | None:
        """Write a pair as it is now, or carry out its verdict; return the entry that this
        changed.
        """
        if id_ in self.judged:
            judged = await apply_stored(self.fleet, id_, self._as_judged)
            return judged and judged.change
        (now,) = await self.fleet.pairs.read(id_)
        waited, pair = self.waiting.get(id_), self.opened.get(id_)
        if now.pair is not None and now.pair.state != "gone":
            is_same = waited is not None and waited.state == now.pair.state
            goes_on = self.renew(now.pair) if is_same else None
            # the texts of a pair that ended may be those of other lessons
            is_ended = goes_on is not None and goes_on.state == "gone"
            pair = pair if is_ended and pair is not None else goes_on
        if pair is not None and pair is not now.pair and pair.state != "same":
            await self.writer.commit(self.fleet.pairs.write(now, pair))
        return None

    async def _stamp(self, name: str) -> None:
        """Stamp one program as it is now; one that was deleted is left."""
        (before,) = await self.fleet.programs.read_versioned(name)
        if before.revision != ABSENT:
            after = await to_thread.run_sync(self._considered, before.program)
            if writes := self.fleet.programs.writes(before, after):
                await self.writer.commit(*writes)
            await to_thread.run_sync(self.memory.remember, after)

    def _considered(self, program: Program) -> Program:
        """Return the program without the pending ids of lessons that are as they were compared, and
        that were not skipped.
        """
        name, patterns = program.program_id, dict(program.patterns)
        now, then = self._facts(comparable_lessons(program)), self._facts(self.memory.lessons[name])
        considered = {
            id_
            for id_ in self.pending[name]
            if now.get(id_) == then.get(id_) and (name, id_) not in self.left
        }
        for id_ in considered & patterns.keys():
            if vectors := self.vectors.get((name, id_)):
                engine = self.fleet.embedder.name
                patterns[id_] = replace(patterns[id_], **vectors._asdict(), embedder=engine)
        pending = tuple(id_ for id_ in program.pending if id_ not in considered)
        if (pending, patterns) == (program.pending, program.patterns):
            return program
        after = replace(program, patterns=patterns, pending=pending, run=self.number)
        return with_fitting_vectors(program, after)

    def _facts(self, lessons: Iterable[ComparableLesson]) -> dict[str, tuple[object, ...]]:
        """Return what a run makes of each lesson: a word about one changes it if it was stale."""
        return {
            each.lesson_id: (
                (*each[:6], each.allowed, each.stale_at >= self.began, each.knowledge_keys)
            )
            for each in lessons
        }


def _place_of(side: Side) -> Place:
    """Return where a side stands, as `ComparableLesson.place`."""
    return ("", side.key) if side.key is not None else (side.program_id, side.pattern_id)


def _keys(pair: Pair) -> set[str]:
    return {side.key for side in (pair.a, pair.b) if side.key is not None}
