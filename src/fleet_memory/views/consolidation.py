"""The result of a consolidation as answers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from fleet_memory.rules.entries import EntryChange, doubts, row_state
from fleet_memory.rules.pairs import is_own, sides_of
from fleet_memory.rules.text.differing import differs
from fleet_memory.rules.text.keys import is_key_of
from fleet_memory.schemas.answers.common import ToJudge, ToJudgeSide
from fleet_memory.schemas.answers.consolidation import (
    ConsolidateAnswer,
    ContestedAnswer,
    PromotedAnswer,
    PromotedPattern,
    UpdatedAnswer,
)
from fleet_memory.schemas.knowledge import Entry, EntryState, Snapshot
from fleet_memory.schemas.pairs import MAX_EVIDENCE_CHARS, Pair, Side
from fleet_memory.schemas.patterns import Pattern

MAX_OF_A_KIND: Final = 25  # items of one kind in an answer; chosen


def promoted_answer(entry: Entry, state: EntryState) -> PromotedAnswer:
    """Return a published entry with its first 25 contributions."""
    value = entry.value
    return PromotedAnswer(
        key=entry.key,
        **replace(value, contributors=value.contributors[:MAX_OF_A_KIND]).statement,
        first_discovered=value.first_discovered,
        last_promoted=value.last_promoted,
        status=state,
        doubts=doubts(entry) or None,
        provenance=tuple(
            PromotedPattern(
                program_id=line.program_id, pattern_id=line.pattern_id, similarity=line.similarity
            )
            for line in entry.provenance[:MAX_OF_A_KIND]
        ),
    )


def updated_answer(entry: Entry, state: EntryState) -> UpdatedAnswer:
    """Return an entry with changed votes or state."""
    value = entry.value
    return UpdatedAnswer(
        key=entry.key,
        status=state,
        contributors=value.contributors[:MAX_OF_A_KIND],
        evidence_count=value.evidence_count,
        confidence=value.confidence,
    )


def to_judge_answer(pair: Pair, program_id: str, own: Mapping[str, Pattern]) -> ToJudge:
    """Return a pair as the program that is asked sees it: its own side first, any other as a
    quotation.
    """
    if not is_own(pair, program_id):
        return ToJudge(
            pair_id=pair.pair_id,
            differs=differs(pair.a.text, pair.b.text),
            a=_other_side(pair.a),
            b=_other_side(pair.b),
        )
    mine, other = sides_of(pair, program_id)
    pattern = own.get(mine.pattern_id)
    return ToJudge(
        pair_id=pair.pair_id,
        differs=differs(pair.a.text, pair.b.text),
        a=ToJudgeSide(
            own=True,
            pattern_id=mine.pattern_id or None,
            key=mine.key,
            domain=mine.domain,
            pattern=mine.text,
            evidence=(pattern.evidence if pattern else mine.evidence)[:MAX_EVIDENCE_CHARS],
        ),
        b=_other_side(other),
    )


def rewrite_to_judge(pattern: Pattern, pair_id: str) -> ToJudge:
    """Return an author's own rewrite: the newest text, and the one that its entry still has.

    A key with the words of another lesson, which may be unpublished, is left out.
    """
    voting = pattern.rewrite.voting_text if pattern.rewrite else pattern.pattern
    key = pattern.knowledge_key
    return ToJudge(
        pair_id=pair_id,
        differs=differs(pattern.pattern, voting),
        a=ToJudgeSide(
            own=True,
            pattern_id=pattern.id,
            domain=pattern.domain,
            pattern=pattern.pattern,
            evidence=pattern.evidence[:MAX_EVIDENCE_CHARS],
        ),
        b=ToJudgeSide(
            own=True,
            key=key if key is not None and is_key_of(key, pattern.domain, voting) else None,
            domain=pattern.domain,
            pattern=voting,
        ),
    )


def _other_side(side: Side) -> ToJudgeSide:
    evidence = None if side.key is not None else side.evidence[:MAX_EVIDENCE_CHARS]
    return ToJudgeSide(key=side.key, domain=side.domain, pattern=side.text, evidence=evidence)


def consolidate_answer(
    frame: ConsolidateAnswer, changes: Sequence[EntryChange], snapshot: Snapshot, now: datetime
) -> ConsolidateAnswer:
    """Return the answer with the entries that changed and those that are contested, at most 25 of
    each kind.

    Each of them has at most 25 contributors, too.
    """
    promoted = [change for change in changes if change.is_promotion]
    updated = [
        change for change in changes if not change.is_promotion and change.after != "candidate"
    ]
    contested = [row for row in snapshot.rows if row_state(row, now) == "contested"]
    shown = [*promoted[:MAX_OF_A_KIND], *updated[:MAX_OF_A_KIND]]
    left = {
        "promoted": len(promoted) - MAX_OF_A_KIND,
        "updated": len(updated) - MAX_OF_A_KIND,
        "contested": len(contested) - MAX_OF_A_KIND,
        "contributors": sum(
            max(0, len(change.entry.value.contributors) - MAX_OF_A_KIND) for change in shown
        ),
        "provenance": sum(
            max(0, len(change.entry.provenance) - MAX_OF_A_KIND)
            for change in shown
            if change.is_promotion
        ),
    }
    return replace(
        frame,
        promoted=tuple(
            promoted_answer(change.entry, change.after) for change in promoted[:MAX_OF_A_KIND]
        ),
        updated=tuple(
            updated_answer(change.entry, change.after) for change in updated[:MAX_OF_A_KIND]
        ),
        contested=tuple(
            ContestedAnswer(key=row.key, pattern=row.pattern) for row in contested[:MAX_OF_A_KIND]
        ),
        omitted={name: count for name, count in left.items() if count > 0},
    )
