"""A session that is sent again: known by its content for ten minutes, by its requestId for
longer.
"""

import random
from datetime import datetime, timedelta

import pytest

from fleet_memory.fleet import Fleet
from fleet_memory.schemas.patterns import Outcome
from fleet_memory.schemas.programs import Missing, Program
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.session import (
    SessionAnswer,
    SessionNote,
    SessionReport,
    commit_session,
)
from fleet_memory.tools.state import forget_memory, write_note
from tests.fleets import NOW, at
from tests.lessons import new_pattern
from tests.shared import LOOK, shared_entry
from tests.test_lost_answers import losing

pytestmark = pytest.mark.anyio

MINUTE = timedelta(minutes=1)
PORT = "Which port does the proxy use?"


async def leave(
    fleet: Fleet,
    moment: datetime,
    note: str = "Port 1",
    *,
    missing: tuple[str, ...] = (PORT,),
    request_id: str | None = None,
) -> SessionAnswer:
    notes = (SessionNote(text=note),)
    return await commit_session(
        at(fleet, moment),
        "basher",
        notes=notes,
        missing=missing,
        request_id=request_id,
        handoff="Invoices next",
    )


async def program(fleet: Fleet) -> Program:
    return await fleet.programs.read("basher")


def repeated(first: SessionAnswer) -> SessionAnswer:
    return SessionAnswer(
        program_id=first.program_id, repeated=True, failed=first.failed, version=first.version
    )


async def test_the_same_session_within_ten_minutes_changes_nothing_and_says_so(
    fleet: Fleet,
) -> None:
    first = await leave(fleet, NOW)
    before = await program(fleet)
    assert before.missing == (Missing(text=PORT, times=1, at=NOW),)
    assert await leave(fleet, NOW + 9.9 * MINUTE) == repeated(first)
    assert await leave(fleet, NOW - 9.9 * MINUTE) == repeated(first)  # another server's clock
    assert await program(fleet) == before


@pytest.mark.parametrize("other", [{"note": "Port 2"}, {"missing": ()}, {"request_id": "r1"}])
async def test_another_content_or_a_name_is_another_session(
    fleet: Fleet, other: dict[str, str]
) -> None:
    await leave(fleet, NOW)
    await leave(fleet, NOW, **other)  # type: ignore[arg-type]  # each fits its parameter
    assert (await program(fleet)).sessions == 2


async def test_a_session_with_a_name_is_known_after_ten_minutes_and_only_by_its_content(
    fleet: Fleet,
) -> None:
    first = await leave(fleet, NOW, request_id="r1")
    assert await leave(fleet, NOW + timedelta(days=30), request_id="r1") == repeated(first)
    await leave(fleet, NOW, "Port 2", request_id="r1")
    assert (await program(fleet)).sessions == 2


@pytest.mark.parametrize("fate", ["applied", "dropped", "late"])
async def test_a_session_whose_answer_is_lost_is_left_once(fleet: Fleet, fate: str) -> None:
    steady = Fleet.on(fleet.programs.store, "steady", fleet.embedder, fleet.now, fleet.caller)
    unsteady, _ = losing(fleet, fate)
    first = await leave(unsteady, NOW)
    assert (await leave(fleet, NOW + MINUTE), first) == (
        repeated(first),
        await leave(steady, NOW),
    )
    assert await program(fleet) == await program(steady)


async def test_sessions_are_counted_by_their_contents_and_moments(fleet: Fleet) -> None:
    chance = random.Random(7)  # noqa: S311 a draw, not a secret
    latest, began = "", NOW
    sessions, moment = 0, NOW
    for _ in range(60):
        moment += chance.choice([0.1, 1, 4, 9, 10, 11]) * MINUTE
        note = chance.choice(["A", "B"])
        if note != latest or moment - began >= 10 * MINUTE:
            latest, began = note, moment
            sessions += 1
        await leave(fleet, moment, note)
        after = await program(fleet)
        assert (after.sessions, after.missing[0].times) == (sessions, sessions)
    assert 0 < sessions < 60


async def test_a_handoff_after_another_one_is_written_again(fleet: Fleet) -> None:
    for minute, words in enumerate(("Done A", "Done B", "Done A")):
        await commit_session(at(fleet, NOW + minute * MINUTE), "basher", handoff=words)
        assert (await program(fleet)).context_summary == {"handoffNotes": words}
    again = await commit_session(at(fleet, NOW + 3 * MINUTE), "basher", handoff="Done A")
    assert (again.version, (await program(fleet)).sessions) == (3, 3)


async def test_a_lesson_that_was_rewritten_meanwhile_is_written_back(fleet: Fleet) -> None:
    statuses = []
    for minute, words in enumerate(("Use pnpm", "Use yarn", "Use pnpm")):
        (item,) = (
            await commit_session(
                at(fleet, NOW + minute * MINUTE), "basher", (new_pattern(words, id="tool"),)
            )
        ).patterns or ()
        statuses.append(item.status)
    assert statuses == ["created", "updated", "updated"]
    assert (await program(fleet)).patterns["tool"].pattern == "Use pnpm"


async def test_a_lesson_that_was_forgotten_meanwhile_is_stored_again(fleet: Fleet) -> None:
    lessons = (new_pattern(id="mine"),)
    await commit_session(at(fleet, NOW), "basher", lessons)
    await forget_memory(at(fleet, NOW + MINUTE), "basher", "mine", "a test")
    await commit_session(at(fleet, NOW + 2 * MINUTE), "basher", lessons)
    assert list((await program(fleet)).patterns) == ["mine"]


async def test_a_note_that_was_removed_meanwhile_is_written_again(fleet: Fleet) -> None:
    notes = (SessionNote(text="Port 1"),)
    await commit_session(at(fleet, NOW), "basher", notes=notes)
    await write_note(at(fleet, NOW + MINUTE), "basher", note_id="n1", remove=True)
    again = await commit_session(at(fleet, NOW + 2 * MINUTE), "basher", notes=notes)
    assert [note.note_id for note in again.notes or ()] == ["n2"]
    assert list((await program(fleet)).notes) == ["n2"]


async def test_a_word_after_the_opposite_word_counts_again(fleet: Fleet) -> None:
    await commit_session(at(fleet, NOW), "basher", (new_pattern(id="mine"),))
    outcomes: tuple[Outcome, ...] = ("confirmed", "contradicted", "confirmed")
    strengths = [1.0]
    for minute, outcome in enumerate(outcomes, 20):
        report = SessionReport.model_validate(
            {"patternId": "mine", "outcome": outcome, "evidence": f"it {outcome}"}
        )
        answer = await commit_session(
            at(fleet, NOW + minute * MINUTE), "basher", reinforcements=(report,)
        )
        assert [item.status for item in answer.reinforcements or ()] == [outcome]
        strengths.append((await program(fleet)).patterns["mine"].confidence)
    assert ((await program(fleet)).sessions, strengths[3] >= strengths[2] < strengths[1]) == (
        4,
        True,
    )


async def test_a_session_is_known_again_though_its_program_has_read_meanwhile(fleet: Fleet) -> None:
    first = await leave(fleet, NOW)
    await gsp_bootstrap(at(fleet, NOW + MINUTE), "basher")
    assert await leave(fleet, NOW + 2 * MINUTE) == repeated(first)
    assert (await program(fleet)).sessions == 1


async def test_a_repetition_says_how_many_items_failed_and_carries_none_out(fleet: Fleet) -> None:
    said = (SessionReport.model_validate({"patternId": "lesson"}),)
    first = await commit_session(at(fleet, NOW), "basher", reinforcements=said, request_id="r1")
    assert [word.status for word in first.reinforcements or ()] == ["failed"]
    await commit_session(at(fleet, NOW + MINUTE), "basher", (new_pattern(LOOK, id="lesson"),))
    again = await commit_session(at(fleet, NOW), "basher", reinforcements=said, request_id="r1")
    assert (again, again.failed) == (repeated(first), 1)
    assert (await program(fleet)).patterns["lesson"].confirmations == 0


async def test_questions_stay_though_the_session_fails_in_part(fleet: Fleet) -> None:
    said = (SessionReport.model_validate({"patternId": "unknown"}),)
    left = await commit_session(
        at(fleet, NOW), "basher", reinforcements=said, missing=("Who owns CI?",)
    )
    (word,) = left.reinforcements or ()
    assert (left.failed, word.status, (word.error or "")[:36]) == (
        1,
        "failed",
        "pattern_not_found: reinforcements.0:",
    )
    assert [one.text for one in (await program(fleet)).missing] == ["Who owns CI?"]


async def test_a_lesson_sent_under_another_id_confirms_its_entry(fleet: Fleet) -> None:
    entry = await shared_entry(fleet, "basher", "iso")
    later = max(fleet.now(), entry.last_confirmed) + timedelta(days=5)
    again = await commit_session(at(fleet, later), "basher", (new_pattern(LOOK, id="another"),))
    assert [item.status for item in again.patterns or ()] == ["reinforced"]
    assert (await fleet.knowledge.found(entry.key)).last_confirmed == later


async def test_an_answer_counts_the_questions_that_are_kept(fleet: Fleet) -> None:
    answer = await commit_session(
        at(fleet, NOW), "basher", missing=("who owns CI?", "Who owns CI? ", "a")
    )
    assert answer.missing == 2
    assert [one.text for one in (await program(fleet)).missing] == ["Who owns CI?", "a"]
