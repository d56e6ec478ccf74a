"""Forgetting on purpose, and restoring lessons from the archive."""

from dataclasses import replace
from datetime import timedelta

import pytest

from fleet_memory.errors import InvalidArgumentError, PatternNotFoundError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.restoration import list_archive, restore_archived
from fleet_memory.rules.lifecycle.admission import pattern_restore_problem, restored, with_pattern
from fleet_memory.rules.lifecycle.room import archived
from fleet_memory.rules.lifecycle.stamping import stamped
from fleet_memory.tools.core.judging import pattern_consolidate
from fleet_memory.tools.core.lessons import reinforce_memory
from fleet_memory.tools.state import DecayPatch, forget_memory, update_program_state, write_note
from tests.fleets import NOW, at, documents, interrupted, learn, writing
from tests.lessons import START, days, pattern, program


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    return at(fleet, NOW)


async def forget(fleet: Fleet, id_: str = "mine") -> str:
    """Forget a lesson of basher, and return its id in the archive."""
    return (await forget_memory(fleet, "basher", id_, "wrong project")).archive_id


def test_a_forgotten_lesson_comes_back_as_it_was_and_is_pending() -> None:
    one = pattern(confirmations=3, doublings=2)
    before = program(one, pattern("Another", id="p2"))
    gone = archived(before, [one], "forgotten", START + days(1), "mistake")
    assert list(gone.program.patterns) == ["p2"]
    left = stamped(before, gone.program, START)
    assert left.pending == ("p1",)
    assert (gone.archived[0].reason, gone.archived[0].why) == ("forgotten", "mistake")
    back = restored(left, gone.archived[0].pattern, "new")
    assert back == one
    assert stamped(left, with_pattern(left, back), START + days(2)).pending == ("p1",)


def test_a_pattern_that_took_the_id_meanwhile_stays() -> None:
    old, new = (
        pattern("Old"),
        pattern("New"),
    )
    back = restored(program(new), old, "new")
    assert (back.id, back.pattern) == ("new", "Old")


def test_a_lesson_comes_back_in_no_entry_until_the_next_run_has_looked() -> None:
    back = restored(program(), pattern(knowledge_keys=("pattern/a/b",)), "new")
    assert back == pattern()
    assert stamped(program(), with_pattern(program(), back), START).pending == ("p1",)


def test_nothing_comes_back_twice() -> None:
    assert pattern_restore_problem(program(pattern("Kept", id="p2")), pattern()) is None
    assert "learnt this again as 'p9'" in (
        pattern_restore_problem(program(pattern(id="p9")), pattern()) or ""
    )
    assert pattern_restore_problem(program(pattern(id="p9", project_id="other")), pattern()) is None


@pytest.mark.anyio
async def test_a_forgotten_lesson_is_listed_and_restored(fleet: Fleet) -> None:
    await learn(fleet, "basher", "Check the status")
    await reinforce_memory(fleet, "basher", "mine", evidence="again")
    before = (await fleet.programs.read("basher")).patterns
    archive_id = await forget(fleet)
    assert await list_archive(fleet, "basher") == [
        {
            "id": archive_id,
            "at": "2026-03-07T12:00:00Z",
            "reason": "forgotten",
            "patternId": "mine",
            "text": "Check the status",
            "why": "wrong project",
        }
    ]
    assert await restore_archived(fleet, "basher", archive_id) == {
        "restored": True,
        "patternId": "mine",
    }
    assert (await fleet.programs.read("basher")).patterns == before
    assert await list_archive(fleet, "basher") == []


@pytest.mark.anyio
async def test_a_lesson_that_a_token_forgets_is_in_the_archive_under_the_id_of_the_answer(
    fleet: Fleet,
) -> None:
    await learn(fleet, "basher", "Check the status")
    of_token = replace(fleet, programs=fleet.programs.written_by("basher", "k3x9"))
    archive_id = await forget(of_token)
    assert [row["id"] for row in await list_archive(fleet, "basher")] == [archive_id]


@pytest.mark.anyio
async def test_a_lesson_that_comes_back_at_the_cap_names_the_one_that_moved(fleet: Fleet) -> None:
    await update_program_state(
        fleet, "basher", decay_config=DecayPatch.model_validate({"maxUnpromotedPatterns": 2})
    )
    for n, name in enumerate(("ash", "birch", "elm", "fir")):
        await learn(at(fleet, NOW + timedelta(days=n)), "basher", f"Lesson {name}", id_=name)
    await forget(fleet, "ash")
    assert await restore_archived(fleet, "basher", "ash") == {
        "restored": True,
        "patternId": "ash",
    }
    assert set((await fleet.programs.read("basher")).patterns) == {"ash", "birch", "elm", "fir"}


@pytest.mark.anyio
async def test_an_id_that_is_not_in_the_archive_is_refused(fleet: Fleet) -> None:
    await learn(fleet, "sark", "Check the status")
    await forget_memory(fleet, "sark", "mine", "no")
    before = await documents(fleet)
    with pytest.raises(InvalidArgumentError, match="the archive holds no 'mine'"):
        await restore_archived(fleet, "basher", "mine")
    assert await documents(fleet) == before


@pytest.mark.anyio
async def test_a_lesson_that_was_learnt_again_stays_in_the_archive(fleet: Fleet) -> None:
    await learn(fleet, "basher", "Check the status")
    await forget(fleet)
    await learn(fleet, "basher", "check the status.", id_="again")
    row = await restore_archived(fleet, "basher", "mine")
    assert (row["restored"], "'again'" in str(row["reason"])) == (False, True)
    assert len(await list_archive(fleet, "basher")) == 1


@pytest.mark.anyio
async def test_a_contributor_comes_back_into_its_entry_with_the_next_run(fleet: Fleet) -> None:
    for each in ("basher", "sark"):
        await learn(fleet, each, "Check the status")
    (entry,) = (await pattern_consolidate(fleet, no_progress)).promoted
    await forget(fleet)
    assert await restore_archived(fleet, "basher", "mine") == {
        "restored": True,
        "patternId": "mine",
    }
    await pattern_consolidate(fleet, no_progress)
    assert (await fleet.programs.read("basher")).patterns["mine"].knowledge_key == entry.key


@pytest.mark.anyio
async def test_a_restored_note_takes_the_place_of_the_oldest(fleet: Fleet) -> None:
    await write_note(fleet, "basher", "Port 8081 is taken", pinned=True)
    await write_note(fleet, "basher", note_id="n1", remove=True)
    (row,) = await list_archive(fleet, "basher")
    assert (row["noteId"], row["text"]) == ("n1", "Port 8081 is taken")
    for letter in "xy":
        await write_note(fleet, "basher", "\n".join(letter * 40))
    gone = {"id": "n2", "note": "\n".join("x" * 40)}
    assert await restore_archived(fleet, "basher", "n1") == {
        "restored": True,
        "noteId": "n1",
        "evicted": [gone],
    }
    notes = (await fleet.programs.read("basher")).notes
    assert {note.id: note.pinned for note in notes.values()} == {"n1": True, "n3": False}
    assert (await write_note(fleet, "basher", "Another")).note_id == "n4"


@pytest.mark.anyio
async def test_a_lesson_learnt_while_another_comes_back_is_kept(fleet: Fleet) -> None:
    await learn(fleet, "basher", "Check the status")
    await forget(fleet)
    meanwhile = interrupted(
        fleet, writing("programs"), lambda: learn(fleet, "basher", "Rotate early", id_="new")
    )
    assert (await restore_archived(meanwhile, "basher", "mine"))["restored"]
    assert sorted((await fleet.programs.read("basher")).patterns) == ["mine", "new"]


@pytest.mark.anyio
async def test_an_unknown_lesson_cannot_be_forgotten(fleet: Fleet) -> None:
    with pytest.raises(PatternNotFoundError):
        await forget(fleet)
