"""Values in requests that write cells: how values are parsed, and which values are errors."""

from typing import Any

import pytest
from httpx2 import Response

from tests.sheets_emulator.bench import Bench, message, values_path
from tests.sheets_emulator.requests_of import grid_range

STRUCT = {"k": "v"}
STRUCT_TEXT = """struct_value {
  fields {
    key: "k"
    value {
      string_value: "v"
    }
  }
}
"""


def batch_update(bench: Bench, data: list[dict[str, Any]]) -> Response:
    """The answer of a values.batchUpdate with USER_ENTERED."""
    body = {"valueInputOption": "USER_ENTERED", "data": data}
    return bench.call("POST", "/v4/spreadsheets/book/values:batchUpdate", body)


def test_object_as_a_cell_value_is_quoted_in_the_error(bench: Bench) -> None:
    """A 400 has the index of the invalid value within the sent lists, and the value."""
    body = {"majorDimension": "COLUMNS", "values": [["x"], ["y", STRUCT]]}
    answer = bench.call("PUT", values_path("Data!A1"), body, valueInputOption="RAW")

    assert answer.status_code == 400
    assert message(answer) == f"Invalid values[1][1]: {STRUCT_TEXT}"


def test_object_as_a_cell_value_is_located_in_the_batch(bench: Bench) -> None:
    """A 400 has the index of the range in the batch, and nothing is written."""
    data = [{"range": "Data!A1", "values": [[each]]} for each in ("x", STRUCT)]
    answer = batch_update(bench, data)

    assert answer.status_code == 400
    assert message(answer) == f"Invalid data[1]: Invalid values[0][0]: {STRUCT_TEXT}"
    assert bench.grid("Data") == []


def test_number_too_large_for_a_float_is_an_invalid_payload(bench: Bench) -> None:
    """A number too large for a float gets 400 as an invalid JSON payload."""
    answer = batch_update(bench, [{"range": "Data!A1", "values": [[10**400]]}])

    assert answer.status_code == 400
    assert message(answer).startswith("Invalid JSON payload received.")


@pytest.mark.parametrize(
    ("call", "body"),
    [
        ("batchUpdate", {"valueInputOption": "RAW", "data": []}),
        ("batchClear", {"ranges": []}),
    ],
)
def test_empty_batch_answers_without_a_list(bench: Bench, call: str, body: dict[str, Any]) -> None:
    """The answer to an empty batch has only the spreadsheet id, without an empty list."""
    answer = bench.call("POST", f"/v4/spreadsheets/book/values:{call}", body)

    assert answer.json() == {"spreadsheetId": "book"}


def test_text_typed_into_a_plain_text_cell_stays_text(bench: Bench) -> None:
    """A cell with the format plain text stores digits and formulas as text."""
    style = {"userEnteredFormat": {"numberFormat": {"type": "TEXT"}}}
    request = {"range": grid_range(0, 0, 5, 1), "cell": style, "fields": "userEnteredFormat"}
    bench.edit({"repeatCell": request})
    bench.update("Data!A1", [["00123", "00123"], [7, 7]], "USER_ENTERED")
    bench.append("Data!A1", [["=1+1", "=1+1"]], valueInputOption="USER_ENTERED")

    assert bench.grid("Data", valueRenderOption="UNFORMATTED_VALUE") == [
        ["00123", 123],
        [7, 7],
        ["=1+1", 2],
    ]


@pytest.mark.parametrize(
    ("text", "formula", "shown", "value"),
    [
        pytest.param("+A2", "=+A2", "4", 4, id="reference"),
        pytest.param("+5", 5, "5", 5, id="number"),
        pytest.param(
            "+1 555", "=+1 555", "#ERROR!", "#ERROR! (Formula parse error.)", id="phone number"
        ),
        pytest.param("-A2", "-A2", "-A2", "-A2", id="minus"),
    ],
)
def test_plus_starts_a_formula(
    bench: Bench, text: str, formula: object, shown: str, value: object
) -> None:
    """A text after a plus is evaluated as a formula, unless the whole text is a number."""
    bench.update("Data!A1", [[text], [4]], "USER_ENTERED")
    options = ("FORMULA", "FORMATTED_VALUE", "UNFORMATTED_VALUE")

    assert [bench.grid("Data!A1", valueRenderOption=each)[0][0] for each in options] == [
        formula,
        shown,
        value,
    ]
