"""More worksheets than the read quota can keep fresh: all age alike, and each is refreshed."""

import asyncio
import re
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

from tests.simulation.reads.stage import Question, Reply, Scenery, set_up
from tests.simulation.reads.verdicts import described, reported, starved, unserved
from tests.simulation.report import Report
from tests.simulation.stage import stop_after

TITLE = re.compile(r"Reads\d+")
PACES = (0.5, 1.0, 2.0, 4.0)
"""Seconds between the reads of a worksheet; worksheets get these values in turn."""


@dataclass(frozen=True, kw_only=True)
class Aging:
    """Number of worksheets, and duration after the first minute."""

    worksheets: int = 40
    warm_up_seconds: float = 60.0
    seconds: float = 120.0
    reads_per_minute: int = 54


async def run(folder: Path, aging: Aging) -> Report:
    """Poll all worksheets, some more often than others, and judge the time after the warm-up."""
    scenery = Scenery(
        worksheets=aging.worksheets,
        settings={"google": {"reads_per_minute": aging.reads_per_minute}},
    )
    async with set_up(folder, scenery) as stage, AsyncExitStack() as stack:
        visitors, tasks = [], []
        for index, title in enumerate(stage.titles):
            client = await stack.enter_async_context(stage.visitor())
            pace = PACES[index % len(PACES)]
            asking = client.poll(repeat(Question(path=title)), every_seconds=pace)
            visitors.append(client)
            tasks.append(asyncio.create_task(asking))
        await stop_after(aging.warm_up_seconds + aging.seconds, tasks)
        stats = await asyncio.to_thread(stage.google.stats)
        replies = [reply for each in visitors for reply in each.replies]
        end = max(each.began for each in replies)
        start = end - aging.seconds
        calls = stage.google.watch.between(start, end)
    late = [each for each in replies if each.began >= start]
    refreshes = Counter(dict.fromkeys(stage.titles, 0))
    refreshes.update(found[0] for call in calls if (found := TITLE.search(call.asked)))
    fair_seconds = aging.worksheets * 60.0 / aging.reads_per_minute
    problems = [
        *unserved(late),
        *starved(refreshes, _oldest(late), most_seconds=2 * fair_seconds + 10.0),
    ]
    if stats["refused"]:
        problems.append(f"Google refused {stats['refused']} calls")
    counts = sorted(refreshes.values())
    lines = [
        described("first", [each for each in replies if each.began < start]),
        described("then", late),
        f"refreshes of a worksheet: {counts[0]} to {counts[-1]}; "
        f"oldest of each: {sorted(_oldest(late).values())}",
        f"Google: {stats}",
    ]
    return reported(lines, problems)


def _oldest(replies: list[Reply]) -> dict[str, int]:
    """Return the highest age in answers of each worksheet, in seconds by path."""
    ages: dict[str, int] = {}
    for reply in replies:
        if reply.mark is not None:
            ages[reply.path] = max(ages.get(reply.path, 0), reply.mark.age_seconds)
    return ages or {"nothing": 0}
