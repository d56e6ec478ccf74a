"""More than half of a boot's bytes are lessons, evidence and state."""

import pytest
from boot_bytes import Parts, below_goal, boots_of, parts_of
from pydantic import JsonValue
from sets import FOLDER
from story import read_story

from fleet_memory.similarity.lexical import Lexical


def test_each_text_that_an_agent_wrote_counts_once_and_nothing_around_it() -> None:
    entry: dict[str, JsonValue] = {
        "key": "pattern/care/look",
        "pattern": "Look twice",
        "evidence": "fell",
    }
    boot: dict[str, JsonValue] = {
        "knowledge": [entry, entry],
        "notes": [{"id": "n1", "text": "go on"}],
        "protocol": "Weigh it.",
    }
    rest = {"knowledge": 138, "notes": 32, "protocol": 23}
    assert parts_of(boot) == Parts(lessons=10, evidence=4, state=5, rest=rest)


def test_a_boot_below_the_goal_is_named() -> None:
    half, less = (Parts(lessons=5, evidence=0, state=0, rest={"protocol": rest}) for rest in (5, 6))
    assert below_goal({"basher": half, "iso": less}) == ["iso"]


@pytest.mark.anyio
async def test_half_of_every_boot_of_a_story_is_lessons_evidence_and_state() -> None:
    boots = await boots_of(read_story(FOLDER / "stories" / "shop.json"), Lexical())
    assert below_goal({name: parts_of(boot) for name, boot in boots.items()}) == []
