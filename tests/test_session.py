"""One call that leaves a session: lessons, reports, handoff and notes together, item by item,
once.
"""

from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from fleet_memory.server.app import create_server
from fleet_memory.settings import load
from tests.calls import call, refusal

pytestmark = pytest.mark.anyio


@pytest.fixture
def client(full_client: Client) -> Client:
    return full_client


def lesson(text: str, **fields: object) -> dict[str, object]:
    return {"pattern": text, "domain": "claims", "confidence": 0.8, "evidence": "seen", **fields}


async def known(client: Client, *programs: str) -> str:
    """Make a lesson of these programs shared knowledge, and return its key."""
    for program in programs:
        sent = lesson("Check the status", evidence=f"{program} saw it happen twice")
        await call(client, "store_memory", programId=program, pattern=sent)
    (entry,) = (await client.call_tool("pattern_consolidate", {})).structured_content["promoted"]
    return str(entry["key"])


async def entry_of(client: Client, key: str) -> dict[str, Any]:
    found = await call(client, "recall_memory", programId="quorra", scope="shared")
    return next(entry for entry in found["knowledge"] if entry["key"] == key)


async def test_a_session_stores_reinforces_notes_and_hands_over_in_one_call(client: Client) -> None:
    key = await known(client, "sark", "iso")
    await call(
        client,
        "store_memory",
        pattern=lesson("Rotate the context early", id="mine", confidence=0.5),
    )
    done = await call(
        client,
        "commit_session",
        requestId="s1",
        patterns=[
            lesson("Batch the claims", id="new"),
            lesson("rotate the  context early.", id="again"),
        ],
        reinforcements=[
            {"patternId": "mine", "confidence": 0.9, "evidence": "helped"},
            {"patternId": key, "outcome": "contradicted", "evidence": "no longer"},
        ],
        contextSummary={"handoffNotes": "Finish the batch"},
        notes=[{"text": "Port 8081 is taken", "pinned": True}],
    )
    assert done == {
        "programId": "basher",
        "failed": 0,
        "patterns": [
            {"status": "created", "patternId": "new"},
            {"status": "reinforced", "patternId": "mine", "duplicateOf": "mine"},
        ],
        "reinforcements": [
            {"status": "confirmed", "patternId": "mine", "confidence": 0.9},
            {
                "status": "contradicted",
                "patternId": key,
                "confidence": 0.8,
                "knowledge": {"key": key, "status": "candidate"},
            },
        ],
        "notes": [{"status": "added", "noteId": "n1"}],
        "handedOver": True,
        "version": 1,
        "patternsCount": 2,
    }
    state = await call(client, "get_program_state")
    assert (state["contextSummary"], state["notes"][0]["pinned"]) == (
        {"handoffNotes": "Finish the batch"},
        True,
    )
    assert len((await call(client, "get_program_state", history=50))["history"]) == 1
    entry = (await client.call_tool("gsp_read", {"key": key})).structured_content
    assert entry is not None
    assert entry["status"] == "candidate"


async def test_an_item_that_cannot_be_applied_fails_alone(client: Client) -> None:
    done = await call(
        client,
        "commit_session",
        requestId="s1",
        patterns=[lesson("Batch the claims", id="new")],
        reinforcements=[
            {"patternId": "unknown"},
            {"patternId": "pattern/claims/unknown"},
            {"patternId": "new"},
        ],
        notes=[{"text": "One more"}],
    )
    errors = [
        item.get("error", "").split(": ")[:2] for item in (*done["reinforcements"], *done["notes"])
    ]
    assert errors == [
        ["pattern_not_found", "reinforcements.0"],
        ["knowledge_not_found", "reinforcements.1"],
        ["pattern_not_found", "reinforcements.2"],
        [""],
    ]
    assert (done["failed"], done["patterns"]) == (3, [{"status": "created", "patternId": "new"}])
    assert len((await call(client, "get_program_state"))["notes"]) == 1


async def test_a_word_about_an_unknown_name_is_answered_with_close_ones(client: Client) -> None:
    key = await known(client, "sark", "iso")
    await call(client, "recall_memory", scope="shared")
    await call(client, "store_memory", pattern=lesson("Batch the claims", id="batch"))
    unknown = [
        {"patternId": f"{key}x"},
        {"patternId": "batches"},
        {"patternId": key.removeprefix("pattern/")},
    ]
    done = await call(client, "commit_session", reinforcements=unknown)
    errors = [item["error"] for item in done["reinforcements"]]
    assert errors[0] == (
        f"knowledge_not_found: reinforcements.0: There is no knowledge entry '{key}x'. Close "
        f"keys are {key}."
    )
    assert errors[1] == (
        "pattern_not_found: reinforcements.1: basher has no lesson 'batches'. Close ids are batch."
    )
    assert errors[2].endswith(f"Close keys of shared knowledge are {key}.")


async def test_lessons_that_no_longer_fit_leave_for_the_archive_and_are_named(
    client: Client,
) -> None:
    for batch in range(4):
        large = [lesson(f"{batch} {n} " + "😀" * 990, evidence="😀" * 2000) for n in range(20)]
        done = await call(
            client,
            "commit_session",
            requestId=f"s{batch}",
            patterns=large,
            notes=[{"text": f"Fits {batch}"}],
        )
        assert done["notes"] == [{"status": "added", "noteId": f"n{batch + 1}"}]
    evicted = done["evicted"]
    assert done["failed"] == 0
    assert 0 < len(evicted) < 20
    assert done["patternsCount"] == 80 - len(evicted)


async def test_a_repeated_session_says_so_and_changes_nothing(
    client: Client, tmp_path: Path
) -> None:
    key = await known(client, "sark", "iso")
    session = {
        "requestId": "s1",
        "sessionId": "monday",
        "patterns": [lesson("Batch the claims")],
        "reinforcements": [{"patternId": key}, {"patternId": "unknown"}],
        "contextSummary": {"handoffNotes": "Finish the batch"},
        "notes": [{"text": "Port 8081 is taken"}],
    }
    first = await call(client, "commit_session", **session)
    before = [await call(client, "get_program_state"), await entry_of(client, key)]
    assert first["patterns"][0]["status"] == "created"
    again = {"programId": "basher", "repeated": True, "failed": 1, "version": first["version"]}
    assert await call(client, "commit_session", **session) == again
    flags = {"store": str(tmp_path / "memory.db"), "embedder": "lexical", "toolsets": "all"}
    async with Client(create_server(load(flags, {}))) as other:
        assert await call(other, "commit_session", **session) == again
    assert [await call(client, "get_program_state"), await entry_of(client, key)] == before
    assert (await call(client, "memory_health"))["totalPatterns"] == 1


async def test_a_lesson_of_the_future_fails_alone(client: Client) -> None:
    late = lesson("Late", discoveredAt="2999-01-01T00:00:00Z")
    done = await call(client, "commit_session", patterns=[lesson("Good"), late])
    good, failed = done["patterns"]
    assert (done["failed"], good["status"], failed["status"]) == (1, "created", "failed")
    assert "discoveredAt: is in the future" in failed["error"]


async def test_a_session_is_remembered_as_long_as_its_request(client: Client) -> None:
    await call(client, "commit_session", requestId="s0", notes=[{"text": "One"}])
    for number in range(1, 64):
        await call(client, "commit_session", requestId=f"s{number}")
    again = await call(client, "commit_session", requestId="s0", notes=[{"text": "One"}])
    assert again["repeated"]
    await call(client, "commit_session", requestId="s64")
    again = await call(client, "commit_session", requestId="s0", notes=[{"text": "One"}])
    assert again["notes"] == [{"status": "unchanged", "noteId": "n1"}]


async def test_lessons_of_a_session_are_one_origin(client: Client) -> None:
    for program in ("sark", "iso"):
        await call(
            client,
            "commit_session",
            programId=program,
            requestId="s1",
            sessionId="shared",
            patterns=[lesson("Check the status")],
        )
    result = await client.call_tool("pattern_consolidate", {})
    assert result.structured_content
    assert result.structured_content["promoted"] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"requestId": "s", "patterns": [lesson("x")] * 21}, "patterns: "),
        (
            {"requestId": "s", "patterns": [lesson("Good"), lesson("")]},
            "patterns.1.pattern: must not be empty",
        ),
        (
            {"requestId": "s", "reinforcements": [{"patternId": f"p{n}"} for n in range(51)]},
            "reinforcements: ",
        ),
        (
            {"requestId": "s", "notes": [{"text": "One"}, {"text": ""}]},
            "notes.1.text: must not be empty",
        ),
        ({"requestId": "s", "notes": [{"text": "x"}] * 21}, "notes: "),
        ({"requestId": "s", "contextSummary": {"handoff": "x"}}, "contextSummary.handoff: unknown"),
        (
            {
                "requestId": "s",
                "notes": [{"text": "One"}],
                "contextSummary": {
                    "activeWorkItems": ["é" * 300] * 30,
                    "openQuestions": ["é" * 300] * 20,
                    "handoffNotes": "é" * 4000,
                },
            },
            "contextSummary: would be",
        ),
    ],
)
async def test_a_bad_argument_refuses_the_whole_session(
    client: Client, arguments: dict[str, object], said: str
) -> None:
    assert said in await refusal(client, "commit_session", **arguments)
    assert (await call(client, "get_program_state"))["exists"] is False
