"""Changes of a fleet that a process is killed in: the fleet before each, and the calls that carry
it out.

A process carries one out by `python children/change.py ADDRESS FLEET CHANGE`; a test repeats it in
its own process.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

import anyio

from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.judging import Judge, Judged, judge
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.jobs.publishing import publish_now
from fleet_memory.rules.pairs import sides_in_order
from fleet_memory.rules.text.keys import pair_id, text_hash
from fleet_memory.schemas.pairs import NewVerdict, Pair, Side, Verdict
from fleet_memory.schemas.patterns import NewPattern, Outcome
from fleet_memory.tools.core.judging import pattern_consolidate
from fleet_memory.tools.core.lessons import reinforce_memory, store_memory
from tests.fleets import show

NOW: Final = datetime(2026, 3, 7, 12, tzinfo=UTC)
BEFORE: Final = NOW - timedelta(hours=3)
LONG_BEFORE: Final = NOW - timedelta(days=300)  # a lesson of then has faded
LATER: Final = NOW + timedelta(hours=1)  # the lease of a killed process has expired by then
AGAIN_AFTER: Final = timedelta(seconds=10)  # between two words: each may publish
DOMAIN: Final = "work"

REWORDINGS: Final[tuple[tuple[str, str, Verdict], ...]] = (
    (
        "Look whether a task is free before you claim it",
        "Make sure that nobody owns a task you take",
        "same",
    ),
    (
        "Set a timeout on every outbound request",
        "Never call another service without a deadline",
        "different",
    ),
    (
        "Pin every action of a workflow by its hash",
        "Workflows must name actions by commit, not by tag",
        "same",
    ),
    (
        "Rotate the signing key once a quarter",
        "Keys that sign releases are never replaced",
        "contradict",
    ),
    (
        "Run the migrations in a transaction",
        "Wrap schema changes so that they roll back as one",
        "same",
    ),
    (
        "Log the request id with each error",
        "An error line without its request id is useless",
        "unsure",
    ),
)
"""The lessons of basher and sark, each in its own words, and basher's verdict."""
SHARED: Final = (
    "Vacuum the database after a bulk delete",
    "Quote every variable of a shell script",
    "Compare passwords in constant time",
    "Close the cursor in a finally block",
    "Freeze the clock in tests of expiry",
    "Sort the keys before hashing an object",
)
"""The lesson of both in equal words."""
OPPOSITE: Final = "Bulk deletes need no vacuum of the database"


class Change(NamedTuple):
    """The fleet before a change, and the change; neither looks at the clock of the fleet that it is
    given.
    """

    prepare: Callable[[Fleet], Awaitable[None]]
    carry_out: Callable[[Fleet], Awaitable[None]]


def at(fleet: Fleet, moment: datetime) -> Fleet:
    return replace(fleet, now=lambda: moment)


async def store(fleet: Fleet, program: str, id_: str, text: str) -> None:
    lesson = NewPattern(
        pattern=text, domain=DOMAIN, confidence=0.8, evidence=f"{program} saw it fail twice", id=id_
    )
    await store_memory(fleet, program, lesson)


async def learn_shared(fleet: Fleet) -> None:
    async with anyio.create_task_group() as tasks:  # at once, so that they share a commit
        for number, text in enumerate(SHARED):
            for program in ("basher", "sark"):
                tasks.start_soon(store, at(fleet, BEFORE), program, f"shared-{number}", text)


async def learn_rewordings(fleet: Fleet) -> None:
    async with anyio.create_task_group() as tasks:
        for number, (one, other, _) in enumerate(REWORDINGS):
            tasks.start_soon(store, at(fleet, BEFORE), "basher", f"own-{number}", one)
            tasks.start_soon(store, at(fleet, BEFORE), "sark", f"own-{number}", other)


async def publish_shared(fleet: Fleet) -> None:
    await learn_shared(fleet)
    await maintain_fleet(at(fleet, BEFORE), no_progress)


async def open_pair(fleet: Fleet, a: Side, b: Side) -> None:
    """Open a pair, and show it to both programs."""
    id_ = pair_id(text_hash(a.text), text_hash(b.text))
    a, b = sides_in_order(a, b)
    pair = Pair(pair_id=id_, a=a, b=b, cosine=0.7, margin=0.5, opened_at=BEFORE)
    (before,) = await fleet.pairs.read(id_)
    await fleet.pairs.store.commit(fleet.pairs.write(before, pair))
    for program in (a.program_id, b.program_id):
        await show(fleet, program, pair)


def side(program: str, id_: str, text: str) -> Side:
    return Side(program_id=program, pattern_id=id_, domain=DOMAIN, text=text)


async def prepare_verdicts(fleet: Fleet) -> None:
    """Open a pair of each rewording, which sark has judged, and one of basher's lesson with an
    entry.
    """
    await publish_shared(fleet)
    await learn_rewordings(fleet)
    for number, (one, other, _) in enumerate(REWORDINGS):
        await open_pair(
            at(fleet, BEFORE),
            side("basher", f"own-{number}", one),
            side("sark", f"own-{number}", other),
        )
    said = [verdict(*reworded) for reworded in REWORDINGS]
    assert all(
        isinstance(each, Judged) for each in await judge(at(fleet, BEFORE), Judge("sark"), said)
    )
    entry = next(
        row for row in (await fleet.knowledge.snapshots.read()).rows if row.pattern == SHARED[0]
    )
    await store(at(fleet, BEFORE), "basher", "opposite", OPPOSITE)
    about = Side(program_id="sark", key=entry.key, domain=DOMAIN, text=entry.pattern)
    await open_pair(at(fleet, BEFORE), side("basher", "opposite", OPPOSITE), about)


def verdict(one: str, other: str, verdict_: Verdict) -> NewVerdict:
    id_ = pair_id(text_hash(one), text_hash(other))
    return NewVerdict.model_validate({"pairId": id_, "verdict": verdict_, "reason": "read both"})


async def judge_all(fleet: Fleet) -> None:
    verdicts = [verdict(*reworded) for reworded in REWORDINGS]
    verdicts.insert(2, verdict(OPPOSITE, SHARED[0], "contradict"))
    answer = await pattern_consolidate(fleet, no_progress, "basher", verdicts=tuple(verdicts))
    assert [one.error for one in answer.judged or ()] == [None] * len(verdicts)


async def give_words(fleet: Fleet) -> None:
    """Report each shared lesson, every third as false; each word may publish."""
    for number in range(len(SHARED)):
        then = at(fleet, fleet.now() + number * AGAIN_AFTER)
        outcome: Outcome = "contradicted" if number % 3 == 0 else "confirmed"
        evidence = f"seen in round {number}"
        await reinforce_memory(
            then, "basher", f"shared-{number}", None, evidence, outcome, f"request-{number}"
        )


async def prepare_maintenance(fleet: Fleet) -> None:
    """Let there be lessons in equal words, lessons alike, and one that has faded."""
    await learn_shared(fleet)
    await learn_rewordings(fleet)
    await store(at(fleet, LONG_BEFORE), "iso", "faded", "Restart the indexer after each upgrade")


async def maintain(fleet: Fleet) -> None:
    await maintain_fleet(fleet, no_progress)


async def prepare_publication(fleet: Fleet) -> None:
    """Let words change entries within five seconds of a publication, so that the snapshot is behind
    them.
    """
    await publish_shared(fleet)
    for number in range(len(SHARED)):
        outcome: Outcome = "contradicted" if number % 3 == 0 else "confirmed"
        await reinforce_memory(
            at(fleet, BEFORE), "basher", f"shared-{number}", None, "seen", outcome, f"r{number}"
        )


CHANGES: Final = {
    "verdicts": Change(prepare_verdicts, judge_all),
    "words": Change(publish_shared, give_words),
    "maintenance": Change(prepare_maintenance, maintain),
    "publication": Change(prepare_publication, publish_now),
}
