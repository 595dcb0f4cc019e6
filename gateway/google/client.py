"""gspread's verbs as builders of calls: method, URL, parameters and body.

Rules: gspread ends here, and sends nothing. Its `HTTPClient` writes Google's paths and
percent-encodes ranges; what it would do with requests, numbers and retries is not used.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from gspread.http_client import FileType, HTTPClient, ParamsType
from gspread.urls import SPREADSHEETS_API_V4_BASE_URL

from gateway.google.wire import Message

GOOGLE = SPREADSHEETS_API_V4_BASE_URL.removesuffix("/v4/spreadsheets")
"""The host that gspread writes in front of every path; the configured endpoint replaces it."""

_JSON = {"content-type": "application/json"}


@dataclass(frozen=True)
class _Built:
    """All that gspread asks of a response: its verbs return what `json` gives."""

    message: Message

    def json(self) -> Message:
        return self.message


class Gspread(HTTPClient):
    """Its verbs return a `Message`; a subclass, because that is the seam that gspread has."""

    def __init__(self, *, endpoint: str, fields: str) -> None:
        # Not gspread's own, which opens a session of requests.
        self._endpoint = endpoint
        self._fields = fields

    def request(  # type: ignore[override]  # gspread takes any response that has json()
        self,
        method: str,
        endpoint: str,
        params: ParamsType | None = None,
        data: bytes | None = None,
        json: Mapping[str, Any] | None = None,
        files: FileType = None,
        headers: Mapping[str, str] | None = None,
    ) -> _Built:
        if not endpoint.startswith(f"{SPREADSHEETS_API_V4_BASE_URL}/") or files is not None:
            raise ValueError("only calls of the Sheets API are made")
        message = Message(
            method=method.upper(),
            url=self._endpoint + endpoint.removeprefix(GOOGLE),
            parameters={**(params or {}), "fields": self._fields, "prettyPrint": "false"},
            content=data if json is None else msgspec.json.encode(json),
            headers={**(headers or {}), **({} if json is None else _JSON)},
        )
        return _Built(message)
