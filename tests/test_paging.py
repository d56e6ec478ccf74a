from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules.curating import count_waiting
from fleet_memory.rules.lifecycle.admission import admitted, pattern_of
from fleet_memory.rules.lifecycle.forgetting import forgotten
from fleet_memory.rules.lifecycle.outcomes import OutcomeReport, reported
from fleet_memory.rules.lifecycle.paging import (
    PagesNeededError,
    capped,
    paged_lesson,
    require_whole,
)
from fleet_memory.rules.lifecycle.pruning import sweep_after, swept
from fleet_memory.rules.lifecycle.stamping import stamped
from fleet_memory.rules.text.keys import pattern_id
from fleet_memory.schemas.patterns import Outcome
from fleet_memory.schemas.programs import (
    MAX_PAGE_BYTES,
    MAX_PAGES,
    MAX_PATTERNS_PER_PAGE,
    Archived,
    DecayConfig,
    Program,
)
from fleet_memory.schemas.similarity import Profile
from tests.lessons import START, days, lesson, pattern, program

CAP = 3
Step = tuple[str, int, float]


class Result(NamedTuple):
    """A program after a step, and the lessons that it sent to the archive."""

    program: Program
    archived: tuple[Archived, ...]


def unread(whole: Program) -> Program:
    """The program as it is read without its pages."""
    return replace(whole, patterns=whole.active)


@cache
def with_full_pages(free: int) -> Program:
    """A program at its cap of 3 whose last page has room for so many lessons."""
    every = MAX_PAGES * MAX_PATTERNS_PER_PAGE - free
    patterns = [
        pattern(f"Old lesson {n}", id=f"old{n}", confidence=n / every) for n in range(every)
    ]
    patterns += [pattern(f"Lesson {n}", id=f"p{n}", confidence=0.2 * n) for n in range(CAP)]
    before = program(*patterns, decay=DecayConfig(max_unpromoted_patterns=CAP))
    paged = {
        one.id: paged_lesson(one, 1 + n // MAX_PATTERNS_PER_PAGE)
        for n, one in enumerate(patterns[:every])
    }
    return replace(before, paged=paged)


def stepped(before: Program, step: Step, at: timedelta) -> Result:
    """One call about a lesson by its number: stored, confirmed, contradicted or forgotten."""
    what, number, confidence = step
    now = START + at
    name = f"old{number}" if number % 2 else f"p{number}"
    if what == "store":
        sent = lesson(
            f"Old lesson {number}" if number % 2 else f"Lesson {number}",
            id=name,
            confidence=confidence,
        )
        admission = admitted(before, sent, profile=Profile(), now=now)
        return Result(admission.program, admission.archived)
    own = pattern_of(before, name)
    if own is None:
        require_whole(before)
        return Result(before, ())
    if what == "forget":
        return Result(*forgotten(before, own, "", now)[::2])
    outcome: Outcome = "confirmed" if what == "confirm" else "contradicted"
    said = reported(before, own, OutcomeReport(outcome, confidence, "", now))
    return Result(said.program, said.archived)


steps = st.lists(
    st.tuples(
        st.sampled_from(["store", "store", "confirm", "contradict", "forget"]),
        st.integers(0, 9),
        st.floats(0, 1),
    ),
    max_size=12,
)


@given(steps, st.integers(0, 2))
def test_every_lesson_is_active_or_on_a_page_or_named_in_the_archive(
    calls: list[Step], free: int
) -> None:
    memory = with_full_pages(free)
    for at, step in enumerate(calls):
        known = set(memory.patterns)
        done = stepped(memory, step, timedelta(hours=at))
        memory = done.program
        assert set(memory.patterns) | {line.pattern.id for line in done.archived} >= known
        assert not set(memory.patterns) & {line.pattern.id for line in done.archived}
        assert set(memory.paged) <= set(memory.patterns)
        assert len(memory.active) <= CAP
        pages = [lesson.page for lesson in memory.paged.values()]
        assert set(pages) <= {1, 2}
        assert max(map(pages.count, {1, 2})) <= MAX_PATTERNS_PER_PAGE


@given(steps, st.integers(0, 2))
def test_a_change_without_the_pages_is_that_of_the_whole_program_or_asks_for_them(
    calls: list[Step], free: int
) -> None:
    whole = with_full_pages(free)
    for at, step in enumerate(calls):
        done = stepped(whole, step, timedelta(hours=at))
        try:
            alone = stepped(unread(whole), step, timedelta(hours=at))
        except PagesNeededError:
            pass
        else:
            assert alone._replace(program=unread(alone.program)) == done._replace(
                program=unread(done.program)
            )
            pending = [
                stamped(*one, START).pending
                for one in ((unread(whole), alone.program), (whole, done.program))
            ]
            assert set(pending[0]) == set(pending[1])
            assert sweep_after(alone.program) == sweep_after(done.program)
            assert count_waiting(alone.program) == count_waiting(done.program)
        whole = done.program


def test_a_lesson_that_is_stored_again_or_confirmed_comes_back_and_the_weakest_takes_its_place() -> (
    None
):
    before = with_full_pages(1)
    for step in (("store", 7, 0.9), ("confirm", 7, 0.9)):
        after = stepped(before, step, days(1)).program
        assert (sorted(after.active), after.paged["p0"].page) == (["old7", "p1", "p2"], 1)


def test_a_contradicted_lesson_stays_on_its_page() -> None:
    before = with_full_pages(1)
    after = stepped(before, ("contradict", 7, 0.9), days(1)).program
    assert (after.paged, after.patterns["old7"].contradictions) == (before.paged, 1)


def test_beyond_the_pages_a_twentieth_the_weakest_goes_to_the_archive_and_the_next_stores_find_room() -> (
    None
):
    before = with_full_pages(0)
    before = replace(
        before, patterns={**before.patterns, "p0": replace(before.patterns["p0"], confidence=0.5)}
    )
    done = stepped(before, ("store", 10, 0.9), days(1))
    assert [(line.pattern.id, line.reason) for line in done.archived] == [
        (f"old{n}", "cap") for n in range(20)
    ]
    assert (done.program.paged["p1"].page, done.program.patterns_count) == (
        1,
        before.patterns_count - 19,
    )
    for number in range(12, 50, 2):
        done = stepped(unread(done.program), ("store", number, 0.9), days(1))
        assert done.archived == ()


def test_a_lesson_weaker_than_all_of_full_pages_goes_to_the_archive_itself() -> None:
    before = with_full_pages(0)
    weak = replace(before.patterns["p0"], confidence=0.0, last_reinforced=START - days(60))
    done = stepped(
        replace(before, patterns={**before.patterns, "p0": weak}), ("store", 10, 0.9), days(1)
    )
    gone = [line.pattern.id for line in done.archived]
    assert gone == ["p0", *(f"old{n}" for n in range(19))]
    assert {*done.program.paged} == {*before.paged} - {*gone}


def test_contributions_on_pages_are_never_archived_by_the_cap() -> None:
    before = with_full_pages(0)
    promoted = {
        id_: replace(before.patterns[id_], knowledge_key="pattern/x/y") for id_ in before.paged
    }
    done = stepped(
        replace(before, patterns={**before.patterns, **promoted}), ("store", 10, 0.9), days(1)
    )
    assert ([line.pattern.id for line in done.archived], done.program.paged) == (
        ["p0"],
        before.paged,
    )


def test_a_page_takes_no_more_bytes_than_its_document_has_room_for() -> None:
    large = (
        pattern(f"Lesson {n}", id=f"p{n}", evidence="x" * (MAX_PAGE_BYTES * 2 // 5))
        for n in range(4)
    )
    full = program(*large, decay=DecayConfig(max_unpromoted_patterns=1))
    after = capped(full, START).program
    assert {id_: one.page for id_, one in after.paged.items()} == {"p0": 1, "p1": 1, "p2": 2}


def test_a_faded_lesson_on_a_page_is_swept_too() -> None:
    before = with_full_pages(0)
    assert sweep_after(unread(before)) == sweep_after(before) == (START + days(180)).timestamp()
    assert swept(before, START + days(181)).program.patterns == {}


def test_an_id_is_free_only_if_no_page_has_it() -> None:
    known = pattern("Check the status", id=pattern_id("Check the status"))
    other = pattern("Another", id=f"{known.id}-2")
    before = program(known, paged={other.id: paged_lesson(other, 1)})
    done = admitted(
        before, lesson("Check the status"), profile=Profile(), on_duplicate="keep", now=START
    )
    assert (done.status, done.pattern.id) == ("created", f"{known.id}-3")
