"""The command, and `python -m fleet_memory`, which serves without arguments, as an MCP client's
configuration expects.
"""

import sys

from fleet_memory import moment


def run_command(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code; a hook on a tool without the command line, which
    takes longer to import than such a hook may take.
    """
    words = sys.argv[1:] if arguments is None else arguments
    try:
        if words[:1] == ["hook"] and words[1:] and words[1] in moment.TOOL_EVENTS:
            command = [sys.executable, "-P", "-m", "fleet_memory", "hook", "note"]
            return moment.answer_stdin([*command, *words[2:]])
        from fleet_memory.cli import main as run  # noqa: PLC0415 a hook on a tool goes without

        return run(words)
    except KeyboardInterrupt:
        return 130  # while the command line is imported; from there it answers one itself


if __name__ == "__main__":
    sys.exit(run_command(sys.argv[1:] or ["serve"]))
