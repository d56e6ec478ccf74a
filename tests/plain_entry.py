"""The values of the plain model: lessons, words and entries, and the questions that only one of
them answers.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

VERIFY_AFTER = timedelta(days=180)
"""An entry without a report for longer than this is marked `verify`."""


class RefusedError(Exception):
    """The call writes nothing: its target is unknown, or people closed it."""


def words_of(text: str) -> str:
    """Return the text as its words: `words_of("Use  pnpm.") == words_of("use pnpm")`."""
    return " ".join(text.casefold().split()).rstrip(".")


def folded(program: str) -> str:
    """Return the program as an origin: `folded("Claude-Code") == folded("claude-code")`."""
    return unicodedata.normalize("NFKC", program).casefold()


class Sent(Protocol):
    """Anything that one program sent: a contribution or a word."""

    program: str
    session: str | None
    connection: str | None


Call = tuple[str, str, float, str | None]
"""The fields of a stored lesson without its names: text, evidence, confidence, project."""


@dataclass
class Lesson:
    """One program's lesson as it reads now; `stored_at`, session and connection are those of its
    present text.
    """

    program: str
    lesson_id: str
    text: str
    evidence: str
    session: str | None
    connection: str | None
    confidence: float
    project: str | None
    stored_at: datetime
    last_reinforced: datetime
    called_at: datetime
    calls: dict[str, Call]  # the last call under each id that it was stored under

    @property
    def words(self) -> str:
        return words_of(self.text)


@dataclass(eq=False)
class Contribution:
    """A lesson inside an entry, as it was when it joined. An echo never votes."""

    program: str
    lesson_id: str
    text: str
    evidence: str
    session: str | None
    connection: str | None
    project: str | None
    echo: bool
    pairs: list[frozenset[str]]  # the verdicts that it hangs on; empty where the words were equal
    rewrite_is_open: bool = False

    @property
    def words(self) -> str:
        return words_of(self.text)


@dataclass
class Word:
    """One program's word about an entry, with evidence. A waiting contradiction has no effect
    yet.
    """

    program: str
    outcome: str  # confirmed | contradicted
    at: datetime
    session: str | None
    connection: str | None
    waits: bool = False


@dataclass(frozen=True)
class Policy:
    threshold: int = 2
    origins: str = "program"  # or "connection"


def is_copy(one: Contribution, other: Contribution) -> bool:
    """Return whether both have equal words and equal evidence of more than three words."""
    same_evidence = words_of(one.evidence) == words_of(other.evidence)
    return one.words == other.words and same_evidence and len(one.evidence.split()) > 3


def share_an_origin(one: Sent, other: Sent, origins: str) -> bool:
    """Return whether the two are one origin: by program, session, copied text or, under that
    policy, connection.
    """
    if folded(one.program) == folded(other.program) or (
        one.session and one.session == other.session
    ):
        return True
    if isinstance(one, Contribution) and isinstance(other, Contribution) and is_copy(one, other):
        return True
    return (
        origins == "connection"
        and one.connection is not None
        and one.connection == other.connection
    )


def count_origins(everything: Iterable[Sent], origins: str) -> int:
    """Count the groups that are left when everything that shares an origin is put together."""
    groups: list[list[Sent]] = []
    for item in everything:
        near = [
            group
            for group in groups
            if any(share_an_origin(item, other, origins) for other in group)
        ]
        groups = [group for group in groups if group not in near]
        groups.append([item, *(other for group in near for other in group)])
    return len(groups)


@dataclass(eq=False)
class Entry:
    """One text with its contributions and the words about it."""

    text: str
    last_confirmed: datetime
    rule: Policy = field(default_factory=Policy)  # the policy it was published under
    published: bool = False
    published_at: datetime | None = None  # its first publication
    retired: bool = False
    contributions: list[Contribution] = field(default_factory=list)
    words_about: dict[str, Word] = field(default_factory=dict)  # by folded program
    split_off: set[tuple[str, str]] = field(
        default_factory=set
    )  # folded program and words that people took out
    carried: set[frozenset[str]] = field(
        default_factory=set
    )  # pairs whose `contradict` was taken as a word
    asked: list[Contribution] = field(default_factory=list)  # of a younger entry judged the same
    learnt_again: int = (
        0  # how often a lesson repeated it while retired; one that left and came back did so twice
    )

    @property
    def words(self) -> str:
        return words_of(self.text)

    @property
    def is_empty(self) -> bool:
        """Whether no lesson is in it, an echo neither, and people did not retire it: nothing is
        compared with it.
        """
        return not self.contributions and not self.retired

    def contradictions(self, *, waiting: bool = False) -> list[Word]:
        """Return the open contradictions that count; with `waiting`, also those that wait."""
        against = [word for word in self.words_about.values() if word.outcome == "contradicted"]
        return [word for word in against if waiting or not word.waits]

    def confirmations_after(self, since: datetime) -> list[Word]:
        return [
            word
            for word in self.words_about.values()
            if word.outcome == "confirmed" and word.at > since
        ]

    def voting(self) -> list[Contribution]:
        """Return the contributions that vote: no echoes, and none of a program that contradicts the
        entry.
        """
        against = {folded(word.program) for word in self.contradictions()}
        return [
            one for one in self.contributions if not one.echo and folded(one.program) not in against
        ]

    def is_contributor(self, program: str | None, connection: str | None = None) -> bool:
        """Return whether the program contributes, or anybody does over this unbound connection."""
        mine = [one for one in self.contributions if not one.echo]
        if connection is not None and any(one.connection == connection for one in mine):
            return True
        return program is not None and any(folded(one.program) == folded(program) for one in mine)

    def project(self, policy: Policy) -> str | None:
        """Return the project it is limited to; None once `threshold` votes have none."""
        voting = self.voting()
        free = count_origins([one for one in voting if one.project is None], policy.origins)
        limited = sorted({one.project for one in voting if one.project is not None})
        return limited[0] if limited and free < policy.threshold else None

    def came_over_one_connection(self) -> bool:
        """Return whether all votes came over one unbound connection, and no word with evidence over
        another.
        """
        connections = {one.connection for one in self.voting()}
        heard_over = {
            word.connection for word in self.words_about.values()
        }  # a program's latest word stands
        return len(connections) == 1 and None not in connections and heard_over <= connections

    def needs_verifying(self, sure_votes: int, now: datetime) -> bool:
        rewritten = any(one.rewrite_is_open for one in self.contributions)
        silent = now - self.last_confirmed > VERIFY_AFTER
        return (
            rewritten
            or silent
            or sure_votes < self.rule.threshold
            or self.came_over_one_connection()
        )

    def state(self, sure_votes: int, now: datetime) -> str:
        """Return the first state that holds; `sure_votes` hang on no single judge's `same`."""
        if self.retired:
            return "retired"
        if not self.published:
            return "candidate"
        if self.contradictions():
            return "contested"
        return "verify" if self.needs_verifying(sure_votes, now) else "fresh"


def best_first(lessons: Sequence[Lesson]) -> list[Lesson]:
    """Sort by confidence, then older, then program: the first gives the entry its text."""
    return sorted(lessons, key=lambda one: (-one.confidence, one.stored_at, one.program))
