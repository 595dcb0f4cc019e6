"""Tests of requests that change the properties of a spreadsheet."""

from typing import Any

import pytest

from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.requests_of import Request

NEW = {
    "title": "New",
    "locale": "fr_FR",
    "timeZone": "Europe/Paris",
    "autoRecalc": "HOUR",
    "iterativeCalculationSettings": {"maxIterations": 5, "convergenceThreshold": 0.5},
    "importFunctionsExternalUrlAccessAllowed": True,
}
HALF = {"red": 0.49803922}  # 0.5 rounded to 8 bits, as responses have it


def update(bench: Bench, fields: str, **properties: object) -> Any:
    request = {"properties": properties, "fields": fields}
    return bench.edit({"updateSpreadsheetProperties": request})


def shown(bench: Bench) -> Any:
    return bench.described(fields="properties")["properties"]


@pytest.mark.parametrize("name", NEW)
def test_only_the_property_in_the_mask_is_set(bench: Bench, name: str) -> None:
    """A request with values for all properties changes only the property in its mask."""
    before = shown(bench)
    reply = update(bench, name, **NEW).json()["replies"]

    assert reply == [{}]
    assert shown(bench) == {**before, name: NEW[name]}


def test_all_properties_of_a_spreadsheet_are_set(bench: Bench) -> None:
    """The mask `*` sets every property and resets properties without a value to their defaults."""
    update(bench, "*", **NEW)
    first = shown(bench)
    update(bench, "*", **{**NEW, "autoRecalc": None, "iterativeCalculationSettings": None})
    second = shown(bench)

    assert first == NEW
    assert second["autoRecalc"] == "ON_CHANGE"
    assert "iterativeCalculationSettings" not in second


def test_default_format_is_stored(bench: Bench) -> None:
    """`defaultFormat` is returned like a cell format, with a colour and its style."""
    update(bench, "defaultFormat", defaultFormat={"backgroundColor": {"red": 0.5}})

    assert shown(bench)["defaultFormat"] == {
        "backgroundColor": HALF,
        "backgroundColorStyle": {"rgbColor": HALF},
    }


def test_theme_is_stored(bench: Bench) -> None:
    """Theme colours are returned with 8 bits per component."""
    pairs = [{"colorType": "ACCENT1", "color": {"rgbColor": {"red": 0.5}}}]
    theme = {"primaryFontFamily": "Arial", "themeColors": pairs}
    update(bench, "spreadsheetTheme", spreadsheetTheme=theme)

    assert shown(bench)["spreadsheetTheme"] == {
        "primaryFontFamily": "Arial",
        "themeColors": [{"colorType": "ACCENT1", "color": {"rgbColor": HALF}}],
    }


def test_locale_and_time_zone_cannot_be_cleared(bench: Bench) -> None:
    """The mask `*` keeps the locale and time zone if the request has no values for them."""
    update(bench, "*", **NEW)
    reply = update(bench, "*", title="Newer")

    assert reply.status_code == 200
    assert shown(bench) == {
        "title": "Newer",
        "locale": "fr_FR",
        "timeZone": "Europe/Paris",
        "autoRecalc": "ON_CHANGE",
    }


@pytest.mark.parametrize(
    ("fields", "properties", "complaint"),
    [
        pytest.param("locale", {"locale": "french"}, "Unsupported locale: french", id="locale"),
        pytest.param("timeZone", {}, "time zone", id="no time zone"),
        pytest.param("locale", {}, "Unsupported locale", id="no locale"),
        pytest.param(
            "iterativeCalculationSettings",
            {"iterativeCalculationSettings": {"convergenceThreshold": "NaN"}},
            'convergence_threshold\' (TYPE_DOUBLE), "NaN"',
            id="no number",
        ),
        pytest.param("autoRecalc", {"autoRecalc": "NEVER"}, "auto_recalc", id="interval"),
        pytest.param("colour", {}, "Invalid field: colour", id="unknown field"),
        pytest.param("title", {"name": "x"}, 'Unknown name "name"', id="unknown property"),
        pytest.param("", {}, "At least one field", id="no field"),
    ],
)
def test_invalid_properties_of_a_spreadsheet_are_refused(
    bench: Bench, fields: str, properties: Request, complaint: str
) -> None:
    """An unknown property or an invalid value gets 400, and no property changes."""
    before = shown(bench)
    answer = update(bench, fields, **properties)

    assert answer.status_code == 400
    assert complaint in message(answer)
    assert shown(bench) == before
