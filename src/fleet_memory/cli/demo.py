"""`fleet-memory demo`."""

import argparse

from fleet_memory.demo import main as played
from fleet_memory.settings import Settings


def add_arguments(_: argparse.ArgumentParser) -> None:
    """Take the settings alone."""


def run(_: argparse.Namespace, settings: Settings) -> int:
    """Play the demo."""
    return played(settings)
