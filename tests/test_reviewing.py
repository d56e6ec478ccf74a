"""`fleet-memory review`: a person judges pairs one by one, and nothing is sent before the last answer."""

import io
import re
import sys
from pathlib import Path

import anyio
import pytest

from fleet_memory.cli import main
from fleet_memory.cli.review import Judgement, read_judgements
from fleet_memory.fleet import Fleet
from fleet_memory.schemas.answers.memory import LessonAnswer, ReviewPair
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import load
from fleet_memory.tools.store_memory import store_memory

TIMEOUT = "Set an explicit timeout on every outbound HTTP call"
DEADLINE = "Network requests without a deadline can hang a worker forever, so give each one a time limit"
PAIRS = [
    ReviewPair(
        pair_id=name,
        similarity=0.5,
        contrast=0.0,
        a=LessonAnswer(program_id="basher", pattern_id="p", domain="git", pattern=f"One {name}"),
        b=LessonAnswer(program_id="sark", pattern_id="p", domain="git", pattern=f"Other {name}"),
        explain="",
    )
    for name in ("first", "second", "third")
]


def answered(*keys: str) -> tuple[list[Judgement], list[str]]:
    said: list[str] = []
    return read_judgements(PAIRS, keys, said.append), said


def test_each_pair_is_shown_and_answered_by_a_key() -> None:
    made, said = answered("s", "d", "k")
    assert made == [Judgement("first", same=True), Judgement("second", same=False), Judgement("third", same=None)]
    assert "One second" in said[1]
    assert "Other second" in said[1]


def test_undo_takes_the_last_answer_back() -> None:
    assert answered("s", "u", "d", "q")[0] == [Judgement("first", same=False)]


def test_the_very_last_answer_can_be_taken_back_before_anything_is_sent() -> None:
    made, said = answered("s", "s", "s", "u", "d", "")
    assert [one.same for one in made] == [True, True, False]
    assert "Enter sends" in said[3]


def test_the_end_of_input_stops_and_an_unknown_key_asks_again() -> None:
    made, said = answered("x", "s")
    assert made == [Judgement("first", same=True)]
    assert said[1].startswith("s same")


def test_the_command_promotes_what_a_person_finds_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ["--store", str(tmp_path / "memory.db")]

    async def learn(fleet: Fleet) -> None:
        for program, text in (("basher", TIMEOUT), ("sark", DEADLINE)):
            await store_memory(fleet, program, NewPattern(pattern=text, domain="http", confidence=0.8, evidence=""))

    anyio.run(with_fleet, load({"store": store[1]}, {}), learn)
    monkeypatch.setattr(sys, "stdin", io.StringIO("d\nu\ns\n\n"))
    assert main(["review", *store]) == 0
    assert re.search(r"0 pairs left\npromoted: pattern/http/[a-z-]+\n$", capsys.readouterr().out)
    assert main(["review", *store]) == 0
    assert capsys.readouterr().out == "0 pairs left\n"
