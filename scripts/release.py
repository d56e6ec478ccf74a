"""Sets the version everywhere and dates its part of the changelog: `python scripts/release.py
0.4.0`. See RELEASING.md.

The version is that of `src/fleet_memory/__init__.py`, which pyproject.toml reads. Files for others
cannot read it: they have copies, and tests/test_release.py compares them.
"""

import re
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
COPIES: Final = ("server.json", "plugin/.claude-plugin/plugin.json")
VERSION: Final = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")


def release(root: Path, version: str, day: date) -> None:
    """Write the version into every file under `root` that has it. Raises ValueError if it is none,
    or has a date.
    """
    if not VERSION.fullmatch(version):
        raise ValueError(f"{version!r} is no version, e.g. 0.4.0 or 0.4.0rc1")
    if f"\n## [{version}] - " in (root / "CHANGELOG.md").read_text(encoding="utf-8"):
        raise ValueError(f"CHANGELOG.md has a date for {version} already")
    _replace(root / "src/fleet_memory/__init__.py", r'(?<=^__version__ = ")[^"]+', version)
    for name in COPIES:
        _replace(root / name, r'(?<="version": ")[^"]+', version)
    heading = f"## [Unreleased]\n\n## [{version}] - {day.isoformat()}"
    _replace(root / "CHANGELOG.md", r"^## \[Unreleased\]$", heading)


def _replace(path: Path, pattern: str, text: str) -> None:
    changed, times = re.subn(pattern, text, path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if not times:
        raise ValueError(f"{path} has no place for it")
    path.write_text(changed, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    try:
        release(ROOT, sys.argv[1], datetime.now(UTC).date())
    except (IndexError, ValueError) as error:
        sys.exit(f"usage: python scripts/release.py VERSION: {error}")
