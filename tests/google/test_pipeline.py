"""The parts of the pipeline together."""

import pytest

from gateway.errors import CircuitOpen, QuotaSpent, UpstreamUnreachable, WriteOutcomeUnknown
from gateway.google.assembly import assemble
from gateway.google.call_context import CallContext, in_call_context
from gateway.google.quota import open_budget
from gateway.google.sheets import Fence, Sheets
from gateway.settings.model import MAIN_ACCOUNT, GoogleSettings
from gateway.telemetry.events import RequestEvent
from tests.fakes import BOOK, FakeSheets
from tests.request_events import during
from tests.worksheets.scripted_sheets import ScriptedSheets

LEAST = GoogleSettings(reads_per_minute=1, writes_per_minute=1, max_waiting_seconds=0)


def piped(sheets: Sheets, settings: GoogleSettings) -> Sheets:
    budgets = {MAIN_ACCOUNT: open_budget(settings)}
    return assemble(settings, {MAIN_ACCOUNT: sheets}, budgets).sheets


def scripted() -> ScriptedSheets:
    fake = FakeSheets()
    fake.add("T", [["a"], [1]])
    return ScriptedSheets(fake)


async def test_a_spent_budget_is_no_outage() -> None:
    """A refusal by the budget reaches neither Google nor the breaker, and is not retried."""
    sheets = scripted()
    pipeline = piped(sheets, LEAST)
    await pipeline.list_worksheets(BOOK)
    for _ in range(9):
        with pytest.raises(QuotaSpent) as caught:
            await pipeline.list_worksheets(BOOK)
    await pipeline.put_fence(BOOK, Fence.random("gw"))

    assert caught.value.retry_after_seconds == 60
    assert sheets.cost() == (1, 1)


async def test_an_open_breaker_costs_nothing() -> None:
    """While Google is away calls are neither sent, counted nor budgeted; writes say so."""
    sheets = scripted()
    pipeline = piped(sheets, GoogleSettings())
    for _ in range(5):
        sheets.before("put_fence", WriteOutcomeUnknown("?"))
        with pytest.raises(WriteOutcomeUnknown):
            await pipeline.put_fence(BOOK, Fence.random("gw"))
    event = RequestEvent(request_id="r", method="GET", path="/")
    with during(event):
        for _ in range(99):
            with pytest.raises(CircuitOpen):
                await pipeline.list_worksheets(BOOK)
        with pytest.raises(CircuitOpen) as caught:
            await pipeline.put_fence(BOOK, Fence.random("gw"))
        with in_call_context(CallContext("k", is_verification=True)):
            await pipeline.list_worksheets(BOOK)

    assert caught.value.outcome == "not_applied"
    assert (event.upstream_reads, event.upstream_writes) == (1, 0)
    assert sheets.cost() == (1, 5)


async def test_each_attempt_is_budgeted_and_counted() -> None:
    """An attempt that finds the budget spent is not made: its refusal says when to come again."""
    sheets = scripted()
    pipeline = piped(sheets, LEAST)
    event = RequestEvent(request_id="r", method="GET", path="/")
    sheets.before("list_worksheets", UpstreamUnreachable("away"))
    with during(event), pytest.raises(QuotaSpent):
        await pipeline.list_worksheets(BOOK)

    assert (event.upstream_reads, event.upstream_writes) == (1, 0)
