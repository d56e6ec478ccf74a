"""Open pairs after their lessons changed: which go on, as they are or about an entry, and which are gone."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple, TypeAlias

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
"""Returns where the lesson of a program id and a pattern id stands; None for one that is gone or stale."""


def renewed(pair: Pair, lessons: Lessons, entries: Mapping[str, EntryText]) -> Pair:
    """Return an open pair as it goes on: about the entry that a side's lesson now speaks for, or `gone`.

    A pair that is closed or answered once goes on as it is, and one about a contribution does as long as the entry has
    its text, whatever became of the lesson. It is the same object when nothing changed.
    """
    if pair.state != "open":
        return pair
    if pair.of_member:
        entry = entries.get(pair.b.key or "")
        return pair if entry and entry.words == text_hash(pair.b.text) else replace(pair, state="gone")
    sides = [_renewed_side(side, lessons, entries) for side in (pair.a, pair.b)]
    a, b = sides
    if a is None or b is None or (a.key is not None and a.key == b.key):
        return replace(pair, state="gone")
    return pair if (a, b) == (pair.a, pair.b) else replace(pair, a=a, b=b)


def _renewed_side(side: Side, lessons: Lessons, entries: Mapping[str, EntryText]) -> Side | None:
    key = side.key
    if key is None:
        found = lessons(side.program_id, side.pattern_id)
        if found is None or found.words != text_hash(side.text):
            return None
        key = found.knowledge_key
    if key is None:
        return side
    entry = entries.get(key)
    if entry is None or entry.words != text_hash(side.text):
        return None
    return (
        side
        if side.key == key
        else Side(program_id=entry.asked or side.program_id, key=key, domain=entry.domain, text=entry.text)
    )
