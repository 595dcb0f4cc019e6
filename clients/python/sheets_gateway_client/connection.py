"""Connection settings, requests and answers as httpx2 has them; shared by both clients."""

import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

import httpx2

from sheets_gateway_client.answers import Answer
from sheets_gateway_client.calls import Call
from sheets_gateway_client.retry import Broken, Done, Instant, RetryOptions, Tries, Wait, next_step

Parsed = TypeVar("Parsed")

DEFAULT_TIMEOUT_SECONDS = 90.0
"""Default timeout, longer than the gateway waits for Google."""
DEFAULT_RETRY = RetryOptions()

RETRIED = (
    httpx2.TimeoutException,
    httpx2.NetworkError,
    httpx2.RemoteProtocolError,
    httpx2.ProxyError,
    httpx2.DecodingError,
)
"""Failures of the connection; others are mistakes in the settings, and raised as they are."""
NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)

_VISIBLE = re.compile(r"[\x21-\x7e]+")
_URL = re.compile(r"https?://(\[[0-9a-f:.]+\]|[^\s/:\[\]]+)(:(?P<port>[0-9]{1,5}))?(/\S*)?", re.I)
_LARGEST_PORT = 65_535


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Clocks and randomness, which tests replace."""

    clock: Callable[[], float] = time.monotonic
    today: Callable[[], datetime] = lambda: datetime.now(UTC)
    chance: Callable[[], float] = random.random

    def instant(self) -> Instant:
        return Instant(now=self.clock(), date=self.today(), chance=self.chance())


REAL_TIMING = Timing()


def client_options(
    base_url: str, api_key: str, spreadsheet_id: str | None, timeout_seconds: float
) -> dict[str, Any]:
    """Arguments of both of httpx2's clients. Raises ValueError for unusable ones."""
    headers = {"Authorization": f"Bearer {_key(api_key)}", "Accept": "application/json"}
    if spreadsheet_id is not None:
        headers["X-Spreadsheet-Id"] = spreadsheet_id
    return {
        "base_url": f"{_base(base_url).rstrip('/')}/v2/",
        "headers": headers,
        "timeout": timeout_seconds,
    }


def _base(given: object) -> str:
    url = given.strip() if isinstance(given, str) else ""
    if not url:
        raise ValueError("The base URL is missing: pass the gateway's, as in http://127.0.0.1:8000")
    if any(mark in url for mark in "@?#"):  # the message must not show a password
        raise ValueError('The base URL must not have a user, query or fragment: "@", "?", "#".')
    match = _URL.fullmatch(url)
    if match is None or int(match["port"] or 0) > _LARGEST_PORT:
        raise ValueError(
            f"The base URL {url!r} is not http:// or https:// with a host, as in "
            "http://127.0.0.1:8000"
        )
    return url


def _key(given: object) -> str:
    key = given.strip() if isinstance(given, str) else ""
    if not key:
        raise ValueError("The API key is missing: pass the gateway's, which begins with sgw_")
    if _VISIBLE.fullmatch(key) is None:  # httpx2's error would show the key
        raise ValueError("The API key is not visible ASCII text. It has no blanks and no Bearer.")
    return key


def request_options(call: Call[Parsed]) -> dict[str, Any]:
    """Arguments of a request of either client."""
    return {
        "method": call.method,
        "url": call.target,
        "headers": dict(call.headers),
        "content": None if call.body is None else call.body.encode("utf-8", "surrogatepass"),
    }


def answer_of(response: httpx2.Response) -> Answer:
    headers: Mapping[str, str] = {name.lower(): text for name, text in response.headers.items()}
    text = response.content.decode("utf-8", "replace")
    url = _place(response.request)
    return Answer(status=response.status_code, headers=headers, text=text, url=url)


def broken_by(error: httpx2.RequestError) -> Broken:
    url = _place(error.request)
    return Broken(error=error, was_sent=not isinstance(error, NOT_SENT), url=url)


def _place(request: httpx2.Request) -> str:
    """The URL without its query, which may hold values of cells."""
    return str(request.url.copy_with(query=None))


@dataclass(kw_only=True)
class Attempt:
    """A running call: both clients send it, pass each result to `step`, and wait as `step` says."""

    call: Call[Any]
    timing: Timing
    tries: Tries

    def step(self, result: Answer | Broken) -> Done[Any] | Wait:
        """The value, or the wait before the next try. Raises SheetsFailure."""
        step = next_step(self.call, self.tries, result, self.timing.instant())
        if isinstance(step, Wait):
            self.tries = step.tries
        return step


def begin(call: Call[Any], retry: RetryOptions, timing: Timing) -> Attempt:
    tries = Tries(options=retry, started_at=timing.clock())
    return Attempt(call=call, timing=timing, tries=tries)
