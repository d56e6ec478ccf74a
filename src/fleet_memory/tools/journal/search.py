"""Finding words in a journal: by FTS5, in a file that may be deleted, else in memory."""

import re
import sqlite3
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from typing import Final

from anyio import to_thread

from fleet_memory.tools.journal.documents import Journals
from fleet_memory.tools.journal.rules import PAGES_AT_ONCE, Distillate, Event, Journal

MAX_UNINDEXED_EVENTS: Final = 5_000  # the newest, looked through where there is no file
WAIT_S: Final = 5.0  # for another process that writes the file

WORD: Final = re.compile(r"\w+")
_TABLES: Final = (
    "create virtual table if not exists words using fts5(text, content='')",
    # a text of the journal for each row of `words`: an event has no distillate
    "create table if not exists places(number integer primary key, journal, distillate, seq,"
    " unique(journal, distillate, seq))",
)
_FOUND: Final = (
    "select seq, distillate from words join places on number = words.rowid"
    " where words match ? and journal = ? order by bm25(words), seq desc limit ?"
)


def _opened(path: Path | None) -> sqlite3.Connection:
    db = sqlite3.connect(path or ":memory:", timeout=WAIT_S, check_same_thread=False)
    with db:
        for table in _TABLES:
            db.execute(table)
    return db


class TextIndex:
    """The texts of one journal in a file, brought up to date before each search."""

    def __init__(self, db: sqlite3.Connection, journal_id: str) -> None:
        self._db = db
        self._id = journal_id

    def indexed(self) -> tuple[int, frozenset[str]]:
        """Return the newest seq, 0 for none, and the ids of the distillates that are indexed."""
        newest = "select max(seq) from places where journal = ? and distillate = ''"
        ids = "select distillate from places where journal = ? and distillate > ''"
        (seq,) = self._db.execute(newest, (self._id,)).fetchone()
        return seq or 0, frozenset(row[0] for row in self._db.execute(ids, (self._id,)))

    def add(self, texts: Iterable[Event | Distillate]) -> None:
        """Index texts; texts that another process has indexed stay as they are."""
        with self._db:
            for it in texts:
                if isinstance(it, Event):
                    place, text = ("", it.seq), it.content
                else:
                    place, text = (it.id, it.start_seq), it.text
                new = self._db.execute(
                    "insert or ignore into places(journal, distillate, seq) values (?, ?, ?)",
                    (self._id, *place),
                )
                if new.rowcount:
                    row = (new.lastrowid, text)
                    self._db.execute("insert into words(rowid, text) values (?, ?)", row)

    def found(self, words: Sequence[str], limit: int) -> list[tuple[int, str]]:
        """Return the seqs where some of the words stand, the best first, each with the id of its
        distillate, "" for an event.
        """
        question = " OR ".join(f'"{word}"' for word in words)
        return self._db.execute(_FOUND, (question, self._id, limit)).fetchall()


async def found_in(
    journals: Journals, journal: Journal, path: Path | None, words: Sequence[str], limit: int
) -> list[tuple[int, str]]:
    """Return where words stand in a journal, by the file, which learns first what it lacks; without
    one in the newest 5,000 events and in the roots.

    The file is opened before an original is read: what a purge erases at the same time goes into
    the file that it deletes.
    """
    db = await to_thread.run_sync(_opened, path)
    try:
        index = TextIndex(db, journal.id)
        newest, indexed = await to_thread.run_sync(index.indexed)
        first = newest + 1 if path else journal.head + 1 - MAX_UNINDEXED_EVENTS
        async for events in _in_pages(journals, journal, first):
            await to_thread.run_sync(index.add, events)
        roots = journal.roots
        while missing := [root.id for root in roots if root.id not in indexed]:
            read = (await journals.distillates(journal, missing)).values()
            await to_thread.run_sync(index.add, read)
            roots = tuple(child for it in read for child in it.children if path)
        return await to_thread.run_sync(index.found, words, limit)
    finally:
        db.close()


async def _in_pages(journals: Journals, journal: Journal, first: int) -> AsyncIterator[list[Event]]:
    """Yield the events from a seq on, and those before it in its document, in order."""
    if first > journal.head:
        return
    numbers = range(journal.page_of(max(1, first)), len(journal.pages))
    for at in range(0, len(numbers), PAGES_AT_ONCE):
        events = await journals.events(journal, numbers[at : at + PAGES_AT_ONCE])
        yield [events[seq] for seq in sorted(events)]
