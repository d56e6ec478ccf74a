"""Lessons as proposing compares them, the pairs that it proposes, and an embedder's thresholds."""

from typing import Final, NamedTuple

from fleet_memory.schemas.value import Value


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


NEVER: Final = 2.0  # above every cosine and margin


class Profile(Value):
    """Thresholds of one embedder, all in 0..1 unless a value above 1 switches the decision off.

    Cosines within one program: from `related` up a lesson is named as near to a new one, from
    `variant` up two lessons are no rivals of each other, from `alike` up health counts the later as
    a repetition. Between programs: `review` is the least margin of a pair that is proposed (its
    cosine less half the best rival's), `floor` the least that a rival counts for, `likely` the rank
    above which one `different` is not enough. Source of `review` and `likely`:
    docs/decisions/least-margin.md; of `related`: docs/decisions/merging-by-numbers.md; of `floor`:
    docs/consensus.md; of `variant`: docs/decisions/least-margin.md; of `alike`:
    docs/decay.md.

    `context_share` is that of a lesson's domain and evidence in the vector that questions meet;
    with 0 they meet that of its text. Source: docs/decisions/evidence-in-vectors.md.
    """

    related: float = 0.40
    variant: float = 0.70
    alike: float = 0.70
    review: float = 0.25
    floor: float = 0.30
    likely: float = 0.35
    context_share: float = 0.40


# For a model without measured figures. Nothing merges by numbers, so that figures that do not fit
# cost questions, not knowledge. Variants are not recognised: where all cosines are high, every
# lesson of a program would be one. Questions meet a lesson's text alone, and no endpoint is sent
# evidence.
CAUTIOUS: Final = Profile(related=0.50, variant=NEVER, alike=0.80, review=0.30, context_share=0.0)
