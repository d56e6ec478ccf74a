"""`fleet-memory doctor`: say what works on this machine, what does not and what to do, and its cost in tokens."""

import argparse
from pathlib import Path
from typing import Final

from fleet_memory.cli.printing import add_json_flag, print_answer, say
from fleet_memory.errors import EXIT_NO
from fleet_memory.integration.diagnosis import Finding, findings
from fleet_memory.settings import Settings

EXAMPLE: Final = "fleet-memory doctor"
USES: Final = ("store", "fleet", "program", "embedder", "embedder_url", "now")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    add_json_flag(parser)


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Print the findings; 1 when something needs doing."""
    found = findings(settings, Path.cwd())
    content = {"healthy": _is_healthy(found), "findings": [finding.wire() for finding in found]}
    print_answer(content, _text(found), as_json=given.json)
    return 0 if _is_healthy(found) else EXIT_NO


def report_on(client: str, settings: Settings) -> int:
    """Print the findings for one client; 1 when something needs doing."""
    found = findings(settings, Path.cwd(), client)
    say(_text(found))
    return 0 if _is_healthy(found) else EXIT_NO


def _is_healthy(found: list[Finding]) -> bool:
    return all(finding.is_ok for finding in found)


def _text(found: list[Finding]) -> str:
    width = max(len(finding.name) for finding in found)
    lines = [f"{'ok ' if each.is_ok else 'NO '} {each.name:{width}}  {each.text}" for each in found]
    advice = [f"{'':{width + 6}}-> {each.advice}" if each.advice else "" for each in found]
    return "\n".join(line for pair in zip(lines, advice, strict=True) for line in pair if line)
