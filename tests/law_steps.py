"""The words in which histories are written: steps of a world, their orders, and what is looked at."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from typing import Unpack

import pytest

from tests.law_world import EntryView, PairView, Policy, RefusedError, Stored, World

LESSONS = Policy(sharing="lessons")
PUBLISHED = ("fresh", "verify", "contested")


@dataclass(frozen=True)
class Step:
    """One thing that happens; `name` is how a failing order names it."""

    name: str
    happen: Callable[[World], Awaitable[object]]


Strand = Sequence[Step]  # steps of one program, in their order


@dataclass(frozen=True)
class History:
    """What happened: stages of strands that mix in every order, and the end of each of them."""

    number: int
    title: str
    stages: Sequence[Sequence[Strand]]
    end: Callable[[World], Awaitable[None]]
    near: Sequence[Sequence[str]] = ()
    policy: Policy = field(default_factory=Policy)


def mixed(strands: Sequence[Strand]) -> Iterator[list[Step]]:
    """Yield every order of the steps of some strands, each strand in its own order."""
    strands = [strand for strand in strands if strand]
    if not strands:
        yield []
    for index, strand in enumerate(strands):
        rest = [*strands[:index], strand[1:], *strands[index + 1 :]]
        yield from ([strand[0], *order] for order in mixed(rest))


def orders(history: History) -> Iterator[list[Step]]:
    """Yield every order in which a history can happen."""
    for stages in product(*(list(mixed(stage)) for stage in history.stages)):
        yield [step for stage in stages for step in stage]


def then(*steps: Step) -> Sequence[Strand]:
    """A stage whose steps happen in this order."""
    return [steps]


def in_any_order(*steps: Step) -> Sequence[Strand]:
    """A stage whose steps happen in any order."""
    return [[step] for step in steps]


def stores(program: str, text: str, **how: Unpack[Stored]) -> Step:
    how.setdefault("evidence", f"{program} saw the job of its own service fail and then pass")
    return Step(f"{program} stores {text!r}", lambda world: world.store(program, text, **how))


def judges(
    program: str | None,
    a: str,
    b: str,
    verdict: str,
    *,
    role: str | None = None,
    connection: str | None = None,
) -> Step:
    return Step(
        f"{program or 'a person'} calls {a!r} and {b!r} {verdict}",
        lambda world: world.verdict(program, a, b, verdict, role=role, connection=connection),
    )


def confirms(
    program: str, text: str, evidence: str = "it held in my run too", connection: str | None = None
) -> Step:
    return Step(
        f"{program} confirms {text!r}",
        lambda world: world.word(program, text, "confirmed", evidence, connection=connection),
    )


def contradicts(program: str, text: str, evidence: str = "my run showed the contrary") -> Step:
    return Step(
        f"{program} contradicts {text!r}",
        lambda world: world.word(program, text, "contradicted", evidence),
    )


def boots(program: str, task: str | None = None) -> Step:
    return Step(f"{program} boots", lambda world: world.boot(program, task))


def recalls(program: str, question: str) -> Step:
    return Step(f"{program} asks {question!r}", lambda world: world.recall(program, question))


def forgets(program: str, text: str) -> Step:
    return Step(f"{program} forgets {text!r}", lambda world: world.forget(program, text))


def passes(days: float) -> Step:
    return Step(f"{days} days pass", lambda world: world.later(days))


def sets(policy: Policy, *, apply: bool = False) -> Step:
    return Step(f"people set {policy}", lambda world: world.set_policy(policy, apply=apply))


def refused(step: Step) -> Step:
    async def happen(world: World) -> None:
        with pytest.raises(RefusedError):
            await step.happen(world)

    return Step(f"refused: {step.name}", happen)


def tries(step: Step) -> Step:
    """A step that a world may refuse: it changes nothing either way."""

    async def happen(world: World) -> None:
        with suppress(RefusedError):
            await step.happen(world)

    return Step(f"tries: {step.name}", happen)


def does(name: str, happen: Callable[[World], Awaitable[object]]) -> Step:
    return Step(name, happen)


def together(*steps: Step) -> Step:
    """Steps with nothing between them, as one."""

    async def happen(world: World) -> None:
        for step in steps:
            await step.happen(world)

    return Step(" and ".join(step.name for step in steps), happen)


RUN = Step("the maintainer runs", lambda world: world.run())


def named(*names: str) -> frozenset[str]:
    """Origins or reasons, e.g. `named("a", "b")`."""
    return frozenset(names)


async def entry(world: World, *texts: str) -> EntryView:
    """The one entry with one of these texts that stands alone."""
    found = [one for one in await standing(world) if one.text in texts]
    assert len(found) == 1, found
    return found[0]


async def standing(world: World) -> Sequence[EntryView]:
    """All entries that are not read through another one."""
    return [one for one in await world.entries() if one.read_through is None]


async def published(world: World) -> Sequence[EntryView]:
    return [one for one in await standing(world) if one.state in PUBLISHED]


async def pair(world: World, a: str, b: str) -> PairView:
    found = [one for one in await world.pairs() if one.texts == {a, b}]
    assert len(found) == 1, found
    return found[0]
