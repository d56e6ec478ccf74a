"""The journal's rules, pure: which ranges may be distilled, what is due, what a view shows.

Events have gap-free numbers (`seq`) from 1 to `Journal.head`. A distillate covers a closed range of
them; one inside no other is a root. The cover of a journal is its roots and, between and after
them, the events that none covers.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from operator import itemgetter
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypeAlias

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import JsonObject
from fleet_memory.rules.retrieval.budget import size
from fleet_memory.schemas.fields import Timestamp
from fleet_memory.schemas.value import Value

EventKind: TypeAlias = Literal["user", "assistant", "tool_call", "tool_result", "system", "note"]

MAX_PAGE_EVENTS: Final = 250  # events of a document; chosen: a view reads one or two
MAX_PAGE_BYTES: Final = 200_000  # of contents in a document that has some already; chosen
MAX_BATCH_BYTES: Final = 500_000  # of contents: a document of Firestore has 1 MiB. Chosen
PROTECTED_EVENTS: Final = 10  # the newest, which stay verbatim; a group has no longer gap. Chosen
MAX_SEGMENT_EVENTS: Final = 50  # to distil at once; chosen
MAX_SEGMENT_TOKENS: Final = 8_000  # the same; chosen
MAX_GAP: Final = timedelta(minutes=30)  # of silence within a segment; chosen
MERGED_ROOTS: Final = (4, 5)  # adjacent roots of one level that are distilled again; chosen
FREE_TOKENS: Final = 64  # a distillate may have so many whatever its source; chosen
MAX_KNOWN_APPENDS: Final = 64  # latest appends that a repetition is known of; chosen
VIEW_TOKENS: Final = 20_000  # the view that an agent is meant to carry; chosen
DUE_SHARE: Final = 0.6  # of it, above which distilling is due; chosen
SHOWN_TOKENS: Final = 500  # of one event in a view; `look_back` with its seq returns all
MAX_SNIPPET_CHARS: Final = 300  # of a hit; chosen
OMITTED_BYTES: Final = 110  # of the item that says what a view leaves out, with its longest numbers
PAGES_AT_ONCE: Final = 20  # documents of events that are read at once; chosen


def text_tokens(*texts: str) -> int:
    """Return bytes of UTF-8 / 4, rounded up, e.g. `text_tokens("héllo") == 2`."""
    return -(-sum(len(text.encode()) for text in texts) // 4)


class Range(NamedTuple):
    """A closed range of seqs, e.g. `Range(1, 50)`."""

    start: int
    end: int

    @property
    def seqs(self) -> range:
        """Its seqs, in order."""
        return range(self.start, self.end + 1)

    def contains(self, other: "Range") -> bool:
        """Whether every seq of `other` is in this range."""
        return self.start <= other.start and other.end <= self.end


class Event(Value):
    """One message as it was appended; `group_id` joins a tool call and its results."""

    seq: int
    kind: EventKind
    content: str
    at: Timestamp
    occurred_at: Timestamp | None = None
    session_id: str | None = None
    group_id: str | None = None

    @property
    def tokens(self) -> int:
        """The tokens of its content."""
        return text_tokens(self.content)

    @property
    def said_at(self) -> datetime:
        """When it happened, as its agent says, else when it was appended."""
        return self.occurred_at or self.at


def snippet(text: str, words: Sequence[str]) -> str:
    """Return the part of a text around the first of some words, e.g. "… the port is 8123"."""
    lowered = text.lower()
    places = [at for word in words if (at := lowered.find(word)) >= 0]
    start = max(0, min(places, default=0) - MAX_SNIPPET_CHARS // 3)
    part = text[start : start + MAX_SNIPPET_CHARS]
    return f"{'…' if start else ''}{part}{'…' if start + len(part) < len(text) else ''}"


class EventPage(Value):
    """One of the documents of events: the first seq in it, the bytes and tokens of all contents."""

    start: int
    bytes: int = 0
    tokens: int = 0


class Root(Value):
    """A distillate by its range, level and tokens; `raw` are those of the events that it covers."""

    start_seq: int
    end_seq: int
    level: int = 0
    tokens: int = 0
    raw: int = 0

    @property
    def range(self) -> Range:
        """Its seqs."""
        return Range(self.start_seq, self.end_seq)

    @property
    def id(self) -> str:
        """Its id, e.g. "d1-50": no two distillates have one range."""
        return f"d{self.start_seq}-{self.end_seq}"


class Distillate(Root):
    """A narrative and facts in place of a range of events; `children` are the roots it took in."""

    narrative: str = ""
    facts: tuple[str, ...] = ()
    at: Timestamp
    source_tokens: int = 0
    children: tuple[Root, ...] = ()

    @property
    def text(self) -> str:
        """All its words."""
        return "\n".join([self.narrative, *self.facts])


class Journal(Value):
    """A program's journal without its events: its random `id` names its documents, `revision`
    counts distillates, `requests` has the first and last seqs of the latest requests.
    """

    program_id: str
    id: str
    head: int = 0
    revision: int = 0
    pages: tuple[EventPage, ...] = ()
    roots: tuple[Root, ...] = ()
    requests: Mapping[str, Range] = field(default_factory=dict)

    @property
    def raw_tokens(self) -> int:
        """The tokens of all events."""
        return sum(page.tokens for page in self.pages)

    @property
    def cover_tokens(self) -> int:
        """The tokens of the cover: roots and uncovered events."""
        return self.raw_tokens - sum(root.raw - root.tokens for root in self.roots)

    @property
    def whole(self) -> Range:
        """All its seqs."""
        return Range(1, self.head)

    @property
    def last_free(self) -> int:
        """The newest seq that may be distilled."""
        return self.head - PROTECTED_EVENTS

    def page_of(self, seq: int) -> int:
        """Return the number of the document that holds an event."""
        return bisect_right(self.pages, seq, key=lambda page: page.start) - 1

    def root_over(self, seq: int) -> Root | None:
        """Return the root that covers an event, or None."""
        return next((root for root in self.roots if seq in root.range.seqs), None)


class UnreadError(Exception):
    """A rule needs documents that were not read: of events by number, distillates by id."""

    def __init__(self, pages: Sequence[int], distillates: Sequence[str]) -> None:
        super().__init__(pages, distillates)
        self.pages = pages[:PAGES_AT_ONCE]
        self.distillates = distillates[-PAGES_AT_ONCE:]


class Past(NamedTuple):
    """The documents read of a journal; each method raises UnreadError if it needs more."""

    journal: Journal
    events: Mapping[int, Event] = MappingProxyType({})
    distillates: Mapping[str, Distillate] = MappingProxyType({})

    def within(self, *ranges: Range) -> list[Event]:
        """Return the events in these ranges."""
        seqs = [seq for each in ranges for seq in each.seqs]
        if unread := {self.journal.page_of(seq) for seq in seqs if seq not in self.events}:
            raise UnreadError(sorted(unread), ())
        return [self.events[seq] for seq in seqs]

    def made(self, root: Root, *others: Root) -> Distillate:
        """Return the distillate of a root; `others` are read with it."""
        if root.id not in self.distillates:
            ids = [each.id for each in (*others, root) if each.id not in self.distillates]
            raise UnreadError((), ids)
        return self.distillates[root.id]


# Appending


def appended(
    journal: Journal, events: Sequence[Event], request: str = ""
) -> tuple[Journal, list[Event]]:
    """Return the journal after a batch, and its events with their seqs: all go into the last
    document, or into a new one where that is full. `request` names the batch; "" for no name.
    """
    added = [replace(event, seq=seq) for seq, event in enumerate(events, start=journal.head + 1)]
    bytes_ = sum(len(event.content.encode()) for event in added)
    *before, last = journal.pages or (EventPage(start=1),)
    is_long = journal.head - last.start + 1 + len(added) > MAX_PAGE_EVENTS
    if journal.head and (is_long or last.bytes + bytes_ > MAX_PAGE_BYTES):
        before, last = [*before, last], EventPage(start=journal.head + 1)
    tokens = last.tokens + sum(event.tokens for event in added)
    grown = replace(last, bytes=last.bytes + bytes_, tokens=tokens)
    seqs = Range(added[0].seq, added[-1].seq)
    latest = sorted({**journal.requests, request: seqs}.items(), key=itemgetter(1))
    requests = {name: each for name, each in latest[-MAX_KNOWN_APPENDS:] if name}
    pages = (*before, grown)
    return replace(journal, head=seqs.end, pages=pages, requests=requests), added


# The cover, and what a view shows of it


def cover(roots: Iterable[Root], within: Range) -> list[Root | Range]:
    """Return roots and the uncovered ranges between and around them, the oldest first, e.g.
    `cover([d1-5], Range(1, 9)) == [d1-5, Range(6, 9)]`.
    """
    parts, seq = list[Root | Range](), within.start
    for root in roots:
        if seq < root.start_seq:
            parts.append(Range(seq, root.start_seq - 1))
        parts.append(root)
        seq = root.end_seq + 1
    return [*parts, Range(seq, within.end)] if seq <= within.end else parts


class Item(NamedTuple):
    """A part of an answer: the first seq that it stands for, itself as it is sent, and the
    distillate that can be opened in its place.
    """

    start: int
    wire: JsonObject
    distillate: Distillate | None = None

    @property
    def bytes(self) -> int:
        """Its bytes in a list."""
        return size(self.wire) + 1


def event_item(event: Event, max_tokens: int = SHOWN_TOKENS) -> Item:
    """Return an event as answers show it, cut if it has more tokens."""
    wire = event.wire()
    if event.tokens > max_tokens:
        wire["content"] = event.content.encode()[: max_tokens * 4].decode("utf-8", "ignore")
        wire["ofTokens"] = event.tokens
    return Item(event.seq, wire)


def distillate_item(distillate: Distillate) -> Item:
    """Return a distillate as answers show it."""
    shown = ("startSeq", "endSeq", "level", "narrative", "facts")
    fields = {name: value for name, value in distillate.wire().items() if name in shown and value}
    return Item(distillate.start_seq, {"distillateId": distillate.id, **fields}, distillate)


def newest_first(past: Past, roots: Sequence[Root], within: Range) -> Iterator[Item]:
    """Yield the items of a cover."""
    for part in reversed(cover(roots, within)):
        if isinstance(part, Root):
            yield distillate_item(past.made(part, *roots))
        else:
            for seq in reversed(part.seqs):
                yield event_item(past.within(Range(seq, seq))[0])


def inside(past: Past, distillate: Distillate) -> list[Item]:
    """Return the children and events that a distillate stands for, the oldest first."""
    return [*newest_first(past, distillate.children, distillate.range)][::-1]


def view(past: Past, max_bytes: int) -> list[Item]:
    """Return the view, the oldest first: the newest items of the cover that fit, and where all do,
    its newest distillates opened one after the other as far as they fit.

    The first that does not fit ends it, so that more bytes never show less. What the old end lacks
    is one item `omitted`.
    """
    journal, shown, room = past.journal, list[Item](), max_bytes - OMITTED_BYTES
    for item in newest_first(past, journal.roots, journal.whole):
        if item.bytes > room:
            break
        shown.insert(0, item)
        room -= item.bytes
    first = shown[0].start if shown else journal.head + 1
    if first > 1:
        return [_omitted(past, first - 1), *shown]
    while opening := next((item for item in reversed(shown) if item.distillate), None):
        parts = inside(past, opening.distillate) if opening.distillate else []
        more = sum(part.bytes for part in parts) - opening.bytes
        if more > room:
            break
        at = shown.index(opening)
        shown[at : at + 1] = parts
        room -= more
    return shown


def _omitted(past: Past, last: int) -> Item:
    """Return the item for the seqs that a view leaves out, up to `last`."""
    *whole, page = past.journal.pages[: past.journal.page_of(last) + 1]
    tokens = sum(each.tokens for each in whole)
    tokens += sum(event.tokens for event in past.within(Range(page.start, last)))
    return Item(1, {"omitted": {"startSeq": 1, "endSeq": last, "events": last, "tokens": tokens}})


# What is due


GUIDANCE: Final = (
    "Keep decisions with their reasons, names, numbers, exact commands, open ends and how the user "
    "wants work done; drop greetings, tool noise and dead ends that taught nothing. Then "
    "journal_distill with this range."
)


class Segment(Value):
    """What to distil next, and how: a range, its parts, the level and most tokens of its
    distillate.
    """

    start_seq: int
    end_seq: int
    level: int
    max_tokens: int
    guidance: str = GUIDANCE
    content: tuple[JsonObject, ...]


def is_due(journal: Journal) -> bool:
    """Whether the cover has outgrown its share of the view, and something can be distilled."""
    can_distil = bool(_oldest_stretch(journal) or _oldest_equals(journal))
    return journal.cover_tokens > DUE_SHARE * VIEW_TOKENS and can_distil


def _oldest_stretch(journal: Journal) -> Range | None:
    """Return the oldest uncovered range, without the protected events."""
    for part in cover(journal.roots, journal.whole):
        if isinstance(part, Range) and part.start <= journal.last_free:
            return Range(part.start, min(part.end, journal.last_free))
    return None


def _oldest_equals(journal: Journal) -> list[Root]:
    """Return the oldest 4 or 5 adjacent roots of the lowest level that has so many; [] for none."""
    runs: list[list[Root]] = []
    for root in journal.roots:
        last = runs[-1] if runs else []
        ends = [(it.level, it.end_seq + 1) for it in last[-1:]]
        if (root.level, root.start_seq) not in ends or len(last) == MERGED_ROOTS[1]:
            runs.append([])
        runs[-1].append(root)
    long = [run for run in runs if len(run) >= MERGED_ROOTS[0]]
    return min(long, key=lambda run: run[0].level, default=[])


def segment(past: Past, max_tokens: int = MAX_SEGMENT_TOKENS) -> Segment | None:
    """Return what is to be distilled next: the oldest run of uncovered events up to a change of
    session, a silence, 50 events or so many tokens, never inside a group; else 4 or 5 adjacent
    roots.
    """
    run = _oldest_run(past, min(max_tokens, MAX_SEGMENT_TOKENS))
    if run:
        events, level = past.within(run), 1
        source, items = sum(event.tokens for event in events), [*map(event_item, events)]
    elif roots := _oldest_equals(past.journal):
        run, level = Range(roots[0].start_seq, roots[-1].end_seq), roots[0].level + 1
        items = [distillate_item(past.made(root, *roots)) for root in roots]
        source = sum(root.tokens for root in roots)
    else:
        return None
    return Segment(
        start_seq=run.start,
        end_seq=run.end,
        level=level,
        max_tokens=max_tokens_for(source),
        content=tuple(item.wire for item in items),
    )


def _oldest_run(past: Past, max_tokens: int) -> Range | None:
    """Return the oldest run of events to distil; None for none that cuts no group."""
    if (stretch := _oldest_stretch(past.journal)) is None:
        return None
    most = Range(stretch.start, min(stretch.end, stretch.start + MAX_SEGMENT_EVENTS - 1))
    longest = _end_of_run(past.within(most), max_tokens)
    end = first_whole(past, longest, -1)
    if end < stretch.start:  # one group, longer than a segment
        end = first_whole(past, longest, 1)
    return Range(stretch.start, end) if end <= stretch.end else None


def _end_of_run(events: Sequence[Event], max_tokens: int) -> int:
    """Return the last seq before a change of session, a silence or too many tokens; the first one
    at least.
    """
    tokens = events[0].tokens
    for before, event in pairwise(events):
        tokens += event.tokens
        is_other = event.session_id != before.session_id
        if is_other or event.said_at - before.said_at > MAX_GAP or tokens > max_tokens:
            return before.seq
    return events[-1].seq


# Admitting a distillate


def first_whole(past: Past, seq: int, step: Literal[1, -1]) -> int:
    """Return the first seq from `seq` on, up or down, after which a range may end or another begin:
    no root has events before and after it, and no group has among the 10 events on either side.

    Only events that are there once the place is 10 events old decide, so that what is whole stays
    so.
    """
    journal = past.journal
    edges = {0, *(place for root in journal.roots for place in (root.start_seq - 1, root.end_seq))}
    while seq not in edges:
        if root := journal.root_over(seq):
            return root.end_seq if step > 0 else root.start_seq - 1
        before = past.within(Range(max(1, seq + 1 - PROTECTED_EVENTS), seq))
        after = past.within(Range(seq + 1, min(journal.head, seq + PROTECTED_EVENTS)))
        if not {it.group_id for it in before} & {it.group_id for it in after} - {None}:
            break
        seq += step
    return seq


def max_tokens_for(source: int) -> int:
    """Return the most tokens of a distillate for a range of this many tokens."""
    return max(FREE_TOKENS, source // 2)


def admitted_distillate(
    past: Past, wanted: Range, narrative: str, facts: tuple[str, ...], now: datetime
) -> Distillate:
    """Return the distillate of a range.

    Raises InvalidArgumentError, whose message begins with the field and names the reason: `empty`,
    `out_of_range`, `recent_protected`, `overlap` or `not_smaller`, with the numbers that mend the
    call.
    """
    journal, last = past.journal, past.journal.last_free
    if not narrative and not facts:
        raise InvalidArgumentError("narrative: empty; send a narrative, facts or both")
    if not 1 <= wanted.start <= wanted.end <= journal.head:
        raise InvalidArgumentError(
            f"startSeq: out_of_range; the journal has events 1 to {journal.head}, and a range "
            "begins with its smaller number"
        )
    if wanted.end > last:
        raise InvalidArgumentError(
            f"endSeq: recent_protected{{lastAllowedSeq: {max(last, 0)}}}; the newest "
            f"{PROTECTED_EVENTS} events stay as they are"
        )
    wider = Range(first_whole(past, wanted.start - 1, -1) + 1, first_whole(past, wanted.end, 1))
    cut = [
        root
        for root in journal.roots
        if root.range.contains(wanted)
        or (wider.contains(root.range) and not wanted.contains(root.range))
    ]
    if cut or wider != wanted:
        is_inside = any(root.range.contains(wanted) for root in cut)
        mend = f", widenTo: [{wider.start}, {wider.end}]"
        raise InvalidArgumentError(
            f"startSeq: overlap{{with: {', '.join(root.id for root in cut) or 'a group'}"
            f"{'' if is_inside or wider.end > last else mend}}}; a range has roots and groups of "
            "tool calls whole or not at all"
        )
    roots = tuple(root for root in journal.roots if wanted.contains(root.range))
    free = [part for part in cover(roots, wanted) if isinstance(part, Range)]
    raw = sum(event.tokens for event in past.within(*free))
    source = raw + sum(root.tokens for root in roots)
    tokens, most = text_tokens(narrative, *facts), max_tokens_for(source)
    if tokens > most:
        raise InvalidArgumentError(
            f"narrative: not_smaller{{tokens: {tokens}, maxTokens: {most}}}; with its facts it may "
            "have half of the tokens of what it stands for"
        )
    return Distillate(
        start_seq=wanted.start,
        end_seq=wanted.end,
        level=1 + max((root.level for root in roots), default=0),
        tokens=tokens,
        raw=raw + sum(root.raw for root in roots),
        narrative=narrative,
        facts=facts,
        at=now,
        source_tokens=source,
        children=roots,
    )


def with_distillate(journal: Journal, distillate: Distillate) -> Journal:
    """Return the journal with a distillate as a root in place of the roots that it covers."""
    others = [root for root in journal.roots if not distillate.range.contains(root.range)]
    root = Root.from_fields(distillate.wire())
    roots = sorted((*others, root), key=lambda each: each.start_seq)
    return replace(journal, roots=tuple(roots), revision=journal.revision + 1)
