"""What storing a lesson does to a program's memory: create, update, recognise a duplicate, keep the cap."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple, TypeAlias, TypedDict

import numpy as np

from fleet_memory.rules.guard import objection
from fleet_memory.rules.lifecycle.decay import strength
from fleet_memory.rules.lifecycle.reinforcement import reinforced
from fleet_memory.rules.text.keys import digest, pattern_id, text_hash
from fleet_memory.rules.text.vectors import unpacked
from fleet_memory.schemas.answers.memory import StoreStatus
from fleet_memory.schemas.patterns import NewPattern, Pattern
from fleet_memory.schemas.programs import Archived, ArchiveReason, Program
from fleet_memory.schemas.similarity import Profile

OnDuplicate: TypeAlias = Literal["reinforce", "reject", "keep"]

CLOCK_SKEW: Final = timedelta(minutes=5)  # a client's clock may be this far ahead; Source: docs/architecture.md, chosen
MAX_RELATED: Final = 5  # patterns; Source: docs/recall.md: a rewording is among the first five of 220 for 93 %
MAX_CALLS: Final = 20  # remembered calls of one pattern


class _Fields(TypedDict):
    """The fields of a pattern that a lesson settles, whether it is new or replaces another."""

    pattern: str
    domain: str
    confidence: float
    evidence: str
    project_id: str | None
    session_id: str | None
    tags: tuple[str, ...]
    words: str
    vector: str
    embedder: str


class SentLesson(NamedTuple):
    """What arrives: the pattern as sent, its packed vector ("" when none could be made) and who made that."""

    sent: NewPattern
    vector: str
    embedder: str

    @property
    def id(self) -> str:
        """The id it is stored under."""
        return self.sent.id or pattern_id(self.sent.pattern)

    @property
    def call(self) -> str:
        """A digest that is equal when the same call is made again."""
        return digest(self.sent.model_dump_json(exclude={"promoted_to_store", "stale"}))

    @property
    def fields(self) -> _Fields:
        """The fields of the pattern that it becomes."""
        sent = self.sent
        return {
            "pattern": sent.pattern,
            "domain": sent.domain,
            "confidence": sent.confidence,
            "evidence": sent.evidence,
            "project_id": sent.project_id,
            "session_id": sent.session_id,
            "tags": sent.tags or (),
            "words": text_hash(sent.pattern),
            "vector": self.vector,
            "embedder": self.embedder,
        }


class Near(NamedTuple):
    """A pattern of the program and its similarity to the lesson, 0..1."""

    pattern: Pattern
    similarity: float


class Admission(NamedTuple):
    """A program's memory after a store, and what to tell the agent."""

    program: Program
    status: StoreStatus
    pattern: Pattern
    duplicate: Near | None = None
    related: tuple[Near, ...] = ()
    archived: tuple[Archived, ...] = ()


def timestamp_problem(sent: NewPattern, now: datetime, path: str = "pattern") -> str | None:
    """Return what is wrong with the times that a client claims, or None; `path` is where the pattern was sent."""
    for name, at in (("discoveredAt", sent.discovered_at), ("lastReinforced", sent.last_reinforced)):
        if at is not None and at > now + CLOCK_SKEW:
            return f"{path}.{name}: is in the future (the server's time is {now.isoformat(timespec='seconds')})"
    if sent.discovered_at and sent.last_reinforced and sent.discovered_at > sent.last_reinforced:
        return f"{path}.discoveredAt: is later than {path}.lastReinforced"
    return None


def admitted(
    program: Program, lesson: SentLesson, *, profile: Profile, on_duplicate: OnDuplicate = "reinforce", now: datetime
) -> Admission:
    """Return the program after storing `lesson`: an upsert by id; duplicates are recognised by text and by meaning."""
    near = _near(program, lesson)
    related = tuple(close for close in near if close.similarity >= profile.related)
    known = pattern_of(program, lesson.id)
    if known is not None and known.calls.get(lesson.id) == lesson.call:
        return Admission(program, "unchanged", known, _merged(known, lesson), _without(related, known))
    if lesson.sent.id is not None and lesson.sent.id in program.patterns:
        return _updated(program, lesson, program.patterns[lesson.sent.id], related, now)
    twin = _twin(program, lesson, near, profile)
    if twin is None or on_duplicate == "keep":
        return _created(program, lesson, twin, related, now)
    if on_duplicate == "reject":
        return Admission(program, "duplicate", twin.pattern, twin, _without(related, twin.pattern))
    return _repeated(program, lesson, twin, related, now)


def pattern_of(program: Program, id_: str) -> Pattern | None:
    """Return the pattern of this id, or the one that a lesson of this id was merged into."""
    return program.patterns.get(id_) or next((p for p in program.patterns.values() if id_ in p.calls), None)


def _merged(known: Pattern, lesson: SentLesson) -> Near | None:
    return Near(known, 1.0) if known.id != lesson.id else None


def _near(program: Program, lesson: SentLesson) -> list[Near]:
    """Return the program's comparable patterns, the most alike first."""
    comparable = [
        pattern
        for pattern in program.patterns.values()
        if pattern.embedder == lesson.embedder and len(pattern.vector) == len(lesson.vector)
    ]
    if not comparable or not lesson.vector:
        return []
    cosines = unpacked([p.vector for p in comparable]) @ unpacked([lesson.vector])[0]
    order = np.argsort(-cosines, kind="stable")
    return [Near(comparable[i], round(float(min(1.0, max(0.0, cosines[i]))), 3)) for i in order]


def _twin(program: Program, lesson: SentLesson, near: Sequence[Near], profile: Profile) -> Near | None:
    """Return the pattern of the same project that says the same: in the same words, or a near-copy unopposed."""
    words = text_hash(lesson.sent.pattern)
    mine = [p for p in program.patterns.values() if p.project_id == lesson.sent.project_id]
    exact = next((p for p in mine if p.words == words), None)
    if exact is not None:
        return Near(exact, 1.0)
    for close in near:
        if close.similarity < profile.same:
            return None
        if close.pattern in mine and objection(close.pattern.pattern, lesson.sent.pattern) is None:
            return close
    return None


def _created(
    program: Program, lesson: SentLesson, twin: Near | None, related: Sequence[Near], now: datetime
) -> Admission:
    discovered = lesson.sent.discovered_at or lesson.sent.last_reinforced or now
    pattern = Pattern(
        id=free_id(program.patterns, lesson.id),
        **lesson.fields,
        discovered_at=discovered,
        last_reinforced=lesson.sent.last_reinforced or discovered,
        stored_at=now,
        knowledge_seen=program.knowledge_seen,
        calls={lesson.id: lesson.call},
    )
    kept, archived = capped(with_pattern(program, pattern), now, newest=pattern.id)
    gone = {line.pattern.id for line in archived}
    others = tuple(close for close in _without(related, pattern) if close.pattern.id not in gone)
    return Admission(kept, "created", pattern, twin, others, archived)


def _updated(program: Program, lesson: SentLesson, old: Pattern, related: Sequence[Near], now: datetime) -> Admission:
    """Replace what the agent sent; another text or domain is another lesson, so its origin is stamped anew."""
    discovered = lesson.sent.discovered_at or old.discovered_at
    new = replace(
        old,
        **lesson.fields,
        discovered_at=discovered,
        last_reinforced=max(discovered, old.last_reinforced, lesson.sent.last_reinforced or old.last_reinforced),
        calls=_called(old, lesson),
    )
    if (old.pattern, old.domain) != (new.pattern, new.domain):
        new = replace(
            new, stored_at=now, knowledge_seen=program.knowledge_seen, knowledge_key=None, echo=False, verdicts={}
        )
        kept, archived = capped(with_pattern(program, new), now, newest=new.id)
        return Admission(kept, "updated", new, None, _without(related, new), archived)
    return Admission(with_pattern(program, new, pending=False), "updated", new, None, _without(related, new))


def _repeated(program: Program, lesson: SentLesson, twin: Near, related: Sequence[Near], now: datetime) -> Admission:
    seen = min(now, lesson.sent.last_reinforced or lesson.sent.discovered_at or now)
    stronger = reinforced(twin.pattern, now=seen, confidence=lesson.sent.confidence, evidence=lesson.sent.evidence)
    stronger = replace(stronger, calls=_called(twin.pattern, lesson))
    changed = with_pattern(program, stronger, pending=False)
    return Admission(changed, "reinforced", stronger, twin, _without(related, stronger))


def _called(pattern: Pattern, lesson: SentLesson) -> dict[str, str]:
    calls = {id_: call for id_, call in pattern.calls.items() if id_ != lesson.id} | {lesson.id: lesson.call}
    return dict(list(calls.items())[-MAX_CALLS:])


def free_id(taken: Mapping[str, Pattern], wanted: str) -> str:
    """Return the wanted id, with a number if it is taken."""
    if wanted not in taken:
        return wanted
    return next(name for n in range(2, len(taken) + 3) if (name := f"{wanted[:96]}-{n}") not in taken)


def _without(related: Sequence[Near], pattern: Pattern) -> tuple[Near, ...]:
    return tuple(close for close in related if close.pattern.id != pattern.id)[:MAX_RELATED]


def with_pattern(program: Program, pattern: Pattern, *, pending: bool = True) -> Program:
    """Return the program with a pattern new or replaced, `pending` when consolidation must consider it."""
    waiting = tuple(id_ for id_ in program.pending if id_ != pattern.id)
    was_pending = pattern.id in program.pending
    return replace(
        program,
        patterns={**program.patterns, pattern.id: pattern},
        pending=(*waiting, pattern.id) if pending or was_pending else waiting,
    )


def capped(program: Program, now: datetime, *, newest: str = "") -> tuple[Program, tuple[Archived, ...]]:
    """Archive the weakest unpromoted patterns over the cap, never the one being stored, `newest`."""
    unpromoted = [pattern for pattern in program.patterns.values() if not pattern.promoted]
    over = len(unpromoted) - program.decay.max_unpromoted_patterns
    if over <= 0:
        return program, ()
    others = [pattern for pattern in unpromoted if pattern.id != newest]
    weakest = sorted(others, key=lambda p: (strength(p, now), p.last_reinforced, p.id))[:over]
    return archived(program, weakest, "cap", now)


def archived(
    program: Program, patterns: Sequence[Pattern], reason: ArchiveReason, now: datetime, why: str = ""
) -> tuple[Program, tuple[Archived, ...]]:
    """Return the program without these patterns, and what the archive keeps of them."""
    gone = {pattern.id for pattern in patterns}
    left = replace(
        program,
        patterns={id_: pattern for id_, pattern in program.patterns.items() if id_ not in gone},
        pending=tuple(id_ for id_ in program.pending if id_ not in gone),
    )
    name = program.program_id
    return left, tuple(Archived(program_id=name, pattern=p, reason=reason, at=now, why=why) for p in patterns)
