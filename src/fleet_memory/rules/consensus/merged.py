"""Contributions that an older version merged by numbers: their basis, and the pairs about those
never judged.

Source: docs/knowledge.md, "Memories of older versions".
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime

from fleet_memory.rules.knowledge.entries import oldest_contributor
from fleet_memory.rules.knowledge.votes import independent_origins, same_program, testimony
from fleet_memory.rules.text.keys import pair_id, text_hash
from fleet_memory.schemas.knowledge import Contribution, Entry
from fleet_memory.schemas.pairs import Pair, Side


def with_bases(entry: Entry) -> Entry:
    """Return the entry with the basis of each contribution, as far as equal words give it; the
    others are `unjudged`.

    It stays published with the votes that it had: its threshold is at most the number of its
    origins. A rule that people set has no contributions and is the same object.
    """
    if not entry.provenance:
        return entry
    words = text_hash(entry.value.pattern)
    exact = [line for line in entry.provenance if line.pattern == entry.value.pattern]
    text = min(
        exact,
        key=lambda line: (-line.confidence, line.discovered_at, line.program_id),
        default=None,
    )
    lines = tuple(_with_basis(line, words, is_text=line is text) for line in entry.provenance)
    origins = independent_origins(map(testimony, lines), entry.origins)
    return replace(entry, provenance=lines, threshold=max(1, min(entry.threshold, origins)))


def _with_basis(line: Contribution, words: str, *, is_text: bool) -> Contribution:
    own = text_hash(line.pattern)
    if own == words:
        return replace(line, basis="text" if is_text else "equal_words")
    return replace(line, basis="unjudged", pair=pair_id(own, words))


def with_verdicts(entry: Entry, same: Collection[str]) -> Entry:
    """Return the entry after the verdicts that an older version stored: `same` are ids of the pairs
    judged so.

    The same object when none of them is about a contribution without a verdict.
    """
    lines = tuple(
        replace(line, basis="judged") if line.basis == "unjudged" and line.pair in same else line
        for line in entry.provenance
    )
    return entry if lines == entry.provenance else replace(entry, provenance=lines)


def membership_pairs(entry: Entry, at: datetime) -> Mapping[str, Pair]:
    """Return by their ids the pairs that ask whether each `unjudged` contribution means the same as
    the entry's text.

    A retired entry asks no program, and the side of a deleted program names none.
    """
    if entry.retired_at is not None:
        return {}
    open_lines = [
        line for line in entry.provenance if line.basis == "unjudged" and line.pair is not None
    ]
    ordered = sorted(open_lines, key=lambda line: line.program_deleted is True)
    pairs: dict[str, Pair] = {}
    for line in ordered:
        pair = _pair(entry, line, at)
        pairs.setdefault(pair.pair_id, pair)
    return pairs


def _pair(entry: Entry, line: Contribution, at: datetime) -> Pair:
    lesson = contribution_side(entry, line)
    return Pair(
        pair_id=line.pair or pair_id(text_hash(line.pattern), text_hash(entry.value.pattern)),
        a=lesson,
        b=entry_side(entry, besides=line.program_id),
        cosine=line.similarity,
        margin=line.similarity,
        rank=line.similarity,
        of_member=True,
        opened_at=at,
    )


def contribution_side(entry: Entry, line: Contribution) -> Side:
    """Return the side of a pair that is a contribution's lesson."""
    return Side(
        program_id="" if line.program_deleted else line.program_id,
        pattern_id=line.pattern_id,
        domain=entry.value.domain,
        text=line.pattern,
        evidence=line.evidence,
    )


def entry_side(entry: Entry, besides: str = "") -> Side:
    """Return the side of a pair that is an entry's text; its oldest contributor but `besides` is
    asked about it.
    """
    name = same_program(besides)
    others = tuple(
        line
        for line in entry.provenance
        if not line.program_deleted and same_program(line.program_id) != name
    )
    return Side(
        program_id=oldest_contributor(replace(entry, provenance=others)),
        key=entry.key,
        domain=entry.value.domain,
        text=entry.value.pattern,
    )
