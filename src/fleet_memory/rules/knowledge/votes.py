"""Votes: which contributions to an entry count, and how many independent origins they have."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Final, NamedTuple

from fleet_memory.rules.text.keys import digest, text_hash
from fleet_memory.rules.text.normalisation import normalised
from fleet_memory.schemas.knowledge import Contribution, Entry, OriginRule, Word

MAX_COMMON_WORDS: Final = (
    3  # words; evidence of more words that two lessons share is a copy. Source: docs/knowledge.md
)


class Testimony(NamedTuple):
    """Who gave evidence, as far as origins go: `copy` is equal for lessons of equal words and equal
    evidence.
    """

    program_id: str
    session_id: str | None = None
    connection: str | None = None
    copy: str | None = None


def same_program(name: str) -> str:
    """Return the name under which programs are compared, e.g. "Claude-Code" -> "claude-code"."""
    return unicodedata.normalize("NFKC", name).casefold()


def is_one_origin(one: str, other: str) -> bool:
    """Whether two programs are one, or one of them is below the other, as `proj/reviewer` is below
    `proj`.
    """
    one, other = same_program(one), same_program(other)
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")


def of_other_origins(names: Iterable[str], known: Set[str]) -> Iterator[str]:
    """Yield the names that are one origin with none of `known`; all are as programs are
    compared.
    """
    above = {name for other in known for name in _with_those_above(other)}
    return (
        name for name in names if name not in above and known.isdisjoint(_with_those_above(name))
    )


def independent_origins(testimonies: Iterable[Testimony], rule: OriginRule = "program") -> int:
    """Count independent origins.

    Testimonies of one program or session, of a program and one below it, and a testimony and its
    copy are one origin; under the rule `connection` so are those over one unbound connection. It
    goes through chains: a-b and b-c make a, b and c one.
    """
    given = list(testimonies)
    programs = {same_program(testimony.program_id) for testimony in given}
    origins: list[set[str]] = []
    for testimony in given:
        marks = _marks(testimony, programs, rule)
        joined = [origin for origin in origins if origin & marks]
        origins = [origin for origin in origins if not origin & marks]
        origins.append(marks.union(*joined))
    return len(origins)


def _marks(testimony: Testimony, programs: Set[str], rule: OriginRule) -> set[str]:
    marks = {
        f"program {name}"
        for name in _with_those_above(same_program(testimony.program_id))
        if name in programs
    }
    if testimony.session_id:
        marks.add(f"session {testimony.session_id}")
    if testimony.copy:
        marks.add(f"copy {testimony.copy}")
    if testimony.connection and rule == "connection":
        marks.add(f"connection {testimony.connection}")
    return marks


def _with_those_above(name: str) -> Iterator[str]:
    yield name
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name


def copy_mark(text: str, evidence: str) -> str | None:
    """Return a mark that is equal for lessons of equal words and equal evidence of more than 3
    words; else None.
    """
    words = normalised(evidence)
    return digest(text_hash(text), words) if len(words.split()) > MAX_COMMON_WORDS else None


def testimony(contribution: Contribution) -> Testimony:
    """Return the evidence that a contribution is."""
    return Testimony(
        contribution.program_id,
        contribution.session_id,
        contribution.connection,
        copy_mark(contribution.pattern, contribution.evidence),
    )


def testimony_of_word(word: Word) -> Testimony:
    """Return the evidence that a word is; two words never copy each other."""
    return Testimony(word.program_id, word.session_id, word.connection)


def counted_contradictions(entry: Entry) -> Sequence[Word]:
    """Return the open contradictions that count: all but those that wait for another origin."""
    return [word for word in entry.words if word.outcome == "contradicted" and not word.waits]


def voting(entry: Entry) -> Sequence[Contribution]:
    """Return the contributions that vote: all but those of programs with a contradiction of the
    entry that counts.
    """
    withdrawn = {same_program(word.program_id) for word in counted_contradictions(entry)}
    return [line for line in entry.provenance if same_program(line.program_id) not in withdrawn]


def votes(entry: Entry, rule: OriginRule | None = None) -> int:
    """Return the entry's votes, one per independent origin; `rule` is the entry's own unless
    given.
    """
    return independent_origins(map(testimony, voting(entry)), rule or entry.origins)
