"""Whether a text holds a credential: a token, key or password that no memory should keep.

The rules are betterleaks' (credential_rules.json, with its source and date), and those of
credentials.toml. docs/erasing.md has the weighing and figures.
"""

import json
import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, cast

try:
    import re2  # in linear time
except ImportError:  # no build for this machine: docs/dependencies.md, "Platforms"
    re2 = None

_Place: TypeAlias = tuple[str | int, ...]

_FOLDER: Final = Path(__file__).parent
_MIN_CHARS: Final = 8  # the shortest secret of any rule has as many
_MAX_MASKED: Final = 50  # credentials of one text; one of more is masked whole
_MAX_LEAD: Final = 50  # characters of a name that its value is read with
_HEX_ENTROPY: Final = 3.0  # bits a character; 32 random hex digits have more
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_OWN_NAMES: Final = frozenset({"", "key", "knowledgeKey"})  # no keys of anybody's lock

# what messages repeat of a call: one word, and ids, keys, names in quotes
_WORD: Final = re.compile(r"[A-Za-z0-9_-]{1,30}")
_REPEATED: Final = re.compile(r"[^\s'\"]{10,}")


class Rule(NamedTuple):
    """A text with a keyword, in lower case, is searched for the pattern, whose group is the value.

    One of less entropy, in bits a character, or in which `passes` is found, is no credential.
    """

    keywords: tuple[str, ...]
    entropy: float
    pattern: str
    passes: str


class Credential(NamedTuple):
    """Where a credential stands, e.g. ("pattern", "evidence"), and the rule that found it; never
    the credential.
    """

    place: _Place
    rule: str


def _read() -> tuple[dict[str, Rule], str]:
    """Return the rules by name, in the order in which they are tried, and the pattern of values
    that all of them let pass.
    """
    own = tomllib.loads(_FOLDER.joinpath("credentials.toml").read_text("utf-8"))
    theirs = json.loads(_FOLDER.joinpath("credential_rules.json").read_text("utf-8"))
    parts = own.pop("parts") | theirs["parts"]

    def full(pattern: str) -> str:
        for _ in range(2):  # a part may have parts
            pattern = re.sub(r"\{\{(\w+)\}\}", lambda part: parts.get(part[1], part[0]), pattern)
        return pattern

    tables = [(name, *rule.values(), "") for name, rule in own.items()]
    rules = {
        name: Rule(tuple(words.split()) or ("",), bits, full(pattern), full(passes))
        for name, words, bits, pattern, passes, *_ in (*theirs["rules"], *tables)
    }
    return rules, parts["sample"]


RULES, _SAMPLES = _read()


@cache  # compiled when a text first has a keyword of the rule
def linear_pattern(pattern: str) -> re.Pattern[str]:
    """Return a pattern of RE2, or of `re` where RE2 has no build: both have one interface."""
    return cast("re.Pattern[str]", re2.compile(pattern)) if re2 else re.compile(pattern, re.ASCII)


def credential_in(text: str) -> str | None:
    """Return the name of the rule that finds a credential in a text, e.g. "github-pat"; None for a
    clean text.
    """
    return _found(text, RULES)


def credential_at(value: object) -> Credential | None:
    """Return the first credential in a JSON value, in its keys or texts; None for a clean one.

    A text is read with its key: `{"api_key": "…"}` says as much as `api_key = "…"`.
    """
    texts = [*_texts(value, "", ())]
    everything = "\n".join(text for _, text in texts).lower()
    likely = [
        name for name, rule in RULES.items() if any(map(everything.__contains__, rule.keywords))
    ]
    findings = ((place, _found(text, likely)) for place, text in texts)
    return next((Credential(place, rule) for place, rule in findings if rule), None)


def shown(name: str) -> str:
    """Return a name that somebody made up as a refusal shows it: one word of at most 30 characters
    that is no credential, else "…".
    """
    return name if _WORD.fullmatch(name) and credential_in(name) is None else "…"


def without_credentials(message: str) -> str:
    """Return a message with "…" in place of each word that is a credential, e.g. an id that there
    is not.
    """
    return _REPEATED.sub(lambda word: "…" if credential_in(word[0]) else word[0], message)


def _found(text: str, names: Iterable[str]) -> str | None:
    if len(text) < _MIN_CHARS:
        return None
    text = text.encode("ascii", "replace").decode()  # of another alphabet is no credential
    lowered = text.lower()
    for name in names:
        rule = RULES[name]
        if any(map(lowered.__contains__, rule.keywords)) and any(_secrets(rule, text)):
            return name
    return None


def _texts(value: object, key: str, place: _Place) -> Iterator[tuple[_Place, str]]:
    """Yield each text that is long enough with its place, e.g. (("config", "api_key"), 'api_key =
    "…"').

    Of a long key the end alone: a list would be searched behind it as often as it has texts.
    """
    match value:
        case str() if len(value) >= _MIN_CHARS:
            yield place, value if key in _OWN_NAMES else f'{key[-_MAX_LEAD:]} = "{value}"'
        case dict():
            for name, member in value.items():
                if len(name) >= _MIN_CHARS:
                    yield place, name
                yield from _texts(member, name, (*place, name))
        case list():
            for at, item in enumerate(value):
                yield from _texts(item, key, (*place, at))
        case _:
            return


def masked(*texts: str) -> tuple[list[str], list[str]]:
    """Return texts with the name of its rule in place of each credential, and those names, e.g.
    `masked("use ghp_…") == (["use [github-pat]"], ["github-pat"])`.
    """
    found = set[str]()
    return [_masked(text, found) for text in texts], sorted(found)


def _masked(text: str, found: set[str]) -> str:
    for _ in range(_MAX_MASKED):
        if (name := credential_in(text)) is None:
            return text
        found.add(name)
        start, end = next(_secrets(RULES[name], text.encode("ascii", "replace").decode()))
        text = f"{text[:start]}[{name}]{text[end:]}"
    return "[credentials]"


def _secrets(rule: Rule, text: str) -> Iterator[tuple[int, int]]:
    """Yield where each credential of a rule begins and ends."""
    for match in linear_pattern(rule.pattern).finditer(text):
        groups = match.groups()
        group = next((at for at, value in enumerate(groups, 1) if value), 0)
        secret = "" if groups and not group else match[group]
        random = max(re.split("[_-]", secret), key=len)  # without a prefix such as "lsv2_pt_"
        least = min(rule.entropy, _HEX_ENTROPY) if _HEX.issuperset(random) else rule.entropy
        if (
            secret
            and _entropy(secret) >= least
            and not linear_pattern(_SAMPLES).search(secret)
            and not (rule.passes and linear_pattern(rule.passes).search(secret))
        ):
            yield match.span(group)


def _entropy(text: str) -> float:
    """Return Shannon's entropy of a text in bits a character."""
    return -sum(
        count / len(text) * math.log2(count / len(text)) for count in Counter(text).values()
    )
