"""Receipts of sessions: a call that is repeated finds there its answer, and when it came first."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, cast

from fleet_memory.repositories.programs import Programs
from fleet_memory.schemas.answers.state import SessionAnswer
from fleet_memory.stores import Json, Write


class Receipt(NamedTuple):
    """The answer of a call, of the pairs that it asked about the ids alone, and its time.

    `call` is a digest of what was sent. `at` is None in a receipt of an older version.
    """

    call: str
    answer: SessionAnswer
    at: datetime | None
    asked: Sequence[str] = ()


def receipt_write(programs: Programs, number: int, receipt: Receipt) -> Write:
    """Return the write of the receipt of a program's session of this number."""
    fields: dict[str, Json] = {
        "number": number,
        "call": receipt.call,
        "at": receipt.at.isoformat() if receipt.at else None,
        "asked": list(receipt.asked),
        "text": receipt.answer.compact(),
    }
    return Write(programs.receipt_ref(receipt.answer.program_id, number), fields)


async def read_receipt(programs: Programs, program_id: str, number: int, call: str) -> Receipt | None:
    """Return the receipt of a session; None when it was another call. Billed 1 read."""
    (document,) = await programs.store.get(programs.receipt_ref(program_id, number))
    if document is None or document.fields["number"] != number or document.fields["call"] != call:
        return None
    answer = SessionAnswer.from_json(str(document.fields["text"]))
    at = document.fields.get("at")
    asked = cast("list[str]", document.fields.get("asked", []))
    return Receipt(call, answer, datetime.fromisoformat(str(at)) if at else None, asked)
