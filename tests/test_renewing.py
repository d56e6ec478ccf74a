"""Open pairs after their lessons changed: they go on, move to an entry, or are gone."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules.pairs import EntryText, Standing, renewed, with_judgement
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.pairs import Pair, Verdict
from tests.entries import CHECK, KEY, LOOK, judgement, pair, side

ENTRIES = {KEY: EntryText(text_hash(CHECK), CHECK, "task-claiming", "ram")}
FREE = {
    ("basher", "p1"): Standing(text_hash(CHECK), None),
    ("sark", "p1"): Standing(text_hash(LOOK), None),
}
LESSONS = pair()
WITH_ENTRY = pair(side("ram", CHECK, key=KEY), side("sark", LOOK))


def after(
    known: Pair,
    lessons: Mapping[tuple[str, str], Standing] = FREE,
    entries: Mapping[str, EntryText] = ENTRIES,
) -> Pair:
    return renewed(known, lambda *place: lessons.get(place), entries)


def test_a_pair_of_unchanged_lessons_is_the_same_object() -> None:
    assert after(LESSONS) is LESSONS
    assert after(WITH_ENTRY) is WITH_ENTRY


def test_a_lesson_that_is_the_text_of_an_entry_is_compared_as_that_entry() -> None:
    joined = FREE | {("basher", "p1"): Standing(text_hash(CHECK), KEY)}
    assert after(LESSONS, joined) == replace(LESSONS, a=side("ram", CHECK, key=KEY))


def test_an_entry_without_a_living_contributor_asks_no_program() -> None:
    joined = FREE | {("basher", "p1"): Standing(text_hash(CHECK), KEY)}
    nobody = {KEY: ENTRIES[KEY]._replace(asked="")}
    assert after(LESSONS, joined, nobody).a.program_id == ""


@pytest.mark.parametrize(
    "lessons",
    [
        {("basher", "p1"): FREE["basher", "p1"]},
        FREE | {("sark", "p1"): Standing("other words", None)},
        FREE | {("sark", "p1"): Standing(text_hash(LOOK), KEY)},
        FREE | {("sark", "p1"): Standing(text_hash(LOOK), "pattern/gone/x")},
    ],
    ids=[
        "gone or stale",
        "of another text",
        "in an entry of another text",
        "in an entry that is gone",
    ],
)
def test_a_pair_whose_lesson_changed_is_gone(lessons: Mapping[tuple[str, str], Standing]) -> None:
    assert after(LESSONS, lessons) == replace(LESSONS, state="gone")


def test_a_pair_with_an_entry_of_another_text_is_gone() -> None:
    assert after(WITH_ENTRY, FREE, {}) == replace(WITH_ENTRY, state="gone")
    other = {KEY: ENTRIES[KEY]._replace(words="other words")}
    assert after(WITH_ENTRY, FREE, other) == replace(WITH_ENTRY, state="gone")


def test_two_sides_of_one_entry_are_no_pair() -> None:
    twin = pair(side("ram", CHECK, key=KEY), side("sark", CHECK.upper()))
    joined = {("sark", "p1"): Standing(text_hash(CHECK), KEY)}
    assert after(twin, joined) == replace(twin, state="gone")


def judged(known: Pair, *verdicts: tuple[str | None, Verdict]) -> Pair:
    for name, verdict in verdicts:
        known = with_judgement(known, judgement(name, verdict))
    return known


@pytest.mark.parametrize(
    "closed",
    [
        judged(LESSONS, (None, "same")),
        judged(LESSONS, ("basher", "same"), ("sark", "same")),
        judged(LESSONS, ("basher", "different")),
        judged(LESSONS, ("basher", "contradict")),
        replace(LESSONS, state="gone"),
    ],
    ids=["same by a person", "same", "different", "contradict", "gone"],
)
def test_a_pair_that_is_not_asked_stays_as_it_is(closed: Pair) -> None:
    assert after(closed, {}, {}) is closed


def test_a_same_that_waits_goes_on_without_its_lessons() -> None:
    same = judged(LESSONS, ("basher", "same"))
    assert after(same, {}) is same


def test_a_different_that_waits_is_gone_without_its_lessons_and_starts_again_with_their_texts() -> (
    None
):
    different = judged(replace(LESSONS, likely=True), ("basher", "different"))
    assert after(different) is different
    assert after(different, {}) == replace(different, state="gone", judgements=())


@pytest.mark.parametrize(
    "verdicts", [[], [("sark", "same")], [("sark", "different")]], ids=["open", "same", "diff"]
)
def test_an_entry_asks_its_next_oldest_contributor(verdicts: list[tuple[str, Verdict]]) -> None:
    known = judged(replace(WITH_ENTRY, likely=True), *verdicts)
    deleted = {KEY: ENTRIES[KEY]._replace(asked="iso")}
    assert after(known, FREE, deleted) == replace(known, a=side("iso", CHECK, key=KEY))


standings = st.none() | st.builds(
    Standing,
    st.sampled_from([text_hash(CHECK), text_hash(LOOK), "other"]),
    st.sampled_from([None, KEY, "gone"]),
)


@given(standings, standings)
def test_renewing_a_renewed_pair_changes_nothing(
    one: Standing | None, other: Standing | None
) -> None:
    lessons = {
        place: found for place, found in ((("basher", "p1"), one), (("sark", "p1"), other)) if found
    }
    once = after(LESSONS, lessons)
    assert after(once, lessons) is once
    assert once.pair_id == LESSONS.pair_id
