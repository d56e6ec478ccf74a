"""The three tools of work: claim it, hand it over, read what the others did."""

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import islice
from typing import Annotated, Final, Literal, TypeAlias, TypeVar

from pydantic import AfterValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from fleet_memory.errors import (
    ForbiddenError,
    InvalidArgumentError,
    UnknownNameError,
)
from fleet_memory.fleet import Fleet
from fleet_memory.repositories.retrying import REAL_TIMING, retry_conflicts
from fleet_memory.rules.retrieval.budget import DEFAULT_TOKENS, size
from fleet_memory.schemas.fields import (
    EvidenceText,
    LineText,
    LooseObject,
    Name,
    QueryText,
    Tags,
    Timestamp,
    outlined_as,
)
from fleet_memory.schemas.value import Input, Value
from fleet_memory.stores import Scalar, Write
from fleet_memory.tools.shared import MAX_OF_A_KIND, MaxTokens, Omitting, OwnProgram, fitted
from fleet_memory.tools.work.documents import BOARD_NAME, StoredRecord, WorkStore, board_with_room
from fleet_memory.tools.work.rules import (
    MAX_OUTPUT_BYTES,
    Claim,
    Flag,
    FlagSent,
    Holder,
    HowItEnded,
    NextStep,
    Record,
    WorkDecision,
    best_first,
    common_paths,
    flag_warnings,
    hash_of,
    named_work,
    next_id,
    plain_path,
    settlement,
    sha256_of,
    with_overtaken,
    work_of_input,
)

MAX_LOOKED: Final = 500  # records that tags, a time or a question look at. Source: docs/work.md
MAX_DONE: Final = 4  # records of one work that a claim looks at. Source: docs/work.md
MAX_BEFORE: Final = 3
POLL_S: Final = 1.0  # seconds between looks at the board while a reader waits; 1 read each
_T = TypeVar("_T")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def _not_blank(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("blank", "must not be empty")
    return text


_Id: TypeAlias = Annotated[Name, outlined_as()]
_Path: TypeAlias = Annotated[LineText, AfterValidator(plain_path), outlined_as()]
_Line: TypeAlias = Annotated[LineText, outlined_as()]
_WorkName: TypeAlias = Annotated[LineText, AfterValidator(named_work), outlined_as()]
_Count: TypeAlias = Annotated[int, Field(strict=True, ge=0), outlined_as()]
_Self: TypeAlias = Annotated[OwnProgram, outlined_as()]
_Digest: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$"), outlined_as()]
_AsRead: TypeAlias = Annotated[_T, WithJsonSchema({"type": "object"})]
_Kind: TypeAlias = Annotated[_Id | None, Field(description="E.g. plan, build, review")]
_Session: TypeAlias = Annotated[_Id | None, Field(description="Agents' common job, e.g. v2.1")]


class Need(Input):
    """A record that a reader waits for."""

    kind: Annotated[Name, Field(description="Its kind")]
    program: Annotated[Name | None, Field(description="Who must have written it")] = None


class ClaimAnswer(Value):
    """How a claim ended: one of `claimed`, `held`, `done`, `released`, and `free` of a look, each
    claim and record as `read_work` shows it.

    `work` is the name of work that was sent as kind and input.
    """

    work: str | None = None
    claimed: _AsRead[Claim] | None = None
    held: _AsRead[Claim] | None = None
    done: _AsRead[Record] | None = None
    free: bool | None = None
    released: bool | None = None
    overlaps: tuple[_AsRead[Claim], ...] | None = None
    done_before: tuple[_AsRead[Record], ...] | None = None


class HandOverAnswer(Value):
    """The stored record; `late`: another program had taken the work over."""

    record_id: str
    sha256: str | None = None
    bytes: int | None = None
    at: Timestamp
    late: Literal[True] | None = None
    taken_over_by: str | None = None
    warnings: tuple[str, ...] | None = None


class DecisionAnswer(Value):
    """A decision, its author and its record."""

    record_id: str
    by: str
    decision: WorkDecision


class MissingAnswer(Value):
    """A missing record, and who has claimed work of its kind."""

    kind: str
    program: str | None = None
    held_by: tuple[str, ...] | None = None


class WorkAnswer(Omitting):
    """What the others did; with `recordId` one record and its output from `offset` on.

    `total` counts the matching records among those looked at, `truncated` says that there may be
    more, `omitted` what did not fit. `reason` says why there are none.
    """

    satisfied: bool | None = None
    missing: tuple[MissingAnswer, ...] | None = None
    records: tuple[_AsRead[Record], ...] = ()
    claims: tuple[_AsRead[Claim], ...] = ()
    decisions: tuple[DecisionAnswer, ...] = ()
    total: int
    truncated: bool | None = None
    reason: Literal["none_committed", "filtered_out", "unknown_session"] | None = None
    omitted: Mapping[str, int] | None = None
    output: str | None = None
    next_offset: int | None = None


async def claim_work(
    fleet: Fleet,
    program_id: _Self,
    work: Annotated[_WorkName | None, Field(description="A line or an issue id, exact")] = None,
    kind: _Kind = None,
    input: Annotated[  # noqa: A002 the name on the wire
        LooseObject | None, Field(description="With kind, in place of work: equal values are one")
    ] = None,
    session: _Session = None,
    paths: Annotated[
        tuple[_Path, ...], Field(max_length=10, description="Files, folders, globs you will edit")
    ] = (),
    hours: Annotated[
        float, Field(ge=0.1, le=168, allow_inf_nan=False, description="Default 4"), outlined_as()
    ] = 4,
    look: Annotated[bool, Field(strict=True, description="Claim nothing"), outlined_as()] = False,
    release: Annotated[bool, Field(strict=True, description="Give it back"), outlined_as()] = False,
) -> ClaimAnswer:
    """When you are about to start a piece of work: claim it, so that nobody does it twice.

    Answers claimed, held (another has it) or done (read that record instead). overlaps are others'
    claims on your paths. Call again to renew.
    """
    fleet.caller.require_write(program_id)
    if input is not None and (work is not None or kind is None):
        raise InvalidArgumentError("input: send it with kind, and without work")
    if input is not None and kind is not None:
        work = work_of_input(kind, input)
    if work is None:
        raise InvalidArgumentError("work: required, a line or an issue id; or send kind and input")
    for path in paths:
        if path.startswith("..") or set(path) & set('<>"|\n\t') or path.count("**") > 1:
            raise InvalidArgumentError(
                f'paths: {path!r} must lie in the project, with one ** at most and none of <>"|'
            )
    documents, now = WorkStore(fleet), fleet.now()
    holder = Holder(program_id, fleet.session_of(program_id, session) or "")
    key, until = hash_of(work), now + timedelta(hours=hours)
    wanted = Claim(
        claim_id=f"c-{secrets.token_hex(5)}",
        by=program_id,
        session=holder.session,
        work=work,
        kind=kind,
        paths=paths or None,
        since=now,
        until=until,
    )

    async def attempt() -> ClaimAnswer:
        stored = await documents.board()
        board, answer = stored.board, ClaimAnswer(work=None if input is None else work)
        mine = board.claims.get(key)
        if mine and not mine.is_of(holder):
            if mine.until > now:
                return replace(answer, held=mine.shown())
            mine = None
        if release:
            after = board.without(key) if mine else board
            await documents.commit(documents.board_writes(stored, after))
            return replace(answer, released=mine is not None)
        if mine:
            before = list[Record]()
            claim = replace(mine, until=until, paths=paths or mine.paths, kind=kind or mine.kind)
        else:
            before = await documents.find({"workHash": key, "session": holder.session}, MAX_DONE)
            if done := next((it for it in before if it.is_done), None):
                return replace(answer, done=done.shown)
            lately = await documents.find({"kind": kind} if kind else {"workHash": key}, MAX_BEFORE)
            before += [record for record in lately if record not in before]
            claim = with_overtaken(board, wanted, before)
        answer = replace(
            answer,
            overlaps=_overlaps(board.live(now), key, claim) or None,
            done_before=tuple(record.outline for record in before[:MAX_BEFORE]) or None,
        )
        if look:
            return replace(answer, claimed=mine and mine.shown(own=True), free=not mine or None)
        after = board_with_room(board._replace(claims={**board.claims, key: claim}), now)
        await documents.commit(documents.board_writes(stored, after))
        return replace(answer, claimed=claim.shown(own=True))

    return await retry_conflicts(attempt, BOARD_NAME)


def _overlaps(live: Mapping[str, Claim], key: str, claim: Claim) -> tuple[Claim, ...]:
    """Return others' claims on the claim's paths."""
    found = (
        replace(other.shown(), paths=common)
        for name, other in live.items()
        if name != key
        and (other.by, other.session) != (claim.by, claim.session)
        and (common := common_paths(claim.paths or (), other.paths or ()))
    )
    return tuple(islice(found, MAX_OF_A_KIND))


async def hand_over(
    fleet: Fleet,
    program_id: _Self,
    work: Annotated[_WorkName, Field(description="As claimed")],
    summary: Annotated[
        EvidenceText,
        AfterValidator(_not_blank),
        Field(description="What you did"),
        outlined_as(),
    ],
    session: _Session = None,
    kind: _Kind = None,
    output: Annotated[str | None, Field(description="Whole, <= 200 kB")] = None,
    output_path: Annotated[_Line | None, Field(description="Of a larger one")] = None,
    output_sha256: Annotated[_Digest | None, Field(description="Of that")] = None,
    decisions: Annotated[
        tuple[Annotated[WorkDecision, outlined_as("chosen", "why", "rejected")], ...],
        Field(max_length=20, description="What you chose"),
    ] = (),
    failed: Annotated[tuple[_Line, ...], Field(max_length=20, description="What failed")] = (),
    next: Annotated[  # noqa: A002 the name on the wire
        NextStep | None,
        Field(description="What remains, and whose boot shows it"),
        outlined_as("text", "programId"),
    ] = None,
    depends_on: Annotated[
        tuple[_Id, ...], Field(max_length=20, description="Records that you built on")
    ] = (),
    flags: Annotated[
        tuple[Annotated[FlagSent, outlined_as("recordId", "reason", "withdraw")], ...],
        Field(max_length=20, description="Wrong records; withdraw your own"),
    ] = (),
    tags: Annotated[Tags, Field(description="To find it")] = (),
    claim_id: Annotated[_Id | None, Field(description="Where you have no session")] = None,
    state: Annotated[HowItEnded, Field(description="How it ended")] = "done",
) -> HandOverAnswer:
    """When a piece of work ends, done or not: hand it over whole. Ends your claim.

    warnings name flagged records that you built on.
    """
    fleet.caller.require_write(program_id)
    if (output_path is None) != (output_sha256 is None) or (output and output_path):
        raise InvalidArgumentError(
            "output: send the text itself, or both outputPath and outputSha256 of a larger one"
        )
    if output:
        _require_fitting(output)
    documents, now = WorkStore(fleet), fleet.now()
    holder = Holder(program_id, fleet.session_of(program_id, session) or "", claim_id or "")
    key = hash_of(work)
    sent = Record(
        record_id="",
        work_hash=key,
        work=work,
        by=program_id,
        session=holder.session,
        kind=kind,
        state=state,
        summary=summary,
        at=now,
        sha256=sha256_of(output) if output else output_sha256,
        bytes=len(output.encode()) if output else None,
        path=output_path,
        decisions=decisions or None,
        failed=failed or None,
        next=next,
        waits_for=next.program_id if next else None,
        depends_on=tuple(dict.fromkeys(depends_on)) or None,
        tags=tags or None,
        sent_flags=flags or None,
    )

    async def attempt() -> HandOverAnswer:
        stored = await documents.board()
        newest = _first(await documents.find({"workHash": key}, 1))
        if newest and sent.repeats(newest):
            return _handed_over(newest, ())
        other = _first([it for it in stored.board.claims.values() if it.claim_id == claim_id])
        if other and other.work != work:
            raise InvalidArgumentError(
                f"claimId: is of the work {other.work!r}; nothing was written. Hand that over, or "
                "leave claimId out."
            )
        linked = await documents.records([*depends_on, *(it.record_id for it in flags)])
        _require_linked(program_id, depends_on, flags, linked)
        end = settlement(stored.board, key, holder, newest, now)
        claim = stored.board.claims.get(key)
        record = replace(
            sent,
            record_id=next_id(stored.board.newest, now, secrets.token_hex(2)),
            kind=kind or (claim.kind if claim and end.ends_claim else None),
            overtook=end.overtook,
            late=True if end.taken_over_by else None,
            taken_over_by=end.taken_over_by or None,
        )
        after = stored.board.without(key) if end.ends_claim else stored.board
        await documents.commit(
            [
                *documents.board_writes(stored, after._replace(newest=record.record_id)),
                *documents.record_writes(record, output),
                *_marks(documents, record, linked),
            ]
        )
        warnings = [warning for id_ in depends_on for warning in flag_warnings(linked[id_].record)]
        return _handed_over(record, [*warnings, *filter(None, [end.warning])])

    return await retry_conflicts(attempt, BOARD_NAME)


def _first(items: Sequence[_T]) -> _T | None:
    return items[0] if items else None


def _require_fitting(output: str) -> None:
    """Raise InvalidArgumentError for an output that is too large or has control characters."""
    if (sent := size(output) - 2) > MAX_OUTPUT_BYTES:
        raise InvalidArgumentError(
            f"output: {sent:,} bytes as sent, at most {MAX_OUTPUT_BYTES:,}; nothing was written. "
            "Send the part that others need, or outputPath and outputSha256 of a file."
        )
    if found := _CONTROL.search(output):
        raise InvalidArgumentError(
            f"output: must not hold control characters (U+{ord(found[0]):04X} at position "
            f"{found.start()}); leave out colours, or send outputPath and outputSha256"
        )


def _unknown(argument: str, record_id: str) -> UnknownNameError:
    return UnknownNameError(
        f"{argument}: there is no record {record_id!r}. read_work lists those of a session."
    )


def _require_linked(
    program_id: str,
    depends_on: Sequence[str],
    flags: Sequence[FlagSent],
    linked: Mapping[str, StoredRecord],
) -> None:
    """Raise unless the records that are named exist, have room for a flag, and are withdrawn by
    their writer.
    """
    named = [("dependsOn", id_) for id_ in depends_on]
    for argument, id_ in [*named, *(("flags", it.record_id) for it in flags)]:
        if id_ not in linked:
            raise _unknown(argument, id_)
    for flag in flags:
        record = linked[flag.record_id].record
        if flag.withdraw and record.by != program_id:
            raise ForbiddenError(
                f"flags: {record.record_id} is {record.by}'s, who alone may withdraw it; "
                "flag it without withdraw."
            )


def _marks(
    documents: WorkStore, record: Record, linked: Mapping[str, StoredRecord]
) -> Iterator[Write]:
    """Yield the writes that flag records, and end the waiting of records that were handed to this
    writer.
    """
    for id_, stored in linked.items():
        sent = [it for it in record.sent_flags or () if it.record_id == id_]
        flags = {
            f"{record.record_id}{number}": Flag(by=record.by, reason=it.reason, at=record.at)
            for number, it in enumerate(sent)
        }
        withdraw = any(it.withdraw for it in sent)
        taken_up = id_ in (record.depends_on or ()) and stored.record.waits_for == record.by
        if flags or taken_up:
            yield documents.mark(stored, flags, withdraw=withdraw, taken_up=taken_up)


def _handed_over(record: Record, warnings: Sequence[str]) -> HandOverAnswer:
    return HandOverAnswer.from_fields({**record.wire(), "warnings": list(warnings) or None})


async def read_work(
    fleet: Fleet,
    program_id: Annotated[_Id | None, Field(description="You")] = None,
    session: _Session = None,
    work: Annotated[_WorkName | None, Field(description="Its records in all sessions")] = None,
    record_id: Annotated[_Id | None, Field(description="One record, with its output")] = None,
    offset: Annotated[_Count, Field(description="nextOffset of the last")] = 0,
    query: Annotated[
        Annotated[QueryText, outlined_as()] | None,
        Field(description="Words; without session of all sessions"),
    ] = None,
    kind: _Kind = None,
    tags: Annotated[Tags, Field(description="All of them")] = (),
    program: Annotated[_Id | None, Field(description="Whose")] = None,
    since: Annotated[Timestamp | None, Field(description="Not older")] = None,
    requires: Annotated[
        tuple[Annotated[Need, outlined_as("kind", "program")], ...],
        Field(max_length=10, description="Done records that you need"),
    ] = (),
    wait_seconds: Annotated[_Count, Field(le=30, description="For requires, at most 30")] = 0,
    limit: Annotated[_Count, Field(ge=1, le=100, description="Default 20")] = 20,
    max_tokens: Annotated[MaxTokens, outlined_as()] = DEFAULT_TOKENS,
) -> WorkAnswer:
    """When you build on what others did: read their records, newest first, and who holds what.

    With requires: what is missing; waits for it. A flagged record may be wrong.
    """
    documents = WorkStore(fleet)
    if record_id is not None:
        return await _one_record(documents, record_id, offset, max_tokens)
    own = fleet.session_of(program_id or "", session) or ""
    session = session or (None if work or query else own)
    if requires and not session:
        raise InvalidArgumentError("requires: needs session, the job that the agents share")
    missing = await _missing(documents, session or "", requires, wait_seconds)
    board = (await documents.board()).board
    asked = {"session": session, "kind": kind, "programId": program}
    where = {name: value for name, value in asked.items() if value is not None}
    where |= {"workHash": hash_of(work)} if work else {}
    looked = MAX_LOOKED if tags or since or query else limit + 1
    read = await documents.find(where, looked)
    found = [
        it for it in read if set(tags) <= set(it.tags or ()) and (since is None or it.at >= since)
    ]
    found = best_first(found, query) if query else found
    claims = [
        claim
        for key, claim in board.live(fleet.now()).items()
        if (key == hash_of(work) if work else claim.session == session)
    ]
    frame = WorkAnswer(
        satisfied=not missing if requires else None,
        total=len(found),
        truncated=len(read) == looked or len(found) > limit or None,
        reason=None if found else await _why_empty(documents, where, claims),
    )
    needs = [
        MissingAnswer(kind=need.kind, program=need.program, held_by=_working(claims, need))
        for need in missing
    ]
    return _fitted(frame, found[:limit], max_tokens, needs, [claim.shown() for claim in claims])


def _fitted(
    frame: WorkAnswer,
    records: Sequence[Record],
    max_tokens: int,
    missing: Sequence[MissingAnswer] = (),
    claims: Sequence[Claim] = (),
) -> WorkAnswer:
    """Return an answer with what fits of its lists, and the numbers of what does not."""
    lists: Mapping[str, Sequence[Value]] = {
        "missing": missing,
        "records": [record.shown for record in records],
        "claims": claims,
        "decisions": [
            DecisionAnswer(record_id=record.record_id, by=record.by, decision=decision)
            for record in records
            for decision in record.decisions or ()
        ],
    }
    shown = fitted(frame, lists, max_tokens)
    return replace(shown, missing=shown.missing or None, omitted=shown.omitted or None)


async def _missing(
    documents: WorkStore, session: str, requires: Sequence[Need], wait_s: float
) -> list[Need]:
    """Return what is required and not there, once nothing is or after so many seconds. Billed 1
    read a second, and at each new record of the fleet at most 4 for each that is missing.
    """
    missing, seen = list(requires), None
    end = REAL_TIMING.now() + wait_s
    while missing:
        newest = (await documents.board()).board.newest
        if newest != seen:
            missing = [need for need in missing if not await _is_there(documents, session, need)]
            seen = newest
        if not missing or (left := end - REAL_TIMING.now()) <= 0:
            break
        await REAL_TIMING.sleep(min(POLL_S, left))
    return missing


async def _is_there(documents: WorkStore, session: str, need: Need) -> bool:
    of_program = {"programId": need.program} if need.program else {}
    where = {"session": session, "kind": need.kind, "state": "done", **of_program}
    return any(not record.withdrawn for record in await documents.find(where, MAX_DONE))


def _working(claims: Sequence[Claim], need: Need) -> tuple[str, ...] | None:
    working = (it.by for it in claims if it.kind == need.kind and need.program in (None, it.by))
    return tuple(islice(working, MAX_BEFORE)) or None


async def _why_empty(
    documents: WorkStore, where: Mapping[str, Scalar], claims: Sequence[Claim]
) -> Literal["none_committed", "filtered_out", "unknown_session"]:
    """Return why there are no records. Billed 1 read."""
    wider = {name: value for name, value in where.items() if name in ("session", "workHash")}
    if await documents.find(wider, 1):
        return "filtered_out"
    return "unknown_session" if where.get("session") and not claims else "none_committed"


async def _one_record(
    documents: WorkStore, record_id: str, offset: int, max_tokens: int
) -> WorkAnswer:
    """Return a record, and as many bytes of its output as fit, from `offset` on, cut between
    characters.
    """
    stored = (await documents.records([record_id])).get(record_id)
    if stored is None:
        raise _unknown("recordId", record_id)
    record = stored.record
    answer = _fitted(WorkAnswer(total=1, next_offset=MAX_OUTPUT_BYTES), [record], max_tokens)
    output = (await documents.output(record) or "").encode()
    room = max_tokens * 4 - size(answer.wire()) - len(',"output":""')
    while True:
        part = output[offset : offset + max(room, 0)].decode(errors="ignore")
        after = offset + len(part.encode())
        end = after if after < len(output) else None
        whole = replace(answer, output=part or None, next_offset=end)
        over = size(whole.wire()) - max_tokens * 4
        if over <= 0 or not part:
            return whole
        room -= over
