"""Reads of many cells at once, and repeated reads of formulas."""

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
def test_ranges_with_too_many_cells_together_get_400(bench: Bench, path: str) -> None:
    """Ranges with more than 10,000,000 cells together get 400 before any cell is read."""
    bench.edit(properties_of("gridProperties", sheetId=0, gridProperties=LARGEST))
    answer = bench.call("GET", f"{path}ranges=Data&ranges=A1")

    assert answer.status_code == 400
    assert message(answer) == (
        "Request too large: the ranges together hold more than 10000000 cells."
    )


def test_cells_of_ranges_are_not_counted_if_no_cells_are_requested(bench: Bench) -> None:
    """The limit of cells does not apply to a read of only properties of worksheets."""
    bench.edit(properties_of("gridProperties", sheetId=0, gridProperties=LARGEST))

    assert bench.call("GET", f"{BOOK}?ranges=Data&ranges=Data").status_code == 200


def test_maximum_number_of_cells_can_be_read(bench: Bench) -> None:
    """A read of exactly 10,000,000 cells is answered."""
    bench.edit(properties_of("gridProperties", sheetId=0, gridProperties=LARGEST))

    assert bench.call("GET", f"{BOOK}/values:batchGet?ranges=Data").status_code == 200


def test_formulas_are_computed_again_after_every_write(build: BenchBuilder) -> None:
    """Formulas are computed from current cells after a write, a failed write and a reset."""
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


def test_columns_that_need_too_large_a_grid_get_400(bench: Bench) -> None:
    """With COLUMNS, one long list and many empty lists need too large a grid and get 400."""
    values = [[1] * 20_000, *[[]] * 20_000]
    path = f"{BOOK}/values/Data:append?valueInputOption=RAW"
    answer = bench.call("POST", path, {"values": values, "majorDimension": "COLUMNS"})

    assert answer.status_code == 400
    assert "above the limit of 10000000 cells" in message(answer)
