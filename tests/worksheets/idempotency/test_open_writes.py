"""Writes with an Idempotency-Key of which nobody knows what became."""

from dataclasses import replace

import pytest
from anyio import wait_all_tasks_blocked

from gateway.errors import (
    GatewayError,
    IdempotencyKeyReused,
    InternalError,
    NoHeaderRow,
    QueueFull,
    QuotaSpent,
    ShuttingDown,
    UpstreamError,
    UpstreamTimeout,
    WorksheetNotFound,
    WriteOutcomeUnknown,
)
from gateway.worksheets.idempotency import Settled
from tests.clock import ManualClock
from tests.worksheets.fake_ledger import FakeLedger
from tests.worksheets.idempotency.conftest import RESULTS, TICKET, Google, Run, left_open, outcome

OPEN_ENDS = [
    pytest.param(WriteOutcomeUnknown("no answer", outcome="unknown"), id="no answer"),
    pytest.param(InternalError("a fault"), id="fault"),
    pytest.param(RuntimeError("killed"), id="killed"),
]


@pytest.mark.parametrize("error", OPEN_ENDS)
async def test_an_open_write_that_is_there_is_found(
    run: Run, google: Google, error: Exception
) -> None:
    """The retry looks, completes the record, and gives the answer; a third one need not look."""
    await left_open(run, google, error=error)
    google.is_there = True
    second = await run()
    third = await run()

    assert second == third == Settled(results=RESULTS, is_replayed=True)
    assert (google.sent, google.looks) == (1, 1)


@pytest.mark.parametrize("error", OPEN_ENDS)
async def test_an_open_write_is_not_sent_again_while_it_may_land(
    run: Run, google: Google, clock: ManualClock, error: Exception
) -> None:
    """Not there for 185 s: the answer says how long to wait. Then it is sent, once more."""
    await left_open(run, google, error=error)
    waits = []
    for seconds in (0.0, 100.0, 84.5):
        clock.advance(seconds)
        refused = await outcome(run())
        assert isinstance(refused, WriteOutcomeUnknown)
        waits.append((refused.outcome, refused.retry_after_seconds))
    sent_before = google.sent
    clock.advance(0.5)
    settled = await run()

    assert waits == [("unknown", 185), ("unknown", 85), ("unknown", 1)]
    assert sent_before == 1
    assert settled == Settled(results=RESULTS)
    assert google.sent == 2


async def test_a_write_sent_again_needs_no_more_room(
    run: Run, google: Google, ledger: FakeLedger, clock: ManualClock
) -> None:
    """Where open records fill all the room, repeating those is what makes room again."""
    await left_open(run, google)
    ledger.lack_of_room = QueueFull("full", outcome="not_applied")
    refused = await outcome(run())
    clock.advance(185)
    settled = await run()

    assert isinstance(refused, WriteOutcomeUnknown)
    assert settled == Settled(results=RESULTS)
    assert google.sent == 2


async def test_the_time_to_wait_counts_from_when_it_surely_had_been_sent(
    run: Run, google: Google, clock: ManualClock
) -> None:
    """A write that was under way for long when it ended open has its full time from then."""
    google.gate.clear()
    google.write_error = WriteOutcomeUnknown("no answer", outcome="unknown")
    first = run()
    await wait_all_tasks_blocked()
    clock.advance(60)
    google.gate.set()
    await outcome(first)
    clock.advance(130)
    refused = await outcome(run())

    assert refused.retry_after_seconds == 55


async def test_a_write_sent_again_has_its_time_again(
    run: Run, google: Google, clock: ManualClock
) -> None:
    """Its second sending may land as late as the first."""
    await left_open(run, google)
    clock.advance(185)
    await left_open(run, google)
    clock.advance(100)
    refused = await outcome(run())

    assert refused.retry_after_seconds == 85
    assert google.sent == 2


async def test_a_look_that_took_long_proves_nothing_more(
    run: Run, google: Google, clock: ManualClock
) -> None:
    """What was not there when the look began may have landed when it ends."""
    await left_open(run, google)
    clock.advance(184)
    google.gate.clear()
    retry = run()
    await wait_all_tasks_blocked()
    clock.advance(10)
    google.gate.set()
    refused = await outcome(retry)

    assert isinstance(refused, WriteOutcomeUnknown)
    assert google.sent == 1


async def test_a_clock_that_was_set_back_does_not_hasten_it(
    run: Run, google: Google, clock: ManualClock
) -> None:
    """A record of the future is as one of now."""
    await left_open(run, google)
    clock.advance(-1000)
    refused = await outcome(run())

    assert refused.retry_after_seconds == 185


@pytest.mark.parametrize(
    ("trouble", "age", "wait"),
    [
        (UpstreamTimeout("slow"), 100, 85),
        (UpstreamTimeout("slow"), 300, 1),
        (QuotaSpent("spent", retry_after_seconds=60), 170, 60),
    ],
    ids=["young", "old", "quota"],
)
async def test_a_look_that_fails_leaves_it_open(
    run: Run, google: Google, clock: ManualClock, trouble: GatewayError, age: float, wait: int
) -> None:
    """Nothing is sent, and nothing is said of what became of it."""
    await left_open(run, google)
    clock.advance(age)
    google.look_error = trouble
    refused = await outcome(run())

    assert isinstance(refused, WriteOutcomeUnknown)
    assert (refused.outcome, refused.retry_after_seconds) == ("unknown", wait)
    assert refused.__cause__ is trouble
    assert google.sent == 1


async def test_an_open_write_keeps_its_body(run: Run, google: Google) -> None:
    """Another body is refused before anything is looked for."""
    await left_open(run, google)
    error = await outcome(run(replace(TICKET, fingerprint="f2")))

    assert isinstance(error, IdempotencyKeyReused)
    assert google.looks == 0


async def test_an_open_update_that_is_there_takes_no_rows(
    run: Run, google: Google, ledger: FakeLedger
) -> None:
    """Only creates have rows that nobody else may claim."""
    await left_open(run, google)
    google.is_there = True
    await run(replace(TICKET, is_create=False))

    assert "landed" not in ledger.calls


async def test_a_request_that_ends_while_looking_says_unknown(run: Run, google: Google) -> None:
    """When the server stops, an open write is as open as before."""
    await left_open(run, google)
    google.gate.clear()
    retry = run()
    await wait_all_tasks_blocked()
    retry.cancel()

    assert isinstance(await outcome(retry), WriteOutcomeUnknown)


@pytest.mark.parametrize(
    ("trouble", "wait"),
    [
        (QueueFull("full", outcome="not_applied", retry_after_seconds=5), 85),
        (ShuttingDown("stops", outcome="not_applied", retry_after_seconds=5), 85),
    ],
    ids=["full", "stops"],
)
async def test_a_line_without_room_leaves_it_open(
    run: Run, google: Google, clock: ManualClock, trouble: GatewayError, wait: int
) -> None:
    """That the look was not begun does not say that the write was not applied."""
    await left_open(run, google)
    clock.advance(100)
    google.line_error = trouble
    refused = await outcome(run())

    assert isinstance(refused, WriteOutcomeUnknown)
    assert (refused.outcome, refused.retry_after_seconds) == ("unknown", wait)


@pytest.mark.parametrize("trouble", [WorksheetNotFound("gone"), NoHeaderRow("none")])
async def test_what_only_people_can_change_is_told_once_nothing_can_land(
    run: Run, google: Google, clock: ManualClock, trouble: GatewayError
) -> None:
    """Before that the outcome is open; after it to try again and again would tell no more."""
    await left_open(run, google)
    google.look_error = trouble
    clock.advance(184)
    young = await outcome(run())
    clock.advance(1)
    old = await outcome(run())

    assert isinstance(young, WriteOutcomeUnknown)
    assert old is trouble
    assert google.sent == 1


async def test_found_rows_that_cannot_be_shown_are_answered_so_for_good(
    run: Run, google: Google, ledger: FakeLedger
) -> None:
    """The record is complete before its rows are kept from others."""
    await left_open(run, google)
    google.is_there = True
    google.cannot_show = UpstreamError("there", outcome="applied")
    first = await outcome(run())
    second = await outcome(run())

    assert first is second is google.cannot_show
    assert google.looks == 1
    assert ledger.entries[TICKET.scope].answer is google.cannot_show


async def test_a_record_that_changed_in_line_is_the_one_that_counts(
    run: Run, google: Google, ledger: FakeLedger, clock: ManualClock
) -> None:
    """It is read again once it is its turn: here it was sent anew meanwhile."""
    await left_open(run, google)
    clock.advance(300)
    google.before_turn = lambda: ledger.renew(TICKET)
    refused = await outcome(run())

    assert refused.retry_after_seconds == 185


async def test_a_write_that_ended_in_a_fault_has_its_time_from_then(
    run: Run, google: Google, clock: ManualClock
) -> None:
    """Whatever the error was, the write may have left right before it."""
    google.gate.clear()
    google.write_error = RuntimeError("a fault")
    first = run()
    await wait_all_tasks_blocked()
    clock.advance(60)
    google.gate.set()
    with pytest.raises(RuntimeError):
        await first
    clock.advance(130)
    refused = await outcome(run())

    assert refused.retry_after_seconds == 55
