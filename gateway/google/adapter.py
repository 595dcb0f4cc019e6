"""Adapter to Google Sheets: the end of every chain of `Sheets`.

Rules:
- Of gspread only the `HTTPClient` verbs are used, for they know Google's paths.
- This is the one place where the gateway crosses into threads.
- The spreadsheet id stands in the path as it is, and `..` would lead to other APIs: it is checked
  here whatever the caller did.
"""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from threading import Event
from typing import Any, Literal, TypeVar

import anyio
import anyio.to_thread
import google.auth
import httpx2
from gspread.http_client import HTTPClient

from gateway.errors import InvalidSpreadsheetId
from gateway.google.client import Call, Gspread
from gateway.google.credentials import load_service_account
from gateway.google.deadline import Clock, Deadline
from gateway.google.operations import (
    APPEND_ROWS,
    GROW_GRID,
    LIST_WORKSHEETS,
    READ_COLUMNS,
    READ_RANGES,
    READ_VALUES,
    WRITE_CELLS,
    Operation,
    as_values,
    counted,
    displayed,
    grid_worksheets,
)
from gateway.google.rendering import read_rendering
from gateway.google.sheets import Render, Rendering, Value, Values, WorksheetProperties, Writing
from gateway.google.token import FindCredentials, TokenSource
from gateway.google.translation import FAILURES, Attempt, translated
from gateway.google.wire import Wire, open_wire
from gateway.settings.model import GoogleSettings
from gateway.table.a1 import is_spreadsheet_id

T = TypeVar("T")
R = TypeVar("R")

GRACE_SECONDS = 1.0
"""How much longer than its deadline a call is waited for, so that its own error comes first."""

MAX_RENDERING_BYTES = 256 * 1024 * 1024

_WRITTEN = {"includeValuesInResponse": True, "responseValueRenderOption": Render.DISPLAYED}


@asynccontextmanager
async def open_google(
    settings: GoogleSettings,
    *,
    max_rendering_bytes: int = MAX_RENDERING_BYTES,
    find_credentials: FindCredentials = google.auth.default,
    clock: Clock = time.monotonic,
    now: Callable[[], float] = time.time,
) -> AsyncIterator["GoogleSheets"]:
    """Google Sheets as the account of the key file, or of `find_credentials` if there is none.

    `max_rendering_bytes` bounds what one rendering of a worksheet takes in memory; `now` gives
    seconds since the epoch. Raises `ConfigError` for a key file that cannot be used. Needs no
    network before the first call, and closes all connections at the end.
    """
    credentials = None
    if settings.credentials is not None:
        credentials = load_service_account(
            settings.credentials, allow_insecure_endpoint=settings.allow_insecure_endpoint
        )
    with open_wire(
        max_connections=settings.max_connections,
        connect_timeout_seconds=settings.connect_timeout_seconds,
    ) as wire:
        tokens = TokenSource(
            wire,
            credentials=credentials,
            find_credentials=find_credentials,
            allow_insecure_endpoint=settings.allow_insecure_endpoint,
            now=now,
        )
        yield GoogleSheets(
            settings, wire=wire, tokens=tokens, clock=clock, max_rendering_bytes=max_rendering_bytes
        )


class GoogleSheets:
    """`Sheets`, as Google's own API answers it."""

    def __init__(
        self,
        settings: GoogleSettings,
        *,
        wire: Wire,
        tokens: TokenSource,
        clock: Clock,
        max_rendering_bytes: int = MAX_RENDERING_BYTES,
    ) -> None:
        self._settings = settings
        self._wire = wire
        self.tokens = tokens
        self._clock = clock
        self._max_rendering_bytes = max_rendering_bytes
        self._limiter = anyio.CapacityLimiter(settings.max_connections)

    @property
    def account(self) -> str | None:
        """The address to share spreadsheets with, None where it is not known (yet)."""
        return self.tokens.account

    async def sign_in(self) -> None:
        """Have a token made, to see whether Google takes the account. No read, no write."""
        seconds = self._settings.read_timeout_seconds
        deadline = Deadline(at_seconds=self._clock() + seconds, clock=self._clock)
        try:
            await anyio.to_thread.run_sync(self.tokens.authorization, deadline)
        except FAILURES as error:
            raise translated(error, Attempt(is_write=False, account=self.account)) from error

    async def read_values(self, spreadsheet: str, range_: str, *, render: Render) -> Values:
        params = _reading(render, "ROWS")
        return await self._call(
            READ_VALUES,
            spreadsheet,
            lambda gspread: gspread.values_get(spreadsheet, range_, params),
            as_values,
        )

    async def read_columns(
        self, spreadsheet: str, range_: str, *, render: Render, known: bytes | None = None
    ) -> Rendering | None:
        params = _reading(render, "COLUMNS")
        return await self._call(
            READ_COLUMNS,
            spreadsheet,
            lambda gspread: gspread.values_get(spreadsheet, range_, params),
            partial(read_rendering, known=known, max_bytes=self._max_rendering_bytes),
        )

    async def read_ranges(self, spreadsheet: str, ranges: Sequence[str]) -> list[Values]:
        params = _reading(Render.DISPLAYED, "ROWS")
        return await self._call(
            READ_RANGES,
            spreadsheet,
            lambda gspread: gspread.values_batch_get(spreadsheet, list(ranges), params),
            lambda found: [as_values(v) for v in counted(found.value_ranges, len(ranges))],
        )

    async def list_worksheets(self, spreadsheet: str) -> list[WorksheetProperties]:
        return await self._call(
            LIST_WORKSHEETS,
            spreadsheet,
            # With no parameters given, gspread would add some of its own.
            lambda gspread: gspread.fetch_sheet_metadata(spreadsheet, {}),
            grid_worksheets,
        )

    async def append_rows(
        self, spreadsheet: str, anchor: str, rows: Sequence[Sequence[Value]]
    ) -> Values:
        params: dict[str, Any] = {
            "valueInputOption": self._settings.value_input.upper(),
            "insertDataOption": "INSERT_ROWS",
            **_WRITTEN,
        }
        return await self._call(
            APPEND_ROWS,
            spreadsheet,
            lambda gspread: gspread.values_append(spreadsheet, anchor, params, _grid(rows)),
            lambda done: displayed(done.updates),
        )

    async def write_cells(self, spreadsheet: str, writings: Sequence[Writing]) -> list[Values]:
        data = [{"range": writing.range, **_grid(writing.rows)} for writing in writings]
        option = self._settings.value_input.upper()
        body = {"valueInputOption": option, **_WRITTEN, "data": data}
        return await self._call(
            WRITE_CELLS,
            spreadsheet,
            lambda gspread: gspread.values_batch_update(spreadsheet, body),
            lambda done: [displayed(update) for update in counted(done.responses, len(data))],
        )

    async def grow_grid(self, spreadsheet: str, sheet_id: int, rows: int) -> None:
        growth = {"sheetId": sheet_id, "dimension": "ROWS", "length": rows}
        body = {"requests": [{"appendDimension": growth}]}
        await self._call(
            GROW_GRID,
            spreadsheet,
            lambda gspread: gspread.batch_update(spreadsheet, body),
            lambda done: done,
        )

    async def _call(
        self,
        operation: Operation[T],
        spreadsheet: str,
        verb: Callable[[HTTPClient], Any],
        result: Callable[[T], R],
    ) -> R:
        """One call in a thread: the verb of gspread, its answer decoded, and what is made of it."""
        attempt = Attempt(is_write=operation.is_write)
        if not is_spreadsheet_id(spreadsheet):
            raise InvalidSpreadsheetId(
                "This is no spreadsheet id. Take it from the spreadsheet's URL, between /d/ and "
                "/edit.",
                outcome=attempt.refused,
            )
        seconds = self._seconds(operation)
        deadline = Deadline(at_seconds=self._clock() + seconds, clock=self._clock)
        begun = Event()
        work = partial(self._work, operation, verb, result, deadline, begun)
        try:
            # A thread keeps the deadline by itself, unless an answer comes byte by byte.
            with anyio.fail_after(seconds + GRACE_SECONDS):
                return await anyio.to_thread.run_sync(
                    work, abandon_on_cancel=True, limiter=self._limiter
                )
        except TimeoutError as error:
            late = httpx2.ReadTimeout if begun.is_set() else httpx2.PoolTimeout
            raise translated(late("the deadline passed"), attempt) from error

    def _work(
        self,
        operation: Operation[T],
        verb: Callable[[HTTPClient], Any],
        result: Callable[[T], R],
        deadline: Deadline,
        begun: Event,
    ) -> R:
        begun.set()
        call = Call(
            wire=self._wire,
            tokens=self.tokens,
            deadline=deadline,
            max_bytes=self._settings.max_answer_bytes,
        )
        gspread = Gspread(call, endpoint=self._settings.endpoint, fields=operation.fields)
        try:
            return result(operation.decode(verb(gspread), call.max_bytes))
        except FAILURES as error:
            attempt = Attempt(is_write=operation.is_write, account=self.account)
            raise translated(error, attempt) from error

    def _seconds(self, operation: Operation[T]) -> float:
        settings = self._settings
        is_write = operation.is_write
        return settings.write_timeout_seconds if is_write else settings.read_timeout_seconds


def _reading(render: Render, dimension: Literal["ROWS", "COLUMNS"]) -> dict[str, Any]:
    return {
        "valueRenderOption": render,
        "dateTimeRenderOption": "SERIAL_NUMBER" if render is Render.TYPED else None,
        "majorDimension": dimension,
    }


def _grid(rows: Sequence[Sequence[Value]]) -> dict[str, Any]:
    return {"majorDimension": "ROWS", "values": [list(row) for row in rows]}
