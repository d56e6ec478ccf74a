"""The target of a purge: a text at each place, a program's or one lesson's, or an entry."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from fleet_memory.rules.knowledge.votes import same_program
from fleet_memory.rules.text.keys import (
    MAX_ID_WORDS,
    MAX_SLUG_CHARS,
    MAX_SLUG_WORDS,
    digest,
    pattern_id,
    slug,
    text_hash,
)

MIN_NEEDLE_CHARS: Final = (
    4  # characters of a text to look for; shorter ones stand in nearly every lesson. Chosen
)
ERASED: Final = "(erased)"  # in place of a text whose document stays
_HASHED: Final = "erased-"  # the start of an erased lesson's id
_WORD: Final = re.compile(r"[a-z0-9]+")
_HASH_END: Final = re.compile(
    r"[0-9a-f]{6}|[0-9a-f]{10}"
)  # of an id; of a key that another text had already
# Invisible marks, e.g. the soft hyphen. Source: Unicode's property Default_Ignorable_Code_Point
_UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def folded(text: str) -> str:
    """Return a text as purges compare it: Unicode form, case, spacing and invisible marks
    folded.
    """
    return " ".join(unicodedata.normalize("NFKC", _UNSEEN.sub("", text)).casefold().split())


@dataclass(frozen=True)
class Renamed:
    """The new key of an entry: its hash. `keeper` is the lesson that gives the entry its text, ids
    of its own.

    None: the entry goes, and its lessons are in no entry. `stays`: its text stays, and all its
    lessons with it.
    """

    key: str
    keeper: tuple[str, str] | None = None
    stays: bool = False


@dataclass(frozen=True)
class Erasure:
    """The target. One of `needle` (folded), `program_id` (with `pattern_id`: one lesson) and `key`
    is given.

    The rest is found in the fleet first: `lessons` are (program id, pattern id) of texts that go,
    `words` the hashes of these, `pairs` the ids of their pairs, `entries` by their keys. `made` is
    what names are made of the texts that go, `kept` of texts that stay (`names_made_of`). A lesson
    that was rewritten since stays, but for its id.
    """

    needle: str = ""
    program_id: str | None = None
    pattern_id: str | None = None
    key: str | None = None
    lessons: frozenset[tuple[str, str]] = frozenset()
    words: frozenset[str] = frozenset()
    pairs: frozenset[str] = frozenset()
    entries: Mapping[str, Renamed] = field(default_factory=dict)
    made: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()

    def erases(self, text: str) -> bool:
        """Whether a text holds the one that is looked for."""
        return bool(self.needle) and self.needle in folded(text)

    def erases_name(self, name: str) -> bool:
        """Whether an id or a key holds it, as it stands, or was made of a text that does."""
        if not self.needle:
            return False
        flat = "-".join(_WORD.findall(name.casefold()))
        spelt = any(f"-{part}-" in f"-{flat}-" for part in self._spellings)
        return spelt or self.erases(name) or self._is_made_of_it(name.rpartition("/")[2])

    @cached_property
    def _spellings(self) -> frozenset[str]:
        """Return how names spell the whole text: with its plain words and without."""
        made, spelt = slug(self.needle, len(self.needle)), "-".join(_WORD.findall(self.needle))
        return frozenset(
            part for part in (spelt, made if "-" in made else "") if len(part) >= MIN_NEEDLE_CHARS
        )

    def _is_made_of_it(self, name: str) -> bool:
        """Whether a name was made of a text that goes, or of one that is stored no more and had
        it.
        """
        readable, _, end = name.rpartition("-")
        if not _HASH_END.fullmatch(end):
            readable, end = name, ""
        if name in self.kept:
            return False
        if end in self.made:
            return True
        return readable not in self.kept and (
            readable in self.made or self._may_be_of_it(readable, has_hash=bool(end))
        )

    def _may_be_of_it(self, readable: str, *, has_hash: bool) -> bool:
        """Whether a made name has the text's only topic word, or was cut after the first of
        them.
        """
        words, wanted, is_full = (
            readable.split("-"),
            slug(self.needle),
            len(readable) >= MAX_SLUG_CHARS - 1,
        )
        if has_hash and len(wanted) >= MIN_NEEDLE_CHARS and wanted in words:
            return True
        if (
            not is_full
            and len(words) != MAX_SLUG_WORDS
            and not (has_hash and len(words) == MAX_ID_WORDS)
        ):
            return False
        ends = ("-".join(words[start:]) + ("" if is_full else "-") for start in range(len(words)))
        return any(len(end) > MIN_NEEDLE_CHARS and f"{wanted}-".startswith(end) for end in ends)

    def is_program(self, program_id: str) -> bool:
        """Whether all of a program goes: the one of exactly this name; another spelling is another
        memory.
        """
        return self.pattern_id is None and program_id == self.program_id

    def is_lesson(self, program_id: str, pattern_id: str) -> bool:
        """Whether a text of a lesson of this name goes."""
        if (program_id, pattern_id) in self.lessons:
            return True
        return program_id == self.program_id and self.pattern_id in (None, pattern_id)

    def is_lesson_text(self, program_id: str, pattern_id: str, text: str) -> bool:
        """Whether a lesson of this text goes."""
        if self.program_id is not None:
            return self.is_lesson(program_id, pattern_id)
        return self.erases(text) if self.needle else is_text_of(self.words, text)

    def name_after(self, program_id: str, pattern_id: str) -> str:
        """Return the id of a lesson after the purge: a hash if a text of it goes, or its id has an
        erased text.
        """
        gone = self.is_lesson(program_id, pattern_id) or self.erases_name(pattern_id)
        return (
            f"{_HASHED}{digest(pattern_id)}"
            if gone and not pattern_id.startswith(_HASHED)
            else pattern_id
        )

    def key_after(self, key: str) -> str:
        """Return an entry's key after the purge."""
        if renamed := self.entries.get(key):
            return renamed.key
        return hashed_key(key) if self.erases_name(key) or key == self.key else key

    def program_after(self, program_id: str) -> str:
        """Return the name of a program after the purge, e.g. in its verdicts: a hash if all of it
        goes.
        """
        return f"{_HASHED}{digest(program_id)[:6]}" if self.is_program(program_id) else program_id

    def is_spelt_otherwise(self, program_id: str) -> bool:
        """Whether a program has the name of the one that goes in another spelling, which votes take
        for the same.
        """
        if self.program_id is None or program_id == self.program_id:
            return False
        return same_program(program_id) == same_program(self.program_id)


def names_made_of(text: str) -> set[str]:
    """Return the parts of names that are made of a text: the readable part of its key, its id, and
    the id's end.
    """
    id_, readable = pattern_id(text), slug(text)
    return {id_, id_.rpartition("-")[2], *([readable] if "-" in readable else [])}


def hashed_key(key: str) -> str:
    """Return the key that stands for one that is made of erased words; a run that is repeated finds
    the same.
    """
    return key if key.startswith("pattern/erased/") else f"pattern/erased/{digest(key)}"


def without_text(value: object, erasure: Erasure) -> object:
    """Return a JSON value with "(erased)" for each text that goes; the same object when none does.

    A member whose name goes is left out.
    """
    match value:
        case str():
            return ERASED if erasure.erases(value) else value
        case list() | tuple():
            items = [without_text(item, erasure) for item in value]
            return (
                value if all(new is old for new, old in zip(items, value, strict=True)) else items
            )
        case Mapping():
            members = {
                name: without_text(member, erasure)
                for name, member in value.items()
                if not erasure.erases(str(name))
            }
            is_same = len(members) == len(value) and all(
                members[name] is value[name] for name in members
            )
            return value if is_same else members
        case _:
            return value


def scrubbed(text: str, erasure: Erasure) -> str:
    """Return a text, "(erased)" in its place if it goes."""
    return ERASED if erasure.erases(text) else text


def texts_in(value: object) -> Iterator[str]:
    """Yield every text and name in a JSON value."""
    match value:
        case str():
            yield value
        case list() | tuple():
            for item in value:
                yield from texts_in(item)
        case Mapping():
            for name, member in value.items():
                yield str(name)
                yield from texts_in(member)
        case _:
            return


def is_text_of(words: frozenset[str], text: str) -> bool:
    """Whether a text is one of those with these hashes."""
    return bool(words) and text_hash(text) in words
