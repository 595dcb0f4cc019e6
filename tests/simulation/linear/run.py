"""Many histories on one gateway, a few at a time, each on a worksheet of its own."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence

import httpx2

from tests.simulation.faults import BATCH, FENCE
from tests.simulation.linear.driver import ROWS, Outcome, run_history
from tests.simulation.report import Problem, Report

AT_ONCE = 4
HEADER = "name,value"
WRITE: dict[str, object] = {"call": BATCH, "match": FENCE}
FAULTS: Sequence[dict[str, object]] = (
    {**WRITE, "status": 503},
    {**WRITE, "status": 503, "apply": True},
    {**WRITE, "drop": True},
    {**WRITE, "drop": True, "apply": True},
    {**WRITE, "drop": True, "late_ms": 300},
    {**WRITE, "drop": True, "delay_ms": 1200, "late_ms": 2000},
    {**WRITE, "status": 504, "late_ms": 1000},
    {"call": "spreadsheets.get", "status": 503},
    {"call": "developerMetadata.search", "status": 503},
    {"call": "values.batchGet", "drop": True},
)


def seed_text() -> str:
    """A worksheet of a history, as a CSV."""
    rows = (f"name:{row},value:initial-{row}\n" for row in ROWS)
    return f"{HEADER}\n{''.join(rows)}"


def worksheets() -> list[str]:
    return [f"Linear{index}" for index in range(AT_ONCE)]


def faults(every: int, count: int) -> list[dict[str, object]]:
    """Faults of all kinds in turn, one per `every` calls."""
    return [
        {**FAULTS[number % len(FAULTS)], "skip": (number + 1) * every} for number in range(count)
    ]


async def run_histories(
    url: str, key: str, spreadsheet: str, *, histories: int, steps: int, seed: int = 1
) -> Report:
    """All histories, and what is wrong with them."""
    headers = {"Authorization": f"Bearer {key}", "X-Spreadsheet-Id": spreadsheet}
    began = time.monotonic()
    waiting = iter(range(histories))
    outcomes: list[Outcome] = []
    async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=60.0) as client:

        async def work(worksheet: str) -> None:
            for number in waiting:
                label = f"{number}"
                outcomes.append(
                    await run_history(
                        client, worksheet, label=label, seed=seed + number, steps=steps
                    )
                )

        await asyncio.gather(*(work(worksheet) for worksheet in worksheets()))
    kinds: Counter[str] = Counter()
    for outcome in outcomes:
        kinds.update(outcome.kinds)
    problems = [problem for outcome in outcomes for problem in outcome.problems]
    return Report(
        title=f"{histories} histories in ",
        figures=kinds,
        problems=[Problem(kind="history", detail=each) for each in problems],
        seconds=time.monotonic() - began,
    )
