"""Which program a call is of that names none: the one that the server is bound to, else that of
the client's folder.
"""

import nturl2path
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path, PureWindowsPath
from typing import NoReturn, TypedDict, Unpack

import anyio
import pytest
from anyio import to_thread
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.session import ClientRequestContext, ListRootsFnT
from mcp.client.stdio import stdio_client
from mcp.types import ErrorData, ListRootsResult, Root
from pydantic import AnyUrl, FileUrl

from fleet_memory.clients.identity import HookState
from fleet_memory.server import audience
from fleet_memory.server.app import create_server
from fleet_memory.settings import PROJECT_VARIABLE, SESSION_VARIABLE, TOOLSETS, Settings
from tests import forked
from tests.bounds import HANG_S
from tests.http_server import http_server
from tests.matrix import BY_NAME, STORED, arguments_of, named_by

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", ["auto", "legacy"])]

LESSON = {
    "pattern": "Close what you open",
    "domain": "tasks",
    "confidence": 0.5,
    "evidence": "Two files were left open",
}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return replace(settings, toolsets=TOOLSETS)


def cloned(*parts: str | Path) -> Path:
    """Return a folder with as much of a clone as git makes there."""
    top = Path(*parts)
    (top / ".git").mkdir(parents=True)
    (top / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    origin = '[remote "origin"]\n\turl = git@git.example:Acme/api.git\n'
    (top / ".git" / "config").write_text(origin, encoding="utf-8")
    return top


class Roots(TypedDict, total=False):
    """The option of a client that answers for its roots."""

    list_roots_callback: ListRootsFnT


def roots(*uris: str) -> Roots:
    """Return the option of a client with these roots, whatever they are."""

    async def listed(context: ClientRequestContext) -> ListRootsResult:  # noqa: ARG001 the signature is mcp's
        return ListRootsResult(roots=[Root(uri=_address(uri)) for uri in uris])

    return {"list_roots_callback": listed}


def _address(uri: str) -> FileUrl:
    """Return an address that mcp's client sends, also one that it would not make."""
    made = FileUrl("file:///")
    made._url = AnyUrl(uri)._url
    return made


@asynccontextmanager
async def over_stdio(
    tmp_path: Path,
    mode: str,
    *words: str,
    folder: Path | None = None,
    session: str = "",
    **options: Unpack[Roots],
) -> AsyncIterator[Client]:
    """Yield a client of a server as clients start one, whose user has a home of its own."""
    home = {name: str(tmp_path / "home") for name in ("HOME", "USERPROFILE", "XDG_STATE_HOME")}
    of_claude_code = {PROJECT_VARIABLE: str(folder or ""), SESSION_VARIABLE: session}
    environment = {**os.environ, **home, **of_claude_code}
    flags = ["--store", str(tmp_path / "memory.db"), "--embedder", "lexical", *words]
    command, *before = forked.words()
    server = StdioServerParameters(
        command=command, args=[*before, "serve", *flags], env=environment
    )
    with anyio.fail_after(HANG_S):
        async with Client(stdio_client(server), mode=mode, **options) as client:
            yield client


@asynccontextmanager
async def in_process(
    settings: Settings, mode: str, **options: Unpack[Roots]
) -> AsyncIterator[Client]:
    """Yield a client of a server that calls a folder's program by the folder's name."""
    server = create_server(settings, program_of=lambda folder: PureWindowsPath(folder).name)
    with anyio.fail_after(HANG_S):
        async with Client(server, mode=mode, **options) as client:
            yield client


async def recalled(client: Client, **arguments: object) -> tuple[object, str]:
    """Return the program that an answer names, and the text of a refusal."""
    result = await client.call_tool("recall_memory", arguments)
    text = "".join(block.text for block in result.content if block.type == "text")
    return (result.structured_content or {}).get("programId"), text if result.is_error else ""


async def test_clones_of_one_origin_are_one_program_by_a_flag_a_variable_and_a_root(
    tmp_path: Path, mode: str
) -> None:
    one, two = cloned(tmp_path, "one", "api"), cloned(tmp_path, "two", "elsewhere")
    (two / "src").mkdir()
    async with over_stdio(tmp_path, mode, "--folder", str(one)) as client:
        stored = await client.call_tool("store_memory", {"pattern": LESSON})
        assert (stored.structured_content or {})["programId"] == "acme.api"
    async with over_stdio(tmp_path, mode, folder=two / "src") as client:
        assert (await recalled(client))[0] == "acme.api"
    # a client without a project passes its variable as it is
    unset = ("--folder", "${workspaceFolder}")
    async with over_stdio(tmp_path, mode, *unset, **roots((two / "src").as_uri())) as client:
        answer = (await client.call_tool("recall_memory", {})).structured_content or {}
    assert (answer["programId"], answer["total"]) == ("acme.api", 1)


async def test_a_session_keeps_its_program_and_a_client_within_it_has_its_own_folders(
    tmp_path: Path, mode: str
) -> None:
    shop = cloned(tmp_path, "shop")
    state = HookState(tmp_path / "home" / "fleet-memory")
    earlier = {"program": "earlier"}  # before it had an origin
    await to_thread.run_sync(state.write, "sessions", "s1", earlier)
    async with over_stdio(tmp_path, mode, folder=shop, session="s1") as client:
        assert (await recalled(client))[0] == "earlier"
    # Claude Code's shell has the session's id too, and passes it on to a client that runs there
    async with over_stdio(tmp_path, mode, "--folder", str(shop), session="s1") as client:
        assert (await recalled(client))[0] == "acme.api"


async def test_every_tool_answers_a_call_that_names_no_program_and_names_the_one_that_it_took(
    settings: Settings, tmp_path: Path, mode: str
) -> None:
    (tmp_path / "shop").mkdir()
    about_one = [tool for name in settings.toolsets for tool in BY_NAME[name].tools]
    async with in_process(settings, mode, **roots((tmp_path / "shop").as_uri())) as client:
        for number, id_ in enumerate(STORED):
            lesson = LESSON | {"id": id_, "pattern": f"Close file {number}"}
            await client.call_tool("store_memory", {"pattern": lesson})
        for tool in [tool.name for tool in about_one if named_by(tool.name)]:
            result = await client.call_tool(tool, arguments_of(tool, None))
            answer = result.structured_content or {}
            assert answer.get("programId", answer.get("agentId")) == "shop", (tool, result.content)
            schema = next(
                each.input_schema for each in (await client.list_tools()).tools if each.name == tool
            )
            assert not {"programId", "agentId"} & set(schema.get("required", ()))
        said = client.instructions or ""
        # a subagent is told its name by a hook: it must not write as the program of the folder
        assert "Use the name that you were given" in said
        assert "given none, leave them out" in said


async def test_a_folder_is_a_default_and_binds_nobody(
    settings: Settings, tmp_path: Path, mode: str
) -> None:
    async with in_process(replace(settings, folder=tmp_path / "shop"), mode) as client:
        assert (await recalled(client))[0] == "shop"
        other = await client.call_tool("store_memory", {"agentId": "sark", "pattern": LESSON})
        assert (other.structured_content or {})["programId"] == "sark"
    bound = replace(settings, folder=tmp_path / "shop", program="basher")
    async with in_process(bound, mode) as client:
        for unnamed in ({}, {"programId": None}):
            assert (await recalled(client, **unnamed))[0] == "basher"
        assert await recalled(client, agentId="basher") == (None, "")
        assert "forbidden: You are basher" in (await recalled(client, programId="shop"))[1]


async def test_a_named_program_is_not_repeated_and_no_answer_grows_over_its_limit(
    settings: Settings, tmp_path: Path, mode: str
) -> None:
    name = "s" * 100
    async with in_process(replace(settings, folder=tmp_path / name), mode) as client:
        assert await recalled(client, programId=name) == (None, "")
        for number in range(40):
            words = {"pattern": f"Step {number}: {'look ' * 9}", "id": f"l{number}"}
            await client.call_tool("store_memory", {"pattern": LESSON | words})
        for limit in (200, 300, 400, 401):
            result = await client.call_tool("recall_memory", {"maxTokens": limit})
            assert (result.structured_content or {})["programId"] == name
            (block,) = result.content
            assert block.type == "text"
            assert len(block.text.encode()) <= 4 * limit


async def test_a_client_without_a_folder_of_this_machine_must_name_its_program(
    settings: Settings, tmp_path: Path, mode: str
) -> None:
    file = tmp_path / "file"
    file.write_text("no folder", encoding="utf-8")
    for uris in (
        (),
        ((tmp_path / "nowhere").as_uri(),),
        (file.as_uri(),),
        ("file://elsewhere" + tmp_path.as_posix(),),
        ("file:///a%00b",),
    ):
        async with in_process(settings, mode, **roots(*uris)) as client:
            program, refusal = await recalled(client)
            assert program is None
            wanted = "invalid_argument: programId: required, one name that you always use"
            assert refusal == wanted, uris
            assert await recalled(client, programId="basher") == (None, "")
    async with in_process(settings, mode) as client:
        assert "programId: required" in (await recalled(client))[1]
        schema = (await client.list_tools()).tools[0].input_schema
        assert {"programId", "agentId"} & set(schema["required"])


async def test_a_service_asks_no_caller_for_its_folders_and_has_none_of_its_own(
    tmp_path: Path, mode: str
) -> None:
    def asked(context: ClientRequestContext) -> NoReturn:  # noqa: ARG001 the signature is mcp's
        pytest.fail("a service asked for the folders of another machine")

    env = {"FLEET_MEMORY_FOLDER": str(tmp_path), PROJECT_VARIABLE: str(tmp_path)}
    with http_server(tmp_path / "memory.db", "--no-tokens", env={**os.environ, **env}) as server:
        with anyio.fail_after(HANG_S):
            async with Client(server.url, mode=mode, list_roots_callback=asked) as client:
                assert "programId: required" in (await recalled(client))[1]
                with pytest.raises(MCPError, match="agentId: required"):
                    await client.get_prompt("boot")
                for tool in (await client.list_tools()).tools:
                    if tool.name in ("recall_memory", "store_memory"):
                        assert "programId" in tool.input_schema["required"]


async def test_a_prompt_needs_no_name_where_a_root_names_the_program(
    settings: Settings, tmp_path: Path, mode: str
) -> None:
    shop, site = tmp_path / "shop", tmp_path / "site"
    for folder in (shop, site):
        folder.mkdir()
    async with in_process(settings, mode, **roots(shop.as_uri())) as client:
        for prompt in (await client.list_prompts()).prompts:
            named = [each for each in prompt.arguments or () if each.name == "agentId"]
            assert not any(argument.required for argument in named)
        for name in ("boot", "end_of_session"):
            assert '"shop"' in str(await client.get_prompt(name)), name
            assert '"shop"' not in str(await client.get_prompt(name, {"agentId": "sark"}))
    async with in_process(settings, mode, **roots(shop.as_uri(), site.as_uri())) as client:
        with pytest.raises(MCPError, match=r"^invalid_argument: agentId: name one of shop, site"):
            await client.get_prompt("boot")


async def test_a_root_of_windows_is_a_folder_whichever_way_its_colon_is_written(
    settings: Settings, tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "shop"
    if sys.platform != "win32":  # its rule for addresses, and a folder of the name that it makes
        monkeypatch.setattr(audience, "url2pathname", nturl2path.url2pathname)
        monkeypatch.chdir(tmp_path)
        folder = Path("C:\\shop")
    folder.mkdir()
    uri = f"file:///{folder.as_posix()}".replace("\\", "/")
    for colon in (":", "%3A", "%3a"):  # %3A is Visual Studio Code's
        root = "file:" + uri.removeprefix("file:").replace(":", colon)
        async with in_process(settings, mode, **roots(root)) as client:
            assert (await recalled(client))[0] == "shop", root


async def test_a_root_that_is_no_file_is_none(settings: Settings, mode: str) -> None:
    for uri in ("http://example.com/repo", "vscode-vfs://github/acme/api"):
        async with in_process(settings, mode, **roots(uri)) as client:
            if mode == "legacy":
                assert "programId: required" in (await recalled(client))[1]
                continue
            with pytest.raises(MCPError, match="Invalid request parameters"):  # mcp's own check
                await recalled(client)


async def test_a_client_that_does_not_answer_for_its_roots_is_waited_for_shortly(
    settings: Settings, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audience, "MAX_WAIT_S", 0.05)

    async def silent(context: ClientRequestContext) -> ListRootsResult:  # noqa: ARG001 the signature is mcp's
        await anyio.sleep_forever()
        raise AssertionError

    async def refusing(context: ClientRequestContext) -> ErrorData:  # noqa: ARG001 the same
        return ErrorData(code=-32601, message="no roots today")

    if mode == "legacy":  # since 2026-07-28 a client completes its own call
        for callback in (silent, refusing):
            async with in_process(settings, mode, list_roots_callback=callback) as client:
                assert "programId: required" in (await recalled(client))[1]


async def test_roots_of_two_projects_are_named_and_of_one_are_one(
    settings: Settings, tmp_path: Path, mode: str
) -> None:
    for name in ("a/shop", "b/shop", "b/site"):
        (tmp_path / name).mkdir(parents=True)
    same = [(tmp_path / name).as_uri() for name in ("a/shop", "b/shop")]
    async with in_process(settings, mode, **roots(*same)) as client:
        assert (await recalled(client))[0] == "shop"
    async with in_process(settings, mode, **roots(*same, (tmp_path / "b/site").as_uri())) as client:
        refusal = (await recalled(client))[1]
    assert "programId: name one of shop, site" in refusal
