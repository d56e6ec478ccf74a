"""One consolidation: read what changed, decide topic by topic, carry it out, leave the shards for the next run.

Its reads and its work grow with what is new: the programs that changed, the shards of the topics they touch, the
snapshot. Everything it leaves between runs can be rebuilt from the programs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from anyio import to_thread

from fleet_memory.fleet import Progress
from fleet_memory.jobs.consolidation.promotions import Decided, Promoter
from fleet_memory.jobs.consolidation.scene import Engine, RunScope, Scene, Scenes
from fleet_memory.jobs.fenced_writer import FencedWriter
from fleet_memory.repositories.batching import batches
from fleet_memory.repositories.knowledge import Knowledge
from fleet_memory.repositories.limits import MAX_LESSON_SHARD_BYTES
from fleet_memory.repositories.programs import Programs
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.repositories.snapshots import row_of
from fleet_memory.repositories.waiting import Shards
from fleet_memory.rules.consensus.attachment import Attachment, Side, attachments
from fleet_memory.rules.consensus.lessons import encoded, numbers_of, settled, stacked, state
from fleet_memory.rules.consensus.pairs import Candidate, entry_lessons
from fleet_memory.rules.consensus.planning import Group, Plan, Topic, contested, planned
from fleet_memory.rules.text.vectors import unit_rows
from fleet_memory.schemas.knowledge import Entry, KnowledgeRow
from fleet_memory.schemas.waiting import OpenPair, WaitingIndex
from fleet_memory.stores import Write

Place: TypeAlias = tuple[str, str]
"""A program id and a pattern id."""

SHARED: Final = "knowledge"  # what an entry is called where a pair names programs
MAX_REMEMBERED_VERDICTS: Final = 500  # verdicts remembered, so that a repeated call is known


@dataclass
class ConsolidationReport:
    """What a run carried out, with the reason of each; the pairs that wait for judgement; and what it looked at."""

    promoted: list[tuple[Entry, str]] = field(default_factory=list)
    updated: dict[str, tuple[Entry, str]] = field(default_factory=dict)
    echoes: int = 0
    pairs: list[OpenPair] = field(default_factory=list)
    waiting: int = 0
    programs: int = 0
    lessons: int = 0
    entries: int = 0
    dependent: int = 0


@dataclass
class _Done:
    """A run under way: what it reports, the pairs it left open, and each lesson that is in an entry now, by its key."""

    report: ConsolidationReport
    open_pairs: list[Candidate]
    marks: dict[Place, str] = field(default_factory=dict)


class _Look(NamedTuple):
    """One topic with what was decided about it."""

    topic: Topic
    plan: Plan


class Consolidation:
    """Consolidations of one fleet: for good, or as a dry run if the writer's is one."""

    def __init__(self, programs: Programs, knowledge: Knowledge, writer: FencedWriter, engine: Engine) -> None:
        self.shards = Shards(programs.store, knowledge.paths)
        self._knowledge = knowledge
        self._writer = writer
        self._promoter = Promoter(writer, programs, knowledge)
        self._engine = engine
        self._scenes = Scenes(programs, knowledge, self.shards, engine)

    async def run(self, wanted: RunScope, judged: Mapping[str, bool], progress: Progress) -> ConsolidationReport:
        """Consolidate once; `judged` are verdicts to remember. Raises LeaseLostError, ConflictError."""
        await progress(0, 4, "reading what changed")
        scene = await self._scenes.read(wanted)
        self._promoter.look_at(scene.programs)
        count = sum(len(found.learnt) for found in scene.lessons.values())
        await progress(1, 4, f"comparing {count} lessons")
        # Other calls go on meanwhile, and a server that is told to leave does not wait: nothing is written in there.
        looks = await to_thread.run_sync(self._planned, scene, wanted.threshold, abandon_on_cancel=True)
        await progress(2, 4, f"promoting {sum(len(look.plan.promotions) for look in looks)} groups")
        report = ConsolidationReport(programs=len(scene.programs), lessons=count, entries=len(scene.rows))
        report.dependent = sum(look.plan.dependent for look in looks)
        done = _Done(report, [pair for look in looks for pair in look.plan.open_pairs])
        await self._carried_out(scene, looks, wanted, done)
        report.pairs = self._open_pairs(scene, done)
        report.waiting = _waiting(scene, done.marks)
        await progress(3, 4, "publishing")
        if not self._writer.is_dry_run:
            await self._left(scene, done, wanted, judged)
        await progress(4, 4, "done")
        return report

    def _planned(self, scene: Scene, threshold: int) -> list[_Look]:
        made = [self._topic(scene, names) for names in scene.look_at]
        return [_Look(topic, planned(topic, self._engine.profile, threshold)) for topic in made]

    def _topic(
        self,
        scene: Scene,
        names: Sequence[str],
        new: Sequence[KnowledgeRow] = (),
        marks: Mapping[Place, str] = MappingProxyType({}),
    ) -> Topic:
        """Return the lessons and entries of some domains: with `new` entries, and lessons that `marks` settled."""
        lessons = [settled(scene.lessons[name], marks) for name in names]
        rows = [row for row in (*scene.rows, *new) if row.domain in names]
        known = numbers_of([(row.vector, row.embedder) for row in rows], self._engine.name)
        vectors = unit_rows(stacked([*(one.numbers for one in lessons), known]))
        waiting = [one for part in lessons for one in part.learnt]
        return Topic(waiting, vectors[: len(waiting)], rows, vectors[len(waiting) :])

    async def _carried_out(self, scene: Scene, looks: Sequence[_Look], wanted: RunScope, done: _Done) -> None:
        for look in looks:
            await self._attach(look.topic, look.plan.attachments, wanted, done)
        decided = [_decided(look.topic, group) for look in looks for group in look.plan.promotions]
        admitted = [one for one in decided if all(wanted.admits(lesson) for lesson in one.members)]
        for made in await self._promoter.promote(admitted, now=wanted.now):
            done.report.promoted.append((made.entry, made.decided.why))
            done.marks.update({lesson.place: made.entry.key for lesson in made.decided.members})
        await self._meet_new_entries(scene, wanted, done)

    async def _attach(self, topic: Topic, found: Iterable[Attachment], wanted: RunScope, done: _Done) -> None:
        for attachment in found:
            lesson, row = topic.lessons[attachment.lesson], topic.entries[attachment.entry]
            if not wanted.admits(lesson):
                continue
            attached = await self._promoter.attach(lesson, row.key, attachment.similarity, now=wanted.now)
            if attached is None:
                continue
            done.marks[lesson.place] = row.key
            if attached.echo:
                done.report.echoes += 1
            else:
                done.report.updated[row.key] = (attached.entry, attachment.explain)

    async def _meet_new_entries(self, scene: Scene, wanted: RunScope, done: _Done) -> None:
        """Attach the lessons that say what an entry of this very run says, so that running again changes nothing."""
        new = [row_of(entry, 0, 0) for entry, _ in done.report.promoted]
        for names in scene.look_at:
            if any(row.domain in names for row in new):
                topic = self._topic(scene, names, new, done.marks)
                entries = Side(entry_lessons(topic.entries), topic.entry_vectors)
                found, open_pairs = attachments(Side(topic.lessons, topic.vectors), entries, self._engine.profile)
                done.open_pairs += open_pairs
                await self._attach(topic, found, wanted, done)

    async def _left(self, scene: Scene, done: _Done, wanted: RunScope, judged: Mapping[str, bool]) -> None:
        """Leave everything to the next run: the snapshot, the shards, the index, and the programs considered."""
        report = done.report
        moved = report.promoted or report.updated or report.echoes
        if moved or scene.programs or scene.behind:
            await self._writer.publish(consolidated_at=wanted.now)
        unchanged = not (moved or scene.programs or scene.behind or scene.look_at or scene.changed or judged)
        if wanted.partial or scene.blind or unchanged:  # the next run that sees everything looks again
            return
        domains = {**scene.index.domains}
        writes: list[Write] = []
        for name, lessons in scene.lessons.items():
            if name in scene.changed or any(one.place in done.marks for one in lessons.learnt):
                after = settled(lessons, done.marks)
                shards = encoded(after, MAX_LESSON_SHARD_BYTES)
                writes += self.shards.writes(name, shards)
                domains[name] = state(after, len(shards))
        index = WaitingIndex(
            threshold=wanted.threshold,
            embedder=self._engine.name,
            knowledge_version=(await self._knowledge.snapshots.read()).version,
            domains={name: one for name, one in sorted(domains.items()) if one.count},
            topics=scene.topics,
            judged=dict([*scene.index.judged.items(), *judged.items()][-MAX_REMEMBERED_VERDICTS:]),
        )
        for batch in batches([*writes, *self.shards.index_writes(index, report.pairs)]):
            await retry_conflicts(partial(self._writer.commit, *batch), "the consolidation index")
        await self._promoter.clear({*scene.lessons})

    def _open_pairs(self, scene: Scene, done: _Done) -> list[OpenPair]:
        """Return every pair that waits for judgement: those found now, and those of topics nobody touched."""
        looked_at = scene.changed.union(*scene.look_at)
        kept = [pair for pair in scene.pairs if not {pair.a_domain, pair.b_domain} & looked_at]
        found = {
            pair.pair_id: _open_pair(pair, self._engine)
            for pair in done.open_pairs
            if not {pair.a.place, pair.b.place} & done.marks.keys()
        }
        ordered = [*kept, *found.values()]
        return sorted(ordered, key=lambda pair: (-pair.contrast, pair.pair_id))


def _decided(topic: Topic, group: Group) -> Decided:
    members = [topic.lessons[position] for position in group.members]
    return Decided(members, group.members.index(group.text), group.similarities, group.explain)


def _waiting(scene: Scene, marks: Mapping[Place, str]) -> int:
    """Count the lessons that are in no entry, in the domains read and in all others."""
    elsewhere = sum(one.waiting for name, one in scene.index.domains.items() if name not in scene.lessons)
    read = (one for lessons in scene.lessons.values() for one in lessons.learnt if not one.settled)
    return elsewhere + sum(one.place not in marks for one in read)


def _open_pair(pair: Candidate, engine: Engine) -> OpenPair:
    a, b = pair.a, pair.b
    return OpenPair(
        pair_id=pair.pair_id,
        similarity=pair.link.cosine,
        contrast=pair.link.contrast,
        objection=pair.objection,
        contested=contested(pair, engine.profile),
        explain=pair.explain,
        a_program=a.program_id or SHARED,
        a_id=a.pattern_id,
        a_domain=a.domain,
        a_text=a.text,
        b_program=b.program_id or SHARED,
        b_id=b.pattern_id,
        b_domain=b.domain,
        b_text=b.text,
    )
