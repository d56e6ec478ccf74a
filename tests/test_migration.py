"""A memory that numbers merged is migrated whole, under concurrent writes; data:
emulator-tests/data.
"""

from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path

import pytest

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.fenced_writer import FencedWriter
from fleet_memory.jobs.migration import Migrated, migrate
from fleet_memory.rules.knowledge.state import doubts, entry_state
from fleet_memory.rules.text.keys import pair_id, text_hash
from fleet_memory.schemas.pairs import Judgement
from fleet_memory.stores import Json, Ref, Store, Write
from fleet_memory.stores.sqlite import SqliteStore
from tests.older import (
    HTTP,
    MERGED,
    RETRY_3,
    RETRY_30,
    SPRING,
    TASK,
    entries,
    everything,
    fleet_of,
    migrated,
    unpacked,
)

pytestmark = pytest.mark.anyio

DNS = "pattern/networking/cache-dns-answers-whole-day-every"
MIGRATE = "pattern/deploys/run-database-migration-before-deploy-never"
REVIEWS = "pattern/reviews/keep-each-pull-request-under-400"
FLAKY = "pattern/tests/retry-flaky-test-only-while-ticket"
SPLIT = "A pull request of more than 400 changed lines is not read, so split it"
SMALL = "Keep each pull request under 400 changed lines, or nobody reads it"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = SqliteStore(unpacked(MERGED, tmp_path / "memory.db"))
    yield opened
    await opened.close()


@pytest.fixture
def fleet(store: Store) -> Fleet:
    return fleet_of(store)


async def test_every_document_of_the_version_before_is_converted_and_counted(fleet: Fleet) -> None:
    assert await migrated(fleet) == Migrated(
        entries=9,
        programs=4,
        verdicts_kept=4,
        verdicts_dropped=1,
        pairs_opened=4,
        derived_deleted=13,
    )
    after = await everything(fleet)
    assert not [path for path in after if "/waiting/" in path]
    old = {"status", "contradictions", "touched", "retired", "knowledgeSeen", "verdictsBefore"}
    assert not [path for path, fields in after.items() if old & fields.keys()]
    assert after["fleets/default"] == {"schema": 2}


async def test_an_entry_keeps_its_state_and_is_verify_where_numbers_merged_it(fleet: Fleet) -> None:
    await migrated(fleet)
    states = {
        key: (entry_state(one, SPRING), *doubts(one)) for key, one in (await entries(fleet)).items()
    }
    assert states == {
        "constitution/ask-first": ("fresh",),
        "pattern/deploys/drain-worker-before-restart": ("fresh",),
        MIGRATE: ("contested",),
        "pattern/git/never-force-push-shared-branch": ("fresh",),
        HTTP: ("fresh",),
        DNS: ("retired",),
        REVIEWS: ("verify", "unjudged"),
        TASK: ("verify", "unjudged"),
        FLAKY: ("verify", "unjudged"),
    }


async def test_each_contribution_names_its_basis(fleet: Fleet) -> None:
    await migrated(fleet)
    known = await entries(fleet)
    bases = {
        key: [(one.program_id, one.pattern_id, one.basis) for one in known[key].provenance]
        for key in (HTTP, TASK, MIGRATE)
    }
    assert bases == {
        HTTP: [
            ("basher", "timeout", "text"),
            ("sark", "deadline", "judged"),
            ("iso", "bound", "judged"),
        ],
        TASK: [
            ("basher", "claim-race", "unjudged"),
            ("iso", "look", "text"),
            ("sark", "verify", "unjudged"),
        ],
        MIGRATE: [("basher", "migrate", "equal_words"), ("iso", "migrate", "text")],
    }


async def test_an_entry_was_published_at_its_first_line_of_the_ledger(
    fleet: Fleet, store: Store
) -> None:
    (first, later) = await store.get(
        *(fleet.knowledge.paths.ledger_line(f"{HTTP}#{version}") for version in (1, 2))
    )
    assert first is not None
    assert later is not None
    await migrated(fleet)
    entry = (await entries(fleet))[HTTP]
    assert entry.published_at == datetime.fromisoformat(str(first.fields["at"]))
    assert entry.value.last_promoted == datetime.fromisoformat(str(later.fields["at"]))
    assert [line.event for line in await fleet.knowledge.ledger.newest(entry, 5)] == [
        "promoted",
        "attached",
    ]


async def test_an_entry_without_its_first_line_was_published_when_promoted_last(
    fleet: Fleet, store: Store
) -> None:
    await store.commit(Write(fleet.knowledge.paths.ledger_line(f"{HTTP}#1"), None))
    await migrated(fleet)
    entry = (await entries(fleet))[HTTP]
    assert entry.published_at == entry.value.last_promoted


async def test_contradictions_become_words_and_retired_entries_stay_retired(fleet: Fleet) -> None:
    await migrated(fleet)
    entry = (await entries(fleet))[DNS]
    assert [(word.program_id, word.outcome, word.evidence) for word in entry.words] == [
        ("quorra", "contradicted", "An outage lasted a day"),
        ("basher", "contradicted", "An outage lasted a day"),
    ]
    assert entry.retired_at is not None
    assert entry.retired_at >= entry.words[-1].at


async def test_an_unjudged_contribution_is_asked_of_its_program_and_of_the_oldest_other(
    fleet: Fleet,
) -> None:
    await migrated(fleet)
    (versioned,) = await fleet.pairs.read(pair_id(text_hash(SPLIT), text_hash(SMALL)))
    pair = versioned.pair
    assert pair is not None
    assert (pair.a.program_id, pair.a.pattern_id, pair.a.text, pair.a.key) == (
        "basher",
        "split",
        SPLIT,
        None,
    )
    assert (pair.b.program_id, pair.b.key, pair.b.text) == ("sark", REVIEWS, SMALL)
    assert (pair.state, pair.cosine, pair.judgements, pair.opened_at) == ("open", 0.813, (), SPRING)
    assert {one.pair_id for one in await fleet.pairs.asked_of("sark")} == {
        line.pair
        for entry in (await entries(fleet)).values()
        for line in entry.provenance
        if line.basis == "unjudged"
    }


async def test_a_stored_verdict_is_a_closed_pair_that_is_not_asked_again(fleet: Fleet) -> None:
    await migrated(fleet)
    (versioned,) = await fleet.pairs.read(pair_id(text_hash(RETRY_3), text_hash(RETRY_30)))
    pair = versioned.pair
    assert pair is not None
    judged = Judgement(
        verdict="different", program_id="unbound", at=pair.opened_at, reason="3 is not 30"
    )
    assert (pair.state, pair.judgements) == ("different", (judged,))
    assert await fleet.pairs.count_open() == 4
    assert len(await fleet.pairs.asking()) == 4


async def test_a_stored_same_that_no_entry_shows_is_asked_again(fleet: Fleet, store: Store) -> None:
    await altered(store, fleet.programs.paths.program("basher"), '"same":false', '"same":true')
    await altered(store, fleet.programs.paths.program("sark"), '"verdicts"', '"none"')
    await migrated(fleet)
    (versioned,) = await fleet.pairs.read(pair_id(text_hash(RETRY_3), text_hash(RETRY_30)))
    assert versioned.pair is not None
    assert versioned.pair.state == "open"
    assert versioned.pair_id in {one.pair_id for one in await fleet.pairs.asked_of("sark")}


async def altered(store: Store, program: Ref, text: str, other: str) -> None:
    """Replace a text in every pattern of a program's document."""
    (document,) = await store.get(program)
    assert document is not None
    patterns = document.fields["patterns"]
    assert isinstance(patterns, dict)
    after: dict[str, Json] = {name: str(one).replace(text, other) for name, one in patterns.items()}
    await store.commit(Write(program, {"patterns": after}, document.revision))


async def test_lessons_in_no_entry_are_pending_and_an_echo_stays_one(fleet: Fleet) -> None:
    await migrated(fleet)
    programs = {one.program.program_id: one.program for one in await fleet.programs.all()}
    assert {name: set(program.pending) for name, program in programs.items()} == {
        "basher": {"retry"},
        "iso": {"batch", "migrate", "pin"},
        "quorra": {"last"},
        "sark": {"pin", "retry"},
    }
    echo = programs["quorra"].patterns["echo"]
    assert (echo.knowledge_key, echo.echo, echo.promoted) == (TASK, True, False)
    assert [note.text for note in programs["basher"].notes.values()] == ["Port 8085 is taken"]
    assert programs["basher"].context_summary["lastTask"] == {
        "taskId": "t1",
        "title": "Claim queue",
        "outcome": "done",
    }


async def test_a_second_run_changes_nothing(fleet: Fleet) -> None:
    await migrated(fleet)
    before = await everything(fleet)
    assert await migrated(fleet) == Migrated()
    assert await everything(fleet) == before


async def test_a_dry_run_counts_and_writes_nothing(fleet: Fleet) -> None:
    before = await everything(fleet)
    counted = await migrate(fleet, FencedWriter(fleet))
    assert await everything(fleet) == before
    assert await migrated(fleet) == counted
