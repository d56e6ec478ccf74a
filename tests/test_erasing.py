"""A purged text is found nowhere: not in the file's bytes, not in an export, not in any tool's answer."""

import itertools
import json
import shutil
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import anyio
import pytest
from mcp import Client

from fleet_memory.errors import KnowledgeNotFoundError, StoreUnavailableError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.erasing import erase, preview_erasure
from fleet_memory.jobs.erasing.plan import Wanted
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.stores import Write
from tests.fleets import interrupted
from tests.living import Json, Machine

pytestmark = pytest.mark.anyio

WORD = "nightjar"
ONE = "Deploy Nightjar only behind the orchard gateway"
TWO = "Only deploy Nightjar when it is behind the orchard gateway"
OTHER = "Restart the pump after every firmware update"
OTHER_TOO = "After each firmware update restart the pump"
TEXT = Wanted(text="NIGHTJAR")
KEY = "pattern/deploys/deploy-nightjar-only-behind-orchard-gateway"


async def lived(machine: Machine) -> None:
    """Let a fleet keep the word in every place that a text can come to."""
    session = {"handoffNotes": f"{WORD} is half done", "openQuestions": [f"who owns {WORD}?"]}
    for program, text, other in (("basher", ONE, OTHER), ("iso", TWO, OTHER_TOO), ("sark", f"{ONE}.", OTHER)):
        await machine.store_lesson(program, other, domain="pumps", evidence=f"{WORD} stood still")
        await machine.store_lesson(program, text, domain="deploys", tags=[WORD], evidence=f"saw {WORD} fall")
    await machine.call("basher", "commit_session", programId="basher", handoff=session, notes=[f"ask about {WORD}"])
    missing = [f"How is {WORD} built?"]
    await machine.call("iso", "commit_session", programId="iso", handoff=f"{WORD}: wait", missing=missing)
    config = {WORD: 1, "of": [f"the {WORD} team"]}
    await machine.call("iso", "update_program_state", programId="iso", config=config, baselines={"b": WORD})
    await machine.call("iso", "update_program_state", programId="iso", contextSummary={"handoffNotes": "later"})
    gone = await machine.store_lesson("iso", f"The {WORD} build needs two cores", domain=WORD)
    await machine.call("iso", "forget_memory", programId="iso", patternId=gone["patternId"], reason=f"{WORD} moved")
    await judge_all(machine)
    for key in [row["key"] for row in (await machine.call("ram", "recall_memory", programId="ram"))["knowledge"]]:
        evidence = f"{WORD} proved it wrong"
        await machine.call(
            "ram", "reinforce_memory", programId="ram", patternId=key, outcome="contradicted", evidence=evidence
        )
    await machine.people(lambda fleet: maintain_fleet(fleet, no_progress))


async def judge_all(machine: Machine) -> None:
    for _ in range(3):
        for program in ("basher", "iso", "sark"):
            asked = (await machine.consolidate(program, programId=program))["toJudge"]
            reason = f"both are about {WORD}"
            verdicts = [{"pairId": pair["pairId"], "verdict": verdict(pair), "reason": reason} for pair in asked]
            if verdicts:
                await machine.consolidate(program, programId=program, verdicts=verdicts)


def verdict(pair: Json) -> str:
    both = json.dumps(pair).lower()
    return "same" if both.count("orchard") == 2 or both.count("firmware") == 2 else "different"


def holds(folder: Path, word: str = WORD) -> list[str]:
    """Return the files of a memory with the word in their bytes."""
    return sorted(
        file.name for file in folder.iterdir() if file.is_file() and word.encode() in file.read_bytes().lower()
    )


READS: list[tuple[str, Json]] = [
    ("gsp_bootstrap", {"agentId": "iso", "depth": "full", "task": "deploy behind the orchard gateway"}),
    ("recall_memory", {"programId": "iso", "query": "deploy orchard gateway", "includeStale": True, "explain": True}),
    ("recall_memory", {"programId": "iso", "scope": "own"}),
    ("memory_health", {"programId": "iso"}),
    ("pattern_consolidate", {"programId": "iso"}),
    ("get_program_state", {"programId": "iso", "history": 20}),
    ("gsp_search", {"query": "orchard gateway"}),
    ("gsp_search", {}),
    ("gsp_diff", {"sinceVersion": 0}),
    ("fleet_health", {}),
]


async def answers(client: Client) -> str:
    """Return the answers of every tool that reads, for each program, as one text."""
    texts = []
    for tool, arguments in READS:
        for program in ("basher", "iso", "sark", "ram"):
            named = {name: program if value == "iso" else value for name, value in arguments.items()}
            result = await client.call_tool(tool, named)
            texts.append(json.dumps(result.structured_content or [block.model_dump() for block in result.content]))
    keys = [row["key"] for row in (await client.call_tool("gsp_search", {})).structured_content.get("entries", [])]
    texts += [json.dumps((await client.call_tool("gsp_read", {"key": key})).structured_content) for key in keys]
    return "\n".join(texts).lower()


@pytest.fixture(scope="module")
def lived_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lived")
    anyio.run(lived, Machine(folder))
    assert len(list(folder.iterdir())) == 1
    return folder


@pytest.fixture
def machine(lived_folder: Path, tmp_path: Path) -> Machine:
    """A machine with a copy of the fleet that has lived, a day later."""
    shutil.copytree(lived_folder, tmp_path, dirs_exist_ok=True)
    machine = Machine(tmp_path)
    machine.later(1)
    return machine


async def test_a_purged_text_is_nowhere_in_files_and_answers_also_of_a_server_that_knew_it(
    machine: Machine, tmp_path: Path
) -> None:
    async with machine.connection() as warm:
        assert WORD in await answers(warm)
        erased = await machine.people(lambda fleet: erase(fleet, TEXT))
        assert (erased.left, erased.is_scrubbed) == ((), True)
        assert WORD not in await answers(warm)
        assert holds(tmp_path) == []
    async with machine.connection() as fresh:
        text = await answers(fresh)
        assert WORD not in text
        assert "firmware" in text
    await machine.people(lambda fleet: maintain_fleet(fleet, no_progress))
    assert holds(tmp_path) == []
    assert (await machine.people(lambda fleet: preview_erasure(fleet, TEXT))).documents == {}


async def killed() -> None:
    raise StoreUnavailableError("The connection was cut.")


@pytest.mark.parametrize(
    "wanted", [TEXT, Wanted(program="basher"), Wanted(entry=KEY)], ids=["text", "program", "entry"]
)
async def test_a_purge_that_is_killed_anywhere_is_finished_by_the_next(
    machine: Machine, wanted: Wanted, tmp_path: Path
) -> None:
    killed_at, finished = 1, False
    while not finished:
        folder = tmp_path / f"killed-{killed_at}"
        folder.mkdir()
        other = Machine(folder)
        shutil.copy(machine.store, other.store)
        other.now = machine.now
        finished = await other.people(partial(_erase_killed, wanted, killed_at))
        other.later(1 / 24)  # the lease of a killed run ends
        if not finished:
            await other.people(lambda fleet: _erase_again(fleet, wanted))
        await other.people(lambda fleet: _assert_gone(fleet, wanted))
        if wanted is TEXT:
            assert holds(folder) == []
        killed_at += 2  # each commit of a purge is followed by one of the same kind, or tried by the other wishes
    assert killed_at > 5


async def _erase_killed(wanted: Wanted, survived: int, fleet: Fleet) -> bool:
    commits = itertools.count()

    def is_next(_writes: Sequence[Write]) -> bool:
        return next(commits) == survived

    try:
        await erase(interrupted(fleet, is_next, killed), wanted)
    except StoreUnavailableError:
        return False
    return True


async def _erase_again(fleet: Fleet, wanted: Wanted) -> None:
    with suppress(KnowledgeNotFoundError):  # the entry is gone, and nothing of it is left
        assert (await erase(fleet, wanted)).left == ()


async def _assert_gone(fleet: Fleet, wanted: Wanted) -> None:
    assert (await _preview_or_none(fleet, wanted)) == {}
    rows = {row.key: row.pattern for row in (await fleet.knowledge.snapshots.read()).rows}
    entries = {one.entry.key: one.entry for one in await fleet.knowledge.all() if one.entry}
    assert rows.keys() <= entries.keys()
    assert wanted.entry not in entries
    for entry in entries.values():
        assert wanted.program not in {line.program_id for line in entry.provenance}
    if wanted.program:
        assert not (await fleet.programs.read(wanted.program)).exists
    keys = {lesson.knowledge_key for one in await fleet.programs.all() for lesson in one.program.patterns.values()}
    assert keys - {None} <= entries.keys()


async def _preview_or_none(fleet: Fleet, wanted: Wanted) -> dict[str, int]:
    try:
        return (await preview_erasure(fleet, wanted)).documents
    except KnowledgeNotFoundError:
        return {}
