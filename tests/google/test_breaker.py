"""The circuit breaker, and which errors count as outages."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import httpx
import httpx2
import pytest
from anyio import wait_all_tasks_blocked

from gateway.errors import (
    CircuitOpen,
    GatewayError,
    InvalidSpreadsheetId,
    QuotaSpent,
    SpreadsheetNotFound,
    UpstreamAuth,
    UpstreamError,
    UpstreamRefusal,
    UpstreamTimeout,
    UpstreamUnreachable,
    WriteOutcomeUnknown,
)
from gateway.google.pipeline import Breaker, Sign, sign_of
from gateway.google.sheets import CallContext, current_call_context, in_call_context
from gateway.settings.model import GoogleSettings
from tests.clock import ManualClock
from tests.google.google_fake import FakeGoogle, error_answer, read_and_write
from tests.google.timers import failing

T = TypeVar("T")

OUTAGES = [
    UpstreamUnreachable("away"),
    UpstreamTimeout("slow"),
    UpstreamError("failed"),
    WriteOutcomeUnknown("open"),
]
LIFE = [
    UpstreamRefusal("bad range"),
    SpreadsheetNotFound(),
    UpstreamAuth("no account"),
    QuotaSpent("429", is_from_google=True),
]
SILENCE = [QuotaSpent("own budget"), InvalidSpreadsheetId("no id"), ZeroDivisionError()]
AWAY = UpstreamUnreachable("away")


class Subject:
    """A circuit breaker on a manual clock, and its reported changes."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.changes: list[bool] = []
        self.breaker = Breaker(clock=self.clock, changed=self.changes.append)

    async def make(self, call: Callable[[], Awaitable[T]], *, is_write: bool = False) -> T:
        """Make a call as the pipeline does."""
        is_verification = current_call_context().is_verification
        entry = self.breaker.enter(is_write=is_write, is_verification=is_verification)
        try:
            answer = await call()
        except GatewayError as error:
            self.breaker.failed(entry, error)
            raise
        self.breaker.answered()
        return answer

    async def fails(self, *errors: Exception, is_write: bool = False) -> None:
        """Assert that calls are sent and raise these errors."""
        for error in errors:
            with pytest.raises(type(error)) as caught:
                await self.make(failing(error), is_write=is_write)
            assert caught.value is error

    async def answers(self, *, is_write: bool = False) -> None:
        assert await self.make(failing(), is_write=is_write) == "answer"

    async def refuses(self, *, is_write: bool = False) -> CircuitOpen:
        """Assert that a call is not sent, and return the CircuitOpen error."""
        sent: list[bool] = []

        async def call() -> None:
            sent.append(True)

        with pytest.raises(CircuitOpen) as caught:
            await self.make(call, is_write=is_write)
        assert not sent
        return caught.value


@pytest.fixture
async def opened() -> Subject:
    subject = Subject()
    await subject.fails(*[AWAY] * 5)
    assert subject.breaker.is_open
    return subject


@pytest.mark.parametrize("error", OUTAGES, ids=lambda error: type(error).__name__)
async def test_five_outages_in_a_row_open_the_breaker(error: Exception) -> None:
    """The fifth consecutive outage of any kind opens the breaker and is reported once."""
    subject = Subject()
    await subject.fails(*[error] * 4)
    was_open = subject.breaker.is_open
    await subject.fails(error)

    assert not was_open
    assert subject.changes == [True]
    await subject.refuses()


@pytest.mark.parametrize("sign", [*LIFE, None], ids=lambda each: type(each).__name__)
async def test_an_answer_resets_the_count_of_outages(sign: Exception | None) -> None:
    """Any answer of Google, even a refusal, resets the count of outages to zero."""
    subject = Subject()
    await subject.fails(*[AWAY] * 4)
    await (subject.answers() if sign is None else subject.fails(sign))
    await subject.fails(*[AWAY] * 4)

    assert not subject.breaker.is_open


@pytest.mark.parametrize("error", SILENCE, ids=lambda error: type(error).__name__)
async def test_unsent_calls_do_not_change_the_count_of_outages(error: Exception) -> None:
    """A call that was not sent to Google is neither an outage nor an answer."""
    subject = Subject()
    await subject.fails(*[AWAY] * 4, *[error] * 9)
    was_open = subject.breaker.is_open
    await subject.fails(AWAY)

    assert not was_open
    assert subject.breaker.is_open


@pytest.mark.parametrize(("is_write", "outcome"), [(False, None), (True, "not_applied")])
async def test_an_open_breaker_raises_the_time_of_the_next_probe(
    opened: Subject, is_write: bool, outcome: str | None
) -> None:
    """An open breaker fails calls at once with the time of the next probe and `not_applied`."""
    opened.clock.advance(1.5)
    error = await opened.refuses(is_write=is_write)

    assert (error.status, error.code, error.retryable) == (503, 5030, True)
    assert (error.outcome, error.retry_after_seconds) == (outcome, 4)


async def test_one_probe_in_five_seconds(opened: Subject) -> None:
    """An open breaker sends one call every five seconds and fails all others."""
    sent = 0
    for _ in range(600):
        opened.clock.advance(0.1)
        try:
            await opened.make(failing(AWAY), is_write=False)
        except UpstreamUnreachable:
            sent += 1
        except CircuitOpen:
            continue

    assert sent in (11, 12)  # in one minute


@pytest.mark.parametrize("is_write", [False, True], ids=["read", "write"])
async def test_an_answered_probe_closes_the_breaker(opened: Subject, is_write: bool) -> None:
    """After Google answers a probe, all calls are sent again."""
    opened.clock.advance(5.0)
    await opened.answers(is_write=is_write)

    assert opened.changes == [True, False]
    await opened.answers()


async def test_the_breaker_opens_again(opened: Subject) -> None:
    """A closed breaker opens after five more outages."""
    opened.clock.advance(5.0)
    await opened.answers()
    await opened.fails(*[AWAY] * 4)
    was_open = opened.breaker.is_open
    await opened.fails(AWAY)

    assert not was_open
    assert opened.breaker.is_open


@pytest.mark.parametrize("error", SILENCE[:2], ids=lambda error: type(error).__name__)
async def test_an_unsent_probe_keeps_the_breaker_open(opened: Subject, error: Exception) -> None:
    """If the budget stops a probe, the breaker stays open until the next probe is due."""
    opened.clock.advance(5.0)
    await opened.fails(error)

    assert opened.breaker.is_open
    await opened.refuses()


async def test_a_hanging_probe_does_not_delay_the_next(opened: Subject) -> None:
    """The next probe is sent while one waits, and the first answered probe closes the breaker."""
    gate = asyncio.Event()

    async def hang() -> None:
        await gate.wait()
        raise UpstreamTimeout("slow")

    opened.clock.advance(5.0)
    hanging = asyncio.create_task(opened.make(hang, is_write=False))
    await wait_all_tasks_blocked()
    await opened.refuses()
    opened.clock.advance(5.0)
    await opened.answers()
    gate.set()

    with pytest.raises(UpstreamTimeout):
        await hanging
    assert opened.changes == [True, False]


async def test_late_timeouts_do_not_open_the_breaker_again() -> None:
    """Calls sent before the breaker closed do not count as outages when they fail later."""
    subject = Subject()
    gate = asyncio.Event()

    async def hang() -> None:
        await gate.wait()
        raise UpstreamTimeout("slow")

    hanging = [asyncio.create_task(subject.make(hang, is_write=False)) for _ in range(20)]
    await wait_all_tasks_blocked()
    await subject.fails(*[AWAY] * 5)
    subject.clock.advance(5.0)
    await subject.answers()
    gate.set()
    ends = await asyncio.gather(*hanging, return_exceptions=True)

    assert {type(end) for end in ends} == {UpstreamTimeout}
    assert not subject.breaker.is_open
    assert subject.changes == [True, False]


async def test_verifications_are_always_sent(opened: Subject) -> None:
    """An open breaker sends verifications of writes, and an answered verification closes it."""
    with in_call_context(CallContext("k", is_verification=True)):
        await opened.fails(AWAY, AWAY)
        was_open = opened.breaker.is_open
        await opened.answers()

    assert was_open
    assert not opened.breaker.is_open


@pytest.mark.parametrize("before", [[], [AWAY] * 5], ids=["closed", "open"])
async def test_a_cancelled_call_does_not_change_the_breaker(before: Sequence[Exception]) -> None:
    """A cancelled call neither opens nor closes the breaker."""
    subject = Subject()
    await subject.fails(*before)
    subject.clock.advance(5.0)
    tasks = [
        asyncio.create_task(subject.make(asyncio.Event().wait, is_write=False))
        for _ in range(1 if before else 9)
    ]
    await wait_all_tasks_blocked()
    for task in tasks:
        task.cancel()
    ends = await asyncio.gather(*tasks, return_exceptions=True)

    assert {type(end) for end in ends} == {asyncio.CancelledError}
    assert subject.breaker.is_open is bool(before)


@pytest.mark.parametrize("is_write", [False, True], ids=["read", "write"])
async def test_only_probes_and_verifications_pass_an_open_breaker(is_write: bool) -> None:
    """A call that entered before the breaker opened is not exempt from the open breaker."""
    subject = Subject()
    early = subject.breaker.enter(is_write=is_write, is_verification=False)
    verification = subject.breaker.enter(is_write=is_write, is_verification=True)
    await subject.fails(*[AWAY] * 5)
    subject.clock.advance(5.0)
    probe = subject.breaker.enter(is_write=is_write, is_verification=False)

    assert verification.is_exempt
    assert probe.is_exempt
    assert not early.is_exempt


ANSWERS = {
    "500": (error_answer(500, "INTERNAL"), True),
    "503 as HTML": (httpx.Response(503, html="<p>"), True),
    "redirect": (httpx.Response(302, headers={"location": "https://example.org"}), True),
    "quota": (error_answer(429, "RESOURCE_EXHAUSTED"), False),
    "bad range": (error_answer(400, "INVALID_ARGUMENT"), False),
    "not shared": (error_answer(403, "PERMISSION_DENIED"), False),
    "unknown id": (error_answer(404, "NOT_FOUND"), False),
    "aborted": (error_answer(409, "ABORTED"), False),
    "another 4xx": (error_answer(410, "NOT_FOUND"), False),
    "too large": (httpx.Response(413), False),
}
BROKEN = {
    "not reached": (httpx2.ConnectError("refused"), True),
    "no connection in time": (httpx2.ConnectTimeout("slow"), True),
    "no connection free": (httpx2.PoolTimeout("busy"), True),
    "broken": (httpx2.ReadError("reset"), True),
    "no answer in time": (httpx2.ReadTimeout("slow"), False),
}


@pytest.mark.parametrize(("answer", "fails"), ANSWERS.values(), ids=ANSWERS)
async def test_answers_with_status_5xx_are_outages(
    answer: httpx.Response, fails: bool, settings: GoogleSettings, google: FakeGoogle
) -> None:
    """Answers with status 5xx and redirects are outages; refusals of Google are answers."""
    google.sheets.mock(return_value=answer)

    read, write = await read_and_write(settings)

    assert sign_of(read) is (Sign.BRIEF_OUTAGE if fails else Sign.ANSWER)
    assert sign_of(write) in ((Sign.OUTAGE, Sign.BRIEF_OUTAGE) if fails else (Sign.ANSWER,))


@pytest.mark.parametrize(("error", "is_brief"), BROKEN.values(), ids=BROKEN)
async def test_connection_errors_are_outages(
    error: Exception, is_brief: bool, settings: GoogleSettings, google: FakeGoogle
) -> None:
    """Failed and broken connections are brief outages; a timeout is an outage that is not brief."""
    google.sheets.mock(side_effect=error)

    read, write = await read_and_write(settings)

    assert sign_of(read) is (Sign.BRIEF_OUTAGE if is_brief else Sign.OUTAGE)
    assert sign_of(write) in (Sign.OUTAGE, Sign.BRIEF_OUTAGE)


async def test_an_unreadable_answer_to_a_read_is_no_outage(
    settings: GoogleSettings, google: FakeGoogle
) -> None:
    """An unreadable answer to one read is no outage, so reads of other worksheets continue."""
    google.sheets.mock(return_value=httpx.Response(200, html="<html>"))

    read, _ = await read_and_write(settings)

    assert sign_of(read) is Sign.ANSWER


def test_errors_without_a_cause() -> None:
    """The class of an error without a cause decides whether the error is an outage."""
    errors = [UpstreamError("failed"), UpstreamUnreachable("away"), QuotaSpent("spent")]

    signs = [Sign.BRIEF_OUTAGE, Sign.BRIEF_OUTAGE, Sign.NONE]
    assert [sign_of(error) for error in errors] == signs
