"""What every commit of a program records is derived from its change, not remembered by each rule."""

from dataclasses import replace
from typing import Any

import pytest

from fleet_memory.rules.lifecycle.stamping import stamped
from fleet_memory.schemas.patterns import Verdict
from fleet_memory.schemas.programs import DecayConfig, Note, Program
from tests.lessons import START, days, pattern, program

NOW = START + days(3)
KNOWN = pattern(id="known", domain="ci")
BEFORE = program(KNOWN, pattern(id="other", domain="git"), touched=("earlier",), changes=4)
NOTE = Note(id="n1", text="Port 1", at=START)


def changed(**fields: Any) -> Program:  # noqa: ANN401 of any field of a pattern
    return replace(BEFORE, patterns={**BEFORE.patterns, "known": replace(KNOWN, **fields)})


def stamps(after: Program, before: Program = BEFORE) -> tuple[tuple[str, ...], bool]:
    """Return the touched domains that were added, and whether `last_update` moved."""
    made = stamped(before, after, NOW)
    assert made.changes == before.changes + 1
    return tuple(sorted({*made.touched} - {*before.touched})), made.last_update == NOW


def test_an_unchanged_program_stays_the_same_object() -> None:
    assert stamped(BEFORE, BEFORE, NOW) is BEFORE


def test_a_lesson_that_changed_touches_the_domain_that_it_had() -> None:
    assert stamps(changed(confidence=0.9)) == (("ci",), True)
    assert stamps(changed(domain="deploys")) == (("ci",), True)


def test_a_lesson_that_left_touches_its_domain() -> None:
    assert stamps(replace(BEFORE, patterns={"known": KNOWN})) == (("git",), True)


def test_a_new_lesson_is_pending_and_touches_nothing() -> None:
    new = pattern(id="new", domain="deploys")
    assert stamps(replace(BEFORE, patterns={**BEFORE.patterns, "new": new}, pending=("new",))) == ((), True)


def test_a_lesson_that_came_back_into_its_entry_touches_its_domain() -> None:
    back = pattern(id="back", domain="deploys", knowledge_key="pattern/deploys/back")
    assert stamps(replace(BEFORE, patterns={**BEFORE.patterns, "back": back})) == (("deploys",), True)


def test_another_decay_touches_every_domain() -> None:
    assert stamps(replace(BEFORE, decay=DecayConfig(max_age=5), state_version=1)) == (("ci", "git"), True)


def test_a_verdict_touches_the_domain_and_is_no_update_by_the_agent() -> None:
    assert stamps(changed(verdicts={"h": Verdict(same=True, judge="j", at=NOW)})) == (("ci",), False)


@pytest.mark.parametrize(
    "after",
    [
        changed(vector="AA", embedder="another"),
        replace(BEFORE, knowledge_seen=7),
        replace(BEFORE, retired=("pattern/ci/gone",)),
        replace(BEFORE, request_ids=("state r1",)),
    ],
    ids=["vectors", "a boot", "retired entries", "a repeated request"],
)
def test_what_is_no_news_of_a_lesson_counts_and_stamps_nothing_else(after: Program) -> None:
    assert stamps(after) == ((), False)


@pytest.mark.parametrize(
    "after",
    [
        replace(BEFORE, notes={"n1": NOTE}, notes_made=1),
        replace(BEFORE, config={"a": 1}, state_version=1),
        replace(BEFORE, sessions=1),
    ],
    ids=["a note", "state", "a session"],
)
def test_notes_state_and_sessions_are_updates_and_touch_no_domain(after: Program) -> None:
    assert stamps(after) == ((), True)


def test_the_first_store_makes_a_program_exist_and_a_boot_does_not() -> None:
    nobody = Program(program_id="basher")
    assert not stamped(nobody, replace(nobody, knowledge_seen=7), NOW).exists
    assert stamped(nobody, replace(nobody, patterns={"p": KNOWN}, pending=("p",)), NOW).last_update == NOW
