"""Entries of shared knowledge: who votes for one, the words about it, and its state."""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime, timedelta
from statistics import median
from typing import Final, NamedTuple

from fleet_memory.rules.lifecycle.decay import CLOCK_SKEW
from fleet_memory.rules.text.keys import SUFFIX_DIGITS, digest, knowledge_key, normalised, text_hash
from fleet_memory.rules.text.vectors import packed, unpacked
from fleet_memory.schemas.knowledge import (
    Basis,
    Contribution,
    Doubt,
    Entry,
    EntryState,
    EntryValue,
    KnowledgeRow,
    LedgerEvent,
    OriginRule,
    Word,
)
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.policy import Policy

MAX_COMMON_WORDS: Final = (
    3  # words; evidence of more words that two lessons share is a copy. Source: docs/knowledge.md
)


class Testimony(NamedTuple):
    """Who gave evidence, as far as origins go: `copy` is equal for lessons of equal words and equal
    evidence.
    """

    program_id: str
    session_id: str | None = None
    connection: str | None = None
    copy: str | None = None


def same_program(name: str) -> str:
    """Return the name under which programs are compared, e.g. "Claude-Code" -> "claude-code"."""
    return unicodedata.normalize("NFKC", name).casefold()


def is_one_origin(one: str, other: str) -> bool:
    """Whether two programs are one, or one of them is below the other, as `proj/reviewer` is below
    `proj`.
    """
    return is_below(one, other) or is_below(other, one)


def is_below(name: str, above: str) -> bool:
    """Whether a program is the other or its subagent, in any spelling, e.g. `Shop/x` of `shop`."""
    return f"{same_program(name)}/".startswith(f"{same_program(above)}/")


def of_other_origins(names: Iterable[str], known: Set[str]) -> Iterator[str]:
    """Yield the names that are one origin with none of `known`; all are as programs are
    compared.
    """
    above = {name for other in known for name in _with_those_above(other)}
    return (
        name for name in names if name not in above and known.isdisjoint(_with_those_above(name))
    )


def independent_origins(testimonies: Iterable[Testimony], rule: OriginRule = "program") -> int:
    """Count independent origins.

    Testimonies of one program or session, of a program and one below it, and a testimony and its
    copy are one origin; under the rule `connection` so are those over one unbound connection. It
    goes through chains: a-b and b-c make a, b and c one.
    """
    given = list(testimonies)
    programs = {same_program(testimony.program_id) for testimony in given}
    origins: list[set[str]] = []
    for testimony in given:
        marks = _marks(testimony, programs, rule)
        joined = [origin for origin in origins if origin & marks]
        origins = [origin for origin in origins if not origin & marks]
        origins.append(marks.union(*joined))
    return len(origins)


def _marks(testimony: Testimony, programs: Set[str], rule: OriginRule) -> set[str]:
    marks = {
        f"program {name}"
        for name in _with_those_above(same_program(testimony.program_id))
        if name in programs
    }
    if testimony.session_id:
        marks.add(f"session {testimony.session_id}")
    if testimony.copy:
        marks.add(f"copy {testimony.copy}")
    if testimony.connection and rule == "connection":
        marks.add(f"connection {testimony.connection}")
    return marks


def _with_those_above(name: str) -> Iterator[str]:
    yield name
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name


def copy_mark(text: str, evidence: str) -> str | None:
    """Return a mark that is equal for lessons of equal words and equal evidence of more than 3
    words; else None.
    """
    words = normalised(evidence)
    return digest(text_hash(text), words) if len(words.split()) > MAX_COMMON_WORDS else None


def testimony(contribution: Contribution) -> Testimony:
    """Return the evidence that a contribution is."""
    return Testimony(
        contribution.program_id,
        contribution.session_id,
        contribution.connection,
        copy_mark(contribution.pattern, contribution.evidence),
    )


def testimony_of_word(word: Word) -> Testimony:
    """Return the evidence that a word is; two words never copy each other."""
    return Testimony(word.program_id, word.session_id, word.connection)


def counted_contradictions(entry: Entry) -> Sequence[Word]:
    """Return the open contradictions that count: all but those that wait for another origin."""
    return [word for word in entry.words if word.outcome == "contradicted" and not word.waits]


def voting(entry: Entry) -> Sequence[Contribution]:
    """Return the contributions that vote: all but those of programs with a contradiction of the
    entry that counts.
    """
    withdrawn = {same_program(word.program_id) for word in counted_contradictions(entry)}
    return [line for line in entry.provenance if same_program(line.program_id) not in withdrawn]


def votes(entry: Entry, rule: OriginRule | None = None) -> int:
    """Return the entry's votes, one per independent origin; `rule` is the entry's own unless
    given.
    """
    return independent_origins(map(testimony, voting(entry)), rule or entry.origins)


VERIFY_AFTER: Final = timedelta(
    days=180
)  # unconfirmed for longer; Source: docs/knowledge.md, chosen


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


def entry_state(entry: Entry, now: datetime) -> EntryState:
    """Return the state of an entry at `now`."""
    if entry.retired_at is not None:
        return "retired"
    if is_candidate(entry) or (entry.published_at is None and entry.tier != "constitutional"):
        return "candidate"
    if counted_contradictions(entry):
        return "contested"
    return "verify" if doubts(entry) or is_unconfirmed(entry, now) else "fresh"


def is_candidate(entry: Entry) -> bool:
    """Whether an entry has too few votes for agents to read it."""
    return entry.tier != "constitutional" and votes(entry) < entry.threshold


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
    """Return why an entry is `verify` at any time; none for a rule that people set."""
    if entry.tier == "constitutional":
        return ()
    reasons: dict[Doubt, bool] = {
        "one_connection": _over_one_connection(entry),
        "one_judge": _hangs_on_one_judge(entry),
        "open_rewrite": any(line.open_rewrite for line in voting(entry)),
    }
    return tuple(reason for reason, applies in reasons.items() if applies)


def _over_one_connection(entry: Entry) -> bool:
    """Whether every vote, and every word with evidence, came over one unbound connection."""
    connections = {line.connection for line in voting(entry)} | {
        word.connection for word in entry.words
    }
    return len(connections) == 1 and None not in connections


def _hangs_on_one_judge(entry: Entry) -> bool:
    """Whether the votes that no single judge carries are too few for the threshold."""
    sure = [line for line in voting(entry) if line.basis != "one_judge"]
    return independent_origins(map(testimony, sure), entry.origins) < entry.threshold and len(
        sure
    ) < len(voting(entry))


def contributes(entry: Entry, program_id: str) -> bool:
    """Whether a program has a contribution in the entry, whether it votes or not."""
    name = same_program(program_id)
    return any(same_program(line.program_id) == name for line in entry.provenance)


MAX_WORDINGS: Final = 4  # of an entry; chosen, so that neither it nor its row grows with the fleet


class SearchedWordings(NamedTuple):
    """Texts that an entry is found by, and the packed mean of its vector and theirs; "" without one
    of them.
    """

    texts: tuple[str, ...] = ()
    vector: str = ""


def searched_wordings(entry: Entry) -> SearchedWordings:
    """Return the wordings that agents find an entry by; none of an entry that they do not read.

    The mean is of vectors of the entry's embedder, each of length 1.
    """
    if recorded_state(entry) in ("candidate", "retired"):
        return SearchedWordings()
    lines = wording_lines(entry)
    like = (entry.embedder, len(entry.vector))
    vectors = [
        line.vector for line in lines if line.vector and (line.embedder, len(line.vector)) == like
    ]
    return SearchedWordings(
        tuple(line.pattern for line in lines), _mean([entry.vector, *vectors]) if vectors else ""
    )


def _mean(vectors: Sequence[str]) -> str:
    mean = unpacked(vectors).mean(axis=0)
    return packed(mean) if mean.any() else ""


def wording_lines(entry: Entry) -> Sequence[Contribution]:
    """Return contributions of other words than the entry's text and than each other's, at most
    four.

    Those with a vector come first, of the entry's embedder before others, then the oldest.
    """
    distinct: dict[str, Contribution] = {}
    for line in sorted(entry.provenance, key=lambda line: _order(entry, line)):
        distinct.setdefault(text_hash(line.pattern), line)
    distinct.pop(text_hash(entry.value.pattern), None)
    return list(distinct.values())[:MAX_WORDINGS]


def _order(entry: Entry, line: Contribution) -> tuple[bool, bool, datetime, str, str]:
    is_of_other_embedder = line.embedder != entry.embedder
    return (
        not line.vector,
        is_of_other_embedder,
        line.learnt_at,
        line.program_id,
        line.pattern_id,
    )


def with_bounded_vectors(entry: Entry) -> Entry:
    """Return the entry without the vectors of contributions that are no wordings; the same object
    if there are none.
    """
    wording_ids = {(line.program_id, line.pattern_id) for line in wording_lines(entry)}
    lines = tuple(
        replace(line, vector="", embedder="")
        if line.vector and (line.program_id, line.pattern_id) not in wording_ids
        else line
        for line in entry.provenance
    )
    return entry if lines == entry.provenance else replace(entry, provenance=lines)


def texts_without_vector(entry: Entry, embedder: str) -> Sequence[str]:
    """Return the entry's text and those of its wordings that have no vector of `embedder`."""
    own = [] if entry.embedder == embedder else [entry.value.pattern]
    return [*own, *(line.pattern for line in wording_lines(entry) if line.embedder != embedder)]


def with_vectors(entry: Entry, vectors: Mapping[str, str], embedder: str) -> Entry:
    """Return the entry with packed vectors of `embedder`, by text; a text that is not among them
    keeps its own.
    """
    lines = tuple(
        replace(line, vector=vectors[line.pattern], embedder=embedder)
        if line.pattern in vectors
        else line
        for line in entry.provenance
    )
    after = replace(entry, provenance=lines)
    if entry.value.pattern in vectors:
        after = replace(after, vector=vectors[entry.value.pattern], embedder=embedder)
    return with_bounded_vectors(after)


RETIRE_FROM: Final = 2  # origins against; Source: docs/knowledge.md, chosen
RETIRE_STRICT_FROM: Final = (
    3  # origins against an entry of a threshold of at least `STRICT_THRESHOLD`
)
STRICT_THRESHOLD: Final = 4  # votes
CONFIRM_FROM: Final = (
    2  # origins that end a non-contributor's contradiction; Source: docs/knowledge.md, chosen
)
MAX_CONTRADICTIONS_A_DAY: Final = (
    3  # open ones of one program; the next waits. Source: docs/knowledge.md, chosen
)
MAX_REMEMBERED_CONTRADICTIONS: Final = 16  # of one program; chosen, more than count in a day
# words of each outcome on an entry, the newest; chosen, so that no document grows with the fleet
MAX_WORDS: Final = 50
_DAY: Final = timedelta(days=1)


def with_confirmation(entry: Entry, word: Word) -> Entry:
    """Return the entry after a program saw it true.

    The clock moves. With evidence it also takes back the program's own contradiction, and with that
    of another origin it ends the contradictions of non-contributors that came before both.
    """
    entry = replace(
        entry,
        last_confirmed=max(entry.last_confirmed, word.at),
        confirmations=entry.confirmations + 1,
    )
    if not word.evidence:
        return entry
    name = same_program(word.program_id)
    others = [earlier for earlier in entry.words if same_program(earlier.program_id) != name]
    return _without_answered(replace(entry, words=_newest([*others, word])))


def with_contradiction(entry: Entry, word: Word) -> Entry:
    """Return the entry after a program saw it false: contested, or retired once enough origins
    outnumber the others.

    A contributor's vote is out while its word stands. A repeated word has the time of the first,
    and waits as that does. A rule that people set is never retired. Without evidence the word does
    not count, and the entry is the same object.
    """
    if not word.evidence:
        return entry
    name = same_program(word.program_id)
    others = [earlier for earlier in entry.words if same_program(earlier.program_id) != name]
    first = next(
        (
            earlier
            for earlier in entry.words
            if same_program(earlier.program_id) == name and earlier.outcome == word.outcome
        ),
        word,
    )
    words = _newest([*others, replace(word, at=min(word.at, first.at), waits=first.waits)])
    after = _with_released(replace(entry, words=words))
    return (
        replace(after, retired_at=word.at)
        if entry.retired_at is None and _is_refuted(after)
        else after
    )


def with_all_words(entry: Entry, words: Iterable[Word]) -> Entry:
    """Return the entry with the words of several stores in place of its own, and with their
    consequences.

    Each program's latest word stands, without the contradictions that are answered: what the
    program saw before one stands again, so that the same words always leave the same.
    """
    pool = list(words)
    after = replace(entry, words=_newest(_latest(pool)))
    while (left := _without_answered(after)) is not after:
        answered = set(after.words) - set(left.words)
        pool = [word for word in pool if word not in answered]
        after = replace(entry, words=_newest(_latest(pool)))
    after = _with_released(after)
    if after.retired_at is not None or not _is_refuted(after):
        return after
    return replace(after, retired_at=max(word.at for word in counted_contradictions(after)))


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


def _with_released(entry: Entry) -> Entry:
    """Let contradictions that wait count, for good, once they come of two origins."""
    against = [word for word in entry.words if word.outcome == "contradicted"]
    if _origins(entry, against) < 2 or not any(word.waits for word in against):
        return entry
    return replace(entry, words=tuple(replace(word, waits=False) for word in entry.words))


def _is_recent(at: datetime, now: datetime) -> bool:
    """Whether an instant is within the last day, or so little ahead that two servers' clocks may
    differ by it.
    """
    return -CLOCK_SKEW < now - at < _DAY


def _is_refuted(entry: Entry) -> bool:
    """Whether the origins against outnumber those that confirmed since the first open
    contradiction, and suffice.
    """
    against = counted_contradictions(entry)
    if entry.tier == "constitutional" or not against:
        return False
    first = min(word.at for word in against)
    confirmed = [word for word in entry.words if word.outcome == "confirmed" and word.at >= first]
    count = _origins(entry, against)
    least = RETIRE_STRICT_FROM if entry.threshold >= STRICT_THRESHOLD else RETIRE_FROM
    return count >= least and count > _origins(entry, confirmed)


def _without_answered(entry: Entry) -> Entry:
    """End each non-contributor's contradiction that two origins have confirmed against since."""
    confirmed = [word for word in entry.words if word.outcome == "confirmed"]

    def answered(word: Word) -> bool:
        later = [confirmation for confirmation in confirmed if confirmation.at >= word.at]
        return not contributes(entry, word.program_id) and _origins(entry, later) >= CONFIRM_FROM

    left = tuple(word for word in entry.words if word.outcome == "confirmed" or not answered(word))
    return entry if left == entry.words else replace(entry, words=left)


def _latest(words: Iterable[Word]) -> Iterable[Word]:
    """Return each program's latest word; of equal ones that which does not wait."""
    ordered = sorted(
        words, key=lambda word: (word.at, word.outcome, not word.waits, word.program_id)
    )
    return {same_program(word.program_id): word for word in ordered}.values()


def _origins(entry: Entry, words: Iterable[Word]) -> int:
    return independent_origins(map(testimony_of_word, words), entry.origins)


def _newest(words: Iterable[Word]) -> tuple[Word, ...]:
    """Return words in order of time, at most 50 of each outcome."""
    ordered = sorted(words, key=lambda word: (word.at, word.program_id))
    newest = [
        word
        for outcome in ("confirmed", "contradicted")
        for word in [word for word in ordered if word.outcome == outcome][-MAX_WORDS:]
    ]
    return tuple(sorted(newest, key=lambda word: (word.at, word.program_id)))


MAX_PROVENANCE: Final = (
    50  # contributions of an entry; a lesson that joins later confirms. Chosen: a document's room
)


class JoiningLesson(NamedTuple):
    """A lesson that supports an entry's text: its program, its basis, and its cosine to that text.

    `shown` maps hashes of texts to when its program was shown them.
    """

    program_id: str
    pattern: Pattern
    basis: Basis
    similarity: float = 1.0
    pair: str | None = None
    shown: Mapping[str, datetime] = {}


class Joined(NamedTuple):
    """An entry after a lesson joined; `echo` when the lesson confirmed it without a vote."""

    entry: Entry
    echo: bool


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


def candidate_of(lesson: JoiningLesson, policy: Policy) -> Entry:
    """Return an entry of a lesson's text that no lesson has joined yet, under its base key."""
    pattern = lesson.pattern
    return Entry(
        key=knowledge_key(pattern.domain, pattern.pattern),
        value=EntryValue(
            pattern=pattern.pattern,
            domain=pattern.domain,
            confidence=pattern.confidence,
            contributors=(),
            evidence_count=0,
            first_discovered=pattern.discovered_at,
            last_promoted=pattern.stored_at,
        ),
        project_id=pattern.project_id,
        last_confirmed=pattern.last_reinforced,
        threshold=policy.threshold,
        origins=policy.origins,
        version=0,
        vector=pattern.vector,
        embedder=pattern.embedder,
    )


def keys_of(entry: Entry) -> tuple[str, str]:
    """Return the key that an entry takes, and the one that it takes if another text has that
    already.
    """
    suffix = digest(text_hash(entry.value.pattern), entry.project_id or "")[:SUFFIX_DIGITS]
    return entry.key, f"{entry.key}-{suffix}"


def with_lesson(entry: Entry, lesson: JoiningLesson) -> Joined:
    """Return the entry after a lesson joined: one more contribution if it may vote, else an echo
    that confirms.

    It may vote if its text was stored before the entry was published first, and not after its
    program was shown a text of the entry. A retired entry counts that it was learnt again.
    """
    pattern = lesson.pattern
    entry = replace(entry, last_confirmed=max(entry.last_confirmed, pattern.last_reinforced))
    if entry.retired_at is not None:
        return Joined(replace(entry, relearnt=entry.relearnt + 1), echo=True)
    if (
        entry.tier == "constitutional"
        or not _may_vote(entry, lesson)
        or len(entry.provenance) >= MAX_PROVENANCE
    ):
        return Joined(entry, echo=True)
    mine = (lesson.program_id, pattern.id)
    others = [line for line in entry.provenance if (line.program_id, line.pattern_id) != mine]
    lines = sorted(
        [*others, contribution(lesson)], key=lambda line: (line.program_id, line.pattern_id)
    )
    return Joined(with_bounded_vectors(replace(entry, provenance=tuple(lines))), echo=False)


def _may_vote(entry: Entry, lesson: JoiningLesson) -> bool:
    stored = lesson.pattern.stored_at
    if entry.published_at is not None and stored >= entry.published_at:
        return False
    texts = {
        entry.value.pattern,
        lesson.pattern.pattern,
        *(line.pattern for line in entry.provenance),
    }
    shown = (lesson.shown.get(text_hash(text)) for text in texts)
    return all(at is None or at >= stored for at in shown)


def without_lesson(entry: Entry, program_id: str, pattern_id: str) -> Entry:
    """Return the entry without a lesson's contribution; the same object when it has none."""
    left = tuple(
        line
        for line in entry.provenance
        if (line.program_id, line.pattern_id) != (program_id, pattern_id)
    )
    return entry if len(left) == len(entry.provenance) else replace(entry, provenance=left)


def judged_again(entry: Entry, pair: str, basis: Basis) -> Entry:
    """Return the entry after another verdict that leaves a pair the same: its lessons hang on one
    judge or more.

    The entry's text needs no judge.
    """
    replaceable = {"one_judge", "judged"}
    lines = tuple(
        replace(line, basis=basis) if line.pair == pair and line.basis in replaceable else line
        for line in entry.provenance
    )
    return entry if lines == entry.provenance else replace(entry, provenance=lines)


def with_open_rewrite(entry: Entry, program_id: str, pattern_id: str, *, is_open: bool) -> Entry:
    """Return the entry after a contributor rewrote its lesson, or judged the rewrite the same."""
    mine = (program_id, pattern_id)
    lines = tuple(
        replace(line, open_rewrite=is_open) if (line.program_id, line.pattern_id) == mine else line
        for line in entry.provenance
    )
    return entry if lines == entry.provenance else replace(entry, provenance=lines)


def settled(before: Entry | None, after: Entry, policy: Policy, now: datetime) -> Entry:
    """Return a changed entry with everything that follows from its contributions and words.

    It is published once its votes reach the policy's threshold; its figures count votes only; its
    version grows. The same object as `before` when nothing changed.
    """
    if before is not None and after == before:
        return before
    first = after.published_at is None and after.tier != "constitutional"
    if first:
        after = replace(after, threshold=policy.threshold, origins=policy.origins)
        if after.retired_at is None and votes(after) >= after.threshold:
            after = replace(after, published_at=now)
    after = replace(after, value=_value(before, after, now), project_id=_project(after))
    description = f"Auto-promoted from {after.value.evidence_count} independent agent discoveries"
    return replace(
        after,
        description=after.description if after.tier == "constitutional" else description,
        version=(before.version if before else 0) + 1,
        unpublished=True,
    )


def under_policy(entry: Entry, policy: Policy) -> Entry:
    """Return a candidate under the present policy; the same object when it already is."""
    if (entry.threshold, entry.origins) == (
        policy.threshold,
        policy.origins,
    ) and entry.published_at is not None:
        return entry
    return replace(entry, threshold=policy.threshold, origins=policy.origins)


def _value(before: Entry | None, after: Entry, now: datetime) -> EntryValue:
    lines = voting(after)
    if after.tier == "constitutional":
        return after.value
    if not lines:
        return replace(after.value, contributors=(), evidence_count=0)
    grown = before is None or len(voting(before)) < len(lines)
    return replace(
        after.value,
        confidence=round(median(line.confidence for line in lines), 4),
        contributors=tuple(sorted({line.program_id for line in lines})),
        evidence_count=votes(after),
        first_discovered=min(line.discovered_at for line in lines),
        last_promoted=now if grown else after.value.last_promoted,
    )


def _project(entry: Entry) -> str | None:
    """Return the project of an entry: that of its votes, unless enough of them to publish it have
    none.
    """
    lines = voting(entry)
    if not lines:
        return entry.project_id
    free = [line for line in lines if line.project_id is None]
    if independent_origins(map(testimony, free), entry.origins) >= entry.threshold:
        return None
    return next((line.project_id for line in lines if line.project_id is not None), None)


def ledger_event(before: Entry | None, after: Entry, now: datetime) -> LedgerEvent | None:
    """Return the ledger's name for a change of an entry; None for one that changes neither its
    state nor its votes.

    A doubt alone is no change: the entry itself has the reasons why it is `verify`.
    """
    was: EntryState = entry_state(before, now) if before else "candidate"
    is_now = entry_state(after, now)
    if is_now != was and (was, is_now) != ("fresh", "verify"):
        return _event(was, is_now)
    count = votes(before) if before else 0
    if votes(after) > count:
        return "attached"
    return "left" if votes(after) < count else None


def _event(was: EntryState, is_now: EntryState) -> LedgerEvent:
    match is_now:
        case "retired":
            return "retired"
        case "candidate":
            return "demoted"
        case "contested":
            return "contradicted"
        case _ if was == "candidate":
            return "promoted"
        case _ if was == "retired":
            return "reinstated"
        case _:
            return "confirmed"


def is_empty(entry: Entry) -> bool:
    """Whether no lesson speaks for an entry any more, and people did not set or retire it: nothing
    is compared with it.

    An entry that gave way to another of the same meaning is. Lessons of its words make it an entry
    again.
    """
    return not entry.provenance and entry.tier != "constitutional" and entry.retired_at is None


def is_contributor(entry: Entry, program_id: str, pattern_id: str) -> bool:
    """Whether this very lesson is a contribution of the entry."""
    return any(
        (line.program_id, line.pattern_id) == (program_id, pattern_id) for line in entry.provenance
    )


def oldest_contributor(entry: Entry) -> str:
    """Return the program that is asked for an entry: that of the contribution stored first, "" for
    none.
    """
    there = [line for line in entry.provenance if not line.program_deleted]
    lines = sorted(there, key=lambda line: (line.learnt_at, line.program_id))
    return lines[0].program_id if lines else ""


def contribution(lesson: JoiningLesson) -> Contribution:
    """Return an entry's record of a lesson."""
    pattern = lesson.pattern
    return Contribution(
        program_id=lesson.program_id,
        pattern_id=pattern.id,
        pattern=pattern.pattern,
        confidence=pattern.confidence,
        evidence=pattern.evidence,
        discovered_at=pattern.discovered_at,
        session_id=pattern.session_id,
        project_id=pattern.project_id,
        similarity=round(min(1.0, lesson.similarity), 3),
        basis=lesson.basis,
        pair=lesson.pair,
        stored_at=pattern.stored_at,
        connection=pattern.source.connection,
        token=pattern.source.token,
        client=pattern.source.client,
        model=pattern.source.model,
        vector=pattern.vector,
        embedder=pattern.embedder,
    )


def ledger_id(key: str, version: int, commit: str) -> str:
    """Return the id of a ledger line, which no other line can have."""
    return digest(key, str(version), commit)
