"""Words about an entry: only those with evidence count, each program's latest stands."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules.entries import (
    MAX_REMEMBERED_CONTRADICTIONS,
    MAX_WORDS,
    entry_state,
    may_contradict,
    same_program,
    votes,
    with_confirmation,
    with_contradiction,
    with_recent,
)
from fleet_memory.schemas.knowledge import Entry, Word
from tests.entries import BOTH, entry, word
from tests.lessons import START, days

NOW = START + days(3)
ENTRY = entry(*BOTH)


def confirmed(program_id: str, at: datetime = NOW, evidence: str = "seen again") -> Word:
    return word(program_id, "confirmed", at, evidence=evidence)


def after(known: Entry, *words: Word) -> Entry:
    for each in words:
        known = (with_confirmation if each.outcome == "confirmed" else with_contradiction)(
            known, each
        )
    return known


def test_a_bare_confirmation_moves_the_clock_and_nothing_else() -> None:
    expected = replace(ENTRY, last_confirmed=NOW, confirmations=1)
    assert with_confirmation(ENTRY, confirmed("iso", evidence="")) == expected


def test_a_confirmation_never_sets_the_clock_back() -> None:
    assert (
        with_confirmation(ENTRY, confirmed("iso", at=START, evidence="")).last_confirmed
        == ENTRY.last_confirmed
    )


def test_a_contradiction_without_evidence_is_the_same_entry() -> None:
    assert with_contradiction(ENTRY, word("iso", evidence="")) is ENTRY


def test_a_word_against_contests_the_entry_until_its_program_takes_it_back_with_evidence() -> None:
    contested = after(ENTRY, word("iso"))
    assert entry_state(contested, NOW) == "contested"
    assert entry_state(after(contested, confirmed("iso", evidence="")), NOW) == "contested"
    assert after(contested, confirmed("ISO")).words == (confirmed("ISO"),)


def test_a_contributors_word_against_takes_its_vote_out_and_its_confirmation_gives_it_back() -> (
    None
):
    without = after(ENTRY, word("sark"))
    assert (votes(without), entry_state(without, NOW)) == (1, "candidate")
    back = after(without, confirmed("sark"))
    assert (votes(back), entry_state(back, NOW)) == (2, "fresh")


def test_both_contributors_against_it_retire_the_entry() -> None:
    assert after(ENTRY, word("basher"), word("sark")).retired_at == START + days(2)


@pytest.mark.parametrize(("threshold", "needed"), [(2, 2), (3, 2), (4, 3), (10, 3)])
def test_so_many_origins_against_it_retire_an_entry(threshold: int, needed: int) -> None:
    known = entry(*(f"p{at}" for at in range(threshold)), threshold=threshold)
    for at in range(needed):
        assert known.retired_at is None
        known = after(known, word(f"critic{at}"))
    assert known.retired_at == START + days(2)


def test_one_program_cannot_retire_an_entry_nor_two_of_one_session() -> None:
    assert after(ENTRY, word("iso"), word("Iso", at=NOW)).retired_at is None
    assert (
        after(ENTRY, word("iso", session_id="s1"), word("ram", session_id="s1")).retired_at is None
    )


def test_contradictions_must_outnumber_the_confirmations_since_the_first_of_them() -> None:
    known = after(
        ENTRY, confirmed("clu", START + days(1)), word("iso"), confirmed("tron"), confirmed("yori")
    )
    # Two origins confirmed since, so the contradiction of iso is answered.
    assert [one.program_id for one in known.words] == ["clu", "tron", "yori"]
    contested = after(
        ENTRY, word("basher", at=START + days(2)), confirmed("tron"), confirmed("yori")
    )
    assert after(contested, word("iso", at=NOW)).retired_at is None
    assert after(contested, word("iso", at=NOW), word("ram", at=NOW)).retired_at == NOW


def test_one_bulk_confirmer_does_not_stop_many_origins() -> None:
    known = after(ENTRY, word("p0"))
    for at in range(1, 8):
        known = after(
            known, confirmed("bulk", NOW + timedelta(minutes=at)), word(f"p{at}", at=NOW + days(at))
        )
    assert known.retired_at is not None


def test_two_origins_that_confirm_end_an_outsiders_contradiction_and_not_a_contributors() -> None:
    outsider = after(ENTRY, word("iso"), confirmed("tron"), confirmed("yori"))
    assert entry_state(outsider, NOW) == "fresh"
    contributor = after(entry(*BOTH, "ram"), word("sark"), confirmed("tron"), confirmed("yori"))
    assert entry_state(contributor, NOW) == "contested"


def test_confirmations_from_before_a_contradiction_do_not_answer_it() -> None:
    early = START + days(1)
    known = after(
        ENTRY, confirmed("tron", early), confirmed("yori", early), word("iso"), confirmed("flynn")
    )
    assert entry_state(known, NOW) == "contested"


def test_a_repeated_contradiction_stays_as_old_as_its_first() -> None:
    twice = after(ENTRY, word("iso"), word("iso", at=NOW, evidence="and again"))
    assert twice.words == (word("iso", evidence="and again"),)


def test_a_rule_that_people_set_is_contested_and_never_retired() -> None:
    rule = replace(entry(tier="constitutional"), threshold=2)
    against = after(rule, word("iso"), word("ram"), word("clu"))
    assert (against.retired_at, entry_state(against, NOW)) == (None, "contested")


def test_a_waiting_contradiction_counts_for_good_once_another_origin_contradicts_too() -> None:
    waiting = after(ENTRY, word("iso", waits=True))
    assert entry_state(waiting, NOW) == "fresh"
    assert after(waiting, word("Iso", at=NOW, waits=True)).retired_at is None
    both = after(waiting, word("ram", at=NOW, waits=True))
    assert [one.waits for one in both.words] == [False, False]
    assert both.retired_at == NOW


def test_a_fourth_open_contradiction_within_a_day_waits() -> None:
    against: dict[str, datetime] = {}
    allowed = []
    for at in range(5):
        moment = START + timedelta(minutes=at)
        allowed.append(may_contradict(against, f"k{at}", moment))
        against = with_recent(against, f"k{at}", moment)
    assert allowed == [True, True, True, False, False]
    assert may_contradict(against, "k5", START + days(1) + timedelta(minutes=5))


def test_the_same_entry_again_is_no_fourth_and_a_stamp_from_the_future_counts_little() -> None:
    three = dict.fromkeys(("a", "b", "c"), START)
    assert may_contradict(three, "a", START)
    assert not may_contradict(three, "d", START - timedelta(seconds=90))
    assert may_contradict(three, "d", START - timedelta(hours=1))


times = st.dictionaries(
    st.text("abc", max_size=4),
    st.integers(0, 100).map(lambda hours: START + timedelta(hours=hours)),
)


@given(times)
def test_a_program_remembers_its_newest_contradictions_of_a_day_and_always_the_last(
    against: dict[str, datetime],
) -> None:
    now = START + timedelta(hours=50)
    remembered = with_recent(against, "new", now)
    assert remembered["new"] == now
    assert len(remembered) <= MAX_REMEMBERED_CONTRADICTIONS
    assert all(at > now - days(1) for at in remembered.values())


outcomes = st.sampled_from(["confirmed", "contradicted"])
some_words = st.lists(
    st.builds(
        word,
        st.sampled_from(["basher", "Basher", "sark", "iso", "ram", "clu"]),
        outcomes,
        st.integers(2, 40).map(lambda count: START + days(count)),
        evidence=st.sampled_from(["", "seen"]),
        waits=st.booleans(),
    ),
    max_size=12,
)


@given(some_words)
def test_each_program_has_one_word_with_evidence_and_a_retired_entry_stays_retired(
    words: list[Word],
) -> None:
    known = ENTRY
    for each in words:
        was = known
        known = after(known, each)
        names = [same_program(one.program_id) for one in known.words]
        assert len(names) == len(set(names))
        assert all(one.evidence for one in known.words)
        assert known.last_confirmed >= was.last_confirmed
        assert was.retired_at is None or known.retired_at == was.retired_at


@given(some_words)
def test_a_retired_entry_had_two_origins_against_it(words: list[Word]) -> None:
    known = after(ENTRY, *words)
    if known.retired_at is not None:
        against = {
            same_program(one.program_id)
            for one in words
            if one.outcome == "contradicted" and one.evidence
        }
        assert len(against) >= 2


def test_no_more_than_the_newest_fifty_words_of_each_outcome_are_kept() -> None:
    known = entry(*BOTH, tier="constitutional")
    for at in range(MAX_WORDS + 5):
        moment = START + days(2 + at)
        known = after(known, confirmed("tron", moment, evidence=""), word(f"p{at:02}", at=moment))
    assert len(known.words) == MAX_WORDS
    assert known.words[0].program_id == "p05"
