"""Tests that pipelining connections are answered in turn, and do not delay other clients."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise

from gateway.server.limits import PER_TURN
from tests.server.stage import REQUEST, Stage, settled
from tests.server.transport import receive

CROWD, PIPELINED = 300, 50
MAX_TURNS = 2_000


@asynccontextmanager
async def crowded() -> AsyncIterator[Stage]:
    """Stage with 300 connections that each have got one answer and have many waiting requests."""
    stage = Stage()
    stage.app.may_answer.set()
    crowd = [stage.connect()[0] for _ in range(CROWD)]
    for connection in crowd:
        receive(connection, REQUEST % 1 * PIPELINED)
    await until(lambda: len(stage.app.ended) >= CROWD)
    yield stage
    for connection in crowd:
        connection.connection_lost(None)
    await settled()


async def until(is_done: Callable[[], bool]) -> None:
    for _ in range(MAX_TURNS):
        if is_done():
            return
        await asyncio.sleep(0)


async def answers_before(stage: Stage, path: str) -> int:
    """Number of answers, from now on, before the answer to a path."""
    before = len(stage.app.ended)
    await until(lambda: path in stage.app.ended)
    return stage.app.ended.index(path) - before


async def test_a_turn_of_the_loop_answers_few_pipelined_requests() -> None:
    """One iteration of the event loop starts few pipelined requests, so that other clients are
    served.
    """
    counts = []
    async with crowded() as stage:
        for _ in range(20):
            counts.append(len(stage.app.ended))
            await asyncio.sleep(0)
    answers = [after - before for before, after in pairwise(counts)]

    assert max(answers) == PER_TURN


async def test_new_bytes_do_not_change_the_queue_position() -> None:
    """Further bytes of a connection do not change the connection's position in the queue."""
    async with crowded() as stage:
        connection, _ = stage.connect()
        receive(connection, REQUEST % 2 + REQUEST % 3)
        await answers_before(stage, "/2")
        receive(connection, REQUEST % 4)
        before = await answers_before(stage, "/3")

    assert before >= CROWD - 4 * PER_TURN


async def test_connections_that_pipeline_take_turns() -> None:
    """Each pipelining connection gets one answer before any connection gets a second answer."""
    stage, count = Stage(), 2 * PER_TURN
    stage.app.may_answer.set()
    for number in range(count):
        connection, _ = stage.connect()
        receive(connection, REQUEST % number * 3)
    await until(lambda: len(stage.app.ended) == 3 * count)

    assert stage.app.ended == [f"/{number}" for number in range(count)] * 3


async def test_a_connection_that_is_lost_leaves_the_queue() -> None:
    """A lost connection leaves the queue, and its requests do not start."""
    stage = Stage()
    stage.app.may_answer.set()
    connection, _ = stage.connect()
    receive(connection, REQUEST % 1 + REQUEST % 2)
    await until(lambda: connection in stage.edge.pipelines.waiting)
    connection.connection_lost(None)
    is_kept = connection in stage.edge.pipelines.waiting
    await settled()

    assert not is_kept
    assert stage.app.ended == ["/1"]
