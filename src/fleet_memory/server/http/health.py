"""`/healthz`: the process answers. `/readyz`: the store answers too, or why it does not."""

import logging
from typing import Final

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from fleet_memory.errors import FleetMemoryError
from fleet_memory.rules.text.shown_names import without_credentials
from fleet_memory.server.composition import LazyFleet

READY_WITHIN_S: Final = 5.0  # seconds for the store to answer; chosen
READY_FOR_S: Final = (
    2.0  # seconds that an answer counts: anybody may ask, and each question to the store is billed
)

_logger = logging.getLogger(__name__)


def health_routes(lazy: LazyFleet) -> list[Route]:
    """Return the two routes, which need no token and any host: what asks them knows an address
    alone.
    """
    return [Route("/healthz", _alive), Route("/readyz", _Readiness(lazy).answer)]


async def _alive(_: Request) -> Response:
    return JSONResponse({"alive": True})


class _Readiness:
    """Asks the store, at most once in `READY_FOR_S`. Billed 1 read each time."""

    def __init__(self, lazy: LazyFleet) -> None:
        self._lazy = lazy
        self._asking = anyio.Lock()
        self._asked_until = 0.0
        self._problem: str | None = None

    async def answer(self, _: Request) -> Response:
        async with self._asking:
            if anyio.current_time() >= self._asked_until:
                self._problem = await self._problem_of_store()
                self._asked_until = anyio.current_time() + READY_FOR_S
        if self._problem is None:
            return JSONResponse({"ready": True})
        return JSONResponse({"ready": False, "reason": self._problem}, 503)

    async def _problem_of_store(self) -> str | None:
        try:
            with anyio.fail_after(READY_WITHIN_S):
                await (await self._lazy.fleet()).last_runs.read()
        except TimeoutError:
            problem = f"The store did not answer within {READY_WITHIN_S:g} seconds."
            _logger.warning("not ready: %s", problem)
            return f"store_unavailable: {problem}"
        except FleetMemoryError as error:
            _logger.warning("not ready: %s %s", error, error.operator_detail)
            return f"{error.code}: {without_credentials(str(error))}"
        return None
