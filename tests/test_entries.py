"""An entry: the lessons that joined it, the words about it, and all that follows from them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules.entries import (
    MAX_PROVENANCE,
    RETIRE_FROM,
    JoiningLesson,
    TwoEntries,
    better_text,
    by_age,
    candidate_of,
    doubts,
    entry_for,
    entry_state,
    is_one_origin,
    keys_of,
    ledger_event,
    may_contradict,
    origins,
    read_apart,
    read_as_one,
    settled,
    standing,
    with_lesson,
    with_recent,
    with_word,
    withdrawn_by_policy,
    without_lesson,
    without_word_of,
)
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.knowledge import (
    Contribution,
    Decision,
    Entry,
    EntryState,
    LedgerEvent,
    Publication,
    Word,
)
from fleet_memory.schemas.patterns import Evidence, Source, Wording
from fleet_memory.schemas.policy import Policy
from tests.entries import CHECK, KEY, LOOK, WORD_AT, candidate, entry, joining, word
from tests.entries import contribution as line
from tests.lessons import START, days

NOW = START + days(21)
POLICY = Policy()
SAW = "the second runner lost an hour of work"


def counted(*lines: Contribution | str, words: Sequence[Word] = ()) -> tuple[int, int, int]:
    """Return how many origins discovered, confirmed and openly contradict."""
    return standing(candidate(*lines, words=words))


def later(known: Entry, now: datetime = NOW, policy: Policy = POLICY) -> Entry:
    """Return an entry that is settled after something else changed."""
    return settled(None, known, policy, now)


# One origin


@pytest.mark.parametrize(
    ("one", "other", "is_one"),
    [
        ("shop", "Shop/reviewer", True),
        ("shop/reviewer", "shop/explorer", True),
        ("\uff53hop", "SHOP", True),  # a full-width s
        ("shop", "shopper", False),
    ],
)
def test_a_program_is_one_origin_with_those_below_its_name(
    one: str, other: str, *, is_one: bool
) -> None:
    assert is_one_origin(one, other) is is_one
    assert counted(line(one), line(other)) == ((1, 0, 0) if is_one else (2, 0, 0))


@pytest.mark.parametrize(
    "shared", [{"session_id": "s1"}, {"evidence": "Imported from notes.md"}, {"evidence": SAW}]
)
def test_a_session_all_that_is_imported_and_copied_evidence_are_one_origin(
    shared: dict[str, str],
) -> None:
    assert counted(line("a", **shared), line("b", **shared)) == (1, 0, 0)


def test_equal_words_are_one_origin_unless_evidence_differs_and_has_more_than_three_words() -> None:
    assert counted(line("a", evidence=SAW), line("b", evidence="the build was red twice")) == (
        2,
        0,
        0,
    )
    assert counted(line("a", evidence=SAW), line("b", evidence="from our docs")) == (1, 0, 0)
    assert counted(line("a", evidence=SAW), line("b", LOOK, evidence="from our docs")) == (2, 0, 0)


def test_a_connection_is_one_origin_for_confirmations_and_by_policy_for_discoveries() -> None:
    both = [line("a", connection="c1"), line("b", connection="c1")]
    assert counted(*both) == (2, 0, 0)
    assert standing(replace(candidate(*both), origins="connection")) == (1, 0, 0)
    words = [word("d", "confirmed", connection="c2"), word("e", "confirmed", connection="c2")]
    assert counted("a", words=words) == (1, 1, 0)
    assert counted(line("a", connection="c2"), words=words) == (1, 0, 0)


def test_origins_are_joined_through_others() -> None:
    lines = [line("a"), line("b", session_id="s1"), line("c"), line("A/x", session_id="s1")]
    assert [sorted(each.programs) for each in origins(candidate(*lines))] == [
        ["c"],
        ["A/x", "a", "b"],
    ]


# The position of an origin


def test_an_origin_has_its_newest_position() -> None:
    against, back = word("a"), word("a", "confirmed", at=WORD_AT + days(1))
    assert counted("a", "b") == (2, 0, 0)
    assert counted("a", "b", words=[against]) == (1, 0, 1)
    assert counted("a", "b", words=[against, back]) == (2, 0, 0)
    assert counted(line("a", stored_at=WORD_AT + days(1)), "b", words=[against]) == (2, 0, 0)


def test_who_could_have_read_it_confirms_and_a_word_counts_with_evidence_only() -> None:
    assert counted("a", line("b", could_read="had been shown it")) == (1, 1, 0)
    words = [word("b", "confirmed"), word("c", evidence=""), word("d", "confirmed", evidence="")]
    assert counted("a", words=words) == (1, 1, 0)


def test_confidence_is_the_median_over_the_discoveries() -> None:
    lines = [line(name, confidence=value) for name, value in (("a", 0.5), ("b", 0.6), ("c", 0.9))]
    read = line("d", confidence=0.1, could_read="had been shown it")
    assert later(candidate(*lines, read)).value.confidence == 0.6


# What could have been read, decided on joining


def reason(known: Entry, **fields: datetime | None) -> str:
    """Return why a lesson that joins could have read the entry."""
    (joined,) = [
        each
        for each in with_lesson(known, joining("new", CHECK, **fields)).provenance
        if each.program_id == "new"
    ]
    return joined.could_read


def published(*times: float) -> Entry:
    """Return an entry of a and b that was published and withdrawn on these days, in turn."""
    moments = [START + days(time) for time in times]
    ends = [*moments[1::2], *([None] if len(moments) % 2 else [])]
    spans = tuple(
        Publication(at=at, withdrawn_at=end, threshold=2)
        for at, end in zip(moments[::2], ends, strict=True)
    )
    return entry("a", "b", publications=spans)


@pytest.mark.parametrize(
    ("stored", "read", "is_discovery"),
    [
        (3, None, True),  # before it was published
        (5, None, False),
        (9, None, False),
        (11, None, True),  # withdrawn
        (25, None, False),  # published again
        (12, (11, 12), True),  # read when it was withdrawn
        (12, (2, 4), True),
        (12, (2, 5), False),
        (12, (9, 11), False),
        (12, (3, 11), False),  # may have read it between
    ],
)
def test_it_is_discovered_by_who_could_not_have_read_it_while_it_was_published(
    stored: int, read: tuple[int, int] | None, *, is_discovery: bool
) -> None:
    first, last = (START + days(read[0]), START + days(read[1])) if read else (None, None)
    why = reason(
        published(5, 10, 20), stored_at=START + days(stored), read_first=first, read_last=last
    )
    assert (why == "") is is_discovery


@pytest.mark.parametrize(
    ("text", "shown_on", "is_discovery"), [(CHECK, 1, False), (LOOK, 1, False), (CHECK, 3, True)]
)
def test_who_was_shown_one_of_its_texts_before_did_not_discover_it(
    text: str, shown_on: int, *, is_discovery: bool
) -> None:
    lesson = joining("new", "Own words", stored_at=START + days(2))
    program = replace(lesson.program, shown={text_hash(text): START + days(shown_on)})
    lesson = lesson._replace(program=program)
    joined = with_lesson(candidate("a", line("b", LOOK)), lesson)
    assert standing(joined) == ((3, 0, 0) if is_discovery else (2, 1, 0))


def test_a_text_older_than_the_newest_dropped_showing_counts_as_shown() -> None:
    lesson = joining("new", "Own words", stored_at=START + days(5))
    program = replace(lesson.program, shown_dropped_at=START + days(1))
    forgot = lesson._replace(program=program)
    assert standing(with_lesson(candidate("a"), forgot)) == (1, 1, 0)
    newer = candidate(line("a", stored_at=START + days(2)))
    assert standing(with_lesson(newer, forgot)) == (2, 0, 0)


def test_what_a_lesson_could_have_read_stays_a_fact_after_others_change() -> None:
    known = with_lesson(published(5), joining("new", stored_at=START + days(6)))
    alone = without_lesson(replace(known, publications=()), "a", "p1")
    assert standing(alone) == (1, 1, 0)


# Publication


@pytest.mark.parametrize(
    ("found", "confirmed", "policy", "is_published"),
    [
        (1, 0, Policy(), False),
        (2, 0, Policy(), True),
        (1, 1, Policy(), True),
        (0, 2, Policy(), False),
        (1, 1, Policy(tried=0), False),
        (1, 1, Policy(tried=2), False),
        (2, 0, Policy(threshold=3), False),
        (2, 1, Policy(threshold=3), True),
    ],
)
def test_enough_discoveries_or_one_and_enough_confirmations_publish(
    found: int, confirmed: int, policy: Policy, *, is_published: bool
) -> None:
    lines = [line(f"d{number}") for number in range(found)]
    words = [word(f"c{number}", "confirmed") for number in range(confirmed)]
    assert later(candidate(*lines, words=words), policy=policy).is_published is is_published


def test_an_entry_below_its_threshold_is_withdrawn_and_comes_back_when_it_is_learnt_later() -> None:
    first = later(candidate("a", "b"), START + days(1))
    withdrawn = settled(first, with_word(first, word("b")), POLICY, START + days(2))
    assert entry_state(withdrawn, NOW) == "candidate"
    joined = with_lesson(withdrawn, joining("new", "Own words", stored_at=START + days(9)))
    back = settled(withdrawn, joined, POLICY, START + days(10))
    assert [(each.at, each.withdrawn_at) for each in back.publications] == [
        (START + days(1), START + days(2)),
        (START + days(10), None),
    ]
    assert back.value.contributors == ("a", "new")


def test_an_entry_keeps_the_threshold_that_it_was_published_with_until_people_apply_another() -> (
    None
):
    stricter = Policy(threshold=3)
    first = later(candidate("a", "b"), START + days(1))
    changed = settled(first, replace(first, confirmations=1), stricter, NOW)
    assert (changed.is_published, changed.threshold) == (True, 2)
    assert not withdrawn_by_policy(changed, stricter, NOW).is_published
    assert withdrawn_by_policy(changed, POLICY, NOW) is changed


# States


def at_once(known: Entry) -> EntryState:
    return entry_state(known, START + days(3))


def test_each_state_hides_those_after_it() -> None:
    three = [line("a"), line("b", LOOK), line("c", "Third words")]
    retired = Decision(kind="retired", at=START, by="operator")
    assert at_once(entry(*three)) == "fresh"
    assert entry_state(entry(*three), START + days(182)) == "verify"
    against = entry(*three, words=(word("d"),), last_confirmed=START - days(200))
    assert at_once(against) == "contested"
    assert at_once(replace(against, publications=())) == "candidate"
    assert at_once(replace(against, publications=(), decisions=(retired,))) == "retired"


def test_fewer_than_two_discoveries_and_three_origins_are_tried() -> None:
    one = word("b", "confirmed")
    assert doubts(entry("a", words=(one,))) == ("tried",)
    assert doubts(entry("a", words=(one, word("c", "confirmed")))) == ()
    assert doubts(entry("a", "b")) == ()


def test_an_entry_whose_origins_all_came_over_one_unbound_connection_wants_verifying() -> None:
    lines = [line("a", connection="c1"), line("b", connection="c1")]
    assert doubts(entry(*lines)) == ("one_connection",)
    assert doubts(entry(*lines, words=(word("c", "confirmed", connection="c1"),))) == (
        "one_connection",
    )
    assert doubts(entry(*lines, words=(word("c", "confirmed"),))) == ()
    assert doubts(entry(lines[0], "b")) == ()


def test_a_contradiction_is_open_until_it_is_taken_back_or_two_others_confirm_after_it() -> None:
    def confirmed(name: str, day: int) -> Word:
        return word(name, "confirmed", at=START + days(day))

    against = word("x", at=START + days(5))
    known = [line("a"), line("b"), line("c")]
    assert counted(*known, words=[against]) == (3, 0, 1)
    assert counted(*known, words=[against, confirmed("x", 6)]) == (3, 1, 0)
    assert counted(*known, words=[against, confirmed("a", 6)]) == (3, 0, 1)
    assert counted(*known, words=[against, confirmed("a", 6), confirmed("b", 7)]) == (3, 0, 0)
    assert counted(*known, words=[against, confirmed("a", 3), confirmed("b", 4)]) == (3, 0, 1)
    again = word("x", at=START + days(8))
    answers = [confirmed("a", 6), confirmed("b", 7)]
    assert counted(*known, words=[against, *answers, again]) == (3, 0, 0)


def test_two_origins_retire_an_entry_unless_as_many_confirm_since_the_first_word_against() -> None:
    against = [word("x"), word("y", at=WORD_AT + days(2))]
    known = [line("a"), line("b"), line("c")]
    assert entry_state(later(entry(*known, words=tuple(against[:1]))), NOW) == "contested"
    assert entry_state(later(entry(*known, words=tuple(against))), NOW) == "retired"
    below = [word("x"), word("X/sub"), word("x/other", session_id="s2")]
    assert entry_state(later(entry(*known, words=tuple(below))), NOW) == "contested"
    answered = [*against, *(word(name, "confirmed", at=WORD_AT + days(1)) for name in ("a", "b"))]
    assert entry_state(later(entry(*known, words=tuple(answered))), NOW) == "contested"
    late = word("z", at=WORD_AT + days(2))
    assert entry_state(later(entry(*known, words=(*answered, late))), NOW) == "retired"


def test_a_retired_entry_comes_back_by_people_alone_and_counts_that_it_was_learnt_again() -> None:
    gone = later(entry("a", "b", words=(word("x"), word("y"))))
    taken = with_word(gone, word("x", "confirmed", at=NOW))
    learnt = with_lesson(taken, joining("new", "Own words", stored_at=NOW))
    again = settled(gone, learnt, POLICY, NOW)
    assert (entry_state(again, NOW), again.relearnt) == ("retired", 1)
    people = Decision(kind="reinstated", at=NOW + days(1), by="operator")
    back = settled(again, replace(again, decisions=(*again.decisions, people)), POLICY, NOW)
    assert (entry_state(back, NOW), len(back.publications)) == ("fresh", 2)


def test_a_rule_of_people_is_contested_and_never_retired_or_withdrawn() -> None:
    rule = entry(tier="constitutional", publications=(), words=(word("x"), word("y")))
    assert (entry_state(later(rule), NOW), doubts(rule)) == ("contested", ())


def test_the_fourth_open_contradiction_of_a_day_waits_for_another_origin() -> None:
    against: dict[str, datetime] = {}
    for number in range(3):
        assert may_contradict(against, f"k{number}", NOW)
        against = with_recent(against, f"k{number}", NOW)
    assert not may_contradict(against, "k3", NOW)
    assert may_contradict(against, "k2", NOW)
    assert may_contradict(against, "k3", NOW + days(1))
    waiting = word("x", waits=True)
    assert counted("a", "b", words=[waiting]) == (2, 0, 0)
    assert counted("a", "b", "c", words=[waiting, word("y")]) == (3, 0, 2)


# Lessons and words join


def test_an_entry_has_the_text_of_the_most_confident_then_the_oldest_lesson() -> None:
    lessons = [
        joining("b", LOOK, confidence=0.9),
        joining("c", confidence=0.9, discovered_at=START - days(1)),
        joining("a", "Own words", confidence=0.8),
    ]
    assert candidate_of(better_text(lessons), POLICY).value.pattern == CHECK


def test_an_entry_is_of_the_project_of_either_lesson_and_of_none_if_both_have_none() -> None:
    assert candidate_of(joining("a"), POLICY, "web").project_id == "web"
    assert candidate_of(joining("a", project_id="api"), POLICY, "web").project_id == "api"
    assert candidate_of(joining("a"), POLICY).project_id is None


def test_one_text_has_an_entry_of_its_own_in_each_project() -> None:
    known = candidate_of(joining("a", project_id="api"), POLICY)
    fresh = candidate_of(joining("b", project_id="web"), POLICY)
    assert entry_for(fresh, {known.key: known}).key == keys_of(fresh)[1]
    assert entry_for(fresh, {}).key == KEY
    assert entry_for(replace(known, version=7), {known.key: known}) is known


def test_a_lesson_joins_once_and_with_the_source_and_times_of_the_text_that_was_judged() -> None:
    past = Wording(words=text_hash(CHECK), change="reworded", stored_at=START - days(9))
    lesson = joining("a", LOOK, earlier=(past,), source=Source(client="c", model="m"))
    known = with_lesson(candidate(), lesson._replace(text=CHECK))
    assert known.provenance == (
        line("a", stored_at=START - days(9), similarity=0.7, client="c", model="m"),
    )
    assert with_lesson(known, lesson._replace(text=CHECK)) is known


def test_a_lesson_brings_its_programs_newest_word_about_itself_along() -> None:
    log = (
        Evidence(at=START + days(1), outcome="contradicted", text="it was the cache"),
        Evidence(at=START + days(2), outcome="contradicted"),
    )
    known = with_lesson(candidate(), joining("a", evidence_log=log))
    assert [(each.outcome, each.evidence) for each in known.words] == [
        ("contradicted", "it was the cache")
    ]
    back = (*log, Evidence(at=START + days(3), outcome="confirmed", text="it was not the cache"))
    assert standing(with_lesson(candidate(), joining("a", evidence_log=back))) == (1, 0, 0)


def test_a_full_entry_takes_no_more_lessons() -> None:
    full = candidate(*(f"p{number}" for number in range(MAX_PROVENANCE)))
    assert with_lesson(full, joining("new")) is full


def test_a_lesson_that_leaves_takes_its_vote_along() -> None:
    first = later(candidate("a", "b"))
    left = settled(first, without_lesson(first, "b", "p1"), POLICY, NOW)
    assert (left.is_published, left.value.contributors) == (False, ("a",))
    assert without_lesson(left, "b", "p1") is left


def test_a_word_without_evidence_moves_the_clock_at_most() -> None:
    known = entry("a", "b")
    assert with_word(known, word("x", evidence="")) is known
    bare = with_word(known, word("x", "confirmed", evidence=""))
    assert (bare.last_confirmed, bare.words) == (WORD_AT, ())
    old = with_word(bare, word("x", "confirmed", START - days(9), evidence=""))
    assert old.last_confirmed == WORD_AT


def test_no_programs_word_is_dropped_and_of_one_repeated_on_end_the_first_and_newest_stay() -> None:
    known = entry("a", "b")
    said = [word("x", at=START + days(day), evidence=f"seen {day}") for day in range(60)]
    others = [word(f"y{day}", at=START + days(day), evidence="seen") for day in range(60)]
    for each in (*said, *others, *said):
        known = with_word(known, each)
    assert [each for each in known.words if each.program_id == "x"] == [said[0], said[-1]]
    assert len(known.words) == len(others) + 2
    thanks = word("x", "confirmed", at=START + days(70))
    once = with_word(known, thanks)
    assert with_word(once, thanks) is once


def test_a_verdict_that_falls_leaves_what_its_program_reported_itself() -> None:
    verdict, report = word("x", pair="1f"), word("x", at=WORD_AT + days(1))
    both = with_word(with_word(entry("a", "b"), verdict), report)
    assert without_word_of(both, "1f", "X").words == (report,)


# Figures and the ledger


def test_the_view_of_an_unchanged_entry_is_the_same_object_and_a_change_is_a_version() -> None:
    known = later(candidate("a", "b"))
    assert settled(known, replace(known), POLICY, NOW) is known
    assert settled(known, with_word(known, word("x")), POLICY, NOW).version == 2


def test_the_figures_follow_from_the_discoveries() -> None:
    made = later(candidate("a", line("b", discovered_at=START - days(1)), "a/sub"))
    assert made.value.wire() == {
        "pattern": CHECK,
        "domain": "task-claiming",
        "confidence": 0.8,
        "contributors": ["a", "a/sub", "b"],
        "evidenceCount": 2,
        "firstDiscovered": "2026-02-13T08:23:00Z",
        "lastPromoted": "2026-03-07T08:23:00Z",
    }
    assert made.description == "Auto-promoted from 2 independent agent discoveries"


@pytest.mark.parametrize(
    ("before", "after", "event"),
    [
        (None, candidate("a"), "attached"),
        (None, entry("a", "b"), "promoted"),
        (entry("a", "b"), candidate("a", "b"), "demoted"),
        (entry("a", "b"), entry("a", "b", words=(word("x"),)), "contradicted"),
        (entry("a", "b", words=(word("x"),)), entry("a", "b"), "confirmed"),
        (entry("a", "b", "c"), entry("a", "b"), "left"),
        (entry("a", "b"), entry("a", "b", confirmations=1), None),
    ],
)
def test_the_ledger_names_a_change_of_state_or_of_discoveries(
    before: Entry | None, after: Entry, event: LedgerEvent | None
) -> None:
    assert ledger_event(before, after, START + days(3)) == event


# Two entries read as one

OTHER = "pattern/task-claiming/look-whether-task-is-free"


def two_entries() -> TwoEntries:
    """Return an entry of a, and a younger one of other words of b with a word against it."""
    younger = line("b", LOOK, stored_at=START + days(1))
    return by_age(
        entry(younger, key=OTHER, words=(word("x"),)),
        candidate("a"),
    )


def test_the_younger_is_read_through_the_older_and_its_facts_count_there() -> None:
    older, younger = read_as_one(two_entries(), "1f")
    assert (younger.read_through, younger.same_pair, older.also) == (KEY, "1f", (OTHER,))
    assert standing(older) == (2, 0, 1)
    assert standing(younger) == (0, 0, 0)


def test_two_entries_stand_alone_again_when_the_verdict_falls() -> None:
    two = two_entries()
    older, younger = read_as_one(two, "1f")
    later_word = with_word(older, word("y", at=NOW))
    apart = read_apart(later_word, younger)
    assert apart == (with_word(two.older, word("y", at=NOW)), two.younger)


def test_an_entry_that_two_are_read_through_gives_each_its_own_facts_back() -> None:
    older, younger = two_entries()
    third = entry(line("c", "Third", stored_at=START + days(2)), key="pattern/t/third")
    middle, last = read_as_one(TwoEntries(younger, third), "2f")
    first, between = read_as_one(TwoEntries(older, middle), "1f")
    assert standing(first) == (3, 0, 1)
    assert read_apart(first, between) == (older, middle)
    assert read_apart(middle, last) == (younger, third)
    straight = read_apart(first, last)
    assert (straight.younger, straight.older.also) == (third, (OTHER,))


def test_a_discovery_of_the_younger_that_could_have_read_the_older_confirms_there() -> None:
    older = published(5)
    younger = candidate(line("c", LOOK, stored_at=START + days(6)))
    after = read_as_one(TwoEntries(older, replace(younger, key=OTHER)), "1f")
    assert standing(after.older) == (2, 1, 0)
    assert standing(read_apart(*after).younger) == (1, 0, 0)


@pytest.mark.parametrize("which", ["older", "younger", "rule"])
def test_a_retired_entry_and_a_younger_rule_of_people_are_not_read_as_one(which: str) -> None:
    two, retired = two_entries(), (Decision(kind="retired", at=NOW, by="operator"),)
    if which == "older":
        two = two._replace(older=replace(two.older, decisions=retired))
    elif which == "younger":
        two = two._replace(younger=replace(two.younger, decisions=retired))
    else:
        two = two._replace(younger=replace(two.younger, tier="constitutional"))
    assert read_as_one(two, "1f") == two


# Properties over all facts

NAMES = st.sampled_from(["a", "A/sub", "b", "c", "d", "x"])
MOMENTS = st.integers(0, 40).map(lambda day: START + days(day))
TEXTS = st.sampled_from([CHECK, LOOK, "Third words"])
REPORTS = st.builds(
    word,
    NAMES,
    st.sampled_from(["confirmed", "contradicted"]),
    MOMENTS,
    evidence=st.sampled_from(["", "it failed", SAW]),
    session_id=st.sampled_from([None, "s1"]),
    connection=st.sampled_from([None, "c1"]),
)
LESSONS = st.builds(
    lambda name, text, **fields: joining(name, text, id=text, **fields),
    NAMES,
    TEXTS,
    stored_at=MOMENTS,
    evidence=st.sampled_from(["", "it failed", SAW]),
    session_id=st.sampled_from([None, "s1"]),
    confidence=st.sampled_from([0.4, 0.8]),
)
FACTS = st.lists(
    st.one_of(REPORTS, LESSONS),
    max_size=10,
    unique_by=lambda fact: (
        repr(fact) if isinstance(fact, Word) else (fact.program_id, fact.pattern.id)
    ),
)


def lived(known: Entry, facts: Sequence[Word | JoiningLesson]) -> Entry:
    for fact in facts:
        known = with_word(known, fact) if isinstance(fact, Word) else with_lesson(known, fact)
    return known


@given(FACTS, st.randoms(use_true_random=False))
def test_the_order_and_doubling_of_facts_does_not_change_the_view(
    facts: list[Word | JoiningLesson], random: Random
) -> None:
    shuffled = [*facts, *facts]
    random.shuffle(shuffled)
    one, other = (later(lived(candidate(), order)) for order in (facts, shuffled))
    assert replace(other, confirmations=one.confirmations) == one


@given(FACTS, st.integers(2, 4), st.integers(0, 2))
def test_an_entry_is_published_by_enough_discoveries_or_confirmations_alone(
    facts: list[Word | JoiningLesson], threshold: int, tried: int
) -> None:
    known = later(lived(candidate(), facts), policy=Policy(threshold=threshold, tried=tried))
    found, confirmed, against = standing(known)
    enough = found >= threshold or (found >= 1 and confirmed >= tried > 0)
    assert known.is_published is (enough and known.retired_at is None)
    assert known.retired_at is None or against >= RETIRE_FROM
    assert known.value.evidence_count == found <= len(known.value.contributors)


@given(FACTS, FACTS)
def test_what_was_read_as_one_and_apart_again_is_as_it_was(
    facts: list[Word | JoiningLesson], others: list[Word | JoiningLesson]
) -> None:
    two = TwoEntries(lived(candidate(), facts), replace(lived(candidate(), others), key=OTHER))
    apart = read_apart(*read_as_one(two, "1f"))
    assert replace(apart.older, last_confirmed=two.older.last_confirmed) == two.older
    assert apart.younger == two.younger
