"""Size limit of request bodies, on a real server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from httpx2 import Client
from starlette.requests import Request
from starlette.types import Message

from sheets_emulator.app import EmulatorOptions
from sheets_emulator.http.body import MAX_BYTES, whole_body
from sheets_emulator.refusal import Refusal
from tests.sheets_emulator.stock.served import serving

PIECE = b"x" * 1024 * 1024
PATHS = ("/token", "/v4/spreadsheets", "/_emulator/faults")


def too_much() -> Iterator[bytes]:
    """Pieces of a body that is one byte larger than the limit."""
    for _ in range(MAX_BYTES // len(PIECE)):
        yield PIECE
    yield b"x"


@pytest.mark.parametrize("is_announced", [True, False], ids=["announced", "in chunks"])
def test_body_that_is_too_large_gets_413_in_googles_error_format(
    tmp_path: Path, is_announced: bool
) -> None:
    """Every path answers a body above the limit with 413 and Google's error JSON."""
    with serving(tmp_path, EmulatorOptions()) as served, Client(base_url=served.url) as client:
        answers = [
            client.post(path, content=b"".join(too_much()) if is_announced else too_much())
            for path in PATHS
        ]
        after = client.get("/_emulator/stats").json()

    assert [answer.status_code for answer in answers] == [413] * len(PATHS)
    assert [answer.json() for answer in answers] == [
        {
            "error": {
                "code": 413,
                "message": "The request is larger than the limit of 32 MB.",
                "status": "INVALID_ARGUMENT",
            }
        }
    ] * len(PATHS)
    assert after["calls"] == {}


async def test_reading_stops_at_the_limit() -> None:
    """`whole_body` stops reading at the first chunk that exceeds the limit."""
    pieces = too_much()
    received: list[bytes] = []

    async def receive() -> Message:
        received.append(next(pieces))
        return {"type": "http.request", "body": received[-1], "more_body": True}

    with pytest.raises(Refusal):
        await whole_body(Request({"type": "http", "headers": []}, receive))

    assert sum(map(len, received)) == MAX_BYTES + 1


async def test_body_of_the_maximum_size_is_accepted() -> None:
    """A body of exactly the maximum size is accepted."""
    pieces = iter([PIECE] * (MAX_BYTES // len(PIECE)))
    left = MAX_BYTES

    async def receive() -> Message:
        nonlocal left
        left -= len(PIECE)
        return {"type": "http.request", "body": next(pieces), "more_body": left > 0}

    body = await whole_body(Request({"type": "http", "headers": []}, receive))

    assert len(body) == MAX_BYTES
