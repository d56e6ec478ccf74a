"""Every regular expression of the package takes time in proportion to its text: texts come from
agents, files and clients, and one that a search backtracks over would hold the server for everybody.
"""

import inspect
import pkgutil
import re
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Final, NamedTuple

import pytest

import fleet_memory

# What texts are made of that patterns look for, again and again
UNITS: Final = (
    *(" ", "a", "A", "1", "-", ".", "_", "/", "#", "`", "(", "[", "<", "\n", "\t", "'", ":", ","),
    *("a-", "a.", "1.", "aA", "a ", "#a ", "a/", "1,", "- ", "[a", "a\n", "1 ", "a1", "Aa", " ("),
)
MAX_GROWTH: Final = 24  # for a text of eight times the length; 64 is quadratic


class Used(NamedTuple):
    """A pattern of the package, and the methods that its module calls."""

    name: str
    pattern: re.Pattern[str]
    methods: frozenset[str]


def patterns() -> Iterator[Used]:
    """Yield every pattern that a module of the package names."""
    for module in pkgutil.walk_packages(fleet_memory.__path__, "fleet_memory."):
        if module.name.endswith("__main__"):
            continue
        imported = import_module(module.name)
        for name, value in vars(imported).items():
            if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                source = inspect.getsource(imported)
                methods = re.findall(rf"\b{name}\.(\w+)", source)
                yield Used(
                    f"{module.name.removeprefix('fleet_memory.')}.{name}",
                    value,
                    frozenset(methods) - {"pattern"} or frozenset({"findall"}),
                )


USED: Final = list(patterns())


def seconds(used: Used, text: str) -> float:
    """Return how long the methods take for a text."""
    start = time.process_time()
    for method in used.methods:
        if method in ("fullmatch", "match", "search"):
            getattr(used.pattern, method)(text)
        else:
            for _ in used.pattern.finditer(text):
                pass
    return time.process_time() - start


def growth(used: Used, text: str, end: str) -> float:
    """Return how many times longer a text of eight times the length takes; .3 ms are noise."""
    short, long = (text * (length // len(text)) + end for length in (1_000, 8_000))
    before = max(0.0003, min(seconds(used, short) for _ in range(2)))
    return min(seconds(used, long) for _ in range(2)) / before


@pytest.mark.parametrize("used", USED, ids=lambda used: used.name)
def test_a_pattern_takes_linear_time(used: Used) -> None:
    for unit in UNITS:
        for end in ("", "\0"):
            assert growth(used, unit, end) < MAX_GROWTH, (unit, end)


def test_a_pattern_that_backtracks_is_seen() -> None:
    assert len(USED) > 50
    slow = Used("slow", re.compile(r"\s*x"), frozenset({"findall"}))
    assert growth(slow, " ", "") > MAX_GROWTH
