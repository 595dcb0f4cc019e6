"""Reading of HTTP answers, and errors of broken connections."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import httpx2
import pytest

from gateway.errors import (
    SheetTooLarge,
    SpreadsheetNotFound,
    UpstreamError,
    UpstreamTimeout,
    UpstreamUnreachable,
    WriteOutcomeUnknown,
)
from gateway.google.sheets import Render
from gateway.google.wire import Message, open_wire
from gateway.settings.model import GoogleSettings
from tests.google.google_fake import (
    A_READ,
    A_WRITE,
    ENDPOINT,
    READ_ANSWER,
    SPREADSHEET,
    FakeGoogle,
    Pieces,
    assert_open,
    error_answer,
    failure,
    read_and_write,
    token_answer,
)
from tests.stand_in import open_google

NOT_SENT = (
    httpx2.ConnectError("refused"),
    httpx2.ConnectTimeout("slow"),
    httpx2.PoolTimeout("busy"),
    httpx2.ProxyError("no"),
)
TIMED_OUT = (httpx2.ReadTimeout("slow"), httpx2.WriteTimeout("slow"))
BROKEN = (
    httpx2.ReadError("reset"),
    httpx2.WriteError("reset"),
    httpx2.RemoteProtocolError("disconnected"),
)


def name_of(error: object) -> str:
    return type(error).__name__


def cut(error: Exception) -> Iterator[bytes]:
    """Yield a part of an answer, then raise the error of a broken connection."""
    yield b'{"range": "T!A1",'
    raise error


class Drip(Pieces):
    """Body that sends a byte every 10 ms without end."""

    def __init__(self) -> None:
        super().__init__(())

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            self.read_count += 1
            yield b" "
            await asyncio.sleep(0.01)


def gzipped(body: bytes, status: int = 200) -> httpx.Response:
    headers = {"content-encoding": "gzip", "content-type": "application/json"}
    return httpx.Response(status, headers=headers, stream=Pieces([gzip.compress(body)]))


async def test_gzip_answers_are_decoded(settings: GoogleSettings, google: FakeGoogle) -> None:
    """Answers compressed with gzip are decoded."""
    google.sheets.mock(return_value=gzipped(json.dumps(READ_ANSWER).encode()))

    async with open_google(settings) as sheets:
        found = await sheets.read_values(SPREADSHEET, "'T'!A1:B2", render=Render.DISPLAYED)

    assert found.cells == (("x",),)


async def test_the_digest_is_of_the_body_alone(
    settings: GoogleSettings, google: FakeGoogle
) -> None:
    """Equal bodies have equal digests, whatever their compression and chunks."""
    body = json.dumps(READ_ANSWER).encode()
    pieces = Pieces([body[:5], body[5:]])
    google.sheets.side_effect = [gzipped(body), httpx.Response(200, stream=pieces), gzipped(b"{}")]

    async with open_wire(max_connections=1, connect_timeout_seconds=1.0) as wire:
        message = Message(method="GET", url=f"{ENDPOINT}/v4/spreadsheets/{SPREADSHEET}")
        deadline = asyncio.get_running_loop().time() + 60
        packed, cut, other = [
            await wire.exchange(message, deadline, max_bytes=999) for _ in range(3)
        ]

    assert packed.body == cut.body
    assert packed.digest == cut.digest
    assert packed.digest != other.digest


async def test_a_gzip_bomb_is_cut(settings: GoogleSettings, google: FakeGoogle) -> None:
    """The size limit is on decoded bytes: a gzip bomb raises SheetTooLarge for a read."""
    google.sheets.side_effect = lambda _request: gzipped(b" " * 40_000_000)

    read, write = await read_and_write(settings)

    assert type(read) is SheetTooLarge
    assert_open(write)


async def test_an_oversize_answer_is_not_read_to_its_end(
    settings: GoogleSettings, google: FakeGoogle
) -> None:
    """Reading of an answer stops at the size limit, and the connection is closed."""
    body = Pieces(b" " * 10_000 for _ in range(1000))
    google.sheets.mock(return_value=httpx.Response(200, stream=body))

    error = await failure(settings, A_READ)

    assert type(error) is SheetTooLarge
    assert body.read_count == 11
    assert body.is_closed


async def test_an_error_body_has_a_smaller_limit(
    settings: GoogleSettings, google: FakeGoogle
) -> None:
    """Only the first megabyte of an error's body is read, whatever the limit of answers."""
    settings = settings.model_copy(update={"max_answer_bytes": 100_000_000})
    body = Pieces(b" " * 100_000 for _ in range(1000))
    google.sheets.mock(return_value=httpx.Response(404, stream=body))

    error = await failure(settings, A_READ)

    assert type(error) is SpreadsheetNotFound
    assert body.read_count == 11
    assert body.is_closed


async def test_an_error_with_an_oversize_body(settings: GoogleSettings, google: FakeGoogle) -> None:
    """An error with too large a body is recognised by its status."""
    answer = error_answer(429, "RESOURCE_EXHAUSTED", "x" * 200_000)
    google.sheets.mock(return_value=answer)

    error = await failure(settings, A_READ)

    assert error.code == 5030


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (httpx2.ReadError("reset"), UpstreamError),
        (httpx2.RemoteProtocolError("cut"), UpstreamError),
        (httpx2.ReadTimeout("stalled"), UpstreamTimeout),
    ],
    ids=["reset", "cut", "stalled"],
)
async def test_an_answer_that_breaks_off(
    raised: Exception, kind: type, settings: GoogleSettings, google: FakeGoogle
) -> None:
    """An incomplete answer fails a read and leaves the outcome of a write unknown."""
    google.sheets.side_effect = lambda _request: httpx.Response(200, stream=Pieces(cut(raised)))

    read, write = await read_and_write(settings)

    assert type(read) is kind
    assert_open(write)


HURRIED = {"read_timeout_seconds": 0.2, "write_timeout_seconds": 0.2}


@pytest.mark.parametrize(
    ("verb", "kind"),
    [(A_READ, UpstreamTimeout), (A_WRITE, WriteOutcomeUnknown)],
    ids=["read", "write"],
)
async def test_a_slow_drip_ends_at_the_deadline(
    verb: Any, kind: type, settings: GoogleSettings, google: FakeGoogle
) -> None:
    """A call ends at its deadline even if bytes of the answer still arrive."""
    body = Drip()
    google.sheets.mock(return_value=httpx.Response(200, stream=body))

    error = await failure(settings.model_copy(update=HURRIED), verb)

    assert type(error) is kind
    assert body.read_count > 1
    assert body.is_closed


async def test_a_refusal_with_an_endless_body(settings: GoogleSettings, google: FakeGoogle) -> None:
    """A refusal whose body does not end by the deadline is recognised by its status."""
    google.sheets.mock(return_value=httpx.Response(404, stream=Drip()))

    error = await failure(settings.model_copy(update=HURRIED), A_READ)

    assert type(error) is SpreadsheetNotFound


async def test_the_deadline_includes_the_token_request(
    settings: GoogleSettings, google: FakeGoogle
) -> None:
    """A call is not sent if its token request took until the deadline."""

    async def slow_token(_request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(5)
        return token_answer("slow")

    google.token.side_effect = slow_token

    read, write = await read_and_write(settings.model_copy(update=HURRIED))

    assert (type(read), type(write)) == (UpstreamUnreachable, UpstreamUnreachable)
    assert write.outcome == "not_applied"
    assert google.sheets.call_count == 0


async def test_cookies_are_not_kept(settings: GoogleSettings, google: FakeGoogle) -> None:
    """A cookie that Google sets with one call is not sent with the next call."""
    google.sheets.mock(
        return_value=httpx.Response(200, json=READ_ANSWER, headers={"set-cookie": "NID=1; Path=/"})
    )

    async with open_google(settings) as sheets:
        await A_READ(sheets)
        await A_READ(sheets)

    assert "cookie" not in google.sheets.calls.last.request.headers


@pytest.mark.parametrize("raised", NOT_SENT, ids=name_of)
async def test_calls_without_a_connection_are_unreachable(
    raised: Exception, settings: GoogleSettings, google: FakeGoogle
) -> None:
    """A call without a connection raises UpstreamUnreachable, for a write with `not_applied`."""
    google.sheets.mock(side_effect=raised)

    read, write = await read_and_write(settings)

    assert (type(read), type(write)) == (UpstreamUnreachable, UpstreamUnreachable)
    assert (read.outcome, write.outcome) == (None, "not_applied")


@pytest.mark.parametrize("raised", TIMED_OUT, ids=name_of)
async def test_a_missing_answer_is_a_timeout(
    raised: Exception, settings: GoogleSettings, google: FakeGoogle
) -> None:
    """A missing answer is UpstreamTimeout for a read and leaves a write's outcome unknown."""
    google.sheets.mock(side_effect=raised)

    read, write = await read_and_write(settings)

    assert type(read) is UpstreamTimeout
    assert_open(write)


@pytest.mark.parametrize("raised", BROKEN, ids=name_of)
async def test_a_broken_connection_fails_a_read(
    raised: Exception, settings: GoogleSettings, google: FakeGoogle
) -> None:
    """A connection that breaks is UpstreamError for a read and leaves a write's outcome unknown."""
    google.sheets.mock(side_effect=raised)

    read, write = await read_and_write(settings)

    assert type(read) is UpstreamError
    assert_open(write)
