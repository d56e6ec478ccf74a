"""Taking one contribution out of an entry: a person's `different` about the two texts, which is
final.
"""

from dataclasses import replace
from datetime import timedelta

import pytest

from fleet_memory.errors import InvalidArgumentError, StoreUnavailableError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.curation import Curated, reword_entry, split_entry
from fleet_memory.jobs.deletion import delete_program
from fleet_memory.jobs.judging import Judge, Judged, judge
from fleet_memory.rules.text.keys import pair_id, text_hash
from fleet_memory.schemas.pairs import Judgement, NewVerdict, Pair, Side, Verdict
from tests.fleets import NOW, at, documents, interrupted, writing
from tests.shared import (
    CHECK,
    FREE,
    KEY,
    LATE,
    LOOK,
    TEXTS,
    Lesson,
    learnt,
    opened_pair,
    published_keys,
    shared_entry,
)

pytestmark = pytest.mark.anyio

PARTED = Pair(
    pair_id=pair_id(text_hash(LOOK), text_hash(CHECK)),
    a=Side(program_id="basher", key=KEY, domain="tasks", text=LOOK),
    b=Side(
        program_id="iso", pattern_id="mine", domain="tasks", text=CHECK, evidence="iso lost a day"
    ),
    state="different",
    cosine=0.7,
    judgements=(Judgement(verdict="different", at=NOW, reason="another moment"),),
    opened_at=NOW,
)


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    return at(fleet, NOW)


async def contributors(fleet: Fleet) -> list[str]:
    return [line.program_id for line in (await fleet.knowledge.found(KEY)).provenance]


async def test_the_contribution_leaves_with_its_vote_and_the_lesson_is_compared_again(
    fleet: Fleet,
) -> None:
    await shared_entry(fleet, "basher", "iso", "sark")
    assert await split_entry(fleet, KEY, "iso", None, "another moment") == Curated(
        KEY, "fresh", changed=True
    )
    assert await contributors(fleet) == ["basher", "sark"]
    entry = await fleet.knowledge.found(KEY)
    assert (entry.value.contributors, entry.value.evidence_count) == (("basher", "sark"), 2)
    program = await fleet.programs.read("iso")
    assert program.patterns["mine"].knowledge_key is None
    assert "mine" in program.pending
    (pair,) = await fleet.pairs.read(PARTED.pair_id)
    assert pair.pair == PARTED
    line = (await fleet.knowledge.ledger.newest(entry, 1))[0]
    why = f"pair {PARTED.pair_id}: operator: different (another moment)"
    assert (line.event, line.by, line.why) == ("left", "operator", why)


async def test_below_its_threshold_the_entry_leaves_boot(fleet: Fleet) -> None:
    await shared_entry(fleet, "basher", "iso")
    assert (await split_entry(fleet, KEY, "iso", None, "no")).state == "candidate"
    assert await published_keys(fleet) == []


async def test_a_verdict_that_joined_them_is_overruled(fleet: Fleet) -> None:
    await shared_entry(fleet, "basher", "iso")
    said = Judgement(verdict="same", program_id="iso", at=NOW, sides=("b",))
    same = replace(PARTED, state="same", judgements=(said,))
    (before,) = await fleet.pairs.read(same.pair_id)
    await fleet.pairs.store.commit(fleet.pairs.write(before, same))
    await split_entry(fleet, KEY, "iso", None, "another moment")
    (pair,) = await fleet.pairs.read(same.pair_id)
    assert pair.pair == replace(PARTED, judgements=(said, *PARTED.judgements))


async def test_a_contribution_of_a_program_that_is_gone_leaves_as_well(fleet: Fleet) -> None:
    await shared_entry(fleet, "basher", "iso", "sark")
    await delete_program(fleet, "iso")
    await split_entry(fleet, KEY, "iso", None, "no")
    assert await contributors(fleet) == ["basher", "sark"]
    assert not (await fleet.programs.read("iso")).exists


async def test_the_program_is_known_in_any_case(fleet: Fleet) -> None:
    await shared_entry(fleet, "basher", "iso")
    assert (await split_entry(fleet, KEY, "ISO", "mine", "no")).changed


@pytest.mark.parametrize(
    ("program", "pattern", "said"),
    [
        (
            "sark",
            None,
            "name one contribution to pattern/.*: basher/mine, iso/mine",
        ),
        (
            "iso",
            "other",
            "name one contribution to pattern/.*: basher/mine, iso/mine",
        ),
        (
            "basher",
            None,
            "--program: basher's lesson has the words of pattern/.*, and equal words are the same",
        ),
    ],
)
async def test_nothing_is_split_that_is_not_there_or_of_equal_words(
    fleet: Fleet, program: str, pattern: str | None, said: str
) -> None:
    await shared_entry(fleet, "basher", "iso")
    before = await documents(fleet)
    with pytest.raises(InvalidArgumentError, match=said):
        await split_entry(fleet, KEY, program, pattern, "no")
    assert await documents(fleet) == before


async def says(fleet: Fleet, pair: Pair, verdict: Verdict) -> None:
    """Judge a pair as a person."""
    new = NewVerdict.model_validate({"pairId": pair.pair_id, "verdict": verdict})
    (outcome,) = await judge(fleet, Judge(), [new])
    assert isinstance(outcome, Judged), outcome


FREE_KEY = "pattern/tasks/claim-free-tasks-only"


async def read_through(fleet: Fleet) -> None:
    """Let people judge the texts of basher and iso one, those of sark and ram another, and then the
    two entries the same: ram's is read through basher's.
    """
    early = at(fleet, NOW - timedelta(days=1))
    await says(
        early, await opened_pair(early, Lesson("basher", LOOK), Lesson("iso", CHECK)), "same"
    )
    await says(fleet, await opened_pair(fleet, Lesson("sark", LATE), Lesson("ram", FREE)), "same")
    both = Pair(
        pair_id=pair_id(text_hash(LOOK), text_hash(FREE)),
        a=Side(program_id="basher", key=KEY, domain="tasks", text=LOOK),
        b=Side(program_id="ram", key=FREE_KEY, domain="tasks", text=FREE),
        opened_at=NOW,
    )
    (before,) = await fleet.pairs.read(both.pair_id)
    await fleet.pairs.store.commit(fleet.pairs.write(before, both))
    await says(fleet, both, "same")
    assert await contributors(fleet) == ["basher", "iso", "ram", "sark"]


async def entries_of(fleet: Fleet, program: str) -> tuple[str, ...]:
    """Return the keys of the entries that a program's lesson is in."""
    return (await fleet.programs.read(program)).patterns["open"].knowledge_keys


async def test_out_of_an_entry_that_is_read_through_another_the_lesson_is_free(
    fleet: Fleet,
) -> None:
    await read_through(fleet)
    assert await entries_of(fleet, "sark") == (FREE_KEY,)
    assert (await split_entry(fleet, KEY, "sark", None, "another moment")).state == "fresh"
    assert await contributors(fleet) == ["basher", "iso", "ram"]
    assert await entries_of(fleet, "sark") == ()
    assert "open" in (await fleet.programs.read("sark")).pending


async def test_the_words_of_an_entry_that_is_read_through_another_part_the_two(
    fleet: Fleet,
) -> None:
    await read_through(fleet)
    assert (await split_entry(fleet, KEY, "ram", None, "another moment")).state == "fresh"
    assert await contributors(fleet) == ["basher", "iso"]
    younger = await fleet.knowledge.found(FREE_KEY, hidden=True)
    assert [line.program_id for line in younger.provenance] == ["ram", "sark"]
    assert await entries_of(fleet, "ram") == (FREE_KEY,)


async def test_after_a_rewording_it_is_about_the_new_text(fleet: Fleet) -> None:
    await shared_entry(fleet, "basher", "iso", "sark")
    await reword_entry(fleet, KEY, FREE, "shorter")
    await split_entry(fleet, KEY, "basher", None, "not claimed twice")
    assert await contributors(fleet) == ["iso", "sark"]
    assert (await fleet.programs.read("basher")).patterns["mine"].knowledge_key is None
    (pair,) = await fleet.pairs.read(pair_id(text_hash(LOOK), text_hash(FREE)))
    assert pair.pair is not None
    assert pair.pair.state == "different"


async def test_another_lesson_of_the_same_words_is_free_too(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TEXTS, "sark", CHECK)
    await shared_entry(fleet, "basher", "iso", "sark")
    await reword_entry(fleet, KEY, FREE, "shorter")
    await split_entry(fleet, KEY, "iso", None, "another moment")
    assert await contributors(fleet) == ["basher"]
    program = await fleet.programs.read("sark")
    assert program.patterns["mine"].knowledge_keys == ()
    assert "mine" in program.pending


async def test_a_person_takes_it_back_by_another_verdict(fleet: Fleet) -> None:
    await shared_entry(fleet, "basher", "iso", "sark")
    await split_entry(fleet, KEY, "iso", None, "another moment")
    await says(fleet, PARTED, "same")
    assert await contributors(fleet) == ["basher", "iso", "sark"]


async def test_it_is_one_commit_under_concurrent_writes(fleet: Fleet) -> None:
    await shared_entry(fleet, "basher", "iso")
    meanwhile = interrupted(
        fleet, writing("gsp"), lambda: learnt(fleet, "iso", "Learnt late", "late")
    )
    await split_entry(meanwhile, KEY, "iso", None, "no")
    program = await fleet.programs.read("iso")
    assert [(lesson.id, lesson.knowledge_key) for lesson in program.patterns.values()] == [
        ("late", None),
        ("mine", None),
    ]


async def test_killed_it_leaves_all_or_nothing(fleet: Fleet) -> None:
    await shared_entry(fleet, "basher", "iso")
    before = await documents(fleet)

    async def killed() -> None:
        raise StoreUnavailableError("The connection was cut.")

    with pytest.raises(StoreUnavailableError):
        await split_entry(interrupted(fleet, writing("pairs"), killed), KEY, "iso", None, "no")
    assert await documents(fleet) == before
