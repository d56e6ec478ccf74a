"""Which pairs are proposed for judgement, and which of them are opened."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules import proposing
from fleet_memory.rules.proposing import (
    MAX_OPEN_PER_LESSON,
    MAX_OPEN_PER_PROGRAM,
    MAX_PARTNERS,
    Comparison,
    chosen,
)
from fleet_memory.rules.text.keys import pair_id, text_hash
from fleet_memory.schemas.comparison import ComparableLesson, Profile, Proposal

PROFILE = Profile()
ENGINE = "test"
Place = tuple[str, str]


def lesson(
    program: str,
    name: str,
    text: str = "",
    project: str | None = None,
    domain: str = "one",
    direction: Sequence[float] = (),
) -> ComparableLesson:
    text = text or f"{program} {name}"
    return ComparableLesson(
        program, name, domain, text, text_hash(text), project, row_of(direction), ENGINE
    )


def row_of(direction: Sequence[float]) -> bytes:
    """Return a direction as one signed byte a number, the longest 127."""
    if not any(direction):
        return bytes(len(direction))
    numbers = np.array(direction) * (127 / np.abs(direction).max())
    return bytes(numbers.round().astype(np.int8))


def every(lessons: Iterable[ComparableLesson]) -> set[Place]:
    return {each.place for each in lessons}


def found(
    lessons: Sequence[ComparableLesson],
    wanted: Iterable[ComparableLesson],
    profile: Profile = PROFILE,
) -> set[Proposal]:
    compared = Comparison(lessons, ENGINE, profile)
    blocks = compared.blocks(every(wanted))
    return {pair for block in blocks for pair in compared.partners(block)}


def ids(proposed: Iterable[Proposal]) -> set[frozenset[str]]:
    return {frozenset((pair.a.lesson_id, pair.b.lesson_id)) for pair in proposed}


class OneByOne(NamedTuple):
    """The rule as it is written, one pair at a time."""

    lessons: Sequence[ComparableLesson]

    def best(self, one: ComparableLesson) -> set[tuple[frozenset[Place], float, float]]:
        """Return the proposals of one lesson: the places, the cosine and the margin of each."""
        scored = [
            (-self.margin(one, other), self.key(other), other)
            for other in self.lessons
            if self.may_meet(one, other) and self.margin(one, other) >= np.float32(PROFILE.review)
        ]
        return {
            (
                frozenset((one.place, other.place)),
                round(float(self.cosine(one, other)), 4),
                round(float(-negative), 4),
            )
            for negative, _, other in sorted(scored)[:MAX_PARTNERS]
        }

    def may_meet(self, one: ComparableLesson, other: ComparableLesson) -> bool:
        projects = {one.project_id, other.project_id} - {None}
        of_others = self.origin(one) != self.origin(other)
        may = of_others or (one.is_entry and one.place != other.place)
        return may and one.words != other.words and len(projects) < 2

    def margin(self, one: ComparableLesson, other: ComparableLesson) -> np.float32:
        rival = max([np.float32(PROFILE.floor), *self.rivals(one, other), *self.rivals(other, one)])
        return np.float32(self.cosine(one, other) - np.float32(0.5) * rival)

    def rivals(self, one: ComparableLesson, other: ComparableLesson) -> list[np.float32]:
        return [
            self.cosine(each, other)
            for each in self.lessons
            if self.origin(each) == self.origin(one) and each.place not in (one.place, other.place)
        ]

    def origin(self, one: ComparableLesson) -> str:
        return unicodedata.normalize("NFKC", one.program_id).casefold().split("/")[0]

    def key(self, one: ComparableLesson) -> tuple[str, Place]:
        return self.origin(one), one.place

    def cosine(self, one: ComparableLesson, other: ComparableLesson) -> np.float32:
        left, right = (
            np.frombuffer(each.vector, np.int8).astype(np.int64) for each in (one, other)
        )
        scales = [
            np.float32(1) / np.sqrt(np.float32(row @ row)) if row.any() else np.float32(0)
            for row in (left, right)
        ]
        return np.float32(np.float32(left @ right) * (scales[0] * scales[1]))


@st.composite
def fleets(draw: st.DrawFn) -> tuple[list[ComparableLesson], list[ComparableLesson]]:
    """Draw up to 40 lessons of few programs about few topics, entries among them, and those that
    are wanted.
    """
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    count = draw(st.integers(0, 40))
    spread = draw(st.sampled_from([0.2, 0.5, 0.8]))
    topics = random.normal(size=(4, 6))
    rows = topics[random.integers(4, size=count)] + spread * random.normal(size=(count, 6))
    rows[random.random(count) < 0.1] = 0
    names = ["", "a", "A/x", "b", "b/y", "c"]
    lessons = [
        lesson(
            names[random.integers(6)],
            f"{number:02}",
            text=draw(st.sampled_from(["use pnpm", f"use pnpm {number}"])),
            project=[None, None, "x", "y"][random.integers(4)],
            direction=rows[number].tolist(),
        )
        for number in range(count)
    ]
    return lessons, draw(st.lists(st.sampled_from(lessons), unique=True)) if lessons else []


@given(fleets())
def test_proposals_are_those_of_a_comparison_one_pair_at_a_time(
    fleet: tuple[list[ComparableLesson], list[ComparableLesson]],
) -> None:
    lessons, wanted = fleet
    assert {
        (frozenset((pair.a.place, pair.b.place)), pair.cosine, pair.margin)
        for pair in found(lessons, wanted)
    } == set().union(*map(OneByOne(lessons).best, wanted))


@given(fleets())
def test_the_order_of_the_input_does_not_matter(
    fleet: tuple[list[ComparableLesson], list[ComparableLesson]],
) -> None:
    lessons, wanted = fleet
    assert found(lessons[::-1], wanted) == found(lessons, wanted)


@given(fleets())
def test_small_blocks_find_the_same_as_one_block(
    fleet: tuple[list[ComparableLesson], list[ComparableLesson]],
) -> None:
    lessons, wanted = fleet
    whole = found(lessons, wanted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proposing, "BLOCK_LESSONS", 3)
        assert found(lessons, wanted) == whole


def test_a_margin_is_the_cosine_less_half_the_best_rivals() -> None:
    lessons = [
        lesson("a", "push", direction=[1, 0, 0]),
        lesson("a", "lint", direction=[0.5, 0.8, 0]),
        lesson("b", "tests", direction=[0.8, 0.2, 0.6]),
    ]
    assert found(lessons, lessons[:1]) == {Proposal(lessons[0], lessons[2], 0.7849, 0.4937)}


def test_a_margin_of_a_fifth_is_enough() -> None:
    near = [lesson("a", "1", direction=[0.36, 0.933]), lesson("b", "2", direction=[1, 0])]
    far = [lesson("a", "1", direction=[0.34, 0.94]), lesson("b", "2", direction=[1, 0])]
    assert (len(found(near, near)), found(far, far)) == (1, set())


def test_lessons_of_other_domains_are_partners_and_those_of_other_projects_are_not() -> None:
    lessons = [
        lesson("a", "1", project="x", direction=[1, 0.1]),
        lesson("b", "2", domain="two", direction=[1, 0.2]),
        lesson("c", "3", project="y", direction=[1, 0.3]),
        lesson("", "entry", project="x", direction=[1, 0]),
    ]
    assert ids(found(lessons, lessons)) == {
        frozenset(pair) for pair in (("1", "2"), ("2", "3"), ("1", "entry"), ("2", "entry"))
    }


@pytest.mark.parametrize("other", ["iso", "\uff29SO", "iso/reviewer"])
def test_lessons_of_one_origin_are_no_pair(other: str) -> None:
    lessons = [
        lesson("ISO", "0", direction=[1, 0]),
        lesson("basher", "1", direction=[0.9, 0.1]),
        lesson(other, "2", direction=[1, 0.1]),
    ]
    assert ids(found(lessons, lessons)) == {frozenset({"0", "1"}), frozenset({"1", "2"})}


def test_equal_words_are_no_pair() -> None:
    lessons = [
        lesson("a", "1", "Use pnpm.", direction=[1, 0]),
        lesson("b", "2", "use pnpm", direction=[1, 0]),
        lesson("", "x", "Use  pnpm", direction=[1, 0]),
    ]
    assert found(lessons, lessons) == set()


def test_two_entries_are_a_pair_unless_their_projects_differ_and_a_third_is_their_rival() -> None:
    two = [
        lesson("", "x", "Use pnpm", direction=[1, 0, 0]),
        lesson("", "y", "Install by pnpm", direction=[0.8, 0.6, 0]),
    ]
    (pair,) = found(two, two[:1])
    assert (pair.a, pair.b, pair.margin) == (*two, round(pair.cosine - 0.15, 4))
    third = lesson("", "z", "Other", direction=[0.7, 0, 0.714])
    (near,) = [pair for pair in found([*two, third], two) if pair.b == two[1]]
    assert round(near.margin, 2) == 0.45
    apart = [one._replace(project_id=project) for one, project in zip(two, "xy", strict=True)]
    assert found(apart, apart) == set()


def test_a_lesson_without_a_vector_is_alike_to_nothing() -> None:
    lessons = [lesson("a", "1"), lesson("b", "2"), lesson("c", "3", direction=[1, 0])]
    other_engine = lessons[2]._replace(program_id="d", embedder="other")
    assert found([*lessons, other_engine], [*lessons, other_engine]) == set()
    assert found([], []) == set()


def test_a_pair_is_found_from_either_side() -> None:
    lessons = [
        lesson("hub", "0", direction=[1, *[0] * 20]),
        *(
            lesson(
                f"p{number:02}",
                str(number),
                direction=[0.75, *(np.eye(20)[number - 1] * (0.6 + number / 100)).tolist()],
            )
            for number in range(1, 21)
        ),
    ]
    assert len(found(lessons, lessons[:1])) == MAX_PARTNERS
    with_hub = [pair for pair in ids(found(lessons, lessons)) if "0" in pair]
    assert len(with_hub) == 20


def test_a_pair_has_one_id_whichever_text_comes_first() -> None:
    assert pair_id("b", "a") == pair_id("a", "b") != pair_id("a", "c")


# Choosing


def proposal(a: ComparableLesson, b: ComparableLesson, margin: float) -> Proposal:
    return Proposal(a, b, 0.8, margin)


def id_of(pair: Proposal) -> str:
    return pair_id(pair.a.words, pair.b.words)


def sides(pair: Proposal) -> tuple[Place, Place]:
    return pair.a.place, pair.b.place


def test_a_lesson_has_three_open_pairs_the_best() -> None:
    one = lesson("a", "0")
    ranked = [proposal(one, lesson(name, name), ord(name) / 1000) for name in "bcde"]
    with_entry = proposal(lesson("", "x"), one, 0.9)
    assert chosen([*ranked, with_entry], (), ()) == [with_entry, ranked[3], ranked[2]]


def test_a_program_has_twelve_open_pairs_and_an_entry_as_many_as_there_are() -> None:
    entry = lesson("", "entry")
    ranked = [
        proposal(entry, lesson("a", f"{number:02}"), 0.9 - number / 100) for number in range(20)
    ]
    assert chosen(ranked, (), ()) == ranked[:MAX_OPEN_PER_PROGRAM]
    of_many = [
        proposal(entry, lesson(f"p{number:02}", "one"), 0.9 - number / 100) for number in range(20)
    ]
    assert chosen(of_many, (), ()) == of_many


def test_an_open_pair_takes_a_place_and_a_closed_one_does_not() -> None:
    one = lesson("a", "0")
    ranked = [proposal(one, lesson(name, name), 0.9 - at / 100) for at, name in enumerate("bcde")]
    first = id_of(ranked[0])
    assert chosen(ranked, {first}, ()) == ranked[1:]
    assert chosen(ranked, {first}, [sides(ranked[0])]) == ranked[1:3]


def test_one_pair_of_texts_is_opened_once() -> None:
    one, other = lesson("a", "0", "Use pnpm"), lesson("b", "1", "Prefer pnpm")
    best = proposal(one, lesson("c", "2", "prefer pnpm"), 0.9)
    assert chosen([proposal(one, other, 0.8), best], (), ()) == [best]


FEW = [lesson(program, str(number)) for program in ("", "a", "b", "c") for number in range(6)]


@st.composite
def proposed(draw: st.DrawFn) -> list[Proposal]:
    ends = st.tuples(st.integers(0, 23), st.integers(0, 23)).filter(
        lambda pair: pair[0] // 6 < pair[1] // 6
    )
    pairs = draw(st.lists(ends, unique=True, max_size=60))
    return [proposal(FEW[a], FEW[b], draw(st.integers(3, 9)) / 10) for a, b in pairs]


@given(proposed(), st.data())
def test_choosing_keeps_its_limits_for_any_proposed_and_known_pairs(
    pairs: list[Proposal], data: st.DataObject
) -> None:
    some = st.lists(st.sampled_from(pairs), unique=True) if pairs else st.just([])
    before, closed = data.draw(some), data.draw(some)
    open_before = chosen(before, (), ())
    known = {id_of(pair) for pair in (*open_before, *closed)}
    open_sides = [sides(pair) for pair in open_before]
    opened = chosen(pairs, known, open_sides)
    assert opened == sorted(opened, key=lambda pair: -pair.margin)
    unknown = [pair for pair in pairs if id_of(pair) not in known]
    assert opened == chosen(unknown, (), open_sides)
    places = [place for pair in (*open_before, *opened) for place in sides(pair) if place[0]]
    of_lessons, of_programs = Counter(places), Counter(program for program, _ in places)
    assert max(of_lessons.values(), default=0) <= MAX_OPEN_PER_LESSON
    assert max(of_programs.values(), default=0) <= MAX_OPEN_PER_PROGRAM
    for pair in unknown:
        full = [
            place
            for place in sides(pair)
            if of_lessons[place] == MAX_OPEN_PER_LESSON
            or of_programs[place[0]] == MAX_OPEN_PER_PROGRAM
        ]
        assert pair in opened or full
