"""Read the memory: `list`, `show`, `why` and `search`."""

import argparse
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, get_args

from fleet_memory.cli.arguments import (
    LESSON,
    Actions,
    argument,
    flag,
    lesson_named,
    limit,
)
from fleet_memory.cli.memory import in_memory
from fleet_memory.cli.printing import Output
from fleet_memory.errors import PatternNotFoundError
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
from fleet_memory.repositories.snapshots import row_of
from fleet_memory.rules.lifecycle.decay import is_stale, strength
from fleet_memory.rules.retrieval.budget import MAX_TOKENS
from fleet_memory.rules.retrieval.ranking import Match, fits_well
from fleet_memory.rules.text.keys import KEY_PREFIXES, close_names
from fleet_memory.schemas.fields import format_instant
from fleet_memory.schemas.knowledge import EntryState, KnowledgeRow, Snapshot
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program
from fleet_memory.schemas.value import Value
from fleet_memory.tools.core.recall import NEAREST, embed_question, ranked
from fleet_memory.tools.knowledge import gsp_search, read_entry
from fleet_memory.tools.shared import knowledge_answer, pattern_answer

ENTRY_STATES: Final[tuple[EntryState, ...]] = get_args(EntryState)
LESSON_STATES: Final = ("active", "stale", "promoted")
WITHOUT_READS: Final = "Reads of others' memory are left out; --reads shows them."
_COLUMNS: Final = {
    "lessons": "programId id domain stale knowledgeKey candidateOf pattern",
    "entries": "key status contributorCount projectId pattern",
    "hits": "score programId id key domain stale status pattern",
    "changes": "at event key by token patterns why",
    "reads": "at key by token why",
    "provenance": "discoveredAt programId patternId token pattern | evidence",
    "words": "at programId token outcome evidence",
    "ledger": "at event by token why",
}


async def _programs(fleet: Fleet, *most: int) -> LatestPrograms:
    """Return the program that was asked for, else those that changed last."""
    name = fleet.caller.program_id
    if name is None:
        return await latest_programs(fleet, *most)
    return LatestPrograms([await existing_program(fleet, name)], 0)


async def list_entries(fleet: Fleet, given: argparse.Namespace) -> Output:
    """Return the entries of a domain and a state; candidates by --state alone."""
    if given.state == "candidate":  # also those that were never published, billed 1 read each
        fleet.caller.require_curation()
        read = await fleet.knowledge.in_state("candidate")
        stored = [versioned.entry for versioned in read if versioned.entry]
        found = [entry for entry in stored if given.domain in (None, entry.value.domain)]
        found.sort(key=lambda entry: (-entry.value.confidence, entry.key))
        answers = [knowledge_answer(row_of(entry, 0, 0), fleet.now()) for entry in found]
        return _listed("entries", answers[: given.limit], len(found))
    answer = await gsp_search(
        fleet, domain=given.domain, status=given.state, limit=given.limit, max_tokens=MAX_TOKENS
    )
    notes = [] if answer.total else ["`fleet-memory list lessons` has those of the programs."]
    if answer.suggestions:
        notes.append(f"Close domains are {', '.join(answer.suggestions)}.")
    return _listed("entries", answer.knowledge, answer.total, notes)


def _listed(name: str, rows: Sequence[Value], total: int, notes: Sequence[str] = ()) -> Output:
    content = {name: [row.wire() for row in rows], "total": total}
    return Output(content, _COLUMNS, notes, {name: total - len(rows)})


async def list_lessons(fleet: Fleet, given: argparse.Namespace) -> Output:
    """Return the lessons of a program, or of those that changed last."""
    latest, now = await _programs(fleet), fleet.now()
    every = [(each, item) for each in latest.programs for item in each.patterns.values()]
    found = [
        (program, lesson)
        for program, lesson in every
        if given.domain in (None, lesson.domain)
        and given.state in (None, *_states(lesson, program, now))
    ]
    found.sort(key=lambda each: (-strength(each[1], now), each[0].program_id, each[1].id))
    snapshot = await fleet.knowledge.snapshots.read()
    rows = [await _lesson_row(fleet, *each, snapshot) for each in found[: given.limit]]
    domains = {lesson.domain for _, lesson in every}
    close = close_names(given.domain, domains) if given.domain and not found else ()
    notes = [f"Close domains are {', '.join(close)}."] if close else []
    omitted = {"lessons": len(found) - len(rows), "programs": latest.omitted}
    return Output({"lessons": rows, "total": len(found)}, _COLUMNS, notes, omitted)


def _states(lesson: Pattern, program: Program, now: datetime) -> set[str]:
    state = "stale" if is_stale(lesson, now, program.decay) else "active"
    return {state, *(["promoted"] if lesson.promoted else [])}


async def _lesson_row(
    fleet: Fleet,
    program: Program,
    lesson: Pattern,
    snapshot: Snapshot,
    match: Match[Pattern | KnowledgeRow] | None = None,
) -> dict[str, object]:
    """Return a lesson; `candidateOf` in place of `knowledgeKey` names an entry that no agent
    reads, as it lacks votes.
    """
    keys = {*snapshot.keys}
    if fleet.caller.sees_other_programs:  # of a candidate, which has words of another's lesson
        keys = {*keys, lesson.knowledge_key or ""}
    wire = pattern_answer(lesson, fleet.now(), program, keys, match=match).wire()
    key = wire.get("knowledgeKey")
    if key and not any(row.key == key and row.state != "candidate" for row in snapshot.rows):
        wire["candidateOf"] = wire.pop("knowledgeKey")
    return {"programId": program.program_id, **wire}


async def list_programs(fleet: Fleet, given: argparse.Namespace) -> Output:
    """Return the programs, the one that changed last first, and the entries that they taught."""
    latest = await _programs(fleet, given.limit)
    entries = (await fleet.knowledge.snapshots.read()).readable
    rows = [
        {
            "programId": program.program_id,
            "lessons": len(program.patterns),
            "lastSeen": format_instant(program.last_update),
            "entries": sorted(row.key for row in entries if program.program_id in row.contributors),
        }
        for program in latest.programs
        if program.last_update
    ]
    return Output({"programs": rows}, omitted={"programs": latest.omitted})


async def list_domains(fleet: Fleet, given: argparse.Namespace) -> Output:
    """Return the domains, the commonest first, and the counts of their entries and lessons, of
    one program or of those that changed last.
    """
    latest, name = await _programs(fleet), fleet.caller.program_id
    rows = (await fleet.knowledge.snapshots.read()).readable
    entries = Counter(row.domain for row in rows if name is None or name in row.contributors)
    lessons = Counter(each.domain for one in latest.programs for each in one.patterns.values())
    names = sorted(entries | lessons, key=lambda each: (-entries[each] - lessons[each], each))
    domains = [
        {"domain": each, "entries": entries[each], "lessons": lessons[each]}
        for each in names[: given.limit]
    ]
    omitted = {"domains": len(names) - len(domains), "programs": latest.omitted}
    return Output({"domains": domains}, omitted=omitted)


async def list_log(fleet: Fleet, given: argparse.Namespace) -> Output:
    """Return the changes or the reads, and what is left out."""
    name = "reads" if given.reads else "changes"
    latest = await latest_lines(fleet, given.since, given.limit, reads=given.reads)
    rows = [line.wire() for line in latest.lines]
    notes = [] if given.reads else [WITHOUT_READS]
    return Output({name: rows}, _COLUMNS, notes, {name: latest.omitted})


async def show(fleet: Fleet, given: argparse.Namespace) -> Output:
    """Return the entry or the lesson; with a lesson of the archive how to bring it back."""
    if given.name.startswith(KEY_PREFIXES):
        entry = await read_entry(fleet, given.name, MAX_TOKENS, for_people=True)
        return Output(entry.wire(), _COLUMNS)
    name, lesson_id = lesson_named(given.name, fleet.caller.program_id)
    program = await existing_program(fleet, name)
    lesson = program.patterns.get(lesson_id)
    if lesson is None:
        return await _archived(fleet, program, lesson_id)
    more = {
        "storedAt": format_instant(lesson.stored_at),
        "lastReinforced": format_instant(lesson.last_reinforced),
        "sessionId": lesson.session_id,
        "token": lesson.source.token,
        "evidenceLog": [line.wire() for line in lesson.evidence_log],
    }
    row = await _lesson_row(fleet, program, lesson, await fleet.knowledge.snapshots.read())
    return Output(row | {name: value for name, value in more.items() if value})


async def _archived(fleet: Fleet, program: Program, lesson_id: str) -> Output:
    name = program.program_id
    for row in await list_archive(fleet, name):
        if lesson_id in (row["id"], row.get("patternId"), row.get("noteId")):
            note = f"`fleet-memory lesson restore {name}/{row['id']}` brings it back."
            return Output({"programId": name, "archived": row}, notes=[note])
    raise PatternNotFoundError(name, lesson_id, close_names(lesson_id, program.patterns))


async def why(fleet: Fleet, given: argparse.Namespace) -> Output:
    """Return why the lesson is not knowledge; of an archived one when it left."""
    program, lesson_id = lesson_named(given.name, None)
    said = await explained(fleet, program, lesson_id)
    if said is None:
        return await _archived(fleet, await existing_program(fleet, program), lesson_id)
    return Output({"programId": program, "id": lesson_id, "reasons": said})


async def search(fleet: Fleet, given: argparse.Namespace) -> Output:
    """Return the best of the entries, and of the lessons of a whole program or of those that
    changed last.
    """
    latest = await _programs(fleet)
    snapshot = await fleet.knowledge.snapshots.read()
    question = await embed_question(fleet, " ".join(given.words))
    now, keys = fleet.now(), {row.key for row in snapshot.readable}
    lessons = [
        (program, lesson)
        for program in latest.programs
        for lesson in program.patterns.values()
        if not (lesson.promoted and lesson.knowledge_key in keys)  # its entry says it
    ]
    pool: list[Pattern | KnowledgeRow] = [*(each for _, each in lessons), *snapshot.readable]
    trusted = [
        strength(item, now) if isinstance(item, Pattern) else item.confidence for item in pool
    ]
    owners = {id(lesson): program for program, lesson in lessons}
    best, hits = ranked(pool, trusted, question), list[object]()
    for match in best[: given.limit]:
        item = match.lesson
        if isinstance(item, Pattern):
            owner = owners[id(item)]
            hits.append(await _lesson_row(fleet, owner, item, snapshot, match))
        else:
            hits.append(knowledge_answer(item, now, match=match).wire())
    notes = [] if fits_well(best) else [NEAREST if hits else "Nothing matched."]
    omitted = {"hits": len(best) - len(hits), "programs": latest.omitted}
    return Output({"hits": hits}, _COLUMNS, notes, omitted)


def _instant(text: str) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no date, e.g. 2026-03-01") from error
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)


_DOMAIN: Final = argument("--domain", "DOMAIN", "only of this domain; `list domains` has them")
_LESSON_STATE: Final = argument("--state", None, "only in this state", choices=LESSON_STATES)
_ENTRY_STATE: Final = argument("--state", None, "only in this state", choices=ENTRY_STATES)


SINCE: Final = argument("--since", "DATE", "none from before, e.g. 2026-03-01, UTC", type=_instant)
ACTIONS: Final[Actions] = {
    "list lessons": (in_memory(list_lessons), _DOMAIN, _LESSON_STATE, limit("how many lessons")),
    "list entries": (in_memory(list_entries), _DOMAIN, _ENTRY_STATE, limit("how many entries")),
    "list programs": (in_memory(list_programs), limit("how many programs")),
    "list domains": (in_memory(list_domains), limit("how many domains", 50, 1_000)),
    "list log": (
        in_memory(list_log),
        SINCE,
        flag("--reads", "who read others' memory, instead of the changes"),
        limit("how many lines", most=MAX_LEDGER_LINES),
    ),
    "show": (
        in_memory(show),
        argument("name", "KEY|PROGRAM/ID", "an entry or lesson; ID with --program"),
    ),
    "search": (
        in_memory(search),
        argument("words", "WORDS", "a question or keywords", nargs="+"),
        limit("how many", 10),
    ),
    "why": (in_memory(why), LESSON),
}
