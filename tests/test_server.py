"""The assembled server: its description, its clock, and when it opens its fleet."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest
from mcp import Client

from fleet_memory import __version__
from fleet_memory.clock import clock
from fleet_memory.errors import StoreError
from fleet_memory.fleet import Fleet, Toolset
from fleet_memory.schemas.programs import Caller
from fleet_memory.server.audience import instructions
from fleet_memory.server.composition import LazyFleet
from fleet_memory.settings import TOOLSETS, Settings, load
from tests.bounds import HANG_S
from tests.matrix import BY_NAME

START = datetime(2026, 3, 7, 12, 0, 0, 123_456, tzinfo=UTC)


@pytest.mark.anyio
async def test_it_names_itself_and_the_first_call(client: Client) -> None:
    about = client.server_info
    assert about is not None
    assert (about.name, about.title, about.version) == ("fleet-memory", "Fleet Memory", __version__)
    assert client.instructions == instructions(of("core"))


def of(*names: str) -> list[Toolset]:
    return [BY_NAME[name] for name in names]


SERVED = (of("core"), of("core", "session"), of(*TOOLSETS))


@pytest.mark.parametrize("toolsets", SERVED)
def test_the_instructions_fit_where_clients_cut_them(toolsets: list[Toolset]) -> None:
    assert len(instructions(toolsets).encode()) < 1000


@pytest.mark.parametrize("toolsets", SERVED)
def test_the_instructions_name_only_tools_that_the_server_offers(toolsets: list[Toolset]) -> None:
    offered = {tool.name for toolset in toolsets for tool in toolset.tools}
    assert set(re.findall(r"[a-z]+_[a-z]+", instructions(toolsets))) <= offered


@pytest.mark.parametrize("toolsets", SERVED)
def test_the_instructions_lead_through_a_session_in_its_order(toolsets: list[Toolset]) -> None:
    steps = (
        "gsp_bootstrap",
        "recall_memory",
        "store_memory",
        "reinforce_memory",
        "judge each pair",
        "End:",
    )
    assert sorted(steps, key=instructions(toolsets).index) == list(steps)


@pytest.mark.parametrize("start", [None, START])
def test_the_clock_is_utc_in_milliseconds_and_never_goes_back(start: datetime | None) -> None:
    now = clock(start)
    instants = [now() for _ in range(100)]
    assert {instant.microsecond % 1000 for instant in instants} == {0}
    assert {instant.tzinfo for instant in instants} == {UTC}
    assert start is None or instants == sorted(instants)  # the real time may be set back


def test_a_clock_that_is_set_starts_there() -> None:
    assert (
        timedelta(0) <= clock(START)() - START.replace(microsecond=123_000) < timedelta(minutes=1)
    )


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


@pytest.fixture
def lazy(settings: Settings) -> Callable[..., LazyFleet]:
    return lambda given=settings: LazyFleet(given, clock(None))


@pytest.mark.anyio
async def test_many_first_calls_open_one_fleet(lazy: Callable[..., LazyFleet]) -> None:
    holder, fleets = lazy(), list[Fleet]()

    async def open_it() -> None:
        fleets.append(await holder.fleet())

    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(open_it)
        await holder.close()
    assert len(fleets) == 20
    assert all(fleet is fleets[0] for fleet in fleets)


@pytest.mark.anyio
async def test_a_fleet_is_bound_to_the_program_of_the_settings(
    lazy: Callable[..., LazyFleet], tmp_path: Path
) -> None:
    settings = load(
        {"store": str(tmp_path / "m.db"), "embedder": "lexical", "program": "basher"}, {}
    )
    with anyio.fail_after(HANG_S):
        assert (await lazy(settings).fleet()).caller == Caller("basher")


@pytest.mark.anyio
async def test_a_fleet_is_closed_even_while_the_server_is_cancelled(
    lazy: Callable[..., LazyFleet], tmp_path: Path
) -> None:
    holder = lazy()
    with anyio.fail_after(HANG_S):
        fleet = await holder.fleet()
        await fleet.programs.read("basher")
        with anyio.CancelScope() as scope:
            scope.cancel()
            await holder.close()
    assert names(tmp_path) == ["memory.db"]  # the last to close removes SQLite's log


@pytest.mark.anyio
async def test_a_failure_to_open_is_not_remembered(
    lazy: Callable[..., LazyFleet], tmp_path: Path
) -> None:
    (tmp_path / "blocked").write_text("a file where a folder should be")
    holder = lazy(
        load({"store": str(tmp_path / "blocked" / "memory.db"), "embedder": "lexical"}, {})
    )
    with anyio.fail_after(HANG_S):
        with pytest.raises(StoreError):
            await (await holder.fleet()).programs.read("basher")
        (tmp_path / "blocked").unlink()
        assert not (await (await holder.fleet()).programs.read("basher")).exists
        await holder.close()
