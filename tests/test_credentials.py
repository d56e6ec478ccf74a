"""Texts with credentials are refused at the door, by name of the field and the rule, and never
repeated.

tests/data/credentials.tsv was written for this project by hand: sentences as agents store them,
with credentials of made-up randomness, placeholders of documentation, and clean ones. The texts are
in base64, and credentials below are put together from parts: scanners of code hosts would otherwise
stop a push for tokens that open nothing.
"""

import base64
import json
import logging
import re
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
import re2
from mcp import Client

from fleet_memory.cli import main
from fleet_memory.clock import clock
from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.check import check_memory
from fleet_memory.jobs.curation import reinstate_entry, retire_entry, reword_entry, split_entry
from fleet_memory.jobs.policy import set_policy
from fleet_memory.jobs.transfer.files import export_text, parsed_file
from fleet_memory.jobs.transfer.merging import Merged, import_memory
from fleet_memory.jobs.transfer.reading import exported_memory
from fleet_memory.repositories.documents import texts_of
from fleet_memory.rules.text import credentials
from fleet_memory.rules.text.credentials import (
    RULES,
    Credential,
    credential_at,
    credential_in,
    linear_pattern,
)
from fleet_memory.schemas.programs import Caller
from fleet_memory.server.app import create_server
from fleet_memory.server.composition import LazyFleet, with_fleet
from fleet_memory.settings import Settings, parsed_toolsets
from fleet_memory.stores import Json, document_id
from fleet_memory.tools.state import write_note
from scripts.translate_credential_rules import translated
from tests.bounds import HANG_S
from tests.calls import call, refusal
from tests.matrix import SPECS, calls_with
from tests.shared import KEY, learnt, shared_entry

TOKEN = "gh" + "p_" + "16C7e42F292c6912E7710c838347Ae178B4a"
TEXT = f"Push tags with {TOKEN}."
DATA = Path(__file__).parent / "data" / "credentials.tsv"
WRITING = sorted(name for name, tool in SPECS.items() if tool.effect != "reads" and not tool.masks)


def rows() -> list[tuple[str, str, str]]:
    lines = [line.split("\t") for line in DATA.read_text(encoding="utf-8").splitlines()[1:]]
    return [(kind, what, base64.b64decode(text).decode()) for kind, what, text in lines]


@pytest.mark.parametrize(
    ("kind", "what", "text"), rows(), ids=lambda value: value if len(value) < 40 else ""
)
def test_secrets_are_found_and_placeholders_and_plain_lessons_pass(
    kind: str, what: str, text: str
) -> None:
    assert (credential_in(text) is not None) == (kind == "secret"), what


def test_every_pattern_is_read_by_re2_and_by_the_library_that_stands_in_for_it() -> None:
    patterns = {pattern for rule in RULES.values() for pattern in (rule.pattern, rule.passes)}
    assert len(RULES) > 400
    for pattern in patterns:
        re2.compile(pattern)  # in linear time, whatever the text
        re.compile(pattern, re.ASCII)


def test_a_machine_without_re2_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [credential_in(text) for _, _, text in rows()]
    monkeypatch.setattr(credentials, "re2", None)
    linear_pattern.cache_clear()
    assert [credential_in(text) for _, _, text in rows()] == found
    linear_pattern.cache_clear()


@pytest.mark.parametrize(
    ("go", "python"),
    [
        (r"ab(?i)c|d$", r"ab(?i:c)|(?i:d$)"),
        (r"(?i)x(y(?i)z)[$|(?i)]\z", r"(?i)x(y(?i:z))[$|(?i)]$"),
        (r"(?i)[\w.-]{0,50}?(?:acme)", r"(?i)(?:acme)"),
    ],
)
def test_patterns_of_go_become_patterns_of_python(go: str, python: str) -> None:
    assert translated(go) == python


def test_a_value_is_read_with_its_key_and_its_place_is_named() -> None:
    key = "9f86d081884c7d65" + "9a2feaa0c55ad015"
    assert credential_at({"config": [{"api_key": key}]}) == Credential(
        ("config", 0, "api_key"), "generic-api-key"
    )
    assert credential_at({"config": [{"commit": key}]}) is None
    assert credential_at({"notes": {TOKEN: 1}}) == Credential(("notes",), "github-pat")
    assert credential_at({"key": "pattern/deploys/canary4first"}) is None
    assert credential_at({"limit": 3, "tags": ["a", None]}) is None


@pytest.mark.parametrize(
    "value",
    [
        {"config": {"cacheKey": "9f86d081884c7d65" + "9a2feaa0c55ad015"}},
        {"baselines": {"auth_p95": "412ms-at-500rps"}},
        {"notes": {"access": "bastion-2.internal via vpn3"}},
        {"notes": {"access": "bastion-2.internal-eu1"}},
    ],
)
def test_a_name_that_does_not_end_as_a_keys_makes_no_credential_of_its_value(value: object) -> None:
    assert credential_at(value) is None


@pytest.mark.parametrize(
    "name",
    [
        *(
            "apiKey=",
            "api_key: ",
            "SECRET_KEY_BASE=",
            "STRIPE_KEY_2=",
            "JWT_SECRET_DEV=",
            "_auth=",
            "DB_PASSWORD=",
        ),
        *(
            "X-Api-Key: ",
            "the client secret of the bot is ",
            "the key we use is ",
            "the token for staging is ",
        ),
        *("webhook secret -> ", "credentials: "),
    ],
)
def test_a_name_that_ends_as_a_keys_is_found_with_a_random_value(name: str) -> None:
    assert credential_in(name + "Zx9kTq77" + "wPl0vRt5") in ("generic-api-key", "password")


@pytest.fixture
async def admin(settings: Settings) -> AsyncIterator[Client]:
    """A client of an admin, who is served every tool and need not name itself."""
    everything = replace(settings, toolsets=parsed_toolsets("all"))
    lazy = LazyFleet(everything, clock(None))
    lazy.identified = lambda: Caller("basher", "admin")
    with anyio.fail_after(HANG_S):
        async with Client(create_server(everything, lazy=lazy)) as client:
            yield client


def _stored(settings: Settings, text: str) -> bool:
    """Whether a text is in the memory's file or a file next to it, e.g. its journal."""
    return any(
        text.encode() in file.read_bytes()
        for file in Path(settings.store.words[0]).parent.iterdir()
    )


@pytest.mark.anyio
@pytest.mark.parametrize("tool", WRITING)
async def test_every_tool_that_writes_refuses_a_credential_and_repeats_it_nowhere(
    settings: Settings, tool: str, admin: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    refusals = []
    for arguments in calls_with(tool, TOKEN):
        result = await admin.call_tool(tool, arguments)
        assert result.is_error, arguments
        refusals += [block.text for block in result.content if block.type == "text"]
    assert all(text.startswith("invalid_argument: ") for text in refusals)
    assert "holds a credential (rule github-pat)" in "".join(refusals)
    assert TOKEN not in "".join(refusals) + caplog.text
    assert not _stored(settings, TOKEN)


@pytest.mark.anyio
async def test_a_refusal_names_the_field_and_a_policy_lets_credentials_pass(
    client: Client, fleet: Fleet, settings: Settings
) -> None:
    lesson = {"pattern": TEXT, "domain": "ci", "confidence": 0.8, "evidence": "seen"}
    assert (await refusal(client, "store_memory", pattern=lesson)).startswith(
        "invalid_argument: pattern.pattern: holds a credential (rule github-pat)"
    )
    await set_policy(fleet, ["secrets", "allow"])
    async with Client(
        create_server(settings)
    ) as later:  # the first one reads the policy once a minute
        assert (await call(later, "store_memory", pattern=lesson))["status"] == "created"


@pytest.mark.anyio
async def test_a_reading_tool_answers_a_question_with_a_credential(client: Client) -> None:
    assert (await call(client, "recall_memory", query=TEXT))["total"] == 0


@pytest.mark.anyio
async def test_a_word_that_is_a_credential_is_not_repeated_by_a_refusal(client: Client) -> None:
    token = "sk-" + "4eC39HqLyjWDarjtT1zdp7dc"
    text = await refusal(client, "reinforce_memory", patternId="a", outcome=token)
    assert token not in text


@pytest.mark.anyio
async def test_an_unknown_key_that_is_a_credential_is_neither_repeated_nor_logged(
    full_client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    result = await full_client.call_tool("gsp_read", {"key": f"pattern/{TOKEN}"})
    assert result.is_error
    assert TOKEN not in str(result.content)
    assert "There is no knowledge entry '…'" in caplog.text
    assert TOKEN not in caplog.text


def test_an_unknown_name_that_is_a_credential_is_not_repeated_by_commands(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FLEET_MEMORY_STORE", str(settings.store.words[0]))
    monkeypatch.setenv("FLEET_MEMORY_EMBEDDER", "lexical")
    anyio.run(with_fleet, settings, lambda fleet: learnt(fleet, "basher", "Push tags"))
    codes = [
        main(words)
        for words in (
            ["policy", "set", TOKEN, "1"],
            ["policy", "set", "threshold", TOKEN],
            ["entry", "retire", f"pattern/{TOKEN}", "--why", "old"],
            ["lesson", "forget", TOKEN, "--all", "--why", "old", "--yes"],
        )
    ]
    printed = capsys.readouterr()
    assert (codes, TOKEN in printed.out + printed.err) == ([2, 2, 1, 1], False)
    assert (printed.out.count("…"), printed.err.count("…")) == (0, 4)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("rule", "key"),
    [("github-pat", TOKEN), ("anthropic-api-key", "sk-" + "ant-api03-hunter2hunter2XYZW0987")],
)
async def test_a_key_is_no_name_of_a_judge_model(fleet: Fleet, rule: str, key: str) -> None:
    with pytest.raises(
        InvalidArgumentError, match=rf"^judgeModel: holds a credential \(rule {rule}\)"
    ):
        await set_policy(fleet, ["judgeModel", key])


@pytest.mark.anyio
async def test_people_are_refused_too_in_reasons_and_new_texts(fleet: Fleet) -> None:
    await shared_entry(fleet, "basher", "iso")
    for changing in (
        retire_entry(fleet, KEY, TEXT),
        reinstate_entry(fleet, KEY, TEXT),
        reword_entry(fleet, KEY, TEXT, "clearer"),
        split_entry(fleet, KEY, "basher", None, TEXT),
    ):
        with pytest.raises(
            InvalidArgumentError, match=r"^(--why|TEXT): holds a credential \(rule github-pat\)"
        ):
            await changing


@pytest.mark.parametrize("flag", ["--yes", "--dry-run"])
@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        ({"why": TEXT}, "entry.1.why: holds a credential (rule github-pat)"),
        ({"text": TEXT, "key": None}, "entry.1.text: holds a credential (rule github-pat)"),
        ({"key": f"ci/{TOKEN}"}, "entry.1.key: holds a credential (rule github-pat)"),
        ({TOKEN: 1}, "entry.1.…: Extra inputs are not permitted (in rules.json)"),
    ],
)
def test_a_seed_file_with_a_credential_is_refused_before_its_changes_are_shown(
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    fields: dict[str, object],
    refused: str,
    flag: str,
) -> None:
    monkeypatch.setenv("FLEET_MEMORY_STORE", str(settings.store.words[0]))
    monkeypatch.setenv("FLEET_MEMORY_EMBEDDER", "lexical")
    assert (
        anyio.run(with_fleet, settings, lambda fleet: fleet.knowledge.all()) == []
    )  # a dry run makes no memory
    file = tmp_path / "rules.json"
    clean = {"text": "Push tags with the bot", "domain": "ci"}
    entries = [clean, {**clean, "key": "push", **fields}]
    file.write_text(json.dumps({"entry": entries}), encoding="utf-8")
    assert main(["seed", str(file), flag]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"fleet-memory: {refused}")
    assert TOKEN.lower() not in printed.err.lower()
    assert anyio.run(with_fleet, settings, lambda fleet: fleet.knowledge.all()) == []


@pytest.mark.anyio
async def test_a_file_with_a_credential_is_imported_only_where_the_policy_allows_it(
    fleet: Fleet,
) -> None:
    await set_policy(fleet, ["secrets", "allow"])
    await learnt(fleet, "basher", TEXT)
    await learnt(fleet, "iso", TEXT)
    await set_policy(fleet, ["secrets", "refuse"])
    text, _ = await export_text(fleet)
    with pytest.raises(
        InvalidArgumentError,
        match=r"^line 2\.patterns\.\w+\.pattern \(rule github-pat\), "
        r"line 3\.patterns\.\w+\.pattern \(rule github-pat\): hold credentials",
    ):
        await imported(fleet, text)
    await set_policy(fleet, ["secrets", "allow"])
    assert (await imported(fleet, text)).written == 0


@pytest.mark.anyio
async def test_a_backup_of_a_fleet_that_allows_credentials_is_restored_with_its_policy(
    fleet: Fleet,
) -> None:
    await set_policy(fleet, ["secrets", "allow"])
    await learnt(fleet, "basher", TEXT)
    text, _ = await export_text(fleet)
    empty = Fleet.on(fleet.knowledge.store, "restored", fleet.embedder, fleet.now)
    with pytest.raises(InvalidArgumentError, match="--policy"):
        await imported(empty, text)
    assert (await imported(empty, text, with_policy=True)).written > 0
    (lesson,) = (await empty.programs.read("basher")).patterns.values()
    assert lesson.pattern == TEXT
    assert (await empty.policies.read(empty.now())).secrets == "allow"


async def imported(fleet: Fleet, text: str, *, with_policy: bool = False) -> Merged:
    memory = exported_memory(parsed_file(text.encode()), fleet.now())
    return await import_memory(fleet, memory, overwrite=False, with_policy=with_policy)


@pytest.mark.anyio
async def test_a_check_names_the_documents_that_hold_a_credential_from_before(
    fleet: Fleet,
) -> None:
    store, embedder = fleet.programs.store, fleet.embedder
    await set_policy(fleet, ["secrets", "allow"])
    await learnt(fleet, "sark", TEXT)
    await write_note(fleet, "sark", TEXT)
    await shared_entry(fleet, "basher", "iso")
    await reword_entry(fleet, KEY, TEXT, "clearer")
    allowed = await check_memory(store, "default", embedder)
    assert (allowed.healthy, "credentials" in allowed.rows) == (True, False)
    await set_policy(fleet, ["secrets", "refuse"])
    report = await check_memory(store, "default", embedder)
    assert not report.healthy
    assert report.rows["credentials"] == [
        "programs/sark.patterns.mine.pattern (rule github-pat)",
        f"gsp/{document_id(KEY)}.value.pattern (rule github-pat)",
    ]


@pytest.mark.parametrize("words", ["curl ", "key = ", "sk-aa-", "password is a1", "token "])
def test_a_long_text_takes_linear_time(words: str) -> None:
    credential_in(words)  # compiles the rules
    short, long = (min(_seconds(words * times) for _ in range(3)) for times in (200, 3_200))
    assert long < 16 * 6 * short


def test_a_long_name_is_not_searched_again_with_each_text_below_it() -> None:
    texts = ["co_api_key0"] * 1_000
    short, long = (
        min(_seconds({"co_api_key0f" * times: texts}) for _ in range(3)) for times in (4, 400)
    )
    assert long < 4 * short


def test_the_end_of_a_long_name_says_what_its_texts_are() -> None:
    name, secret = "of_the_second_region_" * 5 + "api_key", "9f86d081884c7d65" + "9a2feaa0c55ad015"
    assert credential_at({name: [secret]}) == Credential((name, 0), "generic-api-key")


def _seconds(value: object) -> float:
    start = time.process_time()
    assert credential_at(value) is None
    return time.process_time() - start


@pytest.mark.parametrize("member", ["writer", "stateWriter", "source"])
def test_the_id_of_the_token_that_wrote_something_is_no_credential(member: str) -> None:
    """It opens nothing; with a figure in it a rule would take it for a key."""
    stored: Json = {"patterns": {"l-1": {member: {"token": "fvslq46r7f53ersd"}}}}
    assert credential_at({"token": "fvslq46r7f53ersd"})
    assert credential_at(texts_of(stored)) is None
