"""The scale: what counts as a line of code, and that a ceiling is held."""

import pytest

from scripts.measure_size import Size, main, measured

MODULE = '''"""A module."""

import os
from collections import (
    abc,
)

# a reason
LIMIT = 3
"""What the limit is for."""


def name() -> str:
    """Say it."""
    return os.path.join(
        "a",

        "b",
    )
'''


def test_blanks_comments_docstrings_and_imports_are_no_code() -> None:
    assert measured(MODULE) == Size(lines=6, tokens=22, modules=1, small=1)


def test_an_empty_init_is_no_module_and_none_is_small() -> None:
    assert measured('"""A folder."""\n', is_init=True) == Size()
    assert measured("x = 1\n", is_init=True) == Size(lines=1, tokens=3, modules=1, small=0)


def test_lines_that_the_formatter_leaves_alone_are_refused() -> None:
    with pytest.raises(ValueError, match="the formatter leaves alone"):
        measured("x = 1  # fm" + "t: skip\n")


def test_a_figure_above_its_ceiling_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("scripts.measure_size.folders", lambda _: {})
    monkeypatch.setattr("scripts.measure_size.figures", lambda: {"lines": 11, "tokens": 10})
    monkeypatch.setattr("scripts.measure_size.ceilings", lambda: {"lines": 10, "tokens": 10})
    with pytest.raises(SystemExit, match="1"):
        main()
    assert [line for line in capsys.readouterr().out.splitlines() if "ABOVE" in line] == [
        f"{'lines':24}{11:10,} of {10:10,} ABOVE"
    ]
