"""Open pairs after their lessons changed: they go on, move to an entry, or are gone."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules.consensus.renewing import EntryText, Standing, renewed
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.pairs import Pair, PairState
from tests.entries import CHECK, KEY, LOOK, pair, side

ENTRIES = {KEY: EntryText(text_hash(CHECK), CHECK, "task-claiming", "ram")}
FREE = {("basher", "p1"): Standing(text_hash(CHECK), None), ("sark", "p1"): Standing(text_hash(LOOK), None)}
LESSONS = pair()
WITH_ENTRY = pair(side("ram", CHECK, key=KEY), side("sark", LOOK))


def after(
    known: Pair, lessons: Mapping[tuple[str, str], Standing] = FREE, entries: Mapping[str, EntryText] = ENTRIES
) -> Pair:
    return renewed(known, lambda *place: lessons.get(place), entries)


def test_a_pair_of_unchanged_lessons_is_the_same_object() -> None:
    assert after(LESSONS) is LESSONS
    assert after(WITH_ENTRY) is WITH_ENTRY


def test_a_lesson_that_is_the_text_of_an_entry_is_compared_as_that_entry() -> None:
    joined = FREE | {("basher", "p1"): Standing(text_hash(CHECK), KEY)}
    assert after(LESSONS, joined) == replace(LESSONS, a=side("ram", CHECK, key=KEY))


def test_an_entry_without_a_living_contributor_asks_the_program_of_the_lesson() -> None:
    joined = FREE | {("basher", "p1"): Standing(text_hash(CHECK), KEY)}
    nobody = {KEY: ENTRIES[KEY]._replace(asked="")}
    assert after(LESSONS, joined, nobody).a.program_id == "basher"


@pytest.mark.parametrize(
    "lessons",
    [
        {("basher", "p1"): FREE["basher", "p1"]},
        FREE | {("sark", "p1"): Standing("other words", None)},
        FREE | {("sark", "p1"): Standing(text_hash(LOOK), KEY)},
        FREE | {("sark", "p1"): Standing(text_hash(LOOK), "pattern/gone/x")},
    ],
    ids=["gone or stale", "of another text", "in an entry of another text", "in an entry that is gone"],
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


def test_a_pair_about_a_contribution_goes_on_without_its_lesson_as_long_as_the_entry_has_its_text() -> None:
    member = replace(pair(side("sark", LOOK), side("ram", CHECK, key=KEY)), of_member=True)
    assert after(member, {}) is member
    assert after(member, {}, {}) == replace(member, state="gone")


@pytest.mark.parametrize("state", ["same", "different", "contradict", "gone"])
def test_a_pair_that_is_closed_or_answered_once_stays_as_it_is(state: PairState) -> None:
    closed = replace(LESSONS, state=state)
    assert after(closed, {}, {}) is closed


standings = st.none() | st.builds(
    Standing, st.sampled_from([text_hash(CHECK), text_hash(LOOK), "other"]), st.sampled_from([None, KEY, "gone"])
)


@given(standings, standings)
def test_what_was_renewed_once_is_renewed_for_good(one: Standing | None, other: Standing | None) -> None:
    lessons = {place: found for place, found in ((("basher", "p1"), one), (("sark", "p1"), other)) if found}
    once = after(LESSONS, lessons)
    assert after(once, lessons) is once
    assert once.pair_id == LESSONS.pair_id
