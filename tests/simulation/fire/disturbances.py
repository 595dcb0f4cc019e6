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
                await gateway.start()

    killer = asyncio.create_task(kill_now_and_then()) if pause_seconds else None
    try:
        yield
    finally:
        if killer is not None:
            killer.cancel()
            with suppress(asyncio.CancelledError):
                await killer
        await asyncio.to_thread(gateway.incarnation.close)


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
