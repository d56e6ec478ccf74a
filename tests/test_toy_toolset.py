"""Each member of a toolset does what `Toolset` says, in one toolset that has them all."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from mcp import Client

from fleet_memory import extensions
from fleet_memory.cli import main
from fleet_memory.clients.hooks import answer_hook
from fleet_memory.clients.identity import HookState
from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.deletion import delete_program
from fleet_memory.jobs.erasing import Wanted, erase
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.jobs.policy import set_policy
from fleet_memory.rules.erasing import DocumentFields
from fleet_memory.rules.retrieval.budget import MIN_TOKENS
from fleet_memory.server.app import create_server
from fleet_memory.settings import Settings
from fleet_memory.stores import Query
from tests.bounds import HANG_S
from tests.calls import call, refusal
from tests.fleets import NOW, at, learn
from tests.lessons import days
from tests.moving import bring, export_to
from tests.test_window import let_in
from tests.toy_toolset import SHELF, ShelfPolicy, borrow_fixture

pytestmark = pytest.mark.anyio

WHY = "The vault is at Elm Street"


@pytest.fixture
def settings(settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Settings:
    """Those of a machine on which the toy is installed and served beside the core."""
    monkeypatch.setitem(extensions.OWN["toolsets"], "shelf", "tests.toy_toolset:SHELF")
    for name, value in (
        ("STORE", str(settings.store)),
        ("EMBEDDER", "lexical"),
        ("TOOLSETS", "core,shelf"),
    ):
        monkeypatch.setenv(f"FLEET_MEMORY_{name}", value)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)
    return replace(settings, toolsets=("core", "shelf"))


@pytest.fixture
async def client(settings: Settings) -> AsyncIterator[Client]:
    with anyio.fail_after(HANG_S):
        async with Client(create_server(settings), raise_exceptions=True) as client:
            yield client


@pytest.fixture
def empty(fleet: Fleet) -> Fleet:
    """Another fleet of this store, with the same toolsets."""
    return replace(Fleet.on(fleet.store, "there", fleet.embedder, fleet.now), toolsets=[SHELF])


async def loans(fleet: Fleet) -> dict[str, DocumentFields]:
    found = await fleet.store.find(Query(fleet.paths.collection("loans")))
    return {document.ref.id: document.fields for document in found}


async def test_its_tool_is_listed_and_answers(client: Client) -> None:
    assert "borrow_fixture" in {tool.name for tool in (await client.list_tools()).tools}
    loan = await call(client, "borrow_fixture", fixture="clock", why=WHY)
    assert (loan["programId"], loan["fixture"], loan["why"]) == ("basher", "clock", WHY)


async def test_a_toolset_that_is_not_served_is_named_to_who_calls_its_tool(
    settings: Settings,
) -> None:
    core = replace(settings, toolsets=("core",))
    with anyio.fail_after(HANG_S):
        async with Client(create_server(core)) as client:
            assert "borrow_fixture" not in {it.name for it in (await client.list_tools()).tools}
            assert "shelf" not in (client.instructions or "")
            refused = await refusal(client, "borrow_fixture", fixture="clock", why=WHY)
            assert "toolset shelf" in refused


async def test_its_instruction_is_a_numbered_step_of_what_an_agent_is_told(
    client: Client,
) -> None:
    steps = (client.instructions or "").splitlines()
    assert [step.lstrip("0123456789. ") for step in steps if "borrow" in step] == [
        *SHELF.instructions
    ]


async def test_its_prompt_is_listed_and_worded_for_an_agent(client: Client) -> None:
    (listed,) = [it for it in (await client.list_prompts()).prompts if it.title == "Return"]
    assert (listed.name, listed.description) == ("return_fixtures", "Bring fixtures back.")
    told = await client.get_prompt("return_fixtures", {"agentId": "iso"})
    assert "iso, bring your fixtures back." in told.model_dump_json()


async def test_its_hook_line_comes_at_the_start_of_a_session(settings: Settings) -> None:
    given = {"cwd": "/somewhere/basher", "hook_event_name": "SessionStart", "source": "startup"}
    told = await answer_hook(settings, "SessionStart", given, HookState(None))
    text = json.loads(told)["hookSpecificOutput"]["additionalContext"]
    assert SHELF.hook in text.splitlines()
    core = replace(settings, toolsets=("core",))
    assert SHELF.hook not in await answer_hook(core, "SessionStart", given, HookState(None))


@pytest.mark.usefixtures("settings")
def test_its_command_answers_a_person_with_arguments_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for program, fixture in (("iso", "clock"), ("ram", "disk")):
        loan = {"programId": program, "fixture": fixture, "why": WHY}
        assert main(["call", "borrow_fixture", json.dumps(loan)]) == 0
    capsys.readouterr()
    assert main(["shelf", "--program", "iso", "--json"]) == 0
    assert [it["fixture"] for it in json.loads(capsys.readouterr().out)["loans"]] == ["clock"]
    assert main(["shelf"]) == 0
    shown = capsys.readouterr().out
    assert all(fixture in shown for fixture in ("clock", "disk"))
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "list loans" in capsys.readouterr().out


async def test_its_documents_are_exported_imported_by_id_and_united(
    fleet: Fleet, empty: Fleet, file: Path
) -> None:
    await borrow_fixture(at(fleet, NOW), "iso", "clock", "Leap seconds")
    await borrow_fixture(at(fleet, NOW + days(1)), "iso", "disk", "A full one")
    await export_to(fleet, file)
    await borrow_fixture(at(empty, NOW + days(2)), "ram", "clock", "Summer time")
    await borrow_fixture(at(empty, NOW), "ram", "disk", "A slow one")
    await bring(empty, file)
    brought = await loans(empty)
    assert {id_: it["why"] for id_, it in brought.items()} == {
        "clock": "Summer time",
        "disk": "A full one",
    }
    assert (await bring(empty, file)).written == 0
    with pytest.raises(InvalidArgumentError, match=r"^loans: no toolset of these documents"):
        await bring(replace(empty, toolsets=()), file)


@pytest.mark.parametrize(
    ("wanted", "left"),
    [(Wanted(program="iso"), {"disk"}), (Wanted(text="elm street"), {"clock"})],
    ids=["program", "text"],
)
async def test_a_purge_leaves_of_its_documents_what_erased_returns(
    fleet: Fleet, wanted: Wanted, left: set[str]
) -> None:
    await borrow_fixture(fleet, "iso", "clock", "Leap seconds")
    await borrow_fixture(fleet, "ram", "disk", WHY)
    erased = await erase(fleet, wanted)
    assert (erased.left, {*await loans(fleet)}) == ((), left)


async def test_a_deleted_program_leaves_none_of_its_documents(fleet: Fleet) -> None:
    await learn(fleet, "iso", "Check that the vault is shut")
    await borrow_fixture(fleet, "iso", "clock", "Leap seconds")
    await borrow_fixture(fleet, "ram", "disk", WHY)
    await delete_program(fleet, "iso")
    assert {*await loans(fleet)} == {"disk"}


async def test_its_section_stands_in_a_boot_and_its_budget_cuts_it(client: Client) -> None:
    for number in range(40):
        await call(client, "borrow_fixture", fixture=f"f{number}", why="Leap seconds " * 20)
    whole = await call(client, "gsp_bootstrap", agentId="basher", maxTokens=16000)
    cut = await call(client, "gsp_bootstrap", agentId="basher", maxTokens=MIN_TOKENS)
    counts = [
        (len(boot.get("toolsets", {}).get("shelf", ())), boot["omitted"].get("shelf", 0))
        for boot in (whole, cut)
    ]
    assert [shown + omitted for shown, omitted in counts] == [40, 40]
    assert 0 < counts[0][0] > counts[1][0]


async def test_the_items_of_a_boot_stand_as_lines_in_its_text(settings: Settings) -> None:
    arguments = {"programId": "basher", "fixture": "clock", "why": WHY}
    with anyio.fail_after(HANG_S):
        async with Client(create_server(settings)) as client:
            await client.call_tool("borrow_fixture", arguments)
    given = {"cwd": "/somewhere/basher", "hook_event_name": "SessionStart", "source": "startup"}
    told = await answer_hook(settings, "SessionStart", given, HookState(None))
    text = json.loads(told)["hookSpecificOutput"]["additionalContext"]
    assert "Fixtures that you borrowed" in text
    assert f"You have clock: {WHY}" in text


async def test_its_health_stands_in_memory_health_of_a_program(client: Client) -> None:
    await call(client, "borrow_fixture", fixture="clock", why=WHY)
    assert (await call(client, "memory_health"))["toolsets"] == {"shelf": {"borrowed": 1}}


async def test_a_value_of_its_policy_is_set_and_decides_what_maintenance_changes(
    fleet: Fleet,
) -> None:
    await borrow_fixture(at(fleet, NOW), "iso", "clock", WHY)
    later = at(fleet, NOW + days(3))
    assert (await maintain_fleet(later, no_progress)).toolsets is None
    assert await set_policy(fleet, ["shelf.maxDays", "2"])
    assert await fleet.policy_of("shelf", ShelfPolicy) == ShelfPolicy(max_days=2)
    assert (await maintain_fleet(later, no_progress)).toolsets == {"shelf": 1}
    assert await loans(fleet) == {}
    with pytest.raises(InvalidArgumentError, match=r"shelf\.maxDays"):
        await set_policy(fleet, ["shelf.maxDays", "400"])


async def test_a_purge_calls_maintain_when_the_documents_are_done(fleet: Fleet) -> None:
    await borrow_fixture(at(fleet, NOW - days(60)), "iso", "old", "Leap seconds")
    await borrow_fixture(at(fleet, NOW), "ram", "disk", WHY)
    await erase(at(fleet, NOW), Wanted(program="ram"))
    assert await loans(fleet) == {}


async def test_its_rows_stand_in_the_activity_of_the_window_and_open_its_records(
    fleet: Fleet,
) -> None:
    await borrow_fixture(fleet, "iso", "clock", WHY)
    person = await let_in(fleet)
    assert "borrowed clock" in await person.page("/activity")
    (row,) = (await person.twin("/activity"))["feed"]
    record = await person.twin("/record", toolset=row["toolset"], id=row["record"])
    assert record["record"]["why"] == WHY
    assert WHY in await person.page("/record", toolset="shelf", id="clock")
