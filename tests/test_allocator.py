"""Memory that the process freed goes back to the system, where the C library would keep it."""

import platform
import subprocess
import sys

import pytest

from fleet_memory.allocator import map_large_blocks, return_freed_memory, use_one_heap

# One large block raises the threshold of glibc: the next ones come from its heap, and smaller ones
# that stay pin them.
WORK = """
import sys
from pathlib import Path
import numpy as np
from fleet_memory.allocator import map_large_blocks, return_freed_memory

def resident_kb():
    return int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0])

if "map" in sys.argv:
    map_large_blocks()
before = resident_kb()
np.ones(30_000_000, np.int8)
blocks = [np.ones(2_000_000, np.int8) for _ in range(20)]
pins = [bytearray(100_000) for _ in range(20)]
del blocks
if "return" in sys.argv:
    return_freed_memory()
print(before, resident_kb())
"""


def grown_kb(*steps: str) -> int:
    """Return how much more memory a process has after work that freed 40 MB and kept 2."""
    answer = subprocess.run(  # noqa: S603 own interpreter
        [sys.executable, "-c", WORK, *steps], capture_output=True, check=True, timeout=60
    )
    before, after = map(int, answer.stdout.split())
    return after - before


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="others return it themselves")
def test_freed_memory_goes_back_by_either_way() -> None:
    assert grown_kb("map") < 10_000
    assert grown_kb("return") < 10_000
    assert grown_kb() > 30_000  # without them


# A thread's own heap has 64 MB of addresses, of which it may not use most yet.
THREADS = """
import sys, threading
from pathlib import Path
from fleet_memory.allocator import use_one_heap

def heaps():
    lines = [line.split() for line in Path("/proc/self/maps").read_text().splitlines()]
    ends = [[int(end, 16) for end in span.split("-")] for span, rights, *_ in lines if rights == "---p"]
    return sum(end - start > 60_000_000 for start, end in ends)

if "one" in sys.argv:
    use_one_heap()
kept = []
threads = [threading.Thread(target=lambda: kept.append(bytearray(50_000))) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(heaps())
"""


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc" or sys.maxsize < 2**32, reason="others have other heaps"
)
def test_threads_share_one_heap() -> None:
    assert heaps_of_threads() > 0
    assert heaps_of_threads("one") == 0


def heaps_of_threads(*steps: str) -> int:
    """Return how many heaps a process has in addition to its first, after threads allocated
    memory.
    """
    answer = subprocess.run(  # noqa: S603 own interpreter
        [sys.executable, "-c", THREADS, *steps], capture_output=True, check=True, timeout=60
    )
    return int(answer.stdout)


def test_a_python_without_ctypes_does_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ctypes", None)
    map_large_blocks()
    use_one_heap()
    return_freed_memory()
