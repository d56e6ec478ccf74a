"""The C library's allocator: glibc keeps memory that the process freed, e.g. 60 MB after a consolidation."""

import ctypes
import sys


def return_freed_memory() -> None:
    """Return freed memory to the system where the C library is glibc, in milliseconds; others do it themselves."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)
