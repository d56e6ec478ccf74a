"""A lesson and the entry that covers it are shown once."""

from dataclasses import replace

from fleet_memory.rules.retrieval.ranking import entries_saying, own_keys, stand_ins
from fleet_memory.schemas.knowledge import KnowledgeRow
from tests.entries import CHECK, KEY, LOOK
from tests.lessons import START, pattern, program

ROW = KnowledgeRow(key=KEY, pattern=CHECK, domain="tasks", confidence=0.8, last_confirmed=START)
OTHER = replace(ROW, key="pattern/logs/rotate", pattern="Rotate the logs")
JOINED = pattern(LOOK, knowledge_keys=(KEY,))


def test_a_lesson_is_covered_by_the_entry_that_it_joined_or_whose_words_it_has() -> None:
    equal = pattern(f"{CHECK}.", id="equal")
    assert entries_saying([JOINED, equal, pattern("Pin it", id="p3")], [OTHER, ROW]) == {
        "p1": ROW,
        "equal": ROW,
    }


def test_of_two_entries_in_the_words_of_a_lesson_the_first_covers_it() -> None:
    assert entries_saying([pattern(CHECK, id="equal")], [ROW, replace(OTHER, pattern=CHECK)]) == {
        "equal": ROW
    }


def test_a_lesson_whose_entry_cannot_be_read_stays() -> None:
    assert entries_saying([JOINED], [OTHER]) == entries_saying([JOINED], []) == {}


def test_an_entry_stands_in_for_the_lessons_that_it_states() -> None:
    equal = pattern(f"{CHECK}.", id="equal")
    assert stand_ins([JOINED, pattern("Pin it", id="alone"), equal], [OTHER, ROW]) == {0: 4, 2: 4}
    assert stand_ins([JOINED], [OTHER]) == stand_ins([], [ROW]) == {}


def test_the_entries_of_another_snapshot_are_other_entries() -> None:
    reworded = replace(ROW, key="pattern/tasks/pin", pattern="Pin it")
    equal, joined = pattern("Pin it", id="equal"), replace(JOINED, id="joined")
    for _ in range(2):  # the second time from the places that are kept
        for rows, places in (
            ((ROW,), {0: 2}),
            ((reworded,), {1: 2}),
            ((OTHER, ROW), {0: 3}),
            ((), {}),
        ):
            assert (
                stand_ins([joined, equal], rows) == stand_ins([joined, equal], list(rows)) == places
            )


def test_an_entry_is_own_through_a_lesson_of_now_or_of_before() -> None:
    assert own_keys(program(JOINED), [ROW, OTHER]) == {KEY}
    assert own_keys(program(), [ROW, replace(OTHER, contributors=("Basher", "iso"))]) == {OTHER.key}
    assert own_keys(program(), [ROW]) == own_keys(program(JOINED), []) == frozenset()
