"""Memory that the process freed goes back to the system, where the C library would keep it."""

import platform
import subprocess
import sys

import pytest

from fleet_memory.allocator import map_large_blocks, return_freed_memory

# One large block raises the threshold of glibc: the next ones come from its heap, and smaller ones that stay pin them.
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
    answer = subprocess.run([sys.executable, "-c", WORK, *steps], capture_output=True, check=True, timeout=60)  # noqa: S603 own interpreter
    before, after = map(int, answer.stdout.split())
    return after - before


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="others return it themselves")
def test_freed_memory_goes_back_by_either_way() -> None:
    assert grown_kb("map") < 10_000
    assert grown_kb("return") < 10_000
    assert grown_kb() > 30_000  # without them


def test_a_python_without_ctypes_does_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ctypes", None)
    map_large_blocks()
    return_freed_memory()
