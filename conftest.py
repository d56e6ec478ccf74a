"""What holds for every test, in `tests/` and in `emulator-tests/`.

Its time, that nothing blocks the event loop, and that a property has the same examples each time,
unless it is night.
"""

import signal
from collections.abc import Iterator, Sequence

import pytest
from blockbuster import BlockBuster, blockbuster_ctx
from hypothesis import settings

from tests.bounds import AT_NIGHT, examples

KILLS_LIMIT_S = 900  # of a test marked `kills`; the others have the `timeout` of pyproject.toml

# Calls that may block the event loop: the end of a file's path, a function in it, and below it why
# that is harmless.
EXEMPT = (
    ("<frozen importlib._bootstrap>", "_find_and_load"),
    # An import: what a command or an engine needs is imported when it is chosen.
    ("fleet_memory/similarity/openai.py", "client"),
    # httpx2 looks its version up, once.
    ("fleet_memory/extensions.py", "names"),
    ("fleet_memory/extensions.py", "part"),
    # The names of entry points: 3 ms at the start of a server.
    ("fleet_memory/server/composition.py", "require_extra"),
    # Whether a library is installed, once for each store; a server looks on a thread.
    ("fleet_memory/similarity/words.py", "word_scores"),
    # SQLite's word index, in memory only: arithmetic, no file.
    ("fleet_memory/stores/firestore/opening.py", "_client"),
    # Google's client looks on the disk whether it has a certificate, once.
    ("threading.py", "join"),
    # gRPC waits for its own thread when its last channel goes, at whatever line the garbage
    # collector runs.
)
IN_MEMORY = (
    "os.getcwd",
    "os.path.abspath",
)  # the kernel knows the working directory; no disk is asked

# A background job of a shell ignores SIGINT, and so would the processes that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# By day a fifth of the default: the suite is run after every change. No deadline: machines are
# shared and noisy.
settings.register_profile(
    "suite", max_examples=examples(20), deadline=None, derandomize=not AT_NIGHT
)
settings.load_profile("suite")


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Give tests that kill servers more time."""
    for item in items:
        if item.get_closest_marker("kills"):
            item.add_marker(pytest.mark.timeout(KILLS_LIMIT_S))


@pytest.fixture(scope="session", autouse=True)
def blocking_fails() -> Iterator[BlockBuster]:
    """Raise BlockingError where the package sleeps, reads a file, or asks SQLite on the thread of
    the event loop.
    """
    with blockbuster_ctx("fleet_memory") as guard:
        for name in IN_MEMORY:
            guard.functions[name].deactivate()
        for function in guard.functions.values():
            for file, caller in EXEMPT:
                function.can_block_in(file, caller)
        yield guard
