"""Words of agents through the tools: about their own lessons and about entries, in one commit with
the entry.
"""

from collections.abc import Awaitable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from fleet_memory.errors import KnowledgeNotFoundError, OutcomeUnknownError, PatternNotFoundError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.policy import set_policy
from fleet_memory.rules.entries import (
    JoiningLesson,
    candidate_of,
    entry_state,
    settled,
    standing,
    with_lesson,
)
from fleet_memory.rules.lifecycle.outcomes import NEEDS_EVIDENCE
from fleet_memory.rules.pairs import with_membership
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.patterns import NewPattern, Outcome, Source
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Caller
from fleet_memory.stores import Store, Write
from fleet_memory.tools.core.lessons import (
    ReinforceAnswer,
    StoreAnswer,
    reinforce_memory,
    store_memory,
)
from fleet_memory.tools.session import SessionReport, commit_session
from fleet_memory.tools.shared import EntryStanding
from tests.fleets import NOW, at, documents, interrupted, on, writing
from tests.wrapped import Counted, ForwardingStore

pytestmark = pytest.mark.anyio


class LosesAnswer(ForwardingStore):
    """A store whose first commit is applied, and its answer lost."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._loses = True

    async def commit(self, *writes: Write) -> datetime:
        at = await super().commit(*writes)
        if self._loses:
            self._loses = False
            raise OutcomeUnknownError("The store did not confirm the last write.")
        return at


POLICY = Policy()
RETRY = "Retry a failed upload 3 times"
NEVER_RETRY = "Never retry a failed upload; open a new one"
DAY = timedelta(days=1)


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    """A fleet at a fixed moment, whose callers are known by name, so that one connection casts no
    doubt.
    """
    return at(replace(fleet, caller=Caller()), NOW)


async def learn(fleet: Fleet, program: str, text: str, **fields: object) -> StoreAnswer:
    lesson = {
        "pattern": text,
        "domain": "net",
        "confidence": 0.8,
        "evidence": f"{program} saw it fail twice",
        "id": "mine",
    }
    return await store_memory(fleet, program, NewPattern.model_validate(lesson | fields))


async def say(
    fleet: Fleet, program: str, about: str, outcome: Outcome, evidence: str = "seen"
) -> ReinforceAnswer:
    return await reinforce_memory(fleet, program, about, outcome=outcome, evidence=evidence)


async def share(fleet: Fleet, *programs: str, text: str = RETRY) -> str:
    """Make the lesson "mine" of these programs an entry, and return its key."""
    for program in programs:
        await learn(fleet, program, text)
    entry = None
    for versioned in await fleet.programs.read_versioned(*programs):
        known = versioned.program
        lesson = JoiningLesson(known, known.patterns["mine"], "equal_words")
        entry = with_lesson(entry or candidate_of(lesson, POLICY), lesson)
    assert entry is not None
    entry = settled(None, entry, POLICY, fleet.now())
    key = entry.key
    versioned_entry, *_ = await fleet.knowledge.read_versioned(key)
    writes = fleet.knowledge.writes(versioned_entry, entry, by="test", why="", now=fleet.now())
    changes = [
        (versioned, with_membership(versioned.program, "mine", key, is_member=True))
        for versioned in await fleet.programs.read_versioned(*programs)
    ]
    await fleet.programs.store.commit(
        *writes,
        *(write for before, after in changes for write in fleet.programs.writes(before, after)),
    )
    return key


async def read_entry(fleet: Fleet, key: str) -> Entry:
    (versioned,) = await fleet.knowledge.read_versioned(key)
    assert versioned.entry is not None
    return versioned.entry


async def state(fleet: Fleet, key: str, now: datetime = NOW) -> str:
    return entry_state(await read_entry(fleet, key), now)


async def test_contributors_who_contradict_their_own_lessons_take_the_entry_out_of_boot(
    fleet: Fleet,
) -> None:
    key = await share(fleet, "a", "b", "c")
    first = await say(fleet, "a", "mine", "contradicted", "it is db-9 now")
    assert first == ReinforceAnswer(
        pattern_id="mine",
        confidence=0.4,
        strength=0.4,
        reinforcements=0,
        last_reinforced=NOW,
        revived=False,
        knowledge=EntryStanding(key=key, status="contested"),
    )
    second = await say(fleet, "b", "mine", "contradicted", "it is db-9 now")
    assert second.knowledge == EntryStanding(key=key, status="retired")


async def test_a_contributors_confirmations_keep_the_entry_fresh(fleet: Fleet) -> None:
    key = await share(fleet, "a", "b")
    for week in range(1, 14):
        later = at(fleet, NOW + 14 * week * DAY)
        answer = await say(later, "a", "mine", "confirmed", "used it")
    assert answer.knowledge == EntryStanding(key=key, status="fresh")
    assert (await read_entry(fleet, key)).last_confirmed == NOW + 182 * DAY


async def test_a_word_about_a_key_is_one_commit_of_the_program_and_the_entry(fleet: Fleet) -> None:
    key = await share(fleet, "a", "b")
    answer = await say(fleet, "reader", key, "contradicted")
    assert (answer.knowledge, answer.note) == (EntryStanding(key=key, status="contested"), None)
    assert (await fleet.programs.read("reader")).against == {key: NOW}
    back = await say(at(fleet, NOW + DAY), "reader", key, "confirmed")
    assert (back.knowledge, (await fleet.programs.read("reader")).against) == (
        EntryStanding(key=key, status="fresh"),
        {},
    )


async def test_a_contradiction_without_evidence_changes_nothing_and_is_answered_with_the_need_for_evidence(
    fleet: Fleet,
) -> None:
    key = await share(fleet, "a", "b")
    before = await documents(fleet)
    answer = await say(fleet, "reader", key, "contradicted", "")
    assert (answer.knowledge, answer.note) == (
        EntryStanding(key=key, status="fresh"),
        NEEDS_EVIDENCE,
    )
    assert await documents(fleet) == before


@pytest.mark.parametrize("about", ["mine", "key"])
async def test_a_repeated_request_changes_no_document(fleet: Fleet, about: str) -> None:
    key = await share(fleet, "a", "b", "c")
    about = key if about == "key" else about
    for outcome in ("confirmed", "contradicted"):
        first = await reinforce_memory(
            fleet, "a", about, evidence="seen", outcome=outcome, request_id=outcome
        )
        before = await documents(fleet)
        assert (
            await reinforce_memory(
                fleet, "a", about, evidence="seen", outcome=outcome, request_id=outcome
            )
            == first
        )
        assert await documents(fleet) == before


async def test_a_word_that_loses_a_race_for_its_entry_is_decided_again(fleet: Fleet) -> None:
    key = await share(fleet, "a", "b")
    racing = interrupted(fleet, writing("gsp"), lambda: say(fleet, "c", key, "contradicted"))
    answer = await say(racing, "d", key, "contradicted")
    assert answer.knowledge == EntryStanding(key=key, status="retired")
    assert [word.program_id for word in (await read_entry(fleet, key)).words] == ["c", "d"]


async def test_a_key_that_agents_do_not_know_is_refused(fleet: Fleet) -> None:
    await set_policy(fleet, ["sharing", "knowledge"])
    key = await share(fleet, "a")
    assert await state(fleet, key) == "candidate"
    for unknown in (key, "pattern/net/unknown"):
        with pytest.raises(KnowledgeNotFoundError, match="no knowledge entry"):
            await say(fleet, "reader", unknown, "confirmed")
    with pytest.raises(PatternNotFoundError):
        await say(fleet, "reader", "unknown", "confirmed")


async def test_a_word_about_ones_own_lesson_in_a_candidate_names_no_entry(fleet: Fleet) -> None:
    key = await share(fleet, "a")
    answer = await say(fleet, "a", "mine", "contradicted")
    assert (answer.knowledge, standing(await read_entry(fleet, key)).discovered) == (None, 0)


async def test_a_word_carries_the_session_and_the_connection_of_its_call(fleet: Fleet) -> None:
    key = await share(fleet, "a", "b")
    await say(
        replace(fleet, caller=Caller(connection="c1", session_id="s1")),
        "reader",
        key,
        "contradicted",
    )
    assert [
        (word.session_id, word.connection) for word in (await read_entry(fleet, key)).words
    ] == [("s1", "c1")]


async def test_a_session_reports_on_own_lessons_and_keys_in_its_one_commit(fleet: Fleet) -> None:
    key, other = (
        await share(fleet, "a", "b"),
        await share(fleet, "c", "d", text="Rotate the context early"),
    )
    done = await commit_session(
        fleet,
        "a",
        request_id="r1",
        reinforcements=(
            SessionReport.model_validate(
                {"patternId": "mine", "outcome": "contradicted", "evidence": "db-9"}
            ),
            SessionReport.model_validate(
                {"patternId": other, "outcome": "contradicted", "evidence": "too early"}
            ),
            SessionReport.model_validate({"patternId": "pattern/net/unknown"}),
        ),
        session_id="s1",
    )
    assert [item.knowledge for item in done.reinforcements or ()] == [
        EntryStanding(key=key, status="candidate"),
        EntryStanding(key=other, status="contested"),
        None,
    ]
    assert [word.session_id for word in (await read_entry(fleet, other)).words] == ["s1"]
    assert await state(fleet, key) == "candidate"
    assert (await fleet.programs.read("a")).against == {key: NOW, other: NOW}


async def test_the_session_of_a_lesson_is_that_of_its_first_store(fleet: Fleet) -> None:
    await learn(fleet, "a", RETRY, sessionId="s1")
    for fields in ({"sessionId": "s2"}, {"confidence": 0.9}):
        await learn(at(fleet, NOW + DAY), "a", RETRY, **fields)
        assert (await fleet.programs.read("a")).patterns["mine"].session_id == "s1"
    await learn(at(fleet, NOW + DAY), "a", NEVER_RETRY, sessionId="s2")
    assert (await fleet.programs.read("a")).patterns["mine"].session_id == "s2"


async def test_a_lesson_keeps_where_it_came_from(fleet: Fleet) -> None:
    caller = Caller(connection="c1", client="editor", session_id="s1", model="claude")
    await learn(replace(fleet, caller=caller), "a", RETRY)
    lesson = (await fleet.programs.read("a")).patterns["mine"]
    assert lesson.source == Source(connection="c1", client="editor", model="claude")
    assert lesson.session_id == "s1"


async def test_the_same_store_in_two_weeks_reinforces(fleet: Fleet) -> None:
    statuses = []
    for fortnight in range(8):
        answer = await learn(at(fleet, NOW + 13 * fortnight * DAY), "a", RETRY)
        statuses.append(answer.status)
    assert statuses == ["created", *["reinforced"] * 7]
    assert (await fleet.programs.read("a")).patterns["mine"].last_reinforced == NOW + 91 * DAY


async def test_a_near_lesson_is_stored_and_names_the_other_with_the_hint(fleet: Fleet) -> None:
    await learn(fleet, "a", "Always force-push to a shared branch", id="always")
    answer = await learn(fleet, "a", "Never force-push to a shared branch", id="never")
    assert answer.status == "created"
    assert [(near.id, near.differs) for near in answer.related] == [("always", "negation")]


async def test_a_word_whose_answer_is_lost_counts_once(fleet: Fleet) -> None:
    key = await share(fleet, "a", "b", "c")
    own = await say(on(fleet, LosesAnswer(fleet.programs.store)), "a", "mine", "contradicted")
    assert (own.confidence, own.knowledge) == (0.4, EntryStanding(key=key, status="contested"))
    confirmed = await say(
        on(fleet, LosesAnswer(fleet.programs.store)), "reader", key, "confirmed", ""
    )
    assert confirmed.reinforcements == (await read_entry(fleet, key)).confirmations == 1


async def test_a_word_costs_one_read_and_one_write_of_the_program_and_of_the_entry(
    fleet: Fleet,
) -> None:
    key = await share(fleet, "a", "b")
    await learn(fleet, "a", "Rotate the context early", id="alone")
    counted = Counted(fleet.programs.store)
    watched = on(fleet, counted)
    await watched.policies.read(NOW)

    async def cost(call: Awaitable[object]) -> tuple[int, int]:
        before = counted.reads, counted.writes
        await call
        return counted.reads - before[0], counted.writes - before[1]

    assert await cost(say(watched, "a", "alone", "confirmed")) == (1, 1)
    assert await cost(learn(watched, "a", "Rotate it late", id="alone")) == (1, 2)
    assert await cost(say(watched, "a", "mine", "confirmed")) == (2, 2)
    assert await cost(say(watched, "reader", key, "confirmed")) == (2, 2)
