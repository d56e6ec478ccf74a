"""An author's verdict about its own rewrite of a lesson that contributes to an entry."""

from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.repositories.commits import new_commit_id
from fleet_memory.repositories.entry_codec import VersionedEntry
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.repositories.programs import VersionedChange
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.rules.asking import rewrite_pair_id, with_unsure
from fleet_memory.rules.deciding import with_membership
from fleet_memory.rules.entries import (
    EntryChange,
    entry_state,
    may_contradict,
    settled,
    with_contradiction,
    with_open_rewrite,
    with_recent,
    without_lesson,
)
from fleet_memory.rules.lifecycle.stamping import stamped
from fleet_memory.rules.pairs import with_judgement
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.knowledge import Entry, Word
from fleet_memory.schemas.pairs import Judgement, NewVerdict, Pair, Side
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Program


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
