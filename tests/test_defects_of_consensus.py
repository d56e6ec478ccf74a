"""Who counts: one agent stays one vote with any claims, and a reader of the fleet's knowledge adds
none.
"""

from pathlib import Path

import pytest

from tests.living import Json, Machine

pytestmark = pytest.mark.anyio

BLUE = "Deploys must go through the blue cluster"
CLAIM = "Always check task.status before claiming"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def minilm(tmp_path: Path) -> Machine:
    """A machine whose servers compare by the real model."""
    return Machine(tmp_path, "minilm")


def votes(entry: Json) -> tuple[str, list[str], int]:
    return entry["status"], entry["contributors"], entry["evidenceCount"]


@pytest.mark.parametrize("session", [{"sessionId": "s2"}, {}])
async def test_a_session_is_not_shed_by_sending_a_lesson_again(
    machine: Machine, session: dict[str, str]
) -> None:
    for program in ("basher", "iso"):
        await machine.store_lesson(program, CLAIM, id="claim", sessionId="s1")
    assert (await machine.consolidate())["promoted"] == []
    machine.later(days=1)
    again = await machine.store_lesson("basher", CLAIM, id="claim", confidence=0.9, **session)
    assert again["status"] in ("updated", "reinforced")
    assert (await machine.consolidate())["promoted"] == []
    assert await machine.knowledge() == {}


READS: dict[str, dict[str, object]] = {
    "gsp_bootstrap": {"agentId": "reader"},
    "recall_memory": {"programId": "reader", "scope": "shared", "query": "deploy"},
    "gsp_search": {"query": "deploy"},
    "gsp_read": {"key": "pattern/deployment/deploys-go-through-blue-cluster"},
    "gsp_diff": {"sinceVersion": 0},
}


@pytest.mark.parametrize("tool", READS)
async def test_a_reader_who_stores_the_entry_adds_no_vote(machine: Machine, tool: str) -> None:
    key = await machine.share(BLUE, "basher", "iso", domain="deployment")
    assert BLUE in str(await machine.call("reader", tool, **READS[tool]))
    await machine.store_lesson("reader", BLUE, domain="deployment")
    await machine.consolidate()
    assert votes(await machine.entry(key)) == ("fresh", ["basher", "iso"], 2)


async def test_a_program_that_was_shown_a_text_and_stores_it_adds_no_vote(minilm: Machine) -> None:
    """The entry is published later than the lesson is stored: only the showing speaks against the
    vote.
    """
    theirs = "Before you claim a task, look at its status first"
    await minilm.store_lesson("basher", "Check a task's status first, then claim it")
    await minilm.store_lesson("iso", theirs)
    (pair,) = (await minilm.consolidate("iso", programId="iso"))["toJudge"]
    shown = pair["b"]["pattern"]
    minilm.later(days=1)
    await minilm.store_lesson("iso", shown)
    assert (await minilm.consolidate())["promoted"] == []
    assert await minilm.knowledge() == {}
    await minilm.store_lesson("sark", shown)
    (entry,) = (await minilm.consolidate())["promoted"]
    assert entry["contributors"] == ["basher", "sark"]


async def test_retired_knowledge_does_not_return_through_its_readers(machine: Machine) -> None:
    key = await machine.share(BLUE, "basher", "iso")
    for reader in ("ram", "tron"):
        assert await machine.knowledge(reader) == {BLUE: "fresh"}
    for witness in ("sark", "quorra"):
        await machine.say(witness, key, "contradicted", "blue was shut down")
    for reader in ("ram", "tron"):
        await machine.store_lesson(reader, BLUE)
    assert (await machine.consolidate())["promoted"] == []
    assert await machine.knowledge() == {}
    entry = await machine.entry(key)
    assert votes(entry) == ("retired", ["basher", "iso"], 2)
    assert [word["programId"] for word in entry["words"]] == ["sark", "quorra"]


async def test_a_lesson_learnt_again_in_words_near_a_retired_entry_makes_no_entry(
    minilm: Machine,
) -> None:
    retired = "Check a task's status first, then claim it"
    key = await minilm.share(retired, "basher", "iso")
    for witness in ("sark", "quorra"):
        await minilm.say(witness, key, "contradicted", "claiming is atomic now")
    minilm.later(days=1)
    again = {
        "ram": "Always check the status of a task before you claim it",
        "tron": "Before claiming a task, always check its status",
    }
    for program, text in again.items():
        await minilm.store_lesson(program, text)
    assert (await minilm.consolidate())["promoted"] == []
    for program in again:
        (pair,) = (await minilm.consolidate(program, programId=program))["toJudge"]
        assert pair["b"] == {"key": key, "domain": "work", "pattern": retired}
        verdict = {"pairId": pair["pairId"], "verdict": "same"}
        await minilm.consolidate(program, programId=program, verdicts=[verdict])
    assert (await minilm.consolidate())["promoted"] == []
    assert await minilm.knowledge() == {}
    assert votes(await minilm.entry(key)) == ("retired", ["basher", "iso"], 2)


PARAPHRASED = {
    "Always check task.status === 'created' before claiming a task": (
        "Before you take work from the queue, make sure nobody else has it already",
        "Make sure nobody else already has the work before you take it from the queue",
    ),
    "Run database migrations before deploying the new application version": (
        "Ship schema changes ahead of the code that depends on them",
        "Schema changes must ship ahead of the code depending on them",
    ),
    "Cache API responses for five minutes to avoid rate limits": (
        "Do not hit the upstream service again within five minutes, or it throttles you",
        "Hitting the upstream service again within five minutes gets you throttled",
    ),
    "Never log access tokens or passwords": (
        "Secrets must be redacted before anything is written to the log files",
        "Redact secrets before writing anything to the log files",
    ),
}


async def test_readers_who_put_an_entry_in_their_own_words_publish_nothing_by_themselves(
    minilm: Machine,
) -> None:
    for number, text in enumerate(PARAPHRASED):
        await minilm.share(text, "basher", "iso", domain=f"domain-{number}")
    for reader in ("ram", "tron"):
        assert len(await minilm.knowledge(reader)) == len(PARAPHRASED)
    minilm.later(days=1)
    for number, texts in enumerate(PARAPHRASED.values()):
        for reader, text in zip(("ram", "tron"), texts, strict=True):
            await minilm.store_lesson(reader, text, domain=f"domain-{number}")
    assert (await minilm.consolidate())["promoted"] == []
    assert set(await minilm.knowledge()) == set(PARAPHRASED)


async def test_an_own_variant_does_not_hide_that_two_programs_agree(minilm: Machine) -> None:
    check = "Always check the status before claiming a task"
    theirs = "Check a task's status first, then claim it"
    await minilm.store_lesson("basher", check)
    await minilm.store_lesson("basher", "Before you claim a task, look at its status first")
    await minilm.store_lesson("iso", theirs)
    asked = (await minilm.consolidate("iso", programId="iso"))["toJudge"]
    pair = next(one for one in asked if one["b"]["pattern"] == check)
    await minilm.consolidate(
        "iso", programId="iso", verdicts=[{"pairId": pair["pairId"], "verdict": "same"}]
    )
    assert list((await minilm.knowledge()).values()) == ["verify"]


async def test_a_third_teller_asked_late_is_a_third_vote_in_the_one_entry(minilm: Machine) -> None:
    texts = {
        "basher": "Always check the status before claiming a task",
        "iso": "Check a task's status first, then claim it",
        "sark": "Check the status of the task first and claim it only then",
    }
    for program, text in texts.items():
        await minilm.store_lesson(program, text)
    keys: set[str] = set()
    for program in ("basher", "iso", "sark"):
        asked = (await minilm.consolidate(program, programId=program))["toJudge"]
        verdicts = [{"pairId": one["pairId"], "verdict": "same"} for one in asked]
        if verdicts:
            answer = await minilm.consolidate(program, programId=program, verdicts=verdicts)
            keys |= {one["key"] for one in answer["judged"] if "key" in one}
        minilm.later(days=10)
    (key,) = keys
    assert votes(await minilm.entry(key)) == ("fresh", ["basher", "iso", "sark"], 3)
