"""Where each document of a fleet is: the only module that spells a document path."""

from dataclasses import dataclass

from fleet_memory.stores import Ref, Store, document_id


@dataclass(frozen=True, slots=True)
class FleetPaths:
    """The documents and collections of one fleet, e.g. FleetPaths("f1").programs ==
    "fleets/f1/programs".

    The examples below are those of the fleet "f1".
    """

    fleet_id: str

    def collection(self, group: str) -> str:
        """Return a collection by its group, e.g. "gsp" -> "fleets/f1/gsp"."""
        return f"fleets/{document_id(self.fleet_id)}/{group}"

    @property
    def policy(self) -> Ref:
        """Where the fleet's policy is, fleets/f1."""
        return Ref("fleets", document_id(self.fleet_id))

    @property
    def programs(self) -> str:
        """The collection of the programs, "fleets/f1/programs"."""
        return self.collection("programs")

    @property
    def entries(self) -> str:
        """The collection of the knowledge entries, "fleets/f1/gsp"."""
        return self.collection("gsp")

    @property
    def ledger(self) -> str:
        """The collection of the ledger's lines, "fleets/f1/ledger"."""
        return self.collection("ledger")

    @property
    def archive(self) -> str:
        """The collection of archived patterns and notes, "fleets/f1/archive"."""
        return self.collection("archive")

    @property
    def pairs(self) -> str:
        """The collection of the pairs of texts to judge, "fleets/f1/pairs"."""
        return self.collection("pairs")

    @property
    def history(self) -> str:
        """The collection of earlier context summaries, "fleets/f1/history"."""
        return self.collection("history")

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

    @property
    def snapshot(self) -> Ref:
        """Where the head of the snapshot is, its first shard, fleets/f1/snapshots/head."""
        return Ref(self.collection("snapshots"), "head")

    def snapshot_shards(self, version: str, parts: int) -> list[Ref]:
        """Return where the shards of a snapshot beside its head are, or of a shelf, e.g. "12", 1 ->
        [fleets/f1/snapshots/12.0].
        """
        return [Ref(self.collection("snapshots"), f"{version}.{part}") for part in range(parts)]

    def archive_record(self, record_id: str) -> Ref:
        """Return where a record of the archive is, e.g. "9f86d0" -> fleets/f1/archive/9f86d0."""
        return Ref(self.archive, record_id)

    def summary(self, program_id: str, slot: int) -> Ref:
        """Return where an earlier summary is, e.g. "basher", 3 -> fleets/f1/history/basher_23_3."""
        return Ref(self.history, document_id(f"{program_id}#{slot}"))

    @property
    def tokens(self) -> str:
        """The collection of the tokens that agents show over HTTP, "fleets/f1/tokens"."""
        return self.collection("tokens")

    def token(self, token_id: str) -> Ref:
        """Return where a token's record is, e.g. "k3x9" -> fleets/f1/tokens/k3x9."""
        return Ref(self.tokens, document_id(token_id))

    def lease(self, name: str) -> Ref:
        """Return where a lease is, e.g. "maintainer" -> fleets/f1/leases/maintainer."""
        return Ref(self.collection("leases"), document_id(name))

    @property
    def last_run(self) -> Ref:
        """Where the last run that proposed pairs is noted, fleets/f1/maintenance/run."""
        return Ref(self.collection("maintenance"), "run")


@dataclass(frozen=True)
class FleetDocuments:
    """Some of one fleet's documents in a store."""

    store: Store
    paths: FleetPaths
