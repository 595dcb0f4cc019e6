"""Static files: content codings and headers."""

import gzip
from collections.abc import Mapping

import pytest
from starlette.types import Message

from gateway.settings.model import ServerSettings
from gateway.web.answers import Answer
from gateway.web.frame import Frame
from gateway.web.pages import CHUNK_BYTES, Asset, make_asset
from gateway.web.request import Request
from tests.web.requests import make_scope, sent

CONTENT = bytes(range(256)) * (CHUNK_BYTES // 100)
ASSET = make_asset(CONTENT, ".txt", {"Cache-Control": "no-cache"})


async def messages(asset: Asset, method: str, headers: Mapping[str, str]) -> list[Message]:
    """Return the ASGI messages of the answer to a request for `asset`."""

    async def respond(request: Request) -> Answer:
        return await asset.answer(request.head)

    return await sent(Frame(respond, ServerSettings()), make_scope(method, headers=headers))


def head_lines(start: Message) -> dict[str, str]:
    """Return the headers of an `http.response.start` message."""
    return {name.decode(): value.decode() for name, value in start["headers"]}


async def test_a_file_is_sent_in_parts() -> None:
    """A file is sent in chunks of at most `CHUNK_BYTES`, and the last message ends the body."""
    start, *parts = await messages(ASSET, "GET", {})

    assert start["status"] == 200
    assert (
        head_lines(start).items()
        >= {
            "cache-control": "no-cache",
            "content-length": str(len(CONTENT)),
            "content-type": "text/plain; charset=utf-8",
            "etag": ASSET.tag,
        }.items()
    )
    assert (b"vary", b"Accept-Encoding") in start["headers"]
    assert b"".join(part["body"] for part in parts) == CONTENT
    assert max(len(part["body"]) for part in parts) == CHUNK_BYTES
    assert [part.get("more_body", False) for part in parts] == [True] * (len(parts) - 1) + [False]


async def test_a_file_is_compressed_if_the_client_accepts_gzip() -> None:
    """A gzip answer has `Content-Encoding` and the length of the compressed body."""
    start, *parts = await messages(ASSET, "GET", {"Accept-Encoding": "br, gzip"})
    body = b"".join(part["body"] for part in parts)

    assert head_lines(start)["content-encoding"] == "gzip"
    assert head_lines(start)["content-length"] == str(len(body))
    assert gzip.decompress(body) == CONTENT


async def test_a_file_is_compressed_once() -> None:
    """All gzip answers share the compressed chunks of the first answer."""
    _, *first = await messages(ASSET, "GET", {"Accept-Encoding": "gzip"})
    _, *second = await messages(ASSET, "GET", {"Accept-Encoding": "gzip"})

    assert [each["body"] for each in first] == [each["body"] for each in second]
    assert all(one["body"] is other["body"] for one, other in zip(first, second, strict=True))


async def test_head_of_a_file() -> None:
    """HEAD has the status and header lines of GET, and no body."""
    whole, *_ = await messages(ASSET, "GET", {})
    start, *parts = await messages(ASSET, "HEAD", {})
    own = {"x-request-id": ""}

    assert start["status"] == whole["status"]
    assert head_lines(start) | own == head_lines(whole) | own
    assert [part["body"] for part in parts] == [b""]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_a_known_file_is_not_sent_again(method: str) -> None:
    """A matching `If-None-Match` gets 304 with `ETag`, `Cache-Control` and `Vary`."""
    known = {"If-None-Match": ASSET.tag, "Accept-Encoding": "gzip"}
    start, *parts = await messages(ASSET, method, known)

    assert start["status"] == 304
    assert head_lines(start).keys() >= {"etag", "cache-control", "vary"}
    assert "content-length" not in head_lines(start)
    assert [part["body"] for part in parts] == [b""]


def test_another_content_has_another_tag() -> None:
    """The ETag of a file depends on its content."""
    other = make_asset(CONTENT[:-1], ".txt", {})

    assert other.tag != ASSET.tag
    assert make_asset(CONTENT, ".txt", {}).tag == ASSET.tag
