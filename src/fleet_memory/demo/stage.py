"""Where the demo plays: sessions that share nothing but one memory file, each with a clock of its
own.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from fleet_memory.clock import clock
from fleet_memory.fleet import Fleet
from fleet_memory.server.composition import LazyFleet
from fleet_memory.settings import Settings


class Stage(NamedTuple):
    """A stage; `settings` name a memory that nothing else uses."""

    settings: Settings

    @asynccontextmanager
    async def session(
        self, at: datetime | None = None, program: str | None = None
    ) -> AsyncIterator[Fleet]:
        """Open the memory as a server would, for `program` alone if one is given; the clock starts
        at `at` or now.
        """
        lazy = LazyFleet(replace(self.settings, program=program), clock(at))
        try:
            yield await lazy.fleet()
        finally:
            await lazy.close()
