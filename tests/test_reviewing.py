from fleet_memory.cli.review_session import Judgement, read_judgements

PAIRS: list[dict[str, object]] = [
    {
        "pairId": name,
        "similarity": 0.5,
        "a": {"programId": "basher", "domain": "git", "pattern": f"One {name}"},
        "b": {"programId": "sark", "domain": "git", "pattern": f"Other {name}"},
    }
    for name in ("first", "second", "third")
]


def answered(*keys: str) -> tuple[list[Judgement], list[str]]:
    said: list[str] = []
    return read_judgements(PAIRS, keys, said.append), said


def test_each_pair_is_shown_and_answered_by_a_key() -> None:
    made, said = answered("s", "d", "k")
    assert made == [Judgement("first", same=True), Judgement("second", same=False), Judgement("third", same=None)]
    assert "One second" in said[1]
    assert "Other second" in said[1]


def test_undo_takes_the_last_answer_back() -> None:
    assert answered("s", "u", "d", "q")[0] == [Judgement("first", same=False)]


def test_the_very_last_answer_can_be_taken_back_before_anything_is_sent() -> None:
    made, said = answered("s", "s", "s", "u", "d", "")
    assert [one.same for one in made] == [True, True, False]
    assert "Enter sends" in said[3]


def test_the_end_of_input_stops_and_an_unknown_key_asks_again() -> None:
    made, said = answered("x", "s")
    assert made == [Judgement("first", same=True)]
    assert said[1].startswith("s same")
