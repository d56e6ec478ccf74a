"""Prepare one session of the trial, and run its agent's commands.

    python session.py prepare ARM TASK PROGRAM FOLDER [MEMORY]
    python FOLDER/run.py 'COMMAND'          # what the agent runs its commands by
    python FOLDER/run.py mem TOOL 'JSON'    # a tool of its memory

ARM is none, knowledge, others, hooks or learn; MEMORY is the memory file: `learn` works on it, the others
on a copy. Writes FOLDER/prompt.md for the agent; FOLDER/calls.jsonl has what it did. Run it by the Python that
has the package of this checkout.
"""

import json
import os
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

HERE = Path(__file__).resolve().parent
MEMORY_COMMAND = [sys.executable, "-P", "-m", "fleet_memory"]
PROMPT = """\
You work in the repository of Halyard in {repo}. Do the task below on your own and finish with a short report.
Run EVERY command by `{run} 'COMMAND'`: it runs COMMAND with bash in the repository and prints its output and exit
code. Create and edit files by such commands too (heredocs, sed, python3). Look at nothing outside {repo}: no other folder
of this machine, no process, no environment beyond it.
{memory}
Task:
{task}"""
MEMORY = """
You share a memory with other agents of the company (Fleet Memory). You are `{program}`. It shows you at the start:
<memory>
{start}
</memory>
Its tools as commands, each prints JSON:
{run} mem recall_memory '{{"programId":"{program}","query":"…"}}' (before a task or decision)
{run} mem reinforce_memory '{{"programId":"{program}","patternId":"KEY or id","evidence":"what you saw"}}' (a lesson proved right; \
with "outcome":"contradicted" wrong)
{run} mem store_memory '{{"programId":"{program}","pattern":{{"pattern":"one sentence","domain":"short-name","confidence":0.8,\
"evidence":"what you saw"}}}}' (your work taught you something that will matter again, to others too)
"""


def prepare(arm: str, task: str, program: str, folder: Path, memory: Path | None) -> None:
    """Make a fresh repository, the memory of the arm and the agent's prompt."""
    folder.mkdir(parents=True)
    repo = folder / "halyard"
    subprocess.run(
        ["bash", str(HERE / "make_repo.sh"), str(repo)],
        check=True,
        env=os.environ | {"HAL_LOG": str(folder / "hal.log")},
        stdout=subprocess.DEVNULL,
    )
    file = folder / "memory.db"
    if memory is not None and arm == "learn":
        file = memory.resolve()
    elif memory is not None:
        shutil.copy(memory, file)
    about = {"arm": arm, "task": task, "program": program, "memory": str(file)}
    (folder / "about.json").write_text(json.dumps(about | {"session": str(uuid.uuid4())}))
    shutil.copy(__file__, folder / "run.py")
    text = (HERE / "tasks" / f"{task}.md").read_text()
    run = f"{sys.executable} {folder / 'run.py'}"
    words = "" if arm == "none" else MEMORY.format(
        program=program, run=run, start=Session(folder).start(text)
    )
    (folder / "prompt.md").write_text(PROMPT.format(repo=repo, run=run, memory=words, task=text))


class Session:
    """A prepared session."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.about = json.loads((folder / "about.json").read_text())
        self.repo = folder / "halyard"
        self.environment = os.environ | {
            "HAL_LOG": str(folder / "hal.log"),
            "XDG_STATE_HOME": str(folder / "state"),
            "FLEET_MEMORY_STORE": self.about["memory"],
            "FLEET_MEMORY_PROGRAM": self.about["program"],
            "FLEET_MEMORY_MAINTENANCE": "off",
            "CLAUDE_CODE_SESSION_ID": self.about["session"],
        }

    def start(self, task: str) -> str:
        """Return what the memory shows at the start."""
        if self.about["arm"] != "hooks":
            given = {"agentId": self.about["program"], "task": task[:1500]}
            return self._memory("call", "gsp_bootstrap", json.dumps(given))
        started = {"hook_event_name": "SessionStart", "source": "startup"}
        prompted = {"hook_event_name": "UserPromptSubmit", "prompt": task}
        said = [self._hooked(event) for event in (started, prompted)]
        return "\n".join(filter(None, said))

    def memory(self, *words: str) -> None:
        """Print a tool's answer."""
        answer = self._memory("call", *words)
        self._note("mem", [*words, answer])
        print(answer)

    def command(self, command: str) -> int:
        """Run a command and print its output, with the lines of hooks around it."""
        call = {"tool_name": "Bash", "tool_input": {"command": command}}
        self._tell({"hook_event_name": "PreToolUse", **call})
        ran = subprocess.run(
            ["bash", "-c", command],
            capture_output=True,
            text=True,
            env=os.environ | {"HAL_LOG": str(self.folder / "hal.log")},
            cwd=self.repo,
            timeout=300,
        )
        self._note("command", [command, ran.returncode])
        output = (ran.stdout + ran.stderr)[-12_000:]
        print(f"{output}[exit {ran.returncode}]")
        if ran.returncode:
            event = {"hook_event_name": "PostToolUseFailure", **call}
            self._tell(event | {"error": output[-2_000:]})
        return ran.returncode

    def _tell(self, event: dict[str, object]) -> None:
        if self.about["arm"] != "hooks":
            return
        import fleet_memory.moment  # the installed script; the trial runs it as a client does

        words = [sys.executable, "-I", "-S", str(fleet_memory.moment.__file__)]
        if line := self._context(self._run(words, event)):
            self._note("hook", [line])
            print(f"<memory>{line}</memory>")

    def _hooked(self, event: dict[str, object]) -> str:
        words = [*MEMORY_COMMAND, "hook", str(event["hook_event_name"])]
        return self._context(self._run(words, event))

    def _context(self, output: str) -> str:
        return json.loads(output)["hookSpecificOutput"]["additionalContext"] if output else ""

    def _memory(self, *words: str) -> str:
        return self._run([*MEMORY_COMMAND, *words], {})

    def _run(self, words: list[str], event: dict[str, object]) -> str:
        known = {"session_id": self.about["session"], "cwd": str(self.repo)}
        ran = subprocess.run(
            words,
            input=json.dumps(known | event),
            capture_output=True,
            text=True,
            env=self.environment,
            cwd=self.repo,
        )
        return ran.stdout.strip() or (ran.stderr.strip() if "call" in words else "")

    def _note(self, kind: str, what: list[object]) -> None:
        with (self.folder / "calls.jsonl").open("a") as file:
            file.write(json.dumps([kind, *what]) + "\n")


def main() -> None:
    """See the module."""
    if sys.argv[1] == "prepare":
        arm, task, program, folder, *memory = sys.argv[2:]
        prepare(arm, task, program, Path(folder).resolve(), Path(memory[0]) if memory else None)
        return
    session = Session(HERE)
    if sys.argv[1] == "mem":
        session.memory(*sys.argv[2:])
    else:
        sys.exit(session.command(" ".join(sys.argv[1:])))


if __name__ == "__main__":
    main()
