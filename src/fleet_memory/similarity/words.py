"""The share of a question's words in a text: the side of recall that vectors miss."""

import math
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing

import numpy as np
from numpy.typing import NDArray

# Words that a question has because it is a question or a sentence. Source: the closed word classes of English.
STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        a about am an and any are as at be been being but by can could did do does doing for from get had has have how i
        if in into is it its may me might my no not of on or our shall should so some such than that the their them then
        there these they this those to was we were what when where which while who whom whose why will with would you
        your
        """,
    )
)


def word_scores(question: str, texts: Sequence[str]) -> NDArray[np.float64]:
    """Return n shares 0..1: how much of the information of the question's words each text has; 0 for no word.

    A word's information is ln(1 + n / number of texts with it). A share of the question: a word of ten in common
    stays little when no text has more. Words count by their porter stems, and once: how often, or in how long a text,
    means little for lessons of a sentence. Stop words of the question count only when it has no others. 1,000 texts
    take about 5 ms. Source: docs/decisions/recall-fusion.md, where these shares find more than BM25.
    """
    scores, whole = np.zeros(len(texts)), 0.0
    words = dict.fromkeys(re.findall(r"\w+", question.lower()))
    asked = [word for word in words if word not in STOP_WORDS] or list(words)
    with closing(sqlite3.connect(":memory:")) as index:
        index.execute("CREATE VIRTUAL TABLE lesson USING fts5(text, tokenize='porter unicode61')")
        index.executemany("INSERT INTO lesson(rowid, text) VALUES (?, ?)", enumerate(texts))
        for word in asked:  # quoted below: a question may have FTS5 operators
            found = index.execute("SELECT rowid FROM lesson WHERE lesson MATCH ?", (f'"{word}"',))
            holders = [row for (row,) in found]
            information = math.log(1 + len(texts) / max(1, len(holders)))
            scores[holders] += information
            whole += information
    return scores / whole if whole else scores
