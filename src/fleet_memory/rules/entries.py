"""Entries of shared knowledge: facts (lessons that joined, words, publications, decisions) and the
view of them: origins, positions, state and publication.

Source: docs/knowledge.md and docs/origins.md. Verdicts: `rules.pairs`.
"""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from statistics import median
from typing import Final, NamedTuple

from fleet_memory.rules.lifecycle.decay import CLOCK_SKEW
from fleet_memory.rules.text.keys import SUFFIX_DIGITS, digest, knowledge_key, normalised, text_hash
from fleet_memory.schemas.knowledge import (
    Basis,
    Contribution,
    Decision,
    Doubt,
    Entry,
    EntryState,
    EntryValue,
    KnowledgeRow,
    LedgerEvent,
    Position,
    Publication,
    Word,
)
from fleet_memory.schemas.patterns import IMPORTED, Pattern
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Program

# Origins: who counts as one. Source: docs/origins.md

# words; of two lessons of equal words, evidence of no more says nothing of its own. Chosen
MAX_COMMON_WORDS: Final = 3


def same_program(name: str) -> str:
    """Return the name under which programs are compared, e.g. "Claude-Code" -> "claude-code"."""
    return unicodedata.normalize("NFKC", name).casefold()


def origin_of(program_id: str) -> str:
    """Return the origin of a program, e.g. "shop" of "Shop/reviewer"."""
    return same_program(program_id).partition("/")[0]


def is_one_origin(one: str, other: str) -> bool:
    """Whether two programs are one origin, as `shop/reviewer` and `shop/explorer` are."""
    return origin_of(one) == origin_of(other)


def linked(marks: Sequence[set[str]]) -> list[list[int]]:
    """Return the positions of the sets that share marks, also through others, as groups.

    E.g. `linked([{"a"}, {"b"}, {"a", "c"}, {"c"}]) == [[1], [0, 2, 3]]`.
    """
    groups: list[tuple[set[str], list[int]]] = []
    for at, own in enumerate(marks):
        joined = [group for group in groups if group[0] & own]
        groups = [group for group in groups if not group[0] & own]
        members = sorted([at, *(each for group in joined for each in group[1])])
        groups.append((own.union(*(group[0] for group in joined)), members))
    return [members for _, members in groups]


class Origin(NamedTuple):
    """An independent origin's position on an entry, and the facts that it follows from.

    `at` is the time of the newest of them; of a contradiction, of the first since the origin last
    confirmed. `is_open`: a contradiction that nobody answered, and that does not wait.
    """

    position: Position
    at: datetime
    lessons: tuple[Contribution, ...]
    words: tuple[Word, ...]
    is_open: bool = False

    @property
    def programs(self) -> frozenset[str]:
        """The programs of this origin that spoke."""
        lessons = {lesson.program_id for lesson in self.lessons}
        return frozenset(lessons | {word.program_id for word in self.words})


def origins(entry: Entry) -> Sequence[Origin]:
    """Return each origin with its one position on the entry, its newest.

    A contradiction counts with evidence. A lesson stored after it is a discovery or a confirmation
    again.
    """
    lessons = list(entry.provenance)
    words = [word for word in entry.words if word.evidence]
    marks = [*_marks_of_lessons(lessons, entry), *(_marks_of_word(each, lessons) for each in words)]
    facts: list[Contribution | Word] = [*lessons, *words]
    found = [_origin([facts[at] for at in group], _cleared_at(entry)) for group in linked(marks)]
    return _with_answered(found)


def _marks_of_lessons(lessons: Sequence[Contribution], entry: Entry) -> list[set[str]]:
    """Return the marks that lessons of one origin share.

    A copy has equal words, and evidence that is equal or short; then it is of the origin of the
    oldest lesson of these words, and does not make one origin of several.
    """
    marks: list[tuple[Contribution, set[str]]] = []
    first_of: dict[str, str] = {}
    for lesson in sorted(lessons, key=lambda each: (not _says_more(each), *_age(each))):
        own = _marks_of(lesson.program_id, lesson.session_id)
        if lesson.connection and (entry.origins == "connection" or not lesson.is_discovery):
            own.add(f"connection {lesson.connection}")
        if lesson.evidence.startswith(IMPORTED):
            own.add("imported")
        words, said = text_hash(lesson.pattern), _says_more(lesson)
        copied = f"copy {digest(words, normalised(lesson.evidence) if said else '')}"
        own.add(copied if said else first_of.get(words, copied))
        first_of.setdefault(words, copied)
        marks.append((lesson, own))
    by_lesson = {_lesson(lesson): own for lesson, own in marks}
    return [by_lesson[_lesson(lesson)] for lesson in lessons]


def _says_more(lesson: Contribution) -> bool:
    return len(lesson.evidence.split()) > MAX_COMMON_WORDS


def _marks_of_word(word: Word, lessons: Sequence[Contribution]) -> set[str]:
    """Return a word's marks; over the unbound connection of a lesson it is of its origin."""
    marks = _marks_of(word.program_id, word.session_id)
    if word.connection:
        over = [lesson for lesson in lessons if lesson.connection == word.connection]
        names = [f"program {origin_of(lesson.program_id)}" for lesson in sorted(over, key=_age)]
        marks.add(names[0] if names else f"connection {word.connection}")
    return marks


def _marks_of(program_id: str, session_id: str | None) -> set[str]:
    marks = {f"program {origin_of(program_id)}"}
    return marks | {f"session {session_id}"} if session_id else marks


def _age(lesson: Contribution) -> tuple[datetime, str, str]:
    return lesson.stored_at, lesson.program_id, lesson.pattern_id


def _lesson(lesson: Contribution) -> tuple[str, str, str]:
    return lesson.program_id, lesson.pattern_id, lesson.pattern


def place(lesson: Contribution) -> tuple[str, str]:
    """Return where a contribution's lesson is: its program and its id."""
    return lesson.program_id, lesson.pattern_id


def _said(word: Word) -> tuple[datetime, *tuple[str, ...]]:
    source = word.pair or "", word.session_id or "", word.connection or ""
    return word.at, word.program_id, word.outcome, word.evidence, *source


def _cleared_at(entry: Entry) -> datetime | None:
    """Return when people last set aside the contradictions until then: reinstated or reworded."""
    return max((each.at for each in entry.decisions if each.kind != "retired"), default=None)


def _origin(facts: Sequence[Contribution | Word], cleared_at: datetime | None) -> Origin:
    lessons = tuple(fact for fact in facts if isinstance(fact, Contribution))
    told = [fact for fact in facts if isinstance(fact, Word)]
    words = tuple(sorted(told, key=lambda word: (word.at, word.outcome)))
    against: list[Word] = []
    for word in words:
        if word.outcome == "confirmed":
            against.clear()
        elif cleared_at is None or word.at > cleared_at:
            against.append(word)
    learnt = max((lesson.stored_at for lesson in lessons), default=None)
    if against and (learnt is None or learnt <= against[-1].at):
        is_open = any(not word.waits for word in against)
        return Origin("contradicted", against[0].at, lessons, words, is_open)
    is_discovery = any(lesson.is_discovery for lesson in lessons)
    at = max((*(word.at for word in words), *(lesson.stored_at for lesson in lessons)))
    return Origin("discovered" if is_discovery else "confirmed", at, lessons, words)


def _with_answered(found: Sequence[Origin]) -> Sequence[Origin]:
    """Return the origins with the contradictions closed that two others confirmed against since,
    and those open that waited for another origin.
    """
    against = [each.at for each in found if each.position == "contradicted"]

    def is_open(each: Origin) -> bool:
        counts = each.is_open or len(against) > 1
        return counts and len(confirming_since(found, each.at)) < CONFIRM_FROM

    return [
        each._replace(is_open=each.position == "contradicted" and is_open(each)) for each in found
    ]


def confirming_since(found: Iterable[Origin], at: datetime) -> Sequence[Origin]:
    """Return the origins that stand by an entry with evidence of a time after `at`."""
    return [
        each
        for each in found
        if each.position != "contradicted"
        and (
            any(word.at > at and word.outcome == "confirmed" for word in each.words)
            or any(lesson.stored_at > at and lesson.evidence for lesson in each.lessons)
        )
    ]


# States. Source: docs/knowledge.md

VERIFY_AFTER: Final = timedelta(days=180)  # without a confirmation; Source: docs/knowledge.md
RETIRE_FROM: Final = 2  # origins that contradict; Source: docs/knowledge.md
CONFIRM_FROM: Final = 2  # origins that answer a contradiction; Source: docs/knowledge.md
MIN_ORIGINS: Final = 3  # that make an entry of one discovery more than `tried`


class Standing(NamedTuple):
    """How many origins discovered, confirmed and openly contradict an entry."""

    discovered: int
    confirmed: int
    contradicted: int

    def suffices(self, threshold: int, tried: int) -> bool:
        """Whether it is published under these numbers of the policy."""
        is_tried = tried > 0 and self.discovered > 0 and self.confirmed >= tried
        return self.discovered >= threshold or is_tried


def standing(entry: Entry) -> Standing:
    """Count the positions of an entry's origins."""
    found = origins(entry)
    return Standing(
        sum(each.position == "discovered" for each in found),
        sum(each.position == "confirmed" for each in found),
        sum(each.is_open for each in found),
    )


def entry_state(entry: Entry, now: datetime) -> EntryState:
    """Return the state of an entry at `now`."""
    if entry.retired_at is not None:
        return "retired"
    if entry.tier != "constitutional" and not entry.is_published:
        return "candidate"
    if standing(entry).contradicted:
        return "contested"
    return "verify" if doubts(entry) or is_unconfirmed(entry, now) else "fresh"


def recorded_state(entry: Entry) -> EntryState:
    """Return the state of an entry without the passing of time, as documents keep it."""
    return entry_state(entry, entry.last_confirmed)


def row_state(row: KnowledgeRow, now: datetime) -> EntryState:
    """Return the state at `now` of an entry as boot reads it."""
    return "verify" if row.state == "fresh" and is_unconfirmed(row, now) else row.state


def is_unconfirmed(entry: Entry | KnowledgeRow, now: datetime) -> bool:
    """Whether the entry went unconfirmed for more than 180 days."""
    return now - entry.last_confirmed > VERIFY_AFTER


def doubts(entry: Entry) -> tuple[Doubt, ...]:
    """Return why an entry that agents read is `verify` at any time; none for a rule of people."""
    if entry.tier == "constitutional" or not entry.is_published:
        return ()
    counts = standing(entry)
    connections = {lesson.connection for lesson in voting(entry)}
    connections |= {word.connection for word in entry.words if word.evidence}
    found: list[Doubt] = []
    if counts.discovered < entry.threshold and counts.discovered + counts.confirmed < MIN_ORIGINS:
        found.append("tried")
    if len(connections) == 1 and None not in connections:
        found.append("one_connection")
    return tuple(found)


def voting(entry: Entry) -> Sequence[Contribution]:
    """Return the discoveries that count: those of origins whose position is `discovered`."""
    return [
        lesson
        for each in origins(entry)
        if each.position == "discovered"
        for lesson in each.lessons
        if lesson.is_discovery
    ]


def is_empty(entry: Entry) -> bool:
    """Whether nothing is compared with an entry: no lesson supports it (any more), and people did
    not set or retire it. An entry that is read through another has none.
    """
    return not entry.provenance and entry.tier != "constitutional" and entry.retired_at is None


# Views, recomputed after every change


class EntryChange(NamedTuple):
    """An entry after a change, with its state before it (None for a new one) and after."""

    entry: Entry
    before: EntryState | None
    after: EntryState

    @property
    def is_promotion(self) -> bool:
        """Whether agents read it for the first time, or again."""
        return self.before in (None, "candidate") and self.after not in ("candidate", "retired")

    @property
    def is_visible(self) -> bool:
        """Whether agents would read something else now."""
        return self.before != self.after and (self.before, self.after) != (None, "candidate")


def entry_change(before: Entry | None, after: Entry, now: datetime) -> EntryChange:
    """Return the change from one entry to another, with their states at `now`."""
    was = entry_state(before, now) if before else None
    return EntryChange(after, was, entry_state(after, now))


def settled(before: Entry | None, after: Entry, policy: Policy, now: datetime) -> Entry:
    """Return a changed entry with the view of its facts; the same object as `before` when nothing
    changed.

    Its words may retire it, its origins publish or withdraw it: each is a fact with the time `now`.
    Its version grows.
    """
    if before is not None and after == before:
        return before
    after = _published(_refuted(after, now), policy, now)
    value = _value(before, after, now)
    description = f"Auto-promoted from {value.evidence_count} independent agent discoveries"
    return replace(
        after,
        value=value,
        description=after.description if after.tier == "constitutional" else description,
        version=(before.version if before else 0) + 1,
        unpublished=True,
    )


def _refuted(entry: Entry, now: datetime) -> Entry:
    """Retire an entry that two origins contradict openly, more than confirm it since the first."""
    if entry.tier == "constitutional" or entry.retired_at is not None:
        return entry
    found = origins(entry)
    against = [each.at for each in found if each.is_open]
    if len(against) < RETIRE_FROM or len(against) <= len(confirming_since(found, min(against))):
        return entry
    return replace(
        entry, decisions=(*entry.decisions, Decision(kind="retired", at=now, by="words"))
    )


def _published(entry: Entry, policy: Policy, now: datetime) -> Entry:
    """Publish or withdraw an entry by its origins: a published one by its own rule."""
    if entry.tier == "constitutional":
        return entry
    if entry.is_published:
        last = entry.publications[-1]
        stays = standing(entry).suffices(last.threshold, last.tried)
        if stays and entry.retired_at is None:
            return replace(entry, threshold=last.threshold, tried=last.tried, origins=last.origins)
        return _withdrawn(entry, now)
    entry = under_policy(entry, policy)
    if entry.retired_at is not None or not standing(entry).suffices(entry.threshold, entry.tried):
        return entry
    new = Publication(at=now, threshold=entry.threshold, tried=entry.tried, origins=entry.origins)
    return replace(entry, publications=(*entry.publications, new))


def under_policy(entry: Entry, policy: Policy) -> Entry:
    """Return an entry under the present policy; the same object when it already is.

    A published one has its own rule: `withdrawn_by_policy` is for that.
    """
    rule = (policy.threshold, policy.tried, policy.origins)
    if entry.is_published or (entry.threshold, entry.tried, entry.origins) == rule:
        return entry
    return replace(entry, threshold=policy.threshold, tried=policy.tried, origins=policy.origins)


def withdrawn_by_policy(entry: Entry, policy: Policy, now: datetime) -> Entry:
    """Return a published entry withdrawn where the present policy would not publish it; else the
    same object.
    """
    if entry.tier == "constitutional" or not entry.is_published:
        return entry
    after = under_policy(_withdrawn(entry, now), policy)
    return entry if standing(after).suffices(policy.threshold, policy.tried) else after


def _withdrawn(entry: Entry, now: datetime) -> Entry:
    *earlier, last = entry.publications
    return replace(entry, publications=(*earlier, replace(last, withdrawn_at=max(now, last.at))))


def _value(before: Entry | None, after: Entry, now: datetime) -> EntryValue:
    if after.tier == "constitutional":
        return after.value
    lessons = voting(after)
    if not lessons:
        return replace(after.value, contributors=(), evidence_count=0)
    count = standing(after).discovered
    return replace(
        after.value,
        confidence=round(median(lesson.confidence for lesson in lessons), 4),
        contributors=tuple(sorted({lesson.program_id for lesson in lessons})),
        evidence_count=count,
        first_discovered=min(lesson.discovered_at for lesson in lessons),
        last_promoted=now
        if before is None or before.value.evidence_count < count
        else after.value.last_promoted,
    )


def ledger_event(before: Entry | None, after: Entry, now: datetime) -> LedgerEvent | None:
    """Return the ledger's name for a change of an entry; None for one that changes neither its
    state nor its discoveries.

    A doubt alone is no change: the entry itself has the reasons why it is `verify`.
    """
    was: EntryState = entry_state(before, now) if before else "candidate"
    is_now = entry_state(after, now)
    if is_now != was and (was, is_now) != ("fresh", "verify"):
        return _EVENTS.get(is_now) or _EVENTS_AFTER.get(was, "confirmed")
    count, was_count = len(voting(after)), len(voting(before)) if before else 0
    if count == was_count:
        return None
    return "attached" if count > was_count else "left"


_EVENTS: Final[Mapping[EntryState, LedgerEvent]] = {
    "retired": "retired",
    "candidate": "demoted",
    "contested": "contradicted",
}
_EVENTS_AFTER: Final[Mapping[EntryState, LedgerEvent]] = {
    "candidate": "promoted",
    "retired": "reinstated",
}


# Lessons that join

# contributions of an entry; a lesson that joins later changes nothing. Chosen: a document's room
MAX_PROVENANCE: Final = 200


class JoiningLesson(NamedTuple):
    """A lesson that supports an entry's text: its program, its basis, its cosine to that text, and
    the id of the pair that it was judged in.

    `text` is the text of it that was compared, which may be an earlier wording.
    """

    program: Program
    pattern: Pattern
    basis: Basis = "judged"
    similarity: float = 1.0
    pair: str | None = None
    text: str = ""

    @property
    def program_id(self) -> str:
        """The lesson's program."""
        return self.program.program_id

    def as_text(self) -> "JoiningLesson":
        """Return the lesson as the one that gives an entry its text."""
        return self._replace(basis="text", similarity=1.0, pair=None)


def better_text(lessons: Iterable[JoiningLesson]) -> JoiningLesson:
    """Return the lesson that gives an entry its text: the most confident, then the oldest, then by
    program id.
    """
    return min(
        lessons,
        key=lambda lesson: (
            -lesson.pattern.confidence,
            lesson.pattern.discovered_at,
            lesson.program_id,
        ),
    )


def in_order_of_time(lessons: Iterable[JoiningLesson]) -> list[JoiningLesson]:
    """Return lessons that join at once by when they were stored: the source of a text joins before
    its copies, so that these are compared with it.
    """
    return sorted(lessons, key=lambda lesson: (contribution(lesson).stored_at, lesson.program_id))


def may_meet(project: str | None, other: str | None) -> bool:
    """Whether lessons of two projects are compared: of one, or where either has none."""
    return project is None or other is None or project == other


def candidate_of(lesson: JoiningLesson, policy: Policy, project_id: str | None = None) -> Entry:
    """Return an entry of a lesson's text that no lesson has joined yet, under its base key.

    `project_id` is the project of the lesson that was judged the same.
    """
    pattern, text = lesson.pattern, lesson.text or lesson.pattern.pattern
    is_own = text == pattern.pattern
    return Entry(
        key=knowledge_key(pattern.domain, text),
        value=EntryValue(
            pattern=text,
            domain=pattern.domain,
            confidence=pattern.confidence,
            contributors=(),
            evidence_count=0,
            first_discovered=pattern.discovered_at,
            last_promoted=pattern.stored_at,
        ),
        project_id=pattern.project_id or project_id,
        last_confirmed=pattern.last_reinforced,
        threshold=policy.threshold,
        tried=policy.tried,
        origins=policy.origins,
        version=0,
        vector=pattern.vector if is_own else "",
        embedder=pattern.embedder if is_own else "",
    )


def keys_of(entry: Entry) -> tuple[str, str]:
    """Return the key that an entry takes, and the one that it takes if another text has that
    already.
    """
    suffix = digest(text_hash(entry.value.pattern), entry.project_id or "")[:SUFFIX_DIGITS]
    return entry.key, f"{entry.key}-{suffix}"


def entry_for(fresh: Entry, entries: Mapping[str, Entry]) -> Entry:
    """Return the entry of the text and project of `fresh`: one among `entries` (those that
    `keys_of` names), else `fresh` under a key that no other text has.
    """
    base, other = keys_of(fresh)
    words = text_hash(fresh.value.pattern)
    for known in (entries[key] for key in (base, other) if key in entries):
        if (text_hash(known.value.pattern), known.project_id) == (words, fresh.project_id):
            return known
    return fresh if base not in entries else replace(fresh, key=other)


def could_have_read(entry: Entry, lesson: Contribution, program: Program | None) -> str:
    """Return why a lesson's program could have read the entry before it stored the text, "" for a
    discovery.

    It stored it while the entry was published, it had read knowledge at times between which the
    entry was, or it had been shown one of the entry's texts. `program` has what it was shown.
    """
    for publication in entry.publications:
        end = publication.withdrawn_at
        if publication.at <= lesson.stored_at and (end is None or lesson.stored_at <= end):
            return "stored while it was published"
        first, last = lesson.read_first, lesson.read_last
        if first and last and publication.at <= last and (end is None or first < end):
            return "had read knowledge while it was published"
    if program is not None:
        told = [line for line in entry.provenance if _lesson(line) != _lesson(lesson)]
        texts = {text_hash(entry.value.pattern), *(text_hash(line.pattern) for line in told)}
        shown = [at for words in texts if (at := program.shown.get(words))]
        if any(at < lesson.stored_at for at in shown):
            return "had been shown it"
        dropped = program.shown_dropped_at
        if dropped and any(line.stored_at < min(dropped, lesson.stored_at) for line in told):
            return "may have been shown it, too long ago to be remembered"
    return ""


def with_lesson(entry: Entry, joining: JoiningLesson, of: str = "") -> Entry:
    """Return the entry after a lesson joined, with its newest word about itself; the same object
    where its facts are there already.

    What its program could have read is decided now. `of`: the key of the entry of its words that
    is read through this one.
    """
    pattern = joining.pattern
    text = joining.text or pattern.pattern
    mine = (joining.program_id, pattern.id)
    known = next((line for line in entry.provenance if _lesson(line) == (*mine, text)), None)
    others = [line for line in entry.provenance if place(line) != mine]
    if known is not None or len(others) >= MAX_PROVENANCE:
        return entry
    line = contribution(joining)
    line = replace(line, could_read=could_have_read(entry, line, joining.program), of=of)
    lines = sorted([*others, line], key=place)
    after = replace(
        entry,
        provenance=tuple(lines),
        last_confirmed=max(entry.last_confirmed, pattern.last_reinforced),
    )
    return _with_own_word(after, joining, of)


def _with_own_word(entry: Entry, joining: JoiningLesson, of: str) -> Entry:
    """Bring a lesson's newest word with evidence about itself along."""
    said = [line for line in joining.pattern.evidence_log if line.text]
    if not said:
        return entry
    source = joining.pattern.source
    word = Word(
        program_id=joining.program_id,
        outcome=said[-1].outcome,
        at=said[-1].at,
        evidence=said[-1].text,
        session_id=joining.pattern.session_id,
        connection=source.connection,
        token=source.token,
        of=of,
        lesson=joining.pattern.id,
    )
    return with_word(entry, word)


def contribution(joining: JoiningLesson) -> Contribution:
    """Return an entry's record of a lesson, with the text that was compared and its times."""
    pattern, text = joining.pattern, joining.text or joining.pattern.pattern
    words = text_hash(text)
    past = next((each for each in reversed(pattern.earlier) if each.words == words), None)
    then = past if past is not None and pattern.words != words else pattern
    return Contribution(
        program_id=joining.program_id,
        pattern_id=pattern.id,
        pattern=text,
        confidence=pattern.confidence,
        evidence=pattern.evidence,
        discovered_at=pattern.discovered_at,
        stored_at=then.stored_at,
        read_first=then.read_first,
        read_last=then.read_last,
        session_id=pattern.session_id,
        project_id=pattern.project_id,
        similarity=round(min(1.0, joining.similarity), 3),
        basis=joining.basis,
        pair=joining.pair,
        connection=pattern.source.connection,
        token=pattern.source.token,
        client=pattern.source.client,
        model=pattern.source.model,
    )


def without_lesson(entry: Entry, program_id: str, pattern_id: str) -> Entry:
    """Return the entry without a lesson and the word that it brought along; the same object when
    it has none.
    """
    mine = (program_id, pattern_id)
    return _with_facts(
        entry,
        [line for line in entry.provenance if place(line) != mine],
        [word for word in entry.words if (word.program_id, word.lesson) != mine],
    )


def without_support(entry: Entry, program_id: str, pattern_id: str) -> Entry:
    """Return the entry without a lesson that its program forgot and what the program confirmed; its
    dissent stays.
    """
    return _with_facts(
        entry,
        [line for line in entry.provenance if place(line) != (program_id, pattern_id)],
        [w for w in entry.words if w.outcome == "contradicted" or w.program_id != program_id],
    )


def _with_facts(entry: Entry, lines: Sequence[Contribution], words: Sequence[Word]) -> Entry:
    if (len(lines), len(words)) == (len(entry.provenance), len(entry.words)):
        return entry
    return replace(entry, provenance=tuple(lines), words=tuple(words))


def discovered_by(entry: Entry, program_id: str) -> bool:
    """Whether a program's origin discovered the entry, also if it contradicts it since."""
    return any(
        line.is_discovery and is_one_origin(line.program_id, program_id)
        for line in entry.provenance
    )


def oldest_contributor(entry: Entry) -> str:
    """Return the program that is asked for an entry: that of the oldest discovery in its words,
    else in others; "" for none.
    """
    words = text_hash(entry.value.pattern)
    lines = sorted(
        entry.provenance,
        key=lambda line: (not line.is_discovery, text_hash(line.pattern) != words, *_age(line)),
    )
    return lines[0].program_id if lines else ""


# Words

MAX_CONTRADICTIONS_A_DAY: Final = (
    3  # open ones of one program; the next waits. Source: docs/knowledge.md, chosen
)
MAX_REMEMBERED_CONTRADICTIONS: Final = 16  # of one program; chosen, more than count in a day
_DAY: Final = timedelta(days=1)


def with_word(entry: Entry, word: Word) -> Entry:
    """Return the entry with a program's word; the same object for one that is there.

    Without evidence a confirmation moves the clock and a contradiction counts nowhere.
    """
    if word in entry.words:
        return entry
    if word.outcome == "confirmed":
        entry = replace(
            entry,
            last_confirmed=max(entry.last_confirmed, word.at),
            confirmations=entry.confirmations + 1,
        )
    if not word.evidence:
        return entry
    return replace(entry, words=kept_words([*entry.words, word]))


def kept_words(words: Iterable[Word]) -> tuple[Word, ...]:
    """Return words in order of time: of those that a program repeats on end the first and newest.

    Any more would change no position, and let one program fill the entry's document.
    """
    kept: list[Word] = []
    runs: dict[tuple[str, str, str], list[Word]] = {}
    for word in sorted(words, key=_said):
        run = runs.setdefault((same_program(word.program_id), word.of, word.pair or ""), [])
        if run and run[-1].outcome != word.outcome:
            run.clear()
        elif len(run) > 1:
            kept.remove(run.pop())
        run.append(word)
        kept.append(word)
    return tuple(kept)


def without_word_of(entry: Entry, pair: str, program_id: str) -> Entry:
    """Return the entry without the word that a program's verdict about a pair was; the same object
    for none.
    """
    said = pair, same_program(program_id)
    left = [word for word in entry.words if (word.pair, same_program(word.program_id)) != said]
    return _with_facts(entry, entry.provenance, left)


def may_contradict(against: Mapping[str, datetime], key: str, now: datetime) -> bool:
    """Whether a program's contradiction of `key` counts at once: few others of it are open within a
    day.
    """
    recent = [other for other, at in against.items() if other != key and _is_recent(at, now)]
    return len(recent) < MAX_CONTRADICTIONS_A_DAY


def with_recent(against: Mapping[str, datetime], key: str, now: datetime) -> dict[str, datetime]:
    """Return a program's contradictions of the last day with that of `key`, the newest that it
    remembers.
    """
    recent = {other: at for other, at in against.items() if _is_recent(at, now)}
    newest = sorted({key: now, **recent}.items(), key=lambda item: (item[1], item[0]))
    return dict(newest[-MAX_REMEMBERED_CONTRADICTIONS:])


def _is_recent(at: datetime, now: datetime) -> bool:
    """Whether an instant is within the last day, or so little ahead that two servers' clocks may
    differ by it.
    """
    return -CLOCK_SKEW < now - at < _DAY


# Two entries read as one


class TwoEntries(NamedTuple):
    """Two entries by age: that with the first fact, then by key."""

    older: Entry
    younger: Entry


def by_age(one: Entry, other: Entry) -> TwoEntries:
    """Return two entries by age; a rule that people set is the older."""

    def first_fact(entry: Entry) -> tuple[bool, datetime, str]:
        facts = [line.stored_at for line in entry.provenance]
        facts += [word.at for word in entry.words]
        return entry.tier != "constitutional", min(facts, default=entry.last_confirmed), entry.key

    return TwoEntries(*sorted((one, other), key=first_fact))


def read_as_one(two: TwoEntries, pair: str) -> TwoEntries:
    """Return the entries after the younger's facts count in the older; unchanged where either is
    retired, or people set the younger: people decide.

    The facts stay named after the younger, and what their programs could have read of the older is
    decided now.
    """
    older, younger = two
    if younger.tier == "constitutional" or older.retired_at or younger.retired_at:
        return two
    known = set(map(place, older.provenance))
    lines = [
        replace(line, of=line.of or younger.key, of_reason=could_have_read(older, line, None))
        for line in younger.provenance
        if place(line) not in known
    ]
    words = [*older.words, *(replace(word, of=word.of or younger.key) for word in younger.words)]
    after = replace(
        older,
        provenance=tuple(sorted([*older.provenance, *lines], key=place)),
        words=tuple(sorted(words, key=_said)),
        also=tuple(dict.fromkeys((*older.also, younger.key, *younger.also))),
        last_confirmed=max(older.last_confirmed, younger.last_confirmed),
    )
    left = tuple(line for line in younger.provenance if place(line) in known)
    facts = replace(younger, provenance=left, words=())
    return TwoEntries(after, replace(facts, read_through=older.key, same_pair=pair))


def read_apart(older: Entry, younger: Entry) -> TwoEntries:
    """Return two entries that were read as one, each with its own facts again; those of entries
    that are read through the younger go along.
    """
    keys = {younger.key, *younger.also}

    def own(of: str) -> str:
        return "" if of == younger.key else of

    lines = [
        replace(
            line,
            of=own(line.of),
            of_reason=could_have_read(younger, line, None) if own(line.of) else "",
        )
        for line in older.provenance
        if line.of in keys
    ]
    words = [replace(word, of=own(word.of)) for word in older.words if word.of in keys]
    return TwoEntries(
        replace(
            older,
            provenance=tuple(line for line in older.provenance if line.of not in keys),
            words=tuple(word for word in older.words if word.of not in keys),
            also=tuple(key for key in older.also if key not in keys),
        ),
        replace(
            younger,
            provenance=tuple(sorted([*younger.provenance, *lines], key=place)),
            words=tuple(sorted([*younger.words, *words], key=_said)),
            read_through=None,
            same_pair=None,
        ),
    )
