"""Disturbances of a campaign: kill -9 of the gateway, edits by people, and full metadata."""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path

from tests.journeys.mortal import Mortal
from tests.simulation.people import Person, person_at
from tests.simulation.stage import FIRST_VISITED, SPREADSHEET

STARTS = 20
"""Number of attempts to start a gateway on a busy machine."""
PAUSE_SECONDS = 1.0
METADATA_KEY = "others"
FIRST_ENTRIES = 20
SIZES = (1000, 200, 20)
"""Sizes of metadata values in characters, tried in this order as space runs out."""
LONGEST_SECONDS = 4.0

Span = tuple[float, float]


@asynccontextmanager
async def killed_now_and_then(
    gateway: Mortal,
    kills: list[float],
    chance: random.Random,
    *,
    pause_seconds: float,
    calm: asyncio.Lock,
) -> AsyncIterator[None]:
    """Run the gateway during the block, and kill and restart it repeatedly.

    Appends the times of kills to `kills`. No kill happens while another task holds `calm`, or if
    `pause_seconds` is 0.
    """
    await _start(gateway)

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
    """Start a gateway, with retries."""
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
    """Edit rows as people during the block, except while another task holds `calm`.

    `pause_seconds` is the average time between edits; 0 means no edits.
    """

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


@asynccontextmanager
async def filled_now_and_then(
    url: str,
    credentials: Path,
    full: list[Span],
    chance: random.Random,
    *,
    pause_seconds: float,
    spreadsheet: str = SPREADSHEET,
) -> AsyncIterator[None]:
    """Fill the spreadsheet's metadata repeatedly during the block.

    Appends to `full` each time span in which the metadata might be full. `pause_seconds` is the
    average time between two; 0 means never.
    """

    async def fill_now_and_then() -> None:
        while True:
            await asyncio.sleep(pause_seconds * chance.uniform(0.5, 1.5))
            began = time.monotonic()
            try:
                await asyncio.to_thread(fill, url, credentials, spreadsheet)
                await asyncio.sleep(chance.uniform(0.5, LONGEST_SECONDS))
            finally:
                await asyncio.to_thread(clear, url, credentials, spreadsheet)
                full.append((began, time.monotonic()))

    filler = asyncio.create_task(fill_now_and_then()) if pause_seconds else None
    try:
        yield
    finally:
        if filler is not None:
            filler.cancel()
            with suppress(asyncio.CancelledError):
                await filler


def fill(url: str, credentials: Path, spreadsheet: str) -> None:
    """Create metadata entries until Google refuses even a small entry."""
    with person_at(url, credentials, spreadsheet) as client:
        entries = [_entry(SIZES[0])] * FIRST_ENTRIES
        for size in SIZES:
            with suppress(AssertionError):
                while True:
                    client.send("POST", ":batchUpdate", {"requests": entries})
                    entries = [_entry(size)]
            entries = [_entry(size)]


def clear(url: str, credentials: Path, spreadsheet: str) -> None:
    """Delete the metadata entries that `fill` created."""
    lookup = {"developerMetadataLookup": {"metadataKey": METADATA_KEY}}
    deletion = {"deleteDeveloperMetadata": {"dataFilter": lookup}}
    with person_at(url, credentials, spreadsheet) as client:
        client.send("POST", ":batchUpdate", {"requests": [deletion]})


def _entry(size: int) -> object:
    metadata = {
        "metadataKey": METADATA_KEY,
        "metadataValue": "x" * size,
        "location": {"spreadsheet": True},
        "visibility": "DOCUMENT",
    }
    return {"createDeveloperMetadata": {"developerMetadata": metadata}}
