"""Memory that comes from elsewhere, as values: every reader of a file or of another program's memory returns this."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from fleet_memory.schemas.knowledge import Entry, LedgerLine
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.programs import ArchiveRecord, PastSummary, Program

LedgerLines: TypeAlias = Mapping[str, LedgerLine]
"""Lines of a ledger by their ids."""


class Incoming(NamedTuple):
    """Memory to merge into a fleet: checked, decoded, and in no store yet.

    `fleet` is the name that it had there, "" where there are none. `programs` are whole: lessons of pages are among
    their patterns, and `paged` is empty. A reader of another program's memory fills in the programs with their lessons,
    notes and `last_update`; merging makes lessons pending and vectors are made by the next maintenance.
    """

    fleet: str = ""
    programs: Sequence[Program] = ()
    entries: Sequence[Entry] = ()
    pairs: Sequence[Pair] = ()
    ledger: LedgerLines = MappingProxyType({})
    archive: Sequence[ArchiveRecord] = ()
    history: Sequence[PastSummary] = ()
