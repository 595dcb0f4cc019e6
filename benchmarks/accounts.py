"""Reads per minute of a spreadsheet with 1 and with 3 Google accounts, and after a revoked key.

Usage: python -m benchmarks.accounts [--seconds 90]

The emulator replaces Google, with 300 ms per call, 60 reads a minute per account and 300 per
project. Clients read one worksheet after the other, without a cache; waiting clients share a read.
The first 30 seconds use up the burst, and the gateway learns the rate of its accounts; then the
reads are counted. In the last run the key of one of three accounts is revoked.
"""

import argparse
import asyncio
import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import httpx2

from benchmarks.processes import SPREADSHEET, Running, Site, emulator, fetch, gateway, make_site

WORKSHEETS = 40
CLIENTS = 16
WARM_UP_SECONDS = 30.0
LIMITS = ("--reads-per-minute", "60", "--reads-per-minute-per-project", "300")
LATENCY = ("--latency-ms", "300")
REVOKED = "gateway-2@emulator.iam.gserviceaccount.com"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=90.0)
    seconds = parser.parse_args(arguments).seconds
    rates = []
    for accounts, revokes in ((1, False), (3, False), (3, True)):
        with stage(accounts) as (google, running, site):
            statuses, reads = asyncio.run(load(google, running, site, seconds, revokes=revokes))
            found = stats(google)
        rates.append(60 * reads / seconds)
        (project,) = found["projects"].values()
        peaks = [each["peak_reads"] for each in project["accounts"].values()]
        print(
            f"{accounts} accounts{', one revoked' if revokes else ''}: {rates[-1]:.0f} reads a "
            f"minute; answers {dict(sorted(statuses.items()))}; most reads of an account in 60 s "
            f"{max(peaks)}, of the project {project['peak_reads']}; refused by Google "
            f"{found['refused']}"
        )
    print(f"3 accounts / 1 account: {rates[1] / rates[0]:.2f}")


@contextmanager
def stage(accounts: int) -> Iterator[tuple[Running, Running, Site]]:
    """Run an emulator, and a gateway with this number of accounts."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(WORKSHEETS):
            path = folder / "seed" / SPREADSHEET / f"W{number}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"name\n{number}\n", "utf-8")
        others = [f"account-{number}.json" for number in range(2, accounts + 1)]
        files = [option for each in others for option in ("--credentials", str(folder / each))]
        with emulator(folder, *files, *LIMITS, *LATENCY) as google:
            tables = "".join(
                f'[[google.accounts]]\nname = "a{number}"\ncredentials = "{each}"\n'
                for number, each in enumerate(others, start=2)
            )
            site = make_site(
                folder, google.url, cache=f"rows_ttl_seconds = 0\nmax_stale_seconds = 0\n{tables}"
            )
            # Clients wait for their read without a limit instead of getting a 503.
            os.environ["GATEWAY_GOOGLE__MAX_WAITING_SECONDS"] = "60"
            with gateway(site) as running:
                yield google, running, site


async def load(
    google: Running, running: Running, site: Site, seconds: float, *, revokes: bool
) -> tuple[Counter[int], int]:
    """Return the statuses of the measured answers, and the number of reads that Google counted."""
    numbers, statuses = count(), Counter[int]()
    before = 0
    began = time.monotonic() + WARM_UP_SECONDS

    async def ask(client: httpx2.AsyncClient) -> None:
        while time.monotonic() < began + seconds:
            answer = await client.get(f"/v2/sheets/W{next(numbers) % WORKSHEETS}")
            if time.monotonic() >= began:
                statuses[answer.status_code] += 1
            if answer.status_code != 200:
                await asyncio.sleep(1)

    async def watch() -> None:
        nonlocal before
        await asyncio.sleep(WARM_UP_SECONDS)
        before = stats(google)["reads"]
        await asyncio.sleep(seconds / 2)
        if revokes:
            fetch(google.url, f"/_emulator/accounts/{REVOKED}/revoke", method="POST")

    async with httpx2.AsyncClient(base_url=running.url, headers=site.headers, timeout=60) as client:
        work = [ask(client) for _ in range(CLIENTS)]
        await asyncio.gather(*work, watch())
    return statuses, stats(google)["reads"] - before


def stats(google: Running) -> Mapping[str, Any]:
    _, body = fetch(google.url, "/_emulator/stats")
    found: Mapping[str, Any] = json.loads(body)
    return found


if __name__ == "__main__":
    main()
