"""Short-term notes: 80 lines, the oldest leave first, pinned ones last, nothing is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client

from fleet_memory.rules.lifecycle.state import MAX_NOTE_LINES, new_note, with_note
from fleet_memory.schemas.programs import ArchivedNote, Program
from tests.calls import call, refusal
from tests.lessons import START, days

pytestmark = pytest.mark.anyio


@pytest.fixture
def client(full_client: Client) -> Client:
    return full_client


@given(st.lists(st.tuples(st.integers(1, 40), st.booleans()), max_size=30))
def test_notes_are_capped_none_is_lost_and_pinned_ones_leave_last(
    written: list[tuple[int, bool]],
) -> None:
    program, made, gone = Program(program_id="basher"), set[str](), set[str]()
    for count, (lines, pinned) in enumerate(written):
        note = new_note(program, "\n" * (lines - 1), START + days(count), pinned=pinned)
        assert note.id not in made
        done = with_note(program, note, START + days(count))
        assert done.lines <= MAX_NOTE_LINES
        made.add(note.id)
        lines_gone = [one for one in done.archived if isinstance(one, ArchivedNote)]
        gone |= {one.note.id for one in lines_gone}
        if any(one.note.pinned for one in lines_gone):
            assert all(one.pinned for one in done.program.notes.values() if one.id != note.id)
        program = done.program
    assert program.notes.keys() | gone == made
    assert not program.notes.keys() & gone


async def test_a_note_is_added_edited_pinned_and_removed(client: Client) -> None:
    added = await call(client, "write_note", text="Port 8081 is taken\nuntil Friday")
    assert added == {"status": "added", "noteId": "n1", "lines": 2}
    edited = await call(client, "write_note", noteId="n1", text="Port 8081 is free", pinned=True)
    assert (edited["status"], edited["lines"]) == ("edited", 1)
    again = await call(client, "write_note", noteId="n1", text="Port 8081 is free", pinned=True)
    assert again["status"] == "unchanged"
    (note,) = (await call(client, "get_program_state"))["notes"]
    assert (note["id"], note["text"], note["pinned"]) == ("n1", "Port 8081 is free", True)
    assert (await call(client, "write_note", noteId="n1", remove=True))["status"] == "removed"
    assert (await call(client, "write_note", noteId="n1", remove=True))["status"] == "unchanged"
    assert "notes" not in await call(client, "get_program_state")
    assert (await call(client, "write_note", text="Another"))["noteId"] == "n2"


async def test_notes_do_not_count_as_changes_of_the_state(client: Client) -> None:
    await call(client, "write_note", text="One")
    assert (await call(client, "get_program_state"))["version"] == 0


async def test_the_same_text_twice_is_one_note(client: Client) -> None:
    await call(client, "write_note", text="Other")
    first = await call(client, "write_note", text="One")
    again = await call(client, "write_note", text="One")
    assert (first["noteId"], again["noteId"], again["status"]) == ("n2", "n2", "unchanged")
    await call(client, "write_note", text="One", pinned=True)
    notes = (await call(client, "get_program_state"))["notes"]
    assert [(note["id"], note.get("pinned")) for note in notes] == [("n1", None), ("n2", True)]


async def test_over_the_cap_the_answer_names_the_notes_that_left_and_pinned_notes_stay(
    client: Client,
) -> None:
    for number in range(80):
        await call(client, "write_note", text=f"Note {number}", pinned=number == 0)
    done = await call(client, "write_note", text="Two\nlines")
    assert done["lines"] == 80
    assert done["archived"] == [{"id": "n2", "text": "Note 1"}, {"id": "n3", "text": "Note 2"}]
    grown = await call(client, "write_note", noteId="n4", text="Three\nlines\nnow")
    assert [gone["id"] for gone in grown["archived"]] == ["n5", "n6"]


async def test_when_all_are_pinned_the_oldest_leaves(client: Client) -> None:
    for letter in "xy":
        await call(client, "write_note", text="\n".join(letter * 40), pinned=True)
    done = await call(client, "write_note", text="One more")
    assert [gone["id"] for gone in done["archived"]] == ["n1"]


async def test_a_note_that_is_not_found_is_answered_with_close_ids(client: Client) -> None:
    for count in range(12):
        await call(client, "write_note", text=f"Note {count}")
    said = await refusal(client, "write_note", noteId="n21", pinned=True)
    assert (
        said == "note_not_found: basher has no note 'n21'; it may be in the archive. Close ids are "
        "n1, n2, n10."
    )


HOW_TO_NOTE = (
    "invalid_argument: text: alone, or with pinned, it is a new note; noteId with text or pinned "
    "changes a note; noteId with remove, and nothing else, removes it"
)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"text": ""}, "invalid_argument: text: must not be empty"),
        ({"text": "x" * 501}, "invalid_argument: text: must be at most 500 characters"),
        ({}, HOW_TO_NOTE),
        ({"pinned": True}, HOW_TO_NOTE),
        ({"noteId": "n1"}, HOW_TO_NOTE),
        ({"remove": True}, HOW_TO_NOTE),
        ({"remove": True, "text": "x"}, HOW_TO_NOTE),
        ({"noteId": "n1", "remove": True, "text": "x", "pinned": False}, HOW_TO_NOTE),
        ({"noteId": "n1", "pinned": True}, "note_not_found: basher has no note 'n1'"),
        ({"noteId": "n1", "remove": True}, "note_not_found: basher has no note 'n1'"),
        ({"noteId": "n0", "remove": True}, "note_not_found: "),
        ({"noteId": "first", "remove": True}, "note_not_found: "),
    ],
)
async def test_a_bad_note_is_refused(
    client: Client, arguments: dict[str, object], said: str
) -> None:
    assert (await refusal(client, "write_note", **arguments)).startswith(said)
    assert (await call(client, "get_program_state"))["exists"] is False
