"""The pairs of a run: which open ones go on, and which new ones a reader should judge."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final, NamedTuple

from anyio import to_thread

from fleet_memory.fleet import Fleet, Progress
from fleet_memory.jobs.proposing.considering import PairChange, with_others_verdicts
from fleet_memory.jobs.proposing.reading import FleetView, KnownEntry
from fleet_memory.repositories.pairs import VersionedPair
from fleet_memory.repositories.proposing_memory import KnownLesson, ProposingMemory
from fleet_memory.rules.pairs import (
    EntryText,
    Standing,
    questions,
    renewed,
    with_thirds,
    with_unanswered,
)
from fleet_memory.rules.proposing import (
    MAX_OPEN_PER_PROGRAM,
    Comparison,
    KnownPairs,
    blocks,
    chosen,
    comparison,
)
from fleet_memory.rules.text.keys import pair_id
from fleet_memory.rules.text.steering import lesson_steering
from fleet_memory.rules.text.vectors import int8_rows
from fleet_memory.schemas.comparison import ComparableLesson, Proposal
from fleet_memory.schemas.pairs import Pair, Side

MAX_STEPS_REPORTED: Final = 20  # reports of progress in one phase of a run; chosen
PAIRS_PER_READ: Final = 100  # chosen: some 5 ms on SQLite


@dataclass(frozen=True)
class PairPlan:
    """The lessons and entries that were compared, the proposals by position, and the open pairs
    that changed.

    `waiting` counts the living lessons that are in no entry.
    """

    compared: Sequence[KnownLesson | KnownEntry]
    proposals: Iterable[Proposal]
    renewed: Sequence[Pair]
    waiting: int


async def plan_pairs(
    fleet: Fleet, memory: ProposingMemory, view: FleetView, progress: Progress
) -> PairPlan:
    """Compare the lessons to be considered with all others of the fleet, and look at the open pairs
    again.

    In threads, one block of lessons after the other.
    """
    plan, wanted = await to_thread.run_sync(
        _prepared, memory, view, fleet.now(), abandon_on_cancel=True
    )
    if not wanted:
        return plan
    compared = await to_thread.run_sync(_comparison, fleet, plan, abandon_on_cancel=True)
    steps, parts = blocks(compared, wanted), []
    for at, block in enumerate(steps):
        if is_step(at, len(steps)):
            await progress(
                2 + at / len(steps), 4, f"comparing lessons: {at} of {len(steps)} blocks"
            )
        parts.append(await to_thread.run_sync(compared.partners, block, abandon_on_cancel=True))
    ranked = await to_thread.run_sync(compared.ranked, parts, abandon_on_cancel=True)
    return replace(plan, proposals=ranked)


def _comparison(fleet: Fleet, plan: PairPlan) -> Comparison:
    engine = fleet.embedder
    rows = int8_rows(((item.vector, item.embedder) for item in plan.compared), engine.name)
    return comparison([item.comparable for item in plan.compared], rows, engine.profile)


def is_step(at: int, count: int) -> bool:
    """Whether to report before item `at` of so many: 20 times at most, and not before the first."""
    return at * MAX_STEPS_REPORTED // count > max(0, at - 1) * MAX_STEPS_REPORTED // count


def _prepared(
    memory: ProposingMemory, view: FleetView, now: datetime
) -> tuple[PairPlan, Sequence[int]]:
    """Return the plan without its proposals, and the positions of the lessons to compare."""
    living = memory.living(now)
    entries = [entry for _, entry in sorted(view.entries.items())]
    free = (lesson for lesson in living if lesson.knowledge_key is None)
    compared: list[KnownLesson | KnownEntry] = [*free, *entries]
    after = renewed_pairs(memory, view, living, now)
    wanted = _wanted([item.comparable for item in compared], memory, view, after)
    return PairPlan(compared, (), after, len(compared) - len(entries)), wanted


def _wanted(
    compared: Sequence[ComparableLesson],
    memory: ProposingMemory,
    view: FleetView,
    after: Sequence[Pair],
) -> list[int]:
    """Return the positions of the lessons to compare with all others.

    These are the pending ones, new entries, the lessons of a pair that asks them no more, and, as a
    limit may have left out pairs of theirs, all lessons of a program with one of these while fewer
    pairs than may be ask it.
    """
    new_keys = view.new_keys(memory)
    changed = {pair.pair_id: pair for pair in after}
    freed_pairs = [
        pair
        for id_, pair in changed.items()
        if _takes_a_place(memory.pairs[id_]) > _takes_a_place(pair)
    ]
    left = {side for pair in freed_pairs for side in (pair.a, pair.b)}
    places = {place_of(side) for side in left if side.key is None}
    asking = Counter(
        name
        for pair in {**memory.pairs, **changed}.values()
        if _takes_a_place(pair)
        for name in {pair.a.program_id, pair.b.program_id}
    )
    freed = {
        name
        for name in {*view.pending, *(side.program_id for side in left)}
        if asking[name] < MAX_OPEN_PER_PROGRAM
    }

    def is_wanted(lesson: ComparableLesson) -> bool:
        if lesson.is_entry:
            return lesson.lesson_id in new_keys
        pending = view.pending.get(lesson.program_id, ())
        return lesson.program_id in freed or lesson.place in places or lesson.lesson_id in pending

    return [at for at, lesson in enumerate(compared) if is_wanted(lesson)]


def renewed_pairs(
    memory: ProposingMemory, view: FleetView, living: Sequence[KnownLesson], now: datetime
) -> list[Pair]:
    """Return the pairs that wait and go on otherwise than before, or not at all."""
    standing = {
        lesson.comparable.place: Standing(lesson.comparable.words, lesson.knowledge_key)
        for lesson in living
    }
    texts = {
        key: EntryText(
            entry.comparable.words, entry.comparable.text, entry.comparable.domain, entry.asked
        )
        for key, entry in view.entries.items()
    }
    programs, contributors = memory.programs(), memory.contributors()
    continued = (
        renewed(pair, lambda *place: standing.get(place), texts) for pair in memory.pairs.values()
    )
    after = (with_unanswered(with_thirds(pair, programs, contributors), now) for pair in continued)
    return [pair for pair in after if pair is not memory.pairs[pair.pair_id]]


def _takes_a_place(pair: Pair) -> bool:
    """Whether a pair counts for the limits of its programs: it is open, and a program with a side
    is asked.
    """
    return pair.state == "open" and bool(questions(pair).programs)


class ChosenPairs(NamedTuple):
    """The pairs to write, and those that were judged before about the same texts: their verdicts
    apply again.
    """

    changes: Sequence[PairChange]
    judged: Sequence[Pair]


async def with_known_pairs(
    fleet: Fleet, memory: ProposingMemory, view: FleetView, plan: PairPlan
) -> ChosenPairs:
    """Return the renewed pairs, and the best proposals that are no pairs yet.

    Which pairs are known is read for those that would be opened alone, until none of them is.
    Billed 1 read each.
    """
    lessons = [item.comparable for item in plan.compared]
    renewed_ = {pair.pair_id: pair for pair in plan.renewed}
    waiting = [*{**memory.pairs, **renewed_}.values()]
    retired = {key for key, entry in view.entries.items() if entry.is_retired}
    asked = {key: entry.asked for key, entry in view.entries.items()}
    open_sides = tuple(
        (place_of(pair.a), place_of(pair.b)) for pair in waiting if _takes_a_place(pair)
    )
    undecided = {
        pair.pair_id for pair in waiting if pair.state == "open"
    }  # one judge's `same` applies to others too
    read: dict[str, VersionedPair] = {}
    judged: dict[str, Pair] = {}
    while True:
        read_pairs = {name: versioned.pair for name, versioned in read.items()}
        known = {
            name for name, pair in read_pairs.items() if pair is not None and pair.state != "gone"
        }
        pairs = KnownPairs(frozenset(known | undecided), open_sides)
        choose = partial(chosen, plan.proposals, lessons, pairs, retired, asked)
        proposals = await to_thread.run_sync(choose, abandon_on_cancel=True)
        picked = {_pair_id(proposal, lessons): proposal for proposal in proposals}
        unread = [name for name in picked if name not in read]
        if not unread:
            break
        read |= dict(zip(unread, await _read_pairs(fleet, unread), strict=True))
        for name in unread:
            pair = read[name].pair
            if pair is None or pair.state not in ("same", "contradict"):
                continue
            again = replace(
                pair,
                a=side_of(plan.compared[picked[name].a]),
                b=side_of(plan.compared[picked[name].b]),
            )
            if pair.state == "same" or pair.unsaid or not _keys(again) <= _keys(pair):
                judged[name] = again  # else its words are with the entries already

    def opened() -> list[PairChange]:
        programs, contributors = memory.programs(), memory.contributors()
        pairs = [_opened(fleet, plan, proposal, read[name]) for name, proposal in picked.items()]
        return [
            pair._replace(after=with_thirds(pair.after, programs, contributors)) for pair in pairs
        ]

    changes = await to_thread.run_sync(opened, abandon_on_cancel=True)
    return ChosenPairs([*changes, *await _renewed(fleet, memory, plan)], list(judged.values()))


async def _read_pairs(fleet: Fleet, ids: Sequence[str]) -> list[VersionedPair]:
    """Return pairs, 100 a read: a first run opens thousands, and calls wait for each read."""
    parts = [ids[start : start + PAIRS_PER_READ] for start in range(0, len(ids), PAIRS_PER_READ)]
    return [pair for part in parts for pair in await fleet.pairs.read(*part)]


async def _renewed(fleet: Fleet, memory: ProposingMemory, plan: PairPlan) -> list[PairChange]:
    """Return the open pairs that change, with the verdicts of now; the memory learns which are no
    longer open.
    """
    if not plan.renewed:
        return []
    changes: list[PairChange] = []
    pairs = await _read_pairs(fleet, [pair.pair_id for pair in plan.renewed])
    for now, planned in zip(pairs, plan.renewed, strict=True):
        as_compared = VersionedPair(planned.pair_id, memory.pairs[planned.pair_id], "")
        change = with_others_verdicts(PairChange(as_compared, planned, _owner(planned)), now)
        after = with_unanswered(change.after, fleet.now()) if change is not None else None
        if change is not None and after is not None and after != now.pair:
            changes.append(change._replace(after=after))
        elif now.pair is not None:
            memory.remember_pair(now.pair)
    return changes


def _keys(pair: Pair) -> set[str]:
    return {side.key for side in (pair.a, pair.b) if side.key is not None}


def place_of(side: Side) -> tuple[str, str]:
    """Return where a side stands, as `ComparableLesson.place`."""
    return ("", side.key) if side.key is not None else (side.program_id, side.pattern_id)


def _pair_id(proposal: Proposal, lessons: Sequence[ComparableLesson]) -> str:
    return pair_id(lessons[proposal.a].words, lessons[proposal.b].words)


def _opened(fleet: Fleet, plan: PairPlan, proposal: Proposal, before: VersionedPair) -> PairChange:
    a, b = (side_of(plan.compared[at]) for at in (proposal.a, proposal.b))
    pair = Pair(
        pair_id=before.pair_id,
        a=a,
        b=b,
        cosine=proposal.cosine,
        margin=proposal.margin,
        rank=proposal.rank,
        steering=_steering(a, b, before.pair),
        judgements=before.pair.judgements if before.pair else (),
        likely=proposal.rank > fleet.embedder.profile.likely,
        opened_at=fleet.now(),
    )
    return PairChange(before, pair, _owner(pair))


def _owner(pair: Pair) -> str:
    """Return the program with which a pair is committed: that of a lesson, else one that is asked
    about an entry.
    """
    sides = sorted((pair.a, pair.b), key=lambda side: side.key is not None)
    return next((side.program_id for side in sides if side.program_id), "")


def _steering(a: Side, b: Side, before: Pair | None) -> str:
    """Return the words by which a text gives its judge orders; those that a model found stay."""
    if before is not None and before.steering:
        return before.steering
    of_sides = (lesson_steering(side.text, side.evidence, side.domain) for side in (a, b))
    return next(filter(None, of_sides), "")


def side_of(item: KnownLesson | KnownEntry) -> Side:
    """Return a lesson or an entry as the side of a pair."""
    lesson = item.comparable
    if isinstance(item, KnownEntry):
        return Side(
            program_id=item.asked, key=lesson.lesson_id, domain=lesson.domain, text=lesson.text
        )
    return Side(
        program_id=lesson.program_id,
        pattern_id=lesson.lesson_id,
        domain=lesson.domain,
        text=lesson.text,
        evidence=item.evidence,
    )
