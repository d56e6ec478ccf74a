"""What one consolidation looks at: the programs that changed, the lessons of the topics they touch, the entries."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple, TypeAlias

from fleet_memory.jobs.consolidation.promotions import Seen
from fleet_memory.repositories.entry_codec import VersionedEntry
from fleet_memory.repositories.knowledge import Knowledge
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.repositories.programs import Programs
from fleet_memory.repositories.snapshots import row_of
from fleet_memory.repositories.waiting import Shards
from fleet_memory.rules.consensus.blocking import Topics, topics
from fleet_memory.rules.consensus.lessons import NO_LESSONS, Lessons, merged_lessons, numbers_of
from fleet_memory.rules.consensus.waiting import changed_domains, learnt
from fleet_memory.rules.text.vectors import Vectors, packed
from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program
from fleet_memory.schemas.similarity import Profile
from fleet_memory.schemas.waiting import Learnt, OpenPair, WaitingIndex

Embed: TypeAlias = Callable[[Sequence[str]], Awaitable[Vectors | None]]


class Engine(NamedTuple):
    """The similarity engine of a run. `embed` returns a unit row per text, or None while it cannot answer."""

    name: str
    profile: Profile
    embed: Embed


@dataclass(frozen=True)
class RunScope:
    """What was asked of a run. One limited to a domain or project carries out less, and leaves nothing considered."""

    threshold: int
    now: datetime
    domain: str | None = None
    project_id: str | None = None
    rebuild: bool = False

    @property
    def partial(self) -> bool:
        """Whether the run is limited."""
        return self.domain is not None or self.project_id is not None

    def admits(self, lesson: Learnt) -> bool:
        """Whether a lesson is among what was asked for."""
        return self.domain in (None, lesson.domain) and self.project_id in (None, lesson.project_id)


@dataclass(frozen=True)
class Scene:
    """`lessons` holds every domain of the topics to `look_at`, and every changed one; `topics` are all there are.

    `behind` says that the snapshot does not hold every entry as it is, `blind` that the engine could not make vectors
    which some lessons or entries need: what such a run decides is true, and there may be more to decide.
    """

    index: WaitingIndex
    pairs: Sequence[OpenPair]
    programs: Sequence[Seen]
    lessons: Mapping[str, Lessons]
    rows: Sequence[KnowledgeRow]
    behind: bool
    blind: bool
    changed: frozenset[str]
    topics: Topics
    look_at: Topics


class Scenes:
    """Reads scenes of one fleet."""

    def __init__(self, programs: Programs, knowledge: Knowledge, shards: Shards, engine: Engine) -> None:
        self._programs = programs
        self._knowledge = knowledge
        self._shards = shards
        self._engine = engine

    async def read(self, wanted: RunScope) -> Scene:
        """Read what changed since the last run, and whatever is compared with it."""
        index, pairs = await self._shards.index()
        if wanted.rebuild or index.embedder != self._engine.name:
            index, pairs = WaitingIndex(judged=index.judged), []
            held = await self._programs.all()
        else:
            held = await self._programs.dirty()
        programs = await self._embedded(held)
        behind = await self._knowledge.snapshots.behind()
        rows = await self._rows(behind)
        made_by = {row.embedder for row in rows} | {
            pattern.embedder for seen in programs for pattern in seen.program.patterns.values()
        }
        blind = bool(made_by - {self._engine.name})
        changed = self._changed(index, [seen.program for seen in programs], rows, wanted)
        lessons = await self._lessons(changed, index, programs, wanted.now)
        known = {domain: one.count for domain, one in index.domains.items()}
        counts = known | {domain: len(found.learnt) for domain, found in lessons.items()}
        spoken_of = dict.fromkeys(row.domain for row in rows)
        mapped = topics(
            {
                domain: counts.get(domain, 0)
                for domain in counts | spoken_of
                if counts.get(domain, 0) or domain in spoken_of
            }
        )
        look_at = tuple(topic for topic in mapped if changed & set(topic) or topic not in index.topics)
        beside = {domain for topic in look_at for domain in topic} - lessons.keys()
        lessons |= await self._lessons(beside, index, (), wanted.now)
        return Scene(index, pairs, programs, lessons, rows, bool(behind), blind, frozenset(changed), mapped, look_at)

    def _changed(
        self, index: WaitingIndex, programs: Sequence[Program], rows: Sequence[KnowledgeRow], wanted: RunScope
    ) -> set[str]:
        everything = not index.embedder
        found = {domain for program in programs for domain in changed_domains(program)}
        if everything:
            found |= {pattern.domain for program in programs for pattern in program.patterns.values()}
        found |= {
            name for name, one in index.domains.items() if one.stale_from and one.stale_from < wanted.now.timestamp()
        }
        found |= {row.domain for row in rows if row.changed_in > index.knowledge_version or not row.changed_in}
        return found | (set(index.domains) if index.threshold != wanted.threshold else set())

    async def _lessons(
        self, domains: Collection[str], index: WaitingIndex, programs: Sequence[Seen], now: datetime
    ) -> dict[str, Lessons]:
        kept = await self._shards.read(domains, index) if index.embedder else {}
        fresh: dict[str, list[Learnt]] = {domain: [] for domain in sorted(domains)}
        vectors: dict[str, list[tuple[str, str]]] = {domain: [] for domain in fresh}
        for program in (seen.program for seen in programs):
            for one in learnt(program, now):
                if one.domain in fresh:
                    pattern = program.patterns[one.pattern_id]
                    fresh[one.domain].append(one)
                    vectors[one.domain].append((pattern.vector, pattern.embedder))
        names = {seen.program.program_id for seen in programs}
        return {
            domain: merged_lessons(
                kept.get(domain, NO_LESSONS),
                names,
                Lessons(found, numbers_of(vectors[domain], self._engine.name)),
                now,
            )
            for domain, found in fresh.items()
        }

    async def _rows(self, behind: Sequence[VersionedEntry]) -> list[KnowledgeRow]:
        """Return the active entries as boot reads them, and those no snapshot holds yet, with comparable vectors."""
        rows = {row.key: row for row in (await self._knowledge.snapshots.read()).rows}
        rows |= {held.entry.key: row_of(held.entry, held.entry.since, 0) for held in behind if held.entry}
        active = [row for _, row in sorted(rows.items()) if row.status == "active"]
        missing = [at for at, row in enumerate(active) if row.embedder != self._engine.name]
        made = await self._engine.embed([active[at].pattern for at in missing]) if missing else None
        for at, vector in zip(missing, made if made is not None else [], strict=made is not None):
            active[at] = replace(active[at], vector=packed(vector), embedder=self._engine.name)
        return active

    async def _embedded(self, programs: Sequence[VersionedProgram]) -> list[Seen]:
        """Return programs with a comparable vector for every pattern, as far as the engine can make them."""
        missing = [
            (held.program.program_id, pattern)
            for held in programs
            for pattern in held.program.patterns.values()
            if pattern.embedder != self._engine.name
        ]
        made = await self._engine.embed([pattern.pattern for _, pattern in missing]) if missing else None
        if made is None:
            return [Seen(versioned, versioned.program) for versioned in programs]
        anew: dict[str, dict[str, Pattern]] = {}
        for (program_id, pattern), vector in zip(missing, made, strict=True):
            renewed = replace(pattern, vector=packed(vector), embedder=self._engine.name)
            anew.setdefault(program_id, {})[pattern.id] = renewed
        return [
            Seen(versioned, _with(versioned.program, anew.get(versioned.program.program_id, {})))
            for versioned in programs
        ]


def _with(program: Program, renewed: Mapping[str, Pattern]) -> Program:
    return replace(program, patterns={**program.patterns, **renewed}) if renewed else program
