"""A program's state and notes as answers."""

from collections.abc import Sequence
from typing import Literal

from fleet_memory.rules.lifecycle.notes import Noted
from fleet_memory.rules.retrieval.budget import DEFAULT_TOKENS, count_fitting
from fleet_memory.schemas.answers.state import (
    DecayAnswer,
    GoneNote,
    NoteAnswer,
    NotedAnswer,
    StateAnswer,
    SummaryAnswer,
)
from fleet_memory.schemas.programs import DecayConfig, Note, PastSummary, Program
from fleet_memory.schemas.state import ContextSummary


def state_answer(
    program: Program, past: Sequence[PastSummary], suggestions: Sequence[str]
) -> StateAnswer:
    """Return a program's state without its empty parts; `decayConfig` only where it is not the
    default.
    """
    summary = program.context_summary
    summaries = list(map(_summary_answer, past))
    shown = _fitting(summaries)
    return StateAnswer(
        exists=None if program.exists else False,
        suggestions=tuple(suggestions) or None,
        version=program.state_version,
        context_summary=ContextSummary.model_validate(summary) if summary else None,
        config=program.config or None,
        baselines=program.baselines or None,
        decay_config=decay_answer(program.decay) if program.decay != DecayConfig() else None,
        notes=tuple(map(_note_answer, program.notes.values())) or None,
        missing=tuple(question.text for question in program.missing) or None,
        history=tuple(shown) or None,
        omitted=len(summaries) - len(shown) or None,
        last_update=program.last_update,
    )


def decay_answer(decay: DecayConfig) -> DecayAnswer:
    """Return how a program forgets."""
    return DecayAnswer(
        max_age=decay.max_age,
        max_unpromoted_patterns=decay.max_unpromoted_patterns,
        prune_after=decay.prune_after,
    )


def noted_answer(status: Literal["added", "edited", "removed"], noted: Noted) -> NotedAnswer:
    """Return the result of a change of a note; `status` applies unless nothing changed."""
    gone = [
        GoneNote(id=line.note.id, text=line.note.text)
        for line in noted.archived
        if line.note.id != noted.note_id
    ]
    return NotedAnswer(
        status=status if noted.changed else "unchanged",
        note_id=noted.note_id,
        lines=noted.lines,
        archived=tuple(gone) or None,
    )


def _fitting(summaries: Sequence[SummaryAnswer]) -> Sequence[SummaryAnswer]:
    """Return the newest summaries that fit into the default budget, at least one."""
    return summaries[
        : max(1, count_fitting({}, (summary.wire() for summary in summaries), DEFAULT_TOKENS))
    ]


def _note_answer(note: Note) -> NoteAnswer:
    return NoteAnswer(id=note.id, text=note.text, pinned=note.pinned or None, at=note.at)


def _summary_answer(past: PastSummary) -> SummaryAnswer:
    summary = ContextSummary.model_validate(past.context_summary)
    return SummaryAnswer(at=past.at, version=past.version, context_summary=summary)
