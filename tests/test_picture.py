"""The picture of the contents: it shows a run of the demo's story, is text, needs no other file, and
is small.
"""

import re
from pathlib import Path
from xml.etree import ElementTree

from scripts.draw_story import CHAR, MARGIN, PICTURE, picture, recorded

SVG = "{http://www.w3.org/2000/svg}"
MAX_BYTES = 40_000
CONTENTS = (Path(__file__).parent.parent / "docs" / "index.md").read_text(encoding="utf-8")


def test_the_picture_is_that_of_the_story() -> None:
    assert PICTURE.read_text(encoding="utf-8") == picture(recorded()), (
        "run: python scripts/draw_story.py"
    )


def test_the_picture_is_small_text_without_another_file_for_a_light_and_a_dark_page() -> None:
    text = PICTURE.read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)  # noqa: S314 our own file
    assert len(text.encode()) < MAX_BYTES
    assert {element.tag.removeprefix(SVG) for element in root.iter()} == {
        "svg",
        "title",
        "style",
        "rect",
        "text",
        "path",
    }
    assert re.findall(r"https?:[^\"]+|url\(|@import|href", text) == ["http://www.w3.org/2000/svg"]
    assert "prefers-color-scheme:dark" in text


def test_no_text_leaves_the_picture() -> None:
    root = ElementTree.fromstring(PICTURE.read_text(encoding="utf-8"))  # noqa: S314 our own file
    wide = float(root.attrib["viewBox"].split()[2])
    for text in root.iter(f"{SVG}text"):
        if text.attrib.get("class") != "verdict":  # which is centred
            char = CHAR * (13 / 15 if text.attrib.get("class") == "muted" else 1)
            assert float(text.attrib["x"]) + char * len(text.text or "") < wide - MARGIN, text.text


def test_the_alternative_text_describes_the_picture() -> None:
    ((words, file),) = re.findall(r"!\[(.+?)\]\((.+?)\)", CONTENTS)
    assert file == "story.svg"
    assert all(name in words for name in ("basher", "iso", "sark", "same", "89% sure", "quorra"))
