"""`fleet-memory list`: list the lessons of --program, or without it the fleet's entries, the
strongest first.
"""

import argparse
from datetime import datetime
from typing import Final, NamedTuple, get_args

from fleet_memory.cli.existing import with_memory
from fleet_memory.cli.printing import (
    add_json_flag,
    add_limit_flag,
    omitted_line,
    one_line,
    print_answer,
    with_omitted,
)
from fleet_memory.cli.settings_flags import OWN_MEMORY
from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.looking import existing_program
from fleet_memory.repositories.snapshots import row_of
from fleet_memory.rules.lifecycle.decay import is_stale, strength
from fleet_memory.rules.retrieval.budget import MAX_TOKENS
from fleet_memory.rules.text.closest import close_names
from fleet_memory.rules.text.counting import counted
from fleet_memory.schemas.answers.knowledge import KnowledgeAnswer
from fleet_memory.schemas.answers.memory import PatternAnswer
from fleet_memory.schemas.knowledge import EntryState, Snapshot
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program
from fleet_memory.settings import Settings
from fleet_memory.tools.gsp_search import gsp_search
from fleet_memory.tools.retrieval import keys_for
from fleet_memory.views.knowledge import knowledge_answer
from fleet_memory.views.lessons import pattern_answer

EXAMPLE: Final = "fleet-memory list --program basher --domain git"
USES: Final = OWN_MEMORY
ENTRY_STATES: Final[tuple[EntryState, ...]] = get_args(EntryState)
LESSON_STATES: Final = ("active", "stale", "promoted")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument(
        "--domain", metavar="DOMAIN", help="only of this domain; `fleet-memory domains` lists them"
    )
    states = f"entries are {', '.join(ENTRY_STATES)}; lessons {', '.join(LESSON_STATES)}"
    parser.add_argument(
        "--state", choices=(*ENTRY_STATES, *LESSON_STATES), metavar="STATE", help=states
    )
    add_limit_flag(parser, "how many are listed")
    add_json_flag(parser)


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Print the lessons or entries, and how many are left out."""
    program = settings.program
    known = ENTRY_STATES if program is None else LESSON_STATES
    if given.state not in (None, *known):
        of = "entries, without --program" if program is None else "lessons"
        raise InvalidArgumentError(f"--state: the states of {of}, are {', '.join(known)}")
    if program is None:
        entries = _candidates if given.state == "candidate" else _entries
        listed = with_memory(settings, lambda fleet: entries(fleet, given))
    else:
        listed = with_memory(settings, lambda fleet: _lessons(fleet, program, given))
    close = [f"Close domains are {', '.join(listed.close)}."] if listed.close else []
    lines = [*(listed.lines or ["nothing matches"]), *omitted_line(listed.omitted), *close]
    wire = {**listed.wire, **({"suggestions": listed.close} if listed.close else {})}
    content = with_omitted(wire, **{"entries" if program is None else "lessons": listed.omitted})
    print_answer(content, "\n".join(lines), as_json=given.json)
    return 0


class Listed(NamedTuple):
    """A list as JSON and as lines, the number of items that it leaves out, and domains close to an
    unknown one.
    """

    wire: dict[str, object]
    lines: list[str]
    omitted: int
    close: tuple[str, ...]


async def _entries(fleet: Fleet, given: argparse.Namespace) -> Listed:
    answer = await gsp_search(
        fleet, domain=given.domain, status=given.state, limit=given.limit, max_tokens=MAX_TOKENS
    )
    wire: dict[str, object] = {
        "entries": [entry.wire() for entry in answer.knowledge],
        "total": answer.total,
    }
    lines = [entry_line(entry) for entry in answer.knowledge] or (
        [answer.note] if answer.note else []
    )
    if given.domain is None and given.state is None and not answer.total:
        lines.append("`fleet-memory who` lists the programs, --program lists the lessons of one.")
    return Listed(wire, lines, answer.total - len(answer.knowledge), answer.suggestions or ())


async def _candidates(fleet: Fleet, given: argparse.Namespace) -> Listed:
    """List the candidates, also those that were never published, which no snapshot has. Billed 1
    read each.
    """
    stored = [
        versioned.entry
        for versioned in await fleet.knowledge.in_state("candidate")
        if versioned.entry
    ]
    matching = [entry for entry in stored if given.domain in (None, entry.value.domain)]
    shown = sorted(matching, key=lambda entry: (-entry.value.confidence, entry.key))[: given.limit]
    answers = [knowledge_answer(row_of(entry, 0, 0), fleet.now()) for entry in shown]
    domains = {entry.value.domain for entry in stored}
    close = (
        ()
        if given.domain is None or given.domain in domains
        else close_names(given.domain, domains)
    )
    wire: dict[str, object] = {
        "entries": [answer.wire() for answer in answers],
        "total": len(matching),
    }
    return Listed(wire, [*map(entry_line, answers)], len(matching) - len(shown), close)


async def _lessons(fleet: Fleet, program_id: str, given: argparse.Namespace) -> Listed:
    program, now = await existing_program(fleet, program_id), fleet.now()
    matching = [
        lesson
        for lesson in program.patterns.values()
        if given.domain in (None, lesson.domain)
        and given.state in (None, *_states(lesson, program, now))
    ]
    shown = sorted(matching, key=lambda lesson: (-strength(lesson, now), lesson.id))[: given.limit]
    snapshot = await fleet.knowledge.snapshots.read()
    keys = await keys_for(fleet, shown, snapshot)
    answers = [pattern_answer(lesson, now, program, keys) for lesson in shown]
    domains = {lesson.domain for lesson in program.patterns.values()}
    close = (
        ()
        if given.domain is None or given.domain in domains
        else close_names(given.domain, domains)
    )
    listed = [answer.wire() for answer in answers]
    wire: dict[str, object] = {"programId": program_id, "lessons": listed, "total": len(matching)}
    return Listed(
        wire,
        [lesson_line(answer, membership(answer.knowledge_key, snapshot)) for answer in answers],
        len(matching) - len(shown),
        close,
    )


def _states(lesson: Pattern, program: Program, now: datetime) -> set[str]:
    return {
        "stale" if is_stale(lesson, now, program.decay) else "active",
        *(["promoted"] if lesson.promoted else []),
    }


def entry_line(entry: KnowledgeAnswer) -> str:
    """Return e.g. "pattern/git/rebase-often: Rebase often (3 agents, contested)"."""
    notes = [
        counted(entry.contributor_count, "agent") if entry.contributor_count else "a rule",
        entry.status,
    ]
    return f"{entry.key}: {one_line(entry.pattern)} ({', '.join(filter(None, notes))})"


def lesson_line(lesson: PatternAnswer, place: str, program_id: str = "") -> str:
    """Return e.g. "rebase-often: Rebase often (git, in pattern/git/rebase-often)"; `place` is its
    `membership`.
    """
    notes = [lesson.domain, "stale" if lesson.stale else "", place]
    name = f"{program_id}/{lesson.id}" if program_id else lesson.id
    return f"{name}: {one_line(lesson.pattern)} ({', '.join(filter(None, notes))})"


def membership(key: str | None, snapshot: Snapshot) -> str:
    """Return "in KEY", or "candidate of KEY" for an entry that no agent reads, as it lacks votes;
    "" for no entry.
    """
    if key is None:
        return ""
    is_published = any(row.key == key and row.state != "candidate" for row in snapshot.rows)
    return f"in {key}" if is_published else f"candidate of {key}"
