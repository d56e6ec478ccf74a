"""Another text under the id of a lesson that is in an entry, or in an open pair."""

from dataclasses import replace

import pytest

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.repositories.records import archive_record
from fleet_memory.rules.entries import entry_state, origins
from fleet_memory.schemas.knowledge import Entry, Position
from fleet_memory.schemas.patterns import TextChange
from fleet_memory.schemas.programs import Archived, Caller
from fleet_memory.tools.core.lessons import store_memory
from fleet_memory.tools.session import commit_session
from tests.asking import booted, judged, left, numbered, verdict
from tests.fleets import NOW, at, documents
from tests.lessons import days, new_pattern
from tests.shared import KEY, LOOK, shared_entry

pytestmark = pytest.mark.anyio

TYPO = "Look whether a task is still free before claiming it"


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    return at(replace(fleet, caller=Caller()), NOW)


async def changed(
    fleet: Fleet, day: int, text: str, change: TextChange | None = None, id_: str = "mine"
) -> None:
    sent = new_pattern(text, domain="tasks", id=id_, change=change)
    await store_memory(at(fleet, NOW + days(day)), "basher", sent)


async def positions(fleet: Fleet) -> dict[str, Position]:
    entry = await entry_of(fleet)
    return {name: each.position for each in origins(entry) for name in each.programs}


async def entry_of(fleet: Fleet) -> Entry:
    (versioned,) = await fleet.knowledge.read_versioned(KEY)
    assert versioned.entry is not None
    return versioned.entry


async def test_it_is_refused_until_it_says_what_it_means_and_nothing_is_written(
    fleet: Fleet,
) -> None:
    await shared_entry(fleet, "basher", "iso")
    before = await documents(fleet)
    with pytest.raises(InvalidArgumentError, match=r"pattern\.change: 'mine' is in shared") as no:
        await changed(fleet, 1, TYPO)
    assert "'reworded' if both texts are the same lesson" in str(no.value)
    assert "'corrected' if the old text was wrong" in str(no.value)
    assert await documents(fleet) == before


async def test_a_typo_that_its_author_mends_keeps_both_discoveries_and_the_text(
    fleet: Fleet,
) -> None:
    await shared_entry(fleet, "basher", "iso")
    await changed(fleet, 1, TYPO, "reworded")
    entry = await entry_of(fleet)
    assert (entry.value.pattern, entry_state(entry, NOW + days(1))) == (LOOK, "fresh")
    assert await positions(fleet) == {"basher": "discovered", "iso": "discovered"}
    lesson = (await fleet.programs.read("basher")).patterns["mine"]
    assert (lesson.pattern, lesson.knowledge_keys) == (TYPO, (KEY,))


async def test_a_correction_loses_the_vote_and_the_old_text_again_brings_it_back(
    fleet: Fleet,
) -> None:
    await shared_entry(fleet, "basher", "iso")
    await changed(fleet, 1, TYPO, "corrected")
    assert await positions(fleet) == {"basher": "contradicted", "iso": "discovered"}
    lesson = (await fleet.programs.read("basher")).patterns["mine"]
    assert (lesson.pattern, lesson.knowledge_keys) == (TYPO, ())
    await changed(fleet, 2, LOOK)
    assert await positions(fleet) == {"basher": "discovered", "iso": "discovered"}
    assert entry_state(await entry_of(fleet), NOW + days(2)) == "fresh"


@pytest.mark.parametrize("has_answered", [False, True])
async def test_a_lesson_in_an_open_pair_needs_it_too_also_after_its_author_has_answered(
    fleet: Fleet, *, has_answered: bool
) -> None:
    (pair,) = await numbered(fleet, 1)
    if has_answered:
        await judged(fleet, "basher", pair, "same")
    with pytest.raises(InvalidArgumentError, match="'own-0' is in a pair that waits"):
        await changed(fleet, 1, "Own 0, and with care", id_="own-0")
    await changed(fleet, 1, "Own 0, and with care", "reworded", id_="own-0")
    await booted(fleet, "sark")
    answer = await left(at(fleet, NOW + days(1)), "sark", verdict(pair.pair_id))
    assert [said.error for said in answer.judged or ()] == [None]


async def test_of_a_session_such_an_item_fails_alone(fleet: Fleet) -> None:
    await shared_entry(fleet, "basher", "iso")
    answer = await commit_session(
        fleet,
        "basher",
        patterns=(new_pattern(TYPO, id="mine"), new_pattern("Rotate the logs", id="other")),
    )
    refused, stored = answer.patterns or ()
    assert (answer.failed, refused.status, stored.status) == (1, "failed", "created")
    assert (refused.error or "").startswith("invalid_argument: patterns.0: change: ")
    done = await commit_session(
        fleet, "basher", patterns=(new_pattern(TYPO, id="mine", change="reworded"),)
    )
    assert [item.status for item in done.patterns or ()] == ["updated"]
    assert await positions(fleet) == {"basher": "discovered", "iso": "discovered"}


async def test_a_text_that_nothing_holds_any_more_goes_to_the_archive(fleet: Fleet) -> None:
    await changed(fleet, 0, LOOK)
    await changed(fleet, 1, TYPO)
    (document,) = await fleet.programs.archive.of_program("basher")
    gone = archive_record(document)
    assert isinstance(gone, Archived)
    assert (gone.pattern.pattern, gone.reason, gone.at) == (LOOK, "replaced", NOW + days(1))


@pytest.mark.parametrize("change", [None, "reworded"])
@pytest.mark.parametrize("is_repeated", [False, True])
async def test_a_session_judges_the_text_that_it_was_shown_before_it_changes_it(
    fleet: Fleet, change: TextChange | None, *, is_repeated: bool
) -> None:
    (pair,) = await numbered(fleet, 1)
    await judged(fleet, "sark", pair, "same")
    await booted(fleet, "basher")
    improved = new_pattern("Own 0, and with care", id="own-0", change=change)
    for _ in range(1 + is_repeated):
        answer = await commit_session(
            fleet, "basher", patterns=(improved,), verdicts=(verdict(pair.pair_id),)
        )
        if not answer.repeated:
            assert [(said.state, said.error) for said in answer.judged or ()] == [("same", None)]
        assert answer.failed == (change is None)
        assert "toJudge" not in answer.wire()
    (entry,) = [one.entry for one in await fleet.knowledge.all() if one.entry]
    lesson = (await fleet.programs.read("basher")).patterns["own-0"]
    assert sorted(line.program_id for line in entry.provenance) == ["basher", "sark"]
    assert (lesson.pattern, lesson.knowledge_keys) == (
        "Own 0" if change is None else "Own 0, and with care",
        (entry.key,),
    )
