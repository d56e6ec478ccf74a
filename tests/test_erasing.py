"""A purged text is found nowhere: not in the file's bytes, not in an export, not in any tool's
answer.
"""

import io
import itertools
import json
import shutil
import sqlite3
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest
from hypothesis import assume, given
from hypothesis import settings as settings_of
from hypothesis import strategies as st
from mcp import Client

from fleet_memory.cli import main
from fleet_memory.clients.hooks import answer_hook
from fleet_memory.clients.identity import user_state
from fleet_memory.errors import (
    ForbiddenError,
    InvalidArgumentError,
    KnowledgeNotFoundError,
    StoreUnavailableError,
)
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.curation import seed_rules
from fleet_memory.jobs.erasing import Wanted, erase, preview_erasure
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.jobs.policy import set_policy
from fleet_memory.jobs.restoration import list_archive
from fleet_memory.moment import answer_call, append
from fleet_memory.repositories.records import archive_record, ledger_line
from fleet_memory.rules.entries import (
    JoiningLesson,
    TwoEntries,
    read_as_one,
    settled,
    with_lesson,
)
from fleet_memory.rules.erasing import hashed_key
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.rules.pairs import PERSON, with_membership
from fleet_memory.rules.text.keys import digest, pair_id, slug, text_hash
from fleet_memory.schemas.knowledge import Entry, LedgerEvent, LedgerLine, Seed, Word
from fleet_memory.schemas.pairs import Judgement
from fleet_memory.schemas.programs import Archived, Caller
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings
from fleet_memory.stores import ABSENT, Document, Query, Write
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.core.judging import pattern_consolidate
from fleet_memory.tools.core.lessons import reinforce_memory
from fleet_memory.tools.state import forget_memory
from tests.bounds import examples
from tests.fleets import NOW, at, documents, interrupted, learn, on, writing
from tests.living import Json as Answer
from tests.living import Machine, called
from tests.matrix import SPECS, arguments_of
from tests.shared import (
    FREE,
    LATE,
    LOOK,
    Lesson,
    change_entry,
    learnt,
    opened_pair,
    published_keys,
    shared_entry,
)
from tests.shared import KEY as SHARED
from tests.wrapped import ForwardingStore

pytestmark = pytest.mark.anyio

WORD = "nightjar"
ONE = "Deploy Nightjar only behind the orchard gateway"
TWO = "Only deploy Nightjar when it is behind the orchard gateway"
OTHER = "Restart the pump after every firmware update"
OTHER_TOO = "After each firmware update restart the pump"
TEXT = Wanted(text="NIGHTJAR")
KEY = "pattern/deploys/deploy-nightjar-only-behind-orchard-gateway"


async def lived(machine: Machine) -> None:
    """Let a fleet keep the word in every place that a text can come to."""
    session = {"handoffNotes": f"{WORD} is half done", "openQuestions": [f"who owns {WORD}?"]}
    for program, text, other in (
        ("basher", ONE, OTHER),
        ("iso", TWO, OTHER_TOO),
        ("sark", f"{ONE}.", OTHER),
    ):
        await machine.store_lesson(
            program, other, domain="pumps", evidence=f"{program} saw {WORD} stand still"
        )
        await machine.store_lesson(
            program, text, domain="deploys", tags=[WORD], evidence=f"{program} saw {WORD} fall"
        )
    await machine.call(
        "basher", "commit_session", programId="basher", handoff=session, notes=[f"ask about {WORD}"]
    )
    missing = [f"How is {WORD} built?"]
    await machine.call(
        "iso", "commit_session", programId="iso", handoff=f"{WORD}: wait", missing=missing
    )
    config = {WORD: 1, "of": [f"the {WORD} team"]}
    await machine.call(
        "iso", "update_program_state", programId="iso", config=config, baselines={"b": WORD}
    )
    await machine.call(
        "iso", "update_program_state", programId="iso", contextSummary={"handoffNotes": "later"}
    )
    gone = await machine.store_lesson("iso", f"The {WORD} build needs two cores", domain=WORD)
    await machine.call(
        "iso", "forget_memory", programId="iso", patternId=gone["patternId"], reason=f"{WORD} moved"
    )
    await judge_all(machine)
    for key in [
        row["key"]
        for row in (await machine.call("ram", "recall_memory", programId="ram"))["knowledge"]
    ]:
        evidence = f"{WORD} proved it wrong"
        await machine.call(
            "ram",
            "reinforce_memory",
            programId="ram",
            patternId=key,
            outcome="contradicted",
            evidence=evidence,
        )
    await machine.people(lambda fleet: maintain_fleet(fleet, no_progress))


async def judge_all(machine: Machine) -> None:
    for _ in range(3):
        for program in ("basher", "iso", "sark"):
            asked = (await machine.consolidate(program, programId=program))["toJudge"]
            reason = f"both are about {WORD}"
            verdicts = [
                {"pairId": pair["pairId"], "verdict": verdict(pair), "reason": reason}
                for pair in asked
            ]
            if verdicts:
                await machine.consolidate(program, programId=program, verdicts=verdicts)


def verdict(pair: Answer) -> str:
    both = json.dumps(pair).lower()
    return "same" if both.count("orchard") == 2 or both.count("firmware") == 2 else "different"


def holds(folder: Path, word: str = WORD) -> list[str]:
    """Return the files of a memory with the word in their bytes."""
    return sorted(
        file.name
        for file in folder.iterdir()
        if file.is_file() and word.encode() in file.read_bytes().lower()
    )


def bytes_of(machine: Machine) -> bytes:
    return Path(machine.store).read_bytes()


READS: list[tuple[str, Answer]] = [
    (
        "gsp_bootstrap",
        {"agentId": "iso", "depth": "full", "task": "deploy behind the orchard gateway"},
    ),
    (
        "recall_memory",
        {
            "programId": "iso",
            "query": "deploy orchard gateway",
            "includeStale": True,
            "explain": True,
        },
    ),
    ("recall_memory", {"programId": "iso", "scope": "own"}),
    ("pattern_consolidate", {"programId": "iso"}),
    ("get_program_state", {"programId": "iso", "history": 20}),
    ("gsp_search", {"query": "orchard gateway"}),
    ("gsp_search", {}),
]
READS += [
    (tool, arguments_of(tool, "iso")) for tool, spec in SPECS.items() if spec.effect == "reads"
]


async def answers(client: Client) -> str:
    """Return the answers of every tool that reads, for each program, as one text."""
    texts = []
    for tool, arguments in READS:
        for program in ("basher", "iso", "sark", "ram"):
            named = {
                name: program if value == "iso" else value for name, value in arguments.items()
            }
            result = await client.call_tool(tool, named)
            texts.append(
                json.dumps(
                    result.structured_content or [block.model_dump() for block in result.content]
                )
            )
    keys = [
        row["key"]
        for row in (await client.call_tool("gsp_search", {})).structured_content.get("entries", [])
    ]
    texts += [
        json.dumps((await client.call_tool("gsp_read", {"key": key})).structured_content)
        for key in keys
    ]
    return "\n".join(texts).lower()


@pytest.fixture(scope="module")
def lived_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lived")
    anyio.run(lived, Machine(folder))
    assert len(list(folder.iterdir())) == 1
    return folder


@pytest.fixture
def machine(lived_folder: Path, tmp_path: Path) -> Machine:
    """A machine with a copy of the fleet that has lived, a day later."""
    shutil.copytree(lived_folder, tmp_path, dirs_exist_ok=True)
    machine = Machine(tmp_path)
    machine.later(1)
    return machine


async def test_a_text_that_left_the_memory_before_is_in_no_file_once_it_is_purged(
    fleet: Fleet, tmp_path: Path
) -> None:
    first = at(fleet, NOW)
    for number in range(20):
        await learn(first, "basher", f"{WORD} {number} " + "x" * 900, id_=f"l{number}")
    await learn(first, "basher", "Another", id_="another")
    for number in range(20):
        await forget_memory(first, "basher", f"l{number}", "no use")
    await set_policy(first, ["retentionDays", "1"])
    later = at(fleet, NOW + timedelta(days=3))
    await maintain_fleet(later, no_progress)
    assert await list_archive(later, "basher") == []
    assert holds(tmp_path) != []  # in the file's free space
    erased = await erase(later, TEXT)
    assert (erased.left, erased.is_scrubbed) == ((), True)
    assert holds(tmp_path) == []


async def test_a_purged_text_is_nowhere_in_files_and_answers_also_of_a_server_that_knew_it(
    machine: Machine, tmp_path: Path
) -> None:
    async with machine.connection() as warm:
        assert WORD in await answers(warm)
        erased = await machine.people(lambda fleet: erase(fleet, TEXT))
        assert (erased.left, erased.is_scrubbed) == ((), True)
        assert WORD not in await answers(warm)
        assert holds(tmp_path) == []
    async with machine.connection() as fresh:
        text = await answers(fresh)
        assert WORD not in text
        assert "firmware" in text
    await machine.people(lambda fleet: maintain_fleet(fleet, no_progress))
    assert holds(tmp_path) == []
    assert (await machine.people(lambda fleet: preview_erasure(fleet, TEXT))).is_empty


async def test_no_hash_of_a_purged_text_is_left(machine: Machine, tmp_path: Path) -> None:
    one, two = text_hash(ONE), text_hash(TWO)
    hashes = [one, two, pair_id(one, two)]
    assert [word for word in hashes if holds(tmp_path, word)] == hashes
    await machine.people(lambda fleet: erase(fleet, TEXT))
    assert [word for word in hashes if holds(tmp_path, word)] == []


@pytest.mark.parametrize("ends", ["older", "younger"])
async def test_an_entry_that_was_read_as_one_with_one_that_ends_has_its_own_facts_again(
    fleet: Fleet, ends: str
) -> None:
    stays = await shared_entry(fleet, "basher", "iso")
    for program in ("sark", "ram"):
        await learnt(fleet, program, f"Feed the {WORD}", program)
    await pattern_consolidate(fleet, no_progress)
    entries = [one.entry for one in await fleet.knowledge.all() if one.entry]
    (goes,) = [entry for entry in entries if entry.key != stays.key]
    pair = TwoEntries(goes, stays) if ends == "older" else TwoEntries(stays, goes)
    for entry in read_as_one(pair, "p"):
        await fleet.knowledge.update(entry.key, partial(_replaced, entry))
    assert (await erase(fleet, TEXT)).left == ()
    (left,) = [one.entry for one in await fleet.knowledge.all() if one.entry]
    assert left.provenance == stays.provenance
    assert (left.also, left.read_through, left.same_pair) == ((), None, None)


def _replaced(after: Entry, _before: Entry) -> Entry:
    return after


async def killed() -> None:
    raise StoreUnavailableError("The connection was cut.")


@pytest.mark.parametrize(
    "wanted", [TEXT, Wanted(program="basher"), Wanted(entry=KEY)], ids=["text", "program", "entry"]
)
async def test_a_purge_that_is_killed_anywhere_is_finished_by_the_next(
    machine: Machine, wanted: Wanted, tmp_path: Path
) -> None:
    killed_at, finished = 1, False
    while not finished:
        folder = tmp_path / f"killed-{killed_at}"
        folder.mkdir()
        other = Machine(folder)
        shutil.copy(machine.store, other.store)
        other.now = machine.now
        finished = await other.people(partial(_erase_killed, wanted, killed_at))
        other.later(1 / 24)  # the lease of a killed run ends
        if not finished:
            await other.people(lambda fleet: _erase_again(fleet, wanted))
        await other.people(lambda fleet: _assert_gone(fleet, wanted))
        if wanted is TEXT:
            assert holds(folder) == []
        # each commit of a purge is followed by one of the same kind, or tried by the other wishes
        killed_at += 2
    assert killed_at > 5


async def _erase_killed(wanted: Wanted, survived: int, fleet: Fleet) -> bool:
    commits = itertools.count()

    def is_next(_writes: Sequence[Write]) -> bool:
        return next(commits) == survived

    try:
        await erase(interrupted(fleet, is_next, killed), wanted)
    except StoreUnavailableError:
        return False
    return True


async def _erase_again(fleet: Fleet, wanted: Wanted) -> None:
    with suppress(KnowledgeNotFoundError):  # the entry is gone, and nothing of it is left
        assert (await erase(fleet, wanted)).left == ()


async def _assert_gone(fleet: Fleet, wanted: Wanted) -> None:
    assert await _is_clean(fleet, wanted)
    rows = {row.key: row.pattern for row in (await fleet.knowledge.snapshots.read()).rows}
    entries = {one.entry.key: one.entry for one in await fleet.knowledge.all() if one.entry}
    assert rows.keys() <= entries.keys()
    assert wanted.entry not in entries
    for entry in entries.values():
        assert wanted.program not in {line.program_id for line in entry.provenance}
    if wanted.program:
        assert not (await fleet.programs.read(wanted.program)).exists
    keys = {
        key
        for one in await fleet.programs.all()
        for lesson in one.program.patterns.values()
        for key in lesson.knowledge_keys
    }
    assert keys <= entries.keys()


async def _is_clean(fleet: Fleet, wanted: Wanted) -> bool:
    try:
        return (await preview_erasure(fleet, wanted)).is_empty
    except KnowledgeNotFoundError:
        return True


async def test_a_dry_run_writes_nothing_and_shows_how_much_goes_and_where(machine: Machine) -> None:
    before = bytes_of(machine)
    preview = await machine.people(lambda fleet: preview_erasure(fleet, TEXT))
    assert [preview.gone[kind] for kind in ("lessons", "entries")] == [3, 1]
    assert preview.changed["entries"] == 1
    assert preview.left == ()
    assert ONE in preview.texts
    assert bytes_of(machine) == before


async def test_the_ledger_keeps_who_why_and_how_much_and_hashes_of_names(machine: Machine) -> None:
    await machine.people(lambda fleet: erase(fleet, TEXT._replace(why="a customer asked")))
    found = await machine.people(documents)
    lines = [ledger_line(line) for line in found if line.ref.collection.endswith("/ledger")]
    (erased,) = [line for line in lines if line.event == "erased"]
    assert (erased.by, erased.key) == ("operator", "purge")
    assert erased.why.startswith("a customer asked: lessons 3, pairs 2, archive 1")
    assert {line.key for line in lines if line.event == "promoted"} == {
        hashed_key(KEY),
        "pattern/pumps/restart-pump-after-every-firmware-update",
    }


async def test_an_entry_whose_text_goes_ends_and_its_lessons_are_compared_anew(
    fleet: Fleet,
) -> None:
    await shared_entry(fleet, "basher", "iso", "sark")
    await maintain_fleet(fleet, no_progress)
    await erase(fleet, Wanted(program="basher", pattern="mine"))
    assert [one.entry for one in await fleet.knowledge.all() if one.entry] == []
    assert await published_keys(fleet) == []
    iso, sark = [await fleet.programs.read(name) for name in ("iso", "sark")]
    assert [one.patterns["mine"].knowledge_keys for one in (iso, sark)] == [(), ()]
    assert (await fleet.programs.read("basher")).patterns == {}
    await maintain_fleet(fleet, no_progress)
    (pair,) = [one for one in await fleet.pairs.all() if one.state == "open"]
    assert {pair.a.program_id, pair.b.program_id} == {"iso", "sark"}


async def test_an_entry_of_other_words_keeps_them_without_the_program(fleet: Fleet) -> None:
    await shared_entry(fleet, "basher", "iso", "sark")
    await erase(fleet, Wanted(program="iso"))
    entry = await fleet.knowledge.found(SHARED)
    assert [line.program_id for line in entry.provenance] == ["basher", "sark"]
    assert (entry.value.pattern, entry.value.contributors) == (LOOK, ("basher", "sark"))
    assert not (await fleet.programs.read("iso")).exists
    assert await published_keys(fleet) == [SHARED]


@pytest.mark.parametrize(("program", "event"), [("iso", "demoted"), ("sark", "left")])
async def test_the_ledger_records_that_an_entry_lost_votes_to_a_purge(
    fleet: Fleet, program: str, event: LedgerEvent
) -> None:
    programs = ("basher", "iso") if event == "demoted" else ("basher", "iso", program)
    await shared_entry(fleet, *programs)
    before = {
        line.ref for line in await fleet.knowledge.store.find(Query(fleet.knowledge.paths.ledger))
    }
    await erase(fleet, Wanted(program=program, why="left the team"))
    lines = await fleet.knowledge.store.find(Query(fleet.knowledge.paths.ledger))
    (entry,) = [one.entry for one in await fleet.knowledge.all() if one.entry]
    (noted,) = [
        one for one in lines if one.ref not in before and ledger_line(one).event != "erased"
    ]
    assert entry.ledger[-1] == noted.ref.id
    assert ledger_line(noted) == LedgerLine(
        event=event,
        key=entry.key,
        at=ledger_line(noted).at,
        by=PERSON,
        why="a purge erased contributions",
    )


async def test_the_name_of_an_erased_program_is_in_no_byte(tmp_path: Path) -> None:
    machine, name = Machine(tmp_path), "Vexnar"
    for program, text in (("basher", LOOK), ("iso", FREE), (name, LATE), ("sark", LOOK)):
        await machine.store_lesson(program, text, evidence="it was taken")
    for _ in range(3):
        for program in ("basher", "iso", name, "sark"):
            asked = (await machine.consolidate(program, programId=program))["toJudge"]
            verdicts = [{"pairId": pair["pairId"], "verdict": "same"} for pair in asked]
            await machine.consolidate(program, programId=program, verdicts=verdicts)
    (key, *_) = await machine.people(published_keys)
    await machine.say(name, key, "contradicted")
    await machine.people(lambda fleet: maintain_fleet(fleet, no_progress))
    assert holds(tmp_path, "vexnar") == ["life.db"]
    await machine.people(lambda fleet: erase(fleet, Wanted(program=name)))
    assert holds(tmp_path, "vexnar") == []
    await machine.people(lambda fleet: maintain_fleet(fleet, no_progress))
    assert holds(tmp_path, "vexnar") == []


@pytest.mark.parametrize(("program", "id_"), [("shop/reviewer", "vexnar"), ("shop", "ci/vexnar")])
@pytest.mark.parametrize("wanted", ["text", "program", "lesson"])
async def test_a_lesson_of_a_name_with_slashes_is_in_no_byte(
    tmp_path: Path, wanted: str, program: str, id_: str
) -> None:
    machine = Machine(tmp_path)
    await machine.store_lesson(program, ONE, id=id_)
    key = await machine.share(ONE, "basher", "iso")
    (line,) = (await machine.entry(key))["ledger"]
    assert f"{program}/{id_}" in line["patterns"]
    of, gone = {
        "text": (TEXT, ("vexnar", WORD)),
        "program": (Wanted(program=program), ("vexnar", program.rpartition("/")[2])),
        "lesson": (Wanted(program=program, pattern=id_), ("vexnar",)),
    }[wanted]
    assert [holds(tmp_path, word) for word in gone] == [["life.db"]] * len(gone)
    await machine.people(lambda fleet: erase(fleet, of))
    assert [holds(tmp_path, word) for word in gone] == [[]] * len(gone)


async def test_a_verdict_of_an_erased_program_counts_under_a_hash(fleet: Fleet) -> None:
    pair = await opened_pair(fleet, Lesson("basher", LOOK), Lesson("iso", FREE))
    verdict = Judgement(verdict="same", program_id="sark", at=fleet.now(), reason="both claim")
    await learnt(fleet, "sark", "Keep the cellar dry")
    (before,) = await fleet.pairs.read(pair.pair_id)
    await fleet.pairs.store.commit(fleet.pairs.write(before, replace(pair, judgements=(verdict,))))
    await erase(fleet, Wanted(program="sark"))
    (after,) = await fleet.pairs.read(pair.pair_id)
    assert after.pair
    name = f"erased-{digest('sark')[:6]}"
    assert after.pair.judgements == (replace(verdict, program_id=name, reason="(erased)"),)


async def test_a_key_that_others_equal_words_are_called_by_stays(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    key = await machine.share(LOOK, "basher", "iso", "sark")
    await machine.people(lambda fleet: erase(fleet, Wanted(program="basher")))
    assert (await machine.entry(key))["contributors"] == ["iso", "sark"]


async def test_lessons_of_others_in_equal_words_stay_theirs(fleet: Fleet) -> None:
    await learnt(fleet, "basher", LOOK)
    await learnt(fleet, "iso", LOOK)
    await erase(fleet, Wanted(program="basher"))
    assert (await fleet.programs.read("iso")).patterns["mine"].pattern == LOOK


@pytest.mark.parametrize("pattern", [None, "mine"])
async def test_a_program_of_another_spelling_stays_whole_and_is_named(
    fleet: Fleet, pattern: str | None
) -> None:
    await learnt(fleet, "basher", "Pin the compiler")
    await learnt(fleet, "Basher", LOOK)
    await shared_entry(fleet, "sark", "iso")
    before = await fleet.programs.read("Basher"), await fleet.knowledge.all()
    erased = await erase(fleet, Wanted(program="basher", pattern=pattern))
    assert (erased.alike, erased.left) == (("Basher",), ())
    assert (await fleet.programs.read("Basher"), await fleet.knowledge.all()) == before
    assert (await fleet.programs.read("basher")).patterns == {}


async def test_the_subagents_of_a_program_stay_and_are_named(fleet: Fleet) -> None:
    for program in ("shop", "shop/reviewer", "Shop/tester", "shopping"):
        await learnt(fleet, program, f"A lesson of {program}")
    erased = await erase(fleet, Wanted(program="shop"))
    assert erased.alike == ("Shop/tester", "shop/reviewer")
    one = await preview_erasure(fleet, Wanted(program="shop/reviewer", pattern="any"))
    assert one.alike == ()


async def test_a_contribution_of_another_spelling_stays(fleet: Fleet) -> None:
    entry = await shared_entry(fleet, "basher", "iso")
    await erase(fleet, Wanted(program="Basher"))
    assert await fleet.knowledge.found(SHARED) == entry


async def test_a_lesson_that_a_server_stores_during_a_purge_is_erased_in_the_next_look(
    fleet: Fleet,
) -> None:
    await learnt(fleet, "basher", f"The {WORD} build needs two cores")

    async def store_again() -> None:
        await learnt(fleet, "sark", f"The {WORD} build needs three cores")

    erased = await erase(interrupted(fleet, writing("maintenance"), store_again), TEXT)
    assert (erased.left, (await fleet.programs.read("sark")).patterns) == ((), {})


async def test_a_document_that_another_writes_at_that_moment_is_decided_again(fleet: Fleet) -> None:
    await learnt(fleet, "basher", f"The {WORD} build needs two cores")

    async def store_too() -> None:
        await learnt(fleet, "basher", "Pin the compiler", "pin")
        await learnt(fleet, "basher", f"Never build {WORD} at night", "night")

    erased = await erase(interrupted(fleet, deleting_lessons, store_too), TEXT)
    assert (erased.left, [*(await fleet.programs.read("basher")).patterns]) == ((), ["pin"])


def deleting_lessons(writes: Sequence[Write]) -> bool:
    return any(
        name.startswith("patterns.") and not each
        for one in writes
        for name, each in (one.fields or {}).items()
    )


async def test_a_program_that_is_called_so_is_named_as_left(fleet: Fleet) -> None:
    await learnt(fleet, WORD, "Pin the compiler")
    assert (await erase(fleet, TEXT)).left == (f"programs/{WORD}",)
    assert (await erase(fleet, Wanted(program=WORD))).left == ()
    assert (await preview_erasure(fleet, TEXT)).is_empty


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (Wanted(text="a  b"), "--text: at least 4 characters"),
        (Wanted(text="erased"), "no part of the mark"),
    ],
)
async def test_an_unclear_wish_is_refused(fleet: Fleet, wanted: Wanted, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        await preview_erasure(fleet, wanted)


async def test_an_unknown_entry_is_refused_with_close_keys(fleet: Fleet) -> None:
    await shared_entry(fleet, "basher", "iso")
    with pytest.raises(KnowledgeNotFoundError, match=SHARED):
        await erase(fleet, Wanted(entry=SHARED + "s"))


async def test_a_bound_program_may_not_purge(fleet: Fleet) -> None:
    with pytest.raises(ForbiddenError):
        await erase(replace(fleet, caller=Caller("basher")), TEXT)


@pytest.fixture
def command(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Run `fleet-memory purge` on the memory of the settings."""
    monkeypatch.setenv("FLEET_MEMORY_STORE", str(settings.store.words[0]))
    monkeypatch.setenv("FLEET_MEMORY_EMBEDDER", "lexical")
    monkeypatch.setenv("XDG_STATE_HOME", str(settings.store.words[0]) + ".state")
    anyio.run(
        with_fleet,
        settings,
        lambda fleet: learnt(fleet, "basher", f"The {WORD} build needs two cores"),
    )
    return lambda *words: main(["purge", *words])


def test_the_command_shows_counts_without_texts_and_asks(
    command: Callable[..., int], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert command("--text", WORD) == 1
    printed = capsys.readouterr()
    assert (printed.out, "pass --yes" in printed.err) == ("", True)
    assert "\nerased          lessons 1\n" in printed.err
    assert WORD not in printed.err
    assert command("--text", WORD, "--dry-run", "--show") == 0
    assert WORD in capsys.readouterr().out


def test_the_command_separates_erasures_from_changes(
    command: Callable[..., int], settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    async def live(fleet: Fleet) -> None:
        await shared_entry(fleet, "basher", "iso", "sark")
        await learnt(fleet, "iso", "Keep the pump dry", f"of-{WORD}")

    anyio.run(with_fleet, settings, live)
    assert command("--program", "iso", "--dry-run") == 0
    assert capsys.readouterr().out.splitlines() == [
        "dryRun          yes",
        "erased          lessons 2, programs 1",
        "changed         ledger 1, entries 1, snapshots 1",
        "left            none",
        "otherSpellings  none",
    ]
    assert command("--text", WORD, "--dry-run") == 0
    assert capsys.readouterr().out.splitlines()[1:3] == [
        "erased          none",
        "changed         programs 1",
    ]


def test_the_command_erases_and_reports_it_as_json(
    command: Callable[..., int], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert command("--text", WORD, "--yes", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "dryRun": False,
        "erased": {"lessons": 1},
        "changed": {"programs": 1},
        "left": [],
        "otherSpellings": [],
        "scrubbed": True,
    }
    assert holds(tmp_path) == []


def test_hooks_on_this_machine_forget_a_purged_program(
    command: Callable[..., int], tmp_path: Path
) -> None:
    state, mine = user_state(), {"root": str(tmp_path), "name": "Basher"}
    state.claim("programs", "basher", mine)
    for session, program in (("s1", "basher"), ("s2", "iso")):
        state.write("sessions", session, {"program": program})
    assert command("--program", "basher", "--yes") == 0
    other = {"root": str(tmp_path / "other"), "name": "basher"}
    assert state.claim("programs", "basher", other) == other
    assert (state.read("sessions", "s1"), state.read("sessions", "s2")) == ({}, {"program": "iso"})


@pytest.mark.parametrize("wanted", [("--text", WORD), ("--program", "iso")], ids=" ".join)
def test_no_hook_on_this_machine_knows_or_brings_back_what_was_purged(
    wanted: tuple[str, str], command: Callable[..., int], settings: Settings
) -> None:
    def hook(event: str) -> str:
        given = {"session_id": "s1", "cwd": "/src/iso", "source": "startup"}
        return anyio.run(answer_hook, settings, event, given, user_state())

    call = {
        "hook_event_name": "PreToolUse",
        "session_id": "s1",
        "tool_input": {"command": f"{WORD} build needs two cores"},
    }
    hook("SessionStart")
    moments = Path(str(user_state().folder)) / "moments"
    (moments / ".s1.json.abc.fleet-memory").write_text(WORD, encoding="utf-8")  # of a killed start
    assert "basher saw" in answer_call(call, user_state().folder)
    append(moments / "s1.another.told", json.dumps(["iso", "of another memory", 0]))
    assert command(*wanted, "--yes") == 0
    assert [file.name for file in moments.iterdir()] == ["s1.another.told"]
    hook("Stop")

    async def shown(fleet: Fleet) -> Mapping[str, datetime]:
        return (await fleet.programs.read("iso")).shown

    assert anyio.run(with_fleet, settings, shown) == {}


@pytest.mark.parametrize(
    "wanted", [("--text", "nowhere"), ("--program", "clu"), (SHARED,)], ids=" ".join
)
@pytest.mark.parametrize("how", ["--yes", "--dry-run"])
def test_the_command_answers_no_where_there_is_nothing_to_erase(
    wanted: tuple[str, ...],
    how: str,
    command: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command(*wanted, how) == 1
    printed = capsys.readouterr()
    assert printed.out + printed.err != ""


def test_a_name_that_show_takes_names_a_lesson_or_an_entry(
    command: Callable[..., int], settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    async def read(fleet: Fleet) -> tuple[list[str], Sequence[str]]:
        programs = [await fleet.programs.read(name) for name in ("basher", "iso")]
        return [one.program_id for one in programs if one.patterns], await published_keys(fleet)

    key = anyio.run(with_fleet, settings, lambda fleet: shared_entry(fleet, "iso", "sark")).key
    assert command("basher/mine", "--yes", "--json") == 0
    assert json.loads(capsys.readouterr().out)["erased"]["lessons"] == 1
    assert anyio.run(with_fleet, settings, read) == (["iso"], [key])
    assert command(key, "--yes") == 0
    assert anyio.run(with_fleet, settings, read) == ([], [])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mine"], "mine: whose lesson?"),
        ([], "--text, --program: give one of them"),
        (["basher/mine", "--program", "basher"], "--text, --program: give one of them"),
        (["--text", WORD, "--program", "basher"], "--text, --program: give one of them"),
        (["--program", "basher/mine", "--yes"], "One lesson: fleet-memory purge basher/mine"),
    ],
)
def test_a_target_in_a_wrong_form_is_refused_with_the_right_one(
    words: list[str], message: str, command: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(*words) != 0
    assert message in "".join(capsys.readouterr())


def test_a_text_comes_from_stdin_too(
    command: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{WORD}\n"))
    assert command("--text", "-", "--yes") == 0
    assert "\nerased          lessons 1\n" in capsys.readouterr().out
    assert holds(tmp_path) == []


def test_the_command_reports_that_another_process_keeps_the_free_space(
    command: Callable[..., int],
    settings: Settings,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SqliteStore.__init__, "__kwdefaults__", {"wait_s": 0.2})
    with closing(sqlite3.connect(settings.store.words[0], isolation_level=None)) as reader:
        reader.execute("begin")
        reader.execute("select count(*) from docs").fetchone()
        assert command("--text", WORD, "--yes") == 1
        assert "Another process keeps the memory file in use" in capsys.readouterr().out
    assert (
        command("--text", WORD, "--yes") == 1
    )  # it was erased by then, and leaves the free space now
    assert capsys.readouterr().out.endswith("\nNothing in this memory holds it.\n")


PLACES = st.sampled_from(
    ["pattern", "evidence", "note", "handoff", "config", "tag", "missing", "domain", "archived"]
)


@settings_of(max_examples=examples(5), deadline=None)
@given(
    places=st.lists(
        st.tuples(st.sampled_from(["basher", "iso", "sark"]), PLACES), min_size=1, max_size=6
    )
)
def test_a_text_in_any_places_is_found_in_no_byte_afterwards(places: list[tuple[str, str]]) -> None:
    with TemporaryDirectory() as folder:
        machine = Machine(Path(folder))

        async def story() -> None:
            async with machine.connection() as client:
                for number, (program, place) in enumerate(places):
                    await put(client, program, place, number)
            erased = await machine.people(lambda fleet: erase(fleet, TEXT))
            assert (erased.left, erased.is_scrubbed) == ((), True)
            assert (await machine.people(lambda fleet: preview_erasure(fleet, TEXT))).is_empty

        anyio.run(story)
        assert holds(Path(folder)) == []


RARE = (
    "zorvex",
    "quillam",
    "brundle",
    "tarnok",
    "vispel",
    "ombrage",
    "fennic",
    "dolvert",
    "skarnel",
    "plimsor",
)
PLAIN = ("the", "is", "in", "of", "always")


@st.composite
def texts_with_needles(draw: st.DrawFn) -> tuple[str, str]:
    """Return a text of rare and plain words, and a part of it with a rare word."""
    words = draw(st.lists(st.sampled_from(RARE), min_size=2, max_size=9, unique=True))
    mixed = [
        each
        for word in words
        for each in (*draw(st.lists(st.sampled_from(PLAIN), max_size=2)), word)
    ]
    start = draw(st.integers(0, len(mixed) - 1))
    end = draw(st.integers(start + 1, len(mixed)))
    assume(any(word in RARE for word in mixed[start:end]))
    return " ".join(mixed), " ".join(mixed[start:end])


@settings_of(max_examples=examples(8), deadline=None)
@given(texts_with_needles(), st.sampled_from(["stored", "rewritten", "published"]))
def test_neither_words_nor_names_of_a_purged_text_are_in_any_byte(
    found: tuple[str, str], place: str
) -> None:
    text, needle = found
    with TemporaryDirectory() as folder:
        machine = Machine(Path(folder))

        async def story() -> None:
            stored = await machine.store_lesson("basher", text)
            other = await machine.store_lesson("iso", "Keep the cellar dry in winter")
            if place == "rewritten":
                await machine.store_lesson("basher", "Air the cellar", id=stored["patternId"])
            if place == "published":
                await machine.share(text, "iso")
            erased = await machine.people(lambda fleet: erase(fleet, Wanted(text=needle)))
            assert (erased.left, erased.is_scrubbed) == ((), True)
            assert (
                other["patternId"]
                in (await machine.people(lambda fleet: fleet.programs.read("iso"))).patterns
            )

        anyio.run(story)
        made = [slug(text)] if place != "rewritten" else []
        gone = [*(word for word in needle.split() if word in RARE), *made]
        assert [word for word in gone if holds(Path(folder), word)] == []


@pytest.mark.parametrize(
    "mark", ["\u00ad", "\u200b", "\u200d", "\u2060", "\ufe0f", "\u3164", "\u034f", "\U000e0061"]
)
async def test_an_invisible_mark_hides_no_text(fleet: Fleet, mark: str) -> None:
    await learnt(fleet, "basher", f"The night{mark}jar build needs two cores")
    await learnt(fleet, "iso", f"Restart the pump{mark}")
    erased = await erase(fleet, Wanted(text=f"night{mark}{mark}jar"))
    assert (erased.texts, erased.left) == ({f"The night{mark}jar build needs two cores"}, ())
    assert (await fleet.programs.read("basher")).patterns == {}
    assert "mine" in (await fleet.programs.read("iso")).patterns
    assert (await preview_erasure(fleet, TEXT)).is_empty


async def test_a_text_that_is_the_name_of_a_field_is_no_field(fleet: Fleet) -> None:
    stays = await learnt(fleet, "iso", "Keep the cellar dry")
    await learnt(fleet, "basher", "Write the evidence down")
    assert (await erase(fleet, Wanted(text="evidence"))).left == ()
    assert (await fleet.programs.read("iso")).patterns == {"mine": stays}
    assert (await fleet.programs.read("basher")).patterns == {}


async def test_an_archived_lesson_of_an_entry_that_ends_stays(fleet: Fleet) -> None:
    await shared_entry(fleet, "basher", "iso")
    await forget_memory(fleet, "iso", "mine", "no use")
    (record,) = [archive_record(one) for one in await fleet.programs.archive.of_program("iso")]
    assert isinstance(record, Archived)
    forgotten = Archived(
        program_id="iso",
        pattern=replace(record.pattern, knowledge_keys=(SHARED,)),
        reason="cap",
        at=record.at + timedelta(days=1),
    )
    await fleet.programs.store.commit(fleet.programs.archive.write(forgotten))
    await erase(fleet, Wanted(entry=SHARED))
    rows = [row["text"] for row in await list_archive(fleet, "iso")]
    assert rows == [record.pattern.pattern] * 2
    assert SHARED not in repr(await documents(fleet))


async def test_a_word_goes_with_the_lesson_that_it_is_from(fleet: Fleet) -> None:
    entry = await shared_entry(fleet, "basher", "iso")
    words = [
        Word(program_id="sark", outcome="confirmed", at=fleet.now(), evidence=text, lesson=lesson)
        for text, lesson in (("seen at noon", "goes"), ("seen at night", ""))
    ]
    await fleet.knowledge.update(entry.key, partial(_replaced, replace(entry, words=tuple(words))))
    await learnt(fleet, "sark", "Feed the swallows", "goes")
    await erase(fleet, Wanted(program="sark", pattern="goes"))
    assert (await fleet.knowledge.found(entry.key)).words == (words[1],)


async def test_a_showing_of_a_text_that_retention_deleted_outlives_the_purge_of_another(
    fleet: Fleet,
) -> None:
    left, named = "Left the archive long ago", "Left it too, and is named now"
    await learnt(fleet, "basher", f"Feed the {WORD}")
    await learnt(fleet, "iso", "Keep the cellar dry")
    shown = {text_hash(text): fleet.now() for text in (f"Feed the {WORD}", left, named)}
    await fleet.programs.update(
        "iso", lambda program: ProgramChange(replace(program, shown=shown)), fleet.now()
    )
    await erase(fleet, TEXT)
    assert {*(await fleet.programs.read("iso")).shown} == {text_hash(left), text_hash(named)}
    await erase(fleet, Wanted(text=named))
    assert {*(await fleet.programs.read("iso")).shown} == {text_hash(left)}


async def test_a_showing_of_an_earlier_text_of_an_entry_goes_with_its_pair(fleet: Fleet) -> None:
    earlier = f"Feed the {WORD} at dusk"
    opened = await opened_pair(fleet, Lesson("basher", "Keep the cellar dry"), Lesson("iso", LOOK))
    (versioned,) = await fleet.pairs.read(opened.pair_id)
    assert versioned.pair is not None
    side = replace(versioned.pair.b, pattern_id="", key="pattern/birds/feed", text=earlier)
    write = fleet.pairs.write(versioned, replace(versioned.pair, b=side))
    await fleet.programs.store.commit(write)
    shown = {text_hash(earlier): fleet.now()}
    await fleet.programs.update(
        "iso", lambda program: ProgramChange(replace(program, shown=shown)), fleet.now()
    )
    await erase(fleet, TEXT)
    assert text_hash(earlier) not in repr(await documents(fleet))


@pytest.mark.parametrize("survived", range(14))
async def test_a_killed_purge_leaves_no_showing_of_a_text_that_it_erased(
    fleet: Fleet, survived: int
) -> None:
    goes = text_hash(f"Feed the {WORD}")
    await learnt(fleet, "basher", f"Feed the {WORD}")
    await learnt(fleet, "iso", "Keep the cellar dry")
    await fleet.programs.update(
        "iso",
        lambda program: ProgramChange(replace(program, shown={goes: fleet.now()})),
        fleet.now(),
    )
    await _erase_killed(TEXT, survived, fleet)
    await erase(at(fleet, fleet.now() + timedelta(hours=1)), TEXT)
    assert goes not in repr(await documents(fleet))


async def test_what_others_make_during_a_purge_keeps_its_names(fleet: Fleet) -> None:
    await opened_pair(fleet, Lesson("basher", f"Feed the {WORD}"), Lesson("iso", ONE))

    async def share() -> None:
        await shared_entry(fleet, "sark", "ram")

    erased = await erase(interrupted(fleet, deleting("pairs"), share), TEXT)
    (entry,) = [one.entry for one in await fleet.knowledge.all() if one.entry]
    lessons = [(await fleet.programs.read(name)).patterns["mine"] for name in ("sark", "ram")]
    assert (erased.left, [one.knowledge_keys for one in lessons]) == ((), [(entry.key,)] * 2)


class Moving(ForwardingStore):
    """A store on which a program forgets its lesson in a look, once the archive was read."""

    def __init__(self, fleet: Fleet) -> None:
        super().__init__(fleet.store)
        self._fleet, self._is_begun, self._is_over = fleet, False, False

    async def find(self, query: Query) -> list[Document]:
        found = await super().find(query)
        is_read = self._is_begun and query.collection.endswith("/archive")
        if is_read and not self._is_over:
            self._is_over = True
            await forget_memory(self._fleet, "basher", "mine", "it moved house")
        return found

    async def commit(self, *writes: Write) -> datetime:
        self._is_begun = self._is_begun or writing("maintenance")(writes)
        return await super().commit(*writes)


async def test_a_lesson_that_is_forgotten_during_a_purge_keeps_its_name_in_the_ledger(
    fleet: Fleet,
) -> None:
    await shared_entry(fleet, "basher", "iso")
    await learnt(fleet, "sark", f"Feed the {WORD}")
    erased = await erase(on(fleet, Moving(fleet)), TEXT)
    lines = [ledger_line(each) for each in await fleet.knowledge.ledger.latest("at", 50)]
    named = {name for line in lines for name in line.patterns}
    assert (erased.left, named) == ((), {"basher/mine", "iso/mine"})


def deleting(group: str) -> Callable[[Sequence[Write]], bool]:
    return lambda writes: any(
        one.fields is None and one.ref.collection.endswith(f"/{group}") for one in writes
    )


async def test_the_evidence_of_a_word_about_an_entry_goes(fleet: Fleet) -> None:
    entry = await shared_entry(fleet, "basher", "iso")
    evidence = "the nightjar build went on without it"
    await reinforce_memory(fleet, "sark", entry.key, outcome="contradicted", evidence=evidence)
    await erase(fleet, TEXT)
    assert [document.ref.id for document in await documents(fleet) if WORD in repr(document)] == []


async def test_a_text_inside_the_words_of_a_name_is_not_in_it(fleet: Fleet) -> None:
    await learnt(fleet, "basher", "Keep the cellar dry", "misc-1750-x")
    assert (await preview_erasure(fleet, Wanted(text="C 17!"))).is_empty
    await learnt(fleet, "basher", "Keep the pump dry", "model-c-17-x")
    await erase(fleet, Wanted(text="C 17!"))
    ids = (await fleet.programs.read("basher")).patterns
    assert ("misc-1750-x" in ids, "model-c-17-x" in ids, len(ids)) == (True, False, 2)


async def test_a_name_of_a_text_that_stays_keeps_its_words(fleet: Fleet) -> None:
    stays = "Never restart the scheduler during a backup window"
    await learnt(fleet, "basher", f"{stays}, says {WORD}", "with-it")
    await learnt(fleet, "iso", stays, slug(stays))
    await erase(fleet, Wanted(text=f"{stays}, says {WORD}"))
    assert [*(await fleet.programs.read("iso")).patterns] == [slug(stays)]
    assert (await fleet.programs.read("basher")).patterns == {}


async def put(client: Client, program: str, place: str, number: int) -> None:
    """Let a program keep the word in one place, in a spelling of its own."""
    word = (WORD, WORD.upper(), f"Night\u00adjar {WORD}", f"{WORD}s")[number % 4]
    lesson = {
        "pattern": f"Use tool {number} for builds",
        "domain": "ci",
        "confidence": 0.8,
        "evidence": "",
    }
    state: dict[str, dict[str, object]] = {
        "handoff": {"contextSummary": {"handoffNotes": f"mind {word}"}},
        "config": {"config": {word: [word]}},
    }
    match place:
        case "note":
            await called(client, "write_note", programId=program, text=f"mind {word}")
        case "missing":
            await called(client, "commit_session", programId=program, missing=[f"what is {word}?"])
        case "handoff" | "config":
            await called(client, "update_program_state", programId=program, **state[place])
        case _:
            name = "pattern" if place == "archived" else place
            lesson |= {"tags": [word]} if place == "tag" else {name: f"{word} {number}"}
            stored = await called(client, "store_memory", programId=program, pattern=lesson)
            if place == "archived":
                gone = {"programId": program, "patternId": stored["patternId"], "reason": word}
                await called(client, "forget_memory", **gone)


async def test_a_domain_and_a_project_of_that_name_go_and_the_entry_stays(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    await machine.share(
        "Keep the cellar dry", "basher", "iso", domain=WORD, projectId=WORD, id=f"{WORD}-1"
    )
    await machine.people(lambda fleet: erase(fleet, TEXT))
    (entry,) = [
        one.entry for one in await machine.people(lambda fleet: fleet.knowledge.all()) if one.entry
    ]
    assert (entry.value.pattern, entry.value.domain, entry.project_id) == (
        "Keep the cellar dry",
        "erased",
        None,
    )
    (lesson,) = (await machine.people(lambda fleet: fleet.programs.read("iso"))).patterns.values()
    assert (lesson.domain, lesson.project_id, lesson.knowledge_keys) == (
        "erased",
        None,
        (entry.key,),
    )
    assert [line.pattern_id for line in entry.provenance] == [lesson.id, lesson.id]
    assert holds(tmp_path) == []


async def test_a_rule_of_the_house_goes_with_its_text(fleet: Fleet) -> None:
    rules = {"constitution/birds": Seed(text=f"Never wake the {WORD}", domain="birds")}
    await seed_rules(fleet, rules, prune=False)
    assert (await erase(fleet, TEXT)).gone["entries"] == 1
    assert (await fleet.knowledge.all(), (await fleet.knowledge.snapshots.read()).rows) == ([], ())


async def test_an_entry_that_comes_back_under_its_key_is_erased_again(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    for other in ("Heat the cellar", "Air the cellar"):
        text = f"Deploy {WORD} by night"
        key = await machine.share(text, "basher", "iso")
        pair = await machine.people(partial(joined_by_judgement, key, other))
        assert pair
        erased = await machine.people(lambda fleet: erase(fleet, TEXT))
        assert erased.left == ()
    entries = [
        one.entry for one in await machine.people(lambda fleet: fleet.knowledge.all()) if one.entry
    ]
    assert entries == []
    assert holds(tmp_path) == []


async def joined_by_judgement(key: str, text: str, fleet: Fleet) -> bool:
    """Let a third program's lesson of other words be a contribution of an entry."""
    pattern = await learnt(fleet, "ram", text, text_hash(text))
    policy = await fleet.policies.read(fleet.now())
    lesson = JoiningLesson(await fleet.programs.read("ram"), pattern, similarity=0.7)

    def join(entry: Entry) -> Entry:
        joined = with_lesson(replace(entry, publications=()), lesson)
        return settled(entry, joined, policy, fleet.now())

    await change_entry(fleet, key, join, by="judge")
    await fleet.programs.update(
        "ram",
        lambda program: ProgramChange(with_membership(program, pattern.id, key, is_member=True)),
        fleet.now(),
    )
    return True


async def test_a_document_that_cannot_be_read_is_named(fleet: Fleet) -> None:
    await learnt(fleet, "basher", f"Feed the {WORD}")
    broken = Write(
        fleet.pairs.paths.pair("broken"), {"state": "open", "text": f"{{ {WORD}"}, ABSENT
    )
    await fleet.pairs.store.commit(broken)
    assert (await erase(fleet, TEXT)).left == ("pairs/broken cannot be read: ValidationError",)


async def test_a_lesson_that_was_rewritten_since_stays_under_another_id(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    await machine.share(f"Deploy {WORD} by night", "basher", "iso", id="by-night")
    await machine.store_lesson("basher", "Deploy by night", id="by-night", change="reworded")
    await machine.people(lambda fleet: erase(fleet, TEXT))
    (lesson,) = (
        await machine.people(lambda fleet: fleet.programs.read("basher"))
    ).patterns.values()
    assert (lesson.pattern, lesson.knowledge_keys, lesson.earlier) == ("Deploy by night", (), ())
    assert (await machine.people(lambda fleet: fleet.programs.read("iso"))).patterns == {}
    assert await machine.people(lambda fleet: fleet.knowledge.all()) == []
    assert holds(tmp_path) == []


async def test_earlier_shards_of_the_snapshot_go_too(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("fleet_memory.repositories.snapshots.MAX_SNAPSHOT_SHARD_BYTES", 100)
    for text in ("Keep the cellar dry", "Feed the swallows at noon"):
        for program in ("basher", "iso"):
            await machine.store_lesson(program, text, evidence=f"{program} saw it fail")
        await machine.consolidate()
    shards = [
        one.ref.id
        for one in await machine.people(documents)
        if one.ref.collection.endswith("/snapshots")
    ]
    assert len(shards) > 4
    await machine.people(lambda fleet: erase(fleet, TEXT))
    assert holds(tmp_path) == []
    async with machine.connection() as fresh:
        text = await answers(fresh)
        assert ("swallows" in text, "cellar" in text, WORD in text) == (True, True, False)


async def test_a_year_in_a_text_is_no_year_of_a_time(machine: Machine) -> None:
    await machine.store_lesson("basher", "The licence ends in 2026")
    before = await machine.people(documents)
    erased = await machine.people(lambda fleet: erase(fleet, Wanted(text="2026")))
    assert (erased.gone, erased.changed, erased.left) == ({"lessons": 1}, {"programs": 1}, ())
    after = {one.ref for one in await machine.people(documents)}
    assert {
        one.ref for one in before if one.ref.collection.endswith(("/archive", "/history"))
    } <= after
