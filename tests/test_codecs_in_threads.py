"""Codecs of values are made once, also where several threads ask for one at the same time."""

import subprocess
import sys

FIRST_USES = """
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from fleet_memory.tools.core import lessons
from fleet_memory.schemas.value import codec
sys.setswitchinterval(1e-6)
together = Barrier(8)
def schema(_):
    together.wait()
    return codec(lessons.StoreAnswer).json_schema(by_alias=True, mode="serialization")
with ThreadPoolExecutor(8) as pool:
    schemas = list(pool.map(schema, range(8)))
assert all(each == schemas[0] for each in schemas)
"""


def test_eight_threads_that_use_a_class_first_at_once_get_the_same_schema() -> None:
    for _ in range(3):
        made = subprocess.run(  # noqa: S603 this interpreter
            [sys.executable, "-c", FIRST_USES], capture_output=True, text=True, check=False
        )
        assert (made.returncode, made.stderr) == (0, "")
