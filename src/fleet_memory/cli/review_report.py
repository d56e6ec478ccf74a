"""A pair as a person reads it before judging: both texts whole, their programs, the verdicts, and
who is asked now.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from fleet_memory.fleet import Fleet
from fleet_memory.rules.consensus.judging import UNANSWERED, Questions, questions
from fleet_memory.rules.health import MIN_PROGRAMS_OF_A_THIRD
from fleet_memory.rules.text.differing import differs
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.pairs import MODEL_NAME, Judgement, Pair, Side
from fleet_memory.tools.asking import IGNORED

_FIELDS: Final = (
    "pairId",
    "state",
    "cosine",
    "steering",
    "openedAt",
)  # as they are; the others do not help a judge


class WaitingPair(NamedTuple):
    """A pair that somebody is asked about; `contributors` are the programs of its entries, by
    key.
    """

    pair: Pair
    asked: Questions
    contributors: Mapping[str, tuple[str, ...]]

    @property
    def waits_for(self) -> str:
        """Who is asked, e.g. "people", "a third program", "basher and iso"."""
        if self.asked.people:
            return "people"
        return " and ".join(
            [*self.asked.programs, *(["a third program"] if self.asked.third else [])]
        )


async def waiting_pairs(fleet: Fleet) -> list[WaitingPair]:
    """Return the pairs that wait: for people alone first, then for a third program; of each the
    likeliest first.

    Where people judge all of them wait for people, and so do those for a third program where there
    is none. Billed 1 read for each pair and each of their entries, and 1 sum.
    """
    pairs = await fleet.pairs.waiting()
    people_judge = (await fleet.policies.read(fleet.now())).judging == "people"
    has_third = await fleet.programs.count() >= MIN_PROGRAMS_OF_A_THIRD
    keys = sorted({side.key for pair in pairs for side in (pair.a, pair.b) if side.key})
    entries = await fleet.knowledge.read_versioned(*keys) if keys else []
    known = {
        versioned.entry.key: _contributing(versioned.entry)
        for versioned in entries
        if versioned.entry
    }
    waiting: list[WaitingPair] = []
    for pair in pairs:
        asked = questions(pair)
        nobody = people_judge or (asked.third and not has_third)
        waiting.append(WaitingPair(pair, Questions(people=True) if nobody else asked, known))
    return sorted(waiting, key=_urgency)


def _urgency(waiting: WaitingPair) -> tuple[int, float, str]:
    group = 0 if waiting.asked.people else 1 if waiting.asked.third else 2
    return group, -waiting.pair.rank, waiting.pair.pair_id


def pair_report(waiting: WaitingPair) -> Iterable[str]:
    """Return the lines about a pair: since when it waits and for whom, the hint, both texts,
    and the verdicts.
    """
    pair = waiting.pair
    state = "" if pair.state == "open" else f", {pair.state} by one judge"
    yield (
        f"opened {pair.opened_at:%Y-%m-%d}, alike {pair.cosine:.2f}{state}; waits for "
        f"{waiting.waits_for}"
    )
    if pair.steering:
        yield f"gives its judge orders: {pair.steering}"
    elif hint := differs(pair.a.text, pair.b.text):
        yield f"other {hint}"
    for side in (pair.a, pair.b):
        yield f"  {_name(side, waiting.contributors)} ({side.domain}): {side.text}"
        if side.evidence:
            yield f"    evidence: {side.evidence}"
    yield from map(_said, pair.judgements)


def pair_wire(waiting: WaitingPair) -> dict[str, object]:
    """Return the same as JSON: the pair, whom it waits for, and who contributes to its entries."""
    pair = waiting.pair
    judged = [{**judgement.wire(), "by": _judge(judgement)} for judgement in pair.judgements]
    sides: dict[str, object] = {}
    for name, side in (("a", pair.a), ("b", pair.b)):
        sides[name] = {**side.wire(), **_contributors(side, waiting.contributors)}
    wire = {name: value for name, value in pair.wire().items() if name in _FIELDS}
    return {**wire, **sides, "judgements": judged, "waitsFor": waiting.waits_for}


def _contributing(entry: Entry) -> tuple[str, ...]:
    return tuple(sorted({line.program_id for line in entry.provenance}))


def _contributors(side: Side, contributors: Mapping[str, tuple[str, ...]]) -> dict[str, object]:
    return {"contributors": contributors[side.key]} if side.key and side.key in contributors else {}


def _name(side: Side, contributors: Mapping[str, tuple[str, ...]]) -> str:
    if side.key is None:
        return f"{side.program_id}/{side.pattern_id}"
    programs = contributors.get(side.key, ())
    return f"entry {side.key}" + (f" of {', '.join(programs)}" if programs else "")


def _judge(judgement: Judgement) -> str:
    match judgement.program_id:
        case None:
            return "a person"
        case name if name == MODEL_NAME:
            return "the model"
        case name:
            return name


def _said(judgement: Judgement) -> str:
    by = _judge(judgement)
    if judgement.verdict == "unsure" and judgement.reason == IGNORED:
        return f"{by} was shown it three times and did not answer"
    if judgement.verdict == "unsure" and judgement.reason == UNANSWERED:
        return f"{by} gave {UNANSWERED}"
    return f"{by} said {judgement.verdict}" + (f": {judgement.reason}" if judgement.reason else "")
