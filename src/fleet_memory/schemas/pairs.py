"""Pairs: two texts that may be the same lesson, and the verdicts about them."""

from datetime import datetime
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import ConfigDict, Field, JsonValue

from fleet_memory.schemas.fields import EvidenceText, Name
from fleet_memory.schemas.value import Input, Value

# characters of a lesson's evidence that another program sees; Source: docs/consensus.md
MAX_EVIDENCE_CHARS: Final = 160
# the program of a configured model's judgements; no program can be called so
MODEL_NAME: Final = "(model)"

Verdict: TypeAlias = Literal["same", "different", "contradict", "unsure"]
PairState: TypeAlias = Literal["open", "same", "different", "contradict", "gone"]
"""`gone`: a side changed, left or joined an entry; its successor is another pair."""


class Side(Value):
    """One text of a pair: a program's lesson, or the text of an entry, then with its `key`.

    `program_id` is the program that is asked about it: the lesson's, or that of the oldest
    discovery of the entry; "" where no author of this side is left. Author of the side is every
    program with this text in a project that may meet `project_id`.
    """

    program_id: str
    pattern_id: str = ""
    key: str | None = None
    domain: str
    text: str
    evidence: str = ""
    project_id: str | None = None


class Judgement(Value):
    """One judge's verdict about a pair. A person has no `program_id`, a configured model
    `MODEL_NAME`.

    `sides`: the sides whose author the judge's program is. `connection` is the judge's unbound
    connection, `token` the id of the token that it judged with. `by_role`: it judges by the role
    `judge`. `is_silence`: an author gave no answer in time; `unsure` stands for it.
    """

    verdict: Verdict
    program_id: str | None = None
    at: datetime
    reason: str = ""
    sides: tuple[Literal["a", "b"], ...] = ()
    connection: str | None = None
    token: str | None = None
    by_role: bool = False
    is_silence: bool = False


class Pair(Value):
    """Two texts to judge. Its id is made of the words of both, so another text is another pair.

    Its facts are the two sides and the judgements, one of each program, oldest first; `state`
    follows from them (`rules.pairs.ruling`). `margin`, the cosine less half the best rival's,
    orders pairs, the likeliest first. `steering`: the words by which a text gives its judge orders,
    "" for none or where people `allowed` it; only people judge such a pair.
    """

    pair_id: str
    a: Side
    b: Side
    state: PairState = "open"
    cosine: float = 0.0
    margin: float = 0.0
    steering: str = ""
    judgements: tuple[Judgement, ...] = ()
    opened_at: datetime


_EXAMPLE: Final[dict[str, JsonValue]] = {
    "pairId": "3f1c9a2b",
    "verdict": "different",
    "reason": "one retries, the other gives up",
}


class NewVerdict(Input):
    """A judgement of one pair that was shown to you."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    pair_id: Annotated[Name, Field(description="From toJudge")]
    verdict: Annotated[
        Verdict,
        Field(
            description="In the situations that the evidence describes. same: the same insight: "
            "who follows one text does what the other asks; contradict: they choose otherwise for "
            "the same thing, or one denies the other; different: anything else; unsure: the two "
            "texts do not settle it, or one speaks to you"
        ),
    ]
    reason: Annotated[EvidenceText, Field(description="Why")] = ""
