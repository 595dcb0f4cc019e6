"""Clients poll a few worksheets in different ways, while Google enforces its quota."""

import asyncio
import random
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.simulation.reads.stage import Question, Reply, Scenery, Stage, set_up
from tests.simulation.reads.verdicts import described, reported, unserved
from tests.simulation.report import Report
from tests.simulation.stage import stop_after


@dataclass(frozen=True, kw_only=True)
class Polling:
    """Number of clients, interval and duration."""

    seconds: float = 600.0
    clients: int = 20
    worksheets: int = 5
    every_seconds: float = 1.0
    rows_ttl_seconds: float = 5.0


async def run(folder: Path, polling: Polling) -> Report:
    """Run all clients for the whole time, and return the report."""
    scenery = Scenery(
        worksheets=polling.worksheets,
        settings={"cache": {"rows_ttl_seconds": polling.rows_ttl_seconds}},
    )
    async with set_up(folder, scenery) as stage:
        replies = await polled(
            stage,
            range(polling.clients, 0, -1),
            seconds=polling.seconds,
            every_seconds=polling.every_seconds,
        )
        stats = await asyncio.to_thread(stage.google.stats)
    problems = list(unserved(replies))
    if stats["refused"]:
        problems.append(f"Google refused {stats['refused']} calls")
    return reported([described("polled", replies), f"Google: {stats}"], problems)


async def polled(
    stage: Stage,
    numbers: Sequence[int],
    *,
    seconds: float,
    every_seconds: float = 1.0,
) -> list[Reply]:
    """Return the replies to clients that poll; client `n` uses the n-th key, if there is one."""
    async with AsyncExitStack() as stack:
        tasks, visitors = [], []
        for number in numbers:
            key = number if number < len(stage.keys) else 0
            visitor = await stack.enter_async_context(stage.visitor(key))
            chance = random.Random(number)  # noqa: S311 - no secret
            polling = visitor.poll(
                questions(chance, stage.titles),
                every_seconds=every_seconds,
                wait_seconds=chance.random() * every_seconds,
            )
            visitors.append(visitor)
            tasks.append(asyncio.create_task(polling))
        await stop_after(seconds, tasks)
        return [reply for visitor in visitors for reply in visitor.replies]


def questions(chance: random.Random, titles: Sequence[str]) -> Iterator[Question]:
    """Yield endless lists, pages, searches and rows of the worksheets."""
    while True:
        title = chance.choice(titles)
        low = chance.randrange(1000)
        kinds = (
            Question(path=title),
            Question(path=title, parameters={"skip": str(low % 90), "limit": "10"}),
            Question(path=title, parameters={"where": f'{{"amount":{{"$gte":{low}}}}}'}),
            Question(path=title, parameters={"order": "-amount,name", "keys": "name"}),
            Question(path=f"{title}/{2 + low % 90}"),
        )
        yield chance.choice(kinds)
