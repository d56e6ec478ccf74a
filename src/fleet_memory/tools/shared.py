"""Arguments and answers that tools of several toolsets share."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

from pydantic import Field

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet, JsonObject
from fleet_memory.rules.curating import freshness
from fleet_memory.rules.entries import doubts, row_state
from fleet_memory.rules.health import judging_counts
from fleet_memory.rules.lifecycle.decay import age_days, is_stale, strength
from fleet_memory.rules.retrieval.budget import MAX_TOKENS, MIN_TOKENS, count_fitting, tokens
from fleet_memory.rules.retrieval.ranking import Match
from fleet_memory.rules.text.keys import domain_of_key, is_key_of
from fleet_memory.schemas.fields import Name, Timestamp
from fleet_memory.schemas.knowledge import (
    Doubt,
    Entry,
    EntryState,
    Freshness,
    KnowledgeRow,
    Snapshot,
)
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.policy import DEFAULT_THRESHOLD
from fleet_memory.schemas.programs import Program
from fleet_memory.schemas.value import Value

_FOLDER: Final = Path(__file__).with_name("texts")
TEXTS: Final = {file.stem: file.read_text("utf-8").rstrip("\n") for file in _FOLDER.glob("*.md")}
"""Texts for agents by name: prompts, instructions, and the notices of a boot as text."""


class Absence(Value):
    """Fields that an answer adds when nothing was ever stored for the program."""

    exists: Literal[False] | None = None
    suggestions: tuple[str, ...] | None = None


_Absence = TypeVar("_Absence", bound=Absence)
MAX_SUGGESTIONS_CHARS: Final = 200  # of close names: an answer that has them fits its budget


async def with_absence(
    answer: _Absence, fleet: Fleet, program: Program, close: Sequence[str] = ()
) -> _Absence:
    """Return an answer that says if nothing was ever stored for a program, with close names of
    programs after those that are `close` to something else. Billed as `Fleet.close_programs` for
    such a program.
    """
    programs = () if program.exists else await fleet.close_programs(program.program_id)
    names = fitting_names([*close, *programs], MAX_SUGGESTIONS_CHARS)
    return replace(answer, exists=None if program.exists else False, suggestions=names or None)


def fitting_names(names: Sequence[str], max_chars: int) -> tuple[str, ...]:
    """Return the first names that have at most so many characters together, with two between
    each.
    """
    lengths = accumulate(len(name) + 2 for name in names)
    return tuple(
        name for name, length in zip(names, lengths, strict=True) if length - 2 <= max_chars
    )


class Degraded(Value):
    """The field of an answer that fell back to another similarity engine than the configured
    one.
    """

    similarity_engine: str | None = None


MaxTokens: TypeAlias = Annotated[
    int, Field(ge=MIN_TOKENS, le=MAX_TOKENS, description="Hard limit of the answer")
]
OwnProgram: TypeAlias = Annotated[Name, Field(description="Your program")]
AnyProgram: TypeAlias = Annotated[Name, Field(description="The program to read")]
RequestId: TypeAlias = Annotated[Name | None, Field(description="Makes a repeated call harmless")]


async def fleet_freshness(fleet: Fleet, snapshot: Snapshot) -> Freshness:
    """Return the freshness of a snapshot. Billed as 2 counts."""
    pending = await fleet.programs.count_pending()
    open_pairs = await fleet.pairs.count_open()
    return freshness(pending, open_pairs, snapshot.consolidated_at, fleet.now())


async def fleet_judging(fleet: Fleet, programs: int) -> Counter[str]:
    """Return whom the pairs of a fleet of so many programs wait for. Billed as 3 counts, and the
    policy.
    """
    return judging_counts(
        await fleet.pairs.count_waiting(),
        programs=programs,
        people_judge=(await fleet.policies.read(fleet.now())).judging == "people",
    )


class PatternAnswer(Value):
    """One of a program's own lessons, `strength` its faded confidence, `age_days` since it was last
    reinforced. An explained one has every field and in `explain` the terms of its score, any other
    the fields that docs/recall.md names.
    """

    id: str
    domain: str
    pattern: str
    evidence: str | None = None
    confidence: float
    strength: float | None = None
    stale: bool | None = None
    age_days: int | None = None
    discovered_at: Timestamp | None = None
    last_reinforced: Timestamp | None = None
    reinforcements: int | None = None
    promoted_to_store: bool | None = None
    knowledge_key: str | None = None
    project_id: str | None = None
    tags: tuple[str, ...] | None = None
    score: float | None = None
    explain: Mapping[str, float] | None = None


class NoteAnswer(Value):
    """A short-term note; `at` is when its text was written last."""

    id: str
    text: str
    pinned: Literal[True] | None = None
    at: Timestamp | None = None


class EntryStanding(Value):
    """An entry of the fleet, and its state after a word or an act of people."""

    key: str
    status: EntryState


class EntryStatement(EntryStanding):
    """What an entry says and who is behind it. `doubts` are the reasons why it is `verify`."""

    pattern: str
    domain: str
    confidence: float
    contributors: tuple[str, ...]
    evidence_count: int
    first_discovered: Timestamp
    last_promoted: Timestamp
    doubts: tuple[Doubt, ...] | None = None


def entry_fields(entry: Entry, status: EntryState) -> JsonObject:
    """Return all fields of an entry, as JSON, for an answer that takes those that it shows."""
    more: JsonObject = {"status": status, "doubts": [*doubts(entry)] or None}
    return {**entry.wire(), **entry.value.wire(), **more}


_T = TypeVar("_T")
_V = TypeVar("_V")


def _scored(
    match: Match[_T] | None, *, explain: bool
) -> tuple[float | None, Mapping[str, float] | None]:
    if match is None:
        return None, None
    terms = {name: term for name, term in match.terms._asdict().items() if term is not None}
    return round(match.score, 3), terms if explain else None


def pattern_answer(
    pattern: Pattern,
    now: datetime,
    program: Program,
    keys: Collection[str],
    *,
    brief: bool = False,
    match: Match[_T] | None = None,
    explain: bool = False,
) -> PatternAnswer:
    """Return one of a program's lessons, lean unless `explain` adds the terms of the score of its
    `match`; a `brief` one is without the figures that the clock moves.

    A lean one has no dates, no defaults, and no field that another one of it implies. `keys` are
    those that agents have read; any other that has the words of another program's lesson is left
    out.
    """
    score, terms = _scored(match, explain=explain)
    confidence, faded = round(pattern.confidence, 2), round(strength(pattern, now), 2)
    key = shown_key(pattern, keys)

    def stated(value: _V) -> _V | None:
        return value if explain else value or None

    return PatternAnswer(
        id=pattern.id,
        domain=pattern.domain,
        pattern=pattern.pattern,
        evidence=stated(pattern.evidence),
        confidence=confidence,
        strength=faded if explain or not (brief or faded == confidence) else None,
        stale=stated(is_stale(pattern, now, program.decay)),
        age_days=None if brief else stated(int(age_days(pattern, now))),
        discovered_at=pattern.discovered_at if explain else None,
        last_reinforced=pattern.last_reinforced if explain else None,
        reinforcements=None if brief else stated(pattern.confirmations),
        promoted_to_store=stated(pattern.promoted) if explain or key is None else None,
        knowledge_key=key,
        project_id=pattern.project_id,
        tags=pattern.tags or None,
        score=score,
        explain=terms,
    )


def shown_key(pattern: Pattern, keys: Collection[str]) -> str | None:
    """Return the key of a lesson's entry as its program may read it: one of the lesson's own words,
    or one of the `keys` that agents have read.
    """
    key = pattern.knowledge_key
    is_own = key is not None and is_key_of(key, pattern.domain, pattern.pattern)
    return key if is_own or key in keys else None


MAX_OF_A_KIND: Final = 25  # items of one kind in an answer; chosen


class KnowledgeAnswer(Value):
    """One shared entry. An explained one has every field, any other those that docs/recall.md
    names. `own`: a lesson of the caller says it.
    """

    key: str
    pattern: str
    domain: str | None = None
    confidence: float | None = None
    contributor_count: int | None = None
    contributors: tuple[str, ...] | None = None
    evidence_count: int | None = None
    last_confirmed: Timestamp | None = None
    status: EntryState | None = None
    own: Literal[True] | None = None
    project_id: str | None = None
    score: float | None = None
    explain: Mapping[str, float] | None = None


def knowledge_answer(
    row: KnowledgeRow,
    now: datetime,
    *,
    contributors: bool = False,
    brief: bool = False,
    own: bool = False,
    match: Match[_T] | None = None,
    explain: bool = False,
) -> KnowledgeAnswer:
    """Return an entry with its status at `now`, without defaults and what another field implies
    unless `explain` adds the terms of the score of its `match`.

    With `own` a lesson of the caller is in it. The contributors' ids come only when asked for. A
    `brief` one has its text, its key, a doubt if there is one, and its breadth where it is more
    than publishes by default.
    """
    score, terms = _scored(match, explain=explain)
    status, breadth = row_state(row, now), len(row.contributors)
    is_implied = row.domain == domain_of_key(row.key)
    return KnowledgeAnswer(
        key=row.key,
        pattern=row.pattern,
        domain=row.domain if explain or not is_implied else None,
        confidence=None if brief else round(row.confidence, 2),
        contributor_count=breadth if not brief or breadth > DEFAULT_THRESHOLD else None,
        contributors=row.contributors if contributors else None,
        evidence_count=row.evidence_count
        if explain or (not brief and row.evidence_count != breadth)
        else None,
        last_confirmed=row.last_confirmed if explain or not (brief or status == "fresh") else None,
        status=status if explain or status != "fresh" else None,
        own=own or None,
        project_id=row.project_id,
        score=score,
        explain=terms,
    )


class Omitting(Value):
    """The field of an answer that counts the items which each of its lists leaves out."""

    omitted: Mapping[str, int] | None = field(default_factory=dict)


_A = TypeVar("_A", bound=Omitting)


def fitted(
    frame: _A,
    lists: Mapping[str, Sequence[Value | str]],
    max_tokens: int,
    *,
    beyond: Mapping[str, int] | None = None,
    most: int | None = None,
) -> _A:
    """Return an answer with as many items of its lists as fit, in their order, of each `most` at
    most, and `omitted`: the number of the others of each, with those `beyond` the lists.

    Raises InvalidArgumentError where it is too long without any.
    """
    every = Counter({name: len(items) for name, items in lists.items()}) + Counter(beyond)
    # measured with every count that it may have to confess
    largest = {**frame.wire(), "omitted": every}
    items = [(name, item) for name, of_list in lists.items() for item in of_list[:most]]
    wires = (item.wire() if isinstance(item, Value) else item for _, item in items)
    first = items[: count_fitting(largest, wires, max_tokens)]
    shown: dict[str, Any] = {  # Any: fields of the answer, for `replace`
        name: tuple(item for of, item in first if of == name) for name in lists
    }
    answer = replace(frame, **shown, omitted=every - Counter(name for name, _ in first))
    if (needed := tokens(answer.wire())) > max_tokens:
        raise InvalidArgumentError(
            f"maxTokens: the answer alone takes {needed} tokens; ask for at least as many"
        )
    return answer
