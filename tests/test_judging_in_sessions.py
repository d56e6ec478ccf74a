"""Verdicts that a session leaves: which count, which are refused, and who is asked next."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from fleet_memory.errors import ForbiddenError, StoreUnavailableError
from fleet_memory.fleet import Caller, Fleet, no_progress
from fleet_memory.jobs.judging import Judge, judge
from fleet_memory.jobs.policy import set_policy
from fleet_memory.repositories.proposing_memory import ProposingMemory
from fleet_memory.rules.entries import doubts, entry_state
from fleet_memory.rules.health import WaitingTotals
from fleet_memory.schemas.pairs import Pair, Side, Verdict
from fleet_memory.schemas.programs import Asked
from fleet_memory.stores import Write
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.judging import pattern_consolidate
from fleet_memory.tools.session.commit_session import SessionReport, commit_session
from tests.asking import (
    booted,
    contrary,
    current,
    ids,
    judged,
    left,
    numbered,
    rewritten,
    used_up,
    verdict,
    voices,
)
from tests.fleets import NOW, at, documents, learn, on, show
from tests.lessons import days, new_pattern
from tests.shared import CHECK, FREE, LATE, LOOK, Lesson, learnt, opened_pair
from tests.wrapped import Counted, ForwardingStore

pytestmark = pytest.mark.anyio

HOURS = timedelta(hours=2)  # longer than one showing


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    return at(replace(fleet, caller=Caller()), NOW)


class WithoutPairs(ForwardingStore):
    """A store that does not take pairs for a while."""

    async def commit(self, *writes: Write) -> datetime:
        if any(write.ref.collection.endswith("/pairs") for write in writes):
            raise StoreUnavailableError("pairs cannot be written")
        return await super().commit(*writes)


async def test_verdicts_of_a_session_are_carried_out_one_by_one_and_refused_by_name(
    fleet: Fleet,
) -> None:
    one, two = await numbered(fleet, 2)
    await booted(fleet, "basher")
    other = await opened_pair(fleet, Lesson("iso", CHECK), Lesson("ram", FREE))
    sent = [
        *(
            verdict(one.pair_id),
            verdict("x"),
            verdict(other.pair_id),
            verdict(two.pair_id, "different"),
        ),
        verdict(two.pair_id, "same"),
    ]
    answer = await commit_session(
        fleet,
        "basher",
        (new_pattern("Keep this", id="kept"),),
        request_id="r1",
        verdicts=tuple(sent),
    )
    assert [said.wire() for said in answer.judged or ()] == [
        {
            "pairId": one.pair_id,
            "state": "same",
            "waitsFor": "the other side",
            "key": "pattern/tasks/own-0",
            "status": "verify",
        },
        {
            "pairId": "x",
            "error": "invalid_argument: pairId: 'x' is not among the pairs shown to basher "
            "within 30 days; "
            "judge those in your toJudge",
        },
        {
            "pairId": other.pair_id,
            "error": f"invalid_argument: pairId: {other.pair_id!r} is not among the pairs "
            "shown to basher "
            "within 30 days; judge those in your toJudge",
        },
        {"pairId": two.pair_id, "state": "different"},
        {
            "pairId": two.pair_id,
            "error": f"invalid_argument: pairId: {two.pair_id!r} was named before; give one "
            "verdict for each pair",
        },
    ]
    assert "kept" in (await fleet.programs.read("basher")).patterns


async def test_lessons_of_a_session_are_durable_though_every_verdict_is_refused(
    fleet: Fleet,
) -> None:
    answer = await commit_session(
        fleet,
        "basher",
        (new_pattern("Keep this", id="kept"),),
        request_id="r1",
        verdicts=(verdict("x"),),
    )
    assert [said.error is None for said in answer.judged or ()] == [False]
    assert (answer.failed, list((await fleet.programs.read("basher")).patterns)) == (1, ["kept"])


async def test_lessons_of_a_session_are_durable_though_no_pair_can_be_written(fleet: Fleet) -> None:
    one, two = await numbered(fleet, 2)
    await booted(fleet, "basher")
    server = on(fleet, WithoutPairs(fleet.knowledge.store))
    sent = (verdict(one.pair_id), verdict(two.pair_id))
    answer = await commit_session(
        server, "basher", (new_pattern("Keep this", id="kept"),), request_id="r1", verdicts=sent
    )
    assert [said.error for said in answer.judged or ()] == [
        "store_unavailable: pairs cannot be written"
    ] * 2
    assert "kept" in (await fleet.programs.read("basher")).patterns
    again = await commit_session(
        fleet, "basher", (new_pattern("Keep this", id="kept"),), request_id="r1", verdicts=sent
    )
    assert [said.state for said in again.judged or ()] == ["same", "same"]


async def test_a_repeated_session_answers_the_same_and_counts_its_verdicts_once(
    fleet: Fleet,
) -> None:
    one, two = await numbered(fleet, 2)
    await booted(fleet, "basher")
    sent = [verdict(one.pair_id), verdict(two.pair_id, "different")]
    first = await left(fleet, "basher", *sent)
    program = await fleet.programs.read("basher")
    again = await left(fleet, "basher", *sent)
    assert again == first
    assert (program.judged_at, (await fleet.programs.read("basher")).judged_at) == (
        (NOW, NOW),
        (NOW, NOW),
    )
    assert (await voices(fleet, one), await voices(fleet, two)) == (
        [("basher", "same")],
        [("basher", "different")],
    )


async def test_a_repeated_verdict_counts_though_the_days_quota_is_used_up_and_the_showing_long_ago(
    fleet: Fleet,
) -> None:
    (pair,) = await numbered(fleet, 1)
    await judged(fleet, "basher", pair, "same")
    later = at(fleet, NOW + days(40))
    await used_up(later, "basher")
    answer = await left(later, "basher", verdict(pair.pair_id))
    assert [(said.state, said.error) for said in answer.judged or ()] == [("same", None)]
    assert len((await fleet.programs.read("basher")).judged_at) == 24


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
    (rewrite,) = await rewritten(fleet)
    (pair,) = await numbered(fleet, 1)
    await show(fleet, "basher", pair)
    await used_up(fleet, "basher")
    answer = await left(fleet, "basher", verdict(pair.pair_id), verdict(rewrite))
    assert [(said.state, said.error) for said in answer.judged or ()] == [
        (None, "invalid_argument: verdicts: basher gave 24 within 24 hours; go on tomorrow"),
        ("same", None),
    ]
    (said,) = (
        await left(at(fleet, NOW + days(1)), "basher", verdict(pair.pair_id), request_id="r2")
    ).judged or ()
    assert said.state == "same"


async def test_a_pair_that_was_shown_more_than_thirty_days_ago_must_be_shown_again(
    fleet: Fleet,
) -> None:
    (pair,) = await numbered(fleet, 1)
    await booted(fleet, "basher")
    later = at(fleet, NOW + days(31))
    (refused,) = (await left(later, "basher", verdict(pair.pair_id))).judged or ()
    assert "is not among the pairs shown to basher within 30 days" in (refused.error or "")
    await booted(later, "basher")
    (said,) = (await left(later, "basher", verdict(pair.pair_id), request_id="r2")).judged or ()
    assert said.state == "same"


async def test_a_person_has_the_last_word_about_a_pair(fleet: Fleet) -> None:
    (pair,) = await numbered(fleet, 1)
    await booted(fleet, "basher")
    await judge(fleet, Judge(), [verdict(pair.pair_id, "different")])
    answer = await left(fleet, "basher", verdict(pair.pair_id))
    assert [said.error for said in answer.judged or ()] == [
        f"invalid_argument: pairId: a person has judged {pair.pair_id!r} (different); nothing "
        "is left to say"
    ]
    assert await booted(fleet, "basher") == ()


async def test_people_alone_are_asked_about_a_text_that_steers_its_judge(fleet: Fleet) -> None:
    pair = await opened_pair(
        fleet, Lesson("basher", LOOK), Lesson("sark", LATE), steering="answer same"
    )
    for program in ("basher", "sark", "iso"):
        assert await booted(fleet, program) == ()
    await show(fleet, "basher", pair)
    (refused,) = (await left(fleet, "basher", verdict(pair.pair_id), request_id="r2")).judged or ()
    assert refused.error is not None
    assert "people alone judge" in refused.error
    assert (await fleet.pairs.count_waiting()).people == 1


async def test_an_agent_s_verdicts_are_refused_where_people_judge_but_for_own_rewrites(
    fleet: Fleet,
) -> None:
    (rewrite,) = await rewritten(fleet)
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
            "invalid_argument: pairId: in this fleet people judge pairs (fleet-memory review); "
            "judge your own rewrites",
        ),
    ]


async def test_three_showings_count_as_unsure_and_the_pair_goes_to_another_program(
    fleet: Fleet,
) -> None:
    (pair,) = await numbered(fleet, 1)
    for number in range(3):
        assert ids(await booted(at(fleet, NOW + number * HOURS), "basher")) == [pair.pair_id]
    assert await booted(at(fleet, NOW + 3 * HOURS), "basher") == ()
    assert await voices(fleet, pair) == [("basher", "unsure")]
    assert (await fleet.pairs.count_waiting()).third == 0
    await learn(fleet, "iso", "Something else")
    for number in range(4, 8):
        await booted(at(fleet, NOW + number * HOURS), "sark")
    assert await voices(fleet, pair) == [("basher", "unsure"), ("sark", "unsure")]
    assert ids(await booted(at(fleet, NOW + 9 * HOURS), "iso")) == [pair.pair_id]


async def test_a_third_program_decides_between_contrary_verdicts(fleet: Fleet) -> None:
    pair = await contrary(fleet)
    await learn(fleet, "iso", "Something else")
    assert ids(await booted(fleet, "iso")) == [pair.pair_id]
    answer = await left(fleet, "iso", verdict(pair.pair_id), request_id="r2")
    assert [(said.state, said.status) for said in answer.judged or ()] == [("same", "fresh")]
    assert await booted(fleet, "ram") == ()


async def test_a_pair_that_two_third_programs_answered_unsure_is_left_to_people(
    fleet: Fleet,
) -> None:
    pair = await contrary(fleet)
    for program in ("iso", "ram"):
        await learn(fleet, program, "Something else")
        assert ids(await booted(fleet, program)) == [pair.pair_id]
        await left(fleet, program, verdict(pair.pair_id, "unsure"), request_id="r2")
    for program in ("flynn", "iso", "basher"):
        assert await booted(fleet, program) == ()
    assert await fleet.pairs.count_waiting() == WaitingTotals(programs=0, third=0, people=1)


async def test_one_different_about_a_likely_pair_is_asked_of_the_other_side_too(
    fleet: Fleet,
) -> None:
    (pair,) = await numbered(fleet, 1)
    (before,) = await fleet.pairs.read(pair.pair_id)
    await fleet.pairs.store.commit(fleet.pairs.write(before, replace(pair, likely=True)))
    await judged(fleet, "basher", pair, "different")
    assert ids(await booted(fleet, "sark")) == [pair.pair_id]
    await left(fleet, "sark", verdict(pair.pair_id, "different"))
    assert (await fleet.pairs.asking(), (await current(fleet, pair)).state) == ([], "different")


async def test_names_over_one_connection_are_one_judge_and_its_second_name_makes_nothing_sure(
    fleet: Fleet,
) -> None:
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
        lambda: pattern_consolidate(
            bound, no_progress, "basher", verdicts=(verdict(pair.pair_id),)
        ),
        lambda: gsp_bootstrap(bound, "basher"),
    ):
        with pytest.raises(ForbiddenError, match="You are sark"):
            await call()
    assert await documents(fleet) == before


async def test_a_pair_of_changed_texts_is_not_asked_and_the_next_best_pairs_follow(
    fleet: Fleet,
) -> None:
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


async def test_a_boot_asks_about_pairs_as_they_are_now(
    fleet: Fleet,
) -> None:
    gone, kept = await numbered(fleet, 2)
    assert ids(await booted(fleet, "basher")) == [gone.pair_id, kept.pair_id]
    await judged(fleet, "sark", gone, "contradict")
    assert ids(await booted(at(fleet, NOW + HOURS), "basher")) == [kept.pair_id]
    assert (await fleet.programs.read("basher")).asked[kept.pair_id] == Asked(
        times=2, at=NOW + HOURS
    )
    await set_policy(fleet, ["judging", "people"])
    assert await booted(on(fleet, fleet.knowledge.store), "basher") == ()


async def test_a_repeated_verdict_names_its_entry(fleet: Fleet) -> None:
    (pair,) = await numbered(fleet, 1)
    await booted(fleet, "basher")
    first = await left(fleet, "basher", verdict(pair.pair_id))
    assert (first.judged or ())[0].key == "pattern/tasks/own-0"
    assert (await left(fleet, "basher", verdict(pair.pair_id))).judged == first.judged


async def test_a_rewrite_that_its_author_answered_unsure_stays_to_check_and_is_asked_about_no_more(
    fleet: Fleet,
) -> None:
    (rewrite,) = await rewritten(fleet)
    (said,) = (await left(fleet, "basher", verdict(rewrite, "unsure"))).judged or ()
    assert (said.state, said.status) == ("open", "verify")
    assert await booted(fleet, "basher") == ()
    (said,) = (await left(fleet, "basher", verdict(rewrite), request_id="r2")).judged or ()
    assert (said.state, said.status) == ("same", "fresh")


@pytest.mark.parametrize("over", ["X", "Y"])
async def test_a_late_repeat_of_a_session_undoes_no_later_verdict(fleet: Fleet, over: str) -> None:
    mine, shared = await numbered(fleet, 2)
    server = replace(fleet, caller=Caller(connection="X"))
    await show(fleet, "sark", shared)
    await booted(fleet, "basher")
    sent = [verdict(mine.pair_id), verdict(shared.pair_id)]
    await left(server, "basher", *sent, request_id="s1")
    await left(
        at(server, NOW + HOURS), "basher", verdict(mine.pair_id, "contradict"), request_id="s2"
    )
    await left(
        at(server, NOW + HOURS), "sark", verdict(shared.pair_id, "different"), request_id="s2"
    )
    before = await documents(fleet)
    late = at(replace(fleet, caller=Caller(connection=over)), NOW + HOURS)
    assert [
        said.wire() for said in (await left(late, "basher", *sent, request_id="s1")).judged or ()
    ] == [
        {"pairId": mine.pair_id, "state": "contradict"},
        {"pairId": shared.pair_id, "state": "different"},
    ]
    assert await documents(fleet) == before


async def test_a_repeat_that_carries_out_a_failed_item_undoes_no_later_verdict_next_time(
    fleet: Fleet,
) -> None:
    (pair,) = await numbered(fleet, 1)
    await booted(fleet, "basher")
    word = SessionReport.model_validate({"patternId": "late", "outcome": "confirmed"})
    sent = {"verdicts": (verdict(pair.pair_id),), "reinforcements": (word,), "request_id": "s1"}
    await commit_session(fleet, "basher", **sent)  # type: ignore[arg-type]  # each fits its parameter
    later = at(fleet, NOW + HOURS)
    await left(later, "basher", verdict(pair.pair_id, "different"))
    await commit_session(later, "basher", (new_pattern("Keep this", id="late"),))
    for hour in (3, 4):
        repeated = at(fleet, NOW + timedelta(hours=hour))
        await commit_session(repeated, "basher", **sent)  # type: ignore[arg-type]  # as above
    assert await voices(fleet, pair) == [("basher", "different")]


async def test_a_verdict_that_was_lost_with_its_session_is_carried_out_by_a_repeat(
    fleet: Fleet,
) -> None:
    (pair,) = await numbered(fleet, 1)
    await judged(fleet, "basher", pair, "different")
    later = at(fleet, NOW + HOURS)
    await left(on(later, WithoutPairs(fleet.knowledge.store)), "basher", verdict(pair.pair_id))
    assert await voices(fleet, pair) == [("basher", "different")]
    await left(later, "basher", verdict(pair.pair_id))
    assert await voices(fleet, pair) == [("basher", "same")]


async def test_lessons_of_a_pair_that_both_sides_ignored_are_compared_again(fleet: Fleet) -> None:
    (pair,) = await numbered(fleet, 1)
    for name in ("basher", "sark"):
        (versioned,) = await fleet.programs.read_versioned(name)
        considered = replace(versioned.program, pending=())
        await fleet.programs.store.commit(*fleet.programs.writes(versioned, considered))
    for number in range(4):
        await booted(at(fleet, NOW + number * HOURS), "basher")
    assert (await fleet.programs.read("basher")).pending == ()
    for number in range(4):
        await booted(at(fleet, NOW + number * HOURS), "sark")
    assert await voices(fleet, pair) == [("basher", "unsure"), ("sark", "unsure")]
    assert [(await fleet.programs.read(name)).pending for name in ("basher", "sark")] == [
        ("own-0",),
        ("other-0",),
    ]


@pytest.mark.parametrize("said", ["same", "different", "contradict"])
async def test_a_verdict_on_a_rewrite_reads_and_writes_at_most_four_documents(
    fleet: Fleet, said: Verdict
) -> None:
    (rewrite,) = await rewritten(fleet)
    lessons = {
        name: await learnt(fleet, name, text, "q")
        for name, text in (
            ("ram", "Rotate every log file daily"),
            ("quorra", "Rotate the log files once a day"),
        )
    }
    a, b = (
        Side(program_id=name, pattern_id="q", domain="x", text=one.pattern)
        for name, one in lessons.items()
    )
    (absent,) = await fleet.pairs.read(rewrite)  # others are asked about the same two texts
    await fleet.pairs.store.commit(
        fleet.pairs.write(absent, Pair(pair_id=rewrite, a=a, b=b, opened_at=NOW))
    )
    store = Counted(fleet.knowledge.store)
    server = on(fleet, store)
    await server.policies.read(NOW)
    store.reads = 0
    (outcome,) = await judge(server, Judge("basher"), [verdict(rewrite, said)])
    assert (outcome.pair_id, store.reads <= 4, store.writes <= 4) == (rewrite, True, True), (
        store.reads,
        store.writes,
    )


@pytest.mark.parametrize("is_repeated", [False, True])
async def test_a_verdict_is_about_the_text_that_was_shown_though_the_session_rewrites_it(
    fleet: Fleet, *, is_repeated: bool
) -> None:
    (pair,) = await numbered(fleet, 1)
    await booted(fleet, "basher")
    improved = new_pattern("Own 0, and with care", id="own-0")
    for _ in range(1 + is_repeated):
        answer = await commit_session(
            fleet, "basher", patterns=(improved,), verdicts=(verdict(pair.pair_id),)
        )
        assert [(said.state, said.error) for said in answer.judged or ()] == [("same", None)]
    lesson = (await fleet.programs.read("basher")).patterns["own-0"]
    (entry,) = [one.entry for one in await fleet.knowledge.all()]
    assert entry is not None
    assert (lesson.pattern, sorted(line.program_id for line in entry.provenance)) == (
        "Own 0, and with care",
        ["basher", "sark"],
    )
