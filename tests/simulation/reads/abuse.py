"""One key sends a hundred times its share of costly requests, while nine normal clients poll.

Rules
- The normal clients read the same worksheets before and during the abuse, in one run.
- The abuser runs in its own process, so that it uses no CPU time of the measured clients.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import count, cycle
from multiprocessing import get_context
from pathlib import Path

from tests.simulation.reads.polling import polled
from tests.simulation.reads.stage import (
    OWN_SPREADSHEET,
    SPREADSHEET,
    Question,
    Reply,
    Scenery,
    Stage,
    set_up,
    visitor,
)
from tests.simulation.reads.verdicts import described, percentile, reported, unserved
from tests.simulation.report import Report
from tests.simulation.stage import stop_after

MADE_UP = "Made up"
"""Stands for titles of worksheets that do not exist."""
STILL_WAITING = -1
SLOWER = 2.0
"""Largest allowed factor by which normal clients are slower during the abuse."""
WARM_SECONDS = 8.0
OLDEST_SECONDS = 60.0
"""Largest allowed age of answers to normal clients during the abuse."""
REFRESH: dict[str, str] = {"Cache-Control": "no-cache"}


@dataclass(frozen=True, kw_only=True)
class Abuse:
    """Durations and numbers of clients; `is_timed` is False to ignore response times."""

    seconds: float = 120.0
    polite: int = 9
    worksheets: int = 5
    times_as_much: int = 100
    is_timed: bool = True


@dataclass(frozen=True, kw_only=True)
class Target:
    """The gateway that the abuser attacks, its key, and the rate of its requests."""

    url: str
    key: str
    titles: Sequence[str]
    seconds: float
    per_second: float


async def run(folder: Path, abuse: Abuse) -> Report:
    """Run the normal clients alone, and then with the abuser, and return the report."""
    scenery = Scenery(worksheets=abuse.worksheets, keys=abuse.polite + 1)
    numbers = range(1, abuse.polite + 1)
    async with set_up(folder, scenery) as stage:
        await polled(stage, numbers, seconds=WARM_SECONDS)  # so that all worksheets are cached
        alone = await polled(stage, numbers, seconds=abuse.seconds)
        target = Target(
            url=stage.url,
            key=stage.keys[0],
            titles=stage.titles,
            seconds=abuse.seconds,
            per_second=float(abuse.times_as_much),
        )
        beside, told = await _beside(stage, numbers, target)
        stats = await asyncio.to_thread(stage.google.stats)
    lines = [
        described("polite, alone", alone),
        described("polite, beside", beside),
        f"abuser: {told.total()} requests, {dict(told)}",
        f"Google: {stats}",
    ]
    problems = list(_problems(alone, beside, is_timed=abuse.is_timed))
    if stats["refused"]:
        problems.append(f"Google refused {stats['refused']} calls")
    return reported(lines, problems)


async def _beside(
    stage: Stage, numbers: Sequence[int], target: Target
) -> tuple[list[Reply], Counter[int]]:
    loop = asyncio.get_running_loop()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        attacking = loop.run_in_executor(pool, attack, target)
        beside = await polled(stage, numbers, seconds=target.seconds)
        return beside, await attacking


def attack(target: Target) -> Counter[int]:
    """Run the attack in this process. Returns the number of answers by status."""
    return asyncio.run(_attack(target))


async def _attack(target: Target) -> Counter[int]:
    """Send each request at its time, however many requests are running."""
    async with (
        visitor(target.url, target.key, SPREADSHEET) as others,
        visitor(target.url, target.key, OWN_SPREADSHEET) as own,
    ):
        chance = random.Random(0)  # noqa: S311 - no secret
        asking = cycle(
            [
                (others, costly(chance, target.titles)),
                (own, costly(chance, [*target.titles, MADE_UP])),
            ]
        )
        began, tasks = time.monotonic(), []
        for number in range(round(target.seconds * target.per_second)):
            client, wishes = next(asking)
            await asyncio.sleep(max(0.0, began + number / target.per_second - time.monotonic()))
            tasks.append(asyncio.create_task(client.ask(next(wishes))))
        await stop_after(0.0, tasks)
        told = Counter(reply.status for reply in (*others.replies, *own.replies))
        return told + Counter({STILL_WAITING: len(tasks) - told.total()})


def costly(chance: random.Random, titles: Sequence[str]) -> Iterator[Question]:
    """Yield endless reads that no cache contains."""
    for number in count():
        title = chance.choice(titles)
        if title == MADE_UP:
            title = f"{title} {chance.randrange(10**6)}"
        wish = f'{{"name":{{"$ne":"{number}-{chance.random()}"}}}}'
        kinds = (
            Question(path=title, parameters={"_": f"{chance.random()}"}),
            Question(path=title, parameters={"no-cache": "true"}),
            Question(path=title, parameters={"where": wish}, headers=REFRESH),
            Question(path=title, parameters={"where": wish, "order": "-amount"}),
            Question(path=f"{title}/{2 + number % 500}", headers=REFRESH),
        )
        yield chance.choice(kinds)


def _problems(alone: Sequence[Reply], beside: Sequence[Reply], *, is_timed: bool) -> Iterator[str]:
    yield from unserved(alone)
    yield from unserved(beside)
    before, after = percentile(alone, 0.99), percentile(beside, 0.99)
    if is_timed and after > SLOWER * before:
        yield f"p99 went from {before * 1000:.0f} to {after * 1000:.0f} ms"
    oldest = max((each.mark.age_seconds for each in beside if each.mark is not None), default=0)
    if oldest > OLDEST_SECONDS:
        yield f"the polite were served what was {oldest} s old"
