"""Calls of every tool that would let a private text of others through if a door stood open.

Each test that fills a fleet with such texts sends them, with its own guesses:
`tests/test_unpublished_texts.py` and `emulator-tests/test_leaks.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias, get_args

from fleet_memory.rules.retrieval.boot import Depth
from fleet_memory.schemas.knowledge import EntryState
from fleet_memory.server.registration import registered
from fleet_memory.tools.core.recall import Scope
from tests.matrix import OF_AGENTS, SPECS, arguments_of, calls_with, named_by

Arguments: TypeAlias = Mapping[str, object]
EVERYTHING = {"maxTokens": 100_000}


class Guesses(NamedTuple):
    """All that a bound agent could name of others, and what it stores and asks to come near their
    texts.

    `early` are the verdicts that it sends before it was shown a pair, `verdicts` those that it
    sends later. `lessons` are ids; `texts` are those of the lessons that it stores.
    """

    me: str
    others: Sequence[str]
    early: Sequence[Arguments]
    verdicts: Sequence[Arguments]
    lessons: Sequence[str]
    keys: Sequence[str]
    texts: Sequence[str]
    questions: Sequence[str]
    domains: Sequence[str]
    project: str
    tag: str


def prying_calls(guesses: Guesses) -> dict[str, list[Arguments]]:
    """Return calls of every tool of agents: those below, and of each other tool its example with
    every guess in every argument.
    """
    chosen = _chosen_calls(guesses)
    others = [tool for tool in OF_AGENTS if tool not in chosen]
    return chosen | {tool: [*_calls_by_schema(tool, guesses)] for tool in others}


def _calls_by_schema(tool: str, guesses: Guesses) -> Iterator[Arguments]:
    name, example = named_by(tool), arguments_of(tool, None)
    programs = (guesses.me, *guesses.others)
    own: list[Arguments] = [{name: program} for program in programs] if name else [{}]
    most = {
        argument: schema.get("maximum", 0) if schema["type"] == "integer" else True
        for argument, schema in registered(SPECS[tool]).accepted["properties"].items()
        if schema.get("type") in ("integer", "boolean")
    }
    yield from ({**example, **whose, **more} for whose in ({}, *own) for more in ({}, most))
    texts = guesses.texts
    if SPECS[tool].effect == "reads":  # what is written is the caller's own from then on
        texts = (*texts, *guesses.lessons, *guesses.keys, *guesses.domains, guesses.tag)
    for text in dict.fromkeys(texts):
        for call in calls_with(tool, text):
            yield from ({**call, **whose} for whose in own[:2])


def _chosen_calls(guesses: Guesses) -> dict[str, list[Arguments]]:
    """Return calls of every tool, by an agent about itself and about others.

    It commits before a run of maintenance gives it so many pairs of its own that it is no third
    program, and changes its own lessons last.
    """
    own: Arguments = {"programId": guesses.me}
    others: list[Arguments] = [{"programId": other} for other in guesses.others]
    anyone, about = [own, *others], (*guesses.lessons, *guesses.keys)
    return {
        "commit_session": [
            *_sessions(guesses, own),
            *({**one, **_session(guesses)} for one in others),
        ],
        "gsp_bootstrap": [
            boot for name in (guesses.me, *guesses.others) for boot in _boots(guesses, name)
        ],
        "recall_memory": [
            *_recalls(guesses, own),
            *(recall for one in others for recall in _recalls(guesses, one)),
        ],
        "gsp_search": [*_searches(guesses)],
        "gsp_read": [
            {"key": key, **EVERYTHING} for key in (*about, *(key[:-3] for key in guesses.keys))
        ],
        "pattern_consolidate": [
            *({}, {"dryRun": True}, {**own, "dryRun": True, "threshold": 2}),
            *anyone,
            {**own, "verdicts": guesses.verdicts},
            *({**own, "verdicts": [verdict]} for verdict in guesses.verdicts),
            {**own, "verdicts": guesses.verdicts[:1], "dryRun": True},
        ],
        "reinforce_memory": [
            {**one, "patternId": id_, "evidence": "seen"} for one in anyone for id_ in about
        ],
        "store_memory": [
            *_stores(guesses, own),
            *(store for one in others for store in [*_stores(guesses, one)][:1]),
        ],
        "forget_memory": [
            {**one, "patternId": id_, "reason": "x"} for one in anyone for id_ in about
        ],
    }


def lesson(text: str, domain: str) -> dict[str, object]:
    return {"pattern": text, "domain": domain, "confidence": 0.8, "evidence": "seen"}


def _session(guesses: Guesses) -> dict[str, object]:
    return {
        "patterns": [lesson(f"{guesses.texts[0]}, it turned out", guesses.domains[-1])],
        "reinforcements": [{"patternId": id_} for id_ in (*guesses.lessons, *guesses.keys)],
        "missing": [guesses.questions[-1]],
        "handoff": "All is done",
    }


def _sessions(guesses: Guesses, own: Arguments) -> Iterator[Arguments]:
    session = _session(guesses)
    yield {**own, "requestId": "one", "patterns": session.pop("patterns")}
    yield {**own, "requestId": "two", "verdicts": guesses.early}
    yield {**own, "requestId": "three", **session}


def _boots(guesses: Guesses, name: str) -> Iterator[Arguments]:
    whose: Arguments = {"agentId": name}
    for depth in get_args(Depth):
        yield from (
            {**whose, "depth": depth, "task": task, **EVERYTHING} for task in guesses.questions
        )
        yield from (
            {**whose, "depth": depth, "knownVersion": version, **EVERYTHING} for version in (0, 1)
        )
    yield {**whose, "projectId": guesses.project, "knownVersion": 0}


def _recalls(guesses: Guesses, whose: Arguments) -> Iterator[Arguments]:
    for scope in get_args(Scope):
        every = {**whose, "scope": scope, "includeStale": True, "limit": 100, **EVERYTHING}
        yield every
        yield from ({**every, "query": question, "explain": True} for question in guesses.questions)
    yield from ({**whose, "domain": domain} for domain in guesses.domains)
    yield {**whose, "projectId": guesses.project}
    yield {**whose, "tags": [guesses.tag]}


def _searches(guesses: Guesses) -> Iterator[Arguments]:
    for state in ({}, *({"status": one} for one in get_args(EntryState))):
        for about in (
            {},
            *({"query": question, "explain": True} for question in guesses.questions),
        ):
            yield {**state, **about, "limit": 100, **EVERYTHING}
    yield from ({"domain": domain} for domain in guesses.domains)


def _stores(guesses: Guesses, whose: Arguments) -> Iterator[Arguments]:
    for text in guesses.texts:
        yield {**whose, "pattern": {**lesson(text, "release"), "projectId": guesses.project}}
        for id_ in ({}, *({"id": one} for one in guesses.lessons)):
            for on_duplicate in ("reject", "reinforce", "keep"):
                yield {
                    **whose,
                    "pattern": {**lesson(text, "tasks"), **id_},
                    "onDuplicate": on_duplicate,
                }
        yield from (
            {**whose, "pattern": lesson(f"{text} again", domain)} for domain in guesses.domains
        )
