"""gspread's verbs on our own HTTP exchange: deadline, token, selected fields.

Rules:
- gspread ends here. Its `HTTPClient` writes Google's paths and percent-encodes ranges; what it
  would do with requests, numbers and retries is not used.
- No retries, with one exception: a call refused with 401 is sent once more with a new token.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from gspread.http_client import FileType, HTTPClient, ParamsType
from gspread.urls import SPREADSHEETS_API_V4_BASE_URL

from gateway.google.deadline import Deadline
from gateway.google.token import TokenSource
from gateway.google.translation import GoogleRefusal
from gateway.google.wire import Answer, Message, Wire

GOOGLE = SPREADSHEETS_API_V4_BASE_URL.removesuffix("/v4/spreadsheets")
"""The host that gspread writes in front of every path; the configured endpoint replaces it."""

_JSON = {"content-type": "application/json"}


@dataclass(frozen=True, kw_only=True)
class Call:
    """Sends the message of one call with a token that Google takes, by the call's deadline."""

    wire: Wire
    tokens: TokenSource
    deadline: Deadline
    max_bytes: int

    def send(self, message: Message) -> Answer:
        """The answer, which has status 200. Raises one of `FAILURES`."""
        authorization = self.tokens.authorization(self.deadline)
        answer = self._exchange(message, authorization)
        if answer.status == 401:  # refused before it was carried out, so it may be sent again
            authorization = self.tokens.authorization(self.deadline, refused=authorization)
            answer = self._exchange(message, authorization)
        if answer.status != 200:
            raise GoogleRefusal(answer)
        return answer

    def _exchange(self, message: Message, authorization: Mapping[str, str]) -> Answer:
        signed = replace(message, headers={**message.headers, **authorization})
        return self.wire.exchange(signed, self.deadline, max_bytes=self.max_bytes)


@dataclass(frozen=True)
class _Undecoded:
    """All that gspread asks of a response: the verbs give it on as it is, to be decoded once."""

    answer: Answer

    def json(self) -> Answer:
        return self.answer


class Gspread(HTTPClient):
    """gspread's verbs for one call; a subclass, because that is the seam that gspread has."""

    def __init__(self, call: Call, *, endpoint: str, fields: str) -> None:
        # Not gspread's own, which opens a session of requests.
        self._call = call
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
    ) -> _Undecoded:
        if not endpoint.startswith(f"{SPREADSHEETS_API_V4_BASE_URL}/") or files is not None:
            raise ValueError("only calls of the Sheets API are made")
        message = Message(
            method=method.upper(),
            url=self._endpoint + endpoint.removeprefix(GOOGLE),
            parameters={**(params or {}), "fields": self._fields, "prettyPrint": "false"},
            content=data if json is None else msgspec.json.encode(json),
            headers={**(headers or {}), **({} if json is None else _JSON)},
        )
        return _Undecoded(self._call.send(message))
