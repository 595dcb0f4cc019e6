"""Calls of the Google Sheets API, and `GoogleSheets`, which sends them for the gateway.

Rules of calls
- A call (`Call`) holds the arguments of one method of `Sheets`. `message` builds the HTTP request
  with gspread. `decode` reads Google's answer. Neither method sends anything.
- The JSON shapes come from the discovery document of the Sheets API v4. Google leaves out empty
  JSON members, so a missing member gets its default. If a member without a default is missing, or
  if any member has a wrong type, `msgspec.ValidationError` is raised.
- The gateway estimates the memory of an answer before it decodes the answer, because a small answer
  can contain millions of lists.

Rules of joined reads
- Reads of several worksheets of one spreadsheet become one call if they start together, or while
  the first read waits for the quota. Reads of displayed texts and of typed values stay apart.
- A worksheet that was not read before, or that is read by its ID, is read alone. An error of that
  read, such as a wrong title, then does not affect the reads of other worksheets.
- If Google refuses a joined call, or if the answer is too large, the gateway reads each worksheet
  alone. For the next `APART_SECONDS` it does not join reads of this spreadsheet.
- A joined call belongs to the API keys of all its reads. The fair queue sends it when the first of
  these keys has its turn.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, TypeVar
from urllib.parse import quote

import msgspec
from gspread.http_client import HTTPClient
from gspread.urls import SPREADSHEETS_API_V4_BASE_URL

from gateway.errors import SheetTooLarge, UpstreamRefusal
from gateway.google.cells import PIECE_BYTES, Spreadsheet, checked_parts, encoded_changes, view_of
from gateway.google.pipeline import Call
from gateway.google.rendering import Limits, RawValues, read_rendering
from gateway.google.sheets import (
    Batch,
    Beneficiaries,
    Detail,
    Fence,
    KnownRange,
    Render,
    Rendering,
    SentAt,
    SheetArea,
    SheetView,
    SpreadsheetView,
    Value,
    Values,
    WorksheetProperties,
    current_call_context,
    in_call_context,
)
from gateway.google.wire import Answer, AnswerTooLarge, answer_of
from gateway.table.steps import Work, finish, mapped

S = TypeVar("S")
T = TypeVar("T")

LIST_BYTES = 64
"""Memory of a decoded list without its items, in bytes."""

ITEM_BYTES = 72
"""Maximum memory of a list item and its slot in the list, in bytes, measured with short texts."""

GROWTH = 4
"""Maximum memory of a decoded answer, as a multiple of the size limit of encoded answers."""

MAX_URL_BYTES = 4_000
"""Maximum bytes of the ranges in a URL. More ranges need a request body or several calls."""

APART_SECONDS = 300.0

_RENDERED: Mapping[Render, Mapping[str, Any]] = {
    Render.DISPLAYED: {"valueRenderOption": Render.DISPLAYED},
    Render.TYPED: {"valueRenderOption": Render.TYPED, "dateTimeRenderOption": "SERIAL_NUMBER"},
}


class Send(Protocol):
    """Function that sends a call and returns the decoded answer, such as `Pipeline.send`."""

    async def __call__(self, call: Call[T], /) -> T: ...


@dataclass(kw_only=True)
class _Joined:
    """Reads that become one call, with a range and a future for each read, and the waiting keys."""

    ranges: list[KnownRange] = field(default_factory=list)
    answers: list[asyncio.Future[Rendering | None]] = field(default_factory=list)
    beneficiaries: Beneficiaries = field(default_factory=Beneficiaries)
    sent_at: SentAt = field(default_factory=SentAt)
    byte_count: int = 0
    is_open: bool = True


class GoogleSheets:
    """Implementation of `Sheets` that makes a call from each method and passes it to `send`."""

    def __init__(self, send: Send, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._send = send
        self._clock = clock
        self._joined: dict[tuple[str, Render], _Joined] = {}
        """Unsent joined reads by spreadsheet ID and `Render` (displayed texts or typed values)."""
        self._apart_until: dict[str, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def read_values(self, spreadsheet: str, range_: str, *, render: Render) -> Values:
        return await self._send(ReadValues(spreadsheet, range_, render))

    async def read_columns(
        self,
        spreadsheet: str,
        range_: str | SheetArea,
        *,
        render: Render,
        known: bytes | None = None,
    ) -> Rendering | None:
        if isinstance(range_, SheetArea):
            return await self._send(ReadArea(spreadsheet, range_, render, known))
        is_apart = self._apart_until.get(spreadsheet, 0.0) > self._clock()
        if known is not None and not is_apart:
            try:
                return await self._read_joined(spreadsheet, render, KnownRange(range_, known))
            except _Apart:
                pass
        return await self._send(ReadColumns(spreadsheet, range_, render, known))

    async def read_several(
        self, spreadsheet: str, ranges: Sequence[KnownRange], *, render: Render
    ) -> list[Rendering | None]:
        return await self._send(ReadSeveral(spreadsheet, ranges, render))

    async def read_ranges(self, spreadsheet: str, ranges: Sequence[str]) -> Sequence[Values]:
        return await self._send(ReadRanges(spreadsheet, ranges))

    async def list_worksheets(self, spreadsheet: str) -> list[WorksheetProperties]:
        return await self._send(ListWorksheets(spreadsheet))

    async def read_sheet(
        self, spreadsheet: str, ranges: Sequence[str], *, detail: Detail = Detail.VALUES
    ) -> SheetView:
        return await self._send(ReadSheet(spreadsheet, ranges, detail))

    async def read_spreadsheet(self, spreadsheet: str, ranges: Sequence[str]) -> SpreadsheetView:
        return await self._send(ReadSpreadsheet(spreadsheet, ranges))

    async def apply(self, spreadsheet: str, batch: Batch) -> SheetView:
        return await self._send(Apply(spreadsheet, batch))

    async def put_fence(
        self, spreadsheet: str, *fences: Fence, forgotten: Sequence[int] = ()
    ) -> None:
        await self._send(ChangeFences(spreadsheet, fences[0].key, forgotten, fences))

    async def delete_fences(self, spreadsheet: str, fences: Sequence[Fence]) -> None:
        ids = [each.id for each in fences]
        await self._send(ChangeFences(spreadsheet, fences[0].key, ids))

    async def fence_tokens(self, spreadsheet: str, fence_id: int) -> Sequence[str]:
        found = await self._send(FindFences(spreadsheet, id=fence_id))
        return [each.token for each in found]

    async def find_fences(self, spreadsheet: str, key: str | None = None) -> Sequence[Fence]:
        return await self._send(FindFences(spreadsheet, key))

    async def _read_joined(
        self, spreadsheet: str, render: Render, wanted: KnownRange
    ) -> Rendering | None:
        """Add the read to an unsent joined call, or start a new call. Returns the rendering.

        Returns None if the range still has the digest `wanted.known`. Raises `_Apart` if Google
        refuses the joined call, or if the answer is too large.
        """
        context = current_call_context()
        answer: asyncio.Future[Rendering | None] = asyncio.get_running_loop().create_future()
        kind, byte_count = (spreadsheet, render), len(quote(wanted.range))
        joined = self._joined.get(kind)
        if joined is None or not joined.is_open or joined.byte_count + byte_count > MAX_URL_BYTES:
            joined = self._joined[kind] = _Joined()
            own = replace(context, beneficiaries=joined.beneficiaries, sent_at=joined.sent_at)
            with in_call_context(own):
                task = asyncio.create_task(self._read_parts(kind, joined))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        joined.ranges.append(wanted)
        joined.answers.append(answer)
        joined.byte_count += byte_count
        joined.beneficiaries.join_as(context)
        if context.sent_at is not None:
            joined.sent_at.outer.append(context.sent_at)
        return await answer

    async def _read_parts(self, kind: tuple[str, Render], joined: _Joined) -> None:
        spreadsheet, render = kind

        def close() -> Call[Any]:
            """Accept no further reads, and return one call for all joined reads."""
            joined.is_open = False
            if len(joined.ranges) > 1:
                return ReadSeveral(spreadsheet, joined.ranges, render)
            [(range_, known)] = joined.ranges
            return ReadColumns(spreadsheet, range_, render, known)

        error: Exception | None = None
        found: Any = None
        try:
            found = await self._send(JoinedRead(spreadsheet, close))
        except Exception as failure:
            error = failure
        finally:
            if self._joined.get(kind) is joined:
                del self._joined[kind]
        is_single = len(joined.ranges) == 1
        if isinstance(error, UpstreamRefusal | SheetTooLarge) and not is_single:
            now = self._clock()
            self._apart_until = {each: at for each, at in self._apart_until.items() if at > now}
            self._apart_until[spreadsheet] = now + APART_SECONDS
            error = _Apart()
        for number, answer in enumerate(joined.answers):
            if answer.done():  # cancelled
                continue
            if error is None:
                answer.set_result(found if is_single else found[number])
            else:
                answer.set_exception(error)


class _Apart(Exception):
    """A joined call failed, so the caller must send its read alone."""


@dataclass(frozen=True)
class ReadValues(Call[Values]):
    range: str
    render: Render
    fields = "range,values"

    def message(self, gspread: HTTPClient) -> Any:
        options = {**_RENDERED[self.render], "majorDimension": "ROWS"}
        return gspread.values_get(self.spreadsheet, self.range, options)

    def decode(self, answer: Answer, limits: Limits) -> Work[Values]:
        found = yield from _decoded(_value_range, answer, limits)
        return (yield from _values(found))


@dataclass(frozen=True)
class ReadColumns(Call[Rendering | None]):
    range: str
    render: Render
    known: bytes | None = None
    fields = "range,values"

    def message(self, gspread: HTTPClient) -> Any:
        options = {**_RENDERED[self.render], "majorDimension": "COLUMNS"}
        return gspread.values_get(self.spreadsheet, self.range, options)

    def decode(self, answer: Answer, limits: Limits) -> Work[Rendering | None]:
        return read_rendering(answer, self.known, limits)


@dataclass(frozen=True)
class ReadArea(Call[Rendering | None]):
    """Call like `ReadColumns` that finds the worksheet by its ID instead of its title.

    gspread has no function for this call. Google does not document the answer for an unknown
    worksheet ID. An answer without values raises `UpstreamRefusal`.
    """

    area: SheetArea
    render: Render
    known: bytes | None = None
    fields = "valueRanges.valueRange(range,values)"

    def message(self, gspread: HTTPClient) -> Any:
        first_row, sheet_id = self.area.first_row, self.area.sheet_id
        start = {"startRowIndex": first_row - 1} if first_row > 1 else {}
        body = {
            "dataFilters": [{"gridRange": {"sheetId": sheet_id, **start}}],
            **_RENDERED[self.render],
            "majorDimension": "COLUMNS",
        }
        return _posted(gspread, self.spreadsheet, "/values:batchGetByDataFilter", body)

    def decode(self, answer: Answer, limits: Limits) -> Work[Rendering | None]:
        yield len(answer.body)
        found = _matched_ranges.decode(answer.body).value_ranges
        if found is None:
            raise UpstreamRefusal(
                f"Google sent no values for sheet ID {self.area.sheet_id}. "
                "The worksheet might have been deleted."
            )
        part = yield from answer_of(found[0].value_range)
        return (yield from read_rendering(part, self.known, limits))


@dataclass(frozen=True)
class ReadSeveral(Call[list[Rendering | None]]):
    ranges: Sequence[KnownRange]
    render: Render
    fields = "valueRanges(range,values)"

    def message(self, gspread: HTTPClient) -> Any:
        ranges = [each.range for each in self.ranges]
        options = {**_RENDERED[self.render], "majorDimension": "COLUMNS"}
        return gspread.values_batch_get(self.spreadsheet, ranges, options)

    def decode(self, answer: Answer, limits: Limits) -> Work[list[Rendering | None]]:
        found = yield from _decoded(_raw_parts, answer, limits)
        renderings: list[Rendering | None] = []
        parts = checked_parts(found.value_ranges, len(self.ranges))
        for each, raw in zip(self.ranges, parts, strict=True):
            part = yield from answer_of(raw)
            renderings.append((yield from read_rendering(part, each.known, limits)))
        return renderings


@dataclass(frozen=True)
class JoinedRead(Call[Any]):
    """Placeholder for joined reads in the pipeline, which another call replaces before sending.

    `close` ends the joining and returns the call to send.
    """

    close: Callable[[], Call[Any]]

    def message(self, gspread: HTTPClient) -> Any:
        raise TypeError("send the call that `JoinedRead.close` returns instead")

    def decode(self, answer: Answer, limits: Limits) -> Work[Any]:
        raise TypeError("send the call that `JoinedRead.close` returns instead")


@dataclass(frozen=True)
class ReadRanges(Call[Sequence[Values]]):
    ranges: Sequence[str]
    fields = "valueRanges(range,values)"

    def message(self, gspread: HTTPClient) -> Any:
        options = {**_RENDERED[Render.DISPLAYED], "majorDimension": "ROWS"}
        return gspread.values_batch_get(self.spreadsheet, [*self.ranges], options)

    def decode(self, answer: Answer, limits: Limits) -> Work[Sequence[Values]]:
        found = yield from _decoded(_raw_parts, answer, limits)
        several: list[Values] = []
        for raw in checked_parts(found.value_ranges, len(self.ranges)):
            several.append((yield from _values(_value_range.decode(raw))))
        return several


@dataclass(frozen=True)
class ListWorksheets(Call[list[WorksheetProperties]]):
    fields = "sheets.properties(sheetId,title,sheetType,gridProperties(rowCount,columnCount))"

    def message(self, gspread: HTTPClient) -> Any:
        # Without parameters, gspread would add its own.
        return gspread.fetch_sheet_metadata(self.spreadsheet, {})

    def decode(self, answer: Answer, limits: Limits) -> Work[list[WorksheetProperties]]:
        """Decode the worksheets with cells, without the tabs of charts and of connected data."""
        found = yield from _decoded(_spreadsheet, answer, limits)
        return [
            WorksheetProperties(
                sheet_id=each.sheet_id,
                title=each.title,
                rows=each.grid.row_count,
                columns=each.grid.column_count,
            )
            for each in (sheet.properties for sheet in found.sheets)
            if each.sheet_type == "GRID"
        ]


_VALUES = (
    "sheets(tables(tableId,range(startRowIndex,endRowIndex,startColumnIndex,endColumnIndex),"
    "rowsProperties.footerColorStyle),properties(sheetId,title,sheetType,"
    "gridProperties(rowCount,columnCount,frozenRowCount)),"
    "data(startRow,rowData.values(formattedValue,effectiveValue,userEnteredValue)))"
)
_FORMS = _VALUES.replace(
    "userEnteredValue)",
    "userEnteredValue,effectiveFormat.numberFormat,dataValidation.condition.type)",
).replace("tables(", "tables(columnProperties(columnIndex,columnType),")
_SHEETS: Mapping[Detail, str] = {
    Detail.TEXTS: _VALUES.replace(
        "effectiveValue,userEnteredValue", "userEnteredValue.formulaValue"
    ),
    Detail.VALUES: _VALUES,
    Detail.FORMS: _FORMS,
}
"""Google's `fields` parameter of a worksheet read, by the requested detail."""


@dataclass(frozen=True)
class ReadSheet(Call[SheetView]):
    ranges: Sequence[str]
    detail: Detail

    @property
    def fields(self) -> str:
        return _SHEETS[self.detail]

    def message(self, gspread: HTTPClient) -> Any:
        return _of_ranges(gspread, self.spreadsheet, self.ranges)

    def decode(self, answer: Answer, limits: Limits) -> Work[SheetView]:
        found = yield from _decoded(_spreadsheet, answer, limits)
        [sheet] = found.with_data(1)
        has_forms = self.detail is Detail.FORMS
        return (yield from view_of(sheet, len(self.ranges), has_forms=has_forms))


@dataclass(frozen=True)
class ReadSpreadsheet(Call[SpreadsheetView]):
    """Call that reads one range of each of several worksheets, with native tables.

    The answer also has number formats, data validation and protected ranges.
    """

    ranges: Sequence[str]
    fields = "properties(title,locale,timeZone)," + _FORMS.replace(
        "condition.type)", "condition(type,values.userEnteredValue))"
    ).replace(
        "columnType)", "columnType,dataValidationRule.condition(type,values.userEnteredValue))"
    ).replace(
        "tables(",
        "protectedRanges(range,unprotectedRanges,warningOnly,requestingUserCanEdit),tables(name,",
    )

    def message(self, gspread: HTTPClient) -> Any:
        return _of_ranges(gspread, self.spreadsheet, self.ranges)

    def decode(self, answer: Answer, limits: Limits) -> Work[SpreadsheetView]:
        found = yield from _decoded(_spreadsheet, answer, limits)
        views: list[SheetView] = []
        for each in found.with_data(len(self.ranges)):
            views.append((yield from view_of(each, 1, has_forms=True)))
        named = found.properties
        return SpreadsheetView(
            title=named.title, locale=named.locale, time_zone=named.time_zone, worksheets=views
        )


@dataclass(frozen=True)
class Apply(Call[SheetView]):
    batch: Batch
    is_write: ClassVar[bool] = True

    @property
    def fields(self) -> str:
        return f"updatedSpreadsheet.{_FORMS if self.batch.has_forms else _VALUES}"

    def message(self, gspread: HTTPClient) -> Any:
        batch = self.batch
        changes = batch.encoded or finish(encoded_changes(batch.sheet_id, batch.changes))
        body = {
            "requests": [
                *fence_requests(batch.fence.key, batch.forgotten, [batch.fence]),
                *changes,
            ],
            "includeSpreadsheetInResponse": True,
            "responseRanges": [*batch.ranges],
            "responseIncludeGridData": True,
        }
        return gspread.batch_update(self.spreadsheet, body)

    def decode(self, answer: Answer, limits: Limits) -> Work[SheetView]:
        found, batch = (yield from _decoded(_applied, answer, limits)), self.batch
        [sheet] = found.updated_spreadsheet.with_data(1)
        return (yield from view_of(sheet, len(batch.ranges), has_forms=batch.has_forms))


@dataclass(frozen=True)
class ChangeFences(Call[None]):
    """Call that deletes fences (metadata that proves writes) by ID, then creates fences."""

    key: str
    forgotten: Sequence[int]
    created: Sequence[Fence] = ()
    is_write: ClassVar[bool] = True
    fields = "spreadsheetId"

    def message(self, gspread: HTTPClient) -> Any:
        requests = fence_requests(self.key, self.forgotten, self.created)
        return gspread.batch_update(self.spreadsheet, {"requests": requests})

    def decode(self, answer: Answer, limits: Limits) -> Work[None]:
        yield from _decoded(_done, answer, limits)


@dataclass(frozen=True)
class FindFences(Call[Sequence[Fence]]):
    """Call that finds fences (metadata that proves writes) by ID or by key.

    If `id` and `key` are None, the call finds all metadata of the spreadsheet. gspread has no
    function for this call.
    """

    key: str | None = None
    id: int | None = None
    fields = "matchedDeveloperMetadata.developerMetadata(metadataId,metadataKey,metadataValue)"

    def message(self, gspread: HTTPClient) -> Any:
        lookup: dict[str, object] = {"locationType": "SPREADSHEET"}
        if self.id is not None:
            lookup = {"metadataId": self.id}
        elif self.key is not None:
            lookup = {"metadataKey": self.key}
        body = {"dataFilters": [{"developerMetadataLookup": lookup}]}
        return _posted(gspread, self.spreadsheet, "/developerMetadata:search", body)

    def decode(self, answer: Answer, limits: Limits) -> Work[Sequence[Fence]]:
        matched = yield from _decoded(_found_metadata, answer, limits)
        found = (each.developer_metadata for each in matched.matched_developer_metadata)
        return [
            Fence(id=each.metadata_id, key=each.metadata_key, token=each.metadata_value)
            for each in found
        ]


def _of_ranges(gspread: HTTPClient, spreadsheet: str, ranges: Sequence[str]) -> Any:
    if sum(map(len, map(quote, ranges))) <= MAX_URL_BYTES:
        return gspread.fetch_sheet_metadata(spreadsheet, {"ranges": [*ranges]})
    # gspread has no function for the call with the ranges in its body.
    body = {"dataFilters": [{"a1Range": each} for each in ranges], "includeGridData": True}
    return _posted(gspread, spreadsheet, ":getByDataFilter", body)


def _posted(gspread: HTTPClient, spreadsheet: str, path: str, body: Mapping[str, object]) -> Any:
    url = f"{SPREADSHEETS_API_V4_BASE_URL}/{spreadsheet}{path}"
    return gspread.request("post", url, json=body).json()


def fence_requests(
    key: str, forgotten: Iterable[int], created: Iterable[Fence]
) -> Sequence[Mapping[str, object]]:
    """Return the requests of a batch update that delete fences, then create fences.

    A fence is metadata that proves a write. `forgotten` are the IDs of the fences to delete. The
    requests delete no metadata with another key than `key`.
    """
    requests: list[Mapping[str, object]] = []
    for fence_id in forgotten:
        lookup = {"metadataId": fence_id, "metadataKey": key}
        place = {"dataFilter": {"developerMetadataLookup": lookup}}
        requests.append({"deleteDeveloperMetadata": place})
    for fence in created:
        metadata = {
            "metadataId": fence.id,
            "metadataKey": fence.key,
            "metadataValue": fence.token,
            "location": {"spreadsheet": True},
            "visibility": "DOCUMENT",  # accounts of other projects must see it
        }
        requests.append({"createDeveloperMetadata": {"developerMetadata": metadata}})
    return requests


class RawParts(msgspec.Struct, rename="camel"):
    value_ranges: tuple[msgspec.Raw, ...]


class MatchedRange(msgspec.Struct, rename="camel"):
    value_range: msgspec.Raw


class MatchedRanges(msgspec.Struct, rename="camel"):
    value_ranges: tuple[MatchedRange] | None = None


class Applied(msgspec.Struct, rename="camel"):
    updated_spreadsheet: Spreadsheet


class Metadata(msgspec.Struct, rename="camel"):
    metadata_id: int
    metadata_key: str = ""
    metadata_value: str = ""


class MatchedMetadata(msgspec.Struct, rename="camel"):
    developer_metadata: Metadata


class FoundMetadata(msgspec.Struct, rename="camel"):
    matched_developer_metadata: tuple[MatchedMetadata, ...] = ()


class Done(msgspec.Struct, rename="camel"):
    spreadsheet_id: str


_value_range = msgspec.json.Decoder(RawValues)
_raw_parts = msgspec.json.Decoder(RawParts)
_matched_ranges = msgspec.json.Decoder(MatchedRanges)
_spreadsheet = msgspec.json.Decoder(Spreadsheet)
_applied = msgspec.json.Decoder(Applied)
_found_metadata = msgspec.json.Decoder(FoundMetadata)
_done = msgspec.json.Decoder(Done)
_line = msgspec.json.Decoder(tuple[Value, ...])


def _decoded(decoder: msgspec.json.Decoder[S], answer: Answer, limits: Limits) -> Work[S]:
    max_bytes = GROWTH * limits.answer_bytes
    if ITEM_BYTES * len(answer.body) > max_bytes:
        yield from check_growth(answer.body, max_bytes)
    return decoder.decode(answer.body)


def check_growth(body: bytes, max_bytes: int) -> Work[None]:
    """Raise `AnswerTooLarge` if the decoded lists and items might take more than `max_bytes`.

    The commas of the JSON text give the number of list items. Commas within cell texts count as
    items too.
    """
    byte_count = 0
    for start in range(0, len(body), PIECE_BYTES):
        yield PIECE_BYTES
        end = start + PIECE_BYTES
        byte_count += LIST_BYTES * body.count(b"],", start, end)
        byte_count += ITEM_BYTES * body.count(b",", start, end)
        if byte_count > max_bytes:
            raise AnswerTooLarge(f"decoding the answer could exceed the limit of {max_bytes} bytes")


def _values(found: RawValues) -> Work[Values]:
    cells = yield from mapped(_line.decode, found.values, len, PIECE_BYTES)
    return Values(range=found.range, cells=tuple(cells))
