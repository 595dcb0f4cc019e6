"""Requests byte for byte, which HTTP clients would normalise or refuse."""

import http.client
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.journeys.conftest import Api

TIMEOUT_SECONDS = 20.0


@dataclass(frozen=True, kw_only=True)
class RawAnswer:
    """An answer, read as an HTTP client's is; headers as pairs, for names that come twice."""

    status_code: int
    pairs: Sequence[tuple[str, str]] = field(repr=False)
    content: bytes

    @property
    def headers(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.pairs}

    @property
    def text(self) -> str:
        return self.content.decode()

    def json(self) -> Any:
        return json.loads(self.content)


def send_raw(
    api: Api,
    method: str,
    target: str,
    *,
    headers: Sequence[tuple[str, str]] | None = None,
    body: bytes | None = None,
) -> RawAnswer:
    """Send one request with exactly this target. `headers` defaults to the key and ID of `Api`."""
    url = urlsplit(api.url)
    connection = http.client.HTTPConnection(
        url.hostname or "", url.port or 0, timeout=TIMEOUT_SECONDS
    )
    try:
        connection.putrequest(method, target, skip_accept_encoding=True)
        for name, value in _usual(api) if headers is None else headers:
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        return RawAnswer(
            status_code=answer.status, pairs=answer.getheaders(), content=answer.read()
        )
    finally:
        connection.close()


def _usual(api: Api) -> Sequence[tuple[str, str]]:
    return [
        ("Authorization", f"Bearer {api.keys['paid']}"),
        ("X-Spreadsheet-Id", "demo"),
        ("Content-Type", "application/json"),
    ]
