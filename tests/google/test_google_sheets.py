"""HTTP requests of the methods of `GoogleSheets`, and results of answers with status 200."""

import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, unquote

import httpx
import pytest
import respx
from google.oauth2.credentials import Credentials
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from gateway.errors import InvalidSpreadsheetId, LookOutdated
from gateway.google.sheets import (
    AppendedRows,
    Batch,
    Block,
    Fence,
    Render,
    SheetView,
    Values,
    WorksheetProperties,
    WrittenCells,
)
from gateway.settings.model import GoogleSettings
from tests.google.google_fake import (
    A_READ,
    ACCOUNT,
    ENDPOINT,
    READ_ANSWER,
    SPREADSHEET,
    FakeGoogle,
    failures,
    verbs,
)
from tests.stand_in import open_client, open_google

TITLES = ["D3", "a/b", "O'Brien", "two words", "🦊 köln", "100%", "%2F", "..", "?x=#", ":append"]

FENCE = Fence(id=7, key="gw", token="t")
CREATION = {
    "createDeveloperMetadata": {
        "developerMetadata": {
            "metadataId": 7,
            "metadataKey": "gw",
            "metadataValue": "t",
            "location": {"spreadsheet": True},
            "visibility": "DOCUMENT",
        }
    }
}

BAD_IDS = {
    "dot segments": "../../drive/v3/files",
    "another verb": "abc:batchUpdate?x=",
    "another range": "abc/values/X!A1?x=",
    "fragment": "abc#",
    "CRLF": "abc\r\nHost: evil",
    "newline at the end": "abc\n",
    "129 characters": "a" * 129,
    "digits that are not ASCII": "١٢٣",
    "letters that are not ASCII": "äbc",
    "empty": "",
    "percent": "abc%2F..",
}


def body_of(request: httpx.Request) -> Any:
    return json.loads(request.content)


def query_of(request: httpx.Request) -> list[tuple[str, str]]:
    return sorted(parse_qsl(request.url.query.decode(), keep_blank_values=True))


async def test_values_are_read_as_displayed(settings: GoogleSettings, google: FakeGoogle) -> None:
    """Displayed values are requested with FORMATTED_VALUE, by rows, and returned unchanged."""
    answer = {"range": "Sheet1!A1:B3", "values": [["a", "b"], [], ["", "c"]]}
    google.sheets.respond(json=answer)

    async with open_google(settings) as sheets:
        found = await sheets.read_values(SPREADSHEET, "'Sheet1'!A1:B3", render=Render.DISPLAYED)

    assert found == Values(range="Sheet1!A1:B3", cells=(("a", "b"), (), ("", "c")))
    assert google.sent.method == "GET"
    assert google.sent.url.raw_path.startswith(
        f"/v4/spreadsheets/{SPREADSHEET}/values/%27Sheet1%27%21A1%3AB3?".encode()
    )
    assert query_of(google.sent) == [
        ("fields", "range,values"),
        ("majorDimension", "ROWS"),
        ("prettyPrint", "false"),
        ("valueRenderOption", "FORMATTED_VALUE"),
    ]
    assert google.sent.headers["authorization"] == "Bearer token-1"
    assert google.sent.headers["accept-encoding"] == "gzip"
    assert google.sent.content == b""


async def test_typed_values_keep_their_types(settings: GoogleSettings, google: FakeGoogle) -> None:
    """Typed values keep their JSON types; dates are requested as serial numbers."""
    google.sheets.respond(json={"range": "A1:A4", "values": [[1, 1.5, True, "x"]]})

    async with open_google(settings) as sheets:
        found = await sheets.read_values(SPREADSHEET, "'T'!A1:A4", render=Render.TYPED)

    assert [type(cell) for cell in found.cells[0]] == [int, float, bool, str]
    assert {
        ("dateTimeRenderOption", "SERIAL_NUMBER"),
        ("valueRenderOption", "UNFORMATTED_VALUE"),
        ("majorDimension", "ROWS"),
    } < set(query_of(google.sent))


async def test_a_blank_range_has_no_cells(settings: GoogleSettings, google: FakeGoogle) -> None:
    """An answer without `values`, which Google sends for a blank range, has no cells."""
    google.sheets.respond(json={"range": "T!A1:B2"})

    async with open_google(settings) as sheets:
        found = await sheets.read_values(SPREADSHEET, "'T'!A1:B2", render=Render.DISPLAYED)

    assert found.cells == ()


async def test_several_ranges_are_one_call(settings: GoogleSettings, google: FakeGoogle) -> None:
    """Several ranges are read with one `batchGet` call, and the values are in the same order."""
    google.sheets.respond(
        json={"valueRanges": [{"range": "T!1:1", "values": [["h"]]}, {"range": "T!A7:7"}]}
    )
    ranges = ["'T'!1:1", "'T'!A7:7"]

    async with open_google(settings) as sheets:
        found = await sheets.read_ranges(SPREADSHEET, ranges)

    assert found == [Values(range="T!1:1", cells=(("h",),)), Values(range="T!A7:7", cells=())]
    assert google.sent.method == "GET"
    assert google.sent.url.path == f"/v4/spreadsheets/{SPREADSHEET}/values:batchGet"
    assert query_of(google.sent) == [
        ("fields", "valueRanges(range,values)"),
        ("majorDimension", "ROWS"),
        ("prettyPrint", "false"),
        ("ranges", "'T'!1:1"),
        ("ranges", "'T'!A7:7"),
        ("valueRenderOption", "FORMATTED_VALUE"),
    ]
    assert ranges == ["'T'!1:1", "'T'!A7:7"]


async def test_only_grids_are_listed(settings: GoogleSettings, google: FakeGoogle) -> None:
    """Tabs without cells, such as charts, are not listed; a tab without a type is a grid."""
    grid = {"rowCount": 1000, "columnCount": 26}
    google.sheets.respond(
        json={
            "sheets": [
                {"properties": {"sheetId": 0, "title": "A", "gridProperties": grid}},
                {"properties": {"sheetId": 5, "title": "Chart", "sheetType": "OBJECT"}},
                {
                    "properties": {
                        "sheetId": 7,
                        "title": "B",
                        "sheetType": "GRID",
                        "gridProperties": grid,
                    }
                },
            ]
        }
    )

    async with open_google(settings) as sheets:
        found = await sheets.list_worksheets(SPREADSHEET)

    assert found == [
        WorksheetProperties(sheet_id=0, title="A", rows=1000, columns=26),
        WorksheetProperties(sheet_id=7, title="B", rows=1000, columns=26),
    ]
    assert google.sent.method == "GET"
    assert google.sent.url.path == f"/v4/spreadsheets/{SPREADSHEET}"
    fields = "sheets.properties(sheetId,title,sheetType,gridProperties(rowCount,columnCount))"
    assert query_of(google.sent) == [("fields", fields), ("prettyPrint", "false")]


async def test_a_batch_after_send_until_is_not_sent(
    settings: GoogleSettings, google: FakeGoogle
) -> None:
    """A batch is not sent after `send_until`, even if only the token was slow."""
    batch = Batch(sheet_id=4, fence=FENCE, send_until=time.monotonic() - 0.001)

    async with open_google(settings) as sheets:
        with pytest.raises(LookOutdated) as raised:
            await sheets.apply(SPREADSHEET, batch)

    assert raised.value.outcome == "not_applied"
    assert not google.sheets.called


async def test_computed_cells_are_found_in_an_answer(
    settings: GoogleSettings, google: FakeGoogle
) -> None:
    """A cell is computed if it has a formula, or a value although nothing was entered in it."""
    entered = [{"stringValue": "a"}, {"formulaValue": "=A1"}, None, {"numberValue": 1}]
    cells = [
        {"formattedValue": "a", "effectiveValue": {"stringValue": "a"}}
        | ({} if each is None else {"userEnteredValue": each})
        for each in entered
    ]
    grid = {"rowCount": 9, "columnCount": 5}
    data = [{"rowData": [{"values": [*cells, {}]}, {}]}]
    found = {"properties": {"sheetId": 4, "title": "T", "gridProperties": grid}, "data": data}
    google.sheets.respond(json={"updatedSpreadsheet": {"sheets": [found]}})

    async with open_google(settings) as sheets:
        view = await sheets.apply(SPREADSHEET, Batch(sheet_id=4, fence=FENCE, ranges=["'T'!1:2"]))

    assert [[*columns] for columns in view.blocks[0].computed] == [[1, 2], []]


async def test_a_batch_is_one_call(settings: GoogleSettings, google: FakeGoogle) -> None:
    """Fence, changes and removed fences are one `batchUpdate` call, which also returns ranges."""
    cell = {"formattedValue": "=1", "effectiveValue": {"stringValue": "=1"}}
    shown = {"startRow": 6, "rowData": [{"values": [cell]}]}
    grid = {"rowCount": 9, "columnCount": 3, "frozenRowCount": 1}
    found = {"properties": {"sheetId": 4, "title": "T", "gridProperties": grid}, "data": [shown]}
    google.sheets.respond(json={"updatedSpreadsheet": {"sheets": [found]}})
    batch = Batch(
        sheet_id=4,
        fence=FENCE,
        changes=[
            WrittenCells(row=7, column=1, values=["=1", "", True]),
            AppendedRows(rows=[(1.5, None)]),
        ],
        forgotten=[3],
        ranges=["'T'!7:7"],
    )

    async with open_google(settings) as sheets:
        view = await sheets.apply(SPREADSHEET, batch)

    block = Block(first_row=7, texts=[["=1"]], values=[["=1"]], computed=[[0]], formulas=[[]])
    assert view == SheetView(
        sheet_id=4, title="T", rows=9, columns=3, frozen_rows=1, blocks=[block]
    )
    assert google.sent.method == "POST"
    assert google.sent.url.path == f"/v4/spreadsheets/{SPREADSHEET}:batchUpdate"
    lookup = {"metadataId": 3, "metadataKey": "gw"}
    written = [
        {"userEnteredValue": {"stringValue": "=1"}},
        {},
        {"userEnteredValue": {"boolValue": True}},
    ]
    assert body_of(google.sent) == {
        "requests": [
            {"deleteDeveloperMetadata": {"dataFilter": {"developerMetadataLookup": lookup}}},
            CREATION,
            {
                "updateCells": {
                    "start": {"sheetId": 4, "rowIndex": 6, "columnIndex": 1},
                    "rows": [{"values": written}],
                    "fields": "userEnteredValue",
                }
            },
            {
                "appendCells": {
                    "sheetId": 4,
                    "rows": [{"values": [{"userEnteredValue": {"numberValue": 1.5}}, {}]}],
                    "fields": "userEnteredValue",
                }
            },
        ],
        "includeSpreadsheetInResponse": True,
        "responseRanges": ["'T'!7:7"],
        "responseIncludeGridData": True,
    }


async def test_a_fence_is_created_alone(settings: GoogleSettings, google: FakeGoogle) -> None:
    """`put_fence` creates developer metadata of the spreadsheet with one `batchUpdate` call."""
    google.sheets.respond(json={"spreadsheetId": SPREADSHEET})

    async with open_google(settings) as sheets:
        await sheets.put_fence(SPREADSHEET, FENCE)

    assert google.sent.method == "POST"
    assert google.sent.url.path == f"/v4/spreadsheets/{SPREADSHEET}:batchUpdate"
    assert query_of(google.sent) == [("fields", "spreadsheetId"), ("prettyPrint", "false")]
    assert google.sent.headers["content-type"] == "application/json"
    assert body_of(google.sent) == {"requests": [CREATION]}


def range_in(request: httpx.Request) -> str:
    """Return the range in a `values` path, and assert that the range is one path segment."""
    path = request.url.raw_path.decode().partition("?")[0]
    empty, *before, range_ = path.split("/")
    assert (empty, before) == ("", ["v4", "spreadsheets", SPREADSHEET, "values"])
    return unquote(range_, errors="strict")


@pytest.mark.parametrize("title", TITLES)
async def test_a_title_is_one_path_segment(
    title: str, settings: GoogleSettings, google: FakeGoogle
) -> None:
    """A range with this title is one path segment and arrives unchanged."""
    google.sheets.respond(json={"range": "A1"})
    quoted = title.replace("'", "''")

    async with open_google(settings) as sheets:
        await sheets.read_values(SPREADSHEET, f"'{quoted}'!A1", render=Render.DISPLAYED)

    assert range_in(google.sent) == f"'{quoted}'!A1"


def find_credentials(**_given: object) -> tuple[Credentials, None]:
    """Replacement of `google.auth.default` that returns valid credentials."""
    in_an_hour = datetime.now(UTC).replace(tzinfo=None) + timedelta(hours=1)
    return Credentials(None, refresh_handler=lambda *_args, **_options: ("t", in_an_hour)), None  # type: ignore[no-untyped-call]


@hypothesis_settings(max_examples=60)
@given(title=st.text(max_size=50))
async def test_any_title_is_one_path_segment(title: str) -> None:
    """A range with any title is one path segment and arrives unchanged."""
    range_ = "'" + title.replace("'", "''") + "'!A1"
    with respx.mock(using="httpcore2") as router:
        route = router.route(url__startswith=f"{ENDPOINT}/").respond(json=READ_ANSWER)
        async with open_google(GoogleSettings(), find_credentials=find_credentials) as sheets:
            await sheets.read_values(SPREADSHEET, range_, render=Render.DISPLAYED)

    assert range_in(route.calls.last.request) == range_


@pytest.mark.parametrize("spreadsheet", BAD_IDS.values(), ids=BAD_IDS)
async def test_a_bad_id_sends_nothing(
    spreadsheet: str, settings: GoogleSettings, google: FakeGoogle
) -> None:
    """Every method rejects an invalid spreadsheet ID before any request, even for a token."""
    errors = await failures(settings, verbs(spreadsheet))

    assert {type(error) for error in errors.values()} == {InvalidSpreadsheetId}
    assert (google.sheets.call_count, google.token.call_count) == (0, 0)


async def test_calls_go_to_the_configured_endpoint(
    settings: GoogleSettings, google: FakeGoogle
) -> None:
    """Calls go to the configured endpoint, with the path of Google's endpoint."""
    emulator = google.router.route(url__startswith="http://127.0.0.1:9/").respond(json=READ_ANSWER)
    settings = settings.model_copy(update={"endpoint": "http://127.0.0.1:9"})

    async with open_google(settings) as sheets:
        await A_READ(sheets)

    assert (
        emulator.calls.last.request.url.path == f"/v4/spreadsheets/{SPREADSHEET}/values/'T'!A1:B2"
    )
    assert google.sheets.call_count == 0


async def test_the_account_is_that_of_the_key_file(settings: GoogleSettings) -> None:
    """`account` is the e-mail address in the key file, known before the first request."""
    async with open_client(settings) as client:
        assert client.account == ACCOUNT
