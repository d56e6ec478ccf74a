"""Read a file of `export`: each document as its value, or the first line that is wrong."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias, cast

from pydantic import TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.jobs.transfer.files import (
    COLLECTIONS,
    LEFT_BEHIND,
    Fields,
    Line,
    NumberedLine,
    ParsedFile,
)
from fleet_memory.repositories.documents import texts_of
from fleet_memory.repositories.policies import versioned_policy
from fleet_memory.repositories.program_codec import versioned_program
from fleet_memory.repositories.records import (
    MAX_SUMMARIES,
    archive_record,
    ledger_line,
    past_summary,
)
from fleet_memory.repositories.snapshots import versioned_entry
from fleet_memory.rules.lifecycle.decay import CLOCK_SKEW
from fleet_memory.rules.pairs import PERSON, SIDES, ruling, sides_in_order
from fleet_memory.rules.text.credentials import Credential, credential_at
from fleet_memory.rules.text.keys import pair_id, text_hash
from fleet_memory.schemas.fields import Name
from fleet_memory.schemas.knowledge import Entry, LedgerLine
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import ArchiveRecord, PastSummary, Program
from fleet_memory.stores import Document, Json, Ref, document_id

LedgerLines: TypeAlias = Mapping[str, LedgerLine]
"""Lines of a ledger by their ids."""


class Incoming(NamedTuple):
    """Memory to merge into a fleet: checked, decoded, and in no store yet.

    `fleet` is the name that it had there, "" where there are none. `programs` are whole: lessons of
    pages are among their patterns. A reader of another program's memory fills in the programs with
    their lessons, notes and `last_update`: merging makes lessons pending, keeps the cap, and the
    next maintenance makes vectors. `policy` is None where none was exported.
    """

    fleet: str = ""
    programs: Sequence[Program] = ()
    entries: Sequence[Entry] = ()
    pairs: Sequence[Pair] = ()
    ledger: LedgerLines = MappingProxyType({})
    archive: Sequence[ArchiveRecord] = ()
    history: Sequence[PastSummary] = ()
    policy: Policy | None = None

    @property
    def rules(self) -> list[Entry]:
        """The entries that people set."""
        return [entry for entry in self.entries if entry.tier == "constitutional"]


PAGES: Final = "pages"  # a collection of 0.2.0: lessons of a program beside its document
_NAME: Final[TypeAdapter[str]] = TypeAdapter(Name)


class ExportedMemory(NamedTuple):
    """The content of a file, and the first credential of each line by the line's number."""

    incoming: Incoming
    credentials: Mapping[int, Credential] = MappingProxyType({})


class _Page(NamedTuple):
    program_id: str
    lessons: Mapping[str, Pattern]


class _Decoded(NamedTuple):
    """The value of a line, and the id that its document must have; None where any will do."""

    value: object
    id: str | None = None


def exported_memory(file: ParsedFile, now: datetime) -> ExportedMemory:
    """Return the content of a file. Raises InvalidArgumentError, which names the first line that is
    wrong.
    """
    values: dict[str, dict[str, object]] = {name: {} for name in (*COLLECTIONS, PAGES)}
    numbers: dict[tuple[str, str], int] = {}
    moved = [
        numbered for numbered in file.lines if numbered.value.get("collection") not in LEFT_BEHIND
    ]
    for numbered in moved:
        line = _line(numbered)
        place = (line.collection, line.id)
        if place in numbers:
            raise InvalidArgumentError(
                f"line {numbered.number}: {line.collection}/{line.id} is in line "
                f"{numbers[place]} already"
            )
        numbers[place] = numbered.number
        values[line.collection][line.id] = _value(line, numbered.number, now)
    return ExportedMemory(_incoming(file.fleet, values), credentials_of(moved))


def credentials_of(lines: Iterable[NumberedLine]) -> dict[int, Credential]:
    """Return the first credential of each line that holds one, by the line's number."""
    return {
        line.number: credential
        for line in lines
        if (credential := credential_at(texts_of(cast("Json", line.value["fields"]))))
    }


def _incoming(fleet: str, values: Mapping[str, Mapping[str, object]]) -> Incoming:
    pages: dict[str, dict[str, Pattern]] = {}
    for page in cast("Iterable[_Page]", values[PAGES].values()):
        pages.setdefault(page.program_id, {}).update(page.lessons)
    programs = cast("list[Program]", [*values["programs"].values()])
    if strays := sorted(pages.keys() - {program.program_id for program in programs}):
        raise InvalidArgumentError(
            f"FILE: has pages but not the programs that they belong to: {', '.join(strays)}"
        )
    return Incoming(
        fleet=fleet,
        programs=[
            replace(program, patterns={**pages.get(program.program_id, {}), **program.patterns})
            for program in programs
        ],
        entries=cast("list[Entry]", [*values["gsp"].values()]),
        pairs=cast("list[Pair]", [*values["pairs"].values()]),
        ledger=cast("Mapping[str, LedgerLine]", values["ledger"]),
        archive=cast("list[ArchiveRecord]", [*values["archive"].values()]),
        history=cast("list[PastSummary]", [*values["history"].values()]),
        policy=next(iter(cast("Iterable[Policy]", values["policy"].values())), None),
    )


def _line(numbered: NumberedLine) -> Line:
    value = numbered.value
    collection, id_, fields = value.get("collection"), value.get("id"), value.get("fields")
    known = (*COLLECTIONS, PAGES)
    if collection not in known or not isinstance(id_, str) or not isinstance(fields, dict):
        raise InvalidArgumentError(
            f"line {numbered.number}: must have a collection ({', '.join(COLLECTIONS)}), an id "
            "and fields"
        )
    return Line(str(collection), id_, cast("Fields", fields))


def _value(line: Line, number: int, now: datetime) -> object:
    try:
        value, expected = _CODECS[line.collection](Document(Ref("", line.id), line.fields, ""))
    except (
        ValidationError,
        KeyError,
        TypeError,
        AttributeError,
        ValueError,
        RecursionError,
    ) as error:
        raise InvalidArgumentError(
            f"line {number}: the {line.collection} document {line.id} is not sound"
        ) from error
    if expected is not None and line.id != expected:
        raise InvalidArgumentError(
            f"line {number}: the {line.collection} document {line.id} is not sound: its id "
            f"should be {expected}"
        )
    for field, at in times_in(value):
        if at > now + CLOCK_SKEW:
            raise InvalidArgumentError(
                f"line {number}: the {line.collection} document {line.id} is from the future: "
                f"{field} is later than {now.isoformat()}"
            )
    return value


def times_in(value: object, field: str = "") -> Iterator[tuple[str, datetime]]:
    """Yield every time in a value, however deep, with the name of the field that has it as a file
    spells it.
    """
    if isinstance(value, datetime):
        yield field, value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from times_in(item, field)
    elif isinstance(value, tuple) and hasattr(value, "_asdict"):
        yield from _times_of(value._asdict())
    elif isinstance(value, list | tuple):
        for item in value:
            yield from times_in(item, field)
    elif is_dataclass(value) and not isinstance(value, type):
        yield from _times_of({each.name: getattr(value, each.name) for each in fields(value)})


def _times_of(parts: Mapping[str, object]) -> Iterator[tuple[str, datetime]]:
    for name, part in parts.items():
        yield from times_in(part, to_camel(name))


def _program(document: Document) -> _Decoded:
    program = versioned_program(document).program
    patterns = {id_: _with_words(lesson) for id_, lesson in program.patterns.items()}
    id_ = document_id(_NAME.validate_python(program.program_id))
    return _Decoded(replace(program, patterns=patterns), id_)


def _page(document: Document) -> _Decoded:
    """Return some lessons of a program, which 0.2.0 kept in a document of their own."""
    fields = document.fields
    texts = cast("Mapping[str, str]", fields["patterns"]).values()
    lessons = [_with_words(Pattern.from_json(text)) for text in texts]
    page = _Page(str(fields["programId"]), {lesson.id: lesson for lesson in lessons})
    return _Decoded(page, document_id(f"{page.program_id}~{fields['page']}"))


def _with_words(lesson: Pattern) -> Pattern:
    """Return a lesson with the hash of its words, which 0.2.0 made otherwise."""
    return replace(lesson, words=text_hash(lesson.pattern))


def _entry(document: Document) -> _Decoded:
    fields = document.fields
    if "publications" not in fields:  # of 0.2.0
        document = document._replace(fields=_entry_of_0_2(fields))
    entry = versioned_entry(document).entry
    return _Decoded(entry, document_id(str(fields["key"])))


def _entry_of_0_2(fields: Fields) -> Fields:
    """Return an entry with its publication and its end as facts. Its contributions are discoveries:
    others were none.
    """
    published, retired = fields.get("publishedAt"), fields.get("retiredAt")
    publication: Fields = {"at": published, "threshold": fields["threshold"]}
    words = text_hash(str(cast("Fields", fields["value"])["pattern"]))
    lines: list[Json] = []
    for line in cast("list[Fields]", fields.get("provenance", [])):
        at, own = line.get("storedAt") or line["discoveredAt"], text_hash(str(line["pattern"]))
        basis: Fields = {} if words == own else {"basis": "judged", "pair": pair_id(words, own)}
        lines.append({**line, "storedAt": at, **basis})
    return {
        **fields,
        "provenance": lines,
        "publications": [publication] if published else [],
        "decisions": [{"kind": "retired", "at": retired, "by": PERSON}] if retired else [],
    }


def _pair(document: Document) -> _Decoded:
    """Return a pair under the id of its words; a verdict of 0.2.0 says that it is an author's, but
    not of which side.
    """
    fields = cast("Fields", json.loads(str(document.fields["text"])))
    pair = Pair.from_fields(fields)
    a, b = sides_in_order(pair.a, pair.b)
    judgements = cast("list[Fields]", fields.get("judgements", []))
    authored = [
        replace(
            each,
            sides=tuple(
                name
                for name, side in zip(SIDES, (a, b), strict=True)
                if side.program_id == each.program_id
            ),
        )
        if judgement.get("contributed")
        else each
        for each, judgement in zip(pair.judgements, judgements, strict=True)
    ]
    known = replace(
        pair,
        pair_id=pair_id(text_hash(a.text), text_hash(b.text)),
        a=a,
        b=b,
        judgements=tuple(authored),
    )
    state = pair.state if pair.state == "gone" else ruling(known)
    return _Decoded(replace(known, state=state), document_id(pair.pair_id))


def _summary(document: Document) -> _Decoded:
    past = past_summary(document)
    return _Decoded(past, document_id(f"{past.program_id}#{past.number % MAX_SUMMARIES}"))


_CODECS: Final[Mapping[str, Callable[[Document], _Decoded]]] = {
    "programs": _program,
    PAGES: _page,
    "gsp": _entry,
    "pairs": _pair,
    "ledger": lambda document: _Decoded(ledger_line(document)),
    "archive": lambda document: _Decoded(archive_record(document)),
    "history": _summary,
    "policy": lambda document: _Decoded(versioned_policy(document).policy, "policy"),
}
