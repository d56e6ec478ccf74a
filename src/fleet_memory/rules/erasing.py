"""What an erasure takes out of each document: facts go, names of erased words become hashes, and
every view is made again of the rest.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, TypeVar

from fleet_memory.rules.entries import same_program
from fleet_memory.rules.lifecycle.stamping import in_order
from fleet_memory.rules.text.keys import digest, is_key_of, slug, text_hash
from fleet_memory.schemas.knowledge import Contribution, Entry, LedgerLine
from fleet_memory.schemas.pairs import Pair, Side
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program
from fleet_memory.schemas.value import Value

MIN_NEEDLE_CHARS: Final = 4  # of a text to look for; shorter ones are in most lessons. Chosen
ERASED: Final = "(erased)"  # in place of a text whose document stays
_HASHED: Final = "erased-"  # the start of an erased name
_HASHED_KEY: Final = "pattern/erased/"
_WORD: Final = re.compile(r"[a-z0-9]+")
_PAIR: Final = re.compile(r"\b[0-9a-f]{16}\b")  # an id in the reason of a change
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)")  # a year in it is no text
# Invisible marks, e.g. the soft hyphen. Source: Unicode's property Default_Ignorable_Code_Point
_UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# members that hold vectors, hashes, random ids or times; `words` is a hash too unless it is a list
_NO_TEXT: Final = frozenset(
    {
        *("vector", "readingVector", "searchVector", "embedder", "connection", "token"),
        *("calls", "call", "shown", "asked", "ledger", "at", "pair", "pairId", "samePair"),
    }
)
_KEYS: Final = frozenset(("key", "knowledgeKeys", "readThrough", "also", "of"))
_DROPPED: Final = frozenset(("projectId", "sessionId"))  # two erased ones are not one
_IDS: Final = frozenset(("id", "patternId"))
_PROGRAMS: Final = frozenset(("programId", "contributors", "by"))

_V = TypeVar("_V", bound=Value)


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
    """The target: one of `needle` (folded), `program_id` (with `pattern_id`: one lesson) and `key`.

    The rest is found in the fleet first: `words` are the hashes of the texts that go and that no
    other lesson has, `pairs` the ids of their pairs, `keys` the new keys of entries by their old
    ones, `ended` the old keys of those that end, `lessons` the names of lessons that go, as
    program/lesson.
    """

    needle: str = ""
    program_id: str | None = None
    pattern_id: str | None = None
    key: str | None = None
    words: frozenset[str] = frozenset()
    pairs: frozenset[str] = frozenset()
    keys: Mapping[str, str] = field(default_factory=dict)
    ended: frozenset[str] = frozenset()
    lessons: frozenset[str] = frozenset()

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

    def is_program(self, program_id: str) -> bool:
        """Whether all of a program goes: the one of exactly this name."""
        return self.pattern_id is None and program_id == self.program_id

    def stays_beside(self, program_id: str) -> bool:
        """Whether a program that stays is another spelling of the one that goes, or its subagent,
        e.g. `shop/reviewer`, where all of it goes.
        """
        if self.program_id is None or program_id == self.program_id:
            return False
        one, other = same_program(program_id), same_program(self.program_id)
        return one == other or (self.pattern_id is None and one.startswith(f"{other}/"))

    def takes(self, program_id: str, pattern_id: str, text: str) -> bool:
        """Whether a lesson of this text goes."""
        if self.program_id is not None:
            return program_id == self.program_id and self.pattern_id in (None, pattern_id)
        return self.erases(text) or (self.key is not None and text_hash(text) in self.words)

    def key_after(self, key: str) -> str:
        """Return an entry's key after the erasure."""
        return self.keys.get(key) or (hashed_key(key) if self.erases_name(key) else key)

    def program_after(self, program_id: str) -> str:
        """Return the name of a program after the erasure, a hash if all of it goes."""
        return f"{_HASHED}{digest(program_id)[:6]}" if self.is_program(program_id) else program_id

    def id_after(self, pattern_id: str) -> str:
        """Return the id of a lesson after the erasure, a hash if it holds the text."""
        goes = self.erases_name(pattern_id) and not pattern_id.startswith(_HASHED)
        return f"{_HASHED}{digest(pattern_id)}" if goes else pattern_id


def json_after(value: object, erasure: Erasure, name: str = "") -> object:
    """Return a JSON value, the member `name` of another, without what goes: "(erased)" in place of
    texts, hashes in place of names; a member whose own name goes is left out. The same object for
    none. JSON in a text is read too.
    """
    match value:
        case str() if value.startswith(("{", "[")):
            return _parsed_after(value, erasure)
        case str():
            return _text_after(value, erasure, name)
        case list():
            items = [json_after(item, erasure, name) for item in value]
            return value if all(map(_is, items, value)) else items
        case dict():
            members = {
                key: item
                if key in _NO_TEXT or (key == "words" and isinstance(item, str))
                else json_after(item, erasure, key)
                for key, item in value.items()
                if not (erasure.erases(key) or (key in _DROPPED and erasure.erases_name(str(item))))
            }
            is_same = len(members) == len(value) and all(
                members[key] is value[key] for key in members
            )
            return value if is_same else members
        case _:
            return value


def _is(one: object, other: object) -> bool:
    return one is other


def _parsed_after(text: str, erasure: Erasure) -> str:
    """Return JSON lines without what goes; a text that is no JSON as a text."""
    lines = text.split("\n")
    try:
        values: list[object] = [json.loads(line) if line else "" for line in lines]
    except ValueError:
        return _text_after(text, erasure, "")
    after = [json_after(value, erasure) for value in values]
    changed = [
        line if new is old else json.dumps(new, separators=(",", ":"), ensure_ascii=False)
        for line, new, old in zip(lines, after, values, strict=True)
    ]
    return text if changed == lines else "\n".join(changed)


def _text_after(text: str, erasure: Erasure, name: str) -> str:
    if name in _KEYS:
        return erasure.key_after(text)
    if name in _IDS:
        return erasure.id_after(text)
    if name in _PROGRAMS:
        return erasure.program_after(text)
    if _TIME.fullmatch(text):
        return text
    if not (erasure.erases(text) if re.search(r"\s", text) else erasure.erases_name(text)):
        return text
    return "erased" if name == "domain" else ERASED


def value_after(value: _V, erasure: Erasure) -> _V:
    """Return a value without texts and names that go; the same object for none."""
    before = json.loads(value.compact())
    after = json_after(before, erasure)
    return value if after is before else type(value).from_json(json.dumps(after))


# Programs


def without_traces(program: Program, erasure: Erasure) -> Program:
    """Return a program that does not know it was shown or had erased texts; the same object when it
    was not. These are hashes of the texts, and ids and keys made of them.
    """
    after = replace(
        program,
        patterns=_unchanged(
            program.patterns,
            {id_: _without_earlier(lesson, erasure) for id_, lesson in program.patterns.items()},
        ),
        shown={words: at for words, at in program.shown.items() if words not in erasure.words},
        asked={pair: times for pair, times in program.asked.items() if pair not in erasure.pairs},
        against={
            erasure.key_after(key): at
            for key, at in program.against.items()
            if key not in erasure.ended
        },
    )
    return program if after == program else after


_T = TypeVar("_T")


def _unchanged(before: Mapping[str, _T], after: Mapping[str, _T]) -> Mapping[str, _T]:
    return before if after == before else after


def _without_earlier(lesson: Pattern, erasure: Erasure) -> Pattern:
    earlier = tuple(each for each in lesson.earlier if each.words not in erasure.words)
    return lesson if len(earlier) == len(lesson.earlier) else replace(lesson, earlier=earlier)


def program_after(program: Program, erasure: Erasure) -> Program:
    """Return a program without the lessons, notes, questions and texts that go; the same object for
    none. A lesson whose entry ends is compared again.
    """
    name, program = program.program_id, without_traces(before := program, erasure)
    lessons = {
        id_: _lesson_after(lesson, erasure)
        for id_, lesson in program.patterns.items()
        if not erasure.takes(name, id_, lesson.pattern)
    }
    gone = program.patterns.keys() - lessons.keys()
    freed = {
        lesson.id
        for id_, lesson in lessons.items()
        if len(lesson.knowledge_keys) < len(program.patterns[id_].knowledge_keys)
    }
    patterns = {lesson.id: lesson for lesson in lessons.values()}
    pending = {erasure.id_after(id_) for id_ in program.pending if id_ not in gone} | freed
    left = replace(program, patterns={}, pending=(), notes={}, missing=())
    if erasure.needle:
        left = _with_own_names(left, value_after(left, erasure))
    left = replace(
        left,
        patterns=_unchanged(before.patterns, patterns),
        pending=in_order(pending, patterns),
        notes={id_: note for id_, note in program.notes.items() if not erasure.erases(note.text)},
        missing=tuple(each for each in program.missing if not erasure.erases(each.text)),
        request_ids=tuple(id_ for id_ in program.request_ids if not erasure.erases_name(id_)),
    )
    return before if left == before else replace(left, changes=before.changes + 1)


def _with_own_names(before: Program, after: Program) -> Program:
    """Return a program under its own name with its marks; a changed state is another version."""
    after = replace(
        after,
        program_id=before.program_id,
        shown=before.shown,
        asked=before.asked,
        against=before.against,
    )
    return before if after == before else replace(after, state_version=before.state_version + 1)


def _lesson_after(lesson: Pattern, erasure: Erasure) -> Pattern:
    keys = tuple(
        erasure.key_after(key) for key in lesson.knowledge_keys if key not in erasure.ended
    )
    if keys != lesson.knowledge_keys:
        lesson = replace(lesson, knowledge_keys=keys)
    if not erasure.needle:
        return lesson
    calls = {id_: call for id_, call in lesson.calls.items() if not erasure.erases_name(id_)}
    after = replace(value_after(lesson, erasure), calls=calls)
    return lesson if after == lesson else after


# Entries


def entry_fate(entry: Entry, erasure: Erasure) -> str | None:
    """Return the new key of an entry whose key goes, None where it stays; see `entry_ends`."""
    gone = [line.pattern for line in entry.provenance if _goes(line, erasure)]
    left = [line.pattern for line in entry.provenance if not _goes(line, erasure)]
    made_of_gone = _is_made_of(entry, gone) and not _is_made_of(entry, left)
    is_renamed = entry_ends(entry, erasure) or made_of_gone or erasure.erases_name(entry.key)
    return hashed_key(entry.key) if is_renamed else None


def entry_ends(entry: Entry, erasure: Erasure) -> bool:
    """Whether an entry ends: its text goes, and no lesson of these words stays."""
    words = text_hash(entry.value.pattern)
    own = [line for line in entry.provenance if text_hash(line.pattern) == words]
    if entry.key == erasure.key or erasure.erases(entry.value.pattern):
        return True
    return bool(own) and all(_goes(line, erasure) for line in own)


def entry_after(entry: Entry, erasure: Erasure) -> Entry | None:
    """Return an entry without what goes, to be settled: None if it ends, the same object for
    none.
    """
    if entry.key in erasure.ended:
        return None
    after = replace(
        entry,
        provenance=tuple(
            replace(line, pair=None) if line.pair in erasure.pairs else line
            for line in entry.provenance
            if not _goes(line, erasure)
        ),
        words=tuple(
            replace(word, pair=None) if word.pair in erasure.pairs else word
            for word in entry.words
            if not erasure.is_program(word.program_id)
        ),
    )
    after = value_after(after, erasure)
    return entry if after == entry else after


def _goes(line: Contribution, erasure: Erasure) -> bool:
    return erasure.takes(line.program_id, line.pattern_id, line.pattern)


def _is_made_of(entry: Entry, texts: Iterable[str]) -> bool:
    return any(is_key_of(entry.key, entry.value.domain, text) for text in texts)


# Pairs and the ledger


def pair_after(pair: Pair, erasure: Erasure) -> Pair | None:
    """Return a pair of texts that stay without names and reasons that go: None if a text goes, of
    which the pair's id is made, the same object for none.
    """
    if pair.pair_id in erasure.pairs or _side_goes(pair.a, erasure) or _side_goes(pair.b, erasure):
        return None
    judgements = tuple(
        replace(each, reason=ERASED)
        if each.reason and erasure.is_program(each.program_id or "")
        else each
        for each in pair.judgements
    )
    after = value_after(replace(pair, judgements=judgements), erasure)
    return pair if after == pair else after


def _side_goes(side: Side, erasure: Erasure) -> bool:
    if erasure.erases(side.text) or text_hash(side.text) in erasure.words:
        return True
    if side.key is not None:
        return side.key in erasure.ended
    return erasure.takes(side.program_id, side.pattern_id, side.text)


def ledger_line_after(line: LedgerLine, erasure: Erasure) -> LedgerLine:
    """Return a line of the ledger without the names and the reason that go; the same object for
    none.
    """
    program = erasure.program_id
    own = f"{program}/" if program and erasure.pattern_id is None else None
    names = tuple(
        name
        for name in line.patterns
        if name not in erasure.lessons
        and not (own and name.startswith(own))
        and not erasure.erases_name(name)
    )
    why = _PAIR.sub(lambda id_: ERASED if id_[0] in erasure.pairs else id_[0], line.why)
    if program and own:
        why = re.sub(
            rf"(?<![\w/-]){re.escape(program)}(?![\w/-])", erasure.program_after(program), why
        )
    if why and (erasure.is_program(line.by) or line.key == erasure.key):
        why = ERASED
    is_program = line.event == "read" and erasure.is_program(line.key)
    key = erasure.program_after(line.key) if is_program else line.key
    after = value_after(replace(line, key=key, patterns=names, why=why), erasure)
    return line if after == line else after
