"""The verdict on a program's numbers, and the advice that follows from it."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from fleet_memory.rules.health.duplicates import Repeat, Scale, repeats
from fleet_memory.rules.health.sessions import sessions_at_once
from fleet_memory.rules.knowledge.freshness import count_waiting
from fleet_memory.rules.lifecycle.decay import is_stale, stale_in_days
from fleet_memory.rules.text.counting import counted
from fleet_memory.schemas.health import HealthVerdict
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program

FADING_WITHIN_DAYS: Final = 14.0
MAX_FADING: Final = 5
LATELY_DAYS: Final = 30.0  # the window in which learning and forgetting are compared
FORGETTING_FROM: Final = (
    0.5  # stale share; Source: Bourlier, see schemas/programs.py: a high ratio means forgetting
)
FORGOTTEN_FROM: Final = 5  # patterns that turned stale lately; fewer are no trend
HOARDING_FROM: Final = 0.9  # share of the cap that is used
ECHOES_FROM: Final = 3  # patterns, all of them echoes
REPEATS_FROM: Final = 3  # patterns that repeat an earlier one; fewer are an oversight
REPEATING_FROM: Final = 0.1  # share of the active patterns
UNREINFORCED_FROM: Final = 10  # patterns, none of them ever reinforced


class Signs(NamedTuple):
    """A program's memory in numbers of patterns.

    `learnt` were first stored in the last 30 days, `forgotten` turned stale in them. `pending` wait
    for consolidation, `settled` are active and were considered by it; `echoes` are those of them
    that repeat entries that the program had read. `repeats` are active and repeat an earlier one.
    `sessions`: see `sessions_at_once`.
    """

    total: int = 0
    stale: int = 0
    promoted: int = 0
    unpromoted: int = 0
    cap: int = 1
    reinforced: int = 0
    learnt: int = 0
    forgotten: int = 0
    pending: int = 0
    settled: int = 0
    echoes: int = 0
    repeats: Sequence[Repeat] = ()
    sessions: int = 0

    @property
    def stale_ratio(self) -> float:
        """The share of patterns that are stale, 0 for none."""
        return round(self.stale / self.total, 4) if self.total else 0.0


def signs(program: Program, scale: Scale, now: datetime) -> Signs:
    """Return the numbers of a program's memory: totals of all its lessons, the others of those that
    are on no page.
    """
    patterns = program.active.values()
    paged = program.on_pages
    stale_paged = sum(is_stale(lesson, now, program.decay) for lesson in paged)
    active = [pattern for pattern in patterns if not is_stale(pattern, now, program.decay)]
    settled = [pattern for pattern in active if pattern.id not in program.pending]
    return Signs(
        total=len(patterns) + len(paged),
        stale=len(patterns) - len(active) + stale_paged,
        promoted=sum(pattern.promoted for pattern in patterns)
        + sum(lesson.promoted for lesson in paged),
        unpromoted=sum(not pattern.promoted for pattern in patterns),
        cap=program.decay.max_unpromoted_patterns,
        reinforced=sum(pattern.confirmations > 0 for pattern in patterns),
        learnt=sum(now - pattern.stored_at <= timedelta(days=LATELY_DAYS) for pattern in patterns),
        forgotten=sum(
            -LATELY_DAYS <= stale_in_days(pattern, now, program.decay) < 0 for pattern in patterns
        ),
        pending=count_waiting(program),
        settled=len(settled),
        echoes=sum(pattern.echo for pattern in settled),
        repeats=repeats(active, scale),
        sessions=sessions_at_once(patterns, now),
    )


_GRAVEST_FIRST: Final[Mapping[HealthVerdict, Callable[[Signs], bool]]] = {
    "empty": lambda seen: not seen.total,
    "forgetting": lambda seen: (
        seen.stale_ratio >= FORGETTING_FROM
        or seen.forgotten >= max(FORGOTTEN_FROM, seen.learnt + 1)
    ),
    "hoarding": lambda seen: seen.unpromoted >= HOARDING_FROM * seen.cap,
    "echoing": lambda seen: ECHOES_FROM <= seen.settled == seen.echoes,
    "repeating": lambda seen: (
        len(seen.repeats) >= max(REPEATS_FROM, REPEATING_FROM * (seen.total - seen.stale))
    ),
    "unreinforced": lambda seen: seen.total >= UNREINFORCED_FROM and not seen.reinforced,
}
_ADVICE: Final[Mapping[HealthVerdict, Callable[[Signs], str]]] = {
    "empty": lambda _: (
        "Nothing is stored yet. Call store_memory when you learn something that will help you "
        "next time."
    ),
    "forgetting": lambda seen: (
        f"You forget faster than you learn: {seen.stale} of {counted(seen.total, 'lesson')} "
        "stale. In "
        f"{LATELY_DAYS:.0f} days {seen.forgotten} faded and {seen.learnt} came. Call "
        "reinforce_memory for each "
        "lesson that still holds, and store_memory for what generalises."
    ),
    "hoarding": lambda seen: (
        f"You are near the cap: {seen.unpromoted} of {counted(seen.cap, 'lesson')}; over it "
        "only a question finds the "
        "weakest. Call reinforce_memory for those that help instead of storing more, and "
        "pattern_consolidate to "
        "publish lessons that agree."
    ),
    "echoing": lambda seen: (
        f"All your {counted(seen.echoes, 'lesson')} repeat shared knowledge that you had read. "
        "Call "
        "reinforce_memory with its knowledge key instead, and store_memory only for what the "
        "fleet does not know."
    ),
    "repeating": lambda seen: (
        f"{counted(len(seen.repeats), 'lesson says', 'lessons say')} what another of yours "
        "says, e.g. "
        f"{seen.repeats[0].id} and {seen.repeats[0].of}. Call recall_memory before you store, "
        "and reinforce_memory for "
        "the lesson that is there."
    ),
    "unreinforced": lambda _: (
        "You never reinforced a lesson. Call reinforce_memory when one proves true or false."
    ),
}


GRAVITY: Final[Sequence[HealthVerdict]] = (*_GRAVEST_FIRST, "healthy")


def verdict(seen: Signs) -> HealthVerdict:
    """Return the one word for a program's memory: the gravest that applies."""
    return next((name for name, applies in _GRAVEST_FIRST.items() if applies(seen)), "healthy")


def advice(seen: Signs, soon: int) -> tuple[str, ...]:
    """Return the advice, the gravest first; `soon` patterns turn stale within 14 days."""
    lines = [_ADVICE[name](seen) for name, applies in _GRAVEST_FIRST.items() if applies(seen)]
    if soon and verdict(seen) != "forgetting":
        lines.append(
            f"{soon} of your lessons will be stale within {FADING_WITHIN_DAYS:.0f} days: "
            "call reinforce_memory for what still holds."
        )
    return tuple(lines)


def fading(program: Program, now: datetime) -> list[tuple[float, Pattern]]:
    """Return the patterns that turn stale within 14 days, with the days left, the soonest first."""
    days = [
        (stale_in_days(pattern, now, program.decay), pattern) for pattern in program.active.values()
    ]
    soon = [pair for pair in days if 0 <= pair[0] <= FADING_WITHIN_DAYS]
    return sorted(soon, key=lambda pair: (pair[0], pair[1].id))
