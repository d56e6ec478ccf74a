"""Two states of one program, from two stores, as one: handover, config, baselines, and the marks of
its calls.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, NamedTuple

from fleet_memory.rules.asking import MAX_ASKED, MAX_SHOWN, MAX_VERDICTS_PER_DAY
from fleet_memory.rules.entries import MAX_REMEMBERED_CONTRADICTIONS
from fleet_memory.rules.lifecycle.missing import MAX_MISSING
from fleet_memory.rules.lifecycle.state import MAX_CONFIG_BYTES
from fleet_memory.rules.retrieval.budget import size
from fleet_memory.rules.text.keys import normalised
from fleet_memory.schemas.fields import LooseValue
from fleet_memory.schemas.programs import Asked, DecayConfig, Missing, PastSummary, Program

_NEVER: Final = datetime.min.replace(tzinfo=UTC)


class Stating(NamedTuple):
    """A program, and the context summaries that its store has of it, in any order."""

    program: Program
    history: Sequence[PastSummary] = ()

    @property
    def at(self) -> datetime:
        """When its state was changed last, as far as is known."""
        return max((past.at for past in self.history), default=self.program.last_update or _NEVER)


class MergedState(NamedTuple):
    """A program with the state of both, the summaries to write, and the values that gave way, as
    text; "" for none.
    """

    program: Program
    history: tuple[PastSummary, ...] = ()
    replaced: str = ""


def merged_state(mine: Stating, theirs: Stating, max_summaries: int) -> MergedState:
    """Return the first program with the later handover; each member of config and baselines is the
    later one.

    A part that only one has stays. The first program itself if the other has nothing to add.
    """
    older, newer = (
        sorted((mine, theirs), key=lambda copy: copy.at) if theirs.at > mine.at else (theirs, mine)
    )
    config, other_config = _later(older.program.config, newer.program.config)
    baselines, other_baselines = _later(older.program.baselines, newer.program.baselines)
    is_default = newer.program.decay == DecayConfig()
    after = replace(
        mine.program,
        context_summary=newer.program.context_summary or older.program.context_summary,
        config=config,
        baselines=baselines,
        decay=older.program.decay if is_default else newer.program.decay,
    )
    lost = {"config": other_config, "baselines": other_baselines}
    text = json.dumps(
        {name: part for name, part in lost.items() if part}, ensure_ascii=False, sort_keys=True
    )
    history = _missing_summaries(mine, theirs, max_summaries)
    if after == mine.program and not history:
        return MergedState(mine.program, (), text if text != "{}" else "")
    version = max(mine.program.state_version, theirs.program.state_version) + 1
    version = version if after != mine.program else mine.program.state_version
    after = replace(
        after, state_version=version, summaries=max(mine.program.summaries, _next(history))
    )
    return MergedState(after, history, text if text != "{}" else "")


def merged_marks(mine: Program, theirs: Program) -> Program:
    """Return the first program with the marks of both: the texts it was shown, the pairs, its
    questions.

    A text was shown when it was shown first. The two programs' requests, commits, runs and the
    version that each read are of their own stores, so the first keeps its own.
    """
    shown = {**theirs.shown, **mine.shown}
    shown = {text: min(at, theirs.shown.get(text, at)) for text, at in shown.items()}
    asked = {
        pair: _asked(mine.asked.get(pair), theirs.asked.get(pair))
        for pair in (*mine.asked, *theirs.asked)
    }
    against = {**mine.against, **theirs.against}
    against = {key: max(at, mine.against.get(key, at)) for key, at in against.items()}
    newest_shown = sorted(shown.items(), key=lambda item: (item[1], item[0]))[-MAX_SHOWN:]
    newest_asked = sorted(asked.items(), key=lambda item: (item[1].at, item[0]))[-MAX_ASKED:]
    newest_against = sorted(against.items(), key=lambda item: (item[1], item[0]))[
        -MAX_REMEMBERED_CONTRADICTIONS:
    ]
    return replace(
        mine,
        shown=dict(newest_shown),
        asked=dict(newest_asked),
        against=dict(newest_against),
        judged_at=tuple(sorted({*mine.judged_at, *theirs.judged_at})[-MAX_VERDICTS_PER_DAY:]),
        missing=_questions(mine, theirs),
        sessions=max(mine.sessions, theirs.sessions),
        last_update=max((at for at in (mine.last_update, theirs.last_update) if at), default=None),
    )


def _later(
    older: Mapping[str, LooseValue], newer: Mapping[str, LooseValue]
) -> tuple[Mapping[str, LooseValue], Mapping[str, LooseValue]]:
    """Return the members of both, the newer of those with one name, and the members that gave
    way.
    """
    both = {**older, **newer}
    both = both if size(both) <= MAX_CONFIG_BYTES else {**newer}
    return both, {name: value for name, value in older.items() if both.get(name) != value}


def _missing_summaries(mine: Stating, theirs: Stating, limit: int) -> tuple[PastSummary, ...]:
    """Return the summaries of the newest of both that the first has not, or has under another
    number.
    """
    known = {_content(past) for past in mine.history}
    new = [past for past in theirs.history if _content(past) not in known]
    everything = sorted([*mine.history, *new], key=lambda past: (past.at, past.number))[-limit:]
    added = sum(_content(past) not in known for past in everything)
    if not added:
        return ()
    first = max(mine.program.summaries + added, len(everything)) - len(everything)
    numbered = (replace(past, number=first + place) for place, past in enumerate(everything))
    return tuple(past for past in numbered if past not in mine.history)


def _content(past: PastSummary) -> tuple[datetime, str]:
    return past.at, json.dumps(past.context_summary, sort_keys=True)


def _next(history: Sequence[PastSummary]) -> int:
    return max((past.number + 1 for past in history), default=0)


def _asked(one: Asked | None, other: Asked | None) -> Asked:
    known = [asked for asked in (one, other) if asked is not None]
    return Asked(times=max(asked.times for asked in known), at=max(asked.at for asked in known))


def _questions(mine: Program, theirs: Program) -> tuple[Missing, ...]:
    asked: dict[str, Missing] = {}
    for question in (*theirs.missing, *mine.missing):
        words = normalised(question.text)
        known = asked.get(words, question)
        newest = question if question.at >= known.at else known
        asked[words] = replace(newest, times=max(question.times, known.times))
    return tuple(sorted(asked.values(), key=lambda question: question.at)[-MAX_MISSING:])
