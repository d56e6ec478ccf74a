"""How the interpreter shares itself out during a run, so that other calls of the server hardly wait
for it.

`python benchmarks/cold_run.py --calls` measures how long they do.
"""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

# seconds; a call hands over between threads some ten times, and waits for a turn each time
_TURN_S: Final = 0.0005


@dataclass
class _Runs:
    """The runs of this process that are under way, and its settings to return to after the last."""

    count: int = 0
    usual_turn_s: float = 0.0
    have_frozen: bool = False


_runs: Final = _Runs()


@contextmanager
def yielding() -> Iterator[None]:
    """Let threads take short turns while a run lasts; the last run that ends leaves the process as
    the first found it.

    Where a server has left out its own objects from the start, those of runs stay left out, too.
    """
    if not _runs.count:
        _runs.usual_turn_s = sys.getswitchinterval()
    _runs.count += 1
    sys.setswitchinterval(_TURN_S)
    try:
        yield
    finally:
        _runs.count -= 1
        if not _runs.count:
            sys.setswitchinterval(_runs.usual_turn_s)
            if _runs.have_frozen:
                gc.unfreeze()
                _runs.have_frozen = False


def leave_out_known() -> None:
    """Leave the objects that there are now out of garbage collections, which stop all threads;
    takes no time.

    They are freed as ever once nothing refers to them; only cycles of them wait.
    """
    _runs.have_frozen = _runs.have_frozen or not gc.get_freeze_count()
    gc.freeze()
