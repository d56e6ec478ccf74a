"""Entries, pairs and lines of the ledger after a purge."""

from collections.abc import Iterable
from dataclasses import replace

from fleet_memory.rules.erasing.targets import (
    ERASED,
    Erasure,
    Renamed,
    hashed_key,
    is_text_of,
    scrubbed,
)
from fleet_memory.rules.identity.tokens import words_after
from fleet_memory.rules.text.keys import is_key_of
from fleet_memory.schemas.knowledge import Contribution, Entry, LedgerLine, Word
from fleet_memory.schemas.pairs import Judgement, Pair, Side


def entry_fate(entry: Entry, erasure: Erasure) -> Renamed | None:
    """Return an entry's new key and text; None when both stay.

    If its text goes, the best remaining contribution's takes its place: the most confident, then
    the oldest, then by program id.
    """
    if entry.key == erasure.key:
        return Renamed(hashed_key(entry.key))
    left = [line for line in entry.provenance if not _goes(line, erasure)]
    gone = [line.pattern for line in entry.provenance if _goes(line, erasure)]
    if not _text_goes(entry, erasure):
        made_of_gone = _is_made_of(entry, gone) and not _is_made_of(
            entry, [line.pattern for line in left]
        )
        named = erasure.erases_name(entry.key) or made_of_gone
        return Renamed(hashed_key(entry.key), stays=True) if named else None
    if not left or entry.tier == "constitutional":
        return Renamed(hashed_key(entry.key))
    best = min(left, key=lambda line: (-line.confidence, line.learnt_at, line.program_id))
    return Renamed(hashed_key(entry.key), keeper=(best.program_id, best.pattern_id))


def entry_after(entry: Entry, erasure: Erasure) -> Entry | None:
    """Return an entry without its erased parts, to be settled: None if it goes, the same object
    when nothing does.
    """
    fate = erasure.entries.get(entry.key)
    if fate is not None and not fate.stays and fate.keeper is None:
        return None
    lines = tuple(
        _line_after(line, erasure) for line in entry.provenance if not _goes(line, erasure)
    )
    words = tuple(
        _word_after(word, erasure)
        for word in entry.words
        if not erasure.is_program(word.program_id)
    )
    names = tuple(name for name in entry.value.contributors if not erasure.is_program(name))
    value = (
        entry.value
        if names == entry.value.contributors
        else replace(entry.value, contributors=names)
    )
    after = replace(
        entry, value=value, provenance=lines, words=words, key=fate.key if fate else entry.key
    )
    if fate is not None and fate.keeper is not None:
        after = _with_text_of(after, next(line for line in lines if _is(line, fate.keeper)))
    if erasure.erases_name(after.value.domain):
        after = replace(after, value=replace(after.value, domain="erased"))
    if after.project_id is not None and erasure.erases_name(after.project_id):
        after = replace(after, project_id=None)
    return entry if after == entry else after


def goes_with_pair(pair: Pair, erasure: Erasure) -> bool:
    """Whether a text of a pair goes, and the pair, whose id is made of it, with it."""
    if pair.pair_id in erasure.pairs:
        return True
    return any(_side_goes(side, erasure) for side in (pair.a, pair.b))


def pair_after(pair: Pair, erasure: Erasure) -> Pair:
    """Return a pair of texts that stay without evidence and reasons that go; the same object for
    none.
    """
    after = replace(
        pair,
        a=_side_after(pair.a, erasure),
        b=_side_after(pair.b, erasure),
        objection=scrubbed(pair.objection, erasure),
        judgements=tuple(_judgement_after(judgement, erasure) for judgement in pair.judgements),
    )
    return pair if after == pair else after


def line_of_ledger_after(line: LedgerLine, erasure: Erasure) -> LedgerLine:
    """Return a line of the ledger without the names and the reason that go; the same object for
    none.
    """
    key = erasure.program_after(line.key) if line.event == "read" else line.key
    key = erasure.key_after(key)
    names = tuple(_lesson_name_after(name, erasure) for name in line.patterns)
    by_it = erasure.is_program(line.by) or line.key == erasure.key
    why = ERASED if line.why and (by_it or erasure.erases(line.why)) else line.why
    if line.event in ("token_created", "token_revoked"):
        why = words_after(why, erasure.program_after)
    after = replace(line, key=key, patterns=names, why=why, by=erasure.program_after(line.by))
    return line if after == line else after


def _lesson_name_after(name: str, erasure: Erasure) -> str:
    """Return "basher/erased-3f1c…" for "basher/push-token-ghp" if that lesson goes, or its id has
    an erased text.
    """
    program_id, slash, pattern_id = name.partition("/")
    return f"{erasure.program_after(program_id)}{slash}{erasure.name_after(program_id, pattern_id)}"


def _is_made_of(entry: Entry, texts: Iterable[str]) -> bool:
    return any(is_key_of(entry.key, entry.value.domain, text) for text in texts)


def _text_goes(entry: Entry, erasure: Erasure) -> bool:
    text = entry.value.pattern
    own = [line for line in entry.provenance if line.pattern == text]
    if erasure.erases(text):
        return True
    return bool(own) and all(_goes(line, erasure) for line in own)


def _goes(line: Contribution, erasure: Erasure) -> bool:
    return erasure.is_lesson_text(line.program_id, line.pattern_id, line.pattern)


def _is(line: Contribution, lesson: tuple[str, str]) -> bool:
    return (line.program_id, line.pattern_id) == lesson


def _with_text_of(entry: Entry, line: Contribution) -> Entry:
    """Return an entry of another text: that contribution is all it has, until others are judged the
    same again.
    """
    value = replace(
        entry.value, pattern=line.pattern, contributors=(line.program_id,), evidence_count=1
    )
    return replace(
        entry,
        value=value,
        provenance=(replace(line, basis="text", similarity=1.0, pair=None),),
        words=(),
        vector=line.vector,
        embedder=line.embedder if line.vector else "",
    )


def _line_after(line: Contribution, erasure: Erasure) -> Contribution:
    after = replace(
        line,
        pattern_id=erasure.name_after(line.program_id, line.pattern_id),
        evidence=scrubbed(line.evidence, erasure),
        pair=None if line.pair in erasure.pairs else line.pair,
        session_id=None
        if line.session_id and erasure.erases_name(line.session_id)
        else line.session_id,
        project_id=None
        if line.project_id and erasure.erases_name(line.project_id)
        else line.project_id,
    )
    return line if after == line else after


def _word_after(word: Word, erasure: Erasure) -> Word:
    return replace(word, evidence=ERASED) if erasure.erases(word.evidence) else word


def _side_goes(side: Side, erasure: Erasure) -> bool:
    if erasure.erases(side.text) or (side.key is not None and _is_replaced(side.key, erasure)):
        return True
    if side.key is not None:
        return False
    by_name = erasure.is_lesson_text(side.program_id, side.pattern_id, side.text)
    return by_name or is_text_of(erasure.words, side.text)


def _is_replaced(key: str, erasure: Erasure) -> bool:
    fate = erasure.entries.get(key)
    return key == erasure.key or (fate is not None and not fate.stays)


def _side_after(side: Side, erasure: Erasure) -> Side:
    after = replace(
        side,
        program_id=erasure.program_after(side.program_id),
        key=erasure.key_after(side.key) if side.key is not None else None,
        pattern_id=erasure.name_after(side.program_id, side.pattern_id) if side.pattern_id else "",
        evidence=scrubbed(side.evidence, erasure),
        domain="erased" if erasure.erases_name(side.domain) else side.domain,
    )
    return side if after == side else after


def _judgement_after(judgement: Judgement, erasure: Erasure) -> Judgement:
    name = judgement.program_id
    by_it = name is not None and erasure.is_program(name)
    goes = judgement.reason and (by_it or erasure.erases(judgement.reason))
    after = replace(
        judgement,
        program_id=erasure.program_after(name) if name is not None else None,
        reason=ERASED if goes else judgement.reason,
        also=tuple(map(erasure.program_after, judgement.also)),
    )
    return judgement if after == judgement else after
