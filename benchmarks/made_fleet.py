"""A made-up fleet behind a server over stdio, and the calls that calls.py measures on one of its
programs.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from measuring import accepted
from rpc import Arguments, Launch, RawServer

TOPICS: Final = (
    *("claim", "task", "queue", "branch", "deploy", "cache", "index", "token"),
    *("retry", "lease", "shard", "prompt", "context", "rebase", "review"),
)
MEASURED: Final = "program-0"
REINFORCED: Final = "reinforced"
MAX_LESSONS: Final = 500  # of a program: the cap, raised so that no store is also an eviction
BATCH: Final = 20  # lessons that one commit_session takes
FILL_WAIT_S: Final = 600.0


@dataclass(frozen=True)
class FleetSize:
    """How much a fleet knows: lessons in all, lessons of each program, entries that two programs
    share.
    """

    lessons: int
    per_program: int
    entries: int


class MeasuredCall(NamedTuple):
    """One call of a kind that is measured."""

    kind: str
    tool: str
    arguments: Arguments


class FleetServers(NamedTuple):
    """Two servers of one memory: calls of the first are measured, the other forgets the lessons
    that they stored.
    """

    measured: RawServer
    other: RawServer


@contextmanager
def made_fleet(size: FleetSize, folder: Path) -> Iterator[FleetServers]:
    """Yield servers of a fleet of this size, its memory in `folder`. Raises RuntimeError if entries
    are missing.
    """
    variables = {
        "FLEET_MEMORY_STORE": str(folder / "memory.db"),
        "FLEET_MEMORY_TOOLSETS": "core,session,state",
        # a run between two calls would be counted as one of them
        "FLEET_MEMORY_MAINTENANCE": "off",
    }
    launch = Launch([sys.executable, "-m", "fleet_memory", "serve"], variables, folder)
    with (
        RawServer(launch, wait_s=FILL_WAIT_S) as measured,
        RawServer(launch, wait_s=FILL_WAIT_S) as other,
    ):
        servers = FleetServers(measured, other)
        fill(servers, size)
        yield servers


def fill(servers: FleetServers, size: FleetSize) -> None:
    """Store the lessons, make the shared ones entries, and store the lesson that `reinforce` needs.

    The other server makes the entries: the measured one's memory is that of a server which agents
    use.
    """
    server, other = servers
    for program, texts in lessons_by_program(size).items():
        cap = {"programId": program, "decayConfig": {"maxUnpromotedPatterns": MAX_LESSONS}}
        accepted(server.call("update_program_state", cap))
        for start in range(0, len(texts), BATCH):
            batch = enumerate(texts[start : start + BATCH], start)
            lessons = [
                lesson(text, f"seen by {program}", fill_id(number)) for number, text in batch
            ]
            arguments = {"programId": program, "requestId": f"fill-{start}", "patterns": lessons}
            accepted(server.call("commit_session", arguments))
    accepted(
        other.call("pattern_consolidate", {})
    )  # before one more lesson: promoted ones do not count for the cap
    reinforced = lesson("Read the lease first", "seen", REINFORCED)
    accepted(server.call("store_memory", {"programId": MEASURED, "pattern": reinforced}))
    shared = {"programId": MEASURED, "scope": "shared", "limit": 1, "includeStale": True}
    entries = json.loads(accepted(server.call("recall_memory", shared)).text)["total"]
    if entries != size.entries:
        raise RuntimeError(f"{entries} entries where {size.entries} were to be made")


def lessons_by_program(size: FleetSize) -> dict[str, list[str]]:
    """Return the texts of each program; the first `entries` texts are those of two programs
    each.
    """
    programs = max(2 if size.entries else 1, size.lessons // size.per_program)
    texts: dict[str, list[str]] = {f"program-{number}": [] for number in range(programs)}
    names = list(texts)
    for number in range(size.entries):
        for holder in (number, number + 1):
            texts[names[holder % programs]].append(made_text(number))
    number = size.entries
    for lessons in texts.values():
        if len(lessons) > size.per_program:
            raise ValueError(
                f"{size.entries} entries need more than {size.per_program} lessons a program"
            )
        while len(lessons) < size.per_program:
            lessons.append(made_text(number))
            number += 1
    return texts


def made_text(number: int) -> str:
    """Return a lesson's text that no other number has."""
    one, two, three = (TOPICS[number // step % len(TOPICS)] for step in (1, 15, 225))
    return f"Look at the {one} before the {two} of the {three} in case {number}"


def made_evidence(number: int) -> str:
    """Return evidence as long as most, that no other number has: no server remembers a vector of
    it.
    """
    return f"Run {number} of the nightly job stopped at step {number % 7} until somebody had looked"


def lesson(text: str, evidence: str, pattern_id: str | None = None) -> dict[str, object]:
    """Return a lesson as the tools take it."""
    sent = {"pattern": text, "domain": text.split()[3], "confidence": 0.8, "evidence": evidence}
    return sent | ({"id": pattern_id} if pattern_id else {})


def question(number: int) -> str:
    """Return a question that no other number has, so that no cache has its answer or its vector."""
    one, two = (TOPICS[number // step % len(TOPICS)] for step in (1, 15))
    return f"what to do with the {one} before the {two} when it is number {number}"


def measured_calls(round_number: int) -> Iterable[MeasuredCall]:
    """Yield one call of each kind for the measured program; the lessons that they store are named
    `round-…`.

    The first is the only one that reads a program which another server has changed.
    """
    recall = {"programId": MEASURED, "limit": 5}
    own, everything = {**recall, "scope": "own"}, {**recall, "scope": "all"}
    first, second, third = (question(3 * round_number + each) for each in range(3))
    yield MeasuredCall(
        "recall with a query, program changed", "recall_memory", {**own, "query": first}
    )
    yield MeasuredCall("recall with a query", "recall_memory", {**own, "query": second})
    yield MeasuredCall("recall, plain", "recall_memory", own)
    yield MeasuredCall(
        "recall of all with a query", "recall_memory", {**everything, "query": third}
    )
    yield MeasuredCall("recall of all, plain", "recall_memory", everything)
    yield MeasuredCall("boot", "gsp_bootstrap", {"agentId": MEASURED})
    yield from writing_calls(round_number)


def writing_calls(round_number: int) -> Iterable[MeasuredCall]:
    """Yield one call of each kind that writes."""
    word = {"patternId": REINFORCED, "outcome": "confirmed", "evidence": f"seen {round_number}"}
    first, second = 10_000_000 + round_number, 20_000_000 + round_number
    stored = lesson(made_text(first), made_evidence(first), f"round-{round_number}-store")
    taught = lesson(made_text(second), made_evidence(second), f"round-{round_number}-session")
    session = {
        "requestId": f"round-{round_number}",
        "patterns": [taught],
        "reinforcements": [word],
        "contextSummary": {"handoffNotes": f"Round {round_number} is over, go on"},
    }
    yield MeasuredCall("store", "store_memory", {"programId": MEASURED, "pattern": stored})
    yield MeasuredCall("reinforce", "reinforce_memory", {"programId": MEASURED, **word})
    yield MeasuredCall("commit_session", "commit_session", {"programId": MEASURED, **session})


def forget_round(server: RawServer, round_number: int) -> None:
    """Forget the two lessons of a round, so that the program stays of its size."""
    for source in ("store", "session"):
        pattern_id = f"round-{round_number}-{source}"
        arguments = {"programId": MEASURED, "patternId": pattern_id, "reason": "end of the round"}
        accepted(server.call("forget_memory", arguments))


def fill_id(number: int) -> str:
    """Return the id of a lesson that a program has from the beginning, the oldest 0, the shared
    ones first.
    """
    return f"fill-{number}"
