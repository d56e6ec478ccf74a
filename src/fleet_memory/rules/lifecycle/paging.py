"""Pages: the lessons that the cap moves out of a program, which a question still finds, and a word
brings back.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import accumulate
from typing import Final, NamedTuple

from fleet_memory.rules.lifecycle.decay import strengths
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import (
    MAX_PAGE_BYTES,
    MAX_PAGES,
    MAX_PATTERNS_PER_PAGE,
    Archived,
    ArchiveReason,
    PagedLesson,
    Program,
)

OUTGOING_SHARE: Final = (
    12  # one lesson in so many of the cap may be outgoing; Source: docs/decisions/rows-and-pages.md
)
MAX_OUTGOING_BYTES: Final = (
    32_000  # of all that are; chosen: a full document has room for them beside its own
)
FREED_SHARE: Final = (
    20  # one in so many lessons leaves full pages at once; Source: docs/decay.md, chosen
)


class PagesNeededError(Exception):
    """A change is about a lesson on a page that was not read: run it again on the whole program."""


class Capped(NamedTuple):
    """A program after the cap, the lessons that it moved to pages, and those that left for the
    archive.
    """

    program: Program
    moved: tuple[Pattern, ...] = ()
    archived: tuple[Archived, ...] = ()


def require_whole(program: Program) -> None:
    """Raise PagesNeededError unless all pages of the program were read."""
    if not program.is_whole:
        raise PagesNeededError


def require_read(program: Program, *, ids: Collection[str] = (), words: str = "") -> None:
    """Raise PagesNeededError if a lesson of one of these ids, or of these words, is on a page that
    was not read.
    """
    unread = program.unread
    if any(id_ in unread for id_ in ids) or (
        words and any(lesson.words == words for lesson in unread.values())
    ):
        raise PagesNeededError


def capped(program: Program, now: datetime, *, newest: str = "") -> Capped:
    """Move the weakest unpromoted patterns over the cap to pages, never the one being stored,
    `newest`.

    Raises PagesNeededError when the pages are full and were not read.
    """
    unpromoted = [pattern for pattern in program.active.values() if not pattern.promoted]
    over = len(unpromoted) - program.decay.max_unpromoted_patterns
    if over <= 0:
        return Capped(program)
    return _moved(
        program,
        _weakest([pattern for pattern in unpromoted if pattern.id != newest], now)[:over],
        now,
    )


def brought_back(program: Program, pattern_id: str, now: datetime) -> Capped:
    """Return the program with a lesson on no page any more; the weakest other makes room for it."""
    if pattern_id not in program.paged:
        return Capped(program)
    paged = {id_: lesson for id_, lesson in program.paged.items() if id_ != pattern_id}
    return capped(replace(program, paged=paged), now, newest=pattern_id)


def refilled(program: Program, now: datetime, free_bytes: int) -> Program:
    """Return a whole program with the strongest lessons of its pages back that its cap and its
    document have room for.

    The same program when none comes back.
    """
    room = program.decay.max_unpromoted_patterns - sum(
        not pattern.promoted for pattern in program.active.values()
    )
    if room <= 0:
        return program
    unpromoted = [
        program.patterns[id_] for id_ in program.paged if not program.patterns[id_].promoted
    ]
    strongest = _weakest(unpromoted, now)[::-1][:room]
    filled = accumulate(pattern.bytes_without_search for pattern in strongest)
    back = {
        pattern.id
        for pattern, bytes_ in zip(strongest, filled, strict=True)
        if bytes_ <= free_bytes
    }
    return (
        replace(
            program, paged={id_: lesson for id_, lesson in program.paged.items() if id_ not in back}
        )
        if back
        else program
    )


def with_fitting_pages(before: Program, program: Program, now: datetime) -> Capped:
    """Move the weakest lessons off a page that they outgrew since `before`, to the other page or
    else to the archive.

    Contributions to entries are the last to leave. Raises PagesNeededError when a page must shrink
    and was not read.
    """
    read = program.patterns.keys() & program.paged.keys()
    if all(before.patterns.get(id_) is program.patterns[id_] for id_ in read):
        return Capped(program)
    sizes = {id_: _size(program, lesson) for id_, lesson in program.paged.items()}
    leaving: dict[str, Pattern] = {}
    for number in range(1, MAX_PAGES + 1):
        ids = [id_ for id_, lesson in program.paged.items() if lesson.page == number]
        excess = sum(sizes[id_] for id_ in ids) - MAX_PAGE_BYTES
        if excess > 0:
            require_whole(program)
            weakest = sorted(
                _weakest([program.patterns[id_] for id_ in ids], now),
                key=lambda pattern: pattern.promoted,
            )
            freed = accumulate((sizes[pattern.id] for pattern in weakest), initial=0)
            leaving |= {
                pattern.id: pattern
                for pattern, before in zip(weakest, freed, strict=False)
                if before < excess
            }
    if not leaving:
        return Capped(program)
    paged = {
        id_: lesson if lesson.size == sizes[id_] else replace(lesson, size=sizes[id_])
        for id_, lesson in program.paged.items()
        if id_ not in leaving
    }
    return _moved(replace(program, paged=paged), [*leaving.values()], now)


def paged_lesson(pattern: Pattern, page: int) -> PagedLesson:
    """Return a lesson as its program knows it on a page."""
    return PagedLesson(
        id=pattern.id,
        page=page,
        words=pattern.words,
        size=pattern.bytes_without_search,
        last_reinforced=pattern.last_reinforced,
        promoted=pattern.promoted,
        knowledge_key=pattern.knowledge_key,
    )


def outgoing(own: Mapping[str, Pattern], program: Program) -> Mapping[str, Pattern]:
    """Return the lessons on pages that may stay where they are stored for now, `own`: in the
    program's document.

    None once there are too many: then all of them move, so that most changes of a full memory write
    no page.
    """
    staying = {
        id_: program.patterns.get(id_, own[id_])
        for id_ in sorted(program.paged.keys() & own.keys())
    }
    fits = (
        len(staying) <= program.decay.max_unpromoted_patterns // OUTGOING_SHARE
        and sum(pattern.stored_bytes for pattern in staying.values()) <= MAX_OUTGOING_BYTES
    )
    return staying if fits else {}


def moved_out(
    paged: Mapping[str, PagedLesson], outgoing: Collection[str]
) -> Mapping[str, PagedLesson]:
    """Return the lessons on pages without those that are still stored in the program's document."""
    left = dict(paged)  # copied as a whole: few of them leave
    for id_ in outgoing:
        left.pop(id_, None)
    return left


def archived(
    program: Program,
    patterns: Sequence[Pattern],
    reason: ArchiveReason,
    now: datetime,
    why: str = "",
) -> tuple[Program, tuple[Archived, ...]]:
    """Return the program without these patterns, and their lines in the archive."""
    if not patterns:
        return program, ()
    gone = {pattern.id for pattern in patterns}
    left = replace(
        program,
        patterns={id_: pattern for id_, pattern in program.patterns.items() if id_ not in gone},
        paged={id_: lesson for id_, lesson in program.paged.items() if id_ not in gone},
        pending=tuple(id_ for id_ in program.pending if id_ not in gone),
    )
    name = program.program_id
    return left, tuple(
        Archived(program_id=name, pattern=p, reason=reason, at=now, why=why) for p in patterns
    )


def _moved(program: Program, leaving: Sequence[Pattern], now: datetime) -> Capped:
    """Move lessons to the first page with room; where none has any, the weakest of them all go to
    the archive.

    A twentieth of them leaves at once, one at least: most changes of a full memory find room and
    read no page.
    """
    paged, gone = dict(program.paged), dict[str, Pattern]()
    for pattern in leaving:
        while (page := _page_with_room(paged.values(), pattern.bytes_without_search)) is None:
            require_whole(program)
            others = [lesson for id_ in paged if not (lesson := program.patterns[id_]).promoted]
            for weakest in _weakest([*others, pattern], now)[: max(1, len(others) // FREED_SHARE)]:
                paged.pop(weakest.id, None)
                gone[weakest.id] = weakest
            if pattern.id in gone:
                break
        else:
            paged[pattern.id] = paged_lesson(pattern, page)
    after, lines = archived(replace(program, paged=paged), [*gone.values()], "cap", now)
    return Capped(after, tuple(pattern for pattern in leaving if pattern.id in paged), lines)


def _page_with_room(paged: Collection[PagedLesson], size: int) -> int | None:
    for page in range(1, MAX_PAGES + 1):
        sizes = [lesson.size for lesson in paged if lesson.page == page]
        if len(sizes) < MAX_PATTERNS_PER_PAGE and sum(sizes) + size <= MAX_PAGE_BYTES:
            return page
    return None


def _size(program: Program, lesson: PagedLesson) -> int:
    """Return the bytes of a lesson on a page as it is now; `lesson` has those of its last
    commit.
    """
    pattern = program.patterns.get(lesson.id)
    return pattern.bytes_without_search if pattern else lesson.size


def _weakest(patterns: Sequence[Pattern], now: datetime) -> list[Pattern]:
    faded = strengths(patterns, now).tolist()
    order = sorted(
        (faded[at], lesson.last_reinforced, lesson.id, at) for at, lesson in enumerate(patterns)
    )
    return [patterns[at] for *_, at in order]
