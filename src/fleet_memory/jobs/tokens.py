"""Creates and revokes the tokens of a fleet's programs, each with its line in the ledger."""

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from fleet_memory.errors import InvalidArgumentError, UnknownNameError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.auditing import decision
from fleet_memory.repositories.administration import VersionedToken
from fleet_memory.repositories.records import MAX_SUMMARIES, archive_record, archived_item
from fleet_memory.repositories.retrying import (
    commit_settled,
    retry_conflicts,
)
from fleet_memory.rules.entries import same_program
from fleet_memory.rules.pairs import PERSON
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.rules.tokens import (
    ID_BYTES,
    ID_CHARS,
    SECRET_BYTES,
    TOKEN_PREFIX,
    is_live,
    made_token,
    parsed_token,
    revoked,
    secret_hash,
    token_words,
)
from fleet_memory.schemas.fields import Timestamp, format_instant
from fleet_memory.schemas.knowledge import LedgerEvent
from fleet_memory.schemas.patterns import TokenWriter
from fleet_memory.schemas.programs import Role, TokenRecord
from fleet_memory.schemas.value import Value
from fleet_memory.stores import Query, Write


class NewToken(NamedTuple):
    """The order for a token. `is_another`: the program may have a live one already. None: no
    expiry, every toolset.
    """

    program_id: str
    role: Role = "agent"
    lifetime: timedelta | None = None
    toolsets: tuple[str, ...] | None = None
    is_another: bool = False


class CreatedToken(NamedTuple):
    """A token that was just created. `token` is nowhere else: the store has a hash of its
    secret.
    """

    token: str
    record: TokenRecord


async def create_token(fleet: Fleet, order: NewToken) -> CreatedToken:
    """Create a token and its line in the ledger in one commit.

    Raises ForbiddenError unless the caller may curate, InvalidArgumentError for a person's name,
    and where the program has a live token and the order does not say that it is another. Billed 1
    read for each token of the fleet and 1R 2W.
    """
    fleet.caller.require_curation()
    if same_program(order.program_id) == PERSON:
        raise InvalidArgumentError(
            f"{order.program_id} is how the ledger names a person; choose another name"
        )
    now, name = fleet.now(), same_program(order.program_id)
    live = [
        each.value.token_id
        for each in await fleet.tokens.all()
        if same_program(each.value.program_id) == name and is_live(each.value, now)
    ]
    if live and not order.is_another:
        raise InvalidArgumentError(
            f"{order.program_id} has a live token, {live[-1]}: revoke it, or pass --also "
            "for another one"
        )
    made = made_token(secrets.token_bytes(ID_BYTES), secrets.token_bytes(SECRET_BYTES))
    record = TokenRecord(
        token_id=made.token_id,
        program_id=order.program_id,
        role=order.role,
        toolsets=order.toolsets,
        secret_hash=secret_hash(made.secret),
        created_at=now,
        created_by=fleet.caller.program_id or PERSON,
        expires_at=now + order.lifetime if order.lifetime else None,
    )
    until = [f"until {format_instant(record.expires_at)}"] if record.expires_at else []
    line = _line(fleet, "token_created", record, token_words(record, *until))
    # settled: a lost answer would lose the token
    await commit_settled(fleet.store, fleet.tokens.write(record), line)
    return CreatedToken(made.token, record)


async def list_tokens(fleet: Fleet, program_id: str | None = None) -> list[TokenRecord]:
    """Return the tokens of a program, or of the fleet, the oldest first. Billed 1 read each.

    Raises ForbiddenError unless the caller may curate.
    """
    fleet.caller.require_curation()
    return [versioned.value for versioned in await fleet.tokens.all(program_id)]


class TokenWork(Value):
    """What a token's call did, or what its program was shown: when, in which program, and the id,
    e.g. of a lesson or an entry. Of a lesson, a note or a state the latest change alone is known.
    """

    at: Timestamp
    what: str
    program_id: str
    id: str


async def work_of_token(fleet: Fleet, token_id: str, since: datetime | None) -> list[TokenWork]:
    """Return what the calls of a token, or of an issuer's principal, wrote and what its program was
    shown, the newest first; `since` leaves out what was before.

    For people, after an incident: it reads the whole fleet, the archive too. Raises ForbiddenError
    unless the caller may curate.
    """
    fleet.caller.require_curation()
    work, texts = list[TokenWork](), dict[str, str]()

    def add(at: datetime, what: str, program_id: str | None, id_: str) -> None:
        if since is None or at >= since:
            work.append(TokenWork(at=at, what=what, program_id=program_id or "", id=id_))

    def add_written(writer: TokenWriter | None, what: str, program_id: str, id_: str) -> None:
        if writer and writer.token == token_id:
            add(writer.at, what, program_id, id_)

    programs = [each.program for each in await fleet.programs.all()]
    for program in programs:
        name = program.program_id
        add_written(program.state_writer, "state", name, f"version {program.state_version}")
        for note in program.notes.values():
            add_written(note.writer, "note", name, note.id)
        for lesson in program.patterns.values():
            texts[lesson.words] = f"{name}/{lesson.id}"
            if lesson.source.token == token_id:
                add(lesson.stored_at, "lesson stored", name, lesson.id)
            add_written(lesson.writer, "lesson changed", name, lesson.id)
        for past in await fleet.programs.history.newest(program, MAX_SUMMARIES):
            add_written(past.writer, "handover", name, f"summary {past.number}")
    for document in await fleet.store.find(Query(fleet.paths.archive)):
        record = archive_record(document)
        item = archived_item(record)
        add_written(item.writer, f"archived: {record.reason}", record.program_id, item.id)
    for pair in await fleet.pairs.all():
        for verdict in pair.judgements:
            if verdict.token == token_id:
                add(verdict.at, f"verdict: {verdict.verdict}", verdict.program_id, pair.pair_id)
    for entry in [each.entry for each in await fleet.knowledge.all() if each.entry]:
        texts[text_hash(entry.value.pattern)] = entry.key
        for word in entry.words:
            if word.token == token_id:
                add(word.at, word.outcome, word.program_id, entry.key)
    known = await fleet.tokens.read(token_id)
    for program in programs:
        for words, at in program.shown.items():
            if (
                known
                and known.value.program_id == program.program_id
                and known.value.created_at <= at
            ):
                id_ = texts.get(words, f"a text that is gone, {words}")
                add(at, "was shown", program.program_id, id_)
    return sorted(work, key=lambda each: each.at, reverse=True)


async def revoke_token(fleet: Fleet, token: str) -> TokenRecord:
    """Revoke a token by its id, or by itself where that is all that is known of it; return it.
    Billed 1R 2W.

    One that is revoked already stays as it is. Raises ForbiddenError unless the caller may curate,
    UnknownNameError for an unknown id.
    """
    fleet.caller.require_curation()
    parts = parsed_token(token)
    token_id = parts.token_id if parts else token

    async def attempt() -> TokenRecord:
        versioned = await fleet.tokens.read(token_id)
        if versioned is None:  # an id that is too long may be a mistyped token, which is a secret
            shown = repr(token_id) if len(token_id) <= ID_CHARS else f"{TOKEN_PREFIX}…"
            raise UnknownNameError(
                f"there is no token {shown}; `fleet-memory token list` shows them"
            )
        (record,) = await _revoke(fleet, [versioned], "")
        return record

    return await retry_conflicts(attempt, "the token")


async def revoke_tokens_of(fleet: Fleet, program_id: str, why: str = "") -> list[TokenRecord]:
    """Revoke every live token of a program and return them, none for none. Billed 1 read each, and
    2W each.

    Killed at any moment, the next call does the rest. Raises ForbiddenError unless the caller may
    curate.
    """
    fleet.caller.require_curation()

    async def attempt() -> list[TokenRecord]:
        tokens, now = await fleet.tokens.all(program_id), fleet.now()
        return await _revoke(fleet, [each for each in tokens if is_live(each.value, now)], why)

    return await retry_conflicts(attempt, f"the tokens of {program_id}")


async def _revoke(fleet: Fleet, tokens: Sequence[VersionedToken], why: str) -> list[TokenRecord]:
    """Revoke those of the tokens that are not yet, and return all as they are then."""
    records, writes = list[TokenRecord](), list[Write]()
    for versioned in tokens:
        record = revoked(versioned.value, fleet.now(), fleet.caller.program_id or PERSON)
        records.append(record)
        if record is not versioned.value:
            words = token_words(record, *([why] if why else []))
            writes.append(fleet.tokens.write(record, versioned.revision))
            writes.append(_line(fleet, "token_revoked", record, words))
    if writes:
        await fleet.tokens.store.commit(*writes)
    return records


def _line(fleet: Fleet, event: LedgerEvent, record: TokenRecord, why: str) -> Write:
    """Return the write of a line in the ledger, which names the token by its id."""
    line = decision(fleet, event, f"token/{record.token_id}", why)
    return fleet.knowledge.ledger.write(line)
