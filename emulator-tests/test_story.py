"""The product's promise, as clients see it: learnt apart, in different words, known to all."""

import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import pytest
from agents import Agent, agent, local_agent

pytestmark = pytest.mark.anyio

FEB_14, FEB_20, FEB_27, MAR_7 = (
    "2026-02-14T09:00:00Z",
    "2026-02-20T09:00:00Z",
    "2026-02-27T09:00:00Z",
    "2026-03-07T12:00:00Z",
)
Session = Callable[..., AbstractAsyncContextManager[Agent]]  # `agent` or `local_agent`

CHECK = "Always check task.status === 'created' before claiming to avoid race conditions"
VERIFY = "Verify that a task is still unclaimed before you claim it, or two agents race for it"
LOOK = "Before claiming a task, make sure its status is still created: another agent may have been faster"
TIMEOUT = "Set an explicit timeout on every outbound HTTP call"
DEADLINE = "Network requests without a deadline can hang a worker forever, so give each one a time limit"
UNRELATED = {
    "basher": ("git-operations", "Run git pull --rebase before retrying a rejected push"),
    "sark": ("context-management", "Rotate the context when 35 percent of it remains instead of at 10 percent"),
    "iso": ("batching", "Claim tasks in one batch instead of looping over single claims"),
}


def lesson(text: str, domain: str = "task-claiming", confidence: float = 0.9, **fields: object) -> dict[str, object]:
    return {"pattern": text, "domain": domain, "confidence": confidence, "evidence": "seen in production"} | fields


async def learn(
    store: str, program: str, now: str, *lessons: dict[str, object], boot: bool = False, session: Session = local_agent
) -> list[dict[str, Any]]:
    async with session(store, now=now, program=program) as one:
        if boot:
            await one.call("gsp_bootstrap", agentId=program)
        return [await one.call("store_memory", programId=program, pattern=pattern) for pattern in lessons]


async def consolidated(
    store: str, now: str = MAR_7, session: Session = local_agent, **arguments: object
) -> dict[str, Any]:
    async with session(store, now=now) as one:
        return await one.call("pattern_consolidate", **arguments)


async def judged(
    store: str, program: str, verdict: str, now: str = MAR_7, session: Session = local_agent
) -> dict[str, Any]:
    """Let a program judge every pair that it is asked about; return the answer to its verdicts."""
    async with session(store, now=now, program=program) as one:
        asked = await one.call("pattern_consolidate", programId=program)
        verdicts = [{"pairId": pair["pairId"], "verdict": verdict} for pair in asked["toJudge"]]
        return await one.call("pattern_consolidate", programId=program, verdicts=verdicts)


async def judge_the_race(store: str, session: Session = local_agent) -> dict[str, Any]:
    """Let all three judge what they are asked, the first twice: its lesson is in an entry by then. Return the entry."""
    for program in ("basher", "sark", "iso", "basher", "sark"):
        await judged(store, program, "same", session=session)
    async with session(store, now=MAR_7, program="newcomer") as one:
        shared = await one.call("recall_memory", programId="newcomer", scope="shared")
        entry: dict[str, Any] = shared["knowledge"][0]
        return entry


async def learn_the_race(store: str, session: Session = local_agent) -> None:
    for program, now, text, confidence in (
        ("basher", FEB_14, CHECK, 0.92),
        ("sark", FEB_20, VERIFY, 0.89),
        ("iso", FEB_27, LOOK, 0.85),
    ):
        domain, unrelated = UNRELATED[program]
        lessons = lesson(text, confidence=confidence), lesson(unrelated, domain)
        await learn(store, program, now, *lessons, session=session)


async def test_three_agents_learn_apart_and_a_fourth_boots_knowing_it(store_address: str) -> None:
    # Each session is a process of its own here, and only here: the other stories serve theirs from this process.
    await learn_the_race(store_address, agent)
    first = await consolidated(store_address, session=agent)
    assert [(p["contributors"], p["confidence"], p["evidenceCount"]) for p in first["promoted"]] == [
        (["basher", "iso", "sark"], 0.89, 3)
    ]
    promoted = first["promoted"][0]
    assert promoted["key"].startswith("pattern/task-claiming/")
    assert promoted["firstDiscovered"].startswith("2026-02-14T09:00:0")
    assert promoted["lastPromoted"].startswith("2026-03-07T12:00:0")
    assert first["waiting"] == 3

    second = await consolidated(store_address, "2026-03-08T12:00:00Z", agent)
    assert (second["promoted"], second["updated"], second["waiting"]) == ([], [], 3)

    async with agent(store_address, now="2026-03-09T09:00:00Z", program="newcomer") as newcomer:
        boot = await newcomer.call("gsp_bootstrap", agentId="newcomer")
        assert [(k["key"], k["status"], k["contributorCount"]) for k in boot["knowledge"]] == [
            (promoted["key"], "fresh", 3)
        ]
        assert boot["freshness"]["grade"] == "up_to_date"
    async with agent(store_address, now="2026-03-09T10:00:00Z", program="basher") as basher:
        health = await basher.call("memory_health", programId="basher")
        assert (health["totalPatterns"], health["promotedPatterns"]) == (2, 1)
        own = await basher.call("recall_memory", programId="basher", domain="task-claiming")
        assert [(p["promotedToStore"], p["knowledgeKey"]) for p in own["patterns"]] == [(True, promoted["key"])]


async def test_two_hundred_days_later_lessons_are_stale_and_the_entry_wants_verifying(store_address: str) -> None:
    await learn_the_race(store_address)
    await consolidated(store_address)
    async with local_agent(store_address, now="2026-09-23T12:00:00Z", program="basher") as basher:
        health = await basher.call("memory_health", programId="basher")
        assert (health["stalePatterns"], health["activePatterns"], health["verdict"]) == (2, 0, "forgetting")
        assert (await basher.call("recall_memory", programId="basher"))["patterns"] == []
        stale = await basher.call("recall_memory", programId="basher", includeStale=True)
        assert [p["stale"] for p in stale["patterns"]] == [True, True]
        boot = await basher.call("gsp_bootstrap", agentId="basher")
        assert [k["status"] for k in boot["knowledge"]] == ["verify"]


async def test_one_agent_that_says_it_twice_promotes_nothing(store_address: str) -> None:
    await learn(store_address, "basher", FEB_14, lesson(CHECK), lesson(VERIFY))
    assert (await consolidated(store_address))["promoted"] == []


async def test_two_agents_of_one_session_promote_nothing(store_address: str) -> None:
    await learn(store_address, "basher", FEB_14, lesson(CHECK, sessionId="night-shift"))
    await learn(store_address, "sark", FEB_14, lesson(VERIFY, sessionId="night-shift"))
    assert (await consolidated(store_address))["promoted"] == []


async def test_what_an_agent_stores_after_booting_with_it_is_an_echo(store_address: str) -> None:
    await learn_the_race(store_address)
    await consolidated(store_address)
    text = "Always check that a task's status is created before claiming it, to avoid race conditions"
    await learn(store_address, "newcomer", "2026-03-09T09:00:00Z", lesson(text), boot=True)
    third = await consolidated(store_address, "2026-03-10T09:00:00Z")
    assert (third["promoted"], third["updated"], third["echoes"]) == ([], [], 1)


async def test_what_another_agent_learnt_without_booting_adds_to_the_entry(store_address: str) -> None:
    await learn_the_race(store_address)
    await consolidated(store_address)
    text = "Always check that a task's status is created before claiming it, to avoid race conditions"
    await learn(store_address, "hermit", "2026-03-09T09:00:00Z", lesson(text))
    third = await consolidated(store_address, "2026-03-10T09:00:00Z")
    assert [(u["contributors"], u["evidenceCount"]) for u in third["updated"]] == [
        (["basher", "hermit", "iso", "sark"], 4)
    ]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Never force-push to a shared branch", "Always force-push to a shared branch"),
        ("Retry 3 times before giving up on a claim", "Retry 30 times before giving up on a claim"),
    ],
)
async def test_opposite_and_different_number_lessons_promote_nothing(store_address: str, one: str, two: str) -> None:
    await learn(store_address, "basher", FEB_14, lesson(one))
    await learn(store_address, "sark", FEB_20, lesson(two))
    found = await consolidated(store_address)
    assert found["promoted"] == []
    assert [pair["objection"] for pair in found["contested"]] != []


async def test_a_dry_run_tells_what_a_run_would_do_and_writes_nothing(store_address: str) -> None:
    await learn_the_race(store_address)
    dry = await consolidated(store_address, dryRun=True)
    async with local_agent(store_address, now=MAR_7) as one:
        assert (await one.call("gsp_bootstrap", agentId="newcomer"))["knowledge"] == []
    assert dry["promoted"][0] | {"lastPromoted": ""} == (await consolidated(store_address))["promoted"][0] | {
        "lastPromoted": ""
    }


async def test_a_judged_pair_is_promoted_and_a_changed_text_opens_it_again(store_address: str) -> None:
    await learn(store_address, "basher", FEB_14, lesson(TIMEOUT, "http", id="timeout"))
    await learn(store_address, "sark", FEB_20, lesson(DEADLINE, "http", id="deadline"))
    async with local_agent(store_address, now=MAR_7) as judge:
        offered = await judge.call("pattern_consolidate")
        assert (offered["promoted"], len(offered["review"])) == ([], 1)
        pair = offered["review"][0]["pairId"]
        refused = await judge.refused("pattern_consolidate", verdicts=[{"pairId": "unknown", "same": True}])
        assert refused.startswith("invalid_argument: verdicts.0.pairId")
        different = await judge.call("pattern_consolidate", verdicts=[{"pairId": pair, "same": False}])
        assert (different["promoted"], different["review"]) == ([], [])
    await learn(store_address, "sark", "2026-03-08T09:00:00Z", lesson(DEADLINE + ", always", "http", id="deadline"))
    async with local_agent(store_address, now="2026-03-09T12:00:00Z") as judge:
        again = await judge.call("pattern_consolidate")
        assert len(again["review"]) == 1
        same = await judge.call(
            "pattern_consolidate", verdicts=[{"pairId": again["review"][0]["pairId"], "same": True}]
        )
        assert [p["contributors"] for p in same["promoted"]] == [["basher", "sark"]]


async def test_a_bound_agent_sees_counts_and_not_the_texts_of_others(store_address: str) -> None:
    await learn(store_address, "basher", FEB_14, lesson(TIMEOUT, "http"))
    await learn(store_address, "sark", FEB_20, lesson(DEADLINE, "http"))
    async with local_agent(store_address, now=MAR_7, program="iso") as bound:
        found = await bound.call("pattern_consolidate")
        assert (found["review"], found["stats"]["reviewPairs"]) == ([], 1)
        assert (await bound.refused("recall_memory", programId="sark")).startswith("forbidden")
        assert (await bound.refused("store_memory", programId="sark", pattern=lesson(CHECK))).startswith("forbidden")


async def test_a_typo_in_a_program_is_seen(store_address: str) -> None:
    await learn(store_address, "basher", FEB_14, lesson(CHECK))
    async with local_agent(store_address, now=FEB_20) as one:
        found: Agent = one
        answer = await found.call("recall_memory", programId="bahser")
        assert (answer["exists"], answer["suggestions"], answer["total"]) == (False, ["basher"], 0)
        health = await found.call("memory_health", programId="bahser")
        assert (health["exists"], health["totalPatterns"], health["domains"]) == (False, 0, [])


async def test_what_agents_say_of_an_entry_reaches_all_at_once_and_retires_it_together(store_address: str) -> None:
    await learn_the_race(store_address)
    key = (await consolidated(store_address))["promoted"][0]["key"]
    async with local_agent(store_address, now="2026-03-09T09:00:00Z") as one:

        async def says(program: str, outcome: str) -> str:
            said = await one.call(
                "reinforce_memory", programId=program, patternId=key, outcome=outcome, requestId=program
            )
            again = await one.call(
                "reinforce_memory", programId=program, patternId=key, outcome=outcome, requestId=program
            )
            assert said == again
            return str(said["status"])

        async def seen() -> list[str]:
            shared = await one.call("recall_memory", programId="newcomer", scope="shared")
            assert shared["freshness"]["consolidatedAt"].startswith("2026-03-07")
            return [entry["status"] for entry in shared["knowledge"]]

        assert (await says("quorra", "contradicted"), await seen()) == ("contested", ["contested"])
        assert (await says("clu", "confirmed"), await seen()) == ("fresh", ["fresh"])
        assert (await says("rinzler", "contradicted"), await seen()) == ("contested", ["contested"])
        assert (await says("gem", "contradicted"), await seen()) == ("retired", [])
        boot = await one.call("gsp_bootstrap", agentId="newcomer", knownVersion=1)
        assert (boot["knowledge"], boot["changes"]["retired"]) == ([], [key])


async def test_a_person_can_judge_the_pairs_from_a_terminal(store_address: str) -> None:
    await learn(store_address, "basher", FEB_14, lesson(TIMEOUT, "http"))
    await learn(store_address, "sark", FEB_20, lesson(DEADLINE, "http"))
    command = [sys.executable, "-m", "fleet_memory", "review", "--store", store_address, "--now", MAR_7]
    done = await anyio.run_process(command, input=b"d\nu\ns\n\n")
    assert TIMEOUT in done.stdout.decode()
    assert "promoted: pattern/http/" in done.stdout.decode()
