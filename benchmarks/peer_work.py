"""The work that peers.py gives each system by itself: questions in other words, a restart offline,
a race.
"""

import shutil
import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from environments import Installed
from made_fleet import made_text
from measuring import accepted
from questions import Asked
from rpc import Launch, NoAnswerError, RawServer, Reply
from systems import Memory, System

LIMIT: Final = 5  # answers to a question
RESTARTED: Final = 20  # memories that are looked for after a restart
START_S: Final = 180.0  # a server's first answer, while others start too


@dataclass(frozen=True)
class Questions:
    """One set: how many of its texts were stored, and how many questions found theirs first and in
    the first 5.
    """

    name: str
    texts: int
    stored: int
    asked: int
    first: int
    in_five: int


@dataclass(frozen=True)
class Restart:
    """After a restart without a network: memories found of those looked for, and whether a new one
    was stored.

    `refusal` is the first refusal's text, empty without one.
    """

    looked_for: int
    found: int
    stores: bool
    refusal: str


@dataclass(frozen=True)
class Race:
    """Servers that start and store at once on one memory: stores sent, acknowledged, and found
    afterwards.

    `failure` is the first server's that did not start, refused a store or did not end in time;
    empty without one.
    """

    servers: int
    started: int
    sent: int
    acknowledged: int
    found: int
    seconds: float
    failure: str


@dataclass
class Racer:
    """One server of a race, while it runs."""

    started: bool = False
    acknowledged: list[Memory] = field(default_factory=list)
    failure: str = ""


def ask_questions(installed: Installed, folder: Path, asked: Asked) -> Questions:
    """Store the texts as one agent, then ask the questions."""
    system = installed.system
    evidence = asked.evidence or [""] * len(asked.patterns)
    memories = [
        Memory(number, text, "agent-0", seen)
        for number, (text, seen) in enumerate(zip(asked.patterns, evidence, strict=True))
    ]
    marks = [system.mark(memory) for memory in memories]
    with RawServer(installed.launch(folder), wait_s=START_S) as server:
        stored = sum(not server.call(*system.store(memory)).refused for memory in memories)
        ranks: list[int] = []
        for question, right in zip(asked.questions, asked.right, strict=True):
            answer = accepted(server.call(*system.recall(question, "agent-0", LIMIT))).text
            found = (rank_of(marks[place], marks, answer) for place in right)
            ranks += sorted(rank for rank in found if rank is not None)[:1]
    first, in_five = (sum(rank <= limit for rank in ranks) for limit in (1, LIMIT))
    return Questions(asked.name, len(memories), stored, len(asked.questions), first, in_five)


def rank_of(mark: str, marks: Sequence[str], answer: str) -> int | None:
    """Return the place of a mark among those that an answer holds, 1 for the first; None if it is
    not there.
    """
    plain = answer.replace('\\"', '"')
    place = plain.find(mark)
    if place < 0:
        return None
    return 1 + sum(0 <= plain.find(other) < place for other in marks if other != mark)


def restart_offline(installed: Installed, folder: Path, texts: Sequence[str]) -> Restart:
    """Start again on a memory of `ask_questions` in a network namespace of its own, which has no
    network.
    """
    system = installed.system
    launch = installed.launch(folder)
    offline = Launch(["unshare", "-rn", *launch.command], launch.variables, launch.folder)
    memories = [Memory(number, text, "agent-0") for number, text in enumerate(texts[:RESTARTED])]
    added = Memory(99_000, "Charge the spare battery on the last day of the quarter", "agent-0")
    with RawServer(offline, wait_s=START_S) as server:
        replies = [server.call(*system.find(memory)) for memory in memories]
        stored, again = server.call(*system.store(added)), server.call(*system.find(added))
    found = sum(
        shows(system, reply, memory) for reply, memory in zip(replies, memories, strict=True)
    )
    refusals = [reply.text for reply in (*replies, stored, again) if reply.refused]
    stores = not stored.refused and shows(system, again, added)
    return Restart(
        len(memories), found, stores, " ".join(refusals[0].split())[:160] if refusals else ""
    )


def has_unshare() -> bool:
    """Return whether this machine lets us start a process without a network."""
    command = shutil.which("unshare")
    return (
        bool(command)
        and subprocess.run([str(command), "-rn", "true"], check=False, timeout=10).returncode == 0
    )


def shows(system: System, reply: Reply, memory: Memory) -> bool:
    """Return whether an answer shows a memory."""
    return not reply.refused and system.mark(memory) in reply.text.replace('\\"', '"')


def race(installed: Installed, folder: Path, servers: int, stores: int, limit_s: float) -> Race:
    """Start servers at once, each storing as soon as it is up; none stores later than `limit_s`
    after the start.

    One server opens the memory before: who makes the files first is no part of the race.
    """
    with RawServer(installed.launch(folder), wait_s=START_S) as server:
        accepted(
            server.call(
                *installed.system.store(Memory(99_000, "The starter fires once", "starter"))
            )
        )
    began = time.monotonic()
    work = partial(_racer, installed, folder, stores, began + limit_s)
    with ThreadPoolExecutor(servers) as threads:
        racers = list(threads.map(work, range(servers)))
    seconds = round(time.monotonic() - began, 1)
    acknowledged = [memory for racer in racers for memory in racer.acknowledged]
    failures = [racer.failure for racer in racers if racer.failure]
    found = 0
    try:
        with RawServer(installed.launch(folder), wait_s=START_S) as server:
            system = installed.system
            found = sum(
                shows(system, server.call(*system.find(memory)), memory) for memory in acknowledged
            )
    except NoAnswerError as error:
        failures.insert(0, f"afterwards: {error}")
    started = sum(racer.started for racer in racers)
    return Race(
        servers,
        started,
        servers * stores,
        len(acknowledged),
        found,
        seconds,
        failures[0] if failures else "",
    )


def _racer(installed: Installed, folder: Path, stores: int, deadline: float, number: int) -> Racer:
    """Start one server and store until it has stored all, ends, or the time is up."""
    racer = Racer()
    memories = [
        Memory(at, made_text(at), f"agent-{number}")
        for at in range(number * stores, (number + 1) * stores)
    ]
    try:
        with RawServer(installed.launch(folder), wait_s=START_S) as server:
            racer.started = True
            for memory in memories:
                if time.monotonic() > deadline:
                    racer.failure = racer.failure or "not all was stored in time"
                    break
                reply = server.call(*installed.system.store(memory))
                if not reply.refused:
                    racer.acknowledged.append(memory)
                elif not racer.failure:
                    racer.failure = f"refused: {' '.join(reply.text.split())[:160]}"
    except NoAnswerError as error:
        racer.failure = racer.failure or str(error)
    return racer
