"""One HTTP exchange with Google, within a deadline and a size.

Rules:
- Nothing here knows Sheets, gspread or tokens. Until an answer begins, errors leave as httpx2
  raises them; after that as `AnswerBroken` or `AnswerTooLarge`. Whoever calls decides what they
  mean.
- An answer is read in pieces as it is decoded, so a small gzip that grows is cut in time.
- An answer that is not read to its end takes its connection with it.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx2

from gateway import __version__
from gateway.google.deadline import Deadline, under
from gateway.google.sockets import keep_deadlines

Parameter = str | int | float | bool | Sequence[str] | None

KEEPALIVE_SECONDS = 60.0

DIGEST_BYTES = 16

MAX_REFUSAL_BYTES = 1_048_576
"""Google explains a refusal in some hundred bytes; decoded, many small things take much memory."""


class AnswerTooLarge(Exception):
    """A decoded answer grew past the size that is read."""


class AnswerBroken(httpx2.HTTPError):
    """The answer's status came, but not all of its body, or not so that it can be decoded."""

    def __init__(self, reason: httpx2.HTTPError) -> None:
        super().__init__("the answer broke off")
        self.reason = reason


@dataclass(frozen=True, kw_only=True)
class Message:
    """What is sent; parameters that are None are left out."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    content: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back; the body of an answer other than 200 is empty if it could not be read.

    Equal digests, equal bodies.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    digest: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Wire:
    """The pool, and the longest wait for one of its connections."""

    client: httpx2.Client
    connect_timeout_seconds: float

    def exchange(self, message: Message, deadline: Deadline, *, max_bytes: int) -> Answer:
        """Send and read the answer. Raises `httpx2.HTTPError` or `AnswerTooLarge`."""
        seconds = deadline.remaining_seconds
        if not seconds:
            raise httpx2.PoolTimeout("the deadline passed before anything was sent")
        connect_seconds = min(self.connect_timeout_seconds, seconds)
        timeout = httpx2.Timeout(seconds, connect=connect_seconds, pool=connect_seconds)
        with (
            under(deadline),
            self.client.stream(
                message.method,
                message.url,
                # None, as an empty mapping would take the query off the URL.
                params={k: v for k, v in message.parameters.items() if v is not None} or None,
                content=message.content,
                headers=message.headers,
                timeout=timeout,
            ) as response,
        ):
            read = _read if response.status_code == 200 else _read_refusal
            return read(response, deadline, max_bytes)


@contextmanager
def open_wire(*, max_connections: int, connect_timeout_seconds: float) -> Iterator[Wire]:
    """A pool that is closed at the end; every exchange brings its own timeouts."""
    limits = httpx2.Limits(
        max_connections=max_connections,
        max_keepalive_connections=max_connections,
        keepalive_expiry=KEEPALIVE_SECONDS,
    )
    # Google asks for "gzip" in the user agent too:
    # developers.google.com/workspace/sheets/api/guides/performance
    headers = {"accept-encoding": "gzip", "user-agent": f"sheets-gateway/{__version__} (gzip)"}
    no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
    with httpx2.Client(
        limits=limits, headers=headers, cookies=no_cookies, follow_redirects=False
    ) as client:
        keep_deadlines(client)
        yield Wire(client=client, connect_timeout_seconds=connect_timeout_seconds)


def _read(response: httpx2.Response, deadline: Deadline, max_bytes: int) -> Answer:
    try:
        return _collected(response, deadline, max_bytes)
    except httpx2.HTTPError as error:
        raise AnswerBroken(error) from error


def _collected(response: httpx2.Response, deadline: Deadline, max_bytes: int) -> Answer:
    body = bytearray()
    # Of each piece while the next is on its way, so that it takes no time of its own at the end.
    digest = blake2b(digest_size=DIGEST_BYTES)
    for piece in response.iter_bytes():
        body += piece
        digest.update(piece)
        if len(body) > max_bytes:
            raise AnswerTooLarge(f"the answer is larger than {max_bytes} bytes")
        if not deadline.remaining_seconds:
            raise httpx2.ReadTimeout("the deadline passed while the answer was read")
    return _answer(response, bytes(body), digest.digest())


def _read_refusal(response: httpx2.Response, deadline: Deadline, max_bytes: int) -> Answer:
    try:
        return _read(response, deadline, min(max_bytes, MAX_REFUSAL_BYTES))
    except (AnswerBroken, AnswerTooLarge):
        # The status has come, and says more than how its explanation broke.
        return _answer(response, b"", b"")


def _answer(response: httpx2.Response, body: bytes, digest: bytes) -> Answer:
    return Answer(status=response.status_code, headers=response.headers, body=body, digest=digest)
