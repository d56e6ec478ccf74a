"""`fleet-memory show`: show an entry with its sources, words and history, or a lesson."""

import argparse
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from fleet_memory.cli.existing import with_memory
from fleet_memory.cli.list_ import membership
from fleet_memory.cli.printing import add_json_flag, one_line, print_answer, with_token
from fleet_memory.cli.settings_flags import OWN_MEMORY
from fleet_memory.errors import InvalidArgumentError, PatternNotFoundError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.looking import existing_program
from fleet_memory.jobs.restoration import list_archive
from fleet_memory.jobs.words import KEY_PREFIXES
from fleet_memory.rules.retrieval.budget import MAX_TOKENS
from fleet_memory.rules.text.closest import close_names
from fleet_memory.schemas.answers.knowledge import EntryAnswer
from fleet_memory.schemas.answers.memory import PatternAnswer
from fleet_memory.schemas.fields import format_instant
from fleet_memory.schemas.knowledge import Snapshot
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program
from fleet_memory.settings import Settings
from fleet_memory.tools.gsp_read import read_entry
from fleet_memory.tools.retrieval import keys_for
from fleet_memory.views.lessons import pattern_answer

EXAMPLE: Final = "fleet-memory show pattern/git/rebase-often"
USES: Final = OWN_MEMORY


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument(
        "name", metavar="KEY|ID", help="an entry's key; a lesson's id with --program, or PROGRAM/ID"
    )
    add_json_flag(parser)


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Print the entry or the lesson; a lesson of the archive with how to bring it back."""
    name: str = given.name
    if name.startswith(KEY_PREFIXES):
        entry = with_memory(
            settings, lambda fleet: read_entry(fleet, name, MAX_TOKENS, for_people=True)
        )
        print_answer(entry.wire(), "\n".join(_entry_lines(entry)), as_json=given.json)
        return 0
    program, lesson_id = (settings.program, name) if settings.program else name.rpartition("/")[::2]
    if not program:
        raise InvalidArgumentError(
            "KEY|ID: whose lesson? Pass --program, or PROGRAM/ID. Keys begin with pattern/"
        )
    wire, lines = with_memory(settings, lambda fleet: _lesson(fleet, program, lesson_id))
    print_answer(wire, "\n".join(lines), as_json=given.json)
    return 0


async def _lesson(
    fleet: Fleet, program_id: str, lesson_id: str
) -> tuple[dict[str, object], list[str]]:
    program = await existing_program(fleet, program_id)
    lesson = program.patterns.get(lesson_id)
    if lesson is None:
        return await _archived(fleet, program, lesson_id)
    snapshot = await fleet.knowledge.snapshots.read()
    is_free = (
        fleet.caller.sees_other_programs
    )  # to read the key of a candidate, which has words of another's lesson
    keys = {lesson.knowledge_key or ""} if is_free else await keys_for(fleet, [lesson], snapshot)
    answer = pattern_answer(lesson, fleet.now(), program, keys)
    more = {
        "storedAt": format_instant(lesson.stored_at),
        "lastReinforced": format_instant(lesson.last_reinforced),
        "evidenceLog": [line.wire() for line in lesson.evidence_log],
        **({"sessionId": lesson.session_id} if lesson.session_id else {}),
        **({"echo": True} if lesson.echo else {}),
        **({"token": lesson.source.token} if lesson.source.token else {}),
    }
    return {"programId": program_id, **answer.wire(), **more}, [
        *_lesson_lines(program_id, lesson, answer, snapshot)
    ]


async def _archived(
    fleet: Fleet, program: Program, lesson_id: str
) -> tuple[dict[str, object], list[str]]:
    rows = await list_archive(fleet, program.program_id)
    row = next(
        (row for row in rows if lesson_id in (row["id"], row.get("patternId"), row.get("noteId"))),
        None,
    )
    if row is None:
        raise PatternNotFoundError(
            program.program_id, lesson_id, close_names(lesson_id, program.patterns)
        )
    restore = f"`fleet-memory restore {row['id']} --program {program.program_id}`"
    since = (
        f"in the archive since {str(row['at'])[:10]} ({row['reason']}); {restore} brings it back"
    )
    return {"programId": program.program_id, "archived": row}, [one_line(str(row["text"])), since]


def _lesson_lines(
    program_id: str, lesson: Pattern, answer: PatternAnswer, snapshot: Snapshot
) -> Iterator[str]:
    yield f"{program_id}/{lesson.id}: {one_line(lesson.pattern)}"
    if lesson.evidence:
        yield f"  evidence: {one_line(lesson.evidence)}"
    strength = answer.confidence if answer.strength is None else answer.strength
    stale = "; stale" if answer.stale else ""
    yield (
        f"  domain {lesson.domain}; confidence {lesson.confidence:.2f}; strength "
        f"{strength:.2f}{stale}"
    )
    stored = f"{lesson.stored_at:%Y-%m-%d}{with_token(lesson.source.token)}"
    yield f"  stored {stored}, last reinforced {lesson.last_reinforced:%Y-%m-%d}"
    names = {"project": lesson.project_id, "session": lesson.session_id}
    if places := "; ".join(f"{word} {one_line(name)}" for word, name in names.items() if name):
        yield f"  {places}"
    if answer.knowledge_key:
        echo = " as an echo, without a vote" if lesson.echo else ""
        yield f"  {membership(answer.knowledge_key, snapshot)}{echo}"
    for line in lesson.evidence_log:
        yield _dated(line.at, line.outcome, line.text)


def _dated(at: datetime, event: str, text: str) -> str:
    return f"  {at:%Y-%m-%d} {event}" + (f": {one_line(text)}" if text else "")


def _entry_lines(entry: EntryAnswer) -> Iterator[str]:
    doubts = f" ({', '.join(entry.doubts)})" if entry.doubts else ""
    yield f"{entry.key}: {entry.status}{doubts}"
    yield one_line(entry.pattern)
    if entry.description:
        yield one_line(entry.description)
    yield (
        f"  domain {entry.domain}; confidence {entry.confidence:.2f}; last confirmed "
        f"{entry.last_confirmed:%Y-%m-%d}"
    )
    yield (
        f"  learnt by {', '.join(entry.contributors)}" if entry.contributors else "  set by people"
    )
    for source in entry.provenance:
        deleted = ", which was deleted since," if source.program_deleted else ""
        yield _dated(
            source.discovered_at,
            f"{source.program_id}/{source.pattern_id}{deleted}{with_token(source.token)}",
            source.pattern,
        )
        if source.evidence:
            yield f"    evidence: {one_line(source.evidence)}"
    for word in entry.words:
        yield _dated(
            word.at, f"{word.program_id}{with_token(word.token)} {word.outcome}", word.evidence
        )
    for line in entry.ledger:
        yield _dated(line.at, f"{line.event} by {line.by}{with_token(line.token)}", line.why or "")
    yield from (f"  and {count} more of {name}" for name, count in entry.omitted.items())
