"""Invariants of a fleet's documents at every moment, with any process killed, and their content to
compare.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from fleet_memory.fleet import Fleet
from fleet_memory.repositories.pairs import versioned_pair
from fleet_memory.repositories.records import ledger_line
from fleet_memory.rules.entries import doubts, recorded_state
from fleet_memory.rules.pairs import questions, ruling
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.knowledge import Entry, EntryState, LedgerEvent, LedgerLine
from fleet_memory.schemas.pairs import Pair, Side
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program
from fleet_memory.stores import Document, Query

# The states that an entry may be in after each event that changes its state
STATES_AFTER: Final[Mapping[LedgerEvent, Sequence[EntryState]]] = {
    "promoted": ("fresh", "verify"),
    "confirmed": ("fresh", "verify"),
    "reinstated": ("fresh", "verify"),
    "contradicted": ("contested",),
    "retired": ("retired",),
    "demoted": ("candidate",),
}
OF_THE_FLEET: Final = ("erased", "policy")  # events that no entry names


class Documents(NamedTuple):
    """Everything that a fleet knows."""

    programs: Mapping[str, Program]
    entries: Mapping[str, Entry]
    pairs: Sequence[tuple[Document, Pair]]
    ledger: Mapping[str, LedgerLine]

    def lesson(self, program_id: str, pattern_id: str) -> Pattern | None:
        program = self.programs.get(program_id)
        return program.patterns.get(pattern_id) if program else None


async def read_documents(fleet: Fleet) -> Documents:
    store, paths = fleet.programs.store, fleet.knowledge.paths
    pairs = await store.find(Query(paths.pairs))
    lines = await store.find(Query(paths.collection("ledger")))
    return Documents(
        programs={one.program.program_id: one.program for one in await fleet.programs.all()},
        entries={one.entry.key: one.entry for one in await fleet.knowledge.all() if one.entry},
        pairs=[(document, pair) for document in pairs if (pair := versioned_pair(document).pair)],
        ledger={line.ref.id: ledger_line(line) for line in lines},
    )


async def broken(fleet: Fleet) -> list[str]:
    """Return a sentence for each invariant that does not hold."""
    documents = await read_documents(fleet)
    return [
        *_members(documents),
        *_contributions(documents),
        *_ledger(documents),
        *_pairs(documents),
    ]


def _members(documents: Documents) -> Iterator[str]:
    for program in documents.programs.values():
        for pattern in program.patterns.values():
            name = f"{program.program_id}/{pattern.id}"
            for key in pattern.knowledge_keys:
                entry = documents.entries.get(key)
                if entry is None:
                    yield f"{name} is in an entry that does not exist: {key}"
                    continue
                read = documents.entries.get(entry.read_through or "", entry)
                lines = [(line.program_id, line.pattern_id) for line in read.provenance]
                if (program.program_id, pattern.id) not in lines:
                    yield f"{name} and {entry.key} disagree whether it contributes"


def _contributions(documents: Documents) -> Iterator[str]:
    for entry in documents.entries.values():
        for line in entry.provenance:
            lesson = documents.lesson(line.program_id, line.pattern_id)
            name = f"{line.program_id}/{line.pattern_id} in {entry.key}"
            if lesson is None:
                continue
            if (line.of or entry.key) not in lesson.knowledge_keys:
                yield f"{name} is a contribution of a lesson that is elsewhere"
            if text_hash(line.pattern) not in lesson.texts:
                yield f"{name} votes with another text"


def _ledger(documents: Documents) -> Iterator[str]:
    named = [line_id for entry in documents.entries.values() for line_id in entry.ledger]
    if sorted(named) != sorted(
        id_ for id_, line in documents.ledger.items() if line.event not in OF_THE_FLEET
    ):
        yield "the ledger has other lines than the entries name"
        return
    for entry in documents.entries.values():
        events = [documents.ledger[line_id].event for line_id in entry.ledger]
        last = next((event for event in reversed(events) if event in STATES_AFTER), None)
        state = recorded_state(entry)
        if state not in (STATES_AFTER[last] if last else ("candidate",)):
            yield f"{entry.key} is {state} after {events}"


def _pairs(documents: Documents) -> Iterator[str]:
    for document, pair in documents.pairs:
        name = f"pair {pair.pair_id}"
        if pair.state not in ("gone", ruling(pair)):
            yield f"{name} is {pair.state}, but its judgements come to {ruling(pair)}"
        expected = _asking_fields(pair)
        fields = {field: document.fields.get(field) for field in expected}
        if fields != expected:
            yield f"{name} has the fields {fields}, but {expected} follow from it"
        keys = [_entry_of(side, documents) for side in (pair.a, pair.b)]
        if pair.state == "same" and keys[0] != keys[1]:
            yield f"{name} is the same, but its sides are in {keys}"
        if pair.state in ("different", "contradict") and keys[0] == keys[1] and keys[0] is not None:
            yield f"{name} is {pair.state}, but both sides are in {keys[0]}"


def _asking_fields(pair: Pair) -> dict[str, object]:
    """Return the fields by which a pair is found."""
    asked = questions(pair)
    a, b = pair.a.program_id, pair.b.program_id
    return {
        "askA": a if a in asked.programs else None,
        "askB": b if b in asked.programs and b != a else None,
        "waits": "programs"
        if asked.programs
        else "third"
        if asked.third
        else "people"
        if asked.people
        else None,
        "state": pair.state,
    }


def _entry_of(side: Side, documents: Documents) -> str | None:
    lesson = documents.lesson(side.program_id, side.pattern_id)
    key = side.key or (lesson.knowledge_key if lesson else None)
    entry = documents.entries.get(key or "")
    return (entry.read_through or entry.key) if entry else None


async def meaning(fleet: Fleet) -> dict[str, object]:
    """Return the content of the documents, without moments, revisions, and the ids of commits."""
    documents = await read_documents(fleet)
    rows = (await fleet.knowledge.snapshots.read()).rows
    return {
        "lessons": {
            f"{program.program_id}/{one.id}": (
                one.pattern,
                one.knowledge_keys,
                one.texts,
            )
            for program in documents.programs.values()
            for one in program.patterns.values()
        },
        "confirmations": {
            f"{program.program_id}/{one.id}": (
                one.confirmations,
                one.contradictions,
                len(one.evidence_log),
            )
            for program in documents.programs.values()
            for one in program.patterns.values()
        },
        "pending": {name: sorted(program.pending) for name, program in documents.programs.items()},
        "verdicts": {name: len(program.judged_at) for name, program in documents.programs.items()},
        "shown": {
            name: {id_: one.times for id_, one in program.asked.items()}
            for name, program in documents.programs.items()
        },
        "entries": {key: _meaning_of(entry) for key, entry in documents.entries.items()},
        "pairs": {
            pair.pair_id: (
                pair.state,
                [(one.program_id, one.verdict) for one in pair.judgements],
                questions(pair),
            )
            for _, pair in documents.pairs
        },
        "ledger": Counter((line.event, line.key) for line in documents.ledger.values()),
        "boot": {row.key: (row.pattern, row.state, row.doubts, row.contributors) for row in rows},
    }


def _meaning_of(entry: Entry) -> tuple[object, ...]:
    lines = [
        (line.program_id, line.pattern_id, line.basis, line.could_read) for line in entry.provenance
    ]
    words = [(word.program_id, word.outcome, word.evidence) for word in entry.words]
    return (
        entry.value.pattern,
        recorded_state(entry),
        doubts(entry),
        lines,
        words,
        entry.confirmations,
    )


def differences(one: Mapping[str, object], other: Mapping[str, object]) -> list[object]:
    """Return the parts in which two meanings differ."""
    found: list[object] = []
    for name in sorted(one.keys() | other.keys()):
        a, b = one.get(name), other.get(name)
        if a == b:
            continue
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            found.append((name, differences(a, b)))
        else:
            found.append((name, a, b))
    return found
