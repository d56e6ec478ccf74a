"""`fleet-memory demo --mine`: the reader's own sentences, stored for two or three agents and
compared.
"""

from collections.abc import Mapping, Sequence
from io import StringIO, TextIOWrapper
from typing import Final, TextIO

from pydantic import ValidationError

from fleet_memory.demo.stage import Stage
from fleet_memory.demo.telling import Teller, Texts
from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import no_progress
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.tools.core.judging import ConsolidateAnswer, pattern_consolidate
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


def read_lessons(source: TextIO | None, teller: Teller) -> dict[str, list[str]]:
    """Read each agent's sentences, up to an empty line each; None, as `sys.stdin` may be, has no
    sentences.

    Raises InvalidArgumentError for input that cannot be used; its message explains how to change
    it.
    """
    source = _utf8(source)
    teller.say(
        "Imagine two or three AI agents that never see each other's notes. Type what each of "
        "them learnt, one sentence "
        "per line; an empty line ends an agent's list. Give two agents one lesson in other "
        "words, and see if it is "
        "found."
    )
    lessons: dict[str, list[str]] = {}
    try:
        for agent in AGENTS:
            teller.say(f"What has {agent} learnt?")
            if not (sentences := _sentences(source, teller, agent)):
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


def _utf8(source: TextIO | None) -> TextIO:
    """Return the source, set to read strict UTF-8 in any locale; an empty one for None."""
    if isinstance(source, TextIOWrapper):
        source.reconfigure(encoding="utf-8", errors="strict")
    return StringIO() if source is None else source


def _sentences(source: TextIO, teller: Teller, agent: str) -> list[str]:
    sentences: list[str] = []
    while line := source.readline():
        text = line.strip("\ufeff \t\r\n")
        if not text and (sentences or source.isatty()):
            break
        problem = _problem(agent, text, len(sentences)) if text else ""
        if problem and not source.isatty():
            raise InvalidArgumentError(problem)
        if problem:
            teller.say(problem)
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
    return NewPattern(pattern=text, domain="demo", confidence=0.8, evidence=f"Seen by {agent}")


async def compare_lessons(
    stage: Stage, lessons: Mapping[str, Sequence[str]], teller: Teller
) -> None:
    """Store the sentences, compare them and print the outcome. Raises FleetMemoryError when a tool
    refuses.
    """
    texts: Texts = {}
    for program, sentences in lessons.items():
        async with stage.session(program=program) as fleet:
            for text in sentences:
                stored = await store_memory(fleet, program, _lesson(program, text))
                texts.setdefault((program, stored.pattern_id), text)
    async with stage.session() as fleet:
        answer = await pattern_consolidate(fleet, no_progress)
        pairs = await fleet.pairs.asking()
    if answer.similarity_engine:
        teller.say(
            "The language model could not be reached or loaded, so only words were compared, "
            "not meanings."
        )
    _tell(teller, answer, pairs, texts)


def _tell(teller: Teller, answer: ConsolidateAnswer, pairs: Sequence[Pair], texts: Texts) -> None:
    teller.chapter("Now knowledge that every agent reads when it starts")
    for entry in answer.promoted:
        teller.say("Learnt independently, in equal words:")
        for source in entry.provenance:
            teller.quote(texts[source.program_id, source.pattern_id], source.program_id)
    if not answer.promoted:
        teller.say(
            "Nothing: no two agents used equal words, and all else is for a reader to decide."
        )
    if pairs:
        teller.chapter("Perhaps the same")
        teller.say(
            "The agents would be asked, each about its own, or you with `fleet-memory review`:"
        )
        teller.pairs(pairs)
    if alone := {
        lesson: text for lesson, text in texts.items() if lesson not in _matched(answer, pairs)
    }:
        teller.chapter("Apart: matched with no other agent's sentence")
        for (program, _), text in alone.items():
            teller.quote(text, program)


def _matched(answer: ConsolidateAnswer, pairs: Sequence[Pair]) -> set[tuple[str, str]]:
    sources = {
        (source.program_id, source.pattern_id)
        for entry in answer.promoted
        for source in entry.provenance
    }
    return sources | {
        (side.program_id, side.pattern_id) for pair in pairs for side in (pair.a, pair.b)
    }
