"""The C library's allocator: glibc keeps memory that the process freed; others return it, and
nothing is done there.
"""

import sys
from collections.abc import Callable
from typing import Final

MIN_MAPPED_BYTES: Final = (
    1 << 20
)  # of a block with pages of its own; chosen: matrices are larger, texts smaller

_M_MMAP_THRESHOLD: Final = -3  # Source: malloc.h of glibc, as the next one
_M_ARENA_MAX: Final = -8


def map_large_blocks() -> None:
    """Have large blocks return to the system when they are freed.

    glibc raises its threshold to the largest block that was freed, up to 32 MB, and keeps all
    smaller ones: a consolidation of 1,000 lessons would leave 65 MB of them.
    """
    if (set_option := _function("mallopt")) is not None:
        set_option(_M_MMAP_THRESHOLD, MIN_MAPPED_BYTES)


def use_one_heap() -> None:
    """Have the threads that begin later share the heap of the first one.

    glibc gives them heaps of their own, where memory that one frees is of no use to another.
    """
    if (set_option := _function("mallopt")) is not None:
        set_option(_M_ARENA_MAX, 1)


def return_freed_memory() -> None:
    """Return freed memory of smaller blocks to the system; it takes milliseconds."""
    if (trim := _function("malloc_trim")) is not None:
        trim(0)


def _function(name: str) -> Callable[..., object] | None:
    if sys.platform != "linux":
        return None
    try:
        import ctypes  # noqa: PLC0415 a server needs it after its first answer

        return getattr(ctypes.CDLL(None), name, None)
    except (
        ImportError,
        OSError,
    ):  # a Python that was built without libffi, a library without dlopen
        return None
