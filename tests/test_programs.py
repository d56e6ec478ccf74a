"""Changes of one program that are queued together: one that fails, fails alone."""

from dataclasses import replace

import anyio
import pytest

from fleet_memory.fleet import Fleet
from fleet_memory.rules.lifecycle.state import Noted, new_note, with_note
from fleet_memory.schemas.programs import Program
from fleet_memory.schemas.value import InvalidValueError
from tests.lessons import START

pytestmark = pytest.mark.anyio


async def test_a_change_of_a_wrong_type_fails_alone(fleet: Fleet) -> None:
    failed: list[str] = []

    def change(program: Program, text: str) -> Noted:
        outcome = with_note(program, new_note(program, text, START, pinned=False), START)
        wrong: dict[str, str] = {"sessions": "many"} if text == "wrong" else {}
        return outcome._replace(program=replace(outcome.program, **wrong))  # type: ignore[arg-type]  # that is the test

    async def call(text: str) -> None:
        try:
            await fleet.programs.update("basher", lambda program: change(program, text), START)
        except InvalidValueError:
            failed.append(text)

    async with anyio.create_task_group() as tasks:
        for text in ("one", "two", "wrong", "three"):
            tasks.start_soon(call, text)
    notes = (await fleet.programs.read("basher")).notes.values()
    assert (failed, sorted(note.text for note in notes)) == (["wrong"], ["one", "three", "two"])
