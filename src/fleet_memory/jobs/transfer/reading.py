"""Read a file of `export`: each document as its value, or the first line that is wrong.

Lessons, verdicts and words of version 0.2 are read too; its entries come again of them.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias, cast

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.jobs.transfer.files import COLLECTIONS, Fields, ParsedFile
from fleet_memory.repositories.documents import texts_of
from fleet_memory.repositories.programs import versioned_program
from fleet_memory.rules.lifecycle.decay import CLOCK_SKEW
from fleet_memory.rules.pairs import PERSON, SIDES, ruling, sides_in_order
from fleet_memory.rules.text.credentials import Credential, credential_at
from fleet_memory.rules.text.keys import pair_id, text_hash
from fleet_memory.schemas.knowledge import Entry, LedgerLine
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import ArchiveRecord, PastSummary, Program
from fleet_memory.stores import Document, Json, Ref

LedgerLines: TypeAlias = Mapping[str, LedgerLine]
"""Lines of a ledger by their ids."""


class Incoming(NamedTuple):
    """Memory to merge into a fleet: checked, decoded, and in no store yet.

    `fleet` is the name that it had there. `policy` is None where none was exported. `owned` are
    documents of toolsets, `credentials` the first of each line by the line's number.
    """

    fleet: str = ""
    programs: Sequence[Program] = ()
    entries: Sequence[Entry] = ()
    pairs: Sequence[Pair] = ()
    ledger: LedgerLines = MappingProxyType({})
    archive: Sequence[ArchiveRecord] = ()
    history: Sequence[PastSummary] = ()
    policy: Policy | None = None
    owned: Sequence[Document] = ()
    credentials: Mapping[int, Credential] = MappingProxyType({})

    @property
    def rules(self) -> list[Entry]:
        """The entries that people set."""
        return [entry for entry in self.entries if entry.tier == "constitutional"]


def exported_memory(file: ParsedFile, now: datetime) -> Incoming:
    """Return the content of a file. Raises InvalidArgumentError, which names the first line that is
    wrong.
    """
    values: dict[str, list[object]] = {collection: [] for collection in _CODECS}
    ledger: dict[str, LedgerLine] = {}
    credentials: dict[int, Credential] = {}
    owned: list[Document] = []
    for number, line in file.lines.items():
        if line.get("collection") == "receipts":  # of version 0.2
            continue
        document, value = _value(number, line, now)
        if credential := credential_at(texts_of(document.fields)):
            credentials[number] = credential
        if isinstance(value, LedgerLine):
            ledger[document.ref.id] = value
        if isinstance(value, Document):
            owned.append(value)
        else:
            values[document.ref.collection].append(value)
    programs: dict[str, Program] = {}
    for program in cast("list[Program]", [*values["programs"], *values["pages"]]):
        known = programs.get(program.program_id, program)
        lessons = {**program.patterns, **known.patterns}
        programs[program.program_id] = replace(known, patterns=lessons)
    return Incoming(
        file.fleet,
        [*programs.values()],
        cast("list[Entry]", values["gsp"]),
        cast("list[Pair]", values["pairs"]),
        ledger,
        cast("list[ArchiveRecord]", values["archive"]),
        cast("list[PastSummary]", values["history"]),
        next(iter(cast("list[Policy]", values["policy"])), None),
        owned,
        credentials,
    )


def _value(number: int, line: Mapping[str, object], now: datetime) -> tuple[Document, object]:
    """Return the document of a line, and its value."""
    collection, id_, fields_ = (line.get(name) for name in ("collection", "id", "fields"))
    if not (isinstance(collection, str) and isinstance(id_, str) and isinstance(fields_, dict)):
        raise InvalidArgumentError(f"line {number}: must have a collection, an id and fields")
    document = Document(Ref(collection, id_), cast("Fields", fields_), "")
    named = f"line {number}: the {collection} document {id_}"
    try:
        value = _CODECS.get(collection, _of_toolset)(document)
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise InvalidArgumentError(f"{named} is not sound") from error
    if any(at > now + CLOCK_SKEW for at in times_in(value)):
        raise InvalidArgumentError(f"{named} is from the future: later than {now.isoformat()}")
    return document, value


def times_in(value: object) -> Iterator[datetime]:
    """Yield every time in a value, however deep."""
    if isinstance(value, datetime):
        yield value
    elif isinstance(value, Mapping | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from times_in(item)
    elif is_dataclass(value):
        yield from times_in(vars(value))


def _program(document: Document) -> Program:
    """Return a program; one of 0.2 without the decay that people set, which names it."""
    program = versioned_program(document).program
    if "decayConfig" not in document.fields:
        return program
    return replace(program, patterns={id_: _lesson(it) for id_, it in program.patterns.items()})


def _lesson(lesson: Pattern) -> Pattern:
    """Return a lesson of 0.2 with the hash of its words, which 0.2 made otherwise, and without its
    vector: a run makes it anew, with that of its evidence.
    """
    return replace(lesson, words=text_hash(lesson.pattern), vector="", embedder="")


def _page(document: Document) -> Program:
    """Return some lessons of a program, which 0.2 kept in a document of their own."""
    texts = cast("Mapping[str, str]", document.fields["patterns"]).values()
    lessons = {lesson.id: _lesson(lesson) for lesson in map(Pattern.from_json, texts)}
    return Program(program_id=str(document.fields["programId"]), patterns=lessons)


def _entry(document: Document) -> Entry:
    """Return an entry; one of 0.2 has its words alone, and that it was retired."""
    known = document.fields
    if "publications" not in known:
        retired = known.get("retiredAt")
        decisions: list[Json] = [{"kind": "retired", "at": retired, "by": PERSON}]
        known = {**known, "provenance": [], "decisions": decisions if retired else []}
    return Entry.from_fields(known)


def _pair(document: Document) -> Pair:
    """Return a pair under the id of its words; a verdict of 0.2 says that it is an author's, but
    not of which side.
    """
    raw = cast("Fields", json.loads(str(document.fields["text"])))
    pair = Pair.from_fields(raw)
    a, b = sides_in_order(pair.a, pair.b)
    judgements = []
    for each, known in zip(
        pair.judgements, cast("list[Fields]", raw.get("judgements", [])), strict=True
    ):
        own = [
            name
            for name, side in zip(SIDES, (a, b), strict=True)
            if side.program_id == each.program_id
        ]
        judgements.append(replace(each, sides=tuple(own)) if known.get("contributed") else each)
    words = pair_id(text_hash(a.text), text_hash(b.text))
    after = replace(pair, pair_id=words, a=a, b=b, judgements=tuple(judgements))
    return after if pair.state == "gone" else replace(after, state=ruling(after))


def _of_toolset(document: Document) -> Document:
    """Return the document itself: its toolset reads it."""
    return document


_CODECS: Final[Mapping[str, Callable[[Document], object]]] = {
    **COLLECTIONS,
    "programs": _program,
    "pages": _page,
    "gsp": _entry,
    "pairs": _pair,
    "policy": lambda document: Policy.from_fields(document.fields),
}
