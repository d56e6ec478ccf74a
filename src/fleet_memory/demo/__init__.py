"""`fleet-memory demo`: the article's three weeks, replayed by real servers over stdio in a throw-away memory."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import anyio
from mcp import MCPError

from fleet_memory.demo.agents import Stage
from fleet_memory.demo.story import Claim, played
from fleet_memory.demo.telling import Teller, console
from fleet_memory.errors import FleetMemoryError
from fleet_memory.settings import Settings

EXIT_NO: Final = 1
EXIT_USAGE: Final = 2


def main(settings: Settings) -> int:
    """Play the story; return 0 if it came out as told, 1 if not, 2 when it cannot be played."""
    teller = Teller(console())
    if settings.embedder == "lexical":
        teller.say("The demo needs the default embedder: lexical does not see one lesson in different words.", "red")
        return EXIT_USAGE
    claims: list[Claim] = []
    refusals: list[str] = []
    with TemporaryDirectory(prefix="fleet-memory-demo-") as folder:
        try:
            claims = anyio.run(played, Stage(Path(folder) / "memory.db"), teller)
        except* (FleetMemoryError, MCPError) as failures:
            refusals = [str(failure) for failure in _each(failures)]
    return _told(teller, claims, refusals)


def _each(failures: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for failure in failures.exceptions:
        if isinstance(failure, BaseExceptionGroup):
            yield from _each(failure)
        else:
            yield failure


def _told(teller: Teller, claims: Sequence[Claim], refusals: Sequence[str]) -> int:
    teller.chapter(
        "Did it come out as told?",
        "The lessons are the story's; every answer and figure came from a server. They say that:",
    )
    teller.claims([(claim.said, claim.holds) for claim in claims])
    differing = [claim for claim in claims if not claim.holds]
    for claim in differing:
        teller.say(f"{claim.said}: expected {claim.expected}, got {claim.found}", "red")
    for refusal in refusals:
        teller.say(f"The story broke off: {refusal}", "red")
    return EXIT_NO if differing or refusals else 0
