"""A lesson's domain may go by another name in the fleet; only by a sure sign."""

import pytest

from fleet_memory.rules.text.keys import domain_hint, is_same_domain


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("database", "databases"),
        ("task-claiming", "task_claiming"),
        ("task-claiming", "taskClaiming"),
        ("task-claiming", "Task.Claiming"),
        ("task-claiming", "taskclaiming"),
        ("CI/CD", "ci-cd"),
        ("db-migrations", "db_migration"),
    ],
)
def test_one_domain_goes_by_several_names(a: str, b: str) -> None:
    assert is_same_domain(a, b)
    assert is_same_domain(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("testing", "tasting"),
        ("auth", "author"),
        ("authentication", "authorization"),
        ("sql", "nosql"),
        ("python2", "python3"),
        ("api-v1", "api-v2"),
        ("topic-00000001", "topic-00000002"),
        ("python-to-rust", "rust-to-python"),
        ("数据库", "缓存"),
    ],
)
def test_near_names_are_other_domains(a: str, b: str) -> None:
    assert not is_same_domain(a, b)
    assert not is_same_domain(b, a)


def test_the_fleets_name_is_named() -> None:
    assert domain_hint("databases", {}, {"database": 1, "git": 9}) == "database"


def test_the_programs_own_name_is_named() -> None:
    assert domain_hint("databases", {"database": 1}, {}) == "database"


def test_the_name_most_used_wins_and_the_fleets_before_the_programs() -> None:
    assert domain_hint("data-base", {}, {"database": 1, "databases": 2}) == "databases"
    assert domain_hint("data-base", {"databases": 9}, {"database": 1}) == "database"


def test_equally_used_names_are_named_in_order() -> None:
    assert domain_hint("data-base", {}, {"databases": 1, "database": 1}) == "database"


def test_a_name_that_the_fleet_uses_itself_is_no_other_name() -> None:
    assert domain_hint("databases", {}, {"database": 9, "databases": 1}) is None


def test_a_name_that_the_program_uses_as_much_stays() -> None:
    assert domain_hint("databases", {"database": 2, "databases": 2}, {}) is None
    assert domain_hint("databases", {"database": 3, "databases": 2}, {}) == "database"


def test_a_domain_of_its_own_has_no_hint() -> None:
    assert domain_hint("git", {"database": 1}, {"queues": 4}) is None
    assert domain_hint("git", {}, {}) is None
