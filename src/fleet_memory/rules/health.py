"""A program's and a fleet's memory in numbers: one verdict, and the advice that follows from it."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from fleet_memory.rules.entries import row_state
from fleet_memory.rules.lifecycle.decay import living, stale_in_days
from fleet_memory.rules.lifecycle.room import at_hand
from fleet_memory.rules.text import counted
from fleet_memory.rules.text.keys import bare_words
from fleet_memory.rules.text.steering import steering_words
from fleet_memory.schemas.health import (
    HealthVerdict,
    JudgingCounts,
    KnowledgeCounts,
    MissingQuestion,
    ProgramHealth,
    RelearntEntry,
)
from fleet_memory.schemas.knowledge import Freshness, KnowledgeRow
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Missing, Program

FADING_WITHIN_DAYS: Final = 14.0
LATELY_DAYS: Final = 30.0  # the window in which learning and forgetting are compared
FORGETTING_FROM: Final = (
    0.5  # stale share; Source: Bourlier, see schemas/programs.py: a high ratio means forgetting
)
FORGOTTEN_FROM: Final = 5  # patterns that turned stale lately; fewer are no trend
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
_MAX_QUOTED_CHARS: Final = (
    60  # of a question in the advice, so that the least budget suffices; `missing` has it whole
)


class Signs(NamedTuple):
    """A program's memory in numbers of patterns.

    `learnt` were first stored in the last 30 days, `forgotten` turned stale in them. `sessions`:
    see `sessions_at_once`.
    """

    total: int = 0
    stale: int = 0
    promoted: int = 0
    unpromoted: int = 0
    cap: int = 1
    reinforced: int = 0
    learnt: int = 0
    forgotten: int = 0
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

    @property
    def verdict(self) -> HealthVerdict:
        """The one word for the program's memory."""
        return verdict(self.signs)


class WaitingTotals(NamedTuple):
    """The pairs that somebody is asked about: programs of their lessons alone, a third program, or
    people alone.
    """

    programs: int
    third: int
    people: int


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
        learnt=sum(now - lesson.stored_at <= timedelta(days=LATELY_DAYS) for lesson in every),
        forgotten=sum(-LATELY_DAYS <= stale_in_days(lesson, now, decay) < 0 for lesson in every),
        sessions=sessions_at_once(every, now),
    )


def sessions_at_once(patterns: Iterable[Pattern], now: datetime) -> int:
    """Return how many sessions of a program ran at one time at most, by the lessons stored in the
    last 7 days.

    A session goes from its first lesson to its last: where A, B, A and then B, C, B follow each
    other, two do at any time. 0 where none overlap. A lesson without a session counts for none.
    """
    stored: dict[str, list[float]] = {}
    for pattern in patterns:
        if pattern.session_id is not None and timedelta() <= now - pattern.stored_at <= (
            SESSIONS_WITHIN
        ):
            stored.setdefault(pattern.session_id, []).append(pattern.stored_s)
    spans = [(min(times), max(times)) for times in stored.values()]
    most = max(
        (
            1 + sum(other[0] < first < other[1] for other in spans)
            if first == last  # one lesson, at that very moment
            else sum(other[0] <= first < other[1] for other in spans)
            for first, last in spans
        ),
        default=0,
    )
    return most if most > 1 else 0


_GRAVEST_FIRST: Final[Mapping[HealthVerdict, Callable[[Signs], bool]]] = {
    "empty": lambda seen: not seen.total,
    "forgetting": lambda seen: (
        seen.stale_ratio >= FORGETTING_FROM
        or seen.forgotten >= max(FORGOTTEN_FROM, seen.learnt + 1)
    ),
    "hoarding": lambda seen: seen.unpromoted >= HOARDING_FROM * seen.cap,
    "unreinforced": lambda seen: seen.total >= UNREINFORCED_FROM and not seen.reinforced,
}
_ADVICE: Final[Mapping[HealthVerdict, Callable[[Signs], str]]] = {
    "empty": lambda _: (
        "Nothing is stored yet. Call store_memory when you learn something that will help you "
        "next time."
    ),
    "forgetting": lambda seen: (
        f"You forget faster than you learn: {seen.stale} of {counted(seen.total, 'lesson')} "
        f"stale, which only a question finds. In {LATELY_DAYS:.0f} days {seen.forgotten} faded "
        f"and {seen.learnt} came. Call "
        "reinforce_memory for each lesson that still holds, and store_memory for what generalises."
    ),
    "hoarding": lambda seen: (
        f"You are near the cap: {seen.unpromoted} of {counted(seen.cap, 'lesson')}; over it "
        "only a question finds the weakest. Call reinforce_memory for those that help instead of "
        "storing more, and pattern_consolidate to publish lessons that agree."
    ),
    "unreinforced": lambda _: (
        "You never reinforced a lesson. Call reinforce_memory when one proves true or false."
    ),
}
GRAVITY: Final[Sequence[HealthVerdict]] = (*_GRAVEST_FIRST, "healthy")


def verdict(seen: Signs) -> HealthVerdict:
    """Return the one word for a program's memory: the gravest that applies."""
    return next((name for name, applies in _GRAVEST_FIRST.items() if applies(seen)), "healthy")


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
            f"{_pairs(to_judge)} for you: see `toJudge` of gsp_bootstrap, and answer with "
            "`verdicts` of commit_session or pattern_consolidate."
        )
    if seen.sessions >= MANY_SESSIONS:
        lines.append(
            f"{seen.sessions} sessions of yours stored lessons at the same time. {_NAME_EACH}"
        )
    lines += [_ADVICE[name](seen) for name, applies in _GRAVEST_FIRST.items() if applies(seen)]
    if soon and verdict(seen) != "forgetting":
        lines.append(
            f"{soon} of your lessons will be stale within {FADING_WITHIN_DAYS:.0f} days: "
            "call reinforce_memory for what still holds."
        )
    return tuple(lines)


def total_signs(looks: Sequence[Look]) -> Signs:
    """Return the numbers of all programs as if they were one."""
    added = Signs(*(map(sum, zip(*(look.signs for look in looks), strict=True)))) if looks else None
    return (added or Signs(cap=0))._replace(
        sessions=max((look.signs.sessions for look in looks), default=0)
    )


def judging_counts(waiting: WaitingTotals, *, programs: int, people_judge: bool) -> JudgingCounts:
    """Return the number of waiting pairs by their next judge, in a fleet of so many programs; each
    counts once. Source: docs/consolidation.md, "Counters".

    `people_judge`: the policy leaves all pairs to people. A fleet of two has no third program.
    """
    if people_judge:
        return JudgingCounts(people=sum(waiting))
    has_third = programs >= MIN_PROGRAMS_OF_A_THIRD
    return JudgingCounts(
        people=waiting.people if has_third else waiting.people + waiting.third,
        third=waiting.third if has_third else 0,
        programs=waiting.programs,
    )


def knowledge_counts(rows: Sequence[KnowledgeRow], now: datetime) -> KnowledgeCounts:
    """Return the entries of a snapshot by status."""
    active = [row for row in rows if not row.is_hidden]
    counts = Counter(row_state(row, now) for row in active)
    return KnowledgeCounts(
        fresh=counts["fresh"],
        verify=counts["verify"],
        contested=counts["contested"],
        retired=sum(row.state == "retired" for row in rows),
        constitutional=sum(row.tier == "constitutional" for row in active),
    )


def relearnt_entries(rows: Sequence[KnowledgeRow]) -> list[RelearntEntry]:
    """Return the relearnt entries of a snapshot, the most often relearnt first.

    An entry that was never published is left out.
    """
    relearnt = [row for row in rows if row.state == "retired" and row.is_known and row.relearnt]
    relearnt.sort(key=lambda row: (-row.relearnt, row.key))
    return [
        RelearntEntry(key=row.key, pattern=row.pattern, relearnt=row.relearnt) for row in relearnt
    ]


def unwell(looks: Iterable[Look]) -> list[ProgramHealth]:
    """Return the programs that are not healthy, the gravest first; of a kind, the largest first."""
    unhealthy = [
        ProgramHealth(
            program_id=look.program_id,
            verdict=look.verdict,
            total=look.signs.total,
            stale=look.signs.stale,
        )
        for look in looks
        if look.verdict not in ("healthy", "empty")
    ]
    return sorted(
        unhealthy, key=lambda ill: (GRAVITY.index(ill.verdict), -ill.total, ill.program_id)
    )


def commonest_questions(looks: Iterable[Look]) -> list[MissingQuestion]:
    """Return the unanswered questions of all programs, those of equal words as one, the commonest
    first, then the newest.

    Each has the words that were asked last, how often sessions asked it, and how many programs did.
    """
    groups: dict[str, list[Missing]] = {}
    for look in looks:
        for question in look.missing:
            groups.setdefault(bare_words(question.text), []).append(question)
    newest = [
        max(group, key=lambda question: (question.at, question.text)) for group in groups.values()
    ]
    totals = {
        question: MissingQuestion(
            text=question.text, times=sum(each.times for each in group), programs=len(group)
        )
        for question, group in zip(newest, groups.values(), strict=True)
    }
    newest.sort(key=lambda asked: (-totals[asked].times, -asked.at.timestamp(), asked.text))
    return [totals[question] for question in newest]


def people_advice(judging: JudgingCounts) -> tuple[str, ...]:
    """Return the line about pairs that only people are left to judge."""
    return (f"{_pairs(judging.people)} for people: fleet-memory review",) if judging.people else ()


def programs_advice(judging: JudgingCounts) -> tuple[str, ...]:
    """Return the lines about pairs that a third program, or the programs of their lessons, are
    asked about.
    """
    lines = {
        f"{_pairs(judging.third)} for a third program: gsp_bootstrap asks those without a "
        "lesson in the pair.": judging.third,
        f"{_pairs(judging.programs)} for the programs that learnt the lessons: gsp_bootstrap "
        "asks them; people answer any with fleet-memory review.": judging.programs,
    }
    return tuple(line for line, count in lines.items() if count)


def missing_advice(questions: Iterable[MissingQuestion]) -> tuple[str, ...]:
    """Return the line about the commonest question that gives its reader no orders; none without
    one.

    Advice is read as ours: the question is quoted as JSON text, at most 60 characters of it.
    """
    first = next((question for question in questions if not steering_words(question.text)), None)
    if first is None:
        return ()
    whole = len(first.text) <= _MAX_QUOTED_CHARS
    quoted = json.dumps(
        first.text if whole else f"{first.text[: _MAX_QUOTED_CHARS - 1]}…", ensure_ascii=False
    )
    asked = f"{counted(first.times, 'session')} of {counted(first.programs, 'program')}"
    return (
        f"Memory could not answer {quoted}, asked in {asked} (see missing): an agent that "
        "knows calls store_memory.",
    )


def curation_advice(contested: int, relearnt: Sequence[RelearntEntry]) -> tuple[str, ...]:
    """Return advice about contested entries and about relearnt ones."""
    lines = []
    if contested:
        lines.append(
            f"{counted(contested, 'entry is', 'entries are')} contested: have an agent that "
            "knows the matter call reinforce_memory with the key and evidence, confirmed or "
            "contradicted; or fleet-memory retire KEY."
        )
    if relearnt:
        first, others = relearnt[0], len(relearnt) - 1
        more = f", and {counted(others, 'more entry', 'more entries')} so" if others else ""
        lines.append(
            f"{first.key} was retired and learnt again by "
            f"{counted(first.relearnt, 'lesson')}{more}: fleet-memory reinstate KEY, or leave it."
        )
    return tuple(lines)


def names_advice(looks: Iterable[Look]) -> tuple[str, ...]:
    """Return the line about programs with several sessions that stored lessons at the same time."""
    many = sorted(
        (-look.signs.sessions, look.program_id)
        for look in looks
        if look.signs.sessions >= MANY_SESSIONS
    )
    if not many:
        return ()
    sessions, name = many[0]
    others = counted(len(many), "program has", "programs have")
    return (f"{others} many sessions at once, e.g. {name} ({-sessions}). {_NAME_EACH}",)


def fleet_advice(ill: int, verify: int, fresh: Freshness) -> tuple[str, ...]:
    """Return advice about `ill` programs, entries to check and lessons that wait."""
    lines = []
    if ill:
        lines.append(
            f"{counted(ill, 'program is', 'programs are')} not well. Call memory_health for each "
            "in `unwell`; its advice is for them."
        )
    if verify:
        lines.append(
            f"{counted(verify, 'entry needs', 'entries need')} a check: have an agent that knows "
            "the matter call reinforce_memory with the key."
        )
    if fresh.is_stale:
        lines.append(
            f"{counted(fresh.pending, 'lesson waits', 'lessons wait')}. Call pattern_consolidate."
        )
    return tuple(lines)


def _pairs(count: int) -> str:
    return counted(count, "pair waits", "pairs wait")
