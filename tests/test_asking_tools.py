"""Programs are shown pairs to judge as they boot and as they leave, and it is remembered in the
same commit.
"""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.deletion import delete_program
from fleet_memory.jobs.policy import set_policy
from fleet_memory.rules.retrieval.boot import Depth
from fleet_memory.rules.retrieval.budget import size
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.programs import Asked, Caller, Role
from fleet_memory.stores import Store, Write
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.judging import (
    ToJudge,
    ToJudgeSide,
    to_judge_answer,
)
from tests import entries, lessons
from tests.asking import LEARNT, booted, contrary, ids, judged, left, numbered, verdict
from tests.fleets import NOW, at, documents, learn, on
from tests.lessons import days, pattern
from tests.shared import CHECK, FREE, LATE, LOOK, Lesson, opened_pair, shared_entry
from tests.wrapped import ForwardingStore

pytestmark = pytest.mark.anyio


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    return at(replace(fleet, caller=Caller()), NOW)


class Commits(ForwardingStore):
    """A store that remembers its commits."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.commits: list[list[str]] = []

    async def commit(self, *writes: Write) -> datetime:
        self.commits.append([f"{write.ref.collection}/{write.ref.id}" for write in writes])
        return await super().commit(*writes)


async def test_a_boot_asks_about_the_three_likeliest_pairs_of_the_programs_own(
    fleet: Fleet,
) -> None:
    pairs = await numbered(fleet, 4)
    assert ids(await booted(fleet, "sark")) == [pair.pair_id for pair in pairs[:3]]
    (first, *_) = await booted(fleet, "basher")
    assert first == ToJudge(
        pair_id=pairs[0].pair_id,
        a=ToJudgeSide(
            own=True,
            pattern_id="own-0",
            domain="tasks",
            pattern="Own 0",
            evidence="basher lost a day",
        ),
        b=ToJudgeSide(domain="tasks", pattern="Other 0", evidence="sark lost a day"),
    )


async def test_a_question_hints_at_other_figures_and_two_authors_decide_all_the_same(
    fleet: Fleet,
) -> None:
    pair = await opened_pair(
        fleet, Lesson("basher", "Retry a claim 3 times"), Lesson("iso", "Retry a claim 30 times")
    )
    for program in ("basher", "iso"):
        (asked,) = await booted(fleet, program)
        assert asked.differs == "figures"
        await judged(fleet, program, pair, "same")
    (versioned,) = await fleet.pairs.read(pair.pair_id)
    assert versioned.pair
    assert versioned.pair.state == "same"
    assert ids(await booted(fleet, "sark")) == []


@pytest.mark.parametrize("text", ["", ", for a long reason" * 30])
@pytest.mark.parametrize("depth", ["essential", "standard", "full"])
async def test_questions_fill_at_most_a_fifth_of_a_boot(
    fleet: Fleet, depth: Depth, text: str
) -> None:
    await numbered(fleet, 3, ends=text)
    answer = await gsp_bootstrap(fleet, "basher", depth)
    budget = {"essential": 1_000, "standard": 2_500, "full": 25_000}[depth] * 4
    assert sum(size(one.wire()) for one in answer.to_judge or ()) <= budget / 5
    assert (
        len(answer.to_judge or ())
        == {"essential": 0 if text else 3, "standard": 1 if text else 3, "full": 3}[depth]
    )


async def test_a_pair_that_does_not_fit_a_boot_leaves_room_to_those_after_it(fleet: Fleet) -> None:
    (long,) = await numbered(fleet, 1, ends=", for a long reason" * 50)
    short = await opened_pair(
        at(fleet, LEARNT), Lesson("basher", CHECK), Lesson("sark", FREE), margin=0.1
    )
    assert ids(await booted(fleet, "basher")) == [short.pair_id]
    assert ids(await booted(fleet, "basher", "full")) == [long.pair_id, short.pair_id]


def test_a_question_has_the_first_sentences_of_evidence_of_the_own_side_too() -> None:
    own = pattern(CHECK, evidence="They claimed it twice. " * 99)
    asked = to_judge_answer(entries.pair(), lessons.program(own))
    assert (asked.a.pattern_id, asked.a.evidence) == (
        "p1",
        ("They claimed it twice. " * 13).strip(),
    )


@pytest.mark.parametrize("max_tokens", [200, 400, 700, 1_000, 4_000])
async def test_a_boot_with_questions_keeps_its_budget(fleet: Fleet, max_tokens: int) -> None:
    await numbered(fleet, 3)
    await learn(fleet, "basher", "Something that it learnt", id_="more")
    answer = await gsp_bootstrap(fleet, "basher", max_tokens=max_tokens)
    assert size(answer.wire()) <= max_tokens * 4
    assert {one.pair_id for one in answer.to_judge or ()} == set(
        (await fleet.programs.read("basher")).asked
    )


async def test_a_boot_records_the_pairs_that_it_showed_in_its_one_commit(fleet: Fleet) -> None:
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
    pair = Pair(pair_id="with-entry", a=lesson, b=about, margin=0.9, opened_at=NOW)
    (absent,) = await fleet.pairs.read(pair.pair_id)
    await fleet.pairs.store.commit(fleet.pairs.write(absent, pair))
    return pair


async def test_a_deleted_program_is_asked_nothing_and_does_not_come_back(fleet: Fleet) -> None:
    pair = await pair_with_entry(fleet)
    assert ids(await booted(fleet, "basher")) == [pair.pair_id]
    await delete_program(fleet, "basher")
    answer = await gsp_bootstrap(fleet, "basher")
    program = await fleet.programs.read("basher")
    assert (answer.exists, answer.to_judge, program.exists, program.asked) == (
        False,
        None,
        False,
        {},
    )


async def test_where_people_judge_no_program_is_asked(fleet: Fleet) -> None:
    await contrary(fleet)
    await numbered(fleet, 1)
    await set_policy(fleet, ["judging", "people"])
    server = on(fleet, fleet.knowledge.store)
    assert await booted(server, "basher") == ()
    assert await booted(server, "iso") == ()
    assert await fleet.pairs.count_open() == 2


async def test_a_boot_asks_about_own_pairs_first_and_then_about_one_that_needs_a_third_program(
    fleet: Fleet,
) -> None:
    disputed = await contrary(fleet)
    own = await opened_pair(fleet, Lesson("iso", CHECK), Lesson("ram", FREE), margin=0.1)
    store = Commits(fleet.knowledge.store)
    asked = await booted(on(fleet, store), "iso")
    assert ids(asked) == [own.pair_id, disputed.pair_id]
    assert asked[1] == ToJudge(
        pair_id=disputed.pair_id,
        a=ToJudgeSide(domain="tasks", pattern=LOOK, evidence="basher lost a day"),
        b=ToJudgeSide(domain="tasks", pattern=LATE, evidence="sark lost a day"),
    )
    program = await fleet.programs.read("iso")
    assert store.commits == [["fleets/default/programs/iso"]]
    assert set(program.asked) == {own.pair_id, disputed.pair_id}
    assert program.shown == {text_hash(text): NOW for text in (LOOK, LATE, FREE)}


async def test_a_pair_that_needs_no_third_program_is_shown_to_none(fleet: Fleet) -> None:
    pair = await opened_pair(fleet, Lesson("basher", LOOK), Lesson("sark", LATE))
    assert await booted(fleet, "iso") == ()
    await judged(fleet, "basher", pair, "same")
    assert await booted(fleet, "iso") == ()


async def test_another_author_of_an_entry_is_asked_when_a_third_program_is(fleet: Fleet) -> None:
    pair = await pair_with_entry(fleet)
    await judged(fleet, "sark", pair, "same")
    assert await booted(fleet, "iso") == ()
    await judged(fleet, "basher", pair, "different")
    await learn(fleet, "flynn", "Something else")
    assert ids(await booted(fleet, "iso")) == [pair.pair_id]
    assert ids(await booted(fleet, "flynn")) == [pair.pair_id]


async def test_a_subagent_is_no_third_for_its_program_and_its_verdict_is_no_other_judges(
    fleet: Fleet,
) -> None:
    pair = await contrary(fleet)
    for name in ("basher/reviewer", "iso"):
        await learn(fleet, name, "Something else")
    assert await booted(fleet, "basher/reviewer") == ()
    await judged(
        fleet, "basher/reviewer", pair, "same"
    )  # which it was shown before its program had a side
    (versioned,) = await fleet.pairs.read(pair.pair_id)
    assert versioned.pair
    assert versioned.pair.state == "open"
    assert ids(await booted(fleet, "iso")) == [pair.pair_id]
    await judged(fleet, "iso", pair, "same")
    (versioned,) = await fleet.pairs.read(pair.pair_id)
    assert versioned.pair
    assert versioned.pair.state == "same"


async def test_a_third_program_comes_to_every_pair_though_it_is_unsure_about_most_of_them(
    fleet: Fleet,
) -> None:
    pairs = [await contrary(fleet, number) for number in range(16)]
    await learn(fleet, "iso", "Something else")
    for pair in pairs[:-1]:
        await judged(fleet, "iso", pair, "unsure")
    asked: set[str] = set()
    for day in range(1, 11):
        asked |= set(ids(await booted(at(fleet, NOW + days(day)), "iso")))
    assert asked == {pairs[-1].pair_id}


async def test_a_session_that_ends_is_asked_nothing(fleet: Fleet) -> None:
    one, two, three = await numbered(fleet, 3)
    await booted(fleet, "basher")
    answer = await left(fleet, "basher", verdict(one.pair_id))
    assert [(said.pair_id, said.state) for said in answer.judged or ()] == [(one.pair_id, "open")]
    assert "toJudge" not in answer.wire()
    assert ids(await booted(fleet, "basher")) == [two.pair_id, three.pair_id]


@pytest.mark.parametrize("role", ["auditor", "admin"])
async def test_a_boot_by_a_reader_that_may_not_write_asks_nothing_and_notes_only_who_read(
    fleet: Fleet, role: Role
) -> None:
    await numbered(fleet, 2)
    before = await documents(fleet)
    reader = replace(fleet, caller=Caller("quorra", role=role))
    for day in range(4):
        assert await booted(at(reader, NOW + days(day)), "basher") == ()
    after = await documents(fleet)
    new = [one for one in after if one not in before]
    assert [one for one in after if one in before] == before
    assert [
        (one.fields["event"], one.fields["key"], one.fields["by"], one.fields["why"]) for one in new
    ] == [("read", "basher", "quorra", "gsp_bootstrap")] * 4


async def test_a_program_of_many_sessions_in_a_day_comes_to_every_pair(
    fleet: Fleet,
) -> None:
    for pair in await numbered(fleet, 24):
        await judged(fleet, "basher", pair, "same")
        await judged(fleet, "sark", pair, "different")
    await learn(fleet, "iso", "Something else")
    seen: list[str] = []
    for session in range(30):
        later = at(fleet, NOW + timedelta(minutes=10 * session))
        asked = ids(await booted(later, "iso"))
        unsure = [verdict(id_, "unsure") for id_ in asked]
        await left(later, "iso", *unsure, request_id=f"s{session}")
        seen += asked
    assert len(set(seen)) == 24
