"""Where each document of a fleet is: the only module that spells a document path."""

from dataclasses import dataclass

from fleet_memory.stores import Ref, Store, document_id


class FleetPaths:
    """The documents and collections of one fleet, e.g. FleetPaths("f1").programs ==
    "fleets/f1/programs".

    The examples below are those of the fleet "f1".
    """

    def __init__(self, fleet_id: str) -> None:
        self.fleet_id = fleet_id
        self.policy = Ref("fleets", document_id(fleet_id))
        self.programs = self.collection("programs")
        self.entries = self.collection("gsp")
        self.pairs = self.collection("pairs")
        self.ledger = self.collection("ledger")
        self.archive = self.collection("archive")
        self.history = self.collection("history")
        self.tokens = self.collection("tokens")
        self.snapshot = Ref(self.collection("snapshots"), "head")  # its first shard
        self.last_run = Ref(self.collection("maintenance"), "run")

    def collection(self, group: str) -> str:
        """Return a collection by its group, e.g. "gsp" -> "fleets/f1/gsp"."""
        return f"fleets/{document_id(self.fleet_id)}/{group}"

    def program(self, program_id: str) -> Ref:
        """Return where a program is, e.g. "basher" -> fleets/f1/programs/basher."""
        return Ref(self.programs, document_id(program_id))

    def entry(self, key: str) -> Ref:
        """Return where an entry is, e.g. "pattern/ci/pin" -> fleets/f1/gsp/pattern_2f_ci_2f_pin."""
        return Ref(self.entries, document_id(key))

    def ledger_line(self, line_id: str) -> Ref:
        """Return where a line of the ledger is, e.g. "9f86d0" -> fleets/f1/ledger/9f86d0."""
        return Ref(self.ledger, document_id(line_id))

    def pair(self, pair_id: str) -> Ref:
        """Return where a pair is, e.g. "9f86d0" -> fleets/f1/pairs/9f86d0."""
        return Ref(self.pairs, document_id(pair_id))

    def snapshot_shards(self, version: str, parts: int) -> list[Ref]:
        """Return where the shards of a snapshot beside its head are, or of a shelf, e.g. "12", 1 ->
        [fleets/f1/snapshots/12.0].
        """
        return [Ref(self.snapshot.collection, f"{version}.{part}") for part in range(parts)]

    def summary(self, program_id: str, slot: int) -> Ref:
        """Return where an earlier summary is, e.g. "basher", 3 -> fleets/f1/history/basher_23_3."""
        return Ref(self.history, document_id(f"{program_id}#{slot}"))

    def token(self, token_id: str) -> Ref:
        """Return where a token's record is, e.g. "k3x9" -> fleets/f1/tokens/k3x9."""
        return Ref(self.tokens, document_id(token_id))

    def lease(self, name: str) -> Ref:
        """Return where a lease is, e.g. "maintainer" -> fleets/f1/leases/maintainer."""
        return Ref(self.collection("leases"), document_id(name))


@dataclass(frozen=True)
class FleetDocuments:
    """Some of one fleet's documents in a store."""

    store: Store
    paths: FleetPaths
