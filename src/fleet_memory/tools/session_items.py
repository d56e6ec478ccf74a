"""A session's items applied to a program one by one; one that cannot be applied fails alone, with
its reason.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, NamedTuple

from fleet_memory.errors import (
    CapacityExceededError,
    FleetMemoryError,
    KnowledgeNotFoundError,
    PatternNotFoundError,
)
from fleet_memory.jobs.entry_drafts import EntryDrafts, drafted_store
from fleet_memory.jobs.words import entry_key, with_word
from fleet_memory.repositories.queueing import ChangeResult
from fleet_memory.repositories.room import with_room
from fleet_memory.rules.lifecycle.admission import admitted, same_lessons
from fleet_memory.rules.lifecycle.missing import distinct_questions, with_missing
from fleet_memory.rules.lifecycle.notes import NewNote, added
from fleet_memory.rules.lifecycle.outcomes import OutcomeReport
from fleet_memory.rules.lifecycle.sent import SentLesson
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.rules.text.closest import close_names
from fleet_memory.schemas.answers.state import (
    GoneNote,
    NotedItem,
    ReinforcedItem,
    SessionAnswer,
    StoredItem,
)
from fleet_memory.schemas.pairs import Verdict
from fleet_memory.schemas.programs import Program, ProgramRecord
from fleet_memory.schemas.similarity import Profile
from fleet_memory.tools.asking import AskedPairs
from fleet_memory.tools.note_room import require_room_for_notes
from fleet_memory.tools.session_receipts import SessionRequest
from fleet_memory.tools.update_program_state import Update, updated
from fleet_memory.views.lessons import (
    better_known_domain,
    evicted_answers,
    reinforce_answer,
    steering_note,
)

# unknown names of a session with close ones beside them, which takes all names there are; chosen
MAX_HINTS: Final = 5


class SentSession(NamedTuple):
    """One session's items, as sent and with vectors, and the pairs that its answer may ask about.

    `handoff` is None for none. `answered` are the call's verdicts by pair id. `known_domains`
    counts the fleet's entries of each domain, and `close_keys` names entries for a name that is not
    found.
    """

    request: SessionRequest
    lessons: Sequence[SentLesson]
    reports: Sequence[tuple[str, OutcomeReport]]
    handoff: Update | None
    notes: Sequence[NewNote]
    missing: Sequence[str]
    profile: Profile
    asked: AskedPairs
    answered: Mapping[str, Verdict]
    known_domains: Mapping[str, int]
    close_keys: Callable[[str], Sequence[str]]
    now: datetime

    @property
    def joined(self) -> Collection[str]:
        """The ids of the pairs that the call judges the same."""
        return [pair_id for pair_id, verdict in self.answered.items() if verdict == "same"]

    def entry_keys(self, program: Program) -> list[str]:
        """Return the keys of the entries that it may change: of its words and of the lessons that
        it stores again.
        """
        keys: list[str | None] = []
        for about, _ in self.reports:
            with suppress(PatternNotFoundError):  # its item reports that
                keys.append(entry_key(program, about))
        keys += [
            known.knowledge_key
            for lesson in self.lessons
            for known in same_lessons(program, lesson)
        ]
        return [key for key in dict.fromkeys(keys) if key]


@dataclass
class SessionWork:
    """A session while it is applied: the program, the entries, and the records for the archive so
    far.
    """

    program: Program
    drafts: EntryDrafts
    now: datetime
    archived: list[ProgramRecord] = field(default_factory=list)
    hints: int = 0

    def accept(self, change: ChangeResult, drafts: EntryDrafts | None = None) -> None:
        """Go on from an item, or raise CapacityExceededError when the program would outgrow its
        document.
        """
        room = with_room(self.program, change.program, self.now)
        self.program = room.program
        self.drafts = drafts or self.drafts
        self.archived += [*change.archived, *room.archived]

    def apply(self, session: SentSession) -> SessionAnswer:
        """Apply every item and return the outcomes; reports first, so that no new lesson evicts a
        confirmed one.
        """
        reports = [self._reinforced(at, session) for at in range(len(session.reports))]
        stored = [self._stored(at, lesson, session) for at, lesson in enumerate(session.lessons)]
        if session.handoff is not None:
            self.accept(updated(self.program, session.handoff))
        notes = [self._noted(at, note) for at, note in enumerate(session.notes)]
        kept_questions = self._with_missing(session)
        items: list[StoredItem | ReinforcedItem | NotedItem] = [*stored, *reports, *notes]
        return SessionAnswer(
            program_id=self.program.program_id,
            failed=sum(item.status == "failed" for item in items),
            patterns=tuple(stored) or None,
            reinforcements=tuple(reports) or None,
            notes=tuple(notes) or None,
            handed_over=True if session.handoff is not None else None,
            missing=kept_questions or None,
            version=self.program.state_version,
            patterns_count=self.program.patterns_count if stored else None,
        )

    def _with_missing(self, session: SentSession) -> int:
        """Keep the questions that memory could not answer, and return how many; none in a full
        memory.
        """
        missing = with_missing(self.program.missing, session.missing, session.now)
        try:
            self.accept(ProgramChange(replace(self.program, missing=missing)))
        except CapacityExceededError:  # the lessons come first
            return 0
        return len(distinct_questions(session.missing))

    def _reinforced(self, position: int, session: SentSession) -> ReinforcedItem:
        about, report = session.reports[position]
        try:
            reported, drafts = with_word(self.drafts, self.program, about, report)
            self.accept(reported, drafts)
        except KnowledgeNotFoundError:
            unknown = KnowledgeNotFoundError(
                about, session.close_keys(about) if self._may_hint() else ()
            )
            return ReinforcedItem(
                status="failed",
                pattern_id=about,
                error=_refusal("reinforcements", position, unknown),
            )
        except PatternNotFoundError:
            may_hint = self._may_hint()
            ids = close_names(about, self.program.patterns) if may_hint else ()
            absent = PatternNotFoundError(
                self.program.program_id, about, ids, session.close_keys(about) if may_hint else ()
            )
            return ReinforcedItem(
                status="failed",
                pattern_id=about,
                error=_refusal("reinforcements", position, absent),
            )
        except FleetMemoryError as error:
            return ReinforcedItem(
                status="failed", pattern_id=about, error=_refusal("reinforcements", position, error)
            )
        answer = reinforce_answer(reported, report)
        confidence, strength = round(answer.confidence, 2), round(answer.strength, 2)
        return ReinforcedItem(
            status=report.outcome,
            pattern_id=answer.pattern_id,
            confidence=confidence,
            strength=strength if strength != confidence else None,
            revived=answer.revived or None,
            knowledge=answer.knowledge,
            evicted=answer.evicted,
            omitted=answer.omitted,
            note=answer.note,
        )

    def _may_hint(self) -> bool:
        """Whether one more unknown name is answered with close ones."""
        self.hints += 1
        return self.hints <= MAX_HINTS

    def _stored(self, position: int, lesson: SentLesson, session: SentSession) -> StoredItem:
        admission = admitted(self.program, lesson, profile=session.profile, now=self.now)
        admission, drafts = drafted_store(self.drafts, admission)
        try:
            self.accept(admission, drafts)
        except FleetMemoryError as error:
            return StoredItem(
                status="failed", pattern_id=lesson.id, error=_refusal("patterns", position, error)
            )
        evicted, omitted = evicted_answers(admission.moved, admission.archived)
        return StoredItem(
            status=admission.status,
            pattern_id=admission.pattern.id,
            duplicate_of=admission.duplicate.pattern.id if admission.duplicate else None,
            related=tuple(near.pattern.id for near in admission.related) or None,
            evicted=evicted or None,
            omitted=omitted,
            domain_hint=better_known_domain(admission, session.known_domains),
            note=steering_note(admission.pattern),
        )

    def _noted(self, position: int, note: NewNote) -> NotedItem:
        try:
            noted = require_room_for_notes(added(self.program, note))
            self.accept(noted)
        except FleetMemoryError as error:
            return NotedItem(status="failed", error=_refusal("notes", position, error))
        archived = tuple(GoneNote(id=gone.note.id, text=gone.note.text) for gone in noted.archived)
        return NotedItem(status="added", note_id=noted.note_id, archived=archived or None)


def _refusal(items: str, position: int, error: FleetMemoryError) -> str:
    return f"{error.code}: {items}.{position}: {error}"
