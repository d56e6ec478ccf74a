"""The product's promise, as clients see it: learnt apart, in different words, known to all."""

import itertools
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import pytest
from agents import Agent, agent, local_agent
from settling import look_again

from tests import forked

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
LOOK = (
    "Before claiming a task, make sure its status is still created: another agent may have "
    "been faster"
)
LATE = "Look at the status of a task before you claim it: somebody may have been faster"
TIMEOUT = "Set an explicit timeout on every outbound HTTP call"
DEADLINE = (
    "Network requests without a deadline can hang a worker forever, so give each one a time limit"
)
UNRELATED = {
    "basher": ("git-operations", "Run git pull --rebase before retrying a rejected push"),
    "sark": (
        "context-management",
        "Rotate the context when 35 percent of it remains instead of at 10 percent",
    ),
    "iso": ("batching", "Claim tasks in one batch instead of looping over single claims"),
}


def lesson(
    text: str, domain: str = "task-claiming", confidence: float = 0.9, **fields: object
) -> dict[str, object]:
    return {
        "pattern": text,
        "domain": domain,
        "confidence": confidence,
        "evidence": "seen in production",
    } | fields


async def learn(
    store: str,
    program: str,
    now: str,
    *lessons: dict[str, object],
    boot: bool = False,
    session: Session = local_agent,
) -> list[dict[str, Any]]:
    async with session(store, now=now, program=program) as one:
        if boot:
            await one.call("gsp_bootstrap", agentId=program)
        return [
            await one.call("store_memory", programId=program, pattern=pattern)
            for pattern in lessons
        ]


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


async def judge_the_race(store: str, session: Session = local_agent) -> str:
    """Let all three judge their pairs; return the key of the entry."""
    first = await judged(store, "basher", "same", session=session)
    assert [one["waitsFor"] for one in first["judged"]] == ["the other side"] * 2
    second = await judged(store, "sark", "same", session=session)
    (made,) = second["promoted"]
    assert (
        made["pattern"],
        made["status"],
        made["contributors"],
        made["firstDiscovered"][:18],
    ) == (
        CHECK,
        "fresh",
        ["basher", "sark"],
        "2026-02-14T09:00:0",
    )
    last = await judged(store, "iso", "same", session=session)
    assert [
        (one["status"], one["contributors"], one["confidence"], one["evidenceCount"])
        for one in last["updated"]
    ] == [("fresh", ["basher", "iso", "sark"], 0.89, 3)]
    assert last["openPairs"] == 0
    return str(made["key"])


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
    # Each session is a process of its own here, and only here: the other stories serve theirs from
    # this process.
    await learn_the_race(store_address, agent)
    first = await consolidated(store_address, session=agent)
    assert (first["promoted"], first["toJudge"], first["openPairs"], first["waiting"]) == (
        [],
        [],
        3,
        6,
    )

    key = await judge_the_race(store_address, agent)
    assert key.startswith("pattern/task-claiming/")

    second = await consolidated(store_address, "2026-03-08T12:00:00Z", agent)
    assert (second["promoted"], second["updated"], second["waiting"]) == ([], [], 3)

    async with agent(store_address, now="2026-03-09T09:00:00Z", program="newcomer") as newcomer:
        boot = await newcomer.call("gsp_bootstrap", agentId="newcomer")
        assert boot["knowledge"] == [{"key": key, "pattern": CHECK, "contributorCount": 3}]
    async with agent(store_address, now="2026-03-09T10:00:00Z", program="basher") as basher:
        health = await basher.call("memory_health", programId="basher")
        assert (health["totalPatterns"], health["promotedPatterns"]) == (2, 1)
        own = await basher.call("recall_memory", programId="basher", domain="task-claiming")
        assert (own["patterns"], [(k["key"], k["own"]) for k in own["knowledge"]]) == (
            [],
            [(key, True)],
        )


async def test_two_hundred_days_later_lessons_are_stale_and_the_entry_wants_verifying(
    store_address: str,
) -> None:
    await learn_the_race(store_address)
    await judge_the_race(store_address)
    async with local_agent(store_address, now="2026-09-23T12:00:00Z", program="basher") as basher:
        health = await basher.call("memory_health", programId="basher")
        assert (health["stalePatterns"], health["activePatterns"], health["verdict"]) == (
            2,
            0,
            "forgetting",
        )
        assert (await basher.call("recall_memory", programId="basher"))["patterns"] == []
        stale = await basher.call("recall_memory", programId="basher", includeStale=True)
        assert [p["stale"] for p in stale["patterns"]] == [
            True
        ]  # the other one comes as the entry that it is in
        assert [(entry["own"], entry["status"]) for entry in stale["knowledge"]] == [
            (True, "verify")
        ]
        boot = await basher.call("gsp_bootstrap", agentId="basher")
        assert [k["status"] for k in boot["knowledge"]] == ["verify"]


async def test_one_agent_that_stores_it_twice_is_asked_nothing_and_publishes_nothing(
    store_address: str,
) -> None:
    await learn(store_address, "basher", FEB_14, lesson(CHECK), lesson(VERIFY))
    found = await consolidated(store_address)
    assert (found["promoted"], found["openPairs"]) == ([], 0)


async def test_two_agents_of_one_session_publish_nothing(store_address: str) -> None:
    await learn(store_address, "basher", FEB_14, lesson(CHECK, sessionId="night-shift"))
    await learn(store_address, "sark", FEB_14, lesson(VERIFY, sessionId="night-shift"))
    await judged(store_address, "basher", "same")
    found = await judged(store_address, "sark", "same")
    assert ([one["status"] for one in found["judged"]], found["promoted"]) == (["candidate"], [])


async def test_two_agents_over_one_unbound_connection_publish_an_entry_to_verify(
    store_address: str,
) -> None:
    async with local_agent(store_address, now=FEB_14) as one:
        for program in ("basher", "sark"):
            told = lesson(TIMEOUT, "http", evidence=f"{program} waited for ever")
            await one.call("store_memory", programId=program, pattern=told)
        (made,) = (await one.call("pattern_consolidate"))["promoted"]
    assert (made["status"], made["doubts"]) == ("verify", ["one_connection"])
    async with local_agent(store_address, now=FEB_20, program="iso") as iso:
        word = await iso.call(
            "reinforce_memory", programId="iso", patternId=made["key"], evidence="It hung here too"
        )
    assert word["knowledge"] == {"key": made["key"], "status": "fresh"}


async def test_an_agent_that_learns_it_after_the_publication_confirms_and_discovers_nothing(
    store_address: str,
) -> None:
    await learn_the_race(store_address)
    key = await judge_the_race(store_address)
    await learn(store_address, "newcomer", "2026-03-09T09:00:00Z", lesson(LATE), boot=True)
    await judged(store_address, "newcomer", "same", "2026-03-10T09:00:00Z")
    said = await judged(store_address, "basher", "same", "2026-03-10T09:00:00Z")
    assert [(one["key"], one["status"]) for one in said["judged"]] == [(key, "fresh")]
    assert [(one["contributors"], one["evidenceCount"]) for one in said["updated"]] == [
        (["basher", "iso", "sark"], 3)
    ]


async def test_an_agent_that_learnt_it_before_discovers_however_late_it_is_asked(
    store_address: str,
) -> None:
    await learn_the_race(store_address)
    await judge_the_race(store_address)
    await learn(
        store_address, "hermit", FEB_27, lesson(LATE)
    )  # by the server's clock, a week before the publication
    await judged(store_address, "hermit", "same", "2026-04-10T09:00:00Z")
    late = await judged(store_address, "basher", "same", "2026-04-10T09:00:00Z")
    assert [(one["contributors"], one["evidenceCount"]) for one in late["updated"]] == [
        (["basher", "hermit", "iso", "sark"], 4)
    ]


async def test_a_dry_run_returns_the_changes_of_a_run_and_writes_nothing(
    store_address: str,
) -> None:
    await learn(store_address, "basher", FEB_14, lesson(CHECK, evidence="basher saw two claims"))
    await learn(store_address, "sark", FEB_20, lesson(CHECK, evidence="sark was too late"))
    dry = await consolidated(store_address, dryRun=True)
    async with local_agent(store_address, now=MAR_7) as one:
        assert (await one.call("gsp_bootstrap", agentId="newcomer"))["knowledge"] == []
    assert dry["promoted"][0] | {"lastPromoted": ""} == (await consolidated(store_address))[
        "promoted"
    ][0] | {"lastPromoted": ""}


async def test_a_pair_judged_different_is_asked_about_again_when_a_text_changes(
    store_address: str,
) -> None:
    await learn(store_address, "basher", FEB_14, lesson(TIMEOUT, "http", id="timeout"))
    await learn(store_address, "sark", FEB_20, lesson(DEADLINE, "http", id="deadline"))
    async with local_agent(store_address, now=MAR_7, program="basher") as basher:
        refused = await basher.refused(
            "pattern_consolidate",
            programId="basher",
            verdicts=[{"pairId": "unknown", "verdict": "same"}],
        )
        assert refused.startswith(
            "invalid_argument: pairId: 'unknown' is not among the pairs shown to basher"
        )
    different = await judged(store_address, "basher", "different")
    assert ([one["state"] for one in different["judged"]], different["openPairs"]) == (
        ["different"],
        0,
    )
    await learn(
        store_address,
        "sark",
        "2026-03-08T09:00:00Z",
        lesson(DEADLINE + ", always", "http", id="deadline"),
    )
    await judged(store_address, "sark", "same", "2026-03-09T12:00:00Z")
    same = await judged(store_address, "basher", "same", "2026-03-09T12:00:00Z")
    assert [p["contributors"] for p in same["promoted"]] == [["basher", "sark"]]


async def test_an_agent_sees_counts_of_others_pairs_and_not_their_texts(store_address: str) -> None:
    await learn(store_address, "basher", FEB_14, lesson(TIMEOUT, "http"))
    await learn(store_address, "sark", FEB_20, lesson(DEADLINE, "http"))
    async with local_agent(store_address, now=MAR_7, program="basher") as basher:
        (pair,) = (await basher.call("pattern_consolidate", programId="basher"))["toJudge"]
    async with local_agent(store_address, now=MAR_7, program="iso") as bound:
        found = await bound.call("pattern_consolidate", programId="iso")
        assert (found["toJudge"], found["openPairs"]) == ([], 1)
        verdicts = [{"pairId": pair["pairId"], "verdict": "same"}]
        refused = await bound.refused("pattern_consolidate", programId="iso", verdicts=verdicts)
        assert refused.startswith("invalid_argument: pairId: ")
        assert (await bound.refused("pattern_consolidate", programId="sark")).startswith(
            "forbidden"
        )
        assert (await bound.refused("recall_memory", programId="sark")).startswith("forbidden")
        assert (
            await bound.refused("store_memory", programId="sark", pattern=lesson(CHECK))
        ).startswith("forbidden")


async def test_a_typo_in_a_program_is_seen(store_address: str) -> None:
    await learn(store_address, "basher", FEB_14, lesson(CHECK))
    async with local_agent(store_address, now=FEB_20) as one:
        found: Agent = one
        answer = await found.call("recall_memory", programId="bahser")
        assert (answer["exists"], answer["suggestions"], answer["total"]) == (False, ["basher"], 0)
        health = await found.call("memory_health", programId="bahser")
        assert (health["exists"], health["totalPatterns"], health["domains"]) == (False, 0, [])


async def test_words_with_evidence_contest_an_entry_bring_it_back_and_retire_it(
    store_address: str,
) -> None:
    await learn_the_race(store_address)
    key = await judge_the_race(store_address)
    minutes = itertools.count(10)

    async def says(program: str, outcome: str, evidence: str = "seen") -> str:
        word = {"programId": program, "patternId": key, "outcome": outcome, "evidence": evidence}
        now = f"2026-03-09T09:{next(minutes)}:00Z"
        async with local_agent(store_address, now=now, program=program) as its:
            answer = await its.call("reinforce_memory", **word, requestId=program)
            again = await its.call("reinforce_memory", **word, requestId=program)
        assert answer == again or answer["note"]
        return str(answer["knowledge"]["status"])

    async with local_agent(store_address, now="2026-03-09T09:00:00Z") as one:

        async def seen() -> list[str]:
            shared = await one.call("recall_memory", programId="newcomer", scope="shared")
            return [entry["status"] for entry in shared["knowledge"]]

        known = (await one.call("gsp_bootstrap", agentId="newcomer"))["knowledgeVersion"]
        assert (
            await says("flynn", "contradicted", evidence="") == "fresh"
        )  # a bare word does not count
        assert (await says("quorra", "contradicted"), await seen()) == ("contested", ["contested"])
        assert await says("clu", "confirmed") == "contested"
        assert await says("rinzler", "confirmed") == "fresh"
        assert await says("gem", "contradicted") == "contested"
        assert await says("ada", "contradicted") == "retired"
        while await seen():  # published within seconds
            await look_again()
        boot = await one.call("gsp_bootstrap", agentId="newcomer", knownVersion=known)
        assert (boot["knowledge"], boot["changes"]["retired"]) == ([], [key])


async def test_a_person_can_judge_the_pairs_from_a_terminal(store_address: str) -> None:
    await learn(store_address, "basher", FEB_14, lesson(TIMEOUT, "http"))
    await learn(store_address, "sark", FEB_20, lesson(DEADLINE, "http"))
    assert (await consolidated(store_address))["openPairs"] == 1
    words = ["--store", store_address, "--now", MAR_7]
    waiting = await anyio.run_process([*forked.words(), "review", "--json", *words])
    assert TIMEOUT in waiting.stdout.decode()
    (pair,) = json.loads(waiting.stdout)["pairs"]
    command = [*forked.words(), "review", pair["pairId"], "same", *words]
    done = await anyio.run_process(command)
    assert "pattern/http/" in done.stdout.decode()
    assert "entryState  fresh" in done.stdout.decode()
