"""Tells the story in a terminal: colour and tables for people, plain text at 100 columns for pipes and files."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from io import TextIOWrapper
from typing import Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fleet_memory.demo.weeks import Session
from fleet_memory.schemas.answers.memory import (
    BootAnswer,
    ConsolidateAnswer,
    HealthAnswer,
    KnowledgeAnswer,
    PatternAnswer,
    PromotedAnswer,
    ReinforceAnswer,
    ReviewPair,
    StoreAnswer,
)

PIPED_WIDTH: Final = 100  # columns
WIDEST: Final = 120  # columns; longer lines are hard to read
_COLOURS: Final = {"basher": "cyan", "iso": "green", "sark": "magenta", "quorra": "yellow"}


def console() -> Console:
    """Return where the story goes: stdout. What its encoding cannot say becomes a question mark, never a crash."""
    if isinstance(sys.stdout, TextIOWrapper) and not sys.stdout.encoding.lower().startswith("utf"):
        sys.stdout.reconfigure(errors="replace")
    shown = Console(highlight=False)
    shown.width = min(shown.width, WIDEST) if shown.is_terminal else PIPED_WIDTH
    return shown


class Teller:
    """Prints what the tools answered, chapter by chapter."""

    def __init__(self, to: Console) -> None:
        self._console = to
        self._chapters = 0

    def chapter(self, title: str, text: str) -> None:
        """Begin a chapter."""
        self._chapters += 1
        self._console.print()
        self._console.rule(Text(f"{self._chapters}. {title}", "bold"), align="left", characters="=")
        self.say(text)

    def say(self, text: str, style: str = "") -> None:
        """Print a paragraph."""
        self._console.print(Text(text, style))

    def stored(self, session: Session, answers: Sequence[StoreAnswer]) -> None:
        """Show what an agent stored in one session, and what the server said."""
        self._console.print(Text.assemble("\n", _day(session.at), "  ", _who(session.program), f" {session.event}"))
        table = _table("lesson", "domain", "sure", "answer")
        for lesson, answer in zip(session.lessons, answers, strict=True):
            table.add_row(Text(lesson.text), lesson.domain, f"{lesson.confidence:.2f}", answer.status)
        self._console.print(table)

    def reinforced(self, program: str, answer: ReinforceAnswer, evidence: str) -> None:
        """Show where a lesson stands after it was confirmed."""
        said = f' reinforces {answer.pattern_id}, "{evidence}": confidence {answer.confidence:.2f}, '
        self._console.print(Text.assemble(_who(program), said, f"last reinforced {_moment(answer.last_reinforced)}"))

    def own(self, patterns: Sequence[PatternAnswer]) -> None:
        """Show an agent's own lessons with what time has done to them."""
        table = _table("lesson", "sure", "strength", "days old", "state")
        for pattern in patterns:
            state = "stale" if pattern.stale else "active"
            known = ", known to all" if pattern.promoted_to_store else ""
            table.add_row(
                Text(pattern.pattern),
                f"{pattern.confidence:.2f}",
                f"{pattern.strength:.2f}",
                f"{pattern.age_days:.0f}",
                Text(state + known, "dim" if pattern.stale else ""),
            )
        self._console.print(table)

    def promoted(self, entries: Iterable[PromotedAnswer], told: Sequence[PatternAnswer]) -> None:
        """Show new entries and where they came from; `told` holds the contributors' lessons as they recall them."""
        for entry in entries:
            facts = _table("promoted", Text(entry.key, "bold"))
            facts.add_row("lesson", Text(entry.pattern, "bold"))
            facts.add_row("confidence", f"{entry.confidence:.2f}, the median of {entry.evidence_count}")
            facts.add_row("contributors", ", ".join(entry.contributors))
            facts.add_row("first discovered", _moment(entry.first_discovered))
            facts.add_row("promoted", _moment(entry.last_promoted))
            facts.add_row("why", Text(entry.explain.replace("; ", "\n")))
            self._console.print(facts)
            self._provenance(entry, {pattern.id: pattern for pattern in told})

    def _provenance(self, entry: PromotedAnswer, told: Mapping[str, PatternAnswer]) -> None:
        table = _table("contributor", "in its own words", "sure", "alike")
        for line in entry.provenance:
            own = told[line.pattern_id]
            table.add_row(_who(line.program_id), Text(own.pattern), f"{own.confidence:.2f}", f"{line.similarity:.2f}")
        self._console.print(table)

    def pairs(self, pairs: Iterable[ReviewPair]) -> None:
        """Show pairs that were not merged, and why."""
        table = _table("one says", "the other says", "alike", "why not merged")
        for pair in pairs:
            table.add_row(
                Text.assemble(_who(pair.a.program_id), ": ", pair.a.pattern),
                Text.assemble(_who(pair.b.program_id), ": ", pair.b.pattern),
                f"{pair.similarity:.2f}",
                Text(pair.objection or pair.explain, "red" if pair.objection else "yellow"),
            )
        self._console.print(table)

    def counted(self, answer: ConsolidateAnswer) -> None:
        """Show a consolidation's numbers."""
        self.say(
            f"Promoted {len(answer.promoted)}, updated {len(answer.updated)}, echoes {answer.echoes}, "
            f"for review {len(answer.review)}, contested {len(answer.contested)}, waiting {answer.waiting}."
        )

    def booted(self, answer: BootAnswer) -> None:
        """Show what a newcomer reads before its first task."""
        self.say(f"Knowledge version {answer.knowledge_version}, {answer.freshness.grade}: {answer.freshness.reason}")
        self.known(answer.knowledge)

    def known(self, entries: Sequence[KnowledgeAnswer]) -> None:
        """Show shared entries."""
        table = _table("what the fleet knows", "domain", "sure", "learnt by", "status")
        for entry in entries:
            by = ", ".join(entry.contributors or ()) or f"{entry.contributor_count} agents"
            table.add_row(Text(entry.pattern), entry.domain, f"{entry.confidence:.2f}", by, entry.status)
        self._console.print(table)

    def claims(self, claims: Iterable[tuple[str, bool]]) -> None:
        """Show what the story says and whether it is so."""
        for said, holds in claims:
            mark = Text("  yes  ", "green") if holds else Text("  NO   ", "bold red")
            self._console.print(Text.assemble(mark, said))

    def health(self, answers: Sequence[HealthAnswer]) -> None:
        """Show memories side by side."""
        table = _table("agent", "lessons", "active", "stale", "promoted", "verdict", "advice")
        for answer in answers:
            counts = (answer.total_patterns, answer.active_patterns, answer.stale_patterns, answer.promoted_patterns)
            table.add_row(
                _who(answer.program_id), *map(str, counts), answer.verdict, Text(" ".join(answer.advice) or "-")
            )
        self._console.print(table)


def _table(*columns: str | Text) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")  # an ellipsis would hide words, and is no ASCII
    return table


def _who(program: str) -> Text:
    return Text(program, f"bold {_COLOURS.get(program, 'white')}")


def _day(instant: str) -> Text:
    return Text(_moment(datetime.fromisoformat(instant)), "dim")


def _moment(instant: datetime) -> str:
    return f"{instant:%Y-%m-%d %H:%M}"
