"""Installs the wheel alone and with each extra, and runs what each must do.

    python scripts/check_extras.py UV WHEEL FOLDER

UV is the command of uv, FOLDER is where an environment for each is made. Leaves with 1 where the
default install needs an extra, an extra does not bring all that it needs, or the default install is
larger than `MAX_MB`.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.request import urlopen

import anyio
from mcp import Client, StdioServerParameters, stdio_client

MAX_MB: Final = 230  # of the default install, without bytecode; chosen: the model's engine is 155
LIMIT_S: Final = 60
FIRESTORE: Final = "firestore://demo-extras"
ANNOUNCEMENT: Final = "fleet-memory serves "
TOOL: Final = "recall_memory"


def main() -> None:
    """Check the default install, then each extra."""
    uv, wheel, folder = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    store = str(folder / "memory.db")
    # No file of this machine's user is read, and nothing is at the emulator's port
    surroundings = {
        **{name: text for name, text in os.environ.items() if "FLEET_MEMORY" not in name},
        "HOME": str(folder / "home"),
        "FLEET_MEMORY_STORE": store,
        "FLEET_MEMORY_EMBEDDER": "lexical",
        "FIRESTORE_EMULATOR_HOST": "127.0.0.1:1",
    }

    target = folder / "target"
    run([uv, "pip", "install", "--quiet", "--target", str(target), str(wheel)])
    files = [each for each in target.rglob("*") if each.is_file() and each.suffix != ".pyc"]
    megabytes = round(sum(each.stat().st_size for each in files) / 1e6)
    require(megabytes <= MAX_MB, f"the default install has {megabytes} MB, allowed are {MAX_MB}")
    print(f"default install: {megabytes} MB without bytecode")

    command = installed(uv, wheel, "", folder)
    run([command, "demo"], env=surroundings)
    anyio.run(list_tools, command, surroundings)
    session = json.dumps({"session_id": "s", "cwd": str(folder), "source": "startup"})
    said = run([command, "hook", "SessionStart"], session, env=surroundings)
    require("additionalContext" in said, f"the hook says {said!r}")
    lacking("http", [command, "serve", "--http"], surroundings)
    lacking("firestore", [command, "serve", "--store", FIRESTORE], surroundings)
    lacking("firestore", [command, "doctor", "store", "--store", FIRESTORE], surroundings)

    command = installed(uv, wheel, "firestore", folder)
    said = run([command, "list", "entries", "--store", FIRESTORE], env=surroundings, code=3)
    require("Firestore" in said, f"without its emulator Firestore's engine says {said!r}")
    lacking("http", [command, "serve", "--http"], surroundings)

    command = installed(uv, wheel, "http", folder)
    run([command, "token", "create", "--program", "basher"], env=surroundings)
    asyncio.run(ask_health(command, surroundings))

    command = installed(uv, wheel, "otel", folder)
    beside = Path(command).with_name("opentelemetry-instrument")
    run([str(beside), command, "list", "entries"], env=surroundings)
    print("each extra works alone")


def installed(uv: str, wheel: Path, extra: str, folder: Path) -> str:
    """Install the wheel with an extra, "" for none, and return its command."""
    environment = folder / (extra or "default")
    run([uv, "venv", "--quiet", "--python", sys.executable, str(environment)])
    scripts = environment / ("Scripts" if os.name == "nt" else "bin")
    wanted = f"fleet-memory[{extra}] @ {wheel.as_uri()}" if extra else str(wheel)
    run([uv, "pip", "install", "--quiet", "--python", str(environment), wanted])
    return str(scripts / "fleet-memory")


def run(
    words: Sequence[str],
    given: str = "",
    *,
    env: Mapping[str, str] | None = None,
    code: int = 0,
) -> str:
    """Run a command; return what it writes to both streams."""
    done = subprocess.run(
        words,
        input=given,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    require(done.returncode == code, f"{words} ends with {done.returncode}: {done.stdout}")
    return done.stdout


def lacking(extra: str, words: Sequence[str], env: Mapping[str, str]) -> None:
    """Require one line, which names the command that installs the extra."""
    said = run(words, env=env, code=2)
    require(
        said.count("\n") == 1 and f"pip install 'fleet-memory[{extra}]'" in said,
        f"{words} without [{extra}] says {said!r}",
    )


async def list_tools(command: str, env: Mapping[str, str]) -> None:
    """Connect over stdio, and list the tools."""
    server = StdioServerParameters(command=command, args=["serve"], env={**env})
    with anyio.fail_after(LIMIT_S):
        async with Client(stdio_client(server)) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
    require(TOOL in names, f"tools/list has {names}")


async def ask_health(command: str, env: Mapping[str, str]) -> None:
    """Serve over HTTP, and ask for the health of the process."""
    words = ["serve", "--http", "127.0.0.1:0", "--metrics", "127.0.0.1:0"]
    server = await asyncio.create_subprocess_exec(
        command, *words, env=env, stderr=asyncio.subprocess.PIPE
    )
    try:
        assert server.stderr
        line = (await asyncio.wait_for(server.stderr.readline(), LIMIT_S)).decode()
        require(line.startswith(ANNOUNCEMENT), f"serve --http says {line!r}")
        url = line.removeprefix(ANNOUNCEMENT).strip().removesuffix("/mcp") + "/healthz"
        with await asyncio.to_thread(urlopen, url, timeout=LIMIT_S) as answer:
            require(json.load(answer) == {"alive": True}, f"{url} answers otherwise")
    finally:
        server.terminate()
        await server.wait()


def require(holds: bool, otherwise: str) -> None:  # noqa: FBT001 as `assert`
    """Leave with 1 and a line, unless it holds."""
    if not holds:
        sys.exit(f"check_extras: {otherwise}")


if __name__ == "__main__":
    main()
