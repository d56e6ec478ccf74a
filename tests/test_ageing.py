from dataclasses import replace
from datetime import timedelta

from fleet_memory.rules.knowledge import status
from fleet_memory.rules.knowledge.promotion import Waiting, entry_of
from fleet_memory.schemas.knowledge import Contradiction, Entry
from tests.lessons import START, days, pattern


def entry() -> Entry:
    lessons = [Waiting("basher", pattern()), Waiting("sark", pattern())]
    return entry_of(lessons, 0, [1.0, 1.0], now=START)


def word(program_id: str, session_id: str | None = None) -> Contradiction:
    return Contradiction(program_id=program_id, at=START + days(1), session_id=session_id)


def test_an_entry_wants_verifying_after_180_days_without_confirmation() -> None:
    assert status.standing(entry(), START + days(180)) == "fresh"
    assert status.standing(entry(), START + days(180) + timedelta(seconds=1)) == "verify"


def test_one_contradiction_contests_an_entry() -> None:
    against = status.contradicted_entry(entry(), word("iso"))
    assert against.status == "active"
    assert status.standing(against, START) == "contested"


def test_two_independent_contradictions_retire_an_entry() -> None:
    twice = status.contradicted_entry(status.contradicted_entry(entry(), word("iso")), word("sark"))
    assert twice.status == "retired"


def test_one_program_cannot_retire_an_entry_by_repeating_itself() -> None:
    twice = status.contradicted_entry(status.contradicted_entry(entry(), word("iso")), word("iso"))
    assert (twice.status, len(twice.contradictions)) == ("active", 1)


def test_programs_of_one_session_contradict_as_one() -> None:
    twice = status.contradicted_entry(status.contradicted_entry(entry(), word("iso", "s1")), word("sark", "s1"))
    assert twice.status == "active"


def test_a_confirmation_answers_earlier_contradictions() -> None:
    after = status.confirmed_entry(status.contradicted_entry(entry(), word("iso")), now=START + days(2))
    assert (after.contradictions, after.last_confirmed) == ((), START + days(2))


def test_a_constitutional_entry_is_never_retired_by_agents() -> None:
    constitutional = replace(entry(), tier="constitutional")
    twice = status.contradicted_entry(status.contradicted_entry(constitutional, word("iso")), word("sark"))
    assert twice.status == "active"
