"""Work that agents share: its eight invariants, on every engine, and at once where they race."""

import json
import random
from collections.abc import Awaitable
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from string import Template
from typing import Any

import anyio
import pytest
from agents import Agent, agent, local_agent, opened
from billing import Bill, Billed
from fleets import NOW, fleet_on, learn
from kills import KILLS, kill_after, serving
from mcp import Client, MCPError
from web_agents import UNLIMITED, tokens_of, web_agent

from fleet_memory.demo import player
from fleet_memory.demo.player import Played
from fleet_memory.errors import CapacityExceededError, ForbiddenError, InvalidArgumentError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.erasing import Wanted, erase
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.schemas.programs import Caller
from fleet_memory.stores import Query, Store
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.work import WORK_TOOLS
from fleet_memory.tools.work.calls import Need, WorkAnswer, claim_work, hand_over, read_work
from fleet_memory.tools.work.documents import ARCHIVE, OUTPUTS, RECORDS, WorkStore
from fleet_memory.tools.work.rules import FlagSent, NextStep, WorkDecision, sha256_of
from tests.bounds import HANG_S
from tests.http_server import http_server
from tests.moving import bring, export_to

pytestmark = pytest.mark.anyio

JOB = "release-2.1"
JOB_LINES = Path(player.__file__).with_name("work.jsonl").read_text("utf-8").splitlines()
LIVE = "2026-03-07T12:00:00Z"


def at(fleet: Fleet, now: datetime) -> Fleet:
    return replace(fleet, now=lambda: now)


@pytest.fixture
def fleet(store: Store) -> Fleet:
    return replace(fleet_on(store), toolsets=(WORK_TOOLS,), served=("work",))


async def documents(fleet: Fleet) -> dict[str, dict[str, Any]]:
    """Return all documents of work, by collection and id."""
    names = [each.name for each in WORK_TOOLS.collections]
    return {
        name: {
            found.ref.id: found.fields
            for found in await fleet.store.find(Query(fleet.paths.collection(name)))
        }
        for name in names
    }


def flag(record: str, reason: str, *, withdraw: bool = False) -> FlagSent:
    sent = {"recordId": record, "reason": reason, "withdraw": withdraw or None}
    return FlagSent.model_validate(sent)


async def claimed(
    fleet: Fleet,
    program: str,
    work: str,
    **given: Any,  # noqa: ANN401 arguments of the tool
) -> dict[str, Any]:
    return (await claim_work(fleet, program, work, **{"session": JOB, **given})).wire()


async def done(
    fleet: Fleet,
    program: str,
    work: str,
    **given: Any,  # noqa: ANN401 arguments of the tool
) -> str:
    sent = {"summary": f"{program} did {work}", "session": JOB, **given}
    return (await hand_over(fleet, program, work, **sent)).record_id


# 1 and 6: a record is whole, and the order is total


async def test_a_record_is_read_as_it_was_handed_over(fleet: Fleet) -> None:
    plan = await done(fleet, "planner", "plan", kind="plan")
    id_ = await done(
        fleet,
        "iso",
        "build the api",
        kind="build",
        output="line\n" * 2_000 + "héllo 🚀",
        decisions=(WorkDecision(chosen="SQLite", rejected=("Redis",), why="No server"),),
        failed=("A lock file",),
        next=NextStep.model_validate({"text": "Review it", "programId": "sark"}),
        depends_on=(plan,),
        tags=("api",),
    )
    read = await read_work(fleet, session=JOB)
    assert [record.record_id for record in read.records] == [id_, plan]
    assert (read.total, [decision.wire() for decision in read.decisions]) == (
        2,
        [
            {
                "recordId": id_,
                "by": "iso",
                "decision": {"chosen": "SQLite", "rejected": ["Redis"], "why": "No server"},
            }
        ],
    )
    output, offset = "", 0
    while True:
        part = await read_work(fleet, record_id=id_, offset=offset, max_tokens=1_000)
        output += part.output or ""
        if part.next_offset is None:
            break
        offset = part.next_offset
    assert output == "line\n" * 2_000 + "héllo 🚀"


async def test_ids_ascend_from_new_to_old_whatever_the_clocks_say(fleet: Fleet) -> None:
    ids = [
        await done(at(fleet, NOW + timedelta(days=days)), "iso", f"work {number}")
        for number, days in enumerate((0, 3, -5, 1, 1, 400, 2))
    ]
    assert ids == sorted(ids, reverse=True)
    assert [record.record_id for record in (await read_work(fleet, session=JOB)).records] == ids[
        ::-1
    ]


# 2: what is required


async def test_what_is_required_is_satisfied_by_its_record_and_nothing_else(fleet: Fleet) -> None:
    needs = (Need(kind="build", program="iso"),)
    await done(fleet, "sark", "build", kind="build")
    await done(fleet, "iso", "build in another job", kind="build", session="other")
    await done(fleet, "iso", "half a build", kind="build", state="blocked")
    await claimed(fleet, "iso", "the build", kind="build")
    early = await read_work(fleet, session=JOB, requires=needs)
    assert early.satisfied is False
    assert [it.wire() for it in early.missing or ()] == [
        {"kind": "build", "program": "iso", "heldBy": ["iso"]}
    ]
    id_ = await done(fleet, "iso", "the build")  # of the claim's kind
    late = await read_work(fleet, session=JOB, requires=needs)
    assert (late.satisfied, late.missing, late.records[0].record_id) == (True, None, id_)
    await done(fleet, "iso", "oops", flags=(flag(id_, "no", withdraw=True),))
    assert (await read_work(fleet, session=JOB, requires=needs)).satisfied is False


async def test_a_reader_waits_for_what_it_requires_with_one_read_a_second(store: Store) -> None:
    billed = Billed(store)
    writer, reader = fleet_on(store), fleet_on(billed)
    needs = (Need(kind="build"),)
    answers = list[WorkAnswer]()

    async def wait() -> None:
        answers.append(await read_work(reader, session=JOB, requires=needs, wait_seconds=30))

    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            while billed.bill.reads < 3:  # it looked, found nothing, and looks again
                await anyio.lowlevel.checkpoint()
            assert answers == []
            id_ = await done(writer, "iso", "build", kind="build")
    assert (answers[0].satisfied, answers[0].records[0].record_id) == (True, id_)


async def test_a_wait_that_is_cancelled_or_over_leaves_nothing(fleet: Fleet) -> None:
    await claimed(fleet, "iso", "build")
    before = await documents(fleet)
    with anyio.move_on_after(0.2):
        await read_work(fleet, session=JOB, requires=(Need(kind="build"),), wait_seconds=30)
    over = await read_work(fleet, session=JOB, requires=(Need(kind="build"),), wait_seconds=1)
    assert (over.satisfied, await documents(fleet)) == (False, before)


# 3: claims


async def test_an_expired_claim_is_taken_over_and_the_late_record_is_kept(fleet: Fleet) -> None:
    first = await claimed(fleet, "iso", "build", hours=1)
    assert (await claimed(fleet, "sark", "build"))["held"]["by"] == "iso"
    later = at(fleet, NOW + timedelta(hours=2))
    second = await claimed(later, "sark", "build")
    assert second["claimed"]["claimId"] != first["claimed"]["claimId"]
    late = await hand_over(later, "iso", "build", "slow", JOB)
    assert (late.late, late.taken_over_by) == (True, "sark")
    assert (await claimed(later, "quorra", "build", session="x"))["held"]["by"] == "sark"
    third = at(fleet, NOW + timedelta(hours=3))
    taken = await done(third, "sark", "build")
    after = await hand_over(third, "iso", "build", "slower", claim_id=first["claimed"]["claimId"])
    assert (after.late, after.taken_over_by) == (True, "sark")
    assert [it.record_id for it in (await read_work(third, work="build")).records] == [
        after.record_id,
        taken,
        late.record_id,
    ]


async def test_without_a_session_the_claims_id_alone_ends_it(fleet: Fleet) -> None:
    held = await claimed(fleet, "iso", "build", session=None)
    beside = await hand_over(fleet, "iso", "build", "beside")
    assert beside.warnings == (
        "iso holds this work: this record stands beside that claim; send claimId if that is you",
    )
    await hand_over(fleet, "iso", "build", "done", claim_id=held["claimed"]["claimId"])
    assert (await WorkStore(fleet).board()).board.claims == {}


async def test_the_holder_renews_looks_and_releases(fleet: Fleet) -> None:
    first = await claimed(fleet, "iso", "build", paths=("src/auth",))
    again = await claimed(at(fleet, NOW + timedelta(hours=3)), "iso", "build", hours=4)
    assert again["claimed"]["claimId"] == first["claimed"]["claimId"]
    assert again["claimed"]["until"] == "2026-03-07T19:00:00Z"
    assert again["claimed"]["paths"] == ["src/auth"]
    assert (await claimed(fleet, "sark", "build", release=True))["held"]["by"] == "iso"
    assert (await claimed(fleet, "iso", "build", release=True)) == {"released": True}
    assert (await claimed(fleet, "iso", "build", release=True)) == {"released": False}
    assert (await claimed(fleet, "sark", "build", look=True)) == {"free": True}
    assert (await WorkStore(fleet).board()).board.claims == {}


# 4: duplicates and paths


async def test_done_work_of_the_session_is_not_done_again(store_address: str) -> None:
    async with local_agent(store_address, now=LIVE, embedder="lexical") as one:

        async def claim(program: str, work: str, session: str = JOB) -> dict[str, Any]:
            return await one.call("claim_work", programId=program, work=work, session=session)

        sent = {"programId": "iso", "session": JOB, "kind": "fix", "summary": "Fixed"}
        id_ = (await one.call("hand_over", work="fix  Café #7 ", **sent))["recordId"]
        again = await claim("sark", " fix Cafe\u0301\t#7")
        assert (again["done"]["recordId"], again["done"]["by"]) == (id_, "iso")
        other = await claim("sark", "fix Café #7", "other")
        assert [it["recordId"] for it in other["doneBefore"]] == [id_]
        assert "claimed" in await claim("sark", "Fix Café #7")
        flag = {"recordId": id_, "reason": "It leaks"}
        await one.call("hand_over", **{**sent, "programId": "sark"}, work="check", flags=[flag])
        await one.call(
            "claim_work", programId="sark", work="fix Café #7", session="other", release=True
        )
        redo = await claim("quorra", "fix Café #7")
        assert (redo["doneBefore"][0]["recordId"], "claimed" in redo) == (id_, True)


async def test_equal_inputs_of_a_kind_are_one_work(fleet: Fleet) -> None:
    one = await claim_work(fleet, "iso", kind="render", input={"b": 1.0, "a": [True, "é"]})
    two = await claim_work(fleet, "sark", kind="render", input={"a": [True, "é"], "b": 1})
    other = await claim_work(fleet, "sark", kind="render", input={"a": [1, "é"], "b": 1})
    assert one.work == two.work
    assert (two.held is not None, other.claimed is not None) == (True, True)
    await hand_over(
        fleet, "iso", one.work or "", "done", claim_id=one.claimed.claim_id if one.claimed else None
    )
    done_ = await claim_work(fleet, "sark", kind="render", input={"a": [True, "é"], "b": 1})
    assert done_.done is not None


async def test_claims_on_overlapping_paths_warn(fleet: Fleet) -> None:
    await claimed(fleet, "iso", "auth", paths=("src/auth", "notes/*.md"))
    warned = await claimed(fleet, "sark", "pages", paths=("notes/auth.md", "src/**/login.py"))
    assert [(it["by"], it["work"], it["paths"]) for it in warned["overlaps"]] == [
        ("iso", "auth", ["src/auth", "notes/*.md"])
    ]
    assert "overlaps" not in await claimed(fleet, "quorra", "tests", paths=("tests", "notes/a/b"))


# 5: what a record depends on


async def test_an_unknown_dependency_is_an_error_and_a_flagged_one_a_warning(fleet: Fleet) -> None:
    id_ = await done(fleet, "iso", "build")
    before = await documents(fleet)
    with pytest.raises(InvalidArgumentError, match=r"^dependsOn: there is no record 'nope'"):
        await done(fleet, "sark", "review", depends_on=(id_, "nope"))
    with pytest.raises(InvalidArgumentError, match=r"^flags: there is no record 'nope'"):
        await done(fleet, "sark", "review", flags=(flag("nope", "x"),))
    withdrawn = flag(id_, "x", withdraw=True)
    with pytest.raises(ForbiddenError, match="who alone may withdraw it"):
        await done(fleet, "sark", "review", flags=(withdrawn,))
    assert await documents(fleet) == before
    await done(fleet, "sark", "review", flags=(flag(id_, "No tests"),))
    built = await hand_over(fleet, "quorra", "deploy", "up", JOB, depends_on=(id_,))
    assert built.warnings == (f'{id_} is flagged by sark: "No tests"',)
    flagged = next(it for it in (await read_work(fleet, session=JOB)).records if it.flags)
    (why,) = (flagged.flags or {}).values()
    assert (why.by, why.reason) == ("sark", "No tests")


# 6: finding, and its bill


async def fill(fleet: Fleet, count: int) -> None:
    """Write so many records of three programs and ten sessions, as `hand_over` does."""
    id_ = await done(fleet, "iso", "first")
    (first,) = (await WorkStore(fleet).records([id_])).values()
    work, record = WorkStore(fleet), first.record
    for start in range(0, count, 100):
        writes = [
            write
            for n in range(start, min(start + 100, count))
            for write in work.record_writes(
                replace(
                    record,
                    record_id=f"{int(id_[:15], 16) + n + 1:015x}0000",
                    work=f"work {n}",
                    work_hash=f"{n:032x}",
                    session=f"s{n % 10}",
                    by=f"p{n % 3}",
                    tags=("rare",) if n % 700 == 0 else ("common",),
                ),
                None,
            )
        ]
        await fleet.store.commit(*writes)


async def bill_of(billed: Billed, call: Awaitable[object]) -> Bill:
    billed.bill = Bill()
    await call
    return billed.bill


@pytest.mark.parametrize("count", [1_000, pytest.param(10_000, marks=pytest.mark.kills)])
async def test_a_call_of_work_is_billed_alike_in_any_fleet(store: Store, count: int) -> None:
    billed = Billed(store)
    fleet = fleet_on(billed)
    await fill(fleet, count)
    plan = await done(fleet, "iso", "plan", kind="plan")
    bills = {
        "claim": await bill_of(billed, claim_work(fleet, "iso", "held", session=JOB)),
        "claim what another holds": await bill_of(
            billed, claim_work(fleet, "sark", "held", session=JOB)
        ),
        "claim what is done": await bill_of(billed, claim_work(fleet, "sark", "plan", session=JOB)),
        "hand work over": await bill_of(billed, hand_over(fleet, "iso", "held", "done", JOB)),
        "hand over an output, on two records, with a flag": await bill_of(
            billed,
            hand_over(
                fleet,
                "iso",
                "more",
                "done",
                JOB,
                output="text",
                depends_on=(plan,),
                flags=(flag(plan, "wrong"),),
            ),
        ),
        "read a session, 20 records": await bill_of(billed, read_work(fleet, session="s3")),
        "read a session by tag": await bill_of(
            billed, read_work(fleet, session="s0", tags=("rare",))
        ),
        "ask all sessions": await bill_of(billed, read_work(fleet, query="work")),
        "read a record's output": await bill_of(billed, read_work(fleet, record_id=plan)),
        "find what is missing": await bill_of(
            billed, read_work(fleet, session="s3", requires=(Need(kind="no"),), limit=1)
        ),
    }
    assert bills == {
        "claim": Bill(3, 1),
        "claim what another holds": Bill(1),
        "claim what is done": Bill(2),
        "hand work over": Bill(2, 2),
        "hand over an output, on two records, with a flag": Bill(3, 4),
        "read a session, 20 records": Bill(22),
        "read a session by tag": Bill(1 + min(count // 10, 500)),
        "ask all sessions": Bill(501),
        "read a record's output": Bill(1),
        "find what is missing": Bill(1 + 1 + 1 + 2),
    }


# 7 and 8: erasing, moving, keeping


async def test_an_erased_program_and_an_erased_text_are_found_nowhere(fleet: Fleet) -> None:
    id_ = await done(fleet, "iso", "build Elm Street", output="at Elm Street", tags=("elm street",))
    await done(fleet, "sark", "check", flags=(flag(id_, "Elm street?"),))
    await claimed(fleet, "sark", "paint elm street", paths=("a",))
    await claimed(fleet, "sark", "rest", paths=("elm street/a",), hours=0.1)
    overtaken = at(fleet, NOW + timedelta(hours=1))
    await claimed(overtaken, "quorra", "rest")
    assert (await erase(fleet, Wanted(text="elm street"))).left == ()
    left = str(await documents(fleet)).casefold()
    assert (
        "elm street" in left,
        "quorra" in left,
        (await read_work(fleet, session=JOB)).total,
    ) == (
        False,
        True,
        2,
    )
    assert "claimed" in await claimed(fleet, "quorra", "build Elm Street")
    assert (await erase(fleet, Wanted(program="sark"))).left == ()
    assert "sark" not in str(await documents(fleet))


async def test_records_and_claims_move_and_are_united(fleet: Fleet, tmp_path: Path) -> None:
    id_ = await done(fleet, "iso", "build", output="whole")
    await claimed(fleet, "iso", "test")
    await export_to(fleet, tmp_path / "moving.jsonl")
    there = replace(
        fleet_on(fleet.store, fleet_id="there"), toolsets=fleet.toolsets, served=fleet.served
    )
    await claimed(there, "sark", "deploy")
    await bring(there, tmp_path / "moving.jsonl")
    works = {it.work for it in (await read_work(there, session=JOB)).claims}
    assert works == {"deploy", "test"}
    assert (await read_work(there, record_id=id_)).output == "whole"
    await done(there, "sark", "check", flags=(flag(id_, "No"),))
    await export_to(there, tmp_path / "back.jsonl")
    await bring(fleet, tmp_path / "back.jsonl")
    assert [bool(it.flags) for it in (await read_work(fleet, work="build")).records] == [True]


async def test_maintenance_archives_old_records_and_forgets_old_claims(fleet: Fleet) -> None:
    id_ = await done(fleet, "iso", "build", output="whole")
    await claimed(fleet, "iso", "test", hours=1)
    later = at(fleet, NOW + timedelta(days=91))
    new = await done(later, "iso", "deploy")
    assert (await maintain_fleet(later, no_progress)).toolsets == {"work": 2}
    assert [it.record_id for it in (await read_work(later, session=JOB)).records] == [new]
    assert (await read_work(later, record_id=id_)).output == "whole"
    kept = await documents(later)
    assert (set(kept[RECORDS]), set(kept[ARCHIVE]), set(kept[OUTPUTS])) == ({new}, {id_}, {id_})
    assert (await WorkStore(later).board()).board.claims == {}


async def test_a_boot_says_what_a_program_holds_and_what_was_left_to_it(fleet: Fleet) -> None:
    id_ = await done(
        fleet,
        "iso",
        "build",
        next=NextStep.model_validate({"text": "Review it", "programId": "sark"}),
    )
    await claimed(fleet, "sark", "docs")
    boot = (await gsp_bootstrap(fleet, "sark")).toolsets or {}
    held, left = boot["work"]
    assert (held["work"], left["next"], left["recordId"]) == (
        "docs",
        {"text": "Review it", "programId": "sark"},
        id_,
    )
    await done(fleet, "sark", "review", depends_on=(id_,))
    assert len(((await gsp_bootstrap(fleet, "sark")).toolsets or {})["work"]) == 1


async def test_a_repeated_hand_over_is_one_record(fleet: Fleet) -> None:
    first = await done(fleet, "iso", "build", output="whole")
    assert (
        await done(at(fleet, NOW + timedelta(minutes=1)), "iso", "build", output="whole") == first
    )
    assert await done(fleet, "iso", "build", output="other") != first


async def test_only_the_program_itself_claims_and_hands_over(fleet: Fleet) -> None:
    bound = replace(fleet, caller=Caller("iso"))
    with pytest.raises(ForbiddenError):
        await claimed(bound, "sark", "build")
    with pytest.raises(ForbiddenError):
        await done(bound, "sark", "build")
    assert await documents(fleet) == {each.name: {} for each in WORK_TOOLS.collections}


async def test_lessons_of_who_works_on_a_job_are_of_its_session(fleet: Fleet) -> None:
    await claimed(fleet, "iso", "build")
    await read_work(fleet, "sark", JOB)
    for program in ("iso", "sark", "quorra"):
        await learn(fleet, program, "x")
    sessions = {
        program: next(iter((await fleet.programs.read(program)).patterns.values())).session_id
        for program in ("iso", "sark", "quorra")
    }
    assert sessions == {"iso": JOB, "sark": JOB, "quorra": None}


async def test_beyond_500_live_claims_a_claim_is_refused(fleet: Fleet) -> None:
    await claimed(fleet, "iso", "old", hours=1)
    (claim,) = (await WorkStore(fleet).board()).board.claims.values()
    stored = await WorkStore(fleet).board()
    many = {
        f"{n:032x}": replace(claim, claim_id=f"c{n}", until=NOW + timedelta(hours=9))
        for n in range(499)
    }
    await WorkStore(fleet).commit(
        WorkStore(fleet).board_writes(
            stored, stored.board._replace(claims={**stored.board.claims, **many})
        )
    )
    later = at(fleet, NOW + timedelta(hours=2))
    assert "claimed" in await claimed(later, "sark", "new")  # in place of the expired one
    with pytest.raises(CapacityExceededError, match="at most 500, have no room"):
        await claimed(later, "sark", "newer")


# At once, in processes of their own


async def claim_as(store: str, program: str, won: list[str]) -> None:
    async with agent(store, now=LIVE, program=program, embedder="lexical") as one:
        answer = await one.call("claim_work", programId=program, work="build", session=JOB)
        won += [program] if "claimed" in answer else []
        assert "claimed" in answer or answer["held"]["session"] == JOB


@pytest.mark.kills
async def test_the_demos_job_is_done_by_five_processes_while_the_reviewer_waits(
    store_address: str,
) -> None:
    lines = [json.loads(line) for line in JOB_LINES]
    calls, records, unmet = (
        [line for line in lines if "tool" in line],
        dict[str, str](),
        list[str](),
    )
    waiting = next(call for call in calls if "waitSeconds" in call["arguments"])
    waiting["arguments"]["waitSeconds"] = 30
    first_end = next(call for call in calls if call.get("as") == "api")
    agents, answered = dict[str, Agent](), anyio.Event()

    async def made(call: dict[str, Any]) -> None:
        text = Template(json.dumps(call["arguments"])).safe_substitute(records)
        answer = await agents[call["program"]].call(call["tool"], **json.loads(text))
        if "as" in call:
            records[call["as"]] = answer["recordId"]
        if call is waiting:
            assert {"api", "form"} <= records.keys()
            answered.set()
        unmet.extend(Played(call, {}, answer, ()).unmet())

    async with AsyncExitStack() as stack:
        for name in {call["program"] for call in calls}:
            one = agent(store_address, now=LIVE, program=name, embedder="lexical")
            agents[name] = await stack.enter_async_context(one)
        async with anyio.create_task_group() as tasks:
            for call in calls:
                if call is first_end:
                    tasks.start_soon(made, waiting)
                if call is waiting:
                    await answered.wait()
                else:
                    await made(call)
    assert unmet == []


@pytest.mark.kills
async def test_of_twenty_processes_one_claims(store_address: str) -> None:
    won = list[str]()
    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(claim_as, store_address, f"agent-{number}", won)
    async with local_agent(store_address, now=LIVE) as one:
        read = await one.call("read_work", session=JOB)
    assert [claim["by"] for claim in read["claims"]] == won
    assert len(won) == 1


@pytest.mark.kills
async def test_of_twenty_agents_over_http_one_claims(store_address: str) -> None:
    names = [f"agent-{number}" for number in range(20)]
    tokens = await tokens_of(store_address, names)
    environment = {"FLEET_MEMORY_EMBEDDER": "lexical", "FLEET_MEMORY_TOOLSETS": "core,work"}
    won = list[str]()
    with http_server(store_address, env=environment | UNLIMITED) as server:

        async def claim(name: str, token: str) -> None:
            async with web_agent(server.url, token) as one:
                answer = await one.call("claim_work", work="build", session=JOB)
                won.extend([name] if "claimed" in answer else [])

        async with anyio.create_task_group() as tasks:
            for name, token in zip(names, tokens, strict=True):
                tasks.start_soon(claim, name, token)
    assert len(won) == 1


@pytest.mark.kills
async def test_a_writer_that_is_killed_leaves_a_whole_record_or_none(
    store_address: str, tmp_path: Path
) -> None:
    """Records of two parts that say the same; readers in a loop never see one without the other."""
    whole, seen, stop = "x" * 50_000, set[str](), anyio.Event()
    settings = {
        "FLEET_MEMORY_STORE": store_address,
        "FLEET_MEMORY_TOOLSETS": "work",
        "FLEET_MEMORY_EMBEDDER": "lexical",
    }
    digest = sha256_of(whole)

    async def write(number: int) -> None:
        pid = tmp_path / f"pid-{number}"
        command = serving(settings, pid)
        with suppress(MCPError, BaseExceptionGroup):
            async with Client(command) as one, anyio.create_task_group() as tasks:
                for step in range(1_000):
                    if step == 2:
                        tasks.start_soon(kill_after, pid, random.uniform(0, 0.2))  # noqa: S311 the moment of a kill
                    await one.call_tool(
                        "hand_over",
                        {
                            "programId": f"w{number}",
                            "work": f"{number}.{step}",
                            "summary": digest,
                            "output": whole,
                            "session": JOB,
                        },
                    )

    async def read() -> None:
        async with local_agent(store_address, now=LIVE, embedder="lexical") as one:
            while not stop.is_set():
                for record in (await one.call("read_work", session=JOB, limit=3))["records"]:
                    seen.add(record["recordId"])
                    assert (record["summary"], record["sha256"], record["bytes"]) == (
                        digest,
                        digest,
                        50_000,
                    )
                    part = await one.call(
                        "read_work", recordId=record["recordId"], maxTokens=20_000
                    )
                    assert part["output"] == whole

    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            for number in range(KILLS):
                await write(number)
            stop.set()
    async with opened(store_address) as store:
        kept = await documents(replace(fleet_on(store), toolsets=(WORK_TOOLS,)))
    assert set(kept[RECORDS]) == set(kept[OUTPUTS]) >= seen
    assert seen
