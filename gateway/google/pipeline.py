"""Pipeline of the calls to Google: retries, circuit breaker, account, quota, count.

Rules of calls
- A call is a value (`Call`); the kinds are in `calls.py`.
- An attempt passes the breaker, gets an account, and then waits for that account's quota. It is
  checked once more after the wait, since the breaker may have opened meanwhile.
- If Google refuses a call of one account, the next account that may reach the spreadsheet makes it.
  A write does not wait for another account, because its look would become older.
- A write that must follow a read reserves its quota before the read (`write_turn`).
- The time of sending is recorded after all waits: the age of a look counts from there.

Rules of accounts
- Reads use the account with most quota left among those known to reach the spreadsheet. Writes stay
  with the account that wrote last while it has quota, which keeps their order.
- Among untested accounts the first is tried first; for writes, one that may read.
- An untested account is tried while no known one has quota left, one at a time: a refusal costs a
  call of an account that had nothing else to do.
- If Google answers that a spreadsheet does not exist or is not shared, or that the quota is spent,
  the next account is tried. If none reaches it, each request tries the first account, whose address
  the answer names, and the one that was refused least recently.
- An account with refused credentials rests, and a read probes it once a minute. If all rest, the
  first is used.
- After the refusal of a write, only an account with quota at once may send it.
- A 429 with another limit than the account's and the project's counts as a limit of the
  spreadsheet: no other account is tried, and none pauses.
- A single account makes all calls, also after refusals.
"""

import asyncio
import math
import random
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from gspread.http_client import HTTPClient

from gateway.errors import (
    CircuitOpen,
    GatewayError,
    InvalidSpreadsheetId,
    LookOutdated,
    QuotaSpent,
    SpreadsheetNotFound,
    SpreadsheetNotShared,
    UpstreamAuth,
    UpstreamError,
    UpstreamRefusal,
    UpstreamTimeout,
    UpstreamUnreachable,
    WriteOutcomeUnknown,
)
from gateway.google.quota import Budget
from gateway.google.rendering import Limits
from gateway.google.sheets import (
    CallContext,
    WriteTurn,
    current_call_context,
    in_call_context,
)
from gateway.google.translation import UNREADABLE, GoogleRefusal
from gateway.google.wire import Answer
from gateway.table.steps import Work
from gateway.telemetry.events import upstream_called

T = TypeVar("T")


@dataclass(frozen=True)
class Call(ABC, Generic[T]):
    """One call: its spreadsheet, and whether it writes."""

    spreadsheet: str
    is_write: ClassVar[bool] = False

    @property
    def fields(self) -> str:
        """The fields of the answer."""
        return ""

    @abstractmethod
    def message(self, gspread: HTTPClient) -> Any:
        """The request, as built by the verbs of a `Gspread`."""

    @abstractmethod
    def decode(self, answer: Answer, limits: Limits) -> Work[T]:
        """Decode an answer with status 200. Steps are bytes.

        Raises `AnswerTooLarge`, `SheetTooLarge`, or msgspec's errors for a malformed answer.
        """


FAILURES_TO_OPEN = 5
PROBE_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    read_attempts: int = 3
    first_pause_seconds: float = 0.2
    longest_pause_seconds: float = 2.0
    retries_per_call: float = 0.1
    max_allowance: float = 3.0
    """Maximum number of saved-up retries; also the initial allowance."""


class Retries:
    """Decides whether a failed read is repeated, and waits before it; `jitter` returns 0 to 1.

    Rules:
    - A read is retried after a brief outage, never after a 429, a refusal or a timeout. A write is
      not: its look would be old by then.
    - The pause is random up to a bound that doubles (full jitter), so that calls that failed
      together are not retried together.
    - Retries add at most 10 % to Google calls, plus `max_allowance` after a start.
    - Nothing is retried while the circuit breaker is open; the first error is raised.
    """

    def __init__(
        self,
        policy: RetryPolicy = RetryPolicy(),
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._policy = policy
        self._sleep = sleep
        self._jitter = jitter
        self._allowance = policy.max_allowance
        self.call_count = 0
        """Calls since the last update of the allowance, to which each adds."""

    async def may_repeat(self, failures: int, error: GatewayError, breaker: "Breaker") -> bool:
        """Wait before a read is retried after `failures` failures; False if it may not be."""
        policy = self._policy
        if failures >= policy.read_attempts or sign_of(error) is not Sign.BRIEF_OUTAGE:
            return False
        if self._reckoned() < 1 or breaker.is_open:
            return False
        bound = policy.first_pause_seconds * 2 ** (failures - 1)
        await self._sleep(self._jitter() * min(bound, policy.longest_pause_seconds))
        if self._reckoned() < 1 or breaker.is_open:  # other calls failed meanwhile
            return False
        self._allowance -= 1
        return True

    def _reckoned(self) -> float:
        """Update the allowance by the calls since the last update, and return it."""
        added = self.call_count * self._policy.retries_per_call
        self._allowance = min(self._allowance + added, self._policy.max_allowance)
        self.call_count = 0
        return self._allowance


class Entry(NamedTuple):
    """Admission of a call by the breaker; `changes` counts its openings and closings before."""

    changes: int
    is_exempt: bool
    """True for probes and verifications, which are sent even if the breaker is open."""


class Breaker:
    """Circuit breaker: while Google fails, only probes are sent.

    It calls `changed` with True when it opens and with False when it closes.

    Rules:
    - Five consecutive outages open it. Any other answer, including a refusal or a 429, closes it:
      Google responds again.
    - While it is open, calls fail at once. Every five seconds one call is sent as a probe, even if
      the previous probe still hangs. Verifications of writes are always sent.
    - A failure does not count if the breaker opened or closed since the call began: a call that
      hung during an outage must not open the breaker again afterwards.
    - Calls that were not sent, or were cancelled, do not count.
    - A call that waited for the quota is checked again before it is sent.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        changed: Callable[[bool], None] = lambda _is_open: None,
    ) -> None:
        self._clock = clock
        self._changed = changed
        self.is_open = False
        self._changes = 0
        self._failures = 0
        self._next_probe_at = 0.0

    def enter(self, *, is_write: bool, is_verification: bool) -> Entry:
        """Admit a call. Raises CircuitOpen."""
        if is_verification:
            return Entry(self._changes, is_exempt=True)
        if not self.is_open:
            return Entry(self._changes, is_exempt=False)
        now = self._clock()
        if now < self._next_probe_at:
            raise self.refusal(is_write=is_write)
        self._next_probe_at = now + PROBE_SECONDS
        return Entry(self._changes, is_exempt=True)

    def answered(self) -> None:
        """Record an answer of Google, which closes the breaker."""
        self._failures = 0
        if self.is_open:
            self._change(is_open=False)

    def failed(self, entry: Entry, error: GatewayError) -> None:
        """Record a failed call: as an outage, as an answer, or not at all."""
        sign = sign_of(error)
        if sign is Sign.ANSWER:
            self.answered()
        if sign in (Sign.NONE, Sign.ANSWER) or self.is_open or entry.changes != self._changes:
            return
        self._failures += 1
        if self._failures == FAILURES_TO_OPEN:
            self._failures = 0
            self._next_probe_at = self._clock() + PROBE_SECONDS
            self._change(is_open=True)

    def refusal(self, *, is_write: bool) -> CircuitOpen:
        seconds = self._next_probe_at - self._clock()
        return CircuitOpen(
            outcome="not_applied" if is_write else None,
            retry_after_seconds=max(1, math.ceil(seconds)),
        )

    def _change(self, *, is_open: bool) -> None:
        self.is_open = is_open
        self._changes += 1
        self._changed(is_open)


class Sign(Enum):
    """The sign of Google's health in an error."""

    NONE = auto()
    """The call was not sent."""
    ANSWER = auto()
    """A refusal, or an unreadable answer: other worksheets may be readable."""
    OUTAGE = auto()
    """Google timed out, or the outcome of a write is unknown."""
    BRIEF_OUTAGE = auto()
    """The call failed quickly: without a connection, when it broke, or with a 5xx."""


def sign_of(error: GatewayError) -> Sign:
    cause = error.__cause__
    is_4xx = isinstance(cause, GoogleRefusal) and 400 <= cause.status < 500
    match error:
        case InvalidSpreadsheetId() | CircuitOpen() | LookOutdated():
            return Sign.NONE
        case QuotaSpent():
            return Sign.ANSWER if error.is_from_google else Sign.NONE
        case WriteOutcomeUnknown():
            return Sign.ANSWER if is_4xx else Sign.OUTAGE
        case UpstreamTimeout():
            return Sign.OUTAGE
        case UpstreamUnreachable():
            return Sign.BRIEF_OUTAGE
        case UpstreamRefusal():
            return Sign.ANSWER
        case UpstreamError():
            return Sign.ANSWER if is_4xx or isinstance(cause, UNREADABLE) else Sign.BRIEF_OUTAGE
    return Sign.ANSWER


REST_SECONDS = 60.0
LACKING_SECONDS = 3600.0
MAX_SPREADSHEETS = 10_000

OTHER_ACCOUNT = (SpreadsheetNotFound, SpreadsheetNotShared, UpstreamAuth, QuotaSpent)
"""Refusals of a call after which another account may succeed. Google did not apply the call."""


Make = Callable[[Call[Any]], Awaitable[Any]]
"""Sends a call as an account, and reads the answer."""


@dataclass(kw_only=True, eq=False)
class Account:
    name: str
    make: Make
    budget: Budget
    rests_until: float = -math.inf
    is_refused: bool = False

    async def read(self, call: Call[T]) -> T:
        """Make a read beside the pipeline, within the quota and counted. Raises as `make`."""
        await self.budget.reads.take(current_call_context())
        return await self.made(call, time.monotonic)

    async def made(self, call: Call[T], clock: Callable[[], float]) -> T:
        """Make a call, and count it with its seconds. Raises as `make`."""
        began, failure = clock(), None
        try:
            answer: T = await self.make(call)
        except BaseException as error:
            failure = error
            raise
        else:
            return answer
        finally:
            seconds = clock() - began
            upstream_called(self.name, is_write=call.is_write, seconds=seconds, error=failure)
            failure = None  # else its traceback would keep this frame alive


class Accounts:
    """Chooses the account of each call by Google's earlier answers.

    `rested` is called when Google begins or ceases to refuse an account.
    """

    def __init__(
        self,
        accounts: Sequence[Account],
        *,
        clock: Callable[[], float],
        rested: Callable[[str, bool], None] = lambda _name, _rests: None,
    ) -> None:
        self._accounts = accounts
        self.by_name = {each.name: each for each in accounts}
        self._clock = clock
        self._rested = rested
        self._reach = Reach(clock=clock)
        self._explored: set[tuple[str, bool]] = set()
        """Spreadsheet and kind of each running call of an untested account."""
        self.was_accepted = False
        """True if Google accepted an account since the start."""

    @property
    def refused_count(self) -> int:
        """The number of accounts that Google refuses."""
        return sum(each.is_refused for each in self._accounts)

    def reads_per_second(self, spreadsheet: str) -> Mapping[str, float]:
        """Read rate of each account known to reach a spreadsheet; by default of the first."""
        paying = self._accounts
        if len(paying) > 1:
            paying = [
                each
                for each in self._accounts
                if not each.is_refused
                and self._reach.reaches(spreadsheet, each.name, is_write=False)
            ] or self._accounts[:1]
        return {each.name: each.budget.reads.rate_per_second() for each in paying}

    @contextmanager
    def asking(self, account: Account, spreadsheet: str, *, is_write: bool) -> Iterator[None]:
        """Record the result of the call that the block makes."""
        kind, is_only = (spreadsheet, is_write), len(self._accounts) == 1
        is_known = is_only or self._reach.reaches(spreadsheet, account.name, is_write=is_write)
        if not is_known:
            self._explored.add(kind)
        try:
            yield
        except UpstreamAuth:
            account.rests_until = self._clock() + REST_SECONDS
            if not account.is_refused:
                account.is_refused = True
                self._rested(account.name, True)
            raise
        except (SpreadsheetNotFound, SpreadsheetNotShared):
            if not is_only:
                self._reach.note(spreadsheet, account.name, is_write=is_write, reaches=False)
            raise
        finally:
            if not is_known:
                self._explored.discard(kind)
        self.was_accepted = True
        if account.is_refused:
            account.is_refused = False
            self._rested(account.name, False)
        if not is_only:
            self._reach.note(spreadsheet, account.name, is_write=is_write, reaches=True)

    def pick(
        self, spreadsheet: str, tried: Mapping[str, GatewayError], *, is_write: bool
    ) -> Account:
        """Choose an account for a call; `tried` has the errors of accounts that were refused.

        Without a further account, raises the error of the first one, but a retryable error first.
        """
        if len(self._accounts) > 1:
            found = self._choice(spreadsheet, tried, is_write=is_write)
        else:
            found = None if tried else self._accounts[0]
        if found is None:
            errors = [tried[each.name] for each in self._accounts if each.name in tried]
            raise min(errors, key=lambda error: not error.retryable)
        if found.is_refused:
            found.rests_until = self._clock() + REST_SECONDS
        return found

    def _choice(
        self, spreadsheet: str, tried: Mapping[str, GatewayError], *, is_write: bool
    ) -> Account | None:
        """Choose among several accounts; None if no other should be tried."""
        reach, now = self._reach, self._clock()
        reaches = {
            each: reach.reaches(spreadsheet, each.name, is_write=is_write)
            for each in self._accounts
        }
        is_reached = any(reaches.values())
        left = [each for each in self._accounts if each.name not in tried]
        # A read probes a refused account once a minute.
        awake = [
            each
            for each in left
            if not each.is_refused or (not is_write and now >= each.rests_until)
        ]
        known = [each for each in awake if reaches[each]]
        unknown = [each for each in awake if reaches[each] is None]
        if is_reached and (spreadsheet, is_write) in self._explored:
            unknown = []
        if is_reached and not known and not unknown:
            # Prefer a resting account to one without access.
            known = [each for each in left if reaches[each]]
        waits = {
            each: (each.budget.writes if is_write else each.budget.reads).waiting_seconds()
            for each in known + unknown
        }
        free = [each for each in known if not waits[each]]
        if free and not is_write:
            return min(free, key=lambda each: each.budget.reads.owed_seconds())
        free = free or [each for each in unknown if not waits[each]]
        if free:
            writer = reach.writer(spreadsheet)

            def rank(account: Account) -> tuple[bool, bool]:
                """Sort key: the account that wrote last first, then those that may read."""
                may_read = reach.reaches(spreadsheet, account.name, is_write=False)
                return account.name != writer, not may_read

            return min(free, key=rank)
        if known or unknown:
            return min(known or unknown, key=waits.__getitem__)
        if not tried:
            return next((each for each in awake if not is_reached), self._accounts[0])
        if len(tried) > 1 or is_reached:
            return None
        # None reaches the spreadsheet: after the first account, one other is tried.
        return min(
            awake,
            key=lambda each: reach.lacked_at(spreadsheet, each.name, is_write=is_write),
            default=None,
        )


@dataclass(kw_only=True)
class _Known:
    """Google's latest answer to each account, by `is_write`, and when; the last writer."""

    answers: dict[tuple[str, bool], tuple[bool, float]] = field(default_factory=dict)
    writer: str | None = None


class Reach:
    """Cache of the access of accounts to spreadsheets, from Google's answers.

    Rules
    - Access is valid until Google refuses it, missing access for `LACKING_SECONDS`.
    - An account that may write may read; an account that may not read may not write.
    - The cache holds the `MAX_SPREADSHEETS` spreadsheets that were used last (LRU).
    """

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._known: OrderedDict[str, _Known] = OrderedDict()

    def reaches(self, spreadsheet: str, account: str, *, is_write: bool) -> bool | None:
        """True if an account reaches a spreadsheet; None if unknown."""
        if is_write and self.reaches(spreadsheet, account, is_write=False) is False:
            return False
        known = self._known.get(spreadsheet)
        answer = None if known is None else known.answers.get((account, is_write))
        if answer is None:
            return None
        reaches, at_seconds = answer
        is_past = not reaches and self._clock() - at_seconds >= LACKING_SECONDS
        return None if is_past else reaches

    def lacked_at(self, spreadsheet: str, account: str, *, is_write: bool) -> float:
        """Time of Google's last refusal of an account."""
        answers = self._known[spreadsheet].answers
        return (answers.get((account, is_write)) or answers[account, False])[1]

    def writer(self, spreadsheet: str) -> str | None:
        """Name of the account that wrote last, if known."""
        known = self._known.get(spreadsheet)
        return None if known is None else known.writer

    def note(self, spreadsheet: str, account: str, *, is_write: bool, reaches: bool) -> None:
        """Record Google's answer to a call."""
        known = self._known.get(spreadsheet)
        if known is None:
            known = self._known[spreadsheet] = _Known()
            if len(self._known) > MAX_SPREADSHEETS:
                self._known.popitem(last=False)
        self._known.move_to_end(spreadsheet)
        answer = known.answers[account, is_write] = reaches, self._clock()
        if is_write and reaches:
            known.writer = account
            known.answers[account, False] = answer


class Pipeline:
    """Sends calls as one of the accounts, within its quota.

    `turn_seconds` is the maximum wait for a write's turn. It exceeds the maximum wait of other
    calls, so that a key can write to ten worksheets at once.
    """

    def __init__(
        self,
        accounts: Accounts,
        *,
        breaker: Breaker,
        retries: Retries,
        turn_seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.accounts = accounts
        self._breaker = breaker
        self._retries = retries
        self._turn_seconds = turn_seconds
        self._clock = clock

    async def send(self, call: Call[T]) -> T:
        """Make a call, and retry a read after a brief outage. Raises the errors of `Sheets`."""
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
        """Make a call as the first account that Google accepts, once its quota allows."""
        accounts, spreadsheet, is_write = self.accounts, call.spreadsheet, call.is_write
        turn = context.turn if is_write and context.turn and context.turn.is_left else None
        errors: dict[str, GatewayError] = {}
        sent_at = self._clock()
        while True:
            if turn is not None and not errors:
                account = accounts.by_name[turn.account]
            else:
                account = accounts.pick(spreadsheet, errors, is_write=is_write)
            bucket = account.budget.writes if is_write else account.budget.reads
            try:
                if errors and (
                    is_write or any(isinstance(each, QuotaSpent) for each in errors.values())
                ):
                    bucket.check_free()
                with accounts.asking(account, spreadsheet, is_write=is_write):
                    if turn is not None and turn.is_left:
                        turn.is_left = False
                    else:
                        await bucket.take(context)
                    if self._breaker.is_open and not entry.is_exempt:
                        bucket.give_back()
                        raise self._breaker.refusal(is_write=is_write)
                    sent_at = self._clock()
                    if context.sent_at is not None:
                        context.sent_at.record(sent_at)
                    return await account.made(call, self._clock)
            except OTHER_ACCOUNT as error:
                if isinstance(error, QuotaSpent) and error.is_of_spreadsheet:
                    raise
                if isinstance(error, QuotaSpent) and error.is_from_google:
                    bucket.refused(
                        sent_at=sent_at, limit=error.limit, is_project=error.is_of_project
                    )
                errors[account.name] = error

    async def write_turn(self, spreadsheet: str) -> AbstractContextManager[None]:
        """Wait for the quota of one write, and reserve it for the block. Raises `QuotaSpent`."""
        account = self.accounts.pick(spreadsheet, {}, is_write=True)
        await account.budget.writes.take(
            current_call_context(), max_waiting_seconds=self._turn_seconds
        )
        return _reserved(account)


@contextmanager
def _reserved(account: Account) -> Iterator[None]:
    """Reserve the taken quota for the first write of the block; returned if unused."""
    turn = WriteTurn(account.name)
    try:
        with in_call_context(replace(current_call_context(), turn=turn)):
            yield
    finally:
        if turn.is_left:
            turn.is_left = False
            account.budget.writes.give_back()
