"""When two texts are letter by letter the same lesson.

Equal normal forms merge without any further question, so where punctuation may carry meaning it
stays.
"""

import unicodedata

_SPELLINGS = str.maketrans(
    dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"')
    | dict.fromkeys("\u2018\u2019\u201a", "'")
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-")
    | dict.fromkeys("\u2014\u2015", " - ")
    | dict.fromkeys(
        "\u00ad\u200b\u2060\ufeff", ""
    )  # soft hyphen, zero-width space, word joiner, byte order mark
)
_BULLETS = frozenset("-*\u2022")


def normalised(text: str) -> str:
    """Return the text with Unicode form (NFKC), case, spacing and the punctuation of prose folded;
    idempotent.

    Folded: quotes around words, a parenthesis around several, the comma, colon or stop after a
    word, a bullet, the text's last "!" or "?". Kept, since a lesson may hang on it: signs (-1),
    operators (!=), versions (v2.1), flags (--force), C++, *.py, f(), "5" next to 5, and every token
    that is symbols alone.
    """
    folded = unicodedata.normalize("NFKC", _apart(text)).translate(_SPELLINGS).casefold()
    words = [_bare(word) for word in unicodedata.normalize("NFKC", folded).split()]
    if len(words) > 1 and words[0] in _BULLETS and words[1][0].isalpha():
        words = words[1:]
    while words and _has_letter_or_digit(words[-1]) and words[-1][-1] in "!?":
        words[-1] = _bare(words[-1][:-1])
    return " ".join(words)


def _apart(text: str) -> str:
    """Keep NFKC from joining a raised digit or a fraction to the number before it: 10 squared is
    not 102.
    """
    if text.isascii():
        return text
    joined = ("<super>", "<fraction>")
    return "".join(
        f" {mark}" if unicodedata.decomposition(mark).startswith(joined) else mark for mark in text
    )


def _has_letter_or_digit(token: str) -> bool:
    return any(mark.isalnum() for mark in token)


def _bare(token: str) -> str:
    """Strip the punctuation of prose from a token's ends; a token of symbols alone is an operator
    and stays.
    """
    while _has_letter_or_digit(token):
        first, last = token[0], token[-1]
        if (
            first == last
            and first in "\"'`"
            and (first == "`" or any(mark.isalpha() for mark in token))
        ):
            token = token[1:-1]
        elif (
            last in ".,;:"
            or (last in "\"'`" and token.count(last) % 2)
            or (last == ")" and _opened(token) < 0)
        ):
            token = token[:-1]
        elif (first in "\"'`" and token.count(first) % 2) or (first == "(" and _opened(token) > 0):
            token = token[1:]
        else:
            break
    return token


def _opened(token: str) -> int:
    return token.count("(") - token.count(")")
