"""HTTP requests and results of reads by column."""

import itertools
import json
import time
from functools import partial
from urllib.parse import parse_qsl

import pytest

from gateway.errors import SheetTooLarge, UpstreamError, UpstreamRefusal
from gateway.google.rendering import SHARED_BYTES
from gateway.google.sheets import KnownRange, Render, SheetArea
from gateway.settings.model import GoogleSettings
from gateway.worksheets.access import WorksheetId
from gateway.worksheets.loader import Loader
from gateway.worksheets.scheduler import Scheduler
from gateway.worksheets.snapshot import HeaderCache
from tests.google.google_fake import SPREADSHEET, FakeGoogle
from tests.stand_in import open_google


async def test_columns_are_read_with_their_digest(
    settings: GoogleSettings, google: FakeGoogle
) -> None:
    """A read of columns returns None if the answer has the known digest, else the columns."""
    google.sheets.respond(json={"range": "T!A1:B9", "values": [["a", 1], [], [""], ["b"]]})

    async with open_google(settings) as sheets:
        read = partial(sheets.read_columns, SPREADSHEET, "'T'!A1:ZZZ", render=Render.TYPED)
        rendering = await read()
        sent = google.sent
        again = await read(known=rendering.digest if rendering else None)
        google.sheets.respond(json={"range": "T!A1:B9"})
        other = await read(known=rendering.digest if rendering else None)

    assert rendering is not None
    assert (rendering.range, rendering.columns) == ("T!A1:B9", (("a", 1), (), (), ("b",)))
    assert sorted(parse_qsl(sent.url.query.decode())) == [
        ("dateTimeRenderOption", "SERIAL_NUMBER"),
        ("fields", "range,values"),
        ("majorDimension", "COLUMNS"),
        ("prettyPrint", "false"),
        ("valueRenderOption", "UNFORMATTED_VALUE"),
    ]
    assert again is None
    assert other is not None
    assert other.columns == ()


async def test_several_ranges_are_one_call(settings: GoogleSettings, google: FakeGoogle) -> None:
    """`read_several` sends one call, and each part equals the result of a single read."""
    part = {"range": "T!A1:B9", "values": [["a", 1], []]}
    google.sheets.respond(json=part)
    async with open_google(settings) as sheets:
        alone = await sheets.read_columns(SPREADSHEET, "'T'!A1:ZZZ", render=Render.TYPED)
        assert alone is not None
        google.sheets.respond(json={"valueRanges": [part, {"range": "U!A1"}, part]})
        ranges = [KnownRange(f"'{title}'!A1:ZZZ", None) for title in "TU"]
        again = KnownRange("'T'!A1:ZZZ", alone.digest)
        found = await sheets.read_several(SPREADSHEET, [*ranges, again], render=Render.TYPED)

    assert [each and each.columns for each in found] == [(("a", 1),), (), None]
    query = parse_qsl(google.sheets.calls.last.request.url.query.decode())
    asked = [value for name, value in query if name == "ranges"]
    assert asked == [each.range for each in (*ranges, again)]
    assert ("fields", "valueRanges(range,values)") in query
    assert ("majorDimension", "COLUMNS") in query


async def test_an_answer_with_missing_parts_is_an_error(
    settings: GoogleSettings, google: FakeGoogle
) -> None:
    """An answer with fewer parts than ranges raises UpstreamError."""
    google.sheets.respond(json={"valueRanges": [{"range": "T!A1"}]})
    ranges = [KnownRange(f"'{title}'!A1:ZZZ", None) for title in "TU"]
    async with open_google(settings) as sheets:
        with pytest.raises(UpstreamError):
            await sheets.read_several(SPREADSHEET, ranges, render=Render.TYPED)


async def test_columns_are_bounded_in_memory(settings: GoogleSettings, google: FakeGoogle) -> None:
    """A small answer of many cells raises SheetTooLarge because of its size in memory."""
    google.sheets.respond(json={"range": "T!A1:A9", "values": [["ab"] * 1500]})

    async with open_google(settings, max_rendering_bytes=60_000) as sheets:
        with pytest.raises(SheetTooLarge, match=r"cache\.max_worksheet_bytes"):
            await sheets.read_columns(SPREADSHEET, "'T'!A1:ZZZ", render=Render.DISPLAYED)


async def test_a_worksheet_is_read_by_its_id(settings: GoogleSettings, google: FakeGoogle) -> None:
    """A read by sheet ID uses a data filter, and the result equals a read by title."""
    part = {"range": "T!A1:B9", "values": [["a", 1], []]}
    google.sheets.respond(json=part)
    async with open_google(settings) as sheets:
        by_title = await sheets.read_columns(SPREADSHEET, "'T'!A1:ZZZ", render=Render.TYPED)
        google.sheets.respond(json={"valueRanges": [{"valueRange": part}]})
        by_id = await sheets.read_columns(SPREADSHEET, SheetArea(7, 3), render=Render.TYPED)
        await sheets.read_columns(SPREADSHEET, SheetArea(7), render=Render.DISPLAYED)
    sent, last = [call.request for call in google.sheets.calls][1:]

    assert by_id == by_title
    assert sent.method == "POST"
    assert sent.url.path.endswith(f"/{SPREADSHEET}/values:batchGetByDataFilter")
    assert ("fields", "valueRanges.valueRange(range,values)") in parse_qsl(sent.url.query.decode())
    assert json.loads(sent.content) == {
        "dataFilters": [{"gridRange": {"sheetId": 7, "startRowIndex": 2}}],
        "valueRenderOption": "UNFORMATTED_VALUE",
        "dateTimeRenderOption": "SERIAL_NUMBER",
        "majorDimension": "COLUMNS",
    }
    assert json.loads(last.content) == {
        "dataFilters": [{"gridRange": {"sheetId": 7}}],
        "valueRenderOption": "FORMATTED_VALUE",
        "majorDimension": "COLUMNS",
    }


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({}, UpstreamRefusal),
        ({"valueRanges": [{}]}, UpstreamError),
        ({"valueRanges": [{"valueRange": {"range": "T!A1"}}] * 2}, UpstreamError),
    ],
    ids=["no values", "no range", "two ranges"],
)
async def test_an_id_that_does_not_match_one_worksheet(
    settings: GoogleSettings, google: FakeGoogle, answer: object, error: type[UpstreamError]
) -> None:
    """A read by sheet ID raises UpstreamRefusal without values, UpstreamError for a bad answer."""
    google.sheets.respond(json=answer)

    async with open_google(settings) as sheets:
        with pytest.raises(error) as caught:
            await sheets.read_columns(SPREADSHEET, SheetArea(7), render=Render.DISPLAYED)

    assert type(caught.value) is error


async def test_both_renderings_of_a_worksheet_share_columns(
    settings: GoogleSettings, google: FakeGoogle
) -> None:
    """Displayed and typed values share one decoded column if the column has only texts."""
    names = ["name", *(f"a name of a city {row}" for row in range(SHARED_BYTES))]
    google.sheets.respond(json={"range": "T!A1:B9", "values": [names, ["n", "1,250"]]})
    moment = itertools.count()

    async with open_google(settings) as sheets:
        loader = Loader(
            id=WorksheetId(SPREADSHEET, "T"),
            header_cache=HeaderCache(
                ttl_seconds=1, clock=time.monotonic, moment=lambda: next(moment)
            ),
            sheets=sheets,
            scheduler=Scheduler(),
            shared=None,
        )
        rows, _ = await loader.displayed()
        google.sheets.respond(json={"range": "T!A1:B9", "values": [names, ["n", 1250]]})
        types = await loader.typed()
        both = await loader.with_types(rows, types)

    typed, _ = types
    assert typed is not None
    assert typed.columns == (tuple(names), ("n", 1250))
    assert typed.columns[0] is rows.table.displayed[0]
    assert both.table.typed == typed.columns
    assert not both.table.is_mixed
