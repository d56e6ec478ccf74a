"""Templates: every text is escaped, and invisible characters are spelt out.

A page is made of its content, the object of its JSON twin.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping
from datetime import datetime
from difflib import SequenceMatcher
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import urlencode

from jinja2 import DictLoader, Environment
from markupsafe import Markup, escape

PageContent: TypeAlias = dict[str, object]
"""What a page shows, as JSON."""

_HERE: Final = Path(__file__).parent
STATIC_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "LICENSE": "text/plain; charset=utf-8",
}
STATIC: Final = {path.name: path.read_bytes() for path in (_HERE / "static").iterdir()}
# of the assets together, in their address: a browser keeps them until they change
STATIC_MARK: Final = hashlib.sha256(b"".join(STATIC[name] for name in sorted(STATIC))).hexdigest()[
    :12
]
_DONE: Final = {  # what a page says after an act, by the name in its address
    "retired": "Retired: no agent reads it any more. People bring it back by Reinstate.",
    "reinstated": "Reinstated: agents read it again.",
    "reworded": "Reworded: agents read the new text.",
    "split": "Taken out: the two are judged different. Take the verdict back under Review.",
    "edited": "Edited. The earlier text is in the archive unless something still holds it.",
    "restored": "Restored from the archive.",
    "allowed": "Released: the next run compares it.",
    "ended": "Ended: every server refuses this token within seconds.",
}
_UNSEEN: Final = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
MIN_SHARED: Final = 0.5  # of the words of two texts, that marks help; chosen
_WORD: Final = re.compile(r"\s+|\w+|[^\w\s]")


def visible(text: str) -> str:
    """Return a text with the characters spelt out that show nothing or turn others round, e.g.
    ⟨U+202E⟩.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        f"⟨U+{ord(char):04X}⟩"
        if char not in "\n\t" and unicodedata.category(char) in _UNSEEN
        else char
        for char in text
    )


def _finalized(value: object) -> object:
    if value is None:
        return ""
    return value if isinstance(value, Markup) or not isinstance(value, str) else visible(value)


def _exact(text: str) -> Markup:
    """Return a text as it is, escaped: for values that a form sends back."""
    return escape(text)


def differing(text: str, other: str) -> Markup:
    """Return a text with the words marked that another text has not there; none where nearly all
    differ.
    """
    own, theirs = _WORD.findall(visible(text)), _WORD.findall(visible(other))
    matcher = SequenceMatcher(
        None, [w.lower() for w in own], [w.lower() for w in theirs], autojunk=False
    )
    if matcher.ratio() < MIN_SHARED:
        return escape("".join(own))
    parts = list[str]()
    for kind, start, end, *_ in matcher.get_opcodes():
        words = escape("".join(own[start:end]))
        parts.append(words if kind == "equal" or not words.strip() else f"<mark>{words}</mark>")
    return Markup("".join(parts))  # noqa: S704 each part is escaped


_WIDE, _HIGH = 120, 28  # of the drawing; chosen


def _fading(lesson: Mapping[str, float]) -> Markup:
    """Draw a lesson's strength from its last reinforcement until it is stale, with a dot today."""
    age, left, half = lesson["ageDays"], lesson["staleInDays"], lesson["halfLifeDays"]
    days = max(age + left, age, 1.0)

    def at(day: float) -> str:
        strength = lesson["confidence"] * 0.5 ** (day / half)
        return f"{2 + day / days * (_WIDE - 4):.1f},{_HIGH - 2 - strength * (_HIGH - 4):.1f}"

    x, y = at(min(age, days)).split(",")
    line = " ".join(at(days * step / 20) for step in range(21))
    said = f"Strength {lesson['strength']:.2f} now, " + (
        f"stale in {left:.0f} days" if left >= 0 else f"stale for {-left:.0f} days"
    )
    return Markup(  # noqa: S704 numbers alone
        f'<svg class="fade" role="img" viewBox="0 0 {_WIDE} {_HIGH}" width="{_WIDE}" '
        f'height="{_HIGH}"><title>{said}</title><polyline points="{line}"/>'
        f'<circle cx="{x}" cy="{y}" r="3"/></svg>'
    )


def _day(at: str | datetime) -> Markup:
    """Return an instant as a day and a minute in UTC, for people and for machines."""
    instant = datetime.fromisoformat(at) if isinstance(at, str) else at
    exact = escape(instant.isoformat())
    return Markup(f'<time datetime="{exact}">{instant:%Y-%m-%d %H:%M}</time>')  # noqa: S704 escaped


_ENVIRONMENT: Final = Environment(
    loader=DictLoader(
        {path.name: path.read_text(encoding="utf-8") for path in (_HERE / "templates").iterdir()}
    ),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    finalize=_finalized,
)
_ENVIRONMENT.filters |= {
    "exact": _exact,
    "differing": differing,
    "fading": _fading,
    "day": _day,
    "query": urlencode,
    "tojson_text": partial(json.dumps, indent=2, ensure_ascii=False),
}
_ENVIRONMENT.globals |= {"static_mark": STATIC_MARK, "outcomes": _DONE}


def rendered(
    template: str, content: Mapping[str, object], layout: str = "base.html", **frame: object
) -> str:
    """Return a page: its template filled with its content, in a layout and what that shows."""
    return _ENVIRONMENT.get_template(template).render(**content, layout=layout, **frame)
