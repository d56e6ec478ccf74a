"""Our part of a client's file, as changes of its text. Each raises InvalidArgumentError for a text
it cannot read.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol


class Before(NamedTuple):
    """A file before our part came: how many keys on the way to it existed, and the values of ours,
    None without it.

    `dropped` are the owner's values that our part takes out.
    """

    keys: int = 0
    values: Mapping[str, object] | None = None
    dropped: Mapping[str, object] = {}


class Part(Protocol):
    """Puts itself into a file's text and takes itself out, and nothing else.

    `add` and `remove` are commands of the client that do the same, empty where there is none.
    """

    @property
    def file(self) -> Path:
        """The file that it is in."""

    @property
    def add(self) -> Sequence[str]:
        """The client's command that adds it."""

    @property
    def remove(self) -> Sequence[str]:
        """The client's command that removes it."""

    def put(self, text: str) -> str:
        """Return the text with the part; keys of the owner stay."""

    def is_in(self, text: str) -> bool:
        """Whether the text has the part, of any version."""

    def before(self, text: str) -> Before:
        """Return the state to which `taken_out` leads back."""

    def taken_out(self, text: str, before: Before) -> str:
        """Return the text without the part, or with the values of before."""


def value_at(value: object, path: Sequence[str]) -> object:
    """Return the value at a path of keys, None where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
