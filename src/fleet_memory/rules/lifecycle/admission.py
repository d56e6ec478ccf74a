"""A lesson enters a memory: as sent, new, again or with another text; it leaves, or comes back."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple, TypeAlias, TypedDict

from fleet_memory.arrays import np
from fleet_memory.rules.lifecycle.decay import CLOCK_SKEW, has_evidence, seen_again
from fleet_memory.rules.text.keys import digest, text_hash
from fleet_memory.rules.text.vectors import (
    LessonVectors,
    cosines,
    int8_matrix,
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


class _Content(TypedDict):
    """The fields of a pattern that each store of it sets."""

    pattern: str
    domain: str
    confidence: float
    project_id: str | None
    tags: tuple[str, ...]
    vector: str
    search_vector: str
    embedder: str


class SentLesson(NamedTuple):
    """A lesson as it arrives: the pattern as sent, its vectors (empty if none could be made) and
    the embedder.

    `new_id` is drawn at random, for one that is sent without an id. `source` is where it comes
    from, `session_id` the client's session, for a lesson that states none.
    """

    sent: NewPattern
    new_id: str
    vectors: LessonVectors = LessonVectors()
    embedder: str = ""
    source: Source = Source()
    session_id: str | None = None

    @property
    def words(self) -> str:
        """A hash that is equal for lessons of equal words."""
        return text_hash(self.sent.pattern)

    @property
    def call(self) -> str:
        """A digest that is equal when the same call is made again."""
        return digest(self.sent.model_dump_json(exclude={"promoted_to_store", "stale"}))

    @property
    def content(self) -> _Content:
        """The fields of the pattern that it becomes, as they were sent."""
        sent = self.sent
        return {
            "pattern": sent.pattern,
            "domain": sent.domain,
            "confidence": sent.confidence,
            "project_id": sent.project_id,
            "tags": sent.tags or (),
            "vector": self.vectors.vector,
            "search_vector": self.vectors.search_vector,
            "embedder": self.embedder,
        }


def timestamp_problem(sent: NewPattern, now: datetime, path: str = "pattern") -> str | None:
    """Return the fault in the times that a client claims, or None; `path` is where the pattern was
    sent.
    """
    for name, at in (
        ("discoveredAt", sent.discovered_at),
        ("lastReinforced", sent.last_reinforced),
    ):
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
MAX_CALLS: Final = 20  # remembered calls of one pattern
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
    related = _near(program, lesson, profile.related)
    for known in program.patterns.values():
        if known.words == lesson.words and lesson.call in known.calls.values():
            return _called_again(program, lesson, known, related, now)
    if old := changes_text(program, lesson):
        return _changed(program, lesson, old, related, in_pairs, now)
    if lesson.sent.id is not None and lesson.sent.id in program.patterns:
        return _updated(program, lesson, program.patterns[lesson.sent.id], related, now)
    twin = _twin(program, lesson)
    if twin is None or on_duplicate == "keep":
        return _created(program, lesson, twin, related, now)
    if on_duplicate == "reject":
        return Admission(program, "duplicate", twin.pattern, twin, _without(related, twin.pattern))
    seen = min(now, lesson.sent.last_reinforced or lesson.sent.discovered_at or now)
    return _repeated(program, lesson, twin, related, seen=seen, now=now)


def pattern_of(program: Program, id_: str) -> Pattern | None:
    """Return the pattern of this id, or the one that a lesson of this id was merged into."""
    return program.patterns.get(id_) or next(
        (p for p in program.patterns.values() if id_ in p.calls), None
    )


def same_lessons(program: Program, lesson: SentLesson) -> list[Pattern]:
    """Return the patterns that a store may change: that of the lesson's id, and that of its
    words.
    """
    twin, id_ = _twin(program, lesson), lesson.sent.id
    same = [pattern_of(program, id_) if id_ else None, twin.pattern if twin else None]
    return [pattern for pattern in same if pattern is not None]


def keys_of_store(program: Program, lesson: SentLesson) -> list[str]:
    """Return the keys of the entries that a store may change: of its lesson as it is, and of the
    text that it gets back.
    """
    return [
        key
        for known in same_lessons(program, lesson)
        for keys in (
            known.knowledge_keys,
            *(past.knowledge_keys for past in known.earlier if past.words == lesson.words),
        )
        for key in keys
    ]


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


def _twin(program: Program, lesson: SentLesson) -> Near | None:
    """Return the pattern of the same project in equal words."""
    words, project_id = lesson.words, lesson.sent.project_id
    same = (
        each
        for each in program.patterns.values()
        if each.words == words and each.project_id == project_id
    )
    return next((Near(pattern, 1.0) for pattern in same), None)


def _called_again(
    program: Program, lesson: SentLesson, known: Pattern, related: Sequence[Near], now: datetime
) -> Admission:
    merged = Near(known, 1.0) if lesson.sent.id not in (None, known.id) else None
    if (
        abs(now - (known.called_at or known.stored_at)) < RETRY_WITHIN
    ):  # two servers' clocks may differ
        return Admission(program, "unchanged", known, merged, _without(related, known))
    again = _repeated(program, lesson, Near(known, 1.0), related, seen=now, now=now)
    return again._replace(duplicate=merged)


def _created(
    program: Program, lesson: SentLesson, twin: Near | None, related: Sequence[Near], now: datetime
) -> Admission:
    pattern = _pattern(program, lesson, free_id(program, lesson.sent.id or lesson.new_id), now)
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
        **lesson.content,
        evidence=sent.evidence,
        session_id=sent.session_id or lesson.session_id,
        source=lesson.source,
        words=lesson.words,
        discovered_at=discovered,
        last_reinforced=sent.last_reinforced or discovered,
        stored_at=past.stored_at if past else now,
        read_first=past.read_first if past else program.read_first,
        read_last=past.read_last if past else program.read_last,
        called_at=now,
        calls={id_: lesson.call},
    )


def _updated(
    program: Program, lesson: SentLesson, old: Pattern, related: Sequence[Near], now: datetime
) -> Admission:
    """Store a lesson of a known id and of equal words, which keep their origin, once more."""
    new = _with_content(old, lesson, now)
    place = (old.domain, old.project_id) != (new.domain, new.project_id)
    after = with_pattern(program, new, pending=place)
    return Admission(after, "updated", new, None, _without(related, new))


def _with_content(old: Pattern, lesson: SentLesson, now: datetime) -> Pattern:
    """Return a lesson of equal words as it was sent again, reinforced by new evidence or after ten
    minutes.

    New evidence is added to the first.
    """
    sent = lesson.sent
    seen = old
    is_retry = abs(now - (old.called_at or old.stored_at)) < RETRY_WITHIN
    if not is_retry or not has_evidence(old, sent.evidence):
        seen = seen_again(old, now=now, confidence=sent.confidence, evidence=sent.evidence)
    discovered = sent.discovered_at or old.discovered_at
    resent = replace(
        seen,
        **lesson.content,
        discovered_at=discovered,
        last_reinforced=max(
            discovered, seen.last_reinforced, sent.last_reinforced or seen.last_reinforced
        ),
        called_at=now,
        calls=_called(old, lesson),
    )
    return with_search_vector(resent, old.search_vector)


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


def _repeated(
    program: Program,
    lesson: SentLesson,
    twin: Near,
    related: Sequence[Near],
    *,
    seen: datetime,
    now: datetime,
) -> Admission:
    sent = lesson.sent
    stronger = seen_again(
        twin.pattern, now=seen, confidence=sent.confidence, evidence=sent.evidence
    )
    stronger = with_search_vector(stronger, lesson.vectors.search_vector)
    stronger = replace(stronger, called_at=now, calls=_called(twin.pattern, lesson))
    after = with_pattern(program, stronger, pending=False)
    return Admission(after, "reinforced", stronger, twin, _without(related, stronger))


def _called(pattern: Pattern, lesson: SentLesson) -> dict[str, str]:
    own = lesson.sent.id or pattern.id
    calls = {id_: call for id_, call in pattern.calls.items() if id_ != own} | {own: lesson.call}
    return dict(list(calls.items())[-MAX_CALLS:])


def free_id(program: Program, wanted: str) -> str:
    """Return the wanted id, with a number if a lesson of the program has it."""
    if wanted not in program.patterns:
        return wanted
    return next(
        name
        for n in range(2, len(program.patterns) + 3)
        if (name := f"{wanted[:96]}-{n}") not in program.patterns
    )


def _without(related: Sequence[Near], pattern: Pattern) -> tuple[Near, ...]:
    return tuple(close for close in related if close.pattern.id != pattern.id)[:MAX_RELATED]


def with_pattern(program: Program, pattern: Pattern, *, pending: bool = True) -> Program:
    """Return the program with a pattern new or replaced, `pending` when consolidation must consider
    it.
    """
    waiting = [id_ for id_ in program.pending if id_ != pattern.id]
    was_pending = pattern.id in program.pending
    return replace(
        program,
        patterns={**program.patterns, pattern.id: pattern},
        pending=(*waiting, pattern.id) if pending or was_pending else tuple(waiting),
    )


class Restored(NamedTuple):
    """A program with a pattern from the archive, as it is called there now."""

    program: Program
    pattern: Pattern


def restored(program: Program, pattern: Pattern) -> Restored:
    """Bring a pattern back with its clock, evidence and origin; the next run finds out which entry
    it is in now.

    Under its own id, unless another pattern took that meanwhile. The stamps of the commit make it
    pending.
    """
    theirs = {id_ for other in program.patterns.values() for id_ in (other.id, *other.calls)}
    back = replace(
        pattern,
        id=free_id(program, pattern.id),
        calls={id_: call for id_, call in pattern.calls.items() if id_ not in theirs},
        knowledge_keys=(),
    )
    return Restored(with_pattern(program, back, pending=False), back)


def pattern_restore_problem(program: Program, pattern: Pattern) -> str | None:
    """Return why a pattern cannot come back to the program, with advice; None when it can."""
    twin = next(
        (
            p
            for p in program.patterns.values()
            if (p.words, p.project_id) == (pattern.words, pattern.project_id)
        ),
        None,
    )
    return f"it has learnt this again as {twin.id!r}; reinforce that one" if twin else None
