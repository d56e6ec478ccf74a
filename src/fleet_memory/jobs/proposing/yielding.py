"""How the interpreter shares itself out during a run, so that other calls of the server do not wait for it.

`python benchmarks/cold_run.py --calls` measures it: of 20,000 lessons on a busy machine, the longest wait of the event
loop fell from 570 ms to 110 ms.
"""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_USUAL_TURN_S: Final = sys.getswitchinterval()
_TURN_S: Final = 0.0005  # seconds; a call hands over between threads some ten times, and waits for a turn each time


@contextmanager
def yielding() -> Iterator[None]:
    """Let threads take short turns while a run lasts, and end what `leave_out_known` began.

    Where a server has left out its own objects from the start, those of runs stay left out, too.
    """
    is_left_out = gc.get_freeze_count() > 0
    sys.setswitchinterval(_TURN_S)
    try:
        yield
    finally:
        sys.setswitchinterval(_USUAL_TURN_S)
        if not is_left_out:
            gc.unfreeze()


def leave_out_known() -> None:
    """Leave the objects that there are now out of garbage collections, which stop all threads; takes no time.

    They are freed as ever once nothing refers to them; only cycles of them wait.
    """
    gc.freeze()
