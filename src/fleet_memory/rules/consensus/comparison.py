"""Lessons in one fixed order, with the numbers for comparing them, and the variants among them.

A cosine is computed from whole numbers that are exact in float32 (below 2**24, as those of all rows
in use are), so it depends neither on the order of the input nor on the blocks in which a matrix is
multiplied.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fleet_memory.rules.knowledge.votes import same_program
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.comparison import ComparableLesson

Indices: TypeAlias = NDArray[np.int64]
Int8Rows: TypeAlias = NDArray[np.int8]
Flags: TypeAlias = NDArray[np.bool_]

MAX_BLOCK_CELLS: Final = 8_000_000  # numbers of a block that is compared at once: 32 MB in float32


class Comparison(NamedTuple):
    """n lessons sorted by program, as programs are compared, and id; every index below is a place
    in this order.

    `order[i]` is the position of lesson i in the input. `rows` is n×d, `scales` its inverse
    lengths, 0 for a row of zeros. `programs`, `projects` and `words` are codes; programs count from
    0 in the order of the lessons, project 0 stands for none. The lessons of program c are
    `starts[c]` up to `starts[c + 1]`; `entries[c]`: they are the entries of shared knowledge.
    `variants` has one m×m table for each program of m lessons, flattened, the first at `tables[0]`;
    none for the entries, which have no variants.
    """

    order: Indices
    rows: Int8Rows
    scales: Vectors
    programs: Indices
    starts: Indices
    entries: Flags
    projects: Indices
    words: Indices
    variants: Flags
    tables: Indices

    def cosines(self, one: Indices, other: Indices) -> Vectors:
        """Return len(one)×len(other) cosines; 0 for a row of zeros."""
        dots: Vectors = (
            self.rows.take(one, axis=0).astype(np.float32)
            @ self.rows.take(other, axis=0).astype(np.float32).T
        )
        dots *= np.multiply.outer(self.scales[one], self.scales[other])
        return dots

    def lessons_of(self, program: int) -> Indices:
        """Return the lessons of a program."""
        return np.arange(self.starts[program], self.starts[program + 1])

    def are_variants(self, one: Indices, other: Indices) -> Flags:
        """Return whether each lesson of `one` is a variant of its counterpart, of the same program;
        its own it is.
        """
        program = self.programs[one]
        start = self.starts[program]
        size = self.starts[program + 1] - start
        variants: Flags = one == other
        tabled = np.flatnonzero(self.tables[program + 1] > self.tables[program])
        places = self.tables[program] + (one - start) * size + other - start
        variants[tabled] = self.variants[places[tabled]]
        return variants

    def are_entries(self, lessons: Indices) -> Flags:
        """Return which are entries of shared knowledge."""
        flags: Flags = self.entries[self.programs[lessons]]
        return flags

    def may_be_proposed(self, one: Indices, other: Indices) -> Flags:
        """Return whether each two lessons differ in words and, but for entries, in program, and may
        share a project.
        """
        left, right = self.projects[one], self.projects[other]
        allowed: Flags = (left == right) | (left == 0) | (right == 0)
        allowed &= (self.programs[one] != self.programs[other]) | self.are_entries(one)
        allowed &= self.words[one] != self.words[other]
        return allowed

    def rivals(self, lessons: Indices, others: Indices) -> tuple[Vectors, Vectors]:
        """Return the cosine of each pair, and the best of `others` to a rival of `lessons`: at
        least 0.

        A lesson's rivals are the lessons of its program that are no variants of it; an entry's are
        all other entries but the other side of the pair.
        """
        pair_cosines, best = np.zeros((2, len(lessons)), np.float32)
        for program, pairs in self._by_program(lessons):
            own = self.lessons_of(program)
            table = self.variants[self.tables[program] : self.tables[program + 1]].reshape(
                -1, len(own)
            )
            if len(table):
                kin = table[lessons[pairs] - own[0]]
            else:
                kin = (lessons[pairs, None] == own) | (others[pairs, None] == own)
            seen, at = np.unique(others[pairs], return_inverse=True)
            cosines = self.cosines(seen, own)[at]
            pair_cosines[pairs] = cosines[np.arange(len(pairs)), lessons[pairs] - own[0]]
            cosines[kin] = 0
            best[pairs] = cosines.max(1, initial=0)
        return pair_cosines, best

    def _by_program(self, lessons: Indices) -> Iterator[tuple[int, Indices]]:
        """Yield each program of `lessons` with positions in it, few enough for a block."""
        programs = self.programs[lessons]
        order = np.argsort(programs, kind="stable")
        for positions in np.split(order, np.flatnonzero(np.diff(programs[order])) + 1):
            if len(positions):
                program = int(programs[positions[0]])
                size = int(self.starts[program + 1] - self.starts[program])
                yield from ((program, some) for some in in_blocks(positions, size))


def in_blocks(indices: Indices, width: int) -> Iterator[Indices]:
    """Yield parts of `indices` so short that a block of them and `width` columns is bounded."""
    step = max(1, MAX_BLOCK_CELLS // max(1, width))
    return (indices[start : start + step] for start in range(0, len(indices), step))


def comparison(
    lessons: Sequence[ComparableLesson], rows: Int8Rows, min_variant_cosine: float
) -> Comparison:
    """Return lessons ready for comparison; `rows` is n×d, zeros where there is no comparable
    vector.

    Lessons of one program are variants of each other from `min_variant_cosine` up; above 1 none
    are.
    """
    names = {name: same_program(name) for name in {lesson.program_id for lesson in lessons}}
    order = _order([names[lesson.program_id] for lesson in lessons], lessons)
    ordered = [lessons[position] for position in order]
    positions = np.array(order, dtype=np.int64)
    programs = _codes(names[lesson.program_id] for lesson in ordered)
    starts = (
        np.flatnonzero(np.r_[True, np.diff(programs) > 0, True])
        if ordered
        else np.zeros(1, np.int64)
    )
    entries = np.array([ordered[start].is_entry for start in starts[:-1]], np.bool_)
    areas = np.where(entries, 0, np.diff(starts) ** 2)
    own = rows[positions]
    plain = Comparison(
        positions,
        own,
        _scales(own),
        programs,
        starts,
        entries,
        _codes(["", *(lesson.project_id or "" for lesson in ordered)])[1:],
        _codes(lesson.words for lesson in ordered),
        np.zeros(int(areas.sum()), np.bool_),
        np.r_[0, np.cumsum(areas)].astype(np.int64),
    )
    return plain._replace(variants=_variants(plain, min_variant_cosine))


def _order(programs: Sequence[str], lessons: Sequence[ComparableLesson]) -> list[int]:
    """Return the positions by program and place: each program sorted alone, as one long sort would
    stop all threads.
    """
    of: dict[str, list[int]] = {}
    for position, program in enumerate(programs):
        of.setdefault(program, []).append(position)
    return [
        at
        for program in sorted(of)
        for at in sorted(of[program], key=lambda position: lessons[position].place)
    ]


def _scales(rows: Int8Rows) -> Vectors:
    blocks = in_blocks(np.arange(len(rows)), rows.shape[1])
    squares = [np.square(rows[some], dtype=np.float32).sum(1) for some in blocks]
    lengths: Vectors = np.sqrt(np.concatenate([np.zeros(0, np.float32), *squares]))
    return np.divide(np.float32(1), lengths, out=np.zeros_like(lengths), where=lengths > 0)


def _codes(names: Iterable[str]) -> Indices:
    """Return a number for each name, from 0 in order of first appearance."""
    known: dict[str, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)


def _variants(lessons: Comparison, min_cosine: float) -> Flags:
    tables = [np.empty(0, np.bool_)]
    for program in range(len(lessons.starts) - 1):
        own = lessons.lessons_of(program)
        tabled = own if lessons.tables[program + 1] > lessons.tables[program] else own[:0]
        for some in in_blocks(tabled, len(own)):
            table = lessons.cosines(some, own) >= min_cosine
            table[np.arange(len(some)), some - own[0]] = True
            tables.append(table.ravel())
    return np.concatenate(tables)
