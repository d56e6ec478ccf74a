"""How the demo speaks: plain lines of at most 79 columns, for a terminal, a pipe or a file."""

import textwrap
from collections.abc import Iterable
from io import TextIOWrapper
from typing import Final, TextIO, TypeAlias

from fleet_memory.schemas.pairs import Pair, Verdict
from fleet_memory.tools.core.judging import ToJudge
from fleet_memory.tools.knowledge import EntryAnswer

WIDTH: Final = 79  # columns

Texts: TypeAlias = dict[tuple[str, str], str]
"""Lessons by their program and pattern id."""


class Teller:
    """Prints the story, nowhere if `out` is None, as `sys.stdout` may be. `explain` adds the
    figures.
    """

    def __init__(self, out: TextIO | None, *, explain: bool = False) -> None:
        if isinstance(out, TextIOWrapper) and not out.encoding.lower().startswith("utf"):
            out.reconfigure(
                errors="replace"
            )  # a character that the encoding lacks becomes a question mark
        self._out = out
        self._explain = explain
        self._chapters = 0

    def chapter(self, title: str) -> None:
        """Begin a chapter."""
        self._chapters += 1
        heading = f"{self._chapters}. {title}"
        self._print("", heading, "-" * len(heading))

    def say(self, text: str) -> None:
        """Print a paragraph."""
        self._print(*textwrap.wrap(text, WIDTH))

    def quote(self, lesson: str, label: str = "") -> None:
        """Print a lesson, indented, after the name of its agent or another label."""
        text = f'{label}: "{lesson}"' if label else f'"{lesson}"'
        self._print(*textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    "))

    def figures(self, text: str) -> None:
        """Print figures, only if somebody asked for them."""
        if self._explain:
            self._print(
                *textwrap.wrap(f"[{text}]", WIDTH, initial_indent="  ", subsequent_indent="   ")
            )

    def agreed(self, entry: EntryAnswer, texts: Texts) -> None:
        """Print the lessons that became an entry."""
        for source in entry.provenance:
            self.quote(texts[source.program_id, source.pattern_id], source.program_id)
            self.figures(f"similarity to the entry {source.similarity:.2f}")
        self.figures(f"{entry.key}: {entry.description}")

    def judged(self, program: str, pair: ToJudge, verdict: Verdict) -> None:
        """Print a pair that a program was shown, the hint of what differs, and the verdict."""
        self.quote(pair.a.pattern, f"{program}'s own")
        self.quote(pair.b.pattern, "knowledge" if pair.b.key else "another's")
        if pair.differs:
            self._print(f"  (other {pair.differs})")
        self._print(f"  {program} answers: {verdict}")

    def pairs(self, pairs: Iterable[Pair]) -> None:
        """Print pairs of lessons that wait for a reader."""
        for pair in pairs:
            self.quote(pair.a.text, pair.a.program_id)
            self.quote(pair.b.text, pair.b.program_id)
            self.figures(f"similarity {pair.cosine:.2f}, margin {pair.margin:.2f}")

    def _print(self, *lines: str) -> None:
        if self._out is not None:
            self._out.writelines(f"{line}\n" for line in lines)
            self._out.flush()
