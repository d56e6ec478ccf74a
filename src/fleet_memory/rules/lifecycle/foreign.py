"""Texts of other memories as lessons: which fit, whose they become, and which a program takes."""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from fleet_memory.rules.lifecycle.admission import admitted
from fleet_memory.rules.lifecycle.decay import is_stale
from fleet_memory.rules.lifecycle.sent import SentLesson
from fleet_memory.rules.text.keys import digest, pattern_id, text_hash
from fleet_memory.schemas.fields import MAX_NAME_CHARS
from fleet_memory.schemas.foreign import MAX_SHOWN_CHARS, ForeignMemory, ForeignText, LeftOut
from fleet_memory.schemas.patterns import NewPattern, Pattern, Source
from fleet_memory.schemas.programs import MAX_PAGES, MAX_PATTERNS_PER_PAGE, Archived, Program
from fleet_memory.schemas.search_vectors import IMPORTED
from fleet_memory.schemas.similarity import Profile
from fleet_memory.schemas.value import InvalidValueError

FOREIGN_CONFIDENCE: Final = (
    0.5  # nothing is known of how sure anybody was; Source: docs/other-memories.md, chosen
)
MAX_ORIGIN_CHARS: Final = (
    50  # characters of the name of a memory's owner; chosen: its mark is a session's name
)
MAX_TAGS: Final = 10
MAX_TAG_CHARS: Final = 50
_SURROGATE: Final = re.compile(
    "[\ud800-\udfff]"
)  # half a character, which JSON can have and UTF-8 cannot
_NAME_MARKS: Final = frozenset("._:/-")


class ForeignLesson(NamedTuple):
    """A lesson made of a text of another memory, the place of that text, and the program that takes
    it.
    """

    program_id: str
    place: str
    pattern: NewPattern

    @property
    def words(self) -> tuple[str, str | None]:
        """The same for two lessons that a program keeps as one."""
        return text_hash(self.pattern.pattern), self.pattern.project_id


class FittingLessons(NamedTuple):
    """The lessons of another memory, each once, and its parts that are none."""

    lessons: Sequence[ForeignLesson]
    left_out: Sequence[LeftOut]


class Taken(NamedTuple):
    """A program after it took lessons of another memory: those that are new to it, and those that
    it has no room for.

    The others it had already, or has forgotten.
    """

    program: Program
    new: tuple[ForeignLesson, ...] = ()
    no_room: tuple[ForeignLesson, ...] = ()
    archived: tuple[Archived, ...] = ()


def fitting_lessons(
    memory: ForeignMemory,
    program_id: str | None,
    now: datetime,
    credential_in: Callable[[str], str | None],
) -> FittingLessons:
    """Return the texts of another memory that are lessons: of `program_id`, else of their owner or
    of the source.

    The newest come first. A text twice in one memory is one lesson, with the earliest and the
    latest of its times. `credential_in` names the rule by which a text is a credential.
    """
    lessons: dict[tuple[str, tuple[str, str | None]], ForeignLesson] = {}
    left_out = list(memory.left_out)
    for text in memory.texts:
        lesson = _lesson(memory, text, program_id, now, credential_in)
        if isinstance(lesson, LeftOut):
            left_out.append(lesson)
        elif (key := (lesson.program_id, lesson.words)) in lessons:
            lessons[key] = lessons[key]._replace(
                pattern=_joined(lessons[key].pattern, lesson.pattern)
            )
            left_out.append(LeftOut("repeated", text.place, f"the words of {lessons[key].place}"))
        else:
            lessons[key] = lesson
    newest = sorted(
        lessons.values(), key=lambda lesson: lesson.pattern.last_reinforced or now, reverse=True
    )
    return FittingLessons(newest, [_shown(part, credential_in) for part in left_out])


def with_foreign_lessons(
    program: Program,
    lessons: Sequence[tuple[ForeignLesson, SentLesson]],
    gone: Collection[str],
    *,
    profile: Profile,
    now: datetime,
) -> Taken:
    """Return a program with those of `lessons` that are new to it, as far as it has room without an
    archive.

    Each comes with itself as it is sent, with its vector. A lesson that it has, by its id or in
    equal words, stays as it is; one of the words in `gone` was forgotten, and stays so. The program
    was read whole.
    """
    after, new, no_room, archived = (
        program,
        list[ForeignLesson](),
        list[ForeignLesson](),
        list[Archived](),
    )
    for lesson, sent in lessons:
        if _is_known(after, lesson) or text_hash(lesson.pattern.pattern) in gone:
            continue
        if (
            after.patterns_count
            >= program.decay.max_unpromoted_patterns + MAX_PAGES * MAX_PATTERNS_PER_PAGE
        ):
            no_room.append(lesson)
            continue
        admission = admitted(after, sent, profile=profile, on_duplicate="keep", now=now)
        after = admission.program
        new.append(lesson)
        archived += admission.archived
    return Taken(after, tuple(new), tuple(no_room), tuple(archived))


def _shown(part: LeftOut, credential_in: Callable[[str], str | None]) -> LeftOut:
    """Return a part that became no lesson, for a terminal: without words that are a credential, and
    printable.
    """
    place, why = (
        "not shown, has a credential" if credential_in(text) else _printable(text)[:MAX_SHOWN_CHARS]
        for text in (part.place, part.why)
    )
    return part._replace(place=place, why=why)


def _printable(text: str) -> str:
    return "".join(mark if mark.isprintable() else "?" for mark in text)


def faded_lessons(lessons: Iterable[ForeignLesson], program: Program, now: datetime) -> int:
    """Count the lessons that are so old that they are stale at once."""
    return sum(is_stale(_as_stored(lesson, now), now, program.decay) for lesson in lessons)


def _is_known(program: Program, lesson: ForeignLesson) -> bool:
    words, project = lesson.words
    id_ = lesson.pattern.id or ""
    return program.has(id_) or any(
        id_ in pattern.calls or (pattern.words, pattern.project_id) == (words, project)
        for pattern in program.patterns.values()
    )


def _as_stored(lesson: ForeignLesson, now: datetime) -> Pattern:
    sent = lesson.pattern
    at = sent.last_reinforced or now
    return Pattern(
        id=sent.id or "",
        domain=sent.domain,
        pattern=sent.pattern,
        confidence=sent.confidence,
        discovered_at=at,
        last_reinforced=at,
        stored_at=now,
    )


def _lesson(
    memory: ForeignMemory,
    text: ForeignText,
    program_id: str | None,
    now: datetime,
    credential_in: Callable[[str], str | None],
) -> ForeignLesson | LeftOut:
    statement, context = text.text.strip(), f"{IMPORTED}{memory.source}: {text.context}"
    tags = _tags([memory.source, *text.tags])
    if rule := next(filter(None, map(credential_in, _kept(text, statement, context, tags))), None):
        return LeftOut("credential", text.place, f"rule {rule}")
    if _SURROGATE.search("".join((statement, context, text.project, *text.topics))):
        return LeftOut("damaged", text.place, "not Unicode text")
    changed = min(text.changed or text.created or now, now)
    project = name_of(text.project) or None
    fields = {
        "pattern": statement,
        "domain": _domain(text.topics),
        "confidence": FOREIGN_CONFIDENCE,
        "evidence": context,
        "id": pattern_id(statement)
        if project is None
        else f"{pattern_id(statement)}-{digest(project)[:6]}",
        "discoveredAt": min(text.created or changed, changed),
        "lastReinforced": changed,
        "projectId": project,
        "sessionId": _origin_of(memory),
        "tags": tags,
    }
    try:
        pattern = NewPattern.model_validate(fields)
    except InvalidValueError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return LeftOut("limit", text.place, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
    return ForeignLesson(program_id or name_of(text.owner) or memory.source, text.place, pattern)


def _kept(text: ForeignText, statement: str, context: str, tags: Sequence[str]) -> list[str]:
    """Return all that a lesson would keep of a text, and the statement with each name that stands
    over it.
    """
    names = [*text.topics, *tags]
    owners = [text.owner, text.project, name_of(text.owner), name_of(text.project)]
    return [statement, context, *names, *owners, *(f"{name}: {statement}" for name in names)]


def source_of(memory: ForeignMemory) -> Source:
    """Return where the lessons of a memory come from: one connection for all memories of its
    origin.
    """
    return Source(connection=_origin_of(memory), client=memory.source)


def _origin_of(memory: ForeignMemory) -> str:
    """Return the mark of an origin, e.g. `import:of:ana` for a named memory; the others of a source
    are one.
    """
    return f"import:of:{memory.origin.casefold()}" if memory.origin else f"import:{memory.source}"


def name_of(text: str) -> str:
    """Return the name that a text of another memory becomes, e.g. "Backend Dev" -> "Backend-Dev";
    "" for none.
    """
    plain = "".join(
        mark if _is_name_mark(mark) else "-" for mark in unicodedata.normalize("NFKD", text.strip())
    )
    while ".." in plain:
        plain = plain.replace("..", ".")
    return plain[:MAX_NAME_CHARS].strip("-.") if any(mark.isalnum() for mark in plain) else ""


def _is_name_mark(mark: str) -> bool:
    return mark.isascii() and (mark.isalnum() or mark in _NAME_MARKS)


def _domain(topics: Sequence[str]) -> str:
    """Return the first topic that can be written in Latin letters, else the first that there is."""
    named = [topic.strip()[:MAX_NAME_CHARS] for topic in topics if topic.strip()]
    return next(
        (topic for topic in named if name_of(topic).strip("0123456789-")),
        named[0] if named else "imported",
    )


def _tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return the tags that a lesson may have, each once, at most 10."""
    plain = dict.fromkeys(" ".join(tag.split()) for tag in tags)
    return tuple(tag for tag in plain if 0 < len(tag) <= MAX_TAG_CHARS and tag.isprintable())[
        :MAX_TAGS
    ]


def _joined(known: NewPattern, other: NewPattern) -> NewPattern:
    """Return a lesson with the earliest and the latest of two times that the same words were found
    with.
    """
    discovered = [at for at in (known.discovered_at, other.discovered_at) if at]
    reinforced = [at for at in (known.last_reinforced, other.last_reinforced) if at]
    return known.model_copy(
        update={"discovered_at": min(discovered), "last_reinforced": max(reinforced)}
    )
