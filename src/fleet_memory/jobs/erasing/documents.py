"""The writes that erase, document by document: each kind of document without its erased texts."""

import json
import re
from dataclasses import replace
from datetime import datetime
from typing import Final, cast

from fleet_memory.fleet import Fleet
from fleet_memory.repositories.commits import new_commit_id
from fleet_memory.repositories.entry_codec import ABSENT_ENTRY, VersionedEntry, changed_entry_fields
from fleet_memory.repositories.ledger import ledger_line, line_fields
from fleet_memory.repositories.pairs import versioned_pair
from fleet_memory.repositories.policies import versioned_policy
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.repositories.stored_json import is_no_text, plain
from fleet_memory.rules.consensus.deciding import PERSON
from fleet_memory.rules.erasing.knowledge import (
    entry_after,
    goes_with_pair,
    line_of_ledger_after,
    pair_after,
)
from fleet_memory.rules.erasing.programs import without_erased, without_traces
from fleet_memory.rules.erasing.targets import ERASED, Erasure, texts_in
from fleet_memory.rules.knowledge.entries import ledger_event, settled
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import MAX_PAGES
from fleet_memory.stores import Document, Json, Write

_WHY: Final = "a purge erased contributions"
_TIME: Final = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)"
)  # no text, though a year may be looked for


def program_writes(fleet: Fleet, versioned: VersionedProgram, erasure: Erasure) -> list[Write]:
    """Return the writes that erase in a whole program and its pages."""
    after = without_erased(without_traces(versioned.program, erasure), erasure)
    before = versioned.fields.get("verdictsBefore")
    if isinstance(before, str) and erasure.erases(before):
        after, versioned = replace(after), versioned._replace(verdicts_before=ERASED)
    return fleet.programs.writes(versioned, after)


def trace_writes(fleet: Fleet, versioned: VersionedProgram, erasure: Erasure) -> list[Write]:
    """Return the write that makes a program forget that it was shown erased texts."""
    return fleet.programs.writes(versioned, without_traces(versioned.program, erasure))


def entry_writes(
    fleet: Fleet, versioned: VersionedEntry, erasure: Erasure, policy: Policy, now: datetime
) -> list[Write]:
    """Return the writes that erase in an entry, rename it or remove it, and the ledger line of its
    state or votes.
    """
    before = versioned.entry
    if before is None:
        return []
    after, ref = entry_after(before, erasure), fleet.knowledge.paths.entry(before.key)
    if after is None:
        return [Write(ref, None, versioned.revision)]
    after = settled(before, after, policy, now)
    if after is before:
        return []
    is_renamed = after.key != before.key
    target = ABSENT_ENTRY if is_renamed else versioned
    event = ledger_event(before, after, now)
    if event is None:
        writes = [
            Write(
                fleet.knowledge.paths.entry(after.key),
                changed_entry_fields(target, after),
                target.revision,
            )
        ]
    else:
        by, commit_id = fleet.caller.program_id or PERSON, new_commit_id()
        writes = fleet.knowledge.writes(
            target, after, by=by, why=_WHY, now=now, commit_id=commit_id, event=event
        )
    return [Write(ref, None, versioned.revision), *writes] if is_renamed else writes


def pair_writes(fleet: Fleet, document: Document, erasure: Erasure) -> list[Write]:
    """Return the write that removes a pair of a text that goes, or its evidence and reasons that
    do.
    """
    versioned = versioned_pair(document)
    if versioned.pair is None:
        return []
    if goes_with_pair(versioned.pair, erasure):
        return [Write(document.ref, None, document.revision)]
    after = pair_after(versioned.pair, erasure)
    return [] if after is versioned.pair else [fleet.pairs.write(versioned, after)]


def policy_writes(fleet: Fleet, document: Document, erasure: Erasure) -> list[Write]:
    """Return the write that takes a judge model's name out of the policy: its only text of
    anybody's words.
    """
    before = versioned_policy(document)
    if not erasure.erases(before.policy.judge_model):
        return []
    return [fleet.policies.write(before, replace(before.policy, judge_model=""))]


def ledger_writes(document: Document, erasure: Erasure) -> list[Write]:
    """Return the write that hashes names and erases the reason in a line of the ledger."""
    line = ledger_line(document)
    after = line_of_ledger_after(line, erasure)
    return [] if after is line else [Write(document.ref, line_fields(after), document.revision)]


def record_writes(document: Document, erasure: Erasure) -> list[Write]:
    """Return the write that removes a document of a program whose text, lesson or program goes.

    For the archive, the history, receipts, and the documents that an older version derived.
    """
    return [Write(document.ref, None, document.revision)] if _goes(document, erasure) else []


def token_writes(document: Document, erasure: Erasure) -> list[Write]:
    """Return the write that removes a token of a program that goes; a token has no text of
    anybody's.
    """
    goes = erasure.is_program(str(document.fields.get("programId")))
    return [Write(document.ref, None, document.revision)] if goes else []


def page_writes(document: Document, erasure: Erasure) -> list[Write]:
    """Return the write that removes lessons from a page that their program does not know there any
    more.
    """
    fields = document.fields
    program_id = str(fields["programId"])
    lessons = {key: str(text) for key, text in cast("dict[str, Json]", fields["patterns"]).items()}
    gone = [key for key, text in lessons.items() if _page_lesson_goes(program_id, text, erasure)]
    if not gone:
        return []
    left: dict[str, Json] = {f"patterns.{key}": None for key in gone}
    return [Write(document.ref, left if len(gone) < len(lessons) else None, document.revision)]


def _page_lesson_goes(program_id: str, text: str, erasure: Erasure) -> bool:
    lesson = Pattern.from_json(text)
    return erasure.is_lesson_text(program_id, lesson.id, lesson.pattern) or holds_text(
        json.loads(text), erasure
    )


def removal_writes(fleet: Fleet, versioned: VersionedProgram) -> list[Write]:
    """Return the writes that remove a program and its pages."""
    programs, name = fleet.programs, versioned.program.program_id
    pages = [Write(programs.paths.page(name, number), None) for number in range(1, MAX_PAGES + 1)]
    return [Write(programs.paths.program(name), None, versioned.revision), *pages]


def _goes(document: Document, erasure: Erasure) -> bool:
    value = plain(document.fields)
    if holds_text(value, erasure):
        return True
    fields = cast("dict[str, object]", value)
    lesson = fields.get("pattern")  # of the archive
    if isinstance(lesson, dict):
        return erasure.is_lesson_text(
            str(fields["programId"]), str(lesson["id"]), str(lesson["pattern"])
        )
    inner = fields.get("text") if isinstance(fields.get("text"), dict) else fields
    program_id = str(cast("dict[str, object]", inner).get("programId", fields.get("programId", "")))
    if erasure.is_program(program_id):
        return True
    names = set(texts_in(value))
    theirs = {id_ for name, id_ in erasure.lessons if name == program_id}
    if erasure.pattern_id is not None and erasure.is_lesson(program_id, erasure.pattern_id):
        theirs.add(erasure.pattern_id)
    return not names.isdisjoint(theirs | erasure.entries.keys() | erasure.pairs)


def holds_text(value: object, erasure: Erasure) -> bool:
    """Whether a text or a name in a JSON value is or holds the one that goes, vectors and hashes
    aside.
    """
    match value:
        case str() if _TIME.fullmatch(value):
            return False
        case str():
            return erasure.erases(value) or (" " not in value and erasure.erases_name(value))
        case list():
            return any(holds_text(item, erasure) for item in value)
        case dict():
            return any(
                not is_no_text(name, item) and (erasure.erases(name) or holds_text(item, erasure))
                for name, item in value.items()
            )
        case _:
            return False
