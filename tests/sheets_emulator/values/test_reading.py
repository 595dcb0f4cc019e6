"""Reads of much at once, and of formulas again and again."""

import pytest

from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.conftest import BenchBuilder
from tests.sheets_emulator.requests_of import properties_of

BOOK = "/v4/spreadsheets/book"
LARGEST = {"rowCount": 10_000_000, "columnCount": 1}


@pytest.mark.parametrize(
    "path",
    [f"{BOOK}/values:batchGet?", f"{BOOK}?includeGridData=true&"],
    ids=["batchGet", "grid data"],
)
def test_ranges_that_hold_too_much_together_are_refused(bench: Bench, path: str) -> None:
    """More cells than a spreadsheet may have are a 400 before any is read."""
    bench.edit(properties_of("gridProperties", sheetId=0, gridProperties=LARGEST))
    answer = bench.call("GET", f"{path}ranges=Data&ranges=A1")

    assert answer.status_code == 400
    assert message(answer) == (
        "Request too large: the ranges together hold more than 10000000 cells."
    )


def test_ranges_are_not_counted_where_no_cell_is_asked_for(bench: Bench) -> None:
    """The properties of a worksheet may be asked for twice."""
    bench.edit(properties_of("gridProperties", sheetId=0, gridProperties=LARGEST))

    assert bench.call("GET", f"{BOOK}?ranges=Data&ranges=Data").status_code == 200


def test_as_many_cells_as_a_spreadsheet_holds_are_read(bench: Bench) -> None:
    """The limit itself is not over the limit."""
    bench.edit(properties_of("gridProperties", sheetId=0, gridProperties=LARGEST))

    assert bench.call("GET", f"{BOOK}/values:batchGet?ranges=Data").status_code == 200


def test_formulas_follow_every_write(build: BenchBuilder) -> None:
    """Cached results belong to one version."""
    bench = build({"Data": "1,=A1*2\n", "Other": "=Data!B1+1\n"})
    before = [bench.grid("Data!B1"), bench.grid("Other")]
    bench.update("Data!A1", [[5]])
    after = [bench.grid("Data!B1"), bench.grid("Other")]
    bench.fault({"call": "values.update", "status": 503})
    bench.update("Data!A1", [[7]])
    faulty = [bench.grid("Data!B1"), bench.grid("Other")]
    bench.client.post("/_emulator/reset")
    reset = [bench.grid("Data!B1"), bench.grid("Other")]

    assert before == reset == [[["2"]], [["3"]]]
    assert after == faulty == [[["10"]], [["11"]]]


def test_columns_that_come_to_too_many_rows_are_refused(bench: Bench) -> None:
    """One long column among many short ones is a grid past all limits, however few its cells."""
    values = [[1] * 20_000, *[[]] * 20_000]
    path = f"{BOOK}/values/Data:append?valueInputOption=RAW"
    answer = bench.call("POST", path, {"values": values, "majorDimension": "COLUMNS"})

    assert answer.status_code == 400
    assert "above the limit of 10000000 cells" in message(answer)
