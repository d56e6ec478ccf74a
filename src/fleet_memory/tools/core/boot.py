"""Everything an agent reads before it starts to work."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, NamedTuple

from pydantic import Field

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.auditing import allow_read
from fleet_memory.rules.asking import ChosenQuestions, with_questions, with_shown
from fleet_memory.rules.curating import Changes, changes_since
from fleet_memory.rules.health import fading
from fleet_memory.rules.lifecycle.decay import strengths
from fleet_memory.rules.lifecycle.stamping import with_read
from fleet_memory.rules.retrieval.boot import (
    SHARES,
    Depth,
    common_domains,
    is_of_project,
    ordered_entries,
    ordered_lessons,
    ordered_notes,
    own_lessons,
)
from fleet_memory.rules.retrieval.budget import Section, shared, size
from fleet_memory.rules.retrieval.others import MAX_OTHERS_AT_BOOT
from fleet_memory.rules.retrieval.ranking import Match, RecallFilters, entries_saying, own_keys
from fleet_memory.schemas.fields import Name, QueryText
from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.schemas.patterns import OthersLesson, Pattern
from fleet_memory.schemas.programs import Archived, Program
from fleet_memory.tools.core.boot_sections import (
    SECTIONS,
    BootAnswer,
    BootNote,
    BootSection,
    FadingPattern,
    KnowledgeChanges,
    ProgramAnswer,
    protocol_of,
    sections_with,
)
from fleet_memory.tools.core.judging import (
    asked_pairs,
    fitting_questions,
    leave_ignored,
    to_judge_answer,
)
from fleet_memory.tools.core.others import ranked_others
from fleet_memory.tools.retrieval import (
    MAX_SUGGESTIONS_CHARS,
    embed_question,
    fitting_names,
    ranked,
)
from fleet_memory.tools.shared import (
    KnowledgeAnswer,
    MaxTokens,
    fleet_freshness,
    knowledge_answer,
    pattern_answer,
)


def fitted(
    everything: BootAnswer,
    total: Mapping[str, int],
    max_tokens: int,
    sections: Sequence[BootSection] = SECTIONS,
) -> BootAnswer:
    """Return as much of an answer as its budget allows, and in `omitted` how much that leaves out.

    A larger budget never shows less of anything, for the same pairs to judge. `total` counts
    sections that are incomplete even in `everything`.
    """
    every = {section: section.items(everything) for section in sections}
    sizes = {
        section.name: [size(section.wire(item)) + 1 for item in items]
        for section, items in every.items()
    }

    def first(fit: Mapping[str, int]) -> BootAnswer:
        boot = everything
        for section, items in every.items():
            boot = section.show(boot, items[: fit[section.name]])
        return boot

    counts = {**{name: len(items) for name, items in sizes.items()}, **total}
    # Measured with every count that it may have to confess, so that confessing never breaks the
    # budget.
    longest = protocol_of(replace(everything, omitted=counts))
    bare = replace(first(dict.fromkeys(sizes, 0)), omitted=counts | {"protocol": 1})
    room = max_tokens * 4 - size(bare.wire()) - size(longest)
    parts = [Section(sizes[section.name], section.share) for section in sections]
    fit = dict(zip(sizes, shared(max(0, room), parts), strict=True))
    missing = {name: count - fit[name] for name, count in counts.items()} | {
        "protocol": int(room < 0)
    }
    shown = first(fit)
    shown = replace(
        shown,
        notes=shown.notes or None,
        others=shown.others or None,
        fading_soon=shown.fading_soon or None,
        omitted={name: count for name, count in missing.items() if count},
    )
    return replace(shown, protocol="" if room < 0 else protocol_of(shown))


class _Booted(NamedTuple):
    """A program after a boot, the version of knowledge that it had read before, and the questions
    and lessons of others that it was shown.
    """

    program: Program
    seen: int
    chosen: ChosenQuestions
    others: Sequence[Match[OthersLesson]] = ()
    archived: tuple[Archived, ...] = ()


async def gsp_bootstrap(
    fleet: Fleet,
    agent_id: Annotated[Name, Field(description="Your program, the programId you store under")],
    depth: Annotated[Depth, Field(description="How much to read")] = "standard",
    max_tokens: Annotated[MaxTokens | None, Field(description="Hard limit of the answer")] = None,
    task: Annotated[QueryText | None, Field(description="What you are about to do")] = None,
    project_id: Annotated[Name | None, Field(description="Your project: leaves others out")] = None,
    known_version: Annotated[
        int | None,
        Field(
            strict=True, ge=0, description="Version you hold; only what changed since comes back"
        ),
    ] = None,
) -> BootAnswer:
    """At the start of a session: read what the fleet knows, your own state and lessons, and how far
    behind it is.

    Knowledge comes from lessons that several agents learnt independently. With a `task`, what fits
    it comes first.
    """
    await allow_read(fleet, agent_id, "gsp_bootstrap")
    now, share, full = fleet.now(), SHARES[depth], depth == "full"
    budget = max_tokens or share.tokens
    snapshot = await fleet.knowledge.snapshots.read()
    is_own = fleet.caller.may_judge(agent_id)
    asked = (
        await asked_pairs(fleet, agent_id, await fleet.policies.read(now), third=True)
        if is_own
        else []
    )

    question = await embed_question(fleet, task)
    others = await ranked_others(fleet, agent_id, question)
    of_others = RecallFilters(project_id=project_id)

    def change(program: Program) -> _Booted:
        seen = program.read_version
        if not is_own:  # who only reads it neither judges for it nor has read the knowledge for it
            return _Booted(program, seen, ChosenQuestions())
        chosen = fitting_questions(fleet, program, asked, budget)
        after = with_read(with_questions(program, chosen, now), snapshot.version_at)
        if seen != snapshot.version:
            after = replace(after, read_version=snapshot.version)
        told = others.chosen(program, of_others, snapshot, now, MAX_OTHERS_AT_BOOT)
        if told:
            after = with_shown(after, {match.lesson.words: now for match in told})
        return _Booted(after, seen, chosen, told)

    program, seen, chosen, told, _ = await fleet.programs.update(agent_id, change, now)
    await leave_ignored(fleet, agent_id, chosen)
    # A version later than the snapshot's is another memory's: the agent's knowledge is unknown.
    known = known_version if known_version is not None and known_version <= snapshot.version else 0
    since = seen if known_version is None else known
    of_project = [row for row in snapshot.rows if is_of_project(row, project_id)]
    readable = [row for row in of_project if not row.is_hidden]
    rows = [row for row in readable if row.changed_in > known]
    entry_of = entries_saying(program.patterns.values(), readable)
    own = own_lessons(program, entry_of, now, project_id, every=task is not None)

    score_of: dict[str, float] = {}  # by key and by id, of what fits the task, as recall scores it
    if question is not None:
        trusted = [*(row.confidence for row in rows), *strengths(own, now)]
        pool: list[Pattern | KnowledgeRow] = [*rows, *own]
        score_of = {
            lesson.id if isinstance(lesson, Pattern) else lesson.key: score
            for lesson, score, _ in ranked(pool, trusted, question)
        }
    keys_of_own, domains = (
        own_keys(program, readable),
        {pattern.domain for pattern in program.patterns.values()},
    )
    entries = ordered_entries(rows, score_of, domains, now, project_id, keys_of_own)
    lessons = ordered_lessons(own, score_of, now, project_id)
    evidence: dict[str, str] = {}
    for lesson_id, row in entry_of.items():  # of several lessons in an entry the first with some
        evidence[row.key] = evidence.get(row.key) or program.patterns[lesson_id].evidence

    def entry_answer(row: KnowledgeRow) -> KnowledgeAnswer:
        own, seen = row.key in keys_of_own, evidence.get(row.key, "")
        return knowledge_answer(row, now, contributors=full, brief=not full, own=own, evidence=seen)

    learnt = [row for row in entries if row.tier != "constitutional"]
    soon = [
        (days, pattern)
        for days, pattern in fading(program, now)
        if pattern.id not in entry_of and is_of_project(pattern, project_id)
    ]
    # of a first boot all is new
    changes = changes_since(of_project, since) if since else Changes()
    added, updated, retired = (tuple(row.key for row in changed) for changed in changes)
    close = () if program.exists else await fleet.close_programs(agent_id)
    everything = BootAnswer(
        exists=None if program.exists else False,
        suggestions=fitting_names(close, MAX_SUGGESTIONS_CHARS) or None,
        similarity_engine=fleet.degraded_engine,
        agent_id=program.program_id,
        constitution=tuple(entry_answer(row) for row in entries if row.tier == "constitutional"),
        knowledge=tuple(map(entry_answer, learnt[: share.entries])),
        domains=tuple(common_domains(readable)[: share.domains]),
        knowledge_version=snapshot.version,
        program=ProgramAnswer(
            context_summary=program.context_summary,
            config=program.config,
            baselines=program.baselines,
        ),
        notes=tuple(
            BootNote(id=note.id, text=note.text, pinned=note.pinned or None)
            for note in ordered_notes(program.notes)
        ),
        patterns=tuple(
            pattern_answer(lesson, now, program, snapshot.keys, brief=not full)
            for lesson in lessons[: share.patterns]
        ),
        others=tuple(others.answers(told, snapshot)) or None,
        fading_soon=FadingPattern.first(soon),
        to_judge=tuple(to_judge_answer(pair, program) for pair in chosen.pairs) or None,
        changes=KnowledgeChanges(added=added, updated=updated, retired=retired),
        freshness=await fleet_freshness(fleet, snapshot) if full else None,
        toolsets={
            each.name: tuple(it.wire() for it in await each.boot.items(fleet, agent_id, depth))
            for each in fleet.served_toolsets
            if each.boot
        }
        or None,
    )
    total = {"knowledge": len(learnt), "patterns": len(lessons), "fadingSoon": len(soon)}
    return fitted(everything, total, budget, sections_with(fleet.served_toolsets))
