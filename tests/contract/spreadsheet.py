"""One spreadsheet behind the API, at Google or an emulator: `Sheets`, and raw calls beside it.

The raw calls set worksheets up and take them away, and give the whole answers of Google. All calls
go over the client of `GoogleSheets`, and wait where Google's quota is spent.
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
from gateway.google.rendering import known_columns
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
    """A spreadsheet of a `Place`; calls raise the errors of `Sheets`."""

    id: str
    settings: GoogleSettings
    wire: Wire
    tokens: TokenSource
    sleep: Sleep

    def sheets(self) -> Sheets:
        """`GoogleSheets` that waits for quota."""
        client = Client(self.settings, wire=self.wire, tokens=self.tokens, columns=known_columns())
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
        """Formulas, or else entered values, of a range. 1 read."""
        return await self.values(range_, "FORMULA")

    async def values(self, range_: str, rendering: str) -> list[list[Value]]:
        """Cells of a range in one of Google's renderings. 1 read."""
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
        """The spreadsheet resource, limited to a range and a field mask. 1 read."""
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
    """The spreadsheet of a place, for one event loop; `credentials` keep their token.

    Raises `ConfigError` for a key file that cannot be used.
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
    """Credentials of the key file of `place`."""
    return load_service_account(place.credentials, allow_insecure_endpoint=False)
