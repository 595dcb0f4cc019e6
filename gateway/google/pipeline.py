"""Pipeline of the calls to Google: retries, circuit breaker, choice of account, quota, metrics.

Rules of calls
- A call is a `Call` object. Its subclasses are in `calls.py`.
- An attempt passes the circuit breaker, gets an account, and waits for the quota of this account.
  After the wait the pipeline checks the breaker again, because it might have opened meanwhile.
- After some errors (`OTHER_ACCOUNT`) the pipeline sends the call as another account. A write does
  not wait for the quota of that account, because the rows that the gateway read for the write can
  change meanwhile.
- A write that must follow a read reserves its quota before the read (`write_turn`).
- The pipeline records the time of sending after all waits. The age of the answer counts from it.

Rules of accounts
- A read uses the account with the most quota left that is known to have access to the spreadsheet.
  A write uses the account that wrote last while this account has quota, so that writes stay in
  order.
- An account is untested until Google accepts or refuses one of its calls for the spreadsheet, and
  again an hour after a refusal. Untested accounts are tried in their order in the settings. A write
  prefers an untested account that can read the spreadsheet.
- An untested account is tried if no account with known access has quota left. Only one untested
  account is tried at a time.
- If no account has access, each request tries two accounts. One is the first account, because the
  error message names its address. The other is the account that Google refused least recently.
- If Google refuses the credentials of an account, the account rests: it gets only one read a
  minute, as a probe. If all accounts rest, the first account is used.
- A 429 for a limit of neither the account nor the project counts as a limit of the spreadsheet: the
  pipeline tries no other account, and no account pauses.
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
from gateway.google.sheets import CallContext, WriteTurn, current_call_context, in_call_context
from gateway.google.translation import UNREADABLE, GoogleRefusal
from gateway.google.wire import Answer
from gateway.table.steps import Work
from gateway.telemetry.events import upstream_called

T = TypeVar("T")


@dataclass(frozen=True)
class Call(ABC, Generic[T]):
    """One call to the Google Sheets API, with its arguments as attributes."""

    spreadsheet: str
    is_write: ClassVar[bool] = False

    @property
    def fields(self) -> str:
        """Google's `fields` parameter, which limits the answer to these JSON members."""
        return ""

    @abstractmethod
    def message(self, gspread: HTTPClient) -> Any:
        """Build the HTTP request (`wire.Message`) with a `Gspread`, which sends nothing."""

    @abstractmethod
    def decode(self, answer: Answer, limits: Limits) -> Work[T]:
        """Decode an answer with status 200. The generator yields the bytes of each next step.

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
    """Maximum of the retry budget in retries, and its value at the start."""


class Retries:
    """Retry budget and backoff of failed reads. `jitter` returns a random number from 0 to 1.

    Rules:
    - A read is retried after a brief outage, but not after a 429, a refusal or a timeout. A write
      is never retried, because the rows that the gateway read for it can have changed.
    - The pause is random, up to a maximum that doubles with each retry (full jitter), so that calls
      that failed together are not retried together.
    - Retries add at most 10 % to the calls, plus `max_allowance` retries after the start.
    - Nothing is retried while the circuit breaker is open.
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
        """Number of calls since the retry budget was last updated."""

    async def may_repeat(self, failures: int, error: GatewayError, breaker: "Breaker") -> bool:
        """Wait before the next retry of a read that failed `failures` times, last with `error`.

        Returns True if the read can be sent again now, and False if it must not be retried.
        """
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
        """Return the current retry budget, to which earlier calls add up to a maximum."""
        added = self.call_count * self._policy.retries_per_call
        self._allowance = min(self._allowance + added, self._policy.max_allowance)
        self.call_count = 0
        return self._allowance


class Entry(NamedTuple):
    """Permission of the circuit breaker to send a call."""

    changes: int
    """Number of times that the breaker had opened or closed when it allowed the call."""
    is_exempt: bool
    """True for probes and verifications, which are sent even if the breaker is open."""


class Breaker:
    """Circuit breaker: while Google fails, only probes are sent.

    The breaker calls `changed` with True when it opens and with False when it closes.

    Rules:
    - Five consecutive outages open the breaker. Any other answer of Google, even a refusal or a
      429, closes the breaker.
    - While the breaker is open, calls fail at once. Every five seconds one call is sent as a probe,
      even if the previous probe has no answer yet. Verifications of writes are always sent.
    - A failure does not count if the breaker opened or closed since the call began. So a call that
      hung during an outage cannot open the breaker after the outage.
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
        """Allow a call. Raises `CircuitOpen` if the breaker is open and no probe is due.

        A verification is always allowed. The error of a write has `outcome="not_applied"`.
        """
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
        """Record that Google answered, which closes the breaker."""
        self._failures = 0
        if self.is_open:
            self._change(is_open=False)

    def failed(self, entry: Entry, error: GatewayError) -> None:
        """Record a failed call, which counts as an outage, as an answer, or not at all."""
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
    """Class of an error for the circuit breaker and retries, by whether Google responds."""

    NONE = auto()
    """Google's state is unknown, because the call was not sent."""
    ANSWER = auto()
    """Google responds: it refused the call, or its answer is unreadable."""
    OUTAGE = auto()
    """Google timed out, or the outcome of a write is unknown."""
    BRIEF_OUTAGE = auto()
    """The call failed fast: no connection, a broken connection, or a 5xx."""


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
"""Errors after which the pipeline tries another account. Google did not apply the call."""


Make = Callable[[Call[Any]], Awaitable[Any]]
"""Function that sends a call as one account and returns the decoded answer (`Client.make`)."""


@dataclass(kw_only=True, eq=False)
class Account:
    name: str
    make: Make
    budget: Budget
    rests_until: float = -math.inf
    is_refused: bool = False

    async def read(self, call: Call[T]) -> T:
        """Send a read without retries, within the quota of this account.

        Raises `QuotaSpent` if the wait for the quota would be too long, and the errors of
        `Client.make`.
        """
        await self.budget.reads.take(current_call_context())
        return await self.made(call, time.monotonic)

    async def made(self, call: Call[T], clock: Callable[[], float]) -> T:
        """Send a call, and record its duration in the metrics. Raises `Client.make`'s errors."""
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
    """Choice of the account for each call, by Google's earlier answers.

    When Google refuses an account's credentials, `rested` is called with the account name and True.
    When Google accepts them again, it is called with False.
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
        """Spreadsheet ID and `is_write` of each running call by an account with unknown access."""
        self.was_accepted = False
        """True if Google has accepted a call or sign-in of any account since the start."""

    @property
    def refused_count(self) -> int:
        """Number of accounts whose credentials Google refuses."""
        return sum(each.is_refused for each in self._accounts)

    def reads_per_second(self, spreadsheet: str) -> Mapping[str, float]:
        """Return the maximum reads per second of each account with known access, by account name.

        If no account is known to have access, the result has only the first account.
        """
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
        """Record whether Google accepts the call that the account makes in the block."""
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
        """Choose an account for a call. `tried` has the error of each account that failed, by name.

        If no account is left, raises the first retryable error, or else the error of the first
        account.
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
        """Choose among several accounts, or return None if no further account should be tried."""
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
                may_read = reach.reaches(spreadsheet, account.name, is_write=False)
                return account.name != writer, not may_read

            return min(free, key=rank)
        if known or unknown:
            return min(known or unknown, key=waits.__getitem__)
        if not tried:
            return next((each for each in awake if not is_reached), self._accounts[0])
        if len(tried) > 1 or is_reached:
            return None
        # If no account has access, the first account and one other account are tried.
        return min(
            awake,
            key=lambda each: reach.lacked_at(spreadsheet, each.name, is_write=is_write),
            default=None,
        )


@dataclass(kw_only=True)
class _Known:
    """Known access to one spreadsheet, and the name of the account that wrote last."""

    answers: dict[tuple[str, bool], tuple[bool, float]] = field(default_factory=dict)
    """True if Google accepted the last call, and the call's time, by account and `is_write`."""
    writer: str | None = None


class Reach:
    """Cache of the accounts' access to spreadsheets, from Google's answers.

    Rules
    - Known access is valid until Google refuses a call. A refusal is valid for `LACKING_SECONDS`.
    - An account that can write can read. An account that cannot read cannot write.
    - The cache holds up to `MAX_SPREADSHEETS` spreadsheets and drops the least recently used (LRU).
    """

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._known: OrderedDict[str, _Known] = OrderedDict()

    def reaches(self, spreadsheet: str, account: str, *, is_write: bool) -> bool | None:
        """True if an account has access to a spreadsheet, False if not, or None if unknown."""
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
        """Return the clock's time of Google's last refusal. `reaches` must be False."""
        answers = self._known[spreadsheet].answers
        return (answers.get((account, is_write)) or answers[account, False])[1]

    def writer(self, spreadsheet: str) -> str | None:
        """Return the name of the account that wrote last, or None if no write is known."""
        known = self._known.get(spreadsheet)
        return None if known is None else known.writer

    def note(self, spreadsheet: str, account: str, *, is_write: bool, reaches: bool) -> None:
        """Record whether Google accepted a call of the account (`reaches` is True) or not."""
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
    """Sender of all calls, with retries, circuit breaker, choice of account and quota.

    `turn_seconds` is the maximum wait in `write_turn`, or None for the maximum of other calls. The
    default setting is longer than for other calls, so that an API key can write to ten worksheets
    at once.
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
        """Send a call and return the decoded answer. A read is retried after a brief outage.

        Raises the errors that `gateway.google.sheets` lists.
        """
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
        """Wait for the quota of an account and send the call, without retries.

        Tries another account after the errors `OTHER_ACCOUNT`.
        """
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
        """Wait for the quota of one write, and return a context manager that reserves it.

        The first write in the block uses the reserved quota. Raises `QuotaSpent` if the wait would
        be too long.
        """
        account = self.accounts.pick(spreadsheet, {}, is_write=True)
        await account.budget.writes.take(
            current_call_context(), max_waiting_seconds=self._turn_seconds
        )
        return _reserved(account)


@contextmanager
def _reserved(account: Account) -> Iterator[None]:
    """Keep the quota for the first write in the block. Gives it back if the block has no write."""
    turn = WriteTurn(account.name)
    try:
        with in_call_context(replace(current_call_context(), turn=turn)):
            yield
    finally:
        if turn.is_left:
            turn.is_left = False
            account.budget.writes.give_back()
