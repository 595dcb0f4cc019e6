"""Limits on the processor time that parsing a hostile body takes."""

import asyncio
import time
from contextlib import suppress

import pytest

from gateway.errors import InvalidBody
from gateway.settings.model import ServerSettings
from gateway.web.body import parse_rows, read_body
from tests.cpu_time import least_seconds, uncollected
from tests.web.hostile_bodies import BYTES, HOSTILE, Hostile
from tests.web.requests import make_request, make_scope

MOST_SECONDS = 0.05
MOST_IN_THREAD_SECONDS = 1.0


async def holds(task: asyncio.Task[object]) -> list[float]:
    """Return the processor seconds between each two rounds of the event loop, until `task` ends."""
    found, before = [], time.thread_time()
    while not task.done():
        await asyncio.sleep(0)
        now = time.thread_time()
        found.append(now - before)
        before = now
    return found


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=list(HOSTILE))
async def test_no_body_blocks_the_event_loop(hostile: Hostile) -> None:
    """Reading a hostile body of 1 MiB blocks the event loop for less than 0.05 s at a time."""
    scope = make_scope(
        "POST", headers={"Content-Type": hostile.content_type}, settings=ServerSettings()
    )
    request = make_request(scope, hostile.body)
    with uncollected():
        reading = asyncio.create_task(read_body(request, "key_1", parse_rows))
        longest = max(await holds(reading))
    await asyncio.gather(reading, return_exceptions=True)

    assert BYTES - 200_000 < len(hostile.body) <= BYTES
    assert longest < MOST_SECONDS


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=list(HOSTILE))
def test_hostile_bodies_are_parsed_or_rejected_within_a_second(hostile: Hostile) -> None:
    """A hostile body occupies the parsing thread, which all keys share, for less than 1 s."""

    def parse() -> None:
        with suppress(InvalidBody):
            parse_rows(hostile.body, hostile.content_type)

    assert least_seconds(parse) < MOST_IN_THREAD_SECONDS
