"""Words about entries carried out, and rewrites that their authors judge."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, NamedTuple

from fleet_memory.errors import InvalidArgumentError, KnowledgeNotFoundError, PatternNotFoundError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.publishing import publish_changes
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.repositories.programs import VersionedChange
from fleet_memory.repositories.retrying import new_commit_id, retry_conflicts
from fleet_memory.repositories.snapshots import VersionedEntry
from fleet_memory.rules.asking import rewrite_pair_id, with_unsure
from fleet_memory.rules.deciding import with_membership
from fleet_memory.rules.entries import (
    EntryChange,
    entry_state,
    is_contributor,
    may_contradict,
    settled,
    with_contradiction,
    with_open_rewrite,
    with_recent,
    without_lesson,
)
from fleet_memory.rules.lifecycle.admission import (
    Admission,
    pattern_of,
    with_free_lesson,
    with_rewritten,
)
from fleet_memory.rules.lifecycle.outcomes import (
    OutcomeReport,
    Reported,
    reported,
    reported_of_entry,
    was_reported,
)
from fleet_memory.rules.lifecycle.stamping import stamped
from fleet_memory.rules.pairs import with_judgement
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.rules.text.names import close_names
from fleet_memory.schemas.knowledge import Entry, Word
from fleet_memory.schemas.pairs import Judgement, NewVerdict, Pair, Side
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Archived, Program
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


class OwnRewrite(NamedTuple):
    """A lesson that its author rewrote while the earlier text votes in an entry."""

    program_id: str
    pattern_id: str
    pair_id: str


def rewrite_in(program: Program, wanted: str) -> OwnRewrite | None:
    """Return the rewrite among a program's lessons that has this pair id; None when there is
    none.
    """
    ids = [
        pattern.id for pattern in program.patterns.values() if rewrite_pair_id(pattern) == wanted
    ]
    return OwnRewrite(program.program_id, ids[0], wanted) if ids else None


async def judge_rewrite(
    fleet: Fleet, own: OwnRewrite, verdict: NewVerdict, connection: str | None, policy: Policy
) -> EntryChange:
    """Carry out an author's verdict: `same` lets the earlier text vote, a contrary one takes it out
    of its entry.

    `contradict` is its word against the entry too. Both close the pair. After `unsure` its author
    is not asked again. Raises InvalidArgumentError when the lesson has changed since. Billed 3
    reads and at most 4 writes.
    """

    async def attempt() -> EntryChange:
        now, commit_id, token = fleet.now(), new_commit_id(), fleet.caller.token_id
        versioned, pattern, known, before = await _read_open(fleet, own)
        if verdict.verdict == "unsure":
            state = entry_state(before, now)
            unsure = with_unsure(versioned.program, own.pair_id, now)
            await fleet.programs.commit(
                [VersionedChange(versioned, stamped(versioned.program, unsure, now))]
            )
            return EntryChange(before, state, state)
        program, entry = _judged(versioned.program, pattern, before, verdict)
        if verdict.verdict == "contradict":
            program, entry = _contradicted(
                program, entry, _word(program, pattern, verdict, connection, now, token)
            )
        final = settled(before, entry, policy, now)
        why = f"its author called the rewrite {verdict.verdict}"
        writes = fleet.knowledge.writes(
            known, final, by=own.program_id, token=token, why=why, now=now, commit_id=commit_id
        )
        if verdict.verdict != "same":
            (known_pair,) = await fleet.pairs.read(own.pair_id)
            pair = known_pair.pair or _pair(own, pattern, before, now)
            writes.append(
                fleet.pairs.write(
                    known_pair, with_judgement(pair, _judgement(own, verdict, now, token))
                )
            )
        change = VersionedChange(versioned, stamped(versioned.program, program, now))
        await fleet.programs.commit([change], writes, commit_id)
        return EntryChange(final, entry_state(before, now), entry_state(final, now))

    return await retry_conflicts(attempt, f"program {own.program_id}")


async def _read_open(
    fleet: Fleet, own: OwnRewrite
) -> tuple[VersionedProgram, Pattern, VersionedEntry, Entry]:
    """Return the author's program, the lesson, and its entry with and without its revision; raises
    if closed.
    """
    (versioned,) = await fleet.programs.read_versioned(own.program_id)
    pattern = versioned.program.patterns.get(own.pattern_id)
    if pattern is None or pattern.knowledge_key is None or rewrite_pair_id(pattern) != own.pair_id:
        raise InvalidArgumentError(
            f"pairId: {own.pair_id!r} is no longer open: the lesson was changed again"
        )
    (known,) = await fleet.knowledge.read_versioned(pattern.knowledge_key)
    if known.entry is None:
        raise InvalidArgumentError(f"pairId: {own.pair_id!r} is no longer open: its entry is gone")
    return versioned, pattern, known, known.entry


def _word(
    program: Program,
    pattern: Pattern,
    verdict: NewVerdict,
    connection: str | None,
    now: datetime,
    token: str | None,
) -> Word:
    return Word(
        program_id=program.program_id,
        outcome="contradicted",
        at=now,
        evidence=verdict.reason or "its author rewrote the lesson: nobody can follow both texts",
        session_id=pattern.session_id,
        connection=connection,
        token=token,
        waits=not may_contradict(program.against, pattern.knowledge_key or "", now),
    )


def _contradicted(program: Program, entry: Entry, word: Word) -> tuple[Program, Entry]:
    against = with_recent(program.against, entry.key, word.at)
    return replace(program, against=against), with_contradiction(entry, word)


def _judgement(own: OwnRewrite, verdict: NewVerdict, now: datetime, token: str | None) -> Judgement:
    return Judgement(
        verdict=verdict.verdict,
        program_id=own.program_id,
        at=now,
        reason=verdict.reason,
        contributed=True,
        token=token,
    )


def _pair(own: OwnRewrite, pattern: Pattern, entry: Entry, now: datetime) -> Pair:
    """Return the pair of the newest text and the one that voted, without a verdict."""
    voting = pattern.rewrite.voting_text if pattern.rewrite else entry.value.pattern
    is_entrys = text_hash(voting) == text_hash(entry.value.pattern)
    return Pair(
        pair_id=own.pair_id,
        a=Side(
            program_id=own.program_id,
            pattern_id=own.pattern_id,
            domain=pattern.domain,
            text=pattern.pattern,
        ),
        b=Side(
            program_id=own.program_id,
            key=entry.key if is_entrys else None,
            domain=entry.value.domain,
            text=voting,
        ),
        opened_at=now,
    )


def _judged(
    program: Program, pattern: Pattern, entry: Entry, verdict: NewVerdict
) -> tuple[Program, Entry]:
    name = program.program_id
    if verdict.verdict == "same" and pattern.rewrite is not None:
        judged = replace(pattern, rewrite=replace(pattern.rewrite, judged_same=True))
        return (
            replace(program, patterns={**program.patterns, pattern.id: judged}),
            with_open_rewrite(entry, name, pattern.id, is_open=False),
        )
    return with_membership(program, pattern.id, None), without_lesson(entry, name, pattern.id)


KEY_PREFIXES: Final = ("pattern/", "constitution/")


class _Recorded(NamedTuple):
    program: Program
    archived: tuple[Archived, ...]
    said: Reported
    changes: tuple[EntryChange, ...]


async def record_word(fleet: Fleet, program_id: str, about: str, report: OutcomeReport) -> Reported:
    """Record a word about one of the program's lessons, and the entry that it is in, or about the
    entry of a key.

    Raises PatternNotFoundError, and KnowledgeNotFoundError for a key that agents do not know.
    Billed 1 read and 1 write, and as much for the entry; for a name that is not found also the
    snapshot, which has close keys.
    """

    async def change(program: Program) -> tuple[_Recorded, Sequence[Write]]:
        try:
            key = entry_key(program, about)
            drafts = await read_drafts(fleet, [key] if key else [], report.now)
            reported, drafts = with_word(drafts, program, about, report)
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


def entry_key(program: Program, about: str) -> str | None:
    """Return the key of the entry that a word is about, None for a lesson in no entry.

    Raises PatternNotFoundError, without close names.
    """
    own = pattern_of(program, about)
    if own is not None:
        return own.knowledge_key
    if about.startswith(KEY_PREFIXES):
        return about
    raise PatternNotFoundError(program.program_id, about)


def with_word(
    drafts: EntryDrafts, program: Program, about: str, report: OutcomeReport
) -> DraftedWord:
    """Return the program after a word, and with it the entry that it is about, if any.

    Raises PatternNotFoundError, and KnowledgeNotFoundError for a key that agents do not know.
    """
    own = pattern_of(program, about)
    key = entry_key(program, about)
    entry = drafts.entry(key) if key else None
    if own is not None and entry is None:
        return DraftedWord(reported(program, own, report), drafts)
    if entry is None or (
        own is None and not entry.is_public and not was_reported(program, about, report)
    ):
        raise KnowledgeNotFoundError(about)
    return drafted_word(drafts, program, about, entry, report)
