"""Two copies of one entry are merged: again without a change, in either order alike, and no part of
either is lost.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import example, given
from hypothesis import strategies as st

from fleet_memory.rules.entries import MAX_PROVENANCE, same_program, settled, voting, with_all_words
from fleet_memory.rules.lifecycle.merging_states import merged_marks
from fleet_memory.rules.merging import MAX_MERGED_PROVENANCE, Grounds, LedgeredEntry, merged_entry
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.knowledge import (
    Contribution,
    Entry,
    EntryValue,
    LedgerEvent,
    LedgerLine,
    Word,
)
from fleet_memory.schemas.patterns import Outcome
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Program

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
NOW = START + timedelta(days=365)
TEXT = "Check that a task is free before you claim it"
TEXTS = (TEXT, TEXT.upper(), "Claim only free tasks")
NOTHING_SHOWN = Grounds()
ENTRY = Entry(
    key="pattern/tasks/check-task-free",
    value=EntryValue(
        pattern=TEXT,
        domain="tasks",
        confidence=0.5,
        contributors=(),
        evidence_count=0,
        first_discovered=START,
        last_promoted=START,
    ),
    last_confirmed=START,
)

programs = st.sampled_from(("basher", "iso", "ISO", "sark", "tron"))
moments = st.integers(0, 400).map(lambda hours: START + timedelta(hours=hours))


@st.composite
def contributions(draw: st.DrawFn) -> Contribution:
    at = draw(moments)
    return Contribution(
        program_id=draw(programs),
        pattern_id=draw(st.sampled_from("ab")),
        pattern=draw(st.sampled_from(TEXTS)),
        confidence=draw(st.sampled_from((0.5, 0.9))),
        discovered_at=at,
        stored_at=at,
        similarity=1.0,
        basis=draw(st.sampled_from(("equal_words", "judged", "one_judge"))),
    )


@st.composite
def ledgered(draw: st.DrawFn) -> LedgeredEntry:
    """Return an entry as a fleet settles it, with lines of its ledger."""
    lines = draw(
        st.lists(
            contributions(), max_size=5, unique_by=lambda one: (one.program_id, one.pattern_id)
        )
    )
    words = draw(
        st.lists(
            st.builds(
                Word,
                program_id=programs,
                outcome=st.sampled_from(("confirmed", "contradicted")),
                at=moments,
                evidence=st.just("seen"),
                waits=st.booleans(),
            ),
            max_size=3,
            unique_by=lambda word: same_program(word.program_id),
        )
    )
    events: st.SearchStrategy[LedgerEvent] = st.sampled_from(
        ("promoted", "attached", "retired", "reinstated")
    )
    ledger = {
        f"{event} {at}": (event, at)
        for event, at in draw(st.lists(st.tuples(events, moments), max_size=4))
    }
    back = max(
        (at for event, at in ledger.values() if event == "reinstated"),
        default=START - timedelta(days=1),
    )
    retired_at = draw(st.none() | moments)
    entry = replace(
        ENTRY,
        value=replace(ENTRY.value, first_discovered=draw(moments)),
        provenance=tuple(sorted(lines, key=lambda one: (one.program_id, one.pattern_id))),
        words=tuple(
            word
            for word in sorted(words, key=lambda word: (word.at, word.program_id))
            if word.outcome == "confirmed" or word.at > back  # people cleared the others
        ),
        last_confirmed=draw(moments),
        confirmations=draw(st.integers(0, 3)),
        retired_at=retired_at if retired_at and retired_at > back else None,
        ledger=tuple(ledger),
    )
    known = {
        id_: LedgerLine(event=event, key=entry.key, at=at, by="(person)")
        for id_, (event, at) in ledger.items()
    }
    entry = with_all_words(entry, entry.words)
    return LedgeredEntry(settled(None, entry, Policy(), draw(moments)), known)


shown = st.dictionaries(programs, st.dictionaries(st.sampled_from(TEXTS).map(text_hash), moments))
Shown = Mapping[str, Mapping[str, datetime]]
"""When each program was shown the texts, by their hashes."""


def grounds_of(here: Shown, there: Shown) -> Grounds:
    """Return what two stores know of the texts that programs were shown."""
    copies = {
        name: [Program(program_id=name, shown=of.get(name, {})) for of in (here, there)]
        for name in {**here, **there}
    }
    return Grounds(
        {name: merged_marks(mine, theirs) for name, (mine, theirs) in copies.items()},
        {},
        here,
        there,
    )


def merged(
    mine: LedgeredEntry, theirs: LedgeredEntry, grounds: Grounds = NOTHING_SHOWN
) -> LedgeredEntry:
    entry = merged_entry(mine, theirs, Policy(), NOW, overwrite=False, grounds=grounds)
    return LedgeredEntry(entry, {**theirs.lines, **mine.lines})


def with_words(*words: Word) -> LedgeredEntry:
    return LedgeredEntry(settled(None, replace(ENTRY, words=words), Policy(), START))


def word(program: str, outcome: Outcome, hours: int = 0) -> Word:
    return Word(
        program_id=program, outcome=outcome, at=START + timedelta(hours=hours), evidence="seen"
    )


# the contradiction is answered by both stores together; basher's word in the other store stands
@example(
    with_words(word("basher", "contradicted"), word("sark", "confirmed")),
    with_words(word("basher", "confirmed"), word("iso", "confirmed")),
)
@example(
    with_words(word("basher", "confirmed"), word("sark", "confirmed", 2)),
    with_words(word("basher", "contradicted", 1), word("iso", "confirmed", 2)),
)
@given(ledgered(), ledgered())
def test_merging_a_copy_again_changes_nothing(one: LedgeredEntry, other: LedgeredEntry) -> None:
    both = merged(one, other)
    assert merged(both, other).entry is both.entry
    assert merged(both, one).entry is both.entry
    assert merged(one, one).entry is one.entry


@given(ledgered(), ledgered(), shown, shown)
def test_merging_a_copy_again_brings_no_vote_back_that_a_showing_took_out(
    one: LedgeredEntry, other: LedgeredEntry, here: Shown, there: Shown
) -> None:
    grounds = grounds_of(here, there)
    both = merged(one, other, grounds)
    now_here = {name: program.shown for name, program in grounds.programs.items()}
    assert merged(both, other, grounds_of(now_here, there)).entry is both.entry


def test_merging_a_copy_again_brings_no_contribution_over_the_limit() -> None:
    def full(initial: str, count: int, first: datetime) -> LedgeredEntry:
        usual = Contribution(
            program_id="",
            pattern_id="a",
            pattern=TEXT,
            confidence=0.5,
            discovered_at=START,
            similarity=1,
        )
        lines = (
            replace(
                usual, program_id=f"{initial}{number:03}", stored_at=first + timedelta(hours=number)
            )
            for number in range(count)
        )
        return LedgeredEntry(
            settled(None, replace(ENTRY, provenance=tuple(lines)), Policy(), START)
        )

    one, other = (
        full("a", MAX_MERGED_PROVENANCE, START),
        full("b", MAX_PROVENANCE, START + timedelta(days=30)),
    )
    grounds = grounds_of({}, {"a050": {text_hash(TEXT): START}})
    both = merged(one, other, grounds)
    assert len(both.entry.provenance) == MAX_MERGED_PROVENANCE
    now_here = {name: program.shown for name, program in grounds.programs.items()}
    assert merged(both, other, grounds_of(now_here, {})).entry is both.entry


def facts(entry: Entry) -> object:
    """Return the parts that must not depend on the order of the copies."""
    lines = {
        (line.program_id, line.pattern_id, line.pattern, line.stored_at)
        for line in entry.provenance
    }
    voters = {line.program_id for line in voting(entry)}
    times = (
        entry.retired_at,
        entry.last_confirmed,
        entry.published_at and min(entry.published_at, NOW),
    )
    return lines, voters, {*entry.words}, times, {*entry.ledger}


@given(ledgered(), ledgered())
def test_the_order_of_the_copies_does_not_matter(one: LedgeredEntry, other: LedgeredEntry) -> None:
    assert facts(merged(one, other).entry) == facts(merged(other, one).entry)


@given(ledgered(), ledgered())
def test_the_contributions_and_the_first_publication_of_both_stay(
    one: LedgeredEntry, other: LedgeredEntry
) -> None:
    both = merged(one, other).entry
    lessons = {(line.program_id, line.pattern_id, line.pattern) for line in both.provenance}
    for copy in (one.entry, other.entry):
        assert {
            (line.program_id, line.pattern_id, line.pattern) for line in copy.provenance
        } <= lessons
        assert copy.published_at is None or (
            both.published_at is not None and both.published_at <= copy.published_at
        )
    assert both.confirmations == max(one.entry.confirmations, other.entry.confirmations)
