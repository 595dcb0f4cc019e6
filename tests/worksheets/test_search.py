"""Searches in the rows of a worksheet: lanes of the scheduler."""

import asyncio
from typing import Any, cast

import pytest

from gateway.errors import TooManyInFlight
from gateway.table.steps import Work
from gateway.table.table import Table
from gateway.worksheets.scheduler import MAX_WAITING, SLICE_STEPS
from gateway.worksheets.worksheet import Worksheet
from tests.worksheets.test_pool import WORKSHEET, Stage

ROWS = cast(Table, type("Rows", (), {"last_row": 10**9}))


def make_worksheet() -> Worksheet:
    return Stage()[WORKSHEET]


def slices(count: int) -> Work[int]:
    for _ in range(count):
        yield SLICE_STEPS
    return count


async def test_a_write_does_not_wait_for_the_queries_of_its_key() -> None:
    """A write has its own lane, because all writes to its worksheet would wait for it."""
    worksheet = make_worksheet()
    tasks: list[asyncio.Task[Any]] = [
        asyncio.create_task(worksheet.search(ROWS, slices(1_000), "key"))
        for _ in range(MAX_WAITING)
    ]
    for _ in range(MAX_WAITING):
        await asyncio.sleep(0)

    assert await worksheet.search(ROWS, slices(3), "key", is_write=True) == 3
    assert not any(task.done() for task in tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize(("is_write", "outcome"), [(True, "not_applied"), (False, None)])
async def test_a_refused_search_of_a_write_says_that_nothing_was_written(
    is_write: bool, outcome: str | None
) -> None:
    worksheet = make_worksheet()
    tasks = [
        asyncio.create_task(worksheet.search(ROWS, slices(1_000), "key", is_write=is_write))
        for _ in range(MAX_WAITING + 9)
    ]
    for _ in range(MAX_WAITING + 9):
        await asyncio.sleep(0)
    errors = [task.exception() for task in tasks if task.done()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    assert errors
    assert all(isinstance(error, TooManyInFlight) for error in errors)
    assert {getattr(error, "outcome", "") for error in errors} == {outcome}
