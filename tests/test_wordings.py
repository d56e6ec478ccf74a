"""The wordings of an entry: agents find it by its contributors' words too, and read its one
text.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules.curating import reworded
from fleet_memory.rules.entries import (
    MAX_WORDINGS,
    SearchedWordings,
    searched_wordings,
    texts_without_vector,
    with_lesson,
    with_vectors,
    without_lesson,
    wording_lines,
)
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.rules.text.vectors import packed, unpacked
from fleet_memory.schemas.knowledge import Contribution, Entry
from fleet_memory.similarity.lexical import Lexical
from tests.entries import BOTH, CHECK, LOOK, contribution, entry, joining
from tests.lessons import START, days

FREE, LATE = "Claim free tasks only", "A task may be taken by the time you claim it"
ENGINE = Lexical.name
TEXTS = (
    CHECK,
    f"{CHECK}.",
    LOOK,
    FREE,
    LATE,
    "Ask the board first",
    "Read the status",
    "Reserve before you start",
)


def vector(text: str) -> str:
    return packed(anyio.run(Lexical().vectors, [text])[0])


VECTORS = {text: vector(text) for text in TEXTS}


def line(program_id: str, text: str, age: float = 0, **fields: object) -> Contribution:
    """Return a contribution with its vector, stored so many days before the others."""
    known = contribution(
        program_id, text, stored_at=START - days(age), vector=VECTORS[text], embedder=ENGINE
    )
    return replace(known, **fields)  # type: ignore[arg-type]  # of any field; pydantic refuses others


def shared(*lines: Contribution, **fields: object) -> Entry:
    """Return a published entry of the text CHECK with its vector."""
    return entry(contribution("basher"), *lines, vector=VECTORS[CHECK], embedder=ENGINE, **fields)


def test_an_entry_is_searched_by_its_contributors_texts_and_the_mean_of_the_vectors() -> None:
    known = shared(line("iso", LOOK), line("sark", FREE))
    mean = unpacked([VECTORS[CHECK], VECTORS[LOOK], VECTORS[FREE]]).mean(axis=0)
    assert searched_wordings(known) == SearchedWordings((LOOK, FREE), packed(mean))


def test_an_entry_with_equal_words_of_all_contributors_has_no_other_vector_than_its_own() -> None:
    assert searched_wordings(shared(line("iso", f"{CHECK}."))) == SearchedWordings()


def test_a_vector_of_another_embedder_or_length_is_left_out_and_the_text_is_not() -> None:
    known = line("iso", LOOK)
    others = (
        replace(known, embedder="other/1"),
        replace(known, vector="AAAA"),
        replace(known, vector="", embedder=""),
    )
    for other in others:
        assert searched_wordings(shared(other)) == SearchedWordings((LOOK,))


def test_vectors_that_cancel_each_other_out_have_no_mean() -> None:
    opposite = packed(-unpacked([VECTORS[CHECK]])[0])
    assert searched_wordings(shared(line("iso", LOOK, vector=opposite))) == SearchedWordings(
        (LOOK,)
    )


def test_an_entry_that_no_agent_reads_is_searched_by_no_wording() -> None:
    assert (
        searched_wordings(shared(line("iso", LOOK), retired_at=START + days(9)))
        == SearchedWordings()
    )
    assert searched_wordings(replace(shared(line("iso", LOOK)), threshold=3)) == SearchedWordings()
    assert searched_wordings(shared(line("iso", LOOK), published_at=None)) == SearchedWordings()


def test_the_oldest_of_equal_texts_is_the_wording_and_one_with_a_vector_before_one_without() -> (
    None
):
    bare = line("ram", FREE, 3, vector="", embedder="")
    lines = [line("iso", LOOK, 1), line("clu", LOOK, 2), bare, line("yori", LATE)]
    assert [one.program_id for one in wording_lines(shared(*lines))] == ["clu", "yori", "ram"]


def test_a_contribution_that_leaves_takes_its_wording_along() -> None:
    known = shared(line("iso", LOOK), line("sark", FREE))
    assert searched_wordings(without_lesson(known, "iso", "p1")) == searched_wordings(
        shared(line("sark", FREE))
    )


def test_an_entry_that_people_reword_is_still_found_by_the_words_before() -> None:
    known = entry(*BOTH, vector=VECTORS[CHECK], embedder=ENGINE)
    after = reworded(known, FREE, VECTORS[FREE], ENGINE)
    mean = packed(unpacked([VECTORS[FREE], VECTORS[CHECK]]).mean(axis=0))
    assert searched_wordings(after) == SearchedWordings((CHECK,), mean)
    assert [one.embedder for one in after.provenance] == [ENGINE, ""]  # one vector for each text


def test_another_embedder_renews_the_text_and_the_wordings_and_no_other_vector_stays() -> None:
    known = shared(line("clu", f"{CHECK}."), line("iso", LOOK), line("sark", LOOK))
    assert texts_without_vector(known, ENGINE) == []
    assert texts_without_vector(known, "other/1") == [CHECK, LOOK]
    after = with_vectors(known, {CHECK: "AAAA", LOOK: "BBBB"}, "other/1")
    assert (after.vector, after.embedder) == ("AAAA", "other/1")
    assert [(one.program_id, one.vector) for one in after.provenance if one.vector] == [
        ("iso", "BBBB")
    ]
    assert texts_without_vector(after, "other/1") == []


@given(st.lists(st.sampled_from(TEXTS), max_size=12), st.sets(st.integers(0, 11)))
def test_an_entry_has_at_most_four_wordings_and_no_other_vectors(
    texts: Sequence[str], left: set[int]
) -> None:
    known = replace(shared(), published_at=None)
    for number, text in enumerate(texts):
        lesson = joining(f"program-{number}", text, vector=VECTORS[text], embedder=ENGINE)
        known = with_lesson(known, lesson).entry
    known = reduce(
        lambda entry, number: without_lesson(entry, f"program-{number}", "p1"), left, known
    )
    others = {text_hash(one.pattern) for one in known.provenance} - {text_hash(CHECK)}
    lines = wording_lines(known)
    assert {text_hash(one.pattern) for one in lines} <= others
    assert (
        len(lines)
        == min(MAX_WORDINGS, len(others))
        == len({text_hash(one.pattern) for one in lines})
    )
    bearing = [one for one in known.provenance if one.vector]
    assert len(bearing) <= MAX_WORDINGS
    assert all(one in lines for one in bearing)


@pytest.mark.parametrize("text", [CHECK, LOOK])
def test_a_lesson_brings_its_vector_along_unless_it_has_the_entrys_words(text: str) -> None:
    known = with_lesson(
        replace(shared(), published_at=None), joining("iso", text, vector="AAAA", embedder="x")
    ).entry
    assert [one.vector for one in known.provenance] == ["", "" if text == CHECK else "AAAA"]
