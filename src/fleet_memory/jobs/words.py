"""Words about entries carried out."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from fleet_memory.errors import FleetMemoryError, KnowledgeNotFoundError, PatternNotFoundError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.drafting import Drafts, commit_drafts, read_drafts
from fleet_memory.jobs.others import find_other
from fleet_memory.rules.entries import (
    JoiningLesson,
    candidate_of,
    entry_for,
    is_one_origin,
    keys_of,
)
from fleet_memory.rules.lifecycle.outcomes import (
    OutcomeReport,
    Reported,
    reported,
    was_reported,
)
from fleet_memory.rules.pairs import with_member
from fleet_memory.rules.text.keys import KEY_PREFIXES, close_names
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.programs import Program


async def with_others(
    fleet: Fleet, program: Program, drafts: Drafts, named: Iterable[str]
) -> Drafts:
    """Return the drafts with the entries of other programs' lessons, by the keys that the program
    named them by: those that they are in, else candidates.

    Billed for each key under which agents read no entry as `find_other`, 1 read for the lesson's
    program, and 1 for each of at most two keys.
    """
    for key in dict.fromkeys(named):
        known = drafts.documents.entries.get(key)
        if (
            program.patterns.get(key) is not None
            or not key.startswith(KEY_PREFIXES)
            or (known is not None and known.is_public)
        ):
            continue
        place = await find_other(fleet, key)
        if place is not None and not is_one_origin(place[0], program.program_id):
            drafts = await _with_other(fleet, drafts, key, *place)
    return drafts


async def _with_other(
    fleet: Fleet, drafts: Drafts, about: str, program_id: str, pattern_id: str
) -> Drafts:
    (versioned,) = await fleet.programs.read_versioned(program_id)
    pattern = versioned.program.patterns.get(pattern_id)
    if pattern is None:
        return drafts
    lesson = JoiningLesson(versioned.program, pattern, "text")
    fresh = candidate_of(lesson, await fleet.policies.read(drafts.now))
    keys = [*pattern.knowledge_keys, *keys_of(fresh)]
    read = await read_drafts(fleet, keys, drafts.now, [versioned])
    drafts = replace(drafts, policy=read.policy).with_read([versioned], read.entries)
    known = next((key for key in pattern.knowledge_keys if drafts.entry(key)), None)
    if known is None:
        entry = entry_for(fresh, drafts.documents.entries)
        known = entry.key
        documents = with_member(drafts.documents.with_entry(entry), lesson, known)
        drafts = drafts.left_as(documents, "")
    return replace(drafts, others={**drafts.others, about: known})


async def record_word(fleet: Fleet, program_id: str, about: str, report: OutcomeReport) -> Reported:
    """Record a word about one of the program's lessons, and the entry that it is in, or about the
    entry of a key; another's lesson of this key becomes a candidate by it.

    Raises PatternNotFoundError, and KnowledgeNotFoundError for a key that agents do not know.
    Billed 1 read and 1 write, and as much for the entry; for a name that is not found also the
    snapshot, which has close keys.
    """

    async def decide(program: Program) -> tuple[Reported, Drafts]:
        try:
            drafts = await read_drafts(fleet, keys_of_word(program, about), report.now)
            drafts = await with_others(fleet, program, drafts, [about])
            return drafted_report(drafts, program, about, report)
        except (KnowledgeNotFoundError, PatternNotFoundError) as error:
            keys = await fleet.knowledge.snapshots.close_keys(about)
            raise with_close_names(error, program, about, keys) from None

    return await commit_drafts(fleet, program_id, report.now, decide)


def with_close_names(
    error: KnowledgeNotFoundError | PatternNotFoundError,
    program: Program,
    about: str,
    keys: Sequence[str],
) -> FleetMemoryError:
    """Return the error of a name that a word was about and nothing has, with close `keys` and, for
    one that is no key, close ids of the program's lessons.
    """
    if isinstance(error, KnowledgeNotFoundError):
        return KnowledgeNotFoundError(about, keys)
    ids = close_names(about, program.patterns)
    return PatternNotFoundError(program.program_id, about, ids, keys)


def keys_of_word(program: Program, about: str) -> tuple[str, ...]:
    """Return the keys of the entries that a word is about; none for a lesson in no entry.

    Raises PatternNotFoundError, without close names.
    """
    own = program.patterns.get(about)
    if own is not None:
        return own.knowledge_keys
    if about.startswith(KEY_PREFIXES):
        return (about,)
    raise PatternNotFoundError(program.program_id, about)


def entries_of_word(drafts: Drafts, program: Program, about: str) -> tuple[Entry, ...]:
    """Return the entries that a word of a program is about, each once.

    Raises PatternNotFoundError.
    """
    found = (drafts.entry(key) for key in keys_of_word(program, about))
    return tuple({entry.key: entry for entry in found if entry is not None}.values())


def drafted_report(
    drafts: Drafts, program: Program, about: str, report: OutcomeReport
) -> tuple[Reported, Drafts]:
    """Return the program after a word, and with it the entries that it is about, if any.

    Raises PatternNotFoundError, and KnowledgeNotFoundError for a key that agents do not know.
    """
    own = program.patterns.get(about)
    found = entries_of_word(drafts, program, about)
    if own is None and not (
        found
        and (found[0].is_public or about in drafts.others or was_reported(program, about, report))
    ):
        raise KnowledgeNotFoundError(about)
    said, after = reported(program, about, found, report), drafts
    for entry in said.entries:
        after = after.with_entry(entry, report.evidence)
    if after is not drafts and said.program is program:
        said = said._replace(program=replace(program))  # written: its commit settles a lost answer
    return said._replace(entries=entries_of_word(after, program, about)), after
