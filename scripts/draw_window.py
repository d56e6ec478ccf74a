"""Draws docs/window-*.png, pictures of the window's pages, from the demo's memory.

    python scripts/draw_window.py

Needs Debian's chromium. Run it after a change of the pages.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from playwright.sync_api import sync_playwright

ROOT: Final = Path(__file__).parent.parent
FLAGS: Final = ("--no-sandbox", "--disable-gpu", "--no-first-run")
NOW: Final = "2026-03-08T12:00:00Z"
WIDE, HIGH = 960, 620  # pixels of a picture


def main() -> None:
    """Serve the demo's memory, and take a picture of each page."""
    with TemporaryDirectory() as folder:
        store = str(Path(folder) / "memory.db")
        test = ROOT / "emulator-tests" / "test_window.py"
        paths = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{test.parent}"}
        subprocess.run([sys.executable, str(test), store], check=True, env=paths)  # noqa: S603 words of this script
        words = [sys.executable, "-m", "fleet_memory", "window", "--no-browser", "--now", NOW]
        served = subprocess.Popen(  # noqa: S603 the same
            [*words, "--store", store, "--fleet", "demo"], stderr=subprocess.PIPE, text=True
        )
        try:
            said = served.stderr.readline() if served.stderr else ""
            take_pictures(re.findall(r"http://\S+", said)[0])
        finally:
            served.kill()
            served.wait()


def take_pictures(link: str) -> None:
    """Open the window by its link, and write the pictures into docs/: pairs that wait, and once
    they are judged what an agent reads.
    """
    with sync_playwright() as playwright:
        path = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=[*FLAGS])
        page = browser.new_page(viewport={"width": WIDE, "height": HIGH})
        page.goto(link)
        root = link.partition("/open")[0]
        page.goto(f"{root}/review")
        page.screenshot(path=ROOT / "docs" / "window-review.png")
        for text in ("task.status", "Builder sessions"):
            page.goto(f"{root}/review")
            pair = page.locator("article.pair", has_text=text).first
            pair.get_by_role("button", name="Same").click()
        page.goto(f"{root}/?program=quorra&task=claim+the+next+task")
        page.screenshot(path=ROOT / "docs" / "window-reading.png")
        browser.close()


if __name__ == "__main__":
    main()
