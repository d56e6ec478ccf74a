"""Edits of JSON with comments: right in value, and without a trace anywhere else."""

import json
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json5.loader import loads
from json5.tokenizer import tokenize

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.integration.jsonc import value_at, with_element, with_member, without

KEYS = st.text('abc"\\/ é', max_size=3)
Indent: TypeAlias = int | str | None
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | KEYS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)
INDENTS = st.sampled_from([None, 2, 4, "\t"])
NEWLINES = st.sampled_from(["\n", "\r\n"])

COMMENTED = """\
// My servers; do not sort
{
\t"theme": "dark", // at night
\t/* all of them */ "mcpServers": {
\t\t"weather": { "command": "npx", "args": ["-y", "weather"] }, // from work
\t\t// "old": {},
\t},
\t"empty": {}
\t// the end
}
"""


def written(value: object, indent: Indent, newline: str) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False).replace("\n", newline) + newline


def comments(text: str) -> list[str]:
    return [token.value for token in tokenize(text) if "COMMENT" in str(token.type)]


@given(OBJECTS, KEYS, KEYS, VALUES.filter(lambda value: value is not None), INDENTS, NEWLINES)
def test_a_member_is_set_and_nothing_else_changes(
    before: dict[str, Any], outer: str, inner: str, value: object, indent: Indent, newline: str
) -> None:
    before = {name: one for name, one in before.items() if name != outer or isinstance(one, dict)}
    text = with_member(written(before, indent, newline), (outer, inner), value)
    assert loads(text) == {**before, outer: {**before.get(outer, {}), inner: value}}
    assert with_member(text, (outer, inner), value) == text
    assert ("\r\n" in text) == (newline == "\r\n" and "\n" in text)


@given(OBJECTS, KEYS, st.lists(VALUES, max_size=3), VALUES, INDENTS, NEWLINES)
def test_an_element_is_added_once_and_can_be_taken_out(
    before: dict[str, Any], name: str, elements: list[Any], value: object, indent: Indent, newline: str
) -> None:
    elements = [one for one in elements if one != value]
    original = written({**before, name: elements}, indent, newline)
    text = with_element(original, (name,), value)
    assert loads(text)[name] == [*elements, value]
    assert with_element(text, (name,), value) == text
    assert loads(without(text, (name,), lambda _, one: one == value)) == loads(original)


@given(OBJECTS.filter(len), st.data(), INDENTS, NEWLINES)
def test_a_member_is_taken_out_and_nothing_else_changes(
    before: dict[str, Any], data: st.DataObject, indent: Indent, newline: str
) -> None:
    name = data.draw(st.sampled_from(sorted(before)))
    text = without(written(before, indent, newline), (), lambda key, _: key == name)
    assert loads(text) == {key: value for key, value in before.items() if key != name}


@given(KEYS, VALUES, INDENTS, NEWLINES)
def test_what_was_put_into_several_lines_leaves_them_as_they_were(
    name: str, value: object, indent: Indent, newline: str
) -> None:
    before = written({"mcpServers": {"weather": 1}, "other": [1]}, indent or 2, newline)
    if name == "weather":
        name = "wind"
    put = with_member(before, ("mcpServers", name), value)
    assert without(put, ("mcpServers",), lambda key, _: key == name) == before


def test_comments_trailing_commas_and_indentation_survive() -> None:
    put = with_member(COMMENTED, ("mcpServers", "fleet-memory"), {"command": "x"})
    assert put == COMMENTED.replace(
        '\t\t// "old": {},\n', '\t\t// "old": {},\n\t\t"fleet-memory": {\n\t\t\t"command": "x"\n\t\t},\n'
    )
    assert without(put, ("mcpServers",), lambda name, _: name == "fleet-memory") == COMMENTED


def test_a_comment_after_the_last_member_stays_with_it() -> None:
    put = with_member(COMMENTED, ("hooks", "Stop"), [1])
    assert comments(put) == comments(COMMENTED)
    assert '\t"empty": {},\n\t// the end\n\t"hooks": {' in put
    assert loads(put) == {**loads(COMMENTED), "hooks": {"Stop": [1]}}


@pytest.mark.parametrize("text", ["", " \n", "{}", "{\n}\n", "{ // nothing yet\n}"])
def test_an_empty_file_becomes_an_object(text: str) -> None:
    assert value_at(with_member(text, ("a", "b"), 1), ("a", "b")) == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": 1,\n "b" 2}', "line 2"),
        ("{", "line 1"),
        ("[1]", "not a JSON object"),
        ('{\n"mcpServers": 3}', "line 2: 'mcpServers' is no object"),
    ],
)
def test_what_cannot_be_edited_is_told_with_its_line(text: str, told: str) -> None:
    with pytest.raises(InvalidArgumentError, match=told):
        with_member(text, ("mcpServers", "fleet-memory"), {})
