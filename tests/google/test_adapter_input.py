"""Input of written values: as they are, or as if a person typed them."""

import json
from urllib.parse import parse_qs

import pytest

from gateway.google.adapter import open_google
from gateway.google.sheets import Writing
from gateway.settings.model import GoogleSettings
from tests.google.google_fake import SPREADSHEET, FakeGoogle


@pytest.mark.parametrize(
    ("setting", "option"), [("raw", "RAW"), ("user_entered", "USER_ENTERED")], ids=["raw", "typed"]
)
async def test_both_kinds_of_writes_say_how(
    settings: GoogleSettings, google: FakeGoogle, setting: str, option: str
) -> None:
    """Appends say it in the query, updates in the body."""
    google.sheets.respond(
        json={"updates": {"updatedRange": "T!A7"}, "responses": [{"updatedRange": "T!A7"}]}
    )
    settings = settings.model_copy(update={"value_input": setting})

    async with open_google(settings) as sheets:
        await sheets.append_rows(SPREADSHEET, "'T'!A7", [("1",)])
        await sheets.write_cells(SPREADSHEET, [Writing(range="'T'!A7", rows=[["1"]])])
    append, update = [call.request for call in google.sheets.calls]

    assert parse_qs(append.url.query.decode())["valueInputOption"] == [option]
    assert json.loads(update.content)["valueInputOption"] == option
