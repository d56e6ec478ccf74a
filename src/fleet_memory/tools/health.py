"""A program's and a whole fleet's memory as numbers, with advice."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Final

from pydantic import Field

from fleet_memory.errors import ForbiddenError
from fleet_memory.fleet import Fleet, JsonObject
from fleet_memory.jobs.auditing import EVERY_PROGRAM, allow_read, note_read
from fleet_memory.rules.curating import own_freshness
from fleet_memory.rules.entries import row_state
from fleet_memory.rules.health import (
    Look,
    commonest_questions,
    fading,
    fleet_advice,
    program_advice,
    relearnt_entries,
    signs,
    total_signs,
    unwell,
    verdict,
)
from fleet_memory.schemas.fields import Name, Timestamp
from fleet_memory.schemas.knowledge import Freshness
from fleet_memory.schemas.programs import (
    DecayConfig,
    HealthVerdict,
    MissingQuestion,
    Program,
    ProgramHealth,
    RelearntEntry,
)
from fleet_memory.schemas.value import Value
from fleet_memory.tools.core.judging import contested_entries
from fleet_memory.tools.shared import (
    MAX_OF_A_KIND,
    Absence,
    Degraded,
    KnowledgeAnswer,
    MaxTokens,
    Omitting,
    fitted,
    fleet_freshness,
    fleet_judging,
    with_absence,
)

MAX_FADING: Final = 5  # lessons that fade soon; chosen
UNHEALTHY: Final = frozenset({"forgetting", "hoarding", "unreinforced"})  # verdicts that are a no
# Programs that one call reads, each billed. Source: docs/firestore.md, chosen
MAX_PROGRAMS_LOOKED_AT: Final = 64


class FadingPattern(Value):
    """A pattern that will be stale soon unless it is reinforced."""

    id: str
    pattern: str
    stale_in_days: float


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
    decay_config: DecayConfig
    stale_ratio: float
    verdict: HealthVerdict
    advice: tuple[str, ...]
    fading_soon: tuple[FadingPattern, ...]
    to_judge: int = 0
    freshness: Freshness
    toolsets: Mapping[str, JsonObject] | None = None
    omitted: Mapping[str, int] | None = None


class FleetHealthAnswer(Degraded, Omitting):
    """A fleet's memory, the advice first.

    `verdict`, `patterns`, `missing` and `unwell` speak of the 64 programs that changed last;
    `omitted.programs` counts the others. `judging` counts the pairs that wait: for `people`, for a
    `third` program, for `programs` with a lesson in them. `missing` are questions that memory could
    not answer, the commonest first, `relearnt` retired entries that were learnt again. `knowledge`
    counts entries by status. `omitted` counts the items left out of each list.
    """

    verdict: HealthVerdict
    advice: tuple[str, ...]
    judging: Mapping[str, int]
    missing: tuple[MissingQuestion, ...] = ()
    contested: tuple[KnowledgeAnswer, ...] = ()
    relearnt: tuple[RelearntEntry, ...] = ()
    unwell: tuple[ProgramHealth, ...] = ()
    programs: int
    patterns: Mapping[str, int]
    knowledge: Mapping[str, int]
    freshness: Freshness


async def memory_health(
    fleet: Fleet, program_id: Annotated[Name, Field(description="The program to look at")]
) -> HealthAnswer:
    """At the end of a session, or when recall brings little: check what is active, stale and
    promoted in a program's memory, what fades soon, and what to do about it.
    """
    await allow_read(fleet, program_id, "memory_health")
    await fleet.embedder.check()
    now = fleet.now()
    program = await fleet.programs.read(program_id)
    seen, soon = signs(program, now), fading(program, now)
    used = Counter(pattern.domain for pattern in program.patterns.values())
    domains = sorted(used, key=lambda domain: (-used[domain], domain))
    people_judge = (await fleet.policies.read(now)).judging == "people"
    to_judge = 0 if people_judge else await fleet.pairs.count_asked_of(program_id)
    answer = HealthAnswer(
        similarity_engine=fleet.degraded_engine,
        program_id=program_id,
        total_patterns=seen.total,
        active_patterns=seen.total - seen.stale,
        stale_patterns=seen.stale,
        promoted_patterns=seen.promoted,
        domains=tuple(sorted(domains[:MAX_OF_A_KIND])),
        last_update=program.last_update,
        decay_config=program.decay,
        stale_ratio=seen.stale_ratio,
        verdict=verdict(seen),
        advice=program_advice(seen, len(soon), to_judge),
        fading_soon=tuple(
            FadingPattern(id=pattern.id, pattern=pattern.pattern, stale_in_days=round(days, 1))
            for days, pattern in soon[:MAX_FADING]
        ),
        to_judge=to_judge,
        freshness=own_freshness(program.waiting, now),
        toolsets={
            each.name: (await each.health(fleet, program_id)).wire()
            for each in fleet.served_toolsets
            if each.health
        }
        or None,
        omitted=+Counter(domains=len(domains) - MAX_OF_A_KIND, fadingSoon=len(soon) - MAX_FADING)
        or None,
    )
    return await with_absence(answer, fleet, program)


async def fleet_health(fleet: Fleet, max_tokens: MaxTokens = 2_000) -> FleetHealthAnswer:
    """When you look after the fleet: check what waits for a judge, which questions it could not
    answer, what is contested, and which programs are not well.

    `advice` has the steps, the most urgent first. `unwell`
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
    fresh = await fleet_freshness(fleet, snapshot)
    seen = total_signs(looks)
    lists: dict[str, Sequence[Value]] = {
        "missing": commonest_questions(looks),
        "contested": contested_entries(rows, now),
        "relearnt": relearnt_entries(rows),
        "unwell": unwell(looks),
    }
    entries = Counter[str](row_state(row, now) for row in rows)
    del entries["candidate"]
    frame = FleetHealthAnswer(
        similarity_engine=fleet.degraded_engine,
        verdict=verdict(seen),
        advice=fleet_advice(
            {name: len(items) for name, items in lists.items()}
            | judging
            | {"verify": entries["verify"], "pending": fresh.pending if fresh.is_stale else 0}
        ),
        judging=judging,
        programs=programs,
        patterns={"total": seen.total, "stale": seen.stale, "promoted": seen.promoted},
        knowledge=entries,
        freshness=fresh,
    )
    beyond = {"programs": programs - len(looks)}
    return fitted(frame, lists, max_tokens, beyond=beyond, most=MAX_OF_A_KIND)
