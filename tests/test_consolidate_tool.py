"""pattern_consolidate: its answer, whom it shows pairs, and which verdicts it carries out."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from fleet_memory.errors import ForbiddenError, InvalidArgumentError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.judging import Judge, judge
from fleet_memory.jobs.policy import set_policy
from fleet_memory.jobs.publishing import leased
from fleet_memory.rules.asking import no_pair
from fleet_memory.rules.text.keys import knowledge_key, text_hash
from fleet_memory.schemas.pairs import NewVerdict, Pair, Verdict
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.schemas.programs import Caller
from fleet_memory.tools.core.judging import (
    WHO_PROPOSES,
    ConsolidateAnswer,
    ToJudge,
    pattern_consolidate,
)
from fleet_memory.tools.core.lessons import store_memory
from tests.fleets import NOW, at, documents, learn, on
from tests.lessons import days

pytestmark = pytest.mark.anyio

CLAIM = "Check that a task is still free before you claim it"
FREE = "Make sure a task is free before claiming it"
ROTATE = "Rotate the log files once a day"
KEY = knowledge_key("tasks", CLAIM)


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    return at(replace(fleet, caller=Caller()), NOW)


def verdict(pair_id: str, said: Verdict = "same", reason: str = "") -> NewVerdict:
    return NewVerdict.model_validate({"pairId": pair_id, "verdict": said, "reason": reason})


async def consolidated(
    fleet: Fleet, program: str | None = None, *verdicts: NewVerdict, limit: int = 3
) -> ConsolidateAnswer:
    return await pattern_consolidate(fleet, no_progress, program, verdicts=verdicts, limit=limit)


async def near_lessons(fleet: Fleet) -> ToJudge:
    """Let two programs learn the same in other words, and show each the pair; return it as sark
    sees it.
    """
    await learn(fleet, "basher", CLAIM)
    await learn(fleet, "sark", FREE)
    await consolidated(fleet, "basher")
    (pair,) = (await consolidated(fleet, "sark")).to_judge
    return pair


def another_server(fleet: Fleet) -> Fleet:
    """Return the fleet as a server that has read neither its lessons nor its policy."""
    return on(fleet, fleet.knowledge.store)


async def pair_of(fleet: Fleet, pair_id: str) -> Pair:
    (versioned,) = await fleet.pairs.read(pair_id)
    assert versioned.pair is not None
    return versioned.pair


async def published(fleet: Fleet) -> dict[str, tuple[str, ...]]:
    return {
        row.key: row.contributors
        for row in (await fleet.knowledge.snapshots.read()).rows
        if not row.is_hidden
    }


async def test_it_publishes_equal_words_and_its_answer_has_this_shape(fleet: Fleet) -> None:
    for program in ("basher", "sark"):
        await learn(fleet, program, CLAIM)
    await learn(fleet, "iso", ROTATE)
    assert (await consolidated(fleet)).wire() == {
        "dryRun": False,
        "threshold": 2,
        "promoted": [
            {
                "key": KEY,
                "pattern": CLAIM,
                "domain": "tasks",
                "confidence": 0.8,
                "contributors": ["basher", "sark"],
                "evidenceCount": 2,
                "firstDiscovered": "2026-03-07T12:00:00Z",
                "lastPromoted": "2026-03-07T12:00:00Z",
                "status": "fresh",
                "provenance": [
                    {"programId": "basher", "patternId": "mine", "similarity": 1.0},
                    {"programId": "sark", "patternId": "mine", "similarity": 1.0},
                ],
            }
        ],
        "updated": [],
        "toJudge": [],
        "contested": [],
        "openPairs": 0,
        "waiting": 1,
        "proposals": {"lastRun": "2026-03-07T12:00:00Z", "by": "maintainer"},
        "omitted": {},
    }


async def test_a_second_call_does_nothing_more(fleet: Fleet) -> None:
    for program in ("basher", "sark"):
        await learn(fleet, program, CLAIM)
    await consolidated(fleet)
    again = await consolidated(fleet)
    assert (again.promoted, again.updated, again.waiting, again.to_judge) == ((), (), 0, ())


async def test_a_pair_is_shown_with_the_own_side_first_and_the_other_as_a_quotation(
    fleet: Fleet,
) -> None:
    long = "They claimed the same task twice. " * 10
    shown = ("They claimed the same task twice. " * 8).strip()
    await learn(fleet, "basher", CLAIM)
    lesson = NewPattern(pattern=FREE, domain="workers", confidence=0.8, evidence=long, id="theirs")
    await store_memory(fleet, "sark", lesson)
    (of_basher,) = (await consolidated(fleet, "basher")).to_judge
    (of_sark,) = (await consolidated(fleet, "sark")).to_judge
    assert of_basher.wire() == {
        "pairId": of_sark.pair_id,
        "a": {
            "own": True,
            "patternId": "mine",
            "domain": "tasks",
            "pattern": CLAIM,
            "evidence": "basher saw it happen twice",
        },
        "b": {"domain": "workers", "pattern": FREE, "evidence": shown},
    }
    assert (of_sark.a.evidence, of_sark.b.pattern) == (shown, CLAIM)


async def test_without_a_program_pairs_are_counted_and_not_shown(fleet: Fleet) -> None:
    await near_lessons(fleet)
    answer = await consolidated(fleet)
    assert (answer.to_judge, answer.open_pairs) == ((), 1)


async def test_a_showing_is_remembered_and_costs_the_vote_of_a_lesson_stored_later(
    fleet: Fleet,
) -> None:
    await near_lessons(fleet)
    await learn(fleet, "iso", ROTATE)
    assert dict((await fleet.programs.read("sark")).shown) == {text_hash(CLAIM): NOW}
    assert dict((await fleet.programs.read("iso")).shown) == {}
    later = at(fleet, NOW + days(1))
    await learn(later, "sark", CLAIM, id_="second")
    (made,) = (await consolidated(later)).promoted
    assert (made.contributors, made.doubts) == (("basher",), ("tried",))


async def test_the_limit_is_kept_and_zero_shows_nothing(fleet: Fleet) -> None:
    await near_lessons(fleet)
    assert (await consolidated(fleet, "basher", limit=0)).to_judge == ()
    await learn(fleet, "basher", "Rotate every log file daily", id_="second")
    await learn(fleet, "sark", ROTATE, id_="second")
    assert len((await consolidated(fleet, "basher")).to_judge) == 2
    assert len((await consolidated(fleet, "basher", limit=1)).to_judge) == 1


async def test_the_same_of_both_sides_publishes_in_the_answer_to_the_second(fleet: Fleet) -> None:
    pair = await near_lessons(fleet)
    first = await consolidated(fleet, "sark", verdict(pair.pair_id, reason="both ask for it"))
    assert [one.wire() for one in first.judged or ()] == [
        {"pairId": pair.pair_id, "state": "open", "waitsFor": "the other side"}
    ]
    later = at(fleet, NOW + days(1))
    second = await consolidated(later, "basher", verdict(pair.pair_id))
    assert [one.wire() for one in second.judged or ()] == [
        {"pairId": pair.pair_id, "state": "same", "key": KEY, "status": "fresh"}
    ]
    assert [(one.key, one.status, one.doubts) for one in second.promoted] == [(KEY, "fresh", None)]
    assert await published(fleet) == {KEY: ("basher", "sark")}


async def test_an_unsure_program_is_not_asked_back(fleet: Fleet) -> None:
    pair = await near_lessons(fleet)
    assert (await consolidated(fleet, "sark", verdict(pair.pair_id, "unsure"))).to_judge == ()
    assert [one.pair_id for one in (await consolidated(fleet, "basher")).to_judge] == [pair.pair_id]


async def test_a_contradict_between_a_lesson_and_an_entry_contests_it(fleet: Fleet) -> None:
    pair = await near_lessons(fleet)
    for program in ("basher", "sark"):
        await consolidated(fleet, program, verdict(pair.pair_id))
    await learn(fleet, "iso", "Make certain a task is free before claiming it")
    (asked, *_) = (await consolidated(fleet, "iso")).to_judge
    assert asked.b.key == KEY
    answer = await consolidated(
        at(fleet, NOW + days(1)), "iso", verdict(asked.pair_id, "contradict")
    )
    assert [(one.state, one.status) for one in answer.judged or ()] == [("contradict", "contested")]
    assert [one.key for one in answer.contested] == [KEY]


async def test_a_verdict_that_is_sent_twice_changes_nothing_the_second_time(fleet: Fleet) -> None:
    pair = await near_lessons(fleet)
    await consolidated(fleet, "basher", verdict(pair.pair_id))
    await consolidated(fleet, "sark", verdict(pair.pair_id))
    before = (await fleet.knowledge.found(KEY), await fleet.programs.read("basher"))
    answer = await consolidated(fleet, "sark", verdict(pair.pair_id))
    assert (
        (await fleet.knowledge.found(KEY), await fleet.programs.read("basher")),
        answer.promoted,
    ) == (before, ())


async def test_a_refused_verdict_is_named_and_the_others_count(fleet: Fleet) -> None:
    pair = await near_lessons(fleet)
    answer = await consolidated(fleet, "sark", verdict("x"), verdict(pair.pair_id))
    assert [(one.pair_id, one.state, one.error) for one in answer.judged or ()] == [
        ("x", None, f"invalid_argument: {no_pair('x', 'sark')}"),
        (pair.pair_id, "open", None),
    ]


async def closed_by_a_person(fleet: Fleet, pair_id: str) -> None:
    await judge(fleet, Judge(), [verdict(pair_id, "different")])


async def judged_by_people(fleet: Fleet, _pair_id: str) -> None:
    await set_policy(fleet, ["judging", "people"])


async def unchanged(_fleet: Fleet, _pair_id: str) -> None:
    """Leave everything as it is."""


@pytest.mark.parametrize(
    ("meanwhile", "program", "why"),
    [
        (closed_by_a_person, "sark", r"a person has judged '\w+' \(different\)"),
        (judged_by_people, "sark", "in this fleet people judge pairs"),
        (
            unchanged,
            "iso",
            r"'\w+' is not among the pairs shown to iso within 30 days; judge those in your "
            r"toJudge",
        ),
    ],
)
async def test_a_verdict_that_does_not_count_is_answered_with_the_reason_and_writes_nothing(
    fleet: Fleet, meanwhile: Callable[[Fleet, str], Awaitable[None]], program: str, why: str
) -> None:
    pair = await near_lessons(fleet)
    await meanwhile(fleet, pair.pair_id)
    before = await documents(fleet)
    with pytest.raises(InvalidArgumentError, match=why):
        await consolidated(another_server(fleet), program, verdict(pair.pair_id))
    assert await documents(fleet) == before


async def test_a_verdict_on_a_pair_of_changed_texts_is_refused_and_a_run_ends_the_pair(
    fleet: Fleet,
) -> None:
    pair = await near_lessons(fleet)
    await learn(fleet, "basher", ROTATE, change="corrected")
    with pytest.raises(
        InvalidArgumentError, match="no longer open: one of the two lessons has another text now"
    ):
        await consolidated(another_server(fleet), "sark", verdict(pair.pair_id))
    await consolidated(fleet)
    assert (await pair_of(fleet, pair.pair_id)).state == "gone"
    assert await fleet.pairs.waiting() == []


async def test_a_judge_must_be_named_and_a_dry_run_takes_no_verdicts(fleet: Fleet) -> None:
    pair = await near_lessons(fleet)
    before = await documents(fleet)
    with pytest.raises(InvalidArgumentError, match="verdicts: need the programId"):
        await consolidated(fleet, None, verdict(pair.pair_id))
    with pytest.raises(InvalidArgumentError, match="and no dryRun"):
        await pattern_consolidate(
            fleet, no_progress, "sark", verdicts=(verdict(pair.pair_id),), dry_run=True
        )
    with pytest.raises(ForbiddenError, match="You are basher"):
        await consolidated(replace(fleet, caller=Caller("basher")), "sark", verdict(pair.pair_id))
    assert await documents(fleet) == before


async def test_a_bound_caller_judges_in_its_own_name(fleet: Fleet) -> None:
    pair = await near_lessons(fleet)
    bound = replace(fleet, caller=Caller("sark"))
    assert [one.pair_id for one in (await consolidated(bound)).to_judge] == [pair.pair_id]
    await consolidated(bound, None, verdict(pair.pair_id))
    assert [one.program_id for one in (await pair_of(fleet, pair.pair_id)).judgements] == ["sark"]


async def test_where_people_judge_agents_see_no_pairs(fleet: Fleet) -> None:
    await set_policy(fleet, ["judging", "people"])
    await learn(fleet, "basher", CLAIM)
    await learn(fleet, "sark", FREE)
    answer = await consolidated(fleet, "sark")
    assert (answer.to_judge, answer.open_pairs) == ((), 1)


async def test_a_call_may_raise_the_threshold_and_never_lower_it(fleet: Fleet) -> None:
    for program in ("basher", "sark"):
        await learn(fleet, program, CLAIM)
    raised = await pattern_consolidate(fleet, no_progress, threshold=3)
    assert (raised.threshold, raised.promoted) == (3, ())
    await set_policy(fleet, ["threshold", "3"])
    strict = another_server(fleet)
    lowered = await pattern_consolidate(strict, no_progress, threshold=2)
    assert (lowered.threshold, lowered.promoted) == (3, ())


async def test_a_dry_run_returns_the_same_answer_and_writes_nothing(fleet: Fleet) -> None:
    for program in ("basher", "sark"):
        await learn(fleet, program, CLAIM)
    await learn(fleet, "iso", FREE)
    before = await documents(fleet)
    rehearsed = await pattern_consolidate(fleet, no_progress, "iso", dry_run=True)
    assert (rehearsed.dry_run, rehearsed.to_judge) == (True, ())
    assert await documents(fleet) == before
    assert (await consolidated(fleet)).promoted == rehearsed.promoted


async def test_while_a_run_is_under_way_verdicts_count_all_the_same(fleet: Fleet) -> None:
    pair = await near_lessons(fleet)
    await consolidated(fleet, "basher", verdict(pair.pair_id))
    async with leased(fleet):
        answer = await consolidated(fleet, "sark", verdict(pair.pair_id))
    assert [one.state for one in answer.judged or ()] == ["same"]
    assert (answer.proposals.note, [one.key for one in answer.promoted]) == (None, [KEY])


async def test_a_cold_server_of_a_large_fleet_answers_with_a_note_about_the_proposer(
    fleet: Fleet,
) -> None:
    for program in ("basher", "sark"):
        await learn(fleet, program, CLAIM)
    answer = await consolidated(replace(fleet, max_programs_read=1))
    assert (answer.promoted, answer.waiting, answer.proposals.note) == ((), 2, WHO_PROPOSES)


async def test_many_promotions_are_answered_with_25_and_how_many_more(fleet: Fleet) -> None:
    for number in range(40):
        for program in ("basher", "iso"):
            await learn(
                fleet, program, f"Rotate the logs of service {number} daily", id_=f"mine-{number}"
            )
    later = at(fleet, NOW + days(1))
    answer = await consolidated(later)
    assert (len(answer.promoted), answer.omitted) == (25, {"promoted": 15})


async def test_an_entry_that_many_programs_learnt_is_answered_with_25_of_them(fleet: Fleet) -> None:
    for number in range(30):
        await learn(fleet, f"program-{number:02}", CLAIM)
    answer = await consolidated(at(fleet, NOW + days(1)))
    (entry,) = answer.promoted
    assert (len(entry.contributors), len(entry.provenance), entry.evidence_count) == (25, 25, 30)
    assert (answer.omitted, entry.omitted) == ({}, 5)
