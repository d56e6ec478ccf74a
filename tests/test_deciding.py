"""A verdict carried out on values: the entry that it makes, joins or leaves, and the words that it
is.
"""

from dataclasses import replace
from datetime import datetime

from fleet_memory.rules.deciding import (
    PERSONS_WORD,
    ChangedSide,
    Decision,
    EntrySide,
    MemberSide,
    ResolvedSide,
    VerdictDocuments,
    decided,
    resolved,
    with_membership,
)
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.pairs import Judgement, Pair
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Program
from tests.entries import (
    BOTH,
    CHECK,
    KEY,
    LOOK,
    entry,
    judgement,
    pair,
    side,
    word,
)
from tests.lessons import START, days, pattern, program

POLICY = Policy()
LESSONS = pair()
WITH_ENTRY = pair(side("basher", CHECK, key=KEY), side("iso", LOOK))


def owner(program_id: str, *patterns: Pattern, **fields: dict[str, datetime]) -> Program:
    return program(*patterns, program_id=program_id, **fields)


def documents(*known: Program | Entry) -> VerdictDocuments:
    after = VerdictDocuments({}, {})
    for one in known:
        after = after.with_program(one) if isinstance(one, Program) else after.with_entry(one)
    return after


TWO = documents(owner("basher", pattern(CHECK)), owner("sark", pattern(LOOK)))
ONE_MORE = documents(entry(*BOTH), owner("iso", pattern(LOOK)))


def judged(
    known: Pair, judgement_: Judgement, before: VerdictDocuments, policy: Policy = POLICY
) -> Decision:
    """Decide with both sides as they are in these documents, unchanged."""
    sides: list[ResolvedSide] = [resolved(one, before, known.pair_id) for one in (known.a, known.b)]
    assert not any(isinstance(one, ChangedSide) for one in sides)
    return decided(known, judgement_, (sides[0], sides[1]), before, policy)


def lines(decision: Decision, key: str = KEY) -> list[tuple[str, str]]:
    return [(line.program_id, line.basis) for line in decision.documents.entries[key].provenance]


def membership(decision: Decision, name: str) -> tuple[str | None, bool]:
    known = decision.documents.programs[name].patterns["p1"]
    return known.knowledge_key, known.echo


def test_a_lesson_judged_the_same_as_a_retired_entry_counts_that_it_was_learnt_again() -> None:
    retired = documents(entry(*BOTH, retired_at=START), owner("iso", pattern(LOOK)))
    decision = judged(WITH_ENTRY, judgement("iso"), retired)
    assert (decision.documents.entries[KEY].relearnt, membership(decision, "iso")) == (
        1,
        (KEY, True),
    )


def test_a_contradict_about_the_own_lesson_and_an_entry_is_a_word_against_it() -> None:
    decision = judged(WITH_ENTRY, judgement("iso", "contradict"), ONE_MORE)
    (word,) = decision.documents.entries[KEY].words
    assert (word.program_id, word.outcome, word.evidence, word.waits) == (
        "iso",
        "contradicted",
        "nobody can follow both this and a lesson of iso",
        False,
    )
    assert decision.documents.programs["iso"].against == {KEY: judgement("iso").at}
    assert decision.key == KEY


def test_the_reason_of_a_contradict_is_its_evidence_also_where_only_the_case_differs() -> None:
    shouted = pair(side("basher", f"{CHECK}.", key=KEY), side("iso", LOOK))
    with_reason = judged(shouted, judgement("iso", "contradict", reason="it deadlocks"), ONE_MORE)
    assert with_reason.documents.entries[KEY].words[0].evidence == "it deadlocks"
    without = judged(shouted, judgement("iso", "contradict"), ONE_MORE)
    assert (
        without.documents.entries[KEY].words[0].evidence
        == "nobody can follow both this and a lesson of iso"
    )


def test_a_contributor_that_calls_anothers_lesson_contrary_does_not_contradict_its_own_entry() -> (
    None
):
    decision = judged(WITH_ENTRY, judgement("basher", "contradict"), ONE_MORE)
    assert (decision.documents, decision.key) == (ONE_MORE, None)


def test_a_judge_without_a_lesson_in_it_and_a_person_contest_the_entry() -> None:
    for judge, name in (("ram", "ram"), (None, PERSONS_WORD)):
        decision = judged(WITH_ENTRY, judgement(judge, "contradict"), ONE_MORE)
        assert [word.program_id for word in decision.documents.entries[KEY].words] == [name]


def test_a_contradict_of_the_role_judge_leaves_the_pair_open_and_is_no_word() -> None:
    for name in ("ram", "iso", "basher"):
        decision = judged(WITH_ENTRY, judgement(name, "contradict", by_role=True), ONE_MORE)
        assert (decision.pair.state, decision.documents, decision.key) == ("open", ONE_MORE, None)


def test_a_contradict_of_the_role_judge_leaves_a_word_that_waits_with_the_pair() -> None:
    candidate = documents(entry("basher", published_at=None), owner("iso", pattern(LOOK)))
    waiting = judged(WITH_ENTRY, judgement("iso", "contradict"), candidate).pair
    assert waiting.unsaid
    assert judged(waiting, judgement("ram", "contradict", by_role=True), candidate).pair.unsaid


def test_a_fourth_contradict_within_a_day_waits() -> None:
    against = {f"pattern/a/{at}": START + days(1) for at in range(3)}
    busy = documents(entry(*BOTH), owner("iso", pattern(LOOK), against=against))
    decision = judged(WITH_ENTRY, judgement("iso", "contradict"), busy)
    assert [word.waits for word in decision.documents.entries[KEY].words] == [True]


def test_leaving_an_entry_ends_a_rewrite_and_an_echo() -> None:
    known = owner("iso", pattern(LOOK, knowledge_key=KEY, echo=True))
    assert with_membership(known, "p1", None).patterns["p1"] == pattern(LOOK)


def test_an_entry_speaks_for_the_lesson_that_gave_its_text_even_if_that_lesson_is_gone() -> None:
    first = judged(LESSONS, judgement("sark"), TWO)
    rewritten = first.documents.with_program(owner("basher", pattern("Claim at random")))
    assert resolved(LESSONS.a, rewritten, LESSONS.pair_id) == EntrySide(KEY)
    assert lines(judged(first.pair, judgement("basher"), rewritten)) == [
        ("basher", "text"),
        ("sark", "judged"),
    ]


def test_a_verdict_about_the_texts_of_before_a_reword_still_decides_about_the_contribution() -> (
    None
):
    first = judged(LESSONS, judgement("sark"), TWO)
    known = first.documents.entries[KEY]
    reworded = first.documents.with_entry(
        replace(known, value=replace(known.value, pattern="Claim what is free"))
    )
    members = (MemberSide("basher", "p1", KEY), MemberSide("sark", "p1", KEY))
    sure = decided(first.pair, judgement("basher"), members, reworded, POLICY)
    assert ("sark", "judged") in lines(sure)
    apart = decided(first.pair, judgement("basher", "different"), members, reworded, POLICY)
    assert len(lines(apart)) == 1


def test_a_lesson_learnt_again_is_in_its_entry_again_once_the_verdict_is_applied() -> None:
    first = judged(LESSONS, judgement("sark"), TWO)
    again = first.documents.with_program(owner("sark", pattern(LOOK)))
    assert membership(judged(first.pair, judgement("sark"), again), "sark") == (KEY, False)


def test_a_contributors_contradict_about_another_lesson_of_its_own_is_its_word() -> None:
    before = documents(entry(*BOTH), owner("sark", pattern(LOOK)))
    known = pair(side("basher", CHECK, key=KEY), side("sark", LOOK))
    decision = judged(known, judgement("sark", "contradict"), before)
    assert [word.program_id for word in decision.documents.entries[KEY].words] == ["sark"]


def test_a_stored_contradict_does_not_count_once_its_judge_has_reported_again() -> None:
    said = judgement("iso", "contradict")
    confirmed = word("iso", "confirmed", said.at + days(1))
    before = documents(entry(*BOTH, words=(confirmed,)), owner("iso", pattern(LOOK)))
    assert judged(WITH_ENTRY, said, before).documents.entries[KEY].words == (confirmed,)
