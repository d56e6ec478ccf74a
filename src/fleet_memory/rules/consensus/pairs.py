"""What is known of two lessons before any score, and what is said of a pair that needs judgement.

Entries meet lessons as lessons of the pseudo-program `KNOWLEDGE`.
"""

from collections.abc import Iterable, Sequence
from math import inf
from typing import Final, NamedTuple

from fleet_memory.rules.consensus.linking import Bar, Link, Pair, Rulings
from fleet_memory.rules.guard import objection
from fleet_memory.rules.text.keys import digest, text_hash
from fleet_memory.rules.text.tokens import content
from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.schemas.waiting import Learnt

KNOWLEDGE: Final = ""  # no program can be called so


class Candidate(NamedTuple):
    """A linked pair, what speaks against merging it ("" for nothing but its score), and how that was found."""

    pair_id: str
    link: Link
    a: Learnt
    b: Learnt
    objection: str
    explain: str


def entry_lessons(entries: Sequence[KnowledgeRow]) -> list[Learnt]:
    """Return entries as lessons of no program; the words of every contribution count as theirs."""
    return [
        Learnt(
            KNOWLEDGE,
            row.key,
            row.domain,
            row.pattern,
            text_hash(row.pattern),
            row.confidence,
            0.0,
            inf,
            knowledge_key=row.key,
            wordings=row.wordings,
        )
        for row in entries
    ]


def decided(nodes: Sequence[Learnt]) -> Rulings:
    """Return what needs no score: equal words are the same, and verdicts stand; a verdict outranks equal words."""
    by_words: dict[str, list[int]] = {}
    for position, node in enumerate(nodes):
        for words in {node.words, *node.wordings} if node.wordings else (node.words,):
            by_words.setdefault(words, []).append(position)
    same = {
        pair
        for positions in by_words.values()
        if len(positions) > 1
        for pair in pairs(positions, positions)
        if nodes[pair[0]].program_id != nodes[pair[1]].program_id
    }
    ruled = {
        pair: verdict.same
        for position, node in enumerate(nodes)
        for words, verdict in node.verdicts.items()
        for pair in pairs([position], by_words.get(words, ()))
    }
    apart = frozenset(pair for pair, is_same in ruled.items() if not is_same)
    return Rulings(frozenset(same | {pair for pair, is_same in ruled.items() if is_same}) - apart, apart)


def objections(nodes: Sequence[Learnt], found: Iterable[Link], rulings: Rulings) -> dict[Pair, str]:
    """Return what the guard says against linked pairs that no ruling has settled."""
    settled = rulings.together | rulings.apart
    return {
        link.pair: said
        for link in found
        if link.pair not in settled and (said := objection(nodes[link.i].text, nodes[link.j].text))
    }


def worded(nodes: Sequence[Learnt], found: Iterable[Link]) -> list[Link]:
    """Return links with the share of words that the two texts have in common."""
    return [link._replace(shared=_shared(nodes[link.i].text, nodes[link.j].text)) for link in found]


def _shared(one: str, two: str) -> float:
    a, b = content(one), content(two)
    return round(len(a & b) / min(len(a), len(b)), 4) if a and b else 0.0


def pairs(one: Iterable[int], two: Iterable[int]) -> Iterable[Pair]:
    """Yield every pair of a position of `one` and another of `two`."""
    others = list(two)
    return ((min(i, j), max(i, j)) for i in one for j in others if i != j)


def ruled(pair: Pair, nodes: Sequence[Learnt], rulings: Rulings) -> str:
    """Return why a pair is the same without a score, or "" when it is not."""
    if pair not in rulings.together:
        return ""
    a, b = nodes[pair[0]], nodes[pair[1]]
    verdict = a.verdicts.get(b.words) or b.verdicts.get(a.words)
    if verdict is None:
        return "equal words"
    return f"judged the same by {verdict.judge}" + (", who contributed" if verdict.contributed else "")


def link_explanation(link: Link, bar: Bar, *, grouped: bool = False) -> str:
    """Return the figures of a link, and what they decide; within a group, what made them enough."""
    if grouped and not bar.merges(link):
        rule = f"< {bar.least:.2f}: held by a third lesson that both are linked to"
    elif not bar.merges(link):
        rule = f"< {bar.least:.2f}: needs a third lesson or a verdict"
    elif bar.score(link) >= bar.least:
        rule = f">= {bar.least:.2f} merges"
    else:
        rule = f">= {bar.alone:.2f} merges, as they share a third of their words and no rival is near"
    words = f" + {bar.words * link.shared:.2f} for shared words" if bar.words else ""
    return f"cosine {link.cosine:.2f}, best rival {link.rival:.2f}, contrast {link.contrast:.2f}{words} {rule}"


def candidate(nodes: Sequence[Learnt], link: Link, said: str, bar: Bar) -> Candidate:
    """Return a linked pair as something to judge."""
    a, b = nodes[link.i], nodes[link.j]
    return Candidate(digest(*sorted((a.words, b.words))), link, a, b, said, said or link_explanation(link, bar))
