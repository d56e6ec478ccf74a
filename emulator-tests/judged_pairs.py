"""Pairs for many judges at once: each program's lesson is in pairs with the words of the next two
programs.
"""

import random
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

import anyio
from changes import open_pair, side

from fleet_memory.fleet import Fleet
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.tools.core.lessons import store_memory

PROGRAMS: Final = 20
NOW: Final = datetime(2026, 3, 7, 12, tzinfo=UTC)
LEARNT: Final = NOW - timedelta(hours=1)
LETTERS: Final = "bcdfghjklmnpqrstvwz"
WORDS_EACH: Final = 9


class Judged(NamedTuple):
    """A lesson of the program `owner`, and of the program that has it in the words of `other`."""

    owner: int
    teller: int
    text: str
    other: str


def name(program: int) -> str:
    return f"program-{program:02}"


def all_pairs() -> list[Judged]:
    """Return 40 pairs, two of each program's lesson; no two texts are alike."""
    chance = random.Random(20)  # noqa: S311 - makes words

    def words() -> str:
        return " ".join("".join(chance.choices(LETTERS, k=6)) for _ in range(WORDS_EACH))

    own = [words() for _ in range(PROGRAMS)]
    return [
        Judged(owner, (owner + step) % PROGRAMS, own[owner], words())
        for owner in range(PROGRAMS)
        for step in (1, 2)
    ]


def pairs_of(program: int) -> list[Judged]:
    return [pair for pair in all_pairs() if program in (pair.owner, pair.teller)]


async def open_all(fleet: Fleet) -> None:
    """Let the programs learn the lessons, and open the pairs; an owner is surer, so that its text
    becomes the entry.
    """

    async def learn(program: int, id_: str, text: str, confidence: float) -> None:
        lesson = NewPattern(
            pattern=text,
            domain="work",
            confidence=confidence,
            evidence=f"seen by {program}",
            id=id_,
        )
        await store_memory(fleet, name(program), lesson)

    async with anyio.create_task_group() as tasks:
        for pair in all_pairs():
            tasks.start_soon(learn, pair.owner, "own", pair.text, 0.9)
            tasks.start_soon(learn, pair.teller, f"as-{pair.owner}", pair.other, 0.7)
    for pair in all_pairs():
        about = side(name(pair.teller), f"as-{pair.owner}", pair.other)
        await open_pair(fleet, side(name(pair.owner), "own", pair.text), about)
