"""Which contributions of two stores go on in one entry: those that no verdict, lesson or shown text
speaks against.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from fleet_memory.rules.knowledge.entries import is_contributor
from fleet_memory.rules.text.keys import pair_id, text_hash
from fleet_memory.schemas.knowledge import Contribution, Entry
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program


class Grounds(NamedTuple):
    """Two stores' knowledge together: programs by id and pairs by id, both merged; those that are
    missing are unknown.

    `here` and `there` are the texts that each program was shown, by store.
    """

    programs: Mapping[str, Program] = {}
    pairs: Mapping[str, Pair] = {}
    here: Mapping[str, Mapping[str, datetime]] = {}
    there: Mapping[str, Mapping[str, datetime]] = {}


def pairs_behind(*copies: Entry) -> set[str]:
    """Return the ids of the pairs whose verdicts say whether each contribution belongs to a text of
    the copies.
    """
    texts = {text_hash(copy.value.pattern) for copy in copies}
    lines = [(text_hash(line.pattern), line.pair) for copy in copies for line in copy.provenance]
    apart = [(words, own, pair) for words in texts for own, pair in lines if words != own]
    return {id_ for words, own, pair in apart for id_ in (pair_id(words, own), pair) if id_}


def pairs_of_echoes(program: Program, entries: Mapping[str, Entry]) -> set[str]:
    """Return the ids of the pairs of the texts of entries and of the lessons in them that do not
    contribute.
    """
    members = [
        (pattern, entry)
        for pattern in program.patterns.values()
        if (entry := entries.get(pattern.knowledge_key or ""))
    ]
    return {
        pair_id(text_hash(entry.value.pattern), text_hash(_voting_text(pattern)))
        for pattern, entry in members
        if not is_contributor(entry, program.program_id, pattern.id)
    }


def with_grounds(after: Entry, mine: Entry | None, theirs: Entry | None, grounds: Grounds) -> Entry:
    """Return an entry without the contributions that must not vote; the same object if all may.

    One goes that a verdict parts from the entry's text; whose lesson is in another entry, in none,
    or has another text; and whose program was shown a text of the other store's copy before it
    stored its lesson. They join in the order of their first stores, so that the text of one that
    goes speaks against no other.
    """
    lines = [line for line in after.provenance if _belongs(line, after, grounds)]
    copies = [
        (copy, shown)
        for copy, shown in ((mine, grounds.here), (theirs, grounds.there))
        if copy is not None
    ]
    texts, echoes = {text_hash(after.value.pattern)}, list[Contribution]()
    for line in sorted(lines, key=_joining_order):
        own = text_hash(line.pattern)
        if _is_echo(line, {*texts, own}, copies, grounds):
            echoes.append(line)
        else:
            texts.add(own)
    lines = [line for line in lines if line not in echoes]
    return after if len(lines) == len(after.provenance) else replace(after, provenance=tuple(lines))


def with_memberships(
    program: Program, entries: Mapping[str, Entry], pairs: Mapping[str, Pair]
) -> Program:
    """Return a program whose lessons contribute where entries have their contributions; the same
    object if all do.

    A lesson that a verdict parts from its entry is in none; another that has no contribution there
    is its echo.
    """
    changed = {
        id_: after
        for id_, pattern in program.patterns.items()
        if (entry := entries.get(pattern.knowledge_key or ""))
        and (after := _member(program.program_id, pattern, entry, pairs)) is not pattern
    }
    return replace(program, patterns={**program.patterns, **changed}) if changed else program


def _member(program_id: str, lesson: Pattern, entry: Entry, pairs: Mapping[str, Pair]) -> Pattern:
    if is_contributor(entry, program_id, lesson.id):
        return lesson
    words, own = text_hash(entry.value.pattern), text_hash(_voting_text(lesson))
    if words != own and _parts(pairs.get(pair_id(words, own))):
        return replace(lesson, knowledge_key=None, echo=False, rewrite=None)
    return lesson if lesson.echo else replace(lesson, echo=True, rewrite=None)


def _belongs(line: Contribution, entry: Entry, grounds: Grounds) -> bool:
    words, own = text_hash(entry.value.pattern), text_hash(line.pattern)
    if words != own:
        ids = {
            pair_id(words, own),
            line.pair if line.basis not in ("text", "equal_words") else None,
        }
        if any(_parts(grounds.pairs.get(id_)) for id_ in ids if id_):
            return False
    program = grounds.programs.get(line.program_id)
    lesson = program.patterns.get(line.pattern_id) if program else None
    return lesson is None or (
        lesson.knowledge_key == entry.key and text_hash(_voting_text(lesson)) == own
    )


def _parts(pair: Pair | None) -> bool:
    """Whether the verdicts about a pair keep its texts apart: they are no longer the same."""
    if pair is None or pair.state in ("same", "gone"):
        return False
    return pair.state != "open" or (bool(pair.judgements) and not pair.of_member)


def _joining_order(line: Contribution) -> tuple[datetime, str, str]:
    return line.learnt_at, line.program_id, line.pattern_id


def _is_echo(
    line: Contribution,
    texts: set[str],
    copies: Sequence[tuple[Entry, Mapping[str, Mapping[str, datetime]]]],
    grounds: Grounds,
) -> bool:
    """Whether a program repeats a text that it was shown in the other store; its own store decided
    about its own.
    """
    program = grounds.programs.get(line.program_id)
    if program is None or not _was_shown(_first_stored(line, program), texts, program.shown):
        return False
    return not any(
        line.program_id == contribution.program_id
        and (line.pattern_id, line.pattern) == (contribution.pattern_id, contribution.pattern)
        and _was_shown(
            contribution.stored_at,
            _texts(copy.value.pattern, copy.provenance),
            shown.get(line.program_id, {}),
        )
        for copy, shown in copies
        for contribution in copy.provenance
    )


def _first_stored(line: Contribution, program: Program) -> datetime | None:
    """Return when a contribution's text was first stored: of two copies a merge gives the lesson
    the earlier moment.
    """
    lesson = program.patterns.get(line.pattern_id)
    if (
        lesson is None
        or line.stored_at is None
        or text_hash(lesson.pattern) != text_hash(line.pattern)
    ):
        return line.stored_at
    return min(line.stored_at, lesson.stored_at)


def _was_shown(stored: datetime | None, texts: set[str], shown: Mapping[str, datetime]) -> bool:
    return stored is not None and any(at < stored for text in texts if (at := shown.get(text)))


def _texts(text: str, lines: Sequence[Contribution]) -> set[str]:
    return {text_hash(text), *(text_hash(line.pattern) for line in lines)}


def _voting_text(lesson: Pattern) -> str:
    return lesson.rewrite.voting_text if lesson.rewrite else lesson.pattern
