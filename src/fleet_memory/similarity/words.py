"""How well a text answers a question by its words: the half of recall that meaning does not see."""

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
    """Return n scores >= 0, BM25 over porter stems: 0 where no word of the question occurs.

    Stop words of the question count only when it has no others. The scale depends on `texts`: compare within one
    answer only. 1,000 texts take about 5 ms. Source: SQLite FTS5, bm25(k1 = 1.2, b = 0.75).
    """
    scores = np.zeros(len(texts))
    words = dict.fromkeys(re.findall(r"\w+", question.lower()))
    asked = [word for word in words if word not in STOP_WORDS] or list(words)
    if not asked:
        return scores
    query = " OR ".join(f'"{word}"' for word in asked)  # quoted: a question may hold FTS5 operators
    with closing(sqlite3.connect(":memory:")) as index:
        index.execute("CREATE VIRTUAL TABLE lesson USING fts5(text, tokenize='porter unicode61')")
        index.executemany("INSERT INTO lesson(rowid, text) VALUES (?, ?)", enumerate(texts))
        for row, score in index.execute("SELECT rowid, bm25(lesson) FROM lesson WHERE lesson MATCH ?", (query,)):
            scores[row] = -score  # FTS5: better is more negative
    return scores
