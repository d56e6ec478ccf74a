"""Words about entries carried out, and what a changed text of a lesson says about its entry."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from fleet_memory.errors import KnowledgeNotFoundError, PatternNotFoundError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.drafting import Drafts, read_drafts
from fleet_memory.jobs.others import find_other
from fleet_memory.jobs.publishing import publish_changes
from fleet_memory.rules import entries
from fleet_memory.rules.entries import (
    EntryChange,
    JoiningLesson,
    candidate_of,
    entry_for,
    is_one_origin,
    keys_of,
)
from fleet_memory.rules.lifecycle.admission import Admission, pattern_of
from fleet_memory.rules.lifecycle.outcomes import (
    OutcomeReport,
    Reported,
    reported,
    reported_of_entries,
    was_reported,
)
from fleet_memory.rules.pairs import with_member
from fleet_memory.rules.text.keys import KEY_PREFIXES
from fleet_memory.rules.text.names import close_names
from fleet_memory.schemas.knowledge import Entry, Word
from fleet_memory.schemas.patterns import Outcome, Pattern
from fleet_memory.schemas.programs import Program
from fleet_memory.stores import Write

CORRECTED = "its author corrected the lesson"
FORGOTTEN = "its program forgot the lesson"
TAKEN_BACK = "its author took a correction back"


async def with_others(
    fleet: Fleet, program: Program, drafts: Drafts, named: Iterable[str]
) -> Drafts:
    """Return the drafts with the entries of other programs' lessons, by the keys that the program
    named them by: those that they are in, else candidates.

    Billed for each key under which agents read no entry as `find_other`, 1 read for the lesson's
    program, and 1 for each of at most two keys.
    """
    for key in dict.fromkeys(named):
        known = drafts.documents.entries.get(key)
        if (
            pattern_of(program, key) is not None
            or not key.startswith(KEY_PREFIXES)
            or (known is not None and known.is_public)
        ):
            continue
        place = await find_other(fleet, key)
        if place is not None and not is_one_origin(place[0], program.program_id):
            drafts = await _with_other(fleet, drafts, key, *place)
    return drafts


async def _with_other(
    fleet: Fleet, drafts: Drafts, about: str, program_id: str, pattern_id: str
) -> Drafts:
    (versioned,) = await fleet.programs.read_versioned(program_id)
    pattern = versioned.program.patterns.get(pattern_id)
    if pattern is None:
        return drafts
    lesson = JoiningLesson(versioned.program, pattern, "text")
    fresh = candidate_of(lesson, await fleet.policies.read(drafts.now))
    keys = [*pattern.knowledge_keys, *keys_of(fresh)]
    read = await read_drafts(fleet, keys, drafts.now, [versioned])
    drafts = replace(drafts, policy=read.policy).with_read([versioned], read.entries)
    known = next((key for key in pattern.knowledge_keys if drafts.entry(key)), None)
    if known is None:
        entry = entry_for(fresh, drafts.documents.entries)
        known = entry.key
        documents = with_member(drafts.documents.with_entry(entry), lesson, known)
        drafts = drafts.left_as(documents, "")
    return replace(drafts, others={**drafts.others, about: known})


def drafted_store(drafts: Drafts, admission: Admission) -> Drafts:
    """Draft what a store says about the entries of its lesson.

    A text that its author calls `corrected` is its word against the entries of the old text; the
    old text again takes that back. Storing equal words again confirms them, and takes a
    contradiction back where it brings new evidence.
    """
    pattern, changed = admission.pattern, admission.changed
    if changed is None:
        return _confirmed(drafts, admission)
    keys = changed.old.knowledge_keys if changed.change == "corrected" else ()
    for key in dict.fromkeys((*keys, *pattern.knowledge_keys)):
        entry = drafts.entry(key)
        if entry is None or (key in keys) == (key in pattern.knowledge_keys):
            continue
        is_back = key not in keys
        word = _author_word(
            admission,
            "confirmed" if is_back else "contradicted",
            TAKEN_BACK if is_back else CORRECTED,
            drafts.now,
        )
        if is_back and not _contradicts(entry, word):
            continue
        drafts = drafts.with_entry(entries.with_word(entry, word), word.evidence)
    return drafts


def drafted_forgetting(drafts: Drafts, program_id: str, lesson: Pattern) -> Drafts:
    """Draft the entries of a lesson that its program forgets: its contribution goes along, and what
    its program confirmed.
    """
    for key in lesson.knowledge_keys:
        entry = drafts.entry(key)
        if entry is not None:
            after = entries.without_support(entry, program_id, lesson.id)
            drafts = drafts.with_entry(after, FORGOTTEN)
    return drafts


def _author_word(admission: Admission, outcome: Outcome, evidence: str, at: datetime) -> Word:
    """Return what a store says of the entries of its lesson."""
    pattern = admission.pattern
    return Word(
        program_id=admission.program.program_id,
        outcome=outcome,
        at=at,
        evidence=evidence,
        session_id=pattern.session_id,
        connection=pattern.source.connection,
        token=pattern.source.token,
    )


def _contradicts(entry: Entry, word: Word) -> bool:
    own = [each for each in entry.words if each.program_id == word.program_id]
    return bool(own) and own[-1].outcome == "contradicted"


def _confirmed(drafts: Drafts, admission: Admission) -> Drafts:
    """Return the drafts with the entries confirmed that a reinforced lesson is in."""
    pattern = admission.pattern
    seen = [line.text for line in pattern.evidence_log if line.at == drafts.now]
    word = _author_word(admission, "confirmed", seen[-1] if seen else "", drafts.now)
    for key in pattern.knowledge_keys:
        entry, at = drafts.entry(key), pattern.last_reinforced
        if entry is not None and word.evidence and _contradicts(entry, word):
            drafts = drafts.with_entry(entries.with_word(entry, word), word.evidence)
        elif entry is not None and entry.retired_at is None and entry.last_confirmed < at:
            drafts = drafts.with_entry(replace(entry, last_confirmed=at), "stored again")
    return drafts


async def record_word(fleet: Fleet, program_id: str, about: str, report: OutcomeReport) -> Reported:
    """Record a word about one of the program's lessons, and the entry that it is in, or about the
    entry of a key; another's lesson of this key becomes a candidate by it.

    Raises PatternNotFoundError, and KnowledgeNotFoundError for a key that agents do not know.
    Billed 1 read and 1 write, and as much for the entry; for a name that is not found also the
    snapshot, which has close keys.
    """
    news: tuple[EntryChange, ...] = ()

    async def change(program: Program) -> tuple[Reported, Sequence[Write]]:
        nonlocal news
        try:
            drafts = await read_drafts(fleet, keys_of_word(program, about), report.now)
            drafts = await with_others(fleet, program, drafts, [about])
            said, drafts = drafted_report(drafts, program, about, report)
        except KnowledgeNotFoundError:
            raise KnowledgeNotFoundError(
                about, await fleet.knowledge.snapshots.close_keys(about)
            ) from None
        except PatternNotFoundError:
            keys = await fleet.knowledge.snapshots.close_keys(about)
            raise PatternNotFoundError(
                program_id, about, close_names(about, program.patterns), keys
            ) from None
        news = drafts.news
        return said, drafts.writes(fleet, program_id, fleet.caller.token_id)

    said = await fleet.programs.update_with(program_id, change, report.now)
    await publish_changes(fleet, program_id, news)
    return said


def keys_of_word(program: Program, about: str) -> tuple[str, ...]:
    """Return the keys of the entries that a word is about; none for a lesson in no entry.

    Raises PatternNotFoundError, without close names.
    """
    own = pattern_of(program, about)
    if own is not None:
        return own.knowledge_keys
    if about.startswith(KEY_PREFIXES):
        return (about,)
    raise PatternNotFoundError(program.program_id, about)


def entries_of_word(drafts: Drafts, program: Program, about: str) -> tuple[Entry, ...]:
    """Return the entries that a word of a program is about, each once.

    Raises PatternNotFoundError.
    """
    found = (drafts.entry(key) for key in keys_of_word(program, about))
    return tuple({entry.key: entry for entry in found if entry is not None}.values())


def drafted_report(
    drafts: Drafts, program: Program, about: str, report: OutcomeReport
) -> tuple[Reported, Drafts]:
    """Return the program after a word, and with it the entries that it is about, if any.

    Raises PatternNotFoundError, and KnowledgeNotFoundError for a key that agents do not know.
    """
    own = pattern_of(program, about)
    found = entries_of_word(drafts, program, about)
    if own is not None and not found:
        return reported(program, own, report), drafts
    if not found or (
        own is None
        and not (found[0].is_public or about in drafts.others)
        and not was_reported(program, about, report)
    ):
        raise KnowledgeNotFoundError(about)
    said, after = reported_of_entries(program, about, found, report), drafts
    for entry in said.entries:
        after = after.with_entry(entry, report.evidence)
    if after is not drafts and said.program is program:
        said = said._replace(program=replace(program))  # written: its commit settles a lost answer
    return said._replace(entries=entries_of_word(after, program, about)), after
