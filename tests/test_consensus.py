from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules.consensus.linking import Link, Matrix, Rulings, bar_of, groups, links
from fleet_memory.schemas.similarity import Profile

PROFILE = Profile()
BAR = bar_of(PROFILE, 10)


def cosines_of(seed: int, n: int) -> Matrix:
    rows = np.random.default_rng(seed).normal(size=(n, 6)).astype(np.float32) + 0.6
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    found: Matrix = rows @ rows.T
    return found


def plain_links(cosines: Matrix, programs: list[str]) -> set[tuple[int, int]]:
    """The rule as docs/consensus.md words it, one pair of programs at a time."""
    found = set()
    for one, two in combinations(sorted(set(programs)), 2):
        left = [i for i, name in enumerate(programs) if name == one]
        right = [j for j, name in enumerate(programs) if name == two]
        for i in left:
            j = max(right, key=lambda k: cosines[i, k])
            if max(left, key=lambda k: cosines[k, j]) != i:
                continue
            rivals = [cosines[i, k] for k in right if k != j] + [cosines[k, j] for k in left if k != i]
            contrast = cosines[i, j] - 0.5 * max(PROFILE.floor, *rivals, -1.0)
            if contrast >= PROFILE.review:
                found.add((min(i, j), max(i, j)))
    return found


cases = st.tuples(st.integers(0, 10_000), st.lists(st.sampled_from("abcd"), min_size=2, max_size=14))


@given(cases)
def test_the_array_formulation_finds_what_the_plain_rule_finds(case: tuple[int, list[str]]) -> None:
    seed, programs = case
    cosines = cosines_of(seed, len(programs))
    assert {link.pair for link in links(cosines, programs, PROFILE)} == plain_links(cosines, programs)


@given(cases, st.randoms(use_true_random=False))
def test_grouping_does_not_depend_on_the_order_of_lessons(case: tuple[int, list[str]], random: object) -> None:
    seed, programs = case
    n = len(programs)
    cosines = cosines_of(seed, n)
    order = list(range(n))
    random.shuffle(order)  # type: ignore[attr-defined]  # hypothesis hands out a random.Random
    straight = groups(links(cosines, programs, PROFILE), programs, Rulings(), BAR)
    shuffled = [programs[i] for i in order]
    mixed = groups(links(cosines[np.ix_(order, order)], shuffled, PROFILE), shuffled, Rulings(), BAR)
    assert {frozenset(group) for group in straight} == {frozenset(order[i] for i in group) for group in mixed}


@given(cases)
def test_a_group_holds_one_lesson_per_program_and_every_pair_in_it_is_linked(case: tuple[int, list[str]]) -> None:
    seed, programs = case
    found = links(cosines_of(seed, len(programs)), programs, PROFILE)
    linked = {link.pair for link in found}
    for group in groups(found, programs, Rulings(), BAR):
        assert len({programs[i] for i in group}) == len(group) >= 2
        assert all(pair in linked for pair in combinations(group, 2))


def test_lessons_do_not_chain() -> None:
    found = [Link(0.6, 0.8, 0.0, 0, 1), Link(0.5, 0.7, 0.0, 1, 2)]
    assert groups(found, ["a", "b", "c"], Rulings(), BAR) == [[0, 1]]


def test_a_triangle_of_weak_links_is_a_group_and_a_weak_link_alone_is_none() -> None:
    weak = [Link(0.33, 0.5, 0.0, i, j, 0.4) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert groups(weak, ["a", "b", "c"], Rulings(), BAR) == [[0, 1, 2]]
    weaker = [*weak[:2], weak[2]._replace(shared=0.2)]
    assert groups(weaker, ["a", "b", "c"], Rulings(), BAR) == []
    assert groups(weak[:1], ["a", "b", "c"], Rulings(), BAR) == []


def test_a_ruling_outranks_every_score() -> None:
    strong = [Link(0.9, 0.95, 0.0, 0, 1)]
    assert groups(strong, ["a", "b"], Rulings(apart=frozenset({(0, 1)})), BAR) == []
    assert groups([], ["a", "b"], Rulings(together=frozenset({(0, 1)})), BAR) == [[0, 1]]


def test_a_third_programs_wording_is_no_rival() -> None:
    cosines = np.array([[1, 0.7, 0.69], [0.7, 1, 0.68], [0.69, 0.68, 1]], np.float32)
    found = links(cosines, ["a", "b", "c"], PROFILE)
    assert {link.pair: link.rival for link in found} == {(0, 1): 0.0, (0, 2): 0.0, (1, 2): 0.0}


def test_a_lower_contrast_is_enough_where_words_are_shared_and_nothing_else_comes_near() -> None:
    lone, disputed = Link(0.46, 0.62, 0.32, 0, 1, 0.34), Link(0.46, 0.66, 0.4, 0, 1, 0.34)
    assert groups([lone], ["a", "b"], Rulings(), BAR) == [[0, 1]]
    assert groups([disputed], ["a", "b"], Rulings(), BAR) == []
    assert groups([lone._replace(shared=0.3)], ["a", "b"], Rulings(), BAR) == []
    assert groups([lone], ["a", "b"], Rulings(), bar_of(PROFILE, 1_000)) == []


def test_shared_words_add_a_tenth_to_a_contrast() -> None:
    near = Link(0.5, 0.7, 0.4, 0, 1, 0.8)
    assert groups([near], ["a", "b"], Rulings(), BAR) == [[0, 1]]
    assert groups([near._replace(shared=0.7)], ["a", "b"], Rulings(), BAR) == []
    assert groups([near._replace(shared=1.0)], ["a", "b"], Rulings(), bar_of(PROFILE, 1_000)) == []
