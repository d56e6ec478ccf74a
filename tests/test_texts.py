from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules.text.keys import normalised


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Check status before claiming", "check  status\tbefore\nclaiming."),
        ("caf\u00e9", "cafe\u0301"),
        ("\u00c9teins la lampe", "e\u0301teins la lampe"),
        ("  ", ""),
    ],
)
def test_form_spacing_the_first_letter_and_a_final_stop_do_not_matter(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(
    "texts",
    [
        ("Delete it with git branch -d", "Delete it with git branch -D"),
        ("Name the file Config and not config", "Name the file config and not Config"),
        ("-D deletes the branch", "-d deletes the branch"),
        ("PATH is set here", "path is set here"),
        ("Never push to main!", "Never push to main", "Never push to main?"),
        ("Note: retry twice", "Note retry twice"),
        ("Copy a/. to b", "Copy a/ to b"),
        ("Copy it to .", "Copy it to", "Copy it to .."),
        ("Wait 5.", "Wait 5"),
        ("Use \u201cx\u201d", 'Use "x"', "Use `x`", "Use x"),
        ("- Run the tests", "Run the tests"),
        ("return -1", "return 1", "return \u22121"),
        ("size is 10\u00b2", "size is 102"),
        ("re\u00adtry", "retry"),
        ("Stra\u00dfe", "Strasse"),
    ],
)
def test_all_else_keeps_lessons_apart(texts: tuple[str, ...]) -> None:
    assert [
        pair for pair in combinations(texts, 2) if normalised(pair[0]) == normalised(pair[1])
    ] == []


@given(st.text() | st.text(alphabet="aZJ1 -.\t\u00df\u0130\u0345\u0301\u030c\u00bd\u212a\u212b"))
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalised(text)
    assert normalised(once) == once


@given(st.text(), st.text(alphabet=" \t\n\u00a0", max_size=3))
def test_spacing_at_the_ends_never_matters(text: str, space: str) -> None:
    assert normalised(space + text + space) == normalised(text)
