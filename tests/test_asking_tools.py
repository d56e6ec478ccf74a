"""Programs are shown pairs to judge as they boot and as they leave, and it is remembered in the same commit."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from fleet_memory.errors import ForbiddenError, StoreUnavailableError
from fleet_memory.fleet import Caller, Fleet, no_progress
from fleet_memory.jobs.deletion import delete_program
from fleet_memory.jobs.judging import Judge, judge
from fleet_memory.jobs.policy import set_policy
from fleet_memory.repositories.proposing_memory import ProposingMemory
from fleet_memory.rules.knowledge.state import doubts, entry_state
from fleet_memory.rules.retrieval.boot import Depth
from fleet_memory.rules.retrieval.budget import size
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.answers.common import ToJudge, ToJudgeSide
from fleet_memory.schemas.answers.state import SessionAnswer
from fleet_memory.schemas.pairs import NewVerdict, Pair, Verdict
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.schemas.programs import Asked, Program
from fleet_memory.stores import Store, Write
from fleet_memory.tools.commit_session import commit_session
from fleet_memory.tools.gsp_bootstrap import gsp_bootstrap
from fleet_memory.tools.pattern_consolidate import pattern_consolidate
from fleet_memory.tools.store_memory import store_memory
from tests.fleets import NOW, at, documents, learn, on, show
from tests.lessons import days, new_pattern
from tests.shared import CHECK, FREE, LATE, LOOK, Lesson, opened_pair, shared_entry
from tests.wrapped import Wrapped

pytestmark = pytest.mark.anyio

OPPOSITE = "opposite polarity"
LEARNT = NOW - days(1)
HOURS = timedelta(hours=2)  # longer than one showing


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    return at(replace(fleet, caller=Caller()), NOW)


class Commits(Wrapped):
    """A store that remembers its commits."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.commits: list[list[str]] = []

    async def commit(self, *writes: Write) -> datetime:
        self.commits.append([f"{write.ref.collection}/{write.ref.id}" for write in writes])
        return await super().commit(*writes)


class WithoutPairs(Wrapped):
    """A store that does not take pairs for a while."""

    async def commit(self, *writes: Write) -> datetime:
        if any(write.ref.collection.endswith("/pairs") for write in writes):
            raise StoreUnavailableError("pairs cannot be written")
        return await super().commit(*writes)


def verdict(pair_id: str, said: Verdict = "same") -> NewVerdict:
    return NewVerdict.model_validate({"pairId": pair_id, "verdict": said})


def ids(asked: Sequence[ToJudge] | None) -> list[str]:
    return [one.pair_id for one in asked or ()]


async def booted(fleet: Fleet, program: str, depth: Depth = "standard") -> Sequence[ToJudge]:
    """Return what a boot asks a program."""
    return (await gsp_bootstrap(fleet, program, depth)).to_judge or ()


async def left(fleet: Fleet, program: str, *verdicts: NewVerdict, request_id: str = "r1") -> SessionAnswer:
    """Leave a session with nothing but verdicts."""
    return await commit_session(fleet, program, request_id, verdicts=verdicts)


async def judged(fleet: Fleet, program: str, pair: Pair, said: Verdict) -> None:
    """Let a program judge a pair that it is shown."""
    await show(fleet, program, pair)
    (outcome,) = await judge(fleet, Judge(program), [verdict(pair.pair_id, said)])
    assert not hasattr(outcome, "error"), outcome


async def current(fleet: Fleet, pair: Pair) -> Pair:
    (versioned,) = await fleet.pairs.read(pair.pair_id)
    assert versioned.pair is not None
    return versioned.pair


async def voices(fleet: Fleet, pair: Pair) -> list[tuple[str | None, Verdict]]:
    return [(one.program_id, one.verdict) for one in (await current(fleet, pair)).judgements]


async def numbered(fleet: Fleet, count: int, *, ends: str = "") -> list[Pair]:
    """Open pairs of a lesson of basher and one of sark each, the likeliest first."""
    return [
        await opened_pair(
            at(fleet, LEARNT),
            Lesson("basher", f"Own {n}{ends}", f"own-{n}"),
            Lesson("sark", f"Other {n}{ends}", f"other-{n}"),
            rank=1 - n / 100,
        )
        for n in range(count)
    ]


async def contrary(fleet: Fleet) -> Pair:
    """Open a pair that its two programs judge differently: it needs a third."""
    pair = await opened_pair(at(fleet, LEARNT), Lesson("basher", LOOK), Lesson("sark", LATE))
    await judged(fleet, "basher", pair, "same")
    await judged(fleet, "sark", pair, "different")
    return await current(fleet, pair)


async def rewritten(fleet: Fleet, *texts: str) -> list[str]:
    """Let basher rewrite lessons that it shares with sark; return the ids of the questions about them."""
    for number, text in enumerate(texts):
        for program in ("basher", "sark"):
            await learn(fleet, program, f"Shared lesson {number} of both programs", id_=f"shared-{number}")
        await pattern_consolidate(fleet, no_progress)
        later = at(fleet, NOW + timedelta(minutes=30))
        lesson = NewPattern(pattern=text, domain="tasks", confidence=0.8, evidence="seen", id=f"shared-{number}")
        await store_memory(later, "basher", lesson)
    return [one.pair_id for one in await booted(fleet, "basher")]


async def test_a_boot_asks_about_the_three_likeliest_pairs_of_the_programs_own(fleet: Fleet) -> None:
    pairs = await numbered(fleet, 4)
    assert ids(await booted(fleet, "sark")) == [pair.pair_id for pair in pairs[:3]]
    (first, *_) = await booted(fleet, "basher")
    assert first == ToJudge(
        pair_id=pairs[0].pair_id,
        a=ToJudgeSide(own=True, pattern_id="own-0", domain="tasks", pattern="Own 0", evidence="basher lost a day"),
        b=ToJudgeSide(domain="tasks", pattern="Other 0", evidence="sark lost a day"),
    )


async def test_own_rewrites_are_asked_about_first(fleet: Fleet) -> None:
    rewrites = await rewritten(fleet, "Shared lesson one, but reworded", "Shared lesson two, but reworded")
    assert len(rewrites) == 2
    pairs = await numbered(fleet, 2)
    asked = await booted(fleet, "basher")
    assert ids(asked) == [*rewrites, pairs[0].pair_id]
    assert [one.b.own for one in asked] == [True, True, None]


@pytest.mark.parametrize("text", ["", ", for a long reason" * 30])
@pytest.mark.parametrize("depth", ["essential", "standard", "full"])
async def test_questions_fill_at_most_a_fifth_of_a_boot(fleet: Fleet, depth: Depth, text: str) -> None:
    await numbered(fleet, 3, ends=text)
    answer = await gsp_bootstrap(fleet, "basher", depth)
    budget = {"essential": 1_000, "standard": 2_500, "full": 25_000}[depth] * 4
    assert sum(size(one.wire()) for one in answer.to_judge or ()) <= budget / 5
    assert len(answer.to_judge or ()) == {"essential": 0 if text else 3, "standard": 1 if text else 3, "full": 3}[depth]


@pytest.mark.parametrize("max_tokens", [200, 400, 700, 1_000, 4_000])
async def test_a_boot_with_questions_keeps_its_budget(fleet: Fleet, max_tokens: int) -> None:
    await numbered(fleet, 3)
    await learn(fleet, "basher", "Something that it learnt", id_="more")
    answer = await gsp_bootstrap(fleet, "basher", max_tokens=max_tokens)
    assert size(answer.wire()) <= max_tokens * 4
    assert {one.pair_id for one in answer.to_judge or ()} == set((await fleet.programs.read("basher")).asked)


async def test_a_boot_remembers_in_its_one_commit_what_it_showed(fleet: Fleet) -> None:
    one, two = await numbered(fleet, 2)
    store = Commits(fleet.knowledge.store)
    server = on(fleet, store)
    await booted(server, "basher")
    program = await fleet.programs.read("basher")
    assert store.commits == [["fleets/default/programs/basher"]]
    assert program.asked == {pair.pair_id: Asked(times=1, at=NOW) for pair in (one, two)}
    assert program.shown == {text_hash(pair.b.text): NOW for pair in (one, two)}
    await booted(at(server, NOW + timedelta(minutes=50)), "basher")
    assert len(store.commits) == 1


async def test_a_boot_of_an_unknown_program_asks_nothing_and_creates_nothing(fleet: Fleet) -> None:
    await contrary(fleet)
    before = await documents(fleet)
    assert await booted(fleet, "newcomer") == ()
    assert await documents(fleet) == before


async def pair_with_entry(fleet: Fleet) -> Pair:
    """Open a pair of sark's lesson and of an entry that basher and iso learnt."""
    entry = await shared_entry(fleet, "basher", "iso")
    lesson = (await opened_pair(fleet, Lesson("sark", LATE), Lesson("ram", FREE))).a
    about = replace(lesson, program_id="basher", pattern_id="", key=entry.key, text=LOOK)
    pair = Pair(pair_id="with-entry", a=lesson, b=about, rank=0.9, opened_at=NOW)
    (absent,) = await fleet.pairs.read(pair.pair_id)
    await fleet.pairs.store.commit(fleet.pairs.write(absent, pair))
    return pair


async def test_a_deleted_program_is_asked_nothing_and_does_not_come_back(fleet: Fleet) -> None:
    pair = await pair_with_entry(fleet)
    assert ids(await booted(fleet, "basher")) == [pair.pair_id]
    await delete_program(fleet, "basher")
    answer = await gsp_bootstrap(fleet, "basher")
    program = await fleet.programs.read("basher")
    assert (answer.exists, answer.to_judge, program.exists, program.asked) == (False, None, False, {})


async def test_where_people_judge_no_program_is_asked(fleet: Fleet) -> None:
    await contrary(fleet)
    await numbered(fleet, 1)
    await set_policy(fleet, ["judging", "people"])
    server = on(fleet, fleet.knowledge.store)
    assert await booted(server, "basher") == ()
    assert (await left(server, "iso")).to_judge is None
    assert (await gsp_bootstrap(server, "basher")).freshness.to_judge == 2


async def test_a_session_asks_about_own_pairs_first_and_then_about_one_that_needs_a_third_program(
    fleet: Fleet,
) -> None:
    disputed = await contrary(fleet)
    own = await opened_pair(fleet, Lesson("iso", CHECK), Lesson("ram", FREE), rank=0.1)
    store = Commits(fleet.knowledge.store)
    answer = await left(on(fleet, store), "iso")
    assert ids(answer.to_judge) == [own.pair_id, disputed.pair_id]
    assert answer.to_judge
    assert answer.to_judge[1] == ToJudge(
        pair_id=disputed.pair_id,
        a=ToJudgeSide(domain="tasks", pattern=LOOK, evidence="basher lost a day"),
        b=ToJudgeSide(domain="tasks", pattern=LATE, evidence="sark lost a day"),
    )
    program = await fleet.programs.read("iso")
    assert store.commits == [["fleets/default/programs/iso", "fleets/default/receipts/iso_23_0"]]
    assert set(program.asked) == {own.pair_id, disputed.pair_id}
    assert program.shown == {text_hash(text): NOW for text in (LOOK, LATE, FREE)}


async def test_a_pair_that_needs_no_third_program_is_shown_to_none(fleet: Fleet) -> None:
    pair = await opened_pair(fleet, Lesson("basher", LOOK), Lesson("sark", LATE))
    assert (await left(fleet, "iso")).to_judge is None
    await judged(fleet, "basher", pair, "same")
    assert (await left(fleet, "iso", request_id="r2")).to_judge is None


async def test_neither_a_boot_nor_a_contributor_is_asked_as_a_third(fleet: Fleet) -> None:
    pair = await pair_with_entry(fleet)
    for program in ("sark", "basher"):
        await judged(fleet, program, pair, "unsure")
    await learn(fleet, "flynn", "Something else")
    assert (await booted(fleet, "flynn"), (await left(fleet, "iso")).to_judge) == ((), None)
    assert ids((await left(fleet, "flynn")).to_judge) == [pair.pair_id]


async def test_a_pair_that_asks_its_own_side_and_a_third_is_shown_once(fleet: Fleet) -> None:
    pair = await opened_pair(fleet, Lesson("basher", LOOK), Lesson("sark", LATE), objection=OPPOSITE)
    await judged(fleet, "basher", pair, "same")
    assert ids((await left(fleet, "sark")).to_judge) == [pair.pair_id]
    assert ids((await left(fleet, "iso")).to_judge) == [pair.pair_id]


async def test_a_session_is_not_asked_again_about_those_that_it_answers(fleet: Fleet) -> None:
    (rewrite,) = await rewritten(fleet, "Shared lesson one, but reworded")
    one, two = await numbered(fleet, 2)
    assert ids(await booted(fleet, "basher")) == [rewrite, one.pair_id, two.pair_id]
    answer = await left(fleet, "basher", verdict(rewrite), verdict(one.pair_id))
    assert [(said.pair_id, said.state) for said in answer.judged or ()] == [(rewrite, "same"), (one.pair_id, "same")]
    assert ids(answer.to_judge) == [two.pair_id]


async def test_verdicts_of_a_session_are_carried_out_one_by_one_and_refused_by_name(fleet: Fleet) -> None:
    one, two = await numbered(fleet, 2)
    await booted(fleet, "basher")
    other = await opened_pair(fleet, Lesson("iso", CHECK), Lesson("ram", FREE))
    sent = [verdict(one.pair_id), verdict("x"), verdict(other.pair_id), verdict(two.pair_id, "different")]
    answer = await commit_session(fleet, "basher", "r1", (new_pattern("Keep this", id="kept"),), verdicts=tuple(sent))
    assert [said.wire() for said in answer.judged or ()] == [
        {"pairId": one.pair_id, "state": "same", "key": "pattern/tasks/own-0", "status": "verify"},
        {
            "pairId": "x",
            "error": "invalid_argument: pairId: there is no pair 'x'; pattern_consolidate lists those to judge",
        },
        {
            "pairId": other.pair_id,
            "error": f"invalid_argument: pairId: {other.pair_id!r} was not shown to basher within 30 days; "
            "judge those in your toJudge",
        },
        {"pairId": two.pair_id, "state": "different"},
    ]
    assert "kept" in (await fleet.programs.read("basher")).patterns


async def test_lessons_of_a_session_are_durable_though_every_verdict_is_refused(fleet: Fleet) -> None:
    answer = await commit_session(
        fleet, "basher", "r1", (new_pattern("Keep this", id="kept"),), verdicts=(verdict("x"),)
    )
    assert [said.error is None for said in answer.judged or ()] == [False]
    assert (answer.failed, list((await fleet.programs.read("basher")).patterns)) == (0, ["kept"])


async def test_lessons_of_a_session_are_durable_though_no_pair_can_be_written(fleet: Fleet) -> None:
    one, two = await numbered(fleet, 2)
    await booted(fleet, "basher")
    server = on(fleet, WithoutPairs(fleet.knowledge.store))
    sent = (verdict(one.pair_id), verdict(two.pair_id))
    answer = await commit_session(server, "basher", "r1", (new_pattern("Keep this", id="kept"),), verdicts=sent)
    assert [said.error for said in answer.judged or ()] == ["store_unavailable: pairs cannot be written"] * 2
    assert "kept" in (await fleet.programs.read("basher")).patterns
    again = await commit_session(fleet, "basher", "r1", (new_pattern("Keep this", id="kept"),), verdicts=sent)
    assert [said.state for said in again.judged or ()] == ["same", "same"]


async def test_a_repeated_session_answers_the_same_and_counts_its_verdicts_once(fleet: Fleet) -> None:
    one, two = await numbered(fleet, 2)
    await booted(fleet, "basher")
    sent = [verdict(one.pair_id), verdict(two.pair_id, "different")]
    first = await left(fleet, "basher", *sent)
    program = await fleet.programs.read("basher")
    again = await left(fleet, "basher", *sent)
    assert replace(again, judged=None) == replace(first, judged=None)
    assert [(said.state, said.error) for said in again.judged or ()] == [("same", None), ("different", None)]
    assert (program.judged_at, (await fleet.programs.read("basher")).judged_at) == ((NOW, NOW), (NOW, NOW))
    assert (await voices(fleet, one), await voices(fleet, two)) == ([("basher", "same")], [("basher", "different")])


async def test_a_verdict_that_is_said_again_counts_though_the_day_is_used_up_and_the_showing_long_ago(
    fleet: Fleet,
) -> None:
    (pair,) = await numbered(fleet, 1)
    await judged(fleet, "basher", pair, "same")
    later = at(fleet, NOW + days(40))
    await used_up(later, "basher")
    answer = await left(later, "basher", verdict(pair.pair_id))
    assert [(said.state, said.error) for said in answer.judged or ()] == [("same", None)]
    assert len((await fleet.programs.read("basher")).judged_at) == 24


async def used_up(fleet: Fleet, name: str) -> None:
    """Let a program have given all verdicts of its day."""

    def change(program: Program) -> Program:
        return replace(program, judged_at=(fleet.now(),) * 24)

    (versioned,) = await fleet.programs.read_versioned(name)
    await fleet.programs.store.commit(*fleet.programs.writes(versioned, change(versioned.program)))


async def test_six_verdicts_count_in_a_call(fleet: Fleet) -> None:
    pairs = await numbered(fleet, 7)
    await show(fleet, "basher", *pairs)
    answer = await left(fleet, "basher", *(verdict(pair.pair_id, "different") for pair in pairs))
    assert [said.error for said in answer.judged or ()] == [
        *[None] * 6,
        "invalid_argument: verdicts: 6 count in one call; send the others in the next",
    ]
    assert await voices(fleet, pairs[6]) == []


async def test_twenty_four_verdicts_count_in_a_day_and_own_rewrites_always(fleet: Fleet) -> None:
    (rewrite,) = await rewritten(fleet, "Shared lesson one, but reworded")
    (pair,) = await numbered(fleet, 1)
    await show(fleet, "basher", pair)
    await used_up(fleet, "basher")
    answer = await left(fleet, "basher", verdict(pair.pair_id), verdict(rewrite))
    assert [(said.state, said.error) for said in answer.judged or ()] == [
        (None, "invalid_argument: verdicts: basher gave 24 within 24 hours; go on tomorrow"),
        ("same", None),
    ]
    (said,) = (await left(at(fleet, NOW + days(1)), "basher", verdict(pair.pair_id), request_id="r2")).judged or ()
    assert said.state == "same"


async def test_a_pair_that_was_shown_more_than_thirty_days_ago_must_be_shown_again(fleet: Fleet) -> None:
    (pair,) = await numbered(fleet, 1)
    await booted(fleet, "basher")
    later = at(fleet, NOW + days(31))
    (refused,) = (await left(later, "basher", verdict(pair.pair_id))).judged or ()
    assert "was not shown to basher within 30 days" in (refused.error or "")
    await booted(later, "basher")
    (said,) = (await left(later, "basher", verdict(pair.pair_id), request_id="r2")).judged or ()
    assert said.state == "same"


async def test_a_person_has_the_last_word_about_a_pair(fleet: Fleet) -> None:
    (pair,) = await numbered(fleet, 1)
    await booted(fleet, "basher")
    await judge(fleet, Judge(), [verdict(pair.pair_id, "different")])
    answer = await left(fleet, "basher", verdict(pair.pair_id))
    assert [said.error for said in answer.judged or ()] == [
        f"invalid_argument: pairId: a person has judged {pair.pair_id!r} (different); nothing is left to say"
    ]
    assert answer.to_judge is None


async def test_people_alone_are_asked_about_a_text_that_speaks_to_its_reader(fleet: Fleet) -> None:
    steering = "speaks to its reader: 'answer same'"
    pair = await opened_pair(fleet, Lesson("basher", LOOK), Lesson("sark", LATE), objection=steering)
    for program in ("basher", "sark", "iso"):
        assert (await booted(fleet, program), (await left(fleet, program)).to_judge) == ((), None)
    await show(fleet, "basher", pair)
    (refused,) = (await left(fleet, "basher", verdict(pair.pair_id), request_id="r2")).judged or ()
    assert refused.error is not None
    assert "people alone judge" in refused.error
    assert await fleet.pairs.count_for_people() == 1


async def test_an_agent_s_verdicts_are_refused_where_people_judge_but_for_own_rewrites(fleet: Fleet) -> None:
    (rewrite,) = await rewritten(fleet, "Shared lesson one, but reworded")
    (pair,) = await numbered(fleet, 1)
    await booted(fleet, "basher")
    await set_policy(fleet, ["judging", "people"])
    server = on(fleet, fleet.knowledge.store)
    assert ids(await booted(server, "basher")) == [rewrite]
    answer = await left(server, "basher", verdict(rewrite), verdict(pair.pair_id))
    assert [(said.state, said.error) for said in answer.judged or ()] == [
        ("same", None),
        (
            None,
            "invalid_argument: pairId: in this fleet people judge pairs (fleet-memory review); judge your own rewrites",
        ),
    ]


async def test_three_showings_count_as_unsure_and_the_pair_goes_to_another_program(fleet: Fleet) -> None:
    (pair,) = await numbered(fleet, 1)
    for number in range(3):
        assert ids(await booted(at(fleet, NOW + number * HOURS), "basher")) == [pair.pair_id]
    assert await booted(at(fleet, NOW + 3 * HOURS), "basher") == ()
    assert await voices(fleet, pair) == [("basher", "unsure")]
    assert await fleet.pairs.count_for_third() == 0
    for number in range(4, 8):
        await left(at(fleet, NOW + number * HOURS), "sark", request_id=f"r{number}")
    assert await voices(fleet, pair) == [("basher", "unsure"), ("sark", "unsure")]
    assert ids((await left(at(fleet, NOW + 9 * HOURS), "iso")).to_judge) == [pair.pair_id]


async def test_a_third_program_decides_between_contrary_verdicts(fleet: Fleet) -> None:
    pair = await contrary(fleet)
    assert ids((await left(fleet, "iso")).to_judge) == [pair.pair_id]
    answer = await left(fleet, "iso", verdict(pair.pair_id), request_id="r2")
    assert [(said.state, said.status) for said in answer.judged or ()] == [("same", "fresh")]
    assert (await left(fleet, "ram")).to_judge is None


async def test_a_pair_that_two_third_programs_cannot_tell_is_left_to_people(fleet: Fleet) -> None:
    pair = await contrary(fleet)
    for program in ("iso", "ram"):
        assert ids((await left(fleet, program)).to_judge) == [pair.pair_id]
        await left(fleet, program, verdict(pair.pair_id, "unsure"), request_id="r2")
    for program in ("flynn", "iso", "basher"):
        assert (await left(fleet, program, request_id="r3")).to_judge is None
    assert (await fleet.pairs.count_for_third(), await fleet.pairs.count_for_people()) == (0, 1)


async def test_one_different_about_a_likely_pair_is_asked_of_the_other_side_too(fleet: Fleet) -> None:
    (pair,) = await numbered(fleet, 1)
    (before,) = await fleet.pairs.read(pair.pair_id)
    await fleet.pairs.store.commit(fleet.pairs.write(before, replace(pair, likely=True)))
    await judged(fleet, "basher", pair, "different")
    assert ids(await booted(fleet, "sark")) == [pair.pair_id]
    await left(fleet, "sark", verdict(pair.pair_id, "different"))
    assert (await fleet.pairs.asking(), (await current(fleet, pair)).state) == ([], "different")


async def test_names_over_one_connection_are_one_judge_and_its_second_name_makes_nothing_sure(fleet: Fleet) -> None:
    (pair,) = await numbered(fleet, 1)
    unbound = replace(fleet, caller=Caller(connection="c1"))
    for program in ("basher", "sark"):
        await booted(unbound, program)
        (said,) = (await left(unbound, program, verdict(pair.pair_id))).judged or ()
        assert said.state == "same"
    assert await voices(fleet, pair) == [("sark", "same")]
    (entry,) = [one.entry for one in await fleet.knowledge.all()]
    assert entry is not None
    assert (entry_state(entry, NOW), doubts(entry)) == ("verify", ("one_judge",))


async def test_a_bound_caller_judges_for_no_other_program(fleet: Fleet) -> None:
    (pair,) = await numbered(fleet, 1)
    await booted(fleet, "basher")
    before = await documents(fleet)
    bound = replace(fleet, caller=Caller("sark"))
    for call in (
        lambda: left(bound, "basher", verdict(pair.pair_id)),
        lambda: pattern_consolidate(bound, no_progress, "basher", verdicts=(verdict(pair.pair_id),)),
        lambda: gsp_bootstrap(bound, "basher"),
    ):
        with pytest.raises(ForbiddenError, match="You are sark"):
            await call()
    assert await documents(fleet) == before


async def test_a_pair_of_changed_texts_asks_nobody_and_the_next_best_pairs_follow(fleet: Fleet) -> None:
    await learn(fleet, "basher", "Check that a task is still free before you claim it")
    await learn(fleet, "sark", "Make sure a task is free before claiming it")
    await pattern_consolidate(fleet, no_progress)
    (pair,) = await fleet.pairs.asking()
    await show(fleet, "sark", pair)
    await learn(fleet, "basher", "Rotate the log files once a day")
    cold = replace(fleet, memory=ProposingMemory())
    (refused,) = (await left(cold, "sark", verdict(pair.pair_id))).judged or ()
    assert "no longer open: one of the two lessons has another text now" in (refused.error or "")
    assert (await current(fleet, pair)).state == "gone"
    assert (await booted(fleet, "sark"), await fleet.pairs.asking()) == ((), [])
    assert (await fleet.programs.read("sark")).pending == ("mine",)
