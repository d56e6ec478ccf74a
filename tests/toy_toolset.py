"""A toolset that uses every member of `Toolset`: a shelf from which programs borrow fixtures."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Final

from pydantic import Field

from fleet_memory.fleet import (
    ActivityRow,
    BootPart,
    Collection,
    Fleet,
    JsonObject,
    PeoplesCommand,
    PromptTask,
    Tool,
    Toolset,
    WindowPart,
    Writer,
)
from fleet_memory.rules.erasing import DocumentFields, Erasure, fields_after
from fleet_memory.rules.retrieval.boot import Depth
from fleet_memory.schemas.fields import LineText, Name, Timestamp
from fleet_memory.schemas.value import Value
from fleet_memory.stores import Document, Query, Ref, Write, document_id
from fleet_memory.tools.shared import OwnProgram


class Loan(Value):
    """A fixture that a program borrowed, until it is late."""

    program_id: str
    fixture: str
    why: str
    at: Timestamp


class Loans(Value):
    """Some loans."""

    loans: tuple[Loan, ...]


class Borrowed(Value):
    """How many fixtures a program has borrowed."""

    borrowed: int


class ShelfPolicy(Value):
    """What people set of the shelf, as `shelf.NAME`."""

    max_days: Annotated[
        int, Field(ge=1, le=365, description="days until a fixture goes back to the shelf")
    ] = 30


async def borrow_fixture(
    fleet: Fleet,
    program_id: OwnProgram,
    fixture: Annotated[Name, Field(description="The fixture")],
    why: Annotated[LineText, Field(description="What you test with it")],
) -> Loan:
    """When you need a test fixture for some days: borrow it from the shelf."""
    fleet.caller.require_write(program_id)
    loan = Loan(program_id=program_id, fixture=fixture, why=why, at=fleet.now())
    await fleet.store.commit(Write(_ref(fleet, fixture), loan.wire()))
    return loan


async def return_fixtures(agent_id: OwnProgram) -> str:
    """Return the prompt to bring fixtures back."""
    return f"{agent_id}, bring your fixtures back."


def _ref(fleet: Fleet, fixture: str) -> Ref:
    return Ref(fleet.paths.collection("loans"), document_id(fixture))


async def _found(fleet: Fleet, program_id: str | None, limit: int | None = None) -> list[Document]:
    where = {"programId": program_id} if program_id else {}
    order = None if where else "-at"  # both would need an index of Firestore
    return await fleet.store.find(Query(fleet.paths.collection("loans"), where, order, limit))


async def _loans(
    fleet: Fleet, program_id: str | None, limit: int | None = None
) -> tuple[Loan, ...]:
    found = await _found(fleet, program_id, limit)
    return tuple(Loan.from_fields(each.fields) for each in found)


async def _boot(fleet: Fleet, program_id: str, _depth: Depth) -> Sequence[Value]:
    return await _loans(fleet, program_id)


def _line(item: JsonObject) -> str:
    return f"You have {item['fixture']}: {item['why']}"


async def _health(fleet: Fleet, program_id: str) -> Value:
    return Borrowed(borrowed=len(await _loans(fleet, program_id)))


async def _bring_late_ones_back(fleet: Fleet, writer: Writer) -> int:
    policy = await fleet.policy_of("shelf", ShelfPolicy)
    due = fleet.now() - timedelta(days=policy.max_days)
    late = [each for each in await _found(fleet, None) if Loan.from_fields(each.fields).at < due]
    done = [await writer.try_commit(Write(it.ref, None, it.revision)) for it in late]
    return sum(done)


def _of_program(parser: ArgumentParser) -> None:
    parser.add_argument("--program", metavar="NAME", help="of this program alone")


async def _listed(fleet: Fleet, given: Namespace) -> Value:
    return Loans(loans=await _loans(fleet, given.program))


def _later(here: DocumentFields, there: DocumentFields) -> DocumentFields:
    return max(here, there, key=lambda fields: str(fields["at"]))


def _without_a_trace(fields: DocumentFields, erasure: Erasure) -> DocumentFields | None:
    return fields if fields_after(fields, erasure) == fields else None


async def _activity(fleet: Fleet, limit: int) -> Sequence[ActivityRow]:
    loans = await _loans(fleet, None, limit)
    return [
        ActivityRow(it.at, it.program_id, f"borrowed {it.fixture}", document_id(it.fixture))
        for it in loans
    ]


async def _record(fleet: Fleet, id_: str) -> Value | None:
    (found,) = await fleet.store.get(Ref(fleet.paths.collection("loans"), id_))
    return Loan.from_fields(found.fields) if found else None


SHELF: Final = Toolset(
    "shelf",
    [Tool(borrow_fixture, "Borrow a fixture", "test fixture, shelf", "writes", "own")],
    instructions=["Before a test of your own: borrow_fixture."],
    hook="Fixtures are on the shelf: borrow_fixture.",
    prompts=[PromptTask(return_fixtures, "Return", "Bring fixtures back.")],
    commands=[
        PeoplesCommand("shelf", "list loans", "--program iso", _of_program, _listed),
    ],
    collections=[Collection("loans", ["why"], _later, _without_a_trace)],
    boot=BootPart("Fixtures that you borrowed", _boot, _line),
    health=_health,
    maintain=_bring_late_ones_back,
    policy=ShelfPolicy,
    window=WindowPart(_activity, _record),
)
