"""The error tree: drawn in the docstring, complete, and each class with a place of its own."""

import inspect
import re

import pytest

from fleet_memory import errors
from fleet_memory.errors import (
    FleetMemoryError,
    KnowledgeNotFoundError,
    PatternNotFoundError,
    exit_of,
)

EXITS = {
    "invalid_argument": 2,
    "unknown_name": 1,  # of commands; no tool answers it
    "pattern_not_found": 1,
    "knowledge_not_found": 1,
    "note_not_found": 1,
    "forbidden": 1,
    "conflict": 4,
    "store_unavailable": 3,
    "capacity_exceeded": 1,
    "rate_limited": 1,
    "internal": 5,
    "embedder_unavailable": 3,
    "judge_model_unavailable": 3,
    "issuer_unavailable": 3,  # of the door; no tool answers it
}


def drawn() -> list[tuple[int, str, str, int, bool]]:
    """Return (depth, name, code, exit code, retryable) of each line of the tree in the
    docstring.
    """
    line = re.compile(r"^    ([│ ]*)[├└]── (\w+) +(\w+) +exit (\d)( +retryable)?$", re.MULTILINE)
    found = line.findall(errors.__doc__ or "")
    return [
        (1 + len(indent) // 4, name, code, int(exit_code), bool(retry))
        for indent, name, code, exit_code, retry in found
    ]


def real(
    kind: type[FleetMemoryError] = FleetMemoryError, depth: int = 1
) -> list[tuple[int, str, str, int, bool]]:
    found = []
    for sub in (each for each in kind.__subclasses__() if each.__module__ == errors.__name__):
        found += [
            (depth, sub.__name__, sub.code, exit_of(sub.code), sub.retryable),
            *real(sub, depth + 1),
        ]
    return found


def test_the_tree_in_the_docstring_is_the_real_one() -> None:
    assert drawn() == real()
    assert len(real()) > 5


def test_every_error_of_the_module_is_in_the_tree_once() -> None:
    classes = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, Exception)
    }
    names = [name for _, name, *_ in real()]
    assert sorted(names) == sorted(classes - {"FleetMemoryError"})


@pytest.mark.parametrize(
    "kind", [FleetMemoryError, *(getattr(errors, name) for _, name, *_ in real())]
)
def test_a_code_always_means_the_same_exit(kind: type[FleetMemoryError]) -> None:
    assert exit_of(kind.code) == EXITS[kind.code]


def test_every_code_has_an_error() -> None:
    assert {code for _, _, code, *_ in real()} == EXITS.keys()


def test_an_unknown_name_is_answered_with_the_next_call() -> None:
    assert "recall_memory" in str(PatternNotFoundError("basher", "p"))
    assert "recall_memory" in str(KnowledgeNotFoundError("k"))


def test_details_for_the_operator_alone_are_not_in_the_message() -> None:
    error = FleetMemoryError("It failed.", operator_detail="/secret")
    assert (str(error), error.operator_detail) == ("It failed.", "/secret")
