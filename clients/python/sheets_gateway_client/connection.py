"""Convert settings, requests and answers to and from httpx2, for both clients."""

import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

import httpx2

from sheets_gateway_client.answers import Answer
from sheets_gateway_client.calls import Call, visible
from sheets_gateway_client.retry import Broken, Done, Instant, RetryOptions, Tries, Wait, next_step

Parsed = TypeVar("Parsed")

DEFAULT_TIMEOUT_SECONDS = 90.0
"""Default timeout of a request; the gateway waits a shorter time for Google."""
DEFAULT_RETRY = RetryOptions()

RETRIED = (
    httpx2.TimeoutException,
    httpx2.NetworkError,
    httpx2.RemoteProtocolError,
    httpx2.ProxyError,
    httpx2.DecodingError,
)
"""Connection errors that are retried. Other errors of httpx2 are wrong settings, and propagate."""
NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)
"""Errors after which the gateway has certainly not received the request."""

_VISIBLE = re.compile(r"[\x21-\x7e]+")
_URL = re.compile(r"https?://(\[[0-9a-f:.]+\]|[^\s/:\[\]]+)(:(?P<port>[0-9]{1,5}))?(/\S*)?", re.I)
_LARGEST_PORT = 65_535


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Clocks and random numbers, which tests replace."""

    clock: Callable[[], float] = time.monotonic
    """Seconds of a monotonic clock."""
    today: Callable[[], datetime] = lambda: datetime.now(UTC)
    """The current time, in UTC."""
    chance: Callable[[], float] = random.random
    """Random number from 0 to 1."""

    def instant(self) -> Instant:
        return Instant(now=self.clock(), date=self.today(), chance=self.chance())


REAL_TIMING = Timing()


def client_options(
    base_url: str, api_key: str, spreadsheet_id: str | None, timeout_seconds: float
) -> dict[str, Any]:
    """Return the arguments of `httpx2.Client` and `httpx2.AsyncClient`.

    Raises ValueError if the base URL, the API key or the spreadsheet ID is not valid.
    """
    headers = {"Authorization": f"Bearer {_key(api_key)}", "Accept": "application/json"}
    if spreadsheet_id is not None and spreadsheet_id != "":
        given = spreadsheet_id.strip() if isinstance(spreadsheet_id, str) else spreadsheet_id
        headers["X-Spreadsheet-Id"] = visible("spreadsheet_id", given)
    return {
        "base_url": f"{_base(base_url).rstrip('/')}/v2/",
        "headers": headers,
        "timeout": timeout_seconds,
    }


def _base(given: object) -> str:
    url = given.strip() if isinstance(given, str) else ""
    if not url:
        raise ValueError(
            "The base URL is missing. Pass the URL of the gateway, such as http://127.0.0.1:8000"
        )
    if any(mark in url for mark in "@?#"):  # the message must not show a password
        raise ValueError(
            'The base URL must not have a user name, query or fragment. Remove "@", "?" and "#".'
        )
    match = _URL.fullmatch(url)
    if match is None or int(match["port"] or 0) > _LARGEST_PORT:
        raise ValueError(
            f"The base URL {url!r} is not valid. Pass http:// or https:// with a host, such as "
            "http://127.0.0.1:8000"
        )
    return url


def _key(given: object) -> str:
    key = given.strip() if isinstance(given, str) else ""
    if not key:
        raise ValueError("The API key is missing. Pass a key of the gateway, such as sgw_…")
    if _VISIBLE.fullmatch(key) is None:  # httpx2's error would show the key
        raise ValueError('The API key is not visible ASCII text. Remove blanks and "Bearer".')
    return key


def request_options(call: Call[Parsed]) -> dict[str, Any]:
    """Return the keyword arguments of `request` of both httpx2 clients."""
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
    """Return the URL without its query, which can contain cell values."""
    return str(request.url.copy_with(query=None))


@dataclass(kw_only=True)
class Attempt:
    """A running call. The client sends the request and passes each result to `step`."""

    call: Call[Any]
    timing: Timing
    tries: Tries

    def step(self, result: Answer | Broken) -> Done[Any] | Wait:
        """Return the result, or the wait before the next request. Raises SheetsFailure."""
        step = next_step(self.call, self.tries, result, self.timing.instant())
        if isinstance(step, Wait):
            self.tries = step.tries
        return step


def begin(call: Call[Any], retry: RetryOptions, timing: Timing) -> Attempt:
    tries = Tries(options=retry, started_at=timing.clock())
    return Attempt(call=call, timing=timing, tries=tries)
