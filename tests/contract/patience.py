"""Waits for Google's quota, because a test run makes more calls than a minute allows."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from gateway.errors import QuotaSpent
from gateway.google.sheets import Sheets
from tests.forwarding import Call, ForwardingSheets, Kind

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]

MOST_ATTEMPTS = 5
USUAL_WAIT_SECONDS = 60


async def patiently(call: Callable[[], Awaitable[T]], sleep: Sleep) -> T:
    """Call, and repeat after a wait if Google's quota is used up.

    A write can be repeated, because Google rejects such a call before any change. Raises
    `QuotaSpent` if the last attempt fails for this reason.
    """
    for _ in range(MOST_ATTEMPTS - 1):
        try:
            return await call()
        except QuotaSpent as spent:
            await sleep(spent.retry_after_seconds or USUAL_WAIT_SECONDS)
    return await call()


@dataclass(frozen=True, kw_only=True)
class PatientSheets(ForwardingSheets):
    """`Sheets` that waits and repeats a call if Google's quota is used up."""

    inner: Sheets
    sleep: Sleep

    async def forward(self, spreadsheet: str, call: Call[T], *, kind: Kind) -> T:
        return await patiently(lambda: call(self.inner), self.sleep)
