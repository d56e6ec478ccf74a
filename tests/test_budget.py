import json

from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules.retrieval.budget import Section, count_fitting, shared, tokens

texts = st.text(max_size=60)
items = st.lists(st.fixed_dictionaries({"text": texts}), max_size=20)
budgets = st.integers(200, 2_000)
sections = st.lists(
    st.builds(
        Section, st.lists(st.integers(1, 200), max_size=9), st.sampled_from([0.0, 1 / 16, 3 / 16])
    ),
    max_size=5,
)


def answer(found: list[dict[str, str]]) -> dict[str, object]:
    return {"total": 20, "truncated": False, "items": found}


@given(items, budgets)
def test_a_budget_is_never_exceeded(found: list[dict[str, str]], budget: int) -> None:
    assert tokens(answer(found[: count_fitting(answer([]), found, budget)])) <= budget


def test_a_budget_that_items_fill_to_the_brim_is_not_exceeded_by_their_commas() -> None:
    found = [{"text": ""}] * 100
    counts = {budget: count_fitting(answer([]), found, budget) for budget in range(20, 200)}
    assert [
        budget for budget, count in counts.items() if tokens(answer(found[:count])) > budget
    ] == []
    assert [
        budget for budget, count in counts.items() if tokens(answer(found[: count + 2])) <= budget
    ] == []


@given(items, budgets, budgets)
def test_more_budget_never_returns_less(found: list[dict[str, str]], one: int, two: int) -> None:
    small, large = sorted((one, two))
    assert count_fitting(answer([]), found, small) <= count_fitting(answer([]), found, large)


@given(st.dictionaries(texts, texts))
def test_a_token_is_four_bytes_of_the_compact_answer(value: dict[str, str]) -> None:
    sent = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    assert tokens(value) == -(-len(sent) // 4)


@given(st.integers(0, 2_000), sections)
def test_sections_share_the_room_and_never_exceed_it(room: int, parts: list[Section]) -> None:
    counts = shared(room, parts)
    taken = [sum(part.sizes[:count]) for part, count in zip(parts, counts, strict=True)]
    assert sum(taken) <= room
    if sum(sum(part.sizes) for part in parts) <= room:
        assert counts == [len(part.sizes) for part in parts]


@given(st.integers(0, 2_000), st.integers(0, 2_000), sections)
def test_more_room_gives_no_section_less(one: int, two: int, parts: list[Section]) -> None:
    small, large = (shared(room, parts) for room in sorted((one, two)))
    assert all(less <= more for less, more in zip(small, large, strict=True))


def test_room_reserved_for_a_section_is_there_however_much_those_before_it_want() -> None:
    greedy, modest = Section([10] * 100, 0.5), Section([10] * 100, 0.25)
    assert shared(400, [greedy, modest]) == [30, 10]
    assert shared(400, [greedy, Section([10], 0.25)]) == [39, 1]
