"""Comparison of the requested worksheet with the range in Google's answer."""

import pytest

from gateway.errors import GatewayError, UpstreamError, WorksheetNotFound
from gateway.worksheets.access import WorksheetId, own_area, worksheet_not_found
from tests.worksheets.conftest import WORKSHEET


@pytest.mark.parametrize("title", ["Cities", "it's", "D3", " lead", "a!b:c", "日本"])
def test_own_worksheet(title: str) -> None:
    """A range with the requested title is parsed, including quotes."""
    quoted = title.replace("'", "''")

    area = own_area(WorksheetId(WORKSHEET.spreadsheet, title), f"'{quoted}'!B2:C9")

    assert (area.title, area.last_row) == (title, 9)


@pytest.mark.parametrize(
    ("echo", "error"),
    [
        pytest.param("CITIES!A1", WorksheetNotFound, id="other-case"),
        pytest.param("Cities", UpstreamError, id="no-cells"),
        pytest.param("", UpstreamError, id="nothing"),
        pytest.param("Cities!A:B", UpstreamError, id="no-rows"),
    ],
)
def test_foreign_echo(echo: str, error: type[GatewayError]) -> None:
    """Another spelling is another worksheet; a range that cannot be parsed is Google's error."""
    with pytest.raises(error):
        own_area(WORKSHEET, echo)


def test_long_title_is_cut() -> None:
    """The message quotes at most 100 characters of the requested title."""
    error = worksheet_not_found(WorksheetId(WORKSHEET.spreadsheet, "x" * 5000), [])

    assert "x" * 100 in error.message
    assert "x" * 101 not in error.message
