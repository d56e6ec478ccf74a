"""Finding an entry by the words of any contributor, through the snapshot, and reading its one
text.
"""

from dataclasses import replace

import pytest

from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.curation import retire_entry, split_entry
from fleet_memory.jobs.embedding import Moved, reembed_fleet
from fleet_memory.jobs.fenced_writer import leased
from fleet_memory.rules.text.vectors import packed, unpacked
from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.schemas.pairs import NewVerdict
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.judging import pattern_consolidate
from fleet_memory.tools.core.recall import recall_memory
from fleet_memory.tools.knowledge import gsp_search
from fleet_memory.tools.retrieval import NEAREST, embed_question, ranked
from tests.fleets import NOW, at, learn
from tests.shared import CHECK, KEY, LATE, LOOK, shared_entry
from tests.test_reembedding import Mirrored

pytestmark = pytest.mark.anyio

ASKED = "somebody has taken it by then"  # no word of it in the entry's text, one in sark's
FREE = "Make sure a task is free before claiming it"
STILL = "Check that a task is still free before you claim it"


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    return at(fleet, NOW)


async def row(fleet: Fleet, key: str = KEY) -> KnowledgeRow:
    (only,) = [one for one in (await fleet.knowledge.snapshots.read()).rows if one.key == key]
    return only


async def publish(fleet: Fleet) -> None:
    async with leased(fleet) as writer:
        assert writer is not None
        await writer.publish()


async def found(fleet: Fleet, query: str) -> list[str]:
    return [one.pattern for one in (await recall_memory(fleet, "newcomer", query=query)).knowledge]


async def test_a_newcomers_question_finds_an_entry_by_a_contributors_words_and_shows_the_entrys_text(
    fleet: Fleet,
) -> None:
    await shared_entry(fleet, "basher", "sark")
    recalled = await recall_memory(fleet, "newcomer", query=ASKED, explain=True)
    searched = await gsp_search(fleet, query=ASKED, explain=True)
    for answer in (recalled, searched):
        assert [one.pattern for one in answer.knowledge] == [LOOK]
        assert "taken" not in answer.compact()


async def test_a_boot_puts_the_entry_first_that_a_contributor_stored_in_the_words_of_the_task(
    fleet: Fleet,
) -> None:
    await shared_entry(fleet, "basher", "sark")
    await shared_entry(fleet, "iso", "ram")
    orders = []
    for task in (None, ASKED):
        boot = await gsp_bootstrap(fleet, "newcomer", task=task)
        orders.append([one.pattern for one in boot.knowledge])
        assert "taken" not in boot.compact()
    assert orders == [[CHECK, LOOK], [LOOK, CHECK]]


async def test_a_question_is_compared_with_the_mean_where_an_entry_has_one(fleet: Fleet) -> None:
    texts = ("claimable", "rotated")  # alike by letters to no word of the entries' texts
    claim, rotate = [packed(one) for one in await fleet.embedder.vectors(texts)]
    known = KnowledgeRow(
        key="pattern/a/b",
        pattern="x",
        domain="a",
        confidence=0.8,
        last_confirmed=NOW,
        embedder=fleet.embedder.name,
    )
    rows = [replace(known, vector=rotate, reading_vector=claim), replace(known, vector=claim)]
    pool = [*rows, replace(known, vector=claim, reading_vector=rotate)]
    best = ranked(pool, [0.8] * 3, await embed_question(fleet, "claimable"))
    assert [(match.position, match.terms.semantic) for match in best] == [
        (0, 1.0),
        (1, 1.0),
        (2, 0.0),
    ]


async def test_two_lessons_that_are_judged_the_same_are_found_by_the_mean_of_their_vectors(
    fleet: Fleet,
) -> None:
    for program, text in (("basher", STILL), ("sark", FREE)):
        await learn(fleet, program, text)
    await pattern_consolidate(fleet, no_progress)
    (pair,) = (await pattern_consolidate(fleet, no_progress, "sark")).to_judge
    said = NewVerdict.model_validate({"pairId": pair.pair_id, "verdict": "same"})
    (promoted,) = (await pattern_consolidate(fleet, no_progress, "sark", verdicts=(said,))).promoted
    both = await fleet.embedder.vectors([STILL, FREE])
    own, mean = packed(both[0]), packed(unpacked([packed(one) for one in both]).mean(axis=0))
    shown = await row(fleet, promoted.key)
    assert shown == replace(shown, pattern=STILL, vector=own, wordings=(FREE,), reading_vector=mean)


async def test_a_wording_leaves_with_its_contribution_and_a_candidates_is_not_searched(
    fleet: Fleet,
) -> None:
    known = await shared_entry(fleet, "basher", "iso", "sark")
    assert (await row(fleet)).wordings == (CHECK, LATE)
    await split_entry(fleet, known.key, "iso", None, "It says more")
    assert ((await row(fleet)).wordings, await found(fleet, ASKED)) == ((LATE,), [LOOK])
    await fleet.knowledge.update_without_ledger(
        KEY, lambda entry: replace(entry, threshold=3, unpublished=True)
    )
    await publish(fleet)
    shown = await row(fleet)
    assert (shown.state, shown.wordings, await found(fleet, ASKED)) == ("candidate", (), [])


async def test_a_retired_entry_is_searched_by_its_own_text_alone(fleet: Fleet) -> None:
    await shared_entry(fleet, "basher", "sark")
    await retire_entry(fleet, KEY, "wrong")
    assert (await row(fleet)).wordings == ()
    assert (await gsp_search(fleet, query=ASKED, status="retired")).note == NEAREST


async def test_a_wording_moves_to_another_embedder_with_its_entry(fleet: Fleet) -> None:
    await shared_entry(fleet, "basher", "sark")
    for embedder in (fleet.embedder, Mirrored()):
        moved = replace(fleet, embedder=embedder)
        assert await reembed_fleet(moved, lambda _done, _total: None) == Moved(
            embedder.name, patterns=2, entries=1
        )
        assert await reembed_fleet(moved, lambda _done, _total: None) == Moved(
            embedder.name, patterns=0, entries=0
        )
        await publish(moved)
        texts = [packed(one) for one in await embedder.vectors([LOOK, LATE])]
        shown = await row(moved)
        assert (shown.vector, shown.embedder) == (texts[0], embedder.name)
        assert shown.reading_vector == packed(unpacked(texts).mean(axis=0))
