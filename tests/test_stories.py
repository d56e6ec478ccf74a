"""The runner of the stories counts the facts that became knowledge, and whether they are right."""

from dataclasses import replace
from pathlib import Path

import pytest
from story import Labels, Story, Teller, ToldLesson
from story_counts import Counts, counted, curve, goal_day
from story_missed import missed
from telling import Chronicle, Judge, Telling, truthful

from fleet_memory.similarity.minilm import MiniLM
from fleet_memory.stores.sqlite import SqliteStore

pytestmark = pytest.mark.anyio


def lesson(id_: str, agent: str, day: int, fact: str, text: str) -> ToldLesson:
    return ToldLesson(
        id=id_,
        agent=agent,
        day=day,
        fact=fact,
        pattern=text,
        domain=f"{agent}'s notes",
        evidence="",
        confidence=0.8,
    )


STORY = Story(
    fleet="kiosk",
    agents=(Teller(id="ann"), Teller(id="bob"), Teller(id="cid")),
    lessons=(
        lesson(
            "L1",
            "ann",
            1,
            "key",
            "Rotate the signing key before it expires; an expired key stops deployments.",
        ),
        lesson(
            "L2",
            "bob",
            2,
            "key",
            "Signing keys must be rotated before they expire, or deployments stop.",
        ),
        lesson(
            "L3",
            "cid",
            1,
            "pool",
            "Close the database connection after each batch, or the pool runs dry.",
        ),
        lesson(
            "L4",
            "ann",
            2,
            "pool",
            "Database connections are to be closed after every batch: else the pool is dry.",
        ),
        lesson("L5", "bob", 1, "pnpm", "Install the packages of the shop with pnpm."),
        lesson("L6", "cid", 2, "yarn", "Install the packages of the shop with yarn."),
    ),
    contradict=(("pnpm", "yarn"),),
)


async def told(folder: Path, story: Story, judge: Judge, *, answering: bool = True) -> Chronicle:
    store = SqliteStore(folder / "memory.db")
    try:
        return await Telling(store, story, MiniLM(), judge, answering=answering).told(days_after=2)
    finally:
        await store.close()


def outcome(counts: Counts) -> dict[str, int]:
    names = (
        "shared",
        "published",
        "fresh",
        "wrong_fresh",
        "wrong_verify",
        "ever_wrong",
        "unasked",
        "never_offered",
        "lost",
    )
    return {name: getattr(counts, name) for name in names}


async def test_a_fact_that_two_agents_share_is_published_by_their_verdicts(tmp_path: Path) -> None:
    chronicle = await told(tmp_path, STORY, truthful(Labels(STORY)))
    counts = counted(STORY, chronicle)
    assert outcome(counts) == {
        "shared": 2,
        "published": 2,
        "fresh": 2,
        "wrong_fresh": 0,
        "wrong_verify": 0,
        "ever_wrong": 0,
        "unasked": 0,
        "never_offered": 0,
        "lost": 0,
    }
    assert counts.true_pairs == 2
    assert counts.distinct == len({(one.agent, one.pair_id) for one in chronicle.verdicts})
    assert goal_day(STORY, chronicle.days) in (2, 3, 4)
    assert curve(STORY, chronicle)[0] == (0, 0)
    assert curve(STORY, chronicle)[-1] == (2, 2)


async def test_an_entry_that_mixes_facts_is_counted_as_wrong(tmp_path: Path) -> None:
    relabelled = tuple(
        replace(one, fact="another") if one.id == "L4" else one for one in STORY.lessons
    )
    other_labels = replace(STORY, lessons=relabelled)
    chronicle = await told(tmp_path, other_labels, truthful(Labels(STORY)))
    assert outcome(counted(other_labels, chronicle)) == {
        "shared": 1,
        "published": 1,
        "fresh": 1,
        "wrong_fresh": 1,
        "wrong_verify": 0,
        "ever_wrong": 1,
        "unasked": 0,
        "never_offered": 0,
        "lost": 0,
    }


async def test_without_answers_nothing_is_published_and_the_reason_is_named(tmp_path: Path) -> None:
    chronicle = await told(tmp_path, STORY, truthful(Labels(STORY)), answering=False)
    counts = counted(STORY, chronicle)
    assert (counts.published, counts.unasked, counts.verdicts, counts.never_offered) == (0, 0, 0, 0)
    assert goal_day(STORY, chronicle.days) is None
    missing = [*missed(STORY, chronicle, {})]
    assert [one.fact for one in missing] == ["key", "pool"]
    assert all("without a verdict" in why for one in missing for why in one.why)
