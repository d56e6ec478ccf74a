"""The systems that peers.py measures: where each comes from, how it starts, and its tools to store
and recall.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from rpc import Arguments

HERE: Final = Path(__file__).parent
LOADS_EXTENSIONS: Final = "import sqlite3; sqlite3.connect(':memory:').enable_load_extension(True)"
FROM_3_12: Final = "import sys; assert sys.version_info >= (3, 12)"

Call: TypeAlias = tuple[str, Arguments]  # a tool's name and its arguments


class Memory(NamedTuple):
    """One lesson that an agent stores, and its evidence, which is empty for a lesson of a set
    without any.
    """

    number: int
    text: str
    agent: str
    evidence: str = ""

    @property
    def name(self) -> str:
        """Return a short name that no other memory has, e.g. m00017."""
        return f"m{self.number:05}"

    @property
    def whole(self) -> str:
        """Return the lesson with its evidence, for a system that has one text for both."""
        return f"{self.text} {self.evidence}".rstrip()


class System(NamedTuple):
    """One system and its adapter.

    `tries` are requirements of the registry's client, the later ones for when the earlier do not
    install; the first of each is the package whose version is shown. `probe` is a Python statement
    that the environment's interpreter must survive. `find` asks for one memory by its own words or
    name; `mark` is the text that shows a memory in an answer.
    """

    name: str
    registry: str  # "npm", "pypi", or "" for ourselves
    tries: Sequence[Sequence[str]]
    command: Callable[[Path], Sequence[str]]  # of the environment's folder
    variables: Callable[[Path], Mapping[str, str]]  # of the memory's folder
    store: Callable[[Memory], Call]
    recall: Callable[[str, str, int], Call]  # question, agent, how many
    find: Callable[[Memory], Call]
    mark: Callable[[Memory], str]
    probe: str = "pass"
    note: str = ""
    model: bool = (
        False  # our model's file goes where this system would put the one that it downloads
    )


def _text(memory: Memory) -> str:
    return memory.text


def _ours(_: Path) -> Sequence[str]:
    return [sys.executable, "-m", "fleet_memory", "serve"]


def _our_variables(folder: Path) -> Mapping[str, str]:
    return {"FLEET_MEMORY_STORE": str(folder / "memory.db"), "FLEET_MEMORY_MAINTENANCE": "off"}


def _our_store(memory: Memory) -> Call:
    lesson = {
        "pattern": memory.text,
        "domain": "benchmark",
        "confidence": 0.8,
        "evidence": memory.evidence,
    }
    return "store_memory", {"programId": memory.agent, "pattern": lesson}


def _our_recall(question: str, agent: str, limit: int) -> Call:
    return "recall_memory", {"programId": agent, "query": question, "scope": "all", "limit": limit}


def _our_find(memory: Memory) -> Call:
    return "recall_memory", {
        "programId": memory.agent,
        "query": memory.text,
        "limit": 100,
        "maxTokens": 100_000,
        "scope": "own",
    }


def _private(folder: Path) -> dict[str, str]:
    """Return variables that keep a peer in its folder, and ours and any key out of it."""
    return {
        "HOME": str(folder),
        "PYTHONPATH": "",
        "PYTHONNOUSERSITE": "1",
        "OPENAI_API_KEY": "",
        "XDG_CACHE_HOME": "",
    }


def _official_variables(folder: Path) -> Mapping[str, str]:
    return {**_private(folder), "MEMORY_FILE_PATH": str(folder / "memory.jsonl")}


def _official_store(memory: Memory) -> Call:
    entity = {"name": memory.name, "entityType": "lesson", "observations": [memory.whole]}
    return "create_entities", {"entities": [entity]}


def _service_variables(folder: Path) -> Mapping[str, str]:
    settings = {
        "MCP_MEMORY_STORAGE_BACKEND": "sqlite_vec",
        "MCP_MEMORY_SQLITE_PATH": str(folder / "memory.db"),
    }
    return {**_private(folder), **settings, "MCP_MEMORY_BACKUPS_PATH": str(folder / "backups")}


def _service_store(memory: Memory) -> Call:
    """Name a conversation, or a text that is near another is refused as its duplicate."""
    return "memory_store", {"content": memory.whole, "conversation_id": memory.name}


def _basic_variables(folder: Path) -> Mapping[str, str]:
    return {
        **_private(folder),
        "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false",
        "BASIC_MEMORY_HOME": str(folder / "n"),
    }


def _basic_store(memory: Memory) -> Call:
    return "write_note", {"title": memory.name, "content": memory.whole, "directory": memory.agent}


OURS: Final = System(
    "fleet-memory",
    "",
    (),
    _ours,
    _our_variables,
    _our_store,
    _our_recall,
    _our_find,
    _text,
    note="recall answers from the agent's own lessons and the fleet's knowledge",
)
SERVICE: Final = System(
    name="mcp-memory-service",
    registry="pypi",
    tries=(("mcp-memory-service[sqlite]",),),
    command=lambda folder: [str(folder / "bin" / "memory"), "server"],
    variables=_service_variables,
    store=_service_store,
    recall=lambda question, _, limit: ("memory_search", {"query": question, "limit": limit}),
    find=lambda memory: ("memory_search", {"query": memory.text, "mode": "exact", "limit": 5}),
    mark=_text,
    probe=LOADS_EXTENSIONS,
    note="as it installs; it downloads its model at the first start if the network lets it",
)
SYSTEMS: Final = (
    OURS,
    System(
        name="server-memory",
        registry="npm",
        tries=(("@modelcontextprotocol/server-memory",),),
        command=lambda folder: [
            "node",
            str(folder / "node_modules" / ".bin" / "mcp-server-memory"),
        ],
        variables=_official_variables,
        store=_official_store,
        recall=lambda question, _, __: ("search_nodes", {"query": question}),
        find=lambda memory: ("open_nodes", {"names": [memory.name]}),
        mark=_text,
        note="the official reference server: finds a question as a substring, and has no limit",
    ),
    SERVICE,
    SERVICE._replace(
        name="mcp-memory-service + model",
        tries=(("mcp-memory-service[sqlite]", "onnx"),),
        model=True,
        note="with all-MiniLM-L6-v2 (our int8 file) in its cache, as after one start with a "
        "network",
    ),
    System(
        name="basic-memory",
        registry="pypi",
        tries=(("basic-memory",), ("basic-memory<0.24",)),
        command=lambda folder: [str(folder / "bin" / "basic-memory"), "mcp"],
        variables=_basic_variables,
        store=_basic_store,
        recall=lambda question, _, limit: ("search_notes", {"query": question, "page_size": limit}),
        find=lambda memory: ("read_note", {"identifier": f"{memory.agent}/{memory.name}"}),
        mark=lambda memory: memory.name,
        probe=FROM_3_12,
        note="words only: its semantic search needs a model from a hub",
    ),
    System(
        name="agent-cerebro",
        registry="pypi",
        tries=(("agent-cerebro", "mcp"),),
        command=lambda folder: [str(folder / "bin" / "python"), str(HERE / "cerebro_front.py")],
        variables=lambda folder: {**_private(folder), "AGENT_CEREBRO_HOME": str(folder)},
        store=lambda memory: ("store", {"text": memory.whole}),
        recall=lambda question, _, limit: ("search", {"query": question, "limit": limit}),
        find=lambda memory: ("search", {"query": memory.text, "limit": 1000}),
        mark=_text,
        note="without an OpenAI key, by words; it has no MCP server: measured through a front "
        "of 30 lines",
    ),
)
