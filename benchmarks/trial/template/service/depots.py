"""Depots, from config/depots.toml."""
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def depots():
    return tomllib.loads((ROOT / "config" / "depots.toml").read_text(encoding="utf-8"))["depots"]


def codes():
    return sorted(depots())


def city(code):
    return depots()[code]["city"]
