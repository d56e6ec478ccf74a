"""One printer shows every output of a command, as lines and tables or as one JSON object."""

import json

import pytest

from fleet_memory.cli.printing import Output, limited, print_output

LESSONS = [
    {
        "id": "a",
        "domain": "git",
        "pattern": "Rebase\x1b[31m\noften",
        "stale": True,
        "tags": ["x", "y"],
    },
    {"id": "long", "domain": "ci", "pattern": "Pin", "evidence": "It\nbroke"},
]


def test_a_list_of_objects_is_a_table_of_its_columns_with_long_fields_below() -> None:
    output = Output({"lessons": LESSONS}, {"lessons": "id stale none pattern | evidence"})
    assert [*output.lines()] == [
        "id    stale  pattern",
        "a     yes    Rebase [31m often",
        "long         Pin",
        "    evidence: It broke",
    ]
    assert (
        next(Output({"lessons": LESSONS}).lines())
        == "id    domain  pattern            stale  tags  evidence"
    )


def test_values_stand_beside_their_names_and_blocks_below_them() -> None:
    output = Output(
        {
            "done": False,
            "none": [],
            "empty": "",
            "missing": None,
            "share": 0.25,
            "few": ["a", "b"],
            "many": ["x" * 40, "y" * 40],
            "counts": {"new": 2, "old": 0},
            "told": {"grade": "fresh", "behind": 1},
            "lessons": LESSONS[1:],
        },
        {"lessons": "id"},
        notes=["Run it daily."],
        omitted={"lessons": 3, "others": 0},
    )
    assert [*output.lines()] == [
        "done    no",
        "none    none",
        "share   0.25",
        "few     a, b",
        "many:",
        f"  {'x' * 40}",
        f"  {'y' * 40}",
        "counts  new 2, old 0",
        "told:",
        "  grade   fresh",
        "  behind  1",
        "lessons:",
        "  id",
        "  long",
        "Run it daily.",
        "and 3 more lessons",
    ]


def test_json_has_the_same_with_notes_and_what_was_left_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    output = Output({"lessons": ["a"]}, notes=["Run it."], omitted={"lessons": 2, "none": 0})
    print_output(output, as_json=True)
    assert json.loads(capsys.readouterr().out) == {
        "lessons": ["a"],
        "notes": ["Run it."],
        "omitted": {"lessons": 2},
    }


def test_of_each_list_25_items_are_shown_and_the_others_counted() -> None:
    output = limited({"names": [str(number) for number in range(27)], "few": ["a"]})
    assert output.content["names"] == [str(number) for number in range(25)]
    assert output.wire()["omitted"] == {"names": 2}
