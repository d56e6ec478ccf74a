from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules.text.keys import normalised


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Check status before claiming", "check  STATUS\tbefore claiming."),
        ("Never push to main!", "Never push to main"),
        ("Note: retry twice", "note retry twice"),
        ("Use `store_memory` for notes", "Use \u201cstore_memory\u201d for notes."),
        ("Check task.status === 'created'", 'Check task.status === "created".'),
        ("Don\u2019t push", "Don't push"),
        ("- Run the tests", "Run the tests"),
        ("Retry (with backoff), then stop", "Retry with backoff then stop"),
        ("\uff32etry \u2460 time", "retry 1 time"),
        ("re\u00adtry\u200b", "retry"),
        ("Return \u22121", "return -1"),
        ("caf\u00e9", "cafe\u0301"),
        ("STRASSE", "stra\u00dfe"),
        ("  ", ""),
    ],
)
def test_form_case_spacing_and_the_punctuation_of_prose_do_not_matter(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(
    "texts",
    [
        ("return -1", "return 1", "return +1", "return ~1"),
        ("a != b", "a == b", "a = b", "a === b", "a b"),
        ("pin v2.1", "pin v21", "pin v2 1"),
        ("write C++", "write C", "write C#"),
        ("push --force", "push -force", "push force"),
        ("delete *.py", "delete .py", "delete py"),
        ('return ""', "return", 'return "5"', "return 5", "return [5]"),
        ("copy it to .", "copy it to", "copy it to ..", "copy it to /"),
        ("call f()", "call f", "call f(x)"),
        ("wait 1.5 s", "wait 15 s", "wait 1,5 s"),
        ("size is 10\u00b2", "size is 102"),
        ("wait 1\u00bd minutes", "wait 11/2 minutes", "wait 1 minutes"),
        ("use store_memory", "use store-memory", "use store memory"),
        ("50%", "50", "$50"),
        ("x <= 3", "x < 3", "x >= 3"),
        ("a && b", "a & b", "a || b"),
        ("read x[0]", "read x[1]", "read x"),
        ("a <- b", "a -> b"),
    ],
)
def test_symbols_that_carry_meaning_keep_lessons_apart(texts: tuple[str, ...]) -> None:
    assert [
        pair for pair in combinations(texts, 2) if normalised(pair[0]) == normalised(pair[1])
    ] == []


@given(
    st.text() | st.text(alphabet="aZ1 -\"'`().,;:!?*_\u2014\u00df\u0130\u0345\u0301\u00bd\u00b2")
)
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalised(text)
    assert normalised(once) == once


@given(st.text(), st.text(alphabet=" \t\n\u00a0", max_size=3))
def test_spacing_at_the_ends_never_matters(text: str, space: str) -> None:
    assert normalised(space + text + space) == normalised(text)
