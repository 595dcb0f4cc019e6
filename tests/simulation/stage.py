"""Stage of all simulations: the emulator behind an observer, and a gateway as a process."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp

from gateway.server.running import in_background, make_server
from gateway.server.sockets import base_url, bind
from sheets_emulator.app import Emulator
from tests.journeys.mortal import Mortal, prepare

NO_LIMIT = 1_000_000
CREDENTIALS = "credentials.json"
KEYS = "keys.db"

Tables = Mapping[str, Mapping[str, object]]
"""Settings of a gateway, by their tables."""


@contextmanager
def served(emulator: Emulator, app: ASGIApp, folder: Path) -> Iterator[str]:
    """The URL of an emulator, served through `app` for the time of the block."""
    listening = bind("127.0.0.1", 0)
    emulator.write_credentials(folder / CREDENTIALS, base_url(listening))
    with in_background(make_server(app, shutdown_seconds=1), listening) as url:
        yield url


def gateway_process(folder: Path, emulator_url: str, settings: Tables) -> Mortal:
    """A gateway in front of the emulator, without a rate limit, that has yet to be started."""
    own: Tables = {
        "google": {"endpoint": emulator_url, "credentials": str(folder / CREDENTIALS)},
        "access": {"database": str(folder / KEYS)},
        "plans.paid": {"requests_per_minute": NO_LIMIT},
    }
    tables = {**own, **settings}
    return prepare(folder, {name: {**own.get(name, {}), **table} for name, table in tables.items()})


async def stop_after(seconds: float, tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Let tasks go on for a while, then end them; what goes wrong in one of them is raised."""
    await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
    for task in tasks:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    for result in results:
        if isinstance(result, Exception):
            raise result
