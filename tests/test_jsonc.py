"""Edits of JSON with comments: right in value, and without a trace anywhere else."""

import json
import re
from collections.abc import Iterator
from random import Random
from time import process_time
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.clients.jsonc import cut, put, read_object
from fleet_memory.errors import InvalidArgumentError

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

COMMENTS = re.compile(r"/\*\d+\*/|//\d+$", re.MULTILINE)
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


@given(OBJECTS, KEYS, KEYS, VALUES.filter(lambda value: value is not None), INDENTS, NEWLINES)
def test_a_member_is_set_and_nothing_else_changes(
    before: dict[str, Any], outer: str, inner: str, value: object, indent: Indent, newline: str
) -> None:
    before = {name: one for name, one in before.items() if name != outer or isinstance(one, dict)}
    text = put(written(before, indent, newline), (outer, inner), value)
    assert json.loads(text) == {**before, outer: {**before.get(outer, {}), inner: value}}
    assert put(text, (outer, inner), value) == text
    assert ("\r\n" in text) == (newline == "\r\n" and "\n" in text)


@given(OBJECTS, KEYS, st.lists(VALUES, max_size=3), VALUES, INDENTS, NEWLINES)
def test_an_element_is_appended_and_can_be_taken_out(
    before: dict[str, Any],
    name: str,
    elements: list[Any],
    value: object,
    indent: Indent,
    newline: str,
) -> None:
    original = written({**before, name: elements}, indent, newline)
    text = put(original, (name, len(elements)), value)
    assert json.loads(text)[name] == [*elements, value]
    assert cut(text, (name, len(elements))) == original


@given(OBJECTS.filter(len), st.data(), INDENTS, NEWLINES)
def test_a_member_is_taken_out_and_nothing_else_changes(
    before: dict[str, Any], data: st.DataObject, indent: Indent, newline: str
) -> None:
    name = data.draw(st.sampled_from(sorted(before)))
    text = cut(written(before, indent, newline), (name,))
    assert json.loads(text) == {key: value for key, value in before.items() if key != name}


@given(OBJECTS, KEYS, KEYS, VALUES.filter(lambda value: value is not None), INDENTS, NEWLINES)
def test_taking_out_leads_back_to_the_bytes_of_before(
    before: dict[str, Any], outer: str, inner: str, value: object, indent: Indent, newline: str
) -> None:
    before = {name: one for name, one in before.items() if name != outer} | {
        outer: {f"{inner}2": 1}
    }
    original = written(before, indent, newline)
    assert cut(put(original, (outer, inner), value), (outer, inner)) == original


@given(
    OBJECTS,
    KEYS,
    VALUES.filter(lambda value: value is not None),
    INDENTS,
    st.sampled_from(["//", "/*"]),
)
def test_comments_change_no_value(
    before: dict[str, Any], name: str, value: object, indent: Indent, kind: str
) -> None:
    comment = '// "x": {,' if kind == "//" else '/* "y": [, // */'
    plain = written(before, indent or 2, "\n")
    commented = "\n".join(f"{line} {comment}" for line in plain.splitlines()) + "\n"
    assert read_object(commented) == before
    text = put(commented, (name,), value)
    assert read_object(text) == {**before, name: value}
    assert text.count(comment) == commented.count(comment) - (
        0 if name not in before else written(before[name], indent or 2, "\n").count("\n") - 1
    )


def tokens(value: object, random: Random) -> Iterator[str]:
    """Yield the tokens of a value as JSON, now and then with a comma behind the last part."""
    if not isinstance(value, dict | list):
        yield json.dumps(value)
        return
    yield "{" if isinstance(value, dict) else "["
    for i, key in enumerate(value):
        if isinstance(value, dict):
            yield from (json.dumps(key), ":")
        yield from tokens(value[key] if isinstance(value, dict) else key, random)
        yield "," if i < len(value) - 1 or random.random() < 0.3 else ""
    yield "}" if isinstance(value, dict) else "]"


def scattered(value: object, random: Random) -> str:
    """Return a value as JSON with comments and blanks between all tokens."""
    blanks = ["", "", " ", "\n", "\n  ", "\t", "\r\n", "/*{}*/", "//{}\n"]
    return "".join(
        token + random.choice(blanks).format(i)
        for i, token in enumerate(["", *tokens(value, random)])
    )


@given(
    OBJECTS,
    st.dictionaries(KEYS, VALUES, min_size=1, max_size=3),
    st.randoms(use_true_random=False),
)
def test_with_any_text_between_tokens_values_are_right_and_comments_stay(
    before: dict[str, Any], inner: dict[str, Any], random: Random
) -> None:
    text = scattered({**before, "inner": inner}, random)
    first = next(iter(inner))
    less = {key: value for key, value in inner.items() if key != first}
    assert read_object(cut(text, ("inner", first))) == {**before, "inner": less}
    more = put(text, ("inner", "more"), [1])
    assert read_object(more) == {**before, "inner": {**inner, "more": [1]}}
    again = cut(more, ("inner", "more"))
    assert read_object(again) == {**before, "inner": inner}
    assert COMMENTS.findall(again) == COMMENTS.findall(text)


def test_comments_trailing_commas_and_indentation_survive() -> None:
    text = put(COMMENTED, ("mcpServers", "fleet-memory"), {"command": "x"})
    assert text == COMMENTED.replace(
        '\t\t// "old": {},\n',
        '\t\t// "old": {},\n\t\t"fleet-memory": {\n\t\t\t"command": "x"\n\t\t},\n',
    )
    assert cut(text, ("mcpServers", "fleet-memory")) == COMMENTED


def test_a_comment_after_the_last_member_stays_with_it() -> None:
    text = put(COMMENTED, ("hooks", "Stop"), [1])
    assert '\t"empty": {},\n\t// the end\n\t"hooks": {' in text
    assert read_object(text) == {**read_object(COMMENTED), "hooks": {"Stop": [1]}}


@pytest.mark.parametrize("text", ["", " \n", "{}", "{\n}\n", "{ // nothing yet\n}"])
def test_an_empty_file_becomes_an_object(text: str) -> None:
    assert read_object(put(text, ("a", "b"), 1)) == {"a": {"b": 1}}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_comment_alone_in_its_object_stays(newline: str) -> None:
    text = '{\n  "servers": { /* see wiki */ }\n}\n'.replace("\n", newline)
    changed = put(text, ("servers", "ours"), {"a": 1})
    expected = '{\n  "servers": { /* see wiki */\n    "ours": {\n      "a": 1\n    }\n  }\n}\n'
    assert changed == expected.replace("\n", newline)
    assert "/* see wiki */" in cut(changed, ("servers", "ours"))


def test_half_of_a_surrogate_pair_can_be_written() -> None:
    text = put("{}", ("a",), {"b\ud800": ["\udfff", "😀"]})
    assert read_object(text.encode().decode()) == {"a": {"b\ud800": ["\udfff", "😀"]}}
    assert "😀" in text


def test_of_equal_keys_the_last_counts_as_for_every_reader() -> None:
    assert put('{"a": 1, "a": 2}', ("a",), 3) == '{"a": 1, "a": 3}'


@pytest.mark.parametrize("path", [("b",), ("a", "b"), ("a", 3), ("a", 0, "b")])
def test_nothing_to_cut_is_no_change(path: tuple[str | int, ...]) -> None:
    assert cut('{"a": [1]}', path) == '{"a": [1]}'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": 1,\n "b" 2}', "line 2"),
        ("{", "line 1"),
        ('{"a": 1 /* open }', "line 1"),
        ("[1]", "not a JSON object"),
        ('{\n"mcpServers": 3}', "line 2: 'mcpServers' is no object"),
        ('{"a": ' + "[" * 100_000, "nested too deeply"),
    ],
)
def test_a_text_that_cannot_be_edited_is_refused_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(InvalidArgumentError, match=problem):
        put(text, ("mcpServers", "fleet-memory"), {})


def test_an_edit_of_megabytes_costs_a_few_readings_of_them() -> None:
    text = json.dumps(
        {"projects": {f"/p/{i}": {"history": ["é" * 20] * 10} for i in range(20_000)}}, indent=2
    )
    start = process_time()
    json.loads(text)
    read = process_time() - start
    start = process_time()
    edited = put(text, ("mcpServers", "fleet-memory"), {"command": "x"})
    assert cut(edited, ("mcpServers",)) == text
    assert process_time() - start < 25 * read  # 6 here; the parser of before took 2,000
