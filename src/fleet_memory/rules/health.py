"""A program's and a fleet's memory in numbers: one verdict, and the advice that follows from it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple, get_args

from fleet_memory.rules.lifecycle.decay import living, stale_in_days
from fleet_memory.rules.lifecycle.room import at_hand
from fleet_memory.rules.text import counted
from fleet_memory.rules.text.keys import bare_words
from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import (
    HealthVerdict,
    Missing,
    MissingQuestion,
    Program,
    ProgramHealth,
    RelearntEntry,
)

FADING_WITHIN_DAYS: Final = 14.0
FORGETTING_FROM: Final = (
    0.5  # stale share; Source: Bourlier, see schemas/programs.py: a high ratio means forgetting
)
HOARDING_FROM: Final = 0.9  # share of the cap that is used
UNREINFORCED_FROM: Final = 10  # patterns, none of them ever reinforced
SESSIONS_WITHIN: Final = timedelta(
    days=7
)  # chosen: older ones prove little about the agents of today
MANY_SESSIONS: Final = (
    3  # sessions at once; chosen: two are also one agent that goes back to an earlier session
)
MIN_PROGRAMS_OF_A_THIRD: Final = (
    3  # programs; in a smaller fleet every program has a lesson in a pair
)
_NAME_EACH: Final = (
    "Agents that share a name are one origin: start each client with a name of its own in "
    "FLEET_MEMORY_PROGRAM."
)
_GRAVEST_FIRST: Final[Sequence[HealthVerdict]] = get_args(HealthVerdict)


class Signs(NamedTuple):
    """A program's memory in numbers of patterns; `sessions`: see `sessions_at_once`."""

    total: int = 0
    stale: int = 0
    promoted: int = 0
    unpromoted: int = 0
    cap: int = 0
    reinforced: int = 0
    sessions: int = 0

    @property
    def stale_ratio(self) -> float:
        """The share of patterns that are stale, 0 for none."""
        return round(self.stale / self.total, 4) if self.total else 0.0


class Look(NamedTuple):
    """One program's part of a fleet's numbers; `missing` are the questions that its memory could
    not answer.
    """

    program_id: str
    signs: Signs
    missing: Sequence[Missing] = ()


def signs(program: Program, now: datetime) -> Signs:
    """Return the numbers of a program's memory, `unpromoted` of its living lessons at hand."""
    every, decay = program.patterns.values(), program.decay
    hand = living(at_hand(program, now).values(), now, decay)
    return Signs(
        total=len(every),
        stale=len(every) - len(living(every, now, decay)),
        promoted=sum(lesson.promoted for lesson in every),
        unpromoted=sum(not lesson.promoted for lesson in hand),
        cap=decay.max_unpromoted_patterns,
        reinforced=sum(lesson.confirmations > 0 for lesson in every),
        sessions=sessions_at_once(every, now),
    )


def sessions_at_once(patterns: Iterable[Pattern], now: datetime) -> int:
    """Return how many sessions of a program ran at one time at most, by the lessons stored in the
    last 7 days.

    A session goes from its first lesson to its last. A lesson without a session counts for none.
    """
    stored: dict[str, list[float]] = {}
    for pattern in patterns:
        if pattern.session_id and now - pattern.stored_at <= SESSIONS_WITHIN:
            stored.setdefault(pattern.session_id, []).append(pattern.stored_s)
    spans = [(min(times), max(times)) for times in stored.values()]
    return max((sum(a <= start <= b for a, b in spans) for start, _ in spans), default=0)


def troubles(seen: Signs) -> dict[HealthVerdict, str]:
    """Return what is wrong with a program's memory, the gravest first, and the advice for each."""
    found: dict[HealthVerdict, tuple[bool, str]] = {
        "empty": (
            not seen.total,
            "Nothing is stored yet: call store_memory when you learn what will help next time.",
        ),
        "forgetting": (
            seen.stale_ratio >= FORGETTING_FROM,
            f"{seen.stale} of {counted(seen.total, 'lesson')} are stale, which only a question "
            "finds. Call reinforce_memory for each that still holds.",
        ),
        "hoarding": (
            seen.unpromoted >= max(1, HOARDING_FROM * seen.cap),
            f"You are near the cap: {seen.unpromoted} of {counted(seen.cap, 'lesson')}; over it "
            "only a question finds the weakest. Call reinforce_memory for those that help.",
        ),
        "unreinforced": (
            seen.total >= UNREINFORCED_FROM and not seen.reinforced,
            "You never reinforced a lesson: call reinforce_memory when one proves true or false.",
        ),
    }
    return {name: advice for name, (applies, advice) in found.items() if applies}


def verdict(seen: Signs) -> HealthVerdict:
    """Return the one word for a program's memory: the gravest that applies."""
    return next(iter(troubles(seen)), "healthy")


def fading(program: Program, now: datetime) -> list[tuple[float, Pattern]]:
    """Return the patterns that turn stale within 14 days, with the days left, the soonest first."""
    days = [
        (stale_in_days(pattern, now, program.decay), pattern)
        for pattern in at_hand(program, now).values()
    ]
    soon = [pair for pair in days if 0 <= pair[0] <= FADING_WITHIN_DAYS]
    return sorted(soon, key=lambda pair: (pair[0], pair[1].id))


def program_advice(seen: Signs, soon: int, to_judge: int) -> tuple[str, ...]:
    """Return the advice for a program, the gravest of its memory first.

    `soon` of its lessons turn stale within 14 days, it is asked about `to_judge` pairs.
    """
    lines = []
    if to_judge:
        lines.append(
            f"{counted(to_judge, 'pair waits', 'pairs wait')} for you: see `toJudge` of "
            "gsp_bootstrap, and answer with `verdicts` of commit_session or pattern_consolidate."
        )
    if seen.sessions >= MANY_SESSIONS:
        lines.append(
            f"{seen.sessions} sessions of yours stored lessons at the same time. {_NAME_EACH}"
        )
    lines += troubles(seen).values()
    if soon and verdict(seen) != "forgetting":
        lines.append(
            f"{soon} of your lessons will be stale within {FADING_WITHIN_DAYS:.0f} days: "
            "call reinforce_memory for what still holds."
        )
    return tuple(lines)


def total_signs(looks: Sequence[Look]) -> Signs:
    """Return the numbers of all programs as if they were one."""
    return Signs(*map(sum, zip(Signs(), *(look.signs for look in looks), strict=True)))


def judging_counts(waiting: Counter[str], *, programs: int, people_judge: bool) -> Counter[str]:
    """Return the number of waiting pairs by their next judge, in a fleet of so many programs; each
    counts once. Source: docs/maintenance.md, "Counters".

    The names are `people`, `third` and `programs`, without zeros. `people_judge`: the policy leaves
    all pairs to people. A fleet of two has no third program.
    """
    if people_judge:
        return +Counter(people=waiting.total())
    if programs < MIN_PROGRAMS_OF_A_THIRD:
        waiting = Counter(people=waiting["people"] + waiting["third"], programs=waiting["programs"])
    return +waiting


def relearnt_entries(rows: Sequence[KnowledgeRow]) -> list[RelearntEntry]:
    """Return the relearnt entries of a snapshot, the most often relearnt first.

    An entry that was never published is left out.
    """
    relearnt = [
        RelearntEntry(key=row.key, pattern=row.pattern, relearnt=row.relearnt)
        for row in rows
        if row.state == "retired" and row.is_known and row.relearnt
    ]
    return sorted(relearnt, key=lambda row: (-row.relearnt, row.key))


def unwell(looks: Iterable[Look]) -> list[ProgramHealth]:
    """Return the programs that are not healthy, the gravest first; of a kind, the largest first."""
    unhealthy = [
        ProgramHealth(
            program_id=look.program_id,
            verdict=verdict(look.signs),
            total=look.signs.total,
            stale=look.signs.stale,
        )
        for look in looks
        if verdict(look.signs) not in ("healthy", "empty")
    ]
    return sorted(
        unhealthy, key=lambda ill: (_GRAVEST_FIRST.index(ill.verdict), -ill.total, ill.program_id)
    )


def commonest_questions(looks: Iterable[Look]) -> list[MissingQuestion]:
    """Return the unanswered questions of all programs, those of equal words as one, the commonest
    first, then the newest.

    Each has the words that were asked last, how often sessions asked it, and how many programs did.
    """
    groups = dict[str, list[Missing]]()
    asked = (question for look in looks for question in look.missing)
    for question in sorted(asked, key=lambda each: (each.at, each.text), reverse=True):
        groups.setdefault(bare_words(question.text), []).append(question)
    found = [
        MissingQuestion(
            text=group[0].text, times=sum(each.times for each in group), programs=len(group)
        )
        for group in groups.values()
    ]
    return sorted(found, key=lambda each: -each.times)


_ADVICE: Final[Mapping[str, str]] = {
    "missing": "Questions without an answer in memory: {} (see missing). An agent that knows calls "
    "store_memory.",
    "people": "Pairs that wait for people: {}. Run fleet-memory review.",
    "third": "Pairs that wait for a third program: {}. gsp_bootstrap asks those without a lesson.",
    "programs": "Pairs that wait for the programs that learnt the lessons: {}. gsp_bootstrap asks "
    "them; people answer any with fleet-memory review.",
    "contested": "Contested entries: {}. Have an agent that knows the matter call "
    "reinforce_memory with the key and evidence, confirmed or contradicted; or run fleet-memory "
    "entry retire KEY.",
    "relearnt": "Retired entries learnt again: {}. Run fleet-memory entry reinstate KEY, or leave "
    "it.",
    "unwell": "Programs that are not well: {}. Call memory_health for each in `unwell`; its advice "
    "is for them.",
    "verify": "Entries to check: {}. Have an agent that knows the matter call reinforce_memory "
    "with the key.",
    "pending": "Lessons that wait for a run: {}. Call pattern_consolidate.",
}


def fleet_advice(counts: Mapping[str, int]) -> tuple[str, ...]:
    """Return a line for each number of a fleet that is not 0, the most urgent first.

    Names are those of `judging_counts` and of lists in the answer; `verify` counts entries to
    check, `pending` lessons that no run has compared.
    """
    return tuple(line.format(counts[name]) for name, line in _ADVICE.items() if counts.get(name))
