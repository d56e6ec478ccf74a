"""Erases for good: a text wherever it stands, a program's memory, one lesson, or an entry.

Traces of the texts go first (hashes, pairs, lines of the ledger), then the texts themselves, an
entry last and a program after that: a run that was killed anywhere finds by them the rest, and
finishes.
"""

from dataclasses import replace
from typing import Final, NamedTuple

from fleet_memory.errors import ConflictError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.curation import clean_text
from fleet_memory.jobs.erasing.documents import holds_text
from fleet_memory.jobs.erasing.findings import Findings
from fleet_memory.jobs.erasing.plan import Plan, Wanted, plan_erasure, wish
from fleet_memory.jobs.erasing.rounds import ErasingRound
from fleet_memory.jobs.fenced_writer import LEASE_S, FencedWriter, leased
from fleet_memory.repositories.blocks import document_blocks
from fleet_memory.repositories.commits import new_commit_id
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.repositories.stored_json import plain
from fleet_memory.rules.consensus.deciding import PERSON
from fleet_memory.rules.knowledge.entries import ledger_id
from fleet_memory.schemas.knowledge import LedgerLine
from fleet_memory.stores import Query

PURGE_KEY: Final = "purge"  # the key of the ledger's lines about purges
WAIT_FOR_RUN_S: Final = (
    LEASE_S + 30
)  # seconds that a purge waits for a run to end: one that was killed holds it so long
MAX_ROUNDS: Final = 3  # times that the whole fleet is looked through while servers write; chosen


class Erased(NamedTuple):
    """A purge's result, or its rehearsal's: documents by kind, their names, and the texts for
    people who ask for them.

    `left` are documents that still hold it, or cannot be read. `is_scrubbed`: nothing of it is in
    the store's files. `alike`: programs of the erased one's name in another spelling, which stay.
    """

    documents: dict[str, int]
    found: Findings
    texts: tuple[str, ...]
    left: tuple[str, ...] = ()
    is_scrubbed: bool = True
    alike: tuple[str, ...] = ()


async def preview_erasure(fleet: Fleet, wanted: Wanted) -> Erased:
    """Return the result that a purge would have; writes nothing.

    Raises ForbiddenError unless the caller may curate, InvalidArgumentError for an unclear wish,
    KnowledgeNotFoundError for an unknown entry. Billed 1 read for each document of the fleet, 2 for
    some kinds.
    """
    fleet.caller.require_curation()
    plan = await plan_erasure(fleet, wanted)
    round_ = ErasingRound(fleet, FencedWriter(fleet), plan)
    await round_.run()
    return _report(plan, round_, ())


async def erase(fleet: Fleet, wanted: Wanted) -> Erased:
    """Erase, look again, and have the store remove it from its files. Killed at any moment, the
    same call finishes.

    Waits for a maintenance run to end, and none begins meanwhile. The ledger keeps who, when, why
    and the counts. Raises as `preview_erasure`, and ConflictError while a run is under way. Billed
    as three previews, and 1R 1W for each document that changes.
    """
    fleet.caller.require_curation()
    wish(wanted)
    if wanted.why:
        await clean_text(fleet, "--why", wanted.why)

    async def attempt() -> Erased:
        async with leased(fleet) as writer:
            if writer is None:
                raise ConflictError(
                    "A maintenance run is under way; nothing was erased. Call again when it "
                    "has ended."
                )
            return await _erase(fleet, writer, wanted)

    erased = await retry_conflicts(attempt, None, WAIT_FOR_RUN_S)
    return erased._replace(is_scrubbed=await fleet.knowledge.store.scrub())


async def _erase(fleet: Fleet, writer: FencedWriter, wanted: Wanted) -> Erased:
    plan = await plan_erasure(fleet, wanted)
    await writer.commit()  # renews the lease: a large fleet takes a while to read
    preview = ErasingRound(fleet, FencedWriter(fleet), plan)
    await preview.run()
    if not preview.documents:
        return _report(plan, preview, await _left(fleet, plan))
    await _note(fleet, writer, preview, wanted.why)
    await _begin_anew(fleet, writer)
    again = plan
    for _ in range(MAX_ROUNDS):
        await ErasingRound(fleet, writer, again).run()
        again = await _plan_again(fleet, wanted, again)
        await writer.commit()
        look = ErasingRound(fleet, FencedWriter(fleet), again)
        await look.run()
        if not look.documents:
            break
    await _begin_anew(fleet, writer)
    return _report(plan, preview, await _left(fleet, again))


async def _plan_again(fleet: Fleet, wanted: Wanted, before: Plan) -> Plan:
    """Return the plan of this round: texts that came back, and traces of those that are known from
    before.
    """
    now = await plan_erasure(fleet, wanted) if wanted.entry is None else Plan(before.erasure)
    old = before.erasure
    erasure = replace(
        now.erasure,
        words=now.erasure.words | old.words,
        pairs=now.erasure.pairs | old.pairs,
        lessons=now.erasure.lessons | old.lessons,
        entries={**old.entries, **now.erasure.entries},
        made=now.erasure.made | old.made,
    )
    return replace(now, erasure=erasure)


async def _note(fleet: Fleet, writer: FencedWriter, preview: ErasingRound, why: str) -> None:
    """Note in the ledger that something is erased: first, so that it is there however the run
    ends.
    """
    counts = preview.found.sums()
    line = LedgerLine(
        event="erased",
        key=PURGE_KEY,
        at=fleet.now(),
        by=fleet.caller.program_id or PERSON,
        why=f"{why}: {counts}" if why else counts,
    )
    line_id = ledger_id(PURGE_KEY, 0, new_commit_id())
    await writer.commit(fleet.knowledge.ledger.write(line, line_id))


async def _begin_anew(fleet: Fleet, writer: FencedWriter) -> None:
    """Let every maintainer forget the fleet that it has in memory: it reads all again before it
    proposes.
    """
    run = await fleet.last_runs.read()
    last = replace(run.last, epoch=run.last.epoch + 1, considered=run.last.considered + 1)
    await writer.commit(fleet.last_runs.write(run, last))
    fleet.memory.forget()


async def _left(fleet: Fleet, plan: Plan) -> tuple[str, ...]:
    """Return the documents that hold the text all the same, e.g. of a program that is called so, or
    cannot be read.
    """
    names = [str(document) for document in plan.unreadable]
    for group in _GROUPS if plan.erasure.needle else ():
        async for documents in document_blocks(
            fleet.knowledge.store, Query(fleet.knowledge.paths.collection(group))
        ):
            names += [
                f"{group}/{document.ref.id}"
                for document in documents
                if holds_text(plain(dict(document.fields)), plan.erasure)
            ]
    return tuple(dict.fromkeys(names))


_GROUPS: Final = (  # leases and notes of runs hold times, counts and random ids alone
    *("programs", "pages", "gsp", "pairs", "snapshots"),
    *("ledger", "archive", "history", "receipts", "waiting"),
)


def _report(plan: Plan, round_: ErasingRound, left: tuple[str, ...]) -> Erased:
    return Erased(
        dict(round_.documents),
        round_.found,
        tuple(sorted(plan.texts)),
        left,
        alike=tuple(sorted(plan.alike)),
    )
