"""Two entries judged the same: the younger's text joins the older, and its other contributions are
asked about.
"""

from dataclasses import replace
from datetime import datetime

import pytest

from fleet_memory.fleet import Caller, Fleet, no_progress
from fleet_memory.jobs.fenced_writer import leased
from fleet_memory.jobs.judging import Judge, judge
from fleet_memory.jobs.proposing import ProposalReport, propose
from fleet_memory.repositories.proposing_memory import ProposingMemory
from fleet_memory.rules.curating import reworded
from fleet_memory.rules.deciding import Decision, EntrySide, VerdictDocuments, by_age, decided
from fleet_memory.rules.text.keys import knowledge_key
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.pairs import Judgement, NewVerdict, Pair, Verdict
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Program
from tests.entries import BOTH, CHECK, KEY, LOOK, contribution, entry, judgement, pair, side, word
from tests.fleets import NOW, at, learn, show
from tests.lessons import START, days, pattern, program

OTHER = "pattern/task-claiming/look-whether-free"
FREE = "Claim free tasks only"
ENTRIES = pair(side("basher", CHECK, key=KEY), side("iso", LOOK, key=OTHER))
PERSON = judgement(None)


def older() -> Entry:
    return entry(*BOTH)


def younger(retired_at: datetime | None = None) -> Entry:
    """Return an entry of iso's text, which tron stored in other words."""
    lines = (contribution("iso", LOOK), contribution("tron", FREE, pair="tron's"))
    known = entry(*lines, key=OTHER, published_at=START + days(2))
    return replace(known, value=replace(known.value, pattern=LOOK), retired_at=retired_at)


def owner(program_id: str, text: str, key: str = OTHER) -> Program:
    return program(pattern(text, knowledge_key=key), program_id=program_id)


def documents(*entries: Entry, programs: tuple[Program, ...] | None = None) -> VerdictDocuments:
    programs = (owner("iso", LOOK), owner("tron", FREE)) if programs is None else programs
    return VerdictDocuments(
        {one.program_id: one for one in programs}, {one.key: one for one in entries}
    )


def judged(
    before: VerdictDocuments, judgement_: Judgement = PERSON, known: Pair = ENTRIES
) -> Decision:
    return decided(known, judgement_, (EntrySide(KEY), EntrySide(OTHER)), before, Policy())


def tellers(decision: Decision, key: str) -> list[str]:
    return [line.program_id for line in decision.documents.entries[key].provenance]


def entry_of(decision: Decision, name: str) -> str | None:
    return decision.documents.programs[name].patterns["p1"].knowledge_key


def test_the_youngers_text_joins_the_older_and_its_other_lessons_are_in_no_entry() -> None:
    decision = judged(documents(older(), younger()))
    assert (tellers(decision, KEY), decision.key) == (["basher", "iso", "sark"], KEY)
    assert tellers(decision, OTHER) == []
    assert [entry_of(decision, name) for name in ("iso", "tron")] == [KEY, None]


def test_one_judge_is_not_enough_and_two_are() -> None:
    before = documents(older(), younger())
    first = judged(before, judgement("basher"))
    assert (first.documents, first.pair.state) == (before, "same")
    second = judged(before, judgement("iso"), first.pair)
    assert second.documents == judged(before).documents


def test_the_younger_is_the_one_that_was_published_later_and_a_candidate_before_all() -> None:
    first, second = older(), younger()
    assert by_age(second, first) == (first, second)
    assert by_age(first, replace(second, published_at=START)) == (
        replace(second, published_at=START),
        first,
    )
    same_day = replace(second, published_at=first.published_at)
    assert by_age(same_day, first) == (first, same_day)
    candidate = replace(first, threshold=3)
    assert by_age(candidate, second) == (second, candidate)


@pytest.mark.parametrize(
    "before",
    [
        documents(older(), replace(younger(), tier="constitutional")),
        documents(older(), younger(retired_at=START + days(3))),
        documents(older(), reworded(younger(), "Look before you claim")),
        documents(older(), younger(), programs=(owner("iso", LOOK),)),
        documents(
            older(),
            younger(),
            programs=(owner("iso", LOOK), owner("tron", FREE, key="pattern/a/b")),
        ),
    ],
    ids=["constitutional", "retired", "reworded", "its program is gone", "its lesson is elsewhere"],
)
def test_an_entry_that_people_decide_about_does_not_give_way(before: VerdictDocuments) -> None:
    assert judged(before).documents == before


def test_a_lesson_of_the_younger_that_knew_the_older_joins_it_without_a_vote() -> None:
    late = (
        program(pattern(LOOK, knowledge_key=OTHER, stored_at=START + days(2)), program_id="iso"),
        owner("tron", FREE),
    )
    decision = judged(documents(older(), younger(), programs=late))
    assert tellers(decision, KEY) == ["basher", "sark"]
    assert decision.documents.programs["iso"].patterns["p1"].echo


def test_a_word_against_the_younger_is_a_word_against_the_older() -> None:
    against = replace(younger(), words=(word("quorra"), word("iso", "confirmed")))
    assert judged(documents(older(), against)).documents.entries[KEY].words == (word("quorra"),)


def test_a_lesson_that_joined_because_the_two_were_the_same_leaves_when_they_are_so_no_longer() -> (
    None
):
    one = judged(documents(older(), younger()))
    apart = judged(one.documents, judgement(None, "different"), one.pair)
    assert (tellers(apart, KEY), entry_of(apart, "iso")) == (["basher", "sark"], None)


# A maintainer's run


CLAIM = "Check that a task is still free before you claim it"
MAKE_SURE = "Make sure a task is free before claiming it"
CERTAIN = "Make certain that a task is free before you go and claim it"
TOLD = {"basher": CLAIM, "sark": CLAIM, "iso": MAKE_SURE, "tron": MAKE_SURE, "quorra": CERTAIN}
AS_BASHER, AS_ISO = knowledge_key("tasks", CLAIM), knowledge_key("tasks", MAKE_SURE)


async def run(fleet: Fleet) -> ProposalReport:
    async with leased(fleet) as writer:
        assert writer is not None
        return await propose(fleet, writer, Policy(), no_progress)


async def open_pairs(fleet: Fleet) -> dict[frozenset[str], Pair]:
    found = [one.pair for one in await fleet.pairs.in_state("open") if one.pair]
    return {
        frozenset(one.key or one.program_id for one in (known.a, known.b)): known for known in found
    }


async def say(fleet: Fleet, known: Pair, verdict: Verdict, *programs: str | None) -> None:
    sent = NewVerdict.model_validate({"pairId": known.pair_id, "verdict": verdict})
    for name in programs:
        if name is not None:
            await show(fleet, name, known)
        (outcome,) = await judge(fleet, Judge(name), [sent])
        assert not hasattr(outcome, "error"), outcome


async def keys_of_lessons(fleet: Fleet) -> dict[str, str | None]:
    return {name: (await fleet.programs.read(name)).patterns["mine"].knowledge_key for name in TOLD}


async def published(fleet: Fleet) -> dict[str, tuple[str, ...]]:
    return {
        row.key: row.contributors
        for row in (await fleet.knowledge.snapshots.read()).rows
        if not row.is_hidden
    }


@pytest.mark.anyio
async def test_a_run_asks_about_two_entries_and_then_about_the_lessons_that_one_of_them_loses(
    fleet: Fleet,
) -> None:
    fleet = at(replace(fleet, caller=Caller()), NOW)
    for name, text in TOLD.items():
        await learn(fleet, name, text)
    fleet = at(fleet, NOW + days(1))
    await run(fleet)
    asked = await open_pairs(fleet)
    both = asked[frozenset((AS_BASHER, AS_ISO))]
    assert {one.program_id for one in (both.a, both.b)} == {"basher", "iso"}
    await say(fleet, asked[frozenset((AS_ISO, "quorra"))], "same", None)
    assert (await keys_of_lessons(fleet))["quorra"] == AS_ISO

    await say(fleet, both, "same", "basher", "iso")
    one = dict.fromkeys(TOLD, AS_BASHER) | {"quorra": None}
    for server in (fleet, fleet, replace(fleet, memory=ProposingMemory())):
        await run(server)
        assert await keys_of_lessons(fleet) == one
    assert await published(fleet) == {AS_BASHER: ("basher", "iso", "sark", "tron")}
    emptied = (await fleet.knowledge.found(AS_ISO, hidden=True)).value
    assert (emptied.contributors, emptied.evidence_count) == ((), 0)

    again = (await open_pairs(fleet))[frozenset((AS_BASHER, "quorra"))]
    await say(fleet, again, "same", None)
    await run(fleet)
    assert await published(fleet) == {AS_BASHER: ("basher", "iso", "quorra", "sark", "tron")}


@pytest.mark.anyio
async def test_a_lesson_of_the_words_of_an_entry_that_gave_way_joins_the_other(
    fleet: Fleet,
) -> None:
    fleet = at(replace(fleet, caller=Caller()), NOW)
    for name in ("basher", "sark", "iso", "tron"):
        await learn(fleet, name, TOLD[name])
    fleet = at(fleet, NOW + days(1))
    await run(fleet)
    await say(fleet, (await open_pairs(fleet))[frozenset((AS_BASHER, AS_ISO))], "same", None)
    await learn(fleet, "quorra", MAKE_SURE)
    await run(fleet)
    assert await keys_of_lessons(fleet) == dict.fromkeys(TOLD, AS_BASHER)
