"""The toolset `journal`: a program's whole life in a fixed budget, every original one call away."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Final

from pydantic import Field

from fleet_memory.errors import UnknownNameError
from fleet_memory.fleet import (
    BootPart,
    Fleet,
    PeoplesCommand,
    PromptTask,
    Tool,
    Toolset,
)
from fleet_memory.rules.retrieval.boot import Depth
from fleet_memory.schemas.value import Value
from fleet_memory.tools.journal.calls import (
    LookBackAnswer,
    journal_append,
    journal_distill,
    look_back,
)
from fleet_memory.tools.journal.documents import JOURNAL_COLLECTIONS, Journals
from fleet_memory.tools.journal.rules import GUIDANCE, Item, is_due, view

JOURNAL_BOOT_TOKENS: Final = (
    1_500  # of the view in a full boot, where it has a share of the room; chosen
)


async def _boot(fleet: Fleet, program_id: str, depth: Depth) -> Sequence[Value]:
    """Return the items of a program's view, the newest first; none but in a full boot."""
    if depth != "full":
        return ()
    journals = Journals(fleet)
    journal = (await journals.read(program_id)).journal
    items = await journals.resolved(journal, partial(view, max_bytes=JOURNAL_BOOT_TOKENS * 4))
    return [BootItem(text=_line(item)) for item in reversed(items)]


class BootItem(Value):
    """A part of a view in one line."""

    text: str


def _line(item: Item) -> str:
    if item.distillate:
        return f"{item.distillate.id}: {item.distillate.text}"
    if "omitted" in item.wire:
        return "Older events are left out: look_back has them, with due what to distil"
    return f"{item.wire['seq']} {item.wire['kind']}: {item.wire['content']}"


class JournalHealth(Value):
    """The figures of a program's journal; tokens are those of all events and of its cover."""

    events: int
    distillates: int
    raw_tokens: int
    view_tokens: int
    due: bool


async def _health(fleet: Fleet, program_id: str) -> Value:
    journal = (await Journals(fleet).read(program_id)).journal
    return JournalHealth(
        events=journal.head,
        distillates=journal.revision,
        raw_tokens=journal.raw_tokens,
        view_tokens=journal.cover_tokens,
        due=is_due(journal),
    )


async def distill() -> str:
    """Return the prompt to distil what is due."""
    return (
        "Call look_back with due: true. While it returns a segment: write its narrative and facts "
        f"within maxTokens. {GUIDANCE} Send ifRevision. Store what others should know with "
        "store_memory."
    )


async def reflect(
    question: Annotated[str, Field(description="What to find in the past")],
) -> str:
    """Return the prompt to answer a question from the journal."""
    return (
        f"Answer from your journal: {question!r}. Call look_back with its words as query, then "
        "with seq or distillateId for the originals around the best hits. Quote what was said, "
        "with its seq; say so when nothing answers it."
    )


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("program", metavar="PROGRAM", help="whose journal, e.g. basher")
    parser.add_argument("--search", metavar="TEXT", help="show where its words stand")
    parser.add_argument("--at", type=int, metavar="SEQ", help="show an event and those beside it")


async def _shown(fleet: Fleet, given: Namespace) -> LookBackAnswer:
    beside = 5 if given.at else 0
    answer = await look_back(
        fleet, given.program, query=given.search, seq=given.at, before=beside, after=beside
    )
    if not answer.head:
        raise UnknownNameError(
            f"{given.program} has no journal: it begins with the agent's first journal_append."
        )
    return answer


JOURNAL_TOOLS: Final = Toolset(
    "journal",
    [
        Tool(
            journal_append,
            "Append to the journal",
            "record messages, log conversation",
            "adds",
            "own",
            masks=["events"],
        ),
        Tool(
            journal_distill,
            "Distil the journal",
            "compact, summarise the past",
            "writes",
            "own",
            masks=["narrative", "facts"],
        ),
        Tool(look_back, "Look back", "past, history, what was decided", "reads", "program"),
    ],
    prompts=[
        PromptTask(distill, "Distil the journal", "Put what is oldest into a few sentences."),
        PromptTask(reflect, "Reflect", "Answer a question from the whole past."),
    ],
    commands=[
        PeoplesCommand(
            "journal", "show a program's journal", "basher --search port", _add_arguments, _shown
        )
    ],
    collections=JOURNAL_COLLECTIONS,
    boot=BootPart("Your journal, the newest first", _boot, lambda it: str(it["text"])),
    health=_health,
)
