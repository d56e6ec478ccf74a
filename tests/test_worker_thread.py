"""The blocking work of an engine runs in a thread of its own, one piece after the other."""

import gc
import subprocess
import sys
import threading
from collections.abc import Callable

import anyio
import pytest
from anyio.lowlevel import checkpoint

from fleet_memory.worker_thread import WorkerThread

pytestmark = pytest.mark.anyio

WITHIN_S = 10.0


class Gate:
    """Work that waits to be let through."""

    def __init__(self) -> None:
        self.begun, self._open = threading.Event(), threading.Event()

    def open(self) -> None:
        self._open.set()

    def __call__(self) -> str:
        self.begun.set()
        assert self._open.wait(WITHIN_S)
        return "through"


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(WITHIN_S):
        while not condition():  # noqa: ASYNC110 - a thread that ends sets no event
            await anyio.sleep(0.001)


async def test_all_work_runs_in_one_thread_that_is_not_the_callers() -> None:
    worker = WorkerThread()
    names = [await worker.run(threading.get_ident) for _ in range(3)]
    assert len(set(names)) == 1
    assert threading.get_ident() not in names


async def test_an_error_of_the_work_is_raised_and_the_thread_goes_on() -> None:
    worker = WorkerThread()
    with pytest.raises(ZeroDivisionError):
        await worker.run(lambda: 1 // 0)
    assert await worker.run(lambda: 2) == 2


async def test_work_is_done_in_the_order_of_its_calls() -> None:
    worker, gate, done = WorkerThread(), Gate(), list[int]()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(worker.run, gate)
        for number in range(5):
            tasks.start_soon(worker.run, lambda number=number: done.append(number))
        await until(gate.begun.is_set)
        gate.open()
    assert done == list(range(5))


async def test_a_caller_that_is_cancelled_leaves_when_its_work_is_done() -> None:
    worker, gate, left = WorkerThread(), Gate(), anyio.Event()

    async def call() -> None:
        try:
            await worker.run(gate)
        finally:
            left.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await until(gate.begun.is_set)
        tasks.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            for _ in range(5):
                await checkpoint()
            assert not left.is_set()
            gate.open()
            await left.wait()


async def test_a_caller_that_is_cancelled_in_the_line_leaves_it_and_its_work_is_not_done() -> None:
    worker, gate, done = WorkerThread(), Gate(), list[int]()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(worker.run, gate)
        await until(gate.begun.is_set)
        with anyio.move_on_after(0.01) as scope:
            await worker.run(lambda: done.append(1))
        assert scope.cancelled_caught
        gate.open()
    await worker.run(lambda: done.append(2))
    assert done == [2]


async def test_a_cancelled_caller_does_not_wait_for_a_thread_that_may_hang() -> None:
    worker, gate = WorkerThread(may_hang=True), Gate()
    with anyio.fail_after(WITHIN_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(worker.run, gate)
            await until(gate.begun.is_set)
            tasks.cancel_scope.cancel()
    gate.open()


def test_one_thread_serves_one_event_loop_after_the_other() -> None:
    worker = WorkerThread()
    assert [anyio.run(worker.run, threading.get_ident) for _ in range(2)] == [
        anyio.run(worker.run, threading.get_ident)
    ] * 2


async def test_the_thread_ends_with_its_worker() -> None:
    worker = WorkerThread()
    ident = await worker.run(threading.get_ident)
    del worker
    gc.collect()
    await until(lambda: ident not in {thread.ident for thread in threading.enumerate()})


INTERRUPTED = """
import hashlib, os, signal, anyio
from fleet_memory.worker_thread import WorkerThread

def work():
    os.kill(os.getpid(), signal.SIGINT)
    hashlib.pbkdf2_hmac("sha256", b"word", b"salt", 2_000_000)  # in C, without the interpreter's lock
    print("done", flush=True)

try:
    anyio.run(WorkerThread().run, work)
except KeyboardInterrupt:
    raise SystemExit(130)
"""


def test_work_under_way_is_finished_when_ctrl_c_ends_the_process() -> None:
    process = ended(INTERRUPTED)
    assert (process.returncode, process.stdout, process.stderr) == (130, "done\n", "")


HANGING = """
import threading, anyio
from fleet_memory import worker_thread

worker_thread.END_WITHIN_S = 600.0

async def leave():
    with anyio.move_on_after(0.01):
        await worker_thread.WorkerThread(may_hang=True).run(threading.Event().wait)

anyio.run(leave)
"""


def test_a_thread_that_may_hang_does_not_delay_the_end_of_the_process() -> None:
    assert ended(HANGING).returncode == 0


def ended(code: str, within_s: float = 60) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=within_s)  # noqa: S603 ours
