"""`fleet-memory maintain`: its output and its exit codes."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import anyio
import pytest

from fleet_memory.cli import main
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.model_judging import NO_ENDPOINT
from fleet_memory.jobs.policy import set_policy
from fleet_memory.jobs.publishing import MAINTAINER_LEASE
from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.repositories.runs import take
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.server.composition import with_fleet, with_store
from fleet_memory.settings import Settings
from fleet_memory.stores import Store
from fleet_memory.tools.core.lessons import store_memory
from tests.chat_endpoint import chat_served, completion
from tests.shared import CHECK, LOOK, Lesson, opened_pair

LEARNT = datetime(2026, 3, 1, tzinfo=UTC)
LESSON = {"domain": "d", "confidence": 0.5}


def sent(program: str, text: str, **fields: str) -> NewPattern:
    evidence = f"{program} saw it fail twice"
    return NewPattern.model_validate({"pattern": text, "evidence": evidence, **LESSON, **fields})


@pytest.fixture(autouse=True)
def _own_memory(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEET_MEMORY_STORE", str(settings.store.words[0]))
    monkeypatch.setenv("FLEET_MEMORY_EMBEDDER", "lexical")

    async def learn(fleet: Fleet) -> None:
        now = replace(fleet, now=lambda: LEARNT)
        for program, text in (("basher", "Shared"), ("sark", "Shared"), ("sark", "Own")):
            lesson = sent(program, text, id=text.lower())
            await store_memory(now, program, lesson)

    anyio.run(with_fleet, settings, learn)


def maintain(*flags: str) -> int:
    return main(["maintain", "--now", LEARNT.isoformat(), *flags])


def test_it_prints_each_step_that_it_took(capsys: pytest.CaptureFixture[str]) -> None:
    assert maintain() == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines() == [
        "dryRun    no",
        "advice    none",
        "promoted  pattern/d/shared",
        "updated   none",
        "opened    0",
        "waiting   1",
        "skipped   none",
    ]
    assert captured.err == ""


def test_a_dry_run_writes_nothing_and_a_second_run_does_nothing_more(
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = {
        "advice": [],
        "promoted": ["pattern/d/shared"],
        "updated": [],
        "opened": 0,
        "waiting": 1,
        "skipped": [],
    }
    for flags, expected in (
        (["--dry-run"], {"dryRun": True, **result}),
        ([], {"dryRun": False, **result}),
        ([], {"dryRun": False, **result, "promoted": []}),
    ):
        assert maintain("--json", *flags) == 0
        assert json.loads(capsys.readouterr().out) == expected


def test_the_judge_model_of_the_policy_is_asked_and_its_figures_are_shown(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def open_pair(fleet: Fleet) -> None:
        now = replace(fleet, now=lambda: LEARNT)
        await opened_pair(now, Lesson("basher", LOOK), Lesson("iso", CHECK))
        await set_policy(now, ["judgeModel", "qwen3:8b"])

    anyio.run(with_fleet, settings, open_pair)
    assert maintain("--json") == 0
    told = json.loads(capsys.readouterr().out)["judgeModel"]
    assert (told["model"], told["problem"]) == ("qwen3:8b", NO_ENDPOINT)
    with chat_served() as endpoint:
        monkeypatch.setenv("FLEET_MEMORY_JUDGE_URL", endpoint.url)
        monkeypatch.setenv("FLEET_MEMORY_JUDGE_KEY", "sk-ours")
        endpoint.script.append((200, completion("nonsense")))
        other = "The judge model answered something other than a verdict."
        for verdicts, calls, problem in (({}, 1, other), ({"different": 1}, 2, None)):
            assert maintain("--json") == 0
            printed = capsys.readouterr()
            told = json.loads(printed.out)["judgeModel"]
            assert (told["verdicts"], told["calls"], told["tokens"]) == (
                verdicts,
                calls,
                100 * calls,
            )
            assert (told.get("problem"), printed.err) == (problem, "")
    assert set(endpoint.keys) == {"Bearer sk-ours"}


def test_waiting_pairs_come_first(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    async def disagree(fleet: Fleet) -> None:
        now = replace(fleet, now=lambda: LEARNT)
        await opened_pair(now, Lesson("basher", LOOK), Lesson("iso", CHECK))

    assert maintain() == 0
    anyio.run(with_fleet, settings, disagree)
    capsys.readouterr()
    assert maintain() == 0
    advice = [
        "Pairs that wait for the programs that learnt the lessons: 1. gsp_bootstrap asks them; people "
        "answer any with fleet-memory review.",
    ]
    assert capsys.readouterr().out.splitlines()[1:3] == ["advice:", f"  {advice[0]}"]
    assert maintain("--json") == 0
    wire = json.loads(capsys.readouterr().out)
    assert (wire["judging"], wire["advice"]) == ({"programs": 1}, advice)


def test_while_another_has_the_lease_it_prints_one_line_and_exits_4(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    async def take_lease(store: Store) -> None:
        assert await take(
            store, FleetPaths("default").lease(MAINTAINER_LEASE), "another", now=LEARNT, ttl_s=60
        )

    anyio.run(with_store, settings, take_lease)
    assert maintain() == 4
    assert capsys.readouterr().err == (
        "fleet-memory: Another maintenance of this fleet is running; leave it to that one.\n"
    )
