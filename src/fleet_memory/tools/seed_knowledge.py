"""Set rules for the whole fleet."""

from typing import Annotated

from pydantic import Field

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.curation import SeedingPlan, keyed_seeds, plan_seeding, seed_rules
from fleet_memory.schemas.answers.curation import SeedAnswer
from fleet_memory.schemas.seeds import Seed


async def seed_knowledge(
    fleet: Fleet,
    entries: Annotated[
        tuple[Seed, ...], Field(min_length=1, max_length=500, description="The rules")
    ],
    prune: Annotated[
        bool, Field(strict=True, description="Retire the rules that are not among them")
    ] = False,
    replace: Annotated[
        bool, Field(strict=True, description="Let a rule take the place of quite another")
    ] = False,
    dry_run: Annotated[
        bool, Field(strict=True, description="Say what would change, and change nothing")
    ] = False,
) -> SeedAnswer:
    """Set rules that every agent of the fleet reads at its next boot, only when a person asks you
    to.

    A rule has a text, a domain, and if you like a key and a reason (why). The same rules again
    change nothing.
    """
    wanted = keyed_seeds(entries)
    plan = await plan_seeding(fleet, wanted)
    if not dry_run:
        _require_clear(plan, prune=prune, replace=replace)
        await seed_rules(fleet, wanted, prune=prune)
    missing = tuple(plan.missing)
    return SeedAnswer(
        dry_run=dry_run,
        added=tuple(sorted(plan.added)),
        changed=tuple(sorted(plan.changed)),
        unchanged=tuple(plan.unchanged),
        retired=missing if prune else (),
        kept=() if prune else missing,
    )


def _require_clear(plan: SeedingPlan, *, prune: bool, replace: bool) -> None:
    """Raise InvalidArgumentError where a person must say which of two rules is meant."""
    if plan.replaced and not replace:
        raise InvalidArgumentError(
            f"entries: {', '.join(plan.replaced)} would get another rule's text; give the new "
            "rule a key of its own, "
            "or send replace: true"
        )
    if plan.rewordings and not prune:
        named = ", ".join(
            f"{key} says nearly the same as {other}"
            for key, other in sorted(plan.rewordings.items())
        )
        raise InvalidArgumentError(
            f"entries: {named}; give it a key, or send all rules with prune: true"
        )
