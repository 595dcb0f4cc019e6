"""Simulation of the age of served rows, with 10,000 spreadsheets and 1 to 300 Google accounts.

Usage: python -m benchmarks.freshness [--seconds 3600]

100 requests per second arrive at random, for spreadsheets of one worksheet whose popularity follows
Zipf's law. People edit a hundredth as often as clients read. Each spreadsheet is shared with one
account, and five accounts are in one project. The gateway's own TTL and quota decide what it reads
again. Two ways to notice edits are compared:
- by time: rows are reread after 5 s, or later if quota is missing;
- by report: a script in the sheet reports edits, at most once in 2 s, and the TTL is 10 minutes.

`behind` is the time since the first edit that a served answer lacks; 0 if it lacks none. Reads wait
at most 10 s for quota. Then requests for rows that were never read fail, and other requests get the
older rows.
"""

import argparse
import math
import random
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from gateway.google.quota import open_quota, take_of_all
from gateway.worksheets.reading import AdaptiveTtl
from gateway.worksheets.worksheet import Demand

SPREADSHEETS = 10_000
REQUESTS_PER_SECOND = 100.0
EDITS_PER_REQUEST = 0.01
ZIPF = 1.0
ACCOUNTS_PER_PROJECT = 5
PER_MINUTE = 54
PER_PROJECT = 270
TTL_SECONDS = 5.0
REPORTED_TTL_SECONDS = 600.0
REPORT_SECONDS = 2.0
MAX_WAITING_SECONDS = 10.0
WARM_UP = 0.25
"""Share of the time at the start that is not measured."""


@dataclass
class Sheet:
    """A spreadsheet: its demand, its last read, and its edits."""

    demand: Demand
    account: str
    read_at: float = -math.inf
    edited_at: float = -math.inf
    unseen_at: float = math.inf
    """Time of the first edit since the last read; infinity without one."""
    is_reported: bool = False
    is_waiting: bool = False


@dataclass
class Result:
    accounts: int
    by_report: bool
    ages: list[float] = field(default_factory=list)
    behind: list[float] = field(default_factory=list)
    refused: int = 0
    reads: int = 0

    def line(self, seconds: float) -> str:
        share = 100 * self.refused / max(1, self.refused + len(self.ages))
        cells = [
            f"{self.accounts}",
            "by report" if self.by_report else "by time",
            *(f"{of(self.ages, part):.1f}" for part in (0.5, 0.99)),
            *(f"{of(self.behind, part):.1f}" for part in (0.5, 0.99)),
            f"{share:.1f} %",
            f"{60 * self.reads / seconds:.0f}",
        ]
        return "| " + " | ".join(cells) + " |"


def of(values: list[float], part: float) -> float:
    """Return a quantile of the values."""
    return sorted(values)[int(part * (len(values) - 1))] if values else math.nan


class Simulation:
    def __init__(self, accounts: int, *, by_report: bool, seed: int) -> None:
        self.now = 0.0
        self.result = Result(accounts=accounts, by_report=by_report)
        self._random = random.Random(seed)  # noqa: S311 - a simulation
        self._by_report = by_report
        self._measured_from = 0.0
        names = [str(number) for number in range(accounts)]
        self._sheets = [
            Sheet(demand=Demand(spreadsheet=str(number)), account=names[number % accounts])
            for number in range(SPREADSHEETS)
        ]
        projects = [open_quota(PER_PROJECT, PER_PROJECT) for _ in names[::ACCOUNTS_PER_PROJECT]]
        self._rates = {
            name: (
                open_quota(PER_MINUTE, PER_MINUTE).reads,
                projects[number // ACCOUNTS_PER_PROJECT].reads,
            )
            for number, name in enumerate(names)
        }
        account_of = {sheet.demand.spreadsheet: sheet.account for sheet in self._sheets}
        self._ttl = AdaptiveTtl(
            REPORTED_TTL_SECONDS if by_report else TTL_SECONDS,
            lambda spreadsheet: {account_of[spreadsheet]: PER_MINUTE / 60},
            lambda: [sheet.demand for sheet in self._sheets if sheet.read_at > -math.inf],
        )
        self._cumulative = list(accumulate(1 / rank**ZIPF for rank in range(1, SPREADSHEETS + 1)))
        self._waiting: dict[str, deque[tuple[float, Sheet]]] = {name: deque() for name in names}
        """Reads that wait for quota by account, each with its start time."""

    def run(self, seconds: float) -> Result:
        self._measured_from = WARM_UP * seconds
        for at, sheet, is_edit in self._events(seconds):
            self.now = at
            self._read_waiting(sheet.account)
            if is_edit:
                sheet.edited_at = at
                sheet.unseen_at = min(sheet.unseen_at, at)
                sheet.is_reported = self._by_report
            else:
                self._request(sheet, is_measured=at > self._measured_from)
        return self.result

    def _events(self, seconds: float) -> Iterator[tuple[float, Sheet, bool]]:
        at = 0.0
        while True:
            at += self._random.expovariate(REQUESTS_PER_SECOND * (1 + EDITS_PER_REQUEST))
            if at > seconds:
                return
            (sheet,) = self._random.choices(self._sheets, cum_weights=self._cumulative)
            is_edit = self._random.random() < EDITS_PER_REQUEST / (1 + EDITS_PER_REQUEST)
            yield at, sheet, is_edit

    def _request(self, sheet: Sheet, *, is_measured: bool) -> None:
        sheet.demand.asked_seconds = self.now
        age = self.now - sheet.read_at
        is_due = age >= self._ttl.seconds(sheet.demand.spreadsheet, self.now)
        is_due |= sheet.is_reported and age >= REPORT_SECONDS
        rates = self._rates[sheet.account]
        if is_due and not self._waiting[sheet.account] and take_of_all(rates, self.now):
            self._read(sheet, self.now)
            age = 0.0
        elif is_due:
            has_room = self._wait(sheet)
            if age == math.inf:
                self.result.refused += is_measured and not has_room
                return
        if is_measured:
            self.result.ages.append(age)
            self.result.behind.append(max(0.0, self.now - sheet.unseen_at))

    def _wait(self, sheet: Sheet) -> bool:
        """Queue a read for quota. Returns False if the wait would be too long."""
        waiting, rates = self._waiting[sheet.account], self._rates[sheet.account]
        if sheet.is_waiting:
            return True
        free_at = max(rate.free_at(self.now) for rate in rates)
        seconds = max(0.0, free_at - self.now) + len(waiting) * 60 / PER_MINUTE
        if seconds > MAX_WAITING_SECONDS:
            return False
        sheet.is_waiting = True
        waiting.append((self.now, sheet))
        return True

    def _read_waiting(self, account: str) -> None:
        """Carry out the waiting reads for which quota is available."""
        waiting, rates = self._waiting[account], self._rates[account]
        while waiting:
            at, sheet = waiting[0]
            at = max(at, *(rate.free_at(at) for rate in rates))
            if at > self.now or not take_of_all(rates, at):
                return
            waiting.popleft()
            sheet.is_waiting = False
            self._read(sheet, at)

    def _read(self, sheet: Sheet, at: float) -> None:
        self.result.reads += at > self._measured_from
        sheet.read_at, sheet.is_reported = at, False
        sheet.unseen_at = sheet.edited_at if sheet.edited_at > at else math.inf


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600.0)
    seconds = parser.parse_args(arguments).seconds
    print(
        "| accounts | edits known | age p50 (s) | age p99 (s) | behind p50 (s) | behind p99 (s) "
        "| refused | reads a minute |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for accounts in (1, 10, 100, 300):
        for by_report in (False, True):
            simulation = Simulation(accounts, by_report=by_report, seed=accounts)
            print(simulation.run(seconds).line(seconds * (1 - WARM_UP)), flush=True)


if __name__ == "__main__":
    main()
