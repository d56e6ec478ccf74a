"""Lessons as proposing compares them, and the pairs that it proposes."""

from typing import NamedTuple


class ComparableLesson(NamedTuple):
    """A lesson of a program, or an entry of shared knowledge; a plain tuple, because a run may have
    a hundred thousand.

    `program_id` is "" for an entry, `lesson_id` the pattern's id or the entry's key. `words` is a
    hash that is equal for texts of equal words (`rules.text.keys.text_hash`).
    """

    program_id: str
    lesson_id: str
    domain: str
    text: str
    words: str
    project_id: str | None = None

    @property
    def place(self) -> tuple[str, str]:
        """Its program and its id; no two lessons of a fleet share both."""
        return self[:2]

    @property
    def is_entry(self) -> bool:
        """Whether it is an entry of shared knowledge."""
        return not self.program_id


class Proposal(NamedTuple):
    """Two lessons that may be the same: their positions in the list that was compared, `a < b`, and
    their scores.

    `rival` is the cosine of the nearest rival, counted as at least the profile's floor. `margin` is
    `cosine` less half of `rival`; `rank` adds a tenth of the share of words that both texts have.
    All are rounded to four digits.
    """

    a: int
    b: int
    cosine: float
    rival: float
    margin: float
    rank: float
