"""The policy of a fleet: shown with its meaning, set by name, in the ledger, and applied only when
people ask.
"""

import json
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from fleet_memory.cli import main
from fleet_memory.errors import ForbiddenError, InvalidArgumentError, StoreUnavailableError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.policy import (
    apply_policy,
    policy_rows,
    set_policy,
    with_values,
)
from fleet_memory.rules.entries import entry_state, settled, withdrawn_by_policy
from fleet_memory.schemas.policy import Policy, Sharing, default_sharing
from fleet_memory.schemas.programs import Caller
from fleet_memory.settings import Settings
from fleet_memory.stores import Query
from tests.entries import retired_at
from tests.fleets import FLEET, NOW, at, documents, interrupted, writing
from tests.shared import KEY, published_keys, shared_entry

PAGE = (Path(__file__).parent.parent / "docs" / "policy.md").read_text(encoding="utf-8")


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    return at(fleet, NOW)


async def lines(fleet: Fleet) -> list[tuple[object, object, object]]:
    store = fleet.knowledge.store
    found = await store.find(Query(fleet.knowledge.paths.ledger, {"event": "policy"}))
    return sorted((each.fields["key"], each.fields["by"], each.fields["why"]) for each in found)


def test_values_are_set_by_their_names() -> None:
    words = ["threshold", "3", "judgeModel", "qwen3:8b", "retentionDays", "365"]
    words += ["judging", "people"]
    expected = Policy(threshold=3, judge_model="qwen3:8b", retention_days=365, judging="people")
    assert with_values(Policy(), words) == expected
    assert with_values(expected, ("judgeModel", "none", "retentionDays", "none")) == Policy(
        threshold=3, judging="people"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["threshold", "1"], "threshold: must be 2 to 10, not '1'"),
        (["threshold", "11"], "threshold: must be 2 to 10, not '11'"),
        (["threshold", "two"], "threshold: must be 2 to 10, not 'two'"),
        (["threshold", "none"], "threshold: must be 2 to 10, not 'none'"),
        (["threshold", "2.5"], "threshold: must be 2 to 10, not '2.5'"),
        (["origins", "sessions"], "origins: must be program or connection, not 'sessions'"),
        (["tried", "-1"], "tried: must be 0 to 10, not '-1'"),
        (["sharing", "all"], "sharing: must be lessons or knowledge, or none, not 'all'"),
        (["judging", ""], "judging: must be agents or people, not ''"),
        (["secrets", "keep"], "secrets: must be refuse or allow, not 'keep'"),
        (["retentionDays", "0"], "retentionDays: must be 1 to 36500, or none, not '0'"),
        (
            ["judgeModel", "qwen\n3"],
            "judgeModel: must be a text of at most 200 characters, or none, not 'qwen\\n3'",
        ),
        (
            ["judgeModel", "x" * 201],
            "judgeModel: must be a text of at most 200 characters, or none, not 'xxx",
        ),
        (["treshold", "3"], "treshold: unknown, did you mean threshold?"),
        (
            ["colour", "red"],
            "colour: unknown, allowed: threshold, tried, sharing, origins, judging, judgeModel",
        ),
        (["threshold"], "threshold: without a value"),
        (["threshold", "3", "origins"], "origins: without a value"),
        (["threshold", "3", "origins", "x"], "origins: must be program or connection"),
    ],
)
@pytest.mark.anyio
async def test_a_wrong_value_is_refused_by_name_and_nothing_is_written(
    fleet: Fleet, words: list[str], said: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=f"^{re.escape(said)}"):
        await set_policy(fleet, words)
    assert (await fleet.policies.read_versioned()).value == Policy()
    assert await lines(fleet) == []


@pytest.mark.anyio
async def test_each_change_is_a_line_of_the_ledger_and_an_unchanged_value_is_none(
    fleet: Fleet,
) -> None:
    assert await set_policy(fleet, ["threshold", "3", "origins", "program"]) == ["threshold 2 -> 3"]
    assert await set_policy(fleet, ["threshold", "3"]) == []
    assert await set_policy(fleet, ["threshold", "2", "judgeModel", "qwen3:8b"]) == [
        "threshold 3 -> 2",
        "judgeModel none -> qwen3:8b",
    ]
    assert await set_policy(fleet, ["judgeModel", "none"]) == ["judgeModel qwen3:8b -> none"]
    assert await lines(fleet) == [
        ("policy", "operator", "judgeModel none -> qwen3:8b"),
        ("policy", "operator", "judgeModel qwen3:8b -> none"),
        ("policy", "operator", "threshold 2 -> 3"),
        ("policy", "operator", "threshold 3 -> 2"),
    ]
    assert (await fleet.policies.read_versioned()).value == Policy()


@pytest.mark.anyio
async def test_two_people_who_set_other_values_at_once_are_both_heard(fleet: Fleet) -> None:
    meanwhile = interrupted(
        fleet, writing("ledger"), lambda: set_policy(fleet, ["judging", "people"])
    )
    await set_policy(meanwhile, ["threshold", "4"])
    assert (await fleet.policies.read_versioned()).value == Policy(threshold=4, judging="people")


@pytest.mark.anyio
async def test_a_bound_caller_sets_and_applies_nothing(fleet: Fleet) -> None:
    bound = Fleet.on(fleet.knowledge.store, FLEET, fleet.embedder, fleet.now, Caller("sark"))
    with pytest.raises(ForbiddenError, match="only an operator"):
        await set_policy(bound, ["threshold", "3"])
    with pytest.raises(ForbiddenError, match="only an operator"):
        await apply_policy(bound)
    assert await lines(fleet) == []


@pytest.mark.anyio
async def test_a_change_takes_nothing_back_unasked(fleet: Fleet) -> None:
    await shared_entry(fleet, "basher", "iso")
    before = await documents(fleet)
    await set_policy(fleet, ["threshold", "3"])
    await set_policy(fleet, ["threshold", "2"])
    entries = [
        each for each in await documents(fleet) if not each.ref.collection.endswith("/ledger")
    ]
    assert entries == [each for each in before if not each.ref.collection.endswith("/ledger")]


@pytest.mark.anyio
async def test_applied_the_policy_takes_back_entries_that_it_would_not_publish(
    fleet: Fleet,
) -> None:
    await shared_entry(fleet, "basher", "iso")
    await set_policy(fleet, ["threshold", "3"])
    assert await apply_policy(fleet) == {KEY: 2}
    assert await published_keys(fleet) == []
    assert await apply_policy(fleet) == {}
    entry = await fleet.knowledge.found(KEY)
    assert (entry.publications[-1].withdrawn_at, entry_state(entry, NOW)) == (NOW, "candidate")
    (line,) = await fleet.knowledge.ledger.newest(entry, 1)
    assert (line.event, line.by, line.why) == (
        "demoted",
        "operator",
        "the policy asks for 3 votes by program",
    )


@pytest.mark.anyio
async def test_an_entry_with_votes_enough_keeps_the_threshold_that_it_was_published_with(
    fleet: Fleet,
) -> None:
    before = await shared_entry(fleet, "basher", "iso", "sark")
    await set_policy(fleet, ["threshold", "3"])
    assert await apply_policy(fleet) == {}
    assert await fleet.knowledge.found(KEY) == before


@pytest.mark.anyio
async def test_an_application_that_is_killed_is_finished_by_the_next(fleet: Fleet) -> None:
    await shared_entry(fleet, "basher", "iso")
    await set_policy(fleet, ["threshold", "3"])

    async def cut_off() -> None:
        raise StoreUnavailableError("The connection was cut.")

    with pytest.raises(StoreUnavailableError):
        await apply_policy(interrupted(fleet, writing("snapshots"), cut_off))
    later = at(fleet, NOW + timedelta(minutes=3))
    assert await apply_policy(later) == {}
    assert await published_keys(later) == []


@pytest.mark.anyio
async def test_a_policy_of_connections_takes_back_entries_that_came_over_one_connection(
    fleet: Fleet,
) -> None:
    entry = await shared_entry(fleet, "basher", "iso")
    over_one = tuple(replace(line, connection="c1") for line in entry.provenance)
    changed = replace(entry, provenance=over_one)
    policy = Policy(origins="connection")
    after = settled(changed, withdrawn_by_policy(changed, policy, NOW), policy, NOW)
    assert (entry_state(changed, NOW), entry_state(after, NOW)) == ("verify", "candidate")
    assert withdrawn_by_policy(entry, policy, NOW) is entry


@pytest.mark.anyio
async def test_retired_entries_candidates_and_rules_of_people_stay_as_they_are(
    fleet: Fleet,
) -> None:
    entry = await shared_entry(fleet, "basher", "iso")
    policy = Policy(threshold=10)
    for each in (
        replace(entry, decisions=retired_at(NOW), publications=()),
        replace(entry, publications=()),
        replace(entry, tier="constitutional"),
    ):
        assert withdrawn_by_policy(each, policy, NOW) is each


def test_the_page_names_every_value_with_its_default_and_range() -> None:
    missing = [
        row
        for row in policy_rows(Policy())
        if f"| `{row.name}` | {row.default} | {row.allowed} |" not in PAGE
    ]
    assert missing == []


@pytest.fixture
def _own_memory(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEET_MEMORY_STORE", str(settings.store.words[0]))
    monkeypatch.setenv("FLEET_MEMORY_EMBEDDER", "lexical")


@pytest.mark.usefixtures("_own_memory")
def test_the_command_shows_every_value_with_its_meaning(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "set", "threshold", "2"]) == 0
    capsys.readouterr()
    assert main(["policy", "show"]) == 0
    head, first, meaning, *_ = capsys.readouterr().out.splitlines()
    assert head.split() == ["name", "value", "default", "allowed"]
    assert (first.split(maxsplit=3), meaning) == (
        ["threshold", "2", "2", "2 to 10"],
        "    meaning: Independent votes that publish an entry",
    )
    assert main(["policy", "show", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["policy"]
    assert {
        "name": "origins",
        "value": "program",
        "default": "program",
        "meaning": "Whose votes count as one: a program's, or those of all programs of a "
        "connection",
        "allowed": "program or connection",
    } in shown


@pytest.mark.usefixtures("_own_memory")
def test_the_command_speaks_of_entries_only_where_a_change_decides_which_are_published(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["policy", "set", "judging", "people"]) == 0
    assert capsys.readouterr().out == "changed  judging agents -> people\n"


@pytest.mark.usefixtures("_own_memory")
def test_the_command_sets_and_applies(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "set", "threshold", "3"]) == 0
    assert capsys.readouterr().out.startswith(
        "changed  threshold 2 -> 3\nIt holds for entries published from now on; "
    )
    assert main(["policy", "set", "threshold", "4", "--apply"]) == 0
    assert capsys.readouterr().out == "changed    threshold 3 -> 4\ntakenBack  none\n"
    assert main(["policy", "set", "--apply", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"changed": [], "takenBack": []}


@pytest.mark.usefixtures("_own_memory")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["set"], "NAME VALUE or --apply is missing"),
        (["set", "threshold", "1"], "threshold: must be 2 to 10"),
    ],
)
def test_the_command_refuses_as_a_usage_error(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["policy", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("is_file", "is_local", "expected"),
    [
        (True, True, "lessons"),
        (True, False, "knowledge"),
        (False, True, "knowledge"),
        (False, False, "knowledge"),
    ],
)
def test_lessons_are_shared_unasked_only_with_callers_on_this_machine_of_a_file(
    is_file: bool, is_local: bool, expected: Sharing
) -> None:
    assert default_sharing(is_file=is_file, is_local=is_local) == expected
