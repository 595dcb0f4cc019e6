"""One HTTP exchange with Google, within a deadline and a size.

Rules:
- Nothing here knows Sheets, gspread or tokens. Until an answer begins, errors leave as httpx2
  raises them; after that as `AnswerBroken` or `AnswerTooLarge`. Whoever calls decides what they
  mean.
- An answer is read in pieces as it is decoded, so a small gzip that grows is cut in time.
- An answer that is not read to its end takes its connection with it.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx2

from gateway import __version__

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
    """The pool, and the longest wait for a connection to be made."""

    client: httpx2.AsyncClient
    connect_timeout_seconds: float

    async def exchange(self, message: Message, deadline: float, *, max_bytes: int) -> Answer:
        """Send and read the answer. Raises `httpx2.HTTPError` or `AnswerTooLarge`.

        `deadline` is on the clock of the event loop; the exchange ends by it, whatever happens.
        """
        progress = _Progress()
        try:
            async with asyncio.timeout_at(deadline), self._stream(message, progress) as response:
                progress.response = response
                return await _read(response, max_bytes)
        except TimeoutError:
            return progress.late()

    def _stream(
        self, message: Message, progress: "_Progress"
    ) -> AbstractAsyncContextManager[httpx2.Response]:
        return self.client.stream(
            message.method,
            message.url,
            # None, as an empty mapping would take the query off the URL.
            params={k: v for k, v in message.parameters.items() if v is not None} or None,
            content=message.content,
            headers=message.headers,
            timeout=httpx2.Timeout(None, connect=self.connect_timeout_seconds),
            extensions={"trace": progress.trace},
        )


class _Progress:
    """How far an exchange came, which decides what a passed deadline means."""

    def __init__(self) -> None:
        self.is_sent = False
        self.response: httpx2.Response | None = None

    async def trace(self, event: str, _: object) -> None:
        """Called by httpcore2 at each step (its extension "trace")."""
        self.is_sent = self.is_sent or event.endswith("send_request_headers.started")

    def late(self) -> Answer:
        """The answer of which only the status is needed, or the error of the passed deadline."""
        if self.response is not None and self.response.status_code != 200:
            return _answer(self.response, b"", b"")
        if self.response is not None:
            reason = httpx2.ReadTimeout("the deadline passed while the answer was read")
            raise AnswerBroken(reason) from reason
        if self.is_sent:
            raise httpx2.ReadTimeout("the deadline passed")
        raise httpx2.PoolTimeout("the deadline passed before anything was sent")


@asynccontextmanager
async def open_wire(*, max_connections: int, connect_timeout_seconds: float) -> AsyncIterator[Wire]:
    """A pool that is closed at the end."""
    limits = httpx2.Limits(
        max_connections=max_connections,
        max_keepalive_connections=max_connections,
        keepalive_expiry=KEEPALIVE_SECONDS,
    )
    # Google asks for "gzip" in the user agent too:
    # developers.google.com/workspace/sheets/api/guides/performance
    headers = {"accept-encoding": "gzip", "user-agent": f"sheets-gateway/{__version__} (gzip)"}
    no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
    async with httpx2.AsyncClient(
        limits=limits, headers=headers, cookies=no_cookies, follow_redirects=False
    ) as client:
        yield Wire(client=client, connect_timeout_seconds=connect_timeout_seconds)


async def _read(response: httpx2.Response, max_bytes: int) -> Answer:
    if response.status_code == 200:
        return await _collected(response, max_bytes)
    try:
        return await _collected(response, min(max_bytes, MAX_REFUSAL_BYTES))
    except (AnswerBroken, AnswerTooLarge):
        # The status has come, and says more than how its explanation broke.
        return _answer(response, b"", b"")


async def _collected(response: httpx2.Response, max_bytes: int) -> Answer:
    body = bytearray()
    # Of each piece while the next is on its way, so that it takes no time of its own at the end.
    digest = blake2b(digest_size=DIGEST_BYTES)
    try:
        async for piece in response.aiter_bytes():
            body += piece
            digest.update(piece)
            if len(body) > max_bytes:
                raise AnswerTooLarge(f"the answer is larger than {max_bytes} bytes")
    except httpx2.HTTPError as error:
        raise AnswerBroken(error) from error
    return _answer(response, bytes(body), digest.digest())


def _answer(response: httpx2.Response, body: bytes, digest: bytes) -> Answer:
    return Answer(status=response.status_code, headers=response.headers, body=body, digest=digest)
