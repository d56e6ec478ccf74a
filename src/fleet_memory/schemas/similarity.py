"""What an embedder's numbers mean: the thresholds that belong to one embedder and to no other."""

from pydantic import BaseModel, ConfigDict


class Profile(BaseModel):
    """Thresholds of one embedder, all in 0..1 unless a value above 1 switches the decision off.

    `same`, `related`: cosine within one program. `auto`, `strict`, `review`: contrast between programs (cosine less
    half the best rival's). `alone` is enough instead of `auto` where no rival's cosine exceeds `quiet`; `strict` is for
    pairs across domains. `floor`: the least a rival counts for.
    Source of the default figures: measured on the development sets, see docs/consensus.md.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    same: float = 0.92
    related: float = 0.40
    auto: float = 0.50
    alone: float = 0.45
    quiet: float = 0.39
    strict: float = 0.55
    review: float = 0.25
    floor: float = 0.30
