"""Documents of the version before, as values of this one. It merged lessons by numbers and counted lessons as votes."""

from collections.abc import Mapping
from typing import Final, cast

from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.knowledge import Basis, Entry
from fleet_memory.stores import Json

MAX_LINES: Final = 20  # ids of ledger lines that an entry keeps
ENTRY_FIELDS_BEFORE: Final = ("status", "contradictions", "requestIds")


def converted_entry(fields: Mapping[str, Json]) -> Entry:
    """Return the entry of a document without `state`.

    It was published when it was promoted last, and each contradiction is its program's word. A contribution of other
    words than the entry's text has been judged by nobody.
    """
    value = cast("dict[str, Json]", fields["value"])
    text, version = str(value["pattern"]), cast("int", fields.get("version", 1))
    contradictions = cast("list[dict[str, Json]]", fields.get("contradictions", []))
    provenance = cast("list[dict[str, Json]]", fields.get("provenance", []))
    return Entry.from_fields(
        {
            **fields,
            "publishedAt": value["lastPromoted"],
            "retiredAt": fields["lastConfirmed"] if fields.get("status") == "retired" else None,
            "words": [{**word, "outcome": "contradicted"} for word in contradictions],
            "provenance": [{**line, "basis": _basis(str(line["pattern"]), text)} for line in provenance],
            "ledger": [f"{fields['key']}#{number}" for number in range(max(1, version - MAX_LINES + 1), version + 1)],
        }
    )


def _basis(lesson: str, text: str) -> Basis:
    if lesson == text:
        return "text"
    return "equal_words" if text_hash(lesson) == text_hash(text) else "unjudged"


def converted_row(fields: Mapping[str, Json]) -> dict[str, Json]:
    """Return the fields of a row of a snapshot as this version writes them."""
    if fields.get("status") == "retired":
        return {**fields, "state": "retired"}
    return {**fields, "state": "contested"} if fields.get("contradictedBy") else dict(fields)
