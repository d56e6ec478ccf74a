"""Runs of a consolidation, for tools, commands and the clock: under the fleet's lease, or as a rehearsal."""

from collections.abc import Sequence
from typing import Final

from fleet_memory.errors import ConflictError, EmbedderError
from fleet_memory.fleet import Fleet, Progress
from fleet_memory.jobs.consolidation import Consolidation, ConsolidationReport
from fleet_memory.jobs.consolidation.scene import Engine, RunScope
from fleet_memory.jobs.consolidation.verdicts import record_verdicts
from fleet_memory.jobs.fenced_writer import FencedWriter, leased
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.verdicts import NewVerdict

DEFAULT_THRESHOLD: Final = 2  # independent programs: one alone may be wrong


async def consolidate(
    fleet: Fleet, wanted: RunScope, progress: Progress, verdicts: Sequence[NewVerdict] = ()
) -> ConsolidationReport:
    """Consolidate under the lease.

    Raises ConflictError when another run holds it, InvalidArgumentError for a verdict about a pair that is not waiting;
    nothing was written then. Raises LeaseLostError when another run has taken over: its result will be this one's too.
    """
    async with leased(fleet) as writer:
        if writer is None:
            raise ConflictError(
                "Another consolidation is running; its result will be yours too. Call again in a moment."
            )
        judged = await record_verdicts(fleet, await _rehearsal(fleet), wanted, verdicts) if verdicts else {}
        return await (await _consolidation(fleet, writer)).run(wanted, judged, progress)


async def rehearse_consolidation(fleet: Fleet, wanted: RunScope, progress: Progress) -> ConsolidationReport:
    """Return the report that `consolidate` would give now; nothing is written."""
    return await (await _rehearsal(fleet)).run(wanted, {}, progress)


async def _rehearsal(fleet: Fleet) -> Consolidation:
    return await _consolidation(fleet, FencedWriter(fleet))


async def _consolidation(fleet: Fleet, writer: FencedWriter) -> Consolidation:
    async def embed(texts: Sequence[str]) -> Vectors | None:
        try:
            return await fleet.embedder.vectors(texts)
        except EmbedderError:
            return None  # these lessons are compared by their words until the engine is back

    await fleet.embedder.ready()
    engine = Engine(fleet.embedder.name, fleet.embedder.profile, embed)
    return Consolidation(fleet.programs, fleet.knowledge, writer, engine)
