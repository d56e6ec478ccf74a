"""Lost answers of commits are settled by reading: nothing happens twice, and nothing that was
applied is denied.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from fleet_memory.errors import ConflictError, OutcomeUnknownError, StoreUnavailableError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.repositories.retrying import commit_settled
from fleet_memory.repositories.snapshots import ABSENT_ENTRY
from fleet_memory.rules.lifecycle.state import Noted, new_note, with_note
from fleet_memory.schemas.knowledge import Entry, EntryValue
from fleet_memory.schemas.programs import Program
from fleet_memory.stores import Document, Query, Ref, Store, Write
from tests.entries import published_at
from tests.fleets import at, learn
from tests.lessons import START
from tests.wrapped import ForwardingStore

pytestmark = pytest.mark.anyio

LOST = OutcomeUnknownError("The store did not confirm the last write.")
KEY = "pattern/ci/pin"


class LosingAnswers(ForwardingStore):
    """A store whose first commits each meet a fate: "applied" or "dropped" before the answer is
    lost, or "late".

    A "late" commit is applied when the next one arrives.
    """

    def __init__(self, store: Store, *fates: str, unreadable: int = 0) -> None:
        super().__init__(store)
        self._fates = list(fates)
        self._late: Sequence[Write] = ()
        self._unreadable = unreadable
        self.sent = 0

    async def get(self, *refs: Ref) -> list[Document | None]:
        if self.sent and self._unreadable:
            self._unreadable -= 1
            raise StoreUnavailableError("The store does not answer; nothing was written.")
        return await super().get(*refs)

    async def commit(self, *writes: Write) -> datetime:
        self.sent += 1
        if self._late:
            late, self._late = self._late, ()
            await super().commit(*late)
        fate = self._fates.pop(0) if self._fates else ""
        if fate == "late":
            self._late = writes
        elif fate != "dropped":
            at = await super().commit(*writes)
        if fate:
            raise LOST
        return at


def on(fleet: Fleet, store: Store) -> Fleet:
    return Fleet.on(store, "default", fleet.embedder, fleet.now, fleet.caller)


def losing(fleet: Fleet, *fates: str, unreadable: int = 0) -> tuple[Fleet, LosingAnswers]:
    store = LosingAnswers(fleet.programs.store, *fates, unreadable=unreadable)
    return on(fleet, store), store


async def note(fleet: Fleet, text: str) -> None:
    def change(program: Program) -> Noted:
        return with_note(program, new_note(program, text, START, pinned=False), START)

    await fleet.programs.update("basher", change, START)


async def notes(fleet: Fleet) -> list[str]:
    return [one.text for one in (await fleet.programs.read("basher")).notes.values()]


@pytest.mark.parametrize(
    ("fates", "sent"),
    [
        (("applied",), 1),
        (("dropped",), 2),
        (("dropped", "dropped", "applied"), 3),
        (("late",), 2),
        (("late", "dropped"), 2),
    ],
    ids=str,
)
async def test_a_change_whose_answer_is_lost_happens_once(
    fleet: Fleet, fates: tuple[str, ...], sent: int
) -> None:
    await note(fleet, "first")
    unsteady, store = losing(fleet, *fates)
    await note(unsteady, "second")
    assert (await notes(fleet), store.sent) == (["first", "second"], sent)


async def test_the_first_store_of_a_program_happens_once_too(fleet: Fleet) -> None:
    for fate in ("dropped", "applied"):
        unsteady, _ = losing(fleet, fate)
        await note(unsteady, fate)
    assert await notes(fleet) == ["dropped", "applied"]


async def test_a_change_that_another_overtook_is_decided_again(fleet: Fleet) -> None:
    await note(fleet, "first")

    class Overtaken(LosingAnswers):
        async def commit(self, *writes: Write) -> datetime:
            if not self.sent:
                await note(fleet, "of another")
            return await super().commit(*writes)

    await note(on(fleet, Overtaken(fleet.programs.store, "dropped")), "second")
    assert await notes(fleet) == ["first", "of another", "second"]


async def test_a_change_that_another_followed_before_it_was_settled_happens_once(
    fleet: Fleet,
) -> None:
    await note(fleet, "first")

    class Followed(LosingAnswers):
        async def get(self, *refs: Ref) -> list[Document | None]:
            if self.sent == 1:
                await note(fleet, "of another")
            return await super().get(*refs)

    await note(on(fleet, Followed(fleet.programs.store, "applied")), "second")
    assert await notes(fleet) == ["first", "second", "of another"]


async def test_a_document_that_another_left_the_same_settles_nothing_about_the_others(
    fleet: Fleet,
) -> None:
    lessons = fleet.programs.paths.program("basher"), fleet.programs.paths.program("sark")
    store = fleet.programs.store
    await store.commit(*(Write(ref, {"pending": 0}) for ref in lessons))
    known = [document.revision for document in await store.get(*lessons) if document]
    marked = Write(lessons[0], {"pending": 1}, known[0])

    class Overtaken(LosingAnswers):
        async def get(self, *refs: Ref) -> list[Document | None]:
            await store.commit(marked)
            return await super().get(*refs)

    with pytest.raises(ConflictError):
        await commit_settled(
            Overtaken(store, "dropped"), marked, Write(lessons[1], {"run": 7}, known[1])
        )


async def test_a_store_that_stays_silent_is_reported_as_unknown_not_as_unwritten(
    fleet: Fleet,
) -> None:
    silent, store = losing(fleet, *["dropped"] * 9)
    with pytest.raises(OutcomeUnknownError):
        await note(silent, "never")
    assert store.sent == 5
    unreadable, _ = losing(fleet, "applied", unreadable=1)
    with pytest.raises(OutcomeUnknownError):
        await note(unreadable, "applied all the same")
    assert await notes(fleet) == ["applied all the same"]


async def test_a_commit_of_several_programs_is_settled_as_one(fleet: Fleet) -> None:
    for fate in ("applied", "dropped"):
        unsteady, _ = losing(fleet, fate)
        before = await fleet.programs.read_versioned("basher", "sark")
        changes = [
            write
            for one in before
            for write in fleet.programs.writes(one, replace(one.program, run=one.program.run + 1))
        ]
        await commit_settled(unsteady.store, *changes)
    programs = [one.program for one in await fleet.programs.read_versioned("basher", "sark")]
    assert [one.run for one in programs] == [2, 2]


async def test_a_commit_that_lost_its_race_is_a_conflict(fleet: Fleet) -> None:
    (before,) = await fleet.programs.read_versioned("basher")
    await note(fleet, "of another")
    with pytest.raises(ConflictError):
        await commit_settled(
            fleet.store, *fleet.programs.writes(before, replace(before.program, run=1))
        )


@pytest.mark.parametrize("fate", ["applied", "dropped", "late"])
async def test_a_word_about_an_entry_counts_once(fleet: Fleet, fate: str) -> None:
    value = EntryValue(
        pattern="Pin it",
        domain="ci",
        confidence=0.8,
        contributors=(),
        evidence_count=0,
        first_discovered=START,
        last_promoted=START,
    )
    entry = Entry(key=KEY, value=value, publications=published_at(START), last_confirmed=START)
    await fleet.programs.store.commit(
        *fleet.knowledge.writes(ABSENT_ENTRY, entry, by="operator", why="", now=START)
    )
    unsteady, _ = losing(fleet, fate)
    await unsteady.knowledge.update(
        KEY, lambda known: replace(known, confirmations=known.confirmations + 1)
    )
    assert (await fleet.knowledge.found(KEY)).confirmations == 1


@pytest.mark.parametrize("fate", ["applied", "dropped"])
async def test_a_run_of_maintenance_that_loses_answers_does_its_work_once(
    fleet: Fleet, fate: str
) -> None:
    for program in ("basher", "sark"):
        await learn(fleet, program, "Pin every action to a commit")
    fates = [
        "",
        fate,
    ] * 20  # the first commit takes the lease, and a lease without an owner is not waited for
    unsure, _ = losing(at(fleet, fleet.now() + timedelta(minutes=1)), *fates)
    done = await maintain_fleet(unsure, no_progress)
    (entry,) = await fleet.knowledge.all()
    assert entry.entry is not None
    assert (done.promoted, done.skipped) == ((entry.entry.key,), ())
    assert (
        len(await fleet.knowledge.store.find(Query(fleet.knowledge.paths.collection("ledger"))))
        == 1
    )
    assert [row.key for row in (await fleet.knowledge.snapshots.read()).rows] == [entry.entry.key]
