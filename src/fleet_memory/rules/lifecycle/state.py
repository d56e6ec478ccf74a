"""Updates of a program's state: JSON Merge Patches (RFC 7396), part by part."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple

from fleet_memory.rules.lifecycle.decay import is_stale
from fleet_memory.rules.retrieval.budget import size
from fleet_memory.schemas.fields import LooseValue
from fleet_memory.schemas.programs import DecayConfig, PastSummary, Program, ProgramRecord

MAX_SUMMARY_BYTES: Final = 32_000  # bytes of JSON: a boot must be able to show it
MAX_CONFIG_BYTES: Final = 20_000  # bytes of JSON, the same for baselines


class StatePatch(NamedTuple):
    """An update, each part as a merge patch: members with null are removed. An empty part changes
    nothing.
    """

    context_summary: Mapping[str, LooseValue] = {}
    config: Mapping[str, LooseValue] = {}
    baselines: Mapping[str, LooseValue] = {}
    decay: Mapping[str, LooseValue] = {}


class Stated(NamedTuple):
    """A program after an update, the records to archive or keep as history, and whether anything
    changed.
    """

    program: Program
    archived: tuple[ProgramRecord, ...] = ()
    updated: bool = False


def apply_patch(target: LooseValue, patch: LooseValue) -> LooseValue:
    """Return `target` after a JSON Merge Patch. Source: RFC 7396, section 2."""
    return (
        _patched(target if isinstance(target, dict) else {}, patch)
        if isinstance(patch, dict)
        else patch
    )


def _patched(
    target: Mapping[str, LooseValue], patch: Mapping[str, LooseValue]
) -> dict[str, LooseValue]:
    after = dict(target)
    for name, value in patch.items():
        if value is None:
            after.pop(name, None)
        else:
            after[name] = apply_patch(after.get(name), value)
    return after


def stated(program: Program, patch: StatePatch, now: datetime) -> Stated:
    """Return the program after an update. A new summary leaves a copy."""
    after = replace(
        program,
        context_summary=_patched(program.context_summary, patch.context_summary),
        config=_patched(program.config, patch.config),
        baselines=_patched(program.baselines, patch.baselines),
    )
    decay = DecayConfig.from_fields(_patched(program.decay.wire(), patch.decay))
    if decay != program.decay:
        after = _forgetting_by(after, decay, now)
    if after == program:
        return Stated(program)
    after = replace(after, state_version=program.state_version + 1)
    if after.context_summary == program.context_summary:
        return Stated(after, updated=True)
    past = PastSummary(
        program_id=program.program_id,
        number=program.summaries,
        version=after.state_version,
        at=now,
        context_summary=after.context_summary,
    )
    after = replace(after, summaries=program.summaries + 1)
    return Stated(after, (past,), updated=True)


def too_large(program: Program) -> str | None:
    """Return which part of the state is larger than it may be, by how much, with advice; None when
    none is.
    """
    for name, value, limit in (
        ("contextSummary", program.context_summary, MAX_SUMMARY_BYTES),
        ("config", program.config, MAX_CONFIG_BYTES),
        ("baselines", program.baselines, MAX_CONFIG_BYTES),
    ):
        if (bytes_ := size(value)) > limit:
            return (
                f"{name}: would be {bytes_} bytes of JSON, at most {limit}; shorten it, or remove "
                "members with null"
            )
    return None


def _forgetting_by(program: Program, decay: DecayConfig, now: datetime) -> Program:
    """Return the program under other rules: patterns of any domain that revive become pending."""
    patterns = program.patterns.values()
    revived = [
        pattern.id
        for pattern in patterns
        if is_stale(pattern, now, program.decay) and not is_stale(pattern, now, decay)
        if pattern.knowledge_key is None and pattern.id not in program.pending
    ]
    return replace(program, decay=decay, pending=(*program.pending, *revived))
