"""The journal on every engine: whole batches without a gap, distillates that race, what a purge
leaves, and the bill.
"""

import operator
import random
import sqlite3
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from agents import agent, local_agent, opened
from billing import Bill, Billed
from fleets import NOW, fleet_on, learn
from kills import KILLS, kill_after, serving
from mcp import Client, MCPError
from pydantic import ValidationError

from fleet_memory.errors import (
    ConflictError,
    ForbiddenError,
    InvalidArgumentError,
    UnknownNameError,
)
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.deletion import delete_program
from fleet_memory.jobs.erasing import Wanted, erase
from fleet_memory.schemas.programs import Caller
from fleet_memory.stores import Query, Store
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.health import memory_health
from fleet_memory.tools.journal import JOURNAL_TOOLS
from fleet_memory.tools.journal.calls import (
    LookBackAnswer,
    NewEvent,
    journal_append,
    journal_distill,
    look_back,
)
from fleet_memory.tools.journal.documents import Journals
from tests.bounds import HANG_S
from tests.moving import bring, export_to

pytestmark = pytest.mark.anyio

APPENDS = 10  # of each of ten processes
LIVE = "2026-03-07T12:00:00Z"
TOKEN = "gh" + "p_" + "16C7e42F292c6912E7710c838347Ae178B4a"


@pytest.fixture
def fleet(store: Store) -> Fleet:
    return replace(fleet_on(store), toolsets=(JOURNAL_TOOLS,), served=("core", "journal"))


def event(content: str, group: str | None = None, **given: Any) -> NewEvent:  # noqa: ANN401 fields of an event
    sent = {"kind": "user", "content": content, "groupId": group, **given}
    return NewEvent.model_validate(sent)


async def filled(fleet: Fleet, count: int, program: str = "basher", length: int = 300) -> None:
    """Append so many events, e.g. "event 7 ……"."""
    (journal,) = [(await Journals(fleet).read(program)).journal]
    for first in range(journal.head + 1, journal.head + count + 1, 200):
        last = min(first + 199, journal.head + count)
        events = [event(f"event {seq} {'x' * length}") for seq in range(first, last + 1)]
        await journal_append(fleet, program, tuple(events))


async def verbatim(fleet: Fleet, program: str = "basher") -> list[str]:
    """Return what every event of a journal says, by seq."""
    journals = Journals(fleet)
    journal = (await journals.read(program)).journal
    events = await journals.events(journal, range(len(journal.pages)))
    assert [*sorted(events)] == [*range(1, journal.head + 1)]
    return [events[seq].content for seq in sorted(events)]


def seqs_of(answer: LookBackAnswer) -> list[object]:
    return [item.get("seq", item.get("distillateId", "omitted")) for item in answer.items or ()]


# Appending


async def test_a_batch_is_appended_whole_and_in_order_and_once_by_its_request(fleet: Fleet) -> None:
    first = await journal_append(fleet, "basher", (event("one"), event("two")), "s", "r1")
    again = await journal_append(fleet, "basher", (event("one"), event("two")), "s", "r1")
    third = await journal_append(fleet, "basher", (event("three"),), "s", "r2")
    late = await journal_append(fleet, "basher", (event("one"), event("two")), "s", "r1")
    seqs = [
        (it.first_seq, it.last_seq, it.head, it.duplicate) for it in (first, again, third, late)
    ]
    assert seqs == [(1, 2, 2, None), (1, 2, 2, True), (3, 3, 3, None), (1, 2, 3, True)]
    view = await look_back(fleet, "basher")
    assert view.items == (
        {"seq": 1, "kind": "user", "content": "one", "at": LIVE, "sessionId": "s"},
        {"seq": 2, "kind": "user", "content": "two", "at": LIVE, "sessionId": "s"},
        {"seq": 3, "kind": "user", "content": "three", "at": LIVE, "sessionId": "s"},
    )


async def test_a_clock_that_went_back_changes_no_order(fleet: Fleet) -> None:
    for number, days in enumerate((0, 3, -5, 1)):
        now = partial(operator.add, NOW, timedelta(days=days))
        await journal_append(replace(fleet, now=now), "basher", (event(f"e{number}"),))
    old = event("told", occurredAt="2020-01-01T00:00:00Z")
    await journal_append(fleet, "basher", (old,))
    assert await verbatim(fleet) == ["e0", "e1", "e2", "e3", "told"]


async def test_what_is_too_large_is_refused_with_its_numbers_and_nothing_is_written(
    fleet: Fleet,
) -> None:
    whole = "é" * 32_768
    with pytest.raises(InvalidArgumentError) as refusal:
        await journal_append(fleet, "basher", (event("fine"), event(f"{whole}x")))
    assert "content_too_large{limit: 65536, actual: 65537, index: 1}" in str(refusal.value)
    with pytest.raises(InvalidArgumentError) as refusal:
        await journal_append(fleet, "basher", (event(whole),) * 8)
    assert "content_too_large{limit: 500000, actual: 524288, index: 7}" in str(refusal.value)
    assert await verbatim(fleet) == []
    await journal_append(fleet, "basher", (event(whole),) * 7)
    await journal_append(fleet, "basher", (event(whole),) * 7)
    assert await verbatim(fleet) == [whole] * 14
    part = await look_back(fleet, "basher", seq=3)
    assert (part.items or ())[0]["ofTokens"] == 16_384
    (item,) = (await look_back(fleet, "basher", seq=3, budget_tokens=30_000)).items or ()
    assert item["content"] == whole


@pytest.mark.parametrize(
    ("events", "complaint"),
    [
        ([{"kind": "user", "content": "a\0"}], "no NUL"),
        ([{"kind": "shout", "content": "a"}], "kind"),
        ([{"kind": "user", "content": "a"}] * 201, "200"),
        ([], "events"),
    ],
    ids=["NUL", "a kind", "201", "none"],
)
async def test_what_is_no_text_and_201_events_are_refused(
    tmp_path: Path, events: list[object], complaint: str
) -> None:
    async with local_agent(str(tmp_path / "m.db"), now=LIVE, embedder="lexical") as one:
        arguments = {"programId": "basher", "events": events}
        assert complaint in await one.refused("journal_append", **arguments)
        assert (await one.call("look_back", programId="basher"))["head"] == 0


def test_half_characters_are_no_text() -> None:
    with pytest.raises(ValidationError, match="half characters"):
        event("a\ud800")


async def test_credentials_are_masked_before_storing_and_their_rules_are_named(
    store_address: str,
) -> None:
    async with local_agent(store_address, now=LIVE, embedder="lexical") as one:
        sent = {"kind": "tool_result", "content": f"token {TOKEN}, and {TOKEN}"}
        answer = await one.call("journal_append", programId="basher", events=[sent])
        assert answer["masked"] == ["github-pat"]
        (item,) = (await one.call("look_back", programId="basher"))["items"]
        assert item["content"] == "token [github-pat], and [github-pat]"
        filler = [{"kind": "note", "content": "x"}] * 20
        await one.call("journal_append", programId="basher", events=filler)
        made = await one.call(
            "journal_distill",
            programId="basher",
            startSeq=1,
            endSeq=2,
            narrative=f"Used {TOKEN}",
            facts=[f"It is {TOKEN}"],
        )
        assert made["masked"] == ["github-pat"]
        refused = await one.refused(
            "journal_append", programId="basher", events=filler, sessionId=TOKEN
        )
        assert "sessionId" in refused
    async with opened(store_address) as store:
        assert TOKEN not in str(
            [
                await store.find(Query(f"fleets/default/{name}"))
                for name in ("journals", "journalEvents", "journalDistillates")
            ]
        )


# Distilling


async def test_originals_stay_and_what_stands_for_them_is_opened(fleet: Fleet) -> None:
    await filled(fleet, 60, length=40)
    before = await verbatim(fleet)
    made = await journal_distill(fleet, "basher", 1, 20, "Began", ("Port 8123",))
    again = await journal_distill(fleet, "basher", 1, 20, "Began", ("Port 8123",), 0)
    assert (made.distillate_id, made.level, made.revision, made.duplicate) == ("d1-20", 1, 1, None)
    assert (again.distillate_id, again.revision, again.duplicate) == ("d1-20", 1, True)
    await journal_distill(fleet, "basher", 31, 40, "Went on")
    outer = await journal_distill(fleet, "basher", 1, 40, "Began and went on")
    assert (outer.level, await verbatim(fleet)) == (2, before)
    view = await look_back(fleet, "basher", budget_tokens=1_000)
    assert seqs_of(view)[-1] == 60
    assert seqs_of(await look_back(fleet, "basher", distillate_id="d1-40")) == [
        "d1-20",
        *range(21, 31),
        "d31-40",
    ]
    assert seqs_of(await look_back(fleet, "basher", distillate_id="d1-20")) == [*range(1, 21)]
    beside = await look_back(fleet, "basher", seq=5, before=1, after=2)
    assert (seqs_of(beside), beside.covered_by) == ([5, 4, 6, 7], "d1-40")
    with pytest.raises(UnknownNameError, match="the newest roots are d1-40"):
        await look_back(fleet, "basher", distillate_id="d1-30")
    with pytest.raises(UnknownNameError, match="events 1 to 60"):
        await look_back(fleet, "basher", seq=61)


async def test_a_moved_revision_is_a_conflict_and_writes_nothing(fleet: Fleet) -> None:
    await filled(fleet, 60)
    await journal_distill(fleet, "basher", 1, 20, "Began", (), 0)
    with pytest.raises(ConflictError, match=r"conflict\{current: 1\}"):
        await journal_distill(fleet, "basher", 21, 40, "Went on", (), 0)
    assert (await Journals(fleet).read("basher")).journal.revision == 1


async def test_what_is_due_is_distilled_until_nothing_is(fleet: Fleet) -> None:
    await filled(fleet, 400)
    calls = 0
    while (offered := await look_back(fleet, "basher", due=True)).segment:
        part = offered.segment
        assert part.content
        await journal_distill(
            fleet, "basher", part.start_seq, part.end_seq, f"Part {calls}", (), offered.revision
        )
        calls += 1
    assert (offered.due, offered.segment) == (False, None)
    view = await look_back(fleet, "basher", budget_tokens=20_000)
    assert (view.items or ())[0].get("omitted") is None
    small = await look_back(fleet, "basher", budget_tokens=200)
    assert (small.tokens <= 200, small.due) == (True, False)


async def test_a_program_that_never_distils_is_told_so(fleet: Fleet) -> None:
    await filled(fleet, 100)
    view = await look_back(fleet, "basher", budget_tokens=1_000)
    assert "omitted" in (view.items or ())[0]
    assert view.note == "Distil what is left out: look_back with due."
    boot = (await gsp_bootstrap(fleet, "basher", depth="full")).toolsets or {}
    lines = [str(it["text"]) for it in boot["journal"]]
    assert lines[0].startswith("100 user: event 100 ")
    assert lines[-1].startswith("Older events are left out: look_back")
    assert sum(map(len, lines)) < 6_000
    assert "journal" not in ((await gsp_bootstrap(fleet, "basher")).toolsets or {})
    health = (await memory_health(fleet, "basher")).wire()
    assert health["toolsets"] == {
        "journal": {
            "events": 100,
            "distillates": 0,
            "rawTokens": 7_791,
            "viewTokens": 7_791,
            "due": False,
        }
    }


async def test_only_the_program_itself_appends_and_reads(fleet: Fleet) -> None:
    await filled(fleet, 20)
    bound = replace(fleet, caller=Caller("iso"))
    with pytest.raises(ForbiddenError):
        await journal_append(bound, "basher", (event("x"),))
    with pytest.raises(ForbiddenError):
        await journal_distill(bound, "basher", 1, 5, "x")
    with pytest.raises(ForbiddenError):
        await look_back(bound, "basher")


# Finding


@pytest.fixture(params=["file", "memory"])
def finding(request: pytest.FixtureRequest, fleet: Fleet, tmp_path: Path) -> Fleet:
    scratch = tmp_path / "words.scratch" if request.param == "file" else None
    return replace(fleet, scratch=scratch)


async def test_words_are_found_in_events_narratives_and_facts(finding: Fleet) -> None:
    fleet = finding
    contents = [f"step {number}" for number in range(40)]
    contents[3] = "We chose Postgres because the Straße-Daten need joins"
    contents[30] = "restart with `systemctl restart billing@7.service`"
    await journal_append(fleet, "basher", tuple(map(event, contents)))
    await journal_distill(fleet, "basher", 1, 10, "Postgres was chosen", ("The port is 8123",))

    async def found(query: str, **given: Any) -> list[object]:  # noqa: ANN401 arguments of the tool
        answer = await look_back(fleet, "basher", query=query, **given)
        return [it.get("seq", it.get("distillateId")) for it in answer.hits or ()]

    assert sorted(map(str, await found("postgres"))) == ["4", "d1-10"]
    assert await found("port 8123?") == ["d1-10"]
    assert await found("STRASSE straße") == [4]
    assert (await found("billing@7.service"))[0] == 31
    assert await found("postgres", limit=1, until=NOW - timedelta(days=1)) == []
    assert await found("nothing of that kind") == []
    for query in ('"', "a OR", "NEAR(", "*", "-x", "step:", "'; drop table words", "_"):
        if any(char.isalnum() or char == "_" for char in query):
            await found(query)
        else:
            with pytest.raises(InvalidArgumentError, match="query"):
                await found(query)
    (hit, *_) = (await look_back(fleet, "basher", query="joins")).hits or ()
    assert (hit["seq"], hit["coveredBy"], hit["content"]) == (4, "d1-10", contents[3])
    await journal_append(fleet, "basher", (event("Postgres moved"),))
    assert 41 in await found("postgres")


async def test_without_a_file_the_newest_5000_are_searched_and_that_is_said(fleet: Fleet) -> None:
    await filled(fleet, 4, length=1)
    await filled(fleet, 5_000, length=1)
    answer = await look_back(fleet, "basher", query="event", limit=100)
    assert len(answer.hits or ()) == 100
    assert answer.note == "Only the newest 5,000 events and the roots were searched."
    assert (await look_back(fleet, "basher", query="5004")).hits


async def test_a_file_that_knows_more_than_the_store_shows_nothing_of_it(
    fleet: Fleet, tmp_path: Path
) -> None:
    fleet = replace(fleet, scratch=tmp_path / "s")
    await filled(fleet, 30, length=1)
    await look_back(fleet, "basher", query="event")
    journal = (await Journals(fleet).read("basher")).journal
    with sqlite3.connect(tmp_path / "s") as db:
        db.execute(
            "insert into places values (901, ?, '', 99), (902, ?, 'd1-9', 1)",
            (journal.id, journal.id),
        )
        db.execute("insert into words(rowid, text) values (901, 'ghost'), (902, 'ghost')")
    assert (await look_back(fleet, "basher", query="ghost")).hits == ()


# Erasing and moving


async def test_an_erased_text_is_in_no_document_and_in_no_index(
    fleet: Fleet, tmp_path: Path
) -> None:
    scratch = tmp_path / "s"
    fleet = replace(fleet, scratch=scratch)
    await journal_append(
        fleet,
        "basher",
        tuple(event(f"user {n} lives in Elmstreet{n}", "elmstreet7") for n in range(3)),
    )
    await filled(fleet, 40)
    await journal_distill(fleet, "basher", 1, 20, "Of Elmstreet1", ("Elmstreet2 it is",))
    assert (await look_back(fleet, "basher", query="elmstreet1")).hits
    assert b"elmstreet" in scratch.read_bytes()
    (scratch.with_name("s-journal")).write_bytes(b"elmstreet")
    assert (await erase(fleet, Wanted(text="elmstreet"))).left == ()
    assert [it.name async for it in anyio.Path(tmp_path).glob("s*")] == []
    assert (
        "elmstreet"
        not in str(
            [
                await fleet.store.find(Query(fleet.paths.collection(each.name)))
                for each in JOURNAL_TOOLS.collections
            ]
        ).casefold()
    )
    assert (await verbatim(fleet))[:4] == ["(erased)"] * 3 + [f"event 4 {'x' * 300}"]
    assert (await look_back(fleet, "basher", query="elmstreet1 elmstreet2")).hits == ()
    assert b"elmstreet" not in scratch.read_bytes()
    opened_root = await look_back(fleet, "basher", distillate_id="d1-20")
    assert (opened_root.items or ())[0] == {
        "seq": 1,
        "kind": "user",
        "content": "(erased)",
        "at": LIVE,
        "groupId": "(erased)",
    }


async def test_an_erasure_leaves_kinds_times_and_ids_readable(fleet: Fleet) -> None:
    await filled(fleet, 30)
    await journal_distill(fleet, "basher", 1, 20, "Told")
    journal = (await Journals(fleet).read("basher")).journal
    for text in ("user", "2026", journal.id):
        assert (await erase(fleet, Wanted(text=text))).left == ()
        assert (await look_back(fleet, "basher")).head == 30


@pytest.mark.parametrize("way", ["purge", "forget"])
async def test_an_erased_programs_journal_is_gone(fleet: Fleet, tmp_path: Path, way: str) -> None:
    fleet = replace(fleet, scratch=tmp_path / "s")
    await filled(fleet, 30)
    await filled(fleet, 30, "iso")
    await learn(fleet, "basher", "x")
    await journal_distill(fleet, "basher", 1, 20, "Told")
    await look_back(fleet, "basher", query="event")
    if way == "purge":
        await erase(fleet, Wanted(program="basher"))
    else:
        await delete_program(fleet, "basher")
    assert not (tmp_path / "s").exists()
    left = [
        document.fields["programId"]
        for each in JOURNAL_TOOLS.collections
        for document in await fleet.store.find(Query(fleet.paths.collection(each.name)))
    ]
    assert {*left} == {"iso"}
    assert ((await look_back(fleet, "basher")).head, (await look_back(fleet, "iso")).head) == (
        0,
        30,
    )


async def test_a_journal_moves_whole_and_the_longer_of_two_copies_stays(
    fleet: Fleet, tmp_path: Path
) -> None:
    await filled(fleet, 280)
    await journal_distill(fleet, "basher", 1, 40, "Told", ("A fact",))
    await export_to(fleet, tmp_path / "short.jsonl")
    there = replace(fleet_on(fleet.store, fleet_id="there"), toolsets=fleet.toolsets)
    await bring(there, tmp_path / "short.jsonl")
    assert await verbatim(there) == await verbatim(fleet)
    await filled(there, 5)
    await journal_distill(there, "basher", 41, 80, "More")
    await export_to(there, tmp_path / "long.jsonl")
    await bring(fleet, tmp_path / "long.jsonl")
    await bring(fleet, tmp_path / "short.jsonl")
    assert await verbatim(fleet) == await verbatim(there)
    whole = await look_back(fleet, "basher", budget_tokens=100_000)
    assert whole == await look_back(there, "basher", budget_tokens=100_000)


# The bill


async def bill_of(billed: Billed, call: Any) -> tuple[Bill, Any]:  # noqa: ANN401 an answer
    before = billed.bill
    answer = await call
    after = billed.bill
    return Bill(*(b - a for a, b in zip(before, after, strict=True))), answer


@pytest.mark.parametrize("count", [1_000, 10_000])
async def test_a_call_reads_as_few_documents_of_a_long_journal(tmp_path: Path, count: int) -> None:
    async with opened(str(tmp_path / "m.db")) as store:
        billed = Billed(store)
        fleet = replace(fleet_on(billed), toolsets=(JOURNAL_TOOLS,), scratch=tmp_path / "s")
        await filled(fleet, count)
        while (offered := await look_back(fleet, "basher", due=True)).segment:
            part = offered.segment
            await journal_distill(fleet, "basher", part.start_seq, part.end_seq, "Told " * 20)
        await filled(fleet, 160)
        bills = {
            "append": await bill_of(billed, journal_append(fleet, "basher", (event("x"),))),
            "view": await bill_of(billed, look_back(fleet, "basher")),
            "event": await bill_of(billed, look_back(fleet, "basher", seq=count // 2)),
            "due": await bill_of(billed, look_back(fleet, "basher", due=True)),
        }
        assert bills["due"][1].segment
        part = bills["due"][1].segment
        bills["distil"] = await bill_of(
            billed, journal_distill(fleet, "basher", part.start_seq, part.end_seq, "Told")
        )
        await look_back(fleet, "basher", query="event")
        bills["search"] = await bill_of(billed, look_back(fleet, "basher", query=f"{count}"))
    counted = {name: bill for name, (bill, _) in bills.items()}
    # a segment, with the events that its groups may reach, lies in one document of events or in two
    assert counted.pop("due") in (Bill(2), Bill(3))
    assert counted.pop("distil") in (Bill(3, 2), Bill(4, 2))
    assert counted == {
        "append": Bill(2, 2),
        "view": Bill(2),
        "event": Bill(2),
        "search": Bill(2),
    }


async def test_an_append_to_a_full_document_writes_about_what_it_appends(tmp_path: Path) -> None:
    file = tmp_path / "m.db"
    async with opened(str(file)) as store:
        fleet = replace(fleet_on(store), toolsets=(JOURNAL_TOOLS,))
        await filled(fleet, 200)
        await store.scrub()  # ends the log
        log = file.with_name("m.db-wal")
        before = log.stat().st_size if log.exists() else 0
        await journal_append(fleet, "basher", (event("x" * 300),))
        assert log.stat().st_size - before < 64_000


# At once, in processes of their own


async def append_as(store: str, number: int, answers: list[dict[str, Any]]) -> None:
    async with agent(store, now=LIVE, embedder="lexical") as one:
        for step in range(APPENDS):
            text = f"{number}.{step}"
            sent = {"programId": "basher", "events": [{"kind": "note", "content": text}]}
            sent["requestId"] = text
            while (result := await one.client.call_tool("journal_append", sent)).is_error:
                assert "(retryable)" in str(result.content)  # ten write one document
            answers.append(result.structured_content or {})


@pytest.mark.kills
async def test_ten_processes_append_without_a_gap(store_address: str) -> None:
    answers = list[Any]()
    async with anyio.create_task_group() as tasks:
        for number in range(10):
            tasks.start_soon(append_as, store_address, number, answers)
    async with opened(store_address) as store:
        contents = await verbatim(replace(fleet_on(store), toolsets=(JOURNAL_TOOLS,)))
    assert sorted(it["firstSeq"] for it in answers) == [*range(1, len(answers) + 1)]
    assert sorted(contents) == sorted(f"{a}.{b}" for a in range(10) for b in range(APPENDS))
    for number in range(10):
        own = [it for it in contents if it.startswith(f"{number}.")]
        assert own == [f"{number}.{step}" for step in range(APPENDS)]


async def distil_as(store: str, answers: list[dict[str, Any]]) -> None:
    async with agent(store, now=LIVE, embedder="lexical") as one:
        for number in range(20):
            wanted = {"startSeq": number * 5 + 1, "endSeq": number * 5 + 5}
            told = {"programId": "basher", "narrative": f"Part {number}"}
            answers += [await one.call("journal_distill", **told, **wanted)]


@pytest.mark.kills
async def test_of_ten_processes_that_distil_the_same_each_range_is_distilled_once(
    store_address: str,
) -> None:
    async with opened(store_address) as store:
        await filled(fleet_on(store), 120)
    answers = list[dict[str, Any]]()
    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(distil_as, store_address, answers)
    async with opened(store_address) as store:
        journal = (await Journals(fleet_on(store)).read("basher")).journal
    assert (len(journal.roots), journal.revision) == (20, 20)
    assert (len(answers), sum("duplicate" not in it for it in answers)) == (200, 20)


@pytest.mark.kills
async def test_a_killed_writer_leaves_no_gap_and_no_half_distillate(
    store_address: str, tmp_path: Path
) -> None:
    settings = {
        "FLEET_MEMORY_STORE": store_address,
        "FLEET_MEMORY_TOOLSETS": "journal",
        "FLEET_MEMORY_EMBEDDER": "lexical",
    }
    acknowledged, distilled = dict[int, str](), set[str]()

    async def write(number: int) -> None:
        pid = tmp_path / f"pid-{number}"
        command = serving(settings, pid)
        with suppress(MCPError, BaseExceptionGroup):
            async with Client(command) as one, anyio.create_task_group() as tasks:
                for step in range(1_000):
                    if step == 2:
                        tasks.start_soon(kill_after, pid, random.uniform(0, 0.3))  # noqa: S311 the moment of a kill
                    texts = [f"{number}.{step}.{part}" for part in range(12)]
                    sent = [{"kind": "note", "content": text} for text in texts]
                    result = await one.call_tool(
                        "journal_append", {"programId": "basher", "events": sent}
                    )
                    first = (result.structured_content or {})["firstSeq"]
                    acknowledged.update(enumerate(texts, start=first))
                    if first > 12:
                        made = await one.call_tool(
                            "journal_distill",
                            {
                                "programId": "basher",
                                "startSeq": first - 12,
                                "endSeq": first - 1,
                                "narrative": f"Before {first}",
                            },
                        )
                        distilled.add((made.structured_content or {})["distillateId"])

    with anyio.fail_after(HANG_S):
        for number in range(KILLS):
            await write(number)
    async with opened(store_address) as store:
        fleet = replace(fleet_on(store), toolsets=(JOURNAL_TOOLS,))
        contents = await verbatim(fleet)
        journal = (await Journals(fleet).read("basher")).journal
        made = await Journals(fleet).distillates(journal, [root.id for root in journal.roots])
        found = await store.find(Query(fleet.paths.collection("journalDistillates")))
    assert {seq: contents[seq - 1] for seq in acknowledged} == acknowledged
    assert len(contents) % 12 == 0
    assert distilled <= made.keys() == {root.id for root in journal.roots}
    assert (len(found), acknowledged != {}) == (len(made), True)
