"""Pairs: the state that follows from their verdicts, who is asked next, and what a verdict changes.

Source: docs/consensus.md; of the configured model: docs/judge-model.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple, TypeAlias

from fleet_memory.rules.entries import (
    JoiningLesson,
    better_text,
    by_age,
    candidate_of,
    discovered_by,
    entry_for,
    in_order_of_time,
    is_one_origin,
    linked,
    may_contradict,
    may_meet,
    origin_of,
    place,
    read_apart,
    read_as_one,
    same_program,
    with_lesson,
    with_recent,
    with_word,
    without_lesson,
    without_word_of,
)
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.knowledge import Contribution, Entry, Word
from fleet_memory.schemas.pairs import MODEL_NAME, Judgement, Pair, PairState, Side, Verdict
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Program

MAX_THIRD_PROGRAMS: Final = 2  # programs that are no author, before people are asked; chosen
ANSWER_WITHIN: Final = timedelta(days=14)  # then a side counts as silent. Chosen
UNANSWERED: Final = "no answer"
# of a pair whose second author is asked after the first's `different`; below it that costs one and
# a half questions a fact and finds nothing. Source: docs/consensus.md
LIKELY_MARGIN: Final = 0.50

SideName: TypeAlias = Literal["a", "b"]
SIDES: Final[Sequence[SideName]] = ("a", "b")


# The state of a pair


class Voice(NamedTuple):
    """An origin's verdict about a pair, its newest, and the sides that it is an author of."""

    verdict: Verdict
    programs: frozenset[str]
    sides: frozenset[SideName]
    is_silence: bool = False


class Questions(NamedTuple):
    """Who is asked about a pair now.

    `programs` have a side of it. `third`: the next program of another origin that boots. `people`:
    nobody else is left to ask. All are empty for a pair that is settled.
    """

    programs: tuple[str, ...] = ()
    third: bool = False
    people: bool = False


def voices(pair: Pair) -> Sequence[Voice]:
    """Return the newest verdict of each origin: a program and those below it, all names over one
    unbound connection, and all callers of the role `judge` are one.
    """
    given = [each for each in pair.judgements if each.program_id is not None]
    found = []
    for group in linked([_marks(judgement) for judgement in given]):
        told = sorted((given[at] for at in group), key=lambda each: (each.is_silence, each.at))
        answers = [each for each in told if not each.is_silence] or told
        found.append(
            Voice(
                answers[-1].verdict,
                frozenset(same_program(each.program_id or "") for each in told),
                frozenset(side for each in told for side in each.sides),
                answers[-1].is_silence,
            )
        )
    return found


def _marks(judgement: Judgement) -> set[str]:
    marks = {f"program {origin_of(judgement.program_id or '')}"}
    if judgement.connection:
        marks.add(f"connection {judgement.connection}")
    if judgement.by_role:
        marks.add("role judge")
    return marks


def ruling(pair: Pair) -> PairState:
    """Return the state that follows from a pair's judgements.

    A person's newest verdict is final, `unsure` takes it back; people alone judge a text that gives
    its judge orders. One author's `contradict` holds. `same` holds by both authors, or by one and
    one other program where the other side is silent or they disagree.
    """
    if (verdict := verdict_of_people(pair)) is not None:
        return verdict
    if pair.steering:
        return "open"
    heard = voices(pair)
    if any(voice.sides and voice.verdict == "contradict" for voice in heard):
        return "contradict"
    answers = _answers(pair, heard)
    if None in answers:
        return "open"
    said = [answer for answer in answers if answer in ("same", "different")]
    thirds = [voice.verdict for voice in heard if not voice.sides and voice.verdict != "unsure"]
    same = said.count("same") + thirds.count("same")
    other = len(said) + len(thirds) - same
    agreed = sum(voice.verdict == "same" for voice in heard)  # an author of both sides is one
    if "same" in said and same > other and min(same, agreed) > 1:
        return "same"
    return "different" if "different" in said and other > same else "open"


_Answer: TypeAlias = Literal["same", "different", "silent", "divided"]


def _answers(pair: Pair, heard: Sequence[Voice]) -> list[_Answer | None]:
    """Return what the authors of each side answered; None while they are asked."""
    answers = [_answer(pair, name, heard) for name in SIDES]
    if "different" in answers and pair.margin < LIKELY_MARGIN:
        return [answer or "silent" for answer in answers]
    return answers


def _answer(pair: Pair, name: SideName, heard: Iterable[Voice]) -> _Answer | None:
    """Return what the authors of a side answered; None while they are asked."""
    own = [voice for voice in heard if name in voice.sides]
    verdicts = {voice.verdict for voice in own if voice.verdict != "unsure"}
    if len(verdicts) > 1:
        return "divided"
    if verdicts:
        return "same" if verdicts == {"same"} else "different"
    return "silent" if own or not _side(pair, name).program_id else None


def questions(pair: Pair) -> Questions:
    """Return who is asked about a pair now: the programs of both sides, whoever answers first, then
    a third, at last people. Of an unlikely pair one author's `different` is enough.

    The author that has not answered is asked after the other's `contradict` too: its own is a word
    of its own.
    """
    if pair.state == "gone" or is_by_person(pair):
        return Questions()
    if pair.steering:
        return Questions(people=True)
    heard = voices(pair)
    answers = _answers(pair, heard)
    unasked = [name for name, answer in zip(SIDES, answers, strict=True) if answer is None]
    programs = tuple(dict.fromkeys(_side(pair, name).program_id for name in unasked))
    if programs or pair.state != "open":
        return Questions(programs)
    told = any(voice.sides and voice.verdict != "unsure" for voice in heard)
    thirds = [voice for voice in heard if not voice.sides and MODEL_NAME not in voice.programs]
    third = told and len(thirds) < MAX_THIRD_PROGRAMS
    return Questions(third=third, people=not third)


def verdict_of_people(pair: Pair) -> PairState | None:
    """Return the verdict by which a person closed a pair, None for none."""
    given = [each.verdict for each in pair.judgements if each.program_id is None][-1:]
    return given[0] if given and given[0] != "unsure" else None


def is_by_person(pair: Pair) -> bool:
    """Whether a person closed a pair."""
    return verdict_of_people(pair) is not None


def takes_a_place(pair: Pair) -> bool:
    """Whether a pair counts for the limits of its programs: a program with a side is asked."""
    return bool(questions(pair).programs)


def with_judgement(pair: Pair, judgement: Judgement) -> Pair:
    """Return the pair after a verdict, with the newest of each program, in any order of them.

    A silence stands for no verdict that the program gave.
    """
    name = _judge(judgement)
    own = [*(each for each in pair.judgements if _judge(each) == name), judgement]
    newest = max(reversed(own), key=lambda each: (not each.is_silence, each.at))
    sides = tuple(side for side in SIDES if any(side in each.sides for each in own))
    others = [each for each in pair.judgements if _judge(each) != name]
    after = sorted([*others, replace(newest, sides=sides)], key=lambda each: each.at)
    judged = replace(pair, judgements=tuple(after))
    return replace(judged, state=ruling(judged))


def _judge(judgement: Judgement) -> str | None:
    return None if judgement.program_id is None else same_program(judgement.program_id)


def with_silence(pair: Pair, now: datetime, program_id: str | None = None) -> Pair:
    """Return the pair with the silence of the sides that have not answered within 14 days, or of
    `program_id`, which was shown it often enough; the same object for none.
    """
    if pair.state == "gone" or pair.steering or is_by_person(pair):
        return pair
    for name in SIDES:
        side = _side(pair, name)
        is_late = now - pair.opened_at >= ANSWER_WITHIN
        is_ignored = program_id is not None and is_one_origin(program_id, side.program_id)
        if _answer(pair, name, voices(pair)) is None and (is_late or is_ignored):
            silence = Judgement(
                verdict="unsure",
                program_id=side.program_id,
                at=now,
                reason=UNANSWERED,
                sides=(name,),
                is_silence=True,
            )
            pair = with_judgement(pair, silence)
    return pair


def sides_in_order(a: Side, b: Side) -> tuple[Side, Side]:
    """Return two sides in the one order of their texts: a judgement names the sides by it."""
    one, other = sorted((a, b), key=lambda side: (text_hash(side.text), side.program_id))
    return one, other


def closed(pair: Pair) -> Pair:
    """Return a pair of texts that changed as `gone`; its verdicts stay facts."""
    return replace(pair, state="gone")


# Authors and judges


def _side(pair: Pair, name: SideName) -> Side:
    return pair.a if name == "a" else pair.b


def has_text(side: Side, program: Program) -> bool:
    """Whether a program has a lesson of a side's text, in a project that may meet it."""
    words = text_hash(side.text)
    return any(
        words in lesson.texts and may_meet(lesson.project_id, side.project_id)
        for lesson in program.patterns.values()
    )


def authored_sides(
    pair: Pair, program: Program, entries: Mapping[str, Entry]
) -> tuple[SideName, ...]:
    """Return the sides that a program is an author of: it has the text, it is asked for the lesson,
    or its origin discovered the entry.
    """

    def is_author(side: Side) -> bool:
        if is_one_origin(side.program_id, program.program_id) or has_text(side, program):
            return True
        entry = entries.get(side.key or "")
        return entry is not None and discovered_by(entry, program.program_id)

    return tuple(name for name in SIDES if is_author(_side(pair, name)))


def is_own(pair: Pair, program: Program) -> bool:
    """Whether one side of a pair is a program's, as far as its own document says."""
    return bool(authored_sides(pair, program, {}))


def has_answered(pair: Pair, program_id: str) -> bool:
    """Whether a program's origin has given its verdict about a pair, `unsure` too."""
    answers = (each.program_id for each in pair.judgements if not each.is_silence)
    return any(is_one_origin(name, program_id) for name in answers if name is not None)


def is_third(pair: Pair, program_id: str) -> bool:
    """Whether a program is one origin with no side of a pair, and with no judge until now."""
    names = [side.program_id for side in (pair.a, pair.b) if side.program_id]
    names += [each.program_id for each in pair.judgements if each.program_id is not None]
    return not any(is_one_origin(program_id, name) for name in names)


def sides_of(pair: Pair, program: Program) -> tuple[Side, Side]:
    """Return a pair's sides with the program's own first."""
    return (pair.b, pair.a) if authored_sides(pair, program, {}) == ("b",) else (pair.a, pair.b)


# What a verdict changes

PERSON: Final = "operator"  # how the ledger names a person


@dataclass(frozen=True)
class DraftDocuments:
    """The programs by id and the entries by key that a verdict reads, or those that it leaves."""

    programs: Mapping[str, Program]
    entries: Mapping[str, Entry]

    def with_program(self, program: Program) -> "DraftDocuments":
        """Return the documents with this program."""
        return replace(self, programs={**self.programs, program.program_id: program})

    def with_entry(self, entry: Entry) -> "DraftDocuments":
        """Return the documents with this entry."""
        return replace(self, entries={**self.entries, entry.key: entry})

    def read_as(self, key: str) -> Entry:
        """Return the entry of a key, or the oldest that it is read through."""
        entry = self.entries[key]
        while older := self.entries.get(entry.read_through or ""):
            entry = older
        return entry


class EntrySide(NamedTuple):
    """A side that is the text of an entry."""

    key: str


class MemberSide(NamedTuple):
    """A side whose lesson is in an entry of another text, by this very pair or by another: a `same`
    joins nothing to that entry, a `contradict` is a word against it.
    """

    key: str


class ChangedSide(NamedTuple):
    """A side that is not as it was judged, and why, as a sentence for the judge."""

    why: str


ResolvedSide: TypeAlias = JoiningLesson | EntrySide | MemberSide | ChangedSide
"""A lesson that may join is in no entry that its pair's project is about."""


def resolved(pair: Pair, side: Side, documents: DraftDocuments) -> ResolvedSide:
    """Return a side of a pair as it is now."""
    words, lesson = text_hash(side.text), (side.program_id, side.pattern_id)
    if side.key is not None:
        entry = documents.entries.get(side.key)
        if entry is None or text_hash(entry.value.pattern) != words:
            return ChangedSide(f"the entry {side.key!r} has another text now")
        return EntrySide(entry.key)
    for entry in documents.entries.values():
        has_words = text_hash(entry.value.pattern) == words
        if has_words and lesson in map(place, entry.provenance):
            return EntrySide(entry.key)
        if lesson in map(place, joined_by(pair, entry.key, documents)):
            return MemberSide(entry.key)
    program = documents.programs.get(side.program_id)
    pattern = program.patterns.get(side.pattern_id) if program else None
    if program is None or pattern is None:
        return ChangedSide("one of the two lessons was withdrawn")
    if words not in pattern.texts:
        return ChangedSide("one of the two lessons has another text now")
    projects = pair.a.project_id or pair.b.project_id, None
    for key in pattern.knowledge_keys:
        entry = documents.entries.get(key)
        # a lesson of no project may be in an entry of each
        if entry is None or (pattern.project_id is None and entry.project_id not in projects):
            continue
        if text_hash(entry.value.pattern) == words:
            return EntrySide(entry.key)
        return MemberSide(key)
    return JoiningLesson(
        program, pattern, similarity=pair.cosine, pair=pair.pair_id, text=side.text
    )


def joined_by(pair: Pair, key: str, documents: DraftDocuments) -> list[Contribution]:
    """Return the contributions of an entry that a pair is about: by its verdict they joined, or
    its texts are theirs and that of the entry, which people may have reworded since.
    """
    texts = {text_hash(pair.a.text), text_hash(pair.b.text)}
    lines = []
    for line in documents.entries[key].provenance:
        joined = documents.entries.get(line.of or key)
        words = {text_hash(line.pattern), text_hash(joined.value.pattern)} if joined else set()
        if line.pair == pair.pair_id or words == texts:
            lines.append(line)
    return lines


class Decided(NamedTuple):
    """The documents after a verdict, and the key of the entry that it made or changed."""

    documents: DraftDocuments
    key: str | None = None


def decided(pair: Pair, documents: DraftDocuments, policy: Policy) -> Decided:
    """Return the documents as the state of a pair wants them: the same again where they are so.

    `same` lets lessons join or two entries be read as one; any other state undoes that. An author's
    `contradict` is its word against the entry of the other text. Entries are not settled yet
    (`rules.entries.settled`); none of the sides may be a `ChangedSide` where it is the same.
    """
    if pair.state == "same":
        sides = resolved(pair, pair.a, documents), resolved(pair, pair.b, documents)
        decision = _united(pair, sides, documents, policy)
    else:
        decision = _parted(pair, documents)
    decision = _with_words(pair, decision, "a", pair.b, policy)
    return _with_words(pair, decision, "b", pair.a, policy)


def _united(
    pair: Pair,
    sides: tuple[ResolvedSide, ResolvedSide],
    documents: DraftDocuments,
    policy: Policy,
) -> Decided:
    match sides:
        case (JoiningLesson() as a, JoiningLesson() as b):
            joining = in_order_of_time([a, b])
            best = better_text(joining)
            fresh = candidate_of(best, policy, a.pattern.project_id or b.pattern.project_id)
            entry = entry_for(fresh, documents.entries)
            documents = documents.with_entry(entry)
            for lesson in joining:
                joined = lesson.as_text() if lesson is best else lesson
                documents = with_member(documents, joined, entry.key)
            return Decided(documents, entry.key)
        case (JoiningLesson() as lesson, EntrySide(key)) | (
            EntrySide(key),
            JoiningLesson() as lesson,
        ):
            return Decided(with_member(documents, lesson, key), key)
        case (EntrySide(one), EntrySide(other)) if one != other:
            two = by_age(documents.read_as(one), documents.read_as(other))
            if two.older.key != two.younger.key:
                two = read_as_one(two, pair.pair_id)
                documents = documents.with_entry(two.older).with_entry(two.younger)
            return Decided(documents, two.older.key)
        case (MemberSide(key), _) | (_, MemberSide(key)):
            return Decided(documents, key)
        case _:
            return Decided(documents)


def with_member(documents: DraftDocuments, lesson: JoiningLesson, key: str) -> DraftDocuments:
    """Return the documents after a lesson joined an entry, or the one that it is read through."""
    program = with_membership(
        documents.programs[lesson.program_id], lesson.pattern.id, key, is_member=True
    )
    entry = documents.read_as(key)
    after = with_lesson(entry, lesson, of="" if entry.key == key else key)
    return documents.with_entry(after).with_program(program)


def with_membership(program: Program, pattern_id: str, key: str, *, is_member: bool) -> Program:
    """Return the program with one of its lessons in the entry `key`, or no longer."""
    pattern = program.patterns[pattern_id]
    others = tuple(other for other in pattern.knowledge_keys if other != key)
    keys = (*others, key) if is_member else others
    if keys == pattern.knowledge_keys:
        return program
    changed = replace(pattern, knowledge_keys=keys)
    return replace(program, patterns={**program.patterns, pattern_id: changed})


def _parted(pair: Pair, documents: DraftDocuments) -> Decided:
    """Take out the lessons that joined an entry by a pair, and part two entries."""
    changed = None
    for key in documents.entries:
        for line in joined_by(pair, key, documents):
            changed = key
            without = without_lesson(documents.entries[key], line.program_id, line.pattern_id)
            documents = documents.with_entry(without)
            program = documents.programs.get(line.program_id)
            if program is not None and line.pattern_id in program.patterns:
                documents = documents.with_program(
                    with_membership(program, line.pattern_id, line.of or key, is_member=False)
                )
    for younger in list(documents.entries.values()):
        older = documents.read_as(younger.key)
        if younger.same_pair == pair.pair_id and older.key != younger.key:
            two = read_apart(older, documents.entries[younger.key])
            documents = documents.with_entry(two.older).with_entry(two.younger)
            changed = two.older.key
    return Decided(documents, changed)


def _with_words(
    pair: Pair, decision: Decided, own: SideName, about: Side, policy: Policy
) -> Decided:
    """Set the words of the authors of one side against the entry of the other: one for each whose
    newest verdict is `contradict`.

    It makes that entry where the other text is a lesson in none. A caller of the role `judge`
    leaves no word: one person may have several such tokens, and two words retire an entry.
    """
    other = resolved(pair, about, decision.documents)
    for judgement in pair.judgements:
        name, documents = judgement.program_id, decision.documents
        if name is None or own not in judgement.sides or judgement.by_role:
            continue
        if about.key is None and about.program_id == name:  # of its own two texts the lesson stays
            continue
        if judgement.verdict != "contradict" or pair.state != "contradict":
            for entry in documents.entries.values():
                documents = documents.with_entry(without_word_of(entry, pair.pair_id, name))
            decision = decision._replace(documents=documents)
            continue
        if isinstance(other, JoiningLesson):
            entry = entry_for(candidate_of(other, policy), documents.entries)
            documents = with_member(documents.with_entry(entry), other.as_text(), entry.key)
            other = EntrySide(entry.key)
        if isinstance(other, EntrySide | MemberSide):
            decision = _contradicting(pair, documents, judgement, own, other.key)
    return decision


def _contradicting(
    pair: Pair, documents: DraftDocuments, judgement: Judgement, own: SideName, key: str
) -> Decided:
    entry, name = documents.read_as(key), judgement.program_id or ""
    known = [word for word in entry.words if (word.pair, word.program_id) == (pair.pair_id, name)]
    program, side = documents.programs.get(name), _side(pair, own)
    if known:
        waits = known[0].waits
    else:
        waits = program is not None and not may_contradict(program.against, key, judgement.at)
    lesson = f"its own lesson {side.program_id}/{side.pattern_id} says otherwise"
    word = Word(
        program_id=name,
        outcome="contradicted",
        at=judgement.at,
        evidence=judgement.reason or (lesson if side.key is None else "another entry denies it"),
        connection=judgement.connection,
        token=judgement.token,
        waits=waits,
        pair=pair.pair_id,
        of="" if entry.key == key else key,
    )
    documents = documents.with_entry(with_word(without_word_of(entry, pair.pair_id, name), word))
    if program is not None and not known:
        against = with_recent(program.against, key, judgement.at)
        documents = documents.with_program(replace(program, against=against))
    return Decided(documents, key)


# A configured model's judgements

FOUND_BY_MODEL: Final = "the judge model gave it one verdict with any text"


def awaits_model(pair: Pair) -> bool:
    """Whether a configured model may still judge a pair: it is open, the model has not, and it is
    not for people.
    """
    if pair.state != "open" or is_by_person(pair) or pair.steering:
        return False
    return all(judgement.program_id != MODEL_NAME for judgement in pair.judgements)
