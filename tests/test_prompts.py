import pytest
from mcp import Client

from fleet_memory.server.app import create_server
from fleet_memory.settings import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", ["auto", "legacy"])]


async def test_an_agent_can_be_led_through_the_pairs_that_wait(settings: Settings, mode: str) -> None:
    async with Client(create_server(settings), mode=mode) as client:
        (listed,) = (await client.list_prompts()).prompts
        assert (listed.name, bool(listed.title), bool(listed.description)) == ("consolidate_review", True, True)
        prompt = await client.get_prompt("consolidate_review")
        text = "".join(message.content.text for message in prompt.messages if message.content.type == "text")
        assert "pattern_consolidate" in text
        assert "verdicts" in text
