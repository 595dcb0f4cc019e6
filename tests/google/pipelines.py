"""Pipelines to Google with replaceable parts, on a manual clock."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from gateway.google.calls import GoogleSheets
from gateway.google.pipeline import Account, Accounts, Breaker, Call, Pipeline, Retries, RetryPolicy
from gateway.google.quota import Budget, open_budget
from gateway.google.sheets import Sheets
from gateway.settings.model import GoogleSettings
from tests.fakes import BOOK, FakeSheets
from tests.google.timers import ManualTimers
from tests.stand_in import StandIn

T = TypeVar("T")

UNLIMITED = GoogleSettings(reads_per_minute=1_000_000, writes_per_minute=1_000_000)
ONCE = RetryPolicy(read_attempts=1)


@dataclass(frozen=True)
class Reading(Call[T]):
    """A read call whose answer comes from the function `make`."""

    make: Callable[[], Awaitable[T]]

    def message(self, gspread: object) -> Any:
        raise TypeError("it is not sent")

    def decode(self, answer: object, limits: object) -> Any:
        raise TypeError("it is not sent")


@dataclass(frozen=True)
class Writing(Reading[T]):
    is_write: ClassVar[bool] = True


@dataclass(kw_only=True)
class Bench:
    """A pipeline; by default with one account, without rate limits, and without retries."""

    settings: GoogleSettings = UNLIMITED
    sheets: Mapping[str, Sheets] = field(default_factory=lambda: {"main": FakeSheets()})
    retries: Retries = field(default_factory=lambda: Retries(ONCE))
    turn_seconds: float | None = None
    timers: ManualTimers = field(default_factory=ManualTimers)
    waits: list[float] = field(default_factory=list)
    """Reported seconds that calls waited for the quota."""
    changes: list[bool] = field(default_factory=list)
    """Reported changes of the circuit breaker; True if the breaker opened."""

    def __post_init__(self) -> None:
        clock = self.timers.clock
        self.budget: Budget = open_budget(
            self.settings, clock=clock, set_timer=self.timers, waited=self.waits.append
        )
        self.breaker = Breaker(clock=clock, changed=self.changes.append)
        self.pipeline = Pipeline(
            Accounts(
                [
                    Account(name=name, make=StandIn(sheets).make, budget=self.budget)
                    for name, sheets in self.sheets.items()
                ],
                clock=clock,
            ),
            breaker=self.breaker,
            retries=self.retries,
            turn_seconds=self.turn_seconds,
            clock=clock,
        )
        self.google = GoogleSheets(self.pipeline.send, clock=clock)

    async def make(self, call: Callable[[], Awaitable[T]], *, is_write: bool = False) -> T:
        """Send a call through the pipeline."""
        kind = Writing if is_write else Reading
        return await self.pipeline.send(kind(BOOK, call))
