"""Changes of an entry: made, joined, left, published, reworded. It is one text, and nothing
chains.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from statistics import median
from typing import Final, NamedTuple

from fleet_memory.rules.knowledge.state import entry_state
from fleet_memory.rules.knowledge.votes import independent_origins, testimony, votes, voting
from fleet_memory.rules.knowledge.wordings import with_bounded_vectors
from fleet_memory.rules.text.keys import SUFFIX_DIGITS, digest, knowledge_key, text_hash
from fleet_memory.schemas.knowledge import (
    Basis,
    Contribution,
    Entry,
    EntryState,
    EntryValue,
    LedgerEvent,
)
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.policy import Policy

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

    A merge of an older memory is `unjudged` until two judges agree. The entry's text needs no
    judge.
    """
    replaceable = {"one_judge", "judged"} | ({"unjudged"} if basis == "judged" else set())
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
