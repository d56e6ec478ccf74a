"""Thresholds of one embedder's cosines; they fit no other embedder."""

from typing import Final

from fleet_memory.schemas.value import Value

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
