"""Draws docs/story.svg, the picture in the README, from a run of the demo's story: it quotes the
tools' answers.

tests/test_picture.py fails while the file differs from its output. Run: python
scripts/draw_story.py
"""

import textwrap
from collections.abc import Iterator, Sequence
from datetime import datetime
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import anyio

from fleet_memory.demo.stage import Stage
from fleet_memory.demo.story import play_story
from fleet_memory.demo.telling import Teller, Texts
from fleet_memory.demo.weeks import CHECK, ECHO
from fleet_memory.schemas.pairs import Verdict
from fleet_memory.settings import load
from fleet_memory.tools.core.judging import ToJudge
from fleet_memory.tools.knowledge import EntryAnswer, ProvenanceLine

PICTURE: Final = Path(__file__).parent.parent / "docs" / "story.svg"

# In units of the picture, which are pixels where it is shown at its full size
WIDTH: Final = 960
MARGIN: Final = 24
GAP: Final = 18
PADDING: Final = 16
LINE: Final = 22
PILL: Final = 30
ASKING: Final = 118  # from the lessons to the entry: a heading, the verdicts and their arrows
CHAR: Final = 8.5  # of a character at 15 px in DejaVu Sans, the widest of the fonts below
LOOKS: Final = """
text{font:15px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:#1f2328}
.step{font-weight:600}.agent{font-weight:600;fill:#0550ae}.muted{font-size:13px;fill:#59636e}
.verdict{font-weight:600;fill:#116329;text-anchor:middle}
.page{fill:#fff;stroke:#d1d9e0}.card{fill:#f6f8fa;stroke:#d1d9e0}.entry{fill:#dafbe1;stroke:#4ac26b}
.line{fill:none;stroke:#4ac26b;stroke-width:2}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.agent{fill:#79c0ff}.muted{fill:#9198a1}.verdict{fill:#7ee787}
.page{fill:#0d1117;stroke:#3d444d}.card{fill:#161b22;stroke:#3d444d}.entry{fill:#12261e;stroke:#2ea043}
.line{stroke:#2ea043}}
"""
ABOUT: Final = (
    "Three agents store one lesson in their own words, judge it to be the same, and a "
    "fourth reads it at its start"
)


class Line(NamedTuple):
    """A line of text and its class in LOOKS, "" for plain text."""

    text: str
    look: str = ""


class Recorder(Teller):
    """Keeps the part of the story that the picture shows: the lessons about claiming tasks."""

    def __init__(self) -> None:
        super().__init__(None)
        self.entries: list[EntryAnswer] = []
        self.verdicts: dict[str, set[str]] = {}
        self.read: list[str] = []

    def agreed(self, entry: EntryAnswer, texts: Texts) -> None:  # noqa: ARG002 the provenance has them
        """Keep the entry."""
        self.entries += [entry] if entry.domain == CHECK.domain else []

    def judged(self, program: str, pair: ToJudge, verdict: Verdict) -> None:
        """Keep an agent's verdict."""
        if {pair.a.domain, pair.b.domain} == {CHECK.domain}:
            self.verdicts.setdefault(program, set()).add(verdict)

    def quote(self, lesson: str, label: str = "") -> None:
        """Keep an entry that the newcomer reads."""
        self.read += [lesson] if label.startswith("from ") else []


def recorded() -> Recorder:
    """Play the story in a memory of its own, and return its record; it has one entry."""
    recorder = Recorder()
    with TemporaryDirectory() as folder:
        stage = Stage(load({"store": str(Path(folder) / "memory.db"), "fleet": "demo"}, {}))
        wrong = [claim for claim in anyio.run(play_story, stage, recorder) if not claim.holds]
    if wrong or len(recorder.entries) != 1:
        raise SystemExit(f"the story does not come out as it should: {wrong}")
    return recorder


def picture(story: Recorder) -> str:
    """Return the picture as SVG: the agents' lessons, below each its verdict, the entry, and its
    reader.
    """
    (entry,) = story.entries
    gaps = GAP * (len(entry.provenance) - 1)
    wide = (WIDTH - 2 * MARGIN - gaps) / len(entry.provenance)
    lessons = [_lesson(source, wide) for source in entry.provenance]
    top = MARGIN + LINE + 8
    below = top + max(map(_height, lessons))
    joined = below + ASKING
    parts = [
        _text(
            MARGIN,
            MARGIN + 14,
            Line("1 · Agents store what their work taught them. None sees another's notes", "step"),
        ),
        _text(
            MARGIN,
            below + 38,
            Line("2 · The server asks about likely pairs, and the agents judge them", "step"),
        ),
    ]
    for number, (source, lines) in enumerate(zip(entry.provenance, lessons, strict=True)):
        left = MARGIN + number * (wide + GAP)
        parts += _card(left, top, wide, below - top, lines)
        verdict = f"{source.program_id}: {', '.join(sorted(story.verdicts[source.program_id]))}"
        parts += _pill(left + wide / 2, below + 56, Line(verdict, "verdict"))
        parts += _arrow(left + wide / 2, below + 56 + PILL, joined)
    known, read = _known(entry), _read(story.read[0])
    reader = joined + _height(known) + 36
    parts += _card(MARGIN, joined, WIDTH - 2 * MARGIN, _height(known), known, "entry")
    parts += _arrow(WIDTH / 2, joined + _height(known), reader)
    parts += _card(MARGIN, reader, WIDTH - 2 * MARGIN, _height(read), read)
    return _document(parts, reader + _height(read) + MARGIN)


def _lesson(source: ProvenanceLine, wide: float) -> list[Line]:
    """Return an agent's card: its name and the day, its sentence, and the work that taught it."""
    chars = int((wide - 2 * PADDING) / CHAR)
    return [
        Line(f"{source.program_id}, {_day(source.discovered_at)}", "agent"),
        *(Line(line) for line in textwrap.wrap(f"“{source.pattern}”", chars)),
        *(Line(line, "muted") for line in textwrap.wrap(f"It {source.evidence}", chars)),
    ]


def _known(entry: EntryAnswer) -> list[Line]:
    """Return the card of the entry, with its provenance."""
    return [
        Line("3 · Their verdicts make it knowledge, with its provenance", "step"),
        Line(f"“{entry.pattern}”"),
        Line(
            f"learnt independently by {', '.join(entry.contributors)} · {entry.confidence:.0%} "
            f"sure · {entry.key}",
            "muted",
        ),
    ]


def _read(text: str) -> list[Line]:
    """Return the card of the agent that reads the entry at its start."""
    return [
        Line(
            f"4 · {ECHO.program} has never worked here. On {_day(ECHO.at)}, before its first "
            "task, it reads",
            "step",
        ),
        Line(f"“{text}”"),
    ]


def _card(
    left: float, top: float, wide: float, high: float, lines: Sequence[Line], look: str = "card"
) -> Iterator[str]:
    yield (
        f'<rect class="{look}" x="{left:g}" y="{top:g}" width="{wide:g}" height="{high:g}" rx="8"/>'
    )
    for number, line in enumerate(lines):
        yield _text(left + PADDING, top + PADDING + 14 + number * LINE, line)


def _pill(middle: float, top: float, line: Line) -> Iterator[str]:
    wide = len(line.text) * CHAR + 2 * PADDING
    place = f'x="{middle - wide / 2:g}" y="{top:g}" width="{wide:g}" height="{PILL}"'
    yield f'<rect class="entry" {place} rx="{PILL / 2:g}"/>'
    yield _text(middle, top + 20, line)


def _arrow(middle: float, top: float, end: float) -> Iterator[str]:
    yield f'<path class="line" d="M{middle:g} {top:g}V{end - 2:g}m-5-6 5 6 5-6"/>'


def _text(left: float, base: float, line: Line) -> str:
    look = f' class="{line.look}"' if line.look else ""
    return f'<text x="{left:g}" y="{base:g}"{look}>{escape(line.text, quote=False)}</text>'


def _height(lines: Sequence[Line]) -> float:
    return len(lines) * LINE + 2 * PADDING - 6


def _day(at: datetime) -> str:
    return f"{at.day} {at:%B}"


def _document(parts: Sequence[str], high: float) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {high:g}" '
            'role="img" aria-labelledby="t">',
            f'<title id="t">{ABOUT}</title>',
            f"<style>{LOOKS}</style>",
            f'<rect class="page" x=".5" y=".5" width="{WIDTH - 1}" height="{high - 1:g}" rx="12"/>',
            *parts,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(recorded()), encoding="utf-8", newline="\n")
