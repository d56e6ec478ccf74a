"""The maintainer's run: it reads the changes, joins equal words, proposes pairs, and stamps the
programs.

It runs under the maintainer's lease. Killed anywhere it leaves whole promotions and whole pairs,
and the programs that it did not stamp wait for the next run.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from anyio import to_thread

from fleet_memory.errors import EmbedderError
from fleet_memory.fleet import Fleet, Progress
from fleet_memory.jobs.auditing import log_change
from fleet_memory.jobs.embedding import lesson_vectors
from fleet_memory.jobs.fenced_writer import FencedWriter
from fleet_memory.jobs.judging import apply_stored
from fleet_memory.jobs.proposing.considering import Considered, PairChange, stamp_considered
from fleet_memory.jobs.proposing.joining import (
    MAINTAINER,
    JoinedEntry,
    in_commits,
    join_together,
    name_of_group,
    publish_candidates,
)
from fleet_memory.jobs.proposing.judged_words import judged_words
from fleet_memory.jobs.proposing.pairing import is_step, place_of, plan_pairs, with_known_pairs
from fleet_memory.jobs.proposing.reading import FleetView, by_words, known_entry, read_fleet
from fleet_memory.jobs.proposing.yielding import leave_out_known, yielding
from fleet_memory.repositories.proposing_memory import KnownLesson, ProposingMemory
from fleet_memory.repositories.retrying import attempt_each, retry_conflicts
from fleet_memory.rules.proposing import EqualWords, equal_words
from fleet_memory.rules.text.vectors import LessonVectors
from fleet_memory.schemas.comparison import ComparableLesson
from fleet_memory.schemas.fields import vector_bytes
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Program
from fleet_memory.stores import Write


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


async def propose(
    fleet: Fleet, writer: FencedWriter, policy: Policy, progress: Progress
) -> ProposalReport:
    """Run once. A dry run reports the entries and counts the pairs, and leaves nothing.

    Raises LeaseLostError, ConflictError when every race for the note of the run was lost, and the
    store's errors.
    """
    with yielding():
        return await _propose(fleet, writer, policy, progress)


async def _propose(
    fleet: Fleet, writer: FencedWriter, policy: Policy, progress: Progress
) -> ProposalReport:
    memory = fleet.memory.copy() if writer.is_dry_run else fleet.memory
    await progress(0, 4, "reading what changed")
    view = await read_fleet(fleet, memory, policy, progress)
    report = ProposalReport(skipped=list(view.unreadable))
    await progress(1, 4, "joining equal words")
    run = _Run(memory, view, policy, report, fleet.now().timestamp())
    await _join(fleet, writer, run, progress)
    vectors = await _embed_missing(fleet, memory, view)
    considered = await to_thread.run_sync(_considered, memory, view, vectors, fleet.embedder.name)
    leave_out_known()
    await progress(2, 4, "comparing lessons")
    plan = await plan_pairs(fleet, memory, view, progress)
    known = await with_known_pairs(fleet, memory, view, plan)
    changes = known.changes
    report.opened = sum(
        change.after.state == "open" and change.before.pair is None for change in changes
    )
    report.closed = sum(change.after.state == "gone" for change in changes)
    report.waiting = plan.waiting
    await progress(3, 4, "writing pairs")
    if not writer.is_dry_run:
        await _apply_stored(fleet, run, known.judged)
        await _leave(fleet, writer, run, considered, changes)
    await progress(4, 4, "done")
    return report


@dataclass(frozen=True)
class _Run:
    """A run under way."""

    memory: ProposingMemory
    view: FleetView
    policy: Policy
    report: ProposalReport
    began: float
    """Seconds since 1970; lessons that are stale before it are not compared."""
    left: set[tuple[str, str]] = field(default_factory=set)
    """The places of the lessons and entries that were skipped."""

    def without_left(self, name: str, seen: Considered) -> Considered:
        """Return a program's lessons as considered, but those that were skipped or are in an entry
        that was.
        """
        if not self.left:
            return seen
        left = {
            lesson.comparable.lesson_id
            for lesson in self.memory.lessons[name]
            if lesson.comparable.place in self.left or ("", lesson.knowledge_key) in self.left
        }
        return seen._replace(pending=[id_ for id_ in seen.pending if id_ not in left])

    def stamp_of(self, name: str, seen: Considered) -> Sequence[Write] | None:
        """Return the stamp of a program that is as it was read and considered whole; None for any
        other.
        """
        is_whole = len(seen.pending) == len(self.view.pending[name]) and not seen.vectors
        return self.view.stamps.get(name) if is_whole else None

    def follow(self, entries: Iterable[Entry], programs: Iterable[Program]) -> None:
        """Take up entries that changed, and the programs of the lessons that joined them."""
        for entry in entries:
            self.view.entries[entry.key] = known_entry(entry)
        for program in programs:
            self._remember(program)

    def _remember(self, program: Program) -> None:
        """Take up a program after its lessons joined an entry; a lesson that changed meanwhile
        stays pending.

        A word about a lesson does not change it, unless it was stale.
        """
        name = program.program_id
        self.view.stamps.pop(name, None)
        before = {self._compared(lesson) for lesson in self.memory.lessons[name]}
        self.memory.remember(program)
        lessons = self.memory.lessons[name]
        seen = {
            lesson.comparable.lesson_id for lesson in lessons if self._compared(lesson) in before
        }
        seen |= {id_ for id_ in self.view.pending.get(name, ()) if id_ not in program.patterns}
        self.view.pending[name] = [id_ for id_ in program.pending if id_ in seen]

    def _compared(self, lesson: KnownLesson) -> tuple[ComparableLesson, bool]:
        return lesson.comparable, lesson.stale_at >= self.began


async def _join(fleet: Fleet, writer: FencedWriter, run: _Run, progress: Progress) -> None:
    """Join equal words, and publish the candidates that may be; memory and view follow."""
    if not writer.is_dry_run:
        await _apply_stored(fleet, run, await judged_words(fleet, run.memory, run.view))
    groups = await to_thread.run_sync(_equal_words, run.memory, run.view, fleet)
    commits = in_commits(groups)
    for at, commit in enumerate(commits):
        if is_step(at, len(commits)):
            await progress(
                1 + at / len(commits), 4, f"joining equal words: {at} of {len(commits)} commits"
            )
        joined_groups = await join_together(fleet, writer, commit, run.policy)
        skipped = [equal_words for group in joined_groups for equal_words in group.skipped]
        run.report.skipped += [name_of_group(equal_words) for equal_words in skipped]
        run.left.update(lesson.place for equal_words in skipped for lesson in equal_words.lessons)
        run.left.update(
            ("", equal_words.key) for equal_words in skipped if equal_words.key is not None
        )
        await _follow(
            run,
            [group.joined for group in joined_groups if group.joined],
            is_dry_run=writer.is_dry_run,
        )
    published = await publish_candidates(fleet, writer, run.view.candidates, run.policy)
    await _follow(run, published, is_dry_run=writer.is_dry_run)


async def _follow(run: _Run, joined: Sequence[JoinedEntry], *, is_dry_run: bool) -> None:
    """Report the entries that lessons joined; memory and view follow."""
    for joined_entry in joined if not is_dry_run else ():
        log_change(MAINTAINER, joined_entry.change)
    programs = {
        program.program_id: program for joined_entry in joined for program in joined_entry.programs
    }
    await to_thread.run_sync(
        run.follow, [joined_entry.change.entry for joined_entry in joined], [*programs.values()]
    )
    run.report.joined += [joined_entry._replace(programs=()) for joined_entry in joined]


async def _apply_stored(fleet: Fleet, run: _Run, judged: Sequence[Pair]) -> None:
    """Carry out the verdicts of pairs after a text moved to another lesson or an entry."""
    attempts = await attempt_each(
        judged,
        lambda pair: apply_stored(fleet, pair, run.policy),
        lambda pair: f"pair {pair.pair_id}",
    )
    skipped = {attempt.name for attempt in attempts.skipped}
    left = (pair for pair in judged if f"pair {pair.pair_id}" in skipped)
    run.left.update(place_of(side) for pair in left for side in (pair.a, pair.b))
    names = sorted(
        {side.program_id for pair in judged for side in (pair.a, pair.b) if side.key is None}
    )
    changed = [result.change for result in attempts.results if result is not None and result.change]
    programs = (
        [versioned.program for versioned in await fleet.programs.read_versioned(*names)]
        if changed
        else []
    )
    for change in changed:
        log_change(MAINTAINER, change)
    run.follow([change.entry for change in changed], programs)
    run.report.skipped += [attempt.name for attempt in attempts.skipped]
    run.report.joined += [JoinedEntry(change) for change in changed]


def _equal_words(memory: ProposingMemory, view: FleetView, fleet: Fleet) -> list[EqualWords]:
    """Return the groups of equal words with a lesson or an entry to be considered."""
    living = memory.living(fleet.now())
    free: dict[str, list[ComparableLesson]] = {}
    wanted = {
        entry.comparable.words
        for key, entry in view.entries.items()
        if key in view.new_keys(memory)
    }
    for lesson in living:
        comparable = lesson.comparable
        if lesson.knowledge_key is None:
            free.setdefault(comparable.words, []).append(comparable)
            if comparable.lesson_id in view.pending.get(comparable.program_id, ()):
                wanted.add(comparable.words)
    return equal_words(wanted, free, by_words(view.entries))


async def _embed_missing(
    fleet: Fleet, memory: ProposingMemory, view: FleetView
) -> dict[str, dict[str, LessonVectors]]:
    """Make the vectors that lessons of the considered programs lack; return them by program and
    pattern id.

    None while the engine does not answer: equal words still meet, and these lessons wait for the
    next run. A stand-in replaces no vector of another engine: those lessons wait for a server that
    has it.
    """
    await fleet.embedder.check()
    if _lacking_vectors(fleet, memory, view):
        await fleet.embedder.ready()
    missing, engine = _lacking_vectors(fleet, memory, view), fleet.embedder.name
    if not missing:
        return {}
    try:
        texts = [
            (lesson.comparable.text, lesson.comparable.domain, lesson.evidence)
            for lesson in missing
        ]
        rows = await lesson_vectors(fleet.embedder, texts)
    except EmbedderError:
        return {}
    made: dict[str, dict[str, LessonVectors]] = {}
    for lesson, row in zip(missing, rows, strict=True):
        made.setdefault(lesson.comparable.program_id, {})[lesson.comparable.lesson_id] = row
    for name, vectors in made.items():
        memory.lessons[name] = [
            _with_vector(lesson, vectors, engine) for lesson in memory.lessons[name]
        ]
    return made


def _lacking_vectors(fleet: Fleet, memory: ProposingMemory, view: FleetView) -> list[KnownLesson]:
    engine, stands_in = fleet.embedder.name, bool(fleet.embedder.degraded)
    lacking = (
        lesson
        for name in view.pending
        for lesson in memory.lessons[name]
        if lesson.embedder != engine
    )
    return [lesson for lesson in lacking if not (stands_in and lesson.embedder)]


def _considered(
    memory: ProposingMemory,
    view: FleetView,
    vectors: Mapping[str, Mapping[str, LessonVectors]],
    engine: str,
) -> dict[str, Considered]:
    return {
        name: Considered(lessons, _comparable(lessons, pending, engine), vectors.get(name, {}))
        for name, pending in view.pending.items()
        for lessons in [memory.lessons[name]]
    }


def _comparable(lessons: Sequence[KnownLesson], pending: Sequence[str], engine: str) -> list[str]:
    """Return the pending ids but those of lessons that could not be compared for want of a
    vector.
    """
    bare = {
        lesson.comparable.lesson_id
        for lesson in lessons
        if lesson.knowledge_key is None and lesson.embedder != engine
    }
    return [pattern_id for pattern_id in pending if pattern_id not in bare]


def _with_vector(
    lesson: KnownLesson, vectors: Mapping[str, LessonVectors], engine: str
) -> KnownLesson:
    made = None if lesson.embedder == engine else vectors.get(lesson.comparable.lesson_id)
    return (
        lesson
        if made is None
        else lesson._replace(vector=vector_bytes(made.vector), embedder=engine)
    )


async def _leave(
    fleet: Fleet,
    writer: FencedWriter,
    run: _Run,
    seen: Mapping[str, Considered],
    changes: Sequence[PairChange],
) -> None:
    """Write the pairs, the stamps, the snapshot and the note of this run; the memory follows."""
    seen = {name: run.without_left(name, considered) for name, considered in seen.items()}
    seen = {
        name: considered._replace(stamp=run.stamp_of(name, considered))
        for name, considered in seen.items()
    }
    stamped = await stamp_considered(fleet, writer, seen, changes, run.view.run)
    run.report.skipped += stamped.skipped
    for pair in stamped.pairs:
        run.memory.remember_pair(pair)
    now = fleet.now()
    by = fleet.caller.program_id or fleet.caller.client or MAINTAINER
    last = run.view.last.last
    note = replace(last, run=run.view.run, considered=last.epoch, at=now, by=by)
    write = fleet.last_runs.write(run.view.last, note)
    await retry_conflicts(lambda: writer.commit(write), "the note of the last run", 0.0)
    run.memory.run = run.view.run
    if run.report.joined or run.memory.policy != run.policy:
        run.memory.candidates = None
    run.memory.policy = run.policy
    await writer.publish(consolidated_at=now)
