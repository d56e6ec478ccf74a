"""Import merges: both copies' lessons, notes, state, contributions, words and verdicts; replaced
ones are archived.
"""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import JsonValue

from fleet_memory.errors import ForbiddenError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.curation import reinstate_entry, retire_entry, reword_entry
from fleet_memory.jobs.deletion import delete_program
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.jobs.policy import set_policy
from fleet_memory.jobs.restoration import list_archive, restore_archived
from fleet_memory.jobs.transfer.merging import Merged
from fleet_memory.rules.entries import entry_state
from fleet_memory.schemas.programs import Caller
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.judging import pattern_consolidate
from fleet_memory.tools.core.lessons import reinforce_memory
from fleet_memory.tools.core.recall import recall_memory
from fleet_memory.tools.knowledge import gsp_search
from fleet_memory.tools.state import ContextSummary, forget_memory, update_program_state, write_note
from tests.fleets import FLEET, NOW, at, documents, learn
from tests.moving import bring, export_to

pytestmark = pytest.mark.anyio

LATER = NOW + timedelta(days=1)
CLAIM = "Check that a task is still free before you claim it"
RETRY = "Retries must be idempotent"
PIN = "Pin every dependency to an exact version"


async def merged(there: Fleet, here: Fleet, file: Path, *, overwrite: bool = False) -> Merged:
    """Merge the one into the other, a day later."""
    await export_to(there, file, force=True)
    return await bring(at(here, LATER), file, overwrite=overwrite)


async def texts(fleet: Fleet, program: str = "basher") -> dict[str, str]:
    patterns = (await fleet.programs.read(program)).patterns
    return {id_: one.pattern for id_, one in patterns.items()}


async def archived(fleet: Fleet, program: str = "basher") -> list[tuple[object, object]]:
    return [(row["text"], row["reason"]) for row in await list_archive(fleet, program)]


async def contributors(fleet: Fleet, key: str) -> list[str]:
    entry = await fleet.knowledge.found(key, hidden=True)
    return sorted(line.program_id for line in entry.provenance)


async def published(fleet: Fleet, text: str, *programs: str, domain: str = "tasks") -> str:
    """Let programs learn a text, and return the key of its entry."""
    for program in programs:
        await learn(fleet, program, text, id_=f"{program}-{len(text)}", domain=domain)
    (entry,) = (await pattern_consolidate(fleet, no_progress)).promoted
    return entry.key


async def test_programs_of_one_name_have_the_lessons_and_notes_of_both(
    here: Fleet, there: Fleet, file: Path
) -> None:
    await learn(here, "basher", CLAIM, id_="a")
    await write_note(here, "basher", "Port 8081 is taken")
    await learn(there, "basher", RETRY, id_="b")
    await write_note(there, "basher", "The proxy is slow")
    assert await merged(there, here, file) == Merged(FLEET, FLEET, written=1)
    assert await texts(here) == {"a": CLAIM, "b": RETRY}
    program = await here.programs.read("basher")
    assert {id_: note.text for id_, note in program.notes.items()} == {
        "n1": "Port 8081 is taken",
        "n2": "The proxy is slow",
    }
    assert program.pending == ("a", "b")


@pytest.mark.parametrize("later_here", [True, False])
async def test_of_two_texts_under_one_id_the_later_is_the_lesson_and_the_earlier_is_archived(
    here: Fleet, there: Fleet, file: Path, *, later_here: bool
) -> None:
    first, last = (there, here) if later_here else (here, there)
    await learn(at(first, NOW), "basher", RETRY)
    await learn(at(last, NOW + timedelta(hours=1)), "basher", CLAIM)
    for source, target in ((there, here), (here, there), (there, here)):
        await merged(source, target, file)
        assert await texts(target) == {"mine": CLAIM}
        assert await archived(target) == [(RETRY, "merged")]
    await restore_archived(at(here, LATER), "basher", "mine")
    assert sorted((await texts(here)).values()) == [CLAIM, RETRY]


async def test_a_text_that_another_store_has_too_is_named(
    here: Fleet, there: Fleet, file: Path
) -> None:
    await learn(at(here, NOW), "basher", RETRY)
    await learn(at(there, NOW + timedelta(hours=1)), "basher", CLAIM)
    assert (await merged(there, here, file)).archived == ("basher/mine",)
    assert (await merged(there, here, file)).is_complete


async def test_a_lesson_that_was_forgotten_here_since_comes_back_only_if_asked(
    here: Fleet, there: Fleet, file: Path
) -> None:
    await learn(there, "basher", CLAIM)
    await merged(there, here, file)
    await forget_memory(at(here, LATER + timedelta(hours=1)), "basher", "mine", "wrong")
    assert (await merged(there, here, file)).left == ("basher/mine",)
    assert await texts(here) == {}
    later = at(here, LATER + timedelta(hours=2))
    assert (await bring(later, file, overwrite=True)).left == ()
    assert (await bring(later, file)).is_complete
    assert await texts(here) == {"mine": CLAIM}


@pytest.mark.parametrize("forgotten_here", [True, False])
async def test_a_lesson_that_was_forgotten_on_one_machine_is_forgotten_on_both_with_its_vote(
    here: Fleet, there: Fleet, file: Path, *, forgotten_here: bool
) -> None:
    key = await published(here, CLAIM, "basher", "iso")
    await merged(here, there, file)
    (lesson,) = (await there.programs.read("iso")).patterns
    await forget_memory(at(here if forgotten_here else there, LATER), "iso", lesson, "wrong")
    assert (await merged(there, here, file)).left == (f"iso/{lesson}",)
    assert await texts(here, "iso") == {}
    assert await contributors(here, key) == ["basher"]
    assert entry_state(await here.knowledge.found(key), LATER) == "candidate"


async def test_a_forgotten_lesson_that_a_file_brought_back_keeps_its_vote(
    here: Fleet, there: Fleet, file: Path
) -> None:
    key = await published(here, CLAIM, "basher", "iso")
    await merged(here, there, file)
    (lesson,) = (await here.programs.read("iso")).patterns
    await forget_memory(at(here, LATER), "iso", lesson, "wrong")
    later = at(here, LATER + timedelta(hours=1))
    await export_to(there, file, force=True)
    await bring(later, file, overwrite=True)
    assert await contributors(here, key) == ["basher", "iso"]
    await bring(later, file)
    assert await contributors(here, key) == ["basher", "iso"]


async def test_the_story_of_an_entry_is_told_in_order_after_an_import(
    here: Fleet, there: Fleet, file: Path
) -> None:
    key = await published(here, CLAIM, "basher", "iso")
    await merged(here, there, file)
    await retire_entry(at(there, LATER), key, "not here")
    await retire_entry(at(here, LATER + timedelta(hours=1)), key, "nor here")
    await merged(there, here, file)
    lines = await here.knowledge.ledger.newest(await here.knowledge.found(key), 20)
    assert len(lines) > 2
    assert [line.at for line in lines] == sorted(line.at for line in lines)


async def test_a_program_that_was_deleted_on_one_machine_has_its_lessons_on_neither(
    here: Fleet, there: Fleet, file: Path
) -> None:
    await learn(there, "basher", CLAIM)
    await merged(there, here, file)
    await delete_program(at(here, LATER), "basher")
    assert (await merged(here, there, file)).left == ("basher/mine",)
    assert await texts(there) == {}
    assert await archived(there) == [(CLAIM, "deleted")]
    await merged(there, here, file)
    assert await texts(here) == {}


async def test_a_backup_brings_a_deleted_program_back_if_asked(
    here: Fleet, there: Fleet, file: Path
) -> None:
    await learn(there, "basher", CLAIM)
    await merged(there, here, file)
    await delete_program(at(here, LATER + timedelta(hours=1)), "basher")
    assert (await merged(there, here, file)).left == ("basher/mine",)
    await merged(there, here, file, overwrite=True)
    assert await texts(here) == {"mine": CLAIM}


async def test_the_later_handover_is_in_use_and_both_are_in_the_history(
    here: Fleet, there: Fleet, file: Path
) -> None:
    for fleet, notes, theme in ((here, "Merge the branch", "dark"), (there, "Deploy it", "light")):
        summary = ContextSummary.model_validate({"handoffNotes": notes})
        config: dict[str, JsonValue] = {"theme": theme, notes: True}
        await update_program_state(fleet, "basher", context_summary=summary, config=config)
    await merged(there, here, file)
    program = await here.programs.read("basher")
    assert program.context_summary == {"handoffNotes": "Deploy it"}
    assert program.config == {"theme": "light", "Deploy it": True}
    history = await here.programs.history.newest(program, 50)
    assert [past.context_summary["handoffNotes"] for past in history] == [
        "Deploy it",
        "Merge the branch",
    ]
    before = await documents(here)
    assert (await merged(there, here, file)).written == 0
    assert await documents(here) == before


async def test_an_entry_of_both_has_the_contributors_of_both_and_its_first_publication(
    here: Fleet, there: Fleet, file: Path
) -> None:
    key = await published(here, CLAIM, "basher", "iso")
    assert await published(there, CLAIM, "quorra", "sark", "tron") == key
    await merged(there, here, file)
    entry = await here.knowledge.found(key)
    assert await contributors(here, key) == ["basher", "iso", "quorra", "sark", "tron"]
    assert (entry.value.evidence_count, entry.publications[0].at, entry.version) == (5, NOW, 2)


@pytest.mark.parametrize("more_there", [True, False])
async def test_knowledge_of_both_is_readable_at_once(
    here: Fleet, there: Fleet, file: Path, *, more_there: bool
) -> None:
    await published(here, CLAIM, "basher", "iso")
    if more_there:  # a file with a higher version of the knowledge hid the knowledge here
        await published(there, PIN, "basher", "iso", domain="builds")
    await published(there, RETRY, "quorra", "sark")
    await merged(there, here, file)
    boot = await gsp_bootstrap(at(here, LATER), "newcomer")
    wanted = {CLAIM, RETRY, *([PIN] if more_there else [])}
    assert {row.pattern for row in boot.knowledge} == wanted
    for text in wanted:
        assert text in {row.pattern for row in (await gsp_search(at(here, LATER), text)).knowledge}
        recalled = await recall_memory(at(here, LATER), "newcomer", query=text)
        assert text in {row.pattern for row in recalled.knowledge}


async def test_after_a_rollback_everything_works(here: Fleet, file: Path) -> None:
    key = await published(here, CLAIM, "basher", "iso")
    await export_to(here, file)
    later = at(here, LATER)
    await reinforce_memory(later, "basher", key, None, "it worked", "confirmed")
    await published(later, RETRY, "quorra", "sark")
    assert (await bring(later, file, overwrite=True)).is_complete
    await maintain_fleet(later, no_progress)
    boot = await gsp_bootstrap(later, "newcomer")
    assert {row.pattern for row in boot.knowledge} == {CLAIM, RETRY}


async def test_an_entry_that_people_retired_on_either_side_stays_retired(
    here: Fleet, there: Fleet, file: Path
) -> None:
    key = await published(here, CLAIM, "basher", "iso")
    await published(there, CLAIM, "quorra", "sark")
    await retire_entry(there, key, "wrong")
    await merged(there, here, file)
    assert entry_state(await here.knowledge.found(key, hidden=True), LATER) == "retired"
    later = at(here, LATER + timedelta(days=1))
    await reinstate_entry(later, key, "right after all")
    await bring(later, file)
    assert (
        entry_state(await here.knowledge.found(key), LATER) == "verify"
    )  # all of it came over one connection


async def test_the_latest_decision_of_people_about_an_entry_counts_whichever_store_it_is_of(
    here: Fleet, there: Fleet, file: Path
) -> None:
    key = await published(here, CLAIM, "basher", "iso")
    await merged(here, there, file)
    for fleet in (here, there):
        await retire_entry(fleet, key, "wrong")
    await reinstate_entry(at(there, LATER), key, "right after all")
    for source, target in ((here, there), (there, here)):
        await merged(source, target, file)
        assert entry_state(await target.knowledge.found(key), LATER) == "verify"


async def test_the_latest_rewording_of_an_entry_is_its_text_whichever_store_it_is_of(
    here: Fleet, there: Fleet, file: Path
) -> None:
    key = await published(here, CLAIM, "basher", "iso")
    await merged(here, there, file)
    await reword_entry(here, key, "Claim only free tasks", "shorter")
    assert (await merged(there, here, file)).is_complete
    assert (await here.knowledge.found(key)).value.pattern == "Claim only free tasks"
    await reword_entry(at(there, LATER), key, "Never claim a task that is taken", "clearer")
    for source, target in ((here, there), (there, here)):
        assert (await merged(source, target, file)).is_complete
        assert (await target.knowledge.found(key)).value.pattern == (
            "Never claim a task that is taken"
        )
    before = await documents(here)
    assert ((await merged(there, here, file)).written, await documents(here)) == (0, before)
    assert await contributors(here, key) == ["basher", "iso"]


async def test_entries_of_other_words_under_one_key_are_both_kept(
    here: Fleet, there: Fleet, file: Path
) -> None:
    words = "alpha beta gamma delta epsilon zeta"
    key = await published(here, f"{words} in staging", "basher", "iso")
    assert await published(there, f"{words} in production", "quorra", "sark") == key
    assert (await merged(there, here, file)).is_complete
    entries = {
        one.entry.value.pattern: one.entry.key for one in await here.knowledge.all() if one.entry
    }
    assert entries.pop(f"{words} in staging") == key
    (second,) = entries.values()
    assert await contributors(here, second) == ["quorra", "sark"]
    (lesson,) = (await here.programs.read("quorra")).patterns.values()
    assert lesson.knowledge_key == second
    assert (await merged(there, here, file)).written == 0


async def test_one_text_under_two_keys_is_one_entry(here: Fleet, there: Fleet, file: Path) -> None:
    key = await published(here, CLAIM, "basher", "iso", domain="tasks")
    assert await published(there, CLAIM, "quorra", "sark", domain="queues") != key
    assert (await merged(there, here, file)).is_complete
    assert await contributors(here, key) == ["basher", "iso", "quorra", "sark"]
    assert [one.entry.key for one in await here.knowledge.all() if one.entry] == [key]
    (lesson,) = (await here.programs.read("quorra")).patterns.values()
    assert lesson.knowledge_key == key


async def test_the_policy_comes_only_if_asked(here: Fleet, there: Fleet, file: Path) -> None:
    await learn(there, "basher", CLAIM)
    await set_policy(there, ["threshold", "3"])
    await export_to(there, file)
    await bring(at(here, LATER), file)
    assert (await here.policies.read_versioned()).value.threshold == 2
    await bring(at(here, LATER), file, with_policy=True)
    assert (await here.policies.read_versioned()).value.threshold == 3


async def test_a_bound_process_may_neither_export_nor_import(
    here: Fleet, there: Fleet, file: Path
) -> None:
    await learn(there, "basher", CLAIM)
    await export_to(there, file)
    bound = replace(at(here, LATER), caller=Caller("basher"))
    with pytest.raises(ForbiddenError):
        await bring(bound, file)
    with pytest.raises(ForbiddenError):
        await export_to(bound, file, force=True)


async def test_a_program_that_only_read_is_none_for_people_and_its_reading_comes_along(
    here: Fleet, there: Fleet, file: Path
) -> None:
    await published(there, CLAIM, "basher", "iso")
    await gsp_bootstrap(there, "newcomer")
    await merged(there, here, file)
    assert await here.programs.count() == 2
    newcomer = await here.programs.read("newcomer")
    assert (newcomer.exists, newcomer.read_last) == (False, there.now())
    assert (await merged(there, here, file)).written == 0
