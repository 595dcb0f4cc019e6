"""A spreadsheet at Google or on an emulator: `Sheets`, and raw calls.

Raw calls create and delete worksheets, and return Google's whole answers. All calls use the client
of `GoogleSheets`, and wait if Google's quota is used up.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import anyio
import google.auth
from google.auth.credentials import Credentials
from gspread.http_client import HTTPClient
from gspread.urls import SPREADSHEETS_API_V4_BASE_URL

from gateway.google.calls import GoogleSheets
from gateway.google.client import Client, Gspread
from gateway.google.credentials import load_service_account
from gateway.google.rendering import KnownColumns
from gateway.google.sheets import Sheets, Value
from gateway.google.token import TokenSource
from gateway.google.translation import FAILURES, Attempt, GoogleRefusal, translated
from gateway.google.wire import Wire, open_wire
from gateway.settings.model import GoogleSettings
from tests.contract.patience import PatientSheets, Sleep, patiently
from tests.contract.place import Place

Verb = Callable[[HTTPClient], Any]
Answer = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Spreadsheet:
    """A spreadsheet of a `Place`. Calls raise the errors of `Sheets`."""

    id: str
    settings: GoogleSettings
    wire: Wire
    tokens: TokenSource
    sleep: Sleep

    def sheets(self) -> Sheets:
        """A `GoogleSheets` that waits for quota."""
        client = Client(self.settings, wire=self.wire, tokens=self.tokens, columns=KnownColumns())
        return PatientSheets(inner=GoogleSheets(client.make), sleep=self.sleep)

    async def add_worksheet(self, title: str, *, rows: int, columns: int) -> int:
        """Add a blank worksheet with this grid and return its ID. 1 write."""
        grid = {"rowCount": rows, "columnCount": columns}
        request = {"addSheet": {"properties": {"title": title, "gridProperties": grid}}}
        answer = await self.edit(request)
        sheet_id: int = answer["replies"][0]["addSheet"]["properties"]["sheetId"]
        return sheet_id

    async def delete_worksheets(self, sheet_ids: Sequence[int]) -> None:
        """Delete the worksheets with these IDs. 1 write."""
        await self.edit(*({"deleteSheet": {"sheetId": each}} for each in sheet_ids))

    async def update(
        self, range_: str, rows: Sequence[Sequence[Value]], *, option: str = "RAW"
    ) -> None:
        """Write from the first cell of the range, raw or as if typed by a person. 1 write."""
        body = {"values": [list(row) for row in rows]}
        params: Any = {"valueInputOption": option}
        await self._call(lambda gspread: gspread.values_update(self.id, range_, params, body))

    async def append(
        self, range_: str, rows: Sequence[Sequence[Value]], *, insertion: str
    ) -> Answer:
        """Append raw values and return Google's `updates`. 1 write."""
        body = {"values": [list(row) for row in rows]}
        params: Any = {"valueInputOption": "RAW", "insertDataOption": insertion}
        answer = await self._call(
            lambda gspread: gspread.values_append(self.id, range_, params, body)
        )
        updates: Answer = answer["updates"]
        return updates

    async def formulas(self, range_: str) -> list[list[Value]]:
        """Return the formula of each cell in a range, or its entered value. 1 read."""
        return await self.values(range_, "FORMULA")

    async def values(self, range_: str, rendering: str) -> list[list[Value]]:
        """Return the cells of a range in one of Google's renderings. 1 read."""
        params: Any = {"valueRenderOption": rendering}
        answer = await self._call(lambda gspread: gspread.values_get(self.id, range_, params))
        values: list[list[Value]] = answer.get("values", [])
        return values

    async def edit(
        self, *requests: Answer, ranges: Sequence[str] | None = None, fields: str = "*"
    ) -> Answer:
        """Send a batchUpdate; with `ranges`, the answer has their cells after the update.

        1 write.
        """
        body: Answer = {"requests": requests}
        if ranges is not None:
            body |= {"includeSpreadsheetInResponse": True, "responseRanges": ranges}
        return await self.post(":batchUpdate", body, fields=fields)

    async def post(self, path: str, body: Answer, *, fields: str = "*") -> Answer:
        """Post to a path below the spreadsheet's URL. 1 read or write."""
        url = f"{SPREADSHEETS_API_V4_BASE_URL}/{self.id}{path}"
        return await self._call(
            lambda gspread: gspread.request("post", url, json=body).json(), fields
        )

    async def described(self, range_: str, fields: str) -> Answer:
        """Return the spreadsheet resource, limited to a range and a field mask. 1 read."""
        url = f"{SPREADSHEETS_API_V4_BASE_URL}/{self.id}"
        params: Any = {"ranges": range_}
        return await self._call(
            lambda gspread: gspread.request("get", url, params=params).json(), fields
        )

    async def _call(self, verb: Verb, fields: str = "*") -> Answer:
        return await patiently(partial(self._send, verb, fields), self.sleep)

    async def _send(self, verb: Verb, fields: str) -> Answer:
        deadline = asyncio.get_running_loop().time() + self.settings.write_timeout_seconds
        message = verb(Gspread(endpoint=self.settings.endpoint))
        parameters = {**message.parameters, "fields": fields, "prettyPrint": "false"}
        try:
            signed = replace(
                message,
                parameters=parameters,
                headers={**message.headers, **await self.tokens.authorization(deadline)},
            )
            max_bytes = self.settings.max_answer_bytes
            found = await self.wire.exchange(signed, deadline, max_bytes=max_bytes)
            if found.status != 200:
                raise GoogleRefusal(found)
        except FAILURES as error:
            raise translated(error, Attempt(is_write=True)) from error
        answer: Answer = json.loads(found.body)
        return answer


@asynccontextmanager
async def open_spreadsheet(
    place: Place, *, credentials: Credentials | None = None, sleep: Sleep = anyio.sleep
) -> AsyncIterator[Spreadsheet]:
    """Yield the spreadsheet of a place, for one event loop.

    `credentials` can be passed to reuse their token. Raises `ConfigError` for an invalid key file.
    """
    settings = place.settings()
    async with open_wire(
        max_connections=settings.max_connections,
        connect_timeout_seconds=settings.connect_timeout_seconds,
    ) as wire:
        tokens = TokenSource(
            wire,
            credentials=credentials or load_credentials(place),
            find_credentials=google.auth.default,
        )
        yield Spreadsheet(
            id=place.spreadsheet, settings=settings, wire=wire, tokens=tokens, sleep=sleep
        )


def load_credentials(place: Place) -> Credentials:
    """Return the credentials in the key file of `place`."""
    return load_service_account(place.credentials, allow_insecure_endpoint=False)
