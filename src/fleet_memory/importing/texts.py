"""Texts of other memories as lessons: what their readers yield, and which of it fits."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Final, Literal, NamedTuple, TypeAlias

from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.fields import MAX_NAME_CHARS
from fleet_memory.schemas.patterns import IMPORTED, NewPattern
from fleet_memory.schemas.value import InvalidValueError

FOREIGN_CONFIDENCE: Final = 0.5  # unknown there; Source: docs/other-memories.md, chosen
MAX_SHOWN_CHARS: Final = 120  # characters of a place or a reason of what is left out; chosen
MAX_TAGS: Final = 10
MAX_TAG_CHARS: Final = 50
# The origin of all imported lessons: equal words in two memories of one person are evidence of a
# copy, not of two witnesses.
MARK: Final = "import"
_SURROGATE: Final = re.compile("[\ud800-\udfff]")  # which JSON can have and UTF-8 cannot


class ForeignText(NamedTuple):
    """One text of another memory: its place there, and its labels.

    `context` becomes the lesson's evidence. `topics` are names for its domain, the best first.
    """

    place: str
    text: str
    context: str
    topics: Sequence[str]
    tags: Sequence[str] = ()
    project: str = ""
    created: datetime | None = None
    changed: datetime | None = None


LeftOutKind: TypeAlias = Literal[
    "credential",
    "limit",
    "damaged",
    "no room",
    "no statement",
    "gone there",
    "relation",
    "repeated",
]
"""Why a part of another memory becomes no lesson, the kinds that need a person's look first."""


class LeftOut(NamedTuple):
    """A part of another memory that becomes no lesson: its place and the reason."""

    kind: LeftOutKind
    place: str
    why: str


ForeignPart: TypeAlias = ForeignText | LeftOut


class ForeignMemory(NamedTuple):
    """Another program's memory, or people's notes, as they were read."""

    source: str
    parts: Sequence[ForeignPart]


class ForeignLesson(NamedTuple):
    """A lesson made of a text of another memory, and its place there."""

    place: str
    pattern: NewPattern

    @property
    def words(self) -> tuple[str, str | None]:
        """A key that is equal for lessons which a program keeps as one."""
        return text_hash(self.pattern.pattern), self.pattern.project_id


def fitting_lessons(
    memory: ForeignMemory, now: datetime, credential_in: Callable[[str], str | None]
) -> tuple[list[ForeignLesson], list[LeftOut]]:
    """Return the lessons, newest first, and the parts left out.

    Of equal texts the newest becomes a lesson. `credential_in` names the rule by which a
    text is a credential.
    """
    lessons, left_out = list[ForeignLesson](), list[LeftOut]()
    for part in memory.parts:
        made = (
            part if isinstance(part, LeftOut) else _lesson(memory.source, part, now, credential_in)
        )
        if isinstance(made, LeftOut):
            left_out.append(_shown(made, credential_in))
        else:
            lessons.append(made)
    lessons.sort(key=lambda lesson: lesson.pattern.last_reinforced or now, reverse=True)
    once = dict[object, ForeignLesson]()
    for lesson in lessons:
        if (first := once.setdefault(lesson.words, lesson)) is not lesson:
            left_out.append(
                _shown(LeftOut("repeated", lesson.place, f"as {first.place}"), credential_in)
            )
    return list(once.values()), left_out


def _shown(part: LeftOut, credential_in: Callable[[str], str | None]) -> LeftOut:
    """Return a part for a terminal: without words that are a credential, and printable."""
    place, why = (
        "not shown, has a credential"
        if credential_in(text)
        else "".join(mark if mark.isprintable() else "?" for mark in text)[:MAX_SHOWN_CHARS]
        for text in (part.place, part.why)
    )
    return part._replace(place=place, why=why)


def _lesson(
    source: str, text: ForeignText, now: datetime, credential_in: Callable[[str], str | None]
) -> ForeignLesson | LeftOut:
    statement, context = text.text.strip(), f"{IMPORTED}{source}: {text.context}"
    project = name_of(text.project)
    plain = dict.fromkeys(" ".join(tag.split()) for tag in (source, *text.tags))
    tags = [tag for tag in plain if 0 < len(tag) <= MAX_TAG_CHARS and tag.isprintable()][:MAX_TAGS]
    over = [*text.topics, *tags]  # names over the statement: "stripe_api_key: 9f86d0…" is a key
    stored = [statement, context, *over, text.project, project]
    stored += [f"{name}: {statement}" for name in over]
    if rule := next(filter(None, map(credential_in, stored)), None):
        return LeftOut("credential", text.place, f"rule {rule}")
    if _SURROGATE.search("".join((statement, context, text.project, *text.topics))):
        return LeftOut("damaged", text.place, "not Unicode text")
    changed = min(text.changed or text.created or now, now)
    fields = {
        "pattern": statement,
        "domain": _domain(text.topics),
        "confidence": FOREIGN_CONFIDENCE,
        "evidence": context,
        "discoveredAt": min(text.created or changed, changed),
        "lastReinforced": changed,
        "projectId": project or None,
        "sessionId": MARK,
        "tags": tags,
    }
    try:
        pattern = NewPattern.model_validate(fields)
    except InvalidValueError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return LeftOut("limit", text.place, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
    return ForeignLesson(text.place, pattern)


def name_of(text: str) -> str:
    """Return a text as a name here, e.g. "Backend Dev" -> "Backend-Dev", "日本" -> ""."""
    plain = "".join(
        mark if mark.isascii() and (mark.isalnum() or mark in "._:/-") else "-"
        for mark in unicodedata.normalize("NFKD", text.strip())
    )
    while ".." in plain:
        plain = plain.replace("..", ".")
    return plain[:MAX_NAME_CHARS].strip("-.") if any(mark.isalnum() for mark in plain) else ""


def _domain(topics: Iterable[str]) -> str:
    """Return the first topic with Latin letters, else the first."""
    named = [topic.strip()[:MAX_NAME_CHARS] for topic in topics if topic.strip()]
    latin = (topic for topic in named if name_of(topic).strip("0123456789-"))
    return next(latin, named[0] if named else "imported")
