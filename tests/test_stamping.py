"""The record of every commit of a program is derived from its change, not remembered by each
rule.
"""

from dataclasses import replace
from typing import Any

import pytest

from fleet_memory.rules.lifecycle.decay import reinforced
from fleet_memory.rules.lifecycle.stamping import MAX_GONE, stamped
from fleet_memory.schemas.programs import DecayConfig, Program
from tests.lessons import START, days, pattern, program

NOW = START + days(3)
KNOWN = pattern(id="known", domain="ci")
BEFORE = program(KNOWN, pattern(id="other", domain="git"), pending=("earlier",), changes=4)


def changed(**fields: Any) -> Program:  # noqa: ANN401 of any field of a pattern
    return replace(BEFORE, patterns={**BEFORE.patterns, "known": replace(KNOWN, **fields)})


def stamps(after: Program, before: Program = BEFORE) -> tuple[tuple[str, ...], bool]:
    """Return the ids that became pending, and whether `last_update` moved."""
    made = stamped(before, after, NOW)
    assert made.changes == before.changes + 1
    assert set(before.pending) <= set(made.pending)
    return tuple(id_ for id_ in made.pending if id_ not in before.pending), made.last_update == NOW


def test_an_unchanged_program_stays_the_same_object() -> None:
    assert stamped(BEFORE, BEFORE, NOW) is BEFORE


@pytest.mark.parametrize(
    "fields",
    [{"pattern": "Another text"}, {"domain": "deploys"}, {"project_id": "web"}, {"stored_at": NOW}],
    ids=lambda fields: next(iter(fields)),
)
def test_a_lesson_of_another_text_domain_or_project_is_pending(fields: dict[str, object]) -> None:
    assert stamps(changed(**fields)) == (("known",), True)


def test_a_lesson_that_left_stays_pending_though_it_is_gone() -> None:
    assert stamps(replace(BEFORE, patterns={"known": KNOWN}, pending=())) == (("other",), True)


def test_a_new_lesson_is_pending_even_if_its_rule_noted_nothing() -> None:
    new = pattern(id="new", domain="deploys")
    assert stamps(replace(BEFORE, patterns={**BEFORE.patterns, "new": new})) == (("new",), True)


def test_a_reinforced_lesson_is_pending_only_if_it_was_stale() -> None:
    seen_again = changed(confidence=0.9, last_reinforced=NOW)
    assert stamps(seen_again) == ((), True)
    late = START + days(91)
    revived = replace(BEFORE, patterns={**BEFORE.patterns, "known": reinforced(KNOWN, now=late)})
    assert stamped(BEFORE, revived, late).pending == ("known", "earlier")


def test_a_longer_memory_makes_revived_lessons_pending() -> None:
    old = program(pattern(id="old", last_reinforced=NOW - days(5)), decay=DecayConfig(max_age=4))
    longer = replace(old, decay=DecayConfig(max_age=6), state_version=1)
    assert stamps(longer, before=old) == (("old",), True)
    assert stamps(old, before=longer) == ((), True)


def test_pending_ids_are_in_the_order_of_the_lessons_then_those_that_left_by_name_at_most_500() -> (
    None
):
    gone = tuple(f"gone-{number:03}" for number in range(MAX_GONE))
    before = replace(BEFORE, pending=("known", *gone))
    made = stamped(before, replace(before, patterns={"known": KNOWN}), NOW)
    assert made.pending == ("known", *gone[1:], "other")


@pytest.mark.parametrize(
    "after",
    [
        changed(vector="AA", embedder="another"),
        replace(BEFORE, read_version=7),
        replace(BEFORE, shown={"9f86d0": START}),
        replace(BEFORE, against={"pattern/ci/known": START}),
        replace(BEFORE, request_ids=("state r1",)),
    ],
    ids=[
        "vectors",
        "a boot",
        "a showing",
        "a contradiction",
        "a repeated request",
    ],
)
def test_a_change_of_no_lesson_counts_and_stamps_nothing_else(after: Program) -> None:
    assert stamps(after) == ((), False)


def test_the_first_store_makes_a_program_exist_and_a_boot_does_not() -> None:
    nobody = Program(program_id="basher")
    assert not stamped(nobody, replace(nobody, read_version=7), NOW).exists
    assert stamped(nobody, replace(nobody, patterns={"p": KNOWN}), NOW).last_update == NOW
