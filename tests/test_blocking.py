"""Which domains are compared: all of a small fleet; in a large one those whose names share a telling word."""

from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules.consensus.blocking import COMMON_WORD, SMALL_FLEET, topics

LARGE = SMALL_FLEET + 1
NAMES = st.text("abc-", min_size=1, max_size=12)


def test_a_small_fleet_compares_every_domain_with_every_other() -> None:
    assert topics({"claims": SMALL_FLEET, "deploys": 0}) == (("claims", "deploys"),)
    assert topics({}) == ()


def test_domains_of_a_large_fleet_meet_when_their_names_share_a_word_in_any_form() -> None:
    assert topics({"task-claims": LARGE, "claiming": 1, "Claim rules": 1, "deploys": 1}) == (
        ("Claim rules", "claiming", "task-claims"),
        ("deploys",),
    )


def test_words_join_domains_in_chains() -> None:
    assert topics({"claim-task": LARGE, "queue-retry": 1, "task-queue": 1}) == (
        ("claim-task", "queue-retry", "task-queue"),
    )


def test_a_word_of_many_domains_and_one_of_two_letters_join_none() -> None:
    common = {f"team-{letter * 3}": LARGE for letter in "abcdefghi"}
    assert len(common) == COMMON_WORD + 1
    assert topics(common) == tuple((domain,) for domain in sorted(common))
    assert len(topics(dict(list(common.items())[1:]))) == 1
    assert topics({"db-read": LARGE, "db-write": 1}) == (("db-read",), ("db-write",))


@given(st.dictionaries(NAMES, st.integers(1, LARGE), max_size=12))
def test_every_domain_is_in_one_topic_whatever_the_order(counts: dict[str, int]) -> None:
    found = topics(counts)
    assert sorted(domain for topic in found for domain in topic) == sorted(counts)
    assert topics(dict(reversed(counts.items()))) == found
