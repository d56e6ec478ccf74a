"""Pairs: the state that follows from verdicts, who is asked, and what a verdict leaves."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules.entries import standing, with_lesson, with_word
from fleet_memory.rules.pairs import (
    SIDES,
    ChangedSide,
    DraftDocuments,
    MemberSide,
    Questions,
    SideName,
    authored_sides,
    awaits_model,
    closed,
    decided,
    questions,
    resolved,
    ruling,
    takes_a_place,
    voices,
    with_judgement,
    with_silence,
)
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.pairs import MODEL_NAME, Judgement, Pair, PairState, Verdict
from fleet_memory.schemas.patterns import Pattern, Wording
from fleet_memory.schemas.policy import Policy
from tests.entries import BOTH, CHECK, KEY, LOOK, candidate, joining, judgement, pair, side, word
from tests.lessons import START, days, pattern, program

NOW = START + days(3)
POLICY = Policy()
ONE, OTHER = BOTH  # basher has side a, sark side b


def said(
    name: str | None,
    verdict: Verdict,
    sides: str = "",
    **fields: Any,  # noqa: ANN401 of any field; pydantic refuses others
) -> Judgement:
    """Return a verdict, e.g. `said("basher", "same", "a")` of the author of side a."""
    own = tuple(each for each in SIDES if each in sides)
    return judgement(name, verdict, sides=own, **fields)


def judged(*judgements: Judgement, known: Pair | None = None) -> Pair:
    """Return a pair after these verdicts, one hour after the other."""
    after = known or pair()
    for each in judgements:
        last = max((known.at for known in after.judgements), default=START)
        after = with_judgement(after, replace(each, at=last + days(1 / 24)))
    return after


def a(verdict: Verdict) -> Judgement:
    return said(ONE, verdict, "a")


def b(verdict: Verdict) -> Judgement:
    return said(OTHER, verdict, "b")


def third(verdict: Verdict, name: str = "iso") -> Judgement:
    return said(name, verdict)


def person(verdict: Verdict) -> Judgement:
    return said(None, verdict)


def silence(*sides: SideName) -> Sequence[Judgement]:
    names = {"a": ONE, "b": OTHER}
    return [said(names[name], "unsure", name, is_silence=True) for name in sides]


THIRD, PEOPLE = Questions(third=True), Questions(people=True)


@pytest.mark.parametrize(
    ("verdicts", "state", "asked"),
    [
        ([], "open", Questions(BOTH)),
        ([a("same")], "open", Questions((OTHER,))),
        ([a("same"), b("same")], "same", Questions()),
        ([a("different")], "open", Questions((OTHER,))),
        ([a("different"), b("different")], "different", Questions()),
        ([a("unsure"), b("unsure")], "open", PEOPLE),
        ([a("contradict")], "contradict", Questions((OTHER,))),
        ([a("contradict"), b("same")], "contradict", Questions()),
        # one author, and one other program where the other side is silent
        ([third("same"), a("same")], "open", Questions((OTHER,))),
        ([a("same"), *silence("b")], "open", THIRD),
        ([a("same"), *silence("b"), third("same")], "same", Questions()),
        ([a("same"), *silence("b"), said(MODEL_NAME, "same")], "same", Questions()),
        ([a("same"), b("unsure"), third("same")], "same", Questions()),
        ([a("different"), *silence("b")], "different", Questions()),
        ([*silence("a", "b"), third("same"), third("same", "ram")], "open", PEOPLE),
        ([*silence("b"), a("same"), b("different")], "open", THIRD),
        # two authors disagree: the next program of another origin decides, then people
        ([a("same"), b("different")], "open", THIRD),
        ([a("same"), b("different"), third("same")], "same", Questions()),
        ([a("same"), b("different"), third("different")], "different", Questions()),
        ([a("same"), b("different"), third("unsure")], "open", THIRD),
        ([a("same"), b("different"), third("unsure"), third("unsure", "ram")], "open", PEOPLE),
        ([a("same"), b("different"), third("contradict")], "different", Questions()),
        # a second author of one side
        ([a("same"), said("iso", "different", "a"), b("same")], "open", THIRD),
        ([a("same"), said("iso", "contradict", "a"), b("same")], "contradict", Questions()),
        ([said("iso", "same", "ab")], "open", THIRD),
        ([said("iso", "same", "ab"), third("same", "ram")], "same", Questions()),
        # the latest of each origin
        ([a("same"), b("same"), a("different"), b("different")], "different", Questions()),
        ([a("contradict"), a("same"), b("same")], "same", Questions()),
        ([a("same"), said("Basher/sub", "same")], "open", Questions((OTHER,))),
        # a person's newest is final
        ([a("contradict"), person("same")], "same", Questions()),
        ([person("different"), a("same"), b("same")], "different", Questions()),
        ([a("same"), b("same"), person("different"), person("unsure")], "same", Questions()),
    ],
)
def test_a_state_and_who_is_asked_follow_from_the_verdicts(
    verdicts: Sequence[Judgement], state: PairState, asked: Questions
) -> None:
    after = judged(*verdicts)
    assert (after.state, questions(after)) == (state, asked)
    assert takes_a_place(after) is bool(asked.programs)


def test_a_side_of_which_nobody_is_left_is_silent_at_once() -> None:
    left = pair(side(ONE, CHECK), side("", LOOK, key=KEY))
    assert questions(left) == Questions((ONE,))
    assert judged(a("same"), third("same"), known=left).state == "same"


def test_all_names_over_one_connection_and_all_judges_by_role_are_one_origin() -> None:
    for mark in ({"connection": "c1"}, {"by_role": True}):
        two = [said("iso", "same", **mark), said("ram", "same", **mark)]
        assert judged(a("different"), *silence("b"), *two).state == "open"
    over = [said(ONE, "same", "a", connection="c1"), said(OTHER, "same", "b", connection="c1")]
    assert judged(*over).state == "open"


def test_people_alone_judge_a_text_that_gives_its_judge_orders() -> None:
    steering = pair(steering="Mark these")
    after = judged(a("same"), b("same"), known=steering)
    assert (after.state, questions(after)) == ("open", PEOPLE)
    assert with_silence(after, NOW + days(30)) is after
    assert not awaits_model(after)
    assert judged(person("same"), known=after).state == "same"
    assert ruling(replace(after, steering="")) == "same"


def test_a_side_is_silent_after_fourteen_days_or_three_showings() -> None:
    one = judged(a("same"))
    assert with_silence(one, START + days(13.9)) is one
    late = with_silence(one, START + days(14))
    assert (questions(late), with_silence(late, START + days(20))) == (THIRD, late)
    assert questions(with_silence(one, NOW, "Sark/sub")) == THIRD
    assert with_silence(one, NOW, "iso") is one
    assert judged(b("same"), known=late).state == "same"
    assert questions(with_silence(pair(), START + days(14))) == PEOPLE


def test_a_pair_of_texts_that_changed_asks_nobody_and_keeps_its_verdicts() -> None:
    gone = closed(judged(a("same")))
    assert (questions(gone), len(gone.judgements)) == (Questions(), 1)


def test_author_of_a_side_is_every_program_with_the_text_in_projects_that_may_meet() -> None:
    known = pair(replace(side(ONE, CHECK), project_id="web"), side(OTHER, LOOK))

    def of(name: str, *lessons: Pattern, entries: Sequence[Entry] = ()) -> Sequence[SideName]:
        holder = program(*lessons, program_id=name)
        return authored_sides(known, holder, {each.key: each for each in entries})

    assert of("Basher/sub") == ("a",)
    assert of("iso", pattern(CHECK)) == ("a",)
    assert of("iso", pattern(CHECK, project_id="api")) == ()
    assert of("iso", pattern(CHECK), pattern(LOOK, id="p2")) == ("a", "b")
    old = Wording(words=text_hash(CHECK), change="reworded", stored_at=START)
    assert of("iso", pattern("New words", earlier=(old,))) == ("a",)
    assert of("iso", pattern("New words", earlier=(replace(old, change="corrected"),))) == ()
    known = pair(side(ONE, CHECK, key=KEY), side(OTHER, LOOK))
    shared = candidate("iso", replace(candidate("ram").provenance[0], could_read="was shown it"))
    assert of("iso/sub", entries=[shared]) == ("a",)
    assert of("ram", entries=[shared]) == ()


# What a verdict leaves


def documents(*entries: Entry, **lessons: Pattern) -> DraftDocuments:
    """Return programs by name with one lesson each, and entries."""
    programs = {name: program(known, program_id=name) for name, known in lessons.items()}
    return DraftDocuments(programs, {each.key: each for each in entries})


def lessons_of_both(project_id: str | None = None) -> DraftDocuments:
    sark = pattern(LOOK, project_id=project_id)
    return documents(basher=pattern(CHECK, confidence=0.9), sark=sark)


def twice(known: Pair, before: DraftDocuments) -> DraftDocuments:
    """Return the documents after a pair was decided, which are the same after the second time."""
    after = decided(known, before, POLICY)
    again = decided(known, after.documents, POLICY)
    assert again.documents == after.documents
    return after.documents


def keys(after: DraftDocuments, name: str) -> tuple[str, ...]:
    return after.programs[name].patterns["p1"].knowledge_keys


def test_two_lessons_judged_the_same_become_an_entry_and_part_when_the_verdict_falls() -> None:
    known = judged(a("same"), b("same"))
    after = twice(known, lessons_of_both(project_id="web"))
    (made,) = after.entries.values()
    assert (made.key, made.value.pattern, made.project_id) == (KEY, CHECK, "web")
    assert [(each.program_id, each.basis) for each in made.provenance] == [
        (ONE, "text"),
        (OTHER, "judged"),
    ]
    assert (keys(after, ONE), keys(after, OTHER)) == ((KEY,), (KEY,))
    fallen = judged(person("different"), known=known)
    parted = twice(fallen, after)
    assert standing(parted.entries[KEY]) == (1, 0, 0)
    assert (keys(parted, ONE), keys(parted, OTHER)) == ((KEY,), ())
    assert twice(judged(person("same"), known=fallen), parted) == after


def test_a_lesson_judged_the_same_as_an_entry_joins_it_and_leaves_its_text_as_it_is() -> None:
    known = pair(side("iso", CHECK, key=KEY), side(OTHER, LOOK))
    agreed = judged(said("iso", "same", "a"), b("same"), known=known)
    before = documents(candidate("iso"), sark=pattern(LOOK, confidence=1.0))
    joined = twice(agreed, before)
    assert standing(joined.entries[KEY]) == (2, 0, 0)
    assert joined.entries[KEY].value.pattern == CHECK
    parted = twice(judged(b("different"), known=agreed), joined)
    assert (parted.entries[KEY].provenance, keys(parted, OTHER)) == (
        candidate("iso").provenance,
        (),
    )


def test_a_lesson_of_no_project_may_be_in_an_entry_of_each_project() -> None:
    web = replace(side("iso", CHECK, key=KEY), project_id="web")
    api = replace(side("ram", "Own words", key="k2"), project_id="api")
    before = documents(
        replace(candidate("iso"), project_id="web"),
        replace(
            candidate("ram"),
            key="k2",
            project_id="api",
            value=replace(candidate().value, pattern="Own words"),
        ),
        sark=pattern(LOOK),
    )
    for entry_side in (web, api):
        agreed = judged(person("same"), known=pair(entry_side, side(OTHER, LOOK)))
        before = twice(agreed, before)
    assert keys(before, OTHER) == (KEY, "k2")


def two_entries() -> DraftDocuments:
    """Return an entry of basher, and a younger one of sark with a word against it."""
    younger = replace(candidate(), key="k2", value=replace(candidate().value, pattern=LOOK))
    younger = with_lesson(younger, joining(OTHER, LOOK, stored_at=START + days(1)))
    return documents(
        candidate(ONE),
        with_word(younger, word("ram")),
        basher=pattern(CHECK, knowledge_keys=(KEY,), last_reinforced=START - days(9)),
        sark=pattern(LOOK, knowledge_keys=("k2",)),
    )


def test_two_entries_judged_the_same_are_read_as_one_until_the_verdict_falls() -> None:
    before = two_entries()
    known = judged(
        a("same"), b("same"), known=pair(side(ONE, CHECK, key=KEY), side(OTHER, LOOK, key="k2"))
    )
    after = twice(known, before)
    assert after.entries["k2"].read_through == KEY
    assert standing(after.entries[KEY]) == (2, 0, 1)
    parted = twice(judged(b("different"), known=known), after)
    assert {name: standing(each) for name, each in parted.entries.items()} == {
        KEY: (1, 0, 0),
        "k2": (1, 0, 1),
    }


def test_an_entry_reads_on_after_the_one_that_it_was_read_through_was_read_through_another() -> (
    None
):
    before = two_entries()
    third_ = replace(candidate("iso"), key="k3", value=replace(candidate().value, pattern="Third"))
    before = before.with_entry(
        with_lesson(
            replace(third_, provenance=()), joining("iso", "Third", stored_at=START + days(2))
        )
    )
    second = judged(
        person("same"), known=pair(side(OTHER, LOOK, key="k2"), side("iso", "Third", key="k3"))
    )
    first = judged(
        person("same"), known=pair(side(ONE, CHECK, key=KEY), side(OTHER, LOOK, key="k2"))
    )
    united = twice(first, twice(second, before))
    assert standing(united.entries[KEY]) == (3, 0, 1)
    fallen = decided(judged(person("different"), known=second), united, POLICY).documents
    assert {name: standing(each)[0] for name, each in fallen.entries.items()} == {
        KEY: 2,
        "k2": 0,
        "k3": 1,
    }


def test_an_authors_contradict_is_its_word_against_the_entry_of_the_other_text() -> None:
    known = judged(said(ONE, "contradict", "a", reason="the lock is exclusive"))
    after = twice(known, lessons_of_both())
    (made,) = after.entries.values()
    assert (made.value.pattern, standing(made)) == (LOOK, (1, 0, 1))
    assert [(each.program_id, each.evidence, each.pair) for each in made.words] == [
        (ONE, "the lock is exclusive", known.pair_id)
    ]
    assert list(after.programs[ONE].against) == [made.key]
    taken_back = twice(judged(a("unsure"), known=known), after)
    assert standing(taken_back.entries[made.key]) == (1, 0, 0)


def test_an_author_of_both_texts_speaks_against_the_other_programs_alone() -> None:
    known = judged(said(ONE, "contradict", "ab"))
    (made,) = twice(known, lessons_of_both()).entries.values()
    assert (made.value.pattern, standing(made)) == (LOOK, (1, 0, 1))


def test_a_contradict_after_a_same_parts_the_lessons_and_is_a_word_at_once() -> None:
    same = judged(a("same"), b("same"))
    after = twice(judged(b("contradict"), known=same), twice(same, lessons_of_both()))
    assert standing(after.entries[KEY]) == (1, 0, 1)
    after = twice(judged(a("contradict"), known=same), twice(same, lessons_of_both()))
    by_text = {each.value.pattern: standing(each) for each in after.entries.values()}
    assert by_text == {CHECK: (1, 0, 0), LOOK: (1, 0, 1)}


def test_a_contradict_that_another_program_of_its_origin_took_back_is_no_word() -> None:
    back = judged(a("contradict"), said("basher/sub", "unsure", "a"))
    assert twice(back, twice(judged(a("contradict")), lessons_of_both())) == twice(
        judged(a("unsure")), twice(judged(a("contradict")), lessons_of_both())
    )


@pytest.mark.parametrize(
    "verdict",
    [person("contradict"), third("contradict"), said("iso", "contradict", "a", by_role=True)],
)
def test_a_contradict_of_a_person_a_third_and_the_role_judge_is_no_word(verdict: Judgement) -> None:
    before = two_entries()
    known = judged(verdict, known=pair(side(ONE, CHECK, key=KEY), side(OTHER, LOOK, key="k2")))
    assert twice(known, before) == before


def test_what_a_program_reported_itself_stays_when_its_verdict_falls() -> None:
    known = judged(a("contradict"), known=pair(side(ONE, CHECK), side("iso", LOOK, key="k2")))
    after = twice(known, two_entries())
    own = word(ONE, at=NOW, evidence="seen again")
    reported = after.with_entry(with_word(after.entries["k2"], own))
    left = twice(judged(person("different"), known=known), twice(known, reported))
    assert [each for each in left.entries["k2"].words if each.program_id == ONE] == [own]


def test_a_fourth_contradict_of_a_day_waits() -> None:
    before = two_entries()
    recent = {f"k{number}": START for number in range(7, 10)}
    busy = before.with_program(replace(before.programs[ONE], against=recent))
    known = judged(a("contradict"), known=pair(side(ONE, CHECK), side(OTHER, LOOK, key="k2")))
    (said_,) = (each for each in twice(known, busy).entries["k2"].words if each.program_id == ONE)
    assert said_.waits


@pytest.mark.parametrize(
    ("lesson", "why"),
    [
        (None, "withdrawn"),
        (pattern("New words"), "another text"),
    ],
)
def test_a_side_that_changed_says_how(lesson: Pattern | None, why: str) -> None:
    before = two_entries()
    changed = before.with_program(program(*([lesson] if lesson else []), program_id="iso"))
    found = resolved(pair(side("iso", CHECK), side(OTHER, LOOK)), side("iso", CHECK), changed)
    assert isinstance(found, ChangedSide)
    assert why in found.why


def test_a_contradict_is_a_word_against_the_entry_that_a_lesson_is_in_by_other_words() -> None:
    before = two_entries()
    member = before.with_program(program(pattern(CHECK, knowledge_keys=("k2",)), program_id="iso"))
    known = pair(side("iso", CHECK), side(OTHER, LOOK))
    assert resolved(known, known.a, member) == MemberSide("k2")
    after = twice(judged(b("contradict"), known=known), member)
    assert OTHER in {word.program_id for word in after.entries["k2"].words}
    assert twice(judged(a("same"), b("same"), known=known), member) == member


def test_a_lesson_that_its_author_reworded_is_judged_by_the_text_of_the_pair() -> None:
    old = Wording(words=text_hash(LOOK), change="reworded", stored_at=START - days(3))
    before = documents(basher=pattern(CHECK, confidence=0.9), sark=pattern("New", earlier=(old,)))
    after = twice(judged(a("same"), b("same")), before)
    (line,) = (each for each in after.entries[KEY].provenance if each.program_id == OTHER)
    assert (line.pattern, line.stored_at) == (LOOK, START - days(3))


# Properties

VERDICTS = st.sampled_from(["same", "different", "contradict", "unsure"])
VOICES = st.lists(
    st.builds(
        said,
        st.sampled_from([ONE, "basher/sub", OTHER, "iso", "ram", None, MODEL_NAME]),
        VERDICTS,
        st.sampled_from(["", "a", "b"]),
        connection=st.sampled_from([None, None, "c1"]),
        at=st.integers(0, 30).map(lambda day: START + days(day)),
    ),
    max_size=7,
    unique_by=lambda each: each.at,
)


def heard(judgements: Sequence[Judgement]) -> Pair:
    known = pair()
    for each in judgements:
        known = with_judgement(known, each)
    return known


@given(VOICES, st.randoms(use_true_random=False))
def test_the_order_and_doubling_of_verdicts_does_not_change_the_pair(
    judgements: list[Judgement], random: Random
) -> None:
    shuffled = [*judgements, *judgements]
    random.shuffle(shuffled)
    assert heard(shuffled) == heard(judgements)


@given(VOICES)
def test_a_same_never_holds_over_an_authors_contradict_or_by_one_origin(
    judgements: list[Judgement],
) -> None:
    known = heard([each for each in judgements if each.program_id is not None])
    if known.state == "same":
        agreed = [voice for voice in voices(known) if voice.verdict == "same"]
        assert any(voice.sides for voice in agreed)
        assert len(agreed) > 1
        assert not any(v.verdict == "contradict" and v.sides for v in voices(known))


@given(st.lists(VOICES, min_size=1, max_size=3))
def test_a_pair_decided_on_the_way_leaves_what_its_last_state_leaves(
    steps: list[list[Judgement]],
) -> None:
    known, after = pair(), lessons_of_both()
    for judgements in steps:
        for each in judgements:
            known = with_judgement(known, each)
        after = twice(known, after)

    def figures(left: DraftDocuments) -> Sequence[object]:
        counts = [standing(each) for each in left.entries.values()]
        return sorted(each for each in counts if each not in ((0, 0, 0), (1, 0, 0)))

    assert figures(after) == figures(twice(known, lessons_of_both()))
