"""The note of an answer in which nothing fits."""

from collections.abc import Sequence

from fleet_memory.rules.retrieval.ranking import FITS_WELL, Match, Terms
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.tools.core.recall import EMPTY, NEAREST, UNMATCHED, finding_note
from fleet_memory.tools.shared import fitting_names
from tests.lessons import pattern


def matches(score: float) -> list[Match[Pattern]]:
    return [Match(pattern(), score, Terms(strength=0.0))]


def note(
    best: Sequence[Match[Pattern]] = (), *, asked: bool = True, domains: str = ""
) -> str | None:
    return finding_note(best, asked=asked, domains=domains.split())


def test_a_note_warns_that_the_best_match_fits_badly() -> None:
    assert note(matches(FITS_WELL)) is None
    assert note(matches(FITS_WELL - 0.01)) == NEAREST


def test_without_a_question_nothing_fits_badly() -> None:
    assert note(matches(0.01), asked=False) is None


def test_a_note_says_how_to_go_on_when_nothing_was_found() -> None:
    assert note() == EMPTY
    assert note(domains="git ci ci tasks") == f"{UNMATCHED} Domains: ci, git, tasks."
    assert note(domains="x" * 61) == UNMATCHED


def test_names_are_taken_from_the_front_as_long_as_they_fit() -> None:
    assert fitting_names(("git", "ci", "tasks"), 7) == ("git", "ci")
    assert fitting_names(("git", "ci"), 2) == fitting_names((), 9) == ()
