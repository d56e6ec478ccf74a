"""What an agent reads at boot: which entries come first, and what fits into its budget."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from typing import Final, NamedTuple

from fleet_memory.rules.ageing import status
from fleet_memory.rules.budget import size
from fleet_memory.schemas.answers import (
    BootAnswer,
    BootNote,
    FadingPattern,
    KnowledgeAnswer,
    KnowledgeChanges,
    PatternAnswer,
    ProgramAnswer,
)
from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.schemas.programs import Note

# Most of the budget that each of these may take; what they do not need goes to the lessons.
PROGRAM_SHARE: Final = 1 / 4
NOTES_SHARE: Final = 1 / 8
FADING_SHARE: Final = 1 / 16
CHANGES_SHARE: Final = 1 / 8


class Parts(NamedTuple):
    """What boot may show. Of constitution, knowledge and patterns, in this order, as much as fits is a prefix."""

    constitution: Sequence[KnowledgeAnswer]
    knowledge: Sequence[KnowledgeAnswer]
    patterns: Sequence[PatternAnswer]
    program: ProgramAnswer
    notes: Sequence[BootNote]
    fading: Sequence[FadingPattern]
    changes: KnowledgeChanges


def first_for(
    rows: Sequence[KnowledgeRow], relevance: Sequence[float], domains: set[str], now: datetime
) -> list[KnowledgeRow]:
    """Return entries best first for one agent: by relevance to its task, then its domains, trust, breadth and key.

    `relevance[i]` is that of row i, 0 for none.
    """

    def rank(position: int) -> tuple[object, ...]:
        row = rows[position]
        fresh = status(row.last_confirmed, row.contradicted_by, now) == "fresh"
        breadth = len(row.contributors)
        return (-relevance[position], row.domain not in domains, not fresh, -row.confidence, -breadth, row.key)

    return [rows[position] for position in sorted(range(len(rows)), key=rank)]


def shown_notes(notes: Mapping[str, Note]) -> list[BootNote]:
    """Return a program's notes: the pinned ones first, then the newest."""
    newest = sorted(notes.values(), key=lambda note: (note.at, len(note.id), note.id), reverse=True)
    ordered = sorted(newest, key=lambda note: not note.pinned)
    return [BootNote(id=note.id, text=note.text, pinned=True if note.pinned else None) for note in ordered]


def filled(frame: BootAnswer, parts: Parts, total: Mapping[str, int], max_tokens: int) -> BootAnswer:
    """Fill the frame until the budget ends, and say what was left out; a larger budget never shows less of anything.

    `total` counts the lessons there are, shown or not.
    """
    counts = {**total, "notes": len(parts.notes), "fadingSoon": len(parts.fading)}
    # Measured with every count that it may have to confess, so that confessing never breaks the budget.
    confessing = dict.fromkeys(("protocol", "program", "changes"), 1) | counts
    room = max(0, max_tokens * 4 - size(frame.changed(protocol="", omitted=confessing).wire()))
    notes, notes_room = _prefix(parts.notes, room * NOTES_SHARE)
    fading, fading_room = _prefix(parts.fading, room * FADING_SHARE)
    program, program_room = _largest(_programs(parts.program), room * PROGRAM_SHARE)
    changes, changes_room = _largest([parts.changes], room * CHANGES_SHARE)
    left = room - notes_room - fading_room - program_room - changes_room
    lessons = [*parts.constitution, *parts.knowledge, *parts.patterns]
    sizes = [size(frame.protocol), *(size(item.wire()) + 1 for item in lessons)]
    fit = sum(taken <= left for taken in accumulate(sizes))
    cuts = (len(parts.constitution), len(parts.constitution) + len(parts.knowledge))
    kept = lessons[: max(0, fit - 1)]
    shown: dict[str, Sequence[object]] = {
        "constitution": tuple(kept[: cuts[0]]),
        "knowledge": tuple(kept[cuts[0] : cuts[1]]),
        "patterns": tuple(kept[cuts[1] :]),
        "notes": tuple(notes),
        "fadingSoon": tuple(fading),
    }
    missing = {name: count - len(shown[name]) for name, count in counts.items()}
    missing |= {
        "protocol": int(fit == 0),
        "program": int((program or ProgramAnswer()) != parts.program),
        "changes": int((changes or KnowledgeChanges()) != parts.changes),
    }
    return frame.changed(
        **{_snake(name): items for name, items in shown.items() if items or name not in ("notes", "fadingSoon")},
        program=program or ProgramAnswer(),
        changes=changes or KnowledgeChanges(),
        protocol=frame.protocol if fit else "",
        omitted={name: count for name, count in missing.items() if count},
    )


def _snake(name: str) -> str:
    return "fading_soon" if name == "fadingSoon" else name


def _programs(whole: ProgramAnswer) -> list[ProgramAnswer]:
    """Return a program's state, and what matters most of it: the handoff."""
    return [whole, ProgramAnswer(context_summary=whole.context_summary)]


Sized = ProgramAnswer | KnowledgeChanges


def _largest(choices: Sequence[Sized], share: float) -> tuple[Sized | None, float]:
    """Return the first choice that fits, and the bytes to set aside: as many in any case, or more would show less."""
    sizes = [size(choice.wire()) for choice in choices]
    chosen = next((choice for choice, taken in zip(choices, sizes, strict=True) if taken <= share), None)
    return chosen, min(sizes[0], share)


def _prefix(items: Sequence[BootNote] | Sequence[FadingPattern], share: float) -> tuple[Sequence[object], float]:
    """Return the items that fit from the front, and the bytes to set aside."""
    taken = list(accumulate((size(item.wire()) + 1 for item in items), initial=len(',"fadingSoon":[]')))[1:]
    fit = sum(one <= share for one in taken)
    return items[:fit], min(taken[-1], share) if taken else 0.0
