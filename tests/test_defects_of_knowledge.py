"""How entries live: corrections arrive, refuted knowledge leaves, and no entry stops the others."""

from functools import partial
from pathlib import Path

import pytest

from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.maintenance import Maintained, maintain_fleet
from tests.living import Machine
from tests.moving import bring, export_to

pytestmark = pytest.mark.anyio

RETRY = "Retry a failed upload 3 times"
NEVER = "Never retry a failed upload; open a new one"
ONE_SECOND = "Retry failed uploads three times with a pause of 1 second"
THIRTY_SECONDS = "Retry failed uploads three times with a pause of 30 seconds"
GIT = "Never commit generated files"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


async def maintained(machine: Machine) -> Maintained:
    """Run maintenance, as `fleet-memory maintain` does."""
    return await machine.people(partial(maintain_fleet, progress=no_progress))


async def two_of_one_key(machine: Machine) -> tuple[str, str]:
    """Return the keys of two entries whose texts make one key; the second is retired."""
    first = await machine.share(ONE_SECOND, "basher", "iso")
    second = await machine.share(THIRTY_SECONDS, "sark", "ram")
    for witness in ("tron", "quorra"):
        await machine.say(witness, second, "contradicted", "the server wants 1 s")
    return first, second


async def knowledge_after(machine: Machine, retired: str) -> dict[str, str]:
    """Let the retired lesson be learnt again, and others learn `GIT`; return a newcomer's
    knowledge.
    """
    for program in ("sark", "ram"):
        assert (await machine.store_lesson(program, THIRTY_SECONDS))["status"] == "created"
    assert (await machine.consolidate())["promoted"] == []
    assert (await machine.entry(retired))["status"] == "retired"
    assert await machine.share(GIT, "yori", "zuse")
    assert (await maintained(machine)).promoted == ()
    return await machine.knowledge()


async def test_a_retired_lesson_that_is_forgotten_and_learnt_again_blocks_no_entry(
    machine: Machine,
) -> None:
    _, retired = await two_of_one_key(machine)
    machine.later(days=30)
    for program in ("sark", "ram"):
        (own,) = (await machine.call(program, "recall_memory", programId=program, scope="own"))[
            "patterns"
        ]
        about = {"programId": program, "patternId": own["id"], "reason": "retired"}
        await machine.call(program, "forget_memory", **about)
    machine.later(days=1)
    assert await knowledge_after(machine, retired) == {ONE_SECOND: "fresh", GIT: "fresh"}


async def test_after_a_rollback_to_an_older_export_words_stores_and_runs_go_on(
    machine: Machine, tmp_path: Path
) -> None:
    file = tmp_path / "yesterday.jsonl"
    key = await machine.share(RETRY, "basher", "iso")

    async def export(fleet: Fleet) -> int:
        return await export_to(fleet, file)

    async def roll_back(fleet: Fleet) -> object:
        return await bring(fleet, file, overwrite=True)

    await machine.people(export)
    await machine.say("basher", key, "confirmed", "it worked")
    await machine.people(roll_back)
    assert (await machine.entry(key))["confirmations"] == 1
    assert (await machine.say("iso", key, "confirmed", "it worked"))["knowledge"][
        "status"
    ] == "fresh"
    await machine.store_lesson("sark", RETRY)
    other = await machine.share("Something else that two learn", "ram", "tron")
    await maintained(machine)
    assert await machine.knowledge() == {RETRY: "fresh", "Something else that two learn": "fresh"}
    assert [(await machine.entry(one))["evidenceCount"] for one in (key, other)] == [2, 2]


async def rewrite(machine: Machine, program: str, text: str, verdict: str) -> None:
    """Let a contributor store another text under its lesson's id, and judge the two as it is
    asked.
    """
    answer = await machine.store_lesson(program, text, id="mine")
    (pair,) = answer["toJudge"]
    assert (pair["a"]["pattern"], pair["a"]["own"]) == (text, True)
    verdicts = [{"pairId": pair["pairId"], "verdict": verdict}]
    judged = await machine.consolidate(program, programId=program, verdicts=verdicts)
    assert judged["judged"][0].get("error") is None


async def test_a_typo_mended_by_a_contributor_leaves_the_entry_where_it_is(
    machine: Machine,
) -> None:
    typo, mended = (
        "Alway run the migration on a copy first",
        "Always run the migration on a copy first",
    )
    key = await machine.share(typo, "basher", "iso", id="mine")
    machine.later(days=10)
    await rewrite(machine, "basher", mended, "same")
    await machine.consolidate()
    assert await machine.knowledge() == {typo: "fresh"}
    entry = await machine.entry(key)
    assert (entry["contributors"], entry["evidenceCount"]) == (["basher", "iso"], 2)
    (own,) = (await machine.call("basher", "recall_memory", programId="basher", scope="own"))[
        "patterns"
    ]
    assert (own["pattern"], own["knowledgeKey"]) == (mended, key)


async def test_an_unjudged_rewrite_makes_its_entry_need_checking(machine: Machine) -> None:
    await machine.share(RETRY, "basher", "iso", id="mine")
    await machine.store_lesson("basher", NEVER, id="mine")
    assert await machine.knowledge() == {RETRY: "verify"}


async def test_two_contributors_who_rewrite_to_the_opposite_replace_the_entry(
    machine: Machine,
) -> None:
    key = await machine.share(RETRY, "basher", "iso", id="mine")
    machine.later(days=20)
    await rewrite(machine, "basher", NEVER, "contradict")
    assert await machine.knowledge() == {}
    machine.later(days=1)
    await rewrite(machine, "iso", NEVER, "contradict")
    await machine.consolidate()
    assert await machine.knowledge() == {NEVER: "fresh"}
    assert (await machine.entry(key))["status"] == "retired"


async def test_eight_contradictors_retire_an_entry_against_any_number_of_confirmations_from_one(
    machine: Machine,
) -> None:
    key = await machine.share("The API needs the v1 header", "basher", "iso")
    said: list[str] = []
    for number in range(8):
        machine.later(days=1)
        word = await machine.say(f"agent-{number}", key, "contradicted", "v1 was removed")
        machine.later(days=0.01)
        about = {
            "programId": "basher",
            "requestId": f"session-{number}",
            "reinforcements": [{"patternId": key}],
        }
        await machine.call("basher", "commit_session", **about)
        said.append(word["knowledge"]["status"])
    assert said == ["contested", *["retired"] * 7]
    assert await machine.knowledge() == {}
