"""A lesson and the entry that covers it are shown once."""

from dataclasses import replace

from fleet_memory.rules.retrieval.ranking import by_strength, entries_saying, own_keys, with_entries
from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.schemas.patterns import Pattern
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


def test_an_entry_comes_once_in_place_of_the_lessons_that_it_states() -> None:
    first, alone, equal = JOINED, pattern("Pin it", id="alone"), pattern(f"{CHECK}.", id="equal")
    pool: list[Pattern | KnowledgeRow] = [first, alone, equal, OTHER, ROW]
    best = by_strength(pool, [0.9, 0.8, 0.7, 0.6, 0.5])
    shown = with_entries(best, entries_saying([first, alone, equal], [OTHER, ROW]))
    assert shown == [best[0]._replace(lesson=ROW), best[1], best[3]]
    assert with_entries(best, {}) == best


def test_an_entry_is_own_through_a_lesson_of_now_or_of_before() -> None:
    assert own_keys(program(JOINED), [ROW, OTHER]) == {KEY}
    assert own_keys(program(), [ROW, replace(OTHER, contributors=("Basher", "iso"))]) == {OTHER.key}
    assert own_keys(program(), [ROW]) == own_keys(program(JOINED), []) == frozenset()
