import csv
from itertools import chain
from pathlib import Path

import pytest

from fleet_memory.rules.guard import objection

PAIRS = Path(__file__).parent / "data" / "slots.tsv"


def pairs(kind: str) -> list[tuple[str, str]]:
    with PAIRS.open(newline="", encoding="utf-8") as file:
        return [
            (row["a"], row["b"])
            for row in csv.DictReader(file, delimiter="\t")
            if row["kind"] == kind
        ]


@pytest.mark.parametrize(
    ("one", "other", "evidence"),
    [
        ("Use pnpm to install packages", "Use yarn to install packages", "pnpm / yarn"),
        (
            "Format Python with black before committing",
            "Before you commit, run ruff format over Python",
            "black / ruff",
        ),
        ("Ask the data team first", "Ask the platform team first", "data / platform"),
        ("Sort imports with isort", "Let ruff sort the imports", "isort / ruff"),
        ("Lock the row before updating it", "Lock the account before updating it", "row / account"),
        (
            "Take a heap dump when memory grows",
            "Restart the pod when memory grows",
            "heap dump / Restart pod",
        ),
        ("Stop at the 3rd failure", "Stop at the 4th failure", "3rd / 4th"),
    ],
)
def test_another_thing_in_the_same_place_is_an_objection(
    one: str, other: str, evidence: str
) -> None:
    assert objection(one, other) == f"another thing: {evidence}"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Delete stale branches", "Remove stale branches"),  # one meaning
        ("Run the tests prior to pushing", "Execute the tests before pushing"),
        ("Optimise images in the build", "Optimize images in the build"),  # one word, two spellings
        ("Pin versions in the lock file", "Pin versions in the lockfile"),
        (
            "Document the configuration of a service",
            "Document how a service is configured",
        ),  # one root
        (
            "Use a queue because the disk is slow",
            "Use a queue because the network drops packets",
        ),  # another reason
        ("Keep the cache warm to avoid timeouts", "Keep the cache warm to save money"),
        (
            "Use the staging database",
            "Use the new staging database",
        ),  # one side has more, not another thing
        ("Install Node", "Rotate the keys of the mail server every week"),  # nothing is shared
    ],
)
def test_another_word_for_the_same_thing_is_none(one: str, other: str) -> None:
    assert objection(one, other) is None


def test_a_long_thing_is_shown_in_part() -> None:
    long = "incomprehensibilities " * 3
    assert objection(f"Store {long}in Redis", "Store uploads in Redis") == (
        "another thing: incomprehensibilities incomprehensibi... / uploads"
    )


@pytest.mark.parametrize(
    ("kind", "least", "most"), [("choice", 0.85, 1), ("near", 0.9, 1), ("same", 0, 0.15)]
)
def test_most_choices_and_few_rewordings_are_objected_to(
    kind: str, least: float, most: float
) -> None:
    objected = sum(objection(*pair) is not None for pair in pairs(kind)) / len(pairs(kind))
    assert least <= objected <= most


def test_it_does_not_matter_which_text_comes_first() -> None:
    told = list(chain(*(pairs(kind) for kind in ("choice", "near", "same"))))
    assert [
        pair for pair in told if (objection(*pair) is None) != (objection(*reversed(pair)) is None)
    ] == []
