"""Two stores as one: the verdicts of a pair, the grounds of an entry, its words and its text."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, NamedTuple

from fleet_memory.rules.entries import (
    MAX_PROVENANCE,
    independent_origins,
    is_contributor,
    keys_of,
    settled,
    testimony,
    under_policy,
    voting,
    with_all_words,
    with_bounded_vectors,
)
from fleet_memory.rules.pairs import ruling, with_judgement
from fleet_memory.rules.text.keys import pair_id, text_hash
from fleet_memory.schemas.knowledge import Basis, Contribution, Entry, LedgerEvent, LedgerLine
from fleet_memory.schemas.pairs import Judgement, Pair, Side
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Program


def merged_pair(mine: Pair, theirs: Pair) -> Pair:
    """Return the store's pair with the verdicts of the other too; the same object if it has them.

    A person's verdict is the last word. The next run applies a state that only both together have.
    A pair that has gone in the store stays so.
    """
    judgements = sorted({*mine.judgements, *theirs.judgements}, key=_moment)
    after = replace(
        mine,
        judgements=(),
        steering=mine.steering or theirs.steering,
        likely=mine.likely or theirs.likely,
        opened_at=min(mine.opened_at, theirs.opened_at),
    )
    for judgement in judgements:
        after = with_judgement(after, judgement)
    state = "gone" if mine.state == "gone" else ruling(after).state
    if after.judgements and set(after.judgements) == set(
        mine.judgements
    ):  # what the store made of them holds
        after, state = replace(after, judgements=mine.judgements), mine.state
    after = replace(after, state=state, by_person=after.by_person or mine.by_person)
    return mine if after == mine else after


def with_keys(pair: Pair, keys: Mapping[str, str]) -> Pair:
    """Return the pair with its entries under other keys."""

    def renamed(side: Side) -> Side:
        return (
            replace(side, key=keys[side.key]) if side.key is not None and side.key in keys else side
        )

    return (
        pair
        if not {pair.a.key, pair.b.key} & keys.keys()
        else replace(pair, a=renamed(pair.a), b=renamed(pair.b))
    )


def _moment(judgement: Judgement) -> tuple[datetime, str, str, str]:
    return judgement.at, judgement.program_id or "", judgement.verdict, judgement.compact()


class Grounds(NamedTuple):
    """Two stores' knowledge together: programs by id and pairs by id, both merged; those that are
    missing are unknown.

    `here` and `there` are the texts that each program was shown, by store.
    """

    programs: Mapping[str, Program] = {}
    pairs: Mapping[str, Pair] = {}
    here: Mapping[str, Mapping[str, datetime]] = {}
    there: Mapping[str, Mapping[str, datetime]] = {}


def pairs_behind(*copies: Entry) -> set[str]:
    """Return the ids of the pairs whose verdicts say whether each contribution belongs to a text of
    the copies.
    """
    texts = {text_hash(copy.value.pattern) for copy in copies}
    lines = [(text_hash(line.pattern), line.pair) for copy in copies for line in copy.provenance]
    apart = [(words, own, pair) for words in texts for own, pair in lines if words != own]
    return {id_ for words, own, pair in apart for id_ in (pair_id(words, own), pair) if id_}


def pairs_of_echoes(program: Program, entries: Mapping[str, Entry]) -> set[str]:
    """Return the ids of the pairs of the texts of entries and of the lessons in them that do not
    contribute.
    """
    members = [
        (pattern, entry)
        for pattern in program.patterns.values()
        if (entry := entries.get(pattern.knowledge_key or ""))
    ]
    return {
        pair_id(text_hash(entry.value.pattern), text_hash(_voting_text(pattern)))
        for pattern, entry in members
        if not is_contributor(entry, program.program_id, pattern.id)
    }


def with_grounds(after: Entry, mine: Entry | None, theirs: Entry | None, grounds: Grounds) -> Entry:
    """Return an entry without the contributions that must not vote; the same object if all may.

    One goes that a verdict parts from the entry's text; whose lesson is in another entry, in none,
    or has another text; and whose program was shown a text of the other store's copy before it
    stored its lesson. They join in the order of their first stores, so that the text of one that
    goes speaks against no other.
    """
    lines = [line for line in after.provenance if _belongs(line, after, grounds)]
    copies = [
        (copy, shown)
        for copy, shown in ((mine, grounds.here), (theirs, grounds.there))
        if copy is not None
    ]
    texts, echoes = {text_hash(after.value.pattern)}, list[Contribution]()
    for line in sorted(lines, key=_joining_order):
        own = text_hash(line.pattern)
        if _is_echo(line, {*texts, own}, copies, grounds):
            echoes.append(line)
        else:
            texts.add(own)
    lines = [line for line in lines if line not in echoes]
    return after if len(lines) == len(after.provenance) else replace(after, provenance=tuple(lines))


def with_memberships(
    program: Program, entries: Mapping[str, Entry], pairs: Mapping[str, Pair]
) -> Program:
    """Return a program whose lessons contribute where entries have their contributions; the same
    object if all do.

    A lesson that a verdict parts from its entry is in none; another that has no contribution there
    is its echo.
    """
    changed = {
        id_: after
        for id_, pattern in program.patterns.items()
        if (entry := entries.get(pattern.knowledge_key or ""))
        and (after := _member(program.program_id, pattern, entry, pairs)) is not pattern
    }
    return replace(program, patterns={**program.patterns, **changed}) if changed else program


def _member(program_id: str, lesson: Pattern, entry: Entry, pairs: Mapping[str, Pair]) -> Pattern:
    if is_contributor(entry, program_id, lesson.id):
        return lesson
    words, own = text_hash(entry.value.pattern), text_hash(_voting_text(lesson))
    if words != own and _parts(pairs.get(pair_id(words, own))):
        return replace(lesson, knowledge_key=None, echo=False, rewrite=None)
    return lesson if lesson.echo else replace(lesson, echo=True, rewrite=None)


def _belongs(line: Contribution, entry: Entry, grounds: Grounds) -> bool:
    words, own = text_hash(entry.value.pattern), text_hash(line.pattern)
    if words != own:
        ids = {
            pair_id(words, own),
            line.pair if line.basis not in ("text", "equal_words") else None,
        }
        if any(_parts(grounds.pairs.get(id_)) for id_ in ids if id_):
            return False
    program = grounds.programs.get(line.program_id)
    lesson = program.patterns.get(line.pattern_id) if program else None
    return lesson is None or (
        lesson.knowledge_key == entry.key and text_hash(_voting_text(lesson)) == own
    )


def _parts(pair: Pair | None) -> bool:
    """Whether the verdicts about a pair keep its texts apart: they are no longer the same."""
    if pair is None or pair.state in ("same", "gone"):
        return False
    return pair.state != "open" or bool(pair.judgements)


def _joining_order(line: Contribution) -> tuple[datetime, str, str]:
    return line.learnt_at, line.program_id, line.pattern_id


def _is_echo(
    line: Contribution,
    texts: set[str],
    copies: Sequence[tuple[Entry, Mapping[str, Mapping[str, datetime]]]],
    grounds: Grounds,
) -> bool:
    """Whether a program repeats a text that it was shown in the other store; its own store decided
    about its own.
    """
    program = grounds.programs.get(line.program_id)
    if program is None or not _was_shown(_first_stored(line, program), texts, program.shown):
        return False
    return not any(
        line.program_id == contribution.program_id
        and (line.pattern_id, line.pattern) == (contribution.pattern_id, contribution.pattern)
        and _was_shown(
            contribution.stored_at,
            _texts(copy.value.pattern, copy.provenance),
            shown.get(line.program_id, {}),
        )
        for copy, shown in copies
        for contribution in copy.provenance
    )


def _first_stored(line: Contribution, program: Program) -> datetime | None:
    """Return when a contribution's text was first stored: of two copies a merge gives the lesson
    the earlier moment.
    """
    lesson = program.patterns.get(line.pattern_id)
    if (
        lesson is None
        or line.stored_at is None
        or text_hash(lesson.pattern) != text_hash(line.pattern)
    ):
        return line.stored_at
    return min(line.stored_at, lesson.stored_at)


def _was_shown(stored: datetime | None, texts: set[str], shown: Mapping[str, datetime]) -> bool:
    return stored is not None and any(at < stored for text in texts if (at := shown.get(text)))


def _texts(text: str, lines: Sequence[Contribution]) -> set[str]:
    return {text_hash(text), *(text_hash(line.pattern) for line in lines)}


def _voting_text(lesson: Pattern) -> str:
    return lesson.rewrite.voting_text if lesson.rewrite else lesson.pattern


MAX_MERGED_PROVENANCE: Final = (
    2 * MAX_PROVENANCE
)  # contributions; chosen, two full entries and a document's room
_MAX_LINES: Final = 20  # ids of ledger lines that an entry names, as in `repositories.ledger`
_SUREST: Final[Sequence[Basis]] = ("text", "equal_words", "judged", "one_judge")
_CHOSEN: Final[frozenset[LedgerEvent]] = frozenset({"reworded", "seeded"})  # people chose a text
_DECISIONS: Final[frozenset[LedgerEvent]] = _CHOSEN | {"reinstated"}
_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_UNKNOWN: Final = Grounds()


def with_earned_standing(entry: Entry, policy: Policy, *, with_rules: bool) -> Entry:
    """Return an incoming entry with no more standing than its contributions give it under the
    store's policy.

    A rule that people set is an entry like others unless `with_rules`. An entry was published no
    earlier than the lessons of enough origins were stored, and never if they are too few.
    """
    entry = under_policy(entry, policy)
    if entry.tier == "constitutional":
        return entry if with_rules else replace(entry, tier="architectural", published_at=None)
    return replace(entry, published_at=_earned_publication(entry))


def _earned_publication(entry: Entry) -> datetime | None:
    lines = sorted(entry.provenance, key=lambda line: line.learnt_at)
    if entry.published_at is None or _origins(lines, entry) < entry.threshold:
        return None
    enough = next(
        count
        for count in range(1, len(lines) + 1)
        if _origins(lines[:count], entry) >= entry.threshold
    )
    return max(entry.published_at, lines[enough - 1].learnt_at)


def _origins(lines: Sequence[Contribution], entry: Entry) -> int:
    return independent_origins(map(testimony, lines), entry.origins)


class LedgeredEntry(NamedTuple):
    """An entry, and those lines of the ledger that it names and that are there, by their ids."""

    entry: Entry
    lines: Mapping[str, LedgerLine] = {}


def without_decisions(copy: LedgeredEntry) -> LedgeredEntry:
    """Return a copy without the lines in which its people reworded or reinstated it; a rule as it
    is.
    """
    if copy.entry.tier == "constitutional":
        return copy
    lines = {id_: line for id_, line in copy.lines.items() if line.event not in _DECISIONS}
    ledger = tuple(id_ for id_ in copy.entry.ledger if id_ in lines or id_ not in copy.lines)
    return LedgeredEntry(replace(copy.entry, ledger=ledger), lines)


class PlacedEntry(NamedTuple):
    """An incoming entry under the key that it has in the store, and the store's entry that it
    joins, None for none.

    `divergent`: the store has another text under its key.
    """

    entry: Entry
    joins: Entry | None = None
    divergent: bool = False


def placed(
    theirs: LedgeredEntry,
    known: Mapping[str, Entry],
    lines: Mapping[str, LedgerLine],
    *,
    decides: bool,
) -> PlacedEntry:
    """Return where an incoming entry goes among the store's entries by their keys.

    It joins the entry of its words and project; else the one of its key, if people reworded either
    or set both; else it is an entry of its own, under its second key where another text has the
    first. `lines` are those of the ledger that the store's entry of its key names. Unless the other
    people's choice of text `decides`, a later one is divergent.
    """
    entry = theirs.entry
    words, place = text_hash(entry.value.pattern), (entry.tier, entry.project_id)
    own = known.get(entry.key)
    if own is None or text_hash(own.value.pattern) != words:
        twins = [twin for twin in known.values() if text_hash(twin.value.pattern) == words]
        twin = next((twin for twin in twins if (twin.tier, twin.project_id) == place), None)
        if twin is not None:
            return PlacedEntry(replace(entry, key=twin.key), twin, divergent=own is not None)
    if own is None:
        return PlacedEntry(entry)
    if text_hash(own.value.pattern) == words:
        return PlacedEntry(entry, own)
    if own.tier == entry.tier == "constitutional":
        return PlacedEntry(entry, own, divergent=True)
    is_reworded = any(
        line.event == "reworded" for line in (*theirs.lines.values(), *lines.values())
    )
    if own.tier == entry.tier and is_reworded and _is_one_lineage(own, entry):
        is_later = _chosen_at(theirs.lines) > _chosen_at(lines)
        return PlacedEntry(entry, own, divergent=is_later and not decides)
    second = keys_of(entry)[1]
    return PlacedEntry(replace(entry, key=second), known.get(second), divergent=True)


def arrived_entry(entry: Entry, grounds: Grounds, policy: Policy, now: datetime) -> Entry:
    """Return an entry that is new to a store, with everything that follows from its contributions
    and words counted.
    """
    after = with_bounded_vectors(with_grounds(entry, None, entry, grounds))
    before = replace(
        after, version=entry.version - 1
    )  # another one, so that its figures are counted in any case
    return replace(settled(before, after, policy, now), since=0)


def checked_entry(entry: Entry, grounds: Grounds, policy: Policy, now: datetime) -> Entry:
    """Return an entry of the store that no incoming one joins; the same object unless `grounds`
    speak against it.
    """
    return settled(
        entry, with_bounded_vectors(with_grounds(entry, entry, None, grounds)), policy, now
    )


def merged_entry(
    mine: LedgeredEntry,
    theirs: LedgeredEntry,
    policy: Policy,
    now: datetime,
    *,
    overwrite: bool,
    grounds: Grounds = _UNKNOWN,
) -> Entry:
    """Return the store's entry with the contributions and words of the other; the same object if it
    has them.

    Contributions that the `grounds` speak against are left out.

    Decisions by people hold, the newest of them; else an entry that either store retired stays
    retired. It was published when it was published first, by the policy of then. Of two texts of
    one entry the one that people chose last stays, the other's if `overwrite`.
    """
    lines = [*mine.lines.values(), *theirs.lines.values()]
    own, other = mine.entry, theirs.entry
    cleared = max(
        (line.at for line in lines if line.event in ("reinstated", "reworded")), default=_NEVER
    )
    after = with_grounds(_united(mine, theirs, lines, overwrite=overwrite), own, other, grounds)
    after = _with_oldest(after, max(MAX_MERGED_PROVENANCE, len(own.provenance)))
    words = [
        word
        for word in (*other.words, *own.words)
        if word.outcome == "confirmed" or word.at > cleared
    ]
    after = with_all_words(after, words)
    if not voting(after):
        discovered = min(own.value.first_discovered, other.value.first_discovered)
        after = replace(after, value=replace(after.value, first_discovered=discovered))
    return settled(own, with_bounded_vectors(after), policy, now)


def _united(
    mine: LedgeredEntry, theirs: LedgeredEntry, lines: Sequence[LedgerLine], *, overwrite: bool
) -> Entry:
    """Return the store's entry with all contributions of both, the text to stay and the earlier
    publication.
    """
    own, other = mine.entry, theirs.entry
    texts = other if _has_text_to_stay(mine, theirs, overwrite=overwrite) else own
    first = min(
        (own, other), key=lambda entry: (entry.published_at is None, entry.published_at or _NEVER)
    )
    return replace(
        own,
        value=replace(own.value, pattern=texts.value.pattern),
        tier="constitutional" if "constitutional" in (own.tier, other.tier) else own.tier,
        description=texts.description if texts.tier == "constitutional" else own.description,
        vector=texts.vector,
        embedder=texts.embedder,
        provenance=_contributions(own, other),
        published_at=first.published_at,
        threshold=first.threshold,
        origins=first.origins,
        relearnt=max(own.relearnt, other.relearnt),
        last_confirmed=max(own.last_confirmed, other.last_confirmed),
        confirmations=max(own.confirmations, other.confirmations),
        retired_at=_retired_at(own, other, lines),
        ledger=_ledger(mine, theirs),
    )


def _is_one_lineage(one: Entry, other: Entry) -> bool:
    """Whether two entries of one key were one before people reworded it: a lesson is in both."""
    lessons = {(line.program_id, line.pattern_id) for line in one.provenance}
    return any((line.program_id, line.pattern_id) in lessons for line in other.provenance)


def _has_text_to_stay(mine: LedgeredEntry, theirs: LedgeredEntry, *, overwrite: bool) -> bool:
    """Whether the other copy's text stays: people chose it now, or later than the store's, or as a
    rule alone.
    """
    if mine.entry.tier != theirs.entry.tier:
        return theirs.entry.tier == "constitutional"
    return overwrite or _chosen_at(theirs.lines) > _chosen_at(mine.lines)


def _chosen_at(lines: Mapping[str, LedgerLine]) -> datetime:
    return max((line.at for line in lines.values() if line.event in _CHOSEN), default=_NEVER)


def _ledger(mine: LedgeredEntry, theirs: LedgeredEntry) -> tuple[str, ...]:
    """Return the ids of the newest lines of both."""
    known = {**theirs.lines, **mine.lines}

    def order(line_id: str) -> tuple[datetime, str]:
        return known[line_id].at if line_id in known else _NEVER, line_id

    newest = sorted({*mine.entry.ledger, *theirs.entry.ledger}, key=order)[-_MAX_LINES:]
    return mine.entry.ledger if set(newest) <= set(mine.entry.ledger) else tuple(newest)


def _contributions(mine: Entry, theirs: Entry) -> tuple[Contribution, ...]:
    """Return those of both: one for each lesson and its text."""
    lines = {_lesson(line): line for line in mine.provenance}
    for line in theirs.provenance:
        known = lines.get(_lesson(line))
        lines[_lesson(line)] = line if known is None else _merged_line(known, line)
    if tuple(lines.values()) == mine.provenance:
        return mine.provenance
    return tuple(sorted(lines.values(), key=_lesson))


def _with_oldest(entry: Entry, count: int) -> Entry:
    """Return the entry with that many of its contributions; after the grounds, so that the same
    ones stay each time.
    """
    oldest = sorted(entry.provenance, key=lambda line: (line.learnt_at, _lesson(line)))[:count]
    return (
        entry
        if len(oldest) == len(entry.provenance)
        else replace(entry, provenance=tuple(sorted(oldest, key=_lesson)))
    )


def _lesson(line: Contribution) -> tuple[str, str, str]:
    return line.program_id, line.pattern_id, line.pattern


def _merged_line(mine: Contribution, theirs: Contribution) -> Contribution:
    """Return the contribution of the store with the earlier first store and the surer basis of two
    copies.

    A first store that an older version did not record is the earliest.
    """
    stored = min(mine.stored_at, theirs.stored_at, key=lambda at: at or _NEVER)
    surer = min(mine, theirs, key=lambda line: _SUREST.index(line.basis))
    return replace(mine, stored_at=stored, basis=surer.basis, pair=surer.pair)


def _retired_at(mine: Entry, theirs: Entry, lines: Iterable[LedgerLine]) -> datetime | None:
    retired = [copy.retired_at for copy in (mine, theirs) if copy.retired_at is not None]
    back = max((line.at for line in lines if line.event == "reinstated"), default=_NEVER)
    return min((at for at in retired if at > back), default=None)
