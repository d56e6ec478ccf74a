"""A question meets a lesson's text and what its author saw; lessons meet each other by their texts alone."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from fleet_memory.errors import EmbedderError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.erasing import erase
from fleet_memory.jobs.erasing.plan import Wanted
from fleet_memory.jobs.reembedding import Moved, reembed_fleet
from fleet_memory.rules.lifecycle.merging_lessons import merged_pattern
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.rules.text.context import context_text, search_vector
from fleet_memory.rules.text.vectors import Vectors, packed, unpacked
from fleet_memory.schemas.patterns import NewPattern, Pattern
from fleet_memory.schemas.programs import Program
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.similarity.minilm import MiniLM
from fleet_memory.tools.pattern_consolidate import pattern_consolidate
from fleet_memory.tools.recall_memory import recall_memory
from fleet_memory.tools.store_memory import store_memory
from tests.fleets import NOW, at
from tests.lessons import days, pattern

pytestmark = pytest.mark.anyio

RETRY = "Retry it twice before you give up"
SAW = "the upload of the nightly report broke off"


class Mirrored(Lexical):
    """Another engine: every vector points the other way."""

    name = "mirrored/1"

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        return -await super().vectors(texts)


class Silent(Lexical):
    """An engine that does not answer."""

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        raise EmbedderError(f"no answer for {len(texts)} texts")


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    return at(fleet, NOW)


async def store(fleet: Fleet, text: str = RETRY, program: str = "basher", **fields: object) -> Pattern:
    """Store a lesson and return it as it is kept."""
    known = {"pattern": text, "domain": "uploads", "confidence": 0.8, "evidence": SAW, "id": "mine"}
    lesson = NewPattern.model_validate(known | fields)
    await store_memory(fleet, program, lesson)
    return (await fleet.programs.read(program)).patterns[str(lesson.id)]


def test_the_context_is_the_domain_and_the_beginning_of_the_evidence() -> None:
    assert context_text("uploads", SAW) == f"uploads: {SAW}"
    assert context_text("uploads", "") == context_text("uploads", "  ") == ""
    assert context_text("uploads", "x" * 500) == f"uploads: {'x' * 80}"


def test_a_search_vector_lies_between_text_and_context_nearer_to_the_text() -> None:
    text, context = np.array([1, 0], np.float32), np.array([0, 1], np.float32)
    assert unpacked([search_vector(text, context)])[0] == pytest.approx([0.83, 0.55], abs=0.01)


async def test_a_lesson_is_found_by_the_meaning_of_its_evidence_which_shares_no_word_with_the_question(
    fleet: Fleet,
) -> None:
    fleet = replace(fleet, embedder=MiniLM())
    again = "Repeat it twice before you give up"
    await store(fleet, id="file")
    await store(fleet, again, domain="payments", evidence="a card was charged the second time", id="card")
    for question, id_ in (("sending a file failed, what now?", "file"), ("paying was refused", "card")):
        assert (await recall_memory(fleet, "basher", query=question)).patterns[0].id == id_


async def test_evidence_changes_how_a_lesson_is_found_and_not_whom_it_is_like(fleet: Fleet) -> None:
    with_evidence, without = await store(fleet), await store(fleet, evidence="", program="iso")
    assert with_evidence.vector == without.vector
    assert with_evidence.searched_vector != with_evidence.vector_bytes
    assert (without.search_vector, without.searched_vector) == ("", without.vector_bytes)


async def test_other_evidence_for_equal_words_leaves_a_lesson_found_by_its_first(fleet: Fleet) -> None:
    first = await store(fleet)
    later = at(fleet, NOW + days(1))
    assert (await store(later, evidence="a socket was closed")).search_vector == first.search_vector
    assert (await store(later, "Restart the pump", evidence="")).search_vector == ""


async def test_a_lesson_stored_without_evidence_is_found_by_the_evidence_that_comes_later(fleet: Fleet) -> None:
    assert (await store(fleet, evidence="")).search_vector == ""
    again = await store(at(fleet, NOW + days(1)))
    assert again.search_vector == (await store(fleet, program="iso")).search_vector


async def test_both_vectors_are_always_of_one_engine(fleet: Fleet) -> None:
    first, later = await store(fleet), at(fleet, NOW + days(1))
    other = await store(replace(later, embedder=Mirrored()), confidence=0.9)
    assert (other.embedder, other.search_vector != first.search_vector) == ("mirrored/1", True)
    none = await store(replace(later, embedder=Silent()), confidence=0.7)
    assert (none.embedder, none.vector, none.search_vector) == ("", "", "")


async def test_the_maintainer_makes_both_vectors_of_a_lesson_that_has_none(fleet: Fleet) -> None:
    await store(replace(fleet, embedder=Silent()))
    expected = await store(fleet, program="iso")
    await pattern_consolidate(fleet, no_progress)
    made = (await fleet.programs.read("basher")).patterns["mine"]
    assert (made.vector, made.search_vector) == (expected.vector, expected.search_vector)


async def test_reembedding_makes_the_search_vectors_of_an_earlier_version_and_nothing_is_compared_again(
    fleet: Fleet,
) -> None:
    expected = await store(fleet)
    await pattern_consolidate(fleet, no_progress)

    def earlier(program: Program) -> ProgramChange:
        return ProgramChange(replace(program, patterns={"mine": replace(expected, search_vector="")}))

    await fleet.programs.update("basher", earlier, NOW)
    before = await fleet.programs.read("basher")
    assert await reembed_fleet(fleet, lambda _done, _total: None) == Moved("lexical/1", patterns=1, entries=0)
    after = await fleet.programs.read("basher")
    assert after.patterns["mine"].search_vector == expected.search_vector
    assert after.pending == before.pending == ()


async def test_evidence_that_is_erased_leaves_no_vector(fleet: Fleet) -> None:
    before = await store(fleet)
    await erase(fleet, Wanted(text="nightly report"))
    after = (await fleet.programs.read("basher")).patterns["mine"]
    assert (after.vector, after.search_vector) == (before.vector, "")


def test_merged_copies_have_the_vectors_of_one_of_them() -> None:
    text, context = np.array([1, 0], np.float32), np.array([0, 1], np.float32)
    bare = pattern()
    embedded = pattern(vector=packed(text), search_vector=search_vector(text, context), embedder="e", evidence=SAW)
    for one, other in ((bare, embedded), (embedded, bare)):
        merged = merged_pattern(one, replace(other, confidence=0.9))
        assert (merged.vector, merged.search_vector) == (embedded.vector, embedded.search_vector)
