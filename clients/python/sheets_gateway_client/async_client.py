"""Asynchronous client: `AsyncSheets` and `AsyncSheet`."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, overload

import httpx2

from sheets_gateway_client import calls, frames
from sheets_gateway_client.answers import rows_of_ndjson
from sheets_gateway_client.calls import (
    Call,
    ExportFormat,
    ListOptions,
    Names,
    Values,
    Where,
)
from sheets_gateway_client.connection import (
    DEFAULT_RETRY,
    DEFAULT_TIMEOUT_SECONDS,
    REAL_TIMING,
    RETRIED,
    Timing,
    answer_of,
    begin,
    broken_by,
    client_options,
    request_options,
)
from sheets_gateway_client.retry import Done, RetryOptions
from sheets_gateway_client.rows import Affected, Fields, Page, Row
from sheets_gateway_client.worksheets import Schema, WorksheetList

Parsed = TypeVar("Parsed")
Rows = list[Row]
"""A list of rows; inside `AsyncSheet` the name `list` is a method."""

PAGE_SIZE = 100
"""Default rows per page; a plan can limit pages to fewer rows."""


class AsyncSheets:
    """A client of one spreadsheet. Tasks can share it. Use `async with`, or call `close`.

    With `values="typed"` cells are numbers, booleans and ISO dates instead of displayed text, and
    ISO dates written to a date column become dates. Without `values` the gateway's setting
    `api.values` applies. `timeout_seconds` limits each time without data from the gateway. `sleep`
    and `timing` are for tests. Raises ValueError if the base URL, the API key or the spreadsheet ID
    is not valid.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        spreadsheet_id: str | None = None,
        *,
        values: Values | None = None,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        retry: RetryOptions = DEFAULT_RETRY,
        transport: httpx2.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        timing: Timing = REAL_TIMING,
    ) -> None:
        options = client_options(base_url, api_key, spreadsheet_id, timeout_seconds)
        self._http = httpx2.AsyncClient(**options, transport=transport)
        self._values = values
        self._retry = retry
        self._sleep = sleep
        self._timing = timing

    def sheet(self, name: str, *, values: Values | None = None) -> "AsyncSheet":
        """Return the worksheet `name`; `values` overrides the client's. No request is sent."""
        return AsyncSheet(self._run, name, values or self._values)

    async def worksheets(self) -> WorksheetList:
        """Return the worksheets that the API key can access, with their fields and rights.

        Raises SheetsError for an error answer, and ConnectionFailed without an answer.
        """
        return await self._run(calls.list_worksheets())

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _run(self, call: Call[Parsed]) -> Parsed:
        attempt = begin(call, self._retry, self._timing)
        while True:
            try:
                result: Any = answer_of(await self._http.request(**request_options(call)))
            except RETRIED as error:
                result = broken_by(error)
            step = attempt.step(result)
            if isinstance(step, Done):
                value: Parsed = step.value
                return value
            await self._sleep(step.seconds)


class AsyncSheet:
    """A worksheet.

    All methods raise SheetsError for an error answer, and ConnectionFailed without an answer.
    Pass an `idempotency_key` to repeat a write safely, also after a restart: within 24 hours the
    gateway does the same write with the same key once. By default each call has a new key.
    """

    def __init__(
        self, run: Callable[[Call[Any]], Awaitable[Any]], name: str, values: Values | None = None
    ) -> None:
        self._run = run
        self.name = name
        self._values = values

    async def list(
        self,
        *,
        where: Where | None = None,
        order: Names | None = None,
        keys: Names | None = None,
        limit: int | None = None,
        skip: int | None = None,
        cursor: str | None = None,
        count: bool = False,
        no_cache: bool = False,
    ) -> Page:
        """Return one page. `keys` are the fields to return; `-` before a name sorts descending.

        Pass `cursor=""` for the first page, and then the `cursor` of the page before. Raises
        CursorLost if the gateway cannot find the next page.
        """
        options = ListOptions(
            where=where,
            order=order,
            keys=keys,
            limit=limit,
            skip=skip,
            cursor=cursor,
            count=count,
            no_cache=no_cache,
        )
        return await self._do(calls.list_rows(self.name, options))

    async def rows(
        self,
        *,
        where: Where | None = None,
        order: Names | None = None,
        keys: Names | None = None,
        page_size: int = PAGE_SIZE,
        skip: int | None = None,
    ) -> AsyncIterator[Row]:
        """Yield all rows. No row is missed or repeated, unless its values of `order` change.

        Raises CursorLost if the rows at the end of a page changed too much: start again. Collect
        the rows before you change them, because changes inside the loop count, too. With `skip`
        pages go by position: insertions, deletions and sorting then cause missing or double rows.
        """
        first = ListOptions(where=where, order=order, keys=keys, limit=page_size, skip=skip)
        options: ListOptions | None = calls.first_page(first)
        while options is not None:
            page = await self._do(calls.list_rows(self.name, options))
            for row in page:
                yield row
            options = calls.next_page(options, page)

    async def export(
        self,
        export_format: ExportFormat = "csv",
        *,
        where: Where | None = None,
        order: Names | None = None,
        keys: Names | None = None,
        limit: int | None = None,
        skip: int | None = None,
    ) -> str:
        """Return all matching rows as CSV or NDJSON text, read from one version of the worksheet.

        The text is complete: a lost connection is retried, and then raises ConnectionFailed.
        """
        options = ListOptions(where=where, order=order, keys=keys, limit=limit, skip=skip)
        return await self._do(calls.export(self.name, export_format, options))

    async def export_rows(
        self,
        *,
        where: Where | None = None,
        order: Names | None = None,
        keys: Names | None = None,
        limit: int | None = None,
        skip: int | None = None,
    ) -> AsyncIterator[Row]:
        """Yield all matching rows, which one request reads from one version of the worksheet."""
        options = ListOptions(where=where, order=order, keys=keys, limit=limit, skip=skip)
        text = await self._do(calls.export(self.name, "ndjson", options))
        for row in rows_of_ndjson(text):
            yield row

    async def to_dataframe(
        self,
        *,
        where: Where | None = None,
        order: Names | None = None,
        keys: Names | None = None,
        page_size: int = PAGE_SIZE,
    ) -> "frames.DataFrame":
        """Return all matching rows as a pandas DataFrame with typed values and index `rowIndex`.

        Column types are `Int64`, `Float64`, `boolean`, `datetime64[ms]`, `string` and `object`.
        Empty cells and errors are NA. Raises ImportError without pandas.
        """
        frames.require_pandas()
        typed = AsyncSheet(self._run, self.name, "typed")
        rows = typed.rows(where=where, order=order, keys=keys, page_size=page_size)
        return frames.data_frame([row async for row in rows], keys)

    async def get(
        self, row_index: int, *, keys: Names | None = None, no_cache: bool = False
    ) -> Row:
        """Return one row; `keys` are the fields to return, and `no_cache` asks for fresh rows."""
        return await self._do(calls.get_row(self.name, row_index, keys=keys, no_cache=no_cache))

    @overload
    async def create(self, row: Fields, *, idempotency_key: str | None = None) -> Row: ...
    @overload
    async def create(
        self, row: Sequence[Fields], *, idempotency_key: str | None = None
    ) -> Rows: ...
    async def create(
        self, row: Fields | Sequence[Fields], *, idempotency_key: str | None = None
    ) -> Row | Rows:
        """Append one row, or up to 500 rows: all of them or none. Returns the new rows."""
        if isinstance(row, Mapping):
            return await self._do(calls.create_row(self.name, row, idempotency_key))
        return await self._do(calls.create_rows(self.name, row, idempotency_key))

    async def update(
        self,
        row_index: int,
        changes: Fields,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> Row:
        """Write the fields in `changes`, and return the row with the fields written.

        With `if_match` the write fails with code 4120 if the row has another `etag`.
        """
        call = calls.update_row(
            self.name, row_index, changes, if_match=if_match, key=idempotency_key
        )
        return await self._do(call)

    async def update_many(
        self, rows: Sequence[Fields], *, idempotency_key: str | None = None
    ) -> Rows:
        """Update up to 500 rows: all or none. Each has `rowIndex` and the fields to write."""
        return await self._do(calls.update_rows(self.name, rows, idempotency_key))

    @overload
    async def upsert(
        self,
        row: Fields,
        *,
        on: Names,
        ignore_existing: bool = False,
        idempotency_key: str | None = None,
    ) -> Row: ...
    @overload
    async def upsert(
        self,
        row: Sequence[Fields],
        *,
        on: Names,
        ignore_existing: bool = False,
        idempotency_key: str | None = None,
    ) -> Rows: ...
    async def upsert(
        self,
        row: Fields | Sequence[Fields],
        *,
        on: Names,
        ignore_existing: bool = False,
        idempotency_key: str | None = None,
    ) -> Row | Rows:
        """Update existing rows with the same values in the fields `on`, and append the other rows.

        With `ignore_existing` existing rows stay unchanged. `created` is True for new rows.
        """
        call = calls.upsert_rows(
            self.name, row, on=on, ignore_existing=ignore_existing, key=idempotency_key
        )
        return await self._do(call)

    async def update_where(
        self,
        where: Where,
        changes: Fields,
        *,
        max_affected: int | None = None,
        idempotency_key: str | None = None,
    ) -> Affected:
        """Write `changes` to all matching rows, or to none if more than `max_affected` match."""
        call = calls.update_where(
            self.name, where, changes, max_affected=max_affected, key=idempotency_key
        )
        return await self._do(call)

    async def delete(
        self, row_index: int, *, if_match: str | None = None, idempotency_key: str | None = None
    ) -> None:
        """Delete a row. The rows below move up, unless the gateway is set to only clear rows."""
        await self._do(
            calls.delete_row(self.name, row_index, if_match=if_match, key=idempotency_key)
        )

    async def delete_where(
        self,
        where: Where,
        *,
        max_affected: int | None = None,
        idempotency_key: str | None = None,
    ) -> Affected:
        """Delete all matching rows, or none if more than `max_affected` match."""
        call = calls.delete_where(self.name, where, max_affected=max_affected, key=idempotency_key)
        return await self._do(call)

    async def schema(self) -> Schema:
        """Return the JSON Schema of typed rows. It is inferred, so later rows can differ."""
        found: Schema = await self._run(calls.schema(self.name))
        return found

    async def refresh(self) -> None:
        """Make the next request reread the rows. Needs a key created with `--refresh`."""
        await self._run(calls.refresh(self.name))

    async def _do(self, call: Call[Parsed]) -> Parsed:
        value: Parsed = await self._run(calls.with_values(call, self._values))
        return value
