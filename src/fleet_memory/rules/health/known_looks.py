"""A program's look at any later time, from the instants of its lessons: a run reads none that only
aged.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from fleet_memory.rules.health.duplicates import Repeat, RepeatSpan
from fleet_memory.rules.health.fleet import FADING_DAYS, Look
from fleet_memory.rules.health.program import LATELY_DAYS, Signs, verdict
from fleet_memory.rules.health.sessions import SessionTime, most_at_once, session_times
from fleet_memory.rules.knowledge.freshness import count_waiting
from fleet_memory.rules.lifecycle.decay import stale_after
from fleet_memory.schemas.programs import Missing, Program

UNNAMED: Final = Repeat("", "")  # a repeat that is counted; its ids are not kept
_DAY_S: Final = timedelta(days=1).total_seconds()


class KnownLook(NamedTuple):
    """A program as its looks need it: counts that do not change with time, and ascending instants
    for the others.

    Instants are seconds since 1970: `stored` of each lesson; the last in which it is not stale in
    `stale`, in `settled` for those that were considered, in `echoes` for those of them that are
    echoes. `paged` is `stale` of the lessons on pages, `paged_promoted` counts those of them that
    vote: nothing else is about these.
    """

    cap: int
    promoted: int
    reinforced: int
    pending: int
    stored: "array[float]"
    stale: "array[float]"
    settled: "array[float]"
    echoes: "array[float]"
    repeats: Sequence[RepeatSpan]
    sessions: Sequence[SessionTime]
    missing: Sequence[Missing]
    paged: "array[float]"
    paged_promoted: int


def known_look(program: Program, repeats: Sequence[RepeatSpan]) -> KnownLook:
    """Return a program as its looks need it after its last change; `repeats` are its
    `repeat_spans`.
    """
    patterns = program.active.values()
    pending = frozenset(program.pending)
    settled = [pattern for pattern in patterns if pattern.id not in pending]
    return KnownLook(
        cap=program.decay.max_unpromoted_patterns,
        promoted=sum(pattern.promoted for pattern in patterns),
        reinforced=sum(pattern.confirmations > 0 for pattern in patterns),
        pending=count_waiting(program),
        stored=_ascending(pattern.stored_s for pattern in patterns),
        stale=_ascending(stale_after(pattern, program.decay) for pattern in patterns),
        settled=_ascending(stale_after(pattern, program.decay) for pattern in settled),
        echoes=_ascending(
            stale_after(pattern, program.decay) for pattern in settled if pattern.echo
        ),
        repeats=repeats,
        sessions=session_times(patterns, program.last_update) if program.last_update else (),
        missing=program.missing,
        paged=_ascending(stale_after(lesson, program.decay) for lesson in program.on_pages),
        paged_promoted=sum(lesson.promoted for lesson in program.on_pages),
    )


def look_at(program_id: str, known: KnownLook, now: datetime) -> Look:
    """Return the look of a program as `looked_at` does, but that repeats are counted and not
    named.
    """
    instant = now.timestamp()
    lately = instant - LATELY_DAYS * _DAY_S
    total, stale = len(known.stale), bisect_left(known.stale, instant)
    seen = Signs(
        total=total + len(known.paged),
        stale=stale + bisect_left(known.paged, instant),
        promoted=known.promoted + known.paged_promoted,
        unpromoted=total - known.promoted,
        cap=known.cap,
        reinforced=known.reinforced,
        learnt=total - bisect_left(known.stored, lately),
        forgotten=stale - bisect_left(known.stale, lately),
        pending=known.pending,
        settled=len(known.settled) - bisect_left(known.settled, instant),
        echoes=len(known.echoes) - bisect_left(known.echoes, instant),
        repeats=(UNNAMED,) * sum(span.begin < instant <= span.end for span in known.repeats),
        sessions=most_at_once(known.sessions, now),
    )
    soon = known.stale[stale : bisect_right(known.stale, instant + FADING_DAYS * _DAY_S)]
    return Look(
        program_id, seen, verdict(seen), [(at - instant) / _DAY_S for at in soon], known.missing
    )


def _ascending(instants: Iterable[float]) -> "array[float]":
    return array("d", sorted(instants))
