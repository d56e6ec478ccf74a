"""Lessons as proposing compares them, the pairs that it proposes, and an embedder's thresholds."""

from math import inf
from typing import Final, NamedTuple

from fleet_memory.schemas.value import Value


class ComparableLesson(NamedTuple):
    """A lesson of a program, or an entry of shared knowledge; a plain tuple, because a run may have
    a hundred thousand.

    `program_id` is "" for an entry, `lesson_id` the pattern's id or the entry's key. `words` is a
    hash that is equal for texts of equal words (`rules.text.keys.text_hash`), `earlier` has those
    of texts that its author called the same. `vector` has one number a byte; none of it where there
    is no vector that can be read. `stale_at` is in seconds since 1970. `allowed`: people released
    it though it gives its reader orders. `asked` is the program that is asked about an entry's
    pairs.
    """

    program_id: str
    lesson_id: str
    domain: str
    text: str
    words: str
    project_id: str | None = None
    vector: bytes = b""
    embedder: str = ""
    evidence: str = ""
    stale_at: float = inf
    knowledge_keys: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()
    allowed: bool = False
    asked: str = ""

    @property
    def place(self) -> tuple[str, str]:
        """(program, id), unique in a fleet."""
        return self[:2]

    @property
    def is_entry(self) -> bool:
        """Whether this is an entry of shared knowledge."""
        return not self.program_id


class Proposal(NamedTuple):
    """Two lessons that may be the same, in order of origin and place.

    `margin` is `cosine` less half the nearest rival's, which counts as the profile's floor at
    least. Both are rounded to four digits.
    """

    a: ComparableLesson
    b: ComparableLesson
    cosine: float
    margin: float


NEVER: Final = 2.0  # above every cosine and margin


class Profile(Value):
    """Thresholds of one embedder, all in 0..1 unless a value above 1 switches the decision off.

    Cosines within one program: from `related` up a lesson is named as near to a new one, from
    `alike` up health counts the later as a repetition. Between programs: `review` is the least
    margin of a pair that is proposed (its cosine less half the best rival's), `floor` the least
    that a rival counts for. Source of `review`: docs/decisions/least-margin.md; of `related`:
    docs/decisions/merging-by-numbers.md; of `floor`: docs/consensus.md; of `alike`: docs/decay.md.

    `context_share` is that of a lesson's domain and evidence in the vector that questions meet;
    with 0 they meet that of its text. Source: docs/decisions/evidence-in-vectors.md.
    """

    related: float = 0.40
    alike: float = 0.70
    review: float = 0.20
    floor: float = 0.30
    context_share: float = 0.40


# For a model without measured figures. Nothing merges by numbers, so that figures that do not fit
# cost questions, not knowledge. Questions meet a lesson's text alone, and no endpoint is sent
# evidence.
CAUTIOUS: Final = Profile(related=0.50, alike=0.80, review=0.30, context_share=0.0)
