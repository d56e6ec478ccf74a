"""The base of the repositories that have no state of their own but a store and a fleet's paths."""

from dataclasses import dataclass

from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.stores import Store


@dataclass(frozen=True)
class FleetDocuments:
    """Some of one fleet's documents in a store."""

    store: Store
    paths: FleetPaths
