"""The effect of an agent's report: to a lesson of its own, and to the entry that it is in or that
the word names.
"""

from dataclasses import replace

import pytest

from fleet_memory.rules.entries import (
    JoiningLesson,
    candidate_of,
    entry_state,
    ledger_event,
    settled,
    votes,
    with_lesson,
    with_open_rewrite,
)
from fleet_memory.rules.lifecycle.outcomes import (
    NEEDS_EVIDENCE,
    WAITS,
    OutcomeReport,
    Reported,
    reported,
    reported_of_entry,
)
from fleet_memory.schemas.knowledge import Entry, Word
from fleet_memory.schemas.patterns import Evidence, Outcome
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Program
from tests.lessons import START, days, pattern, program

LATER = START + days(1)
POLICY = Policy()


def entry_of(*programs: str) -> Entry:
    """An entry that these programs contribute to, each with its lesson p1."""
    entry = candidate_of(JoiningLesson(programs[0], pattern(), "text"), POLICY)
    after = entry
    for name in programs:
        after = with_lesson(after, JoiningLesson(name, pattern(), "equal_words")).entry
    return settled(None, after, POLICY, START)


ENTRY = entry_of("basher", "sark")
KEY = ENTRY.key


def report(
    outcome: Outcome = "confirmed", evidence: str = "seen again", request_id: str | None = None
) -> OutcomeReport:
    return OutcomeReport(outcome, None, evidence, LATER, request_id)


def member(name: str = "basher") -> Program:
    """A program whose lesson p1 is in the entry."""
    return program(pattern(knowledge_key=KEY), program_id=name)


def reader(name: str = "iso") -> Program:
    return Program(program_id=name)


def entry_after(said: Reported) -> Entry:
    assert said.entry is not None
    return said.entry


def test_a_word_about_a_lesson_in_no_entry_changes_the_lesson_alone() -> None:
    own = pattern()
    said = reported(program(own), own, report("contradicted"))
    line = Evidence(at=LATER, outcome="contradicted", text="seen again")
    new = replace(own, confidence=0.4, contradictions=1, evidence_log=(line,))
    assert said == Reported(replace(program(own), patterns={"p1": new}), new)


def test_a_lesson_that_is_revived_waits_for_the_maintainer() -> None:
    own = pattern(last_reinforced=START - days(100))
    said = reported(program(own), own, report())
    assert (said.revived, said.program.pending) == (True, ("p1",))


def test_a_contributors_word_about_its_own_lesson_is_a_word_about_the_entry() -> None:
    said = reported_of_entry(member(), "p1", ENTRY, report("contradicted", "it is db-9 now"))
    word = Word(program_id="basher", outcome="contradicted", at=LATER, evidence="it is db-9 now")
    assert entry_after(said) == replace(ENTRY, words=(word,))
    assert (votes(entry_after(said)), entry_state(entry_after(said), LATER)) == (1, "candidate")
    assert (said.pattern and said.pattern.confidence, said.program.against) == (0.4, {KEY: LATER})


def test_a_contributors_confirmation_moves_the_entrys_clock() -> None:
    said = reported_of_entry(member(), "p1", ENTRY, report(evidence=""))
    assert entry_after(said) == replace(ENTRY, last_confirmed=LATER, confirmations=1)
    assert (said.pattern and said.pattern.last_reinforced, said.note) == (LATER, "")


def test_a_confirmation_with_evidence_takes_back_the_programs_own_contradiction() -> None:
    against = reported_of_entry(member(), "p1", ENTRY, report("contradicted"))
    back = reported_of_entry(against.program, "p1", entry_after(against), report())
    assert (votes(entry_after(back)), back.program.against) == (2, {})


@pytest.mark.parametrize("about", ["p1", KEY])
def test_a_contradiction_without_evidence_leaves_the_entry_unchanged_and_is_answered_with_a_note(
    about: str,
) -> None:
    who = member() if about == "p1" else reader()
    said = reported_of_entry(who, about, ENTRY, report("contradicted", ""))
    assert (said.entry, said.note, said.program.against) == (ENTRY, NEEDS_EVIDENCE, {})


def test_a_bare_confirmation_takes_nothing_back_and_is_answered_with_a_note() -> None:
    against = reported_of_entry(reader(), KEY, ENTRY, report("contradicted"))
    bare = reported_of_entry(against.program, KEY, entry_after(against), report(evidence=""))
    assert (bare.note, entry_state(entry_after(bare), LATER)) == (NEEDS_EVIDENCE, "contested")


@pytest.mark.parametrize("outcome", ["confirmed", "contradicted"])
@pytest.mark.parametrize("about", ["p1", KEY])
def test_a_repeated_request_changes_nothing(outcome: Outcome, about: str) -> None:
    who = member() if about == "p1" else reader()
    once = reported_of_entry(who, about, ENTRY, report(outcome, request_id="r1"))
    twice = reported_of_entry(
        once.program, about, entry_after(once), report(outcome, request_id="r1")
    )
    assert (twice.program, twice.entry, twice.pattern) == (once.program, once.entry, once.pattern)
    assert twice.program is once.program
    other = reported_of_entry(
        once.program, about, entry_after(once), report(outcome, request_id="r2")
    )
    assert other.program is not once.program


def test_a_doubt_about_an_entry_is_no_line_in_the_ledger_and_its_publication_is() -> None:
    doubted = with_open_rewrite(ENTRY, "basher", "p1", is_open=True)
    assert entry_state(doubted, START) == "verify"
    assert ledger_event(ENTRY, settled(ENTRY, doubted, POLICY, START), START) is None
    assert ledger_event(None, ENTRY, START) == "promoted"


def test_a_fourth_contradiction_within_a_day_waits_for_another_origin() -> None:
    busy = replace(reader(), against={f"k{number}": START for number in range(3)})
    at = replace(ENTRY, key="pattern/a/fourth")
    said = reported_of_entry(
        busy, at.key, at, report("contradicted")._replace(now=START + days(0.5))
    )
    assert ([word.waits for word in entry_after(said).words], said.note) == ([True], WAITS)
    assert entry_state(entry_after(said), START + days(0.5)) == "fresh"
    assert said.program.against == {**busy.against, at.key: START + days(0.5)}
