"""The real Firestore emulator, for the tests: one that runs already, the gcloud component under
Java, or Docker's.
"""

import os
import shutil
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

VARIABLE = "FIRESTORE_EMULATOR_HOST"
IMAGE = "google/cloud-sdk:emulators"
# `java -jar` finds no main class in the jar
MAIN = "com.google.cloud.datastore.emulator.firestore.CloudFirestore"
READY_WITHIN_S = 300  # a second as a rule, but Docker may have to load the image first
PROBE_S = 0.1
PORTS_TRIED = 3


class NoEmulator(Exception):  # noqa: N818 - it is no error: the tests skip
    """There is none and none can be started; the message has the reason."""


class Exited(NoEmulator):
    """It was started and ended by itself."""


class Emulator:
    """An emulator at `host`; its data is in memory. `process` is None for one that somebody else
    runs.
    """

    def __init__(self, host: str, process: subprocess.Popen[bytes] | None = None) -> None:
        self.host = host
        self.process = process

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(READY_WITHIN_S)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(READY_WITHIN_S)


def found(folder: Path) -> Emulator:
    """Return the emulator that FIRESTORE_EMULATOR_HOST names, or start one that logs into
    `folder`.
    """
    host = os.environ.get(VARIABLE)
    return Emulator(host) if host else started(folder)


def started(folder: Path, port: int | None = None) -> Emulator:
    """Start an emulator of its own and wait until it answers. Raises NoEmulator."""
    if port is not None:
        return _started(folder, port)
    for _ in range(PORTS_TRIED - 1):
        try:
            return _started(folder, free_port())
        except Exited:
            continue  # another process may have taken the port between our look and the emulator's
    return _started(folder, free_port())


def _started(folder: Path, port: int) -> Emulator:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "emulator.log").open(
        "ab"
    ) as log:  # it logs a stack trace for each refused write
        process = subprocess.Popen(_command(port), stdout=log, stderr=log)  # noqa: S603 - ours
    emulator = Emulator(f"127.0.0.1:{port}", process)
    try:
        _wait_for(emulator)
    except BaseException:
        emulator.stop()
        raise
    return emulator


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _command(port: int) -> list[str]:
    java, jar = shutil.which("java"), _jar()
    if java and jar:
        quick = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m"]
        return [java, *quick, "-cp", str(jar), MAIN, "start", "--host=127.0.0.1", f"--port={port}"]
    docker = shutil.which("docker")
    if (
        docker
        and subprocess.run([docker, "info"], capture_output=True, check=False).returncode == 0  # noqa: S603
    ):
        start = ["gcloud", "emulators", "firestore", "start", "--host-port=0.0.0.0:8080"]
        return [docker, "run", "--rm", "--init", "-p", f"127.0.0.1:{port}:8080", IMAGE, *start]
    missing = "Java" if jar else "gcloud's cloud-firestore-emulator component"
    raise NoEmulator(f"no Firestore emulator: set {VARIABLE}, install {missing}, or start Docker")


def _jar() -> Path | None:
    gcloud = shutil.which("gcloud")
    if not gcloud:
        return None
    asked = [gcloud, "info", "--format=value(installation.sdk_root)"]
    root = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603 - gcloud
    return next(Path(root or "none").glob("platform/cloud-firestore-emulator/*.jar"), None)


def _wait_for(emulator: Emulator) -> None:
    """Wait until it answers a first request, which may take longer than the 3.5 s in which a store
    wants an answer: Java loads most of its classes for it.
    """
    assert emulator.process is not None
    first = f"http://{emulator.host}/v1/projects/first/databases/(default)/documents/documents"
    end = time.monotonic() + READY_WITHIN_S
    while True:
        if emulator.process.poll() is not None:
            raise Exited(f"the Firestore emulator exited with {emulator.process.returncode}")
        try:
            with urllib.request.urlopen(first, timeout=READY_WITHIN_S):
                return
        except OSError as silence:
            if time.monotonic() > end:
                raise NoEmulator("the Firestore emulator did not start in time") from silence
        time.sleep(PROBE_S)  # its port opens when it does, without notice
