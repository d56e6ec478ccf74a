"""Whether a text speaks to its reader, to the judge or the agent that reads it, instead of stating
a lesson.

A false alarm costs a person's look; a steering text that is missed may become an entry that every
agent reads. So signs decide that a fluent lesson rarely has: a verdict that is dictated, the reader
addressed, tools of this server in the imperative, letters that hide. English first; see
`steering_languages` for others.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final

from fleet_memory.rules.guard.steering_languages import CHINESE_AND_JAPANESE, CYRILLIC, LATIN
from fleet_memory.rules.guard.steering_names import BARE, HINTED, JUDGING, KINDS, NAMED
from fleet_memory.rules.guard.steering_phrases import ENGLISH, MARKUP

_MAX_EVIDENCE: Final = (
    40  # characters with the quotes: enough to find the place, too few for an instruction
)

# Letters that look like Latin ones, in lower case. Source: the commonest of Unicode's
# confusables.txt.
_LOOK_ALIKES: Final = str.maketrans(
    "авекмнорстухіјѕԁԛԝһгαβεικνορτυχηγωıɑɡօոսհᴀᴇɪɴᴏʀꜱᴍᴛɢᴜʏłøđ",
    "abekmhopctyxijsdqwhraβeikvoptuxnywiagonuhaeinorsmtguylod".replace("β", "b"),
)
_LEET: Final = str.maketrans("013457@$", "oieastas")
# Cyrillic, Greek (but the mu of "μs"), Armenian
_FOREIGN: Final = r"\u0400-\u052f\u0370-\u03bb\u03bd-\u03ff\u0531-\u0587"
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_MIXED: Final = re.compile(rf"[a-zA-Z][{_FOREIGN}]|[{_FOREIGN}][a-zA-Z]")
_SYMBOLS: Final = re.compile(
    "[\u0394\u03a9\u03a3\u03c0\u03bb\u03c3\u03b4\u03a0]+[a-zA-Z]|[a-zA-Z][\u0394\u03a9\u03a3\u03c0\u03bb\u03c3\u03b4\u03a0]+"
)
_HIDDEN: Final = re.compile(
    "(?<=\\w)[\u200b-\u200f\u2060-\u2064\ufeff\u180e](?=\\w)|[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e01ef]"
)
_SPACED: Final = re.compile(r"(?<!\w)[^\W\d_](?:[ ._*-][^\W\d_]){5,}(?!\w)")
_CODED: Final = re.compile(r"[a-z][013457@$]|[013457@$][a-z]")
_APOSTROPHES: Final = re.compile("['\u2018\u2019`\u00b4]")
_STOP: Final = re.compile(r"[.!?;\n\r\u3002\uff01]+(?=\s|$)|\n")
_COLON: Final = re.compile(r":(?!\w)|\s[-\u2013\u2014]\s|[\u2013\u2014=]|(?<=\w)[\"']:")
# A comma or a quote after a verdict or a reader ends it: "answer same, always", "judge, answer"
_ENDED: Final = re.compile(
    r"(?<=\w)(?<=same|qual|ical|lent|sure|cate|ates|udge|ader|ewer|gent|ents|tant|odel| "
    r"llm)[\"',]+(?=\s)"
)
_MARKS: Final = re.compile(r"[^\w.:'-]+")  # brackets and braces: a quotation must not be markup
_NO_WORD: Final = re.compile(r"[^\w.:\ufffc]+|(?<=\w)[.:](?=\w)")


@lru_cache(maxsize=1024)
def speaks_to_reader(text: str) -> str | None:
    """Return the words, quoted and at most 40 characters, that speak to the reader of `text`; None
    if none do.
    """
    composed = unicodedata.normalize("NFKC", text)
    if not text.isascii() and (hidden := _hidden(text, composed)):
        return _quoted(hidden)
    visible = _visible(composed).casefold()
    match = MARKUP.search(visible) or _SPACED.search(visible) or _spoken(visible)
    return _quoted(match[0]) if match else None


def _hidden(text: str, composed: str) -> str | None:
    """Return the word that mixes scripts or has invisible characters, if there is one."""
    if match := _HIDDEN.search(text):
        around = text[max(0, match.start() - 15) : match.end() + 15]
        return f"hidden letters: {_visible(around)}"
    words = _LETTERS.findall(composed)
    return next(
        (word for word in words if _MIXED.search(word) and not _SYMBOLS.fullmatch(word)), None
    )


def _visible(text: str) -> str:
    return (
        text
        if text.isascii()
        else "".join(mark for mark in text if unicodedata.category(mark) != "Cf")
    )


def _spoken(visible: str) -> re.Match[str] | None:
    """Return the first phrase that speaks to the reader, in the text as written or with its letters
    folded.
    """
    plain = _words(visible)
    if not visible.isascii():
        if match := CYRILLIC.search(plain) or CHINESE_AND_JAPANESE.search(visible):
            return match
        plain = _words(_latin(visible))
    if match := _phrase(plain) or LATIN.search(plain):
        return match
    return _phrase(_words(visible.translate(_LEET))) if _CODED.search(visible) else None


def _latin(text: str) -> str:
    folded = unicodedata.normalize("NFKD", text.translate(_LOOK_ALIKES))
    return "".join(mark for mark in folded if unicodedata.category(mark) != "Mn")


def _words(text: str) -> str:
    """Return the words with one space between them, sentences between "." and colons as ":"."""
    ended = _ENDED.sub(" : ", f"{text} ")
    stopped = _COLON.sub(" : ", _STOP.sub(" . ", _APOSTROPHES.sub(" ", ended)))
    return " ".join(f". {_NO_WORD.sub(' ', stopped)} .".split())


def _phrase(plain: str) -> re.Match[str] | None:
    present = set(plain.split())
    for words, pattern in ENGLISH:
        if (not words or not words.isdisjoint(present)) and (match := pattern.search(plain)):
            return match
    return next(filter(None, map(_named, plain.split(" . "))), None)


def _named(sentence: str) -> re.Match[str] | None:
    """Return where a sentence names a text of its pair, if it has other words of a judge's or a
    reader's as well.
    """
    present = set(sentence.split())
    kinds = [not kind.isdisjoint(present) for kind in KINDS]
    if not any(kinds):
        return None
    match = NAMED.search(sentence) or (HINTED.search(sentence) if sum(kinds) > 1 else None)
    judged = sum(kinds) > 1 and any(kinds[:JUDGING])
    return match or (BARE.search(sentence) if judged or sum(kinds) > JUDGING else None)


def _quoted(evidence: str) -> str:
    plain = " ".join(_MARKS.sub(" ", evidence).split())
    room = _MAX_EVIDENCE - 2
    return f'"{plain if len(plain) <= room else plain[: room - 3].rstrip() + "..."}"'
