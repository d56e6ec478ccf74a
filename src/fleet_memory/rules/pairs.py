"""The verdict of a pair's judges, who is asked next, and pairs whose texts changed.

Source: docs/consensus.md; of the configured model: docs/judge-model.md.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

from fleet_memory.rules.entries import (
    Testimony,
    independent_origins,
    is_one_origin,
    of_other_origins,
    same_program,
)
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.pairs import MODEL_NAME, Judgement, Pair, PairState, Side, Verdict

MAX_THIRD_PROGRAMS: Final = (
    2  # programs without a lesson in a pair that judge it before it is left to people; chosen
)
ANSWER_WITHIN: Final = timedelta(
    days=14
)  # of the other side's answer; after that a side counts as unsure. Chosen
UNANSWERED: Final = f"no answer within {ANSWER_WITHIN.days} days"


class Ruling(NamedTuple):
    """The state that a pair's judgements give it; `sure` when a "same" hangs on no single judge."""

    state: PairState
    sure: bool = True


class Questions(NamedTuple):
    """Who is asked about a pair now.

    `programs` have a side of it. `third`: any program that `is_third`; the next to commit a
    session. `people`: no program is left to ask. All are empty for a pair that is settled.
    """

    programs: tuple[str, ...] = ()
    third: bool = False
    people: bool = False


def is_for_people(pair: Pair) -> bool:
    """Whether people alone judge a pair: one of its texts gives its judge orders."""
    return bool(pair.steering)


def ruling(pair: Pair) -> Ruling:
    """Return the state that follows from a pair's judgements.

    A person's verdict is the last word, and the only one about a text that gives its judge orders.
    One judge's `same` is enough, and not sure. Otherwise the majority decides, and a tie leaves the
    pair open. A program and those below it are one judge; so are all callers of the role `judge`,
    whose `contradict` alone decides nothing.
    """
    persons = [
        judgement
        for judgement in pair.judgements
        if judgement.program_id is None and judgement.verdict != "unsure"
    ]
    if persons:
        return Ruling(_as_state(persons[-1]))
    if is_for_people(pair):
        return Ruling("open")
    voices = _voices(pair)
    same = [voice for voice in voices if voice.verdict == "same"]
    others = [voice for voice in voices if voice.verdict != "same"]
    sames, against = _judges(same), _judges(others)
    if against > sames:
        return Ruling(_contrary(others))
    if sames == against:
        return Ruling("open")
    return Ruling("same", sure=sames > 1)


def with_judgement(pair: Pair, judgement: Judgement) -> Pair:
    """Return the pair after a verdict; a judge's later verdict replaces its earlier one.

    Verdicts of several names over one unbound connection are one verdict, as are those of one
    program; it is a contributor's if one of them was.
    """
    others = tuple(earlier for earlier in pair.judgements if not _is_one_voice(earlier, judgement))
    replaced = [earlier for earlier in pair.judgements if earlier not in others]
    names = (
        *judgement.also,
        *(
            name
            for earlier in replaced
            for name in _names(earlier)
            if name not in _names(judgement)
        ),
    )
    contributed = judgement.contributed or any(earlier.contributed for earlier in replaced)
    judged = replace(
        pair,
        judgements=(
            *others,
            replace(judgement, also=tuple(dict.fromkeys(names)), contributed=contributed),
        ),
    )
    by_person = any(
        judgement.program_id is None and judgement.verdict != "unsure"
        for judgement in judged.judgements
    )
    return replace(judged, state=ruling(judged).state, by_person=by_person)


def questions(pair: Pair) -> Questions:
    """Return who is asked about a pair now: first the programs of its sides, then a third, at last
    people.

    A `same` of one judge is asked of the other side too, and so is a single `different` about a
    `likely` pair or one that callers of the role `judge` contradict. A third program is asked where
    the sides leave a pair undecided; people are where the fleet has none.
    """
    if pair.state == "gone" or pair.by_person:
        return Questions()
    result = ruling(pair)
    if is_for_people(pair):
        return Questions(people=True)
    if (result.state == "same" and result.sure) or result.state == "contradict":
        return Questions()
    sides = tuple(name for name in _programs(pair) if not has_judged(pair, name))
    if result.state == "different":
        voices = _voices(pair)
        contradicted = any(
            voice.verdict == "contradict" for voice in voices
        )  # by the role `judge` alone
        return Questions(sides if contradicted or (pair.likely and _judges(voices) == 1) else ())
    limit = MAX_THIRD_PROGRAMS if pair.thirds is None else pair.thirds
    third = not sides and len(_third_programs(pair)) < limit
    return Questions(sides, third, people=not sides and not third)


def with_thirds(pair: Pair, programs: Set[str], contributors: Mapping[str, Set[str]]) -> Pair:
    """Return the pair with the number of programs that can judge it, or have, as a third
    (`is_third`).

    None can that is one origin with a program with a lesson in its entries. `programs` are those of
    the fleet, and `contributors` those with a lesson in an entry by its key, all named as programs
    are compared. It is the same object when the number has not changed.
    """
    judged = _third_programs(pair)
    known = {
        *map(same_program, _programs(pair)),
        *(name for judgement in pair.judgements for name in _names(judgement)),
    }
    known |= {name for side in (pair.a, pair.b) for name in contributors.get(side.key or "", ())}
    free = islice(of_other_origins(programs, known), MAX_THIRD_PROGRAMS)
    count = len(judged) + sum(1 for _ in free)
    thirds = count if count < MAX_THIRD_PROGRAMS else None
    return pair if thirds == pair.thirds else replace(pair, thirds=thirds)


def with_unanswered(pair: Pair, now: datetime) -> Pair:
    """Return the pair with `unsure` for the side that has not answered within 14 days of the
    other's answer.

    It is the same object where no answer is overdue; a pair that neither side has answered waits.
    """
    answered = [
        judgement.at
        for judgement in pair.judgements
        if judgement.program_id and is_own(pair, judgement.program_id)
    ]
    if not answered or now - max(pair.opened_at, *answered) < ANSWER_WITHIN:
        return pair
    for name in questions(pair).programs:
        unsure = Judgement(
            verdict="unsure", program_id=name, at=now, reason=UNANSWERED, contributed=True
        )
        pair = with_judgement(pair, unsure)
    return pair


def has_judged(pair: Pair, program_id: str) -> bool:
    """Whether a program has given its verdict about a pair, `unsure` too."""
    name = same_program(program_id)
    return any(name in _names(judgement) for judgement in pair.judgements)


def judgement_of(pair: Pair, program_id: str, connection: str | None) -> Judgement | None:
    """Return the verdict of a program's voice about a pair: its own, or the one that replaced
    it.
    """
    name = same_program(program_id)
    over_one = (
        judgement
        for judgement in pair.judgements
        if connection is not None and judgement.connection == connection
    )
    return next(
        (judgement for judgement in pair.judgements if name in _names(judgement)),
        next(over_one, None),
    )


def is_own(pair: Pair, program_id: str) -> bool:
    """Whether one side of a pair is a program's: its lesson, or an entry that it is asked about."""
    name = same_program(program_id)
    return any(same_program(side.program_id) == name for side in (pair.a, pair.b))


def is_third(pair: Pair, program_id: str) -> bool:
    """Whether a program can judge a pair as a third: it is one origin with no side, and with no
    judge until now.
    """
    names = (
        *_programs(pair),
        *(name for judgement in pair.judgements for name in _names(judgement)),
    )
    return not any(is_one_origin(program_id, name) for name in names)


def sides_of(pair: Pair, program_id: str) -> tuple[Side, Side]:
    """Return a pair's sides with the program's own first."""
    name = same_program(program_id)
    return (pair.a, pair.b) if same_program(pair.a.program_id) == name else (pair.b, pair.a)


def _programs(pair: Pair) -> tuple[str, ...]:
    return tuple(dict.fromkeys(side.program_id for side in (pair.a, pair.b) if side.program_id))


def _voices(pair: Pair) -> list[Judgement]:
    return [judgement for judgement in pair.judgements if judgement.verdict != "unsure"]


def _judges(voices: Iterable[Judgement]) -> int:
    """Count the independent judges; all of the role `judge` are one: one person may have made their
    tokens.
    """
    return independent_origins(
        Testimony(voice.program_id or "", "role" if voice.by_role else None) for voice in voices
    )


def _contrary(others: Sequence[Judgement]) -> PairState:
    """Return the state that a majority of contrary voices gives a pair.

    A `contradict` of the role `judge` is no word against an entry; if it closed the pair, no author
    would be asked.
    """
    contradicting = [voice for voice in others if voice.verdict == "contradict"]
    if not contradicting:
        return "different"
    if any(not voice.by_role for voice in contradicting):
        return "contradict"
    return "open" if all(voice.by_role for voice in others) else "different"


def _third_programs(pair: Pair) -> set[str]:
    """Return the judges of a pair that are one origin with no side, as they are compared.

    A model is none, and a caller of the role `judge` takes no third program's place.
    """
    own = {same_program(name) for name in (*_programs(pair), MODEL_NAME)}
    judges = (judgement for judgement in pair.judgements if not judgement.by_role)
    return set(of_other_origins((name for judgement in judges for name in _names(judgement)), own))


def _as_state(judgement: Judgement) -> PairState:
    match judgement.verdict:
        case "same" | "different" | "contradict":
            return judgement.verdict
        case "unsure":
            return "open"


def _names(judgement: Judgement) -> tuple[str, ...]:
    """Return the programs that have judged with this voice, as programs are compared; none for a
    person.
    """
    return (
        *((same_program(judgement.program_id),) if judgement.program_id else ()),
        *judgement.also,
    )


def _is_one_voice(one: Judgement, other: Judgement) -> bool:
    if one.program_id is None or other.program_id is None:
        return one.program_id == other.program_id
    over_one = one.connection is not None and one.connection == other.connection
    return over_one or same_program(one.program_id) == same_program(other.program_id)


class Standing(NamedTuple):
    """Where a lesson stands: the hash of its words, and the key of the entry that it is in."""

    words: str
    knowledge_key: str | None


class EntryText(NamedTuple):
    """An entry's text as a side needs it, and the program that is asked about it."""

    words: str
    text: str
    domain: str
    asked: str


Lessons: TypeAlias = Callable[[str, str], Standing | None]
"""Returns where the lesson of a program id and a pattern id stands; None for one that is gone or
stale.
"""


def renewed(pair: Pair, lessons: Lessons, entries: Mapping[str, EntryText]) -> Pair:
    """Return a pair that anybody is asked about as it goes on: with the programs that its entries
    ask now, or `gone`.

    A side whose lesson speaks for an entry is about that entry from then on. A `same` goes on even
    without its lesson: the entry has the contribution. It is the same object when nothing changed.
    """
    if questions(pair) == Questions():
        return pair
    if pair.state == "same":
        a, b = _with_asked(pair.a, entries), _with_asked(pair.b, entries)
    else:
        one, other = (_renewed_side(side, lessons, entries) for side in (pair.a, pair.b))
        if one is None or other is None or (one.key is not None and one.key == other.key):
            return closed(pair)
        a, b = one, other
    return pair if (a, b) == (pair.a, pair.b) else replace(pair, a=a, b=b)


def closed(pair: Pair) -> Pair:
    """Return a pair as `gone`; one that a verdict had settled loses its verdicts: its texts are
    asked about again.
    """
    return replace(pair, state="gone", judgements=pair.judgements if pair.state == "open" else ())


def _with_asked(side: Side, entries: Mapping[str, EntryText]) -> Side:
    """Return a side with the program that its entry asks now, "" for none."""
    entry = entries.get(side.key or "")
    return (
        side
        if entry is None or entry.asked == side.program_id
        else replace(side, program_id=entry.asked)
    )


def _renewed_side(side: Side, lessons: Lessons, entries: Mapping[str, EntryText]) -> Side | None:
    key = side.key
    if key is None:
        lesson = lessons(side.program_id, side.pattern_id)
        if lesson is None or lesson.words != text_hash(side.text):
            return None
        key = lesson.knowledge_key
    if key is None:
        return side
    entry = entries.get(key)
    if entry is None or entry.words != text_hash(side.text):
        return None
    if side.key == key:
        return _with_asked(side, entries)
    return Side(program_id=entry.asked, key=key, domain=entry.domain, text=entry.text)


# Invented lessons, about machines and work as lessons are. They are odd on purpose: no fleet learns
# one of them, and none is about another's subject. A text cannot name the one that it meets,
# because that is drawn.
CONTROL_LESSONS: Final = (
    "The label printer in the mail room feeds two blanks after its tray was shut twice",
    "Ask the night porter for the badge reader's serial number before the elevator inspection",
    "The telescope's dome motor stalls below four degrees, so warm its gearbox with the blue lamp",
    "Rehang the archive room's dehumidifier hose whenever the cellar pump was serviced",
    "The payroll kiosk reads a holiday in Liechtenstein as a Sunday unless its region is set "
    "by hand",
    "Count the ferry's spare life jackets from the stern, because the locker plan is mirrored",
    "The beehive scale in plot nine reports grams on odd days after a thunderstorm",
    "Tune the chapel organ's reed stops last, because the heating bends their pitch until noon",
)

FOUND_BY_MODEL: Final = "the judge model gave it one verdict with any text"


def awaits_model(pair: Pair) -> bool:
    """Whether a configured model may still judge a pair: it is open, the model has not, and it is
    not for people.
    """
    if pair.state != "open" or pair.by_person or is_for_people(pair):
        return False
    return all(judgement.program_id != MODEL_NAME for judgement in pair.judgements)


def verdict_of_both(first: Verdict, second: Verdict) -> Verdict:
    """Return the verdict of both orders, `unsure` when they differ."""
    return first if first == second else "unsure"


def needs_control(verdict: Verdict) -> bool:
    """Whether a verdict changes knowledge, so that each text is also compared with an unrelated
    lesson.
    """
    return verdict in ("same", "contradict")


def with_steering(pair: Pair) -> Pair:
    """Return the pair for people alone, because the model found that a text steers its judge."""
    steered = replace(pair, steering=pair.steering or FOUND_BY_MODEL)
    return replace(steered, state=ruling(steered).state)
