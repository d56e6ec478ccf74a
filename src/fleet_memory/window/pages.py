"""What the pages show: each is a function from what was asked to the object that its JSON twin has.

Pages read with the rights of a reader who writes nothing, through the functions of tools and jobs,
and a bounded number of documents.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain
from typing import Final, NamedTuple, TypeAlias, TypeVar, get_args

from fleet_memory.errors import InvalidArgumentError, PatternNotFoundError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.looking import (
    WaitingPair,
    existing_program,
    explained,
    latest_lines,
    latest_programs,
    waiting_pairs,
)
from fleet_memory.jobs.others import read_others
from fleet_memory.jobs.restoration import list_archive
from fleet_memory.jobs.tokens import list_tokens
from fleet_memory.repositories.snapshots import row_of
from fleet_memory.rules.entries import (
    VERIFY_AFTER,
    Origin,
    entry_state,
    origins,
    row_state,
    standing,
)
from fleet_memory.rules.lifecycle.decay import (
    age_days,
    half_life_days,
    is_stale,
    stale_in_days,
    strength,
)
from fleet_memory.rules.pairs import is_by_person, questions
from fleet_memory.rules.retrieval.boot import SHARES, Depth
from fleet_memory.rules.retrieval.budget import MAX_TOKENS, MIN_TOKENS, tokens
from fleet_memory.rules.text import counted
from fleet_memory.rules.text.keys import close_names
from fleet_memory.rules.text.steering import lesson_steering
from fleet_memory.rules.tokens import is_live
from fleet_memory.schemas.fields import format_instant
from fleet_memory.schemas.knowledge import Contribution, Entry, EntryState, KnowledgeRow, Word
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program
from fleet_memory.tools.core.boot import gsp_bootstrap, sections_with
from fleet_memory.tools.core.recall import recall_memory
from fleet_memory.tools.knowledge import gsp_search, read_entry
from fleet_memory.tools.shared import fleet_freshness, knowledge_answer
from fleet_memory.window.rendering import PageContent
from fleet_memory.window.stores import READER, as_program, entry_mark, pair_mark, text_mark

MAX_PROGRAMS: Final = 50  # of a list; each is a document read. Chosen
MAX_ROWS: Final = 50  # entries or lessons of a page; chosen
MAX_PAIRS: Final = 20  # of the page of pairs; chosen
MAX_FEED: Final = 40  # lines of activity; chosen
MAX_PROGRAMS_OF_FEED: Final = 10  # whose newest lessons stand in the feed; chosen
MAX_ARCHIVED: Final = 100  # records of a program's archive; chosen
MAX_CHARS: Final = 1_000  # of a question, as the tools take it
RECENT: Final = timedelta(days=30)  # what the filter calls so; chosen

_T = TypeVar("_T")


class Visit(NamedTuple):
    """A request for a page: the fleet with the caller's rights, and what was asked."""

    fleet: Fleet
    asked: Mapping[str, str]
    rows: int = MAX_ROWS

    @property
    def reader(self) -> Fleet:
        """The fleet with the rights of a reader of all, who writes nothing."""
        return replace(self.fleet, caller=READER)

    def text(self, name: str) -> str:
        """Return what was asked under a name, "" for nothing."""
        return self.asked.get(name, "").strip()[:MAX_CHARS]

    def number(self, name: str, least: int, most: int) -> int | None:
        """Return the whole number that was asked for, within its limits; None for none."""
        text = self.text(name)
        return min(most, max(least, int(text))) if text.isdecimal() and len(text) < 10 else None

    def one_of(self, name: str, known: Iterable[_T], default: _T) -> _T:
        """Return the value that was asked for, or the default for an unknown one."""
        return next((each for each in known if each == self.text(name)), default)


def _paged(visit: Visit, rows: Sequence[_T]) -> tuple[Sequence[_T], PageContent]:
    """Return the rows of the page that was asked for, and what is said of the others."""
    pages = max(1, -(-len(rows) // visit.rows))
    page = visit.number("page", 1, pages) or 1
    shown = rows[(page - 1) * visit.rows : page * visit.rows]
    return shown, {"pageNumber": page, "pageCount": pages, "total": len(rows)}


def _may_change(visit: Visit) -> bool:
    caller = visit.fleet.caller
    return caller.role == "admin" or (caller.role == "agent" and caller.program_id is None)


# What my agent would read now


async def reading(visit: Visit) -> PageContent:
    """Return a program's next boot, each line with its reason and tokens, and the lessons of other
    programs that it was shown.
    """
    fleet = visit.reader
    programs = await fleet.programs.map_latest(lambda program: program.program_id, MAX_PROGRAMS)
    name = visit.text("program") or next(iter(programs), "")
    depth: Depth = visit.one_of("depth", get_args(Depth), "standard")
    task, budget = visit.text("task"), visit.number("budget", MIN_TOKENS, MAX_TOKENS)
    content: PageContent = {"programs": programs, "program": name, "task": task, "depth": depth}
    content |= {
        "budget": budget,
        "limit": budget or SHARES[depth].tokens,
        "depths": get_args(Depth),
    }
    if not name:
        return content
    agent = as_program(visit.fleet, name)
    boot = await gsp_bootstrap(agent, name, depth, budget, task or None)
    program, scores = await agent.programs.read(name), dict[str, float]()
    if task:
        told = await recall_memory(agent, name, query=task, limit=100, max_tokens=MAX_TOKENS)
        scores |= {each.key: each.score or 0 for each in told.knowledge}
        scores |= {each.key: each.score for each in told.others or ()}
        scores |= {each.id: each.score or 0 for each in told.patterns}
    rows = {row.key: row for row in (await fleet.knowledge.snapshots.read()).readable}
    why = _Reasons(program, rows, scores)
    whole, lines, titles = boot.wire(), dict[str, list[PageContent]](), dict[str, str]()
    for section in sections_with(fleet.served_toolsets):
        titles.setdefault(section.name, section.title)
        for item in section.items(whole):
            found = item if isinstance(item, dict) else {}
            line: PageContent = {"text": section.line(item), "tokens": tokens(item)}
            line |= {"why": why.of(section.name, found), "key": found.get("key")}
            line |= {"id": found.get("id") if section.name == "patterns" else None}
            lines.setdefault(section.name, []).append(line)
    titles["toJudge"] = "Judge these pairs"
    for pair in boot.to_judge or ():
        line = {"text": f"{pair.a.pattern} ↔ {pair.b.pattern}", "tokens": tokens(pair.wire())}
        line |= {"why": "it is asked whether these two are the same", "pair": pair.pair_id}
        lines.setdefault("toJudge", []).append(line)
    sections = [
        {
            "name": name,
            "title": title,
            "lines": lines.get(name, []),
            "tokens": sum(int(str(line["tokens"])) for line in lines.get(name, [])),
            "omitted": boot.omitted.get(name, 0),
        }
        for name, title in titles.items()
        if name in lines or boot.omitted.get(name)
    ]
    return {
        **content,
        "exists": boot.exists is not False,
        "suggestions": boot.suggestions,
        "sections": sections,
        "tokens": tokens(whole),
        "protocol": boot.protocol,
        "shown": await _shown(agent, program),
    }


class _Reasons(NamedTuple):
    """Why a boot has a line."""

    program: Program
    rows: Mapping[str, KnowledgeRow]
    scores: Mapping[str, float]

    def of(self, section: str, item: Mapping[str, object]) -> str:
        fixed = {
            "constitution": "a rule that people set",
            "program": "its own state: where it stopped",
            "notes": "its own note",
            "domains": "a name that the fleet uses",
            "patterns": "its own lesson",
            "others": "one other agent's lesson, which is no knowledge yet",
            "changes": "changed since its last session",
        }
        name = str(item.get("key") or item.get("id"))
        fits = [f"{self.scores[name]:.2f} for the task"] if name in self.scores else []
        if section == "knowledge":
            return "; ".join([*fits, *self._of_entry(self.rows[name], is_own="own" in item)])
        return "; ".join([*fits, fixed.get(section, f"from the toolset {section}")])

    def _of_entry(self, row: KnowledgeRow, *, is_own: bool) -> list[str]:
        domains = {each.domain for each in self.program.patterns.values()}
        near = [f"it works on {row.domain}"] if row.domain in domains and not is_own else []
        own = ["its own lesson says it too"] if is_own else []
        known = counted(len(row.contributors), "agent")
        return [*own, *near, f"learnt by {known}, {row.confidence:.0%} sure"]


async def _shown(agent: Fleet, program: Program) -> PageContent:
    """Return the shelf's lessons that a program was shown, newest first."""
    lessons = {each.words: each for each in (await read_others(agent)).lessons}
    newest = sorted(program.shown.items(), key=lambda item: item[1], reverse=True)
    known = [
        {"at": format_instant(at), "by": lessons[words].program_id, "id": lessons[words].id}
        | {"text": lessons[words].pattern}
        for words, at in newest
        if words in lessons
    ]
    return {"texts": known[:MAX_ROWS], "others": len(newest) - len(known[:MAX_ROWS])}


# Review


async def review(visit: Visit) -> PageContent:
    """Return the pairs that wait for a judge, and the pair judged last."""
    fleet = visit.reader
    pairs = await waiting_pairs(fleet, MAX_PAIRS)
    named = [visit.text("pair")] if visit.text("pair") else []
    read = [each.pair for each in await fleet.pairs.read(*named)] if named else []
    key = visit.text("entry")
    about = (await fleet.knowledge.read_versioned(key))[0].entry if key else None
    judged = {"key": key, "entryState": entry_state(about, fleet.now())} if about else {}
    counts = await fleet.pairs.count_waiting()
    snapshot = await fleet.knowledge.snapshots.read()
    return {
        "mayJudge": _may_change(visit),
        "waiting": dict(counts),
        "pairs": [_pair(each) for each in pairs if each.pair.pair_id not in named],
        "chosen": [
            {**_pair(WaitingPair(pair, questions(pair))), **judged} for pair in read if pair
        ],
        "missing": bool(named) and read == [None],
        "lately": [_pair(WaitingPair(each, questions(each))) for each in await _lately(fleet)],
        "freshness": (await fleet_freshness(fleet, snapshot)).wire(),
    }


async def _lately(fleet: Fleet) -> list[Pair]:
    read = await fleet.pairs.judged_by_people(MAX_PAIRS)
    return [each.pair for each in read if each.pair and is_by_person(each.pair)]


def _pair(waiting: WaitingPair) -> PageContent:
    pair = waiting.pair
    sides = {
        name: {**side.wire(), "seen": text_mark(side.text)}
        for name, side in (("a", pair.a), ("b", pair.b))
    }
    by_person = is_by_person(pair)
    return {**waiting.wire(), **sides, "byPerson": by_person, "seen": pair_mark(pair)}


# Knowledge


async def knowledge(visit: Visit) -> PageContent:
    """Return the entries of a state, domain, age and program; with a question as an agent's search
    finds them, best first.
    """
    fleet, now = visit.reader, visit.fleet.now()
    state: EntryState | str = visit.one_of("state", get_args(EntryState), "")
    query, domain, program = visit.text("query"), visit.text("domain"), visit.text("program")
    age, reader = visit.one_of("age", ("new", "old"), ""), visit.text("as")
    snapshot = await fleet.knowledge.snapshots.read()
    content: PageContent = {"query": query, "state": state, "domain": domain, "program": program}
    content |= {"age": age, "reader": reader, "states": get_args(EntryState), "note": None}
    content |= {"domains": sorted({row.domain for row in snapshot.rows if row.is_known})}
    if query and reader:
        told = await recall_memory(as_program(visit.fleet, reader), reader, query=query)
        return {**content, **told.wire(), "rows": [], "recalled": True}
    every = {row.key: row for row in snapshot.rows if row.is_known}
    scores = dict[str, float | None]()
    if query:
        found = await gsp_search(
            fleet,
            query=query,
            status=next((each for each in get_args(EntryState) if each == state), None),
            limit=100,
            max_tokens=MAX_TOKENS,
        )
        scores = {each.key: each.score for each in found.knowledge}
        content["note"] = found.note
        rows = [every[key] for key in scores if key in every]
    elif state == "candidate":
        read = await fleet.knowledge.in_state("candidate", 4 * MAX_ROWS)
        rows = [row_of(each.entry, 0, 0) for each in read if each.entry]
    else:
        rows = sorted(every.values(), key=lambda row: (row.is_hidden, -row.confidence, row.key))
    chosen = [
        row
        for row in rows
        if domain in ("", row.domain)
        and program in ("", *row.contributors)
        and (row_state(row, now) == state if state else query or not row.is_hidden)
        and (age != "new" or now - row.last_confirmed <= RECENT)
        and (age != "old" or now - row.last_confirmed > VERIFY_AFTER)
    ]
    shown, pages = _paged(visit, chosen)
    listed = [
        knowledge_answer(row, now, contributors=True, explain=False).wire()
        | {"domain": row.domain, "status": row_state(row, now), "score": scores.get(row.key)}
        | {"lastConfirmed": format_instant(row.last_confirmed)}
        for row in shown
    ]
    return {**content, **pages, "rows": listed, "entries": len(every)}


async def entry(visit: Visit) -> PageContent:
    """Return the record of an entry: who learnt it, why their votes are independent, what became
    of it.
    """
    fleet, key = visit.reader, visit.text("key")
    told = await read_entry(fleet, key, MAX_TOKENS, for_people=True)
    stored = await fleet.knowledge.found(key, hidden=True)
    counts, contraries = standing(stored), await _contraries(fleet, stored)
    return {
        **told.wire(),
        "projectId": stored.project_id,
        "readThrough": stored.read_through,
        "also": stored.also,
        "threshold": stored.threshold,
        "counts": counts._asdict(),
        "why": _why_state(stored, told.status, counts.discovered),
        "origins": [_origin(stored, each, contraries) for each in origins(stored)],
        "timeline": _timeline(stored, told.wire().get("ledger")),
        "mayChange": _may_change(visit),
        "isRule": stored.tier == "constitutional",
        "seen": entry_mark(stored),
    }


async def _contraries(fleet: Fleet, entry: Entry) -> Mapping[str, PageContent]:
    """Return what the pairs behind an entry's contradictions hold against it, by the pair's id."""
    ids = dict.fromkeys(word.pair for word in reversed(entry.words) if word.pair)
    read = await fleet.pairs.read(*[*ids][:MAX_PAIRS])
    own = {(line.program_id, line.pattern_id) for line in entry.provenance}
    keys = {entry.key, *entry.also}
    against: dict[str, PageContent] = {}
    for pair in (each.pair for each in read if each.pair):
        for side in (pair.a, pair.b):
            if side.key not in keys and (side.program_id, side.pattern_id) not in own:
                against[pair.pair_id] = {**side.wire()}
    return against


def _why_state(entry: Entry, state: EntryState, discovered: int) -> str:
    """Return in words why an entry is in its state."""
    enough = f"{discovered} of {entry.threshold} independent discoveries"
    if state == "retired":
        by = next(each.by for each in reversed(entry.decisions) if each.kind == "retired")
        return "People took it out of use." if by == "people" else "Its contradictions retired it."
    said: Mapping[EntryState, str] = {
        "candidate": f"It is not knowledge yet: it has {enough}.",
        "contested": "An agent saw the contrary, and nobody has answered it yet.",
        "verify": "Agents read it as something to check first.",
        "fresh": "People set it." if entry.tier == "constitutional" else f"It has {enough}.",
    }
    return said.get(state, "")


def _origin(entry: Entry, origin: Origin, contraries: Mapping[str, PageContent]) -> PageContent:
    """Return an independent origin, with each of its facts and why it counts as it does."""
    return {
        "programs": sorted(origin.programs),
        "position": origin.position,
        "at": format_instant(origin.at),
        "isOpen": origin.is_open,
        "lessons": [
            {
                "programId": line.program_id,
                "patternId": line.pattern_id,
                "text": line.pattern,
                "evidence": line.evidence,
                "at": format_instant(line.stored_at),
                "why": _why_vote(entry, line),
                "isVote": line.is_discovery,
                "pair": line.pair,
                "canSplit": line.pattern != entry.value.pattern,
                "token": line.token,
            }
            for line in sorted(origin.lessons, key=lambda each: each.stored_at)
        ],
        "words": [
            _word(word) | {"contrary": contraries.get(word.pair or "")} for word in origin.words
        ],
    }


def _why_vote(entry: Entry, line: Contribution) -> str:
    if why := line.could_read or line.of_reason:
        return f"Confirms, and did not discover: it {why}."
    first = min((each.at for each in entry.publications), default=None)
    if first is None or line.stored_at <= first:
        return "Discovered: stored before any agent could read this entry."
    return "Discovered: its program had not read the entry when it stored this."


def _word(word: Word) -> PageContent:
    return {
        "programId": word.program_id,
        "outcome": word.outcome,
        "evidence": word.evidence,
        "at": format_instant(word.at),
        "pair": word.pair,
    }


def _timeline(entry: Entry, ledger: object) -> list[PageContent]:
    """Return what happened to an entry, the newest first."""
    lines = ledger if isinstance(ledger, list) else []
    told: list[PageContent] = [
        {"at": each["at"], "by": each["by"], "what": each["event"], "why": each.get("why", "")}
        for each in lines
        if isinstance(each, dict)
    ]
    facts: list[tuple[datetime, str, str, str]] = [
        *((line.stored_at, line.program_id, "learnt", line.pattern) for line in entry.provenance),
        *((word.at, word.program_id, word.outcome, word.evidence) for word in entry.words),
    ]
    for at, by, what, why in facts:
        told.append({"at": format_instant(at), "by": by, "what": what, "why": why})
    newest = sorted(told, key=lambda each: str(each["at"]), reverse=True)
    return newest[: 2 * MAX_ROWS]


# Programs


async def programs(visit: Visit) -> PageContent:
    """Return the programs that changed last, or all that one has."""
    if visit.text("program"):
        return await _program(visit)
    fleet = visit.reader
    latest = await latest_programs(fleet, MAX_PROGRAMS)
    rows, now = (await fleet.knowledge.snapshots.read()).readable, fleet.now()
    entries = Counter(chain.from_iterable({*row.contributors} for row in rows))
    return {
        "programs": [
            {
                "programId": each.program_id,
                "lessons": len(each.patterns),
                "stale": sum(is_stale(one, now, each.decay) for one in each.patterns.values()),
                "notes": len(each.notes),
                "entries": entries[each.program_id],
                "waiting": each.waiting,
                "lastSeen": format_instant(each.last_update) if each.last_update else None,
            }
            for each in latest.programs
        ],
        "omitted": latest.omitted,
    }


async def _program(visit: Visit) -> PageContent:
    fleet, name, now = visit.reader, visit.text("program"), visit.fleet.now()
    program = await existing_program(fleet, name)
    found = sorted(program.patterns.values(), key=lambda each: (-strength(each, now), each.id))
    shown, pages = _paged(visit, found)
    chapter = visit.one_of("show", ("lessons", "state", "archive"), "lessons")
    archive: PageContent = {"archive": [], "archived": 0}
    if chapter == "archive":
        kept = await list_archive(fleet, name, MAX_ARCHIVED)
        archive = {"archive": kept, "archived": await fleet.programs.archive.count_lessons(name)}
    forgot = visit.text("forgot").split(",") if visit.text("forgot") else []
    records = await list_tokens(fleet, name) if chapter == "state" else []
    return {
        "program": name,
        "show": chapter,
        "lastSeen": format_instant(program.last_update) if program.last_update else None,
        "lessons": [_lesson(program, each, now) for each in shown] if chapter == "lessons" else [],
        **pages,
        "notes": [note.wire() | {"at": format_instant(note.at)} for note in program.notes.values()],
        "handover": program.context_summary,
        "config": program.config,
        "baselines": program.baselines,
        "missing": [{"text": each.text, "times": each.times} for each in program.missing],
        "readVersion": program.read_version,
        "readLast": format_instant(program.read_last) if program.read_last else None,
        "shown": await _shown(as_program(visit.fleet, name), program) if chapter == "state" else {},
        "tokens": [
            {"tokenId": each.token_id, "role": each.role, "live": is_live(each, now)}
            | {"lastUsedOn": each.last_used_on.isoformat() if each.last_used_on else None}
            for each in records
        ],
        **archive,
        "forgot": forgot,
        "mayChange": _may_change(visit),
    }


def _lesson(program: Program, lesson: Pattern, now: datetime) -> PageContent:
    return {
        "id": lesson.id,
        "text": lesson.pattern,
        "domain": lesson.domain,
        "evidence": lesson.evidence,
        "confidence": lesson.confidence,
        "strength": round(strength(lesson, now), 3),
        "ageDays": round(age_days(lesson, now), 1),
        "staleInDays": round(stale_in_days(lesson, now, program.decay), 1),
        "halfLifeDays": half_life_days(lesson),
        "stale": is_stale(lesson, now, program.decay),
        "keys": lesson.knowledge_keys,
        "projectId": lesson.project_id,
        "confirmations": lesson.confirmations,
        "contradictions": lesson.contradictions,
        "allowed": lesson.allowed,
        "steering": lesson_steering(lesson.pattern, lesson.evidence, lesson.domain),
        "seen": text_mark(lesson.pattern),
    }


async def lesson(visit: Visit) -> PageContent:
    """Return one lesson with its evidence; on request why it is not knowledge, which reads every
    pair of the fleet.
    """
    fleet, name, id_, now = visit.reader, visit.text("program"), visit.text("id"), visit.fleet.now()
    program = await existing_program(fleet, name)
    if id_ not in program.patterns:
        raise PatternNotFoundError(name, id_, close_names(id_, program.patterns))
    found = program.patterns[id_]
    return {
        "program": name,
        **_lesson(program, found, now),
        "storedAt": format_instant(found.stored_at),
        "sessionId": found.session_id,
        "token": found.source.token,
        "client": found.source.client,
        "evidenceLog": [
            {"at": format_instant(each.at), "outcome": each.outcome, "text": each.text}
            for each in found.evidence_log
        ],
        "reasons": await explained(fleet, name, id_) if visit.text("why") else None,
        "mayChange": _may_change(visit),
    }


# Activity


async def activity(visit: Visit) -> PageContent:
    """Return what happened lately, the newest first: changes by people and agents, lessons that
    were stored, and what toolsets tell; and who read what.
    """
    fleet = visit.reader
    changes = await latest_lines(fleet, None, MAX_FEED)
    reads = await latest_lines(fleet, None, MAX_FEED // 4, reads=True)
    latest = await fleet.programs.map_latest(_newest, MAX_PROGRAMS_OF_FEED)
    feed: list[PageContent] = [
        {"at": format_instant(each.at), "by": each.by, "what": each.event, "text": each.key}
        | {"why": each.why, "token": each.token, "key": each.key}
        for each in changes.lines
    ]
    feed += [
        {"at": format_instant(each.stored_at), "by": name, "what": "stored", "text": each.pattern}
        | {"program": name, "id": each.id, "token": each.source.token}
        for name, lessons, _ in latest
        for each in lessons
    ]
    for toolset in fleet.toolsets:
        told = await toolset.window.activity(fleet, MAX_FEED) if toolset.window else ()
        for row in told:
            said: PageContent = {
                "at": format_instant(row.at),
                "by": row.program_id,
                "text": row.text,
            }
            feed.append(
                {**said, "what": toolset.name, "toolset": toolset.name, "record": row.record}
            )
    feed.sort(key=lambda each: str(each["at"]), reverse=True)
    return {
        "feed": feed[:MAX_FEED],
        "omitted": changes.omitted,
        "reads": [each.wire() for each in reads.lines],
        "readers": [
            {"programId": name, "at": format_instant(at) if at else None, "version": version}
            for name, _, (at, version) in latest
        ],
        "mayChange": _may_change(visit),
    }


_Newest: TypeAlias = tuple[str, Sequence[Pattern], tuple[datetime | None, int]]


def _newest(program: Program) -> _Newest:
    lessons = sorted(program.patterns.values(), key=lambda each: each.stored_at)
    return program.program_id, lessons[-MAX_FEED // 4 :], (program.read_last, program.read_version)


async def record(visit: Visit) -> PageContent:
    """Return a record of a toolset."""
    name, id_ = visit.text("toolset"), visit.text("id")
    part = next((each.window for each in visit.fleet.toolsets if each.name == name), None)
    found = await part.record(visit.reader, id_) if part else None
    if found is None:
        raise InvalidArgumentError(f"The toolset {name!r} has no record {id_!r}.")
    return {"toolset": name, "id": id_, "record": found.wire()}


async def components(_: Visit) -> PageContent:
    """Return nothing: the page has samples of its own."""
    return {}


class Page(NamedTuple):
    """A page: its path below the window's, its title, what it shows, and its template; its number
    among the five, or the one of them that leads to it.
    """

    path: str
    title: str
    content: Callable[[Visit], Awaitable[PageContent]]
    template: str
    number: int = 0
    up: str = ""


PAGES: Final = (
    Page("/", "What an agent reads", reading, "reading.html", 1),
    Page("/review", "Review", review, "review.html", 2),
    Page("/knowledge", "Knowledge", knowledge, "knowledge.html", 3),
    Page("/entry", "Entry", entry, "entry.html", up="/knowledge"),
    Page("/programs", "Programs", programs, "programs.html", 4),
    Page("/lesson", "Lesson", lesson, "lesson.html", up="/programs"),
    Page("/activity", "Activity", activity, "activity.html", 5),
    Page("/record", "Record", record, "record.html", up="/activity"),
    Page("/components", "Components", components, "components.html"),
)
