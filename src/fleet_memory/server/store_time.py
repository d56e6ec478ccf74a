"""Lets a server's clock follow the store's: each commit returns the store's time."""

from datetime import datetime

from fleet_memory.clock import StoreClock
from fleet_memory.server.forwarding_store import ForwardingStore
from fleet_memory.stores import Store, Write


class ObservedStore(ForwardingStore):
    """A store that sets a clock at each commit."""

    def __init__(self, store: Store, clock: StoreClock) -> None:
        super().__init__(store)
        self._clock = clock

    async def commit(self, *writes: Write) -> datetime:
        """See `Store.commit`."""
        asked_at = self._clock.uncorrected()
        store_time = await self._store.commit(*writes)
        if writes:  # without any, the answer is this machine's own time
            self._clock.observe(store_time, asked_at)
        return store_time
