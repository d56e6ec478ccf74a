"""The state of an entry: the first that holds of retired, candidate, contested, verify, fresh."""

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from fleet_memory.rules.knowledge.votes import (
    counted_contradictions,
    independent_origins,
    same_program,
    testimony,
    votes,
    voting,
)
from fleet_memory.schemas.knowledge import Doubt, Entry, EntryState, KnowledgeRow

VERIFY_AFTER: Final = timedelta(
    days=180
)  # unconfirmed for longer; Source: docs/knowledge.md, chosen


class EntryChange(NamedTuple):
    """An entry after a change, with its state before it (None for a new one) and after."""

    entry: Entry
    before: EntryState | None
    after: EntryState

    @property
    def is_promotion(self) -> bool:
        """Whether agents read it for the first time, or again."""
        return self.before in (None, "candidate") and self.after not in ("candidate", "retired")

    @property
    def is_visible(self) -> bool:
        """Whether agents would read something else now."""
        return self.before != self.after and (self.before, self.after) != (None, "candidate")


def entry_state(entry: Entry, now: datetime) -> EntryState:
    """Return the state of an entry at `now`."""
    if entry.retired_at is not None:
        return "retired"
    if is_candidate(entry) or (entry.published_at is None and entry.tier != "constitutional"):
        return "candidate"
    if counted_contradictions(entry):
        return "contested"
    return "verify" if doubts(entry) or is_unconfirmed(entry, now) else "fresh"


def is_candidate(entry: Entry) -> bool:
    """Whether an entry has too few votes for agents to read it."""
    return entry.tier != "constitutional" and votes(entry) < entry.threshold


def recorded_state(entry: Entry) -> EntryState:
    """Return the state of an entry without the passing of time, as documents keep it."""
    return entry_state(entry, entry.last_confirmed)


def row_state(row: KnowledgeRow, now: datetime) -> EntryState:
    """Return the state at `now` of an entry as boot reads it."""
    return "verify" if row.state == "fresh" and is_unconfirmed(row, now) else row.state


def is_unconfirmed(entry: Entry | KnowledgeRow, now: datetime) -> bool:
    """Whether the entry went unconfirmed for more than 180 days."""
    return now - entry.last_confirmed > VERIFY_AFTER


def doubts(entry: Entry) -> tuple[Doubt, ...]:
    """Return why an entry is `verify` at any time; none for a rule that people set."""
    if entry.tier == "constitutional":
        return ()
    reasons: dict[Doubt, bool] = {
        "one_connection": _over_one_connection(entry),
        "one_judge": _hangs_on_one_judge(entry),
        "open_rewrite": any(line.open_rewrite for line in voting(entry)),
        "unjudged": any(line.basis == "unjudged" for line in voting(entry)),
    }
    return tuple(reason for reason, applies in reasons.items() if applies)


def _over_one_connection(entry: Entry) -> bool:
    """Whether every vote, and every word with evidence, came over one unbound connection."""
    connections = {line.connection for line in voting(entry)} | {
        word.connection for word in entry.words
    }
    return len(connections) == 1 and None not in connections


def _hangs_on_one_judge(entry: Entry) -> bool:
    """Whether the votes that no single judge carries are too few for the threshold."""
    sure = [line for line in voting(entry) if line.basis != "one_judge"]
    return independent_origins(map(testimony, sure), entry.origins) < entry.threshold and len(
        sure
    ) < len(voting(entry))


def contributes(entry: Entry, program_id: str) -> bool:
    """Whether a program has a contribution in the entry, whether it votes or not."""
    name = same_program(program_id)
    return any(same_program(line.program_id) == name for line in entry.provenance)
