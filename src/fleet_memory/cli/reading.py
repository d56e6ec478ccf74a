"""Read the memory: `list`, `show`, `why`, `search`, `who`, `domains` and `log`."""

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Final, NamedTuple, get_args

from fleet_memory.cli.existing import lesson_named, with_memory
from fleet_memory.cli.printing import (
    add_limit_flag,
    omitted_line,
    one_line,
    print_answer,
    with_omitted,
    with_token,
)
from fleet_memory.errors import InvalidArgumentError, PatternNotFoundError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.looking import (
    MAX_LEDGER_LINES,
    LatestPrograms,
    existing_program,
    explained,
    latest_lines,
    latest_programs,
)
from fleet_memory.jobs.restoration import list_archive
from fleet_memory.jobs.together import run_all
from fleet_memory.repositories.snapshots import row_of
from fleet_memory.rules.lifecycle.decay import is_stale, strength
from fleet_memory.rules.retrieval.budget import MAX_TOKENS
from fleet_memory.rules.retrieval.ranking import fits_well
from fleet_memory.rules.text import counted
from fleet_memory.rules.text.keys import KEY_PREFIXES
from fleet_memory.rules.text.names import close_names
from fleet_memory.schemas.fields import format_instant
from fleet_memory.schemas.knowledge import EntryState, KnowledgeRow, LedgerLine, Snapshot
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program
from fleet_memory.settings import Settings
from fleet_memory.tools.knowledge import EntryAnswer, gsp_search, read_entry
from fleet_memory.tools.retrieval import NEAREST, embed_question, ranked
from fleet_memory.tools.shared import (
    KnowledgeAnswer,
    PatternAnswer,
    knowledge_answer,
    pattern_answer,
)

ENTRY_STATES: Final[tuple[EntryState, ...]] = get_args(EntryState)
LESSON_STATES: Final = ("active", "stale", "promoted")


def add_list(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument(
        "--domain", metavar="DOMAIN", help="only of this domain; `fleet-memory domains` lists them"
    )
    states = f"entries are {', '.join(ENTRY_STATES)}; lessons {', '.join(LESSON_STATES)}"
    parser.add_argument(
        "--state", choices=(*ENTRY_STATES, *LESSON_STATES), metavar="STATE", help=states
    )
    add_limit_flag(parser, "how many are listed")


def run_list(given: argparse.Namespace, settings: Settings) -> int:
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
    close = _close_domains(given.domain, {entry.value.domain for entry in stored})
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
    answers = [pattern_answer(lesson, now, program, snapshot.keys) for lesson in shown]
    close = _close_domains(given.domain, {lesson.domain for lesson in program.patterns.values()})
    listed = [answer.wire() for answer in answers]
    wire: dict[str, object] = {"programId": program_id, "lessons": listed, "total": len(matching)}
    return Listed(
        wire,
        [lesson_line(answer, membership(answer.knowledge_key, snapshot)) for answer in answers],
        len(matching) - len(shown),
        close,
    )


def _close_domains(wanted: str | None, known: set[str]) -> tuple[str, ...]:
    return () if wanted is None or wanted in known else close_names(wanted, known)


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


def add_show(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument(
        "name", metavar="KEY|ID", help="an entry's key; a lesson's id with --program, or PROGRAM/ID"
    )


def run_show(given: argparse.Namespace, settings: Settings) -> int:
    """Print the entry or the lesson; a lesson of the archive with how to bring it back."""
    name: str = given.name
    if name.startswith(KEY_PREFIXES):
        entry = with_memory(
            settings, lambda fleet: read_entry(fleet, name, MAX_TOKENS, for_people=True)
        )
        print_answer(entry.wire(), "\n".join(_entry_lines(entry)), as_json=given.json)
        return 0
    program, lesson_id = lesson_named(name, settings)
    wire, lines = with_memory(settings, lambda fleet: _lesson(fleet, program, lesson_id))
    print_answer(wire, "\n".join(lines), as_json=given.json)
    return 0


def add_why(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument("name", metavar="PROGRAM/ID", help="a lesson; ID alone with --program")


def run_why(given: argparse.Namespace, settings: Settings) -> int:
    """Print why the lesson is not knowledge; of an archived one when it left."""
    program, lesson_id = lesson_named(given.name, settings)

    async def work(fleet: Fleet) -> tuple[dict[str, object], list[str]]:
        said = await explained(fleet, program, lesson_id)
        if said is None:
            return await _archived(fleet, await existing_program(fleet, program), lesson_id)
        return {"programId": program, "id": lesson_id, "reasons": said}, said

    wire, lines = with_memory(settings, work)
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
    keys = {lesson.knowledge_key or ""} if is_free else snapshot.keys
    answer = pattern_answer(lesson, fleet.now(), program, keys)
    more = {
        "storedAt": format_instant(lesson.stored_at),
        "lastReinforced": format_instant(lesson.last_reinforced),
        "evidenceLog": [line.wire() for line in lesson.evidence_log],
        **({"sessionId": lesson.session_id} if lesson.session_id else {}),
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
        yield f"  {membership(answer.knowledge_key, snapshot)}"
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


async def _programs(fleet: Fleet, program_id: str | None, *limit: int) -> LatestPrograms:
    """Return a program, or those that changed last."""
    if program_id is None:
        return await latest_programs(fleet, *limit)
    return LatestPrograms([await existing_program(fleet, program_id)], 0)


class Hits(NamedTuple):
    """The best hits as lines, e.g. "0.82 basher/n7: Claim tasks in one batch (queue)", and as JSON;
    `omitted` counts the other matches, `unread` the programs that were not searched.
    """

    lines: list[str]
    wire: list[dict[str, object]]
    omitted: int
    unread: int
    well: bool


def add_search(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument("words", metavar="WORDS", nargs="+", help="a question or keywords")
    add_limit_flag(parser, "how many are shown", default=10)


def run_search(given: argparse.Namespace, settings: Settings) -> int:
    """Print the best matches, and how many were left out."""
    hits = with_memory(
        settings, lambda fleet: _found(fleet, settings.program, " ".join(given.words), given.limit)
    )
    note = "" if hits.well else NEAREST if hits.lines else "Nothing matched."
    lines = [*([note] if note else []), *hits.lines, *omitted_line(hits.omitted)]
    if hits.unread:
        lines.append(
            f"not searched: {counted(hits.unread, 'program')} that changed before; --program "
            "searches one"
        )
    wire = {"hits": hits.wire, **({"note": note} if note else {})}
    content = with_omitted(wire, matches=hits.omitted, programs=hits.unread)
    print_answer(content, "\n".join(lines), as_json=given.json)
    return 0


async def _found(fleet: Fleet, program_id: str | None, words: str, limit: int) -> Hits:
    """Search the entries, and the lessons of a whole program or of those that changed last."""
    latest = await _programs(fleet, program_id)
    snapshot, question = await run_all(
        fleet.knowledge.snapshots.read, partial(embed_question, fleet, words)
    )
    now, keys = fleet.now(), {row.key for row in snapshot.readable}
    lessons = [
        (program, lesson)
        for program in latest.programs
        for lesson in program.patterns.values()
        if not (lesson.promoted and lesson.knowledge_key in keys)  # its entry says it
    ]
    pool: list[Pattern | KnowledgeRow] = [*(lesson for _, lesson in lessons), *snapshot.readable]
    trusted = [
        strength(item, now) if isinstance(item, Pattern) else item.confidence for item in pool
    ]
    best = ranked(pool, trusted, question)
    owners = {id(lesson): program for program, lesson in lessons}
    lines, wire = list[str](), list[dict[str, object]]()
    for match in best[:limit]:
        item, score = match.lesson, round(match.score, 3)
        if isinstance(item, Pattern):
            owner = owners[id(item)]
            lesson = pattern_answer(item, now, owner, snapshot.keys, match=match)
            place = membership(lesson.knowledge_key, snapshot)
            lines.append(f"{score:.2f} {lesson_line(lesson, place, owner.program_id)}")
            wire.append({"programId": owner.program_id, **lesson.wire()})
        else:
            entry = knowledge_answer(item, now, match=match)
            lines.append(f"{score:.2f} {entry_line(entry)}")
            wire.append({**entry.wire()})
    return Hits(lines, wire, len(best) - len(lines), latest.omitted, fits_well(best))


MAX_KEYS_IN_LINE: Final = 3  # entries that a program's line names; chosen


def add_who(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    add_limit_flag(parser, "how many programs are shown, those that changed last")


def run_who(given: argparse.Namespace, settings: Settings) -> int:
    """Print the programs, the one that changed last first, and how many are left out."""

    async def work(fleet: Fleet) -> tuple[LatestPrograms, Snapshot]:
        latest = await _programs(fleet, settings.program, given.limit)
        return latest, await fleet.knowledge.snapshots.read()

    latest, snapshot = with_memory(settings, work)
    keys: dict[str, list[str]] = defaultdict(list)
    for entry in snapshot.readable:
        for contributor in entry.contributors:
            keys[contributor].append(entry.key)
    rows, lines = list[dict[str, object]](), list[str]()
    for program in latest.programs:
        if program.last_update is None:
            continue
        name, entries, seen = (
            program.program_id,
            sorted(keys[program.program_id]),
            program.last_update,
        )
        lessons = len(program.patterns)
        rows.append(
            {
                "programId": name,
                "lessons": lessons,
                "entries": entries,
                "lastSeen": format_instant(seen),
            }
        )
        lines.append(
            f"{name}: {counted(lessons, 'lesson')}, {counted(len(entries), 'entry', 'entries')}, "
            f"last seen {seen:%Y-%m-%d}"
        )
        shown = entries if settings.program else entries[:MAX_KEYS_IN_LINE]
        lines += [f"  {key}" for key in shown]
        if more := len(entries) - len(shown):
            lines.append(f"  and {more} more; --program {name} shows them")
    lines = [*(lines or ["no program has stored anything"]), *omitted_line(latest.omitted)]
    content = with_omitted({"programs": rows}, programs=latest.omitted)
    print_answer(content, "\n".join(lines), as_json=given.json)
    return 0


def add_domains(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    add_limit_flag(parser, "how many domains are listed", default=50, limit=1_000)


def run_domains(given: argparse.Namespace, settings: Settings) -> int:
    """Print the domains, and how many domains and programs are left out."""
    program = settings.program
    entries, lessons, unread = with_memory(settings, lambda fleet: _counts(fleet, program))
    names = sorted(entries | lessons, key=lambda name: (-entries[name] - lessons[name], name))
    rows = [
        {"domain": name, "entries": entries[name], "lessons": lessons[name]}
        for name in names[: given.limit]
    ]
    more = len(names) - len(rows)
    lines = [
        f"{name}: {counted(entries[name], 'entry', 'entries')}, {counted(lessons[name], 'lesson')}"
        for name in names[: given.limit]
    ] or ["no domain yet"]
    if unread:
        lines.append(
            f"without the lessons of {counted(unread, 'program')} that changed before the others"
        )
    wire = with_omitted({"domains": rows}, domains=more, programs=unread)
    print_answer(wire, "\n".join([*lines, *omitted_line(more)]), as_json=given.json)
    return 0


async def _counts(fleet: Fleet, program_id: str | None) -> tuple[Counter[str], Counter[str], int]:
    """Return the entries and the lessons by domain, of one program or of those that changed
    last.
    """
    latest = await _programs(fleet, program_id)
    rows = (await fleet.knowledge.snapshots.read()).readable
    entries = Counter(
        row.domain for row in rows if program_id is None or program_id in row.contributors
    )
    lessons = Counter(
        lesson.domain for program in latest.programs for lesson in program.patterns.values()
    )
    return entries, lessons, latest.omitted


WITHOUT_READS: Final = "reads of others' memory are left out; --reads shows them"


def add_log(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument(
        "--since", metavar="DATE", type=_instant, help="none from before, e.g. 2026-03-01, in UTC"
    )
    parser.add_argument(
        "--reads", action="store_true", help="show who read others' memory, instead of the changes"
    )
    add_limit_flag(parser, "how many lines are shown", limit=MAX_LEDGER_LINES)


def run_log(given: argparse.Namespace, settings: Settings) -> int:
    """Print the changes or the reads, and what is left out."""
    latest = with_memory(
        settings, lambda fleet: latest_lines(fleet, given.since, given.limit, reads=given.reads)
    )
    wire = {
        "reads" if given.reads else "changes": [line.wire() for line in latest.lines],
        **({"omitted": latest.omitted} if latest.omitted else {}),
    }
    nothing = "nothing was read" if given.reads else "nothing has changed"
    lines = [_line(line) for line in latest.lines] or [
        nothing + (" since then" if given.since else "")
    ]
    left_out = [*omitted_line(latest.omitted), *([] if given.reads else [WITHOUT_READS])]
    print_answer(wire, "\n".join([*lines, *left_out]), as_json=given.json)
    return 0


def _line(line: LedgerLine) -> str:
    sources = f" from {', '.join(line.patterns)}" if line.patterns else ""
    why = f": {one_line(line.why)}" if line.why else ""
    return (
        f"{line.at:%Y-%m-%d %H:%M} {line.event} {line.key} by "
        f"{line.by}{with_token(line.token)}{sources}{why}"
    )


def _instant(text: str) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no date, e.g. 2026-03-01") from error
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)
