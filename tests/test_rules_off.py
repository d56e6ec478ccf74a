"""The table of what each rule changes: its rules can be switched off, and the page has them all."""

from pathlib import Path

import pytest
from rules_off import RULES, switched_off

from fleet_memory.rules import entries

PAGE = Path(__file__).parent.parent / "docs" / "consensus.md"


@pytest.mark.parametrize("name", RULES)
def test_the_page_says_what_a_rule_changes(name: str) -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    assert [row.count(" | ") for row in rows if row.startswith(f"| {name} |")] == [3]


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_switched_off_for_a_while(name: str) -> None:
    with switched_off(RULES[name]) as changed:
        assert changed > 0
    with switched_off(RULES[name]) as again:
        assert again == changed


def test_a_rule_that_is_switched_off_is_back_afterwards() -> None:
    before = entries.origin_of("shop/reviewer")
    with switched_off(RULES["one origin: program and subagents"]):
        assert entries.origin_of("shop/reviewer") == "shop/reviewer"
    assert entries.origin_of("shop/reviewer") == before == "shop"


def test_a_rule_that_is_not_there_cannot_be_switched_off() -> None:
    with (
        pytest.raises(LookupError, match="fleet_memory has no no_rule"),
        switched_off({"no_rule": 0}),
    ):
        pass
