"""Many histories.  Usage: python -m tests.simulation.linear --histories 1000 [--faults-every 50]"""

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

import httpx2

from tests.journeys.workbook import write_seed
from tests.simulation.command import exit_status, parsed
from tests.simulation.linear.run import faults, run_histories, seed_text, worksheets
from tests.simulation.report import Report
from tests.simulation.stage import SPREADSHEET, google, make_key, mortal_gateway

LATENCY_MS = 5


@dataclass(frozen=True, kw_only=True)
class Histories:
    """`steps` are per client; `faults_every`: one call in this many fails, 0 for none."""

    histories: int = 1000
    steps: int = 8
    seed: int = 1
    faults_every: int = 0


def main() -> int:
    campaign = parsed(Histories())
    return exit_status(lambda folder: run(folder, campaign))


def run(folder: Path, campaign: Histories) -> Report:
    """The histories on an emulator and a gateway of their own."""
    write_seed(folder / "seed", {SPREADSHEET: {title: seed_text() for title in worksheets()}})
    with google(folder, latency_ms=LATENCY_MS) as (url, _):
        if campaign.faults_every:
            many = faults(campaign.faults_every, campaign.histories)
            httpx2.post(f"{url}/_emulator/faults", json=many).raise_for_status()
        return asyncio.run(_run(folder, url, campaign))


async def _run(folder: Path, url: str, campaign: Histories) -> Report:
    gateway = mortal_gateway(folder, url)
    key = await make_key(folder)
    await gateway.start()
    try:
        return await run_histories(
            gateway.url,
            key,
            SPREADSHEET,
            histories=campaign.histories,
            steps=campaign.steps,
            seed=campaign.seed,
        )
    finally:
        await gateway.kill()


if __name__ == "__main__":
    sys.exit(main())
