"""The window: what its pages say, whom it lets in, and that an act does what the person saw."""

import hashlib
import re
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from anyio import to_thread
from fleets import consolidate, learn, learn_text, open_pair

from fleet_memory.errors import StoreUnavailableError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.curation import edit_lesson, retire_entry
from fleet_memory.jobs.judging import Judge, judge
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.jobs.policy import set_policy
from fleet_memory.jobs.tokens import NewToken, create_token
from fleet_memory.schemas.pairs import NewVerdict
from fleet_memory.schemas.programs import Caller, Role
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import load
from fleet_memory.stores import Document, Query, Ref
from fleet_memory.window.app import WINDOW_PATH, Door, LinkDoor, TokenDoor, Window
from fleet_memory.window.changes import ACTS
from fleet_memory.window.pages import PAGES
from fleet_memory.window.rendering import STATIC, differing, visible
from fleet_memory.window.serving import export_window
from tests.fleets import at, on
from tests.http_server import http_server
from tests.issuer import issuing, signed
from tests.wrapped import ForwardingStore

pytestmark = pytest.mark.anyio

BASE = "http://127.0.0.1:8080"
HOSTILE = '<script>alert(1)</script> javascript:alert(1) " onload=alert(1) \u202egnp.exe\u200b'


OURS = {"Sec-Fetch-Site": "same-origin"}


class Person:
    """A browser without JavaScript: it has a cookie, and sends forms."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self.client = client

    async def page(self, path: str, **asked: str) -> str:
        answer = await self.client.get(f"{WINDOW_PATH}{path}", params=asked)
        assert answer.status_code == 200, answer.text
        return answer.text

    async def twin(self, path: str, **asked: str) -> dict[str, Any]:  # Any: JSON
        name = "/index" if path == "/" else path
        answer = await self.client.get(f"{WINDOW_PATH}{name}.json", params=asked)
        assert answer.status_code == 200, answer.text
        content: dict[str, Any] = answer.json()
        return content

    async def send(
        self, act: str, headers: Mapping[str, str] = OURS, /, **fields: str | list[str]
    ) -> httpx2.Response:
        return await self.client.post(f"{WINDOW_PATH}/do/{act}", data=fields, headers=headers)

    async def done(self, act: str, **fields: str | list[str]) -> str:
        """Send a form and follow it to the page that shows what it did."""
        answer = await self.send(act, OURS, **fields)
        assert answer.status_code == 303, answer.text
        shown = await self.client.get(answer.headers["location"])
        assert shown.status_code == 200, shown.text
        return shown.text


def client_of(fleet: Fleet, door: Door) -> httpx2.AsyncClient:
    async def same() -> Fleet:
        return fleet

    app = Window(same, door, ["127.0.0.1:8080"], BASE)
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=BASE)


async def let_in(fleet: Fleet) -> Person:
    door = LinkDoor(fleet.caller)
    person = Person(client_of(fleet, door))
    answer = await person.client.get(f"{WINDOW_PATH}/open", params={"link": door.link})
    assert answer.status_code == 303
    return person


@pytest.fixture
async def person(fleet: Fleet) -> Person:
    return await let_in(fleet)


async def all_documents(fleet: Fleet) -> list[Document]:
    """Return the documents that an act may change."""
    paths = fleet.paths
    groups = (paths.programs, paths.entries, paths.pairs, paths.ledger, paths.archive)
    found = [
        await fleet.store.find(Query(group)) for group in (*groups, paths.collection("tokens"))
    ]
    return [each for group in found for each in group]


async def published(fleet: Fleet) -> str:
    """Publish an entry that two programs learnt, and return its key."""
    for program in ("basher", "iso"):
        await learn(fleet, program, "one")
    await consolidate(fleet)
    (row,) = (await fleet.knowledge.snapshots.read()).rows
    return row.key


async def test_an_empty_memory_says_on_every_page_what_comes_first(person: Person) -> None:
    assert "No agent has stored anything yet" in await person.page("/")
    assert "Nothing waits for a verdict" in await person.page("/review")
    assert "There is no knowledge yet" in await person.page("/knowledge")
    assert "No agent has stored anything yet" in await person.page("/programs")
    assert "Nothing has happened yet" in await person.page("/activity")


async def test_a_boot_is_shown_line_by_line_with_reasons_and_changes_nothing(
    fleet: Fleet, person: Person
) -> None:
    key = await published(fleet)
    before = await fleet.programs.read("sark"), await fleet.programs.read("basher")
    content = await person.twin("/", program="sark", task="lesson one")
    (known,) = [part for part in content["sections"] if part["name"] == "knowledge"]
    (line,) = known["lines"]
    assert (line["key"], line["tokens"] > 0) == (key, True)
    assert re.fullmatch(r"\d\.\d\d for the task; learnt by 2 agents, 80% sure", line["why"])
    assert content["exists"] is False
    assert content["tokens"] <= content["limit"]
    await person.page("/", program="basher")
    assert (await fleet.programs.read("sark"), await fleet.programs.read("basher")) == before


async def test_a_preview_has_the_pairs_and_the_lessons_of_others_that_an_agent_would_get(
    fleet: Fleet,
) -> None:
    fleet = replace(fleet, default_sharing="lessons")
    person = await let_in(fleet)
    pair_id = await open_pair(fleet, "basher", "iso")
    content = await person.twin("/", program="basher", task="claim a task")
    parts = {part["name"]: part["lines"] for part in content["sections"]}
    assert [line["pair"] for line in parts["toJudge"]] == [pair_id]
    await learn_text(fleet, "quorra", "Write a log line when you claim a task")
    told = await person.twin("/", program="newcomer", task="claim a task")
    others = {part["name"]: part["lines"] for part in told["sections"]}["others"]
    assert len(others) == 3
    assert all("one other agent's lesson" in line["why"] for line in others)


async def test_a_person_judges_a_pair_sees_the_entry_published_and_takes_it_back(
    fleet: Fleet, person: Person
) -> None:
    pair_id = await open_pair(fleet, "basher", "iso")
    (pair,) = (await person.twin("/review"))["pairs"]
    assert pair["waitsFor"] == "basher and iso"
    sent = {"pair": pair_id, "seen": pair["seen"], "reason": "both say look first"}
    after = await person.done("judge", verdict="same", **sent)
    assert "A person judged this pair <strong>same</strong>" in after
    assert "Take it back" in after
    (row,) = (await fleet.knowledge.snapshots.read()).readable
    record = await person.twin("/entry", key=row.key)
    assert [origin["position"] for origin in record["origins"]] == ["discovered", "discovered"]
    assert record["timeline"][0]["by"] == "operator"
    (lately,) = (await person.twin("/review"))["lately"]
    await person.done("judge", pair=pair_id, seen=lately["seen"], verdict="unsure")
    assert (await fleet.knowledge.snapshots.read()).readable == ()
    assert (await person.twin("/review"))["lately"] == []


async def test_a_better_text_goes_with_the_verdict_and_a_lesson_is_rejected_in_review(
    fleet: Fleet, person: Person
) -> None:
    pair_id = await open_pair(fleet, "basher", "iso")
    (pair,) = (await person.twin("/review"))["pairs"]
    text = "Look whether a task is free, then claim it"
    await person.done("judge", pair=pair_id, seen=pair["seen"], verdict="same", text=text)
    (row,) = (await fleet.knowledge.snapshots.read()).readable
    assert row.pattern == text
    side = pair["a"]
    sent = {"program": side["programId"], "id": side["patternId"], "seen": side["seen"]}
    assert "In the archive now" in await person.done("reject", why="out of date", **sent)
    assert (await fleet.programs.read(side["programId"])).patterns == {}


async def test_an_entry_is_retired_reinstated_and_reworded_with_the_reason_in_its_time_line(
    fleet: Fleet, person: Person
) -> None:
    key = await published(fleet)

    async def seen() -> str:
        return str((await person.twin("/entry", key=key))["seen"])

    after = await person.done("retire", key=key, seen=await seen(), why="we merge now")
    assert "Retired: no agent reads it" in after
    assert "we merge now" in after
    assert (await fleet.knowledge.snapshots.read()).readable == ()
    await person.done("reinstate", key=key, seen=await seen(), why="no, we do not")
    await person.done("reword", key=key, seen=await seen(), text="Better words", why="clearer")
    (row,) = (await fleet.knowledge.snapshots.read()).readable
    assert row.pattern == "Better words"
    told = [line["what"] for line in (await person.twin("/entry", key=key))["timeline"]]
    assert {"retired", "reinstated", "reworded"} <= {*told}


async def test_a_lesson_is_edited_forgotten_and_restored(fleet: Fleet, person: Person) -> None:
    await learn(fleet, "basher", "one", "two")
    lesson = await person.twin("/lesson", program="basher", id="one")
    sent = {"program": "basher", "id": "one", "seen": lesson["seen"], "why": "shorter"}
    edited = await person.done("edit", text="One", change="reworded", **sent)
    assert "Edited." in edited
    rows = (await person.twin("/programs", program="basher"))["lessons"]
    chosen = [f"{row['seen']} {row['id']}" for row in rows]
    after = await person.done("forget", program="basher", lesson=chosen, why="a new start")
    assert "In the archive now, with its votes: " in after
    assert (await fleet.programs.read("basher")).patterns == {}
    archive = await person.twin("/programs", program="basher", show="archive")
    assert len(archive["archive"]) == archive["archived"] == 3  # the earlier wording too
    await person.done("restore", program="basher", id=["one", "two"])
    assert {*(await fleet.programs.read("basher")).patterns} == {"one", "two"}


async def test_a_forgotten_lesson_is_restorable_for_a_day_whatever_the_policy(
    fleet: Fleet, person: Person
) -> None:
    await set_policy(fleet, ["retentionDays", "1"])
    await learn(fleet, "basher", "one", "two")
    now = fleet.now()
    for id_ in ("one", "two"):
        seen = (await person.twin("/lesson", program="basher", id=id_))["seen"]
        await person.done("forget", program="basher", lesson=f"{seen} {id_}", why="a slip")
    await maintain_fleet(at(fleet, now + timedelta(hours=23)), no_progress)
    await person.done("restore", program="basher", id="one")
    assert {*(await fleet.programs.read("basher")).patterns} == {"one"}
    await maintain_fleet(at(fleet, now + timedelta(hours=25)), no_progress)
    late = await person.send("restore", program="basher", id="two")
    assert late.status_code == 404


async def test_what_changed_since_the_page_was_made_is_asked_again_and_nothing_is_done(
    fleet: Fleet, person: Person
) -> None:
    key = await published(fleet)
    entry = await person.twin("/entry", key=key)
    await retire_entry(fleet, key, "another window")
    answer = await person.send(
        "reword", key=key, seen=entry["seen"], text="Mine", why="because", at=f"/entry?key={key}"
    )
    assert answer.status_code == 409
    assert "Somebody changed this" in answer.text
    assert "You had typed" in answer.text
    assert "Look again" in answer.text
    (stored,) = await fleet.knowledge.read_versioned(key)
    assert stored.entry is not None
    assert stored.entry.value.pattern == "Lesson one"

    lesson = await person.twin("/lesson", program="basher", id="one")
    await edit_lesson(fleet, "basher", "one", "Theirs", "corrected", "wrong")
    late = await person.send("forget", program="basher", lesson=f"{lesson['seen']} one", why="old")
    assert late.status_code == 409
    assert (await fleet.programs.read("basher")).patterns["one"].pattern == "Theirs"


async def test_of_two_verdicts_of_two_windows_the_second_sees_the_first_before_it_counts(
    fleet: Fleet, person: Person
) -> None:
    other = await let_in(fleet)
    pair_id = await open_pair(fleet, "basher", "iso")
    (mine,), (theirs,) = (
        (await person.twin("/review"))["pairs"],
        (await other.twin("/review"))["pairs"],
    )
    await person.done("judge", pair=pair_id, seen=mine["seen"], verdict="different")
    late = await other.send("judge", pair=pair_id, seen=theirs["seen"], verdict="same")
    assert late.status_code == 409
    (pair,) = await fleet.pairs.all()
    assert [each.verdict for each in pair.judgements] == ["different"]


async def test_search_finds_what_agents_find_and_says_when_nothing_fits(
    fleet: Fleet, person: Person
) -> None:
    key = await published(fleet)
    found = await person.twin("/knowledge", query="lesson one")
    assert [row["key"] for row in found["rows"]] == [key]
    nothing = await person.twin("/knowledge", query="zebra")
    assert nothing["note"].startswith("Nothing fits well")
    recalled = await person.twin("/knowledge", **{"query": "lesson one", "as": "basher"})
    assert recalled["knowledge"][0]["own"] is True
    for asked, count in (
        ({"domain": "domain-one"}, 1),
        ({"domain": "other"}, 0),
        ({"program": "iso"}, 1),
        ({"program": "sark"}, 0),
        ({"state": "retired"}, 0),
        ({"age": "new"}, 1),
        ({"age": "old"}, 0),
    ):
        assert len((await person.twin("/knowledge", **asked))["rows"]) == count, asked


async def test_candidates_are_listed_in_a_state_of_their_own(fleet: Fleet, person: Person) -> None:
    pair_id = await open_pair(fleet, "basher", "iso")
    said = NewVerdict.model_validate({"pairId": pair_id, "verdict": "contradict"})
    await judge(fleet, Judge("basher"), [said])
    rows = (await person.twin("/knowledge", state="candidate"))["rows"]
    assert {row["status"] for row in rows} == {"candidate"}
    assert (await person.twin("/knowledge"))["rows"] == []


# Stored text is hostile


async def test_hostile_text_is_escaped_is_no_link_and_hides_nothing(
    fleet: Fleet, person: Person
) -> None:
    await learn_text(fleet, "basher", HOSTILE)
    for path, asked in (
        ("/", {"program": "basher"}),
        ("/programs", {"program": "basher"}),
        ("/lesson", {"program": "basher", "id": "claims"}),
        ("/activity", {}),
    ):
        page = await person.page(path, **asked)
        assert "<script>alert" not in page
        assert "⟨U+202E⟩" in page
        assert "⟨U+200B⟩" in page or path == "/lesson"
        assert 'href="javascript' not in page
        assert '" onload' not in page
    assert (await person.twin("/lesson", program="basher", id="claims"))["text"] == HOSTILE


def test_words_that_differ_are_marked_where_most_are_equal() -> None:
    assert differing("Retry 3 times", "Retry 30 times") == "Retry <mark>3</mark> times"
    assert differing("Use <b> now", "Use <i> now") == "Use &lt;<mark>b</mark>&gt; now"
    assert differing("Swap builders", "Write a log line") == "Swap builders"


def test_characters_that_show_nothing_are_spelt_out() -> None:
    assert visible("a\u202eb\u200bc\n") == "a⟨U+202E⟩b⟨U+200B⟩c\n"
    assert visible("Fähre שלום") == "Fähre שלום"


# Who comes in


async def test_the_link_opens_once_and_without_it_there_is_a_plain_page(fleet: Fleet) -> None:
    door = LinkDoor(fleet.caller)
    client = client_of(fleet, door)
    assert (await client.get(f"{WINDOW_PATH}/")).status_code == 401
    assert (await client.get(f"{WINDOW_PATH}/open", params={"link": "guessed"})).status_code == 401
    opened = await client.get(f"{WINDOW_PATH}/open", params={"link": door.link})
    cookie = opened.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", f"Path={WINDOW_PATH}"} <= {*cookie.split("; ")}
    assert (await client.get(f"{WINDOW_PATH}/")).status_code == 200
    spent = await client_of(fleet, door).get(f"{WINDOW_PATH}/open", params={"link": door.link})
    assert spent.status_code == 401
    assert "Run `fleet-memory window` again" in spent.text


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": BASE}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": BASE}, 303),
        ({"Sec-Fetch-Site": "same-origin"}, 303),
    ],
)
async def test_a_form_counts_only_from_a_page_of_ours(
    fleet: Fleet, person: Person, headers: dict[str, str], status: int
) -> None:
    key = await published(fleet)
    seen = (await person.twin("/entry", key=key))["seen"]
    answer = await person.send("retire", headers, key=key, seen=seen, why="because")
    assert answer.status_code == status
    assert len((await fleet.knowledge.snapshots.read()).readable) == (status == 403)


async def test_other_hosts_methods_pages_and_bodies_get_a_plain_page(person: Person) -> None:
    client, ours = person.client, {"Sec-Fetch-Site": "same-origin"}
    assert (
        await client.get(f"{WINDOW_PATH}/", headers={"Host": "evil.example"})
    ).status_code == 421
    assert (await client.put(f"{WINDOW_PATH}/")).status_code == 405
    assert (await client.get(f"{WINDOW_PATH}/nothing")).status_code == 404
    assert (await client.get(f"{WINDOW_PATH}/static/../app.py")).status_code == 404
    assert (await person.send("nothing")).status_code == 404
    assert (await person.send("retire", key="x" * 100_000)).status_code == 413
    broken = await client.post(f"{WINDOW_PATH}/do/retire", content=b"\xff", headers=ours)
    assert broken.status_code == 400


async def test_every_answer_forbids_what_is_not_of_this_server(person: Person) -> None:
    answer = await person.client.get(f"{WINDOW_PATH}/")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    for page in PAGES:
        text = (await person.client.get(f"{WINDOW_PATH}{page.path}")).text
        assert not re.search(r"\son\w+=|\sstyle=|<script>|https?://", text), page.path


async def test_unknown_keys_and_programs_are_named_and_nothing_is_done(person: Person) -> None:
    for path, asked in (
        ("/entry", {"key": "pattern/of/another-fleet"}),
        ("/programs", {"program": "nobody"}),
        ("/lesson", {"program": "nobody", "id": "x"}),
        ("/record", {"toolset": "core", "id": "x"}),
    ):
        answer = await person.client.get(f"{WINDOW_PATH}{path}", params=asked)
        assert answer.status_code in (400, 404), path
    unknown = await person.send("retire", key="pattern/of/another-fleet", why="x")
    assert unknown.status_code == 404
    gone = await person.send("forget", program="nobody", lesson="x y", why="x")
    assert gone.status_code == 409


@dataclass
class Bearer:
    program_id: str
    role: Role
    token_id: str


async def test_over_http_auditors_read_admins_change_and_agents_stay_out(fleet: Fleet) -> None:
    key = await published(fleet)
    callers = {
        "agent-token": Bearer("basher", "agent", "t1"),
        "auditor-token": Bearer("eyes", "auditor", "t2"),
        "admin-token": Bearer("boss", "admin", "t3"),
    }

    async def checked(token: str) -> Bearer | None:
        return callers.get(token)

    async def signed_in(token: str) -> Person | None:
        client = client_of(fleet, TokenDoor(checked))
        assert 'type="password"' in (await client.get(f"{WINDOW_PATH}/")).text
        ours = {"Sec-Fetch-Site": "same-origin"}
        answer = await client.post(f"{WINDOW_PATH}/sign-in", data={"token": token}, headers=ours)
        return Person(client) if answer.status_code == 303 else None

    assert await signed_in("agent-token") is None
    assert await signed_in("wrong") is None
    auditor, admin = await signed_in("auditor-token"), await signed_in("admin-token")
    assert auditor is not None
    assert admin is not None
    page = await auditor.page("/entry", key=key)
    assert "Retire" not in page
    seen = (await auditor.twin("/entry", key=key))["seen"]
    refused = await auditor.send("retire", key=key, seen=seen, why="because")
    assert refused.status_code == 403
    reads = (await auditor.twin("/activity"))["reads"]
    assert {(each["by"], each["key"], each["why"]) for each in reads} >= {("eyes", key, "window")}
    await admin.done("retire", key=key, seen=seen, why="because")
    (line, *_) = (await admin.twin("/activity"))["feed"]
    assert (line["by"], line["what"], line["token"]) == ("boss", "retired", "t3")
    del callers["admin-token"]  # revoked
    assert (await admin.client.get(f"{WINDOW_PATH}/")).status_code == 401


async def test_no_act_of_an_auditor_is_carried_out(fleet: Fleet) -> None:
    key = await published(fleet)
    await learn(fleet, "sark", "two")
    pair = await open_pair(fleet, "quorra", "clu")
    made = await create_token(fleet, NewToken("basher"))
    person = await let_in(replace(fleet, caller=Caller("eyes", "auditor", "t2")))
    entry = await person.twin("/entry", key=key)
    lesson = await person.twin("/lesson", program="sark", id="two")
    waiting = (await person.twin("/review", pair=pair))["chosen"][0]
    sent: dict[str, str | list[str]] = {
        "key": key,
        "program": "sark",
        "id": "two",
        "lesson": f"{lesson['seen']} two",
        "why": "because",
        "text": "Better words",
        "change": "reworded",
        "pair": pair,
        "verdict": "same",
        "token": made.record.token_id,
    }
    seen = {"retire": entry, "reinstate": entry, "reword": entry, "split": entry, "judge": waiting}
    before = await all_documents(fleet)
    for act in ACTS:
        name = act.removeprefix("/do/")
        page = seen.get(name, lesson)
        refused = await person.send(name, OURS, **{**sent, "seen": page["seen"]})
        assert (name, refused.status_code) == (name, 403), refused.text
    assert await all_documents(fleet) == before


def test_the_tokens_of_an_issuer_read_and_change_as_their_roles_allow(tmp_path: Path) -> None:
    audience = "https://mem.example.com/mcp"
    settings = load({"store": str(tmp_path / "memory.db"), "embedder": "lexical"}, {})
    key = anyio.run(with_fleet, settings, published)
    with issuing() as issuer:
        environment = {"FLEET_MEMORY_ISSUER": issuer.url, "FLEET_MEMORY_AUDIENCE": audience}
        server_of = http_server(tmp_path / "memory.db", env=environment)
        with server_of as server, ExitStack() as clients:

            def signed_in(role: str) -> httpx2.Client:
                client = clients.enter_context(httpx2.Client(base_url=server.base, headers=OURS))
                token = signed(issuer.claims(audience, sub=f"an-{role}", role=role))
                answer = client.post("/window/sign-in", data={"token": token})
                assert answer.status_code == (401 if role in ("agent", "judge") else 303)
                return client

            for role in ("agent", "judge"):
                assert signed_in(role).get("/window/").status_code == 401
            auditor, admin = signed_in("auditor"), signed_in("admin")
            seen = auditor.get("/window/entry.json", params={"key": key}).json()["seen"]
            act = {"key": key, "seen": seen, "why": "because"}
            assert auditor.post("/window/do/retire", data=act).status_code == 403
            assert admin.post("/window/do/retire", data=act).status_code == 303
            (line, *_) = auditor.get("/window/activity.json").json()["feed"]
            assert (line["by"], line["what"], line["why"]) == ("an-admin", "retired", "because")


def test_a_server_over_http_has_the_pages_behind_a_sign_in(tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    settings = load({"store": str(store), "embedder": "lexical"}, {})

    async def create(fleet: Fleet) -> str:
        return (await create_token(fleet, NewToken("eyes", "auditor"))).token

    token = anyio.run(with_fleet, settings, create)
    with http_server(store) as server, httpx2.Client(base_url=server.base) as client:
        assert 'type="password"' in client.get("/window").text
        wrong = client.post("/window/sign-in", data={"token": "fm_x"}, headers=OURS)
        assert wrong.status_code == 401
        answer = client.post("/window/sign-in", data={"token": token}, headers=OURS)
        assert (answer.status_code, answer.headers["location"]) == (303, "/window/")
        assert "What an agent would read now" in client.get("/window/").text
        assert client.get("/window/static/window.css").status_code == 200
        assert client.get("/window/index.json").json()["programs"] == []
        assert client.get("/window/", headers={"Host": "evil.example"}).status_code == 421
    with http_server(store, "--no-tokens") as server:
        refused = httpx2.get(f"{server.base}/window")
        assert (refused.status_code, "fleet-memory window" in refused.text) == (401, True)


async def test_a_token_is_ended(fleet: Fleet, person: Person) -> None:
    await learn(fleet, "basher", "one")
    made = await create_token(fleet, NewToken("basher"))
    assert made.record.token_id in await person.page("/programs", program="basher", show="state")
    after = await person.done("end-token", token=made.record.token_id, why="leaked")
    assert "Ended: every server refuses" in after
    stored = await fleet.tokens.read(made.record.token_id)
    assert stored is not None
    assert stored.value is not None
    assert stored.value.revoked_at is not None


# Stores


class Down(ForwardingStore):
    """A store that answers nothing while it `is_down`."""

    is_down = False

    async def get(self, *refs: Ref) -> list[Document | None]:
        if self.is_down:
            raise StoreUnavailableError("The store does not answer.")
        return await super().get(*refs)


async def test_a_store_that_goes_away_is_said_and_the_page_recovers(fleet: Fleet) -> None:
    await published(fleet)
    store = Down(fleet.store)
    person = await let_in(on(fleet, store))
    store.is_down = True
    answer = await person.client.get(f"{WINDOW_PATH}/knowledge")
    assert (answer.status_code, answer.headers["refresh"]) == (503, "5")
    assert "The store does not answer." in answer.text
    store.is_down = False
    assert "Lesson one" in await person.page("/knowledge")


async def test_the_pages_go_into_one_file_that_needs_nothing_else(
    fleet: Fleet, tmp_path: Path
) -> None:
    await published(fleet)
    file = tmp_path / "page.html"
    await export_window(fleet, str(file))
    page = await to_thread.run_sync(partial(file.read_text, encoding="utf-8"))
    assert "Lesson one" in page
    assert not re.search(r"<script|<form|<link|href=\"[^#]", page)


def test_the_assets_are_small_and_htmx_is_the_one_that_was_published() -> None:
    assert sum(map(len, STATIC.values())) <= 60_000
    assert len(STATIC["window.js"]) <= 2_000
    published_hash = "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130"
    assert hashlib.sha256(STATIC["htmx.min.js"]).hexdigest() == published_hash
