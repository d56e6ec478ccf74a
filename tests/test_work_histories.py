"""Work against a plain model: the same answers, whatever the order of writers, readers and clocks."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import anyio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleet_memory.fleet import Fleet
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.work.calls import Need, claim_work, hand_over, read_work
from fleet_memory.tools.work.rules import FlagSent, HowItEnded
from tests.bounds import AT_NIGHT
from tests.fleets import NOW
from tests.plain_work import PlainRecord, PlainWork, Who

PROGRAMS, SESSIONS, WORKS, KINDS, TAGS = (
    ("iso", "sark", "quorra"),
    ("a", "b"),
    ("x", "y"),
    ("k", "l"),
    ("t", "u"),
)
STATES: tuple[HowItEnded, ...] = ("done", "done", "done", "blocked", "abandoned")


class Step(NamedTuple):
    """One call: what, by whom, of which work, some minutes after the one before."""

    what: str
    who: Who
    work: str
    kind: str
    tags: frozenset[str]
    state: HowItEnded
    minutes: int
    pick: int


steps = st.builds(
    Step,
    st.sampled_from(
        ["claim", "claim", "look", "release", "hand", "hand", "hand", "flag", "read", "require"]
    ),
    st.tuples(st.sampled_from(PROGRAMS), st.sampled_from(SESSIONS)),
    st.sampled_from(WORKS),
    st.sampled_from(KINDS),
    st.frozensets(st.sampled_from(TAGS)),
    st.sampled_from(STATES),
    st.sampled_from([0, 1, 20, 90]),
    st.integers(0, 5),
)


async def said(
    fleet: Fleet, plain: PlainWork, step: Step, now: datetime, number: int
) -> tuple[object, object]:
    """Return the answers of work and of the plain model to one call."""
    program, session = step.who
    match step.what:
        case "claim" | "look":
            look = step.what == "look"
            answer = await claim_work(
                fleet, program, step.work, session=session, hours=1, look=look
            )
            words = (
                "claimed"
                if answer.claimed
                else f"held {answer.held.by}"
                if answer.held
                else f"done {answer.done.summary}"
                if answer.done
                else "free"
            )
            return words, plain.claim(step.who, step.work, now, 1, look=look)
        case "release":
            answer = await claim_work(fleet, program, step.work, session=session, release=True)
            words = (
                f"held {answer.held.by}"
                if answer.held
                else "released"
                if answer.released
                else "not yours"
            )
            return words, plain.release(step.who, step.work, now)
        case "hand" | "flag":
            name, target = f"record {number}", None
            if step.what == "flag" and plain.records:
                target = plain.records[step.pick % len(plain.records)]
            withdraw = target is not None and target.who[0] == program and step.pick % 2 == 0
            sent = (
                ()
                if target is None
                else (flag_on(await id_of(fleet, target.name), withdraw=withdraw),)
            )
            handed = await hand_over(
                fleet,
                program,
                step.work,
                name,
                session,
                step.kind,
                tags=tuple(step.tags),
                flags=sent,
                state=step.state,
            )
            record = PlainRecord(
                name, step.work, step.who, step.kind, step.state, now, step.tags, "", []
            )
            late, _ = plain.hand_over(record, target.name if target else "", withdraw=withdraw)
            return handed.taken_over_by or "", late
        case "require":
            by = PROGRAMS[step.pick % 3] if step.pick < 3 else ""
            if not session:  # of whom should it wait?
                return None, None
            read = await read_work(
                fleet, session=session, requires=(Need(kind=step.kind, program=by or None),)
            )
            return read.satisfied, plain.is_satisfied(session, step.kind, by)
        case _:
            tag = TAGS[step.pick % 2] if step.pick < 4 else ""
            read = await read_work(
                fleet,
                session=session,
                kind=step.kind if step.pick % 3 else None,
                tags=(tag,) if tag else (),
                limit=100,
                max_tokens=100_000,
            )
            seen = [
                (
                    it.summary,
                    it.by,
                    it.state,
                    it.taken_over_by or "",
                    [flag.reason for flag in (it.flags or {}).values()],
                    bool(it.withdrawn),
                )
                for it in read.records
            ]
            wanted = [
                (it.name, it.who[0], it.state, it.late, ["wrong"] * len(it.flags), it.withdrawn)
                for it in plain.read(session, step.kind if step.pick % 3 else "", tag)
            ]
            claims = {claim.work: claim.by for claim in read.claims}
            return (seen, claims), (wanted, plain.held(session, now))


def flag_on(record_id: str, *, withdraw: bool) -> FlagSent:
    return FlagSent.model_validate(
        {"recordId": record_id, "reason": "wrong", "withdraw": withdraw or None}
    )


async def id_of(fleet: Fleet, summary: str) -> str:
    read = [
        await read_work(fleet, session=session, limit=100, max_tokens=100_000)
        for session in SESSIONS
    ]
    return next(it.record_id for one in read for it in one.records if it.summary == summary)


async def play(history: Sequence[Step]) -> None:
    with TemporaryDirectory() as folder:
        store, plain, now = SqliteStore(Path(folder) / "memory.db"), PlainWork(), NOW
        for number, step in enumerate(history):
            now += timedelta(minutes=step.minutes)
            fleet = Fleet.on(store, "f", Lexical(), fixed(now))
            answered, wanted = await said(fleet, plain, step, now, number)
            assert answered == wanted, (number, step)
        await store.close()


def fixed(now: datetime) -> Callable[[], datetime]:
    return lambda: now


@settings(
    derandomize=True,
    deadline=None,
    max_examples=60 if AT_NIGHT else 20,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.lists(steps, min_size=5, max_size=40))
def test_work_answers_as_the_plain_model(history: list[Step]) -> None:
    anyio.run(play, history)
