"""Draws docs/story.svg, the picture of the contents, from a run of the demo's story: it quotes the
tools' answers.

tests/test_picture.py fails while the file differs from its output. Run: python
scripts/draw_story.py
"""

import textwrap
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Final, NamedTuple

from fleet_memory.demo.player import STORY, at, day_of, items, play

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


DOMAIN: Final = "task-claiming"  # of the lessons that the picture shows


class Record(NamedTuple):
    """The part of the story that the picture shows: the entry, the verdicts of each agent on pairs
    of its domain, and who reads it first, when and how.
    """

    entry: object
    verdicts: dict[str, set[str]]
    reader: str
    day: str
    read: str


def recorded() -> Record:
    """Play the story in a memory of its own, and return its record."""
    played = play(STORY, lambda _: None)
    if unmet := [each for call in played for each in call.unmet()]:
        raise SystemExit(f"the story does not come out as it should: {unmet}")
    verdicts: dict[str, set[str]] = {}
    for call in played:
        for pair, (_, verdict) in zip(call.asked, items(call.arguments, "verdicts"), strict=False):
            if {at(pair, "a.domain"), at(pair, "b.domain")} == {DOMAIN}:
                program = str(call.call["program"])
                verdicts.setdefault(program, set()).add(str(at(verdict, "verdict")))
    (entry,) = [call.answer for call in played if call.answer.get("domain") == DOMAIN]
    last = played[-1]
    read = str(at(last.answer, "knowledge.0.pattern"))
    return Record(entry, verdicts, str(last.call["program"]), last.day, read)


def picture(story: Record) -> str:
    """Return the picture as SVG: the agents' lessons, below each its verdict, the entry, and its
    reader.
    """
    sources = [source for _, source in items(story.entry, "provenance")]
    gaps = GAP * (len(sources) - 1)
    wide = (WIDTH - 2 * MARGIN - gaps) / len(sources)
    lessons = [_lesson(source, wide) for source in sources]
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
    for number, (source, lines) in enumerate(zip(sources, lessons, strict=True)):
        left = MARGIN + number * (wide + GAP)
        parts += _card(left, top, wide, below - top, lines)
        program = str(at(source, "programId"))
        verdict = f"{program}: {', '.join(sorted(story.verdicts[program]))}"
        parts += _pill(left + wide / 2, below + 56, Line(verdict, "verdict"))
        parts += _arrow(left + wide / 2, below + 56 + PILL, joined)
    known, read = _known(story.entry), _read(story)
    reader = joined + _height(known) + 36
    parts += _card(MARGIN, joined, WIDTH - 2 * MARGIN, _height(known), known, "entry")
    parts += _arrow(WIDTH / 2, joined + _height(known), reader)
    parts += _card(MARGIN, reader, WIDTH - 2 * MARGIN, _height(read), read)
    return _document(parts, reader + _height(read) + MARGIN)


def _lesson(source: object, wide: float) -> list[Line]:
    """Return an agent's card: its name and the day, its sentence, and the work that taught it."""
    chars = int((wide - 2 * PADDING) / CHAR)
    return [
        Line(f"{at(source, 'programId')}, {day_of(str(at(source, 'discoveredAt')))}", "agent"),
        *(Line(line) for line in textwrap.wrap(f"“{at(source, 'pattern')}”", chars)),
        *(Line(line, "muted") for line in textwrap.wrap(f"It {at(source, 'evidence')}", chars)),
    ]


def _known(entry: object) -> list[Line]:
    """Return the card of the entry, with its provenance."""
    contributors = ", ".join(str(name) for _, name in items(entry, "contributors"))
    return [
        Line("3 · Their verdicts make it knowledge, with its provenance", "step"),
        Line(f"“{at(entry, 'pattern')}”"),
        Line(
            f"learnt independently by {contributors} · {at(entry, 'confidence'):.0%} "
            f"sure · {at(entry, 'key')}",
            "muted",
        ),
    ]


def _read(story: Record) -> list[Line]:
    """Return the card of the agent that reads the entry at its start."""
    return [
        Line(
            f"4 · {story.reader} has never worked here. On {story.day}, before its first "
            "task, it reads",
            "step",
        ),
        Line(f"“{story.read}”"),
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
