"""A fleet full of other programs' private texts, each with a word of its own that no stranger may
ever read.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from agents import Agent

ME: Final = "basher"  # the program that the probed agent is bound to
LEARNT: Final = "2026-03-01T09:00:00Z"
ASKED: Final = "2026-03-02T09:00:00Z"  # when the agent asks

NEAR: Final = "kvjnear"  # begins the words of the program whose lesson resembles one of `ME`
FAR: Final = "kvjfar"  # begins those of a program whose lessons resemble none of `ME`
OLD: Final = "kvjold"  # begins those of texts that their programs replaced or forgot
DRAFT: Final = "kvjdraft"  # begins those of an entry that has one vote
FIELDS: Final = ("program", "id", "pattern", "domain", "evidence", "tail", "tag", "session")
STATE: Final = ("config", "baseline", "handoff", "note", "missing")

SHOWN_TO_JUDGES: Final = frozenset(f"{NEAR}{field}" for field in ("pattern", "domain", "evidence"))
"""The words that stand in the fields of `toJudge`: pattern, domain and the first whole sentences of
evidence, 300 characters at most.
"""
OWN_TEXT: Final = "Make sure that a task is still free before claiming it"
NEAR_TEXT: Final = "Make sure that a task is still free before you claim it"
FAR_TEXT: Final = "Rotate every database password after an incident"

CANARIES: Final = frozenset(
    (
        *(f"{NEAR}{field}" for field in (*FIELDS, *STATE)),
        *(
            f"{FAR}{field}"
            for field in (*FIELDS, *STATE, "project", "reason", "verdict", "reinforced")
        ),
        *(
            f"{OLD}{field}"
            for field in ("rewritten", "forgotten", "goneid", "why", "handoff", "note")
        ),
        *(f"{DRAFT}{field}" for field in ("pattern", "domain", "evidence", "id")),
    )
)


def program_of(prefix: str) -> str:
    return f"sark-{prefix}program"


def guessed(name: str) -> str:
    """Return the name without its last letter: a close guess that repeats no canary."""
    return name[:-1]


def lesson(prefix: str, text: str) -> dict[str, object]:
    """Return a lesson with a canary in each field; that of the evidence's end stands behind 300
    characters.
    """
    return {
        "id": f"{prefix}id",
        "pattern": f"{text} {prefix}pattern",
        "domain": f"claims {prefix}domain",
        "confidence": 0.8,
        "evidence": f"{prefix}evidence saw it. " + "It was seen again. " * 17 + f"{prefix}tail",
        "tags": [f"{prefix}tag"],
        "sessionId": f"{prefix}session",
    }


def canaries_of(text: str) -> Iterator[str]:
    """Yield the canaries that stand in a text, in any case."""
    lowered = text.lower()
    return (word for word in sorted(CANARIES) if word in lowered)


async def fill(operator: Agent) -> None:
    """Give the programs their lessons, their state and their pairs, as a caller that is bound to
    none.
    """
    await operator.call("store_memory", programId=ME, pattern=own_lesson())
    await _store_state(operator, NEAR)
    await operator.call("store_memory", programId=program_of(NEAR), pattern=lesson(NEAR, NEAR_TEXT))
    await _store_far(operator)
    await _store_draft(operator)
    await _judge_others(operator)


def own_lesson() -> dict[str, object]:
    return {
        "id": "free",
        "pattern": OWN_TEXT,
        "domain": "claims",
        "confidence": 0.8,
        "evidence": "Two agents took it",
    }


async def _store_state(operator: Agent, prefix: str) -> None:
    program = program_of(prefix)
    for handoff in (f"{OLD}handoff", f"{prefix}handoff"):
        await operator.call(
            "commit_session",
            programId=program,
            handoff=f"Go on with {handoff}",
            notes=[{"text": f"Mind {prefix}note"}],
            missing=[f"Where is {prefix}missing?"],
        )
    config: Mapping[str, object] = {"deploy": f"{prefix}config"}
    await operator.call(
        "update_program_state", programId=program, config=config, baselines={f"{prefix}baseline": 3}
    )


async def _store_far(operator: Agent) -> None:
    """Store lessons of a project, judge them against another program's, and forget and replace
    some.
    """
    program = program_of(FAR)
    await _store_state(operator, FAR)
    of_project = {**lesson(FAR, FAR_TEXT), "projectId": f"{FAR}project"}
    await operator.call("store_memory", programId=program, pattern=of_project)
    words = {"programId": program, "patternId": f"{FAR}id", "evidence": f"{FAR}reinforced"}
    await operator.call("reinforce_memory", **words)
    for name, text in (
        ("rewritten", f"Back up {OLD}rewritten"),
        (f"{OLD}goneid", f"Restore {OLD}forgotten"),
    ):
        old = {
            "id": name,
            "pattern": text,
            "domain": "backups",
            "confidence": 0.8,
            "evidence": f"{OLD}why",
        }
        await operator.call("store_memory", programId=program, pattern=old)
    rewritten = {
        "id": "rewritten",
        "pattern": "Back up daily",
        "domain": "backups",
        "confidence": 0.8,
        "evidence": "",
    }
    await operator.call("store_memory", programId=program, pattern=rewritten)
    await operator.call(
        "forget_memory", programId=program, patternId=f"{OLD}goneid", reason=f"Because {FAR}reason"
    )
    note = await operator.call("write_note", programId=program, text=f"Old {OLD}note")
    await operator.call("write_note", programId=program, noteId=note["noteId"], remove=True)


async def _judge_others(operator: Agent) -> None:
    """Propose, and let one program doubt a pair with another, for a reason."""
    for program, text in (
        (program_of(FAR), "Pin the compiler in the build file"),
        ("tron", "Pin the compiler in builds"),
    ):
        pinned = {
            "id": "pin",
            "pattern": text,
            "domain": "builds",
            "confidence": 0.8,
            "evidence": "A build broke",
        }
        await operator.call("store_memory", programId=program, pattern=pinned)
    await operator.call("pattern_consolidate")
    asked = await operator.call("pattern_consolidate", programId=program_of(FAR))
    (pair,) = asked["toJudge"]
    verdict = {"pairId": pair["pairId"], "verdict": "unsure", "reason": f"Not clear: {FAR}verdict"}
    await operator.call("pattern_consolidate", programId=program_of(FAR), verdicts=[verdict])


async def _store_draft(operator: Agent) -> None:
    """Store equal words of two programs in one session: an entry with one vote."""
    for program in ("iso", "tron"):
        draft = {
            "id": f"{DRAFT}id",
            "pattern": f"Warm the cache before the release {DRAFT}pattern",
            "domain": f"release {DRAFT}domain",
            "confidence": 0.8,
            "evidence": f"{program} saw {DRAFT}evidence twice in one week",
            "sessionId": "one-session",
        }
        await operator.call("store_memory", programId=program, pattern=draft)
