"""A program's and a whole fleet's memory as numbers, with advice."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Annotated, Final

from pydantic import Field

from fleet_memory.errors import ForbiddenError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.auditing import EVERY_PROGRAM, allow_read, note_read
from fleet_memory.rules.asking import open_rewrites
from fleet_memory.rules.curating import count_waiting, freshness, own_freshness
from fleet_memory.rules.entries import row_state
from fleet_memory.rules.health import (
    GRAVITY,
    Look,
    commonest_questions,
    curation_advice,
    fading,
    fleet_advice,
    knowledge_counts,
    missing_advice,
    names_advice,
    people_advice,
    program_advice,
    programs_advice,
    relearnt_entries,
    signs,
    total_signs,
    unwell,
    verdict,
)
from fleet_memory.rules.retrieval.budget import MAX_TOKENS, Section, shared, size
from fleet_memory.schemas.fields import Name, Timestamp
from fleet_memory.schemas.health import (
    HealthVerdict,
    JudgingCounts,
    KnowledgeCounts,
    MissingQuestion,
    ModelRun,
    PatternCounts,
    ProgramHealth,
    RelearntEntry,
)
from fleet_memory.schemas.knowledge import Freshness
from fleet_memory.schemas.programs import Program
from fleet_memory.schemas.value import Value
from fleet_memory.tools.core.boot_sections import MAX_FADING, FadingPattern
from fleet_memory.tools.core.judging import ContestedAnswer
from fleet_memory.tools.shared import MAX_OF_A_KIND, Absence, Degraded, fleet_judging
from fleet_memory.tools.state import DecayAnswer, decay_answer

MIN_FLEET_HEALTH_TOKENS: Final = 1_000  # tokens; the numbers alone take up to 700
MAX_PROGRAMS_LOOKED_AT: Final = (
    64  # programs that one call reads, each billed; Source: docs/firestore.md, chosen
)
MAX_MISSING_SHOWN: Final = (
    5  # questions that memory could not answer; chosen: somebody can answer so many
)


class HealthAnswer(Absence, Degraded):
    """A program's memory as numbers, with advice.

    The counts are of all lessons, `domains` and `fading_soon` of those at hand.
    `promoted_patterns` contribute to entries, which may be candidates. `to_judge` counts the pairs
    that this program is asked about. `omitted` counts the items left out of each list.
    """

    program_id: str
    total_patterns: int
    active_patterns: int
    stale_patterns: int
    promoted_patterns: int
    domains: tuple[str, ...]
    last_update: Timestamp | None = None
    decay_config: DecayAnswer
    stale_ratio: float
    verdict: HealthVerdict
    advice: tuple[str, ...]
    fading_soon: tuple[FadingPattern, ...]
    to_judge: int = 0
    freshness: Freshness
    omitted: Mapping[str, int] | None = None


class FleetHealthAnswer(Degraded):
    """A fleet's memory, the advice first. Absent parts are empty or 0.

    `verdict`, `patterns`, `verdicts`, `missing` and `unwell` speak of the 64 programs that changed
    last; `omitted.programs` counts the others. `judging` counts the pairs that wait: for `people`,
    for a `third` program, for `programs` with a lesson in them. `missing` are questions that memory
    could not answer, the commonest first, `relearnt` retired entries that were learnt again.
    `verdicts` counts programs. `judge_model` is the last run of the model that the policy names.
    `omitted` counts the items left out of each list.
    """

    verdict: HealthVerdict
    advice: tuple[str, ...]
    judging: Mapping[str, int] | None = None
    missing: tuple[MissingQuestion, ...] | None = None
    contested: tuple[ContestedAnswer, ...] | None = None
    relearnt: tuple[RelearntEntry, ...] | None = None
    unwell: tuple[ProgramHealth, ...] | None = None
    programs: int
    patterns: PatternCounts
    knowledge: KnowledgeCounts
    verdicts: Mapping[str, int] | None = None
    freshness: Freshness
    judge_model: ModelRun | None = None
    omitted: Mapping[str, int] | None = None


async def memory_health(
    fleet: Fleet, program_id: Annotated[Name, Field(description="The program to look at")]
) -> HealthAnswer:
    """Check a program's memory: what is active, stale and promoted, what fades soon, and what to do
    about it.

    Call it at the end of a session, or when recall brings little.
    """
    await allow_read(fleet, program_id, "memory_health")
    await fleet.embedder.check()
    now = fleet.now()
    program = await fleet.programs.read(program_id)
    seen, soon = signs(program, now), fading(program, now)
    used = Counter(pattern.domain for pattern in program.patterns.values())
    domains = sorted(used, key=lambda domain: (-used[domain], domain))
    to_judge = await _count_questions(fleet, program, now)
    return HealthAnswer(
        exists=None if program.exists else False,
        suggestions=None if program.exists else await fleet.close_programs(program_id) or None,
        similarity_engine=fleet.degraded_engine,
        program_id=program_id,
        total_patterns=seen.total,
        active_patterns=seen.total - seen.stale,
        stale_patterns=seen.stale,
        promoted_patterns=seen.promoted,
        domains=tuple(sorted(domains[:MAX_OF_A_KIND])),
        last_update=program.last_update,
        decay_config=decay_answer(program.decay),
        stale_ratio=seen.stale_ratio,
        verdict=verdict(seen),
        advice=program_advice(seen, len(soon), to_judge),
        fading_soon=FadingPattern.first(soon),
        to_judge=to_judge,
        freshness=own_freshness(count_waiting(program), now),
        omitted=omitted_counts(
            {"domains": len(domains), "fadingSoon": len(soon)},
            {"domains": MAX_OF_A_KIND, "fadingSoon": MAX_FADING},
        ),
    )


async def fleet_health(
    fleet: Fleet,
    max_tokens: Annotated[
        int,
        Field(
            strict=True,
            ge=MIN_FLEET_HEALTH_TOKENS,
            le=MAX_TOKENS,
            description="Hard limit of the answer, 1000 to 100000",
        ),
    ] = 2_000,
) -> FleetHealthAnswer:
    """Check the whole fleet's memory: what waits for a judge, which questions it could not answer,
    what is contested, and which programs are not well.

    For those who look after the fleet. `advice` has the steps, the most urgent first. `unwell`
    lists programs, the worst first; memory_health has their advice.
    """
    if not fleet.caller.sees_other_programs:
        raise ForbiddenError(
            "You are bound to one program and see no others. Call memory_health for your own "
            "memory."
        )
    await note_read(fleet, EVERY_PROGRAM, "fleet_health")
    await fleet.embedder.check()
    now = fleet.now()
    programs = await fleet.programs.count()

    def look(program: Program) -> Look:
        return Look(program.program_id, signs(program, now), program.missing)

    looks = await fleet.programs.map_latest(look, MAX_PROGRAMS_LOOKED_AT)
    rows = (snapshot := await fleet.knowledge.snapshots.read()).rows
    judging = await fleet_judging(fleet, programs)
    fresh = freshness(
        await fleet.programs.count_pending(),
        await fleet.pairs.count_open(),
        snapshot.consolidated_at,
        now,
    )
    seen, entries, counts = (
        total_signs(looks),
        knowledge_counts(rows, now),
        Counter(each.verdict for each in looks),
    )
    missing, relearnt, ill = commonest_questions(looks), relearnt_entries(rows), unwell(looks)
    policy = await fleet.policies.read(now)
    frame = FleetHealthAnswer(
        similarity_engine=fleet.degraded_engine,
        verdict=verdict(seen),
        advice=(
            *people_advice(judging),
            *missing_advice(missing),
            *programs_advice(judging),
            *curation_advice(entries.contested, relearnt),
            *names_advice(looks),
            *fleet_advice(len(ill), entries.verify, fresh),
        ),
        judging=judging_answer(judging),
        missing=tuple(missing),
        contested=tuple(
            ContestedAnswer(key=row.key, pattern=row.pattern)
            for row in rows
            if row_state(row, now) == "contested"
        ),
        relearnt=tuple(relearnt),
        unwell=tuple(ill),
        programs=programs,
        patterns=PatternCounts(
            total=seen.total,
            active=seen.total - seen.stale,
            stale=seen.stale,
            promoted=seen.promoted,
            archived=await fleet.programs.archive.count_lessons(),
        ),
        knowledge=entries,
        verdicts={name: counts[name] for name in GRAVITY if counts[name]},
        freshness=fresh,
        judge_model=(
            ((await fleet.model_runs.read()).note.run or ModelRun(model=policy.judge_model))
            if policy.judge_model
            else None
        ),
        omitted={"programs": max(0, programs - len(looks))},
    )
    return with_fitting_lists(frame, max_tokens)


def with_fitting_lists(everything: FleetHealthAnswer, max_tokens: int) -> FleetHealthAnswer:
    """Return the answer with as many items of each list as fit, 25 at most, 5 questions; each list
    has a quarter of the room for its own.
    """
    lists: Mapping[str, Sequence[Value]] = {
        "missing": everything.missing or (),
        "contested": everything.contested or (),
        "relearnt": everything.relearnt or (),
        "unwell": everything.unwell or (),
    }
    every = {**(everything.omitted or {}), **{name: len(items) for name, items in lists.items()}}
    largest = replace(everything, missing=(), contested=(), relearnt=(), unwell=(), omitted=every)
    room = max_tokens * 4 - size(largest.wire())  # a token is 4 bytes
    limits = {"missing": MAX_MISSING_SHOWN}
    sections = [
        Section([size(item.wire()) + 1 for item in items[: limits.get(name, MAX_OF_A_KIND)]], 1 / 4)
        for name, items in lists.items()
    ]
    shown = dict(zip(lists, shared(room, sections), strict=True))
    return replace(
        everything,
        missing=(everything.missing or ())[: shown["missing"]] or None,
        contested=(everything.contested or ())[: shown["contested"]] or None,
        relearnt=(everything.relearnt or ())[: shown["relearnt"]] or None,
        unwell=(everything.unwell or ())[: shown["unwell"]] or None,
        omitted=omitted_counts(every, shown),
    )


def judging_answer(judging: JudgingCounts) -> dict[str, int] | None:
    """Return the pairs that wait by whom they wait for; None for no pair."""
    return {name: count for name, count in asdict(judging).items() if count} or None


def omitted_counts(every: Mapping[str, int], shown: Mapping[str, int]) -> dict[str, int] | None:
    """Return how many items of each list are left out, from the lengths of all and of those shown;
    None where none are.
    """
    left = {name: count - shown.get(name, 0) for name, count in every.items()}
    return {name: count for name, count in left.items() if count > 0} or None


async def _count_questions(fleet: Fleet, program: Program, now: datetime) -> int:
    """Return how many pairs a program is asked about: its rewrites and, unless people judge, those
    with a side of it.

    Billed as 2 counts, and the policy.
    """
    rewrites = len(open_rewrites(program, now))
    if (await fleet.policies.read(now)).judging == "people":
        return rewrites
    return rewrites + await fleet.pairs.count_asked_of(program.program_id)
