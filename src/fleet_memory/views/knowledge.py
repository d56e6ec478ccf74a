"""Entries of shared knowledge as answers."""

from collections.abc import Mapping, Sequence, Sized
from dataclasses import replace
from datetime import datetime

from fleet_memory.rules.curating import Changes
from fleet_memory.rules.entries import doubts, entry_state, row_state
from fleet_memory.rules.retrieval.budget import count_fitting
from fleet_memory.rules.text.keys import domain_of_key
from fleet_memory.schemas.answers.common import ScoreTerms
from fleet_memory.schemas.answers.knowledge import (
    DiffAnswer,
    EntryAnswer,
    HistoryLine,
    KnowledgeAnswer,
    ProvenanceLine,
)
from fleet_memory.schemas.knowledge import (
    Contribution,
    Entry,
    Freshness,
    KnowledgeRow,
    LedgerLine,
    Word,
)


def knowledge_answer(
    row: KnowledgeRow,
    now: datetime,
    *,
    contributors: bool = False,
    own: bool = False,
    score: float | None = None,
    explain: ScoreTerms | None = None,
) -> KnowledgeAnswer:
    """Return an entry with its status at `now`, lean unless `explain` has the terms of its score.

    With `own` a lesson of the caller is in it. The contributors' ids come only when asked for.
    """
    full = KnowledgeAnswer(
        key=row.key,
        pattern=row.pattern,
        domain=row.domain,
        confidence=round(row.confidence, 2),
        contributor_count=len(row.contributors),
        contributors=row.contributors if contributors else None,
        evidence_count=row.evidence_count,
        last_confirmed=row.last_confirmed,
        status=row_state(row, now),
        own=own or None,
        project_id=row.project_id,
        score=score,
        explain=explain,
    )
    return full if explain else lean_entry(full)


def lean_entry(full: KnowledgeAnswer) -> KnowledgeAnswer:
    """Return an entry without defaults, and without a field that another one of it implies."""
    fresh = full.status == "fresh"
    return replace(
        full,
        domain=None if full.domain == domain_of_key(full.key) else full.domain,
        evidence_count=None
        if full.evidence_count == full.contributor_count
        else full.evidence_count,
        last_confirmed=None if fresh else full.last_confirmed,
        status=None if fresh else full.status,
    )


def entry_frame(entry: Entry, fresh: Freshness, now: datetime) -> EntryAnswer:
    """Return an entry without its long lists; `omitted` counts their items."""
    value, status = entry.value, entry_state(entry, now)
    return EntryAnswer(
        key=entry.key,
        tier=entry.tier,
        **value.statement,
        status=status,
        doubts=doubts(entry) or None,
        description=entry.description
        if status != "candidate"
        else "",  # it says how many agents promoted it
        version=entry.version,
        first_discovered=value.first_discovered,
        last_promoted=value.last_promoted,
        last_confirmed=entry.last_confirmed,
        confirmations=entry.confirmations,
        omitted={
            "words": len(entry.words),
            "provenance": len(entry.provenance),
            "ledger": len(entry.ledger),
        },
        freshness=fresh,
    )


def entry_answer(
    frame: EntryAnswer, entry: Entry, history: Sequence[LedgerLine], max_tokens: int
) -> EntryAnswer:
    """Fill in contradictions, sources and history, in this order, as far as the budget goes."""
    items = [*entry.words, *map(_source, entry.provenance), *map(_event, history)]
    fitting = items[: count_fitting(frame.wire(), (item.wire() for item in items), max_tokens)]
    answer = replace(
        frame,
        words=tuple(item for item in fitting if isinstance(item, Word)),
        provenance=tuple(item for item in fitting if isinstance(item, ProvenanceLine)),
        ledger=tuple(item for item in fitting if isinstance(item, HistoryLine)),
    )
    shown = {"words": answer.words, "provenance": answer.provenance, "ledger": answer.ledger}
    return replace(answer, omitted=_left_out(frame.omitted, shown))


def diff_answer(frame: DiffAnswer, changes: Changes, max_tokens: int, now: datetime) -> DiffAnswer:
    """Fill in retired, new and changed entries, in this order, as far as the budget goes."""
    retired = tuple(row.key for row in changes.retired)
    added, updated = (
        tuple(knowledge_answer(row, now) for row in rows)
        for rows in (changes.added, changes.updated)
    )
    total = {"retired": len(retired), "added": len(added), "updated": len(updated)}
    largest = replace(frame, omitted=total).wire()  # with every count that it may have to confess
    fitting = count_fitting(
        largest, [*retired, *(item.wire() for item in (*added, *updated))], max_tokens
    )
    after_retired = max(0, fitting - len(retired))
    answer = replace(
        frame,
        retired=retired[:fitting],
        added=added[:after_retired],
        updated=updated[: max(0, after_retired - len(added))],
    )
    shown = {"retired": answer.retired, "added": answer.added, "updated": answer.updated}
    return replace(answer, omitted=_left_out(total, shown))


def _left_out(total: Mapping[str, int], shown: Mapping[str, Sized]) -> dict[str, int]:
    """Return how many of each an answer does not show, without zeros."""
    return {
        name: count - len(shown[name]) for name, count in total.items() if count > len(shown[name])
    }


def _source(line: Contribution) -> ProvenanceLine:
    return ProvenanceLine(
        program_id=line.program_id,
        pattern_id=line.pattern_id,
        pattern=line.pattern,
        confidence=line.confidence,
        evidence=line.evidence,
        discovered_at=line.discovered_at,
        similarity=line.similarity,
        program_deleted=line.program_deleted,
        token=line.token,
    )


def _event(line: LedgerLine) -> HistoryLine:
    return HistoryLine(
        event=line.event,
        at=line.at,
        by=line.by,
        why=line.why or None,
        patterns=line.patterns or None,
        token=line.token,
    )
