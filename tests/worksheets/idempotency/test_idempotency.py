"""Idempotent writes, without the calls that send them."""

import asyncio
from dataclasses import replace

import pytest
from anyio import wait_all_tasks_blocked

from gateway.errors import (
    GatewayError,
    IdempotencyInProgress,
    IdempotencyKeyReused,
    InternalError,
    InvalidBody,
    QueueFull,
    QuotaSpent,
    UpstreamError,
)
from gateway.worksheets.idempotency import Idempotency, Settled
from gateway.worksheets.writes import WriteIdentity
from tests.clock import ManualClock
from tests.worksheets.fake_ledger import FakeLedger
from tests.worksheets.idempotency.conftest import RESULTS, TICKET, Google, Run, outcome

MISPLACED = UpstreamError("misplaced", outcome="applied")


async def test_a_write_is_sent_once_and_answered_alike(run: Run, google: Google) -> None:
    """The second request gets the answer of the first, marked as replayed."""
    first = await run()
    second = await run()

    assert first == Settled(results=RESULTS)
    assert second == Settled(results=RESULTS, is_replayed=True)
    assert (google.sent, google.looks) == (1, 0)


async def test_another_body_is_refused(run: Run, google: Google) -> None:
    """A key of another write gets neither that write's answer nor a write."""
    await run()
    error = await outcome(run(replace(TICKET, fingerprint="f2")))

    assert isinstance(error, IdempotencyKeyReused)
    assert error.outcome == "not_applied"
    assert google.sent == 1


async def test_a_write_whose_record_has_no_room_is_not_sent(
    run: Run, google: Google, ledger: FakeLedger
) -> None:
    """The write leaves no record. It can be repeated with its key when there is space."""
    ledger.lack_of_room = QueueFull("full", outcome="not_applied")
    error = await outcome(run())
    sent = google.sent
    ledger.lack_of_room = None
    again = await run()

    assert isinstance(error, QueueFull)
    assert (sent, google.sent) == (0, 1)
    assert not again.is_replayed


async def test_a_twin_in_flight_is_told_so(run: Run, google: Google) -> None:
    """While the first request runs, a second one with its key gets 409: the outcome is unknown."""
    google.gate.clear()
    first = run()
    await wait_all_tasks_blocked()
    twin = await outcome(run())
    other = await outcome(run(replace(TICKET, fingerprint="f2")))
    google.gate.set()
    settled = await first
    later = await run()

    assert isinstance(twin, IdempotencyInProgress)
    assert (twin.outcome, twin.retry_after_seconds) == ("unknown", 1)
    assert isinstance(other, IdempotencyKeyReused)
    assert (settled.results, later.results) == (RESULTS, RESULTS)
    assert (settled.is_replayed, later.is_replayed) == (False, True)
    assert google.sent == 1


async def test_keys_do_not_hold_each_other_up(run: Run, google: Google) -> None:
    """A request waits only for requests with the same key."""
    google.gate.clear()
    first = run()
    second = run(replace(TICKET, scope="s2"))
    await wait_all_tasks_blocked()
    google.gate.set()
    await asyncio.gather(first, second)

    assert google.sent == 2


@pytest.mark.parametrize(
    "error",
    [
        InvalidBody("no such field"),
        QuotaSpent("spent", outcome="not_applied"),
        InternalError("not noted", outcome="not_applied"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_what_was_not_applied_leaves_no_record(
    run: Run, google: Google, ledger: FakeLedger, error: GatewayError
) -> None:
    """After a failed write the next request can use the key, with any body."""
    google.write_error = error
    first = await outcome(run())
    entries = dict(ledger.entries)
    google.write_error = None
    second = await run(replace(TICKET, fingerprint="f2"))

    assert first is error
    assert entries == {}
    assert second == Settled(results=RESULTS)
    assert (google.sent, google.looks) == (2, 0)


async def test_an_error_after_which_the_row_is_there_is_kept(run: Run, google: Google) -> None:
    """An error of an applied write is repeated to each client, and the row is not written again."""
    google.write_error = MISPLACED
    first = await outcome(run())
    is_first_marked = first.is_replayed
    google.write_error = None
    second = await outcome(run())

    assert not is_first_marked
    assert (second.message, second.outcome) == ("misplaced", "applied")
    assert second.is_replayed
    assert google.sent == 1


class SlowLedger(FakeLedger):
    """Stores the outcomes of writes only after a test allows it."""

    gate: asyncio.Event

    async def complete(self, identity: WriteIdentity, answer: object) -> None:
        await self.gate.wait()


async def test_a_request_that_ends_while_noting_is_answered(
    clock: ManualClock, google: Google
) -> None:
    """The row was written, so the answer says so although its record stays open."""
    ledger = SlowLedger(clock)
    ledger.gate = asyncio.Event()
    idempotency = Idempotency(ledger, google.exclusively)
    request = asyncio.ensure_future(idempotency.run(TICKET, google.perform, google.resume))
    await wait_all_tasks_blocked()
    request.cancel()

    assert await request == Settled(results=RESULTS)
