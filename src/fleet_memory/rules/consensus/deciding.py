"""The effects of a verdict: the pair, the entries and the programs after it, decided from the
documents as they are.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from fleet_memory.rules.consensus.judging import ruling, with_judgement
from fleet_memory.rules.consensus.sides import (
    EntrySide,
    LessonSide,
    MemberSide,
    ResolvedSide,
    VerdictDocuments,
)
from fleet_memory.rules.consensus.uniting import (
    TwoEntries,
    by_age,
    gives_way,
    with_contradictions_of,
)
from fleet_memory.rules.knowledge.entries import (
    JoiningLesson,
    better_text,
    candidate_of,
    judged_again,
    keys_of,
    with_lesson,
    without_lesson,
)
from fleet_memory.rules.knowledge.state import contributes, is_candidate
from fleet_memory.rules.knowledge.votes import same_program
from fleet_memory.rules.knowledge.words import may_contradict, with_contradiction, with_recent
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.knowledge import Basis, Contribution, Entry, Word
from fleet_memory.schemas.pairs import Judgement, Pair
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Program

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
    `rules.knowledge.entries.settled`.
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
    if pair.of_member and all(
        judgement.verdict in ("same", "unsure") for judgement in pair.judgements
    ):
        return Decision(
            pair, documents, member.key
        )  # a merge of an older memory without a contrary verdict
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
