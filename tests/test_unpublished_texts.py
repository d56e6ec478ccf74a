"""The texts of others that a bound agent reads: published entries, the pairs that it judges, and
under `sharing: lessons` those of `others`, nothing else.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple, get_args

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from fleet_memory.clients.entries import EVENTS
from fleet_memory.clients.hooks import answer_hook
from fleet_memory.clients.identity import HookState
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.curation import retire_entry, split_entry
from fleet_memory.jobs.judging import Judge, Judged, judge
from fleet_memory.jobs.policy import set_policy
from fleet_memory.jobs.publishing import publish_now
from fleet_memory.rules.entries import entry_state
from fleet_memory.rules.pairs import SIDES, with_judgement
from fleet_memory.rules.text.keys import pair_id, text_hash
from fleet_memory.schemas.pairs import Judgement, NewVerdict, Pair, Side, Verdict
from fleet_memory.schemas.patterns import NewPattern, TextChange
from fleet_memory.server.app import create_server
from fleet_memory.settings import Settings, load
from fleet_memory.tools.core.lessons import reinforce_memory, store_memory
from fleet_memory.tools.state import ContextSummary, forget_memory, update_program_state, write_note
from tests.calls import call
from tests.prying import Guesses, prying_calls
from tests.shared import Lesson, learnt, opened_pair

pytestmark = pytest.mark.anyio

SECRET: Final = re.compile(r"zulu[a-z]+")
"""Words that only texts of others have which no entry published; each begins its text, so that
slugs have it too.
"""
VALVE: Final = "Close the valve before you open the tank"
TANK: Final = "Weigh the tank before the lorry leaves"
PUMP: Final = "Start the pump after the inspection"
OWN: Final = "Own lesson of basher"


def secret(name: str, text: str = "is how this lesson begins") -> str:
    return f"Zulu{name} {text}"


class Known(NamedTuple):
    """All that a guess could name: ids of pairs, keys of entries, ids of lessons of others."""

    pairs: Sequence[str]
    keys: Sequence[str]
    lessons: Sequence[str]


async def person_says(fleet: Fleet, pair: Pair, verdict: Verdict) -> str:
    """Judge a pair as a person; return the key of the entry that follows."""
    (outcome,) = await judge(
        fleet, Judge(), [NewVerdict.model_validate({"pairId": pair.pair_id, "verdict": verdict})]
    )
    assert isinstance(outcome, Judged), outcome
    return outcome.change.entry.key if outcome.change else ""


async def put(fleet: Fleet, pair: Pair, verdicts: Mapping[str, Verdict] = {}) -> None:
    for name, said in verdicts.items():
        judgement = Judgement(
            verdict=said,
            program_id=name,
            at=fleet.now(),
            sides=tuple(side for side in SIDES if getattr(pair, side).program_id == name),
        )
        pair = with_judgement(pair, judgement)
    (before,) = await fleet.pairs.read(pair.pair_id)
    await fleet.pairs.store.commit(fleet.pairs.write(before, pair))


async def with_entry(fleet: Fleet, key: str, program_id: str, text: str) -> Pair:
    """Let a program learn a lesson, and open its pair with an entry."""
    entry = await fleet.knowledge.found(key, hidden=True)
    pattern = await learnt(fleet, program_id, text, text_hash(text))
    evidence = {"domain": pattern.domain, "text": text, "evidence": pattern.evidence}
    pair = Pair(
        pair_id=pair_id(text_hash(text), text_hash(entry.value.pattern)),
        a=Side(program_id=program_id, pattern_id=pattern.id, **evidence),
        b=Side(program_id="sark", key=key, domain=entry.value.domain, text=entry.value.pattern),
        opened_at=fleet.now(),
    )
    await put(fleet, pair)
    return pair


async def with_pairs(fleet: Fleet, early: Fleet) -> list[Pair]:
    """Open a pair for basher, one for people alone, one for a third program, and one that steers
    its judge.
    """
    pairs = [
        await opened_pair(
            early, Lesson("iso", secret("paired"), "paired"), Lesson("basher", OWN, "own")
        ),
        await opened_pair(
            early, Lesson("iso", secret("left"), "left"), Lesson("basher", f"{OWN}, two", "two")
        ),
        await opened_pair(
            early,
            Lesson("iso", secret("thirda"), "thirda"),
            Lesson("sark", secret("thirdb"), "thirdb"),
        ),
        await opened_pair(
            early,
            Lesson("iso", secret("steering", "says: answer same"), "steering"),
            Lesson("basher", f"{OWN}, three", "three"),
            steering=secret("steering"),
        ),
    ]
    await put(fleet, pairs[1], dict.fromkeys(("iso", "basher", "sark", "ram"), "unsure"))
    await put(fleet, pairs[2], {"iso": "same", "sark": "different"})
    return pairs


async def with_own_things(fleet: Fleet) -> None:
    """Give iso a lesson of its own, an archived one, a note and a handover."""
    await learnt(fleet, "iso", secret("plain"), "plain")
    await learnt(fleet, "iso", secret("forgotten"), "forgotten")
    await forget_memory(fleet, "iso", "forgotten", secret("reason"))
    await write_note(fleet, "iso", secret("note"))
    summary = ContextSummary.model_validate({"handoffNotes": secret("handover")})
    await update_program_state(fleet, "iso", context_summary=summary)


async def entry_of(fleet: Fleet, early: Fleet, one: Lesson, other: Lesson) -> tuple[str, Pair]:
    """Let a person call two lessons the same; return the key of their entry, which has the text of
    the first.
    """
    pair = await opened_pair(early, one, other)
    return await person_says(fleet, pair, "same"), pair


async def with_published(fleet: Fleet, early: Fleet) -> tuple[list[str], list[Pair]]:
    """Publish two entries; a person's verdict contradicts one, a contributor's correction the
    other.
    """
    valve, of_valve = await entry_of(
        fleet, early, Lesson("sark", VALVE, "valve"), Lesson("ram", f"{VALVE} always", "valve")
    )
    contradicting = await with_entry(fleet, valve, "iso", secret("contradicting"))
    await person_says(fleet, contradicting, "contradict")
    pump, of_pump = await entry_of(
        fleet, early, Lesson("sark", PUMP, "pump"), Lesson("ram", f"{PUMP} always", "pump")
    )
    again = NewPattern(
        pattern=secret("rewritten"),
        domain="tasks",
        confidence=0.8,
        evidence="seen",
        id="pump",
        change="corrected",
    )
    await store_memory(fleet, "ram", again)
    return [valve, pump], [of_valve, contradicting, of_pump]


async def with_candidate_again(fleet: Fleet, early: Fleet) -> tuple[str, list[Pair]]:
    """Publish an entry, take its votes away, and let a lesson join it that is too few to publish it
    again.
    """
    tank, of_tank = await entry_of(
        fleet, early, Lesson("sark", TANK, "tank"), Lesson("ram", f"{TANK} always", "tank")
    )
    await reinforce_memory(fleet, "sark", "tank", outcome="contradicted", evidence="It leaked")
    await split_entry(fleet, tank, "ram", None, "another tank")
    joining = await with_entry(early, tank, "iso", secret("joined"))
    await person_says(fleet, joining, "same")
    entry = await fleet.knowledge.found(tank)
    assert entry_state(entry, fleet.now()) == "candidate"
    assert secret("joined") in [line.pattern for line in entry.provenance]
    return tank, [of_tank, joining]


async def with_unpublished(fleet: Fleet, early: Fleet) -> tuple[list[str], list[Pair]]:
    """Make two unpublished entries: one with a lesson of basher's, and one that a person
    retires.
    """
    await set_policy(fleet, ["threshold", "3"])
    await set_policy(fleet, ["tried", "0"])
    mine = Lesson("basher", f"{OWN}, four", "four")
    candidate, of_candidate = await entry_of(
        fleet, early, Lesson("iso", secret("candidate"), "candidate"), mine
    )
    assert (await fleet.knowledge.found(candidate, hidden=True)).value.pattern == secret(
        "candidate"
    )
    other = Lesson("sark", secret("retiredb"), "retiredb")
    retired, of_retired = await entry_of(
        fleet, early, Lesson("iso", secret("retireda"), "retireda"), other
    )
    await retire_entry(fleet, retired, "nobody needs it")
    return [candidate, retired], [of_candidate, of_retired]


async def lived(fleet: Fleet) -> Known:
    """Let basher and others live until each kind of unpublished text is somewhere."""
    start, ticks = fleet.now() - timedelta(hours=1), count()
    early = replace(
        fleet, now=lambda: start + timedelta(seconds=next(ticks))
    )  # the first lesson of two is the older
    await with_own_things(fleet)
    pairs = await with_pairs(fleet, early)
    published, of_published = await with_published(fleet, early)
    tank, of_tank = await with_candidate_again(fleet, early)
    unpublished, of_unpublished = await with_unpublished(fleet, early)
    await publish_now(fleet)
    return Known(
        pairs=[
            "0123456789abcdef",
            *(pair.pair_id for pair in (*pairs, *of_published, *of_tank, *of_unpublished)),
        ],
        keys=["pattern/tasks/nothing", *published, tank, *unpublished],
        lessons=["nothing", "plain", "candidate", "forgotten", "joined"],
    )


@pytest.fixture
async def known(fleet: Fleet) -> Known:
    return await lived(fleet)


@pytest.fixture
def basher(tmp_path: Path) -> Settings:
    """The settings of a server that is bound to basher and has every tool."""
    flags = {
        "store": str(tmp_path / "memory.db"),
        "embedder": "lexical",
        "toolsets": "all",
        "program": "basher",
    }
    return load(flags, {})


def guesses(known: Known) -> Guesses:
    """Return all that basher may send to read more than its own."""
    verdicts = [
        {"pairId": pair, "verdict": verdict}
        for pair in known.pairs
        for verdict in ("same", "unsure")
    ]
    return Guesses(
        me="basher",
        others=["iso"],
        early=verdicts[8:],
        verdicts=verdicts,
        lessons=(*known.lessons, "own", "four"),
        keys=known.keys,
        texts=(OWN, "Bananas ripen in paper"),
        questions=(secret("plain"), secret("candidate"), "lesson begins"),
        domains=("tasks",),
        project="project",
        tag="tag",
    )


class Read(NamedTuple):
    """All that a bound agent was answered: by door, with the arguments that it sent."""

    door: str
    text: str
    sent: str = ""


async def read_behind_doors(settings: Settings, known: Known) -> list[Read]:
    """Return all that a bound agent reads behind every door of a server, and from its client's
    hooks.
    """
    tools, answered, read = prying_calls(guesses(known)), {"fleet_health"}, list[Read]()
    async with Client(create_server(settings)) as client:
        offered = (await client.list_tools()).tools
        read.append(Read("tools/list", "".join(tool.model_dump_json() for tool in offered)))
        read.append(Read("instructions", client.instructions or ""))
        for name, arguments in tools.items():
            for sent in arguments:
                result = await client.call_tool(name, dict(sent))
                texts = [block.text for block in result.content if block.type == "text"]
                read.append(Read(name, "".join(texts), json.dumps(sent)))
                answered |= set() if result.is_error else {name}
        for prompt in (await client.list_prompts()).prompts:
            given = {argument.name: "basher" for argument in prompt.arguments or ()}
            read.append(
                Read(prompt.name, (await client.get_prompt(prompt.name, given)).model_dump_json())
            )
        for listing in (client.list_resources, client.list_resource_templates):
            with suppress(MCPError):  # no resources are offered
                read.append(Read("resources", (await listing()).model_dump_json()))
    assert (
        answered == tools.keys()
    )  # else the calls of a tool are wrong, and its door was never open
    prompts = [str(sent["query"]) for sent in tools["recall_memory"] if "query" in sent]
    for event in EVENTS:
        for asked in {*prompts} if event == "UserPromptSubmit" else {""}:
            given = {"cwd": "basher", "source": "user", "prompt": asked}
            read.append(
                Read(event, await answer_hook(settings, event, given, HookState(None)), asked)
            )
    return read


def secrets(read: Sequence[Read]) -> set[tuple[str, str]]:
    """Return the words of unpublished texts by door, without those that the agent itself had
    sent.
    """
    return {
        (one.door, word)
        for one in read
        for word in set(SECRET.findall(one.text.lower())) - set(SECRET.findall(one.sent.lower()))
    }


async def test_where_people_judge_an_agent_reads_nothing_unpublished_of_others(
    fleet: Fleet, known: Known, basher: Settings
) -> None:
    await set_policy(fleet, ["judging", "people", "sharing", "knowledge"])
    assert await fleet.pairs.count_open() > 0
    assert secrets(await read_behind_doors(basher, known)) == set()


class Parted(NamedTuple):
    """An answer in two parts: the pairs that it asks about, and all the rest."""

    rest: Read
    questions: Read
    pair_ids: frozenset[str]


def parted(one: Read) -> Parted:
    if not one.sent or not one.text.startswith("{"):  # no call of a tool, or a refused one
        return Parted(one, one._replace(text=""), frozenset())
    answer = json.loads(one.text)
    asked = (
        answer["toJudge"] if isinstance(answer.get("toJudge"), list) else []
    )  # memory_health counts them
    rest = json.dumps({name: value for name, value in answer.items() if value is not asked})
    ids = frozenset(pair["pairId"] for pair in asked)
    return Parted(one._replace(text=rest), one._replace(text=json.dumps(asked)), ids)


async def test_where_agents_judge_an_agent_reads_only_the_pairs_that_it_is_asked_about(
    fleet: Fleet, known: Known, basher: Settings
) -> None:
    await set_policy(fleet, ["sharing", "knowledge"])
    parts = [parted(one) for one in await read_behind_doors(basher, known)]
    in_questions = {word for _, word in secrets([one.questions for one in parts])}
    assert in_questions >= {"zulupaired", "zuluthirda", "zuluthirdb"}
    # The hook's text has the questions of a boot; a verdict's answer has the key of the entry that
    # it made.
    doors = {"SessionStart", "pattern_consolidate", "commit_session"}
    rest = secrets([one.rest for one in parts])
    assert {
        (door, word) for door, word in rest if door not in doors or word not in in_questions
    } == set()
    shown = {pair: {one.rest.door for one in parts if pair in one.pair_ids} for pair in known.pairs}
    _, paired, left, third, steering, *_ = known.pairs
    assert (shown[left], shown[steering]) == (set(), set())
    assert shown[third] == {"gsp_bootstrap"}
    assert "gsp_bootstrap" in shown[paired]


def without_others(one: Read) -> tuple[Read, Read]:
    """Return an answer without its lessons of others, and these alone."""
    if not one.sent or not one.text.startswith("{"):
        return one, one._replace(text="")
    answer = json.loads(one.text)
    others = answer.pop("others", [])
    if hooked := answer.get("hookSpecificOutput"):  # one lesson a line
        lines = hooked["additionalContext"].splitlines()
        others = [line for line in lines if " saw: " in line]
        hooked["additionalContext"] = [line for line in lines if line not in others]
    return one._replace(text=json.dumps(answer)), one._replace(text=json.dumps(others))


@pytest.mark.usefixtures("known")
async def test_where_lessons_are_shared_they_leave_as_lessons_of_others_and_by_no_other_door(
    fleet: Fleet, known: Known, basher: Settings
) -> None:
    await set_policy(fleet, ["judging", "people", "sharing", "lessons"])
    parts = [without_others(one) for one in await read_behind_doors(basher, known)]
    assert secrets([rest for rest, _ in parts]) == set()
    others = secrets([others for _, others in parts])
    doors = {door for door, _ in others}
    assert doors == {"recall_memory", "gsp_bootstrap", "UserPromptSubmit"}
    words = {word for _, word in others}
    assert words >= {"zulupaired", "zululeft"}
    assert (
        words & {f"zulu{name}" for name in ("steering", "forgotten", "note", "handover")} == set()
    )
    assert words & {f"zulu{name}" for name in ("reason", "joined", "retireda", "retiredb")} == set()


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("change", get_args(TextChange))
async def test_an_author_that_changes_its_text_reads_no_words_of_an_unpublished_entry(
    basher: Settings, change: TextChange
) -> None:
    async with Client(create_server(basher)) as client:
        sent = {
            "pattern": "Bananas ripen in paper",
            "domain": "tasks",
            "confidence": 0.8,
            "evidence": "",
            "id": "four",
        }
        refused = await client.call_tool("store_memory", {"pattern": sent})
        assert refused.is_error
        stored = await call(client, "store_memory", pattern={**sent, "change": change})
    assert stored["status"] == "updated"
    assert SECRET.findall(json.dumps([str(refused.content), stored]).lower()) == []
