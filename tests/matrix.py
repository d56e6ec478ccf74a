"""Who may call each tool, from its access, and a call of each that must be answered."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final, NamedTuple, get_args

from fleet_memory.fleet import Tool, Toolset
from fleet_memory.schemas.programs import Role
from fleet_memory.schemas.value import Value
from fleet_memory.server.arguments import CALLER_NAMES
from fleet_memory.server.composition import installed_toolsets
from fleet_memory.server.registration import registered
from scripts.generate_docs import OUTCOMES, program_argument

ROLES: Final[tuple[Role, ...]] = get_args(Role)
STORED: Final = ("kept", "forgotten")  # ids of two lessons of each program

RULE: Final = {"key": "constitution/ask-first"}
EXAMPLES: Final[dict[str, dict[str, Any]]] = {
    "reinforce_memory": {"patternId": "kept", "evidence": "seen"},
    "commit_session": {"handoff": "All is done"},
    "update_program_state": {"config": {"tone": "dry"}},
    "write_note": {"text": "Port 80"},
    "forget_memory": {"patternId": "forgotten", "reason": "It was another's"},
    "gsp_read": RULE,
    "retire_knowledge": {**RULE, "why": "We ask no more"},
    "reinstate_knowledge": {**RULE, "why": "We ask again"},
    "claim_work": {"work": "fix #7"},
    "hand_over": {"work": "fix #7", "summary": "Fixed"},
    "journal_append": {"events": [{"kind": "user", "content": "hello"}] * 12, "requestId": "r1"},
    "journal_distill": {"startSeq": 1, "endSeq": 2, "narrative": "They said hello"},
}
"""Arguments of a call of a tool that is answered once the tools that write and stand before it in
its toolset were called by theirs; a required one that is left out is made of the schema.
"""

BY_NAME: Final = {toolset.name: toolset for toolset in installed_toolsets()}
SPECS: Final = {tool.name: tool for toolset in installed_toolsets() for tool in toolset.tools}
OF_AGENTS: Final = [name for name, tool in SPECS.items() if tool.access != "curation"]


def names_of(*toolsets: str) -> set[str]:
    """Return the names of the tools of these toolsets."""
    return {tool.name for toolset in toolsets for tool in BY_NAME[toolset].tools}


def toyset(*functions: Callable[..., Awaitable[Value]]) -> Toolset:
    """Return a toolset `core` of these functions, which write and answer everybody."""
    return Toolset("core", [Tool(each, "Toy", "toys", "writes", "shared") for each in functions])


class Cell(NamedTuple):
    """One call: of a tool, as a role, about its own program or another; and its result."""

    tool: str
    role: Role
    whose: str
    outcome: str


def cells() -> list[Cell]:
    return [
        Cell(name, role, whose, outcome)
        for name, tool in SPECS.items()
        for whose, outcomes in zip(("own", "other"), OUTCOMES[tool.access], strict=True)
        for role, outcome in zip(ROLES, outcomes.split(), strict=True)
        if whose == "own" or named_by(name)
    ]


def arguments_of(tool: str, program: str | None) -> dict[str, Any]:
    """Return arguments that the tool accepts about a program; without its name for None."""
    name = named_by(tool)
    whose = {name: program} if name and program else {}
    schema = registered(SPECS[tool]).accepted
    made = {
        each: _sample(schema["properties"][each], "words")
        for each in schema.get("required", ())
        if each not in CALLER_NAMES
    }
    return {**whose, **made, **EXAMPLES.get(tool, {})}


def calls_before(tool: str, program: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the calls after which a tool's example is answered: those of the tools of its toolset
    that write and stand before it.
    """
    home = next(each for each in BY_NAME.values() if SPECS[tool] in each.tools)
    before = home.tools[: home.tools.index(SPECS[tool])]
    return [
        (each.name, arguments_of(each.name, program)) for each in before if each.access == "own"
    ]


def named_by(tool: str) -> str | None:
    """Return the argument that names a tool's program, None for a tool that is about none."""
    return program_argument(SPECS[tool])


def calls_with(tool: str, text: str) -> Iterator[dict[str, Any]]:
    """Yield calls of a tool by its example, each with a text in another argument."""
    for name, schema in registered(SPECS[tool]).accepted["properties"].items():
        value = _sample(schema, text)
        if name not in CALLER_NAMES and text in str(value):
            yield {**arguments_of(tool, None), name: value}


def _sample(schema: dict[str, Any], text: str) -> object:
    """Return a value of a JSON schema, with a text in each of its required strings."""
    if values := schema.get("enum"):
        return values[0]
    match schema.get("type"):
        case "string":
            return text
        case "array":
            return [_sample(schema["items"], text)]
        case "object" if fields := schema.get("properties"):
            return {name: _sample(fields[name], text) for name in schema.get("required", fields)}
        case "object":
            return {"a": text}
        case kind:
            return False if kind == "boolean" else schema.get("minimum", 0)
