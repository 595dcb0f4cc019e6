"""Idempotent writes whose outcome is unknown."""

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
    RowNumberUnknown,
    ShuttingDown,
    UpstreamTimeout,
    WorksheetNotFound,
    WriteOutcomeUnknown,
)
from gateway.worksheets.idempotency import RETRY_SECONDS, Settled
from tests.clock import ManualClock
from tests.worksheets.fake_ledger import FakeLedger
from tests.worksheets.idempotency.conftest import (
    FENCE,
    RESULTS,
    TICKET,
    Google,
    Run,
    left_open,
    outcome,
)

STILL_OPEN = WriteOutcomeUnknown("nobody knows", outcome="unknown", retry_after_seconds=185)
OPEN_ENDS = [
    pytest.param(WriteOutcomeUnknown("no answer", outcome="unknown"), id="no answer"),
    pytest.param(InternalError("a fault"), id="fault"),
    pytest.param(RuntimeError("killed"), id="killed"),
]


@pytest.mark.parametrize("error", OPEN_ENDS)
async def test_an_open_write_that_was_applied_is_found(
    run: Run, google: Google, error: Exception
) -> None:
    """The retry finds and stores the answer; a third request needs no search."""
    await left_open(run, google, error=error)
    google.was_applied = True
    second = await run()
    third = await run()

    assert second == third == Settled(results=RESULTS, is_replayed=True)
    assert (google.sent, google.looks) == (1, 1)
    assert [entry.fence for entry in google.resumed] == [FENCE]


@pytest.mark.parametrize("error", OPEN_ENDS)
async def test_an_open_write_that_never_will_be_applied_is_sent_anew(
    run: Run, google: Google, error: Exception
) -> None:
    """The retry sends the write again, because the first copy can no longer be applied."""
    await left_open(run, google, error=error)
    settled = await run()
    again = await run()

    assert settled == Settled(results=RESULTS)
    assert again == Settled(results=RESULTS, is_replayed=True)
    assert (google.sent, google.looks) == (2, 1)


async def test_an_open_write_that_stays_open_is_not_sent(
    run: Run, google: Google, ledger: FakeLedger
) -> None:
    """The answer says when to retry. The record stays open and keeps its age."""
    await left_open(run, google)
    before = ledger.entries[TICKET.scope]
    google.look_error = STILL_OPEN
    refused = [await outcome(run()) for _ in range(3)]

    assert refused == [STILL_OPEN] * 3
    assert google.sent == 1
    assert ledger.entries[TICKET.scope] == before


async def test_a_write_sent_anew_needs_no_more_room(
    run: Run, google: Google, ledger: FakeLedger
) -> None:
    """If open records fill the storage, they can be repeated, which makes space."""
    await left_open(run, google)
    ledger.lack_of_room = QueueFull("full", outcome="not_applied")
    settled = await run()

    assert settled == Settled(results=RESULTS)
    assert google.sent == 2


async def test_an_open_write_has_its_age_from_when_it_surely_had_been_sent(
    run: Run, google: Google, clock: ManualClock
) -> None:
    """A write that took long and ended open may have been sent just before its end."""
    google.gate.clear()
    google.write_error = WriteOutcomeUnknown("no answer", outcome="unknown")
    first = run()
    await wait_all_tasks_blocked()
    clock.advance(60)
    google.gate.set()
    await outcome(first)
    ended_at = clock()
    clock.advance(130)
    google.look_error = STILL_OPEN
    await outcome(run())

    assert [entry.sent_at for entry in google.resumed] == [ended_at]


async def test_a_write_that_ended_in_a_fault_has_its_age_from_then(
    run: Run, google: Google, clock: ManualClock
) -> None:
    """After any error the write may have been sent just before."""
    google.gate.clear()
    google.write_error = RuntimeError("a fault")
    first = run()
    await wait_all_tasks_blocked()
    clock.advance(60)
    google.gate.set()
    with pytest.raises(RuntimeError):
        await first
    ended_at = clock()
    clock.advance(130)
    google.write_error = None
    await run()

    assert [entry.sent_at for entry in google.resumed] == [ended_at]


async def test_a_write_sent_anew_has_its_age_again(
    run: Run, google: Google, clock: ManualClock
) -> None:
    """The second copy can be applied as late as the first one could."""
    await left_open(run, google)
    clock.advance(185)
    await left_open(run, google)
    sent_again_at = clock()
    clock.advance(100)
    await run()

    assert [entry.sent_at for entry in google.resumed][1:] == [sent_again_at]
    assert google.sent == 3


@pytest.mark.parametrize(
    ("trouble", "wait"),
    [
        (UpstreamTimeout("slow"), RETRY_SECONDS),
        (QuotaSpent("spent", retry_after_seconds=60), 60),
        (WorksheetNotFound("gone"), RETRY_SECONDS),
        (NoHeaderRow("none"), RETRY_SECONDS),
    ],
    ids=["slow", "quota", "gone", "no header"],
)
async def test_a_look_that_fails_leaves_it_open(
    run: Run, google: Google, ledger: FakeLedger, trouble: GatewayError, wait: int
) -> None:
    """Nothing is sent, and the answer says that the outcome is unknown."""
    await left_open(run, google)
    google.look_error = trouble
    refused = await outcome(run())

    assert isinstance(refused, WriteOutcomeUnknown)
    assert (refused.outcome, refused.retry_after_seconds) == ("unknown", wait)
    assert refused.__cause__ is trouble
    assert google.sent == 1
    assert ledger.entries[TICKET.scope].answer is None


async def test_an_open_write_keeps_its_body(run: Run, google: Google) -> None:
    """A request with another body is refused before the outcome is searched."""
    await left_open(run, google)
    error = await outcome(run(replace(TICKET, fingerprint="f2")))

    assert isinstance(error, IdempotencyKeyReused)
    assert google.looks == 0


async def test_a_request_that_ends_while_looking_says_unknown(run: Run, google: Google) -> None:
    """When the server stops during the search, the record stays open."""
    await left_open(run, google)
    google.gate.clear()
    retry = run()
    await wait_all_tasks_blocked()
    retry.cancel()

    assert isinstance(await outcome(retry), WriteOutcomeUnknown)


@pytest.mark.parametrize(
    "trouble",
    [
        QueueFull("full", outcome="not_applied", retry_after_seconds=5),
        ShuttingDown("stops", outcome="not_applied", retry_after_seconds=5),
    ],
    ids=["full", "stops"],
)
async def test_a_line_without_room_leaves_it_open(
    run: Run, google: Google, trouble: GatewayError
) -> None:
    """A full queue means that no search began; it does not mean that the write was not applied."""
    await left_open(run, google)
    google.line_error = trouble
    refused = await outcome(run())

    assert isinstance(refused, WriteOutcomeUnknown)
    assert (refused.outcome, refused.retry_after_seconds) == ("unknown", 5)
    assert (google.sent, google.looks) == (1, 0)


async def test_a_record_that_cannot_be_read_leaves_it_open(
    run: Run, google: Google, ledger: FakeLedger
) -> None:
    """The record is read again in the queue. If that fails, its fence is unknown."""
    await left_open(run, google)

    async def break_down() -> None:
        ledger.cannot_read = InternalError("the disk")

    google.before_turn = break_down
    refused = await outcome(run())

    assert isinstance(refused, WriteOutcomeUnknown)
    assert (refused.outcome, refused.retry_after_seconds) == ("unknown", RETRY_SECONDS)
    assert (google.sent, google.looks) == (1, 0)


async def test_found_rows_that_cannot_be_shown_are_answered_so_for_good(
    run: Run, google: Google, ledger: FakeLedger
) -> None:
    """The write was applied although its rows cannot be shown, so it is never sent again."""
    await left_open(run, google)
    google.was_applied = True
    google.cannot_show = RowNumberUnknown("moved")
    first = await outcome(run())
    second = await outcome(run())

    assert first is second is google.cannot_show
    assert (google.sent, google.looks) == (1, 1)
    assert ledger.entries[TICKET.scope].answer is google.cannot_show


async def test_a_record_that_changed_in_line_is_the_one_that_counts(
    run: Run, google: Google, ledger: FakeLedger, clock: ManualClock
) -> None:
    """The record is read again in the queue; here another request has sent the write meanwhile."""
    await left_open(run, google)
    clock.advance(300)
    google.before_turn = lambda: ledger.renew(TICKET)
    await run()

    assert [entry.sent_at for entry in google.resumed] == [clock()]


@pytest.mark.parametrize("is_gone", [False, True], ids=["answered", "gone"])
async def test_a_record_that_ended_in_line_needs_no_look(
    run: Run, google: Google, ledger: FakeLedger, is_gone: bool
) -> None:
    """A stored answer is replayed. Without a record the write is sent as a new one."""
    await left_open(run, google)
    google.before_turn = lambda: (
        ledger.drop(TICKET) if is_gone else ledger.complete(TICKET, RESULTS)
    )
    settled = await run()

    assert settled == Settled(results=RESULTS, is_replayed=not is_gone)
    assert (google.sent, google.looks) == (1 + is_gone, 0)
