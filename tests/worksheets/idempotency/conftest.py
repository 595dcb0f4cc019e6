"""Requests with an Idempotency-Key, over a fake Google that does what a test says."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from gateway.errors import GatewayError
from gateway.google.sheets import Fence
from gateway.worksheets.idempotency import Answer, Entry, Idempotency, Sending, Settled
from gateway.worksheets.writes import Results, WriteIdentity, Written
from tests.clock import ManualClock
from tests.worksheets.conftest import WORKSHEET
from tests.worksheets.fake_ledger import FakeLedger

T = TypeVar("T")

PATIENCE_SECONDS = 5.0
TICKET = WriteIdentity(scope="s1", fingerprint="f1", worksheet=WORKSHEET, key_id="")
FENCE = Fence(id=7, key="gw", token="t1")
RESULTS: Results = (Written(row=5, record={"rowIndex": 5}, tag='"t"', ignored=()),)


class Google:
    """Carries out writes and finds unknown outcomes as a test says, and counts both."""

    def __init__(self, ledger: FakeLedger) -> None:
        self.sent = 0
        self.looks = 0
        self.resumed: list[Entry] = []
        self.write_error: Exception | None = None
        self.look_error: Exception | None = None
        self.line_error: Exception | None = None
        self.before_turn: Callable[[], Awaitable[None]] | None = None
        self.was_applied = False
        self.cannot_show: GatewayError | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self._ledger = ledger

    async def perform(self) -> Results:
        self.sent += 1
        await self._ledger.sending(WORKSHEET, [Sending(TICKET, 5, [["Bern"]])], FENCE)
        await self.gate.wait()
        if self.write_error is not None:
            raise self.write_error
        return RESULTS

    async def exclusively(self, _: WriteIdentity, work: Callable[[], Awaitable[T]]) -> T:
        """The write queue of the worksheet, which has no other writes."""
        if self.line_error is not None:
            raise self.line_error
        if self.before_turn is not None:
            await self.before_turn()
        return await work()

    async def resume(self, entry: Entry) -> Answer | None:
        self.looks += 1
        self.resumed.append(entry)
        await self.gate.wait()
        if self.look_error is not None:
            raise self.look_error
        return (self.cannot_show or RESULTS) if self.was_applied else None


@pytest.fixture
def ledger(clock: ManualClock) -> FakeLedger:
    return FakeLedger(clock)


@pytest.fixture
def google(ledger: FakeLedger) -> Google:
    return Google(ledger)


Run = Callable[..., "asyncio.Future[Settled]"]


@pytest.fixture
def run(ledger: FakeLedger, google: Google) -> Run:
    """Start a request with an Idempotency-Key."""
    idempotency = Idempotency(ledger, google.exclusively)

    def start(identity: WriteIdentity = TICKET) -> "asyncio.Future[Settled]":
        return asyncio.ensure_future(idempotency.run(identity, google.perform, google.resume))

    return start


async def outcome(request: "asyncio.Future[Settled]") -> GatewayError:
    """Return the error of a request."""
    with pytest.raises(GatewayError) as failure:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await request
    return failure.value


async def left_open(run: Run, google: Google, *, error: Exception | None = None) -> None:
    """A request whose write was sent and whose outcome is unknown."""
    google.write_error = error or RuntimeError("killed")
    with pytest.raises(type(google.write_error)):
        await run()
    google.write_error = None
