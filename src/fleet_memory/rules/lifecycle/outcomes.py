"""Effects of an agent's word about a lesson: on the lesson, and on the entries that it is in or the
one that the word names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple

from fleet_memory.rules.entries import (
    MAX_CONTRADICTIONS_A_DAY,
    may_contradict,
    same_program,
    with_recent,
    with_word,
)
from fleet_memory.rules.lifecycle.decay import contradicted, is_stale, reinforced
from fleet_memory.rules.lifecycle.stamping import with_request
from fleet_memory.schemas.knowledge import Entry, Word
from fleet_memory.schemas.patterns import Outcome, Pattern, Source
from fleet_memory.schemas.programs import Archived, Program

NEEDS_EVIDENCE: Final = (
    "Without evidence the word does not count for the fleet: call again with what you saw."
)
WAITS: Final = (
    f"You contradicted {MAX_CONTRADICTIONS_A_DAY} other entries within a day: "
    "this word counts once another program contradicts it too."
)


class OutcomeReport(NamedTuple):
    """An agent's word about a lesson of its own or an entry, from where, in which session."""

    outcome: Outcome
    confidence: float | None
    evidence: str
    now: datetime
    request_id: str | None = None
    session_id: str | None = None
    source: Source = Source()


class Reported(NamedTuple):
    """A program and entries after a word, each the same object when nothing changed.

    `pattern` is the program's own lesson that the word was about, None for a word about an entry.
    `note` is the reason why the word did not count, "" when it did. The lessons in `archived`
    made room.
    """

    program: Program
    pattern: Pattern | None = None
    revived: bool = False
    entries: tuple[Entry, ...] = ()
    note: str = ""
    archived: tuple[Archived, ...] = ()


def reported(
    program: Program, about: str, entries: Sequence[Entry], report: OutcomeReport
) -> Reported:
    """Return the program and the entries, not settled, after a word.

    `about` is the id of a lesson of the program, then `entries` are all that it is in, else the key
    of the only entry.
    """
    own, request = program.patterns.get(about), _request(about, report)
    if request in program.request_ids:
        return Reported(program, own, entries=tuple(entries))
    after, revived = program, False
    if request:
        after = replace(after, request_ids=with_request(after.request_ids, request))
    if own is not None:
        report = _of_author(own, report)
        revived = report.outcome == "confirmed" and is_stale(own, report.now, program.decay)
        change = reinforced if report.outcome == "confirmed" else contradicted
        own = change(own, now=report.now, confidence=report.confidence, evidence=report.evidence)
        after = replace(after, patterns={**after.patterns, about: own})
    word = Word(
        program_id=program.program_id,
        outcome=report.outcome,
        at=report.now,
        evidence=report.evidence,
        session_id=report.session_id,
        connection=report.source.connection,
        token=report.source.token,
        lesson=about if own else "",
    )
    against, told, note = program.against, list[Entry](), ""
    for entry in entries:
        is_against = word.outcome == "contradicted"
        waits = is_against and not may_contradict(against, entry.key, report.now)
        said = replace(word, waits=waits)
        against = _against(against, said, entry.key)
        told.append(with_word(entry, said))
        note = note or _note(entry, said)
    if own is None and not entries[0].is_public and not word.evidence:
        note = note or NEEDS_EVIDENCE
    after = after if against == program.against else replace(after, against=against)
    return Reported(after, own, revived, tuple(told), note)


def _of_author(own: Pattern, report: OutcomeReport) -> OutcomeReport:
    """Return an author's word about its own lesson, which counts without evidence where it says
    something new.
    """
    if report.evidence:
        return report
    was_false = bool(own.evidence_log) and own.evidence_log[-1].outcome == "contradicted"
    if report.outcome == "contradicted":
        return report._replace(evidence="its author found it false")
    return report._replace(evidence="its author found it true again") if was_false else report


def was_reported(program: Program, about: str, report: OutcomeReport) -> bool:
    """Whether this very request about a lesson or an entry was carried out before."""
    return _request(about, report) in program.request_ids


def _request(about: str, report: OutcomeReport) -> str | None:
    return (
        f"{about} {report.request_id}" if report.request_id else None
    )  # another lesson is another request


def _against(against: Mapping[str, datetime], word: Word, key: str) -> Mapping[str, datetime]:
    if not word.evidence:
        return against
    if word.outcome == "contradicted":
        return with_recent(against, key, word.at)
    return {other: at for other, at in against.items() if other != key}


def _note(entry: Entry, word: Word) -> str:
    """Return why a word does not count; a bare confirmation does, unless it should take back a
    contradiction.
    """
    if word.evidence:
        return WAITS if word.waits else ""
    name = same_program(word.program_id)
    own = [said for said in entry.words if same_program(said.program_id) == name]
    stands = bool(own) and own[-1].outcome == "contradicted"
    return NEEDS_EVIDENCE if word.outcome == "contradicted" or stands else ""
