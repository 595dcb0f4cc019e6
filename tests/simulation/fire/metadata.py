"""Others who fill the developer metadata of a spreadsheet, and make room again."""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from tests.simulation.edits import person_at
from tests.simulation.fire.orders import SPREADSHEET

KEY = "others"
FIRST_ENTRIES = 20
SIZES = (1000, 200, 20)
"""Characters of the values, one size after the other until no more fits."""
LONGEST_SECONDS = 4.0

Span = tuple[float, float]


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
    """Others fill the metadata for a while, again and again, 0: not at all.

    The spans in which it may have been full go to `full`.
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
    """Create entries until Google refuses even a small one."""
    with person_at(url, credentials, spreadsheet) as client:
        entries = [_entry(SIZES[0])] * FIRST_ENTRIES
        for size in SIZES:
            with suppress(AssertionError):
                while True:
                    client.send("POST", ":batchUpdate", {"requests": entries})
                    entries = [_entry(size)]
            entries = [_entry(size)]


def clear(url: str, credentials: Path, spreadsheet: str) -> None:
    """Delete these entries."""
    lookup = {"developerMetadataLookup": {"metadataKey": KEY}}
    deletion = {"deleteDeveloperMetadata": {"dataFilter": lookup}}
    with person_at(url, credentials, spreadsheet) as client:
        client.send("POST", ":batchUpdate", {"requests": [deletion]})


def _entry(size: int) -> object:
    metadata = {
        "metadataKey": KEY,
        "metadataValue": "x" * size,
        "location": {"spreadsheet": True},
        "visibility": "DOCUMENT",
    }
    return {"createDeveloperMetadata": {"developerMetadata": metadata}}
