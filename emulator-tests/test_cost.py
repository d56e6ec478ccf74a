"""What each call is billed in Firestore's reads and writes: the table of docs/firestore.md."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest
from billing import Bill, Billed
from fleets import consolidate, fleet_on, learn, lesson

from fleet_memory.fleet import Fleet
from fleet_memory.repositories import snapshots
from fleet_memory.schemas.state import ContextSummary
from fleet_memory.stores import Store
from fleet_memory.tools.add_note import add_note
from fleet_memory.tools.commit_session import SessionReport, commit_session
from fleet_memory.tools.forget_memory import forget_memory
from fleet_memory.tools.get_program_state import get_program_state
from fleet_memory.tools.gsp_bootstrap import gsp_bootstrap
from fleet_memory.tools.gsp_diff import gsp_diff
from fleet_memory.tools.gsp_read import gsp_read
from fleet_memory.tools.gsp_search import gsp_search
from fleet_memory.tools.memory_health import memory_health
from fleet_memory.tools.recall_memory import recall_memory
from fleet_memory.tools.reinforce_memory import reinforce_memory
from fleet_memory.tools.store_memory import store_memory
from fleet_memory.tools.update_program_state import update_program_state

pytestmark = pytest.mark.anyio


@pytest.fixture
def billed(store: Store) -> Billed:
    return Billed(store)


@pytest.fixture
def fleet(billed: Billed) -> Fleet:
    return fleet_on(billed)


async def billed_for(billed: Billed, call: Awaitable[object]) -> Bill:
    billed.bill = Bill()
    await call
    return billed.bill


async def known(fleet: Fleet, *names: str) -> None:
    """Make lessons shared knowledge; two programs learnt them."""
    await learn(fleet, "sark", *names)
    await learn(fleet, "iso", *names)
    await consolidate(fleet)


HELPED = (SessionReport.model_validate({"patternId": "a"}), SessionReport.model_validate({"patternId": "b"}))
HANDOFF = ContextSummary.model_validate({"handoffNotes": "go on"})
DOCUMENTED = Path(__file__).parent.parent / "docs" / "firestore.md"

Call = Callable[[Fleet], Awaitable[object]]
CALLS: dict[str, tuple[Call, Bill]] = {
    "store": (lambda fleet: store_memory(fleet, "basher", lesson("new")), Bill(1, 1)),
    "store what is known": (lambda fleet: store_memory(fleet, "basher", lesson("a")), Bill(1)),
    "reinforce": (lambda fleet: reinforce_memory(fleet, "basher", "a"), Bill(1, 1)),
    "recall own": (lambda fleet: recall_memory(fleet, "basher"), Bill(1)),
    "recall own with a query": (lambda fleet: recall_memory(fleet, "basher", query="lesson"), Bill(1)),
    "recall with knowledge": (lambda fleet: recall_memory(fleet, "basher", scope="all"), Bill(2, sums=1)),
    "health": (lambda fleet: memory_health(fleet, "basher"), Bill(1, sums=1)),
    "boot": (lambda fleet: gsp_bootstrap(fleet, "basher"), Bill(2, 1, 1)),
    "read state": (lambda fleet: get_program_state(fleet, "basher"), Bill(1)),
    "update state": (lambda fleet: update_program_state(fleet, "basher", config={"a": 1}), Bill(1, 1)),
    "hand over": (lambda fleet: update_program_state(fleet, "basher", HANDOFF), Bill(1, 2)),
    "note": (lambda fleet: add_note(fleet, "basher", "Port 8081 is taken"), Bill(1, 1)),
    "commit a session": (
        lambda fleet: commit_session(fleet, "basher", "r1", (lesson("x"), lesson("y")), HELPED, HANDOFF),
        Bill(1, 3),
    ),
    "search knowledge": (lambda fleet: gsp_search(fleet, "lesson"), Bill(1, sums=1)),
    "compare knowledge": (lambda fleet: gsp_diff(fleet, 0), Bill(1, sums=1)),
    "read an entry": (lambda fleet: gsp_read(fleet, "pattern/domain-shared/lesson-shared"), Bill(3, sums=1)),
    "forget": (lambda fleet: forget_memory(fleet, "basher", "a", "no"), Bill(1, 2)),
}


@pytest.mark.parametrize("name", CALLS)
async def test_a_call_is_billed_as_designed(name: str, billed: Billed, fleet: Fleet) -> None:
    call, bill = CALLS[name]
    await known(fleet, "shared")
    await learn(fleet, "basher", "a", "b", "c")
    assert await billed_for(billed, call(fleet_on(billed))) == bill


def test_the_documented_table_is_the_counted_one() -> None:
    rows = [f"| {name} | {bill.reads} | {bill.sums} | {bill.writes} |" for name, (_, bill) in CALLS.items()]
    assert "\n" + "\n".join(rows) + "\n\n" in DOCUMENTED.read_text(encoding="utf-8")


async def test_reinforcing_knowledge_is_billed_alike_in_any_fleet(billed: Billed, fleet: Fleet) -> None:
    bills = []
    for names in (("one",), map(str, range(20))):
        await known(fleet, *names)
        bills.append(await billed_for(billed, reinforce_memory(fleet, "basher", "pattern/domain-one/lesson-one")))
    assert bills[0] == bills[1]
    assert bills[0].reads <= 10
    assert bills[0].writes <= 8


async def test_booting_again_writes_nothing(billed: Billed, fleet: Fleet) -> None:
    await known(fleet, "shared")
    await gsp_bootstrap(fleet, "basher")
    assert await billed_for(billed, gsp_bootstrap(fleet, "basher")) == Bill(2, 0, 1)


async def test_the_bill_does_not_grow_with_the_fleet(billed: Billed, fleet: Fleet) -> None:
    for program in range(20):
        await learn(fleet, f"program-{program}", *map(str, range(5)))
    await learn(fleet, "basher", "a")
    assert await billed_for(billed, recall_memory(fleet, "basher")) == Bill(1)
    assert await billed_for(billed, store_memory(fleet, "basher", lesson("b"))) == Bill(1, 1)
    assert await billed_for(billed, memory_health(fleet, "basher")) == Bill(1, sums=1)
    assert await billed_for(billed, gsp_bootstrap(fleet, "basher")) == Bill(2, 0, 1)


async def test_knowledge_in_several_shards_is_read_whole_once_per_version(
    billed: Billed, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "MAX_SNAPSHOT_SHARD_BYTES", 1)  # one entry each
    await known(fleet, "one", "two", "three")
    await learn(fleet, "basher", "own")
    reader = fleet_on(billed)
    assert await billed_for(billed, gsp_bootstrap(reader, "basher")) == Bill(1 + 3, 1, 1)
    assert await billed_for(billed, recall_memory(reader, "basher", scope="shared")) == Bill(1 + 1, 0, 1)
    await known(fleet, "four")
    assert await billed_for(billed, recall_memory(reader, "basher", scope="shared")) == Bill(1 + 4, 0, 1)


async def test_an_unknown_program_costs_a_look_at_up_to_a_hundred_names(billed: Billed, fleet: Fleet) -> None:
    for program in ("sark", "iso", "basher"):
        await learn(fleet, program, "a")
    assert await billed_for(billed, recall_memory(fleet, "bahser")) == Bill(1 + 3)


async def test_each_lesson_over_the_cap_costs_one_write_to_the_archive(billed: Billed, fleet: Fleet) -> None:
    for n in range(100):
        await store_memory(fleet, "basher", lesson(str(n)))
    assert await billed_for(billed, store_memory(fleet, "basher", lesson("one-more"))) == Bill(1, 2)


async def test_a_hundred_stores_at_once_share_their_commits(billed: Billed, fleet: Fleet) -> None:
    async def store_all() -> None:
        async with anyio.create_task_group() as tasks:
            for n in range(100):
                tasks.start_soon(store_memory, fleet, "basher", lesson(str(n)))

    bill = await billed_for(billed, store_all())
    assert bill.reads == bill.writes <= 4


async def test_a_consolidation_with_nothing_new_reads_no_program(billed: Billed, fleet: Fleet) -> None:
    await known(fleet, *map(str, range(20)))
    for program in range(20):
        await learn(fleet, f"program-{program}", f"own-{program}")
    await consolidate(fleet)
    assert await billed_for(billed, consolidate(fleet)) == Bill(8, 2)


async def test_a_consolidation_is_billed_for_what_is_new_however_many_programs_there_are(
    billed: Billed, fleet: Fleet
) -> None:
    async def learn_in_one_domain(program: str, name: str) -> None:
        await store_memory(fleet, program, lesson(name).model_copy(update={"domain": "claims"}))

    bills = []
    for size in (5, 20):
        for number in range(size):
            await learn_in_one_domain(f"program-{number}", f"own-{number}-{size}")
        await consolidate(fleet)
        for program in ("sark", "iso"):
            await learn_in_one_domain(program, f"shared-{size}")
        bills.append(await billed_for(billed, consolidate(fleet)))
    assert bills[0] == bills[1]
    assert bills[0].reads <= 30
    assert bills[0].writes <= 20
