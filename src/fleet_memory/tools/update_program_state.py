"""Change a program's state, which it keeps between sessions."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated, NamedTuple

from pydantic import Field, JsonValue

from fleet_memory.errors import ConflictError, InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.rules.lifecycle.idempotency import request_key, with_request
from fleet_memory.rules.lifecycle.state import Stated, StatePatch, stated, too_large
from fleet_memory.schemas.answers.state import UpdateStateAnswer
from fleet_memory.schemas.fields import LooseObject
from fleet_memory.schemas.programs import Program
from fleet_memory.schemas.state import ContextSummary, DecayPatch
from fleet_memory.schemas.value import Input
from fleet_memory.tools.parameters import BRIEF, OwnProgram, RequestId
from fleet_memory.views.lessons import evicted_answers


class Update(NamedTuple):
    """One update as it was sent; without a version it applies to any."""

    patch: StatePatch
    expected_version: int | None
    request_id: str | None
    now: datetime


async def update_program_state(
    fleet: Fleet,
    program_id: OwnProgram,
    context_summary: Annotated[
        ContextSummary | None, Field(description="Your handover", json_schema_extra=BRIEF)
    ] = None,
    config: Annotated[
        LooseObject | None,
        Field(description="Your own settings, any object", json_schema_extra=BRIEF),
    ] = None,
    baselines: Annotated[
        LooseObject | None,
        Field(description="Figures to compare with, any object", json_schema_extra=BRIEF),
    ] = None,
    decay_config: Annotated[
        DecayPatch | None, Field(description="How you forget", json_schema_extra=BRIEF)
    ] = None,
    expected_version: Annotated[
        int | None,
        Field(
            strict=True,
            ge=0,
            description="From get_program_state; refused if it has moved",
            json_schema_extra=BRIEF,
        ),
    ] = None,
    request_id: RequestId = None,
) -> UpdateStateAnswer:
    """Change your contextSummary (as in commit_session), config, baselines (figures to compare
    with) or decayConfig.

    JSON Merge Patch: absent stays, null removes, lists are replaced. Refused if expectedVersion is
    not the latest. decayConfig: maxAge, pruneAfter in days; maxUnpromotedPatterns.
    """
    fleet.caller.require_write(program_id)
    patch = patch_of(context_summary)._replace(
        config=config or {}, baselines=baselines or {}, decay=_sent(decay_config)
    )
    update = Update(patch, expected_version, request_id, fleet.now())
    stated = await fleet.programs.update(
        program_id, lambda program: updated(program, update), update.now
    )
    moved_out, omitted = evicted_answers(stated.moved, stated.archived)
    return UpdateStateAnswer(
        status="updated" if stated.updated else "unchanged",
        version=stated.program.state_version,
        archived=moved_out or None,
        omitted=omitted,
    )


def updated(program: Program, update: Update) -> Stated:
    """Return the program after an update. Raises ConflictError (its version), InvalidArgumentError
    (its size).
    """
    request = request_key("state", update.request_id)
    if request in program.request_ids:
        return Stated(program)
    if update.expected_version not in (None, program.state_version):
        now = program.state_version
        raise ConflictError(
            f"{program.program_id}'s state is at version {now}, not {update.expected_version}: "
            "another session changed "
            f"it. Call get_program_state, decide again, and call with expectedVersion {now}."
        )
    after = stated(program, update.patch, update.now)
    if problem := too_large(after.program):
        raise InvalidArgumentError(problem)
    if request is None:
        return after
    requests = with_request(program.request_ids, request)
    return after._replace(program=replace(after.program, request_ids=requests))


def patch_of(context_summary: ContextSummary | None) -> StatePatch:
    """Return the patch of a summary as it was sent."""
    return StatePatch(context_summary=_sent(context_summary))


def _sent(patch: Input | None) -> dict[str, JsonValue]:
    """Return the members that the client sent, nulls included."""
    return patch.model_dump(mode="json", by_alias=True, exclude_unset=True) if patch else {}
