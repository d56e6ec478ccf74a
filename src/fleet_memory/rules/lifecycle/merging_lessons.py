"""Two copies of one lesson, from two stores, as one: in either order, and with either copy again,
the same lesson.

Each copy is its first store and the words about it since. The later first store counts as a
confirmation.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, NamedTuple

from fleet_memory.rules.lifecycle.admission import MAX_CALLS
from fleet_memory.rules.lifecycle.reinforcement import newest_evidence
from fleet_memory.rules.text.keys import normalised, text_hash
from fleet_memory.rules.text.vectors import with_search_vector
from fleet_memory.schemas.patterns import Evidence, Outcome, Pattern

_MAX_TAGS: Final = 10  # of one lesson, as `schemas.fields.Tags`
_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_ALWAYS: Final = datetime.max.replace(tzinfo=UTC)


class _Copy(NamedTuple):
    """A copy's words: those of its log, and how many there ever were of each outcome."""

    log: Sequence[Evidence]
    totals: Counter[str]


def is_same_lesson(one: Pattern, other: Pattern) -> bool:
    """Whether two lessons have equal words."""
    return text_hash(one.pattern) == text_hash(other.pattern)


def last_touched(pattern: Pattern) -> datetime:
    """Return when an agent last stored the lesson or gave a word about it."""
    times = (
        pattern.stored_at,
        pattern.last_reinforced,
        *(line.at for line in pattern.evidence_log),
    )
    return max((*times, pattern.called_at) if pattern.called_at else times)


def merged_pattern(one: Pattern, other: Pattern) -> Pattern:
    """Return the one lesson of two copies of equal words and of one id.

    The copy that was stored first gives text, evidence, session and source, the one that was
    touched last domain, project and confidence. Words of both count, each once as far as the logs
    tell.
    """
    if one == other:
        return one
    first, second = sorted((one, other), key=_first_stored)
    newest = max((first, second), key=_newest_first)
    evidence = first.evidence or second.evidence
    copies = (
        _copy(first),
        _copy(second) if second.stored_at == first.stored_at else _told(second, evidence),
    )
    lines = Counter(copies[0].log) | Counter(copies[1].log)
    in_entry = [copy for copy in (first, second) if copy.knowledge_key is not None]
    embedded = first if first.vector else second
    merged = replace(
        first,
        domain=newest.domain,
        project_id=newest.project_id,
        confidence=newest.confidence,
        evidence=evidence,
        discovered_at=min(first.discovered_at, second.discovered_at),
        last_reinforced=max(first.last_reinforced, second.last_reinforced),
        called_at=_latest(first.called_at, second.called_at),
        tags=tuple(sorted({*first.tags, *second.tags})[:_MAX_TAGS]),
        confirmations=_total("confirmed", copies, lines),
        contradictions=_total("contradicted", copies, lines),
        doublings=max(first.doublings, second.doublings),
        spaced_at=_latest(first.spaced_at, second.spaced_at),
        evidence_log=_log(copies, lines),
        knowledge_key=in_entry[0].knowledge_key if in_entry else None,
        echo=_is_echo(in_entry),
        rewrite=max(
            (c.rewrite for c in in_entry if c.rewrite),
            key=lambda r: (r.at, r.judged_same),
            default=None,
        ),
        vector=embedded.vector,
        embedder=embedded.embedder,
        calls=_calls(first, second),
    )
    return with_search_vector(merged, second.search_vector)


def _first_stored(copy: Pattern) -> tuple[datetime, str, str, str, bool, str, str]:
    """Return the order of two copies; of one moment the one with evidence is first, for the merged
    lesson has it.
    """
    session, source = copy.session_id or "", copy.source.compact()
    return (
        copy.stored_at,
        copy.pattern,
        session,
        source,
        not copy.evidence,
        copy.evidence,
        copy.knowledge_key or "",
    )


def _newest_first(copy: Pattern) -> tuple[datetime, str, str, float]:
    return last_touched(copy), copy.domain, copy.project_id or "", copy.confidence


def _copy(pattern: Pattern) -> _Copy:
    totals = Counter[str](confirmed=pattern.confirmations, contradicted=pattern.contradictions)
    return _Copy(pattern.evidence_log, totals)


def _told(pattern: Pattern, evidence: str) -> _Copy:
    """Return a copy's words with its first store as one; its evidence is new unless it is
    `evidence`.
    """
    known = _copy(pattern)
    text = "" if normalised(pattern.evidence) == normalised(evidence) else pattern.evidence
    stored = Evidence(at=pattern.stored_at, outcome="confirmed", text=text)
    return _Copy([stored, *known.log], known.totals + Counter[str](confirmed=1))


def _total(outcome: Outcome, copies: Iterable[_Copy], lines: Counter[Evidence]) -> int:
    """Return how many words of an outcome there were: each once after both logs begin, before that
    the larger count.
    """
    since = max((_log_begins(copy) for copy in copies), default=_NEVER)

    def logged(log: Counter[Evidence]) -> int:
        return sum(
            count for line, count in log.items() if line.outcome == outcome and line.at > since
        )

    return max(copy.totals[outcome] - logged(Counter(copy.log)) for copy in copies) + logged(lines)


def _log(copies: Sequence[_Copy], lines: Counter[Evidence]) -> tuple[Evidence, ...]:
    """Return the newest lines of both; those that a full log has let go do not come back from the
    other.
    """
    since = max(
        (begin for copy in copies if (begin := _log_begins(copy)) != _ALWAYS), default=_NEVER
    )
    return newest_evidence(
        sorted((line for line in lines.elements() if line.at >= since), key=_moment)
    )


def _log_begins(copy: _Copy) -> datetime:
    """Return from when on a log has every word of its copy."""
    if copy.totals.total() <= len(copy.log):
        return _NEVER
    return min((line.at for line in copy.log), default=_ALWAYS)


def _calls(one: Pattern, other: Pattern) -> dict[str, str]:
    """Return the calls of both; the lesson's own id first, and of two calls under one id the
    greater digest.
    """
    calls = dict(sorted([*one.calls.items(), *other.calls.items()]))
    ids = sorted(calls, key=lambda id_: (id_ != one.id, id_))
    return {id_: calls[id_] for id_ in ids[:MAX_CALLS]}


def _is_echo(copies: Sequence[Pattern]) -> bool:
    return bool(copies) and all(
        copy.echo for copy in copies if copy.knowledge_key == copies[0].knowledge_key
    )


def _latest(one: datetime | None, other: datetime | None) -> datetime | None:
    return max((at for at in (one, other) if at is not None), default=None)


def _moment(line: Evidence) -> tuple[datetime, str, str]:
    return line.at, line.outcome, line.text
