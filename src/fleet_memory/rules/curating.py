"""Knowledge as people curate it, seed files, and how far it is behind."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

from fleet_memory.rules.text import counted
from fleet_memory.rules.text.keys import slug, text_hash
from fleet_memory.schemas.knowledge import (
    Decision,
    Entry,
    EntryValue,
    Freshness,
    KnowledgeRow,
    Seed,
)


def retired_by_people(entry: Entry, now: datetime) -> Entry:
    """Return the entry out of use; the same object when it is retired already."""
    return entry if entry.retired_at is not None else _decided(entry, "retired", now)


def reinstated(entry: Entry, now: datetime) -> Entry:
    """Return a retired entry back in use, confirmed now, with the contradictions set aside; one in
    use is the same object.
    """
    if entry.retired_at is None:
        return entry
    return replace(_decided(entry, "reinstated", now), last_confirmed=now)


def reworded(entry: Entry, now: datetime, text: str, vector: str = "", embedder: str = "") -> Entry:
    """Return the entry with another text; the same object when it has that text.

    It keeps its key and its contributions. Contradictions were about the text before, so they are
    set aside. `vector` is that of the new text, "" for one to be made later.
    """
    if text == entry.value.pattern:
        return entry
    return replace(
        _decided(entry, "reworded", now),
        value=replace(entry.value, pattern=text),
        vector=vector,
        embedder=embedder,
    )


def _decided(
    entry: Entry, kind: Literal["retired", "reinstated", "reworded"], now: datetime
) -> Entry:
    return replace(entry, decisions=(*entry.decisions, Decision(kind=kind, at=now, by="people")))


PREFIX: Final = "constitution/"
SET_BY_PEOPLE: Final = "Set by a person"  # the description of a rule without a reason


class Seeding(NamedTuple):
    """The effect of seeding: the seeds to write by key, the texts that rules of these keys have
    now, and keys of rules that stay as they are, retire, or stay although the seeds lack them.
    """

    written: Mapping[str, Seed]
    earlier: Mapping[str, str]
    unchanged: Sequence[str]
    retired: Sequence[str]
    kept: Sequence[str]

    def keys(self) -> dict[str, Sequence[str]]:
        """Return the keys by what becomes of them, under the names that answers have."""
        return {
            "added": sorted(self.written.keys() - self.earlier.keys()),
            "changed": sorted(self.earlier),
            "unchanged": self.unchanged,
            "retired": self.retired,
            "kept": self.kept,
        }


def key_of(seed: Seed) -> str:
    """Return the key of a seed's entry; one that is made from the text ends with the text's
    hash.
    """
    return PREFIX + (seed.key or f"{slug(seed.text)}-{text_hash(seed.text)[:6]}")


def seeding(wanted: Mapping[str, Seed], present: Iterable[Entry], *, prune: bool) -> Seeding:
    """Return the effect of seeding `wanted` on the present constitutional entries; with `prune`
    the others retire.
    """
    known = {entry.key: entry for entry in present}
    alike = {key for key, seed in wanted.items() if key in known and _says(known[key], seed)}
    written = {key: seed for key, seed in wanted.items() if key not in alike}
    missing = sorted(
        key for key, entry in known.items() if key not in wanted and entry.retired_at is None
    )
    return Seeding(
        written,
        {key: known[key].value.pattern for key in written if key in known},
        unchanged=sorted(alike),
        retired=missing if prune else [],
        kept=[] if prune else missing,
    )


def seeded(key: str, seed: Seed, before: Entry | None, now: datetime) -> Entry:
    """Return the entry of a seed, without a vector and without contradictions: those were about the
    earlier text.
    """
    value = EntryValue(
        pattern=seed.text,
        domain=seed.domain,
        confidence=seed.confidence,
        contributors=(),
        evidence_count=0,
        first_discovered=before.value.first_discovered if before else now,
        last_promoted=now,
    )
    return Entry(
        key=key,
        value=value,
        tier="constitutional",
        description=seed.why or SET_BY_PEOPLE,
        version=before.version + 1 if before else 1,
        last_confirmed=now,
        ledger=before.ledger if before else (),
    )


def _says(entry: Entry, seed: Seed) -> bool:
    value, description = entry.value, seed.why or SET_BY_PEOPLE
    said = value.pattern, value.domain, value.confidence, entry.description
    wanted = seed.text, seed.domain, seed.confidence, description
    return entry.retired_at is None and said == wanted


class Changes(NamedTuple):
    """Rows that are new, that changed, and that left; one that came and left meanwhile is in none
    of them.
    """

    added: Sequence[KnowledgeRow] = ()
    updated: Sequence[KnowledgeRow] = ()
    retired: Sequence[KnowledgeRow] = ()


def changes_since(rows: Iterable[KnowledgeRow], version: int) -> Changes:
    """Return the changes after knowledge version `version`, in the order of the rows."""
    changed = [row for row in rows if row.changed_in > version and not row.never_published]
    active = [row for row in changed if not row.is_hidden]
    return Changes(
        added=[row for row in active if row.since > version],
        updated=[row for row in active if row.since <= version],
        retired=[row for row in changed if row.is_hidden and row.since <= version],
    )


STALE_FROM_PENDING: Final = 10  # lessons; Source: docs/maintenance.md, "Freshness", chosen
UNATTENDED_AFTER: Final = timedelta(
    days=1
)  # without a run while lessons wait; Source: docs/maintenance.md, chosen
NOBODY_PROPOSES: Final = "nobody proposes: run fleet-memory maintain daily"


def freshness(
    pending: int, to_judge: int | None, consolidated_at: datetime | None, now: datetime
) -> Freshness:
    """Grade the fleet's knowledge by the lessons that wait for the next run; `to_judge` counts open
    pairs.

    Lessons of an entry wait too, after the verdict that closed their pair: the run looks for their
    next pairs. The reason counts both: pairs wait although every lesson has been considered.
    """
    stale = pending >= STALE_FROM_PENDING
    reason = _waiting(pending)
    if pending and consolidated_at is not None and now - consolidated_at > UNATTENDED_AFTER:
        reason += f": {NOBODY_PROPOSES}"
    if to_judge:
        reason += f"; {counted(to_judge, 'open pair waits', 'open pairs wait')} for a verdict"
    return Freshness(
        grade="stale" if stale else "slightly_stale" if pending else "up_to_date",
        is_stale=stale,
        pending=pending,
        to_judge=to_judge,
        consolidated_at=consolidated_at,
        reason=f"{reason}.",
    )


def own_freshness(pending: int, now: datetime) -> Freshness:
    """Return how much of a program's own memory waits for consolidation; its own lessons are read
    live.

    The open pairs of the fleet are not counted here.
    """
    reason = f"Own lessons are read live. {_waiting(pending)}."
    return replace(freshness(pending, None, None, now), reason=reason)


def _waiting(pending: int) -> str:
    if not pending:
        return "All lessons are compared"
    return counted(pending, "lesson waits", "lessons wait") + " for the next run"
