"""Every tool stands wherever a tool must: the failure names the file, and the step of
CONTRIBUTING.md, "A tool".
"""

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from fleet_memory.server.audience import STORING
from tests.matrix import OF_AGENTS, SPECS, TABLE
from tests.prying import Guesses, prying_calls

BILLS: Final = "emulator-tests/test_cost.py"
INDEXES: Final = "emulator-tests/test_indexes.py"
NOTHING: Final = Guesses("", (), (), (), (), (), ("",), ("",), ("",), "", "")
BILLED: Final = {*OF_AGENTS} - {"pattern_consolidate"}  # its bill is that of a run
WRITERS: Final = {tool for tool in OF_AGENTS if not SPECS[tool].annotations.read_only_hint}


class Place(NamedTuple):
    """A file that has something about each of some tools: the tools that it must have, and those
    that it has.
    """

    file: str
    step: int
    needed: AbstractSet[str]
    present: AbstractSet[str]


def named_in(file: str, tools: Iterable[str]) -> set[str]:
    text = (Path(__file__).parent.parent / file).read_text(encoding="utf-8")
    return set(tools) & set(re.findall(r"\w+", text))


def writing_programs() -> set[str]:
    """Return the tools that write a program's memory: an agent may call them about itself, and a
    judge may not.
    """
    return {tool for tool, row in TABLE.items() if row["own"][:2] == ["yes", "no"]}


PLACES: Final = (
    Place("tests/data/who_may_call.toml", 4, SPECS.keys(), TABLE.keys()),
    Place("src/fleet_memory/server/audience.py, STORING", 2, writing_programs(), STORING),
    Place("tests/prying.py", 5, set(OF_AGENTS), prying_calls(NOTHING).keys()),
    Place(BILLS, 5, BILLED, named_in(BILLS, BILLED)),
    Place(INDEXES, 5, WRITERS, named_in(INDEXES, WRITERS)),
)


def lacking(place: Place) -> list[str]:
    """Return a sentence for each tool that a place lacks, or has after the tool went."""
    where = f'in {place.file} (CONTRIBUTING.md, "A tool", step {place.step})'
    return [
        *(f"add {tool} {where}" for tool in sorted(place.needed - place.present)),
        *(f"remove {tool} {where}" for tool in sorted(place.present - place.needed)),
    ]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.file)
def test_every_tool_stands_in_each_place_of_tools(place: Place) -> None:
    sentences = lacking(place)
    assert not sentences, "\n".join(sentences)


def test_a_tool_that_a_place_lacks_is_named_with_the_place_and_the_step() -> None:
    assert lacking(Place("tests/prying.py", 5, {"new", "old"}, {"old", "gone"})) == [
        'add new in tests/prying.py (CONTRIBUTING.md, "A tool", step 5)',
        'remove gone in tests/prying.py (CONTRIBUTING.md, "A tool", step 5)',
    ]
