"""Whom a bearer token admits, from records of the store that are a few seconds old at most."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import anyio
import pytest

from fleet_memory.errors import StoreUnavailableError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.tokens import CreatedToken, NewToken, create_token, list_tokens, revoke_token
from fleet_memory.repositories.administration import Tokens
from fleet_memory.rules.tokens import made_token, parsed_token
from fleet_memory.server.http.access import (
    MAX_AGE_S,
    MAX_VALUES,
    BearerTokens,
    CallerToken,
    FleetTokens,
    ShortCache,
    VerificationUnavailableError,
)
from fleet_memory.stores import Document, Ref, Write
from tests.fleets import NOW, at, on
from tests.wrapped import Counted, ForwardingStore

pytestmark = pytest.mark.anyio

ENDPOINT = "https://mem.example.com/mcp"


class Seconds:
    """A clock of seconds that a test turns."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Failing(ForwardingStore):
    """A store that answers nothing while it is down."""

    is_down = False
    asked = 0

    async def get(self, *refs: Ref) -> list[Document | None]:
        self.asked += 1
        await anyio.lowlevel.checkpoint()
        if self.is_down:
            raise StoreUnavailableError("The store did not answer.")
        return await super().get(*refs)

    async def commit(self, *writes: Write) -> object:  # type: ignore[override]  # as `ForwardingStore` has it, or an error
        if self.is_down:
            raise StoreUnavailableError("The store did not answer.")
        return await super().commit(*writes)


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    return at(fleet, NOW)


def verifier(fleet: Fleet, elapsed: Callable[[], float]) -> FleetTokens:
    async def tokens() -> Tokens:
        return fleet.tokens

    return FleetTokens(tokens, fleet.now, ENDPOINT, elapsed)


def admitted(created: CreatedToken) -> CallerToken:
    record = created.record
    return CallerToken(
        token=created.token,
        client_id=record.program_id,
        subject=record.token_id,
        scopes=[],
        resource=ENDPOINT,
        token_id=record.token_id,
        program_id=record.program_id,
        role=record.role,
        toolsets=record.toolsets,
    )


def with_other_secret(token: str) -> str:
    parts = parsed_token(token)
    assert parts is not None
    return parts._replace(secret=parts.secret[::-1]).token


async def test_a_live_token_admits_its_program_in_its_role(fleet: Fleet) -> None:
    created = await create_token(fleet, NewToken("basher", "auditor", toolsets=("core",)))
    verify = verifier(fleet, Seconds()).verify_token
    assert await verify(created.token) == admitted(created)
    assert await verify(with_other_secret(created.token)) is None
    assert await verify("fm_" + created.token) is None


async def test_a_revocation_takes_effect_within_five_seconds_under_any_wall_clock(
    fleet: Fleet,
) -> None:
    created = await create_token(fleet, NewToken("basher"))
    seconds, moment = Seconds(), NOW

    async def opened() -> Tokens:
        return fleet.tokens

    verify = FleetTokens(opened, lambda: moment, ENDPOINT, seconds).verify_token
    assert await verify(created.token) is not None
    await revoke_token(fleet, created.record.token_id)
    seconds.now += MAX_AGE_S - 0.1
    assert await verify(created.token) is not None
    seconds.now += 0.1
    moment = NOW - timedelta(days=1)  # stepped back
    assert await verify(created.token) is None


async def test_a_token_costs_a_read_in_five_seconds_and_a_write_a_day(fleet: Fleet) -> None:
    created = await create_token(fleet, NewToken("basher"))
    store, seconds, moment = Counted(fleet.tokens.store), Seconds(), NOW
    tokens = on(fleet, store).tokens

    async def opened() -> Tokens:
        return tokens

    verify = FleetTokens(opened, lambda: moment, ENDPOINT, seconds).verify_token
    async with anyio.create_task_group() as calls:
        for _ in range(50):
            calls.start_soon(verify, created.token)
    assert (store.reads, store.writes) == (1, 1)  # the record; the day of its use
    seconds.now += MAX_AGE_S
    await verify(created.token)
    assert (store.reads, store.writes) == (2, 1)
    (record,) = await list_tokens(fleet)
    assert record.last_used_on == NOW.date()
    moment, seconds.now = NOW + timedelta(days=1), seconds.now + MAX_AGE_S
    await verify(created.token)
    assert (store.reads, store.writes) == (3, 2)


async def test_texts_that_are_not_spelt_like_tokens_cost_no_reads(fleet: Fleet) -> None:
    created = await create_token(fleet, NewToken("basher"))
    store = Counted(fleet.tokens.store)
    seconds = Seconds()
    verify = verifier(on(fleet, store), seconds).verify_token
    for text in ("", "fm_", "garbage", created.token[:-1], "fm_" + "x" * 100_000):
        assert await verify(text) is None
    assert store.reads == 0
    for _ in range(10):
        assert await verify(made_token(bytes(10), bytes(32)).token) is None
    assert store.reads == 1  # an unknown id is remembered for 5 s


async def test_the_first_token_of_a_fleet_is_admitted_by_a_server_that_runs_already(
    fleet: Fleet,
) -> None:
    seconds = Seconds()
    verify = verifier(fleet, seconds).verify_token
    assert await verify(made_token(bytes(10), bytes(32)).token) is None
    created = await create_token(fleet, NewToken("basher"))
    seconds.now += MAX_AGE_S
    assert await verify(created.token) == admitted(created)


async def test_a_store_that_is_down_is_no_refusal_and_is_asked_and_logged_once_for_all_who_wait(
    fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    created = await create_token(fleet, NewToken("basher"))
    store = Failing(fleet.tokens.store)
    seconds = Seconds()
    both = BearerTokens(verifier(on(fleet, store), seconds), None)
    assert await both.verify_token(created.token) is not None
    seconds.now += MAX_AGE_S
    store.is_down, store.asked = True, 0
    answers: list[str] = []

    async def call() -> None:
        with pytest.raises(VerificationUnavailableError):
            await both.verify_token(created.token)
        answers.append("unavailable")

    async with anyio.create_task_group() as calls:
        for _ in range(20):
            calls.start_soon(call)
    assert (answers, store.asked) == (["unavailable"] * 20, 1)
    assert caplog.messages == ["tokens cannot be checked: The store did not answer."]
    store.is_down = False
    assert await both.verify_token(created.token) == admitted(created)


async def test_no_call_fails_for_the_note_of_its_tokens_use(fleet: Fleet) -> None:
    created = await create_token(fleet, NewToken("basher"))

    class ReadOnly(ForwardingStore):
        async def commit(self, *_: Write) -> object:  # type: ignore[override]  # it never returns
            raise StoreUnavailableError("The store did not answer.")

    assert await verifier(on(fleet, ReadOnly(fleet.tokens.store)), Seconds()).verify_token(
        created.token
    )


async def test_the_note_of_a_use_brings_no_revoked_or_erased_token_back(fleet: Fleet) -> None:
    created = await create_token(fleet, NewToken("basher"))
    versioned = await fleet.tokens.read(created.record.token_id)
    assert versioned is not None
    revision = versioned.revision
    await fleet.tokens.store.commit(Write(fleet.paths.token(created.record.token_id), None))

    class Behind(ForwardingStore):
        async def get(self, *refs: Ref) -> list[Document | None]:
            if refs == (fleet.tokens.paths.token(created.record.token_id),):
                return [Document(refs[0], created.record.wire(), revision)]
            return await super().get(*refs)

    assert await verifier(on(fleet, Behind(fleet.tokens.store)), Seconds()).verify_token(
        created.token
    )
    assert await list_tokens(fleet) == []


async def test_a_cache_has_so_many_values_and_no_more() -> None:
    cache = ShortCache[int](Seconds())
    asked: list[int] = []

    def reading(number: int) -> Callable[[], Awaitable[int]]:
        async def read() -> int:
            asked.append(number)
            return number

        return read

    for number in range(MAX_VALUES + 1):
        assert await cache.get(str(number), reading(number)) == number
    assert await cache.get(str(MAX_VALUES), reading(MAX_VALUES)) == MAX_VALUES
    assert await cache.get("0", reading(0)) == 0
    assert asked == [*range(MAX_VALUES + 1), 0]
