"""Rewrites: another text under a known id. The earlier text of a contribution votes until its
author judges both.
"""

from datetime import datetime
from typing import NamedTuple

from fleet_memory.rules.entries import with_open_rewrite
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.patterns import Pattern, Rewrite


class RewrittenContribution(NamedTuple):
    """An entry and a rewritten lesson; `is_open` while its author has not judged both texts."""

    key: str
    pattern_id: str
    is_open: bool


def rewrite_after(old: Pattern, words: str, now: datetime) -> Rewrite | None:
    """Return the rewrite that a text of these `words` makes of a lesson; None unless the earlier
    text votes on.

    Back at the words of the text that votes, nothing is left to judge.
    """
    if not old.promoted:
        return None
    voting_text = old.rewrite.voting_text if old.rewrite else old.pattern
    return None if text_hash(voting_text) == words else Rewrite(voting_text=voting_text, at=now)


def rewritten_contribution(old: Pattern, new: Pattern) -> RewrittenContribution | None:
    """Return the contribution to mark after `old` was rewritten to `new`; None when `old` did not
    contribute.
    """
    if not old.promoted or old.knowledge_key is None:
        return None
    return RewrittenContribution(old.knowledge_key, new.id, is_open_rewrite(new))


def is_open_rewrite(pattern: Pattern) -> bool:
    """Whether a lesson's author still has to judge its text and the one that votes."""
    return pattern.rewrite is not None and not pattern.rewrite.judged_same


def with_rewritten(entry: Entry, program_id: str, contribution: RewrittenContribution) -> Entry:
    """Return the entry with the contribution marked; the same object when it has none or nothing
    changes.
    """
    return with_open_rewrite(
        entry, program_id, contribution.pattern_id, is_open=contribution.is_open
    )
