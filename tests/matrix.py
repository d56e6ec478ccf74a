"""Who may call each tool, from tests/data/who_may_call.toml, and a call of each that must be
answered.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args

from fleet_memory.schemas.tokens import Role
from fleet_memory.server.toolsets import TOOLS
from fleet_memory.settings import TOOLSETS

ROLES: Final[tuple[Role, ...]] = get_args(Role)
TABLE: Final[Mapping[str, Mapping[str, list[str]]]] = tomllib.loads(
    (Path(__file__).parent / "data" / "who_may_call.toml").read_text(encoding="utf-8")
)
RULE: Final = "constitution/ask-first"  # of the fleet that is called
LESSON: Final = {"domain": "tasks", "confidence": 0.5, "evidence": "seen"}
STORED: Final = ("kept", "forgotten")  # ids of two lessons of each program


SPECS: Final = {spec.function.__name__: spec for specs in TOOLS.values() for spec in specs}
OF_AGENTS: Final = [spec.function.__name__ for toolset in TOOLSETS for spec in TOOLS[toolset]]


class Cell(NamedTuple):
    """One call: of a tool, as a role, about its own program or another; and its result."""

    tool: str
    role: Role
    whose: str
    outcome: str


def cells() -> list[Cell]:
    return [
        Cell(tool, role, whose, outcome)
        for tool, row in TABLE.items()
        for whose, outcomes in row.items()
        for role, outcome in zip(ROLES, outcomes, strict=True)
    ]


ARGUMENTS: Final[Mapping[str, dict[str, Any]]] = {
    "gsp_bootstrap": {"task": "roll a release out"},
    "recall_memory": {"query": "how do deploys work?"},
    "store_memory": {"pattern": {"pattern": "Close what you open", **LESSON}},
    "reinforce_memory": {"patternId": STORED[0], "evidence": "seen again"},
    "commit_session": {"handoff": "All is done"},
    "update_program_state": {"config": {"tone": "dry"}},
    "write_note": {"text": "Port 80 is taken"},
    "forget_memory": {"patternId": STORED[1], "reason": "It was another's"},
    "gsp_search": {"query": "deploys"},
    "gsp_read": {"key": RULE},
    "gsp_diff": {"sinceVersion": 0},
    "seed_knowledge": {
        "entries": [{"text": "Ask before you delete", "domain": "tasks", "key": "ask-first"}]
    },
    "retire_knowledge": {"key": RULE, "why": "We ask no more"},
    "reinstate_knowledge": {"key": RULE, "why": "We ask again"},
}
"""A call's arguments, the program's name aside; a tool that is not here needs none."""


def arguments_of(tool: str, program: str | None) -> dict[str, Any]:
    """Return arguments that the tool accepts about a program; without its name for None."""
    name = named_by(tool)
    whose = {name: program} if name and program else {}
    return {**whose, **ARGUMENTS.get(tool, {})}


def named_by(tool: str) -> str | None:
    """Return the argument that names a tool's program, e.g. "programId"; None for a tool that is
    about no program.
    """
    names = {"program_id": "programId", "agent_id": "agentId"}
    return next(
        (names[each] for each in SPECS[tool].function.__annotations__ if each in names), None
    )
