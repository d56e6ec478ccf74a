"""The effect of a seed file on the rules that people set: added, changed, unchanged, or no longer
in the file.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from fleet_memory.rules.text.keys import slug, text_hash
from fleet_memory.rules.text.normalisation import normalised
from fleet_memory.schemas.knowledge import Entry, EntryValue
from fleet_memory.schemas.seeds import Seed

PREFIX: Final = "constitution/"


class Seeding(NamedTuple):
    """Keys of the rules: those to write with their seeds, those that stay, those that the file
    lacks.

    `earlier` has the texts that the changed ones have now. `rewordings` are rules that would come,
    each with a missing one that shares at least half the words of both: one of the two may be the
    other's earlier wording. Neither has a `key` of its own.
    """

    added: Mapping[str, Seed]
    changed: Mapping[str, Seed]
    unchanged: Sequence[str]
    missing: Sequence[str]
    earlier: Mapping[str, str]
    rewordings: Mapping[str, str]

    @property
    def replaced(self) -> Sequence[str]:
        """The keys of changes that keep less than half the words of the rule: another rule would
        take its place.
        """
        return sorted(
            key
            for key, seed in self.changed.items()
            if not _keeps_half(self.earlier[key], seed.text)
        )


def key_of(seed: Seed) -> str:
    """Return the key of a seed's entry; one that is made from the text ends with the text's
    hash.
    """
    return PREFIX + (seed.key or _key_of_text(seed.text))


def seed_differences(wanted: Mapping[str, Seed], present: Iterable[Entry]) -> Seeding:
    """Return the effect of seeding `wanted` on the present constitutional entries."""
    known = {entry.key: entry for entry in present if entry.tier == "constitutional"}
    wanted = {_known_key(key, seed, wanted, known): seed for key, seed in wanted.items()}
    alike = {key for key, seed in wanted.items() if key in known and _says(known[key], seed)}
    missing = sorted(
        key for key, entry in known.items() if key not in wanted and entry.retired_at is None
    )
    return Seeding(
        added={key: seed for key, seed in wanted.items() if key not in known},
        changed={key: seed for key, seed in wanted.items() if key in known and key not in alike},
        unchanged=sorted(alike),
        missing=missing,
        earlier={
            key: known[key].value.pattern for key in wanted if key in known and key not in alike
        },
        rewordings={
            key: other
            for key, seed in wanted.items()
            if seed.key is None and (key not in known or known[key].retired_at is not None)
            for other in missing
            if _is_keyed_by_text(known[other])
            and _share_half(known[other].value.pattern, seed.text)
        },
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
        description=seed.why or "Set by a person",
        version=before.version + 1 if before else 1,
        last_confirmed=now,
        since=before.since if before else 0,
        ledger=before.ledger if before else (),
    )


def _known_key(key: str, seed: Seed, wanted: Collection[str], known: Mapping[str, Entry]) -> str:
    """Return the key of a seed's rule, the one without a hash where an older version gave it
    that.
    """
    before = PREFIX + slug(seed.text)
    entry = (
        known.get(before)
        if seed.key is None and key not in known and before not in wanted
        else None
    )
    return before if entry and text_hash(entry.value.pattern) == text_hash(seed.text) else key


def _key_of_text(text: str) -> str:
    return f"{slug(text)}-{text_hash(text)[:6]}"


def _is_keyed_by_text(entry: Entry) -> bool:
    text = entry.value.pattern
    return entry.key in (PREFIX + _key_of_text(text), PREFIX + slug(text))


def _share_half(one: str, other: str) -> bool:
    return _keeps_half(one, other) and _keeps_half(other, one)


def _keeps_half(earlier: str, text: str) -> bool:
    words = set(normalised(earlier).split())
    return 2 * len(words & set(normalised(text).split())) >= len(words)


def _says(entry: Entry, seed: Seed) -> bool:
    value = entry.value
    same = (value.pattern, value.domain, value.confidence) == (
        seed.text,
        seed.domain,
        seed.confidence,
    )
    return (
        same and entry.retired_at is None and entry.description == (seed.why or "Set by a person")
    )
