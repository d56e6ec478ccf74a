import json

from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules.budget import fitting, tokens

texts = st.text(max_size=60)
items = st.lists(st.fixed_dictionaries({"text": texts}), max_size=20)
budgets = st.integers(200, 2_000)


def answer(found: list[dict[str, str]]) -> dict[str, object]:
    return {"total": 20, "truncated": False, "items": found}


@given(items, budgets)
def test_a_budget_is_never_exceeded(found: list[dict[str, str]], budget: int) -> None:
    assert tokens(answer(found[: fitting(answer([]), found, budget)])) <= budget


@given(items, budgets, budgets)
def test_more_budget_never_returns_less(found: list[dict[str, str]], one: int, two: int) -> None:
    small, large = sorted((one, two))
    assert fitting(answer([]), found, small) <= fitting(answer([]), found, large)


@given(st.dictionaries(texts, texts))
def test_a_token_is_four_bytes_of_the_compact_answer(value: dict[str, str]) -> None:
    sent = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    assert tokens(value) == -(-len(sent) // 4)
