"""Turn lessons that several programs learnt independently into shared knowledge."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Annotated, Final

import anyio
import anyio.to_thread
from pydantic import Field

from fleet_memory.errors import ConflictError, ForbiddenError, InvalidArgumentError
from fleet_memory.rules.consolidation import Candidate, Plan, planned
from fleet_memory.rules.decay import is_stale
from fleet_memory.rules.keys import digest, text_hash
from fleet_memory.rules.presentation import shown_pair, shown_promotion, shown_update
from fleet_memory.rules.promotion import Waiting
from fleet_memory.rules.vectors import Vectors, packed, unpacked
from fleet_memory.schemas.answers import ConsolidateAnswer
from fleet_memory.schemas.fields import EvidenceText, Name
from fleet_memory.schemas.knowledge import Entry, KnowledgeRow
from fleet_memory.schemas.patterns import Pattern, Verdict
from fleet_memory.schemas.similarity import Profile
from fleet_memory.schemas.value import Input
from fleet_memory.stores.knowledge import HeldEntry, row_of
from fleet_memory.stores.leases import release, take
from fleet_memory.stores.programs import Held
from fleet_memory.stores.promotions import Promotions
from fleet_memory.tools import Fleet, Progress

LEASE: Final = "consolidation"
LEASE_S: Final = 120.0  # seconds; a run renews it with every commit
MOST_OFFERED: Final = 25  # pairs in one answer, the likeliest first; `stats` counts the rest


class NewVerdict(Input):
    """A judgement of one pair that `review` or `contested` offered."""

    pair_id: Annotated[Name, Field(description="From review or contested")]
    same: Annotated[bool, Field(strict=True, description="Whether both say the same")]
    reason: Annotated[EvidenceText, Field(description="Why")] = ""


@dataclass(frozen=True)
class Scene:
    """What a consolidation looks at: programs as read, the lessons that wait, the entries, and all their vectors."""

    programs: Sequence[Held]
    lessons: Sequence[Waiting]
    rows: Sequence[KnowledgeRow]
    vectors: Vectors


@dataclass(frozen=True)
class Wanted:
    """What the caller asked for."""

    threshold: int
    domain: str | None
    project_id: str | None
    now: datetime

    def admits(self, pattern: Pattern) -> bool:
        """Whether a pattern is among the domain and project asked for."""
        return self.domain in (None, pattern.domain) and self.project_id in (None, pattern.project_id)


async def pattern_consolidate(
    fleet: Fleet,
    progress: Progress,
    threshold: Annotated[int, Field(strict=True, ge=2, le=10, description="Independent programs needed, 2 to 10")] = 2,
    dry_run: Annotated[bool, Field(strict=True, description="Decide, but write nothing")] = False,
    domain: Annotated[Name | None, Field(description="Only this topic")] = None,
    project_id: Annotated[Name | None, Field(description="Only this project")] = None,
    verdicts: Annotated[
        tuple[NewVerdict, ...], Field(max_length=100, description="Your judgement of offered pairs")
    ] = (),
) -> ConsolidateAnswer:
    """Promote lessons that several programs learnt independently, in whatever words, to knowledge for all.

    Safe to call at any time; running it again changes nothing. Pairs that numbers cannot decide come back in
    `review`: read both texts and call again with a verdict for each. `contested` pairs are close and contradict.
    """
    if verdicts and not fleet.caller.sees_other_programs:
        raise ForbiddenError(
            "You are bound to one program and see no other program's texts, so you cannot judge pairs."
        )
    wanted = Wanted(threshold, domain, project_id, fleet.now())
    await progress(0, 4, "reading the programs")
    if dry_run:
        return await _run(fleet, Promotions(fleet.programs, fleet.knowledge), wanted, verdicts, progress)
    lease = await take(
        fleet.programs.store, fleet.knowledge.lease(LEASE), uuid.uuid4().hex, now=wanted.now, ttl_s=LEASE_S
    )
    if lease is None:
        raise ConflictError("Another consolidation is running; its result will be yours too. Call again in a moment.")
    hands = Promotions(fleet.programs, fleet.knowledge, lease, lambda: fleet.now() + timedelta(seconds=LEASE_S))
    try:
        return await _run(fleet, hands, wanted, verdicts, progress)
    finally:
        with anyio.CancelScope(shield=True):
            await release(fleet.programs.store, hands.lease or lease)


async def _run(
    fleet: Fleet, hands: Promotions, wanted: Wanted, verdicts: Sequence[NewVerdict], progress: Progress
) -> ConsolidateAnswer:
    behind = await fleet.knowledge.unpublished()  # a run before this one ended between promoting and publishing
    if behind:
        await hands.publish(now=wanted.now)
    scene = await _scene(fleet, behind if hands.lease is None else (), wanted)
    await progress(1, 4, f"comparing {len(scene.lessons)} lessons")
    profile = fleet.embedder.profile
    plan = await _planned(scene, profile, wanted.threshold)
    if verdicts:
        scene = await _judged(fleet, hands, scene, plan, verdicts)
        plan = await _planned(scene, profile, wanted.threshold)
    await progress(2, 4, f"promoting {len(plan.promotions)} groups")
    done = await _carried_out(hands, scene, plan, wanted.now)
    await progress(3, 4, "publishing")
    if hands.lease is not None:
        pending = await _considered(hands, scene, wanted)
        if pending or done.promoted or done.updated or done.echoes:
            await hands.publish(now=wanted.now)
    await progress(4, 4, "done")
    return _answer(fleet, scene, plan, done, dry_run=hands.lease is None, threshold=wanted.threshold)


async def _scene(fleet: Fleet, behind: Sequence[HeldEntry], wanted: Wanted) -> Scene:
    programs = await fleet.programs.all()
    lessons = [
        Waiting(program.program_id, pattern)
        for program in sorted((held.program for held in programs), key=lambda program: program.program_id)
        for _, pattern in sorted(program.patterns.items())
        if pattern.knowledge_key is None and not is_stale(pattern, wanted.now, program.decay) and wanted.admits(pattern)
    ]
    rows = {row.key: row for row in (await fleet.knowledge.snapshot()).rows}
    rows |= {held.entry.key: row_of(held.entry, 0, 0) for held in behind if held.entry is not None}
    active = [row for _, row in sorted(rows.items()) if row.status == "active"]
    return await _with_vectors(fleet, programs, lessons, active)


async def _with_vectors(
    fleet: Fleet, programs: Sequence[Held], lessons: Sequence[Waiting], rows: Sequence[KnowledgeRow]
) -> Scene:
    """Return the scene with a vector of the current embedder for every lesson and entry, made anew where missing."""
    sources: list[Pattern | KnowledgeRow] = [*(lesson.pattern for lesson in lessons), *rows]
    await fleet.embedder.vectors([])  # settles which engine answers, and so its name
    name = fleet.embedder.name
    missing = [i for i, source in enumerate(sources) if not source.vector or source.embedder != name]
    made = await fleet.embedder.vectors([sources[i].pattern for i in missing])
    for i, vector in zip(missing, made, strict=True):
        sources[i] = sources[i].changed(vector=packed(vector), embedder=name)
    patterns = [source for source in sources if isinstance(source, Pattern)]
    renewed = [lesson._replace(pattern=pattern) for lesson, pattern in zip(lessons, patterns, strict=True)]
    entries = [source for source in sources if isinstance(source, KnowledgeRow)]
    return Scene(programs, renewed, entries, unpacked([source.vector for source in sources]))


async def _planned(scene: Scene, profile: Profile, threshold: int) -> Plan:
    def work() -> Plan:
        return planned(scene.lessons, scene.rows, scene.vectors, profile, threshold)

    return await anyio.to_thread.run_sync(work)  # seconds of arithmetic for a large fleet: other calls go on meanwhile


async def _judged(fleet: Fleet, hands: Promotions, scene: Scene, plan: Plan, verdicts: Sequence[NewVerdict]) -> Scene:
    """Record verdicts on the patterns they are about, and return the scene with them."""
    offered = {pair.pair_id: pair for pair in (*plan.review, *plan.contested)}
    known = {
        digest(*sorted((text_hash(lesson.pattern.pattern), other))): verdict.same
        for lesson in scene.lessons
        for other, verdict in lesson.pattern.verdicts.items()
    }
    marks: dict[tuple[str, str], dict[str, Verdict]] = {}
    for position, new in enumerate(verdicts):
        if new.pair_id not in offered and known.get(new.pair_id) != new.same:
            raise InvalidArgumentError(
                f"verdicts.{position}.pairId: no pair {new.pair_id!r} is waiting for judgement; "
                "call pattern_consolidate without verdicts to list those that are"
            )
        if pair := offered.get(new.pair_id):
            _mark(marks, pair, new, fleet.caller.program_id or "unbound", fleet.now())
    if hands.lease is not None:
        for (program_id, pattern_id), found in marks.items():
            for other, verdict in found.items():
                await hands.judge(program_id, pattern_id, other, verdict)
    return replace(scene, lessons=[_with_verdicts(lesson, marks) for lesson in scene.lessons])


def _mark(
    marks: dict[tuple[str, str], dict[str, Verdict]], pair: Candidate, new: NewVerdict, judge: str, now: datetime
) -> None:
    contributed = judge in (pair.a.program_id, pair.b.program_id)
    verdict = Verdict(same=new.same, judge=judge, at=now, reason=new.reason, contributed=contributed)
    for node, other in ((pair.a, pair.b), (pair.b, pair.a)):
        if not node.is_entry:
            marks.setdefault((node.program_id, node.pattern_id), {})[text_hash(other.text)] = verdict


def _with_verdicts(lesson: Waiting, marks: Mapping[tuple[str, str], Mapping[str, Verdict]]) -> Waiting:
    found = marks.get((lesson.program_id, lesson.pattern.id))
    if not found:
        return lesson
    return lesson._replace(pattern=lesson.pattern.changed(verdicts={**lesson.pattern.verdicts, **found}))


@dataclass
class Done:
    """What a run carried out, with the reason of each."""

    promoted: list[tuple[Entry, str]] = field(default_factory=list)
    updated: dict[str, tuple[Entry, str]] = field(default_factory=dict)
    echoes: int = 0


async def _carried_out(hands: Promotions, scene: Scene, plan: Plan, now: datetime) -> Done:
    done = Done()
    first_entry = len(scene.lessons)
    for attachment in plan.attachments:
        lesson, row = scene.lessons[attachment.lesson], scene.rows[attachment.entry - first_entry]
        attached = await hands.attach(lesson, row.key, attachment.similarity, now=now)
        if attached is not None and attached.echo:
            done.echoes += 1
        elif attached is not None:
            done.updated[row.key] = (attached.entry, attachment.explain)
    for group in plan.promotions:
        entry = await hands.promote(scene.lessons, group, now=now)
        if entry is not None:
            done.promoted.append((entry, group.explain))
    return done


async def _considered(hands: Promotions, scene: Scene, wanted: Wanted) -> int:
    """Take what this run looked at off each program's pending list; return how many programs had some."""
    seen = {(lesson.program_id, lesson.pattern.id): lesson.pattern for lesson in scene.lessons}
    touched = 0
    for program in (held.program for held in scene.programs):
        looked_at = [
            seen.get((program.program_id, id_), pattern)
            for id_, pattern in program.patterns.items()
            if wanted.admits(pattern)
        ]
        behind = [p for p in looked_at if p.id in program.pending or p.embedder != program.patterns[p.id].embedder]
        if behind:
            touched += 1
            await hands.consider(program.program_id, behind)
    return touched


def _answer(fleet: Fleet, scene: Scene, plan: Plan, done: Done, *, dry_run: bool, threshold: int) -> ConsolidateAnswer:
    shown = fleet.caller.sees_other_programs
    attached = len(plan.attachments)
    promoted = sum(len(group.members) for group in plan.promotions)
    return ConsolidateAnswer(
        similarity_engine=fleet.degraded_engine,
        dry_run=dry_run,
        threshold=threshold,
        promoted=tuple(shown_promotion(entry, why) for entry, why in done.promoted),
        updated=tuple(shown_update(entry, why) for entry, why in done.updated.values()),
        review=tuple(shown_pair(pair) for pair in plan.review[:MOST_OFFERED] if shown),
        contested=tuple(shown_pair(pair) for pair in plan.contested[:MOST_OFFERED] if shown),
        waiting=len(scene.lessons) - attached - promoted,
        echoes=done.echoes,
        stats={
            "programs": len(scene.programs),
            "lessons": len(scene.lessons),
            "entries": len(scene.rows),
            "reviewPairs": len(plan.review),
            "contestedPairs": len(plan.contested),
        },
    )
