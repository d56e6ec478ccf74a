"""The journal's rules on random histories, against what the notes of the journal say: whatever was
appended and distilled, every event is in exactly one item, ranges are nested or disjoint, and a
larger budget never shows less.
"""

import re
from datetime import timedelta
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.rules.retrieval.budget import size
from fleet_memory.tools.journal.rules import (
    Distillate,
    Event,
    Item,
    Journal,
    Past,
    Range,
    Segment,
    admitted_distillate,
    appended,
    is_due,
    segment,
    view,
    with_distillate,
)
from tests.fleets import NOW

EMPTY = Journal(program_id="basher", id="j1")


class Message(NamedTuple):
    """An event to append: its bytes, group, session and the minutes since the one before."""

    length: int
    group: str | None
    session: str
    minutes: int


class Step(NamedTuple):
    """Append some messages, then distil what is offered (`at` is None) or any range."""

    messages: list[Message]
    at: tuple[int, int] | None
    words: int


messages = st.builds(
    Message,
    st.sampled_from([0, 3, 40, 400, 3_000]),
    st.sampled_from([None, None, None, "g", "h"]),
    st.sampled_from(["s", "s", "s", "s", "t"]),
    st.sampled_from([0, 0, 0, 1, 29, 31, -40]),
)
steps = st.builds(
    Step,
    st.lists(messages, max_size=30),
    st.one_of(st.none(), st.tuples(st.integers(1, 150), st.integers(0, 60))),
    st.integers(0, 30),
)
histories = st.lists(steps, min_size=1, max_size=6)


def with_messages(past: Past, sent: list[Message]) -> Past:
    if not sent:
        return past
    at, events = max((it.at for it in past.events.values()), default=NOW), list[Event]()
    for each in sent:
        at += timedelta(minutes=each.minutes)
        text = "é" * (each.length // 2)
        events.append(
            Event(
                seq=0,
                kind="user",
                content=text,
                at=at,
                session_id=each.session,
                group_id=each.group,
            )
        )
    journal, added = appended(past.journal, events)
    return Past(journal, {**past.events, **{it.seq: it for it in added}}, past.distillates)


def with_root(past: Past, made: Distillate) -> Past:
    journal = with_distillate(past.journal, made)
    return Past(journal, past.events, {**past.distillates, made.id: made})


def told(words: int) -> str:
    return "w" * 4 * words or "w"


def refused(past: Past, wanted: Range, words: int = 1) -> str:
    with pytest.raises(InvalidArgumentError) as refusal:
        admitted_distillate(past, wanted, told(words), (), NOW)
    return str(refusal.value)


def lived(history: list[Step]) -> Past:
    """Return the journal after a history; ranges that are refused leave it as it is."""
    past = Past(EMPTY, {}, {})
    for step in history:
        past = with_messages(past, step.messages)
        offered = segment(past) if step.at is None else None
        wanted = (
            Range(offered.start_seq, offered.end_seq)
            if offered
            else Range(step.at[0], step.at[0] + step.at[1])
            if step.at
            else None
        )
        if wanted:
            try:
                past = with_root(past, admitted_distillate(past, wanted, told(step.words), (), NOW))
            except InvalidArgumentError:
                continue
    return past


def seqs_of(item: Item) -> list[int]:
    wire = item.wire
    if "kind" in wire:
        return [item.start]
    inner = wire.get("omitted", wire)
    assert isinstance(inner, dict)
    return [*range(int(str(inner["startSeq"])), int(str(inner["endSeq"])) + 1)]


def shown_seqs(items: list[Item]) -> set[int]:
    return {seq for it in items if "omitted" not in it.wire for seq in seqs_of(it)}


def verbatim(items: list[Item]) -> set[int]:
    return {it.start for it in items if "kind" in it.wire}


def cuts_group(past: Past, place: int) -> bool:
    """Whether a group has events on both sides of a place and at most 10 from it."""
    before = {it.group_id for it in past.events.values() if place - 10 < it.seq <= place}
    after = {it.group_id for it in past.events.values() if place < it.seq <= place + 10}
    return bool(before & after - {None})


@given(histories, st.integers(150, 60_000))
def test_every_event_is_in_exactly_one_item_in_order_and_within_the_budget(
    history: list[Step], most: int
) -> None:
    past = lived(history)
    items = view(past, most)
    seqs = [seq for item in items for seq in seqs_of(item)]
    assert seqs == [*range(1, past.journal.head + 1)]
    assert size([item.wire for item in items]) <= most
    assert view(past, most) == items
    omitted = [it.wire["omitted"] for it in items if "omitted" in it.wire]
    for each in omitted:
        assert isinstance(each, dict)
        last = int(str(each["endSeq"]))
        assert each["events"] == last
        assert each["tokens"] == sum(past.events[seq].tokens for seq in range(1, last + 1))
        assert items[0].wire == {"omitted": each}


@given(histories, st.integers(150, 40_000), st.integers(0, 20_000))
def test_a_larger_budget_never_shows_less(history: list[Step], most: int, more: int) -> None:
    past = lived(history)
    small, large = view(past, most), view(past, most + more)
    assert shown_seqs(small) <= shown_seqs(large)
    assert verbatim(small) <= verbatim(large)


@given(histories, st.integers(150, 60_000))
def test_the_newest_distillates_are_opened_first_and_none_while_some_are_omitted(
    history: list[Step], most: int
) -> None:
    past = lived(history)
    items = view(past, most)
    shown = {it.distillate.id for it in items if it.distillate}
    roots = [it for it in past.journal.roots if {*it.range.seqs} <= shown_seqs(items)]
    is_open = [root.id not in shown for root in roots]
    assert is_open == sorted(is_open)
    if any(is_open):
        assert "omitted" not in items[0].wire


@given(histories)
def test_ranges_are_nested_or_disjoint_and_roots_are_inside_no_other(history: list[Step]) -> None:
    past = lived(history)
    made = [*past.distillates.values()]
    for one in made:
        for other in made:
            a, b = {*one.range.seqs}, {*other.range.seqs}
            assert a <= b or b <= a or not a & b
        assert not cuts_group(past, one.start_seq - 1)
        assert not cuts_group(past, one.end_seq)
        inside = [it for it in made if it.id != one.id and one.range.contains(it.range)]
        assert one.level == 1 + max((it.level for it in inside), default=0)
        raw = sum(past.events[seq].tokens for seq in one.range.seqs)
        assert (one.raw, one.tokens <= max(64, one.source_tokens // 2)) == (raw, True)
    outer = [it for it in made if all(it is o or not o.range.contains(it.range) for o in made)]
    assert {it.id for it in past.journal.roots} == {it.id for it in outer}
    starts = [root.start_seq for root in past.journal.roots]
    assert (starts, past.journal.revision) == (sorted(starts), len(made))


@given(histories, st.integers(1, 150), st.integers(0, 60))
def test_what_a_refusal_widens_to_is_accepted(history: list[Step], start: int, more: int) -> None:
    past, wanted = lived(history), Range(start, start + more)
    try:
        made = admitted_distillate(past, wanted, "w", (), NOW)
    except InvalidArgumentError as refusal:
        message = str(refusal)
    else:
        assert made.range == wanted
        return
    roots = [it.range for it in past.journal.roots]
    if wanted.end > past.journal.head:
        assert "out_of_range" in message
    elif wanted.end > past.journal.head - 10:
        assert f"lastAllowedSeq: {max(past.journal.head - 10, 0)}}}" in message
    elif widened := re.search(r"widenTo: \[(\d+), (\d+)\]", message):
        wider = Range(int(widened[1]), int(widened[2]))
        assert wider.contains(wanted)
        assert wider != wanted
        assert admitted_distillate(past, wider, "w", (), NOW).range == wider
    elif not any(root.contains(wanted) for root in roots):
        # a group or a root reaches to events that stay as they are
        places = range(wanted.end, past.journal.head - 10)
        assert all(cuts_group(past, place) for place in places)


@given(histories, st.lists(messages, max_size=30), st.integers(100, 8_000))
def test_a_segment_that_was_offered_is_accepted_whatever_was_appended_since(
    history: list[Step], since: list[Message], most: int
) -> None:
    past = lived(history)
    offered = segment(past, most)
    if offered is None:
        return
    later = with_messages(past, since)
    wanted = Range(offered.start_seq, offered.end_seq)
    made = admitted_distillate(later, wanted, told(offered.max_tokens), (), NOW)
    assert (made.range, made.level, made.tokens) == (wanted, offered.level, offered.max_tokens)
    assert "not_smaller" in refused(later, wanted, offered.max_tokens + 1)


@given(histories, st.integers(100, 8_000))
def test_what_is_due_is_the_oldest_run_of_one_session_without_a_silence(
    history: list[Step], most: int
) -> None:
    past = lived(history)
    offered = segment(past, most)
    covered = {seq for root in past.journal.roots for seq in root.range.seqs}
    free = [seq for seq in range(1, past.journal.head - 9) if seq not in covered]
    if offered is None or offered.level > 1:
        assert not free or all(cuts_group(past, place) for place in _places(free))
        if offered:
            _require_equal_roots(past, offered)
        return
    seqs = [*range(offered.start_seq, offered.end_seq + 1)]
    assert seqs[0] == free[0]
    assert not covered & {*seqs}
    events = [past.events[seq] for seq in seqs]
    breaks = [
        before.seq
        for before, after in pairwise(events)
        if before.session_id != after.session_id or after.at - before.at > timedelta(minutes=30)
    ]
    tokens = [sum(it.tokens for it in events[: number + 1]) for number in range(len(events))]
    over = [
        place
        for place in seqs[:-1]
        if place in breaks or tokens[place - seqs[0]] > most or place - seqs[0] >= 49
    ]
    # only a group carries a segment beyond a place where it should end
    assert all(cuts_group(past, place) for place in over)


def _places(free: list[int]) -> list[int]:
    """Return the places where the oldest run may end."""
    ends = [seq for seq, after in pairwise([*free, 0]) if after != seq + 1]
    return [*range(free[0], ends[0] + 1)]


def _require_equal_roots(past: Past, offered: Segment) -> None:
    inside = [
        root
        for root in past.journal.roots
        if offered.start_seq <= root.start_seq <= offered.end_seq
    ]
    assert len(inside) in {4, 5}
    assert {root.level for root in inside} == {offered.level - 1}
    assert (inside[0].start_seq, inside[-1].end_seq) == (offered.start_seq, offered.end_seq)


@given(histories, st.lists(messages, min_size=1, max_size=200))
def test_seqs_have_no_gap_and_documents_their_bounds(
    history: list[Step], batch: list[Message]
) -> None:
    past = with_messages(lived(history), batch)
    journal = past.journal
    assert [*past.events] == [*range(1, journal.head + 1)]
    starts = [page.start for page in journal.pages]
    for page, after in zip(journal.pages, [*starts[1:], journal.head + 1], strict=True):
        events = [past.events[seq] for seq in range(page.start, after)]
        assert 0 < len(events) <= 250
        assert page.tokens == sum(it.tokens for it in events)
        assert page.bytes == sum(len(it.content.encode()) for it in events)
    covered = {seq for root in journal.roots for seq in root.range.seqs}
    free = sum(it.tokens for seq, it in past.events.items() if seq not in covered)
    assert journal.cover_tokens == free + sum(root.tokens for root in journal.roots)


def many(count: int, length: int = 400) -> Past:
    return with_messages(Past(EMPTY, {}, {}), [Message(length, None, "s", 0)] * count)


def test_distilling_as_asked_ends_with_a_gradient_that_is_not_due() -> None:
    past, calls = many(3_000), 0
    while is_due(past.journal) and (offered := segment(past)):
        wanted = Range(offered.start_seq, offered.end_seq)
        past = with_root(
            past, admitted_distillate(past, wanted, told(offered.max_tokens // 4), (), NOW)
        )
        calls += 1
    levels = [root.level for root in past.journal.roots]
    assert levels == sorted(levels, reverse=True)
    assert (is_due(past.journal), past.journal.cover_tokens < 12_000) == (False, True)
    whole = view(past, 80_000)
    assert "omitted" not in whole[0].wire
    assert calls < 100


def test_distillates_are_opened_newest_first_and_only_as_far_as_the_budget_goes() -> None:
    past = many(60)
    for start in (1, 11, 21, 31, 41):
        made = admitted_distillate(past, Range(start, start + 9), told(20), (), NOW)
        past = with_root(past, made)
    opened = list[int]()
    for most in range(6_000, 32_000, 500):
        items = view(past, most)
        assert size([it.wire for it in items]) <= most
        shown = [it.distillate.start_seq for it in items if it.distillate]
        assert shown == [1, 11, 21, 31, 41][: len(shown)]
        opened.append(5 - len(shown))
    assert opened == sorted(opened)
    assert {*opened} == {0, 1, 2, 3, 4, 5}


def test_a_group_longer_than_a_segment_is_one_segment() -> None:
    past = with_messages(Past(EMPTY, {}, {}), [Message(3, "g", "s", 0)] * 70)
    past = with_messages(past, [Message(3, None, "s", 0)] * 30)
    offered = segment(past)
    assert offered is not None
    assert (offered.start_seq, offered.end_seq) == (1, 70)
    assert "overlap{with: a group, widenTo: [1, 70]}" in refused(past, Range(1, 50))


def test_a_range_inside_a_root_has_nothing_to_widen_to() -> None:
    past = many(100)
    past = with_root(past, admitted_distillate(past, Range(1, 50), "w", (), NOW))
    for wanted in (Range(1, 50), Range(1, 20), Range(10, 20)):
        assert refused(past, wanted).startswith("startSeq: overlap{with: d1-50};")
    crossing = refused(past, Range(40, 60))
    assert crossing.startswith("startSeq: overlap{with: d1-50, widenTo: [1, 60]};")


def test_nothing_said_and_ranges_backwards_are_refused_with_numbers() -> None:
    past = many(100)
    with pytest.raises(InvalidArgumentError, match="narrative: empty"):
        admitted_distillate(past, Range(1, 50), "", (), NOW)
    assert "events 1 to 100" in refused(past, Range(9, 3))
    assert "events 1 to 100" in refused(past, Range(90, 101))
    assert "recent_protected{lastAllowedSeq: 90}" in refused(past, Range(80, 91))
    assert "not_smaller{tokens: 65, maxTokens: 64}" in refused(past, Range(1, 1), 65)


def test_the_latest_requests_are_known_and_the_oldest_forgotten() -> None:
    journal = EMPTY
    event = Event(seq=0, kind="note", content="x", at=NOW)
    for number in range(70):
        journal, _ = appended(journal, [event], f"{number * 3 % 70:02}")
    assert sorted(journal.requests.values()) == [Range(seq, seq) for seq in range(7, 71)]
