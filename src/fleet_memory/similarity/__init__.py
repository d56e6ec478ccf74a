"""How alike two lessons are: a Protocol for numbers and one for a model that reads; one module per
engine.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.comparison import Profile
from fleet_memory.schemas.pairs import Verdict

NO_BUILD: Final = (
    "The embedding model has no build for this machine and Python, so lessons are compared by "
    "their letters and only those of equal text merge."
)


class Embedder(Protocol):
    """Turns lessons into vectors; a cosine near 1 means alike lessons.

    `name` is stored with every vector: vectors of different names are never compared. `degraded` is
    a sentence for the operator when this engine stands in for another that could not load, or fails
    for the time being; else "".
    """

    @property
    def name(self) -> str:
        """Identity of model, quantisation and version, for example "minilm-l6-v2/int8/1"."""

    @property
    def profile(self) -> Profile:
        """The thresholds that belong to this engine's cosines."""

    @property
    def degraded(self) -> str:
        """Why the configured engine does not answer, or did not when last asked; empty when it
        does.
        """

    async def check(self) -> None:
        """Settle which engine answers as far as that shows without loading it. Asks no endpoint.

        For a call that reads `name`, `profile` and `degraded` and needs no vector. An engine that
        passes may still not load: await `ready` before a vector is kept under a name that was read
        before it. Raises as `ready`.
        """

    async def ready(self) -> None:
        """Settle which engine answers: load it, or its fallback. Asks no endpoint.

        `name`, `profile` and `degraded` are final afterwards, e.g. `name == "lexical/1"` where a
        model cannot load. Raises EmbedderError when an engine without a fallback cannot load.
        """

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        """Return n texts as n×d float32 rows of length 1; never blocks the event loop.

        Raises EmbedderError when the engine cannot answer.
        """


class Quotation(NamedTuple):
    """A lesson as a judge model sees it."""

    text: str
    evidence: str = ""


class ModelAnswer(NamedTuple):
    """A model's answer: its verdict, None for nonsense, and the tokens that it reports, 0 if it
    reports none.
    """

    verdict: Verdict | None
    tokens: int = 0


class JudgeModel(Protocol):
    """Judges whether two lessons are the same. The name of the model comes from the fleet's
    policy.
    """

    async def compare(self, model: str, first: Quotation, second: Quotation) -> ModelAnswer:
        """Return the model's verdict about two lessons; never blocks the event loop.

        Raises JudgeModelError when this question got no answer, JudgeModelUnavailableError when no
        other question would get one at present.
        """
