"""Whether a text holds a credential: a token, key or password that no memory should keep.

The patterns are gitleaks' (credential_rules.py), and some that it lacks. docs/erasing.md has the
weighing and figures.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final, NamedTuple, TypeAlias

from fleet_memory.rules.text.credential_rules import ALLOWED, RULES

_Place: TypeAlias = tuple[str | int, ...]

_MIN_CHARS: Final = 10  # the shortest secret of any rule has as many
_MAX_LEAD: Final = (
    50  # characters of a name before a rule's word that belong to the match; as gitleaks has it
)
_ANYWHERE: Final = ""  # the key of the exceptions to every rule
_OWN_NAMES: Final = frozenset(
    {"", "key", "knowledgeKey"}
)  # whose values are no keys of anybody's lock
_LAST: Final = "generic-api-key"  # so that a refusal names the more telling rule

# A password that somebody chose: letters, digits and another sign. One with a bracket or "$" is
# code or a placeholder.
_CHOSEN: Final = (
    r"(?i:passw(?:or)?d|passphrase|pwd)[\"'`]?(?:\s{0,3}[:=]\s{0,3}|\s+is\s+)[\"'`]?"
    r"(?=\S{0,100}\d)(?=\S{0,100}[A-Za-z])(?=[\w.,-]{0,100}[^\w\s\"'`.,;:)-])(?!\S{0,100}[(\[{<$/\\])([^\s\"'`]{8,100})"
)
_HEADER: Final = r"(?i)authorization[\"']?:\s{0,3}[\"']?(?:basic|bearer|token)\s([\w+/=.~-]{16,})"
_TYPED: Final = (
    r"(?:--?pass(?:word|wd|phrase)?[= ]|sshpass -p ?)[\"'`]?"
    r"(?=\S{0,100}\d)(?=\S{0,100}[A-Za-z])(?!\S{0,100}[(\[{<$/\\])([^\s\"'`]{8,100})"
)
# A random value under a name that ends as a key's, e.g. "apiKey", "SECRET_KEY_BASE", "token for
# CI". Gitleaks' rule takes any name with such a word, or "access" or "api": in sentences those are
# names of files, headers and hosts.
_LOCKLESS: Final = (
    "cache",
    "idempotency",
    "object",
    "partition",
    "redis",
    "routing",
    "shard",
    "sort",
)  # … key
_NO_LOCK: Final = "".join(rf"(?<!{of})(?<!{of}[ _.-])" for of in _LOCKLESS)
_NAMED: Final = (
    rf"(?i)(?:auth|{_NO_LOCK}key|passw(?:or)?d|secret|token|cred(?:ential)?)s?"
    r"(?:[ _.-]?(?:\d{1,3}|base|value|string|prod|production|staging|live|dev|test)){0,3}"
    r"(?:[ \t](?:at|by|for|from|in|of|on|that|to|used|we|which)[ \t][ \t\w.-]{1,20})?"
    r"[\s'\"]{0,3}(?:[-=]?>|:{0,3}=|\|\||:|\?=|,|[ \t]is[ \t])[`'\"\s=]{0,5}"
    r"([\w.=-]{10,150}|[a-z0-9][a-z0-9+/]{11,}={0,3})(?:[`'\"\s;,.:!?)\]}>|]|\\[nr]|\Z)"
)
_PART: Final = r"(?:[a-z]{1,14}\d{0,3}|[A-Z][a-z]{0,13}|[A-Z]{1,8}|\d{1,4}[a-z]{0,3}|[0-9a-f]{4})"
_WORDS: Final = (
    rf"^(?=.*?\b[a-z]{{3,14}}[.-](?:.*[.-])?[a-z]{{3,14}}\b){_PART}(?:[.-]{_PART}){{2,20}}\Z"
)
# Forms that vendors document and gitleaks' rules above lack: name, keywords, least entropy,
# pattern.
_DOCUMENTED: Final = (
    ("anthropic-api-key", "sk-ant-", 3.0, r"\b(sk-ant-[a-z]{3,8}\d{2}-[\w-]{16,})"),
    ("authorization-header", "authorization", 3.0, _HEADER),
    ("azure-account-key", "accountkey=", 4.0, r"(?i)AccountKey=([A-Za-z0-9+/]{80,}={0,2})"),
    ("azure-sas-signature", "sig=", 3.5, r"[?&]sig=([A-Za-z0-9%/+]{40,})"),
    ("basic-auth-url", "://", 0.0, r"://[^\s/:@'\"`<>]{0,100}:([^\s/@'\"`]{3,100})@[\w.\[-]"),
    ("command-line-password", "pass", 2.5, _TYPED),
    ("discord-webhook", "/api/webhooks/", 3.5, r"/api/webhooks/\d{15,21}/([\w-]{50,})"),
    ("docker-pat", "dckr_", 3.0, r"\b(dckr_[po]at_[\w-]{27,})"),
    ("fleet-memory-token", "fm_", 3.0, r"\b(fm_[a-z2-7]{16}_[a-z2-7]{52})\b"),
    ("figma-token", "figd_", 3.0, r"\b(figd_[\w-]{40,})"),
    ("google-oauth-secret", "gocspx- ya29.", 3.0, r"\b(GOCSPX-[\w-]{28}|ya29\.[\w-]{20,})"),
    ("groq-api-key", "gsk_", 3.0, r"\b(gsk_[A-Za-z0-9]{40,})"),
    ("mailgun-key", "key-", 3.0, r"(?<![\w-])(key-[0-9a-f]{32})\b"),
    ("mailchimp-key", "-us", 3.0, r"\b([0-9a-f]{32}-us\d{1,2})\b"),
    ("password", "password passwd passphrase pwd", 2.8, _CHOSEN),
    ("replicate-api-token", "r8_", 3.0, r"\b(r8_[A-Za-z0-9]{37,})"),
    (
        "secret-key",
        "sk- sk_",
        3.3,
        r"\b(sk[-_](?:[a-z]{2,8}(?:-v\d)?[-_])?(?=[A-Za-z]{0,100}\d)[A-Za-z0-9]{20,200})",
    ),
    ("supabase-token", "sbp_", 3.0, r"\b(sbp_[a-f0-9]{40})\b"),
    ("tailscale-key", "tskey-", 3.0, r"\b(tskey-[a-z]+-\w{10,}-\w{20,})"),
    ("tavily-api-key", "tvly-", 3.0, r"\b(tvly-[\w-]{24,})"),
    ("telegram-token", ":aa", 3.5, r"(?<!\d)(\d{8,10}:AA[\w-]{32,33})(?![\w-])"),
    ("webhook-secret", "whsec_", 3.0, r"\b(whsec_[A-Za-z0-9+/=]{24,})"),
    ("xai-api-key", "xai-", 3.0, r"\b(xai-[A-Za-z0-9]{60,})"),
)
# Values that stand for a secret: as documentation writes them.
_SAMPLES: Final = {
    "jwt": r"\.eyJzdWIiOiIxMjM0NTY3ODkwIi",  # jwt.io's: the subject is 1234567890
    "basic-auth-url": (
        r"(?i)^(?:pass(?:w(?:or)?d)?|pwd|pw|secret|token|user(?:name)?|postgres|root|admin|test|example|changeme|guest|"
        r"\*+|x+|\.{2,}|<.*>?|\[.*\]?|%\w+%|\$.*|\{.*\}?|(?:your|my|the|db)[-_ ]?\w*)$"
    ),
    # Hashes, keys that one presses, and words with dashes, e.g. orders-v2-eu-west-1b
    "generic-api-key": (
        rf"(?i:^(?:sha(?:1|256|384|512)[:-]|(?:alt|cmd|ctrl|meta|shift)\+))|{_WORDS}"
    ),
    "": r"EXAMPLE",  # Amazon's keys
}


class _Exception(NamedTuple):
    """Values that a rule lets pass: its `target` (secret, match or line) fits a pattern, or holds a
    stopword.
    """

    target: str
    patterns: tuple[re.Pattern[str], ...]
    stopwords: tuple[str, ...]


class _Rule(NamedTuple):
    name: str
    min_entropy: float  # bits a character; more is random, less is a word
    pattern: re.Pattern[str]
    exceptions: tuple[_Exception, ...]


class Credential(NamedTuple):
    """Where a credential stands, e.g. ("pattern", "evidence"), and the rule that found it; never
    the credential.
    """

    place: _Place
    rule: str


_SOURCES: Final = {
    name: (entropy, pattern) for name, _, entropy, pattern in (*_DOCUMENTED, *RULES)
} | {_LAST: (3.5, _NAMED)}


def _by_keyword() -> dict[str, list[str]]:
    rules: dict[str, list[str]] = {}
    for name, keywords, _, _ in (*_DOCUMENTED, *RULES):
        for keyword in keywords.split():
            rules.setdefault(keyword, []).append(name)
    return rules


_BY_KEYWORD: Final = _by_keyword()  # keyword in lower case -> the rules that need it


def credential_in(text: str) -> str | None:
    """Return the name of the rule that finds a credential in a text, e.g. "github-pat"; None for a
    clean text.
    """
    return _found(text, _BY_KEYWORD)


def credential_at(value: object) -> Credential | None:
    """Return the first credential in a JSON value, in its keys or texts; None for a clean one.

    A text is read with its key: `{"api_key": "…"}` says as much as `api_key = "…"`.
    """
    texts = [*_texts(value, "", ())]
    everything = "\n".join(text for _, text in texts).lower()
    keywords = [keyword for keyword in _BY_KEYWORD if keyword in everything]
    if not keywords:
        return None
    findings = ((place, _found(text, keywords)) for place, text in texts)
    return next((Credential(place, rule) for place, rule in findings if rule), None)


def _found(text: str, keywords: Iterable[str]) -> str | None:
    if len(text) < _MIN_CHARS:
        return None
    lowered = text.lower()
    names = {name for keyword in keywords if keyword in lowered for name in _BY_KEYWORD[keyword]}
    for name in sorted(names, key=lambda name: (name == _LAST, name)):
        if _finds(_rule(name), text):
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


@cache  # compiled when a text first has a keyword of it
def _rule(name: str) -> _Rule:
    entropy, pattern = _SOURCES[name]
    return _Rule(
        name, entropy, re.compile(pattern, re.ASCII), (*_exceptions(name), *_exceptions(_ANYWHERE))
    )


@cache
def _exceptions(name: str) -> tuple[_Exception, ...]:
    samples = [("secret", [_SAMPLES[name]], "")] if name in _SAMPLES else []
    return tuple(
        _Exception(
            target, tuple(re.compile(each, re.ASCII) for each in patterns), tuple(stopwords.split())
        )
        for target, patterns, stopwords in (*ALLOWED.get(name, []), *samples)
    )


def _finds(rule: _Rule, text: str) -> bool:
    for match in rule.pattern.finditer(text):
        secret = next((group for group in match.groups() if group), match[0])
        if rule.min_entropy and _entropy(secret) <= rule.min_entropy:
            continue
        if not any(_lets_pass(each, secret, match) for each in rule.exceptions):
            return True
    return False


def _lets_pass(exception: _Exception, secret: str, match: re.Match[str]) -> bool:
    target = {"secret": secret, "match": _with_lead(match), "line": match.string}[exception.target]
    lowered = secret.lower()
    return any(each.search(target) for each in exception.patterns) or any(
        word in lowered for word in exception.stopwords
    )


def _with_lead(match: re.Match[str]) -> str:
    lead = re.search(
        r"[\w.-]*$", match.string[max(0, match.start() - _MAX_LEAD) : match.start()], re.ASCII
    )
    return (lead[0] if lead else "") + match[0]


def _entropy(text: str) -> float:
    """Return Shannon's entropy of a text in bits a character."""
    return -sum(
        count / len(text) * math.log2(count / len(text)) for count in Counter(text).values()
    )
