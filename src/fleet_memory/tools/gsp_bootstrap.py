"""Everything an agent reads before it starts to work."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, NamedTuple

from pydantic import Field

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.auditing import allow_read
from fleet_memory.rules.asking import ChosenQuestions, with_questions
from fleet_memory.rules.curating import Changes, changes_since
from fleet_memory.rules.lifecycle.decay import strengths
from fleet_memory.rules.retrieval.boot import (
    SHARES,
    BootReading,
    Depth,
    booted,
    common_domains,
    is_of_project,
    ordered_entries,
    ordered_lessons,
    own_lessons,
)
from fleet_memory.rules.retrieval.repeats import entries_saying, own_keys
from fleet_memory.schemas.answers.boot import BootAnswer
from fleet_memory.schemas.fields import Name, QueryText
from fleet_memory.schemas.knowledge import KnowledgeRow, Snapshot
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Archived, Program
from fleet_memory.tools.asking import (
    AskedPairs,
    asked_pairs,
    fitting_questions,
    leave_ignored,
    to_judge_answers,
)
from fleet_memory.tools.freshness import fleet_freshness
from fleet_memory.tools.parameters import MaxTokens
from fleet_memory.tools.retrieval import embed_question, keys_for, ranked
from fleet_memory.views.boot import boot_answer
from fleet_memory.views.finding import MAX_SUGGESTIONS_CHARS, fitting_names


class _Booted(NamedTuple):
    """A program after a boot, the version of knowledge that it had read before, and the questions
    that it was shown.
    """

    program: Program
    seen: int
    chosen: ChosenQuestions
    archived: tuple[Archived, ...] = ()


class TaskScores(NamedTuple):
    """How well entries and own lessons fit a task, as recall scores it: by key and by id, those
    that match alone.
    """

    entries: dict[str, float]
    lessons: dict[str, float]


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
    """Call this first in every session: what the fleet knows, your own state and lessons, and how
    far behind it is.

    Knowledge comes from lessons that several agents learnt independently. With a `task`, what fits
    it comes first.
    """
    await allow_read(fleet, agent_id, "gsp_bootstrap")
    now = fleet.now()
    snapshot = await fleet.knowledge.snapshots.read()
    depth_tokens = max_tokens or SHARES[depth].tokens
    is_own = fleet.caller.may_judge(agent_id)
    asked = (
        await asked_pairs(fleet, agent_id, await fleet.policies.read(now))
        if is_own
        else AskedPairs()
    )

    def change(program: Program) -> _Booted:
        if not is_own:  # who only reads it neither judges for it nor has read the knowledge for it
            return _Booted(program, program.read_version, ChosenQuestions())
        chosen = fitting_questions(program, asked, depth_tokens, now)
        after, seen, _ = booted(with_questions(program, chosen, now), snapshot.version)
        return _Booted(after, seen, chosen)

    program, seen, chosen, _ = await fleet.programs.update(agent_id, change, now)
    await leave_ignored(fleet, agent_id, asked, chosen)
    # A version later than the snapshot's is another memory's: the agent's knowledge is unknown.
    known = known_version if known_version is not None and known_version <= snapshot.version else 0
    since = seen if known_version is None else known
    of_project = [row for row in snapshot.rows if is_of_project(row, project_id)]
    readable = [row for row in of_project if not row.is_hidden]
    rows = [row for row in readable if row.changed_in > known]
    entry_of = entries_saying(program.patterns.values(), readable)
    own = own_lessons(program, entry_of, now, project_id)
    scores = await _scores(fleet, rows, own, now, task)
    keys = own_keys(program, readable)
    domains = {pattern.domain for pattern in program.patterns.values()}
    reading = BootReading(
        program=program,
        entries=ordered_entries(rows, scores.entries, domains, now, project_id, keys),
        lessons=ordered_lessons(own, scores.lessons, now, project_id),
        entry_of=entry_of,
        own_keys=keys,
        domains=common_domains(readable),
        keys=await keys_for(fleet, own, snapshot),
        changes=changes_since(of_project, since)
        if since
        else Changes(),  # of a first boot all is new
        depth=depth,
        project_id=project_id,
    )
    return boot_answer(await _frame(fleet, program, chosen, snapshot), reading, depth_tokens, now)


async def _frame(
    fleet: Fleet, program: Program, chosen: ChosenQuestions, snapshot: Snapshot
) -> BootAnswer:
    """Return the answer without its sections."""
    close = () if program.exists else await fleet.close_programs(program.program_id)
    return BootAnswer(
        exists=None if program.exists else False,
        suggestions=fitting_names(close, MAX_SUGGESTIONS_CHARS) or None,
        similarity_engine=fleet.degraded_engine,
        agent_id=program.program_id,
        knowledge_version=snapshot.version,
        to_judge=tuple(to_judge_answers(program, chosen)) or None,
        freshness=await fleet_freshness(fleet, snapshot),
    )


async def _scores(
    fleet: Fleet,
    rows: Sequence[KnowledgeRow],
    own: Sequence[Pattern],
    now: datetime,
    task: str | None,
) -> TaskScores:
    if task is None:
        return TaskScores({}, {})
    trusted = [*(row.confidence for row in rows), *strengths(own, now)]
    best = ranked(
        [*rows, *own], trusted, await embed_question(fleet, task), min_relevance=0
    )  # it orders, and leaves nothing out
    score_at = {match.position: match.score for match in best}
    return TaskScores(
        {row.key: score_at[at] for at, row in enumerate(rows) if at in score_at},
        {lesson.id: score_at[at] for at, lesson in enumerate(own, len(rows)) if at in score_at},
    )
