"""`fleet-memory review`: a person judges pairs in whole words, one by one, and each answer counts at once."""

import io
import json
import sys
from collections.abc import Sequence

import anyio
import pytest

from fleet_memory.cli import main
from fleet_memory.cli.review import HELP, review_pairs
from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.rules.consensus.judging import with_judgement
from fleet_memory.schemas.pairs import Judgement, NewVerdict, Pair, Side
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings
from tests.fleets import NOW
from tests.shared import CHECK, FREE, KEY, LATE, LOOK, Lesson, opened_pair, published_keys

PAIRS = [
    Pair(
        pair_id=name,
        a=Side(program_id="basher", pattern_id="p", domain="git", text=f"One {name}", evidence="It broke"),
        b=Side(program_id="sark", key="pattern/git/other", domain="git", text=f"Other {name}"),
        cosine=0.5,
        objection="other figures" if name == "second" else "",
        opened_at=NOW,
    )
    for name in ("first", "second")
]


def answered(*answers: str, refused: Sequence[str] = ()) -> tuple[int, list[tuple[str, str]], list[str]]:
    said: list[str] = []
    sent: list[tuple[str, str]] = []

    def send(verdict: NewVerdict) -> str:
        if verdict.pair_id in refused:
            raise InvalidArgumentError("pairId: closed")
        sent.append((verdict.pair_id, verdict.verdict))
        return "sent"

    return review_pairs(PAIRS, answers, said.append, send), sent, said


def test_each_pair_is_shown_in_full_and_answered_by_a_word() -> None:
    judged, sent, said = answered("same\n", " Contradict\n")
    assert (judged, sent) == (2, [("first", "same"), ("second", "contradict")])
    assert said == [
        "\n1 of 2, alike 0.50\n"
        "  basher/p (git): One first\n    evidence: It broke\n"
        "  entry pattern/git/other (git): Other first\n"
        "same/different/contradict/unsure/skip/quit",
        "sent",
        "\n2 of 2, alike 0.50\nbut: other figures\n"
        "  basher/p (git): One second\n    evidence: It broke\n"
        "  entry pattern/git/other (git): Other second\n"
        "same/different/contradict/unsure/skip/quit",
        "sent",
    ]


@pytest.mark.parametrize("slip", ["s", "stop", "d", "", "samee", "y"])
def test_what_is_no_whole_word_is_asked_again(slip: str) -> None:
    judged, sent, said = answered(slip, "different", "quit")
    assert (judged, sent, said[1]) == (1, [("first", "different")], HELP)


def test_a_skipped_pair_is_left_and_quitting_or_the_end_of_input_stops() -> None:
    assert answered("skip", "same")[:2] == (1, [("second", "same")])
    assert answered("quit", "same")[:2] == (0, [])
    assert answered("same")[:2] == (1, [("first", "same")])


def test_a_pair_that_was_closed_meanwhile_is_named_and_the_next_is_asked() -> None:
    judged, sent, said = answered("same", "unsure", refused=["first"])
    assert (judged, sent, said[1]) == (1, [("second", "unsure")], "pairId: closed")


def test_earlier_verdicts_are_shown_with_their_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    pair = with_judgement(PAIRS[0], Judgement(verdict="unsure", program_id="iso", at=NOW, reason="too short"))
    review_pairs([pair], ["quit"], print, lambda _: "")
    assert "\niso said unsure: too short\n" in capsys.readouterr().out


@pytest.fixture
def opened(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> list[Pair]:
    """A fleet with two open pairs; both programs of the second and two others could not tell."""
    monkeypatch.setenv("FLEET_MEMORY_STORE", str(settings.store[0]))
    monkeypatch.setenv("FLEET_MEMORY_EMBEDDER", "lexical")

    async def open_pairs(fleet: Fleet) -> list[Pair]:
        likeliest = await opened_pair(fleet, Lesson("basher", LOOK), Lesson("iso", CHECK), rank=0.9)
        left = await opened_pair(fleet, Lesson("sark", LATE), Lesson("ram", FREE), rank=0.1)
        for name in ("sark", "ram", "clu", "quorra"):
            left = with_judgement(left, Judgement(verdict="unsure", program_id=name, at=NOW))
        (before,) = await fleet.pairs.read(left.pair_id)
        await fleet.pairs.store.commit(fleet.pairs.write(before, left))
        return [likeliest, left]

    return anyio.run(with_fleet, settings, open_pairs)


def listed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main(["review", "--json"]) == 0
    return [pair["pairId"] for pair in json.loads(capsys.readouterr().out)["pairs"]]


def test_pairs_that_wait_for_people_alone_are_listed_first(
    opened: list[Pair], capsys: pytest.CaptureFixture[str]
) -> None:
    likeliest, left = opened
    assert listed(capsys) == [left.pair_id, likeliest.pair_id]


def test_the_command_publishes_what_a_person_finds_the_same(
    opened: list[Pair], settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("different\nsame\n"))
    assert main(["review"]) == 0
    out = capsys.readouterr().out
    assert f"\n{opened[1].pair_id}: different\n" in out
    assert f"\n{opened[0].pair_id}: same; {KEY} is fresh\n2 judged, 0 left\n" in out
    assert anyio.run(with_fleet, settings, published_keys) == [KEY]
    assert main(["review"]) == 0
    assert capsys.readouterr().out == "no pair waits\n"


def test_a_script_judges_one_pair_and_may_change_its_mind(
    opened: list[Pair], capsys: pytest.CaptureFixture[str]
) -> None:
    likeliest, left = opened
    judge = ["review", "--pair", left.pair_id, "--verdict"]
    assert main([*judge, "different", "--reason", "other moments"]) == 0
    assert capsys.readouterr().out == f"{left.pair_id}: different\n"
    assert listed(capsys) == [likeliest.pair_id]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--pair", "nothing", "--verdict", "same"], 2, "there is no pair 'nothing'"),
        (["--pair", "a b", "--verdict", "same"], 2, "--pair: must be 1-100 characters"),
        (["--pair", "nothing", "--verdict", "same", "--reason", "x" * 2001], 2, "--reason: must be at most 2000"),
        (["--pair", "nothing"], 2, "--pair and --verdict: give both"),
        (["--verdict", "same"], 2, "--pair and --verdict: give both"),
        (["--program", "basher"], 1, "only an operator"),
    ],
)
@pytest.mark.usefixtures("opened")
def test_a_wrong_call_is_refused(words: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["review", *words]) == code
    assert said in capsys.readouterr().err
