"""A fake Google that answers HTTP requests, and calls of `Sheets` for tests."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import respx

from gateway.errors import GatewayError, WriteOutcomeUnknown
from gateway.google.calls import GoogleSheets
from gateway.google.sheets import Batch, Fence, Render
from gateway.settings.model import GoogleSettings
from tests.stand_in import open_google

ACCOUNT = "gateway@project.iam.gserviceaccount.com"
ENDPOINT = "https://sheets.googleapis.com"
TOKEN_URL = "https://oauth2.googleapis.com/token"
SPREADSHEET = "1aBcD-_9"

KeyFile = Callable[..., Path]
Verb = Callable[[GoogleSheets], Awaitable[object]]
"""A call of one method of `Sheets`, on `SPREADSHEET` or on the ID given to `verbs`."""


@dataclass
class FakeGoogle:
    """HTTP routes whose answers tests set: the token endpoint and the Sheets API."""

    router: respx.Router
    token: respx.Route
    sheets: respx.Route

    @property
    def sent(self) -> httpx.Request:
        """The only request that reached the Sheets API."""
        requests: list[httpx.Request] = [call.request for call in self.sheets.calls]
        (request,) = requests
        return request


def token_answer(token: object, expires_in: object = 3599) -> httpx.Response:
    body = {"access_token": token, "expires_in": expires_in, "token_type": "Bearer"}
    return httpx.Response(200, json=body)


def error_answer(
    status: int, name: str = "", message: str = "secret cell", *, reason: str | None = None
) -> httpx.Response:
    """Return an error in Google's JSON shape; `message` must never reach a client."""
    error: dict[str, Any] = {"code": status, "message": message, "status": name}
    if reason is not None:
        kind = "type.googleapis.com/google.rpc.ErrorInfo"
        error["details"] = [{"@type": kind, "reason": reason, "domain": "googleapis.com"}]
    return httpx.Response(status, json={"error": error})


def verbs(spreadsheet: str = SPREADSHEET) -> dict[str, Verb]:
    """Return calls of all methods of `Sheets` on one spreadsheet, by name."""
    displayed = Render.DISPLAYED
    fence = Fence(id=7, key="gw", token="t")
    batch = Batch(sheet_id=0, fence=fence, ranges=["'T'!1:1"])
    return {
        "read_values": lambda s: s.read_values(spreadsheet, "'T'!A1:B2", render=displayed),
        "read_columns": lambda s: s.read_columns(spreadsheet, "'T'!A1:ZZZ", render=displayed),
        "read_ranges": lambda s: s.read_ranges(spreadsheet, ["'T'!1:1", "'T'!A2:2"]),
        "list_worksheets": lambda s: s.list_worksheets(spreadsheet),
        "apply": lambda s: s.apply(spreadsheet, batch),
        "put_fence": lambda s: s.put_fence(spreadsheet, fence),
        "delete_fences": lambda s: s.delete_fences(spreadsheet, [fence]),
    }


READS = {
    name: verbs()[name]
    for name in ("read_values", "read_columns", "read_ranges", "list_worksheets")
}
WRITES = {name: verbs()[name] for name in ("apply", "put_fence", "delete_fences")}

A_READ, A_WRITE = READS["read_values"], WRITES["put_fence"]

READ_ANSWER = {"range": "T!A1:B2", "values": [["x"]]}


class Pieces(httpx.AsyncByteStream):
    """Body sent in pieces; it records how many pieces were read, and whether it was closed."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = pieces
        self.read_count = 0
        self.is_closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            self.read_count += 1
            yield piece

    async def aclose(self) -> None:
        self.is_closed = True


async def failures(
    settings: GoogleSettings, verbs: Mapping[str, Verb], **options: Any
) -> dict[str, GatewayError]:
    """Return the errors that the calls raise, by name; `options` are for `open_google`."""
    errors = {}
    async with open_google(settings, **options) as sheets:
        for name, verb in verbs.items():
            with pytest.raises(GatewayError) as caught:
                await verb(sheets)
            errors[name] = caught.value
    return errors


async def failure(settings: GoogleSettings, verb: Verb, **options: Any) -> GatewayError:
    """Return the error that one call raises."""
    errors = await failures(settings, {"verb": verb}, **options)
    return errors["verb"]


async def read_and_write(
    settings: GoogleSettings, **options: Any
) -> tuple[GatewayError, GatewayError]:
    """Return the errors that a read and a write raise."""
    errors = await failures(settings, {"read": A_READ, "write": A_WRITE}, **options)
    return errors["read"], errors["write"]


def assert_open(*errors: GatewayError) -> None:
    """Assert that the outcome of the writes is unknown, and that no message has Google's text."""
    assert {type(error) for error in errors} == {WriteOutcomeUnknown}
    assert {(error.outcome, error.retry_after_seconds) for error in errors} == {("unknown", 185)}
    assert not any("secret" in error.message for error in errors)
