"""Turn lessons that several programs learnt independently into shared knowledge."""

from typing import Annotated, Final

from pydantic import Field

from fleet_memory.errors import ForbiddenError, InvalidArgumentError
from fleet_memory.fleet import Fleet, Progress
from fleet_memory.jobs.consolidation import ConsolidationReport
from fleet_memory.jobs.consolidation.runs import DEFAULT_THRESHOLD, consolidate, rehearse_consolidation
from fleet_memory.jobs.consolidation.scene import RunScope
from fleet_memory.schemas.answers.memory import ConsolidateAnswer
from fleet_memory.schemas.fields import Name
from fleet_memory.schemas.verdicts import NewVerdict
from fleet_memory.views.lessons import shown_pair, shown_promotion, shown_update

MAX_OFFERED_PAIRS: Final = 25  # pairs of each kind in one answer, the likeliest first; `stats` counts them all


async def pattern_consolidate(
    fleet: Fleet,
    progress: Progress,
    threshold: Annotated[
        int, Field(strict=True, ge=2, le=10, description="Independent programs needed, 2 to 10")
    ] = DEFAULT_THRESHOLD,
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
    if verdicts and dry_run:
        raise InvalidArgumentError("verdicts: cannot be tried in a dry run; send them with dryRun false")
    wanted = RunScope(threshold, fleet.now(), domain, project_id)
    if dry_run:
        report = await rehearse_consolidation(fleet, wanted, progress)
    else:
        report = await consolidate(fleet, wanted, progress, verdicts)
    return _answer(fleet, report, wanted, dry_run=dry_run)


def _answer(fleet: Fleet, report: ConsolidationReport, wanted: RunScope, *, dry_run: bool) -> ConsolidateAnswer:
    pairs = [pair for pair in report.pairs if wanted.domain in (None, pair.a_domain, pair.b_domain)]
    review = [pair for pair in pairs if not pair.contested]
    contested = [pair for pair in pairs if pair.contested]
    most = MAX_OFFERED_PAIRS if fleet.caller.sees_other_programs else 0
    return ConsolidateAnswer(
        similarity_engine=fleet.degraded_engine,
        dry_run=dry_run,
        threshold=wanted.threshold,
        promoted=tuple(shown_promotion(entry, why) for entry, why in report.promoted),
        updated=tuple(shown_update(entry, why) for entry, why in report.updated.values()),
        review=tuple(shown_pair(pair) for pair in review[:most]),
        contested=tuple(shown_pair(pair) for pair in contested[:most]),
        waiting=report.waiting,
        echoes=report.echoes,
        stats={
            "programsRead": report.programs,
            "lessonsCompared": report.lessons,
            "entries": report.entries,
            "reviewPairs": len(review),
            "contestedPairs": len(contested),
            "groupsOfTooFewOrigins": report.dependent,
        },
    )
