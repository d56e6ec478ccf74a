"""Every door of the server that returns a text, with calls that would let a private text through if
it stood open.
"""

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from mcp import Client, MCPError
from mcp.types import CallToolResult, Result, TextContent
from private_fleet import (
    DRAFT,
    FAR,
    FAR_TEXT,
    NEAR,
    NEAR_TEXT,
    OLD,
    SHOWN_TO_JUDGES,
    canaries_of,
    guessed,
    program_of,
)
from pydantic.alias_generators import to_camel

from fleet_memory.server.arguments import CALLER_NAMES
from fleet_memory.server.composition import installed_toolsets
from tests.prying import Guesses, prying_calls

WORDS: Final = f"{NEAR_TEXT}, {FAR_TEXT}, the cache, backups"
IDS: Final = tuple(
    guessed(name) for name in (f"{NEAR}id", f"{FAR}id", f"{DRAFT}id", f"{OLD}goneid")
)
PROJECT: Final = guessed(f"{FAR}project")
DOMAINS: Final = tuple(guessed(f"claims-{prefix}domain") for prefix in (NEAR, FAR))
KEY: Final = "pattern/release/warm-the-cache-before-the-release"


class Sighting(NamedTuple):
    """A canary that an answer had: at which door, and where in the answer, e.g. ("toJudge", "0",
    "b", "pattern").
    """

    door: str
    place: tuple[str, ...]
    canary: str

    @property
    def is_allowed_to_judges(self) -> bool:
        """Whether a pair that waits for a judge shows this, by the design."""
        return "toJudge" in self.place and self.canary in SHOWN_TO_JUDGES


def guesses(me: str) -> Guesses:
    """Return guesses that repeat no canary."""
    return Guesses(
        me=me,
        others=[*(guessed(program_of(prefix)) for prefix in (NEAR, FAR)), "iso", "tron"],
        early=[{"pairId": "0" * 16, "verdict": "same"}],
        verdicts=[{"pairId": guess, "verdict": "same"} for guess in ("0" * 16, IDS[0])],
        lessons=IDS,
        keys=(KEY, f"pattern/{DOMAINS[0]}/make"),
        texts=(NEAR_TEXT, FAR_TEXT, "Warm the cache before the release"),
        questions=(WORDS, "Where are the passwords?"),
        domains=DOMAINS,
        project=PROJECT,
        tag=guessed(f"{NEAR}tag"),
    )


def prompt_calls(function: Callable[..., object]) -> list[Mapping[str, str]]:
    """Return the arguments of calls of a prompt: none, words, and words as another program."""
    names = [to_camel(name) for name in function.__annotations__ if name != "return"]
    about = {name: WORDS for name in names if name not in CALLER_NAMES}
    other = {name: guessed(program_of(NEAR)) for name in names if name in CALLER_NAMES}
    return [{}, about, about | other]


PROMPTS: Final[Mapping[str, Sequence[Mapping[str, str]]]] = {
    task.function.__name__: prompt_calls(task.function)
    for toolset in installed_toolsets()
    for task in toolset.prompts
}
RESOURCES: Final[Sequence[str]] = ()  # none are offered


async def sightings(client: Client, me: str) -> list[Sighting]:
    """Try every door of a server as the program that the client is bound to; return the canaries
    that came out.
    """
    await _require_all_doors(client)
    seen: list[Sighting] = []
    seen += _in_texts("instructions", client.instructions or "")
    for tool, calls in prying_calls(guesses(me)).items():
        for arguments in calls:
            seen += in_result(tool, await client.call_tool(tool, dict(arguments)))
    for prompt, asked in PROMPTS.items():
        for given in asked:
            seen += await _answered(prompt, client.get_prompt(prompt, dict(given)))
    for door, request in (
        ("unknown tool", client.call_tool(IDS[0], {})),
        ("prompt", client.get_prompt(IDS[0])),
    ):
        seen += await _answered(door, request)
    for uri in (f"memory://{program_of(NEAR)[:-1]}", f"memory://{KEY}"):
        seen += await _answered("resources/read", client.read_resource(uri))
    return seen


def in_result(door: str, result: CallToolResult) -> Iterator[Sighting]:
    """Yield the canaries of a tool's result, with their place in its structured content."""
    text = "".join(block.text for block in result.content if isinstance(block, TextContent))
    assert not text.startswith("rate_limited: "), door
    if result.structured_content is None:
        yield from _in_texts(door, text)
        return
    assert json.loads(text) == result.structured_content
    for place, words in _leaves(result.structured_content):
        yield from (Sighting(door, place, canary) for canary in canaries_of(words))


async def _require_all_doors(client: Client) -> None:
    """Fail for a door that is not tried: a new prompt or resource belongs into this module
    first.
    """
    assert {prompt.name for prompt in (await client.list_prompts()).prompts} == set(PROMPTS)
    assert [resource.uri for resource in (await client.list_resources()).resources] == list(
        RESOURCES
    )
    assert (await client.list_resource_templates()).resource_templates == []


async def _answered(door: str, request: Awaitable[Result]) -> list[Sighting]:
    try:
        answer = await request
    except MCPError as error:
        return list(_in_texts(door, str(error)))
    return list(_in_texts(door, answer.model_dump_json()))


def _in_texts(door: str, text: str) -> Iterator[Sighting]:
    return (Sighting(door, (), canary) for canary in canaries_of(text))


def _leaves(value: object, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield each key and each scalar of a JSON value as a text, with its place."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield place, key
            yield from _leaves(inner, (*place, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _leaves(inner, (*place, str(number)))
    else:
        yield place, str(value)
