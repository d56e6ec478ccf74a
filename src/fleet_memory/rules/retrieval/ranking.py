"""What a question finds: the conditions, the order of results, and repeats shown once."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeAlias, TypeVar

from fleet_memory.rules.entries import same_program
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.rules.text.vectors import np
from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


_T = TypeVar("_T")
_Lesson = TypeVar("_Lesson", bound=Pattern | KnowledgeRow)


class RecallFilters(NamedTuple):
    """The conditions for recalling a lesson or an entry, all by default."""

    domain: str | None = None
    project_id: str | None = None
    tags: tuple[str, ...] = ()
    min_confidence: float = 0.0

    def admitted(self, lessons: Iterable[_Lesson]) -> list[_Lesson]:
        """Return the lessons and entries that pass: entries carry no tags, and those of no project
        are of every one.
        """
        tags, project = {*self.tags}, self.project_id
        return [
            each
            for each in lessons
            if self.domain in (None, each.domain)
            and each.confidence >= self.min_confidence
            and (not tags or (isinstance(each, Pattern) and tags <= {*each.tags}))
            and (
                project in (None, each.project_id)
                or (each.project_id is None and isinstance(each, KnowledgeRow))
            )
        ]


Scores: TypeAlias = "NDArray[np.float64]"
Places: TypeAlias = "NDArray[np.intp]"
STRENGTH_BOOST: Final = (
    0.05  # of relevance 0..1: strength settles near ties, never a clear difference
)
NO_VECTOR: Final = -1.0  # the cosine of a lesson without a comparable vector
CHANCE_WORDS: Final = (
    0.20  # a share of a question that texts have by chance; Source: docs/decisions/recall-fusion.md
)
MAX_WORDS_SHARE: Final = (
    0.70  # all words of a question, in any order, are not yet its answer; Source: docs/recall.md
)
FITS_WELL: Final = (
    0.20  # relevance, a score without strength; Source: docs/decisions/how-well-recall-finds.md
)
MIN_RELEVANCE: Final = 0.09  # of a match beyond the nearest; a cosine of .30 alone has it. Chosen
MIN_NEAREST: Final = (
    5  # matches of a question that always come, however far; Source: docs/recall.md
)
MAX_NAMES: Final = (
    20  # of a question that are looked up in each text; chosen: more than a question has
)
_DIGITS: Final = 4  # of scores and their terms
_QUOTED: Final = re.compile(
    r"(?<!\w)(?:([`\"])(.+?)\1|'((?:[^']|(?<=\w)'(?=\w)){3,}?)')(?!\w)"  # three: rock 'n' roll
)
_TOKEN: Final = re.compile(r"[^\s,;!?()\[\]{}\"'`<>=|+~&\u2014\u201c\u201d\u2018\u2019]+")
_NAME: Final = re.compile(
    r"--?[A-Za-z][\w-]*"  # a flag
    r"|v\d+(?:\.\d+)*|\d+\.\d+\.\d[\w.-]*"  # a version
    r"|[A-Za-z_]\w+(?:(?:\.|::)[A-Za-z_]\w+)+"  # sys.exit, main.py, std::vector
    r"|[A-Za-z](?:[^\W\d]|-)*\d[\w-]*"  # us-east1, sha256
    r"|[A-Z]\w*(?:-[A-Z]\w*)+|[A-Z]{6,}"  # X-Id, ECONNRESET
    r"|[a-z]+[A-Z][a-z]\w*"  # createStore; neither GitHub nor macOS, which many lessons name
)
_HUMP: Final = re.compile(r"[a-z][A-Z]")
_OF_PATHS: Final = frozenset("._@0123456789")  # in main.py/src, not in and/or


class Terms(NamedTuple):
    """The terms that a score recomputes from (docs/recall.md); without a question the strength
    alone.
    """

    strength: float
    semantic: float | None = None
    words: float | None = None
    identifiers: float | None = None


class Match(NamedTuple, Generic[_T]):
    """A lesson or entry of a pool, its score and the terms it recomputes from."""

    lesson: _T
    score: float
    terms: Terms


def fits_well(best: Sequence[Match[_T]]) -> bool:
    """Whether the first of `best` (best first, ranked by a question) answers it; False for no
    match.
    """
    return (
        bool(best)
        and round(best[0].score - STRENGTH_BOOST * best[0].terms.strength, _DIGITS) >= FITS_WELL
    )


def by_strength(pool: Sequence[_T], strengths: ArrayLike) -> list[Match[_T]]:
    """Rank by strength alone; equal strengths keep their order."""
    exact = np.asarray(strengths, np.float64)
    rounded = np.round(exact, _DIGITS)
    return _matches(pool, np.argsort(-exact, kind="stable"), rounded, {"strength": rounded})


def by_relevance(
    pool: Sequence[_T],
    cosines: ArrayLike,
    words: ArrayLike,
    identifiers: ArrayLike,
    strengths: ArrayLike,
) -> list[Match[_T]]:
    """Rank by meaning or words, lessons with the question's identifiers first: the nearest five,
    and all others of `MIN_RELEVANCE`.

    `cosines` to the question (`NO_VECTOR` where none is comparable), `words` 0..1 (`word_scores`),
    `identifiers` 0..1 (`identifier_shares`), all of one pool. score = 1 - (1 - semantic) x (1 -
    words) + identifiers + 0.05 x strength, where semantic is the cosine squared, and words 0.7 x
    (share - 0.2) / 0.8, at least 0; relevance is the score without strength. The rest of the pool
    decides how rare a word is and which identifiers are known, nothing else. Of equal scores, the
    one with an identifier comes first. Source: docs/decisions/recall-fusion.md.
    """
    cosine, share = np.asarray(cosines, np.float64), np.asarray(words, np.float64)
    exact = {
        "strength": np.asarray(strengths, np.float64),
        "semantic": np.maximum(0.0, cosine) ** 2,
        "words": MAX_WORDS_SHARE * np.maximum(0.0, share - CHANCE_WORDS) / (1 - CHANCE_WORDS),
        "identifiers": np.asarray(identifiers, np.float64),
    }
    terms = {name: np.round(values, _DIGITS) for name, values in exact.items()}
    apart = (1 - terms["semantic"]) * (1 - terms["words"])
    boost = STRENGTH_BOOST * terms["strength"]
    scores = np.round(1 - apart + terms["identifiers"] + boost, _DIGITS)
    relevance = np.round(scores - boost, _DIGITS)
    order = np.lexsort((-terms["identifiers"], -scores))
    order = order[(relevance[order] >= MIN_RELEVANCE) | (np.arange(len(order)) < MIN_NEAREST)]
    return _matches(pool, order, scores, terms)


def _matches(
    pool: Sequence[_T], order: Places, scores: Scores, terms: Mapping[str, Scores]
) -> list[Match[_T]]:
    """Return the lessons at these places; `terms` are in the order of `Terms`."""
    columns = zip(*(values[order].tolist() for values in terms.values()), strict=True)
    places = zip(order.tolist(), scores[order].tolist(), columns, strict=True)
    return [Match(pool[at], score, Terms(*values)) for at, score, values in places]


def identifier_shares(question: str, texts: Sequence[str]) -> list[float]:
    """Return per text the share of the question's identifiers that it contains, of those in any
    text.

    Identifiers are names in code (`named_in`), as written but for capitals: `main.py` is in a text
    with `src/main.py`, `v2` in none with `v21`. The first `MAX_NAMES` count. All 0 for a question
    without identifiers.
    """
    names = dict.fromkeys(name.casefold() for name in named_in(question)[:MAX_NAMES])
    folded = [text.casefold() for text in texts] if names else []
    holders = []
    for name in names:
        whole = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        holding = [name in text and bool(whole.search(text)) for text in folded]
        if any(holding):
            holders.append(holding)
    if not holders:
        return [0.0] * len(texts)
    return [sum(each) / len(holders) for each in zip(*holders, strict=True)]


def named_in(text: str) -> Sequence[str]:
    """Return the names of things in code in a text, each once: paths, flags, versions, identifiers,
    words in six capitals, and all that is quoted.

    E.g. `named_in("Does `stock` read X-Request-Id of amount_cents?") == ["stock", "X-Request-Id",
    "amount_cents"]`.
    """
    quoted = (words or single for _, words, single in _QUOTED.findall(text))
    coded = filter(_is_name, (token.strip(".:*") for token in _TOKEN.findall(text)))
    names = (name.strip() for name in (*quoted, *coded))
    return list(dict.fromkeys(name for name in names if any(map(str.isalnum, name))))


def _is_name(token: str) -> bool:
    if "/" in token:
        return token.startswith(("/", "./", "../")) or not _OF_PATHS.isdisjoint(token)
    is_snake = "_" in token and token.strip("_").isidentifier()
    is_humped = not token.isalpha() and _HUMP.search(token)  # GitHub-hosted
    return bool(is_snake or is_humped or _NAME.fullmatch(token))


def entries_saying(
    lessons: Collection[Pattern], rows: Sequence[KnowledgeRow]
) -> dict[str, KnowledgeRow]:
    """Return by lesson id the entry among `rows` that states it: the lesson joined it, or has equal
    words.
    """
    by_key = {key: row for row in rows for key in (*row.also, row.key)}
    by_words = rows_by_words(rows)
    joined = {
        lesson.id: by_key[key]
        for lesson in lessons
        for key in lesson.knowledge_keys
        if key in by_key
    }
    equal = {lesson.id: by_words[lesson.words] for lesson in lessons if lesson.words in by_words}
    return equal | joined


def with_entries(
    best: list[Match[Pattern | KnowledgeRow]], entry_of: Mapping[str, KnowledgeRow]
) -> list[Match[Pattern | KnowledgeRow]]:
    """Return the matches with the entry by `entries_saying` in place of own lessons; each comes
    once, at its best place.
    """
    shown = dict[int, Match[Pattern | KnowledgeRow]]()
    for match in best:
        lesson = match.lesson
        if isinstance(lesson, Pattern):
            lesson = entry_of.get(lesson.id, lesson)
        shown.setdefault(id(lesson), match._replace(lesson=lesson))
    return [*shown.values()]


def rows_by_words(rows: Sequence[KnowledgeRow]) -> dict[str, KnowledgeRow]:
    """Return the first entry of each text, by its `text_hash`."""
    return {text_hash(row.pattern): row for row in reversed(rows)}


def own_keys(program: Program, rows: Sequence[KnowledgeRow]) -> frozenset[str]:
    """Return the keys of the entries that state a lesson of the program, or that one of its earlier
    lessons is in.
    """
    name = same_program(program.program_id)
    contributed = {row.key for row in rows if name in map(same_program, row.contributors)}
    return frozenset(
        contributed | {row.key for row in entries_saying(program.patterns.values(), rows).values()}
    )
