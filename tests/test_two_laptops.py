"""Two laptops with programs of the same names go into one store and back: nothing of either is
missing anywhere.

`FLEET_MEMORY_HISTORIES=2000` takes so many pairs of lives, others each time, for a nightly run.
"""

import os
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import anyio
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.check import check_memory
from fleet_memory.repositories.records import archive_record
from fleet_memory.rules.text.keys import pair_id, text_hash
from fleet_memory.schemas.programs import Archived, ArchivedNote
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores import Query
from fleet_memory.tools.state import ContextSummary, update_program_state, write_note
from tests.histories import START, Json
from tests.moving import bring, export_to
from tests.random_histories import OWN, SHARED, histories
from tests.real_fleet import FLEET, RealFleet
from tests.test_random_histories import live_real

NIGHTLY = os.environ.get("FLEET_MEMORY_HISTORIES")
EXAMPLES = int(NIGHTLY or 8)  # the same ones each time, unless it is night
PHASES = [*Phase] if NIGHTLY else [Phase.explicit, Phase.generate]  # shrinking takes minutes
END = START + timedelta(days=3_650)  # later than any history

Contributed = tuple[str, str, str, str]
Steps = Sequence[tuple[Json, datetime]]


class Memory(NamedTuple):
    """A fleet's knowledge, in use or in the archive; the texts of lessons, entries and handovers as
    hashes of words.

    `members` has each lesson with the words of its entry, None for none.
    """

    lessons: set[tuple[str, str, str]]
    notes: set[tuple[str, str]]
    handovers: set[tuple[str, str]]
    contributions: set[Contributed]
    first_stores: set[tuple[Contributed, datetime]]
    members: set[tuple[str, str, str | None]]
    judges: set[tuple[str, str | None]]
    ledger: set[str]

    def missing_from(self, other: "Memory") -> dict[str, set[object]]:
        """Return, by kind, the parts that the other has not."""
        both = zip(self._asdict().items(), other._asdict().values(), strict=True)
        missing: dict[str, set[object]] = {name: mine - theirs for (name, mine), theirs in both}
        return {name: parts for name, parts in missing.items() if parts}


@st.composite
def lives(draw: st.DrawFn) -> Steps:
    """Return a history with notes and handovers between its steps."""
    steps = list(draw(histories()))
    written = st.tuples(
        st.sampled_from(("basher", "iso")), st.sampled_from(("note", "handover")), st.integers(0, 9)
    )
    for program, kind, number in draw(st.lists(written, max_size=6)):
        place = draw(st.integers(0, len(steps) - 1))
        steps.insert(
            place, ({"do": kind, "program": program, "text": f"{kind} {number}"}, steps[place][1])
        )
    return steps


class Laptop:
    """A store of its own, with the file that its memory moves in."""

    def __init__(self, folder: Path, name: str) -> None:
        self.real = RealFleet(folder / f"{name}.db")
        self.file = folder / f"{name}.jsonl"

    @property
    def fleet(self) -> Fleet:
        return self.at(END)

    def at(self, moment: datetime) -> Fleet:
        return Fleet.on(self.real.store_, FLEET, Lexical(), lambda: moment)

    async def live(self, steps: Steps) -> None:
        for step, at in steps:
            match step["do"]:
                case "note":
                    await write_note(self.at(at), step["program"], step["text"])
                case "handover":
                    summary = ContextSummary.model_validate({"handoffNotes": step["text"]})
                    await update_program_state(
                        self.at(at), step["program"], context_summary=summary
                    )
                case _:
                    await live_real(
                        self.real, step | ({"answers": []} if "answers" in step else {}), at
                    )

    async def memory(self) -> Memory:
        fleet = self.fleet
        programs = [one.program for one in await fleet.programs.all()]
        store, paths = fleet.programs.store, fleet.programs.paths
        archive = [archive_record(one) for one in await store.find(Query(paths.archive))]
        lessons = [
            (one.program_id, pattern) for one in programs for pattern in one.patterns.values()
        ]
        lessons += [
            (line.program_id, line.pattern) for line in archive if isinstance(line, Archived)
        ]
        notes = [(one.program_id, note.text) for one in programs for note in one.notes.values()]
        notes += [
            (line.program_id, line.note.text) for line in archive if isinstance(line, ArchivedNote)
        ]
        past = [
            summary for one in programs for summary in await fleet.programs.history.newest(one, 50)
        ]
        entries = [one.entry for one in await fleet.knowledge.all() if one.entry]
        texts = {one.key: text_hash(one.value.pattern) for one in entries}
        pairs = [
            pair
            for one in (await store.find(Query(paths.pairs)))
            if (pair := await fleet.pairs.read(one.ref.id))
        ]
        first_stores = {
            (
                (
                    text_hash(entry.value.pattern),
                    line.program_id,
                    line.pattern_id,
                    text_hash(line.pattern),
                ),
                line.stored_at or line.discovered_at,
            )
            for entry in entries
            for line in entry.provenance
        }
        return Memory(
            lessons={(program, one.id, text_hash(one.pattern)) for program, one in lessons},
            notes=set(notes),
            handovers={(one.program_id, str(one.context_summary)) for one in past},
            contributions={line for line, _ in first_stores},
            first_stores=first_stores,
            members={
                (program, one.id, texts.get(one.knowledge_key or "")) for program, one in lessons
            },
            judges={
                (one.pair_id, judgement.program_id)
                for versioned in pairs
                for one in (versioned[0].pair,)
                if one
                for judgement in one.judgements
            },
            ledger={one.ref.id for one in await store.find(Query(paths.ledger))},
        )

    async def takes_out(self, contribution: Contributed, before: Sequence[Memory]) -> bool:
        """Whether a verdict, or the other laptop's copy of the lesson or of its program, takes a
        contribution out.

        The copy has another text under the lesson's id, has it in another entry, or its program was
        shown a text of the entry before it stored the lesson.
        """
        words, program_id, pattern_id, own = contribution
        (found,) = await self.fleet.pairs.read(pair_id(words, own))
        pair = found.pair
        if pair is not None and pair.state not in ("same", "gone") and pair.judgements:
            return True
        program = await self.fleet.programs.read(program_id)
        lesson = program.patterns.get(pattern_id)
        others = [memory for memory in before if contribution not in memory.contributions]
        if lesson is None or not others:
            return False
        if text_hash(lesson.rewrite.voting_text if lesson.rewrite else lesson.pattern) != own:
            is_theirs = any(
                (program_id, pattern_id, lesson.words) in memory.lessons for memory in others
            )
            if is_theirs or not lesson.echo:  # an echo keeps its newest text alone
                return is_theirs
        entries = [one.entry for one in await self.fleet.knowledge.all() if one.entry]
        place = next(
            (text_hash(one.value.pattern) for one in entries if one.key == lesson.knowledge_key),
            None,
        )
        if place != words:
            return any((program_id, pattern_id, place) in memory.members for memory in others)
        texts = {
            words,
            *(line[3] for memory in before for line in memory.contributions if line[0] == words),
        }
        stored = min(
            at for memory in before for line, at in memory.first_stores if line == contribution
        )
        return lesson.echo and any(at < stored for text in texts if (at := program.shown.get(text)))

    async def take(self, other: "Laptop") -> int:
        """Merge the other's file, and return how many documents changed."""
        return (await bring(self.fleet, other.file)).written


async def move_there_and_back(folder: Path, first: Steps, second: Steps) -> None:
    async with AsyncExitStack() as stack:
        one, two, hub = (Laptop(folder, name) for name in ("one", "two", "hub"))
        for laptop in (one, two, hub):
            stack.push_async_callback(laptop.real.close)
        await one.live(first)
        await two.live(second)
        before = [await one.memory(), await two.memory()]
        for laptop in (one, two):
            await export_to(laptop.fleet, laptop.file)
            await hub.take(laptop)
        assert (await hub.take(one), await hub.take(two)) == (0, 0)
        await export_to(hub.fleet, hub.file)
        for laptop in (one, two):
            await laptop.take(hub)
            assert await laptop.take(hub) == 0
        for place in (hub, one, two):
            after = await place.memory()
            for memory in before:
                contributions = memory.contributions - after.contributions
                assert [
                    line for line in contributions if not await place.takes_out(line, before)
                ] == []
                assert (
                    memory._replace(
                        contributions=set(), first_stores=set(), members=set()
                    ).missing_from(after)
                    == {}
                )
            await place.real.propose(END)
            assert (await check_memory(place.real.store_, FLEET, Lexical())).healthy


def life(*steps: Json, days: int = 0) -> Steps:
    """Return steps a minute apart, that many days after the start."""
    return [
        (step, START + timedelta(days=days, minutes=number)) for number, step in enumerate(steps)
    ]


def stored(program: str, text: str = SHARED) -> Json:
    usual = {"evidence": "", "session": None, "connection": None, "confidence": 0.7}
    return {"do": "store", "program": program, "lesson_id": "shared", "text": text, **usual}


@example(  # iso rewrote its lesson after the other laptop had shown it the text that votes
    life(
        stored("iso"),
        stored("basher"),
        {"do": "propose"},
        stored("iso", OWN["iso"][1]),
        {"do": "verdict", "judge": "iso", "one": ["rewrite", "iso", "shared"], "verdict": "same"},
        days=91,
    ),
    life(
        stored("iso", OWN["iso"][0]),
        stored("sark"),
        stored("basher"),
        {"do": "propose"},
        {"do": "show", "program": "iso", "text": SHARED},
    ),
)
@given(lives(), lives())
@settings(max_examples=EXAMPLES, phases=PHASES, suppress_health_check=list(HealthCheck))
def test_two_laptops_and_the_store_between_them_have_all_that_either_learnt(
    first: Steps, second: Steps
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(move_there_and_back, Path(folder), first, second)
