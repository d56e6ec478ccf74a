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
        fleet.boot(judge, at)
    return fleet.verdict(judge, one, other, verdict, at=at).taken == [True]


@pytest.mark.parametrize("history", read_histories(), ids=lambda history: history.title)
def test_the_model_lives_every_history_as_written(history: History) -> None:
    assert mismatches(history) == []


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
