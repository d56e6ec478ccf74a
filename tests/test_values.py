"""Values: a mistake in a change is refused by mypy and at run time, and stored forms stay as they
are.

mypy checks this file too: an ignore that hides no mistake is an error there, so the two checks are
tested by one line.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from fleet_memory import schemas
from fleet_memory.repositories.runs import LeaseClaim
from fleet_memory.schemas.knowledge import (
    Contribution,
    Entry,
    EntryValue,
    LedgerLine,
    Snapshot,
    Word,
)
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import DecayConfig, Note, Program
from fleet_memory.schemas.value import Value

AT = datetime(2026, 2, 14, 8, 23, 0, 5000, tzinfo=UTC)
AT_TEXT = '"2026-02-14T08:23:00.005000Z"'  # where pydantic writes a time
AT_WIRE = '"2026-02-14T08:23:00.005Z"'  # where `Timestamp` does

PLAIN = Pattern(
    id="p",
    domain="d",
    pattern="é",
    confidence=1,
    discovered_at=AT,
    last_reinforced=AT,
    stored_at=AT,
)
NOTE = Note(id="n1", text="Port 1", at=AT)
PROGRAM = Program(
    program_id="basher",
    patterns={"p": PLAIN},
    decay=DecayConfig(max_age=5),
    context_summary={"a": [1, None]},
    notes={"n1": NOTE},
    last_update=AT,
)
ENTRY = Entry(
    key="k",
    value=EntryValue(
        pattern="Wait",
        domain="d",
        confidence=0.5,
        contributors=("a", "b"),
        evidence_count=2,
        first_discovered=AT,
        last_promoted=AT,
    ),
    provenance=(
        Contribution(
            program_id="a",
            pattern_id="p",
            pattern="Wait",
            confidence=0.5,
            discovered_at=AT,
            stored_at=AT,
            similarity=1,
        ),
    ),
    last_confirmed=AT,
    words=(Word(program_id="c", outcome="contradicted", at=AT, evidence="e"),),
)
SNAPSHOT = Snapshot(version=1, consolidated_at=AT, rows=())
LINE = LedgerLine(event="promoted", key="k", at=AT, by="b")
CLAIM = LeaseClaim(owner="o", until=AT, fence=1)

MISSPELT: list[Callable[[], Value]] = [
    lambda: replace(PLAIN, confidense=0.5),  # type: ignore[call-arg]  # a misspelt field
    lambda: replace(ENTRY.provenance[0], similar=1.0),  # type: ignore[call-arg]  # a misspelt field
    lambda: Note(id="n", txt="t", at=AT),  # type: ignore[call-arg]  # the same where a value is made
]
MISTYPED: list[Callable[[], Value]] = [
    lambda: replace(PLAIN, confidence="0.5"),  # type: ignore[arg-type]  # a text for a number
    lambda: replace(PROGRAM, patterns={"p": {"id": "p"}}),  # type: ignore[dict-item]  # a dict for a pattern
    lambda: replace(SNAPSHOT, rows=(LINE,)),  # type: ignore[arg-type]  # another value
    lambda: Note(id="n", text=1, at=AT),  # type: ignore[arg-type]  # the same where a value is made
]


@pytest.mark.parametrize("mistake", MISSPELT)
def test_a_misspelt_field_is_refused(mistake: Callable[[], Value]) -> None:
    with pytest.raises(ValidationError, match="Unexpected keyword argument"):
        mistake()


@pytest.mark.parametrize("mistake", MISTYPED)
def test_a_wrong_type_is_refused(mistake: Callable[[], Value]) -> None:
    with pytest.raises(ValidationError, match="Input should be"):
        mistake()


def _kinds(base: type[Value]) -> Iterator[type[Value]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _kinds(kind)


def test_no_schema_takes_a_field_that_it_does_not_have() -> None:
    for module in pkgutil.walk_packages(schemas.__path__, f"{schemas.__name__}."):
        importlib.import_module(module.name)
    for kind in _kinds(Value):
        with pytest.raises(ValidationError) as refused:
            kind(no_such_field=1)  # type: ignore[call-arg]  # that is the test
        problems = [(each["loc"], each["type"]) for each in refused.value.errors()]
        assert (("no_such_field",), "unexpected_keyword_argument") in problems, kind


def test_a_value_is_never_changed_in_place() -> None:
    with pytest.raises(FrozenInstanceError):
        NOTE.text = "other"  # type: ignore[misc]  # that is the test


def test_a_change_keeps_the_values_that_it_does_not_name() -> None:
    assert replace(PROGRAM, changes=1).patterns["p"] is PLAIN


PLAIN_TEXT = (
    '{"id":"p","domain":"d","pattern":"é","confidence":1.0,'
    f'"discoveredAt":{AT_TEXT},"lastReinforced":{AT_TEXT},"storedAt":{AT_TEXT}}}'
)
KEPT = {
    "pattern": (PLAIN, PLAIN_TEXT),
    "note": (NOTE, f'{{"id":"n1","text":"Port 1","at":{AT_TEXT}}}'),
    "program": (
        PROGRAM,
        f'{{"programId":"basher","patterns":{{"p":{PLAIN_TEXT}}},"decay":{{"maxAge":5}},'
        f'"contextSummary":{{"a":[1,null]}},"notes":{{"n1":{{"id":"n1","text":"Port 1","at":{AT_TEXT}}}}},'
        f'"lastUpdate":{AT_WIRE}}}',
    ),
    "entry": (
        ENTRY,
        '{"key":"k","value":{"pattern":"Wait","domain":"d","confidence":0.5,"contributors":["a","b"],'
        f'"evidenceCount":2,"firstDiscovered":{AT_WIRE},"lastPromoted":{AT_WIRE}}},"provenance":[{{"programId":"a",'
        f'"patternId":"p","pattern":"Wait","confidence":0.5,"discoveredAt":{AT_WIRE},"storedAt":{AT_WIRE},"similarity":1.0}}],'
        f'"words":[{{"programId":"c","outcome":"contradicted","at":{AT_WIRE},"evidence":"e"}}],'
        f'"lastConfirmed":{AT_WIRE}}}',
    ),
}


@pytest.mark.parametrize(("value", "text"), KEPT.values(), ids=KEPT)
def test_stores_keep_values_as_they_always_did(value: Value, text: str) -> None:
    assert value.compact() == text
    assert type(value).from_json(text) == value


def test_the_fields_of_a_document_are_read_back_as_they_were_written() -> None:
    assert Entry.from_fields(ENTRY.wire()) == ENTRY
    assert (
        LeaseClaim.from_fields({"owner": "o", "until": AT.isoformat(), "fence": 1, "beat": 0})
        == CLAIM
    )
