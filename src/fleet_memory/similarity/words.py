"""The share of a question's words in a text: the side of recall that vectors miss."""

import math
import re
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

MAX_INDEXED_CHARS: Final = (
    4_000_000  # of texts whose stems a process remembers, some 20,000 lessons; chosen
)
_END: Final = bytes(
    4
)  # 0, the number after the last stem of a text: no phrase goes on in the next text
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

    A text never changes, so that the index is never wrong. A question about a new text empties it
    once its texts exceed `max_chars` and twice those of the question: a larger pool stays known,
    too.
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
            if self._chars > self._max_chars and not all(map(self._stems.__contains__, texts)):
                self._make_room(texts)
            stems = self._stems_of([*texts, *asked])
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

    def _make_room(self, texts: Sequence[str]) -> None:
        """Forget all texts where they are more than twice these, which must be known at once."""
        if self._chars > 2 * sum(map(len, texts)):
            self._chars = 0
            self._numbers.clear()
            self._stems.clear()

    def _stems_of(self, texts: Sequence[str]) -> list[bytes]:
        if new := [text for text in dict.fromkeys(texts) if text not in self._stems]:
            self._stems.update(zip(new, self._numbered(new), strict=True))
            self._chars += sum(map(len, new))
        return list(map(self._stems.__getitem__, texts))

    def _numbered(self, texts: Sequence[str]) -> Iterator[bytes]:
        """Yield the numbers of each text's stems and `_END`."""
        numbers, places = [], []
        for stem, uses, text_places in _stem_places(texts):
            numbers += [self._numbers.setdefault(stem, len(self._numbers) + 1)] * uses
            places.append(text_places)
        at = np.fromstring(",".join(places), np.int64, sep=",")
        ordered = np.array(numbers, np.int32)[np.argsort(at)]
        start = 0
        for end in np.cumsum(np.bincount(at >> _PLACE_BITS, minlength=len(texts))):
            yield ordered[start:end].tobytes() + _END
            start = end


def _stem_places(texts: Sequence[str]) -> list[tuple[str, int, str]]:
    """Return each stem, how often it occurs, and where: place of the text << `_PLACE_BITS` | place
    in the text.

    SQLite has no call for its tokenizer: an index is made, read and undone.
    """
    index = _full_text_index()
    index.execute("BEGIN")
    try:
        index.executemany("INSERT INTO lesson(rowid, text) VALUES (?, ?)", enumerate(texts))
        query = "SELECT term, count(*), group_concat(doc << ? | offset) FROM stem GROUP BY term"
        return index.execute(query, (_PLACE_BITS,)).fetchall()
    finally:
        index.execute("ROLLBACK")


@cache
def _full_text_index() -> sqlite3.Connection:
    """Return an empty index, the only one of this process: `_lock` guards it."""
    index = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    index.execute(
        "CREATE VIRTUAL TABLE lesson USING fts5(text, content='', columnsize=0, "
        "tokenize='porter unicode61')"
    )
    index.execute("CREATE VIRTUAL TABLE stem USING fts5vocab(lesson, instance)")
    return index


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
