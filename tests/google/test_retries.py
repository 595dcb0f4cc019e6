"""Retries of calls to Google."""

import random
from collections.abc import Callable
from itertools import count

import pytest

from gateway.errors import (
    CircuitOpen,
    GatewayError,
    QuotaSpent,
    SheetTooLarge,
    SpreadsheetNotFound,
    UpstreamError,
    UpstreamRefusal,
    UpstreamTimeout,
    UpstreamUnreachable,
    WriteOutcomeUnknown,
)
from gateway.google.pipeline import FAILURES_TO_OPEN, Breaker, Retries, RetryPolicy
from tests.google.timers import failing

POLICY = RetryPolicy()
AWAY = UpstreamUnreachable("away", outcome="not_applied")
NEVER = [
    UpstreamRefusal("bad range"),
    UpstreamTimeout("slow"),
    SheetTooLarge("large"),
    QuotaSpent("429", is_from_google=True),
    CircuitOpen("open"),
    SpreadsheetNotFound(),
    ZeroDivisionError(),
]


class Subject:
    """Retries that record their pauses instead of sleeping; the default jitter is 0.5."""

    def __init__(
        self, policy: RetryPolicy = POLICY, jitter: Callable[[], float] = lambda: 0.5
    ) -> None:
        self.pauses: list[float] = []
        self.calls = 0
        self.breaker = Breaker()
        self.opens_in_pause = False
        self.retries = Retries(policy, sleep=self._pause, jitter=jitter)

    async def make(self, *errors: Exception, is_write: bool = False) -> str:
        """Make a call, as the pipeline does, that raises the given errors and then answers."""
        call = failing(*errors)
        self.retries.call_count += 1
        for attempt in count(1):
            self.calls += 1
            try:
                return await call()
            except GatewayError as error:
                if is_write or not await self.retries.may_repeat(attempt, error, self.breaker):
                    raise
        raise AssertionError

    def open_breaker(self) -> None:
        entry = self.breaker.enter(is_write=False, is_verification=False)
        for _ in range(FAILURES_TO_OPEN):
            self.breaker.failed(entry, AWAY)

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        if self.opens_in_pause:
            self.open_breaker()


@pytest.mark.parametrize("error", [AWAY, UpstreamError("503")], ids=["unreachable", "failed"])
async def test_a_read_is_tried_three_times(error: Exception) -> None:
    """A read is sent up to three times, with growing pauses; the third outage is raised."""
    lucky, unlucky = Subject(), Subject()
    answer = await lucky.make(error, error)
    with pytest.raises(type(error)) as caught:
        await unlucky.make(error, error, error)

    assert answer == "answer"
    assert caught.value is error
    assert lucky.pauses == unlucky.pauses == [0.1, 0.2]
    assert unlucky.calls == 3


async def test_pauses_are_bounded() -> None:
    """Pauses double up to 2 s, however many attempts the policy allows."""
    subject = Subject(RetryPolicy(read_attempts=7, max_allowance=10), lambda: 1.0)
    await subject.make(*[AWAY] * 6)

    assert subject.pauses == [0.2, 0.4, 0.8, 1.6, 2.0, 2.0]


@pytest.mark.parametrize("error", NEVER, ids=lambda error: type(error).__name__)
async def test_other_errors_are_not_retried(error: Exception) -> None:
    """A refusal, a 429, a timeout or an unexpected error is raised without a retry."""
    subject = Subject()
    with pytest.raises(type(error)):
        await subject.make(error)

    assert (subject.calls, subject.pauses) == (1, [])


async def test_an_unsent_write_is_not_retried() -> None:
    """A write that was not sent is not retried, because its check of the rows would be outdated."""
    subject = Subject()
    with pytest.raises(UpstreamUnreachable):
        await subject.make(AWAY, is_write=True)

    assert subject.calls == 1


@pytest.mark.parametrize(
    "error", [WriteOutcomeUnknown("open"), UpstreamError("4xx", outcome="not_applied"), *NEVER]
)
async def test_a_write_that_was_sent_is_never_sent_again(error: Exception) -> None:
    """A write that was sent is never retried, whatever the error."""
    subject = Subject()
    with pytest.raises(type(error)):
        await subject.make(error, is_write=True)

    assert subject.calls == 1


async def test_retries_are_a_tenth_of_the_calls() -> None:
    """If all calls fail, retries are at most a tenth of the calls, plus three."""
    subject = Subject()
    for _ in range(1000):
        with pytest.raises(UpstreamError):
            await subject.make(*[AWAY] * 3)

    assert 1090 <= subject.calls <= 1103


async def test_successful_calls_save_up_no_retries() -> None:
    """After many successful calls, only three retries are allowed."""
    subject = Subject()
    for _ in range(1000):
        await subject.make()
    for _ in range(5):
        with pytest.raises(UpstreamError):
            await subject.make(*[AWAY] * 3)

    assert subject.calls == 1000 + 5 + 3


async def test_no_retry_while_the_breaker_is_open() -> None:
    """With an open breaker, the first error is raised without a pause."""
    subject = Subject()
    subject.open_breaker()
    with pytest.raises(UpstreamUnreachable):
        await subject.make(AWAY)

    assert (subject.calls, subject.pauses) == (1, [])


async def test_a_breaker_that_opens_in_a_pause_ends_the_retries() -> None:
    """If the breaker opens during a pause, the error is raised and no retry is used up."""
    subject = Subject()
    subject.opens_in_pause = True
    with pytest.raises(UpstreamUnreachable):
        await subject.make(AWAY)
    calls = subject.calls
    subject.breaker.answered()
    subject.opens_in_pause = False
    for _ in range(3):
        await subject.make(AWAY)

    assert calls == 1
    assert subject.calls == 7


async def test_the_error_of_the_last_attempt_is_raised() -> None:
    """If the budget refuses a retry, its QuotaSpent with the waiting time is raised."""
    spent = QuotaSpent("spent", retry_after_seconds=7)
    with pytest.raises(QuotaSpent) as caught:
        await Subject().make(AWAY, spent)

    assert caught.value is spent


async def test_every_pause_is_random() -> None:
    """Each pause is a random time between 0 and its upper limit."""
    subject = Subject(RetryPolicy(max_allowance=30), random.random)
    for _ in range(20):
        await subject.make(AWAY)

    assert len(set(subject.pauses)) == 20
    assert all(0 <= seconds <= 0.2 for seconds in subject.pauses)
