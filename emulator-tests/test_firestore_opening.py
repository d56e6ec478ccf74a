"""Every failure to open Firestore is reported within 5 seconds, with the command to run, and is not
remembered.
"""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

import anyio
import grpc
import grpc.aio
import pytest
from agents import agent, served
from emulator import VARIABLE, free_port
from surroundings import Around

from fleet_memory.errors import StoreError, StoreRejectedError, StoreUnavailableError
from fleet_memory.stores import OTHER_SHAPE, Json, Query, Ref, Write
from fleet_memory.stores.firestore import FirestoreStore, failures, opening
from tests import forked
from tests.bounds import HANG_S

pytestmark = pytest.mark.anyio

ENTRY, ENTRIES = Ref("fleets/f1/gsp", "entry"), Query("fleets/f1/gsp")
SECRETS = ("fl33t-project", "127.0.0.1", "refresh-me", "login.json")
NOW = "2026-03-01T09:00:00Z"


class Cause(NamedTuple):
    """A way to cause a failure, and its message."""

    arrange: Callable[[Around], Awaitable[None]]
    kind: type[StoreError]
    message: str


CAUSES: dict[str, Cause] = {}


def cause(message: str, kind: type[StoreError] = StoreRejectedError) -> Callable[..., None]:
    def keep(arrange: Callable[[Around], Awaitable[None]]) -> None:
        CAUSES[arrange.__name__.replace("_", " ")] = Cause(arrange, kind, message)

    return keep


@cause(failures.NO_CREDENTIALS)
async def no_credentials(_: Around) -> None:
    pass


@cause(failures.NO_CREDENTIALS)
async def no_credentials_and_a_silent_metadata_server(around: Around) -> None:
    around.patch.setenv("GCE_METADATA_IP", around.silence())


@cause(failures.NO_CREDENTIALS)
async def credentials_in_a_missing_file(around: Around) -> None:
    around.patch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(around.folder / "login.json"))


@cause(failures.NO_CREDENTIALS)
async def credentials_that_are_no_json(around: Around) -> None:
    around.credentials("my password")


@cause(failures.REFUSED_CREDENTIALS)
async def an_expired_login(around: Around) -> None:
    around.login(
        around.web_server(
            400, {"error": "invalid_grant", "error_description": "Token has been expired"}
        )
    )


@cause(failures.REFUSED_CREDENTIALS)
async def the_key_of_a_deleted_service_account(around: Around) -> None:
    around.service_account(
        around.web_server(400, {"error": "invalid_grant", "error_description": "Invalid key"})
    )


@cause(failures.UNREACHABLE, StoreUnavailableError)
async def no_network(around: Around) -> None:
    around.login(f"127.0.0.1:{free_port()}")


@cause(failures.UNREACHABLE, StoreUnavailableError)
async def a_silent_login_server_and_no_firestore(around: Around) -> None:
    around.login(around.silence())


@cause(failures.UNREACHABLE, StoreUnavailableError)
async def an_unreachable_firestore(around: Around) -> None:
    around.login(
        around.web_server(
            200, {"access_token": "token", "expires_in": 3600, "token_type": "Bearer"}
        )
    )


@cause(failures.SILENT, StoreUnavailableError)
async def a_silent_firestore(around: Around) -> None:
    around.login(
        around.web_server(
            200, {"access_token": "token", "expires_in": 3600, "token_type": "Bearer"}
        )
    )
    around.network(around.silence())


@cause(failures.NO_EMULATOR, StoreUnavailableError)
async def nothing_at_the_emulators_address(around: Around) -> None:
    around.patch.setenv(VARIABLE, f"127.0.0.1:{free_port()}")


@cause(failures.NO_EMULATOR, StoreUnavailableError)
async def something_silent_at_the_emulators_address(around: Around) -> None:
    around.patch.setenv(VARIABLE, around.silence())


@cause(failures.NO_EMULATOR, StoreUnavailableError)
async def an_emulators_address_with_a_scheme(around: Around) -> None:
    around.patch.setenv(VARIABLE, f"http://127.0.0.1:{free_port()}")


@cause(failures.NO_EMULATOR, StoreUnavailableError)
async def a_web_server_at_the_emulators_address(around: Around) -> None:
    around.patch.setenv(VARIABLE, around.web_server(200, {}))


@cause(failures.NO_PROJECT)
async def a_wrong_project(around: Around) -> None:
    await around.google(grpc.StatusCode.PERMISSION_DENIED, "CONSUMER_INVALID")


@cause(failures.API_OFF)
async def a_project_without_firestore(around: Around) -> None:
    await around.google(grpc.StatusCode.PERMISSION_DENIED, "SERVICE_DISABLED")


@cause(failures.NO_DATABASE)
async def a_missing_database(around: Around) -> None:
    await around.google(grpc.StatusCode.NOT_FOUND)


@cause(failures.NO_PERMISSION)
async def no_permission(around: Around) -> None:
    await around.google(grpc.StatusCode.PERMISSION_DENIED)


@cause(failures.REFUSED_CREDENTIALS)
async def revoked_credentials(around: Around) -> None:
    await around.google(grpc.StatusCode.UNAUTHENTICATED)


@cause(failures.NOT_READY)
async def a_database_in_datastore_mode(around: Around) -> None:
    await around.google(grpc.StatusCode.FAILED_PRECONDITION)


@cause(failures.NO_QUOTA, StoreUnavailableError)
async def no_quota_left(around: Around) -> None:
    await around.google(grpc.StatusCode.RESOURCE_EXHAUSTED)


@pytest.fixture
async def around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Around]:
    assert opening.OPEN_WITHIN_S < 5  # seconds until an agent gets the reason
    async with AsyncExitStack() as until_the_end:
        yield Around(tmp_path, monkeypatch, until_the_end)


@pytest.mark.parametrize("name", CAUSES)
async def test_a_failure_is_reported_in_time_and_without_secrets(name: str, around: Around) -> None:
    arrange, kind, message = CAUSES[name]
    await arrange(around)
    store = FirestoreStore("fl33t-project")
    for _ in range(2):
        with anyio.fail_after(HANG_S), pytest.raises(StoreError) as caught:
            await store.find(ENTRIES)
        assert (type(caught.value), str(caught.value)) == (kind, message)
        assert [secret for secret in SECRETS if secret in str(caught.value)] == []
        assert "fl33t-project" in caught.value.operator_detail
    await store.close()


def test_a_cause_has_a_message_of_its_own() -> None:
    said = {message for _, _, message in CAUSES.values()}
    assert len(said) >= 9
    assert [message for message in said if not message.endswith(".")] == []


async def test_a_failure_to_open_is_not_remembered(
    project: str, around: Around, emulator: str
) -> None:
    around.patch.setenv(VARIABLE, f"127.0.0.1:{free_port()}")
    store = FirestoreStore(project)
    with pytest.raises(StoreUnavailableError):
        await store.get(ENTRY)
    around.patch.setenv(VARIABLE, emulator)
    assert await store.get(ENTRY) == [None]
    await store.close()


@pytest.mark.parametrize("shape", [None, {"name": 99}])
async def test_a_database_of_another_shape_is_refused_and_left_as_it_is(
    shape: dict[str, Json] | None, project: str
) -> None:
    place, store = Ref("fleet_memory", "shape"), FirestoreStore(project)
    await store.commit(Write(ENTRY, {"n": 1}), Write(place, shape))
    await store.close()
    for _ in range(2):
        with pytest.raises(StoreRejectedError) as caught:
            await store.commit(Write(ENTRY, {"n": 2}))
        assert str(caught.value) == OTHER_SHAPE
        await store.close()


async def test_a_database_of_another_name_has_data_of_its_own(project: str) -> None:
    one, other = FirestoreStore(project), FirestoreStore(project, "lessons")
    await one.commit(Write(ENTRY, {"n": 1}))
    assert await other.get(ENTRY) == [None]
    await one.close()
    await other.close()


async def test_an_empty_emulator_variable_counts_as_unset(around: Around) -> None:
    around.patch.setenv(VARIABLE, "")
    with anyio.fail_after(HANG_S), pytest.raises(StoreRejectedError) as caught:
        await FirestoreStore("fl33t-project").get(ENTRY)
    assert str(caught.value) == failures.NO_CREDENTIALS


async def test_closing_really_closes(project: str) -> None:
    store = FirestoreStore(project)
    await store.get(ENTRY)
    channel: grpc.aio.Channel = (await store._open())._channel
    assert channel.get_state() is grpc.ChannelConnectivity.READY
    await store.close()
    assert channel.get_state() is grpc.ChannelConnectivity.SHUTDOWN


async def test_a_server_starts_without_the_client_and_answers_each_call_with_the_failure(
    around: Around,
) -> None:
    around.patch.setenv(VARIABLE, f"127.0.0.1:{free_port()}")
    async with agent("firestore://fl33t-project", now=NOW, embedder="lexical") as one:
        assert len((await one.client.list_tools()).tools) >= 6
        for _ in range(2):
            said = await one.refused("memory_health", programId="basher")
            assert said == f"store_unavailable: {failures.NO_EMULATOR} (retryable)"


@pytest.mark.parametrize(
    "command", [["list", "entries"], ["call", "memory_health", '{"programId": "basher"}']]
)
@pytest.mark.usefixtures("around")
async def test_a_command_reports_it_without_a_traceback_and_with_its_code(
    command: list[str],
) -> None:
    settings = {
        "FLEET_MEMORY_STORE": "firestore://fl33t-project",
        "FLEET_MEMORY_EMBEDDER": "lexical",
    }
    child = served([*forked.words(), *command], settings)
    with anyio.fail_after(HANG_S):
        done = await anyio.run_process([child.command, *child.args], env=child.env, check=False)
    assert (done.returncode, done.stdout) == (3, b"")
    last = done.stderr.decode().splitlines()[-1]
    assert last.startswith("fleet-memory: ")
    assert failures.NO_CREDENTIALS in last
    assert b"Traceback" not in done.stderr


async def test_importing_the_engine_does_not_import_the_client() -> None:
    code = (
        "import sys, fleet_memory.stores.firestore; print([name for name in sys.modules if "
        "name.startswith('g')])"
    )
    with anyio.fail_after(HANG_S):
        done = await anyio.run_process([sys.executable, "-c", code])
    assert "'google" not in done.stdout.decode()
    assert "'grpc" not in done.stdout.decode()
