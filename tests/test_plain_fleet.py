"""The plain model of votes agrees with the design; the histories in `data/histories.json` are lived
in it.
"""

from datetime import datetime

import pytest

from tests.histories import START, History, days, mismatches, read_histories
from tests.plain_entry import RefusedError
from tests.plain_fleet import PlainFleet
from tests.plain_pair import Side

TEXT = "Rebase a feature branch before asking for review"
OTHER_WORDS = "Ask for review only after the feature branch has been rebased"


def day(count: float) -> datetime:
    return START + days(count)


def published(
    origins: str = "program",
    *,
    evidence: str = "",
    session: str | None = None,
    connection: str | None = None,
) -> PlainFleet:
    """Two programs that learnt the same words before day 1."""
    fleet = PlainFleet(origins=origins)
    for program, stored in (("basher", day(0)), ("iso", day(0.5))):
        fleet.store(
            program,
            "rebase",
            TEXT,
            evidence=evidence,
            session=session,
            connection=connection,
            at=stored,
        )
    fleet.propose(day(1))
    return fleet


def only_entry(fleet: PlainFleet, count: float) -> tuple[str, list[str], int]:
    [entry] = fleet.entries(day(count)).values()
    return entry


def judged(
    fleet: PlainFleet, judge: str | None, one: Side, other: Side, verdict: str, at: datetime
) -> bool:
    """Open the pair, end a session of the judge that shows it, and take the verdict."""
    if not fleet.pairs:
        fleet.ask(one, other, at=at)
    if judge is not None:
        fleet.commit(judge, at)
    return fleet.verdict(judge, one, other, verdict, at=at).taken == [True]


@pytest.mark.parametrize("history", read_histories(), ids=lambda history: history.title)
def test_the_model_lives_every_history_as_written(history: History) -> None:
    assert mismatches(history) == []


def test_two_programs_with_equal_words_publish_an_entry() -> None:
    assert only_entry(published(), 1) == ("fresh", ["basher", "iso"], 2)


def test_a_lesson_alone_is_no_entry() -> None:
    fleet = PlainFleet()
    fleet.store("basher", "rebase", TEXT, at=day(0))
    fleet.propose(day(1))
    assert fleet.entries(day(1)) == {}


def test_a_lesson_stored_after_publication_is_an_echo() -> None:
    fleet = published()
    fleet.store("sark", "rebase", TEXT, at=day(2))
    fleet.propose(day(3))
    assert only_entry(fleet, 3) == ("fresh", ["basher", "iso"], 2)


def test_a_lesson_stored_before_publication_votes_however_late_it_is_found() -> None:
    fleet = PlainFleet()
    fleet.store("sark", "branches", OTHER_WORDS, at=day(0))
    fleet.store("basher", "rebase", TEXT, at=day(1), confidence=0.9)
    fleet.store("iso", "rebase", TEXT, at=day(1))
    fleet.propose(day(2))
    assert judged(fleet, "sark", ("lesson", "sark", "branches"), ("entry", TEXT), "same", day(30))
    assert only_entry(fleet, 30) == ("fresh", ["basher", "iso", "sark"], 3)


def test_lessons_of_one_session_are_one_vote() -> None:
    assert only_entry(published(session="monday"), 1) == ("candidate", ["basher", "iso"], 1)


def test_a_copy_with_its_evidence_is_one_vote() -> None:
    copied = published(evidence="Review 212 was rejected for merge conflicts")
    assert only_entry(copied, 1) == ("candidate", ["basher", "iso"], 1)


def test_three_words_of_evidence_are_too_few_to_be_a_copy() -> None:
    assert only_entry(published(evidence="Review was rejected"), 1) == (
        "fresh",
        ["basher", "iso"],
        2,
    )


def test_one_connection_needs_verifying_unless_the_policy_refuses_it() -> None:
    assert only_entry(published(connection="http-1"), 1) == ("verify", ["basher", "iso"], 2)
    refused = published(connection="http-1", origins="connection")
    assert only_entry(refused, 1) == ("candidate", ["basher", "iso"], 1)


def test_the_first_same_publishes_and_the_second_makes_it_sure() -> None:
    fleet = PlainFleet()
    fleet.store("basher", "rebase", TEXT, at=day(0))
    fleet.store("iso", "branches", OTHER_WORDS, at=day(0.5))
    sides = ("lesson", "basher", "rebase"), ("lesson", "iso", "branches")
    assert judged(fleet, "basher", *sides, "same", day(1))
    assert fleet.entries(day(1)) == {TEXT: ("verify", ["basher", "iso"], 2)}
    assert judged(fleet, "iso", *sides, "same", day(2))
    assert only_entry(fleet, 2) == ("fresh", ["basher", "iso"], 2)


def test_a_tie_takes_the_judged_lesson_out_until_the_majority_decides() -> None:
    fleet = PlainFleet()
    fleet.store("basher", "rebase", TEXT, at=day(0))
    fleet.store("iso", "branches", OTHER_WORDS, at=day(0.5))
    sides = ("lesson", "basher", "rebase"), ("lesson", "iso", "branches")
    assert judged(fleet, "basher", *sides, "same", day(1))
    assert judged(fleet, "iso", *sides, "different", day(2))
    assert only_entry(fleet, 2) == ("candidate", ["basher"], 1)
    assert judged(fleet, "sark", *sides, "same", day(3))
    assert only_entry(fleet, 3) == ("fresh", ["basher", "iso"], 2)


def test_a_persons_verdict_is_final() -> None:
    fleet = published()
    fleet.store("sark", "branches", OTHER_WORDS, at=day(0))
    pair = ("lesson", "sark", "branches"), ("entry", TEXT)
    fleet.ask(*pair, at=day(1))
    fleet.boot("sark", day(1))
    fleet.verdict(None, *pair, "different", at=day(2))
    assert fleet.verdict("sark", *pair, "same", at=day(3)).taken == [False]
    assert only_entry(fleet, 3) == ("fresh", ["basher", "iso"], 2)


def test_only_words_with_evidence_contest_an_entry() -> None:
    fleet = published()
    fleet.word("sark", ("entry", TEXT), "contradicted", at=day(2))
    assert only_entry(fleet, 2) == ("fresh", ["basher", "iso"], 2)
    fleet.word("sark", ("entry", TEXT), "contradicted", "Shared branches lost commits", at=day(3))
    assert only_entry(fleet, 3) == ("contested", ["basher", "iso"], 2)


def test_a_confirmation_takes_back_only_its_own_programs_contradiction() -> None:
    fleet = published()
    fleet.word("iso", ("lesson", "rebase"), "contradicted", "Lost commits on monday", at=day(2))
    assert only_entry(fleet, 2) == ("candidate", ["basher"], 1)
    fleet.word("basher", ("lesson", "rebase"), "confirmed", "Worked on tuesday", at=day(3))
    assert only_entry(fleet, 3) == ("candidate", ["basher"], 1)
    fleet.word("iso", ("lesson", "rebase"), "confirmed", "The loss was another's fault", at=day(4))
    assert only_entry(fleet, 4) == ("fresh", ["basher", "iso"], 2)


def test_two_origins_that_confirm_end_an_outsiders_contradiction() -> None:
    fleet = published()
    fleet.word("sark", ("entry", TEXT), "contradicted", "Shared branches lost commits", at=day(2))
    fleet.word("basher", ("entry", TEXT), "confirmed", "Twelve clean reviews", at=day(3))
    assert only_entry(fleet, 3)[0] == "contested"
    fleet.word("iso", ("entry", TEXT), "confirmed", "Nine clean reviews", at=day(4))
    assert only_entry(fleet, 4)[0] == "fresh"


def test_confirmations_from_before_a_contradiction_do_not_end_it() -> None:
    fleet = published()
    for program in ("basher", "iso"):
        fleet.word(program, ("entry", TEXT), "confirmed", "Clean reviews", at=day(2))
    fleet.word("sark", ("entry", TEXT), "contradicted", "Shared branches lost commits", at=day(3))
    assert only_entry(fleet, 3)[0] == "contested"


@pytest.mark.parametrize(("threshold", "needed"), [(2, 2), (3, 2), (4, 3)])
def test_retirement_needs_two_origins_and_three_at_a_threshold_of_four(
    threshold: int, needed: int
) -> None:
    fleet = PlainFleet(threshold)
    for number in range(threshold):
        fleet.store(f"teller-{number}", "rebase", TEXT, at=day(0))
    fleet.propose(day(1))
    states = []
    for number in range(needed):
        fleet.word(
            f"critic-{number}", ("entry", TEXT), "contradicted", "Lost commits", at=day(2 + number)
        )
        states.append(only_entry(fleet, 2 + number)[0])
    assert states == ["contested"] * (needed - 1) + ["retired"]


def test_reinstating_clears_the_contradictions() -> None:
    fleet = published()
    for program in ("sark", "tron"):
        fleet.word(program, ("entry", TEXT), "contradicted", "Lost commits", at=day(2))
    fleet.reinstate(TEXT, day(3))
    assert only_entry(fleet, 3) == ("fresh", ["basher", "iso"], 2)


def test_an_entry_without_a_word_for_180_days_needs_verifying() -> None:
    fleet = published()
    assert only_entry(fleet, 180.5)[0] == "fresh"
    assert only_entry(fleet, 180.6)[0] == "verify"


def test_one_program_contests_three_of_40_entries_in_an_afternoon() -> None:
    fleet = PlainFleet()
    texts = [f"Rule {number}" for number in range(40)]
    for text in texts:
        fleet.store("basher", text, text, at=day(0))
        fleet.store("iso", text, text, at=day(0))
    fleet.propose(day(1))
    for number, text in enumerate(texts):
        fleet.word(
            "sark", ("entry", text), "contradicted", "Looked wrong", at=day(2 + number / 400)
        )
    states = [state for state, _, _ in fleet.entries(day(3)).values()]
    assert (states.count("contested"), states.count("fresh")) == (3, 37)


def test_a_split_contribution_stays_out() -> None:
    fleet = PlainFleet()
    fleet.store("basher", "rebase", TEXT, at=day(0), confidence=0.9)
    fleet.store("iso", "branches", OTHER_WORDS, at=day(0))
    assert judged(
        fleet, "iso", ("lesson", "basher", "rebase"), ("lesson", "iso", "branches"), "same", day(1)
    )
    fleet.split(TEXT, "iso", day(2))
    fleet.propose(day(3))
    assert only_entry(fleet, 3) == ("candidate", ["basher"], 1)


def test_a_contribution_of_the_entrys_words_is_not_split_off() -> None:
    with pytest.raises(RefusedError):
        published().split(TEXT, "iso", day(2))


@pytest.mark.parametrize("policy", [{"threshold": 1}, {"threshold": 0}, {"origins": "anybody"}])
def test_a_policy_out_of_range_is_refused(policy: dict[str, int | str]) -> None:
    with pytest.raises(RefusedError):
        PlainFleet().set_policy(**policy)  # type: ignore[arg-type]  # a mistake that JSON can make
