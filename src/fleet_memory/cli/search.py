"""`fleet-memory search`: find lessons and entries by meaning and words, of the fleet or of
--program.
"""

import argparse
from functools import partial
from typing import Final, NamedTuple

from fleet_memory.cli.existing import with_memory
from fleet_memory.cli.list_ import entry_line, lesson_line, membership
from fleet_memory.cli.printing import (
    add_json_flag,
    add_limit_flag,
    omitted_line,
    print_answer,
    with_omitted,
)
from fleet_memory.cli.settings_flags import OWN_MEMORY
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.looking import LatestPrograms, existing_program, latest_programs
from fleet_memory.jobs.together import run_all
from fleet_memory.rules.lifecycle.decay import strength
from fleet_memory.rules.retrieval.ranking import fits_well
from fleet_memory.rules.text.counting import counted
from fleet_memory.schemas.answers.knowledge import KnowledgeAnswer
from fleet_memory.schemas.answers.memory import PatternAnswer
from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.settings import Settings
from fleet_memory.tools.retrieval import embed_question, keys_for, ranked
from fleet_memory.views.finding import NEAREST
from fleet_memory.views.knowledge import knowledge_answer
from fleet_memory.views.lessons import pattern_answer

EXAMPLE: Final = "fleet-memory search how do we claim tasks"
USES: Final = OWN_MEMORY


class Hit(NamedTuple):
    """A lesson with its program and its place in shared knowledge, or an entry."""

    item: PatternAnswer | KnowledgeAnswer
    program_id: str = ""
    place: str = ""

    @property
    def line(self) -> str:
        """The hit for a person, e.g. "0.82 basher/n7: Claim tasks in one batch (queue)"."""
        item = self.item
        text = (
            lesson_line(item, self.place, self.program_id)
            if isinstance(item, PatternAnswer)
            else entry_line(item)
        )
        return f"{item.score:.2f} {text}"

    def wire(self) -> dict[str, object]:
        """Return the hit as JSON."""
        return {**({"programId": self.program_id} if self.program_id else {}), **self.item.wire()}


class Hits(NamedTuple):
    """The best hits; `omitted` counts the other matches, `unread` the programs that were not
    searched.
    """

    best: list[Hit]
    omitted: int
    unread: int
    well: bool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument("words", metavar="WORDS", nargs="+", help="a question or keywords")
    add_limit_flag(parser, "how many are shown", default=10)
    add_json_flag(parser)


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Print the best matches, and how many were left out."""
    hits = with_memory(
        settings, lambda fleet: _found(fleet, settings.program, " ".join(given.words), given.limit)
    )
    note = "" if hits.well else NEAREST if hits.best else "Nothing matched. Try other words."
    lines = [
        *([note] if note else []),
        *(hit.line for hit in hits.best),
        *omitted_line(hits.omitted),
    ]
    if hits.unread:
        lines.append(
            f"not searched: {counted(hits.unread, 'program')} that changed before; --program "
            "searches one"
        )
    wire = {"hits": [hit.wire() for hit in hits.best], **({"note": note} if note else {})}
    content = with_omitted(wire, matches=hits.omitted, programs=hits.unread)
    print_answer(content, "\n".join(lines), as_json=given.json)
    return 0


async def _found(fleet: Fleet, program_id: str | None, words: str, limit: int) -> Hits:
    """Search the entries, and the lessons of a whole program or of those that changed last, less
    their pages.
    """
    if program_id is None:
        latest = await latest_programs(fleet)
    else:
        latest = LatestPrograms([await existing_program(fleet, program_id)], 0)
    snapshot, question = await run_all(
        fleet.knowledge.snapshots.read, partial(embed_question, fleet, words)
    )
    now, keys = fleet.now(), {row.key for row in snapshot.readable}
    lessons = [
        (program, lesson)
        for program in latest.programs
        for lesson in program.patterns.values()
        if not (lesson.promoted and lesson.knowledge_key in keys)  # its entry says it
    ]
    pool: list[Pattern | KnowledgeRow] = [*(lesson for _, lesson in lessons), *snapshot.readable]
    trusted = [
        strength(item, now) if isinstance(item, Pattern) else item.confidence for item in pool
    ]
    best = ranked(pool, trusted, question)
    owners = [program for program, _ in lessons]
    hits: list[Hit] = []
    for match in best[:limit]:
        item, score = pool[match.position], round(match.score, 3)
        if isinstance(item, Pattern):
            owner = owners[match.position]
            known = await keys_for(fleet, [item], snapshot)
            answer = pattern_answer(item, now, owner, known, score=score)
            hits.append(Hit(answer, owner.program_id, membership(answer.knowledge_key, snapshot)))
        else:
            hits.append(Hit(knowledge_answer(item, now, score=score)))
    return Hits(hits, len(best) - len(hits), latest.omitted, fits_well(best))
