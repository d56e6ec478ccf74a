"""One row of the table of settings, as the command line and the pages show it."""

from typing import NamedTuple


class Setting(NamedTuple):
    """One row of the table. `default` is written as a user would write it, "" for nothing."""

    name: str
    default: str
    allowed: str
    help: str

    @property
    def variable(self) -> str:
        """The environment variable."""
        return f"FLEET_MEMORY_{self.name.upper()}"

    @property
    def flag(self) -> str:
        """The command line flag."""
        return "--" + self.name.replace("_", "-")
