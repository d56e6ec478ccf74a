"""The note of an answer in which nothing fits."""

from collections.abc import Sequence

import pytest

from fleet_memory.rules.retrieval.ranking import FITS_WELL, Match, Terms
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.views.finding import EMPTY, NEAREST, finding_note, fitting_names
from tests.lessons import pattern


def matches(score: float) -> list[Match[Pattern]]:
    return [Match(pattern(), score, Terms(strength=0.0))]


def note(best: Sequence[Match[Pattern]] = (), *ways: str, asked: bool = True, domains: str = "") -> str | None:
    return finding_note(best, asked=asked, ways=ways, domains=domains.split())


def test_a_note_says_that_the_best_match_fits_badly() -> None:
    assert note(matches(FITS_WELL)) is None
    assert note(matches(FITS_WELL - 0.01)) == NEAREST


def test_without_a_question_nothing_fits_badly() -> None:
    assert note(matches(0.01), asked=False) is None


@pytest.mark.parametrize(
    ("ways", "domains", "said"),
    [
        (("other words", "fewer filters"), "", EMPTY),
        (("other words", "scope all"), "", f"{EMPTY} Try scope all."),
        (("other words",), "git", "Nothing matched. Try other words. Domains: git."),
        (
            ("other words", "fewer filters"),
            "git ci ci tasks",
            "Nothing matched. Try other words or fewer filters. Domains: ci, git, tasks.",
        ),
    ],
)
def test_a_note_says_how_to_go_on_when_nothing_was_found(ways: tuple[str, ...], domains: str, said: str) -> None:
    assert note((), *ways, domains=domains) == said


def test_names_are_taken_from_the_front_as_long_as_they_fit() -> None:
    assert fitting_names(("git", "ci", "tasks"), 7) == ("git", "ci")
    assert fitting_names(("git", "ci"), 2) == fitting_names((), 9) == ()
