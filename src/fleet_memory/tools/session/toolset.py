"""The tool of `session`: one call that ends a session."""

from typing import Final

from fleet_memory.fleet import Tool, Toolset
from fleet_memory.tools.session.commit_session import commit_session
from fleet_memory.tools.session.shapes import session_as_meant

_TOOLS: Final = (
    Tool(
        commit_session,
        "Commit a session",
        "end of session, handoff",
        "adds",
        "own",
        {"handoff": "All is done"},
        reshape=session_as_meant,
    ),
)
SESSION_TOOLS: Final = Toolset(
    "session",
    _TOOLS,
    instructions=("commit_session does the end in one call, with your handoff.",),
)
