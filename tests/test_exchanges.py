"""Tests of the recorder of exchanges."""

import gzip
from dataclasses import dataclass, field

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient
from starlette.types import Message

from sheets_emulator.faults import Fault, Faults
from tests.exchanges import Exchange, Hearing, Recorder

FAULTS = {
    "status": Fault(call="*", status=503),
    "text": Fault(call="*", text="{}"),
    "drop": Fault(call="*", drop=True),
}


@dataclass(kw_only=True)
class Cycle:
    """Request object of a server, which has the method `receive`."""

    messages: list[Message] = field(default_factory=list)

    async def receive(self) -> Message:
        return self.messages.pop(0)


def recording(faults: Faults) -> tuple[Recorder, TestClient]:
    """Return a recorder of an echo application that uses one fault for each call."""

    async def echo(request: Request) -> Response:
        faults.take("values.get", b"")
        body = await request.body()
        if "gzip" in request.headers["accept-encoding"]:
            return Response(gzip.compress(body), headers={"Content-Encoding": "gzip"})
        return Response(body, 201, media_type="text/html")

    recorder = Recorder(
        app=Starlette(routes=[Route("/{path:path}", echo, methods=["POST"])]), faults=faults
    )
    return recorder, TestClient(recorder, headers={"Accept-Encoding": "identity"})


def test_an_exchange_is_recorded_as_sent() -> None:
    """A recorded exchange has the encoded path and query, both bodies, the status and
    whether the answer is HTML.
    """
    recorder, client = recording(Faults())
    answer = client.post("/v4/a%2Fb%20c?x=%2B&x", content=b"body")
    kept = Exchange(
        method="POST",
        raw_path="/v4/a%2Fb%20c",
        query="x=%2B&x",
        body=b"body",
        status=201,
        answer=b"body",
        is_page=True,
    )

    assert answer.content == b"body"
    assert recorder.take() == [kept]
    assert recorder.take() == []


def test_a_compressed_answer_is_recorded_uncompressed() -> None:
    """The client gets the compressed answer, and the exchange has the uncompressed answer."""
    recorder, client = recording(Faults())
    answer = client.post("/v4/x", content=b"body", headers={"Accept-Encoding": "gzip"})

    assert answer.headers["content-encoding"] == "gzip"
    assert [each.answer for each in recorder.take()] == [b"body"]


@pytest.mark.parametrize("path", ["/token", "/_emulator/reset", "/drive/v3/files"])
def test_only_calls_of_the_sheets_api_are_recorded(path: str) -> None:
    """Tokens, control requests and calls of other APIs are not recorded."""
    recorder, client = recording(Faults())

    assert client.post(path, content=b"body").content == b"body"
    assert recorder.take() == []


@pytest.mark.parametrize("name", FAULTS)
def test_a_faked_answer_is_not_recorded(name: str) -> None:
    """An answer that a fault replaced is not recorded, but the next answer is."""
    faults = Faults()
    recorder, client = recording(faults)
    faults.replace([FAULTS[name]])
    for body in (b"faked", b"computed"):
        client.post("/v4/x", content=body)

    assert [each.body for each in recorder.take()] == [b"computed"]


def test_a_delayed_answer_is_recorded() -> None:
    """An answer that a fault only delayed is recorded."""
    faults = Faults()
    recorder, client = recording(faults)
    faults.replace([Fault(call="*", delay_ms=1)])
    client.post("/v4/x", content=b"late")

    assert [each.body for each in recorder.take()] == [b"late"]


async def test_receive_keeps_its_object() -> None:
    """`receive` keeps the server's request as `__self__`, and records the body from all parts."""
    cycle = Cycle(messages=[{"type": "http.request", "body": part} for part in (b"a", b"b")])
    hearing = Hearing(receive=cycle.receive)
    for _ in range(2):
        await hearing()

    assert hearing.__self__ is cycle
    assert hearing.heard == b"ab"
