"""The note of an answer in which nothing fits."""

from collections.abc import Sequence

import pytest

from fleet_memory.rules.retrieval.ranking import FITS_WELL, Ranked, Terms
from fleet_memory.tools.retrieval import EMPTY, NEAREST, Scope, finding_note, fitting_names


def matches(score: float) -> list[Ranked]:
    return [Ranked(0, score, Terms(strength=0.0))]


def note(
    best: Sequence[Ranked] = (),
    *ways: str,
    asked: bool = True,
    domains: str = "",
    scope: Scope = "all",
) -> str | None:
    return finding_note(best, asked=asked, ways=ways, domains=domains.split(), scope=scope)


def test_a_note_warns_that_the_best_match_fits_badly() -> None:
    assert note(matches(FITS_WELL)) is None
    assert note(matches(FITS_WELL - 0.01)) == NEAREST


def test_without_a_question_nothing_fits_badly() -> None:
    assert note(matches(0.01), asked=False) is None


@pytest.mark.parametrize(
    ("ways", "domains", "sentence"),
    [
        (("a query", "fewer filters"), "", EMPTY["all"]),
        (("a query",), "git", "Nothing matched. Try a query. Domains: git."),
        (
            ("a query", "fewer filters"),
            "git ci ci tasks",
            "Nothing matched. Try a query or fewer filters. Domains: ci, git, tasks.",
        ),
    ],
)
def test_a_note_suggests_the_next_step_when_nothing_was_found(
    ways: tuple[str, ...], domains: str, sentence: str
) -> None:
    assert note((), *ways, domains=domains) == sentence


@pytest.mark.parametrize(
    ("scope", "sentence"),
    [
        ("own", "You have stored nothing yet. Try scope all."),
        ("shared", "The fleet has no lesson yet that several agents learnt. Try scope all."),
    ],
)
def test_a_note_claims_no_more_than_was_read(scope: Scope, sentence: str) -> None:
    assert note((), "a query", "scope all", scope=scope) == sentence


def test_names_are_taken_from_the_front_as_long_as_they_fit() -> None:
    assert fitting_names(("git", "ci", "tasks"), 7) == ("git", "ci")
    assert fitting_names(("git", "ci"), 2) == fitting_names((), 9) == ()
