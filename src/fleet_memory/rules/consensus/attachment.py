"""Which lessons say what an entry says already: first within a domain, then across the topic."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fleet_memory.rules.consensus.linking import Bar, bar_of, links_between, strict_bar
from fleet_memory.rules.consensus.pairs import (
    Candidate,
    candidate,
    decided,
    link_explanation,
    objections,
    ruled,
    worded,
)
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.similarity import Profile
from fleet_memory.schemas.waiting import Learnt


class Attachment(NamedTuple):
    """A lesson that says what an entry says: its position among the lessons, the entry's among the entries."""

    lesson: int
    entry: int
    similarity: float
    explain: str


class Side(NamedTuple):
    """Lessons or entries of one topic: nodes and their unit rows (zeros where there is no comparable vector)."""

    nodes: Sequence[Learnt]
    vectors: Vectors

    def domains(self) -> dict[str, list[int]]:
        """Return the positions of each domain, domains in order of name."""
        found: dict[str, list[int]] = {}
        for position, node in enumerate(self.nodes):
            found.setdefault(node.domain, []).append(position)
        return dict(sorted(found.items()))

    def part(self, positions: Sequence[int]) -> "Side":
        """Return some of them, in this order."""
        return Side([self.nodes[position] for position in positions], self.vectors[np.asarray(positions, dtype=int)])


def attachments(lessons: Side, entries: Side, profile: Profile) -> tuple[list[Attachment], list[Candidate]]:
    """Return the lessons to attach, one entry each, and the pairs of a lesson and an entry that need judgement."""
    found: list[Attachment] = []
    open_pairs: list[Candidate] = []
    known = entries.domains()
    for domain, learnt in lessons.domains().items():
        if domain in known:
            bar = bar_of(profile, len(learnt))
            one, two = _attached(lessons.part(learnt), entries.part(known[domain]), profile, bar)
            found += [a._replace(lesson=learnt[a.lesson], entry=known[domain][a.entry]) for a in one]
            open_pairs += two
    if len({*known, *lessons.domains()}) > 1:
        done = {attachment.lesson for attachment in found}
        strict = replace(profile, review=profile.strict)
        across, _ = _attached(lessons, entries, strict, strict_bar(profile))
        found += [attachment for attachment in across if attachment.lesson not in done]
    return found, open_pairs


def _attached(lessons: Side, entries: Side, profile: Profile, bar: Bar) -> tuple[list[Attachment], list[Candidate]]:
    """Compare lessons and entries of one domain, or of all; positions are local."""
    if not lessons.nodes or not entries.nodes:
        return [], []
    nodes = [*lessons.nodes, *entries.nodes]
    block = lessons.vectors @ entries.vectors.T
    found = [
        link
        for link in links_between(block, [node.program_id for node in lessons.nodes], profile)
        if not nodes[link.i].settled
    ]
    found = worded(nodes, found)
    rulings = decided(nodes)
    said = objections(nodes, found, rulings)
    first = len(lessons.nodes)
    sure: dict[int, Attachment] = {}
    for i, j in sorted(rulings.together):
        if i < first <= j and not nodes[i].settled:
            sure.setdefault(i, Attachment(i, j - first, 1.0, ruled((i, j), nodes, rulings)))
    for link in found:
        if bar.merges(link) and link.pair not in said and link.pair not in rulings.apart and link.i not in sure:
            sure[link.i] = Attachment(link.i, link.j - first, round(link.cosine, 3), link_explanation(link, bar))
    waiting = [link for link in found if link.i not in sure and link.pair not in rulings.apart]
    return list(sure.values()), [candidate(nodes, link, said.get(link.pair, ""), bar) for link in waiting]
