"""How many true pairs are proposed, and how often the hint is right: on our own lessons and on
other sets.

    python benchmarks/quality.py [--eval DIR]

Prints markdown tables about the sets of sets.py.
"""

import random
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from sets import FOLDER, Row, Sets, read_sets, rows_of, table, vectors

from fleet_memory.rules.asking import differs
from fleet_memory.rules.proposing import Comparison, chosen
from fleet_memory.rules.text.keys import pair_id, text_hash
from fleet_memory.rules.text.vectors import packed
from fleet_memory.schemas.comparison import ComparableLesson, Profile
from fleet_memory.similarity import Embedder
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.similarity.minilm import MiniLM

Pair: TypeAlias = tuple[str, str]

DRAWS: Final = 200  # programs drawn from a set; half of them give the same figures to within .01
SHARED: Final = 0.2  # of one program's lint rules that another has too
BY_ALL: Final = 0.25  # of our own lessons in a program that all programs have
PAIRS_PER_TRUE: Final = (1, 2, 3, 4)
LEAST_MARGINS: Final = (0.30, 0.25, 0.22, 0.20, 0.15, 0.10)
SHARES: Final = (*map(str, PAIRS_PER_TRUE), "all", "pairs per true one")
PROPOSED: Final = ("engine", "lessons", *SHARES, "in domains of their own")
MARGINS: Final = ("lessons", "review", *SHARES)
GUARDED: Final = ("pairs", "n", "the same unasked", "hinted")


class Lesson(NamedTuple):
    """A text, its meaning (equal for texts that mean the same) and its domain."""

    text: str
    meaning: str
    domain: str = "one"


Programs: TypeAlias = Sequence[Sequence[Lesson]]


class World(NamedTuple):
    """Programs that are drawn `draws` times from `texts`."""

    name: str
    draws: int
    programs: Callable[[int], Programs]
    texts: Iterable[str]


def main() -> None:
    """Print every table."""
    sets = read_sets("Measure proposing and the hint.")
    rows = rows_of(FOLDER / "lessons.tsv")
    worlds = [*own_worlds(rows), *(lint_worlds(sets) if sets else ())]
    engines: list[Embedder] = [MiniLM(), Lexical()]
    table(
        "True pairs proposed, at so many pairs per true one",
        PROPOSED,
        proposed_rows(worlds, engines),
    )
    table("The same by the least margin, minilm", MARGINS, margin_rows(worlds, engines[0]))
    table("Pairs by kind", GUARDED, [*own_guarded(rows), *(other_guarded(sets) if sets else ())])


# Proposing


def proposed_rows(
    worlds: Sequence[World], engines: Sequence[Embedder]
) -> Iterable[tuple[str | float, ...]]:
    """Yield `PROPOSED` for each engine and world: the share of the true pairs that readers are
    asked about.
    """
    for engine in engines:
        packs = packed_texts(worlds, engine)
        for world in worlds:
            shares = asked_shares(world, packs, engine.name, engine.profile)
            named = world._replace(programs=partial(own_domains, world.programs))
            is_same = asked_shares(named, packs, engine.name, engine.profile) == shares
            yield engine.name, world.name, *shares, "the same" if is_same else "other"


def margin_rows(worlds: Sequence[World], engine: Embedder) -> Iterable[tuple[str | float, ...]]:
    """Yield `MARGINS` for each world and least margin."""
    packs = packed_texts(worlds, engine)
    for world in worlds:
        for least in LEAST_MARGINS:
            shares = asked_shares(world, packs, engine.name, replace(engine.profile, review=least))
            yield world.name, f"{least:.2f}", *shares


def packed_texts(worlds: Sequence[World], engine: Embedder) -> Mapping[str, str]:
    """Return the packed vectors of all texts."""
    texts = sorted({text for world in worlds for text in world.texts})
    return {text: packed(row) for text, row in zip(texts, vectors(engine, texts), strict=True)}


def own_domains(drawn: Callable[[int], Programs], draw: int) -> Programs:
    """Return the programs of a draw with domains that no two of them name alike."""
    return [
        [lesson._replace(domain=f"{lesson.domain}-of-{number}") for lesson in program]
        for number, program in enumerate(drawn(draw))
    ]


def asked_shares(
    world: World, packs: Mapping[str, str], engine: str, profile: Profile
) -> Sequence[float]:
    """Return the share of the true pairs in the first 1, 2, 3 and 4 per true one and in all, and
    how many all are.
    """
    found, pairs, true = [0] * (len(PAIRS_PER_TRUE) + 1), 0, 0
    for draw in range(world.draws):
        programs = world.programs(draw)
        right = [
            one.meaning == other.meaning for one, other in asked(programs, packs, engine, profile)
        ]
        shared = sum(_shared(one, other) for one, other in combinations(programs, 2))
        firsts = [*(times * shared for times in PAIRS_PER_TRUE), len(right)]
        found = [total + sum(right[:first]) for total, first in zip(found, firsts, strict=True)]
        pairs, true = pairs + len(right), true + shared
    return [*(count / true for count in found), pairs / true]


def asked(
    programs: Programs, packs: Mapping[str, str], engine: str, profile: Profile
) -> list[tuple[Lesson, Lesson]]:
    """Return the pairs that readers are asked about, in order; the next are opened when those
    before are judged.

    Lessons that were judged the same go on as they are, as their entry would.
    """
    said = [
        (f"program-{number}", lesson)
        for number, program in enumerate(programs)
        for lesson in program
    ]
    lessons = [
        ComparableLesson(
            program,
            f"{at:04}",
            lesson.domain,
            lesson.text,
            text_hash(lesson.text),
            vector=b64decode(packs[lesson.text]),
            embedder=engine,
        )
        for at, (program, lesson) in enumerate(said)
    ]
    meant = {one.place: lesson for one, (_, lesson) in zip(lessons, said, strict=True)}
    compared = Comparison(lessons, engine, profile)
    found = [pair for block in compared.blocks(meant) for pair in compared.partners(block)]
    judged: set[str] = set()
    order: list[tuple[Lesson, Lesson]] = []
    while opened := chosen(found, judged, ()):
        judged |= {pair_id(pair.a.words, pair.b.words) for pair in opened}
        order += [(meant[pair.a.place], meant[pair.b.place]) for pair in opened]
    return order


def _shared(one: Sequence[Lesson], other: Sequence[Lesson]) -> int:
    return len({lesson.meaning for lesson in one} & {lesson.meaning for lesson in other})


def own_worlds(rows: Sequence[Row]) -> list[World]:
    """Return programs of our lessons: a quarter common to all, each in its words; and all at once,
    rivals included.
    """
    third = {row["lesson"]: row["third"] for row in rows_of(FOLDER / "thirds.tsv")}
    told = [
        tuple(
            Lesson(text, row["a"], row["domain"]) for text in (row["a"], row["b"], third[row["a"]])
        )
        for row in rows
        if row["kind"] == "same"
    ]
    alone = [
        Lesson(row[side], row[side], row["domain"])
        for row in rows
        if row["kind"] == "near"
        for side in ("a", "b")
    ]
    texts = [
        *(lesson.text for wordings in told for lesson in wordings),
        *(row[side] for row in rows for side in "ab"),
    ]
    return [
        World("ours, 40 and 40", DRAWS, lambda draw: told_by_all(told, alone, 40, draw)[:2], texts),
        World("ours, 40, 40 and 40", DRAWS, lambda draw: told_by_all(told, alone, 40, draw), texts),
        World("ours, 220 and 220", 1, lambda _draw: both_sides(rows), texts),
    ]


def told_by_all(
    told: Sequence[Sequence[Lesson]], alone: Sequence[Lesson], size: int, draw: int
) -> Programs:
    """Return three programs of `size` lessons: a quarter common to all, each in its wording, others
    of one alone.
    """
    chance = random.Random(draw)  # noqa: S311 - a draw, not a secret
    shuffled = chance.sample(list(told), len(told))
    common, rest = shuffled[: round(size * BY_ALL)], shuffled[round(size * BY_ALL) :]
    others = [*map(chance.choice, rest), *alone]
    chance.shuffle(others)
    missing = size - len(common)
    return [
        [
            *(wordings[number] for wordings in common),
            *others[number * missing : (number + 1) * missing],
        ]
        for number in range(3)
    ]


def both_sides(rows: Sequence[Row]) -> Programs:
    """Return a program with every `a` and one with every `b`: near topics and opposites among
    them.
    """
    return [
        [
            Lesson(row[side], f"{at}{'' if row['kind'] == 'same' else side}", row["domain"])
            for at, row in enumerate(rows)
        ]
        for side in ("a", "b")
    ]


def lint_worlds(sets: Sets) -> list[World]:
    """Return two programs that learnt lint rules, a fifth of one's in the other's at all."""
    told = [(row["code"], row["a"], sets.corpus[row["code"]]) for row in sets.lint]
    texts = {*(text for _, *both in told for text in both), *sets.corpus.values()}
    return [
        World(
            f"lint, {left} and {right}",
            draws,
            partial(lint_programs, told, sets.corpus, (left, right)),
            texts,
        )
        for left, right, draws in ((60, 60, DRAWS), (25, 40, DRAWS), (220, 790, 1))
    ]


def lint_programs(
    told: Sequence[tuple[str, str, str]],
    corpus: Mapping[str, str],
    sizes: tuple[int, int],
    draw: int,
) -> Programs:
    """Return two programs: rules in one project's words; a fifth of them in ruff's, and others.

    `told` are (code, one project's wording, ruff's).
    """
    chance = random.Random(draw)  # noqa: S311 - a draw, not a secret
    left = chance.sample(list(told), sizes[0])
    both = left[: round(sizes[0] * SHARED)]
    known = {other for _, _, other in left}
    alone = chance.sample(
        [text for text in corpus.values() if text not in known], sizes[1] - len(both)
    )
    return [
        [Lesson(text, code) for code, text, _ in left],
        [
            *(Lesson(other, code) for code, _, other in both),
            *(Lesson(text, text) for text in alone),
        ],
    ]


# The hint, and equal words


def own_guarded(rows: Sequence[Row]) -> Iterable[tuple[str | float, ...]]:
    """Yield `GUARDED` for each kind of our pairs, and for each text with itself in other
    letters.
    """
    for kind, name in (
        ("same", "ours, the same in other words"),
        ("near", "ours, near topic"),
        ("contra", "ours, contradiction"),
    ):
        yield guarded(name, [(row["a"], row["b"]) for row in rows if row["kind"] == kind])
    again = [(row[side], f"  {row[side].upper()}!") for row in rows for side in ("a", "b")]
    yield guarded("ours, the same words in other letters", again)


def other_guarded(sets: Sets) -> Iterable[tuple[str | float, ...]]:
    """Yield `GUARDED` for the other sets."""
    probe = {
        kind: [row for row in sets.probe if row["kind"] == kind]
        for kind in ("contra", "para", "diff")
    }
    entailed = [row for row in close(sets.sick) if row["nli"] == "ENTAILMENT"]
    kinds = (
        ("probe60, the same in other words", probe["para"]),
        ("probe60, near topic", probe["diff"]),
        ("probe60, contradiction", probe["contra"]),
        (
            "SICK trial, contradiction",
            [row for row in sets.sick if row["nli"] == "CONTRADICTION"],
        ),
        ("SICK trial, entailment >= 4.5", entailed),
        ("STS-B dev >= 4.5", close(sets.stsb)),
        ("lint, same rule", sets.lint),
    )
    for name, rows in kinds:
        yield guarded(name, [(row["a"], row["b"]) for row in rows])


def close(rows: Iterable[Row]) -> list[Row]:
    """Return the rows that people scored 4.5 or more of 5."""
    return [row for row in rows if float(row["score"]) >= 4.5]


def guarded(name: str, pairs: Sequence[Pair]) -> tuple[str | float, ...]:
    """Return a row of `GUARDED`: which shares are the same unasked, and get the hint."""
    return (
        name,
        len(pairs),
        float(np.mean([text_hash(one) == text_hash(other) for one, other in pairs])),
        float(np.mean([differs(*pair) is not None for pair in pairs])),
    )


if __name__ == "__main__":
    main()
