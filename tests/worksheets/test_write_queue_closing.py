"""Write queues when the gateway closes."""

import asyncio

import pytest
from anyio import wait_all_tasks_blocked

from gateway.errors import ShuttingDown
from gateway.settings.model import WriteSettings
from tests.worksheets.desk import Desk, Writer, held, start


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def writer(desk: Desk) -> Writer:
    return Writer(desk.perform, WriteSettings())


async def test_closing_drains_and_refuses(desk: Desk, writer: Writer) -> None:
    """Closing finishes waiting writes, refuses new ones, and ends after the last one."""
    tasks = [await held(writer, desk), *(start(writer, n) for n in range(1, 3))]
    await wait_all_tasks_blocked()
    closing = asyncio.create_task(writer.aclose())
    await wait_all_tasks_blocked()
    is_early = closing.done()

    with pytest.raises(ShuttingDown) as caught:
        await start(writer, 3)
    desk.open()
    await closing

    assert not is_early
    assert caught.value.outcome == "not_applied"
    assert desk.groups == [[0], [1, 2]]
    assert all(task.done() for task in tasks)


async def test_closing_is_bounded(desk: Desk) -> None:
    """Closing has a maximum time; writes that have not begun by then are refused."""
    writer = Writer(desk.perform, WriteSettings(), closing_seconds=0.01)
    begun = await held(writer, desk)
    waiting = start(writer, 1)
    await wait_all_tasks_blocked()
    await writer.aclose()

    with pytest.raises(ShuttingDown) as caught:
        await waiting
    desk.open()
    await begun

    assert caught.value.outcome == "not_applied"
    assert desk.groups == [[0]]


async def test_closing_with_nothing_to_do(writer: Writer) -> None:
    """An unused writer closes at once, also twice."""
    await writer.aclose()
    await writer.aclose()

    with pytest.raises(ShuttingDown):
        await start(writer, 0)


async def test_closing_refuses_writes_that_have_not_joined(desk: Desk, writer: Writer) -> None:
    """Writes with a later instant are refused, also when their requests are cancelled."""
    now = asyncio.get_running_loop().time()
    soon, late = start(writer, 1, not_before=now + 0.01), start(writer, 2, not_before=now + 3600)
    await wait_all_tasks_blocked()
    await writer.aclose()
    late.cancel()

    for task in (soon, late):
        with pytest.raises(ShuttingDown) as caught:
            await task
        assert caught.value.outcome == "not_applied"
    assert desk.groups == []
