"""Thousands of wrong keys from the address of valid keys, as behind a proxy."""

import asyncio
from collections import Counter
from pathlib import Path

import httpx2

from gateway.access.keys import mint_key
from gateway.storage.key_store import Grants, KeyRequest
from tests.journeys.conftest import DEMO, EmulatorControl, make_keys, running_gateways

GUESSES = 10_000
CLIENTS = 50
SETTINGS = {"access.failures_per_minute": 20}
FIVE = {
    f"key {number}": KeyRequest(name=str(number), grants=Grants(spreadsheets=DEMO))
    for number in range(5)
}


def test_wrong_keys_do_not_block_valid_keys(emulator: EmulatorControl, tmp_path: Path) -> None:
    """After thousands of wrong keys, valid keys that were never used before get 200.

    The wrong keys have the format and checksum of keys.
    """
    database, old = make_keys(tmp_path, FIVE)
    with running_gateways(emulator, (database, old)) as start:
        api = start(SETTINGS)
        guessed = asyncio.run(guess(api.url))
        answers = [api.get("Cities", key=key) for key in old.values()]
        _, new = make_keys(tmp_path, FIVE)
        answers += [api.get("Cities", key=key) for key in new.values()]

    assert set(guessed) == {401, 429}
    assert sum(guessed.values()) == GUESSES
    assert guessed[429] > GUESSES * 0.9
    assert [answer.status_code for answer in answers] == [200] * 10


async def guess(url: str) -> Counter[int]:
    """Send wrong keys concurrently and count the statuses."""
    statuses = Counter[int]()

    async def send_some() -> None:
        async with httpx2.AsyncClient(base_url=url, timeout=30.0) as client:
            for _ in range(GUESSES // CLIENTS):
                headers = {"Authorization": f"Bearer {mint_key()}", "X-Spreadsheet-Id": "demo"}
                answer = await client.get("/v2/sheets/Cities", headers=headers)
                statuses[answer.status_code] += 1

    await asyncio.gather(*(send_some() for _ in range(CLIENTS)))
    return statuses
