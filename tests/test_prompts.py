import re
from typing import get_args

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS

from fleet_memory.schemas.pairs import Verdict
from fleet_memory.server.app import create_server
from fleet_memory.settings import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", ["auto", "legacy"])]


async def prompted(client: Client, name: str, **arguments: str) -> str:
    prompt = await client.get_prompt(name, arguments)
    return "".join(
        message.content.text for message in prompt.messages if message.content.type == "text"
    )


async def test_each_prompt_has_a_title_a_purpose_and_named_arguments(
    settings: Settings, mode: str
) -> None:
    async with Client(create_server(settings), mode=mode) as client:
        listed = (await client.list_prompts()).prompts
    assert all(prompt.title and prompt.description for prompt in listed)
    assert {
        prompt.name: [(a.name, a.required) for a in prompt.arguments or ()] for prompt in listed
    } == {
        "boot": [("agentId", True), ("task", False)],
        "end_of_session": [("agentId", True)],
        "consolidate_review": [],
    }


async def test_an_agent_can_be_led_through_the_pairs_that_wait(
    settings: Settings, mode: str
) -> None:
    async with Client(create_server(settings), mode=mode) as client:
        text = await prompted(client, "consolidate_review")
    words = set(re.findall(r"\w+", text))
    assert {"pattern_consolidate", "programId", "toJudge", "verdicts", *get_args(Verdict)} <= words


async def test_an_agent_is_booted_for_its_task(settings: Settings, mode: str) -> None:
    async with Client(create_server(settings), mode=mode) as client:
        text = await prompted(client, "boot", agentId="basher", task='claim "17"')
        assert 'gsp_bootstrap with agentId "basher" and task "claim \\"17\\""' in text
        assert 'agentId "basher".' in await prompted(client, "boot", agentId="basher")


async def test_the_end_of_a_session_is_one_call_where_that_is_served_and_many_elsewhere(
    settings: Settings, mode: str
) -> None:
    async with Client(create_server(settings), mode=mode) as client:
        text = await prompted(client, "end_of_session", agentId="basher")
    assert "one commit_session" in text
    assert "Without that tool: store_memory for" in text


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("boot", {"agentId": "no such name"}, "agentId: "),
        ("boot", {}, "agentId: required"),
        ("boot", {"agentId": "basher", "taks": "x"}, "taks: unknown, did you mean task?"),
        ("boot", {"agentId": "basher", "task": "x" * 1001}, "task: "),
        ("bot", {}, "bot: unknown prompt, did you mean boot?"),
    ],
)
async def test_a_wrong_prompt_or_argument_is_refused_with_the_reason(
    settings: Settings, mode: str, name: str, arguments: dict[str, str], reason: str
) -> None:
    async with Client(create_server(settings), mode=mode) as client:
        with pytest.raises(MCPError) as refused:
            await client.get_prompt(name, arguments)
    assert refused.value.error.code == INVALID_PARAMS
    assert refused.value.error.message.startswith(f"invalid_argument: {reason}")
