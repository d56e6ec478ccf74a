"""How shared knowledge ages: confirmed and contradicted by use, verified, contested, retired, returned."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from fleet_memory.rules.knowledge.promotion import independent_origins
from fleet_memory.rules.lifecycle.idempotency import with_request
from fleet_memory.schemas.knowledge import Contradiction, Entry, KnowledgeRow, Standing
from fleet_memory.schemas.patterns import Pattern

VERIFY_AFTER: Final = timedelta(days=180)  # unconfirmed for longer; Source: docs/knowledge.md, chosen
RETIRE_FROM: Final = 2  # independent programs that contradict an entry; Source: docs/knowledge.md, chosen


def standing(entry: Entry | KnowledgeRow, now: datetime) -> Standing:
    """Return where an entry stands at `now`.

    `contested` when a program's word against it stands, `verify` when nobody confirmed it for 180 days.
    """
    if entry.status == "retired":
        return "retired"
    if entry.contradicted_by:
        return "contested"
    return "verify" if now - entry.last_confirmed > VERIFY_AFTER else "fresh"


def confirmed_entry(entry: Entry, *, now: datetime, request_id: str | None = None) -> Entry:
    """Return the entry after a program saw it true: earlier contradictions are answered, a retired entry stays so."""
    return replace(
        _used(entry, request_id),
        last_confirmed=max(entry.last_confirmed, now),
        confirmations=entry.confirmations + 1,
        contradictions=entry.contradictions if entry.status == "retired" else (),
    )


def confirmed_by_echo(entry: Entry, pattern: Pattern) -> Entry:
    """Return the entry after a program repeated it: the clock moves, nothing else does."""
    return replace(_used(entry, None), last_confirmed=max(entry.last_confirmed, pattern.last_reinforced))


def contradicted_entry(entry: Entry, word: Contradiction, *, request_id: str | None = None) -> Entry:
    """Return the entry after a program saw it false; retired once enough independent programs did."""
    others = tuple(line for line in entry.contradictions if line.program_id != word.program_id)
    against = (*others, word)
    retired = independent_origins((line.program_id, line.session_id) for line in against) >= RETIRE_FROM
    return replace(
        _used(entry, request_id),
        contradictions=against,
        status="retired" if retired and entry.tier != "constitutional" else entry.status,
    )


def _used(entry: Entry, request_id: str | None) -> Entry:
    requests = with_request(entry.request_ids, request_id)
    return replace(entry, version=entry.version + 1, unpublished=True, request_ids=requests)
