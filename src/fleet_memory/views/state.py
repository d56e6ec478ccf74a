"""A program's state and notes as answers."""

from typing import Literal

from fleet_memory.rules.lifecycle.notes import Noted
from fleet_memory.schemas.answers.state import DecayAnswer, GoneNote, NotedAnswer
from fleet_memory.schemas.programs import DecayConfig


def decay_answer(decay: DecayConfig) -> DecayAnswer:
    """Return how a program forgets."""
    return DecayAnswer(
        max_age=decay.max_age,
        max_unpromoted_patterns=decay.max_unpromoted_patterns,
        prune_after=decay.prune_after,
    )


def noted_answer(status: Literal["added", "edited"], done: Noted) -> NotedAnswer:
    """Return the result of a change of a note; `status` holds unless nothing changed."""
    return NotedAnswer(
        status=status if done.changed else "unchanged",
        program_id=done.program.program_id,
        note_id=done.note_id,
        lines=done.lines,
        archived=tuple(GoneNote(id=gone.note.id, text=gone.note.text) for gone in done.archived),
    )
