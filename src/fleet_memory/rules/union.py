"""Two memories as one: the union of their facts. Every view follows from it.

Each function takes what the store has and what comes in, and returns the store's own object where
it has all facts already. Order, doubling and direction of imports change no fact.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from fleet_memory.rules.asking import MAX_ASKED, with_shown
from fleet_memory.rules.entries import (
    MAX_PROVENANCE,
    keys_of,
    read_apart,
    settled,
    standing,
    under_policy,
)
from fleet_memory.rules.lifecycle.decay import newest_evidence
from fleet_memory.rules.lifecycle.state import (
    MAX_MISSING,
    notes_problem,
    was_made,
    with_note,
)
from fleet_memory.rules.pairs import (
    VerdictDocuments,
    decided,
    keys_to_read,
    ruling,
    with_judgement,
)
from fleet_memory.rules.text.keys import bare_words, normalised, pair_id, text_hash
from fleet_memory.rules.text.steering import lesson_steering
from fleet_memory.rules.text.vectors import with_search_vector
from fleet_memory.schemas.knowledge import Basis, Contribution, Entry, Publication, Word
from fleet_memory.schemas.pairs import Judgement, Pair, Side
from fleet_memory.schemas.patterns import Evidence, Pattern, Wording
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import (
    Archived,
    ArchivedNote,
    ArchiveRecord,
    DecayConfig,
    Missing,
    Note,
    PastSummary,
    Program,
    ProgramRecord,
)

_NEVER: Final = datetime.min.replace(tzinfo=UTC)

ForgottenTexts: TypeAlias = Mapping[tuple[str, str, str], datetime]
"""When an agent forgot a text of a lesson last, by program, lesson and hash of its words."""


def forgotten_in(archive: Iterable[ArchiveRecord]) -> ForgottenTexts:
    """Return the texts that agents forgot."""
    return _left_at(archive, lambda record: record.reason == "forgotten")


def _left_at(
    archive: Iterable[ArchiveRecord], counts: Callable[[Archived], bool]
) -> dict[tuple[str, str, str], datetime]:
    left: dict[tuple[str, str, str], datetime] = {}
    for record in archive:
        if isinstance(record, Archived) and counts(record):
            lesson = (record.program_id, record.pattern.id, text_hash(record.pattern.pattern))
            left[lesson] = max(record.at, left.get(lesson, _NEVER))
    return left


# Lessons


def is_same_lesson(one: Pattern, other: Pattern) -> bool:
    """Whether two lessons have equal words."""
    return text_hash(one.pattern) == text_hash(other.pattern)


def last_touched(pattern: Pattern) -> datetime:
    """Return when an agent last stored the lesson or gave a word about it."""
    times = [pattern.stored_at, pattern.last_reinforced, pattern.called_at or _NEVER]
    return max(*times, *(line.at for line in pattern.evidence_log))


def united_lesson(one: Pattern, other: Pattern) -> Pattern:
    """Return the lesson of two copies of one id: of two texts the later one, with the earlier
    wordings of both.

    Of equal words the copy that was stored first gives text, evidence, session and source, the one
    that was touched last all else; the words about both count once.
    """
    if one == other:
        return one
    if not is_same_lesson(one, other):
        last = max((one, other), key=lambda copy: (copy.stored_at, copy.pattern))
        return replace(last, earlier=_earlier(one, other))
    first, second = sorted((one, other), key=lambda copy: (copy.stored_at, copy.compact()))
    evidence = first.evidence or second.evidence
    log = _united_log(first, second, evidence)
    counts = Counter(line.outcome for line in log)
    united = replace(
        max(first, second, key=_touched_last),
        pattern=first.pattern,
        evidence=evidence,
        session_id=first.session_id,
        source=first.source,
        stored_at=first.stored_at,
        read_first=first.read_first,
        read_last=first.read_last,
        discovered_at=min(first.discovered_at, second.discovered_at),
        last_reinforced=max(first.last_reinforced, second.last_reinforced),
        confirmations=max(first.confirmations, second.confirmations, counts["confirmed"]),
        contradictions=max(first.contradictions, second.contradictions, counts["contradicted"]),
        evidence_log=newest_evidence(log),
        earlier=_earlier(first, second),
        allowed=first.allowed or second.allowed,
    )
    return with_search_vector(united, first.search_vector, second.search_vector)


def _touched_last(copy: Pattern) -> tuple[datetime, str, str, float, tuple[str, ...], str, str]:
    calls = repr(sorted(copy.calls.items()))
    named = copy.domain, copy.project_id or "", copy.confidence, copy.tags
    return last_touched(copy), *named, copy.vector, calls


def _earlier(*copies: Pattern) -> tuple[Wording, ...]:
    """Return the earlier wordings of both; a text that either corrected is corrected."""
    known: dict[tuple[datetime, str], Wording] = {}
    for wording in (each for copy in copies for each in copy.earlier):
        both = known.setdefault((wording.stored_at, wording.words), wording), wording
        first = min(both, key=lambda each: (each.change, each.knowledge_keys))
        known[wording.stored_at, wording.words] = first
    return tuple(known[at] for at in sorted(known))


def _united_log(first: Pattern, second: Pattern, evidence: str) -> list[Evidence]:
    """Return the words about two copies, each once; the second's own store is a confirmation."""
    both = Counter(first.evidence_log) | Counter(second.evidence_log)
    if second.stored_at != first.stored_at:
        is_known = normalised(second.evidence) == normalised(evidence)
        text = "" if is_known else second.evidence
        both |= Counter([Evidence(at=second.stored_at, outcome="confirmed", text=text)])
    return sorted(both.elements(), key=lambda line: (line.at, line.outcome, line.text))


def _latest(one: datetime | None, other: datetime | None) -> datetime | None:
    return max((at for at in (one, other) if at is not None), default=None)


# Programs

WHY_MERGED: Final = "an import brought two texts of this id; the later one stayed"


class ProgramCopy(NamedTuple):
    """A program of one store, with the context summaries and the archive that it has there."""

    program: Program
    history: Sequence[PastSummary] = ()
    archive: Sequence[ArchiveRecord] = ()

    def stated_at(self) -> tuple[datetime, str]:
        """Return when its state was changed last, as far as is known; of one moment by content."""
        known = self.program.last_update or _NEVER
        state = repr((self.program.config, self.program.baselines))
        return max((past.at for past in self.history), default=known), state


class UnitedProgram(NamedTuple):
    """The program, and the records that it leaves. The others are ids of lessons.

    `divergent`: the two stores have texts of which neither is an earlier wording of the other.
    `left`: an agent forgot it, or the store archived it, since it was touched last.
    """

    program: Program
    records: tuple[ProgramRecord, ...] = ()
    divergent: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def united_program(
    mine: ProgramCopy, theirs: ProgramCopy, max_summaries: int, now: datetime, *, overwrite: bool
) -> UnitedProgram:
    """Return the store's program with the other's lessons, notes, state and marks; the same object
    if it has them. `overwrite` brings lessons back that left. Marks of runs stay the store's own.
    """
    before, name = mine.program, mine.program.program_id
    archive = [*mine.archive, *theirs.archive]
    forgotten = forgotten_in(archive)
    away = _left_at(mine.archive, lambda record: record.reason != "merged")
    known = {
        (record.pattern.id, text_hash(record.pattern.pattern))
        for record in archive
        if isinstance(record, Archived)
    }
    lessons, records = dict[str, Pattern](), list[ProgramRecord]()
    divergent, left = list[str](), list[str]()
    for id_ in {**before.patterns, **theirs.program.patterns}:
        own, other = before.patterns.get(id_), theirs.program.patterns.get(id_)
        if other is not None and not overwrite:
            other = replace(other, allowed=False)
        copies = [copy for copy in (own, other) if copy is not None]
        lesson = united_lesson(copies[0], copies[-1])
        place = name, id_, text_hash(lesson.pattern)
        gone = max(forgotten.get(place, _NEVER), away.get(place, _NEVER) if own is None else _NEVER)
        if gone >= last_touched(lesson) and not overwrite:
            left.append(id_)
            continue
        lessons[id_] = own if own is not None and lesson == own else lesson
        for loser in copies:
            words = text_hash(loser.pattern)
            if words in (place[2], *(wording.words for wording in lesson.earlier)):
                continue
            divergent.append(id_)
            if (id_, words) not in known:
                records.append(
                    Archived(
                        program_id=name,
                        pattern=loser,
                        reason="merged",
                        at=lesson.stored_at,
                        why=WHY_MERGED,
                    )
                )
    ordered = sorted(lessons.values(), key=lambda lesson: (lesson.stored_s, lesson.id))
    after, history, displaced = _with_state(mine, theirs, max_summaries)
    after = replace(
        _with_marks(after, theirs.program), patterns={each.id: each for each in ordered}
    )
    after, gone_notes = _with_notes(after, theirs.program, displaced, archive, now)
    if after == before and not (records or gone_notes or history):
        after = before
    return UnitedProgram(after, (*records, *gone_notes, *history), tuple(divergent), tuple(left))


def _with_state(
    mine: ProgramCopy, theirs: ProgramCopy, max_summaries: int
) -> tuple[Program, tuple[PastSummary, ...], str]:
    """Return the program with the later state, the summaries to write, and config and baselines
    that gave way as JSON, "" for none.
    """
    before = mine.program
    older, newer = (copy.program for copy in sorted((theirs, mine), key=ProgramCopy.stated_at))
    history = _new_summaries(mine, theirs, max_summaries)
    after = replace(
        before,
        context_summary=newer.context_summary or older.context_summary,
        config=newer.config or older.config,
        baselines=newer.baselines or older.baselines,
        decay=older.decay if newer.decay == DecayConfig() else newer.decay,
        summaries=max(past.number for past in history) + 1 if history else before.summaries,
    )
    if after != before:
        version = max(before.state_version, theirs.program.state_version) + before.exists
        after = replace(after, state_version=version)
    parts = (
        ("config", older.config, after.config),
        ("baselines", older.baselines, after.baselines),
    )
    lost = {name: dict(old) for name, old, new in parts if old and old != new}
    return after, history, json.dumps(lost, ensure_ascii=False, sort_keys=True) if lost else ""


def _new_summaries(mine: ProgramCopy, theirs: ProgramCopy, limit: int) -> tuple[PastSummary, ...]:
    """Return the summaries to write where the other has more: the newest of both, numbered anew."""
    both = {
        (past.at, json.dumps(past.context_summary, sort_keys=True)): past
        for past in (*theirs.history, *mine.history)
    }
    newest = [both[content] for content in sorted(both)][-limit:]
    if {id(past) for past in newest} <= {id(past) for past in mine.history}:
        return ()
    numbered = (replace(past, number=place) for place, past in enumerate(newest))
    return tuple(past for past in numbered if past not in mine.history)


def _with_marks(mine: Program, theirs: Program) -> Program:
    """Return the program with what both were shown, read and asked."""
    texts = {**theirs.shown, **mine.shown}
    first = {words: min(at, theirs.shown.get(words, at)) for words, at in texts.items()}
    dropped = _latest(mine.shown_dropped_at, theirs.shown_dropped_at)
    seen = with_shown(replace(mine, shown={}, shown_dropped_at=dropped), first)
    asked = sorted({**theirs.asked, **mine.asked}.items(), key=lambda each: (each[1].at, each[0]))
    questions: dict[str, Missing] = {}
    for question in sorted((*theirs.missing, *mine.missing), key=lambda each: each.at):
        known = questions.pop(bare_words(question.text), question)
        times = max(known.times, question.times)
        questions[bare_words(question.text)] = replace(question, times=times)
    return replace(
        mine,
        shown=seen.shown,
        shown_dropped_at=seen.shown_dropped_at,
        asked=dict(asked[-MAX_ASKED:]),
        read_first=min((at for at in (mine.read_first, theirs.read_first) if at), default=None),
        read_last=_latest(mine.read_last, theirs.read_last),
        missing=tuple(questions.values())[-MAX_MISSING:],
        sessions=max(mine.sessions, theirs.sessions),
        request_ids=mine.request_ids or theirs.request_ids,
        last_update=_latest(mine.last_update, theirs.last_update),
    )


def _with_notes(
    program: Program,
    theirs: Program,
    displaced: str,
    archive: Sequence[ArchiveRecord],
    now: datetime,
) -> tuple[Program, list[ProgramRecord]]:
    """Return the program with the other's notes, and those that leave for them; a taken id becomes
    a new one. `displaced` values of the state go to the archive as a note.
    """
    records, name = list[ProgramRecord](), program.program_id
    mine, made = program, max(program.notes_made, theirs.notes_made)
    by_text = {note.text: note for note in mine.notes.values()}
    left = {record.note.text: record.at for record in archive if isinstance(record, ArchivedNote)}

    def leave(note: Note, why: str) -> None:
        records.append(ArchivedNote(program_id=name, note=note, reason="merged", at=now, why=why))

    for note in theirs.notes.values():
        if known := by_text.get(note.text):
            both = replace(known, pinned=known.pinned or note.pinned, at=max(known.at, note.at))
            if both != known:
                program = replace(program, notes={**program.notes, known.id: both})
        elif left.get(note.text, _NEVER) < note.at:
            is_taken = note.id in mine.notes or was_made(mine, note.id)
            made += is_taken
            noted = with_note(program, replace(note, id=f"n{made}") if is_taken else note, now)
            if notes_problem(noted) is None:
                program = noted.program
                records += noted.archived
            else:
                leave(note, "over the cap of notes, all others are pinned")
    if displaced and displaced not in left:
        made += 1
        leave(Note(id=f"n{made}", text=displaced, at=now), "an import had later values")
    return replace(program, notes_made=max(program.notes_made, made)), records


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
    for judgement in sorted({*mine.judgements, *theirs.judgements}, key=_by_time):
        after = with_judgement(after, judgement)
    is_gone = "gone" in (mine.state, theirs.state)
    after = replace(after, state="gone" if is_gone else ruling(after))
    return mine if after == mine else after


def _unreleased(pair: Pair) -> Pair:
    """Return a pair for people where a text gives its reader orders: people there may have released
    it.
    """
    orders = (lesson_steering(side.text, side.evidence, side.domain) for side in (pair.a, pair.b))
    steered = replace(pair, steering=pair.steering or next(filter(None, orders), ""))
    return steered if pair.state == "gone" else replace(steered, state=ruling(steered))


def _asked_first(side: Side) -> tuple[bool, str, bool, str, str]:
    return side.key is None, side.key or "", not side.program_id, side.program_id, side.pattern_id


def _by_time(judgement: Judgement) -> tuple[datetime, str, str]:
    return judgement.at, judgement.program_id or "", judgement.compact()


# Entries


class Placed(NamedTuple):
    """The key of an incoming entry in the store. `divergent`: another text has its own key there,
    or people reworded it there to a text that is not taken over.
    """

    key: str
    divergent: bool = False


def placed(entry: Entry, known: Mapping[str, Entry], *, overwrite: bool) -> Placed:
    """Return where an incoming entry goes: to the entry of its words and project, to that of its
    key where people reworded one of the two or set both, else to a key that no other text has.
    """
    own = known.get(entry.key)
    if own is None or not _is_same_text(own, entry):
        same = [each for each in known.values() if _is_same_text(each, entry)]
        twin = next((each.key for each in same if each.tier == entry.tier), None)
        if twin is not None or own is None:
            return Placed(twin or entry.key, divergent=own is not None)
        is_rule = own.tier == "constitutional"
        if own.tier != entry.tier or not (is_rule or _is_one_lineage(own, entry)):
            return Placed(keys_of(entry)[1], divergent=True)
        is_later = _chosen_at(entry) > _chosen_at(own)
        return Placed(entry.key, divergent=is_later and not (overwrite or is_rule))
    return Placed(entry.key)


def _is_same_text(one: Entry, other: Entry) -> bool:
    same = text_hash(one.value.pattern) == text_hash(other.value.pattern)
    return same and one.project_id == other.project_id


def _chosen_at(entry: Entry) -> datetime:
    """Return when people chose the entry's text, `_NEVER` for a lesson's."""
    if entry.tier == "constitutional":
        return entry.value.last_promoted
    return max((each.at for each in entry.decisions if each.kind == "reworded"), default=_NEVER)


def _is_one_lineage(one: Entry, other: Entry) -> bool:
    """Whether two entries were one before people reworded it: a lesson is in both."""
    lessons = {(line.program_id, line.pattern_id) for line in one.provenance}
    is_reworded = max(_chosen_at(one), _chosen_at(other)) > _NEVER
    return is_reworded and any(
        (line.program_id, line.pattern_id) in lessons for line in other.provenance
    )


def with_earned_standing(entry: Entry, policy: Policy, *, with_rules: bool) -> Entry:
    """Return an incoming entry with no more standing than its facts give it under the store's
    policy: published no earlier than by the first facts that suffice, and no rule unasked.
    """
    if entry.tier == "constitutional":
        return entry if with_rules else replace(entry, tier="architectural", publications=())
    if not entry.is_published:
        return entry
    closed, last = entry.publications[:-1], entry.publications[-1]
    bare = under_policy(replace(entry, publications=()), policy)
    for at in sorted(
        {*(each.stored_at for each in bare.provenance), *(each.at for each in bare.words)}
    ):
        until = replace(
            bare,
            provenance=tuple(each for each in bare.provenance if each.stored_at <= at),
            words=tuple(each for each in bare.words if each.at <= at),
        )
        if standing(until).suffices(policy.threshold, policy.tried):
            earned = replace(
                last,
                at=max(last.at, at),
                threshold=policy.threshold,
                tried=policy.tried,
                origins=policy.origins,
            )
            return replace(entry, publications=(*closed, earned))
    return replace(entry, publications=closed)


def united_entry(mine: Entry, theirs: Entry, *, overwrite: bool) -> Entry:
    """Return the store's entry with the facts of both, not settled yet; the same object if it has
    them.

    The other store retires it; that its people reinstated or reworded it comes by `overwrite`.
    """
    decisions = {*mine.decisions}
    if overwrite:
        decisions |= {*theirs.decisions}
    elif theirs.retired_at is not None:
        decisions |= {each for each in theirs.decisions if each.kind == "retired"}
    is_chosen = overwrite or theirs.tier == "constitutional"
    text = max(
        (mine, theirs) if is_chosen else (mine,),
        key=lambda each: (each.tier == "constitutional", _chosen_at(each)),
    )
    embedded = theirs if not mine.vector and _is_same_text(theirs, text) else text
    after = replace(
        mine,
        tier=text.tier,
        value=replace(
            mine.value,
            pattern=text.value.pattern,
            last_promoted=text.value.last_promoted,
        ),
        description=text.description,
        vector=embedded.vector,
        embedder=embedded.embedder,
        provenance=_contributions(mine.provenance, theirs.provenance),
        words=_words(mine.words, theirs.words),
        publications=_publications(mine.publications, theirs.publications),
        decisions=tuple(
            sorted(decisions, key=lambda each: (each.at, each.kind != "retired", each.by))
        ),
        relearnt=max(mine.relearnt, theirs.relearnt),
        last_confirmed=max(mine.last_confirmed, theirs.last_confirmed),
        confirmations=max(mine.confirmations, theirs.confirmations),
        ledger=(*(each for each in theirs.ledger if each not in mine.ledger), *mine.ledger)[
            -_MAX_LINES:
        ],
    )
    return mine if after == mine else after


_SUREST: Final[Sequence[Basis]] = ("text", "equal_words", "judged")
_MAX_LINES: Final = 20  # ids of ledger lines that an entry names, as in `repositories.records`


def _contributions(
    mine: Sequence[Contribution], theirs: Sequence[Contribution]
) -> tuple[Contribution, ...]:
    """Return the lessons of both, one of each text, and the oldest of two full entries: with the
    first store, the surer basis, and that its program could have read it where either says so.
    """
    lines: dict[tuple[str, str, str], Contribution] = {}
    for line in (*mine, *theirs):
        place = line.program_id, line.pattern_id, line.pattern
        known = lines.get(place, line)
        surer = min(known, line, key=lambda each: (_SUREST.index(each.basis), each.pair or ""))
        lines[place] = replace(
            known,
            stored_at=min(known.stored_at, line.stored_at),
            discovered_at=min(known.discovered_at, line.discovered_at),
            basis=surer.basis,
            pair=surer.pair,
            could_read=max(known.could_read, line.could_read),
            program_deleted=known.program_deleted or line.program_deleted,
        )
    oldest = sorted(lines, key=lambda place: (lines[place].stored_at, place))[: 2 * MAX_PROVENANCE]
    return tuple(lines[place] for place in sorted(oldest))


def _words(mine: Sequence[Word], theirs: Sequence[Word]) -> tuple[Word, ...]:
    """Return the words of both; one waits only if it waits in both."""
    words: dict[Word, Word] = {}
    for word in (*mine, *theirs):
        same = replace(word, waits=False)
        words[same] = replace(word, waits=word.waits and words.get(same, word).waits)
    return tuple(
        sorted(
            words.values(), key=lambda word: (word.at, word.program_id, word.outcome, word.evidence)
        )
    )


def _publications(
    mine: Sequence[Publication], theirs: Sequence[Publication]
) -> tuple[Publication, ...]:
    """Return the times of both in which agents read it; one that lasted ends where the next
    begins.
    """
    known = {each.at: each for each in theirs}
    for each in mine:
        other = known.get(each.at, each)
        known[each.at] = replace(each, withdrawn_at=each.withdrawn_at or other.withdrawn_at)
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
    return pair if (a, b) == (pair.a, pair.b) else replace(pair, a=a, b=b)


def apart(entries: Mapping[str, Entry], of: Collection[str] | None = None) -> dict[str, Entry]:
    """Return entries each with its own facts, also those that are read through another; with `of`
    those alone that are read as one with these keys.
    """
    own = dict(entries)
    while True:
        for younger in own.values():
            older = own.get(younger.read_through or "")
            if older is None or older.read_through is not None:
                continue
            if of is None or older.key in of or younger.key in of:
                two = read_apart(older, younger)
                own |= {older.key: two.older, younger.key: two.younger}
                break
        else:
            return own


def pairs_behind(entries: Iterable[Entry]) -> set[str]:
    """Return the ids of the pairs that say which lessons and entries belong together."""
    ids: set[str | None] = set()
    for entry in entries:
        words = text_hash(entry.value.pattern)
        ids |= {entry.same_pair, *(line.pair for line in entry.provenance)}
        ids |= {pair_id(words, text_hash(line.pattern)) for line in entry.provenance}
    return {id_ for id_ in ids if id_}


def united(
    mine: MemoryDocuments,
    theirs: MemoryDocuments,
    forgotten: ForgottenTexts,
    policy: Policy,
    now: datetime,
    *,
    overwrite: bool,
) -> MemoryDocuments:
    """Return the documents of a store after the entries and pairs of another came in, under their
    keys here. `mine` has the programs that both concern, united already.
    """
    before, pairs = apart(mine.entries), dict(mine.pairs)
    for id_, pair in theirs.pairs.items():
        known_pair = pairs.get(id_, pair if overwrite else _unreleased(pair))
        pairs[id_] = united_pair(known_pair, pair)
    entries = dict(before)
    for key, entry in apart(theirs.entries).items():
        known = before.get(key)
        entries[key] = united_entry(known, entry, overwrite=overwrite) if known else entry
    entries = {key: _with_valid_lines(entry, pairs, forgotten) for key, entry in entries.items()}
    documents = _judged(VerdictDocuments(mine.programs, entries), pairs.values(), policy)
    places: dict[tuple[str, str], dict[str, str]] = {}
    for entry in documents.entries.values():
        for line in entry.provenance:
            place = places.setdefault((line.program_id, line.pattern_id), {})
            place[line.of or entry.key] = text_hash(line.pattern)
    full = {
        key for key, each in documents.entries.items() if len(each.provenance) >= MAX_PROVENANCE
    }
    after = {
        key: settled(mine.entries.get(key) or _arrived(theirs.entries.get(key)), entry, policy, now)
        for key, entry in documents.entries.items()
    }
    programs = {
        name: _with_memberships(program, places, full)
        for name, program in documents.programs.items()
    }
    return MemoryDocuments(programs, after, pairs)


def _arrived(entry: Entry | None) -> Entry | None:
    """Return an entry that is new to the store as it was before: settled keeps its version."""
    return replace(entry, version=entry.version - 1) if entry else None


def _with_valid_lines(entry: Entry, pairs: Mapping[str, Pair], forgotten: ForgottenTexts) -> Entry:
    """Return the entry without lessons that were forgotten, or that a verdict parts from it."""
    words = text_hash(entry.value.pattern)

    def stays(line: Contribution) -> bool:
        own = text_hash(line.pattern)
        if forgotten.get((line.program_id, line.pattern_id, own), _NEVER) >= line.stored_at:
            return False
        behind = pairs.get(pair_id(words, own)) if own != words else None
        return behind is None or behind.state not in ("different", "contradict")

    lines = tuple(filter(stays, entry.provenance))
    return entry if len(lines) == len(entry.provenance) else replace(entry, provenance=lines)


def _judged(documents: VerdictDocuments, pairs: Iterable[Pair], policy: Policy) -> VerdictDocuments:
    """Return the documents as the judged pairs want them, in the order of verdicts."""
    index: dict[str, set[str]] = {}

    def note(entry: Entry) -> None:
        marks = [text_hash(entry.value.pattern), entry.same_pair, entry.read_through]
        for mark in (*marks, *entry.also, *(line.pair for line in entry.provenance)):
            index.setdefault(mark or "", set()).add(entry.key)

    for entry in documents.entries.values():
        note(entry)
    judged = [pair for pair in pairs if pair.judgements and pair.state != "gone"]
    for pair in sorted(judged, key=lambda each: (each.judgements[-1].at, each.pair_id)):
        keys = keys_to_read(pair, documents, policy)
        for side in (pair.a, pair.b):
            program = documents.programs.get(side.program_id)
            lesson = program.patterns.get(side.pattern_id) if program else None
            keys |= {side.key or "", *(lesson.knowledge_keys if lesson else ())}
            keys |= index.get(text_hash(side.text), set())
        keys |= index.get(pair.pair_id, set())
        keys |= {each for key in keys for each in index.get(key, set())}
        some = {key: documents.entries[key] for key in sorted(keys) if key in documents.entries}
        after = decided(pair, VerdictDocuments(documents.programs, some), policy).documents
        for key, entry in after.entries.items():
            if entry is not documents.entries.get(key):
                documents = documents.with_entry(entry)
                note(entry)
        documents = VerdictDocuments(after.programs, documents.entries)
    return documents


def _with_memberships(
    program: Program, places: Mapping[tuple[str, str], Mapping[str, str]], full: set[str]
) -> Program:
    """Return a program whose lessons name the entries that they are contributions of; the same
    object if all do. A full entry has more lessons than contributions.
    """
    changed = {}
    for id_, lesson in program.patterns.items():
        mine = places.get((program.program_id, id_), {})
        wanted = [key for key, words in mine.items() if words in lesson.texts]
        stay = [key for key in lesson.knowledge_keys if key in wanted or key in full]
        keys = tuple(dict.fromkeys((*stay, *sorted(wanted))))
        if keys != lesson.knowledge_keys:
            changed[id_] = replace(lesson, knowledge_keys=keys)
    return replace(program, patterns={**program.patterns, **changed}) if changed else program
