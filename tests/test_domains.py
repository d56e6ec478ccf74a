"""A domain is any words: a name stays as it is, other words become one, and recall finds lessons by
either.
"""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from fleet_memory.fleet import Fleet
from fleet_memory.schemas.fields import MAX_NAME_CHARS, Domain, Name
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.tools.core.lessons import store_memory
from fleet_memory.tools.core.recall import recall_memory

DOMAIN = TypeAdapter(Domain)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("task-claiming", "task-claiming"),
        ("CI/CD", "CI/CD"),
        ("page speed", "page-speed"),
        ("Page speed & caching!", "page-speed-caching"),
        ("Datenbank-Überwachung", "datenbank-uberwachung"),
        ("ann's notes", "ann-s-notes"),
        ("../../etc/passwd", "etc-passwd"),
    ],
)
def test_words_that_are_no_name_become_one(sent: str, kept: str) -> None:
    assert DOMAIN.validate_python(sent) == kept


def test_a_topic_in_another_script_has_a_name_of_its_own() -> None:
    one, other = DOMAIN.validate_python("数据库"), DOMAIN.validate_python("缓存")
    assert one != other
    assert re.fullmatch(r"topic-[0-9a-f]{8}", one)


@given(st.text(max_size=MAX_NAME_CHARS + 5))
def test_an_accepted_name_stays_as_it_is(text: str) -> None:
    try:
        kept = DOMAIN.validate_python(text)
    except ValidationError:
        return
    assert TypeAdapter(Name).validate_python(kept) == kept == DOMAIN.validate_python(kept)


@pytest.mark.anyio
async def test_recall_finds_lessons_by_the_words_they_were_stored_under(fleet: Fleet) -> None:
    lesson = NewPattern(
        pattern="Serve images in their final size", domain="Page speed", confidence=0.8, evidence=""
    )
    await store_memory(fleet, "basher", lesson)
    for domain in ("Page speed", "page-speed"):
        sent = DOMAIN.validate_python(domain)
        found = (await recall_memory(fleet, "basher", domain=sent)).patterns
        assert [one.domain for one in found] == ["page-speed"]
