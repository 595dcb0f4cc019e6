"""Delay until a revoked key in constant use is refused."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import httpx2

from gateway.storage.key_store import KeyStore
from tests.journeys.conftest import KEYS, EmulatorControl, make_keys, running_gateways

EFFECTIVE_SECONDS = 5.0
PAUSE_SECONDS = 0.02
LONGEST_SECONDS = 15.0
SETTINGS = {"cache.rows_ttl_seconds": 60}
USES = ("GET Cities", "GET Cities/2", "GET Cities?order=name", "PATCH Cities/2")
"""Requests that use the key. A separate client repeats each of them many times a second."""


def test_a_revoked_key_is_refused_everywhere_within_five_seconds(
    emulator: EmulatorControl, tmp_path: Path
) -> None:
    """No request that begins more than five seconds after the revocation is served."""
    database, keys = make_keys(tmp_path, {"paid": KEYS["paid"], "free": KEYS["free"]})
    key_id = asyncio.run(id_of(database, "paid"))
    with running_gateways(emulator, (database, keys)) as start:
        api = start(SETTINGS)
        with ThreadPoolExecutor(len(USES)) as pool:
            is_warm = threading.Barrier(len(USES) + 1)
            futures = [pool.submit(used, api.url, keys["paid"], use, is_warm.wait) for use in USES]
            is_warm.wait(LONGEST_SECONDS)
            asyncio.run(revoke(database, key_id))
            revoked = time.monotonic()
            lasts = [future.result() for future in futures]
        other = api.get("Cities", key="free")

    assert [use for use, last in zip(USES, lasts, strict=True) if last is None] == []
    assert max(last - revoked for last in lasts if last is not None) <= EFFECTIVE_SECONDS
    assert other.status_code == 200


def used(url: str, key: str, use: str, warmed: Callable[[float], object]) -> float | None:
    """Start of the last request that was not refused; None if there was none."""
    method, _, path = use.partition(" ")
    body = {"name": "x"} if method == "PATCH" else None
    ends, last = None, None
    with httpx2.Client(headers={"API-Key": key}, timeout=LONGEST_SECONDS) as client:
        while ends is None or time.monotonic() < ends:
            began = time.monotonic()
            status = client.request(method, f"{url}/v2/sheets/{path}", json=body).status_code
            assert status in (200, 401)
            if status == 401:
                return last
            last = began
            if ends is None:
                warmed(LONGEST_SECONDS)
                ends = time.monotonic() + LONGEST_SECONDS
            threading.Event().wait(PAUSE_SECONDS)
    return None


async def id_of(database: Path, name: str) -> str:
    async with KeyStore.open(database) as store:
        (found,) = [record.id for record in await store.list() if record.name == name]
    return found


async def revoke(database: Path, key_id: str) -> None:
    async with KeyStore.open(database) as store:
        await store.revoke(key_id, datetime.now(UTC))
