"""Readers, writers and a person on one worksheet of counters, and whether anything went back."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.simulation.monotonic.clients import (
    BUSY_ROWS,
    FIRST_COLUMNS,
    SEEDED_ROWS,
    Client,
    counting,
    spans_of,
)
from tests.simulation.monotonic.history import Answer, Span, overlapping, regressions
from tests.simulation.people import person_at
from tests.simulation.reads.report import reported
from tests.simulation.reads.stage import SPREADSHEET, Scenery, Stage, set_up
from tests.simulation.report import Report
from tests.simulation.stage import CREDENTIALS, NO_LIMIT, Tables

WINDOW_ABOVE_CELLS = 100


@dataclass(frozen=True, kw_only=True)
class Monotonic:
    """Clients and duration, and whether the worksheet is read in windows."""

    seconds: float = 60.0
    readers: int = 8
    writers: int = 6
    has_windows: bool = False
    latency_ms: int = 100
    rows_ttl_seconds: float = 1.0
    pause_seconds: float = 0.03
    """Between an answer and the client's next request, on average."""
    seed: int = 1

    @property
    def settings(self) -> Tables:
        windows = {"window_above_cells": WINDOW_ABOVE_CELLS} if self.has_windows else {}
        return {
            "google": {"reads_per_minute": NO_LIMIT, "writes_per_minute": NO_LIMIT},
            "cache": {"rows_ttl_seconds": self.rows_ttl_seconds, **windows},
            "plans.paid": {"requests_per_minute": NO_LIMIT, "max_concurrent": 0},
        }

    @property
    def own_fields(self) -> Sequence[str]:
        """The field of each writer."""
        return [f"writer{index}" for index in range(self.writers)]

    @property
    def seed_text(self) -> str:
        header = ",".join((*FIRST_COLUMNS, *self.own_fields))
        row = ",".join(("row", "0", *("0" for _ in self.own_fields)))
        return "\n".join((header, *[row] * SEEDED_ROWS, ""))


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The report, and the figure that says whether it means anything."""

    report: Report
    overlapping_reads: int
    """So many were running at the same time as a write."""


async def run(folder: Path, campaign: Monotonic) -> Outcome:
    """All of them for the whole time, then what came of it."""
    scenery = Scenery(
        worksheets=1,
        text=campaign.seed_text,
        latency_ms=campaign.latency_ms,
        reads_per_minute=0,
        settings=campaign.settings,
    )
    async with set_up(folder, scenery) as stage, AsyncExitStack() as stack:
        ends = time.monotonic() + campaign.seconds
        clients = [
            Client(
                index=index,
                http=(await stack.enter_async_context(stage.visitor())).client,
                path=f"/v2/sheets/{stage.titles[0]}",
                chance=random.Random(campaign.seed * 1000 + index),  # noqa: S311 - no secret
                own_field=own_field,
            )
            for index, own_field in enumerate([*campaign.own_fields, *[""] * campaign.readers])
        ]
        # Nothing tells of a number in the first read that it is older than its text.
        await clients[0].order()
        acting = asyncio.gather(
            *(_act_until(ends, client, campaign.pause_seconds) for client in clients)
        )
        edits = await asyncio.to_thread(
            _edit_until, ends, stage, folder / CREDENTIALS, campaign.seed
        )
        await acting
    answers = [answer for client in clients for answer in client.answers]
    complaints = [complaint for client in clients for complaint in client.complaints]
    return _judged(answers, edits, complaints)


async def _act_until(ends: float, client: Client, pause_seconds: float) -> None:
    while time.monotonic() < ends:
        await client.act()
        await asyncio.sleep(2 * pause_seconds * client.chance.random())


def _edit_until(ends: float, stage: Stage, credentials: Path, seed: int) -> list[Span]:
    """Raise the person's counters one by one; returns the times of the edits."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    counters = Counter[int]()
    spans: list[Span] = []
    with person_at(stage.google.url, credentials, SPREADSHEET) as person:
        while (began := time.monotonic()) < ends:
            row = chance.choice(BUSY_ROWS)
            counters[row] += 1
            person.send("POST", ":batchUpdate", counting(row, counters[row]))
            spans.append((began, time.monotonic()))
    return spans


def _judged(answers: Sequence[Answer], edits: Sequence[Span], complaints: list[str]) -> Outcome:
    reads, writes = spans_of(answers, is_write=False), spans_of(answers, is_write=True)
    overlaps = overlapping(reads, [*writes, *edits])
    found = list(regressions(answers))
    back_reads = sum(not each.answer.is_write for each in found)
    lines = [
        f"{len(reads)} reads, {overlaps} beside writes; {len(writes)} writes, "
        f"{len(edits)} edits by hand",
        f"answers: {dict(Counter(each.kind for each in answers))}, "
        f"{sum(each.is_stale for each in answers)} marked stale",
        f"{back_reads} reads go back, and {len(found) - back_reads} answers to writes: "
        f"{dict(Counter(each.answer.kind for each in found))}",
    ]
    return Outcome(
        report=reported(lines, [*map(str, found), *complaints]),
        overlapping_reads=overlaps,
    )
