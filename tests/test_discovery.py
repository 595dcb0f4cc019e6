"""Tests of the check with Google's discovery document: recordings pass, planted mistakes do not."""

import json
from typing import Any

import pytest

from tests.discovery import all_problems, find_method, problems, request_problems
from tests.exchanges import Exchange
from tests.recordings import EXCHANGES, needs_exchanges

BOOK = "/v4/spreadsheets/book"
RANGE = f"{BOOK}/values/%27Data%27%21A1%3AB2"
VALUES = {"range": "Data!A1:B2", "majorDimension": "ROWS", "values": [["a", 1.5], [], [True]]}
UPDATED = {"spreadsheetId": "book", "updatedRange": "Data!A1", "updatedRows": 1}
DATA = {"requests": [{"updateSheetProperties": {"properties": {"title": "x"}, "fields": "title"}}]}


def encoded(body: object) -> bytes:
    if body is None:
        return b""
    return body if isinstance(body, bytes) else json.dumps(body).encode()


def read(answer: object = VALUES, query: str = "", **options: Any) -> Exchange:
    """Return an exchange of values.get."""
    return Exchange(
        **{"method": "GET", "raw_path": RANGE, "query": query, "answer": encoded(answer)} | options
    )


def write(
    body: object, answer: object = UPDATED, query: str = "valueInputOption=RAW", status: int = 200
) -> Exchange:
    """Return an exchange of values.update."""
    return Exchange(
        method="PUT",
        raw_path=RANGE,
        query=query,
        body=encoded(body),
        status=status,
        answer=encoded(answer),
    )


def edit(body: object, answer: object | None = None, status: int = 200) -> Exchange:
    """Return an exchange of spreadsheets.batchUpdate."""
    return Exchange(
        method="POST",
        raw_path=f"{BOOK}:batchUpdate",
        body=encoded(body),
        status=status,
        answer=encoded(answer or {"spreadsheetId": "book", "replies": [{}]}),
    )


def book(answer: object, query: str = "") -> Exchange:
    """Return an exchange of spreadsheets.get."""
    return Exchange(method="GET", raw_path=BOOK, query=query, answer=encoded(answer))


def refused(answered: int = 400, /, **changes: object) -> Exchange:
    """Return a read that got an error, with changed members; None removes a member."""
    words = {400: "INVALID_ARGUMENT", 404: "NOT_FOUND", 501: "UNIMPLEMENTED"}
    error = {"code": answered, "message": "No.", "status": words[answered]} | changes
    kept = {name: value for name, value in error.items() if value is not None}
    return read({"error": kept}, status=answered)


def sized(**grid: object) -> dict[str, object]:
    return {"sheets": [{"properties": {"gridProperties": grid}}]}


SOUND = {
    "read": read(),
    "read of nothing": read({"range": "Data!A1:B2", "majorDimension": "ROWS"}),
    "read of a part": read({"values": [["a"]]}, "fields=values"),
    "write": write({"values": [["a", 1, None, True]], "majorDimension": None}),
    "write in snake_case": write({"major_dimension": "ROWS"}, query="value_input_option=RAW"),
    "edit": edit(DATA),
    "lone item for a list": edit({"requests": DATA["requests"][0]}),
    "number as text": edit({"requests": [{"deleteSheet": {"sheetId": "5"}}]}),
    "integer with a fraction of 0": edit({"requests": [{"deleteSheet": {"sheetId": 5.0}}]}),
    "boolean in any case": book({"spreadsheetId": "book"}, "includeGridData=False"),
    "repeated parameter": book({"spreadsheetId": "book"}, "ranges=A1&ranges=B2"),
    "mask with brackets": book(sized(rowCount=1), "fields=sheets(properties/gridProperties(*))"),
    "mask of two paths": book({"sheets": [{}]}, "fields=sheets.data,spreadsheetId,sheets.merges"),
    "mask of a whole and a part": book(sized(rowCount=1), "fields=sheets,sheets.data.startRow"),
    "map with any names": book(
        {"sheets": [{"basicFilter": {"criteria": {"3": {"hiddenValues": ["x"]}}}}]}
    ),
    "number that is not finite": book(
        {
            "sheets": [
                {
                    "data": [
                        {"rowData": [{"values": [{"userEnteredValue": {"numberValue": "NaN"}}]}]}
                    ]
                }
            ]
        }
    ),
    "refusal": refused(),
    "refusal with details": refused(details=[{"@type": "type.googleapis.com/google.rpc.Help"}]),
    "refusal of what may be valid": edit(DATA, json.loads(refused(404).answer), status=404),
    "not implemented": refused(501),
    "refused parameter": read(json.loads(refused().answer), "colour=red", status=400),
    "page for no method": Exchange(
        method="PATCH", raw_path=BOOK, status=404, answer=b"<!DOCTYPE html>", is_page=True
    ),
}

PLANTED = {
    # answers
    "unknown member": (read({**VALUES, "extra": 1}), "extra"),
    "snake_case member": (read({"major_dimension": "ROWS"}), "major_dimension"),
    "null": (read({"range": None}), "$.range: None"),
    "wrong enumeration": (read({"majorDimension": "DIAGONAL"}), "DIAGONAL"),
    "row that is none": (read({"values": [["a"], "b"]}), "$.values[1]"),
    "cell that is null": (read({"values": [["a", None]]}), "$.values[0][1]"),
    "cell that is an object": (read({"values": [[{}]]}), "$.values[0][0]"),
    "bad row behind 10,000": (read({"values": [["a"]] * 10_000 + [[[]]]}), "$.values[10000][0]"),
    "count as text": (write({}, {"updatedRows": "1"}), "$.updatedRows"),
    "count with a fraction of 0": (write({}, {"updatedRows": 1.0}), "$.updatedRows"),
    "count that is true": (write({}, {"updatedRows": True}), "$.updatedRows"),
    "count beyond 32 bits": (write({}, {"updatedRows": 2**31}), "$.updatedRows"),
    "deep inside": (book(sized(rowCount="5")), "gridProperties.rowCount"),
    "colour as text": (
        book({"sheets": [{"properties": {"tabColor": {"red": "1"}}}]}),
        "tabColor.red",
    ),
    "reply of another kind": (
        edit(DATA, {"replies": [{"updateSheetProperties": {}}]}),
        "replies[0]",
    ),
    "list for an object": (read([]), "[] is not of type 'object'"),
    "answer that is no JSON": (read(b"{"), "the answer is no JSON"),
    "NaN": (read(b'{"values": [[NaN]]}'), "NaN is no JSON"),
    "page for a read": (read(b"<p>", is_page=True), "is a page"),
    "outside the mask": (read(VALUES, "fields=values"), "answer $.range: outside the field mask"),
    "deep outside the mask": (
        book(sized(rowCount=1), "fields=sheets.properties(title,gridProperties.columnCount)"),
        "gridProperties.rowCount: outside",
    ),
    "JSON where bytes were asked for": (read(VALUES, "alt=proto"), "alt=proto"),
    # requests
    "unknown parameter": (read(VALUES, "colour=red"), "no parameter 'colour'"),
    "parameter of another method": (read(VALUES, "valueInputOption=RAW"), "valueInputOption"),
    "parameter of no such value": (read(VALUES, "majorDimension=ROW"), "majorDimension"),
    "parameter that is no boolean": (book({}, "includeGridData=maybe"), "includeGridData"),
    "parameter that comes twice": (
        read(VALUES, "majorDimension=ROWS&major_dimension=ROWS"),
        "twice",
    ),
    "mask of nothing there": (book({}, "fields=sheets.sheetProperties"), "sheets.sheetProperties"),
    "mask inside a text": (book({}, "fields=spreadsheetId.x"), "spreadsheetId.x"),
    "mask with an open bracket": (book({}, "fields=sheets(data"), "malformed"),
    "mask with another sign": (book({}, "fields=sheets;data"), "malformed"),
    "body of a read": (read(body=b"{}"), "takes no body"),
    "body that is no JSON": (write(b"{"), "the body is no JSON"),
    "body nested deeply": (write(b"[" * 100_000), "the body is no JSON"),
    "body that is a list": (write([]), "the body is no object"),
    "unknown member of a body": (write({"value": []}), "'value' was unexpected"),
    "values that are a text": (write({"values": "x"}), "$.values"),
    "cell that is a list": (write({"values": [[["x"]]]}), "$.values[0][0]"),
    "unknown request": (edit({"requests": [{"addShet": {}}]}), "addShet"),
    "text for a number": (edit({"requests": [{"deleteSheet": {"sheetId": "x"}}]}), "sheetId"),
    "fraction for an integer": (edit({"requests": [{"deleteSheet": {"sheetId": 1.5}}]}), "sheetId"),
    "request of no such enumeration": (
        edit({"requests": [{"deleteDimension": {"range": {"dimension": "ROW"}}}]}),
        "dimension",
    ),
    "mask that is a list": (
        edit({"requests": [{"updateSheetProperties": {"fields": ["title"]}}]}),
        "fields",
    ),
    "missing method": (Exchange(method="DELETE", raw_path=BOOK, answer=b"{}"), "no such method"),
    "invalid and moved": (write({"value": []}, status=409), "'value' was unexpected"),
    # errors
    "other code": (refused(code=500), "the code 500"),
    "code as text": (refused(code="400"), "the code '400'"),
    "no message": (refused(message=None), "members"),
    "empty message": (refused(message=""), "no message"),
    "unknown word": (refused(status="BAD"), "the status 'BAD'"),
    "word of another code": (refused(404, status="INTERNAL"), "the status 'INTERNAL'"),
    "more members": (refused(hint="x"), "members"),
    "details without a type": (refused(details=[{"reason": "x"}]), "@type"),
    "details that are an object": (refused(details={}), "@type"),
    "error as text": (read({"error": "no"}, status=400), "one object called error"),
    "error that is no JSON": (read(b"no", status=400), "the error is no JSON"),
    "page for a refused read": (read(b"<p>", status=400, is_page=True), "with a page"),
    "500 for a missing method": (
        Exchange(method="DELETE", raw_path=BOOK, status=500, is_page=True),
        "answered 500",
    ),
    "status of another kind": (read(status=204), "204"),
}


def recorded() -> list[Exchange]:
    """Return the recorded exchanges with Google."""
    found = [json.loads(line) for line in EXCHANGES.read_text("utf-8").splitlines()]
    return [
        Exchange(
            method=each["method"],
            raw_path=each["path"].partition("?")[0],
            query=each["path"].partition("?")[2],
            body=encoded(each["request_body"]),
            status=each["status"],
            answer=encoded(each["response_body"]),
        )
        for each in found
    ]


@needs_exchanges
def test_recorded_exchanges_have_no_problems() -> None:
    """Every recorded exchange with Google passes the check."""
    exchanges = recorded()

    assert len(exchanges) > 800
    assert all_problems(exchanges) == []


@pytest.mark.parametrize("name", SOUND)
def test_valid_exchanges_have_no_problems(name: str) -> None:
    """Each notation of a request that Google accepts, and each valid answer or error, passes."""
    assert problems(SOUND[name]) == []


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_found(name: str) -> None:
    """A planted mistake in an answer, or in a request that got no error, is reported."""
    exchange, words = PLANTED[name]
    found = problems(exchange)

    assert len(found) >= 1
    assert all(each.startswith(f"{exchange.method} {exchange.raw_path}") for each in found)
    assert any(words in each for each in found), found


def test_a_rejected_request_is_checked_alone() -> None:
    """An invalid request that got an error is not a problem, but `request_problems` reports it."""
    exchange = write({"value": []}, json.loads(refused().answer), status=400)

    assert problems(exchange) == []
    assert len(request_problems(exchange)) == 1


@pytest.mark.parametrize(
    ("verb", "path", "name"),
    [
        pytest.param("POST", "", "create", id="create"),
        pytest.param("GET", "/book", "get", id="get"),
        pytest.param("POST", "/book:batchUpdate", "batchUpdate", id="batchUpdate"),
        pytest.param("GET", "/book/values/A%2FB%21A1:B2", "values.get", id="range"),
        pytest.param("GET", "/book/values/x:append", "values.get", id="title like a verb"),
        pytest.param("POST", "/book/values/x:y:append", "values.append", id="append"),
        pytest.param("POST", "/book/values/x:clear", "values.clear", id="clear"),
        pytest.param("GET", "/book/values:batchGet", "values.batchGet", id="batchGet"),
        pytest.param("POST", "/book/sheets/7:copyTo", "sheets.copyTo", id="number in the path"),
        pytest.param("POST", "/book/sheets/x:copyTo", None, id="text for a number"),
        pytest.param("GET", "/book/values/A/B", None, id="two ranges"),
        pytest.param("GET", "/book/values/", None, id="no range"),
        pytest.param("POST", "/book/values/x", None, id="no verb"),
        pytest.param("GET", "", None, id="all spreadsheets"),
        pytest.param("GET", "/book:batchUpdate", None, id="another HTTP method"),
    ],
)
def test_the_method_is_found_by_the_path_as_sent(verb: str, path: str, name: str | None) -> None:
    """Paths are matched before decoding, so that `%2F` and `:` in a title find the right method."""
    method = find_method(verb, f"/v4/spreadsheets{path}")

    assert (method and method.name) == (name and f"sheets.spreadsheets.{name}")
