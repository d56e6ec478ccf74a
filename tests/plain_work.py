"""A plain memory of work: what the notes promise, in one list and one table, for one caller at a time.

It is a second implementation on purpose, made of the promises of docs/work.md and not of the code: claims
by the name of their work, records in the order in which they came.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

Who = tuple[str, str]
"""A program in its session."""


@dataclass
class PlainClaim:
    who: Who
    until: datetime
    lost: list[Who] = field(default_factory=list)


@dataclass
class PlainRecord:
    name: str
    work: str
    who: Who
    kind: str
    state: str
    at: datetime
    tags: frozenset[str]
    late: str
    lost: list[Who]
    flags: list[tuple[str, str]] = field(default_factory=list)
    withdrawn: bool = False


class PlainWork:
    """The claims and the records, the newest first."""

    def __init__(self) -> None:
        self.claims: dict[str, PlainClaim] = {}
        self.records: list[PlainRecord] = []

    def claim(self, who: Who, work: str, now: datetime, hours: float, *, look: bool) -> str:
        """Return "claimed", "free", "held BY" or "done RECORD"."""
        known = self.claims.get(work)
        if known and known.who == who:
            if not look:
                known.until = now + timedelta(hours=hours)
            return "claimed"
        if known and known.until > now:
            return f"held {known.who[0]}"
        for record in self._of(work, who[1])[:4]:
            if record.state == "done" and not record.flags and not record.withdrawn:
                return f"done {record.name}"
        if look:
            return "free"
        lost = [*known.lost, known.who] if known else []
        lost += [each for record in self._of(work, who[1])[:4] for each in record.lost]
        lost += [
            each
            for record in [it for it in self.records if it.work == work][:3]
            for each in record.lost
        ]
        self.claims[work] = PlainClaim(
            who, now + timedelta(hours=hours), [it for it in lost if it != who]
        )
        return "claimed"

    def release(self, who: Who, work: str, now: datetime) -> str:
        """Return "released", "not yours" or "held BY"."""
        known = self.claims.get(work)
        if known and known.who == who:
            del self.claims[work]
            return "released"
        return f"held {known.who[0]}" if known and known.until > now else "not yours"

    def hand_over(
        self, record: PlainRecord, flagged: str, *, withdraw: bool
    ) -> tuple[str, list[str]]:
        """Add a record and return who has overtaken its writer, and who flagged what it builds on."""
        claim = self.claims.get(record.work)
        newest = next((it for it in self.records if it.work == record.work), None)
        if claim and claim.who == record.who:
            record.lost = claim.lost
            del self.claims[record.work]
        elif claim and record.who in claim.lost:
            record.late, record.lost = claim.who[0], claim.lost
        elif newest and record.who in newest.lost:
            record.late, record.lost = newest.who[0], newest.lost
        elif newest:
            record.lost = newest.lost
        self.records.insert(0, record)
        target = self.named(flagged)
        if target:
            target.flags.append((record.who[0], record.name))
            target.withdrawn = target.withdrawn or withdraw
        return record.late, []

    def named(self, name: str) -> PlainRecord | None:
        return next((record for record in self.records if record.name == name), None)

    def read(self, session: str, kind: str = "", tag: str = "") -> list[PlainRecord]:
        """Return the records of a session, the newest first."""
        return [
            record
            for record in self.records
            if record.who[1] == session
            and kind in ("", record.kind)
            and (not tag or tag in record.tags)
        ]

    def is_satisfied(self, session: str, kind: str, program: str) -> bool:
        """Whether a record of a kind is there, by a program."""
        return any(
            record.state == "done" and not record.withdrawn and program in ("", record.who[0])
            for record in self.read(session, kind)
        )

    def held(self, session: str, now: datetime) -> dict[str, str]:
        """Return who holds which work of a session."""
        return {
            work: claim.who[0]
            for work, claim in self.claims.items()
            if claim.until > now and claim.who[1] == session
        }

    def _of(self, work: str, session: str) -> list[PlainRecord]:
        return [it for it in self.records if (it.work, it.who[1]) == (work, session)]
