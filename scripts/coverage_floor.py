"""Fail if `tests/` run too little of a folder: `python scripts/coverage_floor.py`, after `pytest
tests --cov`.
"""

import subprocess
import sys

FOLDERS = ("rules", "jobs")  # of the package, each for itself
FLOOR = 95  # percent of lines and branches


def main() -> None:
    """Report each folder, and exit with 1 if one is below the floor."""
    low = [folder for folder in FOLDERS if not covered(folder)]
    if low:
        sys.exit(
            f"Below {FLOOR} % of lines and branches: {', '.join(low)}. Test what the report "
            "above calls missing."
        )


def covered(folder: str) -> bool:
    """Print the report of a folder; return whether it reaches the floor. A folder without files
    does not.
    """
    include = f"--include=*/fleet_memory/{folder}/*"
    report = ["report", include, f"--fail-under={FLOOR}", "--show-missing", "--skip-covered"]
    return subprocess.call([sys.executable, "-m", "coverage", *report]) == 0  # noqa: S603 - our own arguments


if __name__ == "__main__":
    main()
