"""The additions of registering to a plain function: strict arguments, refusals that help, one lean
answer.
"""

import dataclasses
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Annotated, Any, Literal

import anyio
import pytest
from mcp import Client
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field, JsonValue

from fleet_memory.errors import (
    ConflictError,
    EmbedderError,
    InvalidArgumentError,
    PatternNotFoundError,
    StoreUnavailableError,
)
from fleet_memory.fleet import Fleet, Progress, Tool
from fleet_memory.schemas.fields import Confidence, Name, Tags, Timestamp, outlined_as
from fleet_memory.schemas.value import Input, Value
from fleet_memory.server.app import create_server
from fleet_memory.server.arguments import output_schema
from fleet_memory.server.registration import (
    FleetTool,
    registered,
    validated,
)
from fleet_memory.settings import TOOLSETS, Settings
from tests.bounds import HANG_S
from tests.matrix import SPECS, names_of, toyset

pytestmark = pytest.mark.anyio


class Lesson(Input):
    """Not for clients."""

    lesson_text: Annotated[str, Field(max_length=1000, description="One sentence")]
    confidence: Confidence = 0.5
    tags: Tags | None = None
    learnt_at: Timestamp | None = None


class Inner(Value):
    """Not for clients either."""

    some_count: int
    only_sometimes: str | None = None


class ToyAnswer(Value):
    program_id: str
    is_read_only: bool | None = None
    inner: Inner | None = None
    rows: tuple[Inner, ...] = ()
    anything: Mapping[str, JsonValue] = dataclasses.field(default_factory=dict)


async def store_toy(
    fleet: Fleet,
    program_id: Annotated[Name, Field(description="Who")],
    lesson: Lesson,
    *,
    how_many: Annotated[int, Field(ge=1, le=100)] = 20,
    include_stale: bool = False,
    on_duplicate: Literal["reinforce", "reject"] = "reinforce",
    only_domain: Name | None = None,
    known_ids: tuple[int, ...] = (),
) -> ToyAnswer:
    """Store a toy."""
    assert fleet.now().tzinfo is not None
    seen: dict[str, JsonValue] = {
        "lesson": lesson.model_dump(mode="json"),
        "how_many": how_many,
        "include_stale": include_stale,
        "on_duplicate": on_duplicate,
        "only_domain": only_domain,
        "known_ids": list(known_ids),
    }
    return ToyAnswer(program_id=program_id, inner=Inner(some_count=how_many), anything=seen)


async def count_toys(steps: int, progress: Progress) -> ToyAnswer:
    """Count toys."""
    for step in range(steps):
        await progress(step + 1, steps, f"step {step + 1}")
    return ToyAnswer(program_id="é 日本", rows=(Inner(some_count=steps),))


FAILURES: dict[str, Exception] = {
    "missing": PatternNotFoundError("basher", "p1"),
    "conflict": ConflictError("Someone else wrote first."),
    "down": StoreUnavailableError(
        "The store does not answer.", operator_detail="/secret/path refused"
    ),
    "embedder": EmbedderError("The model failed."),
    "crash": RuntimeError("/secret/path: password=hunter2"),
    "group": ExceptionGroup("many", [ValueError("/secret/path")]),
}


async def break_toy(kind: str) -> ToyAnswer:
    """Break a toy."""
    if kind == "validation":
        Inner.from_fields({"someCount": "/secret/path"})
    raise FAILURES[kind]


TOYS = [toyset(store_toy, count_toys, break_toy)]


@pytest.fixture(params=["auto", "legacy"])
async def toys(request: pytest.FixtureRequest, settings: Settings) -> AsyncIterator[Client]:
    with anyio.fail_after(HANG_S):
        async with Client(create_server(settings, TOYS), mode=request.param) as client:
            yield client


LESSON: dict[str, JsonValue] = {"lessonText": "Look before you leap"}


def text(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


async def refusal(client: Client, tool: str, arguments: dict[str, Any]) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert result.structured_content is None
    return text(result)


async def test_arguments_arrive_under_the_functions_own_names(toys: Client) -> None:
    lesson = {
        "lessonText": "x",
        "confidence": 1,
        "tags": ["a"],
        "learntAt": "2026-03-07T14:00:00+02:00",
    }
    result = await toys.call_tool(
        "store_toy",
        {
            "programId": "basher",
            "lesson": lesson,
            "howMany": 3,
            "includeStale": True,
            "onlyDomain": "d",
            "knownIds": [1],
        },
    )
    assert result.structured_content == {
        "programId": "basher",
        "inner": {"someCount": 3},
        "rows": [],
        "anything": {
            "lesson": {
                "lesson_text": "x",
                "confidence": 1.0,
                "tags": ["a"],
                "learnt_at": "2026-03-07T12:00:00Z",
            },
            "how_many": 3,
            "include_stale": True,
            "on_duplicate": "reinforce",
            "only_domain": "d",
            "known_ids": [1],
        },
    }


async def test_the_text_block_is_the_same_json_and_compact(toys: Client) -> None:
    result = await toys.call_tool("count_toys", {"steps": 1})
    assert text(result) == '{"programId":"é 日本","rows":[{"someCount":1}],"anything":{}}'
    assert json.loads(text(result)) == result.structured_content


async def test_progress_reaches_only_a_client_that_asks(toys: Client) -> None:
    seen: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    await toys.call_tool("count_toys", {"steps": 1})
    assert seen == []
    await toys.call_tool("count_toys", {"steps": 2}, progress_callback=note)
    assert seen == [(1, 2, "step 1"), (2, 2, "step 2")]


async def test_the_published_input_is_flat_and_has_only_fields_that_clients_may_send(
    toys: Client,
) -> None:
    tool = next(tool for tool in (await toys.list_tools()).tools if tool.name == "store_toy")
    assert tool.input_schema == {
        "type": "object",
        "additionalProperties": False,
        "required": ["programId", "lesson"],
        "properties": {
            "programId": {"type": "string", "maxLength": 100, "description": "Who"},
            "lesson": {
                "type": "object",
                "additionalProperties": False,
                "required": ["lessonText"],
                "properties": {
                    "lessonText": {
                        "type": "string",
                        "maxLength": 1000,
                        "description": "One sentence",
                    },
                    "confidence": {"type": "number", "minimum": 0, "maximum": 1, "default": 0.5},
                    "tags": {
                        "type": "array",
                        "maxItems": 10,
                        "items": {"type": "string", "maxLength": 50},
                    },
                    "learntAt": {"type": "string", "format": "date-time"},
                },
            },
            "howMany": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
            "includeStale": {"type": "boolean", "default": False},
            "onDuplicate": {
                "type": "string",
                "enum": ["reinforce", "reject"],
                "default": "reinforce",
            },
            "onlyDomain": {"type": "string", "maxLength": 100},
            "knownIds": {"type": "array", "items": {"type": "integer"}},
        },
    }


async def test_an_object_marked_so_is_published_in_outline_and_checked_whole() -> None:
    async def leave_toys(
        lessons: tuple[Annotated[Lesson, outlined_as("lessonText", "confidence")], ...],
    ) -> ToyAnswer:
        """Leave toys."""
        return ToyAnswer(program_id="a", rows=(Inner(some_count=len(lessons)),))

    tool = registered(Tool(leave_toys, "Leave toys", "toys", "writes", "shared"))
    assert tool.parameters["properties"]["lessons"]["items"] == {
        "type": "object",
        "properties": {"lessonText": {"type": "string"}, "confidence": {"type": "number"}},
        "required": ["lessonText"],
    }
    assert "confidence" in tool.accepted["properties"]["lessons"]["items"]["properties"]
    assert validated(tool, {"lessons": [{"lessonText": "x", "tags": ["a"]}]})
    with pytest.raises(
        InvalidArgumentError, match=r"lessons\.0\.tag: unknown, did you mean tags\?"
    ):
        validated(tool, {"lessons": [{"lessonText": "x", "tag": "a"}]})


def test_the_documented_output_never_speaks_of_null() -> None:
    inner = {
        "type": "object",
        "required": ["someCount"],
        "properties": {"someCount": {"type": "integer"}, "onlySometimes": {"type": "string"}},
    }
    assert output_schema(registered(TOYS[0].tools[0]).returned)["properties"] == {
        "programId": {"type": "string"},
        "isReadOnly": {"type": "boolean"},
        "inner": inner,
        "rows": {"type": "array", "items": inner, "default": []},
        "anything": {"type": "object", "default": {}},
    }


async def listed_bytes(client: Client, *names: str) -> int:
    """Return the bytes of tools/list as compact JSON, of these tools alone."""
    listed = (await client.list_tools()).model_dump(mode="json", by_alias=True, exclude_none=True)[
        "tools"
    ]
    return len(
        json.dumps([tool for tool in listed if tool["name"] in names], separators=(",", ":"))
    )


async def test_each_toolset_is_listed_within_its_bytes(full_client: Client) -> None:
    assert await listed_bytes(full_client, *names_of("core", "session")) <= 12_000
    for name in TOOLSETS:
        most = 9_500 if name == "core" else 5_000
        assert (name, await listed_bytes(full_client, *names_of(name)) <= most) == (name, True)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"howMany": "5"}, "howMany: Input should be a valid integer"),
        ({"howMany": "five of the secret ones"}, "howMany: Input should be a valid integer"),
        ({"howMany": 5.5}, "howMany: Input should be a valid integer"),
        ({"howMany": True}, "howMany: Input should be a valid integer"),
        ({"howMany": 101}, "howMany: Input should be less than or equal to 100"),
        ({"includeStale": "true"}, "includeStale: Input should be a valid boolean"),
        ({"onlyDomain": ["a"]}, "onlyDomain: Input should be a valid string"),
        ({"onDuplicate": "secret"}, "onDuplicate: Input should be 'reinforce' or 'reject'"),
        ({"the secret": 3}, "…: unknown, allowed: "),
        ({"program_id": "x"}, "program_id: unknown, did you mean programId?"),
        ({"knownIds": ["1"]}, "knownIds.0: Input should be a valid integer"),
        ({"knownIds": "many"}, "knownIds: Input should be a valid array"),
        (
            {"lesson": {**LESSON, "confidence": "0.9"}},
            "lesson.confidence: Input should be a valid number",
        ),
        (
            {"lesson": {**LESSON, "confidence": True}},
            "lesson.confidence: Input should be a valid number",
        ),
        (
            {"lesson": {**LESSON, "confidence": 1.5}},
            "lesson.confidence: Input should be less than or equal to 1",
        ),
        ({"lesson": {}}, "lesson.lessonText: required"),
        ({"lesson": "{}"}, "lesson.lessonText: required"),
        ({"lesson": "no JSON"}, "lesson: Input should be an object"),
        ({"lesson": None}, "lesson: required"),
        ({"programId": "../etc"}, "programId: must be 1-100 characters"),
        ({"howmany": 3}, "howmany: unknown, did you mean howMany?"),
        ({"how_many": 3}, "how_many: unknown, did you mean howMany?"),
        ({"program": "x"}, "program: unknown, did you mean programId?"),
        ({"zzz": None}, "zzz: unknown, allowed: programId, lesson, howMany, "),
        ({"fleet": {}}, "fleet: unknown"),
        (
            {"lesson": {**LESSON, "confidense": 1}},
            "lesson.confidense: unknown, did you mean confidence?",
        ),
        (
            {"lesson": {**LESSON, "lesson_text": "x"}},
            "lesson.lesson_text: unknown, did you mean lessonText?",
        ),
    ],
)
async def test_a_wrong_argument_is_refused_by_its_wire_path(
    toys: Client, wrong: dict[str, Any], said: str
) -> None:
    answer = await refusal(toys, "store_toy", {"programId": "basher", "lesson": LESSON, **wrong})
    assert answer.startswith(f"invalid_argument: {said}")
    assert ";" not in answer  # nothing else was wrong
    assert "secret" not in answer


async def test_missing_arguments_are_named(toys: Client) -> None:
    assert (
        await refusal(toys, "store_toy", {})
        == "invalid_argument: programId: required, one name that you always use; lesson: required"
    )


async def test_at_most_six_problems_are_listed(toys: Client) -> None:
    answer = await refusal(
        toys, "store_toy", {"programId": "x", "lesson": LESSON, **{f"q{i}": 1 for i in range(9)}}
    )
    assert answer.count(": unknown") == 6
    assert answer.endswith("; and 3 more")


@pytest.mark.parametrize("name", ["lesson", "knownIds"])
async def test_an_object_or_array_may_come_as_a_json_text(toys: Client, name: str) -> None:
    sent: dict[str, JsonValue] = {"programId": "basher", "lesson": LESSON, "knownIds": [1, 2]}
    result = await toys.call_tool("store_toy", {**sent, name: json.dumps(sent[name])})
    assert result.structured_content == (await toys.call_tool("store_toy", sent)).structured_content


@pytest.mark.parametrize("name", ["null", "true", "12", '{"a":1}', '["a"]'])
async def test_a_text_argument_that_looks_like_json_stays_a_text(toys: Client, name: str) -> None:
    result = await toys.call_tool("store_toy", {"programId": "a", "lesson": {"lessonText": name}})
    assert result.structured_content is not None
    assert result.structured_content["anything"]["lesson"]["lesson_text"] == name
    if name in ("null", "true", "12"):
        result = await toys.call_tool(
            "store_toy", {"programId": name, "lesson": LESSON, "onlyDomain": name}
        )
        assert result.structured_content is not None
        assert (
            result.structured_content["programId"],
            result.structured_content["anything"]["only_domain"],
        ) == (
            name,
            name,
        )


async def test_null_means_absent_where_absent_is_allowed(toys: Client) -> None:
    absent = {
        "howMany": None,
        "includeStale": None,
        "onDuplicate": None,
        "onlyDomain": None,
        "knownIds": None,
    }
    result = await toys.call_tool("store_toy", {"programId": "basher", "lesson": LESSON, **absent})
    plain = await toys.call_tool("store_toy", {"programId": "basher", "lesson": LESSON})
    assert result.structured_content == plain.structured_content


HUGE = "x" * 20_000_000


TOO_LONG = "invalid_argument: arguments: larger than 1,000,000 bytes; send less"
TOO_MANY = (
    "invalid_argument: arguments: 30,000 problems; try one item of each list, as the tool's schema "
    "describes it"
)


@pytest.mark.parametrize(
    ("huge", "reason"),
    [
        ({"programId": HUGE}, TOO_LONG),
        ({"lesson": HUGE}, TOO_LONG),
        ({"lesson": {"lessonText": HUGE}}, TOO_LONG),
        ({HUGE: 1}, TOO_LONG),
        ({"lesson": {HUGE: 1}}, TOO_LONG),
        ({"knownIds": list(range(2_000_000))}, TOO_LONG),
        ({f"q{number}": number for number in range(600_000)}, TOO_LONG),
        ({"knownIds": [{}] * 30_000}, TOO_MANY),
        ({"knownIds": json.dumps([{}] * 30_000)}, TOO_MANY),
    ],
    ids=[
        "id",
        "object as text",
        "nested text",
        "name",
        "nested name",
        "array",
        "many names",
        "many items",
        "many items as text",
    ],
)
async def test_a_huge_argument_is_refused_at_once_and_not_repeated(
    settings: Settings, huge: dict[str, Any], reason: str
) -> None:
    with anyio.fail_after(HANG_S):
        async with Client(create_server(settings, TOYS)) as client:
            answer = await refusal(
                client, "store_toy", {"programId": "basher", "lesson": LESSON, **huge}
            )
            await refusal(client, "store_toy", {"programId": "basher"})
    assert answer == reason


async def test_thousands_of_problems_are_counted_and_not_listed(toys: Client) -> None:
    sent = {"programId": "x", "lesson": LESSON, "knownIds": [{}] * 2_000}
    assert await refusal(toys, "store_toy", sent) == (
        "invalid_argument: arguments: 2,000 problems; try one item of each list, as the tool's "
        "schema describes it"
    )


async def test_a_long_unknown_name_is_cut_in_the_refusal(toys: Client) -> None:
    answer = await refusal(
        toys, "store_toy", {"programId": "x", "lesson": LESSON, "y" * 100_000: 1, "a\nb": 2}
    )
    assert len(answer) < 500
    assert "\n" not in answer


async def test_deep_nesting_is_refused(toys: Client) -> None:
    deep = '{"lessonText":' + "[" * 900 + "]" * 900 + "}"
    assert (await refusal(toys, "store_toy", {"programId": "x", "lesson": deep})).startswith(
        "invalid_argument: "
    )


async def test_half_an_emoji_is_refused() -> None:
    tool = registered(TOYS[0].tools[0])
    with pytest.raises(
        InvalidArgumentError, match="arguments: nested too deeply, or not Unicode text"
    ):
        validated(tool, {"programId": "x", "lesson": {"lessonText": "\ud83d"}})


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (
            "missing",
            "pattern_not_found: basher has no lesson 'p1'. Call recall_memory to list its lessons "
            "(in a shell: fleet-memory list lessons).",
        ),
        ("conflict", "conflict: Someone else wrote first. (retryable)"),
        ("down", "store_unavailable: The store does not answer. (retryable)"),
        ("embedder", "internal: The model failed."),
        *(
            (
                kind,
                "internal: break_toy failed inside the server; call again; "
                "the operator finds the cause in the server's log",
            )
            for kind in ("crash", "group", "validation")
        ),
    ],
)
async def test_a_failure_starts_with_its_code_and_reveals_no_secret(
    toys: Client, kind: str, said: str
) -> None:
    assert await refusal(toys, "break_toy", {"kind": kind}) == said


async def test_the_operator_finds_the_cause_of_a_crash_in_the_log(
    toys: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        await refusal(toys, "break_toy", {"kind": "crash"})
        await refusal(toys, "break_toy", {"kind": "down"})
    assert "RuntimeError: /secret/path: password=hunter2" in caplog.text
    assert "/secret/path refused" in caplog.text


async def test_an_unknown_tool_is_refused_with_those_that_there_are(toys: Client) -> None:
    answer = await refusal(toys, "no_such_thing", {})
    assert (
        answer == "invalid_argument: no_such_thing: unknown tool, allowed: store_toy, count_toys, "
        "break_toy"
    )
    answer = await refusal(toys, "x\n" * 5_000, {})
    assert len(answer) < 200
    assert "\n" not in answer


async def test_no_sentence_of_the_caller_is_logged_with_a_refusal(
    toys: Client, caplog: pytest.LogCaptureFixture
) -> None:
    sentence = "the claims raced in production"
    wrong: list[dict[str, Any]] = [
        {"howMany": sentence},
        {"onDuplicate": sentence},
        {"onDuplicate": [sentence]},
        {"lesson": sentence},
        {"lesson": {**LESSON, sentence: 1}},
        {"programId": sentence},
        {sentence: 1},
    ]
    with caplog.at_level(logging.INFO):
        for arguments in wrong:
            assert sentence not in await refusal(
                toys, "store_toy", {"programId": "x", "lesson": LESSON, **arguments}
            )
    assert len([record for record in caplog.records if "store_toy" in record.getMessage()]) >= len(
        wrong
    )
    assert not any(word in caplog.text for word in ("claims", "raced", "production"))


async def test_a_misspelt_tool_is_refused_with_the_right_name(toys: Client) -> None:
    said = "invalid_argument: store_toys: unknown tool, did you mean store_toy?"
    assert await refusal(toys, "store_toys", {}) == said


async def test_a_tool_of_another_toolset_is_refused_with_the_setting_that_adds_it(
    client: Client,
) -> None:
    assert await refusal(client, "gsp_read", {"key": "pattern/a/b"}) == (
        "invalid_argument: gsp_read is in the toolset knowledge; you are served core: "
        "start the server with FLEET_MEMORY_TOOLSETS=core,knowledge, and let your token have it"
    )


async def boot_toy(agent_id: Annotated[Name, Field(description="Who")]) -> ToyAnswer:
    """Boot a toy."""
    return ToyAnswer(program_id=agent_id)


@pytest.mark.parametrize(
    ("function", "own", "other"),
    [(store_toy, "programId", "agentId"), (boot_toy, "agentId", "programId")],
)
async def test_the_callers_name_goes_by_either_word(
    settings: Settings, function: Callable[..., Awaitable[Value]], own: str, other: str
) -> None:
    async def answered(arguments: dict[str, JsonValue]) -> CallToolResult:
        rest = {"lesson": LESSON} if function is store_toy else {}
        return await client.call_tool(function.__name__, {**rest, **arguments})

    async with Client(create_server(settings, [toyset(function)])) as client:
        for sent in (
            {own: "wren"},
            {other: "wren"},
            {own: "wren", other: "wren"},
            {own: None, other: "wren"},
        ):
            result = await answered(dict(sent))
            assert result.structured_content is not None
            assert result.structured_content["programId"] == "wren"
        both = await answered({own: "wren", other: "atlas"})
        assert text(both).startswith(f"invalid_argument: {other}: unknown, ")
        (tool,) = (await client.list_tools()).tools
        assert other not in tool.input_schema["properties"]


def offered() -> list[FleetTool]:
    return [registered(tool) for tool in SPECS.values()]


def test_no_two_tools_share_a_name_and_each_name_fits_clients_that_prefix_it() -> None:
    names = [tool.name for tool in offered()]
    assert len(set(names)) == len(names)
    assert max(map(len, names), default=0) <= 30


def test_every_tool_sets_all_four_hints_and_describes_when_to_call_it() -> None:
    for tool in offered():
        hints = tool.annotations or ToolAnnotations()
        assert None not in (
            hints.read_only_hint,
            hints.destructive_hint,
            hints.idempotent_hint,
            hints.open_world_hint,
        )
        assert 0 < len(tool.description) < 600, tool.name
        assert tool.title


def test_every_field_of_every_tool_explains_itself() -> None:
    for tool in offered():
        for path, field in _fields(tool.accepted):
            explained = (
                "description" in field or "properties" in field
            )  # an object's fields explain it
            assert explained, f"{tool.name}: {path} has no description"


def test_an_outline_without_names_has_no_members_and_refuses_by_their_names() -> None:
    tool = next(tool for tool in offered() if tool.name == "update_program_state")
    assert tool.parameters["properties"]["contextSummary"] == {
        "type": "object",
        "description": "Your handover",
    }
    assert set(tool.accepted["properties"]["decayConfig"]["properties"]) == {
        "maxAge",
        "maxUnpromotedPatterns",
        "pruneAfter",
    }
    with pytest.raises(
        InvalidArgumentError, match=r"lastTask\.titel: unknown, did you mean title\?"
    ):
        validated(tool, {"programId": "basher", "contextSummary": {"lastTask": {"titel": "x"}}})


def test_an_object_that_is_published_in_outline_is_described_by_another_tool_or_its_own_page() -> (
    None
):
    tools = {tool.name: tool for tool in offered()}
    for tool in tools.values():
        for name, field in tool.accepted["properties"].items():
            if field.get("items", {}).get("outline"):
                shown = tool.parameters["properties"][name]["items"]
                assert (
                    set(shown["properties"])
                    == set(field["items"]["outline"])
                    <= set(field["items"]["properties"])
                )
                assert set(shown["required"]) == set(field["items"]["required"])
                fields = field["items"]["properties"].values()  # else its own page describes them
                assert field["description"].removeprefix("As for ") in tools or all(
                    "description" in each for each in fields
                ), f"{tool.name}: {name}"


def test_a_published_schema_has_no_reference_title_or_null() -> None:
    for tool in offered():
        published = json.dumps(tool.parameters)
        assert all(
            word not in published
            for word in ('"$ref"', '"$defs"', '"title": "', '"null"', ": null")
        ), tool.name


def _fields(schema: dict[str, Any], path: str = "") -> list[tuple[str, dict[str, Any]]]:
    found = []
    for name, field in schema.get("properties", {}).items():
        found += [
            (f"{path}{name}", field),
            *_fields(field, f"{path}{name}."),
            *_fields(field.get("items", {}), f"{path}{name}."),
        ]
    return found
