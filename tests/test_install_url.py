"""Installing a service behind an address: each client's own form, no token in any file, and a way
back.
"""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from fleet_memory.cli import main
from tests.homes import put_codex, use_home

URL = "https://fleet.example/mcp"
TOKEN = "fm_0123456789_secret"  # noqa: S105 made up for this test
# client -> its file below the home folder, the key of its servers, and the entry by the client's
# documentation
ENTRIES: Mapping[str, tuple[str, str, Mapping[str, object]]] = {
    "claude-code": (
        ".claude.json",
        "mcpServers",
        {"type": "http", "url": URL, "headers": {"Authorization": "Bearer ${FLEET_MEMORY_TOKEN}"}},
    ),
    "cursor": (
        ".cursor/mcp.json",
        "mcpServers",
        {"url": URL, "headers": {"Authorization": "Bearer ${env:FLEET_MEMORY_TOKEN}"}},
    ),
    "vscode": (
        ".config/Code/User/mcp.json",
        "servers",
        {
            "type": "http",
            "url": URL,
            "headers": {"Authorization": "Bearer ${env:FLEET_MEMORY_TOKEN}"},
        },
    ),
    "codex": (
        ".codex/config.toml",
        "mcp_servers",
        {"url": URL, "bearer_token_env_var": "FLEET_MEMORY_TOKEN"},
    ),
    "gemini": (
        ".gemini/settings.json",
        "mcpServers",
        {"httpUrl": URL, "headers": {"Authorization": "Bearer ${FLEET_MEMORY_TOKEN}"}},
    ),
    "windsurf": (
        ".codeium/windsurf/mcp_config.json",
        "mcpServers",
        {"serverUrl": URL, "headers": {"Authorization": "Bearer ${env:FLEET_MEMORY_TOKEN}"}},
    ),
    "opencode": (
        ".config/opencode/opencode.json",
        "mcp",
        {
            "type": "remote",
            "url": URL,
            "headers": {"Authorization": "Bearer {env:FLEET_MEMORY_TOKEN}"},
        },
    ),
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use_home(tmp_path, monkeypatch)
    put_codex(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FLEET_MEMORY_TOKEN", TOKEN)
    return tmp_path


def install(client: str, *words: str) -> int:
    return main(["install", client, "--yes", *words])


def install_url(client: str, *words: str) -> int:
    return install(client, "--url", URL, "--token-env", "FLEET_MEMORY_TOKEN", *words)


def servers_of(home: Path, client: str) -> dict[str, object]:
    name, key, _ = ENTRIES[client]
    text = (home / name).read_text()
    servers = (tomllib.loads(text) if name.endswith(".toml") else json.loads(text))[key]
    assert isinstance(servers, dict)
    return servers


def files(home: Path) -> dict[Path, bytes]:
    return {
        file: file.read_bytes()
        for file in home.rglob("*")
        if file.is_file() and file.name != "codex"
    }


@pytest.mark.parametrize("client", ENTRIES)
def test_the_entry_is_as_the_client_documents_it_and_no_file_has_the_token(
    home: Path, client: str
) -> None:
    assert install_url(client) == 0
    assert servers_of(home, client) == {"fleet-memory": ENTRIES[client][2]}
    assert [file for file, content in files(home).items() if TOKEN.encode() in content] == []


@pytest.mark.parametrize("client", ENTRIES)
def test_twice_is_once_and_undo_without_the_address_leaves_nothing(home: Path, client: str) -> None:
    install_url(client)
    once = files(home)
    assert install_url(client) == 0
    assert files(home) == once
    assert install(client, "--undo") == 0
    assert files(home) == {}


@pytest.mark.parametrize("client", ENTRIES)
def test_it_takes_the_place_of_our_local_entry_and_undo_leaves_nothing(
    home: Path, client: str
) -> None:
    assert install(client) == 0
    assert install_url(client) == 0
    assert servers_of(home, client) == {"fleet-memory": ENTRIES[client][2]}
    assert install(client, "--undo") == 0
    assert files(home) == {}


def test_it_takes_the_place_of_an_owner_s_entry_with_all_its_keys_and_neighbours_stay(
    home: Path,
) -> None:
    file = home / ".cursor/mcp.json"
    mine = {"command": "fleet-memory", "timeout": 5, "env": {"FLEET_MEMORY_STORE": "team.db"}}
    file.parent.mkdir(parents=True, exist_ok=True)
    weather = {"command": "npx"}
    file.write_text(json.dumps({"mcpServers": {"fleet-memory": mine, "weather": weather}}))
    assert install_url("cursor") == 0
    ours = ENTRIES["cursor"][2]
    assert servers_of(home, "cursor") == {"fleet-memory": ours, "weather": weather}
    assert install("cursor", "--undo") == 0
    assert servers_of(home, "cursor") == {"weather": weather}


def test_another_address_takes_the_place_of_the_first(home: Path) -> None:
    install_url("cursor")
    assert install("cursor", "--url", "https://other.example", "--token-env", "OTHER_TOKEN") == 0
    assert servers_of(home, "cursor")["fleet-memory"] == {
        "url": "https://other.example/mcp",
        "headers": {"Authorization": "Bearer ${env:OTHER_TOKEN}"},
    }


def test_a_service_that_takes_no_token_gets_no_header(home: Path) -> None:
    assert install("cursor", "--url", "http://127.0.0.1:8765") == 0
    assert servers_of(home, "cursor")["fleet-memory"] == {"url": "http://127.0.0.1:8765/mcp"}


def test_hooks_that_read_this_machine_s_memory_are_removed_and_reported(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = home / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_text('{"model": "opus"}\n')
    install("claude-code")
    assert "hooks" in settings.read_text()
    capsys.readouterr()
    assert install_url("claude-code") == 0
    assert json.loads(settings.read_text()) == {"model": "opus"}
    assert "  - hooks.Stop.hooks: " in capsys.readouterr().err


def test_a_team_s_file_names_no_machine_and_no_token(home: Path) -> None:
    assert install_url("claude-code", "--project") == 0
    assert json.loads((home / ".mcp.json").read_text()) == {
        "mcpServers": {"fleet-memory": ENTRIES["claude-code"][2]}
    }


def test_a_client_without_addresses_is_refused_with_another_way(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert install_url("claude-desktop") == 2
    assert "add https://fleet.example/mcp under Settings, Connectors" in capsys.readouterr().err
    assert files(home) == {}


NO_ADDRESS = (
    "--url: it must be an http or https address without a user, a query or a fragment, "
    "e.g. https://"
)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--url", "fleet.example"], NO_ADDRESS),
        (["--url", "https://"], NO_ADDRESS),
        (["--url", "https://fleet.example:x/mcp"], NO_ADDRESS),
        (["--url", "https://me:pw@fleet.example/mcp"], NO_ADDRESS),
        (["--url", f"https://fleet.example/mcp?token={TOKEN}"], NO_ADDRESS),
        (
            ["--url", URL, "--token-env", TOKEN],
            "a token that was given here is in your shell's history",
        ),
        (["--url", URL, "--token-env", "$TOKEN"], "--token-env: it must be the name"),
        (["--url", URL, "--token-env", '"}, "command": "sh'], "--token-env: it must be the name"),
        (["--token-env", "FLEET_MEMORY_TOKEN"], "--token-env: it counts with --url only"),
        (["--url", URL, "--agent", "basher"], "--program: it does not count with --url"),
        (["--url", URL, "--store", "team.db"], "--store: it does not count with --url"),
    ],
)
def test_flags_that_do_not_fit_are_refused_without_a_change_and_without_the_token(
    home: Path, capsys: pytest.CaptureFixture[str], words: list[str], problem: str
) -> None:
    assert install("cursor", *words) == 2
    complaint = capsys.readouterr().err
    assert problem in complaint
    assert TOKEN not in complaint
    assert files(home) == {}


def test_a_token_in_the_clear_is_named(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        install(
            "cursor",
            "--url",
            "http://fleet.example",
            "--token-env",
            "FLEET_MEMORY_TOKEN",
            "--dry-run",
        )
        == 0
    )
    assert "can read the token and every lesson; use https" in capsys.readouterr().out
    assert files(home) == {}
