"""Whether one text denies the other: by an opposite word, or by a negation."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from fleet_memory.rules.guard.antonyms import opposites
from fleet_memory.rules.text.tokens import alike, content, stem, words

# Phrases that mean something else than their words, with that meaning.
_PHRASES = tuple(
    (re.compile(rf"\b(?:{phrase})\b"), meaning)
    for phrase, meaning in (
        (
            "not only|not just|not merely|not to mention|or not|if not|no matter|no "
            "doubt|nothing but|why not",
            "",
        ),
        ("(?:no|not) (?:more|greater|later|longer) than|at (?:the )?most", "at_most"),
        ("(?:no|not) (?:less|fewer|earlier) than|at (?:the )?least", "at_least"),
        (r"(?:keep|leave)(?:s|ing)?((?: \S+){0,5}?) out of", r"keep_out\1 of"),
        ("at the same time|simultaneously|at once", "parallel"),
        ("one at a time|one by one", "sequential"),
        (r"(?:turn|switch)(?:s|es|ed|ing)?((?: \S+){0,4}?) (on|off)", r"turn_\2\1"),
        (r"(?:is|are|be|stays?|default) (on|off)(?= by|[.,;]|$)", r"turn_\1"),
        ("mak(?:e|es|ing) (?:sure|certain)", "ensure"),
        (
            r"(?:log|sign|opt|zoom|check|scale|phase|fade)(?:s|g?ed|g?ing)? (in|out)(?! of sync)",
            r"go_\1",
        ),
        (r"(roll|back)(?:s|ed|ing)? (back|out|forward|up)", r"\1_\2"),
        (r"giv(?:e|es|ing) up", "give_up"),
        (r"put(?:s|ting)? on", "put_on"),
        (r"(?:take|takes|taking|took) off", "take_off"),
        ("fails? to|failed to|failing to|unable to|refuses? to|no longer", "not"),
        ("other than", "other_than"),
    )
)
NEGATIONS = frozenset(
    re.findall(
        r"\w+",
        """
        not never no none nobody nothing nowhere neither nor without unless avoid avoids avoiding avoided refrain forbid
        forbids forbidding forbidden prohibit prohibits prohibiting prohibited disallow disallows disallowed ban bans
        banning banned keep_out
        """,
    )
)
_BREAKS = frozenset(
    re.findall(
        r"\w+|[^\w\s]",
        ", ; : . ! ? ( ) and but or because so when if while since which that then as",
    )
)
_ORDERING = frozenset(
    {"until", "before"}
)  # "never X until Y" orders X and Y and denies neither: see sequence.py
_REFUSALS = frozenset({"never", "not"})
_MODAL = _REFUSALS | {"always", "do", "does", "must", "should", "please", "shall", "will", "can"}
_SUPPORTING = frozenset(
    {"use", "uses", "used", "using", "make", "makes", "making", "try", "allow"}
)  # "never use tabs"
# Words that may deny without a negation: next to one of them alone, a missing "not" proves nothing.
_DENIES = re.compile(
    r"un(?!der|less|til|i[cfopqtvx])\w{3,}|non-?\w{3,}|impossib\w*|in(?:ab|ac|ad|cap|com|con|cor|ef|suf|val|vis)\w*"
    r"|mis(?:s|ses|sing|match\w*|use\w*)|lack\w*|absen\w*|empty|wrong\w*|except|only|instead|rather|other_than"
    r"|(?:block|den[iy]|disabl|discard|drop|exclud|fail|ignor|omit|oppos|prevent|redact|refus|reject|remov|skip|stop)\w*"
)
_PREFIX = re.compile(
    r"(?:un|non-?)(\w{4,})|un(bar|bin|cap|do|fix|mix|pin|set|tag|tar|wet|zip)|(?:in|im|ir|il|dis)(\w{5,})"
)
# Remainders of words that only seem to have such a prefix: install, discover, invoice.
_NO_WORDS = frozenset(
    map(
        stem,
        re.findall(
            r"\w+",
            "stall stance press prove cover patch count close voice crease solve tract tend pose",
        ),
    )
)


class _Reading(NamedTuple):
    words: Mapping[str, str]  # a stem and how the text spells it
    negation: str  # the first word of a clause that denies, or ""
    denied: frozenset[str]  # stems of such clauses
    heads: frozenset[
        str
    ]  # of these, the first after each negation: "mock" in "avoid mocking the database"
    doubts: frozenset[str]  # stems of words that may deny too


def denied(one: str, other: str) -> str | None:
    """Return the words that make one text deny the other when they have no other difference, else
    None.

    "Always check it before claiming" / "never check it before claiming": not an order of steps, a
    denial.
    """
    left, right = words(one), words(other)
    mine, theirs = (
        [word for word in text if word not in _MODAL and word[0].isalnum()]
        for text in (left, right)
    )
    if [stem(word) for word in mine] != [stem(word) for word in theirs]:
        return None
    here, there = ([word for word in text if word in _REFUSALS] for text in (left, right))
    if len(here) % 2 == len(there) % 2:
        return None
    always = next((word for word in (*left, *right) if word == "always"), None)
    word = (here or there)[0]
    if always:
        return f'"{word}" / "{always}"' if here else f'"{always}" / "{word}"'
    return f'"{word}" on one side only'


def opposite(one: str, other: str) -> str | None:
    """Return the words that make one text deny the other, or None; a text that denies the opposite
    agrees.
    """
    if not alike(one, other):
        return None
    left, right = _reading(one), _reading(other)
    pair = _opposites(left.words, right.words)
    if bool(left.negation) == bool(right.negation):
        return f'"{pair[0]}" / "{pair[1]}"'.replace("_", " ") if pair else None
    denying, stating = (left, right) if left.negation else (right, left)
    shared = len(denying.denied & stating.words.keys())
    if pair and {words[0] for words in map(str.split, pair)} & NEGATIONS:  # "allow" / "forbid"
        return f'"{pair[0]}" / "{pair[1]}"'
    # "avoid global state in tests" and "always give tests their own state" share no head
    headless = denying.heads.isdisjoint(stating.words)
    if (
        pair
        or stating.doubts - denying.doubts
        or headless
        or not shared
        or shared < len(denying.denied) / 2
    ):
        return None
    if always := stating.words.get(stem("always")):
        return f'"{left.negation or always}" / "{right.negation or always}"'
    return f'"{denying.negation}" on one side only'


def _opposites(left: Mapping[str, str], right: Mapping[str, str]) -> tuple[str, str] | None:
    mine, theirs = left.keys() - right.keys(), right.keys() - left.keys()
    for word in filter(
        mine.__contains__, left
    ):  # in the order of the text, so that the answer is always the same
        for met in (
            *opposites().get(word, ()),
            *_stripped(word),
            *(it for it in theirs if word in _stripped(it)),
        ):
            if met in theirs:
                return left[word], right[met]
    return None


def _stripped(word: str) -> Iterator[str]:
    """Words that a prefix or "-less" turns into this stem: "reversible" for "irreversible"."""
    if prefix := _PREFIX.fullmatch(word):
        yield from (rest for rest in prefix.groups() if rest and rest not in _NO_WORDS)
    if word.endswith("les"):
        yield word[:-3] + "ful"


@lru_cache(maxsize=1024)
def _reading(text: str) -> _Reading:
    tokens = words(_plain(text))
    negation, denied, heads, clause = "", set[str](), set[str](), list[str]()
    for word in (*tokens, "."):
        if word not in _BREAKS:
            clause.append(word)
            continue
        negations = [word for word in clause if word in NEGATIONS]
        if len(negations) % 2 and _ORDERING.isdisjoint(clause):
            negation = negation or negations[0].replace("_", " ")
            denied |= content(" ".join(word for word in clause if word not in NEGATIONS))
            heads |= set(_heads(clause))
        clause.clear()
    doubts = frozenset(stem(word) for word in tokens if _DENIES.fullmatch(word))
    return _Reading(
        {stem(word): word for word in tokens}, negation, frozenset(denied), frozenset(heads), doubts
    )


def _plain(text: str) -> str:
    text = text.lower()
    for phrase, meaning in _PHRASES:
        text = phrase.sub(meaning, text)
    return text


def _heads(clause: Sequence[str]) -> Iterator[str]:
    """Yield the stem of the first content word after each negation of a clause; of all its words if
    none follows.
    """
    for at, word in enumerate(clause):
        if word in NEGATIONS:
            after = (it for it in clause[at + 1 :] if it not in _SUPPORTING and content(it))
            head = next(after, None)
            yield from (stem(it) for it in ([head] if head else clause))
