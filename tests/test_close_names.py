"""Names that are not found: a refusal names close ones, of the caller's own memory and of published
entries.
"""

from collections.abc import Awaitable
from dataclasses import replace

import pytest

from fleet_memory.errors import (
    FleetMemoryError,
    KnowledgeNotFoundError,
    NoteNotFoundError,
    PatternNotFoundError,
)
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.judging import Judge, Refused, judge
from fleet_memory.rules.asking import no_pair, shown_pairs
from fleet_memory.schemas.pairs import NewVerdict
from fleet_memory.schemas.programs import Asked, Caller, Program
from fleet_memory.tools.core.lessons import reinforce_memory
from fleet_memory.tools.core.recall import recall_memory
from fleet_memory.tools.health import memory_health
from fleet_memory.tools.knowledge import gsp_read
from fleet_memory.tools.session import SessionReport, commit_session
from fleet_memory.tools.state import forget_memory
from tests.fleets import NOW, at, show
from tests.lessons import days
from tests.shared import CHECK, KEY, LOOK, Lesson, learnt, opened_pair, shared_entry

pytestmark = pytest.mark.anyio


async def refused(call: Awaitable[object]) -> str:
    with pytest.raises(FleetMemoryError) as caught:
        await call
    return f"{caught.value.code}: {caught.value}"


async def test_a_misspelt_id_is_answered_with_close_ids_of_the_program_alone(fleet: Fleet) -> None:
    await learnt(fleet, "wren", LOOK, "check-claims")
    await learnt(fleet, "atlas", CHECK, "check-claim")
    said = "pattern_not_found: wren has no lesson 'chek-claims'. Close ids are check-claims."
    assert await refused(reinforce_memory(fleet, "wren", "chek-claims")) == said
    assert await refused(forget_memory(fleet, "wren", "chek-claims", "no")) == said


async def test_the_first_unknown_ids_of_a_session_are_answered_with_close_ones(
    fleet: Fleet,
) -> None:
    await learnt(fleet, "wren", LOOK, "check-claims")
    words = tuple(
        SessionReport.model_validate({"patternId": f"check-claim{n}", "outcome": "confirmed"})
        for n in range(8)
    )
    answer = await commit_session(fleet, "wren", reinforcements=words)
    hints = ["Close ids" in (item.error or "") for item in answer.reinforcements or ()]
    assert hints == [True] * 5 + [False] * 3


async def test_an_id_that_is_like_nothing_is_answered_with_the_tool_that_lists_ids(
    fleet: Fleet,
) -> None:
    await learnt(fleet, "wren", LOOK, "check-claims")
    said = (
        "pattern_not_found: wren has no lesson 'zzz'. Call recall_memory to list its lessons "
        "(in a shell: fleet-memory list lessons)."
    )
    assert await refused(reinforce_memory(fleet, "wren", "zzz")) == said


async def test_an_id_that_is_the_end_of_a_key_is_answered_with_the_key(fleet: Fleet) -> None:
    await shared_entry(fleet, "basher", "iso")
    said = await refused(reinforce_memory(fleet, "wren", "look-whether-task-still-free-before"))
    assert said == (
        "pattern_not_found: wren has no lesson 'look-whether-task-still-free-before'. "
        f"Close keys of shared knowledge are {KEY}."
    )
    assert f"Close keys are {KEY}." in await refused(
        gsp_read(fleet, "look-whether-task-still-free")
    )


async def test_a_key_to_forget_is_answered_with_the_id_of_the_programs_lesson(fleet: Fleet) -> None:
    await shared_entry(fleet, "basher", "iso")
    said = f"pattern_not_found: basher has no lesson {KEY!r}. Close ids are mine."
    assert await refused(forget_memory(fleet, "basher", KEY, "no")) == said


async def test_an_unpublished_key_is_never_suggested(fleet: Fleet) -> None:
    with pytest.raises(KnowledgeNotFoundError, match="Call recall_memory"):
        await shared_entry(fleet, "basher")  # one vote: a candidate, which it cannot return
    wrong = f"{KEY}s"
    said = await refused(reinforce_memory(fleet, "wren", wrong, evidence="seen"))
    assert said == f"knowledge_not_found: {KnowledgeNotFoundError(wrong)}"


async def test_a_pair_that_is_cut_off_is_answered_with_the_one_that_was_shown(fleet: Fleet) -> None:
    fleet = at(replace(fleet, caller=Caller()), NOW)
    pair = await opened_pair(fleet, Lesson("wren", LOOK), Lesson("atlas", CHECK))
    wrong = pair.pair_id[:-1]

    async def answer() -> str:
        (outcome,) = await judge(
            fleet, Judge("wren"), [NewVerdict.model_validate({"pairId": wrong, "verdict": "same"})]
        )
        assert isinstance(outcome, Refused)
        return str(outcome.error)

    assert await answer() == no_pair(wrong, "wren")  # it was not shown yet
    await show(fleet, "wren", pair)
    assert (await answer()).endswith(f"did you mean {pair.pair_id}?")


def test_the_start_of_a_pairs_id_stands_for_it_and_other_digits_do_not() -> None:
    shown = ["3f1c9a2b44d0e871", "a0b1c2d3e4f56789"]
    assert no_pair("3f1c9a2b", "wren", shown).endswith("did you mean 3f1c9a2b44d0e871?")
    assert no_pair("3f1c9a2b44d0e8", "wren", shown).endswith("did you mean 3f1c9a2b44d0e871?")
    assert no_pair("3f1", "wren", shown).endswith("judge those in your toJudge")
    assert no_pair("1234567890abcdef", "wren", shown).endswith("judge those in your toJudge")


def test_a_pair_that_was_shown_long_ago_is_not_named() -> None:
    asked = {"old": Asked(times=1, at=NOW - days(31)), "new": Asked(times=1, at=NOW - days(29))}
    assert shown_pairs(Program(program_id="wren", asked=asked), NOW) == ["new"]


async def test_a_bound_caller_gets_no_names_of_close_programs(fleet: Fleet) -> None:
    await learnt(fleet, "wren", LOOK)
    bound = replace(fleet, caller=Caller("wrenn"))
    auditor = replace(fleet, caller=Caller("judge", role="auditor"))
    for caller, named in ((bound, None), (auditor, ("wren",)), (fleet, ("wren",))):
        health, recalled = (
            await memory_health(caller, "wrenn"),
            await recall_memory(caller, "wrenn"),
        )
        assert (health.exists, health.suggestions, recalled.suggestions) == (False, named, named)


def test_a_note_that_is_not_found_names_close_ones() -> None:
    assert str(NoteNotFoundError("wren", "n9", ["n1"])) == (
        "wren has no note 'n9'; it may be in the archive. Close ids are n1."
    )


def test_every_unknown_name_is_answered_with_the_call_that_lists_names() -> None:
    for error in (
        PatternNotFoundError("wren", "p"),
        KnowledgeNotFoundError("k"),
        NoteNotFoundError("wren", "n1"),
    ):
        assert "Call " in str(error)
