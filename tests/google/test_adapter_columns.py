"""Requests and results of reads by column."""

from functools import partial
from urllib.parse import parse_qsl

import pytest

from gateway.errors import SheetTooLarge
from gateway.google.adapter import open_google
from gateway.google.sheets import Render
from gateway.settings.model import GoogleSettings
from tests.google.google_fake import SPREADSHEET, FakeGoogle


async def test_columns_are_read_with_their_digest(
    settings: GoogleSettings, google: FakeGoogle
) -> None:
    """Columns are asked for as such; the same answer again is nothing new, another one is."""
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


async def test_columns_are_bounded_in_memory(settings: GoogleSettings, google: FakeGoogle) -> None:
    """A small answer of many cells is refused for what they would take in memory."""
    google.sheets.respond(json={"range": "T!A1:A9", "values": [["ab"] * 1000]})

    async with open_google(settings, max_rendering_bytes=60_000) as sheets:
        with pytest.raises(SheetTooLarge, match=r"cache\.max_worksheet_bytes"):
            await sheets.read_columns(SPREADSHEET, "'T'!A1:ZZZ", render=Render.DISPLAYED)
