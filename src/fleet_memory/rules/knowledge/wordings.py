"""The wordings of an entry: its contributors' own texts. Agents find the entry by them, and read
its one text.

Four of them have a vector on their contribution, which takes it along when it leaves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple

from fleet_memory.rules.knowledge.state import recorded_state
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.rules.text.vectors import packed, unpacked
from fleet_memory.schemas.knowledge import Contribution, Entry

MAX_WORDINGS: Final = 4  # of an entry; chosen, so that neither it nor its row grows with the fleet


class SearchedWordings(NamedTuple):
    """Texts that an entry is found by, and the packed mean of its vector and theirs; "" without one
    of them.
    """

    texts: tuple[str, ...] = ()
    vector: str = ""


def searched_wordings(entry: Entry) -> SearchedWordings:
    """Return the wordings that agents find an entry by; none of an entry that they do not read.

    The mean is of vectors of the entry's embedder, each of length 1.
    """
    if recorded_state(entry) in ("candidate", "retired"):
        return SearchedWordings()
    lines = wording_lines(entry)
    like = (entry.embedder, len(entry.vector))
    vectors = [
        line.vector for line in lines if line.vector and (line.embedder, len(line.vector)) == like
    ]
    return SearchedWordings(
        tuple(line.pattern for line in lines), _mean([entry.vector, *vectors]) if vectors else ""
    )


def _mean(vectors: Sequence[str]) -> str:
    mean = unpacked(vectors).mean(axis=0)
    return packed(mean) if mean.any() else ""


def wording_lines(entry: Entry) -> Sequence[Contribution]:
    """Return contributions of other words than the entry's text and than each other's, at most
    four.

    Those with a vector come first, of the entry's embedder before others, then the oldest. An
    `unjudged` contribution is no wording.
    """
    distinct: dict[str, Contribution] = {}
    for line in sorted(entry.provenance, key=lambda line: _order(entry, line)):
        if line.basis != "unjudged":
            distinct.setdefault(text_hash(line.pattern), line)
    distinct.pop(text_hash(entry.value.pattern), None)
    return list(distinct.values())[:MAX_WORDINGS]


def _order(entry: Entry, line: Contribution) -> tuple[bool, bool, datetime, str, str]:
    is_of_other_embedder = line.embedder != entry.embedder
    return (
        not line.vector,
        is_of_other_embedder,
        line.learnt_at,
        line.program_id,
        line.pattern_id,
    )


def with_bounded_vectors(entry: Entry) -> Entry:
    """Return the entry without the vectors of contributions that are no wordings; the same object
    if there are none.
    """
    wording_ids = {(line.program_id, line.pattern_id) for line in wording_lines(entry)}
    lines = tuple(
        replace(line, vector="", embedder="")
        if line.vector and (line.program_id, line.pattern_id) not in wording_ids
        else line
        for line in entry.provenance
    )
    return entry if lines == entry.provenance else replace(entry, provenance=lines)


def texts_without_vector(entry: Entry, embedder: str) -> Sequence[str]:
    """Return the entry's text and those of its wordings that have no vector of `embedder`."""
    own = [] if entry.embedder == embedder else [entry.value.pattern]
    return [*own, *(line.pattern for line in wording_lines(entry) if line.embedder != embedder)]


def with_vectors(entry: Entry, vectors: Mapping[str, str], embedder: str) -> Entry:
    """Return the entry with packed vectors of `embedder`, by text; a text that is not among them
    keeps its own.
    """
    lines = tuple(
        replace(line, vector=vectors[line.pattern], embedder=embedder)
        if line.pattern in vectors
        else line
        for line in entry.provenance
    )
    after = replace(entry, provenance=lines)
    if entry.value.pattern in vectors:
        after = replace(after, vector=vectors[entry.value.pattern], embedder=embedder)
    return with_bounded_vectors(after)
