"""What an erasure does to each document: programs, entries, pairs and lines of the ledger."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, TypeVar, cast

from fleet_memory.rules.entries import is_below, same_program
from fleet_memory.rules.lifecycle.stamping import in_order
from fleet_memory.rules.text.keys import (
    MAX_SLUG_CHARS,
    MAX_SLUG_WORDS,
    digest,
    is_key_of,
    slug,
    text_hash,
)
from fleet_memory.rules.tokens import words_after
from fleet_memory.schemas.knowledge import Contribution, Entry, LedgerLine, Word
from fleet_memory.schemas.pairs import Judgement, Pair, Side
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program

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
        if not is_full and len(words) != MAX_SLUG_WORDS:
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

    def stays_beside(self, program_id: str) -> bool:
        """Whether a program that stays is one origin with the one that goes: its name in another
        spelling, or where all of it goes a subagent of it, e.g. `shop/reviewer`.
        """
        if self.program_id is None or program_id == self.program_id:
            return False
        if self.pattern_id is None:
            return is_below(program_id, self.program_id)
        return same_program(program_id) == same_program(self.program_id)


def names_made_of(text: str) -> set[str]:
    """Return the parts of keys that are made of a text: the readable one, and a rule's end."""
    readable = slug(text)
    return {text_hash(text)[:6], *([readable] if "-" in readable else [])}


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


_T = TypeVar("_T")


def without_traces(program: Program, erasure: Erasure) -> Program:
    """Return a program that no longer knows of having been shown erased texts; the same object when
    it was not.

    These are hashes of the texts, and ids made of them.
    """
    shown = {words: at for words, at in program.shown.items() if words not in erasure.words}
    asked = {pair: times for pair, times in program.asked.items() if pair not in erasure.pairs}
    against = {
        erasure.key_after(key): at
        for key, at in program.against.items()
        if not _is_gone(key, erasure)
    }
    if (shown, asked, against) == (program.shown, program.asked, program.against):
        return program
    return replace(program, shown=shown, asked=asked, against=against)


def without_erased(program: Program, erasure: Erasure) -> Program:
    """Return a program without the lessons, notes, questions and texts that go; the same
    object for none.

    A lesson goes when its own text does; its evidence, labels and names are erased alone. Nothing
    goes to the archive. A lesson that leaves its entry is compared again.
    """
    lessons = {
        id_: _lesson_after(program.program_id, pattern, erasure)
        for id_, pattern in program.patterns.items()
    }
    changed = {
        id_: lesson for id_, lesson in lessons.items() if lesson is not program.patterns[id_]
    }
    left = replace(
        program,
        notes={id_: note for id_, note in program.notes.items() if not erasure.erases(note.text)},
        missing=tuple(
            question for question in program.missing if not erasure.erases(question.text)
        ),
        request_ids=tuple(id_ for id_ in program.request_ids if not erasure.erases_name(id_)),
    )
    left = _with_state(left, erasure)
    pending = {id_ for id_ in program.pending if not _leaves(program, id_, erasure)}
    if not changed and left == program and len(pending) == len(program.pending):
        return program
    names = {id_: lesson.id for id_, lesson in lessons.items() if lesson is not None}
    freed = {
        lesson.id
        for id_, lesson in changed.items()
        if lesson and lesson.knowledge_key != program.patterns[id_].knowledge_key
    }
    patterns = {lesson.id: lesson for lesson in lessons.values() if lesson is not None}
    return replace(
        left,
        patterns=patterns,
        pending=in_order({names.get(id_, id_) for id_ in pending} | freed, patterns),
        changes=program.changes + 1,
    )


def _leaves(program: Program, pattern_id: str, erasure: Erasure) -> bool:
    """Whether a waiting id is of a lesson that goes, or went before, under a name that goes."""
    lesson = program.patterns.get(pattern_id)
    if lesson is not None:
        return erasure.is_lesson_text(program.program_id, pattern_id, lesson.pattern)
    return erasure.is_lesson(program.program_id, pattern_id) or erasure.erases_name(pattern_id)


def _lesson_after(program_id: str, lesson: Pattern, erasure: Erasure) -> Pattern | None:
    """Return a lesson without its erased parts: None if its text goes, the same object if nothing
    does.
    """
    if erasure.is_lesson_text(program_id, lesson.id, lesson.pattern):
        return None
    after = _in_entry_after(program_id, lesson, erasure)
    if not erasure.needle:
        return after
    new = replace(
        after,
        id=erasure.name_after(program_id, lesson.id),
        domain="erased" if erasure.erases_name(after.domain) else after.domain,
        evidence=scrubbed(after.evidence, erasure),
        evidence_log=tuple(
            replace(line, text=ERASED) if erasure.erases(line.text) else line
            for line in after.evidence_log
        ),
        tags=tuple(tag for tag in after.tags if not erasure.erases(tag)),
        project_id=_name_or_none(after.project_id, erasure),
        session_id=_name_or_none(after.session_id, erasure),
        calls={id_: call for id_, call in after.calls.items() if not erasure.erases_name(id_)},
    )
    return after if new == after else new


def _in_entry_after(program_id: str, lesson: Pattern, erasure: Erasure) -> Pattern:
    """Return a lesson under its entry's key after the purge, or in none; also if the text that it
    votes by goes.
    """
    renamed = erasure.entries.get(lesson.knowledge_key or "")
    if lesson.rewrite is not None and erasure.erases(lesson.rewrite.voting_text):
        return replace(lesson, knowledge_key=None, echo=False, rewrite=None)
    if renamed is None:
        return lesson
    if renamed.stays or renamed.keeper == (program_id, lesson.id):
        return (
            lesson
            if renamed.key == lesson.knowledge_key
            else replace(lesson, knowledge_key=renamed.key)
        )
    return replace(lesson, knowledge_key=None, echo=False, rewrite=None)


def _with_state(program: Program, erasure: Erasure) -> Program:
    """Return a program with "(erased)" in its handover, config and baselines; the same object when
    nothing goes.
    """
    after = replace(
        program,
        context_summary=_object(program.context_summary, erasure),
        config=_object(program.config, erasure),
        baselines=_object(program.baselines, erasure),
    )
    return program if after == program else replace(after, state_version=program.state_version + 1)


def _object(value: Mapping[str, _T], erasure: Erasure) -> Mapping[str, _T]:
    return cast("Mapping[str, _T]", without_text(value, erasure))


def _name_or_none(name: str | None, erasure: Erasure) -> str | None:
    return None if name is not None and erasure.erases_name(name) else name


def _is_gone(key: str, erasure: Erasure) -> bool:
    renamed = erasure.entries.get(key)
    return renamed is not None and not renamed.stays and renamed.keeper is None


def entry_fate(entry: Entry, erasure: Erasure) -> Renamed | None:
    """Return an entry's new key and text; None when both stay.

    If its text goes, the best remaining contribution's takes its place: the most confident, then
    the oldest, then by program id.
    """
    if entry.key == erasure.key:
        return Renamed(hashed_key(entry.key))
    left = [line for line in entry.provenance if not _goes(line, erasure)]
    gone = [line.pattern for line in entry.provenance if _goes(line, erasure)]
    if not _text_goes(entry, erasure):
        made_of_gone = _is_made_of(entry, gone) and not _is_made_of(
            entry, [line.pattern for line in left]
        )
        named = erasure.erases_name(entry.key) or made_of_gone
        return Renamed(hashed_key(entry.key), stays=True) if named else None
    if not left or entry.tier == "constitutional":
        return Renamed(hashed_key(entry.key))
    best = min(left, key=lambda line: (-line.confidence, line.learnt_at, line.program_id))
    return Renamed(hashed_key(entry.key), keeper=(best.program_id, best.pattern_id))


def entry_after(entry: Entry, erasure: Erasure) -> Entry | None:
    """Return an entry without its erased parts, to be settled: None if it goes, the same object
    when nothing does.
    """
    fate = erasure.entries.get(entry.key)
    if fate is not None and not fate.stays and fate.keeper is None:
        return None
    lines = tuple(
        _line_after(line, erasure) for line in entry.provenance if not _goes(line, erasure)
    )
    words = tuple(
        _word_after(word, erasure)
        for word in entry.words
        if not erasure.is_program(word.program_id)
    )
    names = tuple(name for name in entry.value.contributors if not erasure.is_program(name))
    value = (
        entry.value
        if names == entry.value.contributors
        else replace(entry.value, contributors=names)
    )
    after = replace(
        entry, value=value, provenance=lines, words=words, key=fate.key if fate else entry.key
    )
    if fate is not None and fate.keeper is not None:
        after = _with_text_of(after, next(line for line in lines if _is(line, fate.keeper)))
    if erasure.erases_name(after.value.domain):
        after = replace(after, value=replace(after.value, domain="erased"))
    if after.project_id is not None and erasure.erases_name(after.project_id):
        after = replace(after, project_id=None)
    return entry if after == entry else after


def goes_with_pair(pair: Pair, erasure: Erasure) -> bool:
    """Whether a text of a pair goes, and the pair, whose id is made of it, with it."""
    if pair.pair_id in erasure.pairs:
        return True
    return any(_side_goes(side, erasure) for side in (pair.a, pair.b))


def pair_after(pair: Pair, erasure: Erasure) -> Pair:
    """Return a pair of texts that stay without evidence and reasons that go; the same object for
    none.
    """
    after = replace(
        pair,
        a=_side_after(pair.a, erasure),
        b=_side_after(pair.b, erasure),
        steering=scrubbed(pair.steering, erasure),
        judgements=tuple(_judgement_after(judgement, erasure) for judgement in pair.judgements),
    )
    return pair if after == pair else after


def line_of_ledger_after(line: LedgerLine, erasure: Erasure) -> LedgerLine:
    """Return a line of the ledger without the names and the reason that go; the same object for
    none.
    """
    key = erasure.program_after(line.key) if line.event == "read" else line.key
    key = erasure.key_after(key)
    names = tuple(_lesson_name_after(name, erasure) for name in line.patterns)
    by_it = erasure.is_program(line.by) or line.key == erasure.key
    why = ERASED if line.why and (by_it or erasure.erases(line.why)) else line.why
    if line.event in ("token_created", "token_revoked"):
        why = words_after(why, erasure.program_after)
    after = replace(line, key=key, patterns=names, why=why, by=erasure.program_after(line.by))
    return line if after == line else after


def _lesson_name_after(name: str, erasure: Erasure) -> str:
    """Return "basher/erased-3f1c…" for "basher/push-token-ghp" if that lesson goes, or its id has
    an erased text.

    Programs and ids have slashes too: the program that goes, or whose lesson does, may end at any.
    """
    for slash in re.finditer("/", name):
        program_id, id_ = name[: slash.start()], name[slash.end() :]
        after = f"{erasure.program_after(program_id)}/{erasure.name_after(program_id, id_)}"
        if after != name:
            return after
    return name


def _is_made_of(entry: Entry, texts: Iterable[str]) -> bool:
    return any(is_key_of(entry.key, entry.value.domain, text) for text in texts)


def _text_goes(entry: Entry, erasure: Erasure) -> bool:
    text = entry.value.pattern
    own = [line for line in entry.provenance if line.pattern == text]
    if erasure.erases(text):
        return True
    return bool(own) and all(_goes(line, erasure) for line in own)


def _goes(line: Contribution, erasure: Erasure) -> bool:
    return erasure.is_lesson_text(line.program_id, line.pattern_id, line.pattern)


def _is(line: Contribution, lesson: tuple[str, str]) -> bool:
    return (line.program_id, line.pattern_id) == lesson


def _with_text_of(entry: Entry, line: Contribution) -> Entry:
    """Return an entry of another text: that contribution is all it has, until others are judged the
    same again.
    """
    value = replace(
        entry.value, pattern=line.pattern, contributors=(line.program_id,), evidence_count=1
    )
    return replace(
        entry,
        value=value,
        provenance=(replace(line, basis="text", similarity=1.0, pair=None),),
        words=(),
        vector=line.vector,
        embedder=line.embedder if line.vector else "",
    )


def _line_after(line: Contribution, erasure: Erasure) -> Contribution:
    after = replace(
        line,
        pattern_id=erasure.name_after(line.program_id, line.pattern_id),
        evidence=scrubbed(line.evidence, erasure),
        pair=None if line.pair in erasure.pairs else line.pair,
        session_id=None
        if line.session_id and erasure.erases_name(line.session_id)
        else line.session_id,
        project_id=None
        if line.project_id and erasure.erases_name(line.project_id)
        else line.project_id,
    )
    return line if after == line else after


def _word_after(word: Word, erasure: Erasure) -> Word:
    return replace(word, evidence=ERASED) if erasure.erases(word.evidence) else word


def _side_goes(side: Side, erasure: Erasure) -> bool:
    if erasure.erases(side.text) or (side.key is not None and _is_replaced(side.key, erasure)):
        return True
    if side.key is not None:
        return False
    by_name = erasure.is_lesson_text(side.program_id, side.pattern_id, side.text)
    return by_name or is_text_of(erasure.words, side.text)


def _is_replaced(key: str, erasure: Erasure) -> bool:
    fate = erasure.entries.get(key)
    return key == erasure.key or (fate is not None and not fate.stays)


def _side_after(side: Side, erasure: Erasure) -> Side:
    after = replace(
        side,
        program_id=erasure.program_after(side.program_id),
        key=erasure.key_after(side.key) if side.key is not None else None,
        pattern_id=erasure.name_after(side.program_id, side.pattern_id) if side.pattern_id else "",
        evidence=scrubbed(side.evidence, erasure),
        domain="erased" if erasure.erases_name(side.domain) else side.domain,
    )
    return side if after == side else after


def _judgement_after(judgement: Judgement, erasure: Erasure) -> Judgement:
    name = judgement.program_id
    by_it = name is not None and erasure.is_program(name)
    goes = judgement.reason and (by_it or erasure.erases(judgement.reason))
    after = replace(
        judgement,
        program_id=erasure.program_after(name) if name is not None else None,
        reason=ERASED if goes else judgement.reason,
        also=tuple(map(erasure.program_after, judgement.also)),
    )
    return judgement if after == judgement else after
