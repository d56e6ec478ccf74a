"""Writers that lose a race try again, for a bounded time and with pauses of their own size."""

import pytest

from fleet_memory.errors import (
    CapacityExceededError,
    ConflictError,
    DocumentRejectedError,
    LeaseLostError,
    OutcomeUnknownError,
    RacesLostError,
    StoreRejectedError,
    StoreUnavailableError,
)
from fleet_memory.repositories.retrying import (
    MAX_PAUSE_S,
    Timing,
    attempt_each,
    pause_s,
    retry_conflicts,
)
from fleet_memory.schemas.programs import DecayConfig
from fleet_memory.schemas.value import InvalidValueError

ATTEMPT_S = 0.5


class Racer:
    """Loses its first `losses` attempts, each of half a second, on a clock that only attempts and
    pauses move.
    """

    def __init__(self, losses: int, draw: float = 1.0) -> None:
        self.losses = losses
        self.attempts = 0
        self.pauses: list[float] = []
        self.now = 0.0
        self.timing = Timing(lambda: self.now, self.sleep, lambda: draw)

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    async def attempt(self) -> str:
        self.attempts += 1
        self.now += ATTEMPT_S
        if self.attempts <= self.losses:
            raise ConflictError("Someone else was faster.", operator_detail="programs/basher")
        return f"attempt {self.attempts}"


@pytest.mark.anyio
async def test_a_lost_race_is_run_again_after_a_pause() -> None:
    racer = Racer(losses=3, draw=0.25)
    assert (
        await retry_conflicts(racer.attempt, "program basher", timing=racer.timing) == "attempt 4"
    )
    assert racer.pauses == [0.5, 0.5, 0.5]


@pytest.mark.anyio
async def test_losing_every_race_ends_and_names_the_document_and_the_next_step() -> None:
    racer = Racer(losses=10_000)
    with pytest.raises(
        ConflictError, match=r"^Others keep writing program basher at the same moment\. Call"
    ) as caught:
        await retry_conflicts(racer.attempt, "program basher", within_s=10, timing=racer.timing)
    assert 10 <= racer.now <= 10 + MAX_PAUSE_S + ATTEMPT_S
    assert caught.value.operator_detail == "programs/basher"


@pytest.mark.anyio
async def test_a_read_that_never_succeeds_ends_with_its_own_words() -> None:
    racer = Racer(losses=10_000)
    with pytest.raises(ConflictError, match=r"^Someone else was faster\.$"):
        await retry_conflicts(racer.attempt, None, within_s=10, timing=racer.timing)


@pytest.mark.anyio
async def test_of_nested_loops_the_inner_one_names_its_document_and_the_outer_one_does_not_begin_again() -> (
    None
):
    racer = Racer(losses=10_000)

    async def outer_attempt() -> str:
        return await retry_conflicts(racer.attempt, "entry pin", within_s=10, timing=racer.timing)

    with pytest.raises(RacesLostError, match="entry pin"):
        await retry_conflicts(outer_attempt, "program basher", within_s=100, timing=racer.timing)
    assert racer.now <= 10 + MAX_PAUSE_S + ATTEMPT_S


def test_a_pause_is_measured_in_the_attempts_own_duration() -> None:
    assert pause_s(0.1, draw=0.5) == 0.2
    assert pause_s(0.1, draw=0.0) == 0.0
    assert pause_s(60.0, draw=1.0) == MAX_PAUSE_S


class Programs:
    """Programs by name, each with the error that every attempt on it ends with, or None."""

    def __init__(self, **errors: Exception | None) -> None:
        self.errors = errors
        self.tried: list[str] = []
        self.now = 0.0
        self.timing = Timing(lambda: self.now, self.sleep, lambda: 0.0)

    async def sleep(self, _seconds: float) -> None:
        """Pass no time: attempts do."""

    async def attempt(self, name: str) -> str:
        self.now += ATTEMPT_S
        self.tried.append(name)
        error = self.errors[name]
        if error is not None:
            raise error
        return name.upper()

    async def run(self) -> tuple[list[str], list[str]]:
        return await attempt_each(
            self.errors, self.attempt, "program {}".format, within_s=1, timing=self.timing
        )


def unreadable() -> InvalidValueError:
    with pytest.raises(InvalidValueError) as caught:
        DecayConfig.from_fields({"maxAge": "a secret text"})
    return caught.value


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            ConflictError("Someone else was faster.", operator_detail="programs/bad"),
            "Others keep writing program bad",
        ),
        (
            DocumentRejectedError("The file is corrupt.", operator_detail="programs/bad: no JSON"),
            "corrupt. programs/bad",
        ),
        (CapacityExceededError("It is full."), "is left out: It is full."),
        (unreadable(), "is left out: ValidationError"),
    ],
    ids=["lost races", "a refused document", "a full document", "an unreadable document"],
)
async def test_one_bad_document_is_named_and_the_others_go_on(
    error: Exception, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert await Programs(basher=None, bad=error, sark=None).run() == (["BASHER", "SARK"], ["bad"])
    (line,) = caplog.messages
    assert line.startswith("program bad is left out: ")
    assert reason in line
    assert "secret" not in line


@pytest.mark.anyio
@pytest.mark.parametrize(
    "error",
    [
        LeaseLostError("Another worker has taken over."),
        StoreUnavailableError("The store did not answer."),
        OutcomeUnknownError("The answer was lost."),
        StoreRejectedError("The store is read-only."),
        KeyError("a mistake in the code"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_an_error_that_is_not_about_one_document_stops_the_run(error: Exception) -> None:
    programs = Programs(basher=None, bad=error, sark=None)
    with pytest.raises(type(error)) as caught:
        await programs.run()
    assert caught.value is error
    assert programs.tried == ["basher", "bad"]


@pytest.mark.anyio
async def test_a_run_over_nothing_has_nothing() -> None:
    assert await Programs().run() == ([], [])
