"""Lessons of other programs that are no knowledge yet: who is shown which, from the shelf and
before it, by which key, and what is noted.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from fleet_memory.errors import StoreUnavailableError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.deletion import delete_program
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.jobs.others import find_other
from fleet_memory.jobs.policy import set_policy
from fleet_memory.rules.text import first_sentences
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.schemas.programs import Caller
from fleet_memory.server.engines import counted_call
from fleet_memory.stores import Query, Write
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.lessons import reinforce_memory, store_memory
from fleet_memory.tools.core.recall import NEAREST, OthersAnswer, recall_memory
from fleet_memory.tools.state import forget_memory
from tests.fleets import NOW, at, interrupted, on, writing
from tests.moving import bring, export_to

pytestmark = pytest.mark.anyio

FLUSH = "Flush the payment queue before a release"
QUESTION = "what about the payment queue before a release?"


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    return at(fleet, NOW)


async def tell(fleet: Fleet, program: str, text: str = FLUSH, **fields: object) -> None:
    lesson = {
        "pattern": text,
        "domain": "release",
        "confidence": 0.8,
        "evidence": "It broke twice.",
        **fields,
    }
    await store_memory(fleet, program, NewPattern.model_validate(lesson))


async def ask(fleet: Fleet, program: str = "ram", **arguments: str) -> Sequence[OthersAnswer]:
    answer = await recall_memory(
        fleet, program, query=QUESTION, project_id=arguments.get("project")
    )
    return answer.others or ()


async def told(fleet: Fleet, program: str = "ram", **arguments: str) -> list[str]:
    return [each.pattern for each in await ask(fleet, program, **arguments)]


async def maintain(fleet: Fleet) -> None:
    await maintain_fleet(fleet, no_progress)


async def shelf_documents(fleet: Fleet) -> list[str]:
    shards = await fleet.knowledge.store.find(Query(fleet.knowledge.paths.snapshot.collection))
    return [shard.ref.id for shard in shards if shard.ref.id != "head"]


async def test_a_lesson_of_another_that_fits_leaves_nothing_to_be_said_of_own_ones_that_do_not(
    fleet: Fleet,
) -> None:
    await tell(fleet, "ram", "Water the plants on Fridays")
    alone = await recall_memory(fleet, "ram", query=QUESTION)
    await tell(fleet, "basher")
    found = await recall_memory(fleet, "ram", query=QUESTION)
    assert ([each.by for each in found.others or ()], found.note) == (["basher"], None)
    assert alone.note == NEAREST


@pytest.mark.parametrize("is_shelved", [False, True])
async def test_a_lesson_of_one_agent_is_found_by_another_that_asks(
    fleet: Fleet, is_shelved: bool
) -> None:
    await tell(fleet, "iso", id="mine", evidence=f"It broke twice. {'So it did again ' * 30}")
    if is_shelved:
        await maintain(fleet)
        assert len(await shelf_documents(fleet)) == 1
    (lesson,) = await ask(fleet)
    assert replace(lesson, score=0) == OthersAnswer(
        key="pattern/release/flush-payment-queue-before-release",
        by="iso",
        pattern=FLUSH,
        domain="release",
        evidence="It broke twice.",
        confidence=0.8,
        score=0,
    )
    assert await find_other(fleet, lesson.key) == ("iso", "mine")


async def test_what_is_shown_is_stored_as_shown_before_the_answer_and_once(fleet: Fleet) -> None:
    await tell(fleet, "iso")
    assert await told(fleet) == [FLUSH]
    assert (await fleet.programs.read("ram")).shown == {text_hash(FLUSH): NOW}
    before = (await fleet.programs.read("ram")).changes
    assert await told(fleet) == [FLUSH]
    assert (await fleet.programs.read("ram")).changes == before


@pytest.mark.parametrize("is_shelved", [False, True])
async def test_no_lesson_is_shown_that_misleads(fleet: Fleet, is_shelved: bool) -> None:
    await tell(fleet, "iso", f"{FLUSH}, of project one", projectId="one")
    await tell(fleet, "iso", f"{FLUSH}: answer same")
    await tell(fleet, "iso", f"{FLUSH}, they said", evidence="Judge: answer same")
    await tell(fleet, "iso", f"{FLUSH}, it is tagged", tags=["answer-same"])
    await tell(fleet, "elsewhere", f"{FLUSH}, not", id="false")
    await tell(fleet, "iso", f"{FLUSH}, forgotten", id="forgotten")
    await tell(at(fleet, NOW - timedelta(days=91)), "old", f"{FLUSH}, long ago")
    await tell(fleet, "ram/helper", f"{FLUSH}, says a helper")
    await tell(fleet, "RAM", f"{FLUSH}, in capitals")
    await tell(fleet, "ram", f"{FLUSH}, known to both")
    await tell(fleet, "iso", f"{FLUSH}, known to both")
    if is_shelved:
        await maintain(fleet)
    await reinforce_memory(
        fleet, "elsewhere", "false", outcome="contradicted", evidence="It did not"
    )
    await forget_memory(fleet, "iso", "forgotten", "not so")
    assert await told(fleet, project="two") == []
    assert await told(fleet, project="one") == [f"{FLUSH}, of project one"]


async def test_a_program_is_of_the_project_of_its_lessons(fleet: Fleet) -> None:
    await tell(fleet, "iso", f"{FLUSH}, of project one", projectId="one")
    assert await told(fleet) == [f"{FLUSH}, of project one"]
    await tell(fleet, "ram", "Bananas ripen in paper", projectId="two")
    assert await told(fleet) == []


async def test_five_are_shown_by_a_recall_three_by_a_boot_with_a_task_none_without(
    fleet: Fleet,
) -> None:
    for number in range(7):
        await tell(fleet, f"agent{number}", f"{FLUSH} number {number}")
    assert len(await ask(fleet)) == 5
    boot = await gsp_bootstrap(fleet, "sark", task=QUESTION)
    assert len(boot.others or ()) == 3
    shown = (await fleet.programs.read("sark")).shown
    assert shown.keys() == {text_hash(each.pattern) for each in boot.others or ()}
    assert (await gsp_bootstrap(fleet, "sark")).others is None
    assert (await recall_memory(fleet, "ram")).others is None
    assert (await recall_memory(fleet, "ram", query=QUESTION, scope="own")).others is None
    assert (await recall_memory(fleet, "ram", query=QUESTION, scope="shared")).others is None


async def test_what_no_budget_has_room_for_is_not_shown(fleet: Fleet) -> None:
    for number in range(5):
        await tell(fleet, f"agent{number}", f"{FLUSH} number {number} {'and wait ' * 40}")
    answer = await recall_memory(fleet, "ram", query=QUESTION, max_tokens=400)
    assert answer.truncated
    shown = (await fleet.programs.read("ram")).shown
    assert shown.keys() == {text_hash(each.pattern) for each in answer.others or ()}
    assert 0 < len(shown) < 5


async def test_under_sharing_knowledge_there_are_neither_others_nor_a_shelf(fleet: Fleet) -> None:
    await tell(fleet, "iso")
    await maintain(fleet)
    assert len(await shelf_documents(fleet)) == 1
    await set_policy(fleet, ["sharing", "knowledge"])
    assert await told(fleet) == []
    assert (await gsp_bootstrap(fleet, "ram", task=QUESTION)).others is None
    assert await find_other(fleet, "pattern/release/flush-payment-queue-before-release") is None
    await maintain(fleet)
    assert await shelf_documents(fleet) == []


async def test_who_only_reads_a_program_is_shown_nothing_through_it(fleet: Fleet) -> None:
    await tell(fleet, "iso")
    auditor = replace(fleet, caller=Caller("guard", "auditor"))
    assert await told(auditor) == []
    assert (await gsp_bootstrap(auditor, "ram", task=QUESTION)).others is None
    assert not (await fleet.programs.read("ram")).shown


async def test_texts_with_the_words_of_one_key_have_keys_of_their_own(fleet: Fleet) -> None:
    await tell(fleet, "iso", f"{FLUSH} by hand")
    await tell(at(fleet, NOW + timedelta(hours=1)), "sark", f"{FLUSH} by itself")
    keys = {each.by: each.key for each in await ask(fleet)}
    assert keys["iso"] == "pattern/release/flush-payment-queue-before-release-by"
    assert keys["sark"].startswith(f"{keys['iso']}-")
    assert [(await find_other(fleet, keys[by]) or ("", ""))[0] for by in keys] == [*keys]


@pytest.mark.parametrize("is_shelved", [False, True])
async def test_a_reworded_lesson_is_shown_in_its_new_words_alone(
    fleet: Fleet, is_shelved: bool
) -> None:
    await tell(fleet, "iso", id="mine")
    await maintain(fleet)
    await tell(fleet, "iso", f"{FLUSH} on Fridays", id="mine")
    if is_shelved:
        await maintain(fleet)
    assert await told(fleet) == [f"{FLUSH} on Fridays"]


async def test_a_deleted_program_leaves_no_lesson_to_others(fleet: Fleet) -> None:
    await tell(fleet, "iso")
    await tell(fleet, "sark", f"{FLUSH} too")
    await maintain(fleet)
    await delete_program(fleet, "iso")
    assert await told(fleet) == []
    await maintain(fleet)
    assert await told(fleet) == [f"{FLUSH} too"]


def test_evidence_is_cut_after_a_sentence() -> None:
    assert (
        first_sentences("It broke. Twice in a row. And again.", 26) == "It broke. Twice in a row."
    )
    assert first_sentences("One sentence of 25 chars.", 25) == "One sentence of 25 chars."
    assert first_sentences("One sentence of 25 chars.", 24) == ""


async def test_an_answer_that_cannot_be_noted_as_shown_does_not_leave(fleet: Fleet) -> None:
    await tell(fleet, "iso")

    async def fail() -> None:
        raise StoreUnavailableError("The store is gone.")

    cut = replace(interrupted(fleet, writing("programs"), fail), default_sharing="lessons")
    with pytest.raises(StoreUnavailableError):
        await ask(cut)
    assert await told(cut) == [FLUSH]


async def test_lessons_of_others_cost_a_read_of_each_changed_program_and_a_write_once(
    fleet: Fleet,
) -> None:
    await tell(fleet, "iso")
    for reader in ("ram", "yori"):
        await tell(fleet, reader, "Bananas ripen in paper")
    counts = list[tuple[int, int]]()
    for reader in ("ram", "yori"):
        for _ in range(2):
            with counted_call() as use:
                assert await told(fleet, reader) == [FLUSH]
            counts.append((use.reads, use.writes))
        await maintain(fleet)
        await told(fleet)  # reads the new snapshot and the shelf
    recall, policy, changed, a_query_of_none = 3, 1, 3, 1
    assert counts == [
        (recall + policy + changed, 1),
        (recall + changed, 0),
        (recall + a_query_of_none, 1),
        (recall + a_query_of_none, 0),
    ]


async def test_a_shelf_that_cannot_be_read_is_made_anew(
    fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    await tell(fleet, "iso")
    await maintain(fleet)
    store = fleet.knowledge.store
    for shard in await store.find(Query(fleet.knowledge.paths.snapshot.collection)):
        if shard.ref.id != "head":
            await store.commit(Write(shard.ref, {"text": "no JSON"}))
    other = replace(on(fleet, store), default_sharing="lessons")
    assert await told(other) == []
    assert ".0 cannot be read" in caplog.text
    await maintain(other)
    assert await told(other) == [FLUSH]


async def test_a_lesson_that_was_imported_is_found(fleet: Fleet, there: Fleet, file: Path) -> None:
    await tell(at(there, NOW - timedelta(days=9)), "iso")
    await export_to(there, file)
    await tell(fleet, "sark", "Bananas ripen in paper")
    await maintain(fleet)
    await bring(fleet, file)
    assert FLUSH in await told(fleet)
    await maintain(fleet)
    assert FLUSH in await told(fleet)


async def test_a_lesson_that_its_program_forgot_is_told_no_more_however_many_programs_changed(
    fleet: Fleet,
) -> None:
    for program in ("sark", "zed"):
        await tell(fleet, program, FLUSH if program == "zed" else f"{FLUSH} of {program}", id="own")
    await maintain(fleet)
    for number in range(25):
        await tell(fleet, f"p{number}", f"Paint boat {number} in the harbour")
    await forget_memory(fleet, "zed", "own", "it was wrong")
    found = await told(fleet)
    assert FLUSH not in found
    assert f"{FLUSH} of sark" in found
