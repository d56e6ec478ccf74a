"""Every limit that cites a page of docs/ has its figure there, in a sentence of this table."""

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Final, NamedTuple

import pytest

import fleet_memory
from fleet_memory.importing import texts
from fleet_memory.jobs import memory_files, model_judging, publishing
from fleet_memory.repositories import history, policies
from fleet_memory.rules import asking, curating, entries
from fleet_memory.rules.lifecycle import admission, decay, paging, reinforcement, sent
from fleet_memory.rules.retrieval import prompting, ranking
from fleet_memory.rules.text import keys
from fleet_memory.schemas import programs, search_vectors
from fleet_memory.server import composition
from fleet_memory.server.http import access
from fleet_memory.similarity import judge_model
from fleet_memory.tools import health

ROOT = Path(__file__).parent.parent
CITING = re.compile(r"^_?([A-Z][A-Z_]+)(?:: [^=]+)? = .*?[\d.]+.*  # .*Source: (docs/[\w-]+\.md)")
NUMBERS: Final = [
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
]
PARTS: Final = {20: "twentieth"}
OFTEN: Final = {timedelta(minutes=1): "once a minute"}


class Figure(NamedTuple):
    """The page that a limit cites, and the words there that have its value."""

    page: str
    words: str


def days(value: timedelta) -> str:
    return f"{value.days} days" if value.days > 1 else "day"


FIGURES: Final[Mapping[str, Figure]] = {
    "MAX_WORDS_SHARE": Figure(
        "docs/recall.md", f"| `words` | {ranking.MAX_WORDS_SHARE:g} x (share - 0.2)"
    ),
    "MAX_CONTEXT_EVIDENCE_CHARS": Figure(
        "docs/recall.md",
        f"the first {search_vectors.MAX_CONTEXT_EVIDENCE_CHARS} characters of its evidence",
    ),
    "MIN_CONTEXT_WORDS": Figure(
        "docs/recall.md", f"fewer than {NUMBERS[search_vectors.MIN_CONTEXT_WORDS]} words"
    ),
    "MAX_PAIRS_PER_RUN": Figure(
        "docs/judge-model.md", f"at most {model_judging.MAX_PAIRS_PER_RUN} pairs a run"
    ),
    "MAX_QUOTED_CHARS": Figure(
        "docs/judge-model.md", f"at most {judge_model.MAX_QUOTED_CHARS:,} characters of text"
    ),
    "PUBLISH_EVERY_S": Figure(
        "docs/consolidation.md", f"at most every {publishing.PUBLISH_EVERY_S:g} s"
    ),
    "STALE_FROM_PENDING": Figure(
        "docs/consolidation.md", f"| `stale` | {curating.STALE_FROM_PENDING} or more |"
    ),
    "UNATTENDED_AFTER": Figure(
        "docs/consolidation.md",
        f"no run ended within a {days(curating.UNATTENDED_AFTER)}, `freshness.reason`",
    ),
    "MAX_PROGRAMS_READ": Figure(
        "docs/consolidation.md", f"up to {composition.MAX_PROGRAMS_READ:,} programs on SQLite"
    ),
    "MAX_PROGRAMS_READ_FIRESTORE": Figure(
        "docs/consolidation.md", f"SQLite, {composition.MAX_PROGRAMS_READ_FIRESTORE} on Firestore"
    ),
    "MAX_PROGRAMS_LOOKED_AT": Figure(
        "docs/firestore.md",
        f"`fleet_health` of up to {health.MAX_PROGRAMS_LOOKED_AT} programs",
    ),
    "MAX_SUMMARIES": Figure("docs/state.md", f"The newest {history.MAX_SUMMARIES} are kept"),
    "MAX_SHOWN": Figure("docs/consensus.md", f"(the newest {asking.MAX_SHOWN})"),
    "CACHED_FOR": Figure("docs/policy.md", f"read the policy {OFTEN.get(policies.CACHED_FOR)}"),
    "MAX_INDEX_LINES": Figure(
        "docs/memory-files.md", f"stays under {memory_files.MAX_INDEX_LINES + 10} lines"
    ),
    "VERIFY_AFTER": Figure(
        "docs/knowledge.md", f"| `verify` | {days(entries.VERIFY_AFTER)} without a word"
    ),
    "MAX_COMMON_WORDS": Figure(
        "docs/knowledge.md", f"equal evidence of more than {entries.MAX_COMMON_WORDS} words"
    ),
    "RETIRE_FROM": Figure(
        "docs/knowledge.md", f"| `retired` | {NUMBERS[entries.RETIRE_FROM]} origins"
    ),
    "CONFIRM_FROM": Figure(
        "docs/knowledge.md", f"{NUMBERS[entries.CONFIRM_FROM]} origins together end a contradiction"
    ),
    "MAX_CONTRADICTIONS_A_DAY": Figure(
        "docs/knowledge.md", f"within a day {NUMBERS[entries.MAX_CONTRADICTIONS_A_DAY]} count"
    ),
    "MAX_RELATED": Figure(
        "docs/recall.md", f"has the lesson among its first {NUMBERS[admission.MAX_RELATED]}"
    ),
    "MAX_ID_WORDS": Figure(
        "docs/recall.md", f"has the first {NUMBERS[keys.MAX_ID_WORDS]} topic words"
    ),
    "MIN_RELEVANCE": Figure(
        "docs/recall.md", f"from a relevance of {ranking.MIN_RELEVANCE:g}".replace("0.", ".")
    ),
    "MAX_FITTING": Figure(
        "docs/hooks.md", f"one to {NUMBERS[prompting.MAX_FITTING]} lessons that fit the prompt"
    ),
    "HALF_LIFE_DAYS": Figure("docs/decay.md", f"half-life = {decay.HALF_LIFE_DAYS:g} days"),
    "SPACED_AFTER": Figure(
        "docs/decay.md", f"comes a {days(reinforcement.SPACED_AFTER)} or more after the last one"
    ),
    "PRUNE_AFTER_DAYS": Figure(
        "docs/decay.md", f"another `pruneAfter` days ({programs.PRUNE_AFTER_DAYS})"
    ),
    "MAX_PAGES": Figure("docs/decay.md", f"A program has {NUMBERS[programs.MAX_PAGES]} pages"),
    "FREED_SHARE": Figure("docs/decay.md", f"the weakest {PARTS.get(paging.FREED_SHARE)} of all"),
    "FOREIGN_CONFIDENCE": Figure(
        "docs/other-memories.md", f"Its confidence is {texts.FOREIGN_CONFIDENCE}:"
    ),
    "CLOCK_SKEW": Figure(
        "docs/architecture.md", f"up to {sent.CLOCK_SKEW.seconds // 60} minutes ahead of the server"
    ),
    "MAX_AGE_S": Figure(
        "docs/tokens.md", f"A revocation holds within {access.MAX_AGE_S:g} seconds"
    ),
}


@pytest.mark.parametrize("name", FIGURES)
def test_the_page_that_a_limit_cites_has_its_figure(name: str) -> None:
    page, sentence = FIGURES[name]
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert sentence in text, (
        f"{page} must have {sentence!r}: change the page with {name}, or the words in FIGURES"
    )


def test_every_limit_that_cites_a_page_has_a_sentence() -> None:
    pages = {name: figure.page for name, figure in FIGURES.items()}
    missing = [f"{name}: {page}" for name, page in cited() if pages.get(name) != page]
    assert not missing, (
        f"FIGURES needs the words of the page that have the value: {', '.join(missing)}"
    )


def cited() -> Iterator[tuple[str, str]]:
    """Yield (name, page) of each number of the package that cites a page of docs/."""
    for path in Path(fleet_memory.__file__).parent.rglob("*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            if found := CITING.match(line):
                yield found[1], found[2]
