"""Tokens outside their own command: they never move, go with their program, and no lesson keeps
one.
"""

import json
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.check import check_memory
from fleet_memory.jobs.deletion import Deleted, delete_program
from fleet_memory.jobs.erasing import Wanted, erase, preview_erasure
from fleet_memory.jobs.tokens import NewToken, create_token, list_tokens, revoke_token
from fleet_memory.repositories.documents import texts_of
from fleet_memory.repositories.records import ledger_line
from fleet_memory.rules.text.credentials import Credential, credential_at
from fleet_memory.rules.tokens import parsed_token, principal_id
from fleet_memory.schemas.programs import Caller
from fleet_memory.stores import Json, Query, Write
from tests.fleets import NOW, at, learn
from tests.moving import bring, export_to, sealed

pytestmark = pytest.mark.anyio

CLAIM = "Check that a task is still free before you claim it"
RANDOM_ID = "2xeseria4wprzejg"  # like half of all ids, it is as random as a key
SUBJECTS = ({"sub": f"agent-{number}"} for number in range(99))
PRINCIPALS = (principal_id("https://login.example.com", claims, "basher") for claims in SUBJECTS)
RANDOM_PRINCIPAL = next(each for each in PRINCIPALS if credential_at({"token": each}))


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    return at(fleet, NOW)


async def words(fleet: Fleet) -> list[str]:
    found = await fleet.knowledge.store.find(Query(fleet.knowledge.paths.ledger))
    lines = [ledger_line(document) for document in found]
    return sorted(line.why for line in lines if line.key.startswith("token/"))


async def test_no_export_has_a_token(fleet: Fleet, tmp_path: Path) -> None:
    await learn(fleet, "basher", CLAIM)
    created = await create_token(fleet, NewToken("basher"))
    await export_to(fleet, tmp_path / "memory.jsonl")
    text = (tmp_path / "memory.jsonl").read_text(encoding="utf-8")
    parts = parsed_token(created.token)
    assert parts is not None
    assert [part for part in (parts.secret, created.record.secret_hash) if part in text] == []
    other = at(Fleet.on(fleet.programs.store, "other", fleet.embedder, fleet.now), NOW)
    await bring(other, tmp_path / "memory.jsonl")
    assert await list_tokens(other) == []


async def test_tokens_in_a_file_are_not_imported(fleet: Fleet, tmp_path: Path) -> None:
    created = await create_token(fleet, NewToken("basher"))
    lines = [
        {"collection": "tokens", "id": created.record.token_id, "fields": created.record.wire()},
    ]
    await anyio.Path(tmp_path / "forged.jsonl").write_text(sealed(*lines), encoding="utf-8")
    other = at(Fleet.on(fleet.programs.store, "other", fleet.embedder, fleet.now), NOW)
    with pytest.raises(InvalidArgumentError, match=r"tokens: .*nothing was written"):
        await bring(other, tmp_path / "forged.jsonl")
    assert await list_tokens(other) == []


@pytest.mark.parametrize(
    "token_id", [RANDOM_ID, RANDOM_PRINCIPAL], ids=["of the fleet", "of an issuer"]
)
async def test_a_memory_that_was_written_with_tokens_can_be_brought_back(
    fleet: Fleet, tmp_path: Path, token_id: str
) -> None:
    assert credential_at({"token": token_id}) == Credential(("token",), "generic-api-key")
    await learn(replace(fleet, caller=Caller("basher", token_id=token_id)), "basher", CLAIM)
    await export_to(fleet, tmp_path / "memory.jsonl")
    other = at(Fleet.on(fleet.programs.store, "other", fleet.embedder, fleet.now), NOW)
    await bring(other, tmp_path / "memory.jsonl")
    assert [
        one.source.token for one in (await other.programs.read("basher")).patterns.values()
    ] == [token_id]


@pytest.mark.parametrize(
    "token_id", [RANDOM_ID, RANDOM_PRINCIPAL], ids=["of the fleet", "of an issuer"]
)
@pytest.mark.parametrize(
    "document",
    [
        '{"patterns": {"k1": "{\\"source\\": {\\"token\\": \\"ID\\"}}"}}',
        '{"provenance": [{"token": "ID"}], "words": [{"token": "ID"}]}',
        '{"judgements": [{"token": "ID"}]}',
        '{"event": "promoted", "token": "ID"}',
    ],
    ids=["a lesson", "an entry", "a pair", "the ledger"],
)
def test_the_id_of_a_token_is_no_credential_where_the_server_writes_it(
    document: str, token_id: str
) -> None:
    assert credential_at(texts_of(json.loads(document.replace("ID", token_id)))) is None


def test_the_evidence_of_a_word_about_an_entry_is_searched_for_credentials() -> None:
    entry: Json = {
        "words": [{"evidence": f"token: {RANDOM_ID}", "token": RANDOM_ID}],
        "ledger": [RANDOM_ID],
    }
    assert credential_at(texts_of(entry)) == Credential(("words", 0, "evidence"), "generic-api-key")
    assert texts_of({"words": RANDOM_ID}) == {}  # of a lesson: a hash


@pytest.mark.parametrize("state", ["config", "baselines", "contextSummary"])
@pytest.mark.parametrize(
    "written",
    [{"token": RANDOM_ID}, {"source": {"token": RANDOM_ID}}, {"calls": [f"token: {RANDOM_ID}"]}],
    ids=["a token", "a source", "calls"],
)
def test_the_state_that_an_agent_writes_has_no_ids_of_tokens(state: str, written: Json) -> None:
    for stored in (written, json.dumps(written)):
        assert credential_at(texts_of({"programId": "basher", state: stored})) is not None


async def test_a_file_with_a_secret_under_the_name_of_a_tokens_id_is_refused(
    fleet: Fleet, tmp_path: Path
) -> None:
    await learn(
        replace(fleet, caller=Caller("basher", token_id=RANDOM_ID + "q7w2")), "basher", CLAIM
    )
    await export_to(fleet, tmp_path / "memory.jsonl")
    with pytest.raises(
        InvalidArgumentError, match=r"source\.token \(rule [a-z-]+\): hold credentials"
    ):
        await bring(fleet, tmp_path / "memory.jsonl")


async def test_a_deleted_program_has_no_live_token(fleet: Fleet) -> None:
    await learn(fleet, "basher", CLAIM)
    await create_token(fleet, NewToken("basher"))
    other = await create_token(fleet, NewToken("sark"))
    assert await delete_program(fleet, "basher", dry_run=True) == Deleted("basher", 1, 0, tokens=1)
    assert await delete_program(fleet, "basher") == Deleted("basher", 1, 0, tokens=1)
    assert [one for one in await list_tokens(fleet) if one.revoked_at is None] == [other.record]
    assert await words(fleet) == [
        "for basher as agent",
        "for basher as agent since its program was deleted",
        "for sark as agent",
    ]


async def test_a_purged_program_leaves_no_token_and_no_name_in_the_ledger(fleet: Fleet) -> None:
    await learn(fleet, "basher", CLAIM)
    first = await create_token(fleet, NewToken("basher"))
    await revoke_token(fleet, first.record.token_id)
    await create_token(fleet, NewToken("basher", "judge"))
    other = await create_token(fleet, NewToken("bash"))
    preview = await preview_erasure(fleet, Wanted(program="basher"))
    gone = {"lessons": 1, "tokens": 2, "programs": 1}
    assert (preview.gone, preview.changed) == (gone, {"ledger": 3})
    await erase(fleet, Wanted(program="basher"))
    assert await list_tokens(fleet) == [other.record]
    assert [line for line in await words(fleet) if "basher" in line] == []
    assert "for bash as agent" in await words(fleet)


@pytest.mark.parametrize("text", ["agent", "basher"])
async def test_a_purged_text_takes_no_token_along(fleet: Fleet, text: str) -> None:
    created = await create_token(fleet, NewToken("basher"))
    await erase(fleet, Wanted(text=text))
    assert await list_tokens(fleet) == [created.record]


async def test_a_token_in_a_lesson_is_known_as_a_credential(fleet: Fleet) -> None:
    created = await create_token(fleet, NewToken("basher"))
    found = credential_at({"pattern": f"Connect with {created.token}, it works"})
    assert found == Credential(("pattern",), "fleet-memory-token")


async def test_a_token_that_cannot_be_read_admits_no_caller_and_is_named_by_check(
    fleet: Fleet,
) -> None:
    created = await create_token(fleet, NewToken("basher"))
    ref = fleet.tokens.paths.token(created.record.token_id)
    await fleet.tokens.store.commit(Write(ref, {"role": "emperor"}))
    assert (await fleet.tokens.read(created.record.token_id), await list_tokens(fleet)) == (
        None,
        [],
    )
    report = await check_memory(fleet.tokens.store, "default", fleet.embedder)
    assert "tokens/" in str(report.rows)
