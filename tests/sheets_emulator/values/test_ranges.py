"""values.get, values.update, values.clear, and their batch calls."""

from typing import Any

import pytest

from tests.sheets_emulator.bench import Bench, message, values_path
from tests.sheets_emulator.conftest import BenchBuilder
from tests.sheets_emulator.requests_of import properties_of

SOLAR = "x\n" * 980 + "x" + "," * 23 + "\n"  # 981 rows, 24 columns


def test_blank_range_has_no_values(bench: Bench) -> None:
    """The answer for a blank range has no `values`."""
    assert bench.values("Data!A1:B2") == {"range": "Data!A1:B2", "majorDimension": "ROWS"}


def test_trailing_blanks_are_trimmed_and_inner_ones_kept(bench: Bench) -> None:
    """Inner blank rows are [] and leading blank cells are "". Trailing blanks are left out."""
    bench.update("Data!A1", [["", "x", ""], [], ["", ""], [1, "", True]])

    assert bench.grid("Data") == [["", "x"], [], [], ["1", "", "TRUE"]]
    assert bench.grid("Data", majorDimension="COLUMNS") == [
        ["", "", "", "1"],
        ["x"],
        ["", "", "", "TRUE"],
    ]


@pytest.mark.parametrize(
    ("text", "echo"),
    [
        ("Data", "Data!A1:E5"),
        ("'Data'", "Data!A1:E5"),
        ("data!a1", "Data!A1"),
        ("'Data'!A1:A", "Data!A1:A5"),
        ("Data!D4:A1", "Data!A1:D4"),
        ("Data!B2:2", "Data!B2:E2"),
        ("Data!A3:ZZ1000", "Data!A3:E5"),
        ("Data!C:D", "Data!C1:D5"),
        ("B2", "Data!B2"),
    ],
)
def test_range_in_the_answer_is_normalised_and_limited_to_the_grid(
    bench: Bench, text: str, echo: str
) -> None:
    """The answer has the range in Google's notation, limited to the grid."""
    assert bench.values(text)["range"] == echo


def test_range_without_a_title_is_in_the_first_visible_worksheet(
    build: BenchBuilder,
) -> None:
    """A range without a title ignores hidden worksheets."""
    bench = build({"First": "1\n", "Second": "2\n"})
    bench.edit(properties_of("hidden", sheetId=0, hidden=True))

    assert (bench.values("A1")["range"], bench.grid("A1")) == ("Second!A1", [["2"]])
    assert bench.grid("First!A1") == [["1"]]


@pytest.mark.parametrize("title", ["D3", "my data", "🌵", "It's", "A/B", "x:append", "a!b", "%2F"])
def test_any_title_can_be_read_quoted(build: BenchBuilder, title: str) -> None:
    """A quoted title can have slashes, colons, quotes, exclamation marks and percent signs."""
    bench = build({"First": "1\n", "Other": "x\n"})
    properties = {"sheetId": 1, "title": title}
    bench.edit({"updateSheetProperties": {"properties": properties, "fields": "title"}})
    quoted = "'" + title.replace("'", "''") + "'"

    assert bench.values(f"{quoted}!A1") == {
        "range": f"{quoted}!A1",
        "majorDimension": "ROWS",
        "values": [["x"]],
    }


@pytest.mark.parametrize("text", ["NOPE!A5:F15", "NOPE", "'Data'!x", "Data!A0", "A1:B2:C3"])
def test_unknown_range_cannot_be_parsed(bench: Bench, text: str) -> None:
    """An unknown worksheet and a malformed range get the same 400, with the range as sent."""
    answer = bench.call("GET", values_path(text))

    assert answer.status_code == 400
    assert answer.json() == {
        "error": {
            "code": 400,
            "message": f"Unable to parse range: {text}",
            "status": "INVALID_ARGUMENT",
        }
    }


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Solar!Y1", "Solar!Y1"),
        ("'Solar'!A982:B1000", "Solar!A982:B1000"),
        ("Solar!A1000:X", "Solar!A1000:X"),
    ],
)
def test_range_that_starts_outside_the_grid_gets_400(
    build: BenchBuilder, text: str, named: str
) -> None:
    """A range that starts outside the grid gets 400 with the size of the grid."""
    bench = build({"Solar": SOLAR})
    answer = bench.call("GET", values_path(text))

    assert answer.status_code == 400
    assert message(answer) == (
        f"Range ({named}) exceeds grid limits. Max rows: 981, max columns: 24"
    )


def test_batch_get_answers_all_ranges_in_one_call(bench: Bench) -> None:
    """The answer has the ranges in the order of the request. The call counts as one read."""
    bench.update("Data!A1", [["a", 2]])
    path = "/v4/spreadsheets/book/values:batchGet?ranges=Data!B1&ranges=Data!A1:A9"
    answer = bench.call("GET", f"{path}&valueRenderOption=UNFORMATTED_VALUE")

    assert answer.json() == {
        "spreadsheetId": "book",
        "valueRanges": [
            {"range": "Data!B1", "majorDimension": "ROWS", "values": [[2]]},
            {"range": "Data!A1:A5", "majorDimension": "ROWS", "values": [["a"]]},
        ],
    }
    assert bench.stats()["reads"] == 1


@pytest.mark.parametrize(
    ("values", "answer"),
    [
        pytest.param(
            [["a", "", 1]],
            {"updatedRange": "Data!B2:D2", "updatedRows": 1, "updatedColumns": 3}
            | {"updatedCells": 3},
            id="blank string counts",
        ),
        pytest.param(
            [["a", None], [None, None], [None, "b"]],
            {"updatedRange": "Data!B2:C4", "updatedRows": 2, "updatedColumns": 2}
            | {"updatedCells": 2},
            id="null does not",
        ),
        pytest.param([[None]], {"updatedRange": "Data!B2"}, id="nothing touched"),
        pytest.param([], {"updatedRange": "Data!B2"}, id="nothing sent"),
    ],
)
def test_update_counts_the_cells_that_it_writes(
    bench: Bench, values: list[list[Any]], answer: dict[str, object]
) -> None:
    """`updatedRange` covers all sent values. The counts exclude nulls."""
    assert bench.update("Data!B2", values).json() == {"spreadsheetId": "book", **answer}


def test_null_leaves_a_cell_and_the_empty_string_empties_it(bench: Bench) -> None:
    """In an update, null keeps the cell and an empty string clears the cell."""
    bench.update("Data!A1", [["a", "b", "c"]])
    bench.update("Data!A1", [[None, "", "d"]])

    assert bench.grid("Data") == [["a", "", "d"]]


@pytest.mark.parametrize(
    ("text", "values", "complaint"),
    [
        ("Data!A1:B2", [[1, 2, 3]], "[Data!A1:B2], but tried writing to column [C]"),
        ("Data!A1:B2", [[1], [2], [3]], "[Data!A1:B2], but tried writing to row [3]"),
        ("Data!B2", [[0] * 5], "[Data!B2], but tried writing to column [F]"),
        ("B2", [[0]] * 5, "[Data!B2], but tried writing to row [6]"),
        ("Data!B2:B2", [[0, 0]], "[Data!B2], but tried writing to column [C]"),
        ("Data!A1:A1", [[0], [0]], "[Data!A1], but tried writing to row [2]"),
        ("Data!A4:C9", [[0]] * 3, "[Data!A4:C9], but tried writing to row [6]"),
        ("Data!B3:C", [[0] * 3], "[Data!B3:C], but tried writing to column [D]"),
        ("Data!2:3", [[0]] * 3, "[Data!A2:3], but tried writing to row [4]"),
        ("Data", [[0]] * 6, "[Data!A1:E5], but tried writing to row [6]"),
    ],
)
def test_update_cannot_write_outside_its_range_or_the_grid(
    bench: Bench, text: str, values: list[list[Any]], complaint: str
) -> None:
    """Values that need more cells than the range or the grid has get 400."""
    answer = bench.update(text, values)

    assert answer.status_code == 400
    assert message(answer) == f"Requested writing within range {complaint}"
    assert bench.grid("Data") == []


def test_update_answers_the_values_of_the_requested_range(bench: Bench) -> None:
    """With includeValuesInResponse the answer has the whole requested range, as rendered values."""
    bench.update("Data!A1", [["x", "y"], ["z", "w"]])
    parameters = {
        "valueInputOption": "USER_ENTERED",
        "includeValuesInResponse": "True",
        "responseValueRenderOption": "UNFORMATTED_VALUE",
    }
    body = {"values": [["50%"]]}
    answer = bench.call("PUT", values_path("Data!A1:B2"), body, **parameters).json()

    assert answer["updatedRange"] == "Data!A1"
    assert answer["updatedData"] == {
        "range": "Data!A1:B2",
        "majorDimension": "ROWS",
        "values": [[0.5, "y"], ["z", "w"]],
    }


def test_format_of_a_cell_is_kept_when_it_is_cleared(bench: Bench) -> None:
    """A number written into a cleared cell is displayed in the old date format of the cell."""
    bench.update("Data!A1", [["2020-01-01"]], "USER_ENTERED")
    bench.call("POST", f"{values_path('Data!A1')}:clear")
    bench.update("Data!A1", [[43832]])

    assert bench.grid("Data") == [["2020-01-02"]]


def test_batch_update_totals_count_rows_and_columns_once(bench: Bench) -> None:
    """Totals count rows and columns that two ranges share once, and add up all cells."""
    data = [
        {"range": "Data!A1:D1", "values": [["A1", "B1", "", "D1"]]},
        {"range": "Data!A4", "majorDimension": "COLUMNS", "values": [["A4", "A5"]]},
    ]
    body = {"valueInputOption": "RAW", "data": data}
    answer = bench.call("POST", "/v4/spreadsheets/book/values:batchUpdate", body).json()
    responses = answer.pop("responses")

    assert answer == {
        "spreadsheetId": "book",
        "totalUpdatedRows": 3,
        "totalUpdatedColumns": 4,
        "totalUpdatedCells": 6,
        "totalUpdatedSheets": 1,
    }
    assert [each["updatedRange"] for each in responses] == ["Data!A1:D1", "Data!A4:A5"]
    assert bench.grid("Data!A4:A5") == [["A4"], ["A5"]]


@pytest.mark.parametrize(
    ("second", "complaint"),
    [
        (
            {"range": "Data!A9", "values": [[1]]},
            "Range (Data!A9) exceeds grid limits. Max rows: 5, max columns: 5",
        ),
        ({"range": "Nope!A1", "values": [[1]]}, "Unable to parse range: Nope!A1"),
        (
            {"range": "Data!A1", "values": [["x" * 50_001]]},
            "Your input contains more than the maximum of 50000 characters in a single cell.",
        ),
    ],
)
def test_batch_update_writes_all_or_nothing(
    bench: Bench, second: dict[str, object], complaint: str
) -> None:
    """An invalid range gets 400 with the index in the batch, and nothing is written."""
    data = [{"range": "Data!A1", "values": [["x"]]}, second]
    body = {"valueInputOption": "RAW", "data": data}
    answer = bench.call("POST", "/v4/spreadsheets/book/values:batchUpdate", body)

    assert answer.status_code == 400
    assert message(answer) == f"Invalid data[1]: {complaint}"
    assert bench.grid("Data") == []


def test_batch_update_answers_values_if_its_body_requests_them(bench: Bench) -> None:
    """The options of values.batchUpdate are members of the body, not query parameters."""
    body = {
        "valueInputOption": "USER_ENTERED",
        "includeValuesInResponse": True,
        "responseValueRenderOption": "FORMULA",
        "data": [{"range": "Data!A1", "values": [["=1+1"]]}],
    }
    answer = bench.call("POST", "/v4/spreadsheets/book/values:batchUpdate", body).json()

    assert answer["responses"][0]["updatedData"]["values"] == [["=1+1"]]


def test_formulas_are_computed_once_for_all_ranges_of_a_batch(build: BenchBuilder) -> None:
    """A read of 400 ranges computes a chain of 2000 formulas once."""
    bench = build({"Data": "1\n" + "".join(f"=A{row}+1\n" for row in range(1, 2000))})
    path = "/v4/spreadsheets/book/values:batchGet?" + "&".join(["ranges=A2000"] * 400)
    answer = bench.call("GET", path).json()

    assert [each["values"] for each in answer["valueRanges"]] == [[["2000"]]] * 400


def test_clear_answers_the_cleared_range(bench: Bench) -> None:
    """values.clear clears only the range. The answer has the range limited to the grid."""
    bench.update("Data!A1", [["a", "b"], ["c", "d"]])
    answer = bench.call("POST", f"{values_path('Data!B1:Z')}:clear").json()

    assert answer == {"spreadsheetId": "book", "clearedRange": "Data!B1:E5"}
    assert bench.grid("Data") == [["a"], ["c"]]


def test_batch_clear_clears_all_or_nothing(bench: Bench) -> None:
    """An invalid range gets 400 with the index in the batch, and no range is cleared."""
    bench.update("Data!A1", [["a", "b", "c"]])
    path = "/v4/spreadsheets/book/values:batchClear"
    bad = bench.call("POST", path, {"ranges": ["Data!A1", "Data!A6:Z"]})
    kept = bench.grid("Data")
    good = bench.call("POST", path, {"ranges": ["Data!A1", "Data!C1"]})

    assert message(bad) == (
        "Invalid range[1]: Range (Data!A6:Z) exceeds grid limits. Max rows: 5, max columns: 5"
    )
    assert kept == [["a", "b", "c"]]
    assert good.json() == {"spreadsheetId": "book", "clearedRanges": ["Data!A1", "Data!C1"]}
    assert bench.grid("Data") == [["", "b"]]
