"""Calls that the caller cancels."""

import anyio
import pytest
from anyio.to_thread import run_sync

from sheets_gateway_client import AsyncSheets
from tests.clients.middlebox import Fault, Middlebox
from tests.journeys.conftest import Api


async def test_a_cancelled_call_ends_at_once(api: Api, middlebox: Middlebox) -> None:
    """A cancelled task ends without waiting for the answer, and sends no further request."""
    middlebox.fail(Fault(is_held=True))
    async with AsyncSheets(middlebox.url, api.keys["paid"]) as sheets:
        with anyio.fail_after(10):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(sheets.sheet("Cities").get, 2)
                held = await run_sync(middlebox.holding.wait, 10)
                tasks.cancel_scope.cancel()
        row = await sheets.sheet("Cities").get(3)

    assert held
    assert row["name"] == "Los Angeles"
    assert len(middlebox.arrived) == 2


async def test_a_wait_can_be_cancelled(api: Api, middlebox: Middlebox) -> None:
    """A timeout of the caller also ends the wait for `Retry-After`."""
    middlebox.fail(Fault(status=503, headers={"Retry-After": "50"}))
    async with AsyncSheets(middlebox.url, api.keys["paid"]) as sheets:
        with pytest.raises(TimeoutError):
            with anyio.fail_after(0.5):
                await sheets.sheet("Cities").get(2)

    assert len(middlebox.arrived) == 1
