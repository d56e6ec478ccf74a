"""`fleet-memory demo`: the story of the README's picture, or the reader's own sentences, in a
throw-away memory.
"""

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Final

import anyio

from fleet_memory.cli.arguments import Actions, argument, flag
from fleet_memory.cli.printing import say
from fleet_memory.demo import player
from fleet_memory.demo.mine import compare_lessons, read_lessons
from fleet_memory.demo.player import STORY, play, throw_away
from fleet_memory.errors import EXIT_NO
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings


def run_demo(given: argparse.Namespace, settings: Settings) -> int:
    """Play the story: 0 if every answer is as the file expects, 1 if not. With --mine compare the
    reader's own sentences: 0.
    """
    if given.mine:
        lessons = read_lessons(sys.stdin, say)
        with throw_away(settings) as own:
            anyio.run(with_fleet, own, partial(compare_lessons, lessons=lessons, tell=say))
        return 0
    lines = _JOB.read_text(encoding="utf-8").splitlines() if given.of == "work" else STORY
    unmet = [each for played in play(lines, say) for each in played.unmet()]
    say("\n" + "\n".join(unmet or ["Every answer is as the story expects. Try --mine."]))
    return EXIT_NO if unmet else 0


_JOB: Final = Path(player.__file__).with_name("work.jsonl")
_MINE: Final = flag("--mine", "compare sentences of your own instead, typed or piped")
_OF: Final = argument("of", "work", "a job that agents share, instead", nargs="?", choices=["work"])
ACTIONS: Final[Actions] = {"demo": (run_demo, _OF, _MINE)}
