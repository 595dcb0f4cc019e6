"""Clients that close their sending side after a request, as `nc -N` does."""

import json
import socket

from tests.journeys.conftest import Api, EmulatorControl
from tests.server.wire import answers_of, connected


def request(api: Api, first: str, body: bytes = b"") -> bytes:
    """A complete request with a key that can write."""
    lines = [
        f"{first} HTTP/1.1",
        "Host: gateway",
        f"Authorization: {api.keys['paid']}",
        "X-Spreadsheet-Id: demo",
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def test_a_write_after_a_half_close_is_answered(api: Api, emulator: EmulatorControl) -> None:
    """A write is carried out and answered after the client closed its sending side."""
    emulator.faults({"call": "spreadsheets.batchUpdate", "delay_ms": 300})
    sent = request(api, "POST /v2/sheets/New", json.dumps({"name": "half"}).encode())
    with connected(api.url) as client:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        answers = answers_of(client)

    assert [(answer.status, answer.json["name"]) for answer in answers] == [(201, "half")]
    assert answers[0].headers["connection"] == "close"
    assert [row[0] for row in emulator.texts("New")[1:]] == ["half"]


def test_pipelined_reads_after_a_half_close_are_answered(api: Api) -> None:
    """All pipelined reads are answered in order; the last answer has `Connection: close`."""
    with connected(api.url) as client:
        client.sendall(b"".join(request(api, f"GET /v2/sheets/Cities/{n}") for n in (2, 3, 4)))
        client.shutdown(socket.SHUT_WR)
        answers = answers_of(client)

    assert [answer.json["rowIndex"] for answer in answers] == [2, 3, 4]
    assert [answer.headers.get("connection") for answer in answers] == [None, None, "close"]


def test_an_incomplete_write_is_not_made(api: Api, emulator: EmulatorControl) -> None:
    """A body that ends early is neither written nor answered."""
    sent = request(api, "POST /v2/sheets/New", json.dumps({"name": "half"}).encode())
    with connected(api.url) as client:
        client.sendall(sent[:-1])
        client.shutdown(socket.SHUT_WR)
        answers = answers_of(client)

    assert answers == []
    assert emulator.calls() == (0, 0)
