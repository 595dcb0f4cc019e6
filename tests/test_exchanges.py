"""The recorder of exchanges: all that the emulator computed is kept, and nothing is changed."""

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
    """A server's request, of which `receive` is a method."""

    messages: list[Message] = field(default_factory=list)

    async def receive(self) -> Message:
        return self.messages.pop(0)


def recording(faults: Faults) -> tuple[Recorder, TestClient]:
    """A recorder of an application that echoes, and that takes a fault for each call."""

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


def test_an_exchange_is_kept_as_it_was_on_the_wire() -> None:
    """Path and query stay encoded; both bodies, the status and whether it is a page are kept."""
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


def test_a_zipped_answer_is_kept_unzipped() -> None:
    """The client gets the answer zipped, the exchange has it plain."""
    recorder, client = recording(Faults())
    answer = client.post("/v4/x", content=b"body", headers={"Accept-Encoding": "gzip"})

    assert answer.headers["content-encoding"] == "gzip"
    assert [each.answer for each in recorder.take()] == [b"body"]


@pytest.mark.parametrize("path", ["/token", "/_emulator/reset", "/drive/v3/files"])
def test_only_calls_of_the_sheets_api_are_kept(path: str) -> None:
    """Tokens, control requests and calls of other APIs pass by."""
    recorder, client = recording(Faults())

    assert client.post(path, content=b"body").content == b"body"
    assert recorder.take() == []


@pytest.mark.parametrize("name", FAULTS)
def test_a_faked_answer_is_not_kept(name: str) -> None:
    """Of two exchanges the one that a fault answered is left out."""
    faults = Faults()
    recorder, client = recording(faults)
    faults.replace([FAULTS[name]])
    for body in (b"faked", b"computed"):
        client.post("/v4/x", content=body)

    assert [each.body for each in recorder.take()] == [b"computed"]


def test_an_answer_that_was_only_late_is_kept() -> None:
    """A fault that delays leaves the answer to the emulator."""
    faults = Faults()
    recorder, client = recording(faults)
    faults.replace([Fault(call="*", delay_ms=1)])
    client.post("/v4/x", content=b"late")

    assert [each.body for each in recorder.take()] == [b"late"]


async def test_the_servers_request_is_still_found_behind_receive() -> None:
    """`receive` leads to the server's request, and its body is put together from all parts."""
    cycle = Cycle(messages=[{"type": "http.request", "body": part} for part in (b"a", b"b")])
    hearing = Hearing(receive=cycle.receive)
    for _ in range(2):
        await hearing()

    assert hearing.__self__ is cycle
    assert hearing.heard == b"ab"
