"""`fleet-memory demo`: the article's three weeks, or the reader's own sentences, in a throw-away
memory.
"""

import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import anyio

from fleet_memory.demo.mine import compare_lessons, read_lessons
from fleet_memory.demo.stage import Stage
from fleet_memory.demo.story import Claim, play_story
from fleet_memory.demo.telling import Teller
from fleet_memory.errors import EXIT_NO, InvalidArgumentError
from fleet_memory.settings import Settings, load
from fleet_memory.store_address import SqliteFile

_T = TypeVar("_T")


def run_demo(settings: Settings, *, mine: bool = False, explain: bool = False) -> int:
    """Play the story: 0 if every claim holds, 1 if not. With `mine` compare the reader's own
    sentences: 0.

    Raises FleetMemoryError when a tool refuses, or for input that cannot be used.
    """
    if mine and settings.embedder == "lexical":
        raise InvalidArgumentError(
            "--mine needs an embedder that compares meanings: lexical does not see one lesson "
            "in different words. "
            "Leave out --embedder and FLEET_MEMORY_EMBEDDER."
        )
    teller = Teller(sys.stdout, explain=explain)
    if not mine:
        return report_claims(
            teller, _run_on_stage(load({}, {}), partial(play_story, teller=teller))
        )
    _run_on_stage(
        settings, partial(compare_lessons, lessons=read_lessons(sys.stdin, teller), teller=teller)
    )
    return 0


def _run_on_stage(settings: Settings, play: Callable[[Stage], Awaitable[_T]]) -> _T:
    """Play with a memory of its own, which is deleted afterwards."""
    with TemporaryDirectory(prefix="fleet-memory-demo-") as folder:
        store = SqliteFile(Path(folder) / "memory.db")
        return anyio.run(play, Stage(replace(settings, named_store=store, fleet="demo")))


def report_claims(teller: Teller, claims: Sequence[Claim]) -> int:
    """Print how many claims hold, and each that does not; return 0 if all do, else 1."""
    differing = [claim for claim in claims if not claim.holds]
    teller.chapter("Do the tools' answers match the story?")
    teller.say(f"{len(claims) - len(differing)} of {len(claims)} statements of the story match.")
    for claim in differing:
        teller.say(f"NO: {claim.statement}. Expected {claim.expected}, got {claim.answered}.")
    if not differing:
        teller.say(
            "Try sentences of your own: the same command with --mine. --explain shows the figures."
        )
    return EXIT_NO if differing else 0
