"""Two copies of one program as one. Nothing is lost: what gives way is archived."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, NamedTuple

from fleet_memory.rules.asking import MAX_ASKED, MAX_SHOWN, MAX_VERDICTS_PER_DAY
from fleet_memory.rules.entries import MAX_REMEMBERED_CONTRADICTIONS
from fleet_memory.rules.lifecycle.admission import MAX_CALLS
from fleet_memory.rules.lifecycle.decay import newest_evidence
from fleet_memory.rules.lifecycle.state import (
    MAX_CONFIG_BYTES,
    MAX_MISSING,
    notes_problem,
    was_made,
    with_note,
)
from fleet_memory.rules.retrieval.budget import size
from fleet_memory.rules.text.keys import bare_words, normalised, text_hash
from fleet_memory.rules.text.vectors import with_search_vector
from fleet_memory.schemas.fields import LooseValue
from fleet_memory.schemas.patterns import Evidence, Outcome, Pattern
from fleet_memory.schemas.programs import (
    Archived,
    ArchivedNote,
    ArchiveRecord,
    Asked,
    DecayConfig,
    Missing,
    Note,
    PastSummary,
    Program,
    ProgramRecord,
)

_MAX_TAGS: Final = 10  # of one lesson, as `schemas.fields.Tags`
_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_ALWAYS: Final = datetime.max.replace(tzinfo=UTC)


class _Copy(NamedTuple):
    """A copy's words: those of its log, and how many there ever were of each outcome."""

    log: Sequence[Evidence]
    totals: Counter[str]


def is_same_lesson(one: Pattern, other: Pattern) -> bool:
    """Whether two lessons have equal words."""
    return text_hash(one.pattern) == text_hash(other.pattern)


def last_touched(pattern: Pattern) -> datetime:
    """Return when an agent last stored the lesson or gave a word about it."""
    times = (
        pattern.stored_at,
        pattern.last_reinforced,
        *(line.at for line in pattern.evidence_log),
    )
    return max((*times, pattern.called_at) if pattern.called_at else times)


def merged_pattern(one: Pattern, other: Pattern) -> Pattern:
    """Return the one lesson of two copies of equal words and of one id.

    The copy that was stored first gives text, evidence, session and source, the one that was
    touched last domain, project and confidence. Words of both count, each once as far as the logs
    tell.
    """
    if one == other:
        return one
    first, second = sorted((one, other), key=_first_stored)
    newest = max((first, second), key=_newest_first)
    evidence = first.evidence or second.evidence
    copies = (
        _copy(first),
        _copy(second) if second.stored_at == first.stored_at else _told(second, evidence),
    )
    lines = Counter(copies[0].log) | Counter(copies[1].log)
    in_entry = [copy for copy in (first, second) if copy.knowledge_key is not None]
    embedded = first if first.vector else second
    merged = replace(
        first,
        domain=newest.domain,
        project_id=newest.project_id,
        confidence=newest.confidence,
        evidence=evidence,
        discovered_at=min(first.discovered_at, second.discovered_at),
        last_reinforced=max(first.last_reinforced, second.last_reinforced),
        called_at=_latest(first.called_at, second.called_at),
        tags=tuple(sorted({*first.tags, *second.tags})[:_MAX_TAGS]),
        confirmations=_total("confirmed", copies, lines),
        contradictions=_total("contradicted", copies, lines),
        doublings=max(first.doublings, second.doublings),
        spaced_at=_latest(first.spaced_at, second.spaced_at),
        evidence_log=_log(copies, lines),
        knowledge_key=in_entry[0].knowledge_key if in_entry else None,
        echo=_is_echo(in_entry),
        rewrite=max(
            (c.rewrite for c in in_entry if c.rewrite),
            key=lambda r: (r.at, r.judged_same),
            default=None,
        ),
        vector=embedded.vector,
        embedder=embedded.embedder,
        calls=_calls(first, second),
    )
    return with_search_vector(merged, second.search_vector)


def _first_stored(copy: Pattern) -> tuple[datetime, str, str, str, bool, str, str]:
    """Return the order of two copies; of one moment the one with evidence is first, for the merged
    lesson has it.
    """
    session, source = copy.session_id or "", copy.source.compact()
    return (
        copy.stored_at,
        copy.pattern,
        session,
        source,
        not copy.evidence,
        copy.evidence,
        copy.knowledge_key or "",
    )


def _newest_first(copy: Pattern) -> tuple[datetime, str, str, float]:
    return last_touched(copy), copy.domain, copy.project_id or "", copy.confidence


def _copy(pattern: Pattern) -> _Copy:
    totals = Counter[str](confirmed=pattern.confirmations, contradicted=pattern.contradictions)
    return _Copy(pattern.evidence_log, totals)


def _told(pattern: Pattern, evidence: str) -> _Copy:
    """Return a copy's words with its first store as one; its evidence is new unless it is
    `evidence`.
    """
    known = _copy(pattern)
    text = "" if normalised(pattern.evidence) == normalised(evidence) else pattern.evidence
    stored = Evidence(at=pattern.stored_at, outcome="confirmed", text=text)
    return _Copy([stored, *known.log], known.totals + Counter[str](confirmed=1))


def _total(outcome: Outcome, copies: Iterable[_Copy], lines: Counter[Evidence]) -> int:
    """Return how many words of an outcome there were: each once after both logs begin, before that
    the larger count.
    """
    since = max((_log_begins(copy) for copy in copies), default=_NEVER)

    def logged(log: Counter[Evidence]) -> int:
        return sum(
            count for line, count in log.items() if line.outcome == outcome and line.at > since
        )

    return max(copy.totals[outcome] - logged(Counter(copy.log)) for copy in copies) + logged(lines)


def _log(copies: Sequence[_Copy], lines: Counter[Evidence]) -> tuple[Evidence, ...]:
    """Return the newest lines of both; those that a full log has let go do not come back from the
    other.
    """
    since = max(
        (begin for copy in copies if (begin := _log_begins(copy)) != _ALWAYS), default=_NEVER
    )
    return newest_evidence(
        sorted((line for line in lines.elements() if line.at >= since), key=_moment)
    )


def _log_begins(copy: _Copy) -> datetime:
    """Return from when on a log has every word of its copy."""
    if copy.totals.total() <= len(copy.log):
        return _NEVER
    return min((line.at for line in copy.log), default=_ALWAYS)


def _calls(one: Pattern, other: Pattern) -> dict[str, str]:
    """Return the calls of both; the lesson's own id first, and of two calls under one id the
    greater digest.
    """
    calls = dict(sorted([*one.calls.items(), *other.calls.items()]))
    ids = sorted(calls, key=lambda id_: (id_ != one.id, id_))
    return {id_: calls[id_] for id_ in ids[:MAX_CALLS]}


def _is_echo(copies: Sequence[Pattern]) -> bool:
    return bool(copies) and all(
        copy.echo for copy in copies if copy.knowledge_key == copies[0].knowledge_key
    )


def _latest(one: datetime | None, other: datetime | None) -> datetime | None:
    return max((at for at in (one, other) if at is not None), default=None)


def _moment(line: Evidence) -> tuple[datetime, str, str]:
    return line.at, line.outcome, line.text


class Stating(NamedTuple):
    """A program, and the context summaries that its store has of it, in any order."""

    program: Program
    history: Sequence[PastSummary] = ()

    @property
    def at(self) -> datetime:
        """When its state was changed last, as far as is known."""
        return max((past.at for past in self.history), default=self.program.last_update or _NEVER)


class MergedState(NamedTuple):
    """A program with the state of both, the summaries to write, and the values that gave way, as
    text; "" for none.
    """

    program: Program
    history: tuple[PastSummary, ...] = ()
    replaced: str = ""


def merged_state(mine: Stating, theirs: Stating, max_summaries: int) -> MergedState:
    """Return the first program with the later handover; each member of config and baselines is the
    later one.

    A part that only one has stays. The first program itself if the other has nothing to add.
    """
    older, newer = (
        sorted((mine, theirs), key=lambda copy: copy.at) if theirs.at > mine.at else (theirs, mine)
    )
    config, other_config = _later(older.program.config, newer.program.config)
    baselines, other_baselines = _later(older.program.baselines, newer.program.baselines)
    is_default = newer.program.decay == DecayConfig()
    after = replace(
        mine.program,
        context_summary=newer.program.context_summary or older.program.context_summary,
        config=config,
        baselines=baselines,
        decay=older.program.decay if is_default else newer.program.decay,
    )
    lost = {"config": other_config, "baselines": other_baselines}
    text = json.dumps(
        {name: part for name, part in lost.items() if part}, ensure_ascii=False, sort_keys=True
    )
    history = _missing_summaries(mine, theirs, max_summaries)
    if after == mine.program and not history:
        return MergedState(mine.program, (), text if text != "{}" else "")
    version = max(mine.program.state_version, theirs.program.state_version) + 1
    version = version if after != mine.program else mine.program.state_version
    after = replace(
        after, state_version=version, summaries=max(mine.program.summaries, _next(history))
    )
    return MergedState(after, history, text if text != "{}" else "")


def merged_marks(mine: Program, theirs: Program) -> Program:
    """Return the first program with the marks of both: the texts it was shown, the pairs, its
    questions.

    A text was shown when it was shown first. The two programs' requests, commits, runs and the
    version that each read are of their own stores, so the first keeps its own.
    """
    shown = {**theirs.shown, **mine.shown}
    shown = {text: min(at, theirs.shown.get(text, at)) for text, at in shown.items()}
    asked = {
        pair: _asked(mine.asked.get(pair), theirs.asked.get(pair))
        for pair in (*mine.asked, *theirs.asked)
    }
    against = {**mine.against, **theirs.against}
    against = {key: max(at, mine.against.get(key, at)) for key, at in against.items()}
    newest_shown = sorted(shown.items(), key=lambda item: (item[1], item[0]))[-MAX_SHOWN:]
    newest_asked = sorted(asked.items(), key=lambda item: (item[1].at, item[0]))[-MAX_ASKED:]
    newest_against = sorted(against.items(), key=lambda item: (item[1], item[0]))[
        -MAX_REMEMBERED_CONTRADICTIONS:
    ]
    return replace(
        mine,
        shown=dict(newest_shown),
        asked=dict(newest_asked),
        against=dict(newest_against),
        judged_at=tuple(sorted({*mine.judged_at, *theirs.judged_at})[-MAX_VERDICTS_PER_DAY:]),
        missing=_questions(mine, theirs),
        sessions=max(mine.sessions, theirs.sessions),
        last_update=max((at for at in (mine.last_update, theirs.last_update) if at), default=None),
    )


def _later(
    older: Mapping[str, LooseValue], newer: Mapping[str, LooseValue]
) -> tuple[Mapping[str, LooseValue], Mapping[str, LooseValue]]:
    """Return the members of both, the newer of those with one name, and the members that gave
    way.
    """
    both = {**older, **newer}
    both = both if size(both) <= MAX_CONFIG_BYTES else {**newer}
    return both, {name: value for name, value in older.items() if both.get(name) != value}


def _missing_summaries(mine: Stating, theirs: Stating, limit: int) -> tuple[PastSummary, ...]:
    """Return the summaries of the newest of both that the first has not, or has under another
    number.
    """
    known = {_content(past) for past in mine.history}
    new = [past for past in theirs.history if _content(past) not in known]
    everything = sorted([*mine.history, *new], key=lambda past: (past.at, past.number))[-limit:]
    added = sum(_content(past) not in known for past in everything)
    if not added:
        return ()
    first = max(mine.program.summaries + added, len(everything)) - len(everything)
    numbered = (replace(past, number=first + place) for place, past in enumerate(everything))
    return tuple(past for past in numbered if past not in mine.history)


def _content(past: PastSummary) -> tuple[datetime, str]:
    return past.at, json.dumps(past.context_summary, sort_keys=True)


def _next(history: Sequence[PastSummary]) -> int:
    return max((past.number + 1 for past in history), default=0)


def _asked(one: Asked | None, other: Asked | None) -> Asked:
    known = [asked for asked in (one, other) if asked is not None]
    return Asked(times=max(asked.times for asked in known), at=max(asked.at for asked in known))


def _questions(mine: Program, theirs: Program) -> tuple[Missing, ...]:
    asked: dict[str, Missing] = {}
    for question in (*theirs.missing, *mine.missing):
        words = bare_words(question.text)
        known = asked.get(words, question)
        newest = question if question.at >= known.at else known
        asked[words] = replace(newest, times=max(question.times, known.times))
    return tuple(sorted(asked.values(), key=lambda question: question.at)[-MAX_MISSING:])


WHY_REPLACED: Final = "an import brought another text of this id, and the other one stayed"


class Merging(NamedTuple):
    """How copies are merged: the program's archive in the store, the time, and which text of a
    divergent lesson stays.

    `overwrite`: the incoming one. `max_summaries` is how many a program's history has room for.
    """

    archive: Sequence[ArchiveRecord]
    now: datetime
    overwrite: bool
    max_summaries: int


class MergedProgram(NamedTuple):
    """The program, and the records of the lessons and notes that left it. The others are ids of
    lessons.

    `divergent`: both stores have another text. `left`: the store archived the lesson since it was
    in the other store.
    """

    program: Program
    records: tuple[ProgramRecord, ...] = ()
    divergent: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


class _Lessons(NamedTuple):
    patterns: Mapping[str, Pattern]
    losers: Sequence[Pattern]
    divergent: tuple[str, ...]
    left: tuple[str, ...]


def merged_program(mine: Stating, theirs: Stating, merging: Merging) -> MergedProgram:
    """Return the store's program with the other's lessons, notes, state and marks; the same object
    if it has them.

    Where they are too many, `with_room` archives the weakest.
    """
    lessons = _with_lessons(mine.program, theirs.program, merging)
    if not mine.program.exists:
        moved = _moved_in(mine.program, theirs.program, lessons)
        moved = mine.program if moved == mine.program else moved
        return MergedProgram(moved, (*theirs.history,), (), lessons.left)
    state = merged_state(mine, theirs, merging.max_summaries)
    records = _Records(mine.program.program_id, merging)
    after = replace(merged_marks(state.program, theirs.program), patterns=lessons.patterns)
    after = _with_notes(after, theirs.program, records)
    for pattern in lessons.losers:
        records.add_lesson(pattern)
    if state.replaced:
        after = records.with_text(after, state.replaced)
    if after == mine.program and not records.records and not state.history:
        return MergedProgram(mine.program, (), lessons.divergent, lessons.left)
    archived = (*records.records, *state.history)
    return MergedProgram(after, archived, lessons.divergent, lessons.left)


def _moved_in(mine: Program, theirs: Program, lessons: "_Lessons") -> Program:
    """Return a program that stored nothing here as it was there, with the marks that belong to this
    store.
    """
    moved = replace(
        theirs,
        patterns=lessons.patterns,
        pending=mine.pending,
        run=mine.run,
        read_version=mine.read_version,
        commits=mine.commits,
        changes=mine.changes,
    )
    return merged_marks(moved, mine)


def with_other_keys(program: Program, keys: Mapping[str, str]) -> Program:
    """Return the program with the entries of its lessons and words under other keys; the same
    object without any.
    """
    if not any(pattern.knowledge_key in keys for pattern in program.patterns.values()) and not (
        program.against.keys() & keys.keys()
    ):
        return program
    renamed = _renaming(keys)
    return replace(
        program,
        patterns={
            id_: replace(pattern, knowledge_key=renamed(pattern.knowledge_key))
            if pattern.knowledge_key in keys
            else pattern
            for id_, pattern in program.patterns.items()
        },
        against={keys.get(key, key): at for key, at in program.against.items()},
    )


def _renaming(keys: Mapping[str, str]) -> Callable[[str | None], str | None]:
    return lambda key: keys.get(key, key) if key is not None else None


def _with_lessons(mine: Program, theirs: Program, merging: Merging) -> _Lessons:
    patterns, losers = dict(mine.patterns), list[Pattern]()
    divergent, left = list[str](), list[str]()
    for id_, pattern in theirs.patterns.items():
        own = patterns.get(id_)
        if own is None:
            if not merging.overwrite and _left_since(pattern, merging.archive):
                left.append(id_)
            else:
                patterns[id_] = pattern
        elif is_same_lesson(own, pattern):
            both = merged_pattern(own, pattern)
            patterns[id_] = own if both == own else both
        else:
            divergent.append(id_)
            losers.append(own if merging.overwrite else pattern)
            patterns[id_] = pattern if merging.overwrite else own
    return _Lessons(patterns, losers, tuple(divergent), tuple(left))


def _left_since(pattern: Pattern, archive: Sequence[ArchiveRecord]) -> bool:
    """Whether the store archived this very lesson after the copy was touched last."""
    touched = last_touched(pattern)
    return any(
        line.at >= touched
        and line.pattern.id == pattern.id
        and is_same_lesson(line.pattern, pattern)
        for line in archive
        if isinstance(line, Archived)
    )


def _with_notes(program: Program, theirs: Program, records: "_Records") -> Program:
    """Return the program with the other's notes; one with another text than that of its id has a
    new id here.
    """
    mine, made = program, max(program.notes_made, theirs.notes_made)
    by_text = {note.text: note for note in mine.notes.values()}
    for note in theirs.notes.values():
        known = by_text.get(note.text)
        if known is not None:
            both = replace(known, pinned=known.pinned or note.pinned, at=max(known.at, note.at))
            program = (
                program
                if both == known
                else replace(program, notes={**program.notes, known.id: both})
            )
        elif not records.has_left(note):
            is_taken = note.id in mine.notes or was_made(mine, note.id)
            made += is_taken
            program = records.with_note(program, replace(note, id=f"n{made}") if is_taken else note)
    return replace(program, notes_made=max(program.notes_made, made))


class _Records:
    """The records of the lessons and notes that left a program, without those that its archive has
    already.
    """

    def __init__(self, program_id: str, merging: Merging) -> None:
        self.records: list[ProgramRecord] = []
        self._program_id = program_id
        self._merging = merging
        self._notes = [line for line in merging.archive if isinstance(line, ArchivedNote)]

    def add_lesson(self, pattern: Pattern) -> None:
        """Archive a lesson that gave way, unless it is there."""
        known = (line.pattern for line in self._merging.archive if isinstance(line, Archived))
        if any(other.id == pattern.id and is_same_lesson(other, pattern) for other in known):
            return
        self.records.append(
            Archived(
                program_id=self._program_id,
                pattern=pattern,
                reason="merged",
                at=self._merging.now,
                why=WHY_REPLACED,
            )
        )

    def has_left(self, note: Note) -> bool:
        """Whether the store archived a note of this text after it was written."""
        return any(line.at >= note.at and line.note.text == note.text for line in self._notes)

    def with_note(self, program: Program, note: Note) -> Program:
        """Return the program with a note; over the cap the oldest notes are archived, or else this
        one.
        """
        noted = with_note(program, note, self._merging.now)
        if notes_problem(noted) is None:
            self.records += noted.archived
            return noted.program
        self._add_note(note, "over the cap of notes, all others are pinned")
        return program

    def with_text(self, program: Program, text: str) -> Program:
        """Archive values of the state that gave way, as a note, unless they are there."""
        if any(line.note.text == text for line in self._notes):
            return program
        made = program.notes_made + 1
        self._add_note(
            Note(id=f"n{made}", text=text, at=self._merging.now), "an import had later values"
        )
        return replace(program, notes_made=made)

    def _add_note(self, note: Note, why: str) -> None:
        now = self._merging.now
        self.records.append(
            ArchivedNote(program_id=self._program_id, note=note, reason="merged", at=now, why=why)
        )
