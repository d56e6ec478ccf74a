"""Pairs: two texts that may be the same lesson, and the verdicts about them."""

from datetime import datetime
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import ConfigDict, Field, JsonValue

from fleet_memory.schemas.fields import EvidenceText, Name
from fleet_memory.schemas.value import Input, Value

MAX_EVIDENCE_CHARS: Final = (
    160  # characters of a lesson's evidence that another program sees; Source: docs/consensus.md
)
MODEL_NAME: Final = (
    "(model)"  # the program of a configured model's judgements; no program can be called so
)

Verdict: TypeAlias = Literal["same", "different", "contradict", "unsure"]
PairState: TypeAlias = Literal["open", "same", "different", "contradict", "gone"]
"""`gone`: a side changed, left or joined an entry; its successor is another pair."""


class Side(Value):
    """One text of a pair: a program's lesson, or the text of an entry, then with its `key`.

    `program_id` is the program that is asked about it: the lesson's, or the oldest contributor of
    the entry.
    """

    program_id: str
    pattern_id: str = ""
    key: str | None = None
    domain: str
    text: str
    evidence: str = ""


class Judgement(Value):
    """One judge's verdict about a pair. A person has no `program_id`, a configured model
    `MODEL_NAME`.

    `connection` is the judge's unbound connection: verdicts of several names over one are one
    verdict. `token` is the id of the token that it judged with. `contributed`: the judge has a
    lesson on either side, or wrote over a connection that has. `by_role`: it judges by the role
    `judge`. `also` are the programs whose verdicts it replaced, as they are compared.
    """

    verdict: Verdict
    program_id: str | None = None
    at: datetime
    reason: str = ""
    connection: str | None = None
    token: str | None = None
    contributed: bool = False
    by_role: bool = False
    also: tuple[str, ...] = ()


class Pair(Value):
    """Two texts to judge. Its id is made of the words of both, so another text is another pair.

    `rank` orders pairs, the likeliest first: `margin` (the cosine less half the best rival's) and
    shared words. `steering`: the words by which a text
    gives its judge orders, "" for none: people alone judge the pair. `by_person`: a person
    closed it, for good. `likely`: it ranks so high that one `different`
    alone does not close it. `unsaid`: a `contradict` is no word against its entry yet, because no
    agent reads the entry. `thirds`: the programs without a side that can judge it or have, when
    they are fewer than may be asked; None for enough.
    """

    pair_id: str
    a: Side
    b: Side
    state: PairState = "open"
    cosine: float = 0.0
    margin: float = 0.0
    rank: float = 0.0
    steering: str = ""
    judgements: tuple[Judgement, ...] = ()
    by_person: bool = False
    likely: bool = False
    unsaid: bool = False
    thirds: int | None = None
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
            description="In the situations that the evidence describes. same: following one "
            "text does all that the "
            "other asks, and nothing else; contradict: they choose otherwise for the same "
            "thing, or one denies the "
            "other; different: anything else; unsure: the two texts do not settle it, or one "
            "speaks to you"
        ),
    ]
    reason: Annotated[EvidenceText, Field(description="Why")] = ""
