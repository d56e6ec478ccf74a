"""Words about lessons of other programs, by the keys that recall names them by."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from fleet_memory.errors import KnowledgeNotFoundError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.jobs.policy import set_policy
from fleet_memory.jobs.publishing import publish_now
from fleet_memory.rules.entries import entry_state
from fleet_memory.schemas.patterns import NewPattern, Outcome
from fleet_memory.schemas.programs import Caller
from fleet_memory.tools.core.lessons import reinforce_memory, store_memory
from fleet_memory.tools.core.recall import recall_memory
from fleet_memory.tools.session import SessionReport, commit_session
from tests.fleets import NOW, at

pytestmark = pytest.mark.anyio

FLUSH = "Flush the payment queue before a release"
KEY = "pattern/release/flush-payment-queue-before-release"
QUESTION = "what about the payment queue before a release?"


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    return at(fleet, NOW)


def bound(fleet: Fleet, program: str) -> Fleet:
    """Return the fleet as a program of its own connection calls it."""
    return replace(fleet, caller=Caller(program))


async def tell(fleet: Fleet, program: str, text: str = FLUSH, id_: str = "mine") -> None:
    lesson = NewPattern(pattern=text, domain="release", confidence=0.8, evidence="broke", id=id_)
    await store_memory(bound(fleet, program), program, lesson)


async def say(
    fleet: Fleet, program: str, outcome: Outcome = "confirmed", evidence: str = "It held for us"
) -> str:
    caller = bound(fleet, program)
    answer = await reinforce_memory(caller, program, KEY, outcome=outcome, evidence=evidence)
    assert answer.pattern_id == KEY
    return entry_state(await fleet.knowledge.found(KEY, hidden=True), NOW)


async def read(fleet: Fleet, program: str) -> tuple[Sequence[str], Sequence[str]]:
    """Return the keys of knowledge and of others that a question brings."""
    answer = await recall_memory(bound(fleet, program), program, query=QUESTION)
    return [each.key for each in answer.knowledge], [each.key for each in answer.others or ()]


async def test_one_discovery_and_one_confirmation_publish_a_lesson_as_tried(fleet: Fleet) -> None:
    await tell(fleet, "iso")
    assert await read(fleet, "ram") == ([], [KEY])
    assert await say(fleet, "ram") == "verify"
    entry = await fleet.knowledge.found(KEY)
    assert [line.program_id for line in entry.provenance] == ["iso"]
    assert [(word.program_id, word.evidence) for word in entry.words] == [("ram", "It held for us")]
    assert (await fleet.programs.read("iso")).patterns["mine"].knowledge_keys == (KEY,)
    assert await read(fleet, "sark") == ([KEY], [])


async def test_without_tried_a_confirmed_lesson_stays_one_of_others(fleet: Fleet) -> None:
    await set_policy(fleet, ["tried", "0"])
    await tell(fleet, "iso")
    assert await say(fleet, "ram") == "candidate"
    answer = await recall_memory(fleet, "sark", query=QUESTION)
    assert [(each.key, each.confirmed) for each in answer.others or ()] == [(KEY, 1)]


@pytest.mark.parametrize("is_shelved", [False, True])
async def test_a_contradicted_lesson_is_shown_to_nobody_else(
    fleet: Fleet, is_shelved: bool
) -> None:
    await tell(fleet, "iso")
    if is_shelved:
        await maintain_fleet(fleet, no_progress)
        assert await read(fleet, "clu") == ([], [KEY])
    assert await say(fleet, "ram", "contradicted", "It was empty") == "candidate"
    await publish_now(fleet)  # as the server does within 5 s
    assert await read(fleet, "sark") == ([], [])
    later = at(fleet, NOW + timedelta(hours=1))
    assert await say(later, "ram", "confirmed", "It was another queue") == "verify"
    await publish_now(fleet)
    assert await read(fleet, "sark") == ([KEY], [])


async def test_a_word_without_evidence_publishes_nothing_and_says_so(fleet: Fleet) -> None:
    await tell(fleet, "iso")
    answer = await reinforce_memory(bound(fleet, "ram"), "ram", KEY)
    assert answer.note
    assert "evidence" in answer.note
    assert await read(fleet, "sark") == ([], [KEY])


async def test_a_session_speaks_of_several_lessons_of_one_program(fleet: Fleet) -> None:
    await tell(fleet, "iso")
    await tell(fleet, "iso", "Warm the cache after a release", "other")
    keys = [KEY, "pattern/release/warm-cache-after-release"]
    said = (SessionReport.model_validate({"patternId": key, "evidence": "It held"}) for key in keys)
    answer = await commit_session(bound(fleet, "ram"), "ram", reinforcements=tuple(said))
    assert answer.failed == 0
    lessons = (await fleet.programs.read("iso")).patterns
    assert [lessons[id_].knowledge_keys for id_ in ("mine", "other")] == [(key,) for key in keys]
    assert [entry_state(await fleet.knowledge.found(key), NOW) for key in keys] == ["verify"] * 2


async def test_who_was_shown_a_lesson_discovers_it_no_more(fleet: Fleet) -> None:
    await set_policy(fleet, ["tried", "0"])
    await tell(fleet, "iso")
    await read(at(fleet, NOW), "ram")
    later = at(fleet, NOW + timedelta(hours=1))
    await tell(later, "ram")
    await maintain_fleet(later, no_progress)
    entry = await fleet.knowledge.found(KEY, hidden=True)
    told = {line.program_id: line.could_read for line in entry.provenance}
    assert told == {"iso": "", "ram": "had been shown it"}
    assert entry_state(entry, later.now()) == "candidate"


@pytest.mark.parametrize("program", ["iso", "iso/helper"])
async def test_nobody_confirms_a_lesson_of_its_own_origin_as_anothers(
    fleet: Fleet, program: str
) -> None:
    await tell(fleet, "iso")
    with pytest.raises(KnowledgeNotFoundError):
        await say(fleet, program)


async def test_under_sharing_knowledge_no_unpublished_lesson_has_a_key(fleet: Fleet) -> None:
    await tell(fleet, "iso")
    await set_policy(fleet, ["sharing", "knowledge"])
    with pytest.raises(KnowledgeNotFoundError):
        await say(fleet, "ram")
