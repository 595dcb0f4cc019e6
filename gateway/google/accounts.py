"""Google accounts: each call goes to one that reaches its spreadsheet and has quota left.

Rules
- Reads go to the account with most quota left, of those known to reach the spreadsheet. Writes stay
  with the account that wrote last, as long as it has quota: so one account keeps their order.
- Of accounts of which nothing is known, the first is tried first; for writes, one that may read.
- An account of which it is not known is tried while no known one has quota left, one at a time: a
  refusal costs a call of an account that had nothing else to do.
- Where Google says that a spreadsheet is not there or not shared, or that the quota is spent, the
  next account is tried. If none reaches it, each request asks the first account, whose address the
  answer names, and the one that was asked least recently.
- An account that Google refuses itself rests, and a read probes it once a minute. If all rest, the
  first is asked.
- A write that another account refused is sent by one that has quota at once: nothing waits between
  a look and its write.
- A 429 with another limit than the account's and the project's is taken for one of the spreadsheet:
  no other account is tried, and none pauses.
- One account makes all calls, whatever is known of it.
"""

import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from gateway.errors import (
    GatewayError,
    QuotaSpent,
    SpreadsheetNotFound,
    SpreadsheetNotShared,
    UpstreamAuth,
)
from gateway.google.calls import Call
from gateway.google.quota import Bucket, Budget

REST_SECONDS = 60.0
LACKING_SECONDS = 3600.0
MAX_SPREADSHEETS = 10_000

OTHER_ACCOUNT = (SpreadsheetNotFound, SpreadsheetNotShared, UpstreamAuth, QuotaSpent)
"""Refusals that another account may not meet. Google did not carry out the call."""


Make = Callable[[Call[Any]], Awaitable[Any]]
"""Sends a call as an account, and reads the answer."""


@dataclass(kw_only=True, eq=False)
class Account:
    name: str
    make: Make
    budget: Budget
    rests_until: float = -math.inf
    is_refused: bool = False

    def bucket(self, *, is_write: bool) -> Bucket:
        return self.budget.writes if is_write else self.budget.reads


class Accounts:
    """Chooses the account of each call, and learns from Google's answers.

    `rested` is called for each account that begins to rest, or ends it.
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
        """Spreadsheets for which an account is being tried."""
        self.was_accepted = False
        """True if Google accepted an account since the start."""

    @property
    def refused_count(self) -> int:
        """The number of accounts that Google refuses."""
        return sum(each.is_refused for each in self._accounts)

    def reads_per_second(self, spreadsheet: str) -> Mapping[str, float]:
        """The read budget of each account that reaches a spreadsheet, or may."""
        paying = self._accounts
        if len(paying) > 1:
            paying = [
                each
                for each in self._accounts
                if not each.is_refused
                and self._reach.reaches(spreadsheet, each.name, is_write=False)
            ] or self._accounts[:1]
        return {each.name: each.budget.reads.rate_per_second() for each in paying}

    def first(self, spreadsheet: str, *, is_write: bool) -> Account:
        return self.pick(spreadsheet, {}, is_write=is_write) or self._accounts[0]

    def refusal(self, errors: Mapping[str, GatewayError]) -> GatewayError:
        """The error of a call that all accounts refused: of the first one, whose address it names.

        One that may be repeated comes last.
        """
        names = [each.name for each in self._accounts]
        return min(
            (errors[name] for name in names if name in errors),
            key=lambda error: not error.retryable,
        )

    @contextmanager
    def asking(self, account: Account, spreadsheet: str, *, is_write: bool) -> Iterator[None]:
        """Learn from Google's answer to the call that the block makes."""
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
    ) -> Account | None:
        """The account for a call that those in `tried` refused; None if no other is left."""
        if len(self._accounts) > 1:
            found = self._choice(spreadsheet, tried, is_write=is_write)
        else:
            found = None if tried else self._accounts[0]
        if found is not None and found.is_refused:
            found.rests_until = self._clock() + REST_SECONDS
        return found

    def _choice(
        self, spreadsheet: str, tried: Mapping[str, GatewayError], *, is_write: bool
    ) -> Account | None:
        """The choice among several accounts."""
        reach, now = self._reach, self._clock()
        reaches = {
            each: reach.reaches(spreadsheet, each.name, is_write=is_write)
            for each in self._accounts
        }
        is_reached = any(reaches.values())
        left = [each for each in self._accounts if each.name not in tried]
        # A refused one is asked by a read, once a minute.
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
            # Rather one that rests than one that is not let in.
            known = [each for each in left if reaches[each]]
        waits = {each: each.bucket(is_write=is_write).waiting_seconds() for each in known + unknown}
        free = [each for each in known if not waits[each]]
        if free and not is_write:
            return min(free, key=lambda each: each.budget.reads.owed_seconds())
        free = free or [each for each in unknown if not waits[each]]
        if free:
            writer = reach.writer(spreadsheet)

            def rank(account: Account) -> tuple[bool, bool]:
                """The account that wrote last, or may read, or comes first."""
                may_read = reach.reaches(spreadsheet, account.name, is_write=False)
                return account.name != writer, not may_read

            return min(free, key=rank)
        if known or unknown:
            return min(known or unknown, key=waits.__getitem__)
        if not tried:
            return next((each for each in awake if not is_reached), self._accounts[0])
        if len(tried) > 1 or is_reached:
            return None
        # None reaches the spreadsheet: the first was asked, then one other.
        return min(
            awake,
            key=lambda each: reach.lacked_at(spreadsheet, each.name, is_write=is_write),
            default=None,
        )


@dataclass(kw_only=True)
class _Known:
    """Access to a spreadsheet by account: True if it is reached, and since when."""

    reads: dict[str, tuple[bool, float]] = field(default_factory=dict)
    writes: dict[str, tuple[bool, float]] = field(default_factory=dict)
    writer: str | None = None


class Reach:
    """Access of accounts to spreadsheets, as Google's answers showed.

    Rules
    - That an account reaches a spreadsheet holds until Google refuses it. That it does not holds
      for `LACKING_SECONDS`.
    - Whoever may write may read; whoever may not read may not write.
    - The spreadsheets asked for last are known, `MAX_SPREADSHEETS` of them.
    """

    def __init__(
        self, *, clock: Callable[[], float], max_spreadsheets: int = MAX_SPREADSHEETS
    ) -> None:
        self._clock = clock
        self._max_spreadsheets = max_spreadsheets
        self._known: OrderedDict[str, _Known] = OrderedDict()

    def reaches(self, spreadsheet: str, account: str, *, is_write: bool) -> bool | None:
        """True if an account reaches a spreadsheet; None if that is not known."""
        known = self._known.get(spreadsheet)
        if known is None:
            return None
        reads = self._present(known.reads.get(account))
        if not is_write or reads is False:
            return reads
        return self._present(known.writes.get(account))

    def lacked_at(self, spreadsheet: str, account: str, *, is_write: bool) -> float:
        """When Google refused an account last."""
        known = self._known[spreadsheet]
        found = known.writes.get(account) if is_write else None
        return (found or known.reads[account])[1]

    def writer(self, spreadsheet: str) -> str | None:
        """The account that wrote last."""
        known = self._known.get(spreadsheet)
        return None if known is None else known.writer

    def note(self, spreadsheet: str, account: str, *, is_write: bool, reaches: bool) -> None:
        """Learn from Google's answer to a call."""
        known = self._known.get(spreadsheet)
        if known is None:
            known = self._known[spreadsheet] = _Known()
            if len(self._known) > self._max_spreadsheets:
                self._known.popitem(last=False)
        self._known.move_to_end(spreadsheet)
        answer = (reaches, self._clock())
        if is_write:
            known.writes[account] = answer
            if reaches:
                known.writer = account
        if not is_write or reaches:
            known.reads[account] = answer

    def _present(self, answer: tuple[bool, float] | None) -> bool | None:
        if answer is None:
            return None
        reaches, at_seconds = answer
        is_past = not reaches and self._clock() - at_seconds >= LACKING_SECONDS
        return None if is_past else reaches
