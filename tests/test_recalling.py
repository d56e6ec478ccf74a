"""Recall as an agent meets it: its own lessons and the fleet's knowledge in one ranking, each
statement once.
"""

from pathlib import Path

import pytest
from mcp import Client

from fleet_memory.rules.retrieval.budget import tokens
from fleet_memory.rules.text.keys import knowledge_key
from fleet_memory.tools.core.recall import EMPTY, NEAREST, UNMATCHED
from tests.calls import call
from tests.living import Json, Machine, lesson

pytestmark = pytest.mark.anyio

RETRY = "Retry a failed upload twice before you give up"
ROTATE = "Rotate the log files once a day"
PIN = "Pin the compiler to version 17"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


async def learn(client: Client, text: str, *programs: str, **fields: object) -> None:
    for program in programs:
        await call(
            client, "store_memory", programId=program, pattern=lesson(text, program, **fields)
        )


async def recall(client: Client, program: str = "basher", **arguments: object) -> Json:
    return await call(client, "recall_memory", programId=program, **arguments)


async def share(client: Client, text: str, *programs: str) -> str:
    await learn(client, text, *programs)
    await call(client, "pattern_consolidate")
    return knowledge_key("work", text)


def shown(answer: Json) -> tuple[list[str], list[tuple[str, bool]]]:
    """Return the texts of an answer: own lessons, and entries with whether a lesson of the caller
    covers them.
    """
    own = [one["pattern"] for one in answer["patterns"]]
    return own, [(one["pattern"], one.get("own", False)) for one in answer["knowledge"]]


async def test_a_newcomer_finds_the_fleets_knowledge_without_naming_a_domain(
    client: Client,
) -> None:
    await share(client, RETRY, "basher", "iso")
    answer = await recall(client, "newcomer", query="retry a failed upload")
    assert shown(answer) == ([], [(RETRY, False)])
    assert (answer["total"], answer["exists"], "note" in answer) == (1, False, False)


async def test_own_lessons_and_entries_stand_in_one_order(client: Client) -> None:
    await share(client, RETRY, "iso", "sark")
    await learn(client, ROTATE, "basher")
    answer = await recall(client, query="retry an upload, rotate log files")
    assert shown(answer) == ([ROTATE], [(RETRY, False)])
    assert [0 < one["score"] <= 1.05 for one in (*answer["patterns"], *answer["knowledge"])] == [
        True,
        True,
    ]
    first = (await recall(client, query="rotate the log files", limit=1))["patterns"]
    assert [one["pattern"] for one in first] == [ROTATE]
    assert shown(await recall(client, query="retry a failed upload", limit=1)) == (
        [],
        [(RETRY, False)],
    )


async def test_a_promoted_lesson_and_its_entry_are_one_hit(client: Client) -> None:
    await share(client, RETRY, "basher", "iso")
    for asked in ({}, {"query": "upload failed"}):
        answer = await recall(client, **asked)
        assert (shown(answer), answer["total"]) == (([], [(RETRY, True)]), 1)


async def test_where_no_entry_is_looked_for_the_lesson_stands_for_itself(client: Client) -> None:
    await learn(client, RETRY, "basher", tags=["uploads"])
    key = await share(client, RETRY, "iso")
    for narrowed in ({"scope": "own"}, {"tags": ["uploads"]}):
        answer = await recall(client, **narrowed)
        assert ([one["knowledgeKey"] for one in answer["patterns"]], answer["knowledge"]) == (
            [key],
            [],
        )


async def test_a_lesson_whose_entry_was_retired_stands_for_itself(machine: Machine) -> None:
    key = await machine.share(RETRY, "basher", "iso")
    for program in ("sark", "quorra", "ram"):
        await machine.say(program, key, "contradicted", "it made things worse")
    assert (await machine.entry(key))["status"] == "retired"
    answer = await machine.call("basher", "recall_memory", programId="basher")
    assert shown(answer) == ([RETRY], [])


async def test_a_contested_entry_stands_for_the_lesson_and_is_marked_contested(
    machine: Machine,
) -> None:
    key = await machine.share(RETRY, "basher", "iso")
    await machine.say("sark", key, "contradicted", "it made things worse")
    answer = await machine.call("basher", "recall_memory", programId="basher")
    assert shown(answer) == ([], [(RETRY, True)])
    assert answer["knowledge"][0]["status"] == "contested"


async def test_equal_words_that_were_never_joined_are_one_hit(client: Client) -> None:
    await share(client, RETRY, "iso", "sark")
    await learn(client, f"{RETRY}.", "basher")
    answer = await recall(client)
    assert (shown(answer), answer["total"]) == (([], [(RETRY, True)]), 1)


async def test_the_nearest_five_always_come_with_a_note_when_none_fits_well(
    client: Client,
) -> None:
    for number in range(7):
        await learn(client, f"Rotate log file {number} daily", "basher")
    answer = await recall(client, query="kubernetes")
    assert (answer["note"], answer["total"], len(answer["patterns"])) == (NEAREST, 5, 5)


async def test_a_question_finds_lessons_of_any_age_and_marks_them_stale(machine: Machine) -> None:
    await machine.store_lesson("basher", ROTATE)
    machine.later(400)
    await machine.store_lesson("basher", PIN)
    plain = await machine.call("basher", "recall_memory", programId="basher")
    assert (shown(plain), plain["left"]) == (([PIN], []), {"stale": 1})
    asked = await machine.call(
        "basher", "recall_memory", programId="basher", query="rotate the log files"
    )
    assert [(one["pattern"], one.get("stale")) for one in asked["patterns"]] == [
        (ROTATE, True),
        (PIN, None),
    ]
    assert "left" not in asked


async def test_a_boot_with_a_task_shows_what_fits_however_old_it_is(machine: Machine) -> None:
    await machine.store_lesson("basher", ROTATE)
    machine.later(400)
    await machine.store_lesson("basher", PIN)
    plain = await machine.call("basher", "gsp_bootstrap", agentId="basher")
    assert ([one["pattern"] for one in plain["patterns"]], "stale" in plain["protocol"]) == (
        [PIN],
        False,
    )
    boot = await machine.call(
        "basher", "gsp_bootstrap", agentId="basher", task="rotate the log files"
    )
    assert [(one["pattern"], one.get("stale")) for one in boot["patterns"]] == [
        (ROTATE, True),
        (PIN, None),
    ]
    assert "`stale`: verify it, don't discard it." in boot["protocol"]


async def test_an_empty_answer_suggests_the_next_step(client: Client) -> None:
    empty = await recall(client, query="anything")
    assert empty["note"] == EMPTY
    await learn(client, ROTATE, "basher", domain="logs")
    assert (await recall(client, query="kubernetes"))["note"] == NEAREST
    narrowed = await recall(client, query="rotate", tags=["x"], scope="own")
    assert narrowed["note"] == f"{UNMATCHED} Domains: logs."


async def test_an_answer_about_an_empty_scope_mentions_no_other(client: Client) -> None:
    await learn(client, ROTATE, "basher", domain="logs")
    assert (await recall(client, query="rotate", scope="shared"))["note"] == EMPTY
    await share(client, RETRY, "iso", "sark")
    newcomer = await recall(client, "quorra", scope="own")
    assert newcomer["note"] == EMPTY


async def test_an_unused_domain_is_answered_with_close_ones(client: Client) -> None:
    await learn(client, ROTATE, "basher", domain="log-files")
    await learn(client, PIN, "basher", domain="compilers")
    answer = await recall(client, domain="Log File!")
    assert answer["suggestions"] == ["log-files"]
    assert answer["note"] == f"{UNMATCHED} Domains: compilers, log-files."
    assert "suggestions" not in await recall(client, domain="Log files")


async def test_a_domain_of_unpublished_lessons_is_no_suggestion(client: Client) -> None:
    await learn(client, ROTATE, "iso", domain="log-files")
    answer = await recall(client, domain="log-file")
    assert (answer.get("suggestions"), answer["note"]) == (None, EMPTY)


async def test_stale_lessons_that_are_left_out_are_hinted_at(machine: Machine) -> None:
    await machine.store_lesson("basher", ROTATE)
    machine.later(91)
    answer = await machine.call("basher", "recall_memory", programId="basher")
    assert answer["note"] == f"{UNMATCHED} Domains: work."
    found = await machine.call("basher", "recall_memory", programId="basher", includeStale=True)
    assert (shown(found), "left" in found) == (([ROTATE], []), False)


async def test_the_longest_names_and_notes_stay_within_the_smallest_budget(client: Client) -> None:
    for program in range(3):
        await learn(client, ROTATE, f"{'p' * 98}-{program}", domain="d" * 98 + f"-{program}")
    for scope in ("own", "shared", "all"):
        answer = await recall(
            client, "p" * 98 + "-3", query="x", domain="d" * 98 + "-3", scope=scope, maxTokens=200
        )
        assert tokens(answer) <= 200
    own = await recall(client, "p" * 98 + "-1", query="x", domain="d" * 98 + "-3", maxTokens=200)
    assert (own["suggestions"], tokens(own) <= 200) == (["d" * 98 + "-1"], True)
