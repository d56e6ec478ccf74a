"""`fleet-memory health`: show the state of the fleet's memory, or of one program's with
--program.
"""

import argparse
from typing import Final

from fleet_memory.cli.call import UNHEALTHY
from fleet_memory.cli.health_report import health_of, report
from fleet_memory.cli.printing import add_json_flag, print_json, say
from fleet_memory.cli.settings_flags import OWN_MEMORY
from fleet_memory.errors import EXIT_NO
from fleet_memory.rules.knowledge.freshness import NOBODY_PROPOSES
from fleet_memory.settings import Settings

EXAMPLE: Final = "fleet-memory health --program basher"
USES: Final = OWN_MEMORY


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    add_json_flag(parser)


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Print the health that was asked for; 1 when the verdict is not a good one, or no server
    proposes pairs.

    A large fleet that no run has counted has no verdict.
    """
    answer = health_of(settings)
    if given.json:
        print_json(answer.wire())
    else:
        say("\n".join(report(answer, settings.fleet)))
    unattended = NOBODY_PROPOSES in answer.freshness.reason
    return EXIT_NO if unattended or answer.verdict is None or answer.verdict in UNHEALTHY else 0
