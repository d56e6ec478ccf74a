"""A merge brings no contribution back that a verdict, another lesson or a text that was shown
speaks against.
"""

from datetime import timedelta
from pathlib import Path

import pytest

from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.curation import split_entry
from fleet_memory.rules.asking import with_shown
from fleet_memory.rules.entries import recorded_state
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.pairs import NewVerdict, Verdict
from fleet_memory.schemas.programs import Program
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.judging import pattern_consolidate
from tests.fleets import NOW, at, documents, interrupted, learn, writing
from tests.moving import bring, export_to

pytestmark = pytest.mark.anyio

LATER = NOW + timedelta(days=1)
LOOK = "Check that a task is still free before you claim it"
FREE = "Make sure a task is free before claiming it"
COFFEE = "Restart the coffee machine every morning at nine"
RETRY = "Retries must be idempotent"


async def entries(fleet: Fleet) -> dict[str, tuple[str, list[str]]]:
    """Return the state and the contributors of each entry, by its text."""
    found = [one.entry for one in await fleet.knowledge.all() if one.entry]
    return {
        one.value.pattern: (recorded_state(one), [line.program_id for line in one.provenance])
        for one in found
    }


async def judge_all(fleet: Fleet, program: str, verdict: Verdict) -> None:
    """Let a program answer everything that its boot asks."""
    asked = (await gsp_bootstrap(fleet, program)).to_judge or ()
    verdicts = tuple(
        NewVerdict.model_validate({"pairId": one.pair_id, "verdict": verdict}) for one in asked
    )
    await pattern_consolidate(fleet, no_progress, program, verdicts=verdicts)


async def joined_by_verdict(fleet: Fleet) -> str:
    """Let two programs call their lessons the same, and return the key of the entry."""
    await learn(fleet, "basher", LOOK)
    await learn(fleet, "sark", FREE)
    await pattern_consolidate(fleet, no_progress)
    for program in ("basher", "sark"):
        await judge_all(fleet, program, "same")
    (entry,) = [one.entry for one in await fleet.knowledge.all() if one.entry]
    return entry.key


async def test_an_older_file_does_not_undo_a_split(here: Fleet, file: Path) -> None:
    key = await joined_by_verdict(here)
    await export_to(here, file)
    later = at(here, LATER)
    await split_entry(later, key, "sark", None, "not the same")
    assert await entries(here) == {LOOK: ("candidate", ["basher"])}
    await bring(later, file)
    assert await entries(here) == {LOOK: ("candidate", ["basher"])}
    assert (await here.programs.read("sark")).patterns["mine"].knowledge_key is None
    before = await documents(here)
    assert (await bring(later, file)).written == 0
    assert await documents(here) == before


@pytest.mark.parametrize("brings_entry", [True, False])
async def test_a_program_that_was_shown_a_text_on_either_machine_does_not_vote_with_it(
    here: Fleet, there: Fleet, file: Path, *, brings_entry: bool
) -> None:
    def shown(program: Program) -> ProgramChange:
        return ProgramChange(with_shown(program, {text_hash(LOOK): NOW}))

    await learn(here, "iso", RETRY, id_="other")
    await here.programs.update("iso", shown, NOW)
    await learn(there, "iso", LOOK)
    await learn(there, "sark", LOOK)
    await pattern_consolidate(there, no_progress)
    source, target = (there, here) if brings_entry else (here, there)
    await export_to(source, file)
    await bring(at(target, LATER), file)
    assert await entries(target) == {LOOK: ("candidate", ["sark"])}
    lesson = (await target.programs.read("iso")).patterns["mine"]
    assert (lesson.knowledge_key is not None, lesson.echo) == (True, True)
    before = await documents(target)
    assert (await bring(at(target, LATER), file)).written == 0
    assert await documents(target) == before


@pytest.mark.parametrize("is_rewritten", [True, False])
@pytest.mark.parametrize("brings_entry", [True, False])
async def test_a_lesson_that_its_program_stored_on_either_machine_before_it_was_shown_the_text_keeps_its_vote(
    here: Fleet, there: Fleet, file: Path, *, brings_entry: bool, is_rewritten: bool
) -> None:
    def shown(program: Program) -> ProgramChange:
        return ProgramChange(with_shown(program, {text_hash(LOOK): NOW}))

    await learn(at(here, NOW - timedelta(days=1)), "iso", LOOK)
    await here.programs.update("iso", shown, NOW)
    for program in ("iso", "sark"):
        await learn(at(there, LATER), program, LOOK)
    await pattern_consolidate(at(there, LATER), no_progress)
    if is_rewritten:  # its text of then votes on, and only the entry knows when it was stored first
        await learn(at(here, NOW - timedelta(days=1)), "sark", LOOK)
        await pattern_consolidate(here, no_progress)
        await learn(at(here, LATER), "iso", COFFEE)
    source, target = (there, here) if brings_entry else (here, there)
    await export_to(source, file)
    await bring(at(target, LATER), file)
    assert await entries(target) == {LOOK: ("verify", ["iso", "sark"])}
    before = await documents(target)
    assert (await bring(at(target, LATER), file)).written == 0
    assert await documents(target) == before


async def test_an_entry_that_a_server_publishes_meanwhile_is_merged(
    here: Fleet, there: Fleet, file: Path
) -> None:
    for fleet, programs in ((here, ("a1", "a2")), (there, ("b1", "b2"))):
        for program in programs:
            await learn(fleet, program, LOOK)
    await pattern_consolidate(there, no_progress)
    await export_to(there, file)

    async def meanwhile() -> None:
        await pattern_consolidate(at(here, LATER), no_progress)

    await bring(interrupted(at(here, LATER), writing("gsp"), meanwhile), file)
    assert await entries(here) == {LOOK: ("verify", ["a1", "a2", "b1", "b2"])}


@pytest.mark.parametrize("collection", ["ledger", "gsp", "pairs", "programs"])
async def test_two_imports_of_one_file_at_the_same_moment_both_end_well(
    here: Fleet, there: Fleet, file: Path, collection: str
) -> None:
    await joined_by_verdict(there)
    await export_to(there, file)
    target = at(here, LATER)

    async def meanwhile() -> None:
        await bring(target, file)

    await bring(interrupted(target, writing(collection), meanwhile), file)
    assert await entries(here) == {LOOK: ("verify", ["basher", "sark"])}
