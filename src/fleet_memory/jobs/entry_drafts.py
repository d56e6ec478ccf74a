"""The entries that one commit of a program may change, as they are stored and as the call leaves
them so far.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from fleet_memory.fleet import Fleet
from fleet_memory.repositories.commits import new_commit_id
from fleet_memory.repositories.entry_codec import VersionedEntry
from fleet_memory.rules.entries import EntryChange, entry_state, is_contributor, settled
from fleet_memory.rules.lifecycle.admission import Admission, with_free_lesson
from fleet_memory.rules.lifecycle.outcomes import OutcomeReport, Reported, reported_of_entry
from fleet_memory.rules.lifecycle.rewriting import with_rewritten
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Program
from fleet_memory.stores import Write

REWRITTEN = "its author rewrote the lesson"
REWRITTEN_BACK = "its author took a rewrite back"


@dataclass(frozen=True)
class EntryDrafts:
    """Entries by key, read once and drafted in memory; they are written in the commit of the
    program that speaks.

    `drafts` has those that changed, settled; `why` the reason of each for the ledger.
    """

    stored: Mapping[str, VersionedEntry]
    policy: Policy
    now: datetime
    drafts: Mapping[str, Entry] = field(default_factory=dict)
    why: Mapping[str, str] = field(default_factory=dict)

    def entry(self, key: str) -> Entry | None:
        """Return an entry as the call leaves it so far; None for a key that no entry has."""
        versioned = self.stored.get(key)
        return self.drafts.get(key) or (versioned.entry if versioned else None)

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
        """The entries that have another state now, which readers should learn soon."""
        before = {
            key: entry_state(versioned.entry, self.now)
            for key, versioned in self.stored.items()
            if versioned.entry is not None
        }
        changes = (
            EntryChange(after, before[key], entry_state(after, self.now))
            for key, after in self.drafts.items()
        )
        return tuple(change for change in changes if change.before != change.after)

    def writes(self, fleet: Fleet, by: str) -> list[Write]:
        """Return the writes of the drafts, valid only for the revisions that were read."""
        commit_id = new_commit_id()
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
                commit_id=commit_id,
            )
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
    """Return the entries of these keys to draft. Billed 1 read each; the policy is cached."""
    distinct = list(dict.fromkeys(keys))
    if not distinct:
        return EntryDrafts({}, Policy(), now)
    versioned = await fleet.knowledge.read_versioned(*distinct)
    return EntryDrafts(
        dict(zip(distinct, versioned, strict=True)), await fleet.policies.read(now), now
    )


def drafted_word(
    drafts: EntryDrafts, program: Program, about: str, entry: Entry, report: OutcomeReport
) -> DraftedWord:
    """Draft a word about `entry`, named by its key or by the program's lesson `about` that is in
    it.
    """
    reported = reported_of_entry(program, about, entry, report)
    after = drafts.with_entry(reported.entry or entry, report.evidence)
    if after is not drafts and reported.program is program:
        reported = reported._replace(
            program=replace(program)
        )  # written too: its commit ids settle a lost answer
    return DraftedWord(reported._replace(entry=after.entry(entry.key)), after)


def drafted_store(drafts: EntryDrafts, admission: Admission) -> DraftedStore:
    """Draft the entry of the lesson that a store rewrites or reinforces; a lesson of a gone entry
    is in none.
    """
    rewritten = admission.rewritten
    if rewritten is None:
        return DraftedStore(admission, _confirmed(drafts, admission))
    program_id = admission.program.program_id
    entry = drafts.entry(rewritten.key)
    if entry is None or not is_contributor(entry, program_id, rewritten.pattern_id):
        return DraftedStore(with_free_lesson(admission), drafts)
    after = with_rewritten(entry, program_id, rewritten)
    return DraftedStore(
        admission, drafts.with_entry(after, REWRITTEN if rewritten.is_open else REWRITTEN_BACK)
    )


def _confirmed(drafts: EntryDrafts, admission: Admission) -> EntryDrafts:
    """Return the drafts with the entry confirmed that a reinforced lesson is in, as without
    evidence.
    """
    pattern = admission.pattern
    entry = (
        drafts.entry(pattern.knowledge_key)
        if pattern.knowledge_key and pattern.rewrite is None
        else None
    )
    if (
        entry is None
        or entry.retired_at is not None
        or entry.last_confirmed >= pattern.last_reinforced
    ):
        return drafts
    return drafts.with_entry(replace(entry, last_confirmed=pattern.last_reinforced), "stored again")
