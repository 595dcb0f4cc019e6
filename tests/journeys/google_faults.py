"""Failures that Google can answer, and the error that the gateway gives for each."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

SECRET = "what a cell holds"
PAGE = "<!DOCTYPE html><title>Sorry...</title><p>We're sorry, something broke."
RETRY_AFTER = {5030: "60", 5041: "185"}
"""The `Retry-After` header of an error, by error code."""

Fault = Mapping[str, Any]


def google(status: int, word: str, message: str, reason: str | None = None) -> dict[str, Any]:
    """A fault with an error of Google's; the texts are recorded or reported ones."""
    error: dict[str, Any] = {"code": status, "message": message, "status": word}
    if reason is not None:
        kind = "type.googleapis.com/google.rpc.ErrorInfo"
        error["details"] = [{"@type": kind, "reason": reason, "domain": "googleapis.com"}]
    return {"status": status, "text": json.dumps({"error": error})}


OFFICE_FILE = google(
    400, "FAILED_PRECONDITION", "This operation is not supported for this document"
)
DISABLED = google(
    403,
    "PERMISSION_DENIED",
    "Google Sheets API has not been used in project 1234567890 before or it is disabled.",
    "SERVICE_DISABLED",
)
SPENT = google(403, "PERMISSION_DENIED", "Quota exceeded", "RATE_LIMIT_EXCEEDED")
REFUSED = google(400, "INVALID_ARGUMENT", f"Invalid value: {SECRET}")
FORBIDDEN = google(403, "PERMISSION_DENIED", "The caller does not have permission")
NOT_FOUND = google(404, "NOT_FOUND", "Requested entity was not found.")
REFUSED_WRITE = google(400, "INVALID_ARGUMENT", f"Invalid requests[1].appendCells: {SECRET}")
TRANSLATED = google(
    400,
    "INVALID_ARGUMENT",
    "Invalid requests[1].appendCells: Estás intentando editar una celda protegida.",
)

# The fault of a read, then status, code, whether to try again.
READ_FAULTS = [
    pytest.param({"status": 500}, 502, 5020, True, id="500"),
    pytest.param({"status": 502}, 502, 5020, True, id="502"),
    pytest.param({"status": 503}, 502, 5020, True, id="503"),
    pytest.param({"status": 503, "text": PAGE}, 502, 5020, True, id="503 as HTML"),
    pytest.param({"status": 200, "text": PAGE}, 502, 5020, True, id="200 as HTML"),
    pytest.param({"status": 200, "text": ""}, 502, 5020, True, id="200 and nothing"),
    pytest.param({"status": 200, "text": "[]"}, 502, 5020, True, id="another shape"),
    pytest.param({"status": 200, "text": "{}"}, 502, 5020, True, id="members missing"),
    pytest.param({"status": 200, "text": "[" * 100_000}, 502, 5020, True, id="nested deeply"),
    pytest.param(
        {"status": 200, "text": '{"range":"Cities!A1:D11","values":[[{}]]}'},
        502,
        5020,
        True,
        id="cell",
    ),
    pytest.param(
        {"status": 200, "text": '{"range":"?","values":[["a"]]}'}, 502, 5020, True, id="range"
    ),
    pytest.param({"truncate": 30}, 502, 5020, True, id="truncated"),
    pytest.param({"drop": True}, 502, 5020, True, id="dropped"),
    pytest.param(OFFICE_FILE, 422, 4221, False, id="Office file"),
    pytest.param(DISABLED, 502, 5022, False, id="API disabled"),
    pytest.param({"status": 401}, 502, 5022, False, id="401"),
    pytest.param(REFUSED, 502, 5020, False, id="refused"),
    pytest.param(FORBIDDEN, 403, 101, False, id="not shared"),
    pytest.param(NOT_FOUND, 404, 101, False, id="not found"),
    pytest.param({"status": 429}, 503, 5030, True, id="429"),
    pytest.param({"status": 429, "text": PAGE}, 503, 5030, True, id="429 as HTML"),
    pytest.param(SPENT, 503, 5030, True, id="quota as 403"),
]

# The fault of a write that Google surely did not do, then status, code.
REFUSALS = [
    pytest.param(OFFICE_FILE, 422, 4221, id="Office file"),
    pytest.param(DISABLED, 502, 5022, id="API disabled"),
    pytest.param({"status": 401}, 502, 5022, id="401"),
    pytest.param(REFUSED_WRITE, 502, 5020, id="refused"),
    pytest.param(TRANSLATED, 502, 5020, id="refused in Spanish"),
    pytest.param(FORBIDDEN, 403, 101, id="not shared"),
    pytest.param(NOT_FOUND, 404, 101, id="not found"),
    pytest.param({"status": 429}, 503, 5030, id="429"),
    pytest.param({"status": 429, "text": PAGE}, 503, 5030, id="429 as HTML"),
    pytest.param(SPENT, 503, 5030, id="quota as 403"),
]

# The fault of a write that Google may have done.
OPEN_ENDS = [
    pytest.param({"status": 500}, id="500"),
    pytest.param({"status": 503}, id="503"),
    pytest.param({"status": 500, "text": PAGE}, id="500 as HTML"),
    pytest.param({"status": 200, "text": PAGE}, id="200 as HTML"),
    pytest.param({"status": 200, "text": ""}, id="200 and nothing"),
    pytest.param({"status": 200, "text": "{}"}, id="members missing"),
    pytest.param({"truncate": 0}, id="truncated at once"),
    pytest.param({"truncate": 30}, id="truncated"),
    pytest.param({"drop": True}, id="dropped"),
]
