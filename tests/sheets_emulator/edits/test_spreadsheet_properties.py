"""batchUpdate: the properties of a spreadsheet."""

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
HALF = {"red": 0.49803922}  # 0.5 as it is answered


def update(bench: Bench, fields: str, **properties: object) -> Any:
    request = {"properties": properties, "fields": fields}
    return bench.edit({"updateSpreadsheetProperties": request})


def shown(bench: Bench) -> Any:
    return bench.described(fields="properties")["properties"]


@pytest.mark.parametrize("name", NEW)
def test_only_what_the_mask_names_is_set(bench: Bench, name: str) -> None:
    """Each property alone; others are ignored."""
    before = shown(bench)
    reply = update(bench, name, **NEW).json()["replies"]

    assert reply == [{}]
    assert shown(bench) == {**before, name: NEW[name]}


def test_all_properties_are_set_and_shown(bench: Bench) -> None:
    """`*` takes every property; one that does not come is as in a new spreadsheet."""
    update(bench, "*", **NEW)
    first = shown(bench)
    update(bench, "*", **{**NEW, "autoRecalc": None, "iterativeCalculationSettings": None})
    second = shown(bench)

    assert first == NEW
    assert second["autoRecalc"] == "ON_CHANGE"
    assert "iterativeCalculationSettings" not in second


def test_default_format_is_remembered(bench: Bench) -> None:
    """It is shown as cells' formats are, with both members of a colour."""
    update(bench, "defaultFormat", defaultFormat={"backgroundColor": {"red": 0.5}})

    assert shown(bench)["defaultFormat"] == {
        "backgroundColor": HALF,
        "backgroundColorStyle": {"rgbColor": HALF},
    }


def test_theme_is_remembered(bench: Bench) -> None:
    """Its colours are answered as all colours are."""
    pairs = [{"colorType": "ACCENT1", "color": {"rgbColor": {"red": 0.5}}}]
    theme = {"primaryFontFamily": "Arial", "themeColors": pairs}
    update(bench, "spreadsheetTheme", spreadsheetTheme=theme)

    assert shown(bench)["spreadsheetTheme"] == {
        "primaryFontFamily": "Arial",
        "themeColors": [{"colorType": "ACCENT1", "color": {"rgbColor": HALF}}],
    }


def test_locale_and_time_zone_stay_where_all_fields_are_meant(bench: Bench) -> None:
    """No spreadsheet is without them, so `*` takes them only where they are given."""
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
def test_properties_that_google_does_not_know_are_refused(
    bench: Bench, fields: str, properties: Request, complaint: str
) -> None:
    """Nothing is set then."""
    before = shown(bench)
    answer = update(bench, fields, **properties)

    assert answer.status_code == 400
    assert complaint in message(answer)
    assert shown(bench) == before
