"""What a consolidation decides about one topic: which lessons repeat an entry, which become one, which need judgement.

A topic is a set of domains that are compared with each other: first within each, then across, at the strict threshold.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from fleet_memory.rules.consensus.attachment import Attachment, Side, attachments
from fleet_memory.rules.consensus.linking import Bar, Link, Pair, Rulings, bar_of, groups, links, medoid, strict_bar
from fleet_memory.rules.consensus.pairs import (
    Candidate,
    candidate,
    decided,
    entry_lessons,
    link_explanation,
    objections,
    pairs,
    ruled,
    worded,
)
from fleet_memory.rules.knowledge.promotion import independent_origins
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.schemas.similarity import Profile
from fleet_memory.schemas.waiting import Learnt

MAX_LESSONS_ACROSS: Final = (
    5_000  # lessons of a topic compared across its domains in one matrix (100 MB); a larger topic is not
)
MAX_EXPLAINED_LINKS: Final = 3  # links named in a group's explanation


class Topic(NamedTuple):
    """What is decided together: lessons of some domains (settled ones too, as rivals), the entries of these domains.

    `vectors` and `entry_vectors` hold a unit row each; zeros stand for a vector of another embedder, which is alike to
    nothing: only equal words match it.
    """

    lessons: Sequence[Learnt]
    vectors: Vectors
    entries: Sequence[KnowledgeRow]
    entry_vectors: Vectors


class Group(NamedTuple):
    """Lessons that are one: positions, the position whose text speaks for all, and each one's cosine to it."""

    members: tuple[int, ...]
    text: int
    similarities: tuple[float, ...]
    explain: str


class Plan(NamedTuple):
    """Everything that was decided about one topic; `dependent` counts the groups with too few independent origins."""

    attachments: tuple[Attachment, ...]
    promotions: tuple[Group, ...]
    open_pairs: tuple[Candidate, ...]
    dependent: int


class _View(NamedTuple):
    """The lessons of one comparison: their positions in the topic, and what is known of them by local position."""

    positions: Sequence[int]
    part: Side
    found: Sequence[Link]
    rulings: Rulings
    said: Mapping[Pair, str]
    bar: Bar


def planned(topic: Topic, profile: Profile, threshold: int) -> Plan:
    """Decide about one topic; promotions need `threshold` independent origins."""
    lessons = Side(topic.lessons, topic.vectors)
    entries = Side(entry_lessons(topic.entries), topic.entry_vectors)
    attached, open_pairs = attachments(lessons, entries, profile)
    done = {attachment.lesson for attachment in attached} | {i for i, node in enumerate(lessons.nodes) if node.settled}
    formed: list[Group] = []
    for view in _views(lessons, done, profile):
        grouped = [_group(topic, view, members) for members in _members(view, done)]
        done.update(i for group in grouped if _origins(topic, group) >= threshold for i in group.members)
        formed += grouped
        open_pairs += _open(view)
    return _plan(lessons.nodes, attached, formed, (open_pairs, done))


def _views(lessons: Side, done: Collection[int], profile: Profile) -> Iterator[_View]:
    """Yield each domain, then all of them at the strict threshold; `done` may grow between two of them."""
    domains = lessons.domains()
    for positions in domains.values():
        yield _viewed(lessons, positions, done, profile, bar_of(profile, len(positions)))
    if len(domains) > 1 and len(lessons.nodes) <= MAX_LESSONS_ACROSS:
        strict = replace(profile, review=profile.strict)
        yield _viewed(lessons, range(len(lessons.nodes)), done, strict, strict_bar(profile))


def _viewed(lessons: Side, positions: Sequence[int], done: Collection[int], profile: Profile, bar: Bar) -> _View:
    part = lessons.part(positions)
    everyone = links(part.vectors @ part.vectors.T, [node.program_id for node in part.nodes], profile)
    free = [link for link in everyone if positions[link.i] not in done and positions[link.j] not in done]
    free = worded(part.nodes, free)
    rulings = decided(part.nodes)
    return _View(positions, part, free, rulings, objections(part.nodes, free, rulings), bar)


def _members(view: _View, done: Collection[int]) -> list[list[int]]:
    together = {pair for pair in view.rulings.together if not {view.positions[i] for i in pair} & set(done)}
    rulings = Rulings(frozenset(together), view.rulings.apart | view.said.keys())
    return groups(view.found, [node.program_id for node in view.part.nodes], rulings, view.bar)


def _group(topic: Topic, view: _View, members: Sequence[int]) -> Group:
    nodes, vectors = view.part.nodes, view.part.vectors[np.asarray(members, dtype=int)]
    cosines = vectors @ vectors.T
    text = medoid(cosines, [_rank(topic.lessons[view.positions[member]]) for member in members])
    spoken = nodes[members[text]]
    similarities = [
        1.0 if nodes[member].words == spoken.words else round(float(cosines[text, at]), 3)
        for at, member in enumerate(members)
    ]
    inside = [
        link for link in view.found if set(link.pair) <= set(members) and not ruled(link.pair, nodes, view.rulings)
    ]
    rulings = sorted({why for pair in pairs(members, members) if (why := ruled(pair, nodes, view.rulings))})
    linked = [
        f"{nodes[link.i].program_id} and {nodes[link.j].program_id}: {link_explanation(link, view.bar, grouped=True)}"
        for link in inside[:MAX_EXPLAINED_LINKS]
    ]
    why = "; ".join([*rulings, *linked])
    positions = tuple(view.positions[member] for member in members)
    return Group(positions, positions[text], tuple(similarities), why)


def _rank(lesson: Learnt) -> tuple[object, ...]:
    """Return the key that breaks a tie: the highest confidence first, then the oldest, then the program id."""
    return (-lesson.confidence, lesson.discovered_at, lesson.program_id)


def _origins(topic: Topic, group: Group) -> int:
    lessons = [topic.lessons[member] for member in group.members]
    return independent_origins((lesson.program_id, lesson.session_id) for lesson in lessons)


def _open(view: _View) -> list[Candidate]:
    """Return the links that no ruling but the guard's has settled."""
    settled = view.rulings.together | view.rulings.apart
    return [
        candidate(view.part.nodes, link, view.said.get(link.pair, ""), view.bar)
        for link in view.found
        if link.pair not in settled
    ]


def _plan(
    nodes: Sequence[Learnt],
    attached: Sequence[Attachment],
    formed: Sequence[Group],
    left: tuple[Sequence[Candidate], Collection[int]],
) -> Plan:
    """Offer for judgement what is neither done nor grouped."""
    open_pairs, done = left
    finished = {nodes[i].place for i in done}
    together = [{nodes[i].place for i in group.members} for group in formed]
    waiting: dict[str, Candidate] = {}
    for pair in open_pairs:
        ends = {pair.a.place, pair.b.place}
        if not ends & finished and not any(ends <= members for members in together):
            waiting.setdefault(pair.pair_id, pair)
    ordered = sorted(waiting.values(), key=lambda pair: (-pair.link.contrast, pair.pair_id))
    return Plan(
        tuple(attached),
        tuple(group for group in formed if set(group.members) <= set(done)),
        tuple(ordered),
        sum(not set(group.members) <= set(done) for group in formed),
    )


def contested(pair: Candidate, profile: Profile) -> bool:
    """Whether a pair would have merged but for the guard's objection."""
    return bool(pair.objection) and bar_of(profile, 0).merges(pair.link)
