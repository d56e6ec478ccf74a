"""Maintenance of a fleet: what ended is deleted, and pairs are proposed, in one run."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from fleet_memory.errors import ConflictError, FleetMemoryError, LeaseLostError
from fleet_memory.fleet import Fleet, Progress, no_progress
from fleet_memory.jobs.model_judging import judge_with_model
from fleet_memory.jobs.proposing import ProposalReport, propose
from fleet_memory.jobs.publishing import FencedWriter, leased
from fleet_memory.repositories.documents import iter_readable
from fleet_memory.repositories.runs import LastRun
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import ModelRun
from fleet_memory.schemas.value import Value
from fleet_memory.stores import Document, Query, Write

DELETED_AT_ONCE: Final = 100  # documents in a commit; chosen


async def delete_expired(
    fleet: Fleet, writer: FencedWriter, policy: Policy, now: datetime
) -> int | None:
    """Delete the archive's lines of more than `retentionDays` ago and return how many; None where
    it is kept for ever.

    Lessons have no retention. A dry run counts at most the first 100. Billed 1 read and 1 write a
    line, and 1 read. Raises LeaseLostError.
    """
    if policy.retention_days is None:
        return None
    before, deleted = now - timedelta(days=policy.retention_days), 0

    def aged(document: Document) -> tuple[Document, bool]:
        return document, datetime.fromisoformat(str(document.fields["at"])) < before

    earliest = Query(fleet.paths.archive, order="at", limit=DELETED_AT_ONCE)
    while True:
        documents = iter_readable(await fleet.store.find(earliest), aged)
        old = [Write(each.ref, None, each.revision) for each, is_old in documents if is_old]
        if old and not await writer.try_commit(*old):
            return deleted  # somebody wrote one of them at that moment; the next run does the rest
        deleted += len(old)
        if len(old) < DELETED_AT_ONCE or writer.is_dry_run:
            return deleted


ANOTHER_RUN: Final = "Another maintenance of this fleet is running; leave it to that one."

_logger = logging.getLogger(__name__)


class Maintained(Value):
    """A run's result, step by step; of a dry run, the expected result.

    `promoted` and `updated` are keys of entries. `waiting` counts the lessons that are in no entry,
    `opened` the pairs that a reader is asked about since. `embedded` counts the lessons and
    entries that got a vector, None for none. `expired` counts the lines of the archive that
    the policy keeps no longer, None where it keeps all. `toolsets` counts the documents that
    each changed. `skipped` names the documents that could not be read or written. `judge_model`
    are the figures of the policy's model, None where it was not asked.
    """

    dry_run: bool
    promoted: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    opened: int = 0
    waiting: int = 0
    embedded: int | None = None
    expired: int | None = None
    toolsets: Mapping[str, int] | None = None
    skipped: tuple[str, ...] = ()
    judge_model: ModelRun | None = None


async def may_propose(fleet: Fleet) -> bool:
    """Whether this server compares lessons: it is warm, or the fleet is small enough to be read
    whole.

    Billed 1 count on a cold server. `serve --maintain` and `fleet-memory maintain` always do.
    """
    if fleet.max_programs_read is None or not fleet.memory.is_cold:
        return True
    return await fleet.programs.count() <= fleet.max_programs_read


async def propose_if_free(
    fleet: Fleet, policy: Policy, progress: Progress, *, dry_run: bool
) -> ProposalReport | None:
    """Propose once, unless this server does not or another run is under way; then return None."""
    if not await may_propose(fleet):
        return None
    if dry_run:
        return await propose(fleet, FencedWriter(fleet), policy, progress)
    try:
        async with leased(fleet) as writer:
            if writer is None:
                return None
            return await propose(fleet, writer, policy, progress)
    except LeaseLostError:
        return None


async def maintain_if_due(fleet: Fleet, every_s: float) -> float:
    """Maintain the fleet unless some server did lately; return the seconds until it is due again.

    A server with an endpoint for the policy's model asks it, also when another has maintained the
    fleet.
    """
    try:
        wait_s = _due_in_s((await fleet.last_runs.read()).value, fleet.now(), every_s)
        if not wait_s and await may_propose(fleet):
            async with leased(fleet) as writer:
                if writer is not None and not _due_in_s(
                    (await fleet.last_runs.read()).value, fleet.now(), every_s
                ):
                    await _run(fleet, writer, no_progress)
        if fleet.judge_model is not None:
            await judge_with_model(fleet)
    except (ConflictError, LeaseLostError) as busy:
        _logger.info("maintenance is left to another run: %s", busy)
    except FleetMemoryError as error:
        _logger.warning(
            "maintenance failed and will be tried again: %s %s", error, error.operator_detail
        )
    except Exception:  # the outermost edge of this task: the tools go on
        _logger.exception("maintenance failed and will be tried again")
    else:
        return wait_s or every_s
    return every_s


def _due_in_s(last: LastRun, now: datetime, every_s: float) -> float:
    """Return the seconds until a run is due, 0 for now. A note from the future is none: some clock
    was wrong.
    """
    since_s = (now - last.at).total_seconds() if last.at else every_s
    return every_s - since_s if 0 <= since_s < every_s else 0.0


async def maintain_fleet(
    fleet: Fleet, progress: Progress, *, rebuild: bool = False, dry_run: bool = False
) -> Maintained:
    """Maintain a fleet; `rebuild` compares every lesson anew, and makes every vector of another
    embedder. A dry run writes nothing and asks no model.

    Raises ConflictError when another run is under way, here or in another process, LeaseLostError
    when another has taken over.
    """
    if dry_run:
        return await _run(fleet, FencedWriter(fleet), progress, rebuild=rebuild)
    async with leased(fleet) as writer:
        if writer is None:
            raise ConflictError(ANOTHER_RUN)
        maintained = await _run(fleet, writer, progress, rebuild=rebuild)
    return replace(maintained, judge_model=await judge_with_model(fleet))


async def _run(
    fleet: Fleet, writer: FencedWriter, progress: Progress, *, rebuild: bool = False
) -> Maintained:
    if rebuild:
        await writer.try_commit(await fleet.last_runs.new_epoch(considered=False))
    policy = await fleet.policies.read(fleet.now())
    expired = await delete_expired(fleet, writer, policy, fleet.now())
    toolsets = {
        each.name: await each.maintain(fleet, writer) for each in fleet.toolsets if each.maintain
    }
    report = await propose(fleet, writer, policy, progress)
    changes = report.changes.values()
    maintained = Maintained(
        dry_run=writer.is_dry_run,
        promoted=tuple(change.entry.key for change in changes if change.is_promotion),
        updated=tuple(
            change.entry.key
            for change in changes
            if not change.is_promotion and change.after != "candidate"
        ),
        opened=report.opened,
        waiting=report.waiting,
        embedded=report.embedded or None,
        expired=expired,
        toolsets={name: count for name, count in toolsets.items() if count} or None,
        skipped=tuple(report.skipped),
    )
    if not writer.is_dry_run:
        figures = {**maintained.wire(), **(maintained.toolsets or {})}
        counts = (
            f"{name} {len(it) if isinstance(it, list) else it}"
            for name, it in figures.items()
            if name not in ("dryRun", "toolsets")
        )
        _logger.info("maintenance: %s", ", ".join(counts))
    return maintained
