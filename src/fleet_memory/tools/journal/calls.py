"""The three tools of the journal: append, distil, look back."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import accumulate
from typing import Annotated, Final, NamedTuple, TypeAlias

from anyio import to_thread
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from fleet_memory.errors import InvalidArgumentError, RacesLostError, UnknownNameError
from fleet_memory.fleet import Fleet, JsonObject
from fleet_memory.jobs.auditing import allow_read
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.rules.retrieval.budget import DEFAULT_TOKENS, size, tokens
from fleet_memory.rules.text.credentials import masked
from fleet_memory.schemas.fields import EvidenceText, Name, NoteText, QueryText, Timestamp
from fleet_memory.schemas.value import Input, Value
from fleet_memory.tools.journal.documents import Journals
from fleet_memory.tools.journal.rules import (
    MAX_BATCH_BYTES,
    Event,
    EventKind,
    Item,
    Journal,
    Range,
    Root,
    Segment,
    admitted_distillate,
    appended,
    distillate_item,
    event_item,
    inside,
    is_due,
    segment,
    snippet,
    view,
    with_distillate,
)
from fleet_memory.tools.journal.search import (
    MAX_UNINDEXED_EVENTS,
    WORD,
    found_in,
)
from fleet_memory.tools.shared import AnyProgram, MaxTokens, OwnProgram, RequestId

MAX_CONTENT_BYTES: Final = 65_536
MAX_BATCH: Final = 200
MAX_FACTS: Final = 50
MESSAGES: Final = Field(min_length=1, max_length=MAX_BATCH, description="The oldest first")
MAX_BESIDE: Final = 50  # events before and after one that is looked back at
MAX_LOOKED_HITS: Final = 200  # of which those in a span of time are shown; chosen
NEVER_DISTILLED: Final = "Distil what is left out: look_back with due."
ONLY_NEWEST: Final = "Only the newest 5,000 events and the roots were searched."


def _whole_text(text: str) -> str:
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise PydanticCustomError("whole", "must hold no NUL and no half characters")
    return text


EventContent: TypeAlias = Annotated[str, Field(strict=True), AfterValidator(_whole_text)]
Seq: TypeAlias = Annotated[int, Field(strict=True, ge=1, description="Of an event")]
Beside: TypeAlias = Annotated[
    int, Field(strict=True, ge=0, le=MAX_BESIDE, description="So many beside seq")
]
When: TypeAlias = Annotated[Timestamp | None, Field(description="When it was said")]
Hits: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=100, description="Most hits")]


class NewEvent(Input):
    """One message, as it was."""

    kind: Annotated[EventKind, Field(description="Who said it, or what it is")]
    content: Annotated[EventContent, Field(description="Up to 64 KiB; secrets are masked")]
    group_id: Annotated[Name | None, Field(description="Joins a tool call and its results")] = None
    occurred_at: When = None


class JournalState(Value):
    """The journal after a call. `due`: distil, as look_back with due says. `masked` names the rules
    that found credentials; of a `duplicate` nothing was written.
    """

    head: int
    view_tokens: int
    due: bool
    revision: int
    masked: tuple[str, ...] | None = None
    duplicate: bool | None = None


class AppendAnswer(JournalState):
    """The seqs of the appended events."""

    first_seq: int
    last_seq: int


class DistilAnswer(JournalState):
    """A distillate that stands for a range of events now; they are one call away."""

    distillate_id: str
    level: int
    start_seq: int
    end_seq: int
    tokens: int
    source_tokens: int


def _state(journal: Journal, rules: Sequence[str], *, is_known: bool) -> JournalState:
    return JournalState(
        head=journal.head,
        view_tokens=journal.cover_tokens,
        due=is_due(journal),
        revision=journal.revision,
        masked=tuple(rules) or None,
        duplicate=is_known or None,
    )


async def journal_append(
    fleet: Fleet,
    program_id: OwnProgram,
    events: Annotated[tuple[NewEvent, ...], MESSAGES],
    session_id: Annotated[Name | None, Field(description="Of all these events")] = None,
    request_id: RequestId = None,
) -> AppendAnswer:
    """When messages were exchanged: append them, whole and in order. All of a call or none.

    An answer with `due`: true asks you to distil your oldest events: look_back with due.
    """
    fleet.caller.require_write(program_id)
    now, journals, bytes_ = fleet.now(), Journals(fleet), 0
    for index, sent in enumerate(events):
        if (actual := len(sent.content.encode())) > MAX_CONTENT_BYTES:
            raise InvalidArgumentError(
                f"events.{index}.content: content_too_large{{limit: {MAX_CONTENT_BYTES}, actual: "
                f"{actual}, index: {index}}}; nothing was written. Send it in parts, or its "
                "beginning and where it is kept"
            )
        if (bytes_ := bytes_ + actual) > MAX_BATCH_BYTES:
            raise InvalidArgumentError(
                f"events: content_too_large{{limit: {MAX_BATCH_BYTES}, actual: {bytes_}, index: "
                f"{index}}} in one call; nothing was written. Send the first {index}, then the rest"
            )
    # in a thread: long texts take a while
    contents, rules = await to_thread.run_sync(masked, *(event.content for event in events))
    new = [
        Event(
            seq=0,
            kind=sent.kind,
            content=content,
            at=now,
            occurred_at=sent.occurred_at,
            session_id=session_id or fleet.caller.session_id,
            group_id=sent.group_id,
        )
        for sent, content in zip(events, contents, strict=True)
    ]
    key = hashlib.sha256(request_id.encode()).hexdigest()[:16] if request_id else ""

    async def attempt() -> AppendAnswer:
        known = await journals.read(program_id)
        journal, seqs = known.journal, known.journal.requests.get(key)
        if seqs is None:
            journal, added = appended(journal, new, key)
            await journals.append(known, journal, added)
            seqs = Range(added[0].seq, added[-1].seq)
        state = _state(journal, rules, is_known=journal is known.journal)
        return AppendAnswer(first_seq=seqs.start, last_seq=seqs.end, **vars(state))

    return await retry_conflicts(attempt, f"{program_id}'s journal")


async def journal_distill(
    fleet: Fleet,
    program_id: OwnProgram,
    start_seq: Seq,
    end_seq: Seq,
    narrative: Annotated[EvidenceText, Field(description="What happened, and why")] = "",
    facts: Annotated[
        tuple[NoteText, ...], Field(max_length=MAX_FACTS, description="What must not be lost")
    ] = (),
    if_revision: Annotated[
        int | None, Field(strict=True, ge=0, description="From look_back; refused if it has moved")
    ] = None,
) -> DistilAnswer:
    """When your journal is due: put a short narrative and facts in place of a range of events, at
    most half as long. The events stay, one look_back away.
    """
    fleet.caller.require_write(program_id)
    journals, now = Journals(fleet), fleet.now()
    wanted = Root(start_seq=start_seq, end_seq=end_seq)
    (told, *kept), rules = await to_thread.run_sync(masked, narrative, *facts)

    async def attempt() -> DistilAnswer:
        known = await journals.read(program_id)
        journal = known.journal
        made = (await journals.distillates(journal, [wanted.id])).get(wanted.id)
        is_repeated = made is not None and [made.narrative, *made.facts] == [told, *kept]
        if made is None or not is_repeated:
            if if_revision not in (None, journal.revision):
                raise RacesLostError(  # not to be tried again: others decided
                    f"conflict{{current: {journal.revision}}}: the journal was distilled since; "
                    "nothing was written. Call look_back with due, and distil what it says."
                )
            made = await journals.resolved(
                journal,
                lambda past: admitted_distillate(past, wanted.range, told, tuple(kept), now),
            )
            journal = with_distillate(journal, made)
            await journals.distil(known, journal, made)
        return DistilAnswer(
            distillate_id=made.id,
            level=made.level,
            start_seq=start_seq,
            end_seq=end_seq,
            tokens=made.tokens,
            source_tokens=made.source_tokens,
            **vars(_state(journal, rules, is_known=is_repeated)),
        )

    return await retry_conflicts(attempt, f"{program_id}'s journal")


class LookBackAnswer(Value):
    """A part of a journal: events, distillates and what a view leaves out. `truncated`: more than
    fits, or than was looked through.
    """

    items: tuple[JsonObject, ...] | None = None
    hits: tuple[JsonObject, ...] | None = None
    segment: Segment | None = None
    covered_by: str | None = None
    tokens: int = 0
    truncated: bool | None = None
    note: str | None = None
    head: int
    due: bool
    revision: int


async def look_back(
    fleet: Fleet,
    program_id: AnyProgram,
    query: Annotated[QueryText | None, Field(description="Words to find in all your past")] = None,
    seq: Annotated[Seq | None, Field(description="An event, whole")] = None,
    before: Beside = 0,
    after: Beside = 0,
    distillate_id: Annotated[Name | None, Field(description="What it stands for")] = None,
    budget_tokens: MaxTokens = DEFAULT_TOKENS,
    due: Annotated[bool, Field(strict=True, description="The segment to distil")] = False,
    since: When = None,
    until: When = None,
    limit: Hits = 20,
) -> LookBackAnswer:
    """When you lost your context, or need what was said or decided: your whole past in a budget,
    old parts as distillates, the newest as it was.

    With query: where its words stand. With seq or distillateId: the originals.
    """
    sent = {"query": query, "seq": seq, "distillateId": distillate_id, "due": due or None}
    named = [name for name, value in sent.items() if value is not None]
    if len(named) > 1:
        raise InvalidArgumentError(f"{named[1]}: contradicts {named[0]}; send one of them")
    await allow_read(fleet, program_id, "look_back")
    journals = Journals(fleet)
    look = _Look(journals, (await journals.read(program_id)).journal, budget_tokens)
    if query is not None:
        return await look.hits(query, limit, since, until)
    if seq is not None:
        return await look.beside(seq, before, after)
    if distillate_id is not None:
        return await look.opened(distillate_id)
    return await (look.due() if due else look.view())


class _Look(NamedTuple):
    """One look at a journal within a budget of tokens."""

    journals: Journals
    journal: Journal
    budget: int

    @property
    def frame(self) -> LookBackAnswer:
        journal = self.journal
        return LookBackAnswer(
            tokens=self.budget, head=journal.head, due=is_due(journal), revision=journal.revision
        )

    def room(self, frame: LookBackAnswer) -> int:
        """Return the bytes that an answer has left for a list."""
        return self.budget * 4 - size({**replace(frame, truncated=True).wire(), "items": []})

    def fitting(
        self, wires: Sequence[JsonObject], frame: LookBackAnswer
    ) -> tuple[tuple[JsonObject, ...], LookBackAnswer]:
        """Return the longest beginning of a list that fits, and the answer with its numbers."""
        room = self.room(frame)
        fit = sum(used <= room for used in accumulate(size(wire) + 1 for wire in wires))
        is_cut = frame.truncated or fit < len(wires)
        shown = tuple(wires[:fit])
        return shown, replace(frame, tokens=tokens(shown), truncated=is_cut or None)

    def items(self, items: Iterable[Item], frame: LookBackAnswer | None = None) -> LookBackAnswer:
        """Return an answer with as many items as fit."""
        shown, answer = self.fitting([item.wire for item in items], frame or self.frame)
        return replace(answer, items=shown)

    async def view(self) -> LookBackAnswer:
        """Return the view."""
        frame = replace(self.frame, note=None if self.journal.roots else NEVER_DISTILLED)
        rule = partial(view, max_bytes=self.room(frame))
        items = await self.journals.resolved(self.journal, rule)
        return self.items(items, frame if items and "omitted" in items[0].wire else self.frame)

    async def due(self) -> LookBackAnswer:
        """Return the segment to distil, if one is due."""
        rule = partial(segment, max_tokens=self.budget // 2)
        run = await self.journals.resolved(self.journal, rule) if self.frame.due else None
        if run is None:
            return replace(self.frame, tokens=0)
        frame = replace(self.frame, segment=replace(run, content=()))
        shown, answer = self.fitting(run.content, frame)
        return replace(answer, segment=replace(run, content=shown))

    async def beside(self, seq: int, before: int, after: int) -> LookBackAnswer:
        """Return an event, its beginning where it has more than 3/4 of the budget, then those
        beside it, the nearest first.
        """
        journal = self.journal
        if not 1 <= seq <= journal.head:
            raise UnknownNameError(f"seq: the journal has events 1 to {journal.head}")
        wanted = Range(max(1, seq - before), min(journal.head, seq + after))
        read = await self.journals.resolved(journal, lambda past: past.within(wanted))
        event, *others = sorted(read, key=lambda each: abs(each.seq - seq))
        root = journal.root_over(seq)
        frame = replace(self.frame, covered_by=root.id if root else None)
        whole = event_item(event, self.budget * 3 // 4)
        return self.items([whole, *map(event_item, others)], frame)

    async def opened(self, distillate_id: str) -> LookBackAnswer:
        """Return the children and events that a distillate stands for, the oldest first."""
        read = await self.journals.distillates(self.journal, [distillate_id])
        if distillate_id not in read:
            close = ", ".join(it.id for it in self.journal.roots[-3:])
            raise UnknownNameError(
                f"distillateId: there is no {distillate_id!r}; the newest roots are "
                f"{close or 'none: nothing is distilled yet'}."
            )
        rule = partial(inside, distillate=read[distillate_id])
        return self.items(await self.journals.resolved(self.journal, rule))

    async def hits(
        self, query: str, limit: int, since: datetime | None, until: datetime | None
    ) -> LookBackAnswer:
        """Return where the words of a question stand, the best first, each with its text as it is
        now: erased ones are left out.
        """
        words, file, frame = WORD.findall(query.lower()), self.journals.fleet.scratch, self.frame
        if not words:
            raise InvalidArgumentError("query: has no word to search for; send some of its words")
        journal, most = self.journal, MAX_LOOKED_HITS if since or until else limit
        found = await found_in(self.journals, journal, file, words, most)
        if not file and journal.head > MAX_UNINDEXED_EVENTS:
            frame = replace(frame, note=ONLY_NEWEST, truncated=True)
        ids = [id_ for _, id_ in found if id_]
        distillates = await self.journals.distillates(journal, ids)
        # the file may have more than a store that was restored
        seqs = [seq for seq, id_ in found if not id_ and seq <= journal.head]
        of_events = [Range(seq, seq) for seq in seqs]
        read = await self.journals.resolved(journal, lambda past: past.within(*of_events))
        events, hits = dict(zip(seqs, read, strict=True)), list[JsonObject]()
        for seq, id_ in found:
            if made := distillates.get(id_):
                at, text, wire = made.at, made.text, distillate_item(replace(made, facts=())).wire
            elif event := None if id_ else events.get(seq):
                at, text, wire = event.said_at, event.content, event_item(event).wire
            else:
                continue
            wire["narrative" if made else "content"] = snippet(text, words)
            if (since or at) <= at <= (until or at):
                root = journal.root_over(seq)
                is_covered = root and root.id != id_
                hits.append({**wire, **({"coveredBy": root.id} if root and is_covered else {})})
        shown, answer = self.fitting(hits[:limit], frame)
        return replace(answer, hits=shown)
