"""The toolset `work`: what the others did, whole and once. docs/work.md."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Final

from pydantic import Field

from fleet_memory.fleet import (
    ActivityRow,
    BootPart,
    Collection,
    Fleet,
    JsonObject,
    Tool,
    Toolset,
    WindowPart,
    Writer,
)
from fleet_memory.rules.retrieval.boot import Depth
from fleet_memory.schemas.value import Value
from fleet_memory.stores import Query
from fleet_memory.tools.work.calls import claim_work, hand_over, read_work
from fleet_memory.tools.work.documents import (
    ARCHIVE,
    BOARD,
    OUTPUTS,
    RECORDS,
    WorkStore,
    keep_in_order,
)
from fleet_memory.tools.work.rules import (
    NextStep,
    erased_board,
    erased_record,
    united_board,
    united_record,
)

MAX_HANDED: Final = 5  # that a boot shows; chosen
HANDED_WITHIN: Final = timedelta(days=14)  # chosen: what nobody took up by then is old news


class WorkPolicy(Value):
    """The policy fields of work, e.g. `work.keepDays`."""

    keep_days: Annotated[
        int,
        Field(ge=1, le=3650, description="days until a record of work goes to the archive"),
    ] = 90


async def _boot(fleet: Fleet, program_id: str, _depth: Depth) -> Sequence[Value]:
    """Return what a program holds, and the records that were left to it. Billed 1 read and 1 for
    each of these, at least 2.
    """
    work, now = WorkStore(fleet), fleet.now()
    claims = (await work.board()).board.live(now).values()
    waiting = await work.find({"waitsFor": program_id}, MAX_HANDED)
    own = [it.shown(own=True) for it in claims if it.by == program_id]
    left = [replace(it.outline, next=it.next) for it in waiting if it.at > now - HANDED_WITHIN]
    return [*own, *left]


def _boot_line(item: JsonObject) -> str:
    of_session = f" (session {item['session']})" if "session" in item else ""
    if "until" in item:
        return f"You hold {item['work']} until {item['until']}{of_session}"
    step = NextStep.model_validate(item["next"])
    return f"{item['by']} left you: {step.text} (record {item['recordId']}){of_session}"


class WorkHealth(Value):
    """The claims that a program holds, and its records outside the archive."""

    holds: int
    records: int


async def _health(fleet: Fleet, program_id: str) -> Value:
    """Return the figures of a program. Billed 1 read and 1 sum."""
    work = WorkStore(fleet)
    claims = (await work.board()).board.live(fleet.now()).values()
    written = Query(fleet.paths.collection(RECORDS), {"programId": program_id})
    return WorkHealth(
        holds=sum(it.by == program_id for it in claims),
        records=await fleet.store.total(written),
    )


async def _maintain(fleet: Fleet, writer: Writer) -> int:
    policy = await fleet.policy_of("work", WorkPolicy)
    return await keep_in_order(fleet, writer, policy.keep_days)


async def _activity(fleet: Fleet, limit: int) -> Sequence[ActivityRow]:
    """Return the newest claims and records. Billed 1 read and 1 for each record."""
    work = WorkStore(fleet)
    claims = (await work.board()).board.live(fleet.now()).values()
    rows = [ActivityRow(it.since, it.by, f"claimed {it.work}") for it in claims]
    for it in await work.find({}, limit):
        done = f"{it.state}: {it.work}"
        rows.append(ActivityRow(it.at, it.by, done, it.record_id))
    return sorted(rows, reverse=True)[:limit]


async def _record(fleet: Fleet, record_id: str) -> Value | None:
    known = await WorkStore(fleet).records([record_id])
    return await read_work(fleet, record_id=record_id) if known else None


_LARGE: Final = ("summary", "decisions", "failed", "next", "dependsOn", "tags", "sentFlags")
_RECORDS: Final = [
    Collection(name, (*_LARGE, "overtook", "flags"), united_record, erased_record)
    for name in (RECORDS, ARCHIVE)
]
WORK_TOOLS: Final = Toolset(
    "work",
    [
        Tool(claim_work, "Claim work", "claim a task, lock files", "writes", "own"),
        Tool(hand_over, "Hand work over", "task done, hand off result", "writes", "own"),
        Tool(read_work, "Read others' work", "what others did, handoffs", "reads", "shared"),
    ],
    instructions=["Shared job: claim_work, then hand_over."],
    hook="Shared jobs: claim_work before a piece of work, hand_over after it.",
    collections=[
        Collection(BOARD, ["claims"], united_board, erased_board),
        *_RECORDS,
        Collection(OUTPUTS, ["text"]),
    ],
    boot=BootPart("Work: what you hold, and what was left to you", _boot, _boot_line),
    health=_health,
    maintain=_maintain,
    policy=WorkPolicy,
    window=WindowPart(_activity, _record),
)
