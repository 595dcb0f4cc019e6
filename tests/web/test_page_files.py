"""Static files: encodings and headers."""

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
    """ASGI messages to the server."""

    async def respond(request: Request) -> Answer:
        return await asset.answer(request.head)

    return await sent(Frame(respond, ServerSettings()), make_scope(method, headers=headers))


def head_lines(start: Message) -> dict[str, str]:
    """The header lines of an answer that begins so."""
    return {name.decode(): value.decode() for name, value in start["headers"]}


async def test_a_file_is_sent_in_parts() -> None:
    """All of it, in pieces of a bounded size, and an end."""
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


async def test_a_file_is_packed_for_those_who_can_unpack_it() -> None:
    """It comes with gzip's name and its size as sent."""
    start, *parts = await messages(ASSET, "GET", {"Accept-Encoding": "br, gzip"})
    body = b"".join(part["body"] for part in parts)

    assert head_lines(start)["content-encoding"] == "gzip"
    assert head_lines(start)["content-length"] == str(len(body))
    assert gzip.decompress(body) == CONTENT


async def test_a_file_is_packed_once() -> None:
    """Later answers share the compressed chunks of the first."""
    _, *first = await messages(ASSET, "GET", {"Accept-Encoding": "gzip"})
    _, *second = await messages(ASSET, "GET", {"Accept-Encoding": "gzip"})

    assert [each["body"] for each in first] == [each["body"] for each in second]
    assert all(one["body"] is other["body"] for one, other in zip(first, second, strict=True))


async def test_a_head_is_the_one_of_the_whole_file() -> None:
    """HEAD has the header lines of GET, and no body."""
    whole, *_ = await messages(ASSET, "GET", {})
    start, *parts = await messages(ASSET, "HEAD", {})
    own = {"x-request-id": ""}

    assert start["status"] == whole["status"]
    assert head_lines(start) | own == head_lines(whole) | own
    assert [part["body"] for part in parts] == [b""]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_a_known_file_is_not_sent_again(method: str) -> None:
    """304 with the tag and the caching, whichever coding is accepted."""
    known = {"If-None-Match": ASSET.tag, "Accept-Encoding": "gzip"}
    start, *parts = await messages(ASSET, method, known)

    assert start["status"] == 304
    assert head_lines(start).keys() >= {"etag", "cache-control", "vary"}
    assert "content-length" not in head_lines(start)
    assert [part["body"] for part in parts] == [b""]


def test_another_content_has_another_tag() -> None:
    """A tag stands for the content."""
    other = make_asset(CONTENT[:-1], ".txt", {})

    assert other.tag != ASSET.tag
    assert make_asset(CONTENT, ".txt", {}).tag == ASSET.tag
