"""What a verdict changes: the sides as they are now, and the entries that lessons join or leave."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, NamedTuple, TypeAlias

from fleet_memory.rules.entries import (
    JoiningLesson,
    better_text,
    candidate_of,
    contributes,
    is_candidate,
    is_contributor,
    judged_again,
    keys_of,
    may_contradict,
    same_program,
    with_contradiction,
    with_lesson,
    with_recent,
    without_lesson,
)
from fleet_memory.rules.pairs import ruling, with_judgement
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.knowledge import Basis, Contribution, Entry, Word
from fleet_memory.schemas.pairs import Judgement, Pair, Side
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Program


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
    """A side that contributes to an entry of another text; this very pair is about that
    contribution.

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
    if entry := _entry_of_text(side, documents):
        return EntrySide(entry.key)
    return _lesson_side(side, documents)


def _member(side: Side, documents: VerdictDocuments, pair_id: str) -> MemberSide | None:
    """Return the contribution that a side of this pair stands for; a deleted program is not named
    by its side.
    """
    for entry in documents.entries.values():
        if text_hash(entry.value.pattern) == text_hash(side.text):
            continue
        for line in entry.provenance:
            is_named = side.program_id in ("", line.program_id)
            if line.pair == pair_id and line.pattern_id == side.pattern_id and is_named:
                return MemberSide(line.program_id, line.pattern_id, entry.key)
    return None


def _entry_of_text(side: Side, documents: VerdictDocuments) -> Entry | None:
    """Return the entry that took its text from a side's lesson, even if the lesson has changed or
    gone since.
    """
    words = text_hash(side.text)
    return next(
        (
            entry
            for entry in documents.entries.values()
            if text_hash(entry.value.pattern) == words
            and is_contributor(entry, side.program_id, side.pattern_id)
        ),
        None,
    )


def _lesson_side(side: Side, documents: VerdictDocuments) -> ResolvedSide:
    program = documents.programs.get(side.program_id)
    pattern = program.patterns.get(side.pattern_id) if program else None
    if pattern is None:
        return ChangedSide("one of the two lessons was withdrawn")
    if pattern.words != text_hash(side.text):
        return ChangedSide("one of the two lessons has another text now")
    entry = documents.entries.get(pattern.knowledge_key or "")
    if entry is None:
        return LessonSide(side.program_id, pattern)
    if text_hash(entry.value.pattern) == pattern.words:
        return EntrySide(entry.key)
    if pattern.echo and not is_contributor(entry, side.program_id, pattern.id):
        return MemberSide(side.program_id, pattern.id, entry.key)
    return ChangedSide(
        f"one of the two lessons is part of the entry {entry.key!r} now; compare with its text"
    )


class TwoEntries(NamedTuple):
    """Two entries by age: one that agents read, then the one that was published first, then by
    key.
    """

    older: Entry
    younger: Entry


def by_age(one: Entry, other: Entry) -> TwoEntries:
    """Return two entries by age."""
    return TwoEntries(*sorted((one, other), key=_age))


def _age(entry: Entry) -> tuple[bool, datetime, str]:
    return is_candidate(entry), entry.published_at or entry.value.last_promoted, entry.key


def gives_way(entry: Entry) -> bool:
    """Return whether an entry gives way to an older one that is judged the same.

    People decide about a rule that they set, about a retired entry, and about a text that none of
    its lessons has: people reworded it.
    """
    words = text_hash(entry.value.pattern)
    is_told = any(text_hash(line.pattern) == words for line in entry.provenance)
    return is_told and entry.tier != "constitutional" and entry.retired_at is None


def moving_programs(entries: Collection[Entry], pair_id: str) -> set[str]:
    """Return the programs with lessons that a verdict about two entries may move; none unless there
    are two entries.
    """
    if len(entries) != 2:
        return set()
    older, younger = by_age(*entries)
    lines = [
        line for entry in (older, younger) for line in entry.provenance if line.pair == pair_id
    ]
    lines += younger.provenance if gives_way(younger) else ()
    return {line.program_id for line in lines if not line.program_deleted}


def with_contradictions_of(older: Entry, younger: Entry) -> Entry:
    """Return the older entry with the words against the younger, but those of programs that spoke
    about it itself.
    """
    known = {same_program(word.program_id) for word in older.words}
    for word in younger.words:
        if word.outcome == "contradicted" and same_program(word.program_id) not in known:
            older = with_contradiction(older, word)
    return older


PERSON: Final = "operator"  # how the ledger names a person
PERSONS_WORD: Final = "(person)"  # how a word does: no program can be called so


class Decision(NamedTuple):
    """A pair after a verdict, the documents after it, and the key of the entry that it made or
    changed.
    """

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
    """Return everything that a verdict leaves; `sides` are the pair's as they are now, none of them
    changed.

    Entries are not settled yet: their figures and their publication follow from
    `rules.entries.settled`.
    """
    judged = with_judgement(pair, judgement)
    result = ruling(judged)
    basis: Basis = "judged" if result.sure else "one_judge"
    match sides:
        case (LessonSide() as a, LessonSide() as b) if result.state == "same":
            decision = _new_entry(judged, a, b, basis, documents, policy)
        case (LessonSide() as lesson, EntrySide(key)) | (
            EntrySide(key),
            LessonSide() as lesson,
        ) if result.state == "same":
            decision = _joined(judged, lesson, key, basis, documents)
        case (MemberSide() as member, EntrySide()) | (EntrySide(), MemberSide() as member):
            decision = _judged_again(
                judged, member, documents, basis if result.state == "same" else None
            )
        case (MemberSide() as member, MemberSide()):  # people have reworded the entry since
            decision = _judged_again(
                judged, member, documents, basis if result.state == "same" else None
            )
        case (EntrySide(one), EntrySide(other)) if one != other:
            decision = _of_two_entries(
                judged, by_age(documents.entries[one], documents.entries[other]), documents
            )
        case _:  # nothing is the same
            decision = Decision(judged, documents)
    return _with_words(decision, judgement, sides)


def _new_entry(
    pair: Pair,
    a: LessonSide,
    b: LessonSide,
    basis: Basis,
    documents: VerdictDocuments,
    policy: Policy,
) -> Decision:
    joining = [_joining(side, basis, pair, documents) for side in (a, b)]
    entry = entry_for(better_text(joining), documents.entries, policy)
    documents, words = documents.with_entry(entry), text_hash(entry.value.pattern)
    # The lesson of the entry's text joins last: its program too may have been shown the other one
    # before
    for joiner in sorted(joining, key=lambda lesson: lesson.pattern.words == words):
        same_text = joiner.pattern.words == words
        lesson = joiner._replace(
            basis="text" if same_text else basis, similarity=1.0 if same_text else pair.cosine
        )
        documents = _with_member(documents, lesson, entry.key)
    return Decision(pair, documents, entry.key)


def entry_for(lesson: JoiningLesson, entries: Mapping[str, Entry], policy: Policy) -> Entry:
    """Return the entry of a lesson's text: one among `entries`, else a new one under a key that no
    other text has.

    `entries` are those of the keys that `keys_of` names.
    """
    fresh = candidate_of(lesson, policy)
    base, other = keys_of(fresh)
    known = next(
        (entry for key in (base, other) if (entry := entries.get(key)) and _is_of(entry, fresh)),
        None,
    )
    return known or (fresh if base not in entries else replace(fresh, key=other))


def _is_of(entry: Entry, fresh: Entry) -> bool:
    same_words = text_hash(entry.value.pattern) == text_hash(fresh.value.pattern)
    return same_words and entry.project_id == fresh.project_id


def _joined(
    pair: Pair, side: LessonSide, key: str, basis: Basis, documents: VerdictDocuments
) -> Decision:
    lesson = _joining(side, basis, pair, documents)._replace(similarity=pair.cosine)
    return Decision(pair, _with_member(documents, lesson, key), key)


def _joining(
    side: LessonSide, basis: Basis, pair: Pair, documents: VerdictDocuments
) -> JoiningLesson:
    shown = documents.programs[side.program_id].shown
    return JoiningLesson(side.program_id, side.pattern, basis, pair=pair.pair_id, shown=shown)


def _with_member(documents: VerdictDocuments, lesson: JoiningLesson, key: str) -> VerdictDocuments:
    joined = with_lesson(documents.entries[key], lesson)
    program = documents.programs[lesson.program_id]
    after = with_membership(program, lesson.pattern.id, key, echo=joined.echo)
    return documents.with_entry(joined.entry).with_program(after)


def _judged_again(
    pair: Pair, member: MemberSide, documents: VerdictDocuments, basis: Basis | None
) -> Decision:
    """Return the contribution with another basis; None takes it out, for a pair that is the same no
    longer.
    """
    entry, program = documents.entries[member.key], documents.programs.get(member.program_id)
    pattern = program.patterns.get(member.pattern_id) if program else None
    if basis is not None:
        documents = documents.with_entry(judged_again(entry, pair.pair_id, basis))
        if program and pattern and pattern.knowledge_key is None and pattern.words in _words(pair):
            documents = documents.with_program(
                with_membership(program, pattern.id, member.key)
            )  # learnt again
        return Decision(pair, documents, member.key)
    documents = documents.with_entry(without_lesson(entry, member.program_id, member.pattern_id))
    if program and pattern and pattern.knowledge_key == member.key:
        documents = documents.with_program(with_membership(program, member.pattern_id, None))
    return Decision(pair, documents, member.key)


def _of_two_entries(pair: Pair, two: TwoEntries, documents: VerdictDocuments) -> Decision:
    """Return the two entries as they go on: as one once they are the same for sure, until they are
    so no longer.
    """
    result = ruling(pair)
    if result.state != "same":
        return Decision(pair, _divided(pair, two, documents))
    return _united(pair, two, documents) if result.sure else Decision(pair, documents)


def _united(pair: Pair, two: TwoEntries, documents: VerdictDocuments) -> Decision:
    """Empty the younger entry: the lessons of its words join the older, the next run asks about
    each of the others.

    They support the text that they were judged the same as, and nothing chains. Words against the
    younger are the older's too. Both stay as they are where people decide, and where one of the
    lessons is gone.
    """
    older, younger = two
    if not gives_way(younger) or not all(
        _lesson_of(line, younger.key, documents) for line in younger.provenance
    ):
        return Decision(pair, documents)
    documents = documents.with_entry(replace(younger, provenance=()))
    for line in younger.provenance:
        documents = _left(documents, line)
        program = documents.programs[line.program_id]
        lesson = program.patterns[line.pattern_id]
        if lesson.words == text_hash(younger.value.pattern):
            joining = JoiningLesson(
                program.program_id, lesson, "judged", pair.cosine, pair.pair_id, program.shown
            )
            documents = _with_member(documents, joining, older.key)
    after = with_contradictions_of(documents.entries[older.key], younger)
    return Decision(pair, documents.with_entry(after), older.key)


def _divided(pair: Pair, two: TwoEntries, documents: VerdictDocuments) -> VerdictDocuments:
    """Take out the lessons that joined an entry because the two were the same."""
    for entry in two:
        for line in entry.provenance:
            if line.pair == pair.pair_id:
                after = without_lesson(
                    documents.entries[entry.key], line.program_id, line.pattern_id
                )
                documents = documents.with_entry(after)
                if _lesson_of(line, entry.key, documents):
                    documents = _left(documents, line)
    return documents


def _lesson_of(line: Contribution, key: str, documents: VerdictDocuments) -> Pattern | None:
    """Return the lesson of a contribution of the entry `key`; None when it is gone."""
    program = documents.programs.get(line.program_id)
    lesson = program.patterns.get(line.pattern_id) if program else None
    return lesson if lesson and lesson.knowledge_key == key else None


def _left(documents: VerdictDocuments, line: Contribution) -> VerdictDocuments:
    return documents.with_program(
        with_membership(documents.programs[line.program_id], line.pattern_id, None)
    )


def _words(pair: Pair) -> set[str]:
    return {text_hash(side.text) for side in (pair.a, pair.b)}


def with_membership(
    program: Program, pattern_id: str, key: str | None, *, echo: bool = False
) -> Program:
    """Return the program with one of its lessons in the entry `key`, without a vote if an `echo`;
    None for in none.
    """
    pattern = replace(program.patterns[pattern_id], knowledge_key=key, echo=echo, rewrite=None)
    return replace(program, patterns={**program.patterns, pattern_id: pattern})


def _with_words(
    decision: Decision, judgement: Judgement, sides: tuple[ResolvedSide, ResolvedSide]
) -> Decision:
    """Add the judge's word against each entry that its `contradict` is about, unless it contributes
    to that one.

    A word against an entry that no agent reads waits with the pair, else the two judges who undo a
    wrong `same` would retire the text that it published. A caller of the role `judge` leaves none:
    one person may have several such tokens, and two words of different programs retire an entry.
    """
    if judgement.verdict != "contradict" or judgement.by_role:
        return decision
    name = judgement.program_id or PERSONS_WORD
    unsaid = False
    for side in sides:
        if not isinstance(side, EntrySide):
            continue
        entry = decision.documents.entries[side.key]
        if _judges_own_lesson(sides, judgement) or not _spoke_for(entry, judgement):
            unsaid = unsaid or is_candidate(entry)
            decision = (
                decision
                if is_candidate(entry)
                else _contradicting(decision, entry, judgement, name)
            )
    return decision._replace(pair=replace(decision.pair, unsaid=unsaid))


def _judges_own_lesson(sides: tuple[ResolvedSide, ResolvedSide], judgement: Judgement) -> bool:
    """Whether one side is a lesson of the judge's own, apart from any that it has in the entry."""
    name = same_program(judgement.program_id or PERSONS_WORD)
    return any(
        isinstance(side, LessonSide) and same_program(side.program_id) == name for side in sides
    )


def _spoke_for(entry: Entry, judgement: Judgement) -> bool:
    """Whether a judge contributes to an entry, or somebody does over the judge's own unbound
    connection.
    """
    if contributes(entry, judgement.program_id or PERSONS_WORD):
        return True
    return judgement.connection is not None and judgement.connection in {
        line.connection for line in entry.provenance
    }


def _contradicting(decision: Decision, entry: Entry, judgement: Judgement, name: str) -> Decision:
    if any(
        same_program(word.program_id) == same_program(name) and word.at > judgement.at
        for word in entry.words
    ):
        return (
            decision  # a stored verdict that is applied again: its judge has reported again since
        )
    words = text_hash(entry.value.pattern)
    side = next(
        side for side in (decision.pair.a, decision.pair.b) if text_hash(side.text) != words
    )
    # Every agent reads a word's evidence; the text, and a key made of it, may be unpublished.
    other = "another entry" if side.key else f"a lesson of {side.program_id}"
    documents, program = decision.documents, decision.documents.programs.get(name)
    waits = program is not None and not may_contradict(program.against, entry.key, judgement.at)
    word = Word(
        program_id=name,
        outcome="contradicted",
        at=judgement.at,
        evidence=judgement.reason or f"nobody can follow both this and {other}",
        connection=judgement.connection,
        token=judgement.token,
        waits=waits,
    )
    documents = documents.with_entry(with_contradiction(entry, word))
    if program is not None:
        against = with_recent(program.against, entry.key, judgement.at)
        documents = documents.with_program(replace(documents.programs[name], against=against))
    return Decision(decision.pair, documents, entry.key)
