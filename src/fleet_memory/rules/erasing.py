"""What an erasure takes out of each value: facts go with their hashes, and names of erased words
become hashes.

One walk over a value's JSON does it for every kind. But for showings it compares with what stays,
never with what went: a run that was killed anywhere is finished by the same one again.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, TypeAlias, TypeVar

from fleet_memory.rules.entries import same_program
from fleet_memory.rules.text.keys import KEY_PREFIXES, digest, is_key_of, slug, text_hash
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.programs import Program
from fleet_memory.schemas.value import Value

MIN_NEEDLE_CHARS: Final = 4  # of a text to look for; shorter ones are in most lessons. Chosen
ERASED: Final = "(erased)"  # in place of a text whose document stays
_HASHED: Final = "erased-"  # the start of an erased name
_HASHED_KEY: Final = "pattern/erased/"
_WORD: Final = re.compile(r"[a-z0-9]+")
_PAIR: Final = re.compile(r"\bpair ([0-9a-f]{16})\b")  # in the reason of a change
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)")  # a year in it is no text
# Invisible marks, e.g. the soft hyphen. Source: Unicode's property Default_Ignorable_Code_Point
_UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# members that hold vectors, hashes, random ids or times; `words` is a hash too unless it is a list
_NO_TEXT: Final = frozenset(
    {
        *("vector", "searchVector", "embedder", "connection", "token", "ledger"),
        *("at", "pairId", "samePair"),
    }
)
_OF_AGENTS: Final = frozenset(("contextSummary", "config", "baselines"))  # any names below
_KEYS: Final = frozenset(("knowledgeKeys", "readThrough", "also", "of"))
_IDS: Final = frozenset(("id", "patternId", "lesson", "pending"))
_PROGRAMS: Final = frozenset(("programId", "contributors", "by", "asked", "key"))
_DROPPED: Final = frozenset(("projectId", "sessionId", "requestIds"))  # two erased are not one

_V = TypeVar("_V", bound=Value)
DocumentFields: TypeAlias = dict[str, Any]  # Any: JSON, as stores keep it


def folded(text: str) -> str:
    """Return a text as purges compare it: Unicode form, case, spacing and invisible marks
    folded.
    """
    return " ".join(unicodedata.normalize("NFKC", _UNSEEN.sub("", text)).casefold().split())


def hashed_key(key: str) -> str:
    """Return the key that stands for one of erased words; a repeated run finds the same."""
    return key if key.startswith(_HASHED_KEY) else f"{_HASHED_KEY}{digest(key)}"


@dataclass(frozen=True)
class Erasure:
    """The target: one of `needle` (folded), `program_id` (with `pattern_id`: one lesson) and `key`,
    with `entry_words`, the hash of the entry's text.

    `gone` are hashes of texts that go. A showing of another text stays, wherever that text is.
    The rest is what the fleet has after it: hashes of texts, ids of pairs, names of lessons as
    program/lesson, and the new keys of entries by their old ones.
    """

    needle: str = ""
    program_id: str | None = None
    pattern_id: str | None = None
    key: str | None = None
    entry_words: str = ""
    gone: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    pairs: set[str] = field(default_factory=set)
    lessons: set[str] = field(default_factory=set)
    keys: dict[str, str] = field(default_factory=dict)

    def erases(self, text: str) -> bool:
        """Whether a text holds the one that is looked for."""
        return bool(self.needle) and self.needle in folded(text)

    def erases_name(self, name: str) -> bool:
        """Whether an id or a key holds it, as it stands or spelt as a key spells it."""
        flat = f"-{'-'.join(_WORD.findall(name.casefold()))}-"
        return any(f"-{part}-" in flat for part in self._spellings) or self.erases(name)

    @cached_property
    def _spellings(self) -> frozenset[str]:
        made, spelt = slug(self.needle, len(self.needle)), "-".join(_WORD.findall(self.needle))
        made = made if "-" in made else ""
        return frozenset(part for part in (spelt, made) if len(part) >= MIN_NEEDLE_CHARS)

    def is_program(self, program_id: object) -> bool:
        """Whether all of a program goes: the one of exactly this name."""
        return program_id is not None and (program_id, None) == (self.program_id, self.pattern_id)

    def takes(self, program_id: str, pattern_id: str, text: str) -> bool:
        """Whether a lesson of this text goes."""
        if self.program_id is not None:
            return program_id == self.program_id and self.pattern_id in (None, pattern_id)
        return self.erases(text) or text_hash(text) == self.entry_words

    def id_after(self, pattern_id: str) -> str:
        """Return the id of a lesson after the erasure, a hash if it holds the text."""
        goes = self.erases_name(pattern_id) and not pattern_id.startswith(_HASHED)
        return f"{_HASHED}{digest(pattern_id)}" if goes else pattern_id


def is_beside(program_id: str, other: str) -> bool:
    """Whether a program is another spelling of another, or its subagent, e.g. `Shop/reviewer` of
    `shop`: such a one stays where that goes.
    """
    one, two = same_program(program_id), same_program(other)
    return program_id != other and (one == two or one.startswith(f"{two}/"))


def lessons_in(value: object, program_id: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield the program, id and text of every lesson, contribution and side in a document's
    JSON; program and id are "" for the side of an entry.
    """
    match value:
        case list():
            for item in value:
                yield from lessons_in(item, program_id)
        case {"text": str(text), "key": str()}:
            yield "", "", text
        case dict():
            program_id = str(value.get("programId", program_id))
            if (lesson := _lesson(value)) is not None:
                yield program_id, *lesson
            for item in value.values():
                yield from lessons_in(item, program_id)


def _lesson(fact: Mapping[str, object]) -> tuple[str, str] | None:
    """Return the id and the text of a lesson, a contribution or a lesson's side of a pair."""
    match fact:
        case (
            {"pattern": str(text), "id": str(id_)}
            | {"pattern": str(text), "patternId": str(id_)}
            | {"text": str(text), "patternId": str(id_)}
        ):
            return id_, text
        case _:
            return None


def value_after(value: _V, erasure: Erasure, program_id: str = "") -> _V | None:
    """Return a value, of a program, without facts, texts and names that go: None if it goes itself,
    the same object for none.
    """
    before = json.loads(value.compact())
    after = _after(before, erasure, program_id=program_id)
    if after is _GONE:
        return None
    return value if after == before else type(value).from_json(json.dumps(after))


_GONE: Final = object()  # in place of a value that goes


def _after(value: object, erasure: Erasure, name: str = "", program_id: str = "") -> object:
    """Return a JSON value, the member `name` of another, without what goes."""
    match value:
        case str():
            return _text_after(value, erasure, name)
        case list():
            items = [_after(item, erasure, name, program_id) for item in value]
            return [item for item in items if item is not _GONE]
        case dict() if name == "shown":
            return {words: at for words, at in value.items() if words not in erasure.gone}
        case dict() if name == "asked":
            return {pair: item for pair, item in value.items() if pair in erasure.pairs}
        case dict() if name == "against":
            return {erasure.keys[key]: at for key, at in value.items() if key in erasure.keys}
        case dict() if name == "patterns":
            lessons = [_after(item, erasure, program_id=program_id) for item in value.values()]
            return {item["id"]: item for item in lessons if isinstance(item, dict)}
        case dict() if name in _OF_AGENTS:
            return {
                key: _after(item, erasure, name)
                for key, item in value.items()
                if not erasure.erases_name(key)
            }
        case dict() if _goes(value, erasure, program_id):
            return _GONE
        case dict():
            program_id = str(value.get("programId", program_id))
            members = {
                key: item
                if key in _NO_TEXT or (key == "words" and isinstance(item, str))
                else _after(item, erasure, key, program_id)
                for key, item in value.items()
            }
            is_own = erasure.is_program(value.get("programId", value.get("by")))
            if is_own or (erasure.key is not None and value.get("key") == erasure.key):
                members |= {key: ERASED for key in ("reason", "why") if value.get(key)}
            return {key: item for key, item in members.items() if item is not _GONE}
        case _:
            return value


def _goes(fact: Mapping[str, object], erasure: Erasure, program_id: str) -> bool:
    """Whether a fact of a program goes as a whole, or a document of facts."""
    program_id = str(fact.get("programId", program_id))
    if (lesson := _lesson(fact)) is not None:
        return erasure.takes(program_id, *lesson)
    match fact:
        case {"text": str(text), "key": key}:  # an entry's side of a pair
            return key not in erasure.keys or erasure.erases(text)
        case {"a": dict(one), "b": dict(other)}:
            return _goes(one, erasure, "") or _goes(other, erasure, "")
        case {"reason": _, "pattern": dict(item)} | {"reason": _, "note": dict(item)}:
            return _goes(item, erasure, program_id)
        case {"change": _, "words": words}:  # an earlier text of a lesson
            return words not in erasure.words
        case {"text": str(text), "id": _} | {"text": str(text), "times": _}:
            return erasure.erases(text)
        case {"event": _, "key": str(key)} if not key.startswith(KEY_PREFIXES):
            name, _, lesson_id = key.rpartition("/")  # of a person's decision about a lesson
            return bool(name) and erasure.takes(name, lesson_id, "")
        case {"outcome": _, "programId": _}:  # a word goes with its lesson too
            return erasure.takes(program_id, str(fact.get("lesson", "")), "")
        case _:
            return False


def _text_after(text: str, erasure: Erasure, name: str) -> object:
    match name:
        case "key" if text.startswith(KEY_PREFIXES):
            return erasure.keys.get(text, hashed_key(text))
        case "pair":
            return text if text in erasure.pairs else _GONE
        case "patterns":
            return text if text in erasure.lessons else _GONE
        case "why" if _names_gone(text, erasure):
            return ERASED
    if name in _KEYS:
        return erasure.keys.get(text, _GONE)
    if name in _IDS:
        return erasure.id_after(text)
    if name in _PROGRAMS and erasure.is_program(text):
        return f"{_HASHED}{digest(text)[:6]}"
    said = _TIME.sub("", text) if name == "requestIds" or _TIME.fullmatch(text) else text
    is_erased = erasure.erases(said) if re.search(r"\s", said) else erasure.erases_name(said)
    if not is_erased or name in _PROGRAMS:
        return text
    if name in _DROPPED:
        return _GONE
    return "erased" if name == "domain" else ERASED


def _names_gone(why: str, erasure: Erasure) -> bool:
    """Whether the reason of a change names a pair or a program that goes."""
    name = erasure.program_id or ""
    if erasure.is_program(name) and re.search(rf"(?<![\w/-]){re.escape(name)}(?![\w/-])", why):
        return True
    return not erasure.pairs.issuperset(_PAIR.findall(why))


def fields_after(fields: DocumentFields, erasure: Erasure) -> DocumentFields | None:
    """Return the fields of a toolset's document without the objects of an erased program, None for
    its own document, and with the mark in place of each text that holds the erased one.

    Names of fields stay, and programs that are called like the text.
    """
    after = _marked(fields, erasure)
    return after if isinstance(after, dict) else None


def _marked(value: object, erasure: Erasure) -> object:
    match value:
        case str():
            return ERASED if erasure.erases(value) else value
        case list():
            items = [_marked(item, erasure) for item in value]
            return [item for item in items if item is not _GONE]
        case dict() if erasure.is_program(value.get("programId")):
            return _GONE
        case dict():
            members = {
                key: item if key in _PROGRAMS else _marked(item, erasure)
                for key, item in value.items()
            }
            return {key: item for key, item in members.items() if item is not _GONE}
        case _:
            return value


def program_after(program: Program, erasure: Erasure) -> Program:
    """Return a program without facts, texts and names that go; the same object for none."""
    after = value_after(program, erasure) or program
    if after is program:
        return program
    return replace(after, changes=program.changes + 1, state_version=program.state_version + 1)


def entry_key_after(entry: Entry, erasure: Erasure) -> str | None:
    """Return the key of an entry after the erasure, a hash if its words go; None if it ends: its
    text goes, and no lesson of these words stays.
    """
    gone, left = set[str](), set[str]()
    for line in entry.provenance:
        goes = erasure.takes(line.program_id, line.pattern_id, line.pattern)
        (gone if goes else left).add(line.pattern)
    text = entry.value.pattern
    if entry.key == erasure.key or erasure.erases(text):
        return None
    if text_hash(text) in {*map(text_hash, gone)} - {*map(text_hash, left)}:
        return None
    made_of = {
        each for each in gone | left | {text} if is_key_of(entry.key, entry.value.domain, each)
    }
    if erasure.erases_name(entry.key) or (made_of and made_of <= gone - left - {text}):
        return f"{_HASHED_KEY}{digest(entry.key, text_hash(text))}"
    return entry.key
