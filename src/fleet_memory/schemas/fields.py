"""Field types with their limits and the texts of their refusals.

Limits: docs/architecture.md, "Limits". Too long a value is refused, never cut.
"""

import hashlib
import re
import unicodedata
from base64 import b64decode
from contextlib import suppress
from datetime import UTC, datetime
from math import isfinite
from typing import Annotated, Final, TypeAlias, cast

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    JsonValue,
    PlainSerializer,
    WithJsonSchema,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

MAX_NAME_CHARS: Final = 100  # characters
# characters: "pattern/" + a domain + "/" + a slug, see rules/text/keys.py
MAX_KEY_CHARS: Final = 220
DEEPEST_OBJECT: Final = 10  # levels; no state that an agent reads at boot needs more
# of names and texts, 1 for any other value; chosen: config has 32,000 bytes of JSON
MAX_OBJECT_CHARS: Final = 30_000
_NAME = re.compile(r"[A-Za-z0-9_:/-][A-Za-z0-9._:/-]*")
_PRINTABLE_CONTROLS = "\n\t"


def _named(longest: int) -> AfterValidator:
    def check(name: str) -> str:
        if not (0 < len(name) <= longest and _NAME.fullmatch(name) and ".." not in name):
            raise PydanticCustomError(
                "name",
                "must be 1-{longest} characters of letters, digits and . _ : / - with no "
                "leading dot and no '..'",
                {"longest": longest},
            )
        return name

    return AfterValidator(check)


def _readable(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("blank", "must not be empty")
    return _without_controls(text)


def _without_controls(text: str) -> str:
    if text.isprintable():  # fifty times faster, and so no text of these categories
        return text
    for at, char in enumerate(text):
        if unicodedata.category(char) in {"Cc", "Cs"} and char not in _PRINTABLE_CONTROLS:
            raise PydanticCustomError(
                "control_character",
                "must not hold control characters (U+{code} at position {at})",
                {"code": f"{ord(char):04X}", "at": at},
            )
    return text


def _text_length(least: int, longest: int) -> BeforeValidator:
    # Before the type's own check so that 20 MB of text are refused without being looked at.
    def check(text: object) -> object:
        if isinstance(text, str) and len(text) > longest:
            raise PydanticCustomError(
                "too_long",
                "must be at most {longest} characters, not {length}; shorten it",
                {"longest": longest, "length": len(text)},
            )
        if isinstance(text, str) and len(text) < least:
            raise PydanticCustomError("blank", "must not be empty")
        return text

    return BeforeValidator(check)


def _as_domain(text: str) -> str:
    if _NAME.fullmatch(text) and ".." not in text:
        return text
    letters = unicodedata.normalize("NFKD", _readable(text)).encode("ascii", "ignore").decode()
    name = "-".join(re.findall(r"[a-z0-9]+", letters.lower()))[:MAX_NAME_CHARS].strip("-")
    # other scripts: a name for equal words
    return name or f"topic-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _plain(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    waiting: list[tuple[JsonValue, int]] = [(value, 1)]
    room = MAX_OBJECT_CHARS
    while waiting:
        item, depth = waiting.pop()
        names = sum(map(len, item)) if isinstance(item, dict) else 0
        room -= len(item) if isinstance(item, str) else 1 + names
        if room < 0:
            message = "must hold at most {longest} characters of names and texts; send it in parts"
            raise PydanticCustomError("too_large", message, {"longest": MAX_OBJECT_CHARS})
        if depth > DEEPEST_OBJECT:
            raise PydanticCustomError(
                "too_deep", "must be nested at most {deepest} deep", {"deepest": DEEPEST_OBJECT}
            )
        if isinstance(item, float) and not isfinite(item):
            raise PydanticCustomError("not_finite", "must hold finite numbers only")
        if isinstance(item, dict | list):
            waiting += [
                (each, depth + 1) for each in (item.values() if isinstance(item, dict) else item)
            ]
    return value


def _instant(value: object) -> datetime:
    with suppress(ValueError, OverflowError):  # year 1 or 9999, shifted out of the calendar
        if isinstance(value, str) and len(value) <= MAX_NAME_CHARS:
            value = datetime.fromisoformat(value)
        if isinstance(value, datetime) and value.tzinfo:
            return value.astimezone(UTC)
    message = "must be an ISO 8601 instant with a zone, e.g. 2026-02-14T08:23:00Z"
    raise PydanticCustomError("timestamp", message)


def format_instant(instant: datetime) -> str:
    """Return an instant as ISO 8601, e.g. "2026-02-14T12:00:00Z", with milliseconds unless they are
    0.
    """
    precision = "milliseconds" if instant.microsecond else "seconds"
    return instant.astimezone(UTC).isoformat(timespec=precision).replace("+00:00", "Z")


def _most(chars: int) -> FieldInfo:
    return cast("FieldInfo", Field(strict=True, json_schema_extra={"maxLength": chars}))


_READABLE: Final = AfterValidator(_readable)
_PLAIN: Final = AfterValidator(_without_controls)

Name: TypeAlias = Annotated[str, _most(MAX_NAME_CHARS), _named(MAX_NAME_CHARS)]
"""An id: program, agent, pattern, domain, project, session, request."""

Domain: TypeAlias = Annotated[
    str,
    _most(MAX_NAME_CHARS),
    _text_length(1, MAX_NAME_CHARS),
    AfterValidator(_as_domain),
]
"""A topic in any words. A name stays as it is; other words become one, e.g. "Page speed!" ->
"page-speed".
"""

Key: TypeAlias = Annotated[str, _most(MAX_KEY_CHARS), _named(MAX_KEY_CHARS)]
"""A pattern id or a knowledge key."""

Timestamp: TypeAlias = Annotated[
    datetime,
    BeforeValidator(_instant),
    PlainSerializer(format_instant, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""An instant in UTC; on the wire ISO 8601 with a zone."""

Confidence: TypeAlias = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
"""0..1; a bool or a text is refused."""


LessonText: TypeAlias = Annotated[str, _most(1000), _READABLE, _text_length(1, 1000)]
EvidenceText: TypeAlias = Annotated[str, _most(2000), _PLAIN, _text_length(0, 2000)]
QueryText: TypeAlias = Annotated[str, _most(1000), _READABLE, _text_length(1, 1000)]
LineText: TypeAlias = Annotated[str, _most(300), _READABLE, _text_length(1, 300)]
HandoffText: TypeAlias = Annotated[str, _most(4000), _PLAIN, _text_length(0, 4000)]
NoteText: TypeAlias = Annotated[str, _most(500), _READABLE, _text_length(1, 500)]
Tag: TypeAlias = Annotated[str, _most(50), _READABLE, _text_length(1, 50)]
LooseObject: TypeAlias = Annotated[dict[str, JsonValue], AfterValidator(_plain)]
"""An object of the agent's own making, JSON of bounded depth."""

LooseValue: TypeAlias = JsonValue
"""The value of a member of such an object."""

Tags: TypeAlias = Annotated[tuple[Tag, ...], Field(max_length=10)]


def outlined_as(*names: str) -> FieldInfo:
    """Return a mark for an object that another tool describes: of its fields a client is shown
    these, in outline.
    """
    return cast("FieldInfo", Field(json_schema_extra={"outline": list(names)}))


def vector_bytes(packed: str) -> bytes:
    """Unpack a vector, one number a byte; b"" for malformed text."""
    try:
        return b64decode(packed, validate=True)
    except ValueError:
        return b""
