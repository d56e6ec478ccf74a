"""What an embedder's numbers mean: the thresholds that belong to one embedder and to no other."""

from typing import Final

from fleet_memory.schemas.value import Value

NEVER: Final = 2.0  # above every cosine and contrast


class Profile(Value):
    """Thresholds of one embedder, all in 0..1 unless a value above 1 switches the decision off.

    `related`: cosine within one program. `auto`, `strict`, `review`: contrast between programs (cosine less
    half the best rival's). `words`: what sharing all content words adds to a contrast that must reach `auto`. `alone`
    is enough where a third of the words is shared and no rival's cosine exceeds `quiet`. `triangle`: what each of three
    links needs that hold each other. `strict` is for pairs across domains, whatever their words. `floor`: the least a
    rival counts for.
    Source of the default figures: measured on the development sets, see docs/consensus.md.
    """

    related: float = 0.40
    auto: float = 0.58
    words: float = 0.10
    alone: float = 0.46
    triangle: float = 0.36
    quiet: float = 0.39
    strict: float = 0.55
    review: float = 0.25
    floor: float = 0.30


# For a model that nobody measured here. Where unrelated lessons have cosine u, a pair needs c - u/2 >= .60: a cosine of
# .75 at MiniLM's u of .30, of .98 where a model puts everything above .75. So it is never looser than MiniLM's own
# strict threshold, and what it does not merge is offered for review.
CAUTIOUS: Final = Profile(related=0.50, auto=0.60, words=0.0, alone=NEVER, triangle=NEVER, strict=0.65, review=0.30)
