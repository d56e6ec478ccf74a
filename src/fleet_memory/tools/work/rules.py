"""What counts as the same work, who holds it, and what a record of it says: pure decisions.

Work has a name. Two names are one after Unicode's NFC and white space, nothing less: a semantic
duplicate is for a reader to see in `doneBefore`. Work without a name is a kind and an input, whose
name is made of them.
"""

import hashlib
import json
import operator
import posixpath
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain
from typing import Annotated, Final, Literal, NamedTuple, TypeAlias

from pydantic import Field, JsonValue

from fleet_memory.moment import paths_overlap
from fleet_memory.rules.erasing import DocumentFields, Erasure, fields_after
from fleet_memory.schemas.fields import EvidenceText, LineText, Name, Timestamp
from fleet_memory.schemas.value import Input, Value

HowItEnded: TypeAlias = Literal["done", "blocked", "abandoned"]

MAX_CLAIMS: Final = 500  # of a fleet: all lie in one document. Source: docs/work.md
MAX_BOARD_BYTES: Final = 900_000  # of that document, which a store refuses above 1 MiB
KEEP_EXPIRED: Final = timedelta(days=7)  # for a late record to find who took over; chosen
MAX_OUTPUT_BYTES: Final = 200_000  # of an output as JSON sends it. Source: docs/work.md
REPEATED_WITHIN: Final = timedelta(minutes=10)  # as for a lesson; docs/work.md
MAX_TAKEN_OVER: Final = 8  # holders that a claim names as overtaken, the newest; chosen
_LAST_MICROSECOND: Final = 1 << 59  # in the year 20237: ids descend from here
_SENT: Final = operator.attrgetter(  # what a caller sends, but for its time
    *("work", "by", "session", "state", "summary", "sha256", "path", "decisions", "failed"),
    *("next", "depends_on", "tags", "sent_flags"),
)
_WORD: Final = re.compile(r"\w+")


class Holder(NamedTuple):
    """Who calls about a work: the claim's id if given, else the program in its session ("" without
    one).
    """

    by: str
    session: str
    claim_id: str = ""


class Holding(Value):
    """Who holds a work, or held it: only the holder is shown `claim_id`; `session` is "" without
    one.
    """

    claim_id: str | None = None
    by: str
    session: str | None = None

    def is_of(self, holder: Holder) -> bool:
        """Whether this claim is the holder's."""
        if holder.claim_id:
            return self.claim_id == holder.claim_id
        return bool(holder.session) and (self.by, self.session) == holder[:2]


class Claim(Holding):
    """Who holds which work until when; `overtook` are holders whose claims ended unsettled."""

    work: str
    kind: str | None = None
    paths: tuple[str, ...] | None = None
    since: Timestamp
    until: Timestamp
    overtook: tuple[Holding, ...] | None = None

    def shown(self, *, own: bool = False) -> "Claim":
        """Return the claim as others see it, or its holder."""
        claim_id = self.claim_id if own else None
        return replace(self, claim_id=claim_id, session=self.session or None, overtook=None)


class Flag(Value):
    """A program's word that a record is wrong, and why."""

    by: str
    reason: str
    at: Timestamp


class FlagSent(Input):
    """A flag as a record's writer sends it."""

    record_id: Annotated[Name, Field(description="The record")]
    reason: Annotated[LineText, Field(description="What is wrong with it")]
    withdraw: Annotated[bool | None, Field(description="Your own record: it counts no more")] = None


class WorkDecision(Input):
    """What was chosen, what was rejected, and why."""

    chosen: Annotated[LineText, Field(description="What you chose")]
    why: Annotated[EvidenceText, Field(description="Your reason")]
    rejected: Annotated[
        tuple[LineText, ...] | None, Field(max_length=10, description="What you did not choose")
    ] = None


class NextStep(Input):
    """What should be done after a record, and by which program, if it names one."""

    text: Annotated[LineText, Field(description="What to do")]
    program_id: Annotated[Name | None, Field(description="Whose boot shows it")] = None


class Record(Value):
    """What one program did: written whole in one commit, and never changed but for its flags.

    `work_hash` stands for equal names of work. `waits_for` is the program that it was handed to,
    until that builds on it. `path` is where an output lies that was not sent.
    """

    record_id: str
    work_hash: str | None = None
    work: str
    by: str
    session: str | None = None
    kind: str | None = None
    state: HowItEnded
    summary: str | None = None
    at: Timestamp
    sha256: str | None = None
    bytes: int | None = None
    path: str | None = None
    decisions: tuple[WorkDecision, ...] | None = None
    failed: tuple[str, ...] | None = None
    next: NextStep | None = None
    waits_for: str | None = None
    depends_on: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    sent_flags: tuple[FlagSent, ...] | None = None
    overtook: tuple[Holding, ...] | None = None
    late: Literal[True] | None = None
    taken_over_by: str | None = None
    flags: Mapping[str, Flag] | None = None
    withdrawn: Literal[True] | None = None

    @property
    def is_done(self) -> bool:
        """Whether the work is done: others need not repeat it."""
        return self.state == "done" and not self.flags and not self.withdrawn

    @property
    def shown(self) -> "Record":
        """The record as `read_work` shows it; its decisions stand beside it."""
        return replace(
            self,
            work_hash=None,
            session=self.session or None,
            decisions=None,
            waits_for=None,
            sent_flags=None,
            overtook=None,
        )

    @property
    def outline(self) -> "Record":
        """The author, time and end of the work."""
        wire = self.shown.wire()
        names = ("recordId", "work", "by", "session", "state", "at", "flags")
        return Record.from_fields({name: wire[name] for name in names if name in wire})

    def repeats(self, other: "Record") -> bool:
        """Whether this is the same call again, its answer lost."""
        is_same = bool(_SENT(self) == _SENT(other))
        return is_same and abs(self.at - other.at) <= REPEATED_WITHIN


class Board(NamedTuple):
    """The claims of a fleet by the keys of their work, and the id of its newest record."""

    claims: Mapping[str, Claim] = {}
    newest: str = ""

    def live(self, now: datetime) -> dict[str, Claim]:
        """Return the claims that have not expired, the oldest first."""
        ordered = sorted(self.claims.items(), key=lambda it: (it[1].since, it[0]))
        return {key: claim for key, claim in ordered if claim.until > now}

    def without(self, key: str) -> "Board":
        """Return the board without the claim on a work."""
        return self._replace(
            claims={name: self.claims[name] for name in self.claims if name != key}
        )


def named_work(text: str) -> str:
    """Return the name of a work, e.g. "fix  #7 " -> "fix #7"."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def work_of_input(kind: str, sent: JsonValue) -> str:
    """Return the name of work that is a kind and an input, e.g. "translate#9f86…"; equal values
    have one, e.g. 1.0 and 1.
    """
    return f"{kind}#{sha256_of(canonical([kind, sent]))[:32]}"


def canonical(value: JsonValue) -> str:
    """Return a JSON text that equal values share, e.g. of 1 and 1.0: keys sorted as in RFC 8785.
    Only equality depends on it, so a library for its spelling of numbers would change no answer.
    """
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _plain(value: JsonValue) -> JsonValue:
    """Return a value whose whole numbers are integers: JSON knows one kind of number."""
    match value:
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list():
            return [_plain(item) for item in value]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value


def sha256_of(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def hash_of(work: str) -> str:
    """Return the key of a work's name: 32 hex digits."""
    return sha256_of(work)[:32]


def next_id(newest: str, now: datetime, suffix: str) -> str:
    """Return the id of a record after the newest one: lower than any before, whatever clocks say.

    15 hex digits of time and 4 of `suffix`, which keep apart what two fleets wrote at one moment.
    """
    micros = _LAST_MICROSECOND - int(now.timestamp() * 1_000_000)
    before = int(newest[:15], 16) - 1 if newest else micros
    return f"{min(micros, before):015x}{suffix}"


def plain_path(path: str) -> str:
    r"""Return a path as it is compared, e.g. ".\src\auth\" -> "src/auth"."""
    return posixpath.normpath(path.replace("\\", "/"))


def common_paths(mine: Sequence[str], theirs: Sequence[str]) -> tuple[str, ...]:
    """Return the paths of `theirs` that overlap `mine`: by prefix or glob, e.g. "src/**/a.py" and
    "src".
    """
    parts = [path.split("/") for path in mine]
    return tuple(
        path for path in theirs if any(paths_overlap(path.split("/"), own) for own in parts)
    )


def with_overtaken(board: Board, wanted: Claim, before: Iterable[Record]) -> Claim:
    """Return the claim with the claims that it overtakes: an expired one, and all that earlier
    claims and records of the work have overtaken.
    """
    holder = Holder(
        wanted.by, wanted.session or "", "" if wanted.session else wanted.claim_id or ""
    )
    key = hash_of(wanted.work)
    known = [each for it in before if it.work_hash == key for each in it.overtook or ()]
    if earlier := board.claims.get(key):
        own = Holding(claim_id=earlier.claim_id, by=earlier.by, session=earlier.session)
        known += [*(earlier.overtook or ()), own]
    others = {each.claim_id: each for each in known if not each.is_of(holder)}
    return replace(wanted, overtook=tuple(others.values())[-MAX_TAKEN_OVER:] or None)


class Settlement(NamedTuple):
    """What a record does to the board: whether it ends the claim on its work; who has overtaken its
    holder, if so; the holders that the record names as overtaken; and a warning.
    """

    ends_claim: bool = False
    taken_over_by: str = ""
    overtook: tuple[Holding, ...] | None = None
    warning: str = ""


def settlement(
    board: Board, key: str, holder: Holder, newest: Record | None, now: datetime
) -> Settlement:
    """Return what a record of a holder does; `newest` is the newest record of the same work."""
    claim = board.claims.get(key)
    if claim and claim.is_of(holder):
        return Settlement(ends_claim=True, overtook=claim.overtook)
    for later in (claim, newest):
        if later and any(each.is_of(holder) for each in later.overtook or ()):
            return Settlement(taken_over_by=later.by, overtook=later.overtook)
    inherited = newest.overtook if newest else None
    if claim and claim.until > now:
        how = "; send claimId if that is you" if claim.by == holder.by else ""
        warning = f"{claim.by} holds this work: this record stands beside that claim{how}"
        return Settlement(overtook=inherited, warning=warning)
    unknown = f"claim {holder.claim_id} is not known any more" if holder.claim_id else ""
    return Settlement(overtook=inherited, warning=unknown)


def flag_warnings(record: Record) -> Iterator[str]:
    """Yield a warning for each flag of a record that this one depends on."""
    for flag in (record.flags or {}).values():
        yield f"{record.record_id} is flagged by {flag.by}: {json.dumps(flag.reason)}"
    if record.withdrawn:
        yield f"{record.record_id} is withdrawn by {record.by}, who wrote it"


def best_first(records: Sequence[Record], query: str) -> list[Record]:
    """Return the records that have a word of the question, those with most of its words first."""
    asked = _words(query)
    found = [(len(asked & _words(_text(record))), record) for record in records]
    return [record for count, record in sorted(found, key=lambda it: -it[0]) if count]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(unicodedata.normalize("NFC", text).casefold()))


def _text(record: Record) -> str:
    decisions = [
        text for it in record.decisions or () for text in (it.chosen, it.why, *(it.rejected or ()))
    ]
    more = [record.kind, record.summary, record.next.text if record.next else None]
    lists = (record.tags or ()), (record.failed or ()), decisions
    return "\n".join([record.work, *filter(None, more), *chain(*lists)])


def united_board(here: DocumentFields, there: DocumentFields) -> DocumentFields:
    """Return the claims of both boards; of two on one work, that of the first board."""
    newest = min(filter(None, (here.get("newest"), there.get("newest"))), default="")
    return {
        **here,
        "claims": {**there.get("claims", {}), **here.get("claims", {})},
        "newest": newest,
    }


def united_record(here: DocumentFields, there: DocumentFields) -> DocumentFields:
    """Return a record with the flags of both."""
    flags = {**there.get("flags", {}), **here.get("flags", {})}
    withdrawn = {"withdrawn": True} if "withdrawn" in there else {}
    return {**withdrawn, **here, **({"flags": flags} if flags else {})}


def erased_board(fields: DocumentFields, erasure: Erasure) -> DocumentFields | None:
    """Return the board without claims of an erased program, and those whose words go: the key of a
    claim is a hash of its words.
    """
    after = fields_after(fields, erasure)
    if after is not None:
        claims = fields.get("claims", {})
        after["claims"] = {
            key: claim
            for key, claim in after.get("claims", {}).items()
            if claim["work"] == claims[key]["work"]
        }
    return after


def erased_record(fields: DocumentFields, erasure: Erasure) -> DocumentFields | None:
    """Return a record without erased words, their hashes, and the names of an erased program."""
    after = fields_after(fields, erasure)
    if after is None:
        return None
    if after != fields:
        key = hash_of(f"{after['work']} {after['recordId']}")
        after = {name: after[name] for name in after if name != "sha256"} | {"workHash": key}
    names = ("waitsFor", "takenOverBy")
    return {
        name: value
        for name, value in after.items()
        if not (name in names and erasure.is_program(value))
    }
