"""Changes of shared knowledge since a version."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fleet_memory.schemas.knowledge import KnowledgeRow


class Changes(NamedTuple):
    """Rows that are new, that changed, and that left; one that came and left meanwhile is in none
    of them.
    """

    added: Sequence[KnowledgeRow] = ()
    updated: Sequence[KnowledgeRow] = ()
    retired: Sequence[KnowledgeRow] = ()


def changes_since(rows: Iterable[KnowledgeRow], version: int) -> Changes:
    """Return the changes after knowledge version `version`, in the order of the rows."""
    changed = [row for row in rows if row.changed_in > version and not row.never_published]
    active = [row for row in changed if not row.is_hidden]
    return Changes(
        added=[row for row in active if row.since > version],
        updated=[row for row in active if row.since <= version],
        retired=[row for row in changed if row.is_hidden and row.since <= version],
    )
