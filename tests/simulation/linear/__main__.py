"""Many histories.  Usage: python -m tests.simulation.linear --histories 1000 [--faults-every 50]"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

import httpx2

from tests.journeys.workbook import write_seed
from tests.simulation.fire.orders import SPREADSHEET
from tests.simulation.fire.stage import google, make_key, mortal_gateway
from tests.simulation.linear.run import Summary, faults, run_histories, seed_text, worksheets

LATENCY_MS = 5


def main() -> int:
    """Print what came of the histories; 1 if one of them cannot be true."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.linear")
    parser.add_argument("--histories", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=8, help="of each client")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults-every", type=int, default=0, help="calls; 0: no faults")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        summary = run(Path(folder), options)
    print(summary)
    return 1 if summary.problems else 0


def run(folder: Path, options: argparse.Namespace) -> Summary:
    """The histories on an emulator and a gateway of their own."""
    write_seed(folder / "seed", {SPREADSHEET: {title: seed_text() for title in worksheets()}})
    with google(folder, latency_ms=LATENCY_MS) as (url, _):
        if options.faults_every:
            many = faults(options.faults_every, options.histories)
            httpx2.post(f"{url}/_emulator/faults", json=many).raise_for_status()
        return asyncio.run(_run(folder, url, options))


async def _run(folder: Path, url: str, options: argparse.Namespace) -> Summary:
    gateway = mortal_gateway(folder, url)
    key = await make_key(folder)
    await gateway.start()
    try:
        return await run_histories(
            gateway.url,
            key,
            SPREADSHEET,
            histories=options.histories,
            steps=options.steps,
            seed=options.seed,
        )
    finally:
        await gateway.kill()


if __name__ == "__main__":
    sys.exit(main())
