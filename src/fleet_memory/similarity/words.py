"""The share of a question's words in a text: the side of recall that vectors miss."""

from __future__ import annotations

import math
import re
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Final

from fleet_memory.rules.text.vectors import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# of texts whose stems a process remembers, some 20,000 lessons; chosen
MAX_INDEXED_CHARS: Final = 4_000_000
# 0, the number after the last stem of a text: no phrase goes on in the next text
_END: Final = bytes(4)
_PLACE_BITS: Final = 32
_lock: Final = threading.Lock()

# Words that a question has because it is a question or a sentence. Source: the closed word classes
# of English.
STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        a about am an and any are as at be been being but by can could did do does doing for from
        get had has have how i if in into is it its may me might my no not of on or our shall should
        so some such than that the their them then there these they this those to was we were what
        when where which while who whom whose why will with would you your
        """,
    )
)


class WordIndex:
    """The stems of texts as numbers, looked up once for each text.

    A text never changes, so the index needs no update. A question about a new text empties it once
    its texts exceed `max_chars` and twice those of the question: a larger pool stays known, too.
    """

    def __init__(self, max_chars: int = MAX_INDEXED_CHARS) -> None:
        self._max_chars = max_chars
        self._chars = 0
        self._numbers: dict[str, int] = {}  # by stem
        self._stems: dict[
            str, bytes
        ] = {}  # by text: the numbers of its stems in order and `_END`, as int32

    def scores(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return n shares, as `word_scores` does."""
        scores, whole = np.zeros(len(texts)), 0.0
        words = dict.fromkeys(re.findall(r"\w+", question.lower()))
        asked = [word for word in words if word not in STOP_WORDS] or list(words)
        with _lock:
            self._learn(texts, asked)
            stems = [self._stems[text] for text in (*texts, *asked)]
        pool, phrases = stems[: len(texts)], stems[len(texts) :]
        numbers = np.frombuffer(b"".join(pool), np.int32)
        ends = np.cumsum(np.fromiter(map(len, pool), np.intp, len(pool))) // numbers.itemsize
        for phrase in phrases:  # a word may be several stems, e.g. `main_py`
            places = _places(numbers, np.frombuffer(phrase, np.int32)[:-1])
            holders = np.flatnonzero(np.bincount(np.searchsorted(ends, places, side="right")))
            information = math.log(1 + len(texts) / max(1, len(holders)))
            scores[holders] += information
            whole += information
        return scores / whole if whole else scores

    def _learn(self, texts: Sequence[str], words: Sequence[str]) -> None:
        """Remember the stems of texts and words that are new, as numbers and in order."""
        if self._chars > max(
            self._max_chars, 2 * sum(map(len, texts))
        ) and not self._stems.keys() >= set(texts):
            self._chars = 0
            self._numbers.clear()
            self._stems.clear()
        new = [text for text in dict.fromkeys((*texts, *words)) if text not in self._stems]
        if not new:
            return
        self._chars += sum(map(len, new))
        numbers, places = [], []
        for stem, uses, text_places in _stem_places(new):
            numbers += [self._numbers.setdefault(stem, len(self._numbers) + 1)] * uses
            places.append(text_places)
        at = np.fromstring(",".join(places), np.int64, sep=",")
        ordered = np.array(numbers, np.int32)[np.argsort(at)]
        counts = np.bincount(at >> _PLACE_BITS, minlength=len(new))
        for text, stems in zip(new, np.split(ordered, np.cumsum(counts)[:-1]), strict=True):
            self._stems[text] = stems.tobytes() + _END


def _stem_places(texts: Sequence[str]) -> list[tuple[str, int, str]]:
    """Return each stem, how often it occurs, and where: place of the text << `_PLACE_BITS` | place
    in the text.

    SQLite has no call for its tokenizer: an index is made in memory, and read.
    """
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as index:
        index.execute(
            "CREATE VIRTUAL TABLE lesson USING fts5(text, content='', columnsize=0, "
            "tokenize='porter unicode61')"
        )
        index.execute("CREATE VIRTUAL TABLE stem USING fts5vocab(lesson, instance)")
        index.execute("BEGIN")
        index.executemany("INSERT INTO lesson(rowid, text) VALUES (?, ?)", enumerate(texts))
        query = "SELECT term, count(*), group_concat(doc << ? | offset) FROM stem GROUP BY term"
        return index.execute(query, (_PLACE_BITS,)).fetchall()


def _places(numbers: NDArray[np.int32], phrase: NDArray[np.int32]) -> NDArray[np.intp]:
    """Return where the stems of a phrase begin, one after the other; nowhere for a phrase without
    any.
    """
    places = np.flatnonzero(numbers == phrase[0]) if len(phrase) else np.empty(0, np.intp)
    for offset in range(1, len(phrase)):
        places = places[numbers[places + offset] == phrase[offset]]
    return places


_index: Final = WordIndex()


def word_scores(question: str, texts: Sequence[str]) -> NDArray[np.float64]:
    """Return n shares 0..1: how much of the information of the question's words each text has; 0
    for no word.

    A word's information is ln(1 + n / number of texts with it). A share of the question: a word of
    ten in common stays little when no text has more. Words count by their porter stems, and once:
    how often, or in how long a text, means little for lessons of a sentence. Stop words of the
    question count only when it has no others. 1,000 texts take about 12 ms the first time, and then
    0.3 ms. Source: docs/decisions/recall-fusion.md, where these shares find more than BM25.
    """
    return _index.scores(question, texts)
