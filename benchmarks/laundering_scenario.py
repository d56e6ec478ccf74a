"""A way by which one origin could look like two, as a scenario with its honest twin. For
benchmarks/laundering.py.
"""

from typing import Final, NamedTuple, Protocol

from laundering_fleet import World

# One lesson in the words of several agents
LOOK: Final = "Look whether a task is still free before you claim it"
CHECK: Final = "Check that nobody else has claimed a task before claiming it"
LATE: Final = "A task may be taken by the time you claim it, so check again"
STARTS: Final = "Claiming a task starts with a look whether it is still free"
# Another lesson near it, in two wordings
LOG: Final = "Write the reason for claiming a task into its log before you start"
LOGGED: Final = "A task's log wants your reason for claiming it, in writing, at the start"
# Other figures
THREE_TIMES: Final = "Retry a failed upload 3 times before giving up"
FIVE_TIMES: Final = "Retry a failed upload 5 times before giving up"

# Outcomes, as `World.outcome` names them
TWO: Final = "fresh, discovered by basher, iso"
THREE: Final = "fresh, discovered by basher, iso, sark"
FOUR: Final = "fresh, discovered by basher, iso, ram, sark"

# Reasons of ways that no rule stops
CHECKED_ONCE: Final = (
    "showings are compared once, when a lesson joins, with the texts in the entry by then; later "
    "would read every contributor"
)


class Story(Protocol):
    """Something that agents do in a new world; afterwards all are asked until no question is
    left.
    """

    async def __call__(self, world: World, *, honest: bool) -> None:
        """Play it."""


class Scenario(NamedTuple):
    """A story with the entries that it should leave, laundered and honest, as `World.outcome` names
    them.

    `not_defended` is the reason why no rule stops the laundered story; `laundered` is then the
    state in which it ends all the same.
    """

    name: str
    story: Story
    laundered: str
    honest: str = TWO
    not_defended: str = ""
