"""The way of each call to Google: retries, circuit breaker, account, quota, count.

Rules
- An attempt passes the breaker, gets an account, and then waits for that account's quota. It is
  checked once more after the wait, since the breaker may have opened meanwhile.
- A call that one account refuses is made by the next one that may reach the spreadsheet. A write
  waits for no other account: nothing may come between a look and its write.
- A write that must follow a read reserves its quota before the read (`write_turn`).
- The time of sending is recorded at the end of all waits: a look's age runs from there.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TypeVar

from gateway.errors import CircuitOpen, GatewayError, QuotaSpent
from gateway.google.accounts import OTHER_ACCOUNT, Account, Accounts
from gateway.google.call_context import (
    CallContext,
    WriteTurn,
    current_call_context,
    in_call_context,
)
from gateway.google.calls import Call
from gateway.google.outages import Breaker, Entry, Retries
from gateway.google.quota import Bucket
from gateway.telemetry.events import budget_waited, upstream_called

T = TypeVar("T")


class Pipeline:
    """Sends calls as one of the accounts, within its quota.

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

    async def send(self, call: Call[T]) -> T:
        """Make a call, and repeat a read after a brief outage. Raises the errors of `Sheets`."""
        context, is_write = current_call_context(), call.is_write
        self._retries.call_count += 1
        attempt = 0
        while True:
            attempt += 1
            entry = self._breaker.enter(is_write=is_write, is_verification=context.is_verification)
            try:
                answer = await self._sent(call, context, entry)
            except GatewayError as error:
                self._breaker.failed(entry, error)
                if is_write or not await self._retries.may_repeat(attempt, error, self._breaker):
                    raise
            else:
                self._breaker.answered()
                return answer

    async def _sent(self, call: Call[T], context: CallContext, entry: Entry) -> T:
        """Make a call as the first account that Google accepts for it, when its quota allows."""
        accounts, spreadsheet, is_write = self.accounts, call.spreadsheet, call.is_write
        turn = context.turn if is_write and context.turn and context.turn.is_left else None
        account = (
            accounts.by_name[turn.account]
            if turn is not None
            else accounts.pick(spreadsheet, {}, is_write=is_write)
        )
        errors: dict[str, GatewayError] = {}
        sent_at = self._clock()
        while account is not None:
            bucket = account.budget.writes if is_write else account.budget.reads
            try:
                if errors and (is_write or any(map(_is_spent, errors.values()))):
                    bucket.check_free()
                with accounts.asking(account, spreadsheet, is_write=is_write):
                    if turn is not None and turn.is_left:
                        turn.is_left = False
                    else:
                        await self._take(bucket, context, None)
                    try:
                        self._breaker.check(entry, is_write=is_write)
                    except CircuitOpen:
                        bucket.give_back()
                        raise
                    sent_at = self._clock()
                    with counted(account.name, is_write=is_write, clock=self._clock):
                        answer: T = await account.make(call)
                return answer
            except OTHER_ACCOUNT as error:
                if isinstance(error, QuotaSpent) and error.is_of_spreadsheet:
                    raise
                if isinstance(error, QuotaSpent) and error.is_from_google:
                    bucket.refused(
                        sent_at=sent_at, limit=error.limit, is_project=error.is_of_project
                    )
                errors[account.name] = error
                account = accounts.pick(spreadsheet, errors, is_write=is_write)
        raise accounts.refusal(errors)

    async def write_turn(self, spreadsheet: str) -> AbstractContextManager[None]:
        """Wait for the quota of one write, and reserve it for the block. Raises `QuotaSpent`."""
        account = self.accounts.first(spreadsheet, is_write=True)
        await self._take(account.budget.writes, current_call_context(), self._turn_seconds)
        return _reserved(account)

    async def _take(
        self, bucket: Bucket, context: CallContext, max_waiting_seconds: float | None
    ) -> None:
        asked_at = self._clock()
        try:
            await bucket.take(context, max_waiting_seconds=max_waiting_seconds)
        finally:
            self._waited(self._clock() - asked_at)


@contextmanager
def _reserved(account: Account) -> Iterator[None]:
    """Have the first write of the block use what was taken of the quota; or give it back."""
    turn = WriteTurn(account.name)
    try:
        with in_call_context(replace(current_call_context(), turn=turn)):
            yield
    finally:
        if turn.is_left:
            turn.is_left = False
            account.budget.writes.give_back()


def _is_spent(error: GatewayError) -> bool:
    return isinstance(error, QuotaSpent)


@contextmanager
def counted(account: str, *, is_write: bool, clock: Callable[[], float]) -> Iterator[None]:
    """Count and time the call of the block, and record when it is sent."""
    started = clock()
    sent_at = current_call_context().sent_at
    if sent_at is not None:
        sent_at.record(started)
    error: BaseException | None = None
    try:
        yield
    except BaseException as raised:
        error = raised
        raise
    finally:
        upstream_called(account, is_write=is_write, seconds=clock() - started, error=error)
