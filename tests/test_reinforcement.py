from fleet_memory.rules.lifecycle.decay import (
    MAX_EVIDENCE_LINES,
    MAX_EVIDENCE_LOG_CHARS,
    contradicted,
    is_stale,
    reinforced,
)
from fleet_memory.schemas.programs import DecayConfig
from tests.lessons import START, days, pattern


def test_confirming_restarts_the_staleness_clock_and_revives_a_stale_pattern() -> None:
    now = START + days(200)
    old = pattern()
    assert is_stale(old, now, DecayConfig())
    assert not is_stale(reinforced(old, now=now), now, DecayConfig())


def test_confirming_sets_the_confidence_only_when_one_is_given() -> None:
    assert reinforced(pattern(confidence=0.85), now=START, confidence=0.92).confidence == 0.92
    assert reinforced(pattern(confidence=0.85), now=START).confidence == 0.85


def test_contradicting_halves_the_confidence_when_none_is_given() -> None:
    assert contradicted(pattern(confidence=0.8), now=START).confidence == 0.4


def test_contradicting_never_raises_the_confidence() -> None:
    assert contradicted(pattern(confidence=0.3), now=START, confidence=0.9).confidence == 0.3


def test_the_clock_never_runs_backwards() -> None:
    assert reinforced(pattern(), now=START - days(5)).last_reinforced == START


def test_the_evidence_log_keeps_the_newest_lines_within_its_bounds() -> None:
    lesson = pattern()
    for day in range(30):
        lesson = reinforced(lesson, now=START + days(day), evidence=f"{day} " + "x" * 1500)
    assert len(lesson.evidence_log) <= MAX_EVIDENCE_LINES
    assert sum(len(line.text) for line in lesson.evidence_log) <= MAX_EVIDENCE_LOG_CHARS
    assert lesson.evidence_log[-1].text.startswith("29 ")
