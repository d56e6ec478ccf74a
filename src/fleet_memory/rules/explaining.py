"""Why a lesson is not knowledge, from its facts alone: the answer of `fleet-memory why`."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from fleet_memory.rules.entries import entry_state, is_one_origin, origins, standing
from fleet_memory.rules.lifecycle.decay import is_stale
from fleet_memory.rules.pairs import has_text, questions
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.rules.text.steering import lesson_steering
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.pairs import Pair, Side
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program


def reasons(
    program: Program,
    lesson: Pattern,
    entries: Mapping[str, Entry],
    pairs: Iterable[Pair],
    now: datetime,
) -> list[str]:
    """Return why a lesson is not knowledge, or as what it is, a sentence each, the entries first.

    `entries` are those that the lesson is in, and those that they are read through; `pairs` all of
    the fleet.
    """
    own = [pair for pair in pairs if any(_is_of(side, program, lesson) for side in _sides(pair))]
    said = [
        sentence
        for key in lesson.knowledge_keys
        if key in entries
        for sentence in _of_entry(program, entries[key], entries, now)
    ]
    said += [sentence for pair in own for sentence in _of_pair(pair, program)]
    orders = lesson_steering(lesson.pattern, lesson.evidence, lesson.domain)
    if orders and not lesson.allowed:
        said.append(
            f"It gives its reader orders ({orders}), so that people alone make it knowledge: "
            f"fleet-memory lesson allow {program.program_id}/{lesson.id} --why TEXT"
        )
    if is_stale(lesson, now, program.decay):
        said.append("It is stale, and stale lessons are not compared; storing it again revives it.")
    elif lesson.id in program.pending:
        said.append("No run has compared it yet: fleet-memory maintain does.")
    elif not said:
        said.append("No lesson of another program and no entry is near enough to ask about.")
    return said


def _sides(pair: Pair) -> tuple[Side, Side]:
    return pair.a, pair.b


def _is_of(side: Side, program: Program, lesson: Pattern) -> bool:
    return text_hash(side.text) in lesson.texts and has_text(side, program)


def _of_entry(
    program: Program, entry: Entry, entries: Mapping[str, Entry], now: datetime
) -> Iterator[str]:
    while older := entries.get(entry.read_through or ""):
        yield f"{entry.key} says the same as {older.key}, and is read through it."
        entry = older
    counts, state = standing(entry), entry_state(entry, now)
    yield (
        f"It is in {entry.key}, which is {state}: discovered by {counts.discovered} of "
        f"{entry.threshold}, confirmed by {counts.confirmed}, contradicted by "
        f"{counts.contradicted}."
    )
    if entry.publications and entry.publications[-1].withdrawn_at is not None:
        yield f"It was withdrawn on {entry.publications[-1].withdrawn_at:%Y-%m-%d}."
    for origin in origins(entry):
        if origin.position == "contradicted":
            names = ", ".join(sorted(origin.programs))
            yield f"Contradicted by {names} since {origin.at:%Y-%m-%d}."
        for line in origin.lessons:
            why = line.could_read or line.of_reason
            if why and is_one_origin(line.program_id, program.program_id):
                yield f"{line.program_id} confirms it and did not discover it: it {why}."


def _of_pair(pair: Pair, program: Program) -> Iterator[str]:
    other = next((side for side in _sides(pair) if not has_text(side, program)), pair.b)
    text = f'"{other.text}" ({other.key or f"{other.program_id}/{other.pattern_id}"})'
    if pair.state == "open":
        asked = questions(pair)
        waits = ", ".join(asked.programs) or (
            "the next program of another origin" if asked.third else "people: fleet-memory review"
        )
        yield f"Near {text}: waits for {waits}."
    elif pair.state in ("different", "contradict"):
        against = [each for each in pair.judgements if each.verdict in ("different", "contradict")]
        by = ", ".join(sorted({each.program_id or "a person" for each in against}))
        yield f"Near {text}: judged {pair.state} by {by}."
