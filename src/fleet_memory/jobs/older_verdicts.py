"""The verdicts that an older version stored on lessons, as pairs, if their texts still exist."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fleet_memory.repositories.version_before import VerdictOnTexts
from fleet_memory.rules.consensus.merged import contribution_side, entry_side
from fleet_memory.rules.text.keys import pair_id, text_hash
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.pairs import Judgement, Pair, Side
from fleet_memory.schemas.programs import Program


class KnownText(NamedTuple):
    """A text as a side of a pair, and the key of the entry that it is in or is the text of."""

    side: Side
    key: str | None


class VerdictPair(NamedTuple):
    """A pair that an older version's verdicts make, and whether its programs are asked again."""

    pair: Pair
    is_asked: bool


class VerdictPairs(NamedTuple):
    """The pairs of verdicts about texts that exist, and how many others there were."""

    kept: Sequence[VerdictPair]
    dropped: int


class OlderTexts:
    """All texts of a fleet by the hashes of their words, and the verdicts about them."""

    def __init__(self) -> None:
        self._known: dict[str, KnownText] = {}
        self._verdicts: dict[str, set[VerdictOnTexts]] = defaultdict(set)
        self._unjudged: set[str] = set()

    def add_entry(self, entry: Entry) -> None:
        """Add an entry's text; it comes before lessons of the same words."""
        self._known.setdefault(
            text_hash(entry.value.pattern), KnownText(entry_side(entry), entry.key)
        )
        self._unjudged |= {
            line.pair for line in entry.provenance if line.basis == "unjudged" and line.pair
        }

    def add_program(self, program: Program, verdicts: Iterable[VerdictOnTexts]) -> None:
        """Add a program's lessons and the verdicts that were stored on them."""
        for pattern in program.patterns.values():
            side = Side(
                program_id=program.program_id,
                pattern_id=pattern.id,
                domain=pattern.domain,
                text=pattern.pattern,
                evidence=pattern.evidence,
            )
            self._known.setdefault(
                text_hash(pattern.pattern), KnownText(side, pattern.knowledge_key)
            )
        for verdict in verdicts:
            if verdict.words != verdict.other_words:
                self._verdicts[pair_id(verdict.words, verdict.other_words)].add(verdict)

    def add_contributions(self, entry: Entry) -> None:
        """Add the texts of contributions, as their lessons may be gone; after `add_program`."""
        for line in entry.provenance:
            self._known.setdefault(
                text_hash(line.pattern), KnownText(contribution_side(entry, line), entry.key)
            )

    @property
    def same_pairs(self) -> frozenset[str]:
        """The ids of the pairs that a stored verdict called the same."""
        return frozenset(
            id_ for id_, verdicts in self._verdicts.items() if _ordered(verdicts)[-1].verdict.same
        )

    def verdict_pairs(self) -> VerdictPairs:
        """Return the pairs that the verdicts make, by id.

        A `same` that no entry shows is asked again, and is open. A `different` about a contribution
        is dropped: the two were merged since, so the pair is asked.
        """
        verdict_pairs: list[VerdictPair] = []
        for id_, verdicts in sorted(self._verdicts.items()):
            texts = [
                self._known.get(words)
                for words in sorted({words for verdict in verdicts for words in verdict[:2]})
            ]
            a, b = texts[0], texts[-1]
            ordered = _ordered(verdicts)
            if a is None or b is None or (not ordered[-1].verdict.same and id_ in self._unjudged):
                continue
            verdict_pairs.append(_pair(id_, a, b, ordered))
        return VerdictPairs(verdict_pairs, len(self._verdicts) - len(verdict_pairs))


def _ordered(verdicts: Iterable[VerdictOnTexts]) -> list[VerdictOnTexts]:
    return sorted(
        verdicts, key=lambda stored: (stored.verdict.at, stored.verdict.judge, stored.words)
    )


def _pair(id_: str, a: KnownText, b: KnownText, verdicts: Sequence[VerdictOnTexts]) -> VerdictPair:
    lesson, other = (a, b) if a.side.key is None else (b, a)
    is_same = verdicts[-1].verdict.same
    is_open = is_same and (a.key is None or a.key != b.key)
    judgements = {
        stored.verdict.judge: Judgement(
            verdict="same" if stored.verdict.same else "different",
            program_id=stored.verdict.judge,
            at=stored.verdict.at,
            reason=stored.verdict.reason,
            contributed=stored.verdict.contributed,
        )
        for stored in verdicts
    }
    pair = Pair(
        pair_id=id_,
        a=lesson.side,
        b=other.side,
        state="open" if is_open else "same" if is_same else "different",
        judgements=tuple(judgements.values()),
        opened_at=verdicts[0].verdict.at,
    )
    return VerdictPair(pair, is_asked=is_open)
