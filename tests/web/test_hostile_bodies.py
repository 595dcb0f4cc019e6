"""Time for which hostile bodies block others."""

import asyncio
import time
from contextlib import suppress

import pytest

from gateway.errors import InvalidBody
from gateway.settings.model import ServerSettings
from gateway.web.body import parse_rows, read_body
from tests.web.hostile_bodies import BYTES, HOSTILE, Hostile
from tests.web.requests import make_request, make_scope

MOST_SECONDS = 0.05
"""Of the processor's time: what others do on the machine does not count."""
MOST_IN_THREAD_SECONDS = 1.0


async def holds(task: asyncio.Task[object]) -> list[float]:
    """The processor's time that passed on the event loop between any two of its rounds."""
    found, before = [], time.thread_time()
    while not task.done():
        await asyncio.sleep(0)
        now = time.thread_time()
        found.append(now - before)
        before = now
    return found


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=list(HOSTILE))
async def test_no_body_holds_the_event_loop(hostile: Hostile) -> None:
    """A mebibyte of anything holds it no longer than a few small requests."""
    scope = make_scope(
        "POST", headers={"Content-Type": hostile.content_type}, settings=ServerSettings()
    )
    request = make_request(scope, hostile.body)
    reading = asyncio.create_task(read_body(request, "key_1", parse_rows))
    longest = max(await holds(reading))
    await asyncio.gather(reading, return_exceptions=True)

    assert BYTES - 200_000 < len(hostile.body) <= BYTES
    assert longest < MOST_SECONDS


def thread_seconds(hostile: Hostile) -> float:
    """The processor's time that it takes to parse a body or refuse it."""
    began = time.thread_time()
    with suppress(InvalidBody):
        parse_rows(hostile.body, hostile.content_type)
    return time.thread_time() - began


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=list(HOSTILE))
def test_what_is_refused_is_refused_soon(hostile: Hostile) -> None:
    """It takes no longer in the thread either, whose turns others wait for."""
    took = min(thread_seconds(hostile) for _ in range(3))  # other work on the machine adds to it

    assert took < MOST_IN_THREAD_SECONDS
