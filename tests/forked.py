"""The command `fleet-memory` in processes that are forked from one that has imported it.

Such a command costs its work and not the 0.4 s of its imports. `words()` behave as `python -m
fleet_memory` does: the command has the caller's streams, environment and folder, gets its SIGTERM
and SIGINT, and ends with the same code; it is killed with the caller. Only its process id differs:
PID_FILE in the environment names a file for it. COMMAND_NAME is the name that it was called by.
"""

import atexit
import gc
import marshal
import os
import pkgutil
import runpy
import select
import shlex
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

SCRIPT: Final = "--script"
ROOT: Final = Path(__file__).parents[1]
FORK: Final = "This process .* is multi-threaded"  # threads of a library, which wait for no lock
_SIZE: Final = 4  # bytes of a message's length
_CLIENT: Final = """\
import marshal, os, signal, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    asked = marshal.dumps((sys.argv[1:], dict(os.environ), os.getcwd()))
    socket.send_fds(server, [len(asked).to_bytes(4)], [0, 1, 2])
    server.sendall(asked)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: server.sendall(bytes([number])))
    ended = server.recv(2)
code = int.from_bytes(ended, signed=True)
if code < 0:
    if -code != signal.SIGKILL:
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
sys.exit(code if ended else 1)
"""


@cache
def words() -> list[str]:
    """Return the words that run `fleet-memory`, e.g. `["python", "-I", "-S", "client.py"]`."""
    if sys.platform == "win32":
        return [sys.executable, "-m", "fleet_memory"]
    folder = TemporaryDirectory(prefix="forked-")
    address, client = Path(folder.name, "socket"), Path(folder.name, "client.py")
    client.write_text(_CLIENT.format(address=str(address)), encoding="utf-8")
    pipe = subprocess.PIPE
    server = subprocess.Popen(  # noqa: S603 ours
        [sys.executable, "-W", f"ignore:{FORK}", "-m", "tests.forked", str(address)],
        cwd=ROOT,
        stdin=pipe,
        stdout=pipe,
    )
    assert server.stdout is not None
    assert server.stdout.readline() == b"listens\n"
    atexit.register(_end, server, folder)
    return [sys.executable, "-I", "-S", str(client)]


def script(file: Path, *arguments: str) -> list[str]:
    """Return the words that run a file of Python, which finds the modules that the caller finds."""
    return [*words(), SCRIPT, os.pathsep.join(sys.path), str(file), *arguments]


def command(folder: Path) -> Path:
    """Write a script `fleet-memory` that runs a forked command of this name; return it."""
    script = folder / "fleet-memory"
    script.write_text(f'#!/bin/sh\nCOMMAND_NAME="$0" exec {shlex.join(words())} "$@"\n')
    script.chmod(0o755)
    return script


def _end(server: subprocess.Popen[bytes], folder: TemporaryDirectory[str]) -> None:
    server.communicate()
    folder.cleanup()


def serve(address: str) -> None:
    """Fork a process for every connection, until the standard input ends."""
    import fleet_memory  # here, so that importing `forked` costs nothing
    from fleet_memory.server.composition import installed_toolsets
    from fleet_memory.server.registration import prompt_of, registered
    from fleet_memory.similarity import minilm

    for module in pkgutil.walk_packages(fleet_memory.__path__, "fleet_memory."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    for toolset in installed_toolsets():
        _ = [*map(registered, toolset.tools), *map(prompt_of, toolset.prompts)]
    minilm._loaded = cache(minilm._loaded)
    minilm._loaded(minilm.FOLDER)  # it runs on the caller's thread alone, so it outlives a fork
    gc.freeze()  # so that a collection in a child copies no pages
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)
        print("listens", flush=True)  # noqa: T201 its answer
        while sys.stdin.buffer not in select.select([listener, sys.stdin.buffer], [], [])[0]:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _supervise(connection)
            connection.close()
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def _supervise(connection: socket.socket) -> None:
    """Run the command that a client asks for in a process of its own; pass signals and its end on."""
    header, descriptors, _, _ = socket.recv_fds(connection, _SIZE, 3)
    asked = b""
    while len(asked) < int.from_bytes(header):
        asked += connection.recv(1 << 20)
    alive, held = os.pipe()
    process = os.fork()
    if process == 0:
        connection.close()
        os.close(alive)
        words, environment, folder = marshal.loads(asked)  # noqa: S302 of our own client
        _command(words, environment, folder, descriptors)
    for descriptor in (held, *descriptors):
        os.close(descriptor)
    client = connection.fileno()
    while alive not in (ready := select.select([client, alive], [], [])[0]):
        if client in ready:
            sent = connection.recv(1)
            os.kill(process, sent[0] if sent else signal.SIGKILL)
            if not sent:
                break
    _, status = os.waitpid(process, 0)
    if alive in ready:
        connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(2, signed=True))
    os._exit(0)


def _command(
    words: list[str], environment: dict[str, str], folder: str, descriptors: list[int]
) -> None:
    from fleet_memory.cli import main

    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    name = environment.pop("COMMAND_NAME", "fleet-memory")
    os.environ.clear()
    os.environ.update(environment)
    if "PID_FILE" in environment:
        Path(environment["PID_FILE"]).write_text(str(os.getpid()), encoding="utf-8")
    os.chdir(folder)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 the process's own
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
    sys.argv = [name, *words]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    code = 0
    if words[:1] == [SCRIPT]:
        sys.path, sys.argv = words[1].split(os.pathsep), words[2:]
        runpy.run_path(words[2], run_name="__main__")
    else:
        code = main(words or ["serve"])
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    os._exit(code)  # taking 900 modules down costs more than most commands


if __name__ == "__main__":
    serve(sys.argv[1])
