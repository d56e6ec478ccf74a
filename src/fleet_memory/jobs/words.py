"""Words about entries carried out, and what a changed text of a lesson says about its entry."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from fleet_memory.errors import KnowledgeNotFoundError, PatternNotFoundError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.others import find_other
from fleet_memory.jobs.publishing import publish_changes
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.repositories.snapshots import VersionedEntry
from fleet_memory.rules import entries
from fleet_memory.rules.entries import (
    EntryChange,
    candidate_of,
    entry_change,
    entry_for,
    is_one_origin,
    keys_of,
    settled,
    with_lesson,
)
from fleet_memory.rules.lifecycle.admission import Admission, pattern_of
from fleet_memory.rules.lifecycle.outcomes import (
    OutcomeReport,
    Reported,
    reported,
    reported_of_entries,
    was_reported,
)
from fleet_memory.rules.pairs import joining_of, with_membership
from fleet_memory.rules.text.keys import KEY_PREFIXES
from fleet_memory.rules.text.names import close_names
from fleet_memory.schemas.knowledge import Entry, Word
from fleet_memory.schemas.patterns import Outcome, Pattern
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Archived, Program
from fleet_memory.stores import Write

CORRECTED = "its author corrected the lesson"
FORGOTTEN = "its program forgot the lesson"
TAKEN_BACK = "its author took a correction back"


class OthersEntry(NamedTuple):
    """The entry that a word about another program's lesson is about, and that program as it was
    read, and the lesson's id, where it joins the entry by the word.
    """

    entry: Entry
    joining: tuple[VersionedProgram, str] | None = None


@dataclass(frozen=True)
class EntryDrafts:
    """Entries by key, read once and drafted in memory; they are written in the commit of the
    program that speaks.

    `drafts` has those that changed, settled; `why` the reason of each for the ledger. `others` are
    the entries of other programs' lessons, by the keys that agents name these by.
    """

    stored: Mapping[str, VersionedEntry]
    policy: Policy
    now: datetime
    drafts: Mapping[str, Entry] = field(default_factory=dict)
    why: Mapping[str, str] = field(default_factory=dict)
    others: Mapping[str, OthersEntry] = field(default_factory=dict)

    def entry(self, key: str) -> Entry | None:
        """Return an entry as the call leaves it so far, the older one for one that is read through
        it, for a key of another's lesson that of the lesson; None for a key that nothing has.
        """
        if other := self.others.get(key):
            return self.drafts.get(other.entry.key) or other.entry
        versioned = self.stored.get(key)
        entry = self.drafts.get(key) or (versioned.entry if versioned else None)
        through = entry.read_through if entry else None
        return self.entry(through) if through and through in self.stored else entry

    def of_word(self, program: Program, about: str) -> tuple[Entry, ...]:
        """Return the entries that a word of a program is about, each once.

        Raises PatternNotFoundError.
        """
        found = (self.entry(key) for key in keys_of_word(program, about))
        return tuple({entry.key: entry for entry in found if entry is not None}.values())

    def with_entry(self, after: Entry, why: str) -> "EntryDrafts":
        """Return the drafts with a changed entry, settled; the same object when it did not
        change.
        """
        if after is self.entry(after.key):
            return self
        entry = settled(self.stored[after.key].entry, after, self.policy, self.now)
        reasons = {**self.why, after.key: why or self.why.get(after.key, "")}
        return replace(self, drafts={**self.drafts, after.key: entry}, why=reasons)

    @property
    def changes(self) -> tuple[EntryChange, ...]:
        """The entries that have another state now, and those with a word about another's lesson,
        which readers should learn soon.
        """
        changes = (
            entry_change(self.stored[key].entry, after, self.now)
            for key, after in self.drafts.items()
        )
        told = {other.entry.key for other in self.others.values()}
        return tuple(
            change
            for change in changes
            if change.before != change.after or change.entry.key in told
        )

    def writes(self, fleet: Fleet, by: str) -> list[Write]:
        """Return the writes of the drafts, valid only for the revisions that were read."""
        return [
            write
            for key, after in self.drafts.items()
            for write in fleet.knowledge.writes(
                self.stored[key],
                after,
                by=by,
                token=fleet.caller.token_id,
                why=self.why[key],
                now=self.now,
            )
        ] + self._membership_writes(fleet)

    def _membership_writes(self, fleet: Fleet) -> list[Write]:
        """Return the writes that put other programs' lessons into the entries that changed."""
        before: dict[str, VersionedProgram] = {}
        after: dict[str, Program] = {}
        for entry, joining in self.others.values():
            if joining and entry.key in self.drafts:
                versioned, id_ = joining
                name = versioned.program.program_id
                program = after.get(name, versioned.program)
                before[name] = versioned
                after[name] = with_membership(program, id_, entry.key, is_member=True)
        return [
            write
            for name, program in after.items()
            for write in fleet.programs.writes(before[name], program)
        ]


class DraftedWord(NamedTuple):
    """A program after a word, and the entries after it."""

    said: Reported
    drafts: EntryDrafts


class DraftedStore(NamedTuple):
    """A program after a store, and the entries after it."""

    admission: Admission
    drafts: EntryDrafts


async def read_drafts(fleet: Fleet, keys: Iterable[str], now: datetime) -> EntryDrafts:
    """Return the entries of these keys to draft, of one that is read through another that one.

    Billed 1 read each; the policy is cached.
    """
    keys = list(keys)
    if not keys:
        return EntryDrafts({}, Policy(), now)
    read = await fleet.knowledge.read_through(keys)
    return EntryDrafts(read, await fleet.policies.read(now), now)


async def with_others(
    fleet: Fleet, program: Program, drafts: EntryDrafts, named: Iterable[str]
) -> EntryDrafts:
    """Return the drafts with the entries of other programs' lessons, by the keys that the program
    named them by: those that they are in, else candidates.

    Billed for each key under which agents read no entry as `find_other`, 1 read for the lesson's
    program, and 1 for each of at most two keys.
    """
    for key in dict.fromkeys(named):
        versioned = drafts.stored.get(key)
        if (
            pattern_of(program, key) is not None
            or not key.startswith(KEY_PREFIXES)
            or (versioned and versioned.entry and versioned.entry.is_public)
        ):
            continue
        place = await find_other(fleet, key)
        if place is not None and not is_one_origin(place[0], program.program_id):
            drafts = await _with_other(fleet, drafts, key, *place)
    return drafts


async def _with_other(
    fleet: Fleet, drafts: EntryDrafts, about: str, program_id: str, pattern_id: str
) -> EntryDrafts:
    (versioned,) = await fleet.programs.read_versioned(program_id)
    pattern = versioned.program.patterns.get(pattern_id)
    if pattern is None:
        return drafts
    lesson = joining_of(versioned.program, pattern)._replace(basis="text")
    policy = await fleet.policies.read(drafts.now)
    fresh = candidate_of(lesson, policy)
    read = await read_drafts(fleet, [*pattern.knowledge_keys, *keys_of(fresh)], drafts.now)
    drafts = replace(drafts, stored={**read.stored, **drafts.stored}, policy=policy)
    joined = filter(None, map(drafts.entry, pattern.knowledge_keys))
    if (entry := next(joined, None)) is not None:
        other = OthersEntry(entry)
    else:
        known = {key: each.entry for key, each in read.stored.items() if each.entry is not None}
        entry = with_lesson(entry_for(fresh, known), lesson)
        other = OthersEntry(entry, (versioned, pattern_id))
    return replace(drafts, others={**drafts.others, about: other})


def drafted_store(drafts: EntryDrafts, admission: Admission) -> DraftedStore:
    """Draft what a store says about the entries of its lesson.

    A text that its author calls `corrected` is its word against the entries of the old text; the
    old text again takes that back. Storing equal words again confirms them, and takes a
    contradiction back where it brings new evidence.
    """
    pattern, changed = admission.pattern, admission.changed
    if changed is None:
        return DraftedStore(admission, _confirmed(drafts, admission))
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
    return DraftedStore(admission, drafts)


def drafted_forgetting(drafts: EntryDrafts, program_id: str, lesson: Pattern) -> EntryDrafts:
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


def _confirmed(drafts: EntryDrafts, admission: Admission) -> EntryDrafts:
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


class _Recorded(NamedTuple):
    program: Program
    archived: tuple[Archived, ...]
    said: Reported
    changes: tuple[EntryChange, ...]


async def record_word(fleet: Fleet, program_id: str, about: str, report: OutcomeReport) -> Reported:
    """Record a word about one of the program's lessons, and the entry that it is in, or about the
    entry of a key; another's lesson of this key becomes a candidate by it.

    Raises PatternNotFoundError, and KnowledgeNotFoundError for a key that agents do not know.
    Billed 1 read and 1 write, and as much for the entry; for a name that is not found also the
    snapshot, which has close keys.
    """

    async def change(program: Program) -> tuple[_Recorded, Sequence[Write]]:
        try:
            drafts = await read_drafts(fleet, keys_of_word(program, about), report.now)
            drafts = await with_others(fleet, program, drafts, [about])
            reported, drafts = drafted_report(drafts, program, about, report)
        except KnowledgeNotFoundError:
            raise KnowledgeNotFoundError(
                about, await fleet.knowledge.snapshots.close_keys(about)
            ) from None
        except PatternNotFoundError:
            keys = await fleet.knowledge.snapshots.close_keys(about)
            raise PatternNotFoundError(
                program_id, about, close_names(about, program.patterns), keys
            ) from None
        return _Recorded(
            reported.program, reported.archived, reported, drafts.changes
        ), drafts.writes(fleet, program_id)

    recorded = await fleet.programs.update_with(program_id, change, report.now)
    await publish_changes(fleet, program_id, recorded.changes)
    return recorded.said._replace(archived=recorded.archived)


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


def drafted_report(
    drafts: EntryDrafts, program: Program, about: str, report: OutcomeReport
) -> DraftedWord:
    """Return the program after a word, and with it the entries that it is about, if any.

    Raises PatternNotFoundError, and KnowledgeNotFoundError for a key that agents do not know.
    """
    own = pattern_of(program, about)
    found = drafts.of_word(program, about)
    if own is not None and not found:
        return DraftedWord(reported(program, own, report), drafts)
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
    return DraftedWord(said._replace(entries=after.of_word(program, about)), after)
