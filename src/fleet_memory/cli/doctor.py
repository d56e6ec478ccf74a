"""`fleet-memory doctor`: check this machine and its clients, or the service at --url, and name the
remedies.
"""

import argparse
import os
from collections.abc import Sequence

from fleet_memory.cli.printing import add_json_flag, print_answer
from fleet_memory.clients.clients import this_folder
from fleet_memory.clients.doctor import Finding, findings
from fleet_memory.clients.service import TOKEN_VARIABLE, address_of, remote_findings, token_variable
from fleet_memory.errors import EXIT_NO
from fleet_memory.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument(
        "--url", metavar="URL", help="walk the service at this address instead of this machine"
    )
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
        diagnosed = findings(settings, this_folder())
    else:
        diagnosed = remote_findings(
            address_of(given.url), os.environ.get(token_variable(given.token_env), "")
        )
    print_answer(diagnosis_json(diagnosed), diagnosis_text(diagnosed), as_json=given.json)
    return 0 if is_healthy(diagnosed) else EXIT_NO


def is_healthy(diagnosed: Sequence[Finding]) -> bool:
    """Whether nothing needs doing."""
    return all(finding.is_ok for finding in diagnosed)


def diagnosis_json(diagnosed: Sequence[Finding]) -> dict[str, object]:
    """Return the findings as JSON."""
    return {"healthy": is_healthy(diagnosed), "findings": [finding.wire() for finding in diagnosed]}


def diagnosis_text(diagnosed: Sequence[Finding]) -> str:
    """Return a line for each finding, and one below it with the remedy."""
    width = max((len(finding.name) for finding in diagnosed), default=0)
    lines = [
        f"{'ok ' if each.is_ok else 'NO '} {each.name:{width}}  {each.text}" for each in diagnosed
    ]
    advice = [f"{'':{width + 6}}-> {each.advice}" if each.advice else "" for each in diagnosed]
    return "\n".join(line for pair in zip(lines, advice, strict=True) for line in pair if line)
