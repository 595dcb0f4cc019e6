"""Kill a gateway soon after each start, while clients go on writing.

Usage: python -m tests.simulation.kills.crash_loop --seconds 600

Rules
- No gateway process lives long enough to delete the metadata entries (fences) of earlier processes.
- Clients create and update rows all the time, with and without an Idempotency-Key.
- Each process must acknowledge writes, and fences must not fill the spreadsheet's metadata.
- With Google's quota and the gateway's default quota, Google must not reject a call with 429. A
  process can then have no write, because no quota is left.
"""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import httpx2

from sheets_emulator.app import Emulator
from sheets_emulator.edits.metadata_requests import MAX_SIZE
from tests.journeys.mortal import Mortal
from tests.journeys.workbook import write_seed
from tests.simulation.command import exit_status, parsed
from tests.simulation.disturbances import fill
from tests.simulation.report import Problem, Report
from tests.simulation.stage import (
    CREDENTIALS,
    SETTINGS,
    SPREADSHEET,
    client_of,
    google,
    make_key,
    mortal_gateway,
)

TITLE = "Loop"
TEXT = "id,note\nid:seed,note:seed\n"
PATH = f"/v2/sheets/{TITLE}"
OWN = "gw-"
"""Prefix of the metadata keys of all fences."""


@dataclass(frozen=True, kw_only=True)
class CrashLoop:
    """Duration, lifetime of a gateway process, and number of writes.

    With `is_full` other programs have filled the metadata, so no write succeeds. The campaign must
    then find problems.
    """

    seconds: float = 600.0
    life_seconds: float = 2.0
    writes_per_second: float = 6.0
    clients: int = 4
    latency_ms: int = 20
    per_minute: int = 0
    """Google's quota of reads and of writes; 0 means no quota at Google and in the gateway."""
    is_full: bool = False


@dataclass(kw_only=True)
class Tally:
    """Counts of the campaign."""

    answers: Counter[str] = field(default_factory=Counter)
    figures: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)

    def most(self, name: str, number: int) -> None:
        """Record the highest number of a kind."""
        self.figures[name] = max(self.figures[name], number)


def run(folder: Path, campaign: CrashLoop) -> Report:
    """Run the whole loop in an empty folder, and return the report."""
    write_seed(folder / "seed", {SPREADSHEET: {TITLE: TEXT}})
    emulators: list[Emulator] = []
    with google(
        folder,
        latency_ms=campaign.latency_ms,
        per_minute=campaign.per_minute,
        watch=emulators.append,
    ) as (url, _):
        tally = asyncio.run(_run(folder, campaign, url, emulators[0]))
    for usage in emulators[0].service.quota.accounts.values():
        tally.figures["refused by Google"] += usage.refused
        tally.most("reads in a minute, at most", usage.peaks["read"])
        tally.most("writes in a minute, at most", usage.peaks["write"])
    if refused := tally.figures["refused by Google"]:
        tally.problems.append(Problem(kind="refused", detail=f"Google refused {refused} calls"))
    return Report(
        title="A crash loop of ",
        outcomes=tally.answers,
        figures=tally.figures,
        problems=tally.problems,
        seconds=campaign.seconds,
    )


async def _run(folder: Path, campaign: CrashLoop, url: str, emulator: Emulator) -> Tally:
    gateway = mortal_gateway(folder, url, {} if campaign.per_minute else SETTINGS)
    key = await make_key(folder)
    tally = Tally()
    numbers = count(1)
    if campaign.is_full:
        await asyncio.to_thread(fill, url, folder / CREDENTIALS, SPREADSHEET)
    await gateway.start()
    async with client_of(gateway.url, key) as client:

        async def write_on() -> None:
            while True:
                await asyncio.sleep(campaign.clients / campaign.writes_per_second)
                await gateway.is_up.wait()
                await _write(client, next(numbers), tally)

        writers = [asyncio.create_task(write_on()) for _ in range(campaign.clients)]
        try:
            ends = time.monotonic() + campaign.seconds
            while time.monotonic() < ends:
                await _live(gateway, campaign, emulator, tally)
        finally:
            for writer in writers:
                writer.cancel()
            await asyncio.gather(*writers, return_exceptions=True)
            await asyncio.to_thread(gateway.incarnation.close)
    return tally


async def _live(gateway: Mortal, campaign: CrashLoop, emulator: Emulator, tally: Tally) -> None:
    """Run one gateway until it is killed, and start the next one."""
    acknowledged = tally.figures["acknowledged"]
    await asyncio.sleep(campaign.life_seconds)
    await gateway.kill()
    tally.figures["lives"] += 1
    if tally.figures["acknowledged"] == acknowledged and not campaign.per_minute:
        detail = f"nothing was acknowledged in life {tally.figures['lives']}"
        tally.problems.append(Problem(kind="idle", detail=detail))
    metadata = emulator.service.store.workbooks[SPREADSHEET].metadata
    characters = sum(len(each.key) + len(each.value or "") for each in metadata)
    tally.most(f"characters of {MAX_SIZE} of metadata, at most", characters)
    tally.most("fences at once, at most", sum(each.key.startswith(OWN) for each in metadata))
    await gateway.start()


async def _write(client: httpx2.AsyncClient, number: int, tally: Tally) -> None:
    """Create a row, or update an earlier one; every second write has an Idempotency-Key."""
    body: Mapping[str, str] = {"note": f"note:{number}"}
    headers = {"Idempotency-Key": f'"loop-{number}"'} if number % 2 else {}
    try:
        if number % 4 < 2:
            answer = await client.post(PATH, json={"id": f"id:{number}", **body}, headers=headers)
        else:
            answer = await client.patch(f"{PATH}/{2 + number // 4}", json=body, headers=headers)
    except httpx2.TransportError:
        return
    code = "" if answer.is_success else answer.json().get("code", "")
    tally.answers[f"{answer.status_code} {code}".strip()] += 1
    tally.figures["acknowledged"] += answer.is_success


def main() -> int:
    """Print the report. Returns 1 if there are problems."""
    campaign = parsed(CrashLoop())
    return exit_status(lambda folder: run(folder, campaign))


if __name__ == "__main__":
    sys.exit(main())
