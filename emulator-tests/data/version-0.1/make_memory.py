"""Live the life of a small fleet on one store: eight months of four programs, through the tools and
the commands.

PYTHON make_memory.py ADDRESS     PYTHON is an interpreter that has the version in question
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

CHECK = "Always check task.status === 'created' before claiming to avoid race conditions"
VERIFY = "Verify that a task is still unclaimed before you claim it, or two agents race for it"
LOOK = (
    "Before claiming a task, make sure its status is still created: another agent may have "
    "been faster"
)
ECHO = "Always check that a task's status is created before claiming it, to avoid race conditions"
FORCE = "Never force-push to a shared branch"
DNS = "Cache DNS answers for a whole day in every worker"
MIGRATE = "Run the database migration before the deploy, never after it"
TIMEOUT = "Set an explicit timeout on every outbound HTTP call"
DEADLINE = (
    "Network requests without a deadline can hang a worker forever, so give each one a time limit"
)
NO_KEYS = "Never commit a secret to the repository"

SEEDS = """
[[entry]]
text = "Ask a person before you delete data"
domain = "safety"
key = "ask-first"
confidence = 0.95
why = "A table was lost in 2025"

[[entry]]
text = "{no_keys}"
domain = "security"
"""
PAGER = """
[[entry]]
text = "Page a person at night only for lost data"
domain = "operations"
key = "pager"
"""

Lesson = dict[str, object]


def lesson(text: str, domain: str, confidence: float = 0.8, **more: object) -> Lesson:
    return {
        "pattern": text,
        "domain": domain,
        "confidence": confidence,
        "evidence": f"Seen: {domain}",
    } | more


FIRST: Mapping[str, Sequence[Lesson]] = {
    "basher": (
        lesson(
            CHECK, "task-claiming", 0.92, id="claim-race", tags=["tasks", "race"], sessionId="b-1"
        ),
        lesson(FORCE, "git", 0.9, projectId="harbor"),
        lesson(
            "Run git pull --rebase before retrying a rejected push",
            "git",
            0.7,
            projectId="harbor",
            tags=["git"],
        ),
        lesson(TIMEOUT, "http", 0.8, id="timeout"),
        lesson(MIGRATE, "deploys", 0.85),
        lesson("Retry 3 times before giving up on a claim", "retries", 0.6),
        lesson("Compress logs older than a week", "logging", 0.3, id="compress"),
    ),
    "sark": (
        lesson(VERIFY, "task-claiming", 0.89, tags=["tasks"]),
        lesson(FORCE, "git-operations", 0.8, projectId="harbor"),
        lesson(DEADLINE, "http", 0.75, id="deadline"),
        lesson(DNS, "networking", 0.7),
        lesson("Retry 30 times before giving up on a claim", "retries", 0.5),
        lesson(
            "Rotate the context when 35 percent of it remains",
            "context",
            0.8,
            id="rotate",
            projectId="beacon",
        ),
        lesson("Pin the version of every build tool", "builds", 0.65, tags=["builds"]),
    ),
    "iso": (
        lesson(LOOK, "task-claiming", 0.85),
        lesson(DNS, "dns", 0.6),
        lesson(MIGRATE, "databases", 0.9, projectId="beacon"),
        lesson("Claim tasks in one batch instead of looping over single claims", "batching", 0.7),
        lesson(
            "Rotate the context when 10 percent of it remains", "context", 0.6, projectId="beacon"
        ),
        lesson("Keep the demo database small", "databases", 0.2, id="small-demo"),
        lesson(NO_KEYS, "security", 0.9),
    ),
    "clu": (
        lesson("Perfect systems need a nightly audit of their permissions", "permissions", 0.8),
        lesson(FORCE.lower(), "git", 0.7),
    ),
}


class Life:
    """A store, and the sessions and commands that happen to it, each at its own instant."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.client: Client

    def environment(self, now: str) -> dict[str, str]:
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("FLEET_MEMORY_")
        }
        ours = {
            "FLEET_MEMORY_STORE": self.address,
            "FLEET_MEMORY_NOW": now,
            "FLEET_MEMORY_TOOLSETS": "all",
        }
        return clean | ours

    def command(self, now: str, *words: str) -> str:
        line = [sys.executable, "-m", "fleet_memory", *words]
        ended = subprocess.run(  # noqa: S603 - ours
            line, capture_output=True, text=True, check=False, env=self.environment(now)
        )
        assert ended.returncode in (0, 1), ended.stderr
        return ended.stdout

    def session(self, now: str) -> Client:
        arguments = ["-m", "fleet_memory", "serve"]
        server = StdioServerParameters(
            command=sys.executable, args=arguments, env=self.environment(now)
        )
        self.client = Client(server)
        return self.client

    async def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, (tool, arguments, result.content)
        assert result.structured_content is not None
        answer: dict[str, Any] = result.structured_content
        return answer

    async def store(self, program: str, *lessons: Lesson) -> None:
        for one in lessons:
            await self.call("store_memory", programId=program, pattern=one)


async def winter(life: Life) -> None:
    """Four programs learn apart; the rules are seeded; the first knowledge is published."""
    for day, (program, lessons) in enumerate(FIRST.items(), 10):
        async with life.session(f"2026-01-{day}T09:00:00Z"):
            await life.store(program, *lessons)
    seed(life, "2026-01-15T08:00:00Z", SEEDS.format(no_keys=NO_KEYS) + PAGER)
    async with life.session("2026-01-20T10:00:00Z"):
        for _ in range(2):
            await life.call(
                "reinforce_memory", programId="basher", patternId="claim-race", evidence="Again"
            )
        await life.call(
            "reinforce_memory", programId="basher", patternId="timeout", outcome="contradicted"
        )
        await life.call(
            "reinforce_memory",
            programId="sark",
            patternId="rotate",
            confidence=0.9,
            requestId="r-1",
        )
        offered = await life.call("pattern_consolidate")
        await judge(life, offered)
        state = {
            "lastTask": {"taskId": "t1", "title": "Claim queue", "outcome": "done"},
            "handoffNotes": "Look at 7",
        }
        await life.call(
            "update_program_state",
            programId="basher",
            contextSummary=state,
            config={"lane": "fast"},
        )
        await life.call("update_program_state", programId="basher", baselines={"claimsPerHour": 41})
        for text in (
            "Port 8085 is taken",
            "The staging key expires on Friday",
            "Ask iso about batches",
        ):
            await life.call(
                "add_note", programId="basher", text=text, pinned=text.startswith("Ask")
            )
        await life.call("edit_note", programId="basher", noteId="n1", text="Port 8086 is taken")
        await life.call("remove_note", programId="basher", noteId="n2")


async def judge(life: Life, offered: dict[str, Any]) -> None:
    """Answer one pair with yes and one with no; the others stay open."""
    pairs = [*offered["review"], *offered["contested"]]
    same = next(
        pair for pair in pairs if {pair["a"]["pattern"], pair["b"]["pattern"]} >= {DEADLINE}
    )
    other = next(pair for pair in pairs if "Retry" in pair["a"]["pattern"])
    verdicts = [
        {"pairId": same["pairId"], "same": True, "reason": "Both bound a call"},
        {"pairId": other["pairId"], "same": False, "reason": "3 is not 30"},
    ]
    await life.call("pattern_consolidate", verdicts=verdicts)


def seed(life: Life, now: str, rules: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "rules.toml")
        file.write_text(rules, encoding="utf-8")
        life.command(now, "seed", str(file), "--prune", "--yes")


async def spring(life: Life) -> None:
    """Agents boot, echo, confirm and contradict; sessions are committed; lessons are forgotten and
    restored.
    """
    async with life.session("2026-03-02T09:00:00Z"):
        boot = await life.call("gsp_bootstrap", agentId="quorra", depth="full")
        keys = {entry["pattern"]: entry["key"] for entry in boot["knowledge"]}
        await life.store(
            "quorra",
            lesson(ECHO, "task-claiming", 0.9),
            lesson(
                "Write the runbook before the alert",
                "operations",
                0.7,
                projectId="beacon",
                tags=["runbooks"],
            ),
            lesson("Put a time limit on each call that leaves the machine", "http", 0.7),
            lesson("Name a branch after its ticket", "git", 0.5, id="branch-names"),
        )
        for program, outcome in (("quorra", "contradicted"), ("basher", "contradicted")):
            dns = keys[DNS]
            await life.call(
                "reinforce_memory",
                programId=program,
                patternId=dns,
                outcome=outcome,
                evidence="An outage lasted a day",
            )
        await life.call(
            "reinforce_memory",
            programId="sark",
            patternId=keys[MIGRATE],
            outcome="contradicted",
            evidence="A column vanished under running code",
        )
        await life.call(
            "reinforce_memory", programId="quorra", patternId=keys[FORCE], evidence="Saved a branch"
        )
        session: dict[str, Any] = {
            "programId": "sark",
            "requestId": "s-1",
            "sessionId": "sark-morning",
            "patterns": [
                lesson(
                    "Warm the cache before the traffic is switched",
                    "deploys",
                    0.7,
                    projectId="beacon",
                )
            ],
            "reinforcements": [{"patternId": "deadline"}, {"patternId": "unknown"}],
            "contextSummary": {
                "activeWorkItems": ["Cache warming"],
                "openQuestions": ["How long does it last?"],
            },
            "notes": [{"text": "Traffic moves on Monday", "pinned": True}],
        }
        for _ in range(2):
            await life.call("commit_session", **session)
        handed = {"handoffNotes": "Cache is warm", "activeWorkItems": []}
        await life.call("commit_session", programId="sark", requestId="s-2", contextSummary=handed)
        for name in ("compress", "small-demo"):
            program = "basher" if name == "compress" else "iso"
            await life.call(
                "forget_memory", programId=program, patternId=name, reason="Not worth it"
            )
        await life.call("gsp_bootstrap", agentId="basher", task="claim a task")
    life.command("2026-03-02T10:00:00Z", "restore", "compress", "--program", "basher")
    life.command("2026-03-03T10:00:00Z", "maintain")


async def summer(life: Life) -> None:
    """One program forgets fast, one is deleted, a rule goes, an entry is retired by people, old
    lessons are swept.
    """
    seed(life, "2026-05-01T08:00:00Z", SEEDS.format(no_keys=NO_KEYS + ", not even for a minute"))
    async with life.session("2026-05-02T09:00:00Z"):
        decay = {"maxAge": 30, "maxUnpromotedPatterns": 2, "pruneAfter": 20}
        await life.call("update_program_state", programId="iso", decayConfig=decay, requestId="d-1")
        await life.call(
            "reinforce_memory", programId="basher", patternId="claim-race", evidence="In May, too"
        )
        await life.store(
            "sark",
            lesson("Rotate the context when 40 percent of it remains", "context", id="rotate"),
        )
        await life.store("iso", lesson("Drain a worker before you restart it", "deploys", 0.8))
        shared = await life.call("gsp_search", limit=100, maxTokens=20000)
    life.command("2026-05-03T09:00:00Z", "delete-program", "clu", "--yes")
    force = next(e["key"] for e in (shared["knowledge"]) if e["pattern"] == FORCE)
    for undo in ((), ("--undo",)):
        life.command("2026-05-04T09:00:00Z", "retire", force, "--why", "On trial", *undo)
    async with life.session("2026-06-20T09:00:00Z"):
        await life.store(
            "quorra",
            lesson(
                "Measure twice before you blame the network", "networking", 0.8, tags=["network"]
            ),
            lesson("Retry a flaky test 5 times, then open a ticket", "tests", 0.6),
            lesson(
                "A pull request of more than 400 changed lines is not read, so split it",
                "reviews",
                0.7,
            ),
        )
        await life.store(
            "sark",
            lesson("Retry a flaky test 2 times, then open a ticket", "tests", 0.7),
            lesson(
                "Keep each pull request under 400 changed lines, or nobody reads it", "reviews", 0.8
            ),
        )
        await life.call(
            "reinforce_memory", programId="sark", patternId="rotate", outcome="confirmed"
        )
        await life.call(
            "add_note", programId="quorra", text="Holidays start in July", requestId="n-1"
        )
    life.command("2026-07-28T10:00:00Z", "maintain")
    async with life.session("2026-08-01T09:00:00Z"):
        await life.store(
            "basher", lesson("Drain a worker before you restart it.", "operations", 0.9)
        )
        await life.call("gsp_bootstrap", agentId="sark")


async def main() -> None:
    life = Life(sys.argv[1])
    await winter(life)
    await spring(life)
    await summer(life)


if __name__ == "__main__":
    anyio.run(main)
