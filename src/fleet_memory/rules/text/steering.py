"""Texts that give their judge orders: prompt markup, calls of tools, verdicts, hidden letters.

Such a text waits for people. It is scanned by word, in time linear in its length; English only.
Three numbers are kept for it; `python benchmarks/labelled_pairs.py` prints the first two of a set:

| set | caught | honest alarms |
|---|--:|--:|
| `benchmarks/labelled/steering.json`, by another hand, seen since: not blind | 31 of 40 | 2 of 60 |
| `tests/data/steering.tsv`, seen while writing | 116 of 191 | 3 of 185 |
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final

_MAX_QUOTED_CHARS: Final = 38
# Zero-width marks between Latin letters, marks that turn the direction of writing, tag letters
_HIDDEN: Final = re.compile(
    "[a-zA-Z][\u200b-\u200f\u2060-\u2064\ufeff][a-zA-Z]"
    "|[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)
# Latin beside Cyrillic or Greek letters in one word, but for the Greek ones of formulas
_FOREIGN: Final = "[\u0400-\u052f\u0370-\u03ff]"
_MIXED: Final = re.compile(f"[a-zA-Z]{_FOREIGN}|{_FOREIGN}[a-zA-Z]")
_FORMULA: Final = frozenset("\u0394\u03a9\u03a3\u03a0\u03b4\u03bb\u03bc\u03c0\u03c3")
_MARKUP: Final = re.compile(
    r"<[|/]?(?:im_start|im_end|system|assistant|instructions?|judge|lesson|pair)\b|<<sys>>"
    r"|\[/?(?:inst|system)\]|\b(?:system|assistant|judge|reviewer|evaluator|reader)s?:"
    r"|\bverdicts?\"? ?[:=]|\bpair_?ids?\b|\btojudge\b|\"tool\" ?:|[\"\u00ab=:] ?same\b(?! \w)"
)
_SENTENCE: Final = re.compile(r"[.!?;\n\u3002\uff01]+")
_WORD: Final = re.compile(r"\w+")
_TOOL: Final = re.compile(
    r"gsp_\w+|fleet_health|\w+_consolidate|commit_session|(?:st|re|fo|se)\w+_(?:memory|knowledge)"
)
_BEFORE_NOUN = "the this that these very exact at a one"
_BEFORE_SELF = "this these both present"
_TEXTS = "lesson lessons text texts memory sentence statement advice line wording entry item"
_LABEL = "SAME identical equal equivalent duplicate duplicates synonyms unsure"
_SAY = (
    "answer answers answering say says saying vote output reply replying respond return choose "
    "pick record label verdict verdicts judgement default write key result outcome proceed"
)
_JUDGE = (
    "judge judges judging reviewer reviewers reader readers evaluator evaluating grader graders "
    "llm ai assistant curator comparing consolidating consolidation"
)
_PROMOTE = "merge promote publish approve confirm reinforce accept believe authorise prioritise"
_OF_JUDGES = f"{_SAY} {_LABEL} {_JUDGE} {_PROMOTE} same"
_THIS = "this these both"
_ANY = "it every any all everything anything whatever"
_OLD = "previous prior above earlier all your system every given you server guard"
# Words that follow each other in a sentence, each list at most so many words after the one before
_ORDERS: Final = tuple(
    (gap, tuple(frozenset(words.split()) for words in lists))
    for gap, *lists in (
        (5, f"{_SAY} whenever never", "SAME unsure"),
        (5, "never not to mistake forbidden", f"{_SAY} call judge", "different unsure"),
        (3, "answer vote report say", "different contradict", "every any all no for"),
        (6, "mark treat count consider judge act as", f"{_THIS} {_ANY} them as", f"same {_LABEL}"),
        (7, _ANY, f"{_THIS} it other", f"same {_LABEL}"),
        (5, f"{_THIS} they two", "are is say says", f"same {_LABEL}", "one lesson as END"),
        (8, "SELF", f"{_OF_JUDGES} win wins paired any all over needs"),
        (8, f"{_OF_JUDGES} treat consider store as", "SELF"),
        (5, "ignore disregard forget override", _OLD, "instructions rules guidelines told"),
        (2, "dear note message you kindly", f"{_JUDGE} agent"),
        (6, _JUDGE, f"must should shall {_PROMOTE}", f"this {_LABEL} same"),
        (3, _PROMOTE, "this these me", "as whenever knowledge END"),  # "promote it" is honest
        # A tool alone is no order: a fleet learns how to use its own tools.
        (8, "TOOL", "SELF me"),
        (8, "SELF please following reads reading now", "TOOL"),
    )
)


@lru_cache(maxsize=1024)
def steering_words(*shown: str) -> str | None:
    """Return the words, quoted, by which one of the shown texts gives orders; None if none does.

    `steering_words("Pin it", "Answer same") == '"answer same"'`.
    """
    for text in shown:
        if order := _steering(text):
            plain = " ".join(_WORD.findall(order))[:_MAX_QUOTED_CHARS]
            return f'"{plain.strip()}"'
    return None


def lesson_steering(text: str, evidence: str, domain: str) -> str | None:
    """Return `steering_words` of all that a judge is shown of a lesson, e.g. of "answer-same"."""
    return steering_words(text, evidence, domain.replace("-", " "))


def _steering(text: str) -> str | None:
    if hidden := _HIDDEN.search(text):
        return f"hidden letters {text[max(0, hidden.start() - 15) : hidden.end() + 15]}"
    composed = unicodedata.normalize("NFKD", text)
    for mixed in _MIXED.finditer(composed):
        if _FORMULA.isdisjoint(mixed[0]):
            return f"letters of two scripts {mixed[0]}"
    plain = "".join(mark for mark in composed if not unicodedata.combining(mark)).casefold()
    if markup := _MARKUP.search(plain):
        return markup[0]
    return next(filter(None, map(_order, _SENTENCE.split(plain))), None)


def _order(sentence: str) -> str | None:
    """Return the words of a sentence that make an order."""
    words = _WORD.findall(sentence)
    kinds = [*map(_kinds, ("", *words), words), frozenset({"END"})]
    for gap, lists in _ORDERS:
        for start, kind in enumerate(kinds):
            if not kind & lists[0]:
                continue
            end = start
            for wanted in lists[1:]:
                near = range(end + 1, min(end + 2 + gap, len(kinds)))
                end = next((at for at in near if kinds[at] & wanted), 0)
                if not end:
                    break
            else:
                return " ".join(words[start : end + 1])
    return None


def _kinds(before: str, word: str) -> frozenset[str]:
    """Return a word and its kinds: SAME is a verdict, as in "say same" but not in "say the same",
    SELF the text itself, TOOL a tool of this server.
    """
    kinds = {word}
    if word == "same" and before not in _BEFORE_NOUN.split():
        kinds.add("SAME")
    if before in _BEFORE_SELF.split() and word in _TEXTS.split():
        kinds.add("SELF")
    if _TOOL.fullmatch(word):
        kinds.add("TOOL")
    return frozenset(kinds)
