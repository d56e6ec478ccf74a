"""Changes of knowledge by people: set rules, retire, reinstate and reword entries. Published at
once.
"""

import json
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from pydantic import TypeAdapter, ValidationError

from fleet_memory.errors import (
    EmbedderError,
    InvalidArgumentError,
    KnowledgeNotFoundError,
    UnknownNameError,
)
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.auditing import decision, log_change
from fleet_memory.jobs.credentials import require_no_credential
from fleet_memory.jobs.drafting import Drafts, commit_drafts, read_drafts
from fleet_memory.jobs.judging import Judge, Judged, Refused, judge
from fleet_memory.jobs.looking import existing_program
from fleet_memory.jobs.publishing import publish_now
from fleet_memory.jobs.storing import embed_lessons, existing_lesson, forget_lesson, store_lesson
from fleet_memory.jobs.transfer.files import read_bytes
from fleet_memory.repositories.documents import iter_readable
from fleet_memory.repositories.proposing_memory import comparable_entry
from fleet_memory.repositories.retrying import (
    commit_settled,
    retry_conflicts,
)
from fleet_memory.repositories.snapshots import versioned_entry
from fleet_memory.rules.curating import (
    Seeding,
    key_of,
    reinstated,
    retired_by_people,
    reworded,
    seeded,
    seeding,
)
from fleet_memory.rules.entries import (
    entry_change,
    entry_state,
    same_program,
    settled,
)
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.rules.pairs import PERSON, sides_in_order
from fleet_memory.rules.proposing import side_of
from fleet_memory.rules.text.credentials import shown
from fleet_memory.rules.text.keys import pair_id, text_hash
from fleet_memory.rules.text.vectors import packed
from fleet_memory.schemas.fields import LessonText
from fleet_memory.schemas.knowledge import (
    Contribution,
    Entry,
    EntryState,
    LedgerEvent,
    Seed,
    SeedFile,
)
from fleet_memory.schemas.pairs import NewVerdict, Pair, Side
from fleet_memory.schemas.patterns import NewPattern, Pattern, TextChange
from fleet_memory.schemas.programs import Program
from fleet_memory.stores import Query


def read_seeds(file: Path) -> dict[str, Seed]:
    """Return a file's rules by key: TOML, or JSON by its suffix. Raises InvalidArgumentError with
    the row and field.
    """
    content = read_bytes(file)
    try:
        text = content.decode("utf-8-sig")  # editors on Windows write a byte order mark
        rules = json.loads(text) if file.suffix.lower() == ".json" else tomllib.loads(text)
        return keyed_seeds(
            SeedFile.model_validate_json(json.dumps(rules, default=str), strict=True).entry
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(shown, map(str, first["loc"]))) or "FILE"
        raise InvalidArgumentError(f"{place}: {first['msg']} (in {file.name})") from error
    except ValueError as error:
        raise InvalidArgumentError(f"FILE: {file.name}: {error}") from error
    except RecursionError as error:
        raise InvalidArgumentError(f"FILE: {file.name} is nested too deeply") from error


def keyed_seeds(seeds: Iterable[Seed]) -> dict[str, Seed]:
    """Return seeds by their keys. Raises InvalidArgumentError for a key that two have."""
    by_key: dict[str, Seed] = {}
    for number, seed in enumerate(seeds):
        key = key_of(seed)
        if key in by_key:
            raise InvalidArgumentError(
                f"entry.{number}.key: {key!r} is an earlier entry's too; give one another key"
            )
        by_key[key] = seed
    return by_key


_TEXT: Final[TypeAdapter[str]] = TypeAdapter(LessonText)

CurationChange: TypeAlias = Callable[[Entry, datetime], Entry]
"""Returns an entry changed now; the same object for no change."""


class Curated(NamedTuple):
    """An entry after a person's change; `changed` is False when it was so already."""

    key: str
    state: EntryState
    changed: bool


class DecidedLesson(NamedTuple):
    """A lesson after a person's decision, as PROGRAM/ID; `changed` is False when it was so
    already.
    """

    lesson: str
    decision: LedgerEvent
    changed: bool


async def seed_rules(
    fleet: Fleet, wanted: dict[str, Seed], *, prune: bool, dry_run: bool = False
) -> Seeding:
    """Set these rules, each whole or not at all; with `prune` those that are not among them retire.

    Running it again changes nothing; with `dry_run` nothing is written. Raises ForbiddenError
    unless the caller may curate, ConflictError when every race was lost, InvalidArgumentError for
    a credential, which names the entry by its number in the file, from 0.
    """
    fleet.caller.require_curation()
    for number, seed in enumerate(wanted.values()):
        await require_no_credential(fleet, f"entry.{number}", seed.model_dump())
    query = Query(fleet.paths.entries, {"tier": "constitutional"})
    read = iter_readable(await fleet.store.find(query), versioned_entry)
    plan = seeding(wanted, [each.entry for each in read if each.entry], prune=prune)
    if dry_run:
        return plan
    for key, seed in plan.written.items():
        await _set_rule(fleet, key, seed)
    for key in plan.retired:
        await _change_entry(fleet, key, "retired", retired_by_people, "no longer in the seed file")
    await publish_now(fleet)
    return plan


async def retire_entry(fleet: Fleet, key: str, why: str) -> Curated:
    """Take an entry out of use; only people bring it back. Billed 1R 2W, and its publication.

    Raises KnowledgeNotFoundError, ForbiddenError unless the caller may curate, ConflictError when
    every race was lost.
    """
    return await _curate(fleet, key, "retired", retired_by_people, why)


async def reinstate_entry(fleet: Fleet, key: str, why: str) -> Curated:
    """Bring a retired entry back, confirmed now and without contradictions. Bills and raises as
    `retire_entry`.
    """
    return await _curate(fleet, key, "reinstated", reinstated, why)


async def reword_entry(fleet: Fleet, key: str, text: str, why: str) -> Curated:
    """Give an entry another text; it keeps its key and contributions, and contradictions of the
    earlier text go.

    The next run compares lessons that waited for a verdict about the earlier text with the new
    one. Raises as `retire_entry`, and InvalidArgumentError for a text that no lesson may have or
    another entry has, and for a rule of a seed file. Billed 1 read more for each entry.
    """
    fleet.caller.require_curation()
    text = await clean_text(fleet, "TEXT", text)
    if (await fleet.knowledge.found(key, hidden=True)).tier == "constitutional":
        raise InvalidArgumentError(
            f"KEY: {key} is from a seed file; change it there and run `fleet-memory seed FILE`"
        )
    vector, embedder = await _vector_of(fleet, text)
    await _refuse_text_of_another(fleet, key, text)
    change = partial(reworded, text=text, vector=vector, embedder=embedder)
    return await _curate(fleet, key, "reworded", change, why)


async def _refuse_text_of_another(fleet: Fleet, key: str, text: str) -> None:
    """Refuse a text that another entry has: two entries would say one thing."""
    for other in [each.entry for each in await fleet.knowledge.all()]:
        if other and other.key != key and text_hash(other.value.pattern) == text_hash(text):
            raise InvalidArgumentError(
                f"TEXT: the entry {other.key} has these words; judge the two the same in "
                "`fleet-memory review`, or retire one"
            )


async def clean_text(fleet: Fleet, field: str, text: str) -> str:
    """Return a text that a lesson may have; people's reasons keep to its limits too.

    Raises InvalidArgumentError, for a credential too.
    """
    try:
        readable = _TEXT.validate_python(text)
    except ValidationError as error:
        raise InvalidArgumentError(
            f"{field}: {error.errors(include_url=False)[0]['msg']}"
        ) from error
    await require_no_credential(fleet, field, readable)
    return readable


async def _curate(
    fleet: Fleet, key: str, event: LedgerEvent, change: CurationChange, why: str
) -> Curated:
    """Change an entry and publish it, with the changes that an earlier call could not publish."""
    fleet.caller.require_curation()
    why = await clean_text(fleet, "--why", why)
    await fleet.knowledge.found(key, hidden=True)
    curated = await _change_entry(fleet, key, event, change, why)
    await publish_now(fleet)
    return curated


async def _change_entry(
    fleet: Fleet, key: str, event: LedgerEvent, change: CurationChange, why: str
) -> Curated:
    policy = await fleet.policies.read(fleet.now())

    def changed(before: Entry | None, now: datetime) -> Entry:
        if before is None:
            raise KnowledgeNotFoundError(key)
        return settled(before, change(before, now), policy, now)

    return await _write_entry(fleet, key, event, changed, why)


async def _set_rule(fleet: Fleet, key: str, seed: Seed) -> None:
    """Give an entry the text of a seed; its vector is made once, before any race."""
    vector, embedder = await _vector_of(fleet, seed.text)

    def rule(before: Entry | None, now: datetime) -> Entry:
        return replace(seeded(key, seed, before, now), vector=vector, embedder=embedder)

    await _write_entry(fleet, key, "seeded", rule, seed.why)


async def _write_entry(
    fleet: Fleet,
    key: str,
    event: LedgerEvent,
    change: Callable[[Entry | None, datetime], Entry],
    why: str,
) -> Curated:
    """Commit a person's change of an entry with its line in the ledger; a lost answer is
    settled.
    """
    knowledge, by = fleet.knowledge, fleet.caller.program_id or PERSON

    async def attempt() -> Curated:
        (before,) = await knowledge.read_versioned(key)
        now = fleet.now()
        after, token = change(before.entry, now), fleet.caller.token_id
        if after is not before.entry:
            writes = knowledge.writes(
                before, after, by=by, token=token, why=why, now=now, event=event
            )
            await commit_settled(knowledge.store, *writes)
            log_change(by, entry_change(before.entry, after, now))
        return Curated(key, entry_state(after, now), changed=after is not before.entry)

    return await retry_conflicts(attempt, f"entry {key}")


async def _vector_of(fleet: Fleet, text: str) -> tuple[str, str]:
    """Return a text's vector and its engine; two empty texts while there is none, then the
    maintainer makes it.
    """
    try:
        return packed((await fleet.embedder.vectors([text]))[0]), fleet.embedder.name
    except EmbedderError:
        return "", ""


async def allow_lesson(fleet: Fleet, program_id: str, pattern_id: str, why: str) -> DecidedLesson:
    """Release a lesson that gives its reader orders: agents may judge and read it.

    The next run compares it again. Raises ForbiddenError unless the caller may curate,
    UnknownProgramError, and PatternNotFoundError. Billed 1R 2W.
    """
    why, before = await _decided(fleet, program_id, pattern_id, why)
    line = decision(fleet, "allowed", f"{program_id}/{pattern_id}", why)

    async def decide(program: Program) -> tuple[ProgramChange, Drafts]:
        drafts, lesson = await read_drafts(fleet, (), line.at), program.patterns.get(pattern_id)
        if lesson is None or lesson.allowed:
            return ProgramChange(program), drafts
        patterns = {**program.patterns, pattern_id: replace(lesson, allowed=True)}
        return ProgramChange(replace(program, patterns=patterns)), drafts

    await commit_drafts(fleet, program_id, line.at, decide, line)
    return DecidedLesson(f"{program_id}/{pattern_id}", "allowed", changed=not before.allowed)


_AS_SENT: Final = ("domain", "confidence", "evidence", "id", "projectId", "tags")


async def edit_lesson(
    fleet: Fleet, program_id: str, pattern_id: str, text: str, change: TextChange, why: str
) -> DecidedLesson:
    """Give a lesson another text, as its author would by a store under its id; `reworded` keeps its
    votes, `corrected` takes them back.

    Raises ForbiddenError unless the caller may curate, UnknownProgramError, PatternNotFoundError,
    InvalidArgumentError for a text that no lesson may have. Billed as a store, and 1W.
    """
    why, before = await _decided(fleet, program_id, pattern_id, why)
    name, text = f"{program_id}/{before.id}", await clean_text(fleet, "TEXT", text)
    if text == before.pattern:
        return DecidedLesson(name, "edited", changed=False)
    known = before.wire()
    fields = {name: known[name] for name in _AS_SENT if name in known}
    sent = NewPattern.model_validate({**fields, "pattern": text, "change": change})
    (lesson,) = await embed_lessons(fleet, [sent], before.session_id)
    lesson = lesson._replace(source=before.source)
    line = decision(fleet, "edited", name, why)
    await store_lesson(fleet, program_id, lesson, "keep", fleet.now(), line)
    return DecidedLesson(name, "edited", changed=True)


async def withdraw_lesson(
    fleet: Fleet, program_id: str, pattern_id: str, why: str
) -> DecidedLesson:
    """Move a lesson and its vote to the archive. Bills and raises as `edit_lesson`."""
    why, before = await _decided(fleet, program_id, pattern_id, why)
    name = f"{program_id}/{before.id}"
    line = decision(fleet, "forgotten", name, why)
    await forget_lesson(fleet, program_id, before.id, why, line)
    return DecidedLesson(name, "forgotten", changed=True)


async def _decided(fleet: Fleet, program_id: str, pattern_id: str, why: str) -> tuple[str, Pattern]:
    """Return the reason of a person who decides about a lesson, and the lesson."""
    fleet.caller.require_curation()
    why = await clean_text(fleet, "--why", why)
    program = await existing_program(fleet, program_id)
    return why, existing_lesson(program, pattern_id)


async def judge_pair(fleet: Fleet, verdict: NewVerdict) -> Judged:
    """Carry out a person's verdict, which is final; the next publication shows what follows. Bills
    and raises as `judge`, and ForbiddenError unless the caller may curate.
    """
    fleet.caller.require_curation()
    await require_no_credential(fleet, "--reason", verdict.reason)
    (outcome,) = await judge(fleet, Judge(token=fleet.caller.token_id), [verdict])
    if isinstance(outcome, Refused):
        raise outcome.error
    return outcome


async def split_entry(
    fleet: Fleet, key: str, program_id: str, pattern_id: str | None, why: str
) -> Curated:
    """Take a program's contribution out of an entry, and publish: a person's `different` about its
    text and that of the entry that it joined.

    A lesson with the words of an entry that is read through this one parts the two entries.
    `pattern_id` is needed where the program contributes several lessons. Raises
    KnowledgeNotFoundError, ForbiddenError unless the caller may curate, ConflictError when every
    race was lost, InvalidArgumentError when there is no such contribution, several, or one of the
    entry's own words. Billed as a verdict with at most 3R 1W more, and the publication.
    """
    fleet.caller.require_curation()
    why = await clean_text(fleet, "--why", why)
    entry = await fleet.knowledge.found(key, hidden=True)
    line = _contribution(entry, program_id, pattern_id)
    joined = await fleet.knowledge.found(line.of, hidden=True) if line.of else entry
    if text_hash(line.pattern) != text_hash(joined.value.pattern):
        pair_id_ = await _pair_of(fleet, joined, line)
    elif joined.same_pair is not None:
        pair_id_ = joined.same_pair
    else:
        raise InvalidArgumentError(
            f"--program: {program_id}'s lesson has the words of {key}, and equal words are the "
            "same. Run `fleet-memory entry reword` first, or `fleet-memory entry retire`."
        )
    verdict = {"pairId": pair_id_, "verdict": "different", "reason": why}
    judged = await judge_pair(fleet, NewVerdict.model_validate(verdict))
    await publish_now(fleet)
    state = judged.status or entry_state(entry, fleet.now())
    return Curated(key, state, changed=True)


def _contribution(entry: Entry, program_id: str, pattern_id: str | None) -> Contribution:
    """Return the contribution that people name. Raises InvalidArgumentError, which lists those
    there are.
    """
    name = same_program(program_id)
    lines = [
        line
        for line in entry.provenance
        if same_program(line.program_id) == name and pattern_id in (None, line.pattern_id)
    ]
    if len(lines) != 1:
        known = sorted(f"{line.program_id}/{line.pattern_id}" for line in entry.provenance)
        raise UnknownNameError(
            f"--program, --pattern: name one contribution to {entry.key}: {', '.join(known)}"
        )
    return lines[0]


async def _pair_of(fleet: Fleet, entry: Entry, line: Contribution) -> str:
    """Store the pair of an entry's text and a contribution's, with its verdicts if it has any;
    return its id.
    """
    a, b = sides_in_order(
        side_of(comparable_entry(entry)),
        Side(
            program_id=line.program_id,
            pattern_id=line.pattern_id,
            domain=entry.value.domain,
            text=line.pattern,
            evidence=line.evidence,
            project_id=line.project_id,
        ),
    )
    id_ = pair_id(text_hash(a.text), text_hash(b.text))
    (before,) = await fleet.pairs.read(id_)
    fresh = Pair(pair_id=id_, a=a, b=b, cosine=line.similarity, opened_at=fleet.now())
    pair = replace(before.pair, a=a, b=b) if before.pair else fresh
    if pair != before.pair:
        await fleet.pairs.store.commit(fleet.pairs.write(before, pair))
    return id_
