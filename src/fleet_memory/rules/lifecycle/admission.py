"""A lesson enters a memory: as sent, new, again or with another text; it leaves, or comes back."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple, TypeAlias

from fleet_memory.rules.lifecycle.decay import CLOCK_SKEW, has_evidence, seen_again
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.rules.text.vectors import (
    LessonVectors,
    cosines,
    int8_matrix,
    np,
    unit_row,
    with_search_vector,
)
from fleet_memory.schemas.comparison import Profile
from fleet_memory.schemas.fields import vector_bytes
from fleet_memory.schemas.patterns import (
    NewPattern,
    Pattern,
    Source,
    StoreStatus,
    TextChange,
    Wording,
)
from fleet_memory.schemas.programs import Archived, Program


class SentLesson(NamedTuple):
    """A lesson as it arrives: the pattern as sent, its vectors (empty if none could be made) and
    the embedder.

    `new_id` is drawn at random, for one that is sent without an id. `source` is where it comes
    from, `session_id` the client's session, for a lesson that states none. `stands_in`: its
    embedder
    stands in for one that did not load.
    """

    sent: NewPattern
    new_id: str
    vectors: LessonVectors = LessonVectors()
    embedder: str = ""
    source: Source = Source()
    session_id: str | None = None
    stands_in: bool = False

    @property
    def words(self) -> str:
        """A hash that is equal for lessons of equal words."""
        return text_hash(self.sent.pattern)


def timestamp_problem(sent: NewPattern, now: datetime, path: str = "pattern") -> str | None:
    """Return the fault in the times that a client claims, or None; `path` is where the pattern was
    sent.
    """
    times = {"discoveredAt": sent.discovered_at, "lastReinforced": sent.last_reinforced}
    for name, at in times.items():
        if at is not None and at > now + CLOCK_SKEW:
            return (
                f"{path}.{name}: is in the future (the server's time is "
                f"{now.isoformat(timespec='seconds')})"
            )
    if sent.discovered_at and sent.last_reinforced and sent.discovered_at > sent.last_reinforced:
        return f"{path}.discoveredAt: is later than {path}.lastReinforced"
    return None


class Changed(NamedTuple):
    """A lesson as it was before its author gave it another text, and what the author calls that.

    `reworded`: both texts are the same insight; the entries and pairs of the lesson keep the text
    that they have, and its vote. `corrected`: the old text was wrong and loses the vote, the new
    one is a new lesson.
    """

    old: Pattern
    change: TextChange


def changes_text(program: Program, lesson: SentLesson) -> Pattern | None:
    """Return the lesson of this id that would get a text of other words; None for none."""
    old = program.patterns.get(lesson.sent.id or "")
    return old if old is not None and old.words != lesson.words else None


def change_problem(
    program: Program, lesson: SentLesson, in_pairs: Collection[str], path: str = "pattern."
) -> str | None:
    """Return why a lesson cannot get another text, with both ways to send it; None when it can.

    `in_pairs` are the ids of the program's lessons in open pairs. `path` is where it was sent.
    """
    old = changes_text(program, lesson)
    if old is None or lesson.sent.change or not (old.promoted or old.id in in_pairs):
        return None
    place = "shared knowledge" if old.promoted else "a pair that waits for a verdict"
    return (
        f"{path}change: {old.id!r} is in {place} with another text, and nothing was written. "
        "Send change 'reworded' if both texts are the same lesson (who follows one does what the "
        "other asks): it keeps its vote. Send 'corrected' if the old text was wrong: it loses "
        "your vote, and this one is a new lesson. Or leave the id out, to store a second lesson"
    )


OnDuplicate: TypeAlias = Literal["reinforce", "reject", "keep"]

RETRY_WITHIN: Final = timedelta(
    minutes=10
)  # the same call again is a retry, later a reinforcement; chosen
MAX_RELATED: Final = (
    5  # patterns; Source: docs/recall.md: a rewording is among the first five of 220 for 93 %
)
MAX_EARLIER: Final = 16  # remembered earlier texts of one pattern; chosen


class Near(NamedTuple):
    """A pattern of the program and its similarity to the lesson, 0..1."""

    pattern: Pattern
    similarity: float


class Admission(NamedTuple):
    """A program's memory after a store, and the answer's facts.

    `archived` has the text that the lesson had, if nothing else holds that. `changed`: the lesson
    has another text, and something holds the old one, or the new one from earlier.
    """

    program: Program
    status: StoreStatus
    pattern: Pattern
    duplicate: Near | None = None
    related: tuple[Near, ...] = ()
    archived: tuple[Archived, ...] = ()
    changed: Changed | None = None


def admitted(
    program: Program,
    lesson: SentLesson,
    *,
    profile: Profile,
    on_duplicate: OnDuplicate = "reinforce",
    in_pairs: Collection[str] = (),
    now: datetime,
) -> Admission:
    """Return the program after storing `lesson`: an upsert by id; a lesson of equal words is a
    duplicate.

    The same call within ten minutes is a retry that changes nothing; later it reinforces. A changed
    text must have no `change_problem`.
    """
    sent, related = lesson.sent, _near(program, lesson, profile.related)
    if old := changes_text(program, lesson):
        return _changed(program, lesson, old, related, in_pairs, now)
    known = program.patterns.get(sent.id or "") or twin_of(program, lesson.words, sent.project_id)
    if known is None:
        return _created(program, lesson, None, related, now)
    is_own = known.id == sent.id
    is_new = _says_more(known, sent, is_whole=is_own or on_duplicate != "reinforce")
    same, near = Near(known, 1.0), _without(related, known)
    duplicate = None if is_own or (sent.id is None and not is_new) else same
    is_retry = not is_new and _was_just_called(known, now)
    if on_duplicate != "reinforce" and not is_own and not (is_retry and sent.id is None):
        if on_duplicate == "keep":
            return _created(program, lesson, same, related, now)
        return Admission(program, "duplicate", known, same, near)
    if is_retry:
        return Admission(program, "unchanged", known, duplicate, near)
    after = _stored_again(known, lesson, now)
    status: StoreStatus = "updated" if is_own and is_new else "reinforced"
    return Admission(with_pattern(program, after), status, after, duplicate, near)


def _says_more(known: Pattern, sent: NewPattern, *, is_whole: bool) -> bool:
    """Whether a lesson of equal words has evidence, confidence or a later time that the known one
    has not; with `is_whole` anything else. A lesson that is reinforced under another id takes over
    no more.
    """
    same = known.domain, known.project_id, known.tags, known.discovered_at
    at = sent.discovered_at or known.discovered_at
    return (
        not has_evidence(known, sent.evidence)
        or known.confidence != sent.confidence
        or (sent.last_reinforced or known.last_reinforced) > known.last_reinforced
        or (is_whole and same != (sent.domain, sent.project_id, sent.tags or (), at))
    )


def _was_just_called(known: Pattern, now: datetime) -> bool:
    return abs(now - (known.called_at or known.stored_at)) < RETRY_WITHIN  # of two servers' clocks


def keys_of_store(program: Program, lesson: SentLesson) -> list[str]:
    """Return the keys of the entries that a store may change: of its lesson's texts."""
    twin = twin_of(program, lesson.words, lesson.sent.project_id)
    known = [each for each in (program.patterns.get(lesson.sent.id or ""), twin) if each]
    keys = [key for each in known for key in each.knowledge_keys]
    return keys + [key for each in known for past in each.earlier for key in past.knowledge_keys]


def _near(program: Program, lesson: SentLesson, least: float) -> list[Near]:
    """Return the program's patterns of at least this similarity, the most alike first: `_without`
    needs no others.
    """
    own, embedder = vector_bytes(lesson.vectors.vector), lesson.embedder
    comparable = [
        pattern
        for pattern in program.patterns.values()
        if pattern.embedder == embedder and len(pattern.vector_bytes) == len(own)
    ]
    if not comparable or not own:
        return []
    alike = cosines(int8_matrix([p.vector_bytes for p in comparable]), unit_row(own))
    similarities = np.round(np.clip(alike, 0, 1).astype(float), 3)
    near = np.flatnonzero(similarities >= least)
    near = near[np.argsort(-alike[near], kind="stable")][: MAX_RELATED + 1]
    return [
        Near(comparable[i], similarity)
        for i, similarity in zip(near, similarities[near].tolist(), strict=True)
    ]


def twin_of(program: Program, words: str, project_id: str | None) -> Pattern | None:
    """Return the lesson of a project in equal words, of several the one stored last."""
    place = words, project_id
    same = (each for each in program.patterns.values() if (each.words, each.project_id) == place)
    return max(same, key=lambda each: each.called_at or each.stored_at, default=None)


def _created(
    program: Program, lesson: SentLesson, twin: Near | None, related: Sequence[Near], now: datetime
) -> Admission:
    pattern = _pattern(program, lesson, lesson.sent.id or lesson.new_id, now)
    after = with_pattern(program, pattern)
    return Admission(after, "created", pattern, twin, _without(related, pattern))


def _pattern(
    program: Program, lesson: SentLesson, id_: str, now: datetime, past: Wording | None = None
) -> Pattern:
    """Return a lesson whose text is stored for the first time, or again as in the `past`."""
    sent = lesson.sent
    discovered = sent.discovered_at or sent.last_reinforced or now
    return Pattern(
        id=id_,
        pattern=sent.pattern,
        domain=sent.domain,
        confidence=sent.confidence,
        evidence=sent.evidence,
        project_id=sent.project_id,
        tags=sent.tags or (),
        vector=lesson.vectors.vector,
        search_vector=lesson.vectors.search_vector,
        embedder=lesson.embedder,
        session_id=sent.session_id or lesson.session_id,
        source=lesson.source,
        words=lesson.words,
        discovered_at=discovered,
        last_reinforced=sent.last_reinforced or discovered,
        stored_at=past.stored_at if past else now,
        read_first=past.read_first if past else program.read_first,
        read_last=past.read_last if past else program.read_last,
        called_at=now,
    )


def _stored_again(known: Pattern, lesson: SentLesson, now: datetime) -> Pattern:
    """Return a lesson after equal words were stored: reinforced, with new evidence beside the
    first; under its own id as it was sent.

    Within ten minutes evidence that it has reinforces nothing.
    """
    sent, seen, is_own = lesson.sent, known, lesson.sent.id == known.id
    at = now if is_own else min(now, sent.last_reinforced or sent.discovered_at or now)
    if not (is_own and _was_just_called(known, now) and has_evidence(known, sent.evidence)):
        seen = seen_again(known, now=at, confidence=sent.confidence, evidence=sent.evidence)
    if not is_own:
        return replace(with_search_vector(seen, lesson.vectors.search_vector), called_at=now)
    discovered = sent.discovered_at or known.discovered_at
    is_same = not (known.embedder and lesson.stands_in)  # the model's vectors stay
    resent = replace(
        seen,
        pattern=sent.pattern,
        domain=sent.domain,
        confidence=sent.confidence,
        project_id=sent.project_id,
        tags=sent.tags or (),
        vector=lesson.vectors.vector if is_same else known.vector,
        search_vector=lesson.vectors.search_vector if is_same else known.search_vector,
        embedder=lesson.embedder if is_same else known.embedder,
        discovered_at=discovered,
        last_reinforced=max(
            discovered, seen.last_reinforced, sent.last_reinforced or seen.last_reinforced
        ),
        called_at=now,
    )
    return with_search_vector(resent, known.search_vector)


def _changed(
    program: Program,
    lesson: SentLesson,
    old: Pattern,
    related: Sequence[Near],
    in_pairs: Collection[str],
    now: datetime,
) -> Admission:
    """Give a lesson another text: it inherits the entries and the words of one that its author
    calls the same, and of any other nothing; an earlier text has its entries again.
    """
    change = lesson.sent.change
    past = next((each for each in old.earlier if each.words == lesson.words), None)
    was_shared = past is not None and bool(past.knowledge_keys)
    is_held = change is not None and (old.promoted or was_shared or old.id in in_pairs)
    keys = [*(old.knowledge_keys if change == "reworded" else ())]
    keys += past.knowledge_keys if past else ()
    earlier = [each for each in old.earlier if each.words not in (lesson.words, old.words)]
    if change is not None and is_held:
        wording = Wording(
            words=old.words,
            change=change,
            stored_at=old.stored_at,
            read_first=old.read_first,
            read_last=old.read_last,
            knowledge_keys=old.knowledge_keys,
        )
        earlier.append(wording)
    new = replace(
        _pattern(program, lesson, old.id, now, past),
        knowledge_keys=tuple(dict.fromkeys(keys)),
        earlier=tuple(earlier[-MAX_EARLIER:]),
    )
    if change == "reworded":
        new = replace(
            new,
            confirmations=old.confirmations,
            contradictions=old.contradictions,
            doublings=old.doublings,
            spaced_at=old.spaced_at,
            evidence_log=old.evidence_log,
        )
    after = with_pattern(program, new)
    changed = Changed(old, change or "corrected") if is_held or past else None
    line = Archived(program_id=program.program_id, pattern=old, reason="replaced", at=now)
    gone, near = () if is_held else (line,), _without(related, new)
    return Admission(after, "updated", new, None, near, archived=gone, changed=changed)


def _without(related: Sequence[Near], pattern: Pattern) -> tuple[Near, ...]:
    return tuple(close for close in related if close.pattern.id != pattern.id)[:MAX_RELATED]


def with_pattern(program: Program, pattern: Pattern) -> Program:
    """Return the program with a pattern new or replaced."""
    return replace(program, patterns={**program.patterns, pattern.id: pattern})


def restored(program: Program, pattern: Pattern, new_id: str) -> Pattern:
    """Return a pattern from the archive as it comes back, with its clock, evidence and origin; the
    next run finds out which entry it is in now.

    Under its own id, under `new_id` where another pattern took that meanwhile.
    """
    id_ = new_id if pattern.id in program.patterns else pattern.id
    return replace(pattern, id=id_, knowledge_keys=())


def pattern_restore_problem(program: Program, pattern: Pattern) -> str | None:
    """Return why a pattern cannot come back to the program, with advice; None when it can."""
    twin = twin_of(program, pattern.words, pattern.project_id)
    return f"it has learnt this again as {twin.id!r}; reinforce that one" if twin else None
