"""Both clients, through a faulty machine, on a gateway with a spreadsheet of its own."""

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from sheets_gateway_client import AsyncSheets, RetryOptions, Sheets
from sheets_gateway_client.connection import Timing
from tests.clients.middlebox import Middlebox
from tests.journeys.conftest import (
    Api,
)


@dataclass
class Waits:
    """Time that passes only while a client waits; `on_wait` is what happens then."""

    now: float = 1000.0
    seconds: list[float] = field(default_factory=list)
    on_wait: Callable[[], None] = lambda: None
    is_real: bool = False
    """True if the time passes elsewhere too."""

    def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self.now += seconds
        threading.Event().wait(seconds if self.is_real else 0)
        self.on_wait()

    async def sleep_async(self, seconds: float) -> None:
        await asyncio.to_thread(self.sleep, seconds)

    @property
    def timing(self) -> Timing:
        return Timing(clock=lambda: self.now, chance=lambda: 1.0)


@dataclass(frozen=True)
class Blocking:
    """The methods of an asynchronous client, called from a thread."""

    client: Any
    portal: BlockingPortal

    def sheet(self, name: str, **options: Any) -> "Blocking":
        return Blocking(self.client.sheet(name, **options), self.portal)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self.client, name)

        async def collected(*args: Any, **options: Any) -> list[Any]:
            return [row async for row in method(*args, **options)]

        run = collected if inspect.isasyncgenfunction(method) else method
        return lambda *args, **options: self.portal.call(partial(run, *args, **options))


Connect = Callable[..., Any]
"""Makes a client of the kind that is tested; arguments as for `Sheets`, all with defaults."""


@pytest.fixture
def api(gateway_of_package: Api) -> Api:
    """The gateway on a freshly seeded emulator."""
    gateway_of_package.emulator.reset()
    return gateway_of_package


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture(scope="module")
def portal() -> Iterator[BlockingPortal]:
    """The event loop of asynchronous clients."""
    with start_blocking_portal() as running:
        yield running


@pytest.fixture(params=["sync", "async"])
def connect(
    request: pytest.FixtureRequest,
    api: Api,
    middlebox: Middlebox,
    waits: Waits,
    portal: BlockingPortal,
) -> Iterator[Connect]:
    """Makes clients of one kind, which are closed at the end."""
    made: list[Any] = []

    def connect(**options: Any) -> Any:
        given: dict[str, Any] = {
            "base_url": middlebox.url,
            "api_key": api.keys["paid"],
            "spreadsheet_id": "demo",
            "retry": RetryOptions(),
            "timing": waits.timing,
            **options,
        }
        if request.param == "sync":
            client: Any = Sheets(**{"sleep": waits.sleep, **given})
        else:
            asynchronous = AsyncSheets(**{"sleep": waits.sleep_async, **given})
            client = Blocking(asynchronous, portal)
        made.append(client)
        return client

    yield connect
    for client in made:
        client.close()


@pytest.fixture
def cities(connect: Connect) -> Any:
    """The worksheet `Cities`, whose rows 2 to 11 are ten cities."""
    return connect().sheet("Cities")
