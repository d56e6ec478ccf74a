"""A migration that is interrupted, that comes late, or that meets bad documents; data:
emulator-tests/data.
"""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fleet_memory.errors import InvalidArgumentError, OutcomeUnknownError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.migration import needs_migration
from fleet_memory.rules.knowledge.state import entry_state
from fleet_memory.rules.knowledge.words import with_confirmation
from fleet_memory.rules.lifecycle.reinforcement import reinforced
from fleet_memory.rules.text.keys import pair_id, text_hash
from fleet_memory.schemas.knowledge import Word
from fleet_memory.schemas.programs import Archived, Program
from fleet_memory.schemas.value import Value
from fleet_memory.server.forwarding_store import ForwardingStore
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores import ABSENT, Document, Ref, Store, Write
from fleet_memory.stores.sqlite import SqliteStore
from tests.moving import bring
from tests.older import (
    HTTP,
    MERGED,
    OLDEST,
    RETRY_3,
    RETRY_30,
    SPRING,
    TASK,
    entries,
    everything,
    exported,
    fleet_of,
    migrated,
    unpacked,
)

pytestmark = pytest.mark.anyio

TODAY = datetime(2026, 12, 1, 12, tzinfo=UTC)  # after the older memories were made


class ChangedProgram(Value):
    """A program after a change that archives nothing."""

    program: Program
    archived: tuple[Archived, ...] = ()


class Failing(ForwardingStore):
    """A store whose n-th commit fails, before it is applied or after; commits of nothing but a
    lease do not count.
    """

    def __init__(self, store: Store, nth: int, *, is_applied: bool) -> None:
        super().__init__(store)
        self.left = nth
        self._is_applied = is_applied

    async def commit(self, *writes: Write) -> datetime:
        if all(write.ref.collection.endswith("/leases") for write in writes):
            return await super().commit(*writes)
        self.left -= 1
        if self.left:
            return await super().commit(*writes)
        if self._is_applied:
            await super().commit(*writes)
        raise OutcomeUnknownError("The store did not confirm the last write.")


class Counting(ForwardingStore):
    """A store that counts its reads of single documents."""

    reads = 0

    async def get(self, *refs: Ref) -> list[Document | None]:
        self.reads += len(refs)
        return await super().get(*refs)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = SqliteStore(unpacked(MERGED, tmp_path / "memory.db"))
    yield opened
    await opened.close()


@pytest.fixture
def fleet(store: Store) -> Fleet:
    return fleet_of(store)


@pytest.mark.parametrize("version", [MERGED, OLDEST])
@pytest.mark.parametrize("is_applied", [False, True])
async def test_a_run_that_ends_at_any_commit_is_continued_by_the_next(
    version: str, tmp_path: Path, *, is_applied: bool
) -> None:
    whole = fleet_of(SqliteStore(unpacked(version, tmp_path / "whole.db")))
    await migrated(whole)
    expected = await everything(whole)
    await whole.programs.store.close()
    ended = False
    nth = 0
    while not ended:
        nth += 1
        real = SqliteStore(unpacked(version, tmp_path / f"{nth}.db"))
        failing = Failing(real, nth, is_applied=is_applied)
        try:
            await migrated(fleet_of(failing))
        except OutcomeUnknownError:
            await entries(fleet_of(real))  # it opens
        ended = failing.left > 0
        await migrated(fleet_of(real))
        assert await everything(fleet_of(real)) == expected, f"commit {nth}"
        await real.close()
    assert nth > 10


async def test_an_entry_that_a_word_changed_before_is_migrated_like_the_others(
    fleet: Fleet,
) -> None:
    word = Word(program_id="iso", outcome="confirmed", at=SPRING, evidence="Seen again")
    for key in (TASK, HTTP):
        await fleet.knowledge.update(
            key,
            lambda entry: with_confirmation(entry, word),
            by="iso",
            why=word.evidence,
            now=SPRING,
        )
    changed = await entries(fleet)
    first = {key: changed[key].published_at for key in (TASK, HTTP)}
    await migrated(fleet)
    known = await entries(fleet)
    assert {key: known[key].published_at for key in first} == first
    assert [line.basis for line in known[HTTP].provenance] == ["text", "judged", "judged"]
    assert known[TASK].words == (word,)
    assert await fleet.pairs.count_open() == 4


async def test_a_verdict_outlives_a_change_of_its_lesson_before_the_migration(fleet: Fleet) -> None:
    def confirmed(program: Program) -> ChangedProgram:
        lesson = reinforced(
            program.patterns["retry"], now=SPRING, confidence=None, evidence="Again"
        )
        return ChangedProgram(
            program=replace(program, patterns={**program.patterns, "retry": lesson})
        )

    for name in ("basher", "sark"):
        await fleet.programs.update(name, confirmed, SPRING)
    assert (await migrated(fleet)).verdicts_kept == 4
    (versioned,) = await fleet.pairs.read(pair_id(text_hash(RETRY_3), text_hash(RETRY_30)))
    assert versioned.pair is not None
    assert versioned.pair.state == "different"
    assert "verdictsBefore" not in (await everything(fleet))["fleets/default/programs/basher"]


async def test_documents_that_cannot_be_read_are_named_and_the_others_go_on(
    fleet: Fleet, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="fleet_memory")
    paths = fleet.programs.paths
    await store.commit(
        Write(
            paths.program("flynn"),
            {"programId": "flynn", "knowledgeSeen": 1, "patterns": "none"},
            ABSENT,
        ),
        Write(
            paths.entry("pattern/odd"),
            {"key": "pattern/odd", "status": "active", "version": "x"},
            ABSENT,
        ),
    )
    result = await migrated(fleet)
    assert set(result.skipped) == {
        "fleets/default/gsp/pattern_2f_odd",
        "fleets/default/programs/flynn",
    }
    assert (result.entries, result.programs) == (9, 4)
    (line,) = [
        line
        for line in caplog.messages
        if line.startswith("migrated the memory of an older version: entries 9")
    ]
    assert line.endswith(", skipped 2")
    assert not await needs_migration(fleet)


async def test_whether_there_is_anything_to_migrate_is_read_once(store: Store) -> None:
    counting = Counting(store)
    fleet = fleet_of(counting)
    assert await needs_migration(fleet)
    await migrated(fleet)
    counting.reads = 0
    assert not await needs_migration(fleet)
    assert not await needs_migration(fleet)
    assert counting.reads == 1


async def test_a_rule_of_copies_keeps_the_votes_that_published_it(
    fleet: Fleet, store: Store
) -> None:
    ref = fleet.knowledge.paths.entry("pattern/git/never-force-push-shared-branch")
    (document,) = await store.get(ref)
    assert document is not None
    lines = json.loads(json.dumps(document.fields["provenance"]))
    for line in lines:
        line["evidence"] = "A branch was lost on Monday morning"
    await store.commit(Write(ref, {"provenance": lines}, document.revision))
    await migrated(fleet)
    entry = (await entries(fleet))["pattern/git/never-force-push-shared-branch"]
    assert (entry_state(entry, SPRING), entry.threshold) == ("fresh", 1)


async def test_an_empty_fleet_that_takes_an_older_file_over_is_migrated_again(
    store: Store, tmp_path: Path
) -> None:
    other = Fleet.on(store, "other", Lexical(), lambda: TODAY)
    await migrated(other)
    file = exported(OLDEST, tmp_path / "memory.jsonl")
    assert (await bring(other, file)).written > 4
    assert (await bring(other, file)).written == 0
    assert await needs_migration(Fleet.on(store, "other", Lexical(), lambda: TODAY))
    assert (await migrated(other)).programs == 4
    assert not await needs_migration(Fleet.on(store, "other", Lexical(), lambda: TODAY))


async def test_an_older_file_is_not_merged_into_a_memory_and_the_refusal_names_the_way(
    fleet: Fleet, store: Store, tmp_path: Path
) -> None:
    await migrated(fleet)
    before = await everything(fleet)
    with pytest.raises(
        InvalidArgumentError, match=r"import it into an empty fleet \(--fleet NAME\)"
    ):
        await bring(fleet_of(store, TODAY), exported(OLDEST, tmp_path / "memory.jsonl"))
    assert await everything(fleet) == before
