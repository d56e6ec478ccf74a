"""`fleet-memory review`: a person reads the pairs that wait, and each verdict counts at once."""

import json
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from fleet_memory.cli import main
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.looking import WaitingPair, waiting_pairs
from fleet_memory.rules.pairs import SIDES, UNANSWERED, questions, with_judgement
from fleet_memory.schemas.pairs import MODEL_NAME, Judgement, Pair, Side, Verdict
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings
from tests.fleets import NOW
from tests.shared import CHECK, FREE, KEY, LATE, LOOK, Lesson, opened_pair, published_keys

WAIT = "4 lessons wait for the next run: fleet-memory maintain"
PAIRS = [
    Pair(
        pair_id=name,
        a=Side(
            program_id="basher",
            pattern_id="p",
            domain="git",
            text=f"One {name}",
            evidence="It broke",
        ),
        b=Side(program_id="sark", key="pattern/git/other", domain="git", text=f"Other {name}"),
        cosine=0.5,
        opened_at=NOW,
    )
    for name in ("first", "second")
]


def waiting(pair: Pair) -> WaitingPair:
    return WaitingPair(pair, questions(pair))


def judged(pair: Pair, program_id: str | None, verdict: Verdict, reason: str = "") -> Pair:
    said = Judgement(verdict=verdict, program_id=program_id, at=NOW, reason=reason)
    sides = [name for name in SIDES if getattr(pair, name).program_id == program_id]
    return with_judgement(pair, replace(said, sides=tuple(sides), is_silence=reason == UNANSWERED))


def test_each_verdict_is_shown_with_its_judge_and_reason() -> None:
    pair = judged(PAIRS[0], "basher", "unsure", UNANSWERED)
    pair = judged(pair, "sark", "same", "both ask for a clean tree")
    pair = judged(pair, MODEL_NAME, "different")
    pair = judged(pair, None, "unsure", "I do not know git")
    wire = waiting(pair).wire()
    assert wire["waitsFor"] == "a third program"
    judgements = wire["judgements"]
    assert isinstance(judgements, list)
    assert [(each["by"], each["verdict"], each["reason"]) for each in judgements] == [
        ("basher", "unsure", UNANSWERED),
        ("sark", "same", "both ask for a clean tree"),
        ("the model", "different", ""),
        ("a person", "unsure", "I do not know git"),
    ]


@pytest.fixture
def opened(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> list[Pair]:
    """A fleet with two open pairs; only people are left to judge the second."""
    monkeypatch.setenv("FLEET_MEMORY_STORE", str(settings.store.words[0]))
    monkeypatch.setenv("FLEET_MEMORY_EMBEDDER", "lexical")

    async def open_pairs(fleet: Fleet) -> list[Pair]:
        likeliest = await opened_pair(
            fleet, Lesson("basher", LOOK), Lesson("iso", CHECK), margin=0.9
        )
        left = await opened_pair(fleet, Lesson("sark", LATE), Lesson("ram", FREE), margin=0.1)
        for name in ("sark", "ram", "basher", "iso"):
            left = judged(left, name, "unsure")
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


def test_a_list_has_as_many_pairs_as_asked_for_and_counts_the_others(
    opened: list[Pair], capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(opened) == 2
    assert main(["review", "--json", "--limit", "1"]) == 0
    wire = json.loads(capsys.readouterr().out)
    assert (len(wire["pairs"]), wire["omitted"]) == (1, {"pairs": 1})
    with pytest.raises(SystemExit, match="2"):
        main(["review", "--json", "--limit", "0"])


def test_the_list_for_programs_has_all_that_a_person_reads(
    opened: list[Pair], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["review", "--json"]) == 0
    left, likeliest = json.loads(capsys.readouterr().out)["pairs"]
    assert left["waitsFor"] == "people"
    assert [one["by"] for one in left["judgements"]] == ["sark", "ram", "basher", "iso"]
    assert likeliest == {
        "pairId": opened[0].pair_id,
        "a": opened[0].a.wire(),
        "b": opened[0].b.wire(),
        "state": "open",
        "cosine": 0.7,
        "steering": "",
        "judgements": [],
        "openedAt": opened[0].wire()["openedAt"],
        "waitsFor": "basher and iso",
    }


def waits(settings: Settings) -> dict[str, str]:
    """Return whom each pair waits for, in the order in which people read them."""

    async def read(fleet: Fleet) -> dict[str, str]:
        return {one.pair.pair_id: one.waits_for for one in await waiting_pairs(fleet)}

    return anyio.run(with_fleet, settings, read)


def test_where_people_judge_every_pair_waits_for_them(
    opened: list[Pair], settings: Settings
) -> None:
    assert main(["policy", "set", "judging", "people"]) == 0
    assert waits(settings) == {opened[0].pair_id: "people", opened[1].pair_id: "people"}


def test_people_read_each_pair_with_both_texts(
    opened: list[Pair], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["review", "--limit", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith(f"{opened[1].pair_id}  people")
    assert [f"text {side.text}" in lines[at] for at, side in ((2, opened[1].a), (3, opened[1].b))]
    assert lines[-1] == "and 1 more pairs"


def test_the_command_publishes_a_pair_that_a_person_judges_the_same(
    opened: list[Pair], settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    likeliest, left = opened
    assert main(["review", left.pair_id, "different"]) == 0
    assert main(["review", likeliest.pair_id, "same"]) == 0
    assert f"\nkey         {KEY}\nentryState  fresh\n" in capsys.readouterr().out
    assert anyio.run(with_fleet, settings, published_keys) == [KEY]
    assert main(["review"]) == 0
    assert capsys.readouterr().out == f"pairs  none\n{WAIT}\n"


def test_a_script_judges_one_pair_and_may_change_its_mind(
    opened: list[Pair], capsys: pytest.CaptureFixture[str]
) -> None:
    likeliest, left = opened
    assert main(["review", left.pair_id, "different", "--reason", "other moments"]) == 0
    assert capsys.readouterr().out == f"pairId  {left.pair_id}\nstate   different\n"
    assert listed(capsys) == [likeliest.pair_id]
    assert main(["review", likeliest.pair_id, "different", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "pairId": likeliest.pair_id,
        "state": "different",
    }


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["nothing", "same"], 2, "there is no pair 'nothing'"),
        (["a b", "same"], 2, "pairId: must be 1-100 characters"),
        (["nothing", "same", "--reason", "x" * 2001], 2, "reason: must be at most 2000"),
        (["nothing"], 2, "give a verdict too"),
    ],
)
@pytest.mark.usefixtures("opened")
def test_a_wrong_call_is_refused(
    words: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["review", *words]) == code
    assert said in capsys.readouterr().err


def test_a_bound_process_judges_no_pair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FLEET_MEMORY_STORE", str(tmp_path / "memory.db"))
    assert main(["policy", "set", "judging", "people"]) == 0
    monkeypatch.setenv("FLEET_MEMORY_PROGRAM", "basher")
    assert main(["review"]) == 1
    assert "only an operator" in capsys.readouterr().err
