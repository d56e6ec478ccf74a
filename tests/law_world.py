"""What a history of a fleet can do and see: the plain model and the package are each a `World`.

A history names lessons by their texts, so that it reads as a story; a driver maps a text to the
lesson, entry or pair that it means. All times are the world's own clock, which `later` moves;
each step takes a second of it, so that no two facts have one time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypedDict, Unpack


@dataclass(frozen=True)
class EntryView:
    """An entry as everybody could see it; origins are named by one of their programs, sorted.

    `state` is candidate, fresh, verify, contested or retired; `reasons` are why it is verify: tried,
    one connection, unconfirmed (for 180 days). `read_through` is the text of the
    older entry of the same meaning that it is read through, None for one that stands alone.
    """

    text: str
    state: str
    project: str | None = None
    discovered: frozenset[str] = frozenset()
    confirmed: frozenset[str] = frozenset()
    contradicted: frozenset[str] = frozenset()
    reasons: frozenset[str] = frozenset()
    read_through: str | None = None


@dataclass(frozen=True)
class Found:
    """What a question or a boot showed, as texts."""

    own: Sequence[str] = ()
    knowledge: Sequence[str] = ()
    others: Sequence[str] = ()


@dataclass(frozen=True)
class PairView:
    """Two texts to judge: `state` is open, same, different, contradict or review (people only).

    `asked` are the programs that would be asked at their next boot.
    """

    texts: frozenset[str]
    state: str
    asked: frozenset[str] = frozenset()
    differs: str | None = None


@dataclass(frozen=True)
class Policy:
    """The policy of a fleet, as far as histories set it."""

    threshold: int = 2
    tried: int = 1
    sharing: str = "knowledge"
    origins: str = "program"


class Stored(TypedDict, total=False):
    """Arguments of `store` beside program and text."""

    own: str | None
    evidence: str
    confidence: float
    project: str | None
    session: str | None
    connection: str | None
    change: str | None
    imported: bool
    tags: Sequence[str]


EVIDENCE: Final = "seen in the logs of last night"  # of a lesson that is stored without


class World(Protocol):
    """A fleet that a history happens to. A refused step raises `RefusedError`.

    `near` (given at the making) are the sets of texts that the maintainer finds alike; all other
    texts are far from each other.
    """

    async def later(self, days: float = 0, minutes: float = 0) -> None: ...

    async def set_policy(self, policy: Policy, *, apply: bool = False) -> None: ...

    async def store(self, program: str, text: str, **how: Unpack[Stored]) -> None:
        """Store a lesson; `own` is the text of an own lesson that this one replaces, then with `change`."""

    async def boot(
        self, program: str, task: str | None = None, project: str | None = None
    ) -> Found: ...

    async def recall(self, program: str, question: str, project: str | None = None) -> Found: ...

    async def word(
        self,
        program: str,
        text: str,
        outcome: str,
        evidence: str = "",
        *,
        connection: str | None = None,
    ) -> None:
        """Say `confirmed` or `contradicted` of an own lesson, an entry or another's lesson."""

    async def verdict(
        self,
        program: str | None,
        a: str,
        b: str,
        verdict: str,
        *,
        connection: str | None = None,
        role: str | None = None,
    ) -> None:
        """Judge a pair; None is a person. A program boots first, so that it was asked."""

    async def end_session(
        self,
        program: str,
        *,
        verdicts: Sequence[tuple[str, str, str]] = (),
        stores: Sequence[dict[str, object]] = (),
    ) -> None:
        """Give verdicts (a, b, verdict) and stores (arguments of `store`) in one `commit_session`."""

    async def forget(self, program: str, text: str) -> None: ...

    async def delete_program(self, program: str) -> None: ...

    async def run(self, *, now_ahead_days: float = 0) -> None:
        """Let the maintainer propose, join equal words, sweep and publish."""

    async def retire(self, text: str) -> None: ...

    async def reinstate(self, text: str) -> None: ...

    async def reword(self, text: str, new: str) -> None: ...

    async def allow(self, program: str, text: str) -> None:
        """A person releases a text that gives its reader orders."""

    async def purge(self, text: str) -> None:
        """Erase every trace of a text."""

    async def fork(self) -> "World":
        """Return a copy of this world: a second laptop with the same memory."""

    async def take_in(self, other: "World") -> None:
        """Import the other's export."""

    async def entries(self, project: str | None = None) -> Sequence[EntryView]:
        """Return the entries of a project, without one those of all, oldest first."""

    async def pairs(self) -> Sequence[PairView]: ...

    async def everything(self) -> str:
        """Return all that is stored, as one text: what was erased is not in it."""


class RefusedError(Exception):
    """A step that the memory refused; the text names the field."""
