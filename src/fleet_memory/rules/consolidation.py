"""What a consolidation decides: which lessons repeat an entry, which become one, which need judgement.

Lessons and entries meet as `Node`s: an entry is a lesson of the pseudo-program `KNOWLEDGE`. Domains are compared first
within, then across.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from fleet_memory.rules.consensus import CROWDED, Link, Matrix, Pair, Rulings, groups, links, medoid
from fleet_memory.rules.guard import objection
from fleet_memory.rules.keys import pair_id, text_hash
from fleet_memory.rules.promotion import Waiting, independent_origins
from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.schemas.patterns import Verdict
from fleet_memory.schemas.similarity import Profile

KNOWLEDGE: Final = ""  # no program can be called so


class Node(NamedTuple):
    """A lesson or an entry as grouping sees it; `words` are the hashes of the texts that are certainly the same."""

    program_id: str
    pattern_id: str
    domain: str
    text: str
    words: frozenset[str]
    verdicts: Mapping[str, Verdict]

    @property
    def is_entry(self) -> bool:
        """Whether this is shared knowledge already."""
        return self.program_id == KNOWLEDGE


class Candidate(NamedTuple):
    """A linked pair, what speaks against merging it ("" for nothing), and how that was found."""

    pair_id: str
    link: Link
    a: Node
    b: Node
    objection: str
    explain: str


class Attachment(NamedTuple):
    """A lesson that says what an entry says: positions among the nodes."""

    lesson: int
    entry: int
    similarity: float
    explain: str


class Group(NamedTuple):
    """Lessons that are one: positions, the position whose text speaks for all, and each one's cosine to it."""

    members: tuple[int, ...]
    text: int
    similarities: tuple[float, ...]
    explain: str


class Plan(NamedTuple):
    """Everything that one consolidation decided."""

    attachments: tuple[Attachment, ...]
    promotions: tuple[Group, ...]
    review: tuple[Candidate, ...]
    contested: tuple[Candidate, ...]


class _Round(NamedTuple):
    """What one look at some nodes found; `unpromoted` are groups with too few origins."""

    attachments: list[Attachment]
    promotions: list[Group]
    unpromoted: list[Group]
    candidates: list[tuple[Candidate, Pair]]


def nodes_of(lessons: Sequence[Waiting], entries: Sequence[KnowledgeRow]) -> list[Node]:
    """Return the lessons, then the entries, as nodes."""
    learnt = [
        Node(program_id, p.id, p.domain, p.pattern, frozenset({text_hash(p.pattern)}), p.verdicts)
        for program_id, p in lessons
    ]
    known = [
        Node(KNOWLEDGE, row.key, row.domain, row.pattern, frozenset({*row.wordings, text_hash(row.pattern)}), {})
        for row in entries
    ]
    return learnt + known


def planned(
    lessons: Sequence[Waiting], entries: Sequence[KnowledgeRow], vectors: Matrix, profile: Profile, threshold: int
) -> Plan:
    """Decide about lessons (unpromoted, active) and entries; `vectors` holds the lessons' rows, then the entries'.

    A row of zeros stands for a vector of another embedder: it is alike to nothing, and only equal words match it.
    """
    fleet = _Fleet(nodes_of(lessons, entries), lessons, vectors, profile, threshold)
    domains: dict[str, list[int]] = {}
    for position, node in enumerate(fleet.nodes):
        domains.setdefault(node.domain, []).append(position)
    rounds = [
        _looked_at(fleet, positions, profile.strict if len(positions) > CROWDED else profile.auto)
        for _, positions in sorted(domains.items())
    ]
    done = _done(rounds)
    left = [position for position in range(len(fleet.nodes)) if position not in done]
    if len(domains) > 1:
        across = fleet._replace(profile=profile.model_copy(update={"review": profile.strict}))
        rounds.append(_looked_at(across, left, profile.strict))
    return _plan(rounds, profile)


def _plan(rounds: Sequence[_Round], profile: Profile) -> Plan:
    done = _done(rounds)
    together = [set(group.members) for one in rounds for group in (*one.promotions, *one.unpromoted)]
    waiting: dict[str, Candidate] = {}
    for candidate, pair in (found for one in rounds for found in one.candidates):
        if not done & set(pair) and not any(set(pair) <= members for members in together):
            waiting.setdefault(candidate.pair_id, candidate)
    ordered = sorted(waiting.values(), key=lambda pair: (-pair.link.contrast, pair.pair_id))
    return Plan(
        tuple(attachment for one in rounds for attachment in one.attachments),
        tuple(group for one in rounds for group in one.promotions),
        tuple(pair for pair in ordered if not _is_contested(pair, profile)),
        tuple(pair for pair in ordered if _is_contested(pair, profile)),
    )


def _is_contested(candidate: Candidate, profile: Profile) -> bool:
    return bool(candidate.objection) and candidate.link.contrast >= profile.auto


def _done(rounds: Iterable[_Round]) -> set[int]:
    attached = {attachment.lesson for one in rounds for attachment in one.attachments}
    return attached | {member for one in rounds for group in one.promotions for member in group.members}


class _Fleet(NamedTuple):
    """What every round looks at."""

    nodes: Sequence[Node]
    lessons: Sequence[Waiting]
    vectors: Matrix
    profile: Profile
    threshold: int


class _View(NamedTuple):
    """The nodes of one round: their positions in the fleet, their cosines, links and rulings by local position."""

    positions: Sequence[int]
    nodes: Sequence[Node]
    cosines: Matrix
    found: Sequence[Link]
    decided: Rulings
    objections: Mapping[Pair, str]

    @property
    def rulings(self) -> Rulings:
        """What was decided before, with the guard's objections."""
        return Rulings(self.decided.together, self.decided.apart | self.objections.keys())


def _looked_at(fleet: _Fleet, positions: Sequence[int], least: float) -> _Round:
    view = _viewed(fleet, positions)
    attachments = _attachments(view, least)
    attached = {attachment.lesson for attachment in attachments}
    taken = {i for i, node in enumerate(view.nodes) if node.is_entry or positions[i] in attached}
    free = [link for link in view.found if not taken & set(link.pair)]
    together = frozenset(pair for pair in view.rulings.together if not taken & set(pair))
    programs = [node.program_id for node in view.nodes]
    members = groups(free, programs, Rulings(together, view.rulings.apart), least=least)
    formed = [(_origins(fleet, positions, group), _group(fleet, view, group)) for group in members]
    return _Round(
        attachments,
        [group for origins, group in formed if origins >= fleet.threshold],
        [group for origins, group in formed if origins < fleet.threshold],
        [(_candidate(view, link, least), (positions[link.i], positions[link.j])) for link in _open(view)],
    )


def _viewed(fleet: _Fleet, positions: Sequence[int]) -> _View:
    nodes = [fleet.nodes[position] for position in positions]
    rows = fleet.vectors[list(positions)]
    cosines = rows @ rows.T
    found = links(cosines, [node.program_id for node in nodes], fleet.profile)
    decided = _decided(nodes)
    settled = decided.together | decided.apart
    objections = {
        link.pair: said
        for link in found
        if link.pair not in settled and (said := objection(nodes[link.i].text, nodes[link.j].text))
    }
    return _View(positions, nodes, cosines, found, decided, objections)


def _decided(nodes: Sequence[Node]) -> Rulings:
    """Return what needs no score: equal words are the same, and verdicts stand; a verdict outranks equal words."""
    by_words: dict[str, list[int]] = {}
    for position, node in enumerate(nodes):
        for words in node.words:
            by_words.setdefault(words, []).append(position)
    same = {
        pair
        for positions in by_words.values()
        for pair in _pairs(positions, positions)
        if nodes[pair[0]].program_id != nodes[pair[1]].program_id
    }
    ruled = {
        pair: verdict.same
        for position, node in enumerate(nodes)
        for words, verdict in node.verdicts.items()
        for pair in _pairs([position], by_words.get(words, ()))
    }
    apart = frozenset(pair for pair, is_same in ruled.items() if not is_same)
    return Rulings(frozenset(same | {pair for pair, is_same in ruled.items() if is_same}) - apart, apart)


def _pairs(one: Iterable[int], two: Iterable[int]) -> Iterable[Pair]:
    others = list(two)
    return ((min(i, j), max(i, j)) for i in one for j in others if i != j)


def _attachments(view: _View, least: float) -> list[Attachment]:
    """Return, best first, each lesson's entry: one that it is linked to strongly enough, or is ruled the same as."""
    together = view.rulings.together
    scored = {link.pair: link for link in view.found if link.contrast >= least and link.pair not in view.rulings.apart}
    wanted = sorted(scored.keys() | together, key=lambda p: (p not in together, -_contrast(scored.get(p)), p))
    attachments: dict[int, Attachment] = {}
    for i, j in wanted:  # entries come last among the nodes, so j is the entry if one of them is
        if view.nodes[j].is_entry and not view.nodes[i].is_entry and i not in attachments:
            why = _ruled((i, j), view) or _explained(scored[i, j], least)
            similarity = 1.0 if (i, j) in together else float(view.cosines[i, j])
            attachments[i] = Attachment(view.positions[i], view.positions[j], round(similarity, 3), why)
    return list(attachments.values())


def _contrast(link: Link | None) -> float:
    return link.contrast if link else 0.0


def _origins(fleet: _Fleet, positions: Sequence[int], group: Sequence[int]) -> int:
    lessons = [fleet.lessons[positions[member]] for member in group]
    return independent_origins((lesson.program_id, lesson.pattern.session_id) for lesson in lessons)


def _group(fleet: _Fleet, view: _View, members: Sequence[int]) -> Group:
    rank = []
    for member in members:
        lesson = fleet.lessons[view.positions[member]]
        rank.append((-lesson.pattern.confidence, lesson.pattern.discovered_at, lesson.program_id))
    text = medoid(view.cosines, members, rank)
    same_words = view.nodes[text].words
    similarities = [
        1.0 if view.nodes[member].words & same_words else round(float(view.cosines[text, member]), 3)
        for member in members
    ]
    inside = [link for link in view.found if set(link.pair) <= set(members)]
    ruled = sorted({why for pair in _pairs(members, members) if (why := _ruled(pair, view))})
    why = "; ".join([*ruled, *(_explained(link, fleet.profile.auto) for link in inside[:3])])
    return Group(tuple(view.positions[member] for member in members), view.positions[text], tuple(similarities), why)


def _ruled(pair: Pair, view: _View) -> str:
    if pair not in view.decided.together:
        return ""
    return "equal words" if view.nodes[pair[0]].words & view.nodes[pair[1]].words else "judged the same"


def _explained(link: Link, least: float) -> str:
    rule = f">= {least:.2f} merges" if link.contrast >= least else f"< {least:.2f} needs a third or a verdict"
    return f"cosine {link.cosine:.2f}, best rival {link.rival:.2f}, contrast {link.contrast:.2f} {rule}"


def _open(view: _View) -> list[Link]:
    """Return the links that no ruling but the guard's has settled."""
    settled = view.decided.together | view.decided.apart
    return [link for link in view.found if link.pair not in settled]


def _candidate(view: _View, link: Link, least: float) -> Candidate:
    a, b = view.nodes[link.i], view.nodes[link.j]
    said = view.objections.get(link.pair, "")
    return Candidate(pair_id(a.text, b.text), link, a, b, said, said or _explained(link, least))
