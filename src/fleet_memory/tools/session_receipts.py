"""Receipts of sessions: a call that is repeated finds there its answer, and when it came first."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple, cast

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.repositories.programs import Programs
from fleet_memory.rules.lifecycle.admission import RETRY_WITHIN
from fleet_memory.rules.lifecycle.idempotency import request_key, result_of, with_request
from fleet_memory.schemas.answers.state import SessionAnswer
from fleet_memory.schemas.programs import Program
from fleet_memory.stores import Json, Write


class SessionRequest(NamedTuple):
    """One call: the name that its client gave it, None for none, and a digest of its content."""

    request_id: str | None
    call: str

    @property
    def name(self) -> str:
        """The name under which a program remembers it; no client may send one with "="."""
        return self.request_id or f"={self.call}"


class Receipt(NamedTuple):
    """A call's answer and time, with the ids alone of the pairs that it asked about.

    `call` is a digest of the content sent. `at` is None in a receipt of an older version.
    """

    call: str
    answer: SessionAnswer
    at: datetime | None
    asked: Sequence[str] = ()


def with_session(program: Program, request: SessionRequest, number: int) -> tuple[str, ...]:
    """Return the program's requests with a session of this number."""
    return with_request(program.request_ids, request_key("session", request.name, str(number)))


def receipt_write(programs: Programs, number: int, receipt: Receipt, lessons: int) -> Write:
    """Return the write of the receipt of a program's session of this number.

    `lessons` is how many the program has: servers of the version before read no answer without
    `patternsCount`.
    """
    fields: dict[str, Json] = {
        "number": number,
        "call": receipt.call,
        "at": receipt.at.isoformat() if receipt.at else None,
        "asked": list(receipt.asked),
        "text": replace(receipt.answer, patterns_count=lessons).compact(),
    }
    return Write(programs.receipt_ref(receipt.answer.program_id, number), fields)


async def read_repeated(
    programs: Programs, program: Program, request: SessionRequest, now: datetime
) -> Receipt | None:
    """Return the receipt of the session that this call repeats; None for a new one. Billed 1 read
    for a known name.

    Without a name, the content of the program's latest session is a repetition for ten minutes,
    unless its lessons, notes or state changed since. Raises InvalidArgumentError for a name that
    another session has.
    """
    number = result_of(program.request_ids, "session", request.name)
    if number is None or (request.request_id is None and int(number) != program.sessions - 1):
        return None
    receipt = await _read_receipt(programs, program.program_id, int(number), request.call)
    if request.request_id is None:
        return receipt if receipt and _is_retry(receipt, program, now) else None
    if receipt is None:
        raise InvalidArgumentError(
            f"requestId: {request.request_id!r} was used for another session, and nothing was "
            "written now; "
            "give this one a name of its own, or none"
        )
    return receipt


def _is_retry(receipt: Receipt, program: Program, now: datetime) -> bool:
    """Whether a session came lately, by a clock that may be another server's, and nothing was
    written since.
    """
    if receipt.at is None or receipt.at != program.last_update:
        return False
    return abs(now - receipt.at) < RETRY_WITHIN


async def _read_receipt(
    programs: Programs, program_id: str, number: int, call: str
) -> Receipt | None:
    """Return the receipt of a session; None when it was another call."""
    (document,) = await programs.store.get(programs.receipt_ref(program_id, number))
    if document is None or document.fields["number"] != number or document.fields["call"] != call:
        return None
    answer = SessionAnswer.from_json(str(document.fields["text"]))
    answer = answer if answer.patterns else replace(answer, patterns_count=None)
    at = document.fields.get("at")
    asked = cast("list[str]", document.fields.get("asked", []))
    return Receipt(call, answer, datetime.fromisoformat(str(at)) if at else None, asked)
