"""The emulator's errors compared with recorded errors of Google."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from httpx2 import Response

from tests.recordings import ERRORS, needs_errors
from tests.sheets_emulator.bench import Bench, values_path
from tests.sheets_emulator.requests_of import properties_of

NOT_EMULATED = {"office_file"}
"""Names of recorded errors about Office files, which the emulator does not have."""


def made(bench: Bench, title: str, rows: int, columns: int) -> str:
    """The path of a new spreadsheet that has one worksheet with this title and size."""
    grid = {"rowCount": rows, "columnCount": columns}
    body = {"sheets": [{"properties": {"title": title, "gridProperties": grid}}]}
    created = bench.call("POST", "/v4/spreadsheets", body).json()
    return f"/v4/spreadsheets/{created['spreadsheetId']}"


def batch_update(bench: Bench, book: str, text: str) -> Response:
    """The answer to a values.batchUpdate of one cell."""
    data = [{"range": text, "values": [["x"]]}]
    body = {"valueInputOption": "RAW", "data": data}
    return bench.call("POST", f"{book}/values:batchUpdate", body)


def faulty(bench: Bench, status: int, path: str, method: str = "GET") -> Response:
    """The answer to a call that a fault with this status answers."""
    bench.fault({"call": "*", "status": status})
    return bench.call(method, path)


def not_found(bench: Bench) -> Response:
    return bench.call("GET", "/v4/spreadsheets/none")


def forbidden(bench: Bench) -> Response:
    return bench.call("GET", "/v4/spreadsheets/closed")


def service_disabled(bench: Bench) -> Response:
    bench.client.post("/_emulator/projects/emulator/disable")
    return bench.call("GET", values_path("Data"))


def bad_range(bench: Bench) -> Response:
    return bench.call("GET", values_path("NOPE!A5:F15"))


def bad_value_type(bench: Bench) -> Response:
    return bench.call("PUT", values_path("Data"), {"values": "X"}, valueInputOption="RAW")


def bad_fields_mask(bench: Bench) -> Response:
    return bench.call("GET", "/v4/spreadsheets/book", fields="sheets.sheetProperties")


def quota_read(bench: Bench) -> Response:
    return faulty(bench, 429, values_path("Data"))


def quota_write(bench: Bench) -> Response:
    return faulty(bench, 429, f"{values_path('Data')}:clear", "POST")


def unauthenticated(bench: Bench) -> Response:
    return bench.client.get(values_path("Data"))


def hide_all(bench: Bench) -> Response:
    return bench.edit(properties_of("hidden", sheetId=0, hidden=True))


def empty_title(bench: Bench) -> Response:
    return bench.edit(properties_of("*", sheetId=0))


def beyond_grid(bench: Bench) -> Response:
    return bench.call("GET", f"{made(bench, 'Solar', 981, 24)}/values/Solar!Y1")


def beyond_grid_values_batch_update(bench: Bench) -> Response:
    return batch_update(bench, made(bench, "Raw", 19765, 23), "Raw!A19766")


def beyond_grid_batch_clear(bench: Bench) -> Response:
    book = made(bench, "FORENSIC_LIVE", 220, 18)
    body = {"ranges": ["FORENSIC_LIVE!A221:ZZ"]}
    return bench.call("POST", f"{book}/values:batchClear", body)


def outside_given_range(bench: Bench) -> Response:
    path = f"{made(bench, 'Servers', 1000, 26)}/values/Servers!A3:L113"
    return bench.call("PUT", path, {"values": [["x"] * 13]}, valueInputOption="RAW")


def cell_too_long(bench: Bench) -> Response:
    return bench.update("Data!A1", [["x" * 50_001]])


def workbook_full(bench: Bench) -> Response:
    path = f"{made(bench, 'Full', 10_000_000, 1)}/values/Full!A1:append"
    return bench.call("POST", path, {"values": [["x", "y"]]}, valueInputOption="RAW")


def unavailable(bench: Bench) -> Response:
    return faulty(bench, 503, values_path("Data"))


def protected(bench: Bench) -> Response:
    bench.owner_edits({"addProtectedRange": {"protectedRange": {"range": {"sheetId": 0}}}})
    return batch_update(bench, "/v4/spreadsheets/book", "Data!A1")


EMULATED: Mapping[str, Callable[[Bench], Response]] = {
    "not_found": not_found,
    "forbidden": forbidden,
    "service_disabled": service_disabled,
    "bad_range": bad_range,
    "bad_value_type": bad_value_type,
    "bad_fields_mask": bad_fields_mask,
    "quota_read": quota_read,
    "quota_write": quota_write,
    "unauthenticated": unauthenticated,
    "hide_all": hide_all,
    "empty_title": empty_title,
    "beyond_grid": beyond_grid,
    "beyond_grid_values_batchUpdate": beyond_grid_values_batch_update,
    "beyond_grid_batchClear": beyond_grid_batch_clear,
    "outside_given_range": outside_given_range,
    "cell_too_long": cell_too_long,
    "workbook_full": workbook_full,
    "unavailable": unavailable,
    "protected": protected,
}


def recorded() -> dict[str, dict[str, Any]]:
    """The recorded errors by name, with the project number of the emulator."""
    text = re.sub(r"\b1234567890\b", "123456789012", ERRORS.read_text("utf-8"))
    return {each["name"]: each for each in json.loads(text)}


def essence(body: dict[str, Any]) -> dict[str, Any]:
    """The members of an error that clients use: code, status, message, reasons and violations."""
    error = body["error"]
    details = error.get("details", [])
    return {
        "members": set(error),
        "code": error["code"],
        "status": error["status"],
        "message": error["message"],
        "reasons": [each["reason"] for each in details if "reason" in each],
        "violations": [each["fieldViolations"] for each in details if "fieldViolations" in each],
    }


@needs_errors
def test_recorded_errors_are_emulated() -> None:
    """Each recorded error has a function that causes the error, except those in `NOT_EMULATED`."""
    assert set(recorded()) == set(EMULATED) | NOT_EMULATED


@needs_errors
@pytest.mark.parametrize("name", EMULATED)
def test_error_equals_the_recorded_error_of_google(bench: Bench, name: str) -> None:
    """Status, headers, message, reasons and violations equal the recording."""
    wanted = recorded()[name]
    answer = EMULATED[name](bench)
    headers = {header: answer.headers.get(header) for header in wanted.get("headers", {})}

    assert answer.status_code == wanted["status"]
    assert essence(answer.json()) == essence(wanted["body"])
    assert headers == wanted.get("headers", {})


@needs_errors
@pytest.mark.parametrize("name", ["quota_read", "quota_write"])
def test_quota_errors_equal_the_recorded_ones(bench: Bench, name: str) -> None:
    """The 429 bodies for reads and for writes equal the recorded bodies of Google exactly."""
    assert EMULATED[name](bench).json() == recorded()[name]["body"]
