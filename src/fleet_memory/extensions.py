"""Parts that are chosen by name: toolsets, stores, embedders and importers.

Ours stand in the table; other distributions add theirs as entry points of the groups
`fleet_memory.toolsets`, `.stores`, `.embedders` and `.importers`.
"""

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Final, Literal, TypeAlias

Kind: TypeAlias = Literal["toolsets", "stores", "embedders", "importers"]

# A table, and no entry points: a source tree needs no installing, and a start reads no metadata.
OWN: Final[Mapping[Kind, Mapping[str, str]]] = {
    "toolsets": {
        "core": "fleet_memory.tools.core.toolset:CORE_TOOLS",
        "session": "fleet_memory.tools.session.commit_session:SESSION_TOOLS",
        "state": "fleet_memory.tools.state:STATE_TOOLS",
        "knowledge": "fleet_memory.tools.knowledge:KNOWLEDGE_TOOLS",
        "curation": "fleet_memory.tools.curation:CURATION_TOOLS",
    },
    "stores": {
        "sqlite": "fleet_memory.stores.sqlite:SqliteStore",
        "firestore": "fleet_memory.stores.firestore:FirestoreStore",
    },
    "embedders": {
        "minilm": "fleet_memory.similarity.minilm:open_minilm",
        "lexical": "fleet_memory.similarity.lexical:open_lexical",
        "openai": "fleet_memory.similarity.openai:OpenAI",
    },
    "importers": {
        "notes": "fleet_memory.importing.notes:read_notes",
        "server-memory": "fleet_memory.importing.notes:read_server_memory",
        "mcp-memory-service": "fleet_memory.importing.databases:read_memory_service",
        "cerebro": "fleet_memory.importing.databases:read_cerebro",
    },
}


def names(kind: Kind) -> tuple[str, ...]:
    """Return the names of all parts of a kind, ours first."""
    added = {entry.name for entry in entry_points(group=f"fleet_memory.{kind}")}
    return (*OWN[kind], *sorted(added - OWN[kind].keys()))


def part(kind: Kind, name: str) -> Any:  # noqa: ANN401 each kind has a type of its own
    """Import a part and return it, e.g. the store `sqlite`. Raises KeyError for an unknown name."""
    if place := OWN[kind].get(name):
        module, _, attribute = place.partition(":")
        return getattr(import_module(module), attribute)
    return entry_points(group=f"fleet_memory.{kind}")[name].load()
