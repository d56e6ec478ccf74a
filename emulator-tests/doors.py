"""Every door of the server that returns a text, with calls that would let a private text through if it stood open."""

import json
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

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

Arguments: TypeAlias = Mapping[str, object]
WORDS: Final = f"{NEAR_TEXT}, {FAR_TEXT}, the cache, backups"
EVERYTHING: Final = 100_000  # tokens
IDS: Final = tuple(guessed(name) for name in (f"{NEAR}id", f"{FAR}id", f"{DRAFT}id", f"{OLD}goneid"))
PROJECT: Final = guessed(f"{FAR}project")
DOMAINS: Final = tuple(guessed(f"claims-{prefix}domain") for prefix in (NEAR, FAR))
KEY: Final = "pattern/release/warm-the-cache-before-the-release"


class Sighting(NamedTuple):
    """A canary that an answer had: at which door, and where in the answer, e.g. ("toJudge", "0", "b", "pattern")."""

    door: str
    place: tuple[str, ...]
    canary: str

    @property
    def is_allowed_to_judges(self) -> bool:
        """Whether a pair that waits for a judge shows this, by the design."""
        return "toJudge" in self.place and self.canary in SHOWN_TO_JUDGES


def calls_of(me: str) -> Mapping[str, Sequence[Arguments]]:
    """Return calls of every tool: by a program about itself, and about others, with guesses that repeat no canary."""
    others = [guessed(program_of(prefix)) for prefix in (NEAR, FAR)] + ["iso", "tron"]
    own: Arguments = {"programId": me}
    return {
        "gsp_bootstrap": [
            {"agentId": me, "depth": "full", "maxTokens": EVERYTHING, "task": WORDS},
            {"agentId": me, "projectId": PROJECT, "knownVersion": 0},
            *({"agentId": other} for other in others),
        ],
        "recall_memory": [*_recalls(own), *({"programId": other, "query": WORDS} for other in others)],
        "memory_health": [{}, *_about(me, others, {})],
        "get_program_state": [{}, *_about(me, others, {"history": 50})],
        "gsp_search": [{}, *_searches()],
        "gsp_read": [{"key": key} for key in (KEY, f"pattern/{DOMAINS[0]}/make", *IDS)],
        "gsp_diff": [{"sinceVersion": 0, "maxTokens": EVERYTHING}],
        "fleet_health": [{}, {"maxTokens": EVERYTHING}],
        "pattern_consolidate": [
            {},
            {"dryRun": True},
            *_about(me, others, {}),
            {"programId": me, "verdicts": [{"pairId": guess, "verdict": "same"} for guess in ("0" * 16, IDS[0])]},
        ],
        "store_memory": [*_stores(me), {"programId": others[0], "pattern": _lesson(NEAR_TEXT, DOMAINS[0])}],
        "reinforce_memory": [{**own, "patternId": id_} for id_ in (*IDS, KEY)]
        + [{"programId": other, "patternId": IDS[0]} for other in others],
        "commit_session": _about(me, others, _session()),
        "update_program_state": _about(me, others, {"config": {"deploy": "mine"}}),
        "write_note": [{**own, "noteId": "n1", "text": "x"}, *({"programId": each, "text": "x"} for each in others)],
        "forget_memory": [{**own, "patternId": id_, "reason": "x"} for id_ in (*IDS, KEY)]
        + [{"programId": other, "patternId": IDS[0], "reason": "x"} for other in others],
    }


def _about(me: str, others: Sequence[str], arguments: Arguments) -> list[Arguments]:
    return [{"programId": program, **arguments} for program in (me, *others)]


def _recalls(own: Arguments) -> Iterator[Arguments]:
    for scope in ("own", "shared", "all"):
        yield {**own, "scope": scope, "includeStale": True, "limit": 100, "maxTokens": EVERYTHING}
        yield {**own, "scope": scope, "query": WORDS, "explain": True, "limit": 100}
    for domain in DOMAINS:
        yield {**own, "domain": domain}
    yield {**own, "projectId": PROJECT}
    yield {**own, "tags": [guessed(f"{NEAR}tag")]}


def _searches() -> Iterator[Arguments]:
    for status in ("candidate", "fresh", "verify", "contested", "retired"):
        yield {"status": status, "limit": 100, "maxTokens": EVERYTHING}
    yield {"query": WORDS, "explain": True}
    for domain in DOMAINS:
        yield {"domain": domain}


def _stores(me: str) -> Iterator[Arguments]:
    for number, domain in enumerate(DOMAINS):
        yield {"programId": me, "pattern": _lesson(f"{NEAR_TEXT}, says {number}", domain)}
    for id_ in IDS:
        yield {"programId": me, "pattern": {**_lesson(f"{FAR_TEXT}, so {id_}", "passwords"), "id": id_}}
    yield {"programId": me, "pattern": _lesson(NEAR_TEXT, "claims"), "onDuplicate": "reject"}
    yield {
        "programId": me,
        "pattern": {**_lesson("Warm the cache before the release", "release"), "projectId": PROJECT},
    }


def _session() -> Arguments:
    return {
        "patterns": [_lesson("Back up every day", DOMAINS[1])],
        "reinforcements": [{"patternId": id_} for id_ in IDS],
        "verdicts": [{"pairId": "0" * 16, "verdict": "same"}],
        "missing": ["Where are the passwords?"],
        "handoff": "All is done",
    }


def _lesson(text: str, domain: str) -> dict[str, object]:
    return {"pattern": text, "domain": domain, "confidence": 0.8, "evidence": "seen"}


PROMPTS: Final[Mapping[str, Sequence[Mapping[str, str]]]] = {
    "boot": [{}, {"task": WORDS}, {"agentId": guessed(program_of(NEAR)), "task": WORDS}],
    "end_of_session": [{}, {"agentId": guessed(program_of(NEAR))}],
    "consolidate_review": [{}],
}
RESOURCES: Final[Sequence[str]] = ()  # none are offered


async def sightings(client: Client, me: str) -> list[Sighting]:
    """Try every door of a server as the program that the client is bound to; return the canaries that came out."""
    await _require_all_doors(client, me)
    seen: list[Sighting] = []
    seen += _in_texts("instructions", client.instructions or "")
    for tool, calls in calls_of(me).items():
        for arguments in calls:
            seen += in_result(tool, await client.call_tool(tool, dict(arguments)))
    for prompt, asked in PROMPTS.items():
        for given in asked:
            seen += await _answered(prompt, client.get_prompt(prompt, dict(given)))
    for door, request in (("unknown tool", client.call_tool(IDS[0], {})), ("prompt", client.get_prompt(IDS[0]))):
        seen += await _answered(door, request)
    for uri in (f"memory://{program_of(NEAR)[:-1]}", f"memory://{KEY}"):
        seen += await _answered("resources/read", client.read_resource(uri))
    return seen


def in_result(door: str, result: CallToolResult) -> Iterator[Sighting]:
    """Yield the canaries of a tool's result, with their place in its structured content."""
    text = "".join(block.text for block in result.content if isinstance(block, TextContent))
    if result.structured_content is None:
        yield from _in_texts(door, text)
        return
    assert json.loads(text) == result.structured_content
    for place, words in _leaves(result.structured_content):
        yield from (Sighting(door, place, canary) for canary in canaries_of(words))


async def _require_all_doors(client: Client, me: str) -> None:
    """Fail for a door that these calls do not try: a new tool, prompt or resource belongs into this module first."""
    assert {tool.name for tool in (await client.list_tools()).tools} == set(calls_of(me)), "a tool is not in calls_of"
    assert {prompt.name for prompt in (await client.list_prompts()).prompts} == set(PROMPTS)
    assert [resource.uri for resource in (await client.list_resources()).resources] == list(RESOURCES)
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
