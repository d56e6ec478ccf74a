"""The first guess of an agent at commit_session: taken as it was meant, or refused with the name
that was meant.
"""

from typing import Any

import pytest
from mcp import Client

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.tools.session import session_as_meant
from tests.calls import call, refusal

pytestmark = pytest.mark.anyio

LESSON = {
    "pattern": "Lock the queue first",
    "domain": "queues",
    "confidence": 0.8,
    "evidence": "two workers met",
}
WHOLE_TASK = {"taskId": None, "title": None, "outcome": None, "notes": None}


@pytest.fixture
def client(full_client: Client) -> Client:
    return full_client


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        (
            {"handoff": "Finished X, next Y"},
            {"contextSummary": {"handoffNotes": "Finished X, next Y"}},
        ),
        ({"handoff": {"nextSteps": ["Y"]}}, {"contextSummary": {"activeWorkItems": ["Y"]}}),
        (
            {"contextSummary": {"lastTask": "Migrated orders"}},
            {"contextSummary": {"lastTask": {**WHOLE_TASK, "title": "Migrated orders"}}},
        ),
        (
            {
                "lastTask": "x" * 301,
                "handoffNotes": "Careful",
                "nextSteps": "Invoices\n\nCustomers ",
            },
            {
                "contextSummary": {
                    "lastTask": {**WHOLE_TASK, "outcome": "x" * 301},
                    "activeWorkItems": ["Invoices", "Customers"],
                    "handoffNotes": "Careful",
                }
            },
        ),
        (
            {
                "lastTask": {"title": "Migrated orders"},
                "openQuestions": "Who owns CI?",
                "activeWorkItems": ["a"],
            },
            {
                "contextSummary": {
                    "lastTask": {"title": "Migrated orders"},
                    "activeWorkItems": ["a"],
                    "openQuestions": ["Who owns CI?"],
                }
            },
        ),
        (
            {
                "handoff": "",
                "lastTask": " ",
                "nextSteps": "",
                "handoffNotes": "",
                "openQuestions": [""],
            },
            {},
        ),
        (
            {
                "missing": ["", "Who?", None],
                "notes": ["", "Port 1"],
                "patterns": ["", LESSON],
                "reinforcements": [" "],
            },
            {
                "missing": ["Who?"],
                "notes": [{"text": "Port 1"}],
                "patterns": [LESSON],
            },
        ),
        (
            {
                "contextSummary": {
                    "lastTask": "",
                    "handoffNotes": "",
                    "activeWorkItems": ["", "a"],
                    "openQuestions": [""],
                }
            },
            {"contextSummary": {"handoffNotes": "", "activeWorkItems": ["a"]}},
        ),
        (
            {
                "reinforcements": [{"patternId": "p1", "outcome": None, "evidence": None}],
                "notes": {"text": "a", "pinned": None},
                "verdicts": [{"pairId": "a", "verdict": "same", "reason": None}],
            },
            {
                "reinforcements": [{"patternId": "p1"}],
                "notes": [{"text": "a"}],
                "verdicts": [{"pairId": "a", "verdict": "same"}],
            },
        ),
        ({"notes": "Port 1 is taken"}, {"notes": [{"text": "Port 1 is taken"}]}),
        (
            {"reinforcements": ["p1", {"patternId": "p2"}]},
            {"reinforcements": [{"patternId": "p1"}, {"patternId": "p2"}]},
        ),
        ({"patterns": LESSON, "missing": "Who?"}, {"patterns": [LESSON], "missing": ["Who?"]}),
        (
            {"verdicts": {"pairId": "a", "verdict": "same"}},
            {"verdicts": [{"pairId": "a", "verdict": "same"}]},
        ),
    ],
)
def test_a_guess_that_can_mean_one_thing_is_taken_as_that(
    sent: dict[str, Any], meant: dict[str, Any]
) -> None:
    assert session_as_meant(sent) == meant
    assert session_as_meant(meant) == meant


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (
            {"contextSummary": "A", "handoffNotes": "B"},
            "handoffNotes: handoffNotes was sent twice, and nothing was written; send it once",
        ),
        ({"contextSummary": "A", "handoff": "B"}, "handoff: handoffNotes was sent twice"),
        (
            {"handoff": "A", "contextSummary": {"handoffNotes": "B"}},
            "handoff: handoffNotes was sent twice",
        ),
        (
            {"nextSteps": ["A"], "activeWorkItems": ["B"]},
            "nextSteps: activeWorkItems was sent twice",
        ),
        (
            {"handoff": {"openQuestions": ["A"]}, "openQuestions": ["A"]},
            "openQuestions: openQuestions was sent twice",
        ),
    ],
)
def test_a_thing_in_two_places_is_refused(sent: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        session_as_meant(sent)
    assert str(refused.value).startswith(said)


@pytest.mark.parametrize(
    "sent", [{"contextSummary": 5}, {"nextSteps": 5}, {"notes": 5}, {"patterns": [5]}, {"x": "y"}]
)
async def test_a_guess_of_no_known_shape_is_left_for_the_schema_to_refuse(
    client: Client, sent: dict[str, Any]
) -> None:
    assert (await refusal(client, "commit_session", **sent)).startswith("invalid_argument: ")


async def test_a_sentence_about_the_last_task_leaves_nothing_of_the_task_before(
    client: Client,
) -> None:
    await call(
        client,
        "commit_session",
        contextSummary={"lastTask": {"title": "A", "outcome": "failed", "notes": "why"}},
    )
    await call(client, "commit_session", lastTask="Migrated orders", handoff="Invoices next")
    assert (await call(client, "get_program_state"))["contextSummary"] == {
        "lastTask": {"title": "Migrated orders"},
        "handoffNotes": "Invoices next",
    }


async def test_a_handoff_in_two_places_is_refused_and_nothing_is_written(client: Client) -> None:
    said = await refusal(
        client, "commit_session", patterns=[LESSON], handoff="A", contextSummary="B"
    )
    assert (
        said == "invalid_argument: handoff: handoffNotes was sent twice, and nothing was written; "
        "send it once"
    )
    assert (await call(client, "get_program_state"))["exists"] is False


@pytest.mark.parametrize(
    "blank",
    [
        {"handoff": ""},
        {
            "handoff": "  ",
            "contextSummary": "",
            "nextSteps": "",
            "lastTask": "",
            "openQuestions": [""],
        },
    ],
)
async def test_a_blank_field_leaves_the_handover_as_it_is(
    client: Client, blank: dict[str, object]
) -> None:
    await call(client, "commit_session", handoff="Invoices next", nextSteps=["Invoices"])
    await call(
        client, "commit_session", missing=["Who?", ""], notes=[""], patterns=[LESSON], **blank
    )
    state = await call(client, "get_program_state")
    assert state["contextSummary"] == {
        "activeWorkItems": ["Invoices"],
        "handoffNotes": "Invoices next",
    }


async def test_a_blank_member_of_the_summary_empties_it(client: Client) -> None:
    await call(client, "commit_session", handoff="Invoices next", nextSteps=["Invoices"])
    await call(client, "commit_session", contextSummary={"handoffNotes": "", "activeWorkItems": []})
    assert (await call(client, "get_program_state"))["contextSummary"] == {
        "handoffNotes": "",
        "activeWorkItems": [],
    }


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"nextSteps": ["a", "x" * 301]}, "contextSummary.activeWorkItems.1: must be at most 300"),
        ({"lastTask": "x" * 2001}, "contextSummary.lastTask.outcome: must be at most 2000"),
        ({"handoff": {"done": "x"}}, "contextSummary.done: unknown"),
        ({"notes": ["a", "x" * 501]}, "notes.1.text: must be at most 500"),
        ({"patterns": ["Lock the queue first"]}, "patterns.0.domain: required; "),
        ({"patterns": {**LESSON, "tags": ["x" * 51]}}, "patterns.0.tags.0: must be at most 50"),
        ({"next_steps": ["a"]}, "next_steps: unknown, allowed: programId, patterns, "),
        ({"lastTask": {"titel": "x"}}, "contextSummary.lastTask.titel: unknown, did you mean ti"),
        (
            {"patterns": [{**LESSON, "promoted": True}]},
            "patterns.0.promoted: unknown, did you mean promotedToStore?",
        ),
        (
            {"verdicts": [{"pairId": "p", "verdict": "true"}]},
            "verdicts.0.verdict: Input should be 'same', 'different', 'contradict' or 'unsure'",
        ),
    ],
)
async def test_a_refusal_names_the_place_in_the_published_shape(
    client: Client, sent: dict[str, object], said: str
) -> None:
    assert (await refusal(client, "commit_session", **sent)).startswith(f"invalid_argument: {said}")
    assert (await call(client, "get_program_state"))["exists"] is False


@pytest.mark.parametrize(
    "depth", [50, 300, 900, 5_000]
)  # how deep JSON may be depends on the stack
async def test_lists_in_lists_are_refused_however_deep(client: Client, depth: int) -> None:
    said = await refusal(client, "commit_session", missing="[" * depth + "]" * depth)
    assert said.startswith(("invalid_argument: missing.0: ", "invalid_argument: arguments: nested"))
