"""Clients that take too long to send."""

import json
import socket
from http.client import HTTPResponse
from urllib.parse import urlsplit

from tests.journeys.conftest import OpenGateway


def test_an_incomplete_body_gets_408(open_gateway: OpenGateway) -> None:
    """An incomplete body gets 408 after the timeout, and nothing is written."""
    api = open_gateway({"server.body_timeout_seconds": 0.1})
    head = (
        "POST /v2/sheets/Cities HTTP/1.1\r\nHost: gateway\r\nContent-Length: 100\r\n"
        f"Authorization: Bearer {api.keys['paid']}\r\nX-Spreadsheet-Id: demo\r\n\r\n"
    )
    address = urlsplit(api.url)

    with socket.create_connection((address.hostname, address.port), timeout=10) as client:
        client.sendall(head.encode() + b'{"name": ')
        answer = HTTPResponse(client)
        answer.begin()
        body = json.loads(answer.read())

    assert answer.status == 408
    assert (body["code"], body["outcome"]) == (4080, "not_applied")
    assert api.emulator.calls() == (0, 0)
