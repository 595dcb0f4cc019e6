"""The whole pipeline to Google: accounts, budget, breaker and retries together."""

import asyncio
from contextlib import suppress

import pytest
from anyio import wait_all_tasks_blocked

from gateway.errors import CircuitOpen, QuotaSpent, UpstreamUnreachable, WriteOutcomeUnknown
from gateway.google.client import assemble
from gateway.google.pipeline import Retries
from gateway.google.quota import open_budget
from gateway.google.sheets import CallContext, Fence, Sheets, in_call_context
from gateway.settings.model import MAIN_ACCOUNT, GoogleSettings
from gateway.telemetry.events import RequestEvent
from tests.fakes import BOOK, FakeSheets
from tests.google.pipelines import Bench
from tests.google.timers import ManualTimers, failing
from tests.request_events import during
from tests.stand_in import StandIn
from tests.worksheets.scripted_sheets import ScriptedSheets

LEAST = GoogleSettings(reads_per_minute=1, writes_per_minute=1, max_waiting_seconds=0)


def piped(sheets: Sheets, settings: GoogleSettings) -> Sheets:
    budgets = {MAIN_ACCOUNT: open_budget(settings)}
    return assemble({MAIN_ACCOUNT: StandIn(sheets)}, budgets, turn_seconds=None).sheets


def scripted() -> ScriptedSheets:
    fake = FakeSheets()
    fake.add("T", [["a"], [1]])
    return ScriptedSheets(fake)


async def test_a_spent_budget_is_no_outage() -> None:
    """A call that the budget refuses is not sent, not retried, and no outage for the breaker."""
    sheets = scripted()
    pipeline = piped(sheets, LEAST)
    await pipeline.list_worksheets(BOOK)
    for _ in range(9):
        with pytest.raises(QuotaSpent) as caught:
            await pipeline.list_worksheets(BOOK)
    await pipeline.put_fence(BOOK, Fence.random("gw"))

    assert caught.value.retry_after_seconds == 60
    assert sheets.cost() == (1, 1)


async def test_an_open_breaker_sends_no_calls() -> None:
    """An open breaker neither sends, counts nor budgets calls, except verifications."""
    sheets = scripted()
    pipeline = piped(sheets, GoogleSettings())
    for _ in range(5):
        sheets.before("put_fence", WriteOutcomeUnknown("?"))
        with pytest.raises(WriteOutcomeUnknown):
            await pipeline.put_fence(BOOK, Fence.random("gw"))
    event = RequestEvent(id="r", method="GET", path="/")
    with during(event):
        for _ in range(99):
            with pytest.raises(CircuitOpen):
                await pipeline.list_worksheets(BOOK)
        with pytest.raises(CircuitOpen) as caught:
            await pipeline.put_fence(BOOK, Fence.random("gw"))
        with in_call_context(CallContext("k", is_verification=True)):
            await pipeline.list_worksheets(BOOK)

    assert caught.value.outcome == "not_applied"
    assert (event.reads, event.writes) == (1, 0)
    assert sheets.cost() == (1, 5)


async def test_each_attempt_is_budgeted_and_counted() -> None:
    """A retry without quota is not sent; the read fails with QuotaSpent and counts as one call."""
    sheets = scripted()
    pipeline = piped(sheets, LEAST)
    event = RequestEvent(id="r", method="GET", path="/")
    sheets.before("list_worksheets", UpstreamUnreachable("away"))
    with during(event), pytest.raises(QuotaSpent):
        await pipeline.list_worksheets(BOOK)

    assert (event.reads, event.writes) == (1, 0)


AWAY = UpstreamUnreachable("away", outcome="not_applied")
FEW = GoogleSettings(reads_per_minute=54, writes_per_minute=54, max_waiting_seconds=60)


class Counting:
    """A call that counts how often it is sent; it raises the given errors first, then answers."""

    def __init__(self, *errors: Exception) -> None:
        self.sent = 0
        self._call = failing(*errors)

    async def __call__(self) -> str:
        self.sent += 1
        return await self._call()


@pytest.mark.parametrize(
    ("is_write", "sent"), [pytest.param(False, 2, id="read"), pytest.param(True, 1, id="write")]
)
async def test_a_read_is_repeated_and_a_write_is_not(is_write: bool, sent: int) -> None:
    """A failed read is retried. A failed write is not: its check of the rows would be outdated."""
    bench, call = Bench(retries=Retries(jitter=lambda: 0.0)), Counting(AWAY)
    with suppress(UpstreamUnreachable):
        await bench.make(call, is_write=is_write)

    assert call.sent == sent


async def test_calls_add_to_the_allowance_of_retries() -> None:
    """Three retries are allowed at first; ten calls allow one further retry."""
    bench = Bench(retries=Retries(jitter=lambda: 0.0))
    for _ in range(3):
        await bench.make(Counting(AWAY))
    spent = Counting(AWAY)
    with pytest.raises(UpstreamUnreachable):
        await bench.make(spent)
    for _ in range(10):
        await bench.make(Counting())
    again = Counting(AWAY)
    await bench.make(again)

    assert (spent.sent, again.sent) == (1, 2)


async def test_an_answer_between_outages_keeps_the_breaker_closed() -> None:
    """Only five outages without an answer between them open the breaker."""
    bench = Bench()
    for _ in range(2):
        for _ in range(4):
            with pytest.raises(UpstreamUnreachable):
                await bench.make(Counting(AWAY))
        await bench.make(Counting())

    assert bench.changes == []


@pytest.mark.parametrize("is_write", [False, True], ids=["read", "write"])
async def test_calls_that_waited_into_an_outage_are_not_sent(is_write: bool) -> None:
    """Calls that waited for quota while the breaker opened fail unsent and use no quota."""
    bench, late = Bench(settings=FEW), [Counting() for _ in range(3)]
    for _ in range(6):
        await bench.make(Counting(), is_write=is_write)
    waiting = [asyncio.create_task(bench.make(each, is_write=is_write)) for each in late]
    await wait_all_tasks_blocked()
    for _ in range(5):
        with pytest.raises(UpstreamUnreachable):
            await bench.make(Counting(AWAY), is_write=not is_write)
    await bench.timers.advance(60 / 54)
    ends = [type(each.exception()) for each in waiting if each.done()]
    for each in waiting:
        each.cancel()

    assert [each.sent for each in late] == [0, 0, 0]
    assert ends == [CircuitOpen] * 3
    bucket = bench.budget.writes if is_write else bench.budget.reads
    assert bucket.waiting_seconds() == 0


async def test_a_write_waits_longer_for_its_turn_than_for_quota() -> None:
    """`write_turn` waits for quota up to `turn_seconds`, while a single write fails at once."""
    timers = ManualTimers()
    budget = open_budget(LEAST, clock=timers.clock, set_timer=timers)
    clients = {MAIN_ACCOUNT: StandIn(scripted())}
    google = assemble(clients, {MAIN_ACCOUNT: budget}, turn_seconds=100)
    await google.sheets.put_fence(BOOK, Fence.random("gw"))
    turn = asyncio.create_task(google.pipeline.write_turn(BOOK))
    await wait_all_tasks_blocked()
    with pytest.raises(QuotaSpent):
        await google.sheets.put_fence(BOOK, Fence.random("gw"))
    is_waiting = not turn.done()
    await timers.advance(60)

    assert is_waiting
    with await turn:
        await google.sheets.put_fence(BOOK, Fence.random("gw"))
