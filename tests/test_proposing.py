"""Which pairs are proposed for judgement, and which of them are opened."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
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
    Int8Rows,
    KnownPairs,
    chosen,
    proposals,
)
from fleet_memory.rules.text.keys import pair_id, text_hash
from fleet_memory.schemas.comparison import ComparableLesson, Profile, Proposal

PROFILE = Profile()


def lesson(
    program: str, name: str, text: str = "", project: str | None = None, domain: str = "one"
) -> ComparableLesson:
    text = text or f"{program} {name}"
    return ComparableLesson(program, name, domain, text, text_hash(text), project)


def rows_of(*rows: Sequence[float]) -> Int8Rows:
    """Return directions as int8 rows, the longest number of each 127."""
    directions = np.array(rows, np.float64)
    longest = np.maximum(np.abs(directions).max(1, keepdims=True), 1e-9)
    scaled: Int8Rows = (directions * (127 / longest)).round().astype(np.int8)
    return scaled


def named(
    found: Sequence[Proposal], lessons: Sequence[ComparableLesson]
) -> list[tuple[object, ...]]:
    """Return proposals by the places of their lessons instead of positions, best rank first."""
    return [(*sorted((lessons[pair.a].place, lessons[pair.b].place)), *pair[2:]) for pair in found]


def places(found: Sequence[Proposal], lessons: Sequence[ComparableLesson]) -> set[frozenset[str]]:
    return {frozenset((lessons[pair.a].lesson_id, lessons[pair.b].lesson_id)) for pair in found}


class OneByOne(NamedTuple):
    """The rule as it is written, one pair at a time."""

    lessons: Sequence[ComparableLesson]
    rows: Int8Rows

    def best(self, i: int) -> set[tuple[object, ...]]:
        """Return the proposals of one lesson: the places of each pair, its cosine, rival and
        margin.
        """
        scored = [
            (self.scores(i, j), other.place)
            for j, other in enumerate(self.lessons)
            if self.comparable(i, j)
        ]
        ample = [
            (-scores[2], place, scores)
            for scores, place in scored
            if scores[2] >= np.float32(PROFILE.review)
        ]
        return {
            (*sorted((self.lessons[i].place, place)), *(round(float(score), 4) for score in scores))
            for _, place, scores in sorted(ample)[:MAX_PARTNERS]
        }

    def comparable(self, i: int, j: int) -> bool:
        one, other = self.lessons[i], self.lessons[j]
        projects = {one.project_id, other.project_id} - {None}
        may_meet = one.program_id != other.program_id or (one.is_entry and i != j)
        return may_meet and one.words != other.words and len(projects) < 2

    def scores(self, i: int, j: int) -> tuple[np.float32, np.float32, np.float32]:
        rival = max([np.float32(PROFILE.floor), *self.rivals(i, j), *self.rivals(j, i)])
        return self.cosine(i, j), rival, np.float32(self.cosine(i, j) - np.float32(0.5) * rival)

    def rivals(self, i: int, j: int) -> list[np.float32]:
        program = self.lessons[i].program_id
        others = [
            k
            for k, other in enumerate(self.lessons)
            if other.program_id == program and k not in (i, j)
        ]
        return [
            self.cosine(k, j)
            for k in others
            if not program or self.cosine(k, i) < np.float32(PROFILE.variant)
        ]

    def cosine(self, i: int, j: int) -> np.float32:
        dot = np.float32(self.rows[i].astype(np.int64) @ self.rows[j].astype(np.int64))
        return np.float32(dot * (self.scale(i) * self.scale(j)))

    def scale(self, i: int) -> np.float32:
        length = np.sqrt(np.float32(np.square(self.rows[i].astype(np.int64)).sum()))
        return np.float32(1) / length if length else np.float32(0)


@st.composite
def fleets(draw: st.DrawFn) -> tuple[list[ComparableLesson], Int8Rows, list[int]]:
    """Draw up to 40 lessons of few programs about few topics, entries among them, and positions
    that are wanted.
    """
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    count = draw(st.integers(0, 40))
    spread = draw(st.sampled_from([0.2, 0.5, 0.8]))
    topics = random.normal(size=(4, 6))
    rows = topics[random.integers(4, size=count)] + spread * random.normal(size=(count, 6))
    rows[random.random(count) < 0.1] = 0
    names = ["", "a", "b", "c"]
    lessons = [
        lesson(
            names[random.integers(4)],
            f"{number:02}",
            text=draw(st.sampled_from(["use pnpm", f"use pnpm {number}"])),
            project=[None, None, "x", "y"][random.integers(4)],
        )
        for number in range(count)
    ]
    return lessons, rows_of(*rows) if count else np.zeros((0, 1), np.int8), draw(wanted_of(count))


def wanted_of(count: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, count - 1), unique=True) if count else st.just([])


def proposed_pairs(
    lessons: Sequence[ComparableLesson], rows: Int8Rows, wanted: Collection[int], profile: Profile
) -> list[Proposal]:
    return list(proposals(lessons, rows, wanted, profile))


@given(fleets())
def test_proposals_are_those_of_a_comparison_one_pair_at_a_time(
    fleet: tuple[list[ComparableLesson], Int8Rows, list[int]],
) -> None:
    lessons, rows, wanted = fleet
    found = proposed_pairs(lessons, rows, wanted, PROFILE)
    assert {row[:-1] for row in named(found, lessons)} == set().union(
        *map(OneByOne(lessons, rows).best, wanted)
    )
    for pair in found:
        assert pair.a < pair.b
        assert 0 <= round(pair.rank - pair.margin, 4) <= 0.1001  # both are rounded
    assert [pair.rank for pair in found] == sorted((pair.rank for pair in found), reverse=True)
    assert len(named(found, lessons)) == len(set(named(found, lessons)))


@given(fleets())
def test_the_order_of_the_input_does_not_matter(
    fleet: tuple[list[ComparableLesson], Int8Rows, list[int]],
) -> None:
    lessons, rows, wanted = fleet
    order = np.random.default_rng(len(lessons)).permutation(len(lessons)).tolist()
    shuffled = [lessons[position] for position in order]
    again = proposed_pairs(
        shuffled, rows[order], [order.index(position) for position in wanted], PROFILE
    )
    assert named(again, shuffled) == named(proposed_pairs(lessons, rows, wanted, PROFILE), lessons)


@given(fleets())
def test_small_blocks_find_the_same_as_one_block(
    fleet: tuple[list[ComparableLesson], Int8Rows, list[int]],
) -> None:
    lessons, rows, wanted = fleet
    whole = proposed_pairs(lessons, rows, wanted, PROFILE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proposing, "BLOCK_LESSONS", 3)
        assert proposed_pairs(lessons, rows, wanted, PROFILE) == whole


def test_a_pair_is_scored_by_its_margin_and_ranked_with_its_shared_words() -> None:
    lessons = [
        lesson("a", "push", "Test before you push"),
        lesson("a", "lint", "Run the linter before you push"),
        lesson("b", "tests", "Run the tests before every push"),
    ]
    rows = rows_of([1, 0, 0], [0.5, 0.8, 0], [0.8, 0.2, 0.6])
    (found,) = proposed_pairs(lessons, rows, [0], PROFILE)
    assert found == Proposal(0, 2, 0.7849, 0.5825, 0.4937, 0.5937)


def test_lessons_of_other_domains_are_partners_and_those_of_other_projects_are_not() -> None:
    near = rows_of([1, 0.1], [1, 0.2], [1, 0.3], [1, 0])
    lessons = [
        lesson("a", "1", project="x"),
        lesson("b", "2", domain="two"),
        lesson("c", "3", project="y"),
    ]
    lessons.append(lesson("", "entry", project="x"))
    found = places(proposed_pairs(lessons, near, range(4), PROFILE), lessons)
    assert found == {
        frozenset(pair) for pair in (("1", "2"), ("2", "3"), ("1", "entry"), ("2", "entry"))
    }


def test_two_spellings_of_one_program_are_no_pair() -> None:
    lessons = [lesson("ISO", "0"), lesson("basher", "1"), lesson("iso", "2")]
    found = proposed_pairs(lessons, rows_of([1, 0], [0.9, 0.1], [1, 0.1]), range(3), PROFILE)
    assert places(found, lessons) == {frozenset({"0", "1"}), frozenset({"1", "2"})}


def test_equal_words_are_no_pair() -> None:
    lessons = [
        lesson("a", "1", "Use pnpm."),
        lesson("b", "2", "use pnpm"),
        lesson("", "x", "Use  pnpm"),
    ]
    assert proposed_pairs(lessons, rows_of([1, 0], [1, 0], [1, 0]), [0, 1, 2], PROFILE) == []


def test_two_entries_are_a_pair_unless_their_projects_differ_and_a_third_is_their_rival() -> None:
    two = [lesson("", "x", "Use pnpm"), lesson("", "y", "Install by pnpm")]
    rows = rows_of([1, 0, 0], [0.8, 0.6, 0], [0.7, 0, 0.714])
    (found,) = proposed_pairs(two, rows[:2], [0], PROFILE)
    assert (found.a, found.b, round(found.cosine, 2), found.rival) == (0, 1, 0.8, 0.3)
    (ranked, *_) = proposed_pairs([*two, lesson("", "z", "Other")], rows, [1], PROFILE)
    assert (ranked.a, ranked.b, round(ranked.rival, 2)) == (0, 1, 0.7)
    apart = [one._replace(project_id=project) for one, project in zip(two, "xy", strict=True)]
    assert proposed_pairs(apart, rows[:2], [0, 1], PROFILE) == []


def test_a_lesson_without_a_vector_is_alike_to_nothing() -> None:
    lessons = [lesson("a", "1"), lesson("b", "2")]
    assert proposed_pairs(lessons, np.zeros((2, 4), np.int8), [0, 1], PROFILE) == []
    assert proposed_pairs([], np.zeros((0, 1), np.int8), [], PROFILE) == []


def test_a_variant_of_the_same_program_does_not_hide_a_pair() -> None:
    lessons = [lesson("a", "status"), lesson("a", "reworded"), lesson("b", "told")]
    rows = rows_of(
        [1, 0.3, 0], [1, -0.3, 0], [0.85, 0, 0.9]
    )  # the wordings' cosine is .83, theirs to the other .66
    found = proposed_pairs(lessons, rows, range(3), PROFILE)
    assert [(pair.rival, pair.margin) for pair in found] == [(0.3, 0.508), (0.3, 0.508)]
    strangers = rows_of([1, 0.6, 0], [1, -0.6, 0], [0.85, 0, 0.9])
    assert [pair.rival for pair in proposed_pairs(lessons, strangers, range(3), PROFILE)] == [
        0.5893,
        0.5893,
    ]


def test_entries_have_no_variants() -> None:
    lessons = [lesson("", "one"), lesson("", "other"), lesson("b", "told")]
    rows = rows_of([1, 0.3, 0], [1, -0.3, 0], [0.85, 0, 0.9])
    assert [pair.rival for pair in proposed_pairs(lessons, rows, [2], PROFILE)] == [0.658, 0.658]


def test_a_pair_is_found_from_either_side() -> None:
    lessons = [
        lesson("hub", "0"),
        *(lesson(f"p{number:02}", str(number)) for number in range(1, 21)),
    ]
    rows = rows_of(
        [1, *[0] * 20],
        *([0.75, *np.eye(20)[number] * (0.6 + number / 100)] for number in range(20)),
    )
    assert len(proposed_pairs(lessons, rows, [0], PROFILE)) == MAX_PARTNERS
    everybody = proposed_pairs(lessons, rows, range(21), PROFILE)
    assert {pair.b for pair in everybody if pair.a == 0} == set(range(1, 21))


def test_a_pair_has_one_id_whichever_text_comes_first() -> None:
    assert pair_id("b", "a") == pair_id("a", "b") != pair_id("a", "c")


# Choosing


def proposal(a: int, b: int, rank: float) -> Proposal:
    return Proposal(a, b, 0.8, 0.3, 0.65, rank)


def id_of(pair: Proposal, lessons: Sequence[ComparableLesson]) -> str:
    return pair_id(lessons[pair.a].words, lessons[pair.b].words)


def sides(
    pair: Proposal, lessons: Sequence[ComparableLesson]
) -> tuple[tuple[str, str], tuple[str, str]]:
    return lessons[pair.a].place, lessons[pair.b].place


def test_a_lesson_has_three_open_pairs_and_one_of_them_with_an_entry() -> None:
    lessons = [
        lesson("a", "0"),
        *(lesson(name, name) for name in "bcde"),
        lesson("", "x"),
        lesson("", "y"),
    ]
    ranked = [proposal(0, other, 0.9 - other / 100) for other in range(1, 5)]
    with_entries = [proposal(0, 5, 0.95), proposal(0, 6, 0.94)]
    assert chosen([*with_entries, *ranked], lessons, KnownPairs(), ()) == [
        with_entries[0],
        *ranked[:2],
    ]


def test_a_program_has_twelve_open_pairs_and_an_entry_as_many_as_there_are() -> None:
    lessons = [lesson("a", f"{number:02}") for number in range(20)] + [
        lesson("", "entry"),
        lesson("b", "own"),
    ]
    lessons += [lesson(f"p{number:02}", "one") for number in range(20)]
    ranked = [proposal(number, 20, 0.9 - number / 100) for number in range(20)]
    assert chosen(ranked, lessons, KnownPairs(), ()) == ranked[:MAX_OPEN_PER_PROGRAM]
    from_many = [proposal(20, 22 + number, 0.9 - number / 100) for number in range(20)]
    assert chosen(from_many, lessons, KnownPairs(), ()) == from_many


def test_a_lesson_near_a_retired_entry_gets_that_pair_and_no_other_until_it_is_judged() -> None:
    lessons = [
        lesson("a", "0"),
        lesson("b", "1"),
        lesson("", "living"),
        lesson("", "gone"),
        lesson("c", "2"),
    ]
    others = [proposal(0, 1, 0.9), proposal(0, 2, 0.8), proposal(1, 4, 0.5)]
    retired = proposal(0, 3, 0.4)
    assert chosen([*others, retired], lessons, KnownPairs(), {"gone"}) == [others[2], retired]
    asked = KnownPairs(frozenset({id_of(retired, lessons)}), (sides(retired, lessons),))
    assert chosen([*others, retired], lessons, asked, {"gone"}) == [others[2]]
    judged = KnownPairs(frozenset({id_of(retired, lessons)}))
    assert chosen([*others, retired], lessons, judged, {"gone"}) == others


def test_two_entries_are_asked_about_unless_both_are_retired_or_either_has_no_living_contributor() -> (
    None
):
    lessons = [lesson("", "one"), lesson("", "two"), lesson("a", "0")]
    both, free = proposal(0, 1, 0.9), proposal(1, 2, 0.8)
    asked = {"one": "a", "two": "b"}
    assert chosen([both, free], lessons, KnownPairs(), (), asked) == [both, free]
    assert chosen([both, free], lessons, KnownPairs(), {"one"}, asked) == [both, free]
    assert chosen([both], lessons, KnownPairs(), {"one", "two"}, asked) == []
    assert chosen([both], lessons, KnownPairs(), (), {"one": "", "two": ""}) == []
    busy = KnownPairs(frozenset(), ((("a", "x"), ("c", "y")),) * MAX_OPEN_PER_PROGRAM)
    assert chosen([both], lessons, busy, (), asked) == []


def test_an_open_pair_takes_a_place_and_a_closed_one_does_not() -> None:
    lessons = [lesson("a", "0"), *(lesson(name, name) for name in "bcde")]
    ranked = [proposal(0, other, 0.9 - other / 100) for other in range(1, 5)]
    first = id_of(ranked[0], lessons)
    assert chosen(ranked, lessons, KnownPairs(frozenset({first})), ()) == ranked[1:]
    assert (
        chosen(ranked, lessons, KnownPairs(frozenset({first}), (sides(ranked[0], lessons),)), ())
        == ranked[1:3]
    )


def test_one_pair_of_texts_is_opened_once() -> None:
    lessons = [
        lesson("a", "0", "Use pnpm"),
        lesson("b", "1", "Prefer pnpm"),
        lesson("c", "2", "prefer pnpm"),
    ]
    assert chosen([proposal(0, 2, 0.9), proposal(0, 1, 0.8)], lessons, KnownPairs(), ()) == [
        proposal(0, 2, 0.9)
    ]


FEW = [lesson(program, str(number)) for program in ("", "a", "b", "c") for number in range(6)]


@st.composite
def proposed(draw: st.DrawFn) -> list[Proposal]:
    ends = st.tuples(st.integers(0, 23), st.integers(0, 23)).filter(
        lambda pair: pair[0] // 6 < pair[1] // 6
    )
    found = draw(st.lists(ends, unique=True, max_size=60))
    return best_first(proposal(a, b, draw(st.integers(3, 9)) / 10) for a, b in found)


def best_first(found: Iterable[Proposal]) -> list[Proposal]:
    return sorted(found, key=lambda pair: -pair.rank)


@given(proposed(), st.sets(st.sampled_from("012345"), max_size=2), st.data())
def test_choosing_keeps_its_limits_for_any_proposed_and_known_pairs(
    found: list[Proposal], retired: set[str], data: st.DataObject
) -> None:
    some = st.lists(st.sampled_from(found), unique=True) if found else st.just([])
    before, closed = data.draw(some), data.draw(some)
    open_before = chosen(best_first(before), FEW, KnownPairs(), retired)
    known = KnownPairs(
        frozenset(id_of(pair, FEW) for pair in (*open_before, *closed)),
        tuple(sides(pair, FEW) for pair in open_before),
    )
    opened = chosen(found, FEW, known, retired)
    assert opened == chosen(best_first(data.draw(st.permutations(found))), FEW, known, retired)
    assert opened == sorted(opened, key=lambda pair: -pair.rank)
    assert opened == chosen(
        [pair for pair in found if id_of(pair, FEW) not in known.ids], FEW, known, retired
    )
    places = [place for pair in (*open_before, *opened) for place in sides(pair, FEW) if place[0]]
    assert max(Counter(places).values(), default=0) <= MAX_OPEN_PER_LESSON
    assert (
        max(Counter(program for program, _ in places).values(), default=0) <= MAX_OPEN_PER_PROGRAM
    )
    with_entry = Counter(
        sides(pair, FEW)[1] for pair in (*open_before, *opened) if not sides(pair, FEW)[0][0]
    )
    assert max(with_entry.values(), default=0) <= 1
    if opened == [] and open_before == []:
        assert {id_of(pair, FEW) for pair in found} <= known.ids
