"""numpy, imported at its first use: a server that lists its tools, and a command, need none of it.

`from fleet_memory.arrays import np`; annotations of arrays stay strings.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__all__ = ["np"]

if TYPE_CHECKING:
    import numpy as np
else:

    class _Numpy:
        def __getattr__(self, name: str) -> object:
            value = getattr(import_module("numpy"), name)
            setattr(self, name, value)
            return value

    np = _Numpy()
