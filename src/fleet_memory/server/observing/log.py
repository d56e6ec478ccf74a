"""The log as lines of text, or as JSON, one object a line."""

import json
import logging
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from traceback import extract_tb
from typing import Final, TypeAlias

from fleet_memory.settings import Settings

TEXT_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
REQUESTS: Final = "fleet_memory.requests"
"""The logger of one line per request; the extra `request` of a record has its fields."""

REPEATING: Final = ("mcp.server.transport_security", "opentelemetry.baggage", "opentelemetry.trace")
"""Loggers whose warnings repeat a request: its Host and Origin, and the trace context in its
`_meta`.
"""
PROVOKED: Final = ("uvicorn.error", "mcp.server.runner")
"""Loggers that warn at every bad request, by which a stranger could fill the log."""
PROVOKED_EVERY_S: Final = 60.0  # seconds between two warnings of one place in their code; chosen
MAX_MESSAGE_CHARS: Final = (
    1_000  # of a line of the log; chosen: headers of 64 KB are among others' messages
)

LogField: TypeAlias = str | int | float | list[str] | None


class TextLines(logging.Formatter):
    """Writes a record as one line of text; a traceback follows on lines of its own."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 the name is logging's
        """See `logging.Formatter.formatMessage`."""
        record.message = _one_line(record.message)
        return super().formatMessage(record)


class JsonLines(logging.Formatter):
    """Writes a record as one JSON object.

    An exception is its type and the places in the code, without its message: that of a library may
    repeat a text.
    """

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter.format`."""
        line: dict[str, LogField] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
        }
        request: dict[str, LogField] | None = getattr(record, "request", None)
        line |= {"message": _one_line(record.getMessage())} if request is None else request
        if record.exc_info and (error := record.exc_info[1]):
            line["error"] = type(error).__qualname__
            line["at"] = [
                f"{Path(frame.filename).name}:{frame.lineno} {frame.name}"
                for frame in extract_tb(error.__traceback__)
            ]
        return json.dumps(line, ensure_ascii=False, separators=(",", ":"))


class SeldomWarnings(logging.Filter):
    """Passes a warning of each place in the code at most once in `PROVOKED_EVERY_S`, and every
    error.
    """

    def __init__(self, elapsed: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._elapsed = elapsed
        self._last: dict[tuple[str, int], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """See `logging.Filter.filter`."""
        if record.levelno > logging.WARNING:
            return True
        now, place = self._elapsed(), (record.pathname, record.lineno)
        if now - self._last.get(place, -PROVOKED_EVERY_S) < PROVOKED_EVERY_S:
            return False
        self._last[place] = now
        return True


def _one_line(message: str) -> str:
    """Return a message as it is safe in a terminal: cut, and with escapes for control characters
    and line breaks.

    Other libraries may log a text as it came.
    """
    message = message.rstrip()
    cut = message if len(message) <= MAX_MESSAGE_CHARS else f"{message[:MAX_MESSAGE_CHARS]}…"
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in cut
    )


def set_up_logging(settings: Settings) -> None:
    """Send the log to stderr as the settings say, unless this process has a log already.

    It comes before mcp's own set-up, which would write in colours. Below WARNING it keeps only our
    own lines: mcp and sse-starlette write whole messages and answers there. The warnings of
    `REPEATING` are left out too, and most of `PROVOKED`.
    """
    root = logging.getLogger()
    if root.handlers:
        return
    is_text = settings.log_format == "text"
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(TextLines(TEXT_FORMAT) if is_text else JsonLines())
    root.addHandler(handler)
    root.setLevel(max(logging.WARNING, logging.getLevelNamesMapping()[settings.log_level]))
    logging.getLogger("fleet_memory").setLevel(settings.log_level)
    for name in REPEATING:
        logging.getLogger(name).setLevel(logging.ERROR)
    for name in PROVOKED:
        logging.getLogger(name).addFilter(SeldomWarnings())
    if not is_text:
        logging.captureWarnings(capture=True)
        logging.getLogger(REQUESTS).setLevel(logging.INFO)
