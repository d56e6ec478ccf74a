"""`fleet-memory demo --mine`: the reader's own sentences, stored for two or three agents and
compared.
"""

from collections.abc import Mapping, Sequence
from io import StringIO, TextIOWrapper
from typing import Final, TextIO

from pydantic import ValidationError

from fleet_memory.demo.player import Print, heading, paragraph, quote
from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.tools.core.judging import pattern_consolidate
from fleet_memory.tools.core.lessons import store_memory

AGENTS: Final = ("agent-1", "agent-2", "agent-3")
MAX_SENTENCES: Final = 20  # per agent: more cannot be read on one screen
TOO_FEW: Final = (
    "--mine needs sentences of two agents at least, because one agent alone has nobody to "
    "agree with. Type one or more "
    "sentences for agent-1, an empty line, then those of agent-2. "
    r"Piped: printf 'Test before you push\n\nRun the tests before every push\n' | fleet-memory "
    r"demo --mine"
)


def read_lessons(source: TextIO | None, tell: Print) -> dict[str, list[str]]:
    """Read each agent's sentences, up to an empty line each; None, as `sys.stdin` may be, has no
    sentences.

    Raises InvalidArgumentError for input that cannot be used; its message explains how to change
    it.
    """
    if isinstance(source, TextIOWrapper):
        source.reconfigure(encoding="utf-8", errors="strict")  # in any locale
    source = StringIO() if source is None else source
    paragraph(
        "Imagine two or three AI agents that never see each other's notes. Type what each of "
        "them learnt, one sentence "
        "per line; an empty line ends an agent's list. Give two agents one lesson in other "
        "words, and see if it is "
        "found.",
        tell,
    )
    lessons: dict[str, list[str]] = {}
    try:
        for agent in AGENTS:
            tell(f"What has {agent} learnt?")
            if not (sentences := _sentences(source, tell, agent)):
                break
            lessons[agent] = sentences
        if not source.isatty() and source.read().strip():
            raise InvalidArgumentError(
                f"--mine takes {len(AGENTS)} agents; leave out what follows the third list."
            )
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(
            "The input is not UTF-8 text; save it as UTF-8 and try again."
        ) from error
    if len(lessons) < 2:
        raise InvalidArgumentError(TOO_FEW)
    return lessons


def _sentences(source: TextIO, tell: Print, agent: str) -> list[str]:
    sentences: list[str] = []
    while line := source.readline():
        text = line.strip("\ufeff \t\r\n")
        if not text and (sentences or source.isatty()):
            break
        problem = _problem(agent, text, len(sentences)) if text else ""
        if problem and not source.isatty():
            raise InvalidArgumentError(problem)
        if problem:
            paragraph(problem, tell)
        elif text:
            sentences.append(text)
    return sentences


def _problem(agent: str, text: str, before: int) -> str:
    """Return why a sentence cannot be stored and how to change it, "" if it can."""
    if before == MAX_SENTENCES:
        return f"{agent} has {MAX_SENTENCES} sentences already; end its list with an empty line."
    try:
        _lesson(agent, text)
    except ValidationError as error:
        reasons = "; ".join(problem["msg"] for problem in error.errors(include_url=False))
        return f"Sentence {before + 1} of {agent} {reasons}. Change it and try again."
    return ""


def _lesson(agent: str, text: str) -> NewPattern:
    return NewPattern(
        pattern=text, domain="demo", confidence=0.8, evidence=f"Seen by {agent} at its work"
    )


async def compare_lessons(fleet: Fleet, lessons: Mapping[str, Sequence[str]], tell: Print) -> None:
    """Store the sentences, compare them and tell the outcome. Raises FleetMemoryError when a tool
    refuses.
    """
    alone: dict[tuple[str, str], str] = {}  # (program, lesson's id) -> text
    for program, sentences in lessons.items():
        for text in sentences:
            stored = await store_memory(fleet, program, _lesson(program, text))
            alone.setdefault((program, stored.pattern_id), text)
    answer = await pattern_consolidate(fleet, no_progress)
    pairs = await fleet.pairs.waiting()
    if answer.similarity_engine:
        paragraph(
            "The language model could not be reached or loaded, so only words were compared, "
            "not meanings.",
            tell,
        )
    heading("1. Now knowledge that every agent reads when it starts", tell)
    for entry in answer.promoted:
        tell("Learnt independently, in equal words:")
        for source in entry.provenance:
            text = alone.pop((source.program_id, source.pattern_id))
            quote(text, source.program_id, tell)
    if not answer.promoted:
        paragraph(
            "Nothing: no two agents used equal words, and all else is for a reader to decide.",
            tell,
        )
    heading("2. Perhaps the same", tell)
    paragraph(
        "The agents would be asked, each about its own, or you with `fleet-memory review`:", tell
    )
    for side in [side for pair in pairs for side in (pair.a, pair.b)]:
        quote(side.text, side.program_id, tell)
        alone.pop((side.program_id, side.pattern_id), None)
    heading("3. Apart: matched with no other agent's sentence", tell)
    for (program, _), text in alone.items():
        quote(text, program, tell)
