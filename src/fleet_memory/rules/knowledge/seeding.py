"""The effect of a seed file on the rules that people set: added, changed, unchanged, or no longer in the file."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from fleet_memory.rules.text.keys import slug
from fleet_memory.schemas.knowledge import Entry, EntryValue
from fleet_memory.schemas.seeds import Seed

PREFIX: Final = "constitution/"


class Seeding(NamedTuple):
    """Keys of the rules: those to write with their seeds, those that stay, those that the file lacks."""

    added: Mapping[str, Seed]
    changed: Mapping[str, Seed]
    unchanged: Sequence[str]
    missing: Sequence[str]


def key_of(seed: Seed) -> str:
    """Return the key of a seed's entry."""
    return PREFIX + (seed.key or slug(seed.text))


def seed_differences(wanted: Mapping[str, Seed], present: Iterable[Entry]) -> Seeding:
    """Return the effect of seeding `wanted` on the present constitutional entries."""
    known = {entry.key: entry for entry in present if entry.tier == "constitutional"}
    alike = {key for key, seed in wanted.items() if key in known and _says(known[key], seed)}
    return Seeding(
        added={key: seed for key, seed in wanted.items() if key not in known},
        changed={key: seed for key, seed in wanted.items() if key in known and key not in alike},
        unchanged=sorted(alike),
        missing=sorted(key for key, entry in known.items() if key not in wanted and entry.retired_at is None),
    )


def seeded(key: str, seed: Seed, before: Entry | None, now: datetime) -> Entry:
    """Return the entry of a seed, without a vector and without contradictions: those were about the earlier text."""
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
        description=seed.why or "Set by a person",
        version=before.version + 1 if before else 1,
        last_confirmed=now,
        since=before.since if before else 0,
        ledger=before.ledger if before else (),
    )


def _says(entry: Entry, seed: Seed) -> bool:
    value = entry.value
    same = (value.pattern, value.domain, value.confidence) == (seed.text, seed.domain, seed.confidence)
    return same and entry.retired_at is None and entry.description == (seed.why or "Set by a person")
