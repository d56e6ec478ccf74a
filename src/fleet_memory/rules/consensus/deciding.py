"""What a verdict does: the pair, the entries and the programs after it, decided from the documents as they are."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, NamedTuple, TypeAlias

from fleet_memory.rules.consensus.judging import ruling, with_judgement
from fleet_memory.rules.knowledge.entries import (
    JoiningLesson,
    better_text,
    candidate_of,
    is_contributor,
    judged_again,
    keys_of,
    with_lesson,
    without_lesson,
)
from fleet_memory.rules.knowledge.state import contributes
from fleet_memory.rules.knowledge.words import may_contradict, with_contradiction, with_recent
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.knowledge import Basis, Entry, Word
from fleet_memory.schemas.pairs import Judgement, Pair, Side
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Program

PERSON: Final = "operator"  # how the ledger and the words name a person


@dataclass(frozen=True)
class VerdictDocuments:
    """The programs by id and the entries by key that a verdict reads, or those that it leaves."""

    programs: Mapping[str, Program]
    entries: Mapping[str, Entry]

    def with_program(self, program: Program) -> "VerdictDocuments":
        """Return the documents with this program."""
        return replace(self, programs={**self.programs, program.program_id: program})

    def with_entry(self, entry: Entry) -> "VerdictDocuments":
        """Return the documents with this entry."""
        return replace(self, entries={**self.entries, entry.key: entry})


class LessonSide(NamedTuple):
    """A side that is a lesson in no entry."""

    program_id: str
    pattern: Pattern


class EntrySide(NamedTuple):
    """A side that is the text of an entry."""

    key: str


class MemberSide(NamedTuple):
    """A side that contributes to an entry of another text; this very pair is about that contribution.

    The lesson itself may be gone, or have another text by now.
    """

    program_id: str
    pattern_id: str
    key: str


class ChangedSide(NamedTuple):
    """A side that is not as it was judged, and why, as a sentence for the judge."""

    why: str


ResolvedSide: TypeAlias = LessonSide | EntrySide | MemberSide | ChangedSide


def resolved(side: Side, documents: VerdictDocuments, pair_id: str) -> ResolvedSide:
    """Return a side of a pair as it is now."""
    if side.key is not None:
        entry = documents.entries.get(side.key)
        if entry is None or text_hash(entry.value.pattern) != text_hash(side.text):
            return ChangedSide(f"the entry {side.key!r} has another text now")
        return EntrySide(side.key)
    if member := _member(side, documents, pair_id):
        return member
    program = documents.programs.get(side.program_id)
    pattern = program.patterns.get(side.pattern_id) if program else None
    if pattern is None:
        return ChangedSide("one of the two lessons was withdrawn")
    if pattern.words != text_hash(side.text):
        return ChangedSide("one of the two lessons has another text now")
    return _lesson_side(side, pattern, documents)


def _member(side: Side, documents: VerdictDocuments, pair_id: str) -> MemberSide | None:
    """Return the contribution that a side of this pair stands for; a deleted program is not named by its side."""
    for entry in documents.entries.values():
        if text_hash(entry.value.pattern) == text_hash(side.text):
            continue
        for line in entry.provenance:
            is_named = side.program_id in ("", line.program_id)
            if line.pair == pair_id and line.pattern_id == side.pattern_id and is_named:
                return MemberSide(line.program_id, line.pattern_id, entry.key)
    return None


def _lesson_side(side: Side, pattern: Pattern, documents: VerdictDocuments) -> ResolvedSide:
    if pattern.knowledge_key is None:
        return LessonSide(side.program_id, pattern)
    entry = documents.entries.get(pattern.knowledge_key)
    if entry is None:
        return LessonSide(side.program_id, pattern)
    if text_hash(entry.value.pattern) == pattern.words:
        return EntrySide(entry.key)
    if pattern.echo and not is_contributor(entry, side.program_id, pattern.id):
        return MemberSide(side.program_id, pattern.id, entry.key)
    return ChangedSide(f"one of the two lessons is part of the entry {entry.key!r} now; compare with its text")


class Decision(NamedTuple):
    """A pair after a verdict, the documents after it, and the key of the entry that it made or changed."""

    pair: Pair
    documents: VerdictDocuments
    key: str | None = None


def decided(
    pair: Pair,
    judgement: Judgement,
    sides: tuple[ResolvedSide, ResolvedSide],
    documents: VerdictDocuments,
    policy: Policy,
) -> Decision:
    """Return everything that a verdict leaves; `sides` are the pair's as they are now, none of them changed.

    Entries are not settled yet: their figures and their publication follow from `rules.knowledge.entries.settled`.
    """
    judged = with_judgement(pair, judgement)
    result = ruling(judged)
    basis: Basis = "judged" if result.sure else "one_judge"
    match sides:
        case (LessonSide() as a, LessonSide() as b) if result.state == "same":
            decision = _new_entry(judged, a, b, basis, documents, policy)
        case (LessonSide() as lesson, EntrySide(key)) | (EntrySide(key), LessonSide() as lesson) if (
            result.state == "same"
        ):
            decision = _joined(judged, lesson, key, basis, documents)
        case (MemberSide() as member, EntrySide()) | (EntrySide(), MemberSide() as member):
            decision = _judged_again(judged, member, documents, basis if result.state == "same" else None)
        case _:
            decision = Decision(judged, documents)
    return _with_words(decision, judgement, sides)


def _new_entry(
    pair: Pair, a: LessonSide, b: LessonSide, basis: Basis, documents: VerdictDocuments, policy: Policy
) -> Decision:
    joining = [_joining(one, basis, pair, documents) for one in (a, b)]
    entry = entry_for(better_text(joining), documents.entries, policy)
    documents = documents.with_entry(entry)
    for one in joining:
        same_text = one.pattern.words == text_hash(entry.value.pattern)
        lesson = one._replace(basis="text" if same_text else basis, similarity=1.0 if same_text else pair.cosine)
        documents = _with_member(documents, lesson, entry.key)
    return Decision(pair, documents, entry.key)


def entry_for(lesson: JoiningLesson, entries: Mapping[str, Entry], policy: Policy) -> Entry:
    """Return the entry of a lesson's text: one among `entries`, else a new one under a key that no other text has.

    `entries` hold those of the keys that `keys_of` names.
    """
    fresh = candidate_of(lesson, policy)
    base, other = keys_of(fresh)
    known = next((one for key in (base, other) if (one := entries.get(key)) and _is_of(one, fresh)), None)
    return known or (fresh if base not in entries else replace(fresh, key=other))


def _is_of(entry: Entry, fresh: Entry) -> bool:
    same_words = text_hash(entry.value.pattern) == text_hash(fresh.value.pattern)
    return same_words and entry.project_id == fresh.project_id


def _joined(pair: Pair, side: LessonSide, key: str, basis: Basis, documents: VerdictDocuments) -> Decision:
    lesson = _joining(side, basis, pair, documents)._replace(similarity=pair.cosine)
    return Decision(pair, _with_member(documents, lesson, key), key)


def _joining(side: LessonSide, basis: Basis, pair: Pair, documents: VerdictDocuments) -> JoiningLesson:
    shown = documents.programs[side.program_id].shown
    return JoiningLesson(side.program_id, side.pattern, basis, pair=pair.pair_id, shown=shown)


def _with_member(documents: VerdictDocuments, lesson: JoiningLesson, key: str) -> VerdictDocuments:
    joined = with_lesson(documents.entries[key], lesson)
    program = documents.programs[lesson.program_id]
    after = with_membership(program, lesson.pattern.id, key, echo=joined.echo)
    return documents.with_entry(joined.entry).with_program(after)


def _judged_again(pair: Pair, member: MemberSide, documents: VerdictDocuments, basis: Basis | None) -> Decision:
    """Return what a verdict about a contribution leaves: its basis, None for a pair that is the same no longer."""
    entry, program = documents.entries[member.key], documents.programs.get(member.program_id)
    if basis is not None:
        return Decision(pair, documents.with_entry(judged_again(entry, pair.pair_id, basis)), member.key)
    if all(one.verdict in ("same", "unsure") for one in pair.judgements):
        return Decision(pair, documents, member.key)  # open because nobody has called the two different
    documents = documents.with_entry(without_lesson(entry, member.program_id, member.pattern_id))
    pattern = program.patterns.get(member.pattern_id) if program else None
    if program and pattern and pattern.knowledge_key == member.key:
        documents = documents.with_program(with_membership(program, member.pattern_id, None))
    return Decision(pair, documents, member.key)


def with_membership(program: Program, pattern_id: str, key: str | None, *, echo: bool = False) -> Program:
    """Return the program with one of its lessons in the entry `key`, without a vote if an `echo`; None for in none."""
    pattern = replace(program.patterns[pattern_id], knowledge_key=key, echo=echo, rewrite=None)
    return replace(program, patterns={**program.patterns, pattern_id: pattern})


def _with_words(decision: Decision, judgement: Judgement, sides: tuple[ResolvedSide, ResolvedSide]) -> Decision:
    """Add the judge's word against each entry that its `contradict` is about, unless it contributes to that one."""
    if judgement.verdict != "contradict":
        return decision
    name = judgement.program_id or PERSON
    for side in sides:
        if isinstance(side, EntrySide) and not _spoke_for(decision.documents.entries[side.key], judgement):
            decision = _contradicting(decision, decision.documents.entries[side.key], judgement, name)
    return decision


def _spoke_for(entry: Entry, judgement: Judgement) -> bool:
    """Whether a judge contributes to an entry, or somebody does over the judge's own unbound connection."""
    if contributes(entry, judgement.program_id or PERSON):
        return True
    return judgement.connection is not None and judgement.connection in {line.connection for line in entry.provenance}


def _contradicting(decision: Decision, entry: Entry, judgement: Judgement, name: str) -> Decision:
    words = text_hash(entry.value.pattern)
    other = next(side for side in (decision.pair.a, decision.pair.b) if text_hash(side.text) != words)
    documents, program = decision.documents, decision.documents.programs.get(name)
    waits = program is not None and not may_contradict(program.against, entry.key, judgement.at)
    word = Word(
        program_id=name,
        outcome="contradicted",
        at=judgement.at,
        evidence=judgement.reason or f"both cannot be followed: {other.text}",
        connection=judgement.connection,
        waits=waits,
    )
    documents = documents.with_entry(with_contradiction(entry, word))
    if program is not None:
        against = with_recent(program.against, entry.key, judgement.at)
        documents = documents.with_program(replace(documents.programs[name], against=against))
    return Decision(decision.pair, documents, entry.key)


def with_shown(program: Program, texts: Mapping[str, datetime]) -> Program:
    """Return the program after it was shown texts, by their hashes: the newest 256, each with its first time."""
    shown = {**texts, **program.shown}
    if shown == program.shown:
        return program
    newest = sorted(shown.items(), key=lambda item: (item[1], item[0]))[-MAX_SHOWN:]
    return replace(program, shown=dict(newest))


MAX_SHOWN: Final = 256  # hashes of texts that a program was shown; Source: docs/consensus.md
