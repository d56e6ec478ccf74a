"""A lesson and the entry that says the same are shown once."""

from dataclasses import replace

from fleet_memory.rules.retrieval.ranking import Match, Terms
from fleet_memory.rules.retrieval.repeats import entries_saying, own_keys, without_repeats
from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.schemas.patterns import Pattern, Rewrite
from tests.entries import CHECK, KEY, LOOK
from tests.lessons import START, pattern, program

ROW = KnowledgeRow(key=KEY, pattern=CHECK, domain="tasks", confidence=0.8, last_confirmed=START)
OTHER = replace(ROW, key="pattern/logs/rotate", pattern="Rotate the logs")
JOINED = pattern(LOOK, knowledge_key=KEY)


def matched(lesson: Pattern | KnowledgeRow, score: float) -> Match[Pattern | KnowledgeRow]:
    return Match(lesson, score, Terms(strength=score))


def test_a_lesson_is_said_by_the_entry_that_it_joined_or_whose_words_it_has() -> None:
    equal = pattern(f"{CHECK.upper()}.", id="equal")
    assert entries_saying([JOINED, equal, pattern("Pin it", id="p3")], [OTHER, ROW]) == {"p1": ROW, "equal": ROW}


def test_of_two_entries_in_the_words_of_a_lesson_the_first_says_it() -> None:
    assert entries_saying([pattern(CHECK, id="equal")], [ROW, replace(OTHER, pattern=CHECK)]) == {"equal": ROW}


def test_a_lesson_whose_entry_cannot_be_read_stays() -> None:
    assert entries_saying([JOINED], [OTHER]) == entries_saying([JOINED], []) == {}


def test_both_texts_of_a_rewrite_are_shown_until_their_author_has_judged_them() -> None:
    rewrite = Rewrite(voting_text=CHECK, at=START)
    assert entries_saying([replace(JOINED, rewrite=rewrite)], [ROW]) == {}
    assert entries_saying([replace(JOINED, rewrite=replace(rewrite, judged_same=True))], [ROW]) == {"p1": ROW}


def test_an_entry_comes_once_where_the_better_of_both_was() -> None:
    alone = pattern("Pin it", id="alone")
    best = [matched(JOINED, 0.9), matched(alone, 0.8), matched(ROW, 0.7), matched(OTHER, 0.6)]
    once = [matched(ROW, 0.9), matched(alone, 0.8), matched(OTHER, 0.6)]
    assert without_repeats(best, {"p1": ROW}) == once
    assert without_repeats([matched(ROW, 0.9), matched(JOINED, 0.7)], {"p1": ROW}) == [matched(ROW, 0.9)]
    assert without_repeats([matched(JOINED, 0.7)], {"p1": ROW}) == [matched(ROW, 0.7)]


def test_an_entry_is_own_through_a_lesson_of_now_or_of_before() -> None:
    assert own_keys(program(JOINED), [ROW, OTHER]) == {KEY}
    assert own_keys(program(), [ROW, replace(OTHER, contributors=("Basher", "iso"))]) == {OTHER.key}
    assert own_keys(program(), [ROW]) == own_keys(program(JOINED), []) == frozenset()
