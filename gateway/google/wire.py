"""One HTTP request to Google and its answer, limited in time and size.

Rules:
- This module does not know Sheets, gspread or tokens. An error before the status line arrives is
  httpx2's own error. A later error is `AnswerBroken` or `AnswerTooLarge`. The caller translates
  these errors.
- The size after decompression is checked while the answer is read, so that a small gzip body that
  expands is stopped in time.
- An answer that is not read to its end closes its connection.
- A request that is unfinished at its deadline counts as sent, because Google can have received it.
  A request without a connection fails earlier (`WAITING_SHARE`, `CONNECTING_SHARE`).
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx2
import msgspec

from gateway import __version__
from gateway.table.steps import Work

Parameter = str | int | float | bool | Sequence[str] | None
"""Value of a query parameter, as gspread types it."""

KEEPALIVE_SECONDS = 60.0

DIGEST_BYTES = 16

PIECE_BYTES = 1_048_576
"""Number of decompressed bytes after which the event loop runs other requests."""

WAITING_SHARE = 1 / 2
"""Fraction of the time until the deadline, to wait for a free connection of the pool."""

CONNECTING_SHARE = 1 / 4
"""Fraction of the time until the deadline for TCP connect, and the same again for TLS."""

MAX_REFUSAL_BYTES = 1_048_576
"""Maximum size of an error answer in bytes. Google's error answers have a few hundred bytes."""


class AnswerTooLarge(Exception):
    """The answer exceeds the size limit after decompression or decoding."""


class AnswerBroken(httpx2.HTTPError):
    """The status line arrived, but the body ended early or cannot be decompressed."""

    def __init__(self, reason: httpx2.HTTPError) -> None:
        super().__init__("the answer ended early, or cannot be decompressed")
        self.reason = reason


@dataclass(frozen=True, kw_only=True)
class Message:
    """HTTP request to send."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    content: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """HTTP response. `digest` is a BLAKE2b hash of the body.

    If the status is not 200, a body that cannot be read is replaced by an empty body.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    digest: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Wire:
    client: httpx2.AsyncClient
    connect_timeout_seconds: float

    async def exchange(self, message: Message, deadline: float, *, max_bytes: int) -> Answer:
        """Send a request and return the answer, before `deadline` on the event loop's clock.

        Raises `httpx2.HTTPError`, such as `ReadTimeout` at the deadline, or `AnswerTooLarge` if the
        body exceeds `max_bytes`.
        """
        seconds = deadline - asyncio.get_running_loop().time()
        if seconds <= 0:
            raise httpx2.PoolTimeout("the deadline passed before anything was sent")
        connect_seconds = min(self.connect_timeout_seconds, seconds * CONNECTING_SHARE)
        response: httpx2.Response | None = None
        try:
            async with (
                asyncio.timeout_at(deadline),
                self.client.stream(
                    message.method,
                    message.url,
                    # None: an empty mapping would remove the query from the URL.
                    params=message.parameters or None,
                    content=message.content,
                    headers=message.headers,
                    timeout=httpx2.Timeout(
                        None, connect=connect_seconds, pool=seconds * WAITING_SHARE
                    ),
                ) as response,
            ):
                return await _read(response, max_bytes)
        except TimeoutError as error:
            if response is None:
                raise httpx2.ReadTimeout("the deadline passed before the answer began") from error
            if response.status_code != 200:
                return _without_body(response)
            reason = httpx2.ReadTimeout("the deadline passed while the answer was read")
            raise AnswerBroken(reason) from reason


@asynccontextmanager
async def open_wire(*, max_connections: int, connect_timeout_seconds: float) -> AsyncIterator[Wire]:
    limits = httpx2.Limits(
        max_connections=max_connections,
        max_keepalive_connections=max_connections,
        keepalive_expiry=KEEPALIVE_SECONDS,
    )
    # Google requires "gzip" in the user agent too:
    # developers.google.com/workspace/sheets/api/guides/performance
    headers = {"accept-encoding": "gzip", "user-agent": f"sheets-gateway/{__version__} (gzip)"}
    no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
    async with httpx2.AsyncClient(
        limits=limits, headers=headers, cookies=no_cookies, follow_redirects=False
    ) as client:
        yield Wire(client=client, connect_timeout_seconds=connect_timeout_seconds)


def answer_of(part: msgspec.Raw) -> Work[Answer]:
    """Make an answer from a part of a larger one. The generator yields the bytes of each step."""
    body = bytes(part)
    digest = blake2b(digest_size=DIGEST_BYTES)
    for start in range(0, len(body), PIECE_BYTES):
        yield min(len(body) - start, PIECE_BYTES)
        digest.update(memoryview(body)[start : start + PIECE_BYTES])
    return Answer(status=200, headers={}, body=body, digest=digest.digest())


async def _read(response: httpx2.Response, max_bytes: int) -> Answer:
    is_ok = response.status_code == 200
    if not is_ok:
        max_bytes = min(max_bytes, MAX_REFUSAL_BYTES)
    pieces: list[bytes] = []
    byte_count = taken_bytes = 0
    # Hash each piece while the next one arrives, so that no time is spent at the end.
    digest = blake2b(digest_size=DIGEST_BYTES)
    try:
        async for piece in response.aiter_bytes():
            pieces.append(piece)
            byte_count += len(piece)
            if byte_count > max_bytes:
                raise AnswerTooLarge(f"the answer is larger than the limit of {max_bytes} bytes")
            for start in range(0, len(piece), PIECE_BYTES):  # decompressed, it may be large
                part = memoryview(piece)[start : start + PIECE_BYTES]
                digest.update(part)
                taken_bytes += len(part)
                if taken_bytes >= PIECE_BYTES:  # the next one may be there already
                    taken_bytes = 0
                    await asyncio.sleep(0)
    except (httpx2.HTTPError, AnswerTooLarge) as error:
        pieces.clear()  # the traceback's frame would keep them in memory
        if not is_ok:  # the status is more useful than the error of its body
            return _without_body(response)
        if isinstance(error, AnswerTooLarge):
            raise
        raise AnswerBroken(error) from error
    return Answer(
        status=response.status_code,
        headers=response.headers,
        body=b"".join(pieces),
        digest=digest.digest(),
    )


def _without_body(response: httpx2.Response) -> Answer:
    return Answer(status=response.status_code, headers=response.headers, body=b"", digest=b"")
