"""Lessons of single programs that others may be shown before they are knowledge: which, to whom,
and by which key they are named.

The shelf keeps the strongest of a fleet. A recall ranks them by its question, on the scale of
`rules.retrieval.ranking`, and shows the first that `choose_others` admits.
"""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from fleet_memory.rules.entries import origin_of, recorded_state, standing
from fleet_memory.rules.lifecycle.decay import is_stale, living, strengths
from fleet_memory.rules.retrieval.ranking import Match, RecallFilters, rows_by_words
from fleet_memory.rules.text import first_sentences
from fleet_memory.rules.text.keys import (
    SUFFIX_DIGITS,
    digest,
    is_key_of,
    knowledge_key,
    text_hash,
)
from fleet_memory.rules.text.steering import lesson_steering, steering_words
from fleet_memory.schemas.knowledge import Entry, Snapshot
from fleet_memory.schemas.patterns import OthersLesson, Pattern
from fleet_memory.schemas.programs import DecayConfig, Program

MAX_SHELF: Final = 2_000  # lessons; Source: docs/recall.md, chosen
MAX_SHELF_BYTES: Final = 3_000_000  # of their stored texts; a server keeps them in memory. Chosen
MAX_OTHERS: Final = 5  # in a recall; Source: docs/recall.md
MAX_OTHERS_AT_BOOT: Final = 3
MAX_OPENING_CHARS: Final = 300  # characters of whole sentences; Source: docs/recall.md


class WordsAbout(NamedTuple):
    """What other programs said about a candidate: how many confirmed it with evidence, and whether
    an open word is against it. `text` is the `text_hash` of the candidate.
    """

    text: str
    confirmed: int
    is_against: bool


def words_about(entry: Entry) -> WordsAbout | None:
    """Return what programs said about an entry that is no knowledge, None where none did."""
    if recorded_state(entry) != "candidate" or not entry.words:
        return None
    stands = standing(entry)
    text = text_hash(entry.value.pattern)
    return WordsAbout(text, stands.confirmed, is_against=stands.contradicted > 0)


def lessons_of(program: Program, now: datetime) -> list[OthersLesson]:
    """Return the lessons of a program that others may be shown by its own words: those that are
    not stale, and that it has not contradicted since it confirmed them last.
    """
    return [
        _others_lesson(program, lesson)
        for lesson in living(program.patterns.values(), now, program.decay)
        if "contradicted" not in [line.outcome for line in lesson.evidence_log[-1:]]
    ]


def _others_lesson(program: Program, lesson: Pattern) -> OthersLesson:
    return OthersLesson(
        program_id=program.program_id,
        max_age=program.decay.max_age,
        plain_key=knowledge_key(lesson.domain, lesson.pattern),
        id=lesson.id,
        domain=lesson.domain,
        pattern=lesson.pattern,
        confidence=lesson.confidence,
        evidence=first_sentences(lesson.evidence, MAX_OPENING_CHARS),
        discovered_at=lesson.discovered_at,
        last_reinforced=lesson.last_reinforced,
        project_id=lesson.project_id,
        tags=lesson.tags,
        stored_at=lesson.stored_at,
        doublings=lesson.doublings,
        knowledge_keys=lesson.knowledge_keys,
        allowed=lesson.allowed,
        words=lesson.words,
        vector=b64encode(lesson.searched_vector).decode("ascii"),
        embedder=lesson.embedder,
    )


def may_be_shown(lesson: OthersLesson, now: datetime) -> bool:
    """Whether a lesson may be shown to any other program: it is not stale, and neither its text,
    its evidence, its domain nor its tags give their reader orders, or people allowed it.
    """
    if _is_stale(lesson, now):
        return False
    if lesson.allowed:
        return True
    tags = (tag.replace("-", " ") for tag in lesson.tags)
    return not (
        lesson_steering(lesson.pattern, lesson.evidence, lesson.domain) or steering_words(*tags)
    )


def _is_stale(lesson: OthersLesson, now: datetime) -> bool:
    return is_stale(lesson, now, DecayConfig(max_age=lesson.max_age))


def strongest(
    lessons: Iterable[OthersLesson], now: datetime, known: Iterable[OthersLesson] = ()
) -> list[OthersLesson]:
    """Return the lessons that the shelf has room for, the strongest that may be shown, by program
    and id; in place of one that equals a `known` one, which was found to be, that one itself.
    """
    living = [lesson for lesson in lessons if not _is_stale(lesson, now)]
    before = {(lesson.program_id, lesson.id): lesson for lesson in known}
    faded = strengths(living, now).tolist()
    kept, room = list[OthersLesson](), MAX_SHELF_BYTES
    for at in sorted(range(len(living)), key=lambda at: (-faded[at], living[at].words)):
        lesson, old = living[at], before.get((living[at].program_id, living[at].id))
        if old == lesson:
            lesson = old
        elif not may_be_shown(lesson, now):
            continue
        room -= lesson.stored_bytes + 1
        if room < 0 or len(kept) == MAX_SHELF:
            break
        kept.append(lesson)
    return sorted(kept, key=lambda lesson: (lesson.program_id, lesson.id))


def choose_others(
    reader: Program,
    ranked: Iterable[Match[OthersLesson]],
    filters: RecallFilters,
    snapshot: Snapshot,
    words: Mapping[str, WordsAbout],
    now: datetime,
) -> Iterator[Match[OthersLesson]]:
    """Yield the lessons that the reader may be shown, in their order, each text and each entry
    once.

    They are of other origins, and of the reader's project or of none; its project is the filters',
    else those of its own lessons, and a reader of none meets all. Not one that the reader has
    itself in equal words, nor one whose text or entry has a row of knowledge: that is shown as
    knowledge, or was retired or withdrawn. Not one that another program contradicted.
    """
    mine = {lesson.project_id for lesson in reader.patterns.values()} - {None}
    projects = mine if filters.project_id is None else {filters.project_id}
    origin = origin_of(reader.program_id)
    against = {key: about.text for key, about in words.items() if about.is_against}
    keys = {key for row in snapshot.rows for key in (row.key, *row.also)} | {*against}
    texts = {lesson.words for lesson in reader.patterns.values()} | {*against.values()}
    stated = rows_by_words(snapshot.rows)
    of_any = filters._replace(project_id=None)
    for match in ranked:
        lesson = match.lesson
        if (
            of_any.admitted([lesson])
            and (not projects or lesson.project_id in {None, *projects})
            and keys.isdisjoint(lesson.knowledge_keys)
            and lesson.words not in texts
            and lesson.words not in stated
            and origin_of(lesson.program_id) != origin
            and may_be_shown(lesson, now)
        ):
            yield match
            texts.add(lesson.words)
            keys.update(lesson.knowledge_keys)


def keys_of_others(
    lessons: Iterable[OthersLesson], snapshot: Snapshot
) -> dict[tuple[str, str], str]:
    """Return by program and id the key that agents name each lesson by: that of an entry of its
    words, made or to be made.

    Of several texts whose key has the same words, the oldest has the plain key, the others one with
    a suffix (`rules.entries.keys_of`). `lessons` are all those of such a key, so that it stays one
    text's.
    """
    owners: dict[str, tuple[str, str | None]] = {row.key: ("", None) for row in snapshot.rows}
    keys = dict[tuple[str, str], str]()
    for lesson in sorted(
        lessons,
        key=lambda each: (_own_key(each) is None, each.stored_at, each.program_id, each.id),
    ):
        text, own = (lesson.words, lesson.project_id), _own_key(lesson)
        key = own or lesson.plain_key
        if owners.setdefault(key, text) != text and own is None:
            key = f"{key}-{digest(lesson.words, lesson.project_id or '')[:SUFFIX_DIGITS]}"
        keys[lesson.program_id, lesson.id] = key
    return keys


def _own_key(lesson: OthersLesson) -> str | None:
    """Return the key of the lesson's entry if it has the lesson's own words."""
    keys = (key for key in lesson.knowledge_keys if is_key_of(key, lesson.domain, lesson.pattern))
    return next(keys, None)
