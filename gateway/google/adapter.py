"""Adapter of the `Sheets` Protocol to the Google Sheets API.

Rules:
- gspread builds calls and sends nothing. Only the verbs of its `HTTPClient` are used: they know
  Google's paths and percent-encode ranges. No call is sent in a thread.
- No retries, with one exception: a call refused with 401 is sent once more with a new token.
- The spreadsheet ID is part of the path, where `..` would lead to other APIs. It is always checked
  here.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar
from urllib.parse import quote

import google.auth
import msgspec
from google.oauth2.service_account import Credentials
from gspread.http_client import FileType, HTTPClient, ParamsType
from gspread.urls import SPREADSHEETS_API_V4_BASE_URL

from gateway.errors import InvalidSpreadsheetId, LookOutdated, UpstreamRefusal
from gateway.google.batch_requests import PIECE_STEPS, creation, deletion, requests_of
from gateway.google.credentials import load_service_account
from gateway.google.operations import (
    APPLY,
    DONE,
    FIND_METADATA,
    LIST_WORKSHEETS,
    PIECE_BYTES,
    READ_COLUMNS,
    READ_MATCHED,
    READ_RANGES,
    READ_SEVERAL,
    READ_SHEET,
    READ_SHEET_TEXTS,
    READ_VALUES,
    ApiCall,
    MatchedMetadata,
    checked_parts,
    with_blocks,
)
from gateway.google.rendering import read_rendering
from gateway.google.sheets import (
    Batch,
    Fence,
    KnownRange,
    Render,
    Rendering,
    SheetArea,
    SheetView,
    Values,
    WorksheetProperties,
)
from gateway.google.token import FindCredentials, TokenSource
from gateway.google.translation import FAILURES, Attempt, GoogleRefusal, translated
from gateway.google.wire import Answer, Message, Wire, answer_of, open_wire
from gateway.settings.model import MAIN_ACCOUNT, GoogleSettings
from gateway.table.a1 import is_spreadsheet_id
from gateway.table.steps import Metered, Work

T = TypeVar("T")

Verb = Callable[[HTTPClient], Any]
"""Builds a `Message`; by gspread's types it returns Google's answer."""

GOOGLE = SPREADSHEETS_API_V4_BASE_URL.removesuffix("/v4/spreadsheets")
"""The host in gspread's URLs; the configured endpoint replaces it."""

_JSON = {"content-type": "application/json"}

MAX_URL_BYTES = 4_000
"""More ranges than this go in a body."""

MAX_RENDERING_BYTES = 256 * 1024 * 1024


@asynccontextmanager
async def open_google(
    settings: GoogleSettings,
    *,
    max_rendering_bytes: int = MAX_RENDERING_BYTES,
    find_credentials: FindCredentials = google.auth.default,
    now: Callable[[], float] = time.time,
) -> AsyncIterator["GoogleSheets"]:
    """Google Sheets as one account: of the key file, or of `find_credentials`.

    `max_rendering_bytes` limits the memory of one rendering; `now` returns seconds since the epoch.
    Raises `ConfigError` for an unusable key file. Uses no network before the first call; closes all
    connections at the end.
    """
    async with open_accounts(
        {MAIN_ACCOUNT: settings},
        max_rendering_bytes=max_rendering_bytes,
        find_credentials=find_credentials,
        now=now,
    ) as accounts:
        yield accounts[MAIN_ACCOUNT]


@asynccontextmanager
async def open_accounts(
    settings: Mapping[str, GoogleSettings],
    *,
    max_rendering_bytes: int = MAX_RENDERING_BYTES,
    find_credentials: FindCredentials = google.auth.default,
    now: Callable[[], float] = time.time,
) -> AsyncIterator[Mapping[str, "GoogleSheets"]]:
    """Google Sheets as several accounts, by their names, over the same connections."""
    any_settings = next(iter(settings.values()))
    async with open_wire(
        max_connections=any_settings.max_connections,
        connect_timeout_seconds=any_settings.connect_timeout_seconds,
    ) as wire:
        yield {
            name: GoogleSheets(
                each,
                wire=wire,
                tokens=TokenSource(
                    wire,
                    credentials=_credentials(each),
                    find_credentials=find_credentials,
                    allow_insecure_endpoint=each.allow_insecure_endpoint,
                    now=now,
                ),
                max_rendering_bytes=max_rendering_bytes,
            )
            for name, each in settings.items()
        }


def _credentials(settings: GoogleSettings) -> Credentials | None:
    if settings.credentials is None:
        return None
    return load_service_account(
        settings.credentials,
        allow_insecure_endpoint=settings.allow_insecure_endpoint,
        subject=settings.subject,
    )


class GoogleSheets:
    def __init__(
        self,
        settings: GoogleSettings,
        *,
        wire: Wire,
        tokens: TokenSource,
        max_rendering_bytes: int = MAX_RENDERING_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._settings = settings
        self._wire = wire
        self.tokens = tokens
        self._max_rendering_bytes = max_rendering_bytes

    @property
    def project(self) -> str | None:
        """The project whose quota is used; None if unknown."""
        return self._settings.project or self.tokens.project

    @property
    def account(self) -> str | None:
        """The e-mail address to share spreadsheets with; None if unknown."""
        return self.tokens.account

    async def sign_in(self, within_seconds: float = math.inf) -> None:
        """Request a token, to check the account. Costs no read and no write."""
        deadline = min(
            self._deadline(is_write=False), asyncio.get_running_loop().time() + within_seconds
        )
        with self._translating(is_write=False):
            await self.tokens.authorization(deadline)

    async def read_values(self, spreadsheet: str, range_: str, *, render: Render) -> Values:
        params = _reading(render, "ROWS")
        return await self._call(
            READ_VALUES,
            spreadsheet,
            lambda gspread: gspread.values_get(spreadsheet, range_, params),
        )

    async def read_columns(
        self,
        spreadsheet: str,
        range_: str | SheetArea,
        *,
        render: Render,
        known: bytes | None = None,
    ) -> Rendering | None:
        params = _reading(render, "COLUMNS")
        with self._translating(is_write=False):
            if isinstance(range_, SheetArea):
                answer = await self._matched(spreadsheet, range_, params)
            else:
                answer = await self._answer(
                    READ_COLUMNS,
                    spreadsheet,
                    lambda gspread: gspread.values_get(spreadsheet, range_, params),
                )
            max_bytes = self._max_rendering_bytes
            return await _in_turns(read_rendering(answer, known=known, max_bytes=max_bytes))

    async def _matched(
        self, spreadsheet: str, area: SheetArea, params: Mapping[str, Any]
    ) -> Answer:
        """The values of an area, as if they were the whole answer; gspread has no verb for it.

        Google's answer for an id that no worksheet has is not documented: it may have no values.
        """
        url = f"{SPREADSHEETS_API_V4_BASE_URL}/{spreadsheet}/values:batchGetByDataFilter"
        start = {"startRowIndex": area.first_row - 1} if area.first_row > 1 else {}
        grid_range = {"sheetId": area.sheet_id, **start}
        options = {name: value for name, value in params.items() if value is not None}
        body = {"dataFilters": [{"gridRange": grid_range}], **options}
        answer = await self._answer(
            READ_MATCHED,
            spreadsheet,
            lambda gspread: gspread.request("post", url, json=body).json(),
        )
        found = await _in_turns(READ_MATCHED.decode(answer, self._settings.max_answer_bytes))
        if found is None:
            raise UpstreamRefusal(f"No values of the worksheet with id {area.sheet_id}")
        return await _in_turns(answer_of(found))

    async def read_several(
        self, spreadsheet: str, ranges: Sequence[KnownRange], *, render: Render
    ) -> list[Rendering | None]:
        params, max_bytes = _reading(render, "COLUMNS"), self._max_rendering_bytes
        with self._translating(is_write=False):
            answer = await self._answer(
                READ_SEVERAL,
                spreadsheet,
                lambda gspread: gspread.values_batch_get(
                    spreadsheet, [each.range for each in ranges], params
                ),
            )
            found = await _in_turns(READ_SEVERAL.decode(answer, self._settings.max_answer_bytes))
            renderings: list[Rendering | None] = []
            for each, raw in zip(ranges, checked_parts(found, len(ranges)), strict=True):
                part = await _in_turns(answer_of(raw))
                reading = read_rendering(part, known=each.known, max_bytes=max_bytes)
                renderings.append(await _in_turns(reading))
            return renderings

    async def read_ranges(self, spreadsheet: str, ranges: Sequence[str]) -> Sequence[Values]:
        params = _reading(Render.DISPLAYED, "ROWS")
        return await self._call(
            READ_RANGES,
            spreadsheet,
            lambda gspread: gspread.values_batch_get(spreadsheet, list(ranges), params),
            lambda found: checked_parts(found, len(ranges)),
        )

    async def list_worksheets(self, spreadsheet: str) -> list[WorksheetProperties]:
        return await self._call(
            LIST_WORKSHEETS,
            spreadsheet,
            # Without parameters, gspread would add its own.
            lambda gspread: gspread.fetch_sheet_metadata(spreadsheet, {}),
        )

    async def read_sheet(
        self, spreadsheet: str, ranges: Sequence[str], *, has_values: bool = True
    ) -> SheetView:
        def read(gspread: HTTPClient) -> Any:
            if sum(map(len, map(quote, ranges))) <= MAX_URL_BYTES:
                return gspread.fetch_sheet_metadata(spreadsheet, {"ranges": list(ranges)})
            # gspread has no verb for the call that takes the ranges in a body.
            url = f"{SPREADSHEETS_API_V4_BASE_URL}/{spreadsheet}:getByDataFilter"
            body = {"dataFilters": [{"a1Range": each} for each in ranges], "includeGridData": True}
            return gspread.request("post", url, json=body).json()

        return await self._call(
            READ_SHEET if has_values else READ_SHEET_TEXTS,
            spreadsheet,
            read,
            lambda view: with_blocks(view, len(ranges)),
        )

    async def apply(self, spreadsheet: str, batch: Batch) -> SheetView:
        body = {
            "requests": await _in_turns(requests_of(batch), PIECE_STEPS),
            "includeSpreadsheetInResponse": True,
            "responseRanges": list(batch.ranges),
            "responseIncludeGridData": True,
        }
        return await self._call(
            APPLY,
            spreadsheet,
            lambda gspread: gspread.batch_update(spreadsheet, body),
            lambda view: with_blocks(view, len(batch.ranges)),
            send_until=batch.send_until,
        )

    async def put_fence(
        self, spreadsheet: str, *fences: Fence, forgotten: Sequence[int] = ()
    ) -> None:
        deletions = [deletion(each, fences[0].key) for each in forgotten]
        body = {"requests": [*deletions, *map(creation, fences)]}
        await self._call(DONE, spreadsheet, lambda gspread: gspread.batch_update(spreadsheet, body))

    async def delete_fences(self, spreadsheet: str, fences: Sequence[Fence]) -> None:
        body = {"requests": [deletion(fence.id, fence.key) for fence in fences]}
        await self._call(DONE, spreadsheet, lambda gspread: gspread.batch_update(spreadsheet, body))

    async def fence_tokens(self, spreadsheet: str, fence_id: int) -> Sequence[str]:
        found = await self._metadata(spreadsheet, {"metadataId": fence_id})
        return [each.developer_metadata.metadata_value for each in found]

    async def find_fences(self, spreadsheet: str, key: str | None = None) -> Sequence[Fence]:
        lookup = {"locationType": "SPREADSHEET"} if key is None else {"metadataKey": key}
        found = [each.developer_metadata for each in await self._metadata(spreadsheet, lookup)]
        return [
            Fence(id=each.metadata_id, key=each.metadata_key, token=each.metadata_value)
            for each in found
        ]

    async def _metadata(
        self, spreadsheet: str, lookup: Mapping[str, object]
    ) -> Sequence[MatchedMetadata]:
        """Search developer metadata, for which gspread has no verb."""
        url = f"{SPREADSHEETS_API_V4_BASE_URL}/{spreadsheet}/developerMetadata:search"
        body = {"dataFilters": [{"developerMetadataLookup": lookup}]}
        return await self._call(
            FIND_METADATA,
            spreadsheet,
            lambda gspread: gspread.request("post", url, json=body).json(),
        )

    async def _call(
        self,
        operation: ApiCall[T],
        spreadsheet: str,
        verb: Verb,
        check: Callable[[T], T] = lambda found: found,
        *,
        send_until: float = math.inf,
    ) -> T:
        """Build a call with a gspread verb, send it, decode and check the answer."""
        with self._translating(is_write=operation.is_write):
            answer = await self._answer(operation, spreadsheet, verb, send_until=send_until)
            decoding = operation.decode(answer, self._settings.max_answer_bytes)
            return check(await _in_turns(decoding))

    async def _answer(
        self,
        operation: ApiCall[T],
        spreadsheet: str,
        verb: Verb,
        *,
        send_until: float = math.inf,
    ) -> Answer:
        """Return Google's answer, which has status 200. Raises one of `FAILURES`."""
        if not is_spreadsheet_id(spreadsheet):
            raise InvalidSpreadsheetId(
                "Invalid spreadsheet ID. Take it from the URL of the spreadsheet, between /d/ and "
                "/edit.",
                outcome="not_applied" if operation.is_write else None,
            )
        message: Message = verb(Gspread(endpoint=self._settings.endpoint, fields=operation.fields))
        deadline = self._deadline(is_write=operation.is_write)
        refused = None
        while True:
            # A new token takes a call, in which a look grows older.
            authorization = await self.tokens.authorization(deadline, refused=refused)
            if self._clock() > send_until:
                raise LookOutdated
            answer = await self._exchange(message, authorization, deadline)
            if answer.status != 401 or refused is not None:
                break
            refused = authorization  # Google did not execute it, so a second attempt is safe
        if answer.status != 200:
            raise GoogleRefusal(answer)
        return answer

    async def _exchange(
        self, message: Message, authorization: Mapping[str, str], deadline: float
    ) -> Answer:
        signed = replace(message, headers={**message.headers, **authorization})
        max_bytes = self._settings.max_answer_bytes
        return await self._wire.exchange(signed, deadline, max_bytes=max_bytes)

    @contextmanager
    def _translating(self, *, is_write: bool) -> Iterator[None]:
        try:
            yield
        except FAILURES as error:
            attempt = Attempt(is_write=is_write, account=self.account)
            raise translated(error, attempt) from error

    def _deadline(self, *, is_write: bool) -> float:
        settings = self._settings
        seconds = settings.write_timeout_seconds if is_write else settings.read_timeout_seconds
        return asyncio.get_running_loop().time() + seconds


@dataclass(frozen=True)
class _Built:
    """The response that gspread's verbs see; they return the value of `json`."""

    message: Message

    def json(self) -> Message:
        return self.message


class Gspread(HTTPClient):
    """`HTTPClient` whose verbs return a `Message` instead of sending it."""

    def __init__(self, *, endpoint: str, fields: str) -> None:
        # super().__init__ would open a session of requests.
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


async def _in_turns(work: Work[T], turn_steps: int = PIECE_BYTES) -> T:
    """Run the work; let the event loop run after so many steps."""
    metered = Metered(work)
    while not metered.advance(turn_steps):  # noqa: ASYNC110 - it waits for nothing
        await asyncio.sleep(0)
    return metered.result


def _reading(render: Render, dimension: Literal["ROWS", "COLUMNS"]) -> dict[str, Any]:
    return {
        "valueRenderOption": render,
        "dateTimeRenderOption": "SERIAL_NUMBER" if render is Render.TYPED else None,
        "majorDimension": dimension,
    }
