"""Tokens: created once, kept as a hash, admitted while they live, gone within seconds of their
revocation.
"""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fleet_memory.errors import (
    ForbiddenError,
    InvalidArgumentError,
    OutcomeUnknownError,
    SettingsError,
    UnknownNameError,
)
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.tokens import (
    NewToken,
    create_token,
    list_tokens,
    revoke_token,
    revoke_tokens_of,
)
from fleet_memory.rules.tokens import (
    ID_BYTES,
    SECRET_BYTES,
    is_live,
    lifetime,
    made_token,
    parsed_token,
    secret_hash,
)
from fleet_memory.schemas.programs import Caller, TokenRecord
from fleet_memory.settings import load
from fleet_memory.stores import Query, Write
from tests.fleets import NOW, at, on
from tests.wrapped import ForwardingStore

pytestmark = pytest.mark.anyio


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    return at(fleet, NOW)


async def ledger_lines(fleet: Fleet) -> list[tuple[object, object, object, object]]:
    found = [
        one.fields for one in await fleet.knowledge.store.find(Query(fleet.knowledge.paths.ledger))
    ]
    return [(line["event"], line["key"], line["by"], line["why"]) for line in found]


@given(
    some.binary(min_size=ID_BYTES, max_size=ID_BYTES),
    some.binary(min_size=SECRET_BYTES, max_size=SECRET_BYTES),
)
def test_a_token_is_read_back_in_its_parts(id_bytes: bytes, secret_bytes: bytes) -> None:
    made = made_token(id_bytes, secret_bytes)
    assert parsed_token(made.token) == made


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fm_",
        "fm_a_b",
        "fm_" + "a" * 16 + "_" + "a" * 51,
        "fm_" + "A" * 16 + "_" + "a" * 52,
        "x" * 1_000_000,
    ],
)
def test_another_text_is_no_token(text: str) -> None:
    assert parsed_token(text) is None


@pytest.mark.parametrize(
    ("text", "expected"), [("90d", timedelta(days=90)), ("12h", timedelta(hours=12))]
)
def test_a_lifetime_is_days_or_hours(text: str, expected: timedelta) -> None:
    assert lifetime(text) == expected


@pytest.mark.parametrize(
    "text", ["", "90", "0d", "-1d", "1.5d", "4000d", "999999999d", "90 d", "٣d"]
)
def test_another_lifetime_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"write days or hours|at most 3650d"):
        lifetime(text)


async def test_a_token_is_created_once_and_kept_as_a_hash(fleet: Fleet) -> None:
    created = await create_token(
        fleet, NewToken("basher", "judge", timedelta(days=90), ("core", "state"))
    )
    parts = parsed_token(created.token)
    assert parts is not None
    record = TokenRecord(
        token_id=parts.token_id,
        program_id="basher",
        role="judge",
        toolsets=("core", "state"),
        secret_hash=secret_hash(parts.secret),
        created_at=NOW,
        created_by="operator",
        expires_at=NOW + timedelta(days=90),
    )
    assert created.record == record
    assert await list_tokens(fleet) == [record]
    assert await ledger_lines(fleet) == [
        (
            "token_created",
            f"token/{parts.token_id}",
            "operator",
            "for basher as judge until 2026-06-05T12:00:00Z",
        )
    ]
    written = await fleet.tokens.store.find(Query(fleet.tokens.paths.tokens))
    assert parts.secret not in str(
        [*written, *await fleet.tokens.store.find(Query(fleet.knowledge.paths.ledger))]
    )


async def test_a_second_live_token_of_a_program_is_asked_for(fleet: Fleet) -> None:
    first = await create_token(fleet, NewToken("basher"))
    with pytest.raises(
        InvalidArgumentError, match=f"basher has a live token, {first.record.token_id}: .* --also"
    ):
        await create_token(fleet, NewToken("basher"))
    with pytest.raises(InvalidArgumentError, match="Basher has a live token"):
        await create_token(fleet, NewToken("Basher"))
    second = await create_token(fleet, NewToken("basher", is_another=True))
    await create_token(fleet, NewToken("sark"))
    assert await list_tokens(fleet, "basher") == sorted(
        [first.record, second.record], key=lambda record: record.token_id
    )


async def test_a_program_whose_token_expired_or_was_revoked_gets_another(fleet: Fleet) -> None:
    await create_token(fleet, NewToken("basher", lifetime=timedelta(hours=1)))
    later = at(fleet, NOW + timedelta(hours=1))
    second = await create_token(later, NewToken("basher"))
    await revoke_token(later, second.record.token_id)
    third = await create_token(later, NewToken("basher"))
    live = [record for record in await list_tokens(later, "basher") if is_live(record, later.now())]
    assert live == [third.record]


async def test_a_lost_answer_loses_no_token(fleet: Fleet) -> None:
    class Losing(ForwardingStore):
        async def commit(self, *writes: Write) -> object:  # type: ignore[override]  # it never returns
            await super().commit(*writes)
            raise OutcomeUnknownError("the answer was lost")

    created = await create_token(on(fleet, Losing(fleet.tokens.store)), NewToken("basher"))
    assert await list_tokens(fleet) == [created.record]


async def test_a_token_is_revoked_by_its_id_once(fleet: Fleet) -> None:
    created = await create_token(fleet, NewToken("basher"))
    later = at(fleet, NOW + timedelta(hours=1))
    revoked = await revoke_token(later, created.record.token_id)
    assert revoked == replace(created.record, revoked_at=later.now(), revoked_by="operator")
    assert await revoke_token(fleet, created.record.token_id) == revoked
    assert await list_tokens(fleet) == [revoked]
    assert sorted(await ledger_lines(fleet)) == [
        ("token_created", f"token/{revoked.token_id}", "operator", "for basher as agent"),
        ("token_revoked", f"token/{revoked.token_id}", "operator", "for basher as agent"),
    ]


async def test_a_token_that_leaked_is_revoked_by_itself(fleet: Fleet) -> None:
    created = await create_token(fleet, NewToken("basher"))
    assert (await revoke_token(fleet, created.token)).revoked_at == NOW


async def test_all_tokens_of_a_program_are_revoked_together(fleet: Fleet) -> None:
    first = await create_token(fleet, NewToken("basher"))
    second = await create_token(fleet, NewToken("basher", "auditor", is_another=True))
    other = await create_token(fleet, NewToken("sark"))
    revoked = await revoke_tokens_of(fleet, "basher")
    assert {one.token_id for one in revoked} == {first.record.token_id, second.record.token_id}
    assert [one for one in await list_tokens(fleet) if one.revoked_at is None] == [other.record]
    assert await revoke_tokens_of(fleet, "basher") == []


async def test_an_unknown_token_is_named_and_a_whole_one_is_not_repeated(fleet: Fleet) -> None:
    with pytest.raises(UnknownNameError, match="there is no token 'nothing'"):
        await revoke_token(fleet, "nothing")
    made = made_token(bytes(10), bytes(32))
    with pytest.raises(UnknownNameError) as refusal:
        await revoke_token(fleet, made.token)
    assert made.secret not in str(refusal.value)
    with pytest.raises(UnknownNameError) as mistyped:
        await revoke_token(fleet, made.token[:-1])
    assert str(mistyped.value).startswith("there is no token fm_…;")


async def test_a_bound_program_has_nothing_to_do_with_tokens(fleet: Fleet) -> None:
    bound = replace(fleet, caller=Caller("basher"))
    with pytest.raises(ForbiddenError):
        await create_token(bound, NewToken("basher"))
    with pytest.raises(ForbiddenError):
        await list_tokens(bound)
    with pytest.raises(ForbiddenError):
        await revoke_token(bound, "k3x9")
    with pytest.raises(ForbiddenError):
        await revoke_tokens_of(bound, "basher")
    assert await list_tokens(fleet) == []


async def test_no_program_that_is_bound_has_the_name_of_a_person_in_the_ledger(
    fleet: Fleet,
) -> None:
    with pytest.raises(InvalidArgumentError, match="how the ledger names a person"):
        await create_token(fleet, NewToken("Operator", "admin"))
    with pytest.raises(SettingsError, match="how the ledger names a person"):
        load({"program": "operator"}, {})
