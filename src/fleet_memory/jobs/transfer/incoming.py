"""Memory that comes from elsewhere, as values: every reader of a file or of another program's
memory returns this.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from fleet_memory.jobs.transfer.file import Line
from fleet_memory.rules.knowledge.merging import LedgeredEntry
from fleet_memory.schemas.knowledge import Entry, LedgerLine
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import ArchiveRecord, PastSummary, Program

LedgerLines: TypeAlias = Mapping[str, LedgerLine]
"""Lines of a ledger by their ids."""
Receipts: TypeAlias = Mapping[str, Sequence[Line]]
"""Answers of sessions by program."""


class Incoming(NamedTuple):
    """Memory to merge into a fleet: checked, decoded, and in no store yet.

    `fleet` is the name that it had there, "" where there are none. `programs` are whole: lessons of
    pages are among their patterns. A reader of another program's memory fills in the programs with
    their lessons, notes and `last_update`: merging makes lessons pending, keeps the cap, and the
    next maintenance makes vectors. `receipts` are documents by program. `policy` is None where none
    was exported.
    """

    fleet: str = ""
    programs: Sequence[Program] = ()
    entries: Sequence[Entry] = ()
    pairs: Sequence[Pair] = ()
    ledger: LedgerLines = MappingProxyType({})
    archive: Sequence[ArchiveRecord] = ()
    history: Sequence[PastSummary] = ()
    receipts: Receipts = MappingProxyType({})
    policy: Policy | None = None

    @property
    def rules(self) -> list[Entry]:
        """The entries that people set."""
        return [entry for entry in self.entries if entry.tier == "constitutional"]

    def copy_of(self, entry: Entry) -> LedgeredEntry:
        """Return an incoming entry with its lines of the ledger."""
        return LedgeredEntry(
            entry, {id_: self.ledger[id_] for id_ in entry.ledger if id_ in self.ledger}
        )
