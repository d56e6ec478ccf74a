"""`fleet-memory doctor`: say what works on this machine, or of the service at --url, what does not and what to do."""

import argparse
import os
from collections.abc import Sequence
from typing import Final

from fleet_memory.cli.printing import add_json_flag, print_answer
from fleet_memory.errors import EXIT_NO
from fleet_memory.integration.address import TOKEN_VARIABLE, address_of, token_variable
from fleet_memory.integration.clients import this_folder
from fleet_memory.integration.diagnosis import Finding, findings
from fleet_memory.integration.remote import remote_findings
from fleet_memory.settings import Settings

EXAMPLE: Final = "fleet-memory doctor"
USES: Final = ("store", "fleet", "program", "embedder", "embedder_url", "now")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument("--url", metavar="URL", help="walk the service at this address instead of this machine")
    parser.add_argument(
        "--token-env",
        metavar="VARIABLE",
        default=TOKEN_VARIABLE,
        help=f"with --url: the variable that holds the token (default {TOKEN_VARIABLE})",
    )
    add_json_flag(parser)


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Print the findings; 1 when something needs doing."""
    if given.url is None:
        found = findings(settings, this_folder())
    else:
        found = remote_findings(address_of(given.url), os.environ.get(token_variable(given.token_env), ""))
    print_answer(diagnosis_json(found), diagnosis_text(found), as_json=given.json)
    return 0 if is_healthy(found) else EXIT_NO


def is_healthy(found: Sequence[Finding]) -> bool:
    """Whether nothing needs doing."""
    return all(finding.is_ok for finding in found)


def diagnosis_json(found: Sequence[Finding]) -> dict[str, object]:
    """Return the findings as JSON."""
    return {"healthy": is_healthy(found), "findings": [finding.wire() for finding in found]}


def diagnosis_text(found: Sequence[Finding]) -> str:
    """Return a line for each finding, and one below it with what to do."""
    width = max((len(finding.name) for finding in found), default=0)
    lines = [f"{'ok ' if each.is_ok else 'NO '} {each.name:{width}}  {each.text}" for each in found]
    advice = [f"{'':{width + 6}}-> {each.advice}" if each.advice else "" for each in found]
    return "\n".join(line for pair in zip(lines, advice, strict=True) for line in pair if line)
