"""Answers to reads, out of bytes that were made before."""

import pytest
from starlette.types import Message

from gateway.telemetry.events import RequestEvent, request_event
from gateway.web.cached_response import CachedResponse, read_answer
from gateway.web.head import Head, read_head
from gateway.worksheets.answers import Encoded, Served
from gateway.worksheets.freshness import Freshness
from tests.web.requests import Sender, make_scope

ENCODED = Encoded(b'{"rowIndex":2}', tag='W/"a"')
HIT = Freshness(age_seconds=1.5, ttl_seconds=3.5, is_hit=True)
STALE = Freshness(age_seconds=17.0, ttl_seconds=-12.0, is_hit=True, reason="budget")
FETCHED = Freshness(age_seconds=0.3, ttl_seconds=4.7, is_hit=False)

FRESHNESS = {
    (b"cache-control", b"private, no-cache"),
    (b"etag", b'W/"a"'),
    (b"age", b"1"),
    (b"cache-status", b"sheets-gateway; hit; ttl=3"),
}


def asking(*tags: bytes) -> Head:
    """The head of a request that names tags in `If-None-Match`."""
    return read_head([(b"if-none-match", tag) for tag in tags])


async def sent(answer: CachedResponse) -> list[Message]:
    """The messages that an answer sends."""
    messages: list[Message] = []

    async def send(message: Message) -> None:
        messages.append(message)

    await answer(make_scope(), Sender([]), send)
    return messages


async def test_an_answer_is_the_bytes_and_how_fresh_they_are() -> None:
    """The very bytes that were made before, with their length, tag, age and status."""
    start, body = await sent(read_answer(asking(), Served(ENCODED, HIT), no_cache=False))

    assert start["status"] == 200
    assert set(start["headers"]) == FRESHNESS | {
        (b"content-type", b"application/json"),
        (b"content-length", b"14"),
    }
    assert body == {"type": "http.response.body", "body": ENCODED.body}
    assert body["body"] is ENCODED.body


@pytest.mark.parametrize("tag", [b'W/"a"', b'"a"', b"*", b'"b", W/"a"'], ids=repr)
async def test_what_a_client_knows_is_not_sent_again(tag: bytes) -> None:
    """304 has the tag, the rule for caches and the freshness, but no body and no length."""
    start, body = await sent(read_answer(asking(tag), Served(ENCODED, HIT), no_cache=False))

    assert start["status"] == 304
    assert set(start["headers"]) == FRESHNESS
    assert body["body"] == b""


async def test_what_a_client_does_not_know_is_sent() -> None:
    """Another tag is answered in full."""
    start, _ = await sent(read_answer(asking(b'"b"'), Served(ENCODED, HIT), no_cache=False))

    assert start["status"] == 200


@pytest.mark.parametrize("no_cache", [True, False])
def test_fresh_data_is_said_to_be_asked_for(no_cache: bool) -> None:
    """The status tells a fetch that the client asked for from others."""
    answer = read_answer(asking(), Served(ENCODED, FETCHED), no_cache=no_cache)

    status = dict(answer.headers)[b"cache-status"]
    assert (b"fwd=request" in status) is no_cache
    assert (b"fwd=miss" in status) is not no_cache


@pytest.mark.parametrize(
    ("freshness", "outcome"),
    [(HIT, "hit"), (FETCHED, "miss"), (STALE, "stale")],
    ids=["hit", "miss", "stale"],
)
@pytest.mark.parametrize("tag", [b'"a"', b'"b"'], ids=["known", "unknown"])
def test_the_event_notes_what_the_cache_did(freshness: Freshness, outcome: str, tag: bytes) -> None:
    """The line of the request has it, whether the answer has a body or not."""
    event = RequestEvent(request_id="r", method="GET", path="/")

    with request_event(event):
        read_answer(asking(tag), Served(ENCODED, freshness), no_cache=False)

    assert event.cache == outcome


def test_headers_are_not_shared_between_answers() -> None:
    """What one answer's way out adds to its headers is in no other answer."""
    served = Served(ENCODED, HIT)
    first, second = (read_answer(asking(), served, no_cache=False) for _ in range(2))

    first.headers.append((b"x", b"y"))

    assert (b"x", b"y") not in second.headers
