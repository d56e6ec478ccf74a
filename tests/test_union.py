"""Two memories united: order, doubling and direction change no fact and no view."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Literal, NamedTuple, TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from fleet_memory.rules.entries import (
    JoiningLesson,
    candidate_of,
    entry_for,
    recorded_state,
    settled,
    with_word,
)
from fleet_memory.rules.pairs import (
    DraftDocuments,
    authored_sides,
    decided,
    sides_in_order,
    with_judgement,
    with_member,
)
from fleet_memory.rules.text.keys import pair_id, text_hash
from fleet_memory.rules.union import (
    MemoryDocuments,
    ProgramCopy,
    keys_here,
    united,
    united_program,
    with_earned_standing,
    with_keys,
)
from fleet_memory.schemas.knowledge import Word
from fleet_memory.schemas.pairs import Judgement, Pair, Side, Verdict
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import PastSummary, Program
from tests.bounds import examples

START = datetime(2026, 3, 7, tzinfo=UTC)
END = START + timedelta(days=100)
POLICY = Policy()
PROGRAMS = ("basher", "iso", "sark", "shop/reviewer")
TEXTS = ("Pin the compiler", "Pin each compiler", "Keep the cellar dry", "The cellar must be dry")

Store: TypeAlias = tuple[Literal["store"], str, str, int]
Judge: TypeAlias = tuple[Literal["judge"], str, tuple[int, int], Verdict]
Say: TypeAlias = tuple[Literal["say"], str, int, Literal["confirmed", "contradicted"]]
Step: TypeAlias = Store | Judge | Say


class Memory(NamedTuple):
    """A memory as documents, without a store."""

    documents: MemoryDocuments = MemoryDocuments()

    def after(self, step: Step, at: datetime) -> "Memory":
        match step:
            case ("store", name, id_, text):
                return self._stored(name, id_, TEXTS[text], at)
            case ("judge", name, (a, b), verdict):
                return self._judged(name, TEXTS[a], TEXTS[b], verdict, at)
            case (_, name, text, outcome):
                return self._said(name, TEXTS[text], outcome, at)

    def _stored(self, name: str, id_: str, text: str, at: datetime) -> "Memory":
        programs, entries, _ = self.documents
        program = programs.get(name, Program(program_id=name))
        known = program.patterns.get(id_)
        if known and known.pattern == text:
            return self
        lesson = Pattern(
            id=id_,
            domain="builds",
            pattern=text,
            confidence=0.8,
            evidence=f"{name} saw it",
            discovered_at=at,
            last_reinforced=at,
            stored_at=at,
            words=text_hash(text),
        )
        program = replace(program, patterns={**program.patterns, id_: lesson}, last_update=at)
        documents = DraftDocuments({**programs, name: program}, entries)
        holders = [
            (each, one)
            for each in documents.programs.values()
            for one in each.patterns.values()
            if one.pattern == text
        ]
        if len({each.program_id for each, _ in holders}) > 1:
            first, pattern = min(holders, key=lambda one: (one[1].stored_at, one[0].program_id))
            entry = entry_for(candidate_of(JoiningLesson(first, pattern), POLICY), entries)
            documents = documents.with_entry(entry)
            for each, one in holders:
                holder = documents.programs[each.program_id]
                joined = JoiningLesson(holder, one, "equal_words")
                documents = with_member(documents, joined, entry.key)
        return self._settled(documents, at)

    def _judged(self, name: str, a: str, b: str, verdict: Verdict, at: datetime) -> "Memory":
        programs, entries, pairs = self.documents
        sides = []
        for text in (a, b):
            entry = next((one for one in entries.values() if one.value.pattern == text), None)
            of = [
                (program.program_id, one.id)
                for program in programs.values()
                for one in program.patterns.values()
                if one.pattern == text
            ]
            if not of or a == b:
                return self
            key = entry.key if entry else None
            sides.append(
                Side(program_id=of[0][0], pattern_id=of[0][1], key=key, domain="builds", text=text)
            )
        id_ = pair_id(text_hash(a), text_hash(b))
        one, other = sides_in_order(*sides)
        pair = pairs.get(id_, Pair(pair_id=id_, a=one, b=other, opened_at=at))
        program = programs.get(name, Program(program_id=name))
        own = authored_sides(pair, program, entries)
        pair = with_judgement(pair, Judgement(verdict=verdict, program_id=name, at=at, sides=own))
        documents = DraftDocuments({**programs, name: program}, entries)
        after = self._settled(decided(pair, documents, POLICY).documents, at)
        return Memory(after.documents._replace(pairs={**pairs, id_: pair}))

    def _said(
        self, name: str, text: str, outcome: Literal["confirmed", "contradicted"], at: datetime
    ) -> "Memory":
        programs, entries, _ = self.documents
        entry = next((one for one in entries.values() if one.value.pattern == text), None)
        if entry is None:
            return self
        word = Word(program_id=name, outcome=outcome, at=at, evidence=f"{name} saw it again")
        documents = DraftDocuments(programs, {**entries, entry.key: with_word(entry, word)})
        return self._settled(documents, at)

    def _settled(self, documents: DraftDocuments, at: datetime) -> "Memory":
        before = self.documents
        entries = {
            key: settled(before.entries.get(key), entry, POLICY, at)
            for key, entry in documents.entries.items()
        }
        return Memory(MemoryDocuments(documents.programs, entries, before.pairs))

    def with_all_of(self, other: "Memory") -> "Memory":
        """Return this memory after an import of the other."""
        mine, theirs = self.documents, other.documents
        keys = keys_here(theirs.entries.values(), mine.entries)
        programs = {
            name: united_program(
                ProgramCopy(mine.programs.get(name, Program(program_id=name))),
                ProgramCopy(theirs.programs.get(name, Program(program_id=name))),
                (),
                50,
                END,
                overwrite=False,
            ).program
            for name in {**mine.programs, **theirs.programs}
        }
        entries = {
            keys[entry.key]: replace(
                with_earned_standing(entry, POLICY, with_rules=False), key=keys[entry.key]
            )
            for entry in theirs.entries.values()
        }
        pairs = {id_: with_keys(pair, keys) for id_, pair in theirs.pairs.items()}
        after = united(
            mine._replace(programs=programs), MemoryDocuments({}, entries, pairs), {}, POLICY, END
        )
        return Memory(after)

    def view(self) -> dict[str, object]:
        """Return the memory as agents and people see it, without what names a store's own order."""
        programs, entries, pairs = self.documents
        return {
            "lessons": {
                (name, one.id, one.pattern, one.knowledge_keys)
                for name, program in programs.items()
                for one in program.patterns.values()
            },
            "entries": {
                key: (
                    one.value.pattern,
                    recorded_state(one),
                    one.value.contributors,
                    {(line.program_id, line.pattern_id, line.pattern) for line in one.provenance},
                    {(word.program_id, word.outcome, word.at) for word in one.words},
                    one.read_through,
                )
                for key, one in entries.items()
            },
            "pairs": {
                id_: (one.state, {(each.program_id, each.verdict) for each in one.judgements})
                for id_, one in pairs.items()
            },
        }

    def facts(self) -> set[object]:
        """Return the words, and the lessons that joined without a verdict: no import loses them."""
        entries = self.documents.entries.values()
        lines = [line for entry in entries for line in entry.provenance if line.pair is None]
        words = [word for entry in entries for word in entry.words if word.pair is None]
        return {
            *((line.program_id, line.pattern_id, line.pattern) for line in lines),
            *((word.program_id, word.outcome, word.at) for word in words),
        }


steps = st.one_of(
    st.tuples(
        st.just("store"),
        st.sampled_from(PROGRAMS),
        st.sampled_from(("mine", "other")),
        st.integers(0, 3),
    ),
    st.tuples(
        st.just("judge"),
        st.sampled_from(PROGRAMS),
        st.sampled_from(((0, 1), (1, 2), (2, 3), (0, 3))),
        st.sampled_from(("same", "different", "contradict", "unsure")),
    ),
    st.tuples(
        st.just("say"),
        st.sampled_from(PROGRAMS),
        st.integers(0, 3),
        st.sampled_from(("confirmed", "contradicted")),
    ),
)


def lived(memory: Memory, some: Sequence[Step], start: int) -> Memory:
    for number, step in enumerate(some):
        memory = memory.after(step, START + timedelta(hours=start + 2 * number))
    return memory


def changed(memory: Memory, before: Memory) -> list[object]:
    """Return the documents that an import wrote."""
    kinds = zip(memory.documents, before.documents, strict=True)
    return [
        (old.get(key), document)
        for new, old in kinds
        for key, document in new.items()
        if document is not old.get(key) and document != old.get(key)
    ]


@given(st.lists(steps, max_size=6), st.lists(steps, max_size=10), st.lists(steps, max_size=10))
@settings(max_examples=examples(40), deadline=None)
def test_order_doubling_and_direction_give_one_view(
    common: list[Step], first: list[Step], second: list[Step]
) -> None:
    past = lived(Memory(), common, 0)
    one, other = lived(past, first, 100), lived(past, second, 101)
    here, there = one.with_all_of(other), other.with_all_of(one)
    assert here.view() == there.view()
    assert one.facts() | other.facts() <= here.facts()
    assert changed(here.with_all_of(other), here) == []
    assert changed(here.with_all_of(one), here) == []
    assert here.with_all_of(there).view() == here.view()


def test_the_history_of_a_full_program_keeps_its_newest_summaries() -> None:
    first = PastSummary(
        program_id="basher", number=0, version=1, at=START, context_summary={"handoffNotes": "x"}
    )
    mine = [replace(first, number=day, at=START + timedelta(days=day)) for day in range(3)]
    between = replace(first, at=START + timedelta(hours=36))
    program = Program(program_id="basher", summaries=3)
    after = united_program(
        ProgramCopy(program, mine), ProgramCopy(program, [between]), (), 3, END, overwrite=False
    )
    assert after.program.summaries == 3
    assert after.records == (replace(mine[1], number=0), replace(between, number=1))
