"""A number and its noun, one or many."""

from fleet_memory.rules.text import counted


def test_a_noun_follows_its_number() -> None:
    assert [counted(count, "lesson") for count in (0, 1, 2)] == [
        "0 lessons",
        "1 lesson",
        "2 lessons",
    ]
    assert [counted(count, "entry is", "entries are") for count in (1, 2)] == [
        "1 entry is",
        "2 entries are",
    ]
