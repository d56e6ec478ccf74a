"""Words about an entry: seen true or seen false by a program that used it. Only words with evidence
count.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from fleet_memory.rules.knowledge.state import contributes
from fleet_memory.rules.knowledge.votes import (
    counted_contradictions,
    independent_origins,
    same_program,
    testimony_of_word,
)
from fleet_memory.rules.lifecycle.sent import CLOCK_SKEW
from fleet_memory.schemas.knowledge import Entry, Word

RETIRE_FROM: Final = 2  # origins against; Source: docs/knowledge.md, chosen
RETIRE_STRICT_FROM: Final = (
    3  # origins against an entry of a threshold of at least `STRICT_THRESHOLD`
)
STRICT_THRESHOLD: Final = 4  # votes
CONFIRM_FROM: Final = (
    2  # origins that end a non-contributor's contradiction; Source: docs/knowledge.md, chosen
)
MAX_CONTRADICTIONS_A_DAY: Final = (
    3  # open ones of one program; the next waits. Source: docs/knowledge.md, chosen
)
MAX_REMEMBERED_CONTRADICTIONS: Final = 16  # of one program; chosen, more than count in a day
# words of each outcome on an entry, the newest; chosen, so that no document grows with the fleet
MAX_WORDS: Final = 50
_DAY: Final = timedelta(days=1)


def with_confirmation(entry: Entry, word: Word) -> Entry:
    """Return the entry after a program saw it true.

    The clock moves. With evidence it also takes back the program's own contradiction, and with that
    of another origin it ends the contradictions of non-contributors that came before both.
    """
    entry = replace(
        entry,
        last_confirmed=max(entry.last_confirmed, word.at),
        confirmations=entry.confirmations + 1,
    )
    if not word.evidence:
        return entry
    name = same_program(word.program_id)
    others = [earlier for earlier in entry.words if same_program(earlier.program_id) != name]
    return _without_answered(replace(entry, words=_newest([*others, word])))


def with_contradiction(entry: Entry, word: Word) -> Entry:
    """Return the entry after a program saw it false: contested, or retired once enough origins
    outnumber the others.

    A contributor's vote is out while its word stands. A repeated word has the time of the first,
    and waits as that does. A rule that people set is never retired. Without evidence the word does
    not count, and the entry is the same object.
    """
    if not word.evidence:
        return entry
    name = same_program(word.program_id)
    others = [earlier for earlier in entry.words if same_program(earlier.program_id) != name]
    first = next(
        (
            earlier
            for earlier in entry.words
            if same_program(earlier.program_id) == name and earlier.outcome == word.outcome
        ),
        word,
    )
    words = _newest([*others, replace(word, at=min(word.at, first.at), waits=first.waits)])
    after = _with_released(replace(entry, words=words))
    return (
        replace(after, retired_at=word.at)
        if entry.retired_at is None and _is_refuted(after)
        else after
    )


def with_all_words(entry: Entry, words: Iterable[Word]) -> Entry:
    """Return the entry with the words of several stores in place of its own, and with their
    consequences.

    Each program's latest word stands, without the contradictions that are answered: what the
    program saw before one stands again, so that the same words always leave the same.
    """
    pool = list(words)
    after = replace(entry, words=_newest(_latest(pool)))
    while (left := _without_answered(after)) is not after:
        answered = set(after.words) - set(left.words)
        pool = [word for word in pool if word not in answered]
        after = replace(entry, words=_newest(_latest(pool)))
    after = _with_released(after)
    if after.retired_at is not None or not _is_refuted(after):
        return after
    return replace(after, retired_at=max(word.at for word in counted_contradictions(after)))


def may_contradict(against: Mapping[str, datetime], key: str, now: datetime) -> bool:
    """Whether a program's contradiction of `key` counts at once: few others of it are open within a
    day.
    """
    recent = [other for other, at in against.items() if other != key and _is_recent(at, now)]
    return len(recent) < MAX_CONTRADICTIONS_A_DAY


def with_recent(against: Mapping[str, datetime], key: str, now: datetime) -> dict[str, datetime]:
    """Return a program's contradictions of the last day with that of `key`, the newest that it
    remembers.
    """
    recent = {other: at for other, at in against.items() if _is_recent(at, now)}
    newest = sorted({key: now, **recent}.items(), key=lambda item: (item[1], item[0]))
    return dict(newest[-MAX_REMEMBERED_CONTRADICTIONS:])


def _with_released(entry: Entry) -> Entry:
    """Let contradictions that wait count, for good, once they come of two origins."""
    against = [word for word in entry.words if word.outcome == "contradicted"]
    if _origins(entry, against) < 2 or not any(word.waits for word in against):
        return entry
    return replace(entry, words=tuple(replace(word, waits=False) for word in entry.words))


def _is_recent(at: datetime, now: datetime) -> bool:
    """Whether an instant is within the last day, or so little ahead that two servers' clocks may
    differ by it.
    """
    return -CLOCK_SKEW < now - at < _DAY


def _is_refuted(entry: Entry) -> bool:
    """Whether the origins against outnumber those that confirmed since the first open
    contradiction, and suffice.
    """
    against = counted_contradictions(entry)
    if entry.tier == "constitutional" or not against:
        return False
    first = min(word.at for word in against)
    confirmed = [word for word in entry.words if word.outcome == "confirmed" and word.at >= first]
    count = _origins(entry, against)
    least = RETIRE_STRICT_FROM if entry.threshold >= STRICT_THRESHOLD else RETIRE_FROM
    return count >= least and count > _origins(entry, confirmed)


def _without_answered(entry: Entry) -> Entry:
    """End each non-contributor's contradiction that two origins have confirmed against since."""
    confirmed = [word for word in entry.words if word.outcome == "confirmed"]

    def answered(word: Word) -> bool:
        later = [confirmation for confirmation in confirmed if confirmation.at >= word.at]
        return not contributes(entry, word.program_id) and _origins(entry, later) >= CONFIRM_FROM

    left = tuple(word for word in entry.words if word.outcome == "confirmed" or not answered(word))
    return entry if left == entry.words else replace(entry, words=left)


def _latest(words: Iterable[Word]) -> Iterable[Word]:
    """Return each program's latest word; of equal ones that which does not wait."""
    ordered = sorted(
        words, key=lambda word: (word.at, word.outcome, not word.waits, word.program_id)
    )
    return {same_program(word.program_id): word for word in ordered}.values()


def _origins(entry: Entry, words: Iterable[Word]) -> int:
    return independent_origins(map(testimony_of_word, words), entry.origins)


def _newest(words: Iterable[Word]) -> tuple[Word, ...]:
    """Return words in order of time, at most 50 of each outcome."""
    ordered = sorted(words, key=lambda word: (word.at, word.program_id))
    newest = [
        word
        for outcome in ("confirmed", "contradicted")
        for word in [word for word in ordered if word.outcome == outcome][-MAX_WORDS:]
    ]
    return tuple(sorted(newest, key=lambda word: (word.at, word.program_id)))
