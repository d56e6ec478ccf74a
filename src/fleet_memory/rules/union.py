"""Two memories as one: the union of their facts. Every view follows from it.

Each function takes what the store has and what comes in, and returns the store's own object where
it has all facts already. Order, doubling and direction of imports change no fact.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from fleet_memory.rules.asking import with_asked, with_shown
from fleet_memory.rules.entries import (
    MAX_PROVENANCE,
    keys_of,
    read_apart,
    settled,
    standing,
    under_policy,
)
from fleet_memory.rules.lifecycle.decay import newest_evidence
from fleet_memory.rules.lifecycle.state import MAX_MISSING, new_note, was_made, with_note
from fleet_memory.rules.pairs import (
    DraftDocuments,
    decided,
    ruling,
    with_judgement,
)
from fleet_memory.rules.text.keys import bare_words, text_hash
from fleet_memory.rules.text.steering import lesson_steering
from fleet_memory.rules.text.vectors import with_search_vector
from fleet_memory.schemas.knowledge import Contribution, Entry, Publication, Word
from fleet_memory.schemas.pairs import Pair, Side
from fleet_memory.schemas.patterns import Evidence, Pattern
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import (
    Archived,
    ArchivedNote,
    ArchiveReason,
    ArchiveRecord,
    DecayConfig,
    Missing,
    PastSummary,
    Program,
    ProgramRecord,
)

_NEVER: Final = datetime.min.replace(tzinfo=UTC)

# What a file may not say


def without_releases(program: Program) -> Program:
    """Return an incoming program whose texts that give their reader orders wait for people here."""
    lessons = {id_: replace(each, allowed=False) for id_, each in program.patterns.items()}
    return replace(program, patterns=lessons)


def without_release(pair: Pair) -> Pair:
    """Return an incoming pair for people alone where a text gives its reader orders."""
    orders = (lesson_steering(side.text, side.evidence, side.domain) for side in (pair.a, pair.b))
    steered = replace(pair, steering=pair.steering or next(filter(None, orders), ""))
    return steered if pair.state == "gone" else replace(steered, state=ruling(steered))


def without_orders(entry: Entry) -> Entry:
    """Return an incoming entry without lessons that give their reader orders, which wait for people
    here; without any, nor the wording of people there, where its text does.
    """
    domain, decisions = entry.value.domain, entry.decisions
    steers = lesson_steering(entry.value.pattern, "", domain)
    if steers:
        decisions = tuple(each for each in decisions if each.kind != "reworded")
    lines = tuple(
        line
        for line in entry.provenance
        if not (steers or lesson_steering(line.pattern, line.evidence, domain))
    )
    return replace(entry, provenance=lines, decisions=decisions)


def with_earned_standing(entry: Entry, policy: Policy, *, with_rules: bool) -> Entry:
    """Return an incoming entry that is published only if its facts suffice for the store's policy,
    and by that policy; a rule of people as a candidate, unless `with_rules`.
    """
    if entry.tier == "constitutional":
        return entry if with_rules else replace(entry, tier="architectural", publications=())
    if not entry.is_published:
        return entry
    *closed, last = entry.publications
    bare = under_policy(replace(entry, publications=tuple(closed)), policy)
    if not standing(bare).suffices(policy.threshold, policy.tried):
        return bare
    last = replace(last, threshold=bare.threshold, tried=bare.tried, origins=bare.origins)
    return replace(bare, publications=(*closed, last))


# Lessons

LeftLessons: TypeAlias = Mapping[tuple[str, str, str], datetime]
"""When a lesson left last, by program, id and hash of its words."""


def left_lessons(archive: Iterable[ArchiveRecord], *reasons: ArchiveReason) -> LeftLessons:
    """Return the lessons that left for one of these reasons."""
    left: dict[tuple[str, str, str], datetime] = {}
    for record in archive:
        if isinstance(record, Archived) and record.reason in reasons:
            lesson = (record.program_id, record.pattern.id, text_hash(record.pattern.pattern))
            left[lesson] = max(record.at, left.get(lesson, _NEVER))
    return left


def _last_touched(pattern: Pattern) -> datetime:
    """Return when an agent last stored the lesson or gave a word about it."""
    times = [pattern.stored_at, pattern.last_reinforced, pattern.called_at or _NEVER]
    return max(*times, *(line.at for line in pattern.evidence_log))


def united_lesson(one: Pattern, other: Pattern) -> Pattern:
    """Return the lesson of two copies of one id, with the earlier wordings of both.

    Of two texts it is the later. Of equal words the copy that was stored first gives evidence and
    source, the one that was touched last all else; the words about both count once.
    """
    if one == other:
        return one
    earlier = tuple(
        sorted(
            {*one.earlier, *other.earlier},  # a text that either corrected is corrected
            key=lambda each: (each.stored_at, each.change == "corrected", each.compact()),
        )
    )
    first, second = sorted((one, other), key=lambda copy: (copy.stored_at, copy.compact()))
    if text_hash(one.pattern) != text_hash(other.pattern):
        return replace(second, earlier=earlier)
    log = {*first.evidence_log, *second.evidence_log}
    outcomes = [line.outcome for line in log]
    if second.evidence not in (first.evidence, ""):
        log.add(Evidence(at=second.stored_at, outcome="confirmed", text=second.evidence))
    united = replace(
        max(first, second, key=lambda copy: (_last_touched(copy), copy.compact())),
        evidence=first.evidence or second.evidence,
        session_id=first.session_id,
        source=first.source,
        stored_at=first.stored_at,
        read_first=first.read_first,
        read_last=first.read_last,
        discovered_at=min(first.discovered_at, second.discovered_at),
        last_reinforced=max(first.last_reinforced, second.last_reinforced),
        confirmations=max(first.confirmations, second.confirmations, outcomes.count("confirmed")),
        contradictions=max(
            first.contradictions, second.contradictions, outcomes.count("contradicted")
        ),
        evidence_log=newest_evidence(
            sorted(log, key=lambda line: (line.at, line.outcome, line.text))
        ),
        earlier=earlier,
        allowed=first.allowed or second.allowed,
    )
    return with_search_vector(united, first.search_vector, second.search_vector)


def _latest(*times: datetime | None) -> datetime | None:
    return max((at for at in times if at is not None), default=None)


# Programs


class ProgramCopy(NamedTuple):
    """A program of one store, with the context summaries that it has there."""

    program: Program
    history: Sequence[PastSummary] = ()

    def stated_at(self) -> tuple[datetime, int, datetime]:
        """Return the order of its state: by its newest handover, then by how often it changed."""
        newest = max((past.at for past in self.history), default=_NEVER)
        return newest, self.program.state_version, self.program.last_update or _NEVER


class UnitedProgram(NamedTuple):
    """The program, the records that it leaves, and the ids of the lessons that left either store
    since they were touched last.
    """

    program: Program
    records: tuple[ProgramRecord, ...] = ()
    left: tuple[str, ...] = ()


def united_program(
    mine: ProgramCopy,
    theirs: ProgramCopy,
    archive: Sequence[ArchiveRecord],
    max_summaries: int,
    now: datetime,
    *,
    overwrite: bool,
) -> UnitedProgram:
    """Return the store's program with the other's lessons, notes, state and marks; the same object
    if it has them. `archive` is that of both. `overwrite` brings lessons back that left. Marks of
    runs stay the store's own.
    """
    before, name = mine.program, mine.program.program_id
    away = left_lessons(archive, "cap", "decay", "forgotten", "deleted")
    known = left_lessons(archive, "merged", "replaced")
    lessons, records, left = list[Pattern](), list[ProgramRecord](), list[str]()
    for id_ in {**before.patterns, **theirs.program.patterns}:
        own, other = before.patterns.get(id_), theirs.program.patterns.get(id_)
        copies = [copy for copy in (own, other) if copy is not None]
        lesson = united_lesson(copies[0], copies[-1])
        words = text_hash(lesson.pattern)
        if away.get((name, id_, words), _NEVER) >= _last_touched(lesson):
            if not overwrite:
                left.append(id_)
                continue
            lesson = replace(lesson, called_at=now)  # as restored: the next import lets it stay
        lessons.append(own if own is not None and lesson == own else lesson)
        texts = {words, *(wording.words for wording in lesson.earlier)}
        for copy in copies:
            place = name, id_, text_hash(copy.pattern)
            if place[2] not in texts and place not in known:
                at = lesson.stored_at
                records.append(Archived(program_id=name, pattern=copy, reason="merged", at=at))
    lessons.sort(key=lambda lesson: (lesson.stored_s, lesson.id))
    after, history = _with_state(mine, theirs, max_summaries)
    after = _with_marks(after, theirs.program)
    after, notes = _with_notes(after, theirs.program, archive, now)
    after = replace(after, patterns={lesson.id: lesson for lesson in lessons})
    records += [*notes, *history]
    return UnitedProgram(
        before if after == before and not records else after, tuple(records), tuple(left)
    )


def _with_state(
    mine: ProgramCopy, theirs: ProgramCopy, max_summaries: int
) -> tuple[Program, Sequence[PastSummary]]:
    """Return the program with the later state, and the summaries to write."""
    before = mine.program
    older, newer = (copy.program for copy in sorted((theirs, mine), key=ProgramCopy.stated_at))
    history = _new_summaries(mine, theirs, max_summaries)
    after = replace(
        before,
        context_summary=newer.context_summary or older.context_summary,
        config=newer.config or older.config,
        baselines=newer.baselines or older.baselines,
        decay=older.decay if newer.decay == DecayConfig() else newer.decay,
        summaries=len(history) or before.summaries,
    )
    if after != before:
        version = max(before.state_version + before.exists, newer.state_version)
        after = replace(after, state_version=version)
    return after, [past for past in history if past not in mine.history]


def _new_summaries(mine: ProgramCopy, theirs: ProgramCopy, limit: int) -> Sequence[PastSummary]:
    """Return the newest summaries of both, numbered anew; none where the other has no newer one."""
    both = {
        (past.at, json.dumps(past.context_summary, sort_keys=True)): past
        for past in (*theirs.history, *mine.history)
    }
    newest = [both[content] for content in sorted(both)][-limit:]
    if all(past in mine.history for past in newest):
        return ()
    return [replace(past, number=place) for place, past in enumerate(newest)]


def _with_marks(mine: Program, theirs: Program) -> Program:
    """Return the program with what both were shown, read and asked."""
    dropped = _latest(mine.shown_dropped_at, theirs.shown_dropped_at)
    first = {words: min(at, mine.shown.get(words, at)) for words, at in theirs.shown.items()}
    seen = with_shown(replace(mine, shown=first, shown_dropped_at=dropped), mine.shown)
    seen = with_asked(seen, {**theirs.asked, **mine.asked})
    questions: dict[str, Missing] = {}
    for question in sorted((*theirs.missing, *mine.missing), key=lambda each: each.at):
        questions.pop(bare_words(question.text), None)
        questions[bare_words(question.text)] = question
    return replace(
        seen,
        read_first=min((at for at in (mine.read_first, theirs.read_first) if at), default=None),
        read_last=_latest(mine.read_last, theirs.read_last),
        missing=tuple(questions.values())[-MAX_MISSING:],
        sessions=max(mine.sessions, theirs.sessions),
        request_ids=mine.request_ids or theirs.request_ids,
        last_update=_latest(mine.last_update, theirs.last_update),
    )


def _with_notes(
    program: Program, theirs: Program, archive: Sequence[ArchiveRecord], now: datetime
) -> tuple[Program, Sequence[ArchiveRecord]]:
    """Return the program with the other's notes, and the notes that leave for them; a taken id
    becomes a new one.
    """
    mine = program
    program = replace(mine, notes_made=max(mine.notes_made, theirs.notes_made))
    gone = {each.note.text: each.at for each in archive if isinstance(each, ArchivedNote)}
    texts, records = {note.text for note in mine.notes.values()}, list[ArchiveRecord]()
    for note in theirs.notes.values():
        if note.text in texts or gone.get(note.text, _NEVER) >= note.at:
            continue
        fresh = new_note(program, note.text, note.at, pinned=note.pinned)
        noted = with_note(program, fresh if was_made(mine, note.id) else note, now)
        program = noted.program
        records += noted.archived
    return program, records


# Pairs


def united_pair(mine: Pair, theirs: Pair) -> Pair:
    """Return the store's pair with the verdicts of both, the newest of each program; the same
    object if it has them. A pair that is gone in either stays so.
    """
    after = replace(
        mine,
        a=min(mine.a, theirs.a, key=_asked_first),
        b=min(mine.b, theirs.b, key=_asked_first),
        judgements=(),
        opened_at=min(mine.opened_at, theirs.opened_at),
    )
    for judgement in sorted(
        {*mine.judgements, *theirs.judgements}, key=lambda each: (each.at, each.compact())
    ):
        after = with_judgement(after, judgement)
    is_gone = "gone" in (mine.state, theirs.state)
    after = replace(after, state="gone" if is_gone else ruling(after))
    return mine if after == mine else after


def _asked_first(side: Side) -> tuple[bool, str, bool, str, str]:
    return side.key is None, side.key or "", not side.program_id, side.program_id, side.pattern_id


# Entries


def keys_here(entries: Iterable[Entry], known: Mapping[str, Entry]) -> dict[str, str]:
    """Return the keys of incoming entries in the store, by their own: the key of the entry of their
    words and project, their own where people reworded one of the two or set both, else one that no
    other text has.
    """
    taken, keys = dict(known), dict[str, str]()
    same = {_identity(entry): key for key, entry in known.items()}
    for entry in entries:
        own = taken.get(entry.key, entry)
        is_one = _identity(own)[1:] == _identity(entry)[1:] or (
            # people set both texts, or reworded one of them
            own.tier == entry.tier and max(_chosen_at(own), _chosen_at(entry)) > _NEVER
        )
        key = same.get(_identity(entry)) or (entry.key if is_one else keys_of(entry)[1])
        keys[entry.key] = key
        taken.setdefault(key, entry)
        same.setdefault(_identity(entry), key)
    return keys


def _identity(entry: Entry) -> tuple[str, str, str | None]:
    return entry.tier, text_hash(entry.value.pattern), entry.project_id


def _chosen_at(entry: Entry) -> datetime:
    """Return when people chose the entry's text, `_NEVER` for a lesson's."""
    if entry.tier == "constitutional":
        return entry.value.last_promoted
    return max((each.at for each in entry.decisions if each.kind == "reworded"), default=_NEVER)


def united_entry(mine: Entry, theirs: Entry) -> Entry:
    """Return the store's entry with the facts of both, not settled yet; the same object if it has
    them. Its text is the one that people chose last.
    """
    text = max((mine, theirs), key=lambda each: (each.tier == "constitutional", _chosen_at(each)))
    after = replace(
        mine,
        tier=text.tier,
        value=text.value,
        description=text.description,
        vector=text.vector,
        embedder=text.embedder,
        provenance=_contributions(*mine.provenance, *theirs.provenance),
        words=_words(*mine.words, *theirs.words),
        publications=_publications(*mine.publications, *theirs.publications),
        decisions=tuple(
            sorted(
                {*mine.decisions, *theirs.decisions},
                key=lambda each: (each.at, each.kind != "retired", each.by),
            )
        ),
        last_confirmed=max(mine.last_confirmed, theirs.last_confirmed),
        confirmations=max(mine.confirmations, theirs.confirmations),
        ledger=(*(line for line in theirs.ledger if line not in mine.ledger), *mine.ledger),
    )
    return mine if after == mine else after


def _contributions(*lines: Contribution) -> tuple[Contribution, ...]:
    """Return the lessons of two entries, one of each text: the first stored; one without a
    verdict first. Its program could have read the entry where either store says so.
    """
    known: dict[tuple[str, str, str], Contribution] = {}
    in_order = sorted(lines, key=lambda each: (each.stored_at, each.pair or "", each.basis))
    for line in in_order:
        first = known.setdefault((line.program_id, line.pattern_id, line.pattern), line)
        known[line.program_id, line.pattern_id, line.pattern] = replace(
            first,
            could_read=max(first.could_read, line.could_read),
        )
    return tuple(known[place] for place in sorted([*known][:MAX_PROVENANCE]))


def _words(*words: Word) -> tuple[Word, ...]:
    """Return the words of two entries, each once; one waits only if it waits in both."""
    waiting_first = sorted(words, key=lambda each: not each.waits)
    known = {replace(word, waits=False): word for word in waiting_first}
    order = sorted(known, key=lambda each: (each.at, each.program_id, each.outcome, each.evidence))
    return tuple(known[word] for word in order)


def _publications(*publications: Publication) -> tuple[Publication, ...]:
    """Return the times in which agents of either store read an entry; one that lasted ends where
    the next begins.
    """
    lasting_first = sorted(publications, key=lambda each: each.withdrawn_at or _NEVER)
    known = {each.at: each for each in lasting_first}
    times = sorted(known)
    for at, following in pairwise(times):
        known[at] = replace(known[at], withdrawn_at=known[at].withdrawn_at or following)
    return tuple(known[at] for at in times)


# Views


class MemoryDocuments(NamedTuple):
    """Programs by id, entries by key and pairs by id."""

    programs: Mapping[str, Program] = {}
    entries: Mapping[str, Entry] = {}
    pairs: Mapping[str, Pair] = {}


def with_keys(pair: Pair, keys: Mapping[str, str]) -> Pair:
    """Return the pair with its entries under other keys."""
    a, b = (
        replace(side, key=keys.get(side.key, side.key)) if side.key else side
        for side in (pair.a, pair.b)
    )
    return replace(pair, a=a, b=b)


def apart(entries: Mapping[str, Entry], of: Collection[str] | None = None) -> dict[str, Entry]:
    """Return entries each with its own facts, also those that are read through another; with `of`
    those alone that are read as one with these keys.
    """
    documents = DraftDocuments({}, entries)
    oldest = [entry for entry in entries.values() if entry.read_through is None]
    for key in [key for entry in oldest for key in entry.also if key in entries]:
        younger = documents.entries[key]
        if of is None or key in of or younger.read_through in of:
            for entry in read_apart(documents.read_as(key), younger):
                documents = documents.with_entry(entry)
    return dict(documents.entries)


def united(
    mine: MemoryDocuments,
    theirs: MemoryDocuments,
    forgotten: LeftLessons,
    policy: Policy,
    now: datetime,
) -> MemoryDocuments:
    """Return the documents of a store after the entries and pairs of another came in, under their
    keys here. `mine` has the programs that both concern, united already.
    """
    pairs, entries = dict(mine.pairs), apart(mine.entries)
    for id_, pair in theirs.pairs.items():
        pairs[id_] = united_pair(pairs.get(id_, pair), pair)
    for key, entry in apart(theirs.entries).items():
        entries[key] = united_entry(entries.get(key, entry), entry)
    for key, entry in entries.items():
        lines = [line for line in entry.provenance if not _is_gone(line, forgotten, mine.programs)]
        entries[key] = replace(entry, provenance=tuple(lines))
    documents = _judged(DraftDocuments(mine.programs, entries), pairs.values(), policy)
    # an incoming entry that is new here keeps its version
    before = {key: replace(each, version=each.version - 1) for key, each in theirs.entries.items()}
    before |= mine.entries
    after = {
        key: settled(before.get(key), entry, policy, now)
        for key, entry in documents.entries.items()
    }
    return MemoryDocuments(_with_memberships(documents), after, pairs)


def _is_gone(line: Contribution, forgotten: LeftLessons, programs: Mapping[str, Program]) -> bool:
    """Whether a contribution left with its lesson, which nobody brought back since."""
    lesson = line.program_id, line.pattern_id, text_hash(line.pattern)
    program = programs.get(line.program_id)
    here = program.patterns.get(line.pattern_id) if program else None
    is_back = here is not None and here.stored_at <= line.stored_at
    last = _last_touched(here) if here and is_back else line.stored_at
    return forgotten.get(lesson, _NEVER) >= last


def _judged(documents: DraftDocuments, pairs: Iterable[Pair], policy: Policy) -> DraftDocuments:
    """Return the documents as the judged pairs want them, in the order of verdicts."""
    near: dict[str, set[str]] = {}  # keys of entries by what a pair may know of them

    def note(entry: Entry) -> None:
        marks = {entry.same_pair, entry.read_through, text_hash(entry.value.pattern)}
        marks |= {entry.key, *entry.also}
        for line in entry.provenance:
            marks |= {line.pair, f"{line.program_id}/{line.pattern_id}"}
        for mark in marks - {None}:
            near.setdefault(mark or "", set()).add(entry.key)

    programs, entries = documents.programs, dict(documents.entries)
    for entry in entries.values():
        note(entry)
    judged = [pair for pair in pairs if pair.judgements and pair.state != "gone"]
    for pair in sorted(judged, key=lambda each: (each.judgements[-1].at, each.pair_id)):
        marks = {pair.pair_id}
        for side in (pair.a, pair.b):
            lesson = f"{side.program_id}/{side.pattern_id}"
            marks |= {text_hash(side.text), side.key or "", lesson}
        for _ in range(2):  # and those that are read as one with these
            marks |= {key for mark in marks for key in near.get(mark, ())}
        some = {key: entries[key] for key in sorted(marks & entries.keys())}
        after = decided(pair, DraftDocuments(programs, some), policy).documents
        made = [after.entries[key] for key in after.entries.keys() - some.keys()]
        if taken := {key for entry in made for key in keys_of(entry)} & entries.keys():
            some |= {key: entries[key] for key in taken}
            after = decided(pair, DraftDocuments(programs, some), policy).documents
        for key, entry in after.entries.items():
            if entry is not some.get(key):
                note(entry)
        entries |= after.entries
        programs = after.programs
    return DraftDocuments(programs, entries)


def _with_memberships(documents: DraftDocuments) -> Mapping[str, Program]:
    """Return the programs, whose lessons name the entries that they are contributions of."""
    places: dict[tuple[str, str], dict[str, str]] = {}
    for entry in documents.entries.values():
        for line in entry.provenance:
            place = places.setdefault((line.program_id, line.pattern_id), {})
            place[line.of or entry.key] = text_hash(line.pattern)
    programs = dict(documents.programs)
    for name, program in documents.programs.items():
        changed = {}
        for id_, lesson in program.patterns.items():
            of = places.get((name, id_), {})
            keys = sorted(key for key, words in of.items() if words in lesson.texts)
            if {*keys} != {*lesson.knowledge_keys}:
                changed[id_] = replace(lesson, knowledge_keys=tuple(keys))
        if changed:
            programs[name] = replace(program, patterns={**program.patterns, **changed})
    return programs
