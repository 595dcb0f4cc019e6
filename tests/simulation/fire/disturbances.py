"""What disturbs a campaign while it lasts: kill -9 of the gateway, and edits by people."""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import count

from tests.journeys.mortal import Mortal
from tests.simulation.fire.orders import FIRST_VISITED
from tests.simulation.fire.person import Person

STARTS = 20
"""Attempts to start a gateway, which takes longer than `running` waits on a busy machine."""
PAUSE_SECONDS = 1.0


@asynccontextmanager
async def killed_now_and_then(
    gateway: Mortal,
    kills: list[float],
    chance: random.Random,
    *,
    pause_seconds: float,
    calm: asyncio.Lock,
) -> AsyncIterator[None]:
    """The gateway serves for the time of the block, but is killed, 0: not at all.

    The moments go to `kills`. Who has `calm` keeps the gateway alive.
    """
    await gateway.start()

    async def kill_now_and_then() -> None:
        while True:
            await asyncio.sleep(pause_seconds * chance.uniform(0.5, 1.5))
            async with calm:
                kills.append(time.monotonic())
                await gateway.kill()
                await _start(gateway)

    killer = asyncio.create_task(kill_now_and_then()) if pause_seconds else None
    try:
        yield
    finally:
        if killer is not None:
            killer.cancel()
            with suppress(asyncio.CancelledError):
                await killer
        await asyncio.to_thread(gateway.incarnation.close)


async def _start(gateway: Mortal) -> None:
    """Start a gateway, once more if that fails."""
    for _ in range(STARTS - 1):
        with suppress(AssertionError):
            await gateway.start()
            return
        await asyncio.sleep(PAUSE_SECONDS)
    await gateway.start()


@asynccontextmanager
async def edited_now_and_then(
    person: Person, chance: random.Random, *, pause_seconds: float, calm: asyncio.Lock
) -> AsyncIterator[None]:
    """People edit rows for the time of the block, 0: not at all, while nobody else has `calm`."""

    async def edit_now_and_then() -> None:
        for number in count(FIRST_VISITED):
            await asyncio.sleep(pause_seconds * chance.uniform(0.5, 1.5))
            async with calm:
                await asyncio.to_thread(person.do_something, number)

    editor = asyncio.create_task(edit_now_and_then()) if pause_seconds else None
    try:
        yield
    finally:
        if editor is not None:
            async with calm:
                editor.cancel()
            with suppress(asyncio.CancelledError):
                await editor
