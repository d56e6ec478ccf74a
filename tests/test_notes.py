"""Short-term notes: 80 lines, the oldest that nobody pinned leave first, nothing is lost."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client

from fleet_memory.rules.lifecycle.notes import MAX_NOTE_LINES, lines_of, new_note, with_note
from fleet_memory.schemas.programs import Program
from tests.calls import call, refusal
from tests.lessons import START, days

pytestmark = pytest.mark.anyio


@pytest.fixture
def client(full_client: Client) -> Client:
    return full_client


@given(st.lists(st.tuples(st.integers(1, 40), st.booleans()), max_size=30))
def test_notes_are_capped_and_none_is_lost_or_evicted_while_pinned(written: list[tuple[int, bool]]) -> None:
    program, made, gone = Program(program_id="basher"), set[str](), set[str]()
    for count, (lines, pinned) in enumerate(written):
        note = new_note(program, "\n" * (lines - 1), START + days(count), pinned=pinned)
        assert note.id not in made
        done = with_note(program, note, START + days(count))
        if done.lines > MAX_NOTE_LINES:
            assert all(one.pinned for one in done.program.notes.values() if one.id != note.id)
            continue
        made.add(note.id)
        gone |= {one.note.id for one in done.archived}
        assert not any(one.note.pinned for one in done.archived)
        program = done.program
    assert lines_of(program) <= MAX_NOTE_LINES
    assert program.notes.keys() | gone == made
    assert not program.notes.keys() & gone


def test_the_oldest_that_is_not_pinned_leaves_first_and_no_more_than_must() -> None:
    program = Program(program_id="basher")
    for count, pinned in enumerate((True, False, False, False)):
        note = new_note(program, "\n" * 19, START + days(count), pinned=pinned)
        program = with_note(program, note, START).program
    edited = replace(program.notes["n2"], text="newer", at=START + days(9))
    program = with_note(program, edited, START).program
    done = with_note(program, new_note(program, "\n" * 19, START + days(9), pinned=False), START)
    assert ([one.note.id for one in done.archived], list(done.program.notes)) == (["n3"], ["n1", "n4", "n2", "n5"])


async def test_a_note_is_added_edited_pinned_and_removed(client: Client) -> None:
    added = await call(client, "add_note", text="Port 8081 is taken\nuntil Friday")
    assert added == {"status": "added", "programId": "basher", "noteId": "n1", "lines": 2, "archived": []}
    edited = await call(client, "edit_note", noteId="n1", text="Port 8081 is free", pinned=True)
    assert (edited["status"], edited["lines"]) == ("edited", 1)
    again = await call(client, "edit_note", noteId="n1", text="Port 8081 is free", pinned=True)
    assert again["status"] == "unchanged"
    (note,) = (await call(client, "get_program_state"))["notes"]
    assert (note["id"], note["text"], note["pinned"]) == ("n1", "Port 8081 is free", True)
    assert (await call(client, "remove_note", noteId="n1"))["status"] == "removed"
    assert (await call(client, "remove_note", noteId="n1"))["status"] == "unchanged"
    assert (await call(client, "get_program_state"))["notes"] == []
    assert (await call(client, "add_note", text="Another"))["noteId"] == "n2"


async def test_notes_do_not_count_as_changes_of_the_state(client: Client) -> None:
    await call(client, "add_note", text="One")
    assert (await call(client, "get_program_state"))["version"] == 0


async def test_a_repeated_request_adds_one_note(client: Client) -> None:
    await call(client, "add_note", text="Other", requestId="r0")
    first = await call(client, "add_note", text="One", requestId="r1")
    again = await call(client, "add_note", text="One", requestId="r1")
    assert (first["noteId"], again["noteId"], again["status"]) == ("n2", "n2", "unchanged")
    await call(client, "remove_note", noteId="n2")
    late = await call(client, "add_note", text="One", requestId="r1")
    assert (late["noteId"], late["status"], late["lines"]) == ("n2", "unchanged", 1)


async def test_over_the_cap_the_answer_names_what_left_and_pinned_notes_stay(client: Client) -> None:
    for number in range(80):
        await call(client, "add_note", text=f"Note {number}", pinned=number == 0)
    done = await call(client, "add_note", text="Two\nlines")
    assert done["lines"] == 80
    assert done["archived"] == [{"id": "n2", "text": "Note 1"}, {"id": "n3", "text": "Note 2"}]
    grown = await call(client, "edit_note", noteId="n4", text="Three\nlines\nnow")
    assert [gone["id"] for gone in grown["archived"]] == ["n5", "n6"]


async def test_when_all_are_pinned_the_refusal_says_what_to_do(client: Client) -> None:
    for _ in range(2):
        await call(client, "add_note", text="\n".join("x" * 40), pinned=True)
    said = await refusal(client, "add_note", text="One more")
    assert said == (
        "capacity_exceeded: The notes would have 81 lines, at most 80, and all others are pinned. "
        "Unpin one with edit_note, or remove one with remove_note."
    )
    assert "81 lines" in await refusal(client, "edit_note", noteId="n1", text="\n".join("x" * 41))
    await call(client, "edit_note", noteId="n1", pinned=False)
    assert [gone["id"] for gone in (await call(client, "add_note", text="One more"))["archived"]] == ["n1"]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("add_note", {"text": ""}, "invalid_argument: text: must not be empty"),
        ("add_note", {"text": "x" * 501}, "invalid_argument: text: must be at most 500 characters"),
        ("add_note", {"text": "\n".join("x" * 81)}, "capacity_exceeded: The notes would have 81 lines"),
        ("edit_note", {"noteId": "n1"}, "invalid_argument: text: required, unless pinned"),
        ("edit_note", {"noteId": "n1", "pinned": True}, "note_not_found: basher has no note 'n1'"),
        ("remove_note", {"noteId": "n1"}, "note_not_found: basher has no note 'n1'"),
        ("remove_note", {"noteId": "n0"}, "note_not_found: "),
        ("remove_note", {"noteId": "first"}, "note_not_found: "),
    ],
)
async def test_a_bad_note_is_refused(client: Client, tool: str, arguments: dict[str, object], said: str) -> None:
    assert (await refusal(client, tool, **arguments)).startswith(said)
    assert (await call(client, "get_program_state"))["notes"] == []
