"""Names close to one that does not exist."""

import time
from collections.abc import Sequence

from fleet_memory.rules.text.keys import MAX_COMPARED, close_names

DOMAINS = ("git", "task-claiming", "Deploys", "ci", "deploying", "page-speed")


def test_a_typo_finds_the_name_that_was_meant() -> None:
    assert close_names("task-claming", DOMAINS) == ("task-claiming",)
    assert close_names("deploys", DOMAINS) == ("Deploys", "deploying")


def test_letter_case_does_not_count() -> None:
    assert close_names("GIT", DOMAINS) == ("git",)
    assert close_names("claims", ("Task-CLAIMS",)) == ("Task-CLAIMS",)


def test_a_part_of_a_name_finds_the_whole_and_the_whole_its_part() -> None:
    assert close_names("speed", DOMAINS) == ("page-speed",)
    assert close_names("git-branches-and-tags", DOMAINS) == ("git",)


def test_parts_of_two_letters_find_nothing() -> None:
    assert close_names("decision-making", DOMAINS) == ()


def test_the_closest_come_first_each_once_and_no_more_than_asked_for() -> None:
    names = [f"deploy-{number}" for number in range(9)]
    assert close_names("deploy-7", [*names, *names]) == ("deploy-7", "deploy-0", "deploy-1")
    assert close_names("deploy-7", names, limit=1) == ("deploy-7",)


def test_nothing_is_close_where_nothing_is_known() -> None:
    assert close_names("git", ()) == close_names("", ("git",)) == ()


def test_many_names_that_are_all_alike_cost_little_more_than_a_few() -> None:
    alike = [f"{'ab' * 48}{number:03}" for number in range(500)]
    assert cost_s(alike) < 4 * cost_s(alike[:MAX_COMPARED])


def cost_s(known: Sequence[str]) -> float:
    """Return the shortest of three times in seconds of the processor."""
    times = []
    for _ in range(3):
        begun = time.process_time()
        close_names("ba" * 49, known)
        times.append(time.process_time() - begun)
    return min(times)
