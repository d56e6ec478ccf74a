"""Pairs that wait after their lessons changed: which go on, as they are or about an entry, and
which are gone.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from fleet_memory.rules.consensus.judging import Questions, questions
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.pairs import Pair, Side


class Standing(NamedTuple):
    """Where a lesson stands: the hash of its words, and the key of the entry that it is in."""

    words: str
    knowledge_key: str | None


class EntryText(NamedTuple):
    """An entry's text as a side needs it, and the program that is asked about it."""

    words: str
    text: str
    domain: str
    asked: str


Lessons: TypeAlias = Callable[[str, str], Standing | None]
"""Returns where the lesson of a program id and a pattern id stands; None for one that is gone or
stale.
"""


def renewed(pair: Pair, lessons: Lessons, entries: Mapping[str, EntryText]) -> Pair:
    """Return a pair that anybody is asked about as it goes on: with the programs that its entries
    ask now, or `gone`.

    A side whose lesson speaks for an entry is about that entry from then on. A pair about a
    contribution goes on as long as the entry has its text. A `same` goes on even without its
    lesson: the entry has the contribution. It is the same object when nothing changed.
    """
    if questions(pair) == Questions():
        return pair
    if pair.state == "same" or pair.of_member:
        entry = entries.get(pair.b.key or "")
        if pair.state == "open" and (entry is None or entry.words != text_hash(pair.b.text)):
            return closed(pair)
        a, b = _with_asked(pair.a, entries), _with_asked(pair.b, entries)
    else:
        one, other = (_renewed_side(side, lessons, entries) for side in (pair.a, pair.b))
        if one is None or other is None or (one.key is not None and one.key == other.key):
            return closed(pair)
        a, b = one, other
    return pair if (a, b) == (pair.a, pair.b) else replace(pair, a=a, b=b)


def closed(pair: Pair) -> Pair:
    """Return a pair as `gone`; one that a verdict had settled loses its verdicts: its texts are
    asked about again.
    """
    return replace(pair, state="gone", judgements=pair.judgements if pair.state == "open" else ())


def _with_asked(side: Side, entries: Mapping[str, EntryText]) -> Side:
    """Return a side with the program that its entry asks now, "" for none."""
    entry = entries.get(side.key or "")
    return (
        side
        if entry is None or entry.asked == side.program_id
        else replace(side, program_id=entry.asked)
    )


def _renewed_side(side: Side, lessons: Lessons, entries: Mapping[str, EntryText]) -> Side | None:
    key = side.key
    if key is None:
        lesson = lessons(side.program_id, side.pattern_id)
        if lesson is None or lesson.words != text_hash(side.text):
            return None
        key = lesson.knowledge_key
    if key is None:
        return side
    entry = entries.get(key)
    if entry is None or entry.words != text_hash(side.text):
        return None
    if side.key == key:
        return _with_asked(side, entries)
    return Side(program_id=entry.asked, key=key, domain=entry.domain, text=entry.text)
