"""Tests of `patiently`, which waits for Google's quota."""

import pytest

from gateway.errors import GatewayError, QuotaSpent, UpstreamRefusal
from gateway.google.sheets import WorksheetProperties
from tests.contract.patience import MOST_ATTEMPTS, PatientSheets, patiently
from tests.fakes import BOOK, FakeSheets


class Failing:
    """A call that fails `times` times, and a sleep that returns at once."""

    def __init__(self, error: GatewayError, times: int) -> None:
        self.error = error
        self.times = times
        self.calls = 0
        self.slept: list[float] = []

    async def __call__(self) -> str:
        self.calls += 1
        if self.calls <= self.times:
            raise self.error
        return "answer"

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.mark.parametrize(
    ("told", "waited"), [pytest.param(7, 7, id="as-told"), pytest.param(None, 60, id="a-minute")]
)
async def test_waits_for_the_retry_time(told: int | None, waited: float) -> None:
    """A call without quota is repeated after the retry time, or after a minute."""
    call = Failing(QuotaSpent("spent", retry_after_seconds=told), times=2)

    answer = await patiently(call, call.sleep)

    assert answer == "answer"
    assert (call.calls, call.slept) == (3, [waited, waited])


async def test_gives_up_after_five_attempts() -> None:
    """After the maximum number of attempts, the quota error is raised."""
    call = Failing(QuotaSpent("spent"), times=100)

    with pytest.raises(QuotaSpent):
        await patiently(call, call.sleep)

    assert call.calls == MOST_ATTEMPTS


async def test_does_not_wait_for_other_errors() -> None:
    call = Failing(UpstreamRefusal("no"), times=1)

    with pytest.raises(UpstreamRefusal):
        await patiently(call, call.sleep)

    assert (call.calls, call.slept) == (1, [])


class Short(FakeSheets):
    """Fake `Sheets` whose first call has no quota."""

    def __init__(self) -> None:
        super().__init__()
        self.failing = Failing(QuotaSpent("spent", retry_after_seconds=9), times=1)

    async def list_worksheets(self, spreadsheet: str) -> list[WorksheetProperties]:
        await self.failing()
        return await super().list_worksheets(spreadsheet)


async def test_patient_sheets_wait_for_quota() -> None:
    """PatientSheets waits for quota and returns the result of the inner `Sheets`."""
    short = Short()
    short.add("T", [["a"]])

    listed = await PatientSheets(inner=short, sleep=short.failing.sleep).list_worksheets(BOOK)

    assert [each.title for each in listed] == ["T"]
    assert short.failing.slept == [9]
