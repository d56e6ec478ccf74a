"""The commands that a page shows, and a shell that runs them in the home of a new user.

Blocks of kind `console` and `sh` are commands. In a block that begins with `$ ` each command stands
behind one, and the lines below it are its output: "…" is any text of a line, and alone any lines.
Any other block is run as a script. All blocks of a page run in one shell, one after the other. A
comment above a block holds for it:

`<!-- not run: REASON -->`: it needs an account, a cluster or another program.
`<!-- not run, uv: REASON -->`: the same for the lines that begin with `uv `; the others are run.
`<!-- now: 2026-03-04T09:00:00Z -->`: the memory's clock, for the blocks that follow too.

Each command is a minute later than the one before. A command that ends in ` &` goes on running; the
next one starts when it has printed something, and the page's end stops it. The port 8765 is any
free one. Questions whether to go on are answered with yes.
"""

import os
import re
import shlex
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from tests import forked
from tests.bounds import HANG_S

FIRST_DAY: Final = "2026-03-03T17:00:00Z"
_PORT: Final = ":8765"
_END: Final = "\x1e"  # the record separator: after each command, with its number and exit code
_BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<kind>\S*)\n(?P<text>.*?)^ *```$", re.DOTALL | re.MULTILINE
)
_COMMENT = re.compile(r"<!-- (not run(?:, [a-z]+)?|now): (.+?) -->\s*$")
_HEREDOC = re.compile(r"<<-?'?(\w+)'?")
_ANSWERED = """#!/bin/sh
case "$1" in
    import | lesson | purge | seed) [ "$2" = restore ] || set -- "$@" --yes ;;
    install) set -- "$@" --yes ;;
    serve) [ "$2" != --http ] || set -- "$@" --metrics off ;; # two cannot share a port
esac
COMMAND_NAME="$0" exec {command} "$@"
"""


class Block(NamedTuple):
    """A fenced block of a page; `reason` is why it is not run, `now` its clock."""

    kind: str
    text: str
    reason: str
    now: str

    @property
    def is_transcript(self) -> bool:
        """Whether it shows output."""
        return self.text.startswith("$ ")


class Shown(NamedTuple):
    """A command and the lines that it prints; None where they are not shown."""

    command: str
    lines: list[str] | None


class Ran(NamedTuple):
    """A command with the text that it printed and its exit code; None where it did not end."""

    shown: Shown
    printed: str
    code: int | None


def blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page, without the indentation of a list's item."""
    found = []
    now = FIRST_DAY
    for match in _BLOCK.finditer(page):
        comments = dict(_comments_above(page[: match.start()]))
        now = comments.get("now", now)
        text = re.sub(rf"^{match['indent']}", "", match["text"], flags=re.MULTILINE)
        elsewhere = "|".join(
            name.removeprefix("not run, ") for name in comments if name.startswith("not run, ")
        )
        here = (
            re.sub(rf"^(?:{elsewhere}) .*\n", "", text, flags=re.MULTILINE) if elsewhere else text
        )
        found.append(Block(match["kind"], here, comments.get("not run", ""), now))
    return found


def _comments_above(text: str) -> Iterator[tuple[str, str]]:
    while comment := _COMMENT.search(text):
        yield comment[1], comment[2]
        text = text[: comment.start()]


def commands(block: Block) -> Iterator[Shown]:
    """Yield the commands of a block; one that is no transcript is one command."""
    if not block.is_transcript:
        yield Shown(block.text, None)
        return
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        command = lines.pop(0)
        while _goes_on(command):
            command += "\n" + lines.pop(0)
        yield Shown(command, lines)


def _goes_on(command: str) -> bool:
    heredoc = _HEREDOC.search(command)
    inside = heredoc is not None and command.splitlines()[-1] != heredoc[1]
    return command.count("'") % 2 == 1 or command.endswith("\\") or inside


def is_shown(lines: Sequence[str], printed: str) -> bool:
    """Whether output is as shown, e.g. `is_shown(["created …", "…"], "created k3\\nmore\\n")`."""
    patterns = (
        r"(?:.*\n)*"
        if line == "…"
        else ".*".join(re.escape(part) for part in line.split("…")) + r"\n"
        for line in lines
    )
    return re.fullmatch("".join(patterns), printed) is not None


def new_home(folder: Path) -> Path:
    """Return the home of a user who has `fleet-memory` and a project `quorra`."""
    (folder / "quorra").mkdir()
    (folder / "bin").mkdir()
    command = folder / "bin" / "fleet-memory"
    command.write_text(_ANSWERED.format(command=shlex.join(forked.words())), encoding="utf-8")
    command.chmod(0o755)
    return folder


def of_user(home: Path) -> dict[str, str]:
    """Return the environment of a user who has set nothing."""
    ours = ("CLAUDE", "CODEX_HOME", "FLEET_MEMORY_", "XDG_", "APPDATA")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    path = os.pathsep.join((str(home / "bin"), "/usr/bin", "/bin"))
    return environment | {"HOME": str(home), "PATH": path, "LC_ALL": "C.UTF-8"}


def run(home: Path, shown: Sequence[Block]) -> list[Ran]:
    """Run blocks in one shell, in the folder `quorra`; in the output the home is `/home/me`."""
    listed = [(block, command) for block in shown for command in commands(block)]
    log = home / "printed.txt"
    port = f":{_free_port()}"
    script = "exec 2>&1\n" + "".join(
        _scripted(home, at, *each) for at, each in enumerate(listed)
    ).replace(_PORT, port)
    with log.open("wb") as printed:
        shell = subprocess.Popen(  # noqa: S603 the pages of this repository
            ["/bin/bash", "-c", script],
            cwd=home / "quorra",
            env=of_user(home),
            stdin=subprocess.DEVNULL,
            stdout=printed,
            start_new_session=True,
        )
        try:
            shell.wait(HANG_S)
        finally:
            os.killpg(shell.pid, signal.SIGTERM) if _has_members(shell.pid) else None
    parts = (
        log.read_text(encoding="utf-8")
        .replace(str(home), "/home/me")
        .replace(port, _PORT)
        .split(_END)
    )
    codes = [int(part.partition("\n")[0]) for part in parts[1:]]
    texts = [parts[0], *(part.partition("\n")[2] for part in parts[1:])]
    return [
        Ran(command, texts[at] if at < len(texts) else "", codes[at] if at < len(codes) else None)
        for at, (_, command) in enumerate(listed)
    ]


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def _has_members(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def _scripted(home: Path, at: int, block: Block, shown: Shown) -> str:
    """Return the lines of a shell that run a command and then print the end's mark."""
    now = datetime.fromisoformat(block.now) + timedelta(minutes=at)
    command = shown.command
    if command.endswith(" &"):
        log = shlex.quote(str(home / f"background-{at}.txt"))
        starts = f"until [ -s {log} ] || ! kill -0 $!; do sleep 0.1; done"
        command = f"{command.removesuffix(' &')} >{log} 2>&1 &\n{starts}; cat {log}"
    if not block.is_transcript:
        command = f"set -e\n{command}\nset +e"
    return (
        f"export FLEET_MEMORY_NOW={now:%Y-%m-%dT%H:%M:%SZ}\n(exit ${{code:-0}})\n"
        f"{{ {command}\n}} </dev/null\ncode=$?; printf '{_END}%d\\n' $code\n"
    )
