"""The bill of each call in Firestore's reads and writes: the table of docs/firestore.md."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from billing import Bill, Billed
from fleets import FREE, LOOK, NOW, consolidate, fleet_on, learn, learn_text, lesson, open_pair

from fleet_memory.errors import PatternNotFoundError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.judging import Judge, Judged, judge
from fleet_memory.repositories import snapshots
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.rules.text.keys import digest
from fleet_memory.schemas.pairs import NewVerdict, Verdict
from fleet_memory.schemas.programs import MAX_PATTERNS, Program
from fleet_memory.server.composition import MAX_PROGRAMS_READ_FIRESTORE
from fleet_memory.stores import Store
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.judging import WHO_PROPOSES, ProposalsAnswer
from fleet_memory.tools.core.lessons import reinforce_memory, store_memory
from fleet_memory.tools.core.recall import recall_memory
from fleet_memory.tools.health import fleet_health, memory_health
from fleet_memory.tools.knowledge import gsp_diff, gsp_read, gsp_search
from fleet_memory.tools.session import SessionReport, commit_session
from fleet_memory.tools.state import (
    ContextSummary,
    DecayPatch,
    forget_memory,
    get_program_state,
    update_program_state,
    write_note,
)

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


HELPED = (
    SessionReport.model_validate({"patternId": "a"}),
    SessionReport.model_validate({"patternId": "b"}),
)
HELPED_SHARED = (SessionReport.model_validate({"patternId": "shared", "evidence": "seen"}),)
KEY = "pattern/domain-shared/lesson-shared"
REWORDED = lesson("shared").model_copy(
    update={"pattern": "Lesson shared by all", "change": "reworded"}
)
CAP = DecayPatch.model_validate({"maxUnpromotedPatterns": 2})
HANDOFF = ContextSummary.model_validate({"handoffNotes": "go on"})
DOCUMENTED = Path(__file__).parent.parent / "docs" / "firestore.md"

CLOSE_NAMES = 2  # a query for names near that of a program that does not exist; it finds one here
OWN_PAIRS, THIRD_PAIRS = (
    2,
    2,
)  # queries for the pairs that it is asked about; each returns nothing here
POLICY = 1  # a read, at most once a minute
PUBLICATION = 1  # a read: somebody published less than 5 s ago, so this change is published later
Call = Callable[[Fleet], Awaitable[object]]
CALLS: dict[str, tuple[Call, Bill]] = {
    "store": (lambda fleet: store_memory(fleet, "basher", lesson("new")), Bill(1, 1)),
    "store at the cap": (lambda fleet: store_memory(fleet, "quorra", lesson("new")), Bill(1, 1)),
    "store what is known": (lambda fleet: store_memory(fleet, "basher", lesson("a")), Bill(1)),
    "reword what is shared": (lambda fleet: store_memory(fleet, "sark", REWORDED), Bill(2, 1)),
    "reinforce": (lambda fleet: reinforce_memory(fleet, "basher", "a"), Bill(1, 1)),
    "reinforce what is shared": (
        lambda fleet: reinforce_memory(fleet, "sark", "shared", evidence="seen"),
        Bill(2, 2),
    ),
    "reinforce by its key": (
        lambda fleet: reinforce_memory(fleet, "basher", KEY, evidence="seen"),
        Bill(2, 2),
    ),
    "recall own": (lambda fleet: recall_memory(fleet, "basher", scope="own"), Bill(1)),
    "recall own with a query": (
        lambda fleet: recall_memory(fleet, "basher", query="lesson", scope="own"),
        Bill(1, sums=1),
    ),
    "recall with knowledge": (lambda fleet: recall_memory(fleet, "basher"), Bill(2, 1)),
    "health": (lambda fleet: memory_health(fleet, "basher"), Bill(1, sums=2)),
    "health of the fleet, of 4 programs": (fleet_health, Bill(4 + 1, sums=6)),
    "boot": (lambda fleet: gsp_bootstrap(fleet, "basher"), Bill(2 + OWN_PAIRS + THIRD_PAIRS, 1)),
    "read state": (lambda fleet: get_program_state(fleet, "basher"), Bill(1)),
    "read state and a handover": (
        lambda fleet: get_program_state(fleet, "iso", history=50),
        Bill(1 + 1),
    ),
    "update state": (
        lambda fleet: update_program_state(fleet, "basher", config={"a": 1}),
        Bill(1, 1),
    ),
    "hand over": (lambda fleet: update_program_state(fleet, "basher", HANDOFF), Bill(1, 2)),
    "note": (lambda fleet: write_note(fleet, "basher", "Port 8081 is taken"), Bill(1, 1)),
    "commit a session": (
        lambda fleet: commit_session(
            fleet, "basher", (lesson("x"), lesson("y")), HELPED, context_summary=HANDOFF
        ),
        Bill(1, 2),
    ),
    "commit a session with a word": (
        lambda fleet: commit_session(
            fleet, "sark", (lesson("x"),), HELPED_SHARED, context_summary=HANDOFF
        ),
        Bill(2, 3),
    ),
    "commit a session at the cap": (
        lambda fleet: commit_session(
            fleet, "quorra", (lesson("x"), lesson("y")), HELPED, context_summary=HANDOFF
        ),
        Bill(1, 2),
    ),
    "search knowledge": (lambda fleet: gsp_search(fleet, "lesson"), Bill(1)),
    "compare knowledge": (lambda fleet: gsp_diff(fleet, 0), Bill(1)),
    "read an entry": (lambda fleet: gsp_read(fleet, KEY), Bill(3)),
    "forget": (lambda fleet: forget_memory(fleet, "basher", "a", "no"), Bill(1, 2)),
}


@pytest.mark.parametrize("name", CALLS)
async def test_a_call_is_billed_as_designed(name: str, billed: Billed, fleet: Fleet) -> None:
    call, bill = CALLS[name]
    await known(fleet, "shared")
    await learn(fleet, "basher", "a", "b", "c")
    await update_program_state(fleet, "iso", HANDOFF)
    await update_program_state(fleet, "quorra", decay_config=CAP)
    await learn(fleet, "quorra", "a", "b", "c")
    server = fleet_on(billed)
    await server.policies.read(server.now())  # cached for a minute
    assert await billed_for(billed, call(server)) == bill


def test_the_documented_table_is_the_counted_one() -> None:
    rows = [
        f"| {name} | {bill.reads} | {bill.sums} | {bill.writes} |"
        for name, (_, bill) in CALLS.items()
    ]
    documented = re.findall(
        r"^\| .* \| \d+ \| \d+ \| \d+ \|$", DOCUMENTED.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert documented == rows, (
        "docs/firestore.md, What a call is billed: the right side is the table"
    )


async def test_reinforcing_knowledge_is_billed_alike_in_any_fleet(
    billed: Billed, fleet: Fleet
) -> None:
    bills = []
    for names in (("one",), tuple(map(str, range(20)))):
        await known(fleet, *names)
        call = reinforce_memory(
            fleet, "basher", "pattern/domain-one/lesson-one", evidence=names[-1]
        )
        bills.append(await billed_for(billed, call))
    assert bills == [Bill(2, 2)] * 2


async def test_booting_again_writes_nothing(billed: Billed, fleet: Fleet) -> None:
    await known(fleet, "shared")
    await learn(fleet, "basher", "a")
    await gsp_bootstrap(fleet, "basher")
    assert await billed_for(billed, gsp_bootstrap(fleet, "basher")) == Bill(
        2 + OWN_PAIRS + THIRD_PAIRS
    )


async def test_a_boot_of_an_unknown_program_looks_for_close_names(
    billed: Billed, fleet: Fleet
) -> None:
    await known(fleet, "shared")
    await gsp_bootstrap(fleet, "bashr")
    assert await billed_for(billed, gsp_bootstrap(fleet, "bashr")) == Bill(
        2 + OWN_PAIRS + THIRD_PAIRS + CLOSE_NAMES
    )


async def test_a_store_into_a_full_memory_archives_a_lesson(billed: Billed, fleet: Fleet) -> None:
    await learn(fleet, "basher", "one")

    def full(program: Program) -> ProgramChange:
        (one,) = program.patterns.values()
        others = [replace(one, id=f"p{n}", words=f"w{n}") for n in range(MAX_PATTERNS - 1)]
        patterns = {**program.patterns, **{other.id: other for other in others}}
        return ProgramChange(replace(program, patterns=patterns))

    await fleet.programs.update("basher", full, NOW)
    assert await billed_for(billed, store_memory(fleet, "basher", lesson("more"))) == Bill(1, 2)


async def test_the_bill_does_not_grow_with_the_fleet(billed: Billed, fleet: Fleet) -> None:
    for program in range(20):
        await learn(fleet, f"program-{program}", *map(str, range(5)))
    await learn(fleet, "basher", "a")
    assert await billed_for(billed, recall_memory(fleet, "basher", scope="own")) == Bill(1)
    assert await billed_for(billed, store_memory(fleet, "basher", lesson("b"))) == Bill(1, 1)
    assert await billed_for(billed, memory_health(fleet, "basher")) == Bill(1 + POLICY, sums=2)
    assert await billed_for(billed, gsp_bootstrap(fleet, "basher")) == Bill(
        2 + OWN_PAIRS + THIRD_PAIRS
    )


async def test_knowledge_in_several_shards_is_read_whole_once_per_version(
    billed: Billed, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "MAX_SNAPSHOT_SHARD_BYTES", 1)  # one entry each
    await known(fleet, "one", "two", "three")
    await learn(fleet, "basher", "own")
    reader = fleet_on(billed)
    assert await billed_for(billed, gsp_bootstrap(reader, "basher")) == Bill(
        1 + 3 + OWN_PAIRS + THIRD_PAIRS + POLICY, 1
    )
    assert await billed_for(billed, recall_memory(reader, "basher", scope="shared")) == Bill(1 + 1)
    await known(fleet, "four")
    assert await billed_for(billed, recall_memory(reader, "basher", scope="shared")) == Bill(1 + 4)


async def test_an_unknown_program_costs_a_look_at_up_to_a_hundred_names(
    billed: Billed, fleet: Fleet
) -> None:
    for program in ("sark", "iso", "basher"):
        await learn(fleet, program, "a")
    assert await billed_for(billed, recall_memory(fleet, "bahser", scope="own")) == Bill(1 + 3)


async def test_the_fleets_name_of_a_domain_is_billed_nothing(billed: Billed, fleet: Fleet) -> None:
    await known(fleet, "shared")
    await learn(fleet, "basher", "a")
    sent = lesson("new").model_copy(update={"domain": "domain-shareds"})
    assert await billed_for(billed, store_memory(fleet_on(billed), "basher", sent)) == Bill(1, 1)
    await recall_memory(fleet, "basher", scope="shared")
    again = sent.model_copy(update={"pattern": "Lesson newer", "id": "newer"})
    assert await billed_for(billed, store_memory(fleet, "basher", again)) == Bill(1, 1)
    newest = again.model_copy(update={"pattern": "Lesson newest", "id": "newest"})
    assert (await store_memory(fleet, "basher", newest)).domain_hint == "domain-shared"


async def test_an_id_that_is_not_found_costs_the_snapshot_which_has_close_keys(
    billed: Billed, fleet: Fleet
) -> None:
    await known(fleet, "shared")
    await learn(fleet, "basher", "a")

    async def misspelt() -> None:
        with pytest.raises(PatternNotFoundError, match="Close keys of shared knowledge are"):
            await reinforce_memory(fleet_on(billed), "basher", "lesson-shared")

    assert await billed_for(billed, misspelt()) == Bill(2)


@pytest.mark.parametrize(
    ("verdict", "bill"),
    [
        ("same", Bill(3, 2)),
        ("different", Bill(3, 3)),
        ("contradict", Bill(5, 5)),  # both keys of the entry that it makes
        ("unsure", Bill(3, 2)),
    ],
)
async def test_a_verdict_about_two_lessons_is_billed_within_its_budget(
    verdict: Verdict, bill: Bill, billed: Billed, fleet: Fleet
) -> None:
    pair = await open_pair(fleet, "basher", "sark")
    assert await billed_for(billed, judged(fleet, pair, "sark", verdict)) == bill
    assert (bill.reads <= 6, bill.writes <= 8) == (True, True)


@pytest.mark.parametrize(
    ("verdict", "bill"),
    [("same", Bill(3, 2)), ("different", Bill(3, 2)), ("contradict", Bill(3, 4))],
)
async def test_a_verdict_about_a_lesson_and_an_entry_is_billed_within_its_budget(
    verdict: Verdict, bill: Bill, billed: Billed, fleet: Fleet
) -> None:
    before = fleet_on(
        billed, NOW - timedelta(days=1)
    )  # a lesson stored after the publication has no vote
    await learn_text(before, "sark", FREE)
    await learn_text(before, "basher", LOOK)
    await learn_text(before, "iso", LOOK)
    pair = await open_pair(fleet)
    assert await billed_for(billed, judged(fleet, pair, "sark", verdict)) == bill
    assert (bill.reads <= 6, bill.writes <= 8) == (True, True)


async def judged(fleet: Fleet, pair_id: str, program: str, verdict: Verdict) -> None:
    sent = NewVerdict.model_validate({"pairId": pair_id, "verdict": verdict})
    (done,) = await judge(fleet, Judge(program), [sent])
    assert isinstance(done, Judged)


async def test_a_run_with_nothing_new_is_billed_for_the_pairs_that_wait_in_any_fleet(
    billed: Billed,
) -> None:
    for size in (10, 100):
        fleet = fleet_on(billed, fleet_id=f"of-{size}")
        await known(fleet, *map(str, range(size // 10)))
        for program in range(size):
            await learn(fleet, f"program-{program}", f"own-{program}")
        await consolidate(fleet)
        waiting = len(await fleet.pairs.waiting())
        assert await billed_for(billed, consolidate(fleet)) == Bill(16 + waiting, 6, 1)


async def test_a_run_is_billed_for_new_lessons_however_many_programs_there_are(
    billed: Billed,
) -> None:
    bills = []
    for size in (10, 100):
        fleet = fleet_on(billed, fleet_id=f"of-{size}")
        for number in range(size):
            await learn_text(
                fleet, f"program-{number}", digest(str(number))
            )  # words that resemble no others
        await consolidate(fleet)
        for program in ("sark", "iso"):
            await learn_text(fleet, program, LOOK)
        bills.append(await billed_for(billed, consolidate(fleet)))
    assert bills == [Bill(27, 16, 1)] * 2


async def test_a_cold_server_of_a_large_fleet_decides_and_names_the_proposer(
    billed: Billed,
) -> None:
    fleet = fleet_on(billed)

    few = anyio.CapacityLimiter(20)  # at once, or a busy emulator is silent for too long

    async def learn_one(number: int) -> None:
        async with few:
            text = LOOK if number < 2 else digest(str(number))
            await learn_text(fleet, f"program-{number:03}", text)

    async with anyio.create_task_group() as tasks:
        for number in range(1_000):
            tasks.start_soon(learn_one, number)
    await consolidate(fleet)
    await learn_text(fleet, "program-500", FREE)
    cold = replace(fleet_on(billed), max_programs_read=MAX_PROGRAMS_READ_FIRESTORE)
    billed.bill = Bill()
    answer = await consolidate(cold)
    assert answer.proposals == ProposalsAnswer(last_run=NOW, by="maintainer", note=WHO_PROPOSES)
    assert (answer.waiting, answer.promoted) == (1, ())
    assert billed.bill == Bill(3, sums=3)
