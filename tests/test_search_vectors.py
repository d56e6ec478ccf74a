"""A question meets a lesson's text and what its author saw; lessons meet each other by their texts
alone.
"""

from base64 import b64decode
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.errors import EmbedderError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.erasing import Wanted, erase
from fleet_memory.jobs.storing import lesson_vectors
from fleet_memory.repositories.documents import texts_of
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.rules.text.vectors import Vectors, packed, search_vector, unit_row
from fleet_memory.rules.union import united_lesson
from fleet_memory.schemas.patterns import NewPattern, Pattern, context_text, search_mark
from fleet_memory.similarity.lexical import PROFILE, Fallback, Lexical
from fleet_memory.similarity.minilm import MiniLM
from fleet_memory.similarity.openai import OpenAI
from fleet_memory.tools.core.judging import pattern_consolidate
from fleet_memory.tools.core.lessons import store_memory
from fleet_memory.tools.core.recall import recall_memory
from tests.endpoint import served
from tests.fleets import NOW, at
from tests.lessons import START, days, pattern

pytestmark = pytest.mark.anyio

RETRY = "Retry it twice before you give up"
SAW = "the upload of the nightly report broke off"
LATER_SAW = "a socket to the archive was closed"
TEXT, CONTEXT = np.array([1, 0], np.float32), np.array([0, 1], np.float32)


class Searched(Lexical):
    """Letters, with the share of evidence that the model has."""

    profile = replace(PROFILE, context_share=0.4)


class Mirrored(Searched):
    """Another engine: every vector points the other way."""

    name = "mirrored/1"

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        return -await super().vectors(texts)


class Silent(Searched):
    """An engine that does not answer."""

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        raise EmbedderError(f"no answer for {len(texts)} texts")


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    return replace(at(fleet, NOW), embedder=Searched())


async def store(
    fleet: Fleet, text: str = RETRY, program: str = "basher", **fields: object
) -> Pattern:
    """Store a lesson under an id and return it as it is kept."""
    known = {"pattern": text, "domain": "uploads", "confidence": 0.8, "evidence": SAW, "id": "mine"}
    lesson = NewPattern.model_validate(known | fields)
    answer = await store_memory(fleet, program, lesson)
    return await kept(fleet, program, answer.pattern_id)


async def kept(fleet: Fleet, program: str = "basher", id_: str = "mine") -> Pattern:
    return (await fleet.programs.read(program)).patterns[id_]


async def is_of(lesson: Pattern, fleet: Fleet) -> bool:
    """Return whether a lesson has the search vector of what it has now."""
    (made,) = await lesson_vectors(
        fleet.embedder, [(lesson.pattern, lesson.domain, lesson.evidence)]
    )
    return bool(made.search_vector) and lesson.search_vector == made.search_vector


def test_the_context_is_the_domain_and_the_beginning_of_evidence_that_says_something() -> None:
    assert context_text("uploads", SAW) == f"uploads: {SAW}"
    assert context_text("uploads", "y " * 200) == "uploads: " + ("y " * 40).strip()
    for evidence in (
        "",
        "  ",
        "seen",
        "(erased)",
        "seen again",
        "Imported from CLAUDE.md: Conventions of the team",
    ):
        assert context_text("uploads", evidence) == ""


def test_a_search_vector_lies_between_text_and_context_nearer_to_the_text() -> None:
    assert unit_row(b64decode(search_vector(TEXT, CONTEXT, 0.4, ""))) == pytest.approx(
        [0.83, 0.55], abs=0.01
    )


async def test_an_engine_without_a_share_is_asked_for_the_texts_alone() -> None:
    (made,) = await lesson_vectors(Lexical(), [(RETRY, "uploads", SAW)])
    assert (bool(made.vector), made.search_vector) == (True, "")


async def test_a_lesson_is_found_by_the_meaning_of_its_evidence_which_shares_no_word_with_the_question(
    fleet: Fleet,
) -> None:
    fleet = replace(fleet, embedder=MiniLM())
    again = "Repeat it twice before you give up"
    await store(fleet, id="file")
    await store(
        fleet, again, domain="payments", evidence="a card was charged the second time", id="card"
    )
    for question, id_ in (
        ("sending a file failed, what now?", "file"),
        ("paying was refused", "card"),
    ):
        assert (await recall_memory(fleet, "basher", query=question)).patterns[0].id == id_


async def test_evidence_changes_how_a_lesson_is_found_and_not_whom_it_is_like(fleet: Fleet) -> None:
    with_evidence, without = await store(fleet), await store(fleet, evidence="", program="iso")
    assert with_evidence.vector == without.vector
    assert with_evidence.searched_vector != with_evidence.vector_bytes
    assert (without.search_vector, without.searched_vector) == ("", without.vector_bytes)


@given(
    st.sampled_from(
        [
            {},
            {"pattern": "Give up"},
            {"domain": "files"},
            {"evidence": LATER_SAW},
            {"embedder": "e/2"},
        ]
    ),
    st.sampled_from(
        [
            {},
            {"confidence": 0.5},
            {"evidence": f"{SAW}, once more"},
            {"evidence": ""},
            {"domain": "x"},
        ]
    ),
)
def test_a_lesson_never_has_a_search_vector_of_anything_but_what_it_has(
    one: dict[str, Any],
    other: dict[str, Any],  # Any: fields of a lesson, which pydantic checks
) -> None:
    mark = search_mark("e/1", RETRY, f"uploads: {SAW}")
    made = search_vector(TEXT, CONTEXT, 0.4, mark)
    known = pattern(RETRY, domain="uploads", evidence=SAW, embedder="e/1", search_vector=made)
    assert known.search_vector == made
    changed = replace(replace(known, **one), **other)
    expected = made if not one and set(other) <= {"confidence"} else ""
    assert changed.search_vector == expected
    assert Pattern.from_json(changed.compact()).search_vector == expected
    stale = known.compact().replace("nightly report", "daily summary")
    assert Pattern.from_json(stale).search_vector == ""


async def test_a_lesson_stored_again_is_found_by_the_evidence_that_it_keeps(fleet: Fleet) -> None:
    first = await store(fleet)
    later = at(fleet, NOW + days(1))
    again = await store(later, evidence=LATER_SAW)
    assert (again.evidence, again.search_vector) == (SAW, first.search_vector)
    moved = await store(later, domain="files")
    assert moved.search_vector != first.search_vector
    assert await is_of(moved, fleet)
    assert (await store(later, "Restart the pump", evidence="")).search_vector == ""


@pytest.mark.parametrize("id_", ["mine", None])
async def test_a_lesson_without_evidence_is_found_by_the_first_that_comes(
    fleet: Fleet, id_: str | None
) -> None:
    assert (await store(fleet, evidence="", id=id_)).search_vector == ""
    assert await is_of(await store(at(fleet, NOW + days(1)), id=id_), fleet)


async def test_both_vectors_are_always_of_one_engine(fleet: Fleet) -> None:
    first, later = await store(fleet), at(fleet, NOW + days(1))
    mirrored = replace(later, embedder=Mirrored())
    other = await store(mirrored, confidence=0.9)
    assert (other.embedder, other.search_vector != first.search_vector) == ("mirrored/1", True)
    assert await is_of(other, mirrored)
    none = await store(replace(later, embedder=Silent()), confidence=0.7)
    assert (none.embedder, none.vector, none.search_vector) == ("", "", "")


async def test_the_maintainer_makes_both_vectors_of_a_lesson_that_has_none(fleet: Fleet) -> None:
    await store(replace(fleet, embedder=Silent()))
    await pattern_consolidate(fleet, no_progress)
    made = await kept(fleet)
    assert bool(made.vector)
    assert await is_of(made, fleet)


@pytest.mark.parametrize("erased", ["nightly report", LATER_SAW, "uploads"])
async def test_a_vector_of_what_is_erased_is_erased(fleet: Fleet, erased: str) -> None:
    await store(replace(fleet, embedder=Silent()))
    again = await store(at(fleet, NOW + days(1)), evidence=LATER_SAW)
    assert again.search_vector == "", "made of other evidence than the lesson keeps"
    await pattern_consolidate(fleet, no_progress)
    before = await kept(fleet)
    await erase(fleet, Wanted(text=erased))
    after = await kept(fleet)
    assert after.vector == before.vector
    assert after.search_vector == (before.search_vector if erased == LATER_SAW else "")


def test_two_copies_have_the_search_vector_of_what_the_merged_lesson_has_in_either_order() -> None:
    def copy(evidence: str, after: int, *, is_embedded: bool, domain: str = "uploads") -> Pattern:
        made = search_vector(TEXT, CONTEXT, 0.4, search_mark("e/1", RETRY, f"{domain}: {evidence}"))
        known = pattern(
            RETRY, domain=domain, evidence=evidence, vector=packed(TEXT), embedder="e/1"
        )
        known = replace(known, stored_at=START + days(after), last_reinforced=START + days(after))
        return replace(known, search_vector=made) if is_embedded else known

    for (one, other), is_kept in (
        ((copy(SAW, 0, is_embedded=True), copy(LATER_SAW, 1, is_embedded=True)), True),
        ((copy(SAW, 0, is_embedded=False), copy(SAW, 1, is_embedded=True)), True),
        ((copy(SAW, 0, is_embedded=True), copy(SAW, 0, is_embedded=False)), True),
        ((copy("", 0, is_embedded=False), copy(SAW, 1, is_embedded=True)), True),
        ((copy(SAW, 0, is_embedded=False), copy(LATER_SAW, 1, is_embedded=True)), False),
        ((copy(SAW, 0, is_embedded=True), copy(SAW, 1, is_embedded=False, domain="files")), False),
    ):
        merged = united_lesson(one, other)
        assert bool(merged.search_vector) is is_kept
        assert united_lesson(other, one).search_vector == merged.search_vector


def crowd(numbers: range, *, chars: int) -> dict[str, Pattern]:
    """Return lessons with search vectors, by id, whose evidence has so many characters."""
    long = "y " * (chars // 2)
    made = search_vector(np.arange(1, 385, dtype=np.float32), TEXT[0], 0.4, "")

    def lesson(number: int) -> Pattern:
        mark = search_mark("e/1", f"{RETRY} {number}", context_text("uploads", long))
        known = pattern(
            f"{RETRY} {number}", id=f"{number:03}", domain="uploads", evidence=long, embedder="e/1"
        )
        return replace(known, search_vector=mark + made)

    return {one.id: one for one in map(lesson, numbers)}


async def test_a_run_leaves_out_the_search_vectors_that_a_document_has_no_room_for(
    fleet: Fleet,
) -> None:
    crowded = crowd(range(490), chars=600).items()
    lessons = {id_: replace(one, embedder="", search_vector="") for id_, one in crowded}
    await fleet.programs.update(
        "basher", lambda before: ProgramChange(replace(before, patterns=lessons)), NOW
    )
    await pattern_consolidate(fleet, no_progress)
    after = await fleet.programs.read("basher")
    assert all(one.vector for one in after.patterns.values())
    assert after.pending == ()
    assert 0 < sum(bool(one.search_vector) for one in after.patterns.values()) < 490


async def test_an_endpoint_is_sent_no_evidence() -> None:
    with served() as endpoint:
        await lesson_vectors(OpenAI("m", endpoint.url), [(RETRY, "uploads", SAW)])
        assert [question["input"] for question in endpoint.asked] == [[RETRY]]


async def test_a_stand_in_for_a_model_that_does_not_load_makes_no_search_vectors() -> None:
    class Unloaded(Searched):
        async def ready(self) -> None:
            raise EmbedderError("it does not load")

        async def vectors(self, texts: Sequence[str]) -> Vectors:
            await self.ready()
            return await super().vectors(texts)

    embedder = Fallback(Unloaded())
    made = [
        await lesson_vectors(embedder, [(text, "uploads", SAW)]) for text in (RETRY, "Pin versions")
    ]
    assert [one.search_vector for (one,) in made] == ["", ""]


def test_letters_of_a_search_vector_are_no_text_of_a_lesson() -> None:
    assert texts_of({"pattern": RETRY, "searchVector": "letters"}) == {"pattern": RETRY}
