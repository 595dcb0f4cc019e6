"""The way of each call to Google: retries, circuit breaker, account, quota, count.

Rules
- An attempt passes the breaker, gets an account, and then waits for that account's quota. It is
  checked once more after the wait, since the breaker may have opened meanwhile.
- A call that one account refuses is made by the next one that may reach the spreadsheet. A write
  waits for no other account: nothing may come between a look and its write.
- The time of sending is recorded at the end of all waits: a look's age runs from there.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

from gateway.errors import CircuitOpen, GatewayError, QuotaSpent
from gateway.google.accounts import OTHER_ACCOUNT, Account, Accounts
from gateway.google.call_context import current_call_context, record_sent_at
from gateway.google.forwarding import Call, ForwardingSheets
from gateway.google.outages import Breaker, Entry, Retries
from gateway.google.quota import Bucket, WriteTurn, current_write_turn
from gateway.telemetry.events import budget_waited, upstream_called

T = TypeVar("T")


class Pipeline(ForwardingSheets):
    """A `Sheets` whose calls are made by one of the accounts, within its quota.

    `turn_seconds` is the longest wait for a write's turn: longer than that of other calls, or a key
    that writes to ten worksheets would have its tenth one always refused. `waited` receives the
    waiting time of each call in seconds, whether it was sent or not.
    """

    def __init__(
        self,
        accounts: Accounts,
        *,
        breaker: Breaker,
        retries: Retries,
        turn_seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        waited: Callable[[float], None] = budget_waited,
    ) -> None:
        self.accounts = accounts
        self._breaker = breaker
        self._retries = retries
        self._turn_seconds = turn_seconds
        self._clock = clock
        self._waited = waited

    async def forward(self, spreadsheet: str, call: Call[T], *, is_write: bool) -> T:
        self._retries.called()
        attempt = 0
        while True:
            attempt += 1
            is_verification = current_call_context().is_verification
            entry = self._breaker.enter(is_write=is_write, is_verification=is_verification)
            try:
                answer = await self._attempted(spreadsheet, call, entry, is_write=is_write)
            except GatewayError as error:
                self._breaker.failed(entry, error)
                if is_write or not await self._retries.may_repeat(attempt, error, self._breaker):
                    raise
            else:
                self._breaker.answered()
                return answer

    async def write_turn(self, spreadsheet: str) -> AbstractContextManager[None]:
        """Wait for the quota of one write and reserve it. Raises `QuotaSpent`."""
        account = await self.accounts.first(spreadsheet, is_write=True)
        bucket = account.bucket(is_write=True)
        await self._take(bucket, self._turn_seconds)
        return WriteTurn(bucket)

    async def _attempted(
        self, spreadsheet: str, call: Call[T], entry: Entry, *, is_write: bool
    ) -> T:
        """Make a call as the first account that Google accepts for it."""
        accounts = self.accounts
        account = accounts.reserved() if is_write else None
        if account is None:
            account = await accounts.first(spreadsheet, is_write=is_write)
        errors: dict[str, GatewayError] = {}
        while account is not None:
            try:
                if errors and (
                    is_write or any(isinstance(each, QuotaSpent) for each in errors.values())
                ):
                    account.bucket(is_write=is_write).check_free()
                with accounts.asking(account, spreadsheet, is_write=is_write):
                    return await self._sent(account, call, entry, is_write=is_write)
            except OTHER_ACCOUNT as error:
                if isinstance(error, QuotaSpent) and error.is_of_spreadsheet:
                    raise
                errors[account.name] = error
                account = accounts.following(spreadsheet, errors, is_write=is_write)
        raise accounts.refusal(errors)

    async def _sent(self, account: Account, call: Call[T], entry: Entry, *, is_write: bool) -> T:
        """Make a call as an account when its quota allows, and learn from a 429."""
        bucket = account.bucket(is_write=is_write)
        turn = current_write_turn() if is_write else None
        if turn is None or not turn.take():
            await self._take(bucket, None)
        try:
            self._breaker.check(entry, is_write=is_write)
        except CircuitOpen:
            bucket.give_back()
            raise
        sent_at = self._clock()
        try:
            with counted(account.name, is_write=is_write, clock=self._clock):
                return await call(account.sheets)
        except QuotaSpent as refusal:
            if not refusal.is_of_spreadsheet:
                bucket.refused(
                    sent_at=sent_at, limit=refusal.limit, is_project=refusal.is_of_project
                )
            raise

    async def _take(self, bucket: Bucket, max_waiting_seconds: float | None) -> None:
        asked_at = self._clock()
        try:
            await bucket.take(current_call_context(), max_waiting_seconds=max_waiting_seconds)
        finally:
            self._waited(self._clock() - asked_at)


@contextmanager
def counted(account: str, *, is_write: bool, clock: Callable[[], float]) -> Iterator[None]:
    """Count and time the call of the block, and record when it is sent."""
    started = clock()
    record_sent_at(started)
    error: BaseException | None = None
    try:
        yield
    except BaseException as raised:
        error = raised
        raise
    finally:
        upstream_called(account, is_write=is_write, seconds=clock() - started, error=error)
