"""Plays a demo: a file of tool calls, one on each line, in a throw-away memory.

A line may have a `chapter` and words to `say` first, then the `tool` with its `arguments`, the day
(`at`) and the `program` that the server is bound to, the `verdicts` on the pairs that its last boot
asked about, by the domain of both sides, and what it must answer: `expect`, by paths, e.g.
{"knowledge.0.pattern": "Test first"}. The record that an answer made may have a name, `as`, and
stand in later arguments as `$name`. `story.jsonl` is the one of the README's picture.
"""

import json
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple, TypeAlias

import anyio

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.extensions import file_location
from fleet_memory.server.app import call_in_process
from fleet_memory.settings import Settings, load

Print: TypeAlias = Callable[[str], None]
Content: TypeAlias = Mapping[str, object]

STORY: Final = Path(__file__).with_name("story.jsonl").read_text(encoding="utf-8").splitlines()
WIDTH: Final = 79  # columns


class Played(NamedTuple):
    """A call of the file with the arguments that were sent and the tool's answer; `asked` are the
    pairs that the program's last boot asked about.
    """

    call: Content
    arguments: Content
    answer: Content
    asked: Sequence[object]

    @property
    def day(self) -> str:
        """The day in words, e.g. "14 February"."""
        return day_of(str(self.call["at"]))

    def unmet(self) -> Iterator[str]:
        """Yield each expectation that the answer does not meet."""
        for path, expected in items(self.call, "expect"):
            if (answered := at(self.answer, path)) != expected:
                yield f"{self.call['tool']}: {path} is {answered!r}, and not {expected!r}"


@contextmanager
def throw_away(settings: Settings) -> Iterator[Settings]:
    """Yield the settings with a memory of its own, which is deleted afterwards."""
    with TemporaryDirectory(prefix="fleet-memory-demo-") as folder:
        yield replace(settings, store=file_location(Path(folder) / "memory.db"), fleet="demo")


def play(lines: Sequence[str], tell: Print) -> list[Played]:
    """Play the lines of a file with the default settings, and tell it. Raises
    InvalidArgumentError when a tool refuses.
    """
    with throw_away(load({}, {})) as settings:
        return anyio.run(_play, settings, lines, tell)


async def _play(settings: Settings, lines: Sequence[str], tell: Print) -> list[Played]:
    played, asked, chapters = list[Played](), dict[object, Sequence[object]](), 0
    for line in lines:
        call = json.loads(line)
        if "chapter" in call:
            chapters += 1
            heading(f"{chapters}. {call['chapter']}", tell)
        if "say" in call:
            paragraph(call["say"], tell)
        if "tool" not in call:
            continue
        now = datetime.fromisoformat(call["at"]).replace(hour=12, tzinfo=UTC)
        program = call.get("program")
        records = {str(it.call["as"]): it.answer["recordId"] for it in played if "as" in it.call}
        text = Template(json.dumps(call["arguments"])).safe_substitute(records)
        pairs, arguments = asked.get(program, ()), json.loads(text)
        if "verdicts" in call:
            arguments["verdicts"] = [_verdict(pair, call["verdicts"]) for pair in pairs]
        bound = replace(settings, program=program, now=now)
        answer = await call_in_process(bound, call["tool"], arguments)
        if answer.refusal:
            raise InvalidArgumentError(f"{call['tool']}: {answer.refusal}")
        if call["tool"] == "gsp_bootstrap":
            asked[program] = [pair for _, pair in items(answer.content, "toJudge")]
        played.append(Played(call, arguments, answer.content, pairs))
        if teller := _TELLERS.get(call["tool"]):
            teller(played[-1], tell)
    return played


def heading(title: str, tell: Print) -> None:
    """Tell the title of a chapter."""
    tell(f"\n{title}\n{'-' * len(title)}")


def paragraph(text: str, tell: Print) -> None:
    """Tell a paragraph."""
    tell(textwrap.fill(text, WIDTH))


def quote(text: object, label: object, tell: Print) -> None:
    """Tell a lesson, indented, behind the name of its agent or another label."""
    tell(textwrap.fill(f'{label}: "{text}"', WIDTH, initial_indent="  ", subsequent_indent="    "))


def day_of(at: str) -> str:
    """Return an instant's day in words, e.g. "14 February" of "2026-02-14T12:00:00Z"."""
    instant = datetime.fromisoformat(at)
    return f"{instant.day} {instant:%B}"


def at(value: object, path: str) -> object:
    """Return the value at a path, e.g. "knowledge.0.pattern"; None where there is none."""
    for key in path.split("."):
        if isinstance(value, list):
            value = value[int(key)] if int(key) < len(value) else None
        else:
            value = value.get(key) if isinstance(value, dict) else None
    return value


def items(value: object, path: str) -> list[tuple[str, object]]:
    """Return the items at a path: keys and values of an object, or positions and elements."""
    inner = at(value, path)
    if isinstance(inner, list):
        return [(str(position), item) for position, item in enumerate(inner)]
    return [*inner.items()] if isinstance(inner, dict) else []


def _verdict(pair: object, by_domain: Mapping[str, str]) -> Content:
    domains = {str(at(pair, "a.domain")), str(at(pair, "b.domain"))}
    verdict = by_domain[domains.pop()] if len(domains) == 1 else "different"
    reason = "Compared by what each asks an agent to do"
    return {"pairId": at(pair, "pairId"), "verdict": verdict, "reason": reason}


def _stored(played: Played, tell: Print) -> None:
    sent, program = at(played.arguments, "pattern"), played.call["program"]
    paragraph(f"On {played.day} {program} {at(sent, 'evidence')}, and stores:", tell)
    quote(at(sent, "pattern"), program, tell)


def _recalled(played: Played, tell: Print) -> None:
    for _, pattern in items(played.answer, "patterns"):
        quote(at(pattern, "pattern"), f"{at(pattern, 'ageDays')} days old", tell)


def _judged(played: Played, tell: Print) -> None:
    verdicts = items(played.arguments, "verdicts")
    for pair, (_, verdict) in zip(played.asked, verdicts, strict=True):
        quote(at(pair, "a.pattern"), f"{played.call['program']}'s own", tell)
        quote(at(pair, "b.pattern"), "knowledge" if at(pair, "b.key") else "another's", tell)
        tell(f"  {played.call['program']} answers: {at(verdict, 'verdict')}")


def _read(played: Played, tell: Print) -> None:
    sources = [source for _, source in items(played.answer, "provenance")]
    paragraph(f"{len(sources)} agents learnt the same, each in its own words:", tell)
    for source in sources:
        quote(at(source, "pattern"), at(source, "programId"), tell)
    paragraph("Every agent will read one sentence for all of them when it starts:", tell)
    quote(at(played.answer, "pattern"), f"{at(played.answer, 'confidence'):.0%} sure", tell)


def _booted(played: Played, tell: Print) -> None:
    for _, entry in items(played.answer, "knowledge") if "task" in played.arguments else ():
        contributors = [str(name) for _, name in items(entry, "contributors")]
        quote(at(entry, "pattern"), f"from {', '.join(contributors)}", tell)


_TELLERS: Final[Mapping[str, Callable[[Played, Print], None]]] = {
    "store_memory": _stored,
    "recall_memory": _recalled,
    "commit_session": _judged,
    "gsp_read": _read,
    "gsp_bootstrap": _booted,
}
