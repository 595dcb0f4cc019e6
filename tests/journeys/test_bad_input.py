"""Bodies that are refused: with the right code and place, and nothing written."""

import json
from typing import Any

import pytest

from tests.journeys.conftest import Api
from tests.journeys.failure import refused
from tests.journeys.raw import send_raw

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
WRITES = [("POST", "Cities"), ("POST", "Cities/2"), ("PUT", "Cities/2"), ("PATCH", "Cities/2")]


def text(value: Any) -> bytes:
    return json.dumps(value).encode()


# Body, its type, and the pointers to what is wrong; none of them needs a look at the sheet.
BODIES = [
    pytest.param(b'{"population": NaN}', JSON, ["#/population"], id="NaN"),
    pytest.param(b'{"population": Infinity}', JSON, ["#/population"], id="Infinity"),
    pytest.param(b'{"population": -Infinity}', JSON, ["#/population"], id="-Infinity"),
    pytest.param(b'{"population": 1e999}', JSON, ["#/population"], id="1e999"),
    pytest.param(b'{"population": -1e999}', JSON, ["#/population"], id="-1e999"),
    pytest.param(
        b'{"population": ' + b"9" * 5000 + b"}", JSON, ["#/population"], id="5,000 digits"
    ),
    pytest.param(
        b'{"population": 9007199254740993}', JSON, ["#/population"], id="integer beyond 2^53"
    ),
    pytest.param(
        b'{"population": -9007199254740993}', JSON, ["#/population"], id="integer below -2^53"
    ),
    pytest.param(b'{"name": "\\ud800"}', JSON, ["#/name"], id="high surrogate"),
    pytest.param(b'{"name": "a\\udc00b"}', JSON, ["#/name"], id="low surrogate"),
    pytest.param(b'{"\\ud800": "x"}', JSON, ["#/%3F"], id="surrogate in a name"),
    pytest.param(b'{"name": "\xed\xa0\x80"}', JSON, ["#"], id="surrogate in UTF-8"),
    pytest.param(b'{"name": "\xff"}', JSON, ["#"], id="not UTF-8"),
    pytest.param('{"name": "x"}'.encode("utf-16"), JSON, ["#"], id="UTF-16"),
    pytest.param('{"name": "x"}'.encode("utf-16-le"), JSON, ["#"], id="UTF-16 without a mark"),
    pytest.param(b'\xef\xbb\xbf{"name": "x"}', JSON, ["#"], id="byte order mark"),
    pytest.param(b'{"name": "x", "name": "y"}', JSON, ["#/name"], id="name twice"),
    pytest.param(b'{"name": "x", "name": "x"}', JSON, ["#/name"], id="the same twice"),
    pytest.param(b'{"name": null, "\\u006eame": "y"}', JSON, ["#/name"], id="name twice, escaped"),
    pytest.param(b'{"name": ' + b"[" * 100_000, JSON, ["#"], id="lists nested 100,000 deep"),
    pytest.param(b'{"a":' * 100_000, JSON, ["#"], id="objects nested 100,000 deep"),
    pytest.param(
        b'{"name": ' + b"[" * 500 + b"]" * 500 + b"}", JSON, ["#/name"], id="lists nested 500 deep"
    ),
    pytest.param(text({"name": {"first": "x"}}), JSON, ["#/name"], id="an object as a value"),
    pytest.param(text({"name": {}}), JSON, ["#/name"], id="an empty object as a value"),
    pytest.param(text({"name": ["x"]}), JSON, ["#/name"], id="a list as a value"),
    pytest.param(text({"name": []}), JSON, ["#/name"], id="an empty list as a value"),
    pytest.param(text({"name": [], "state": {}}), JSON, ["#/name", "#/state"], id="two places"),
    pytest.param(text({"a/b~c d": []}), JSON, ["#/a~1b~0c%20d"], id="escapes in the pointer"),
    pytest.param(text({"größe": []}), JSON, ["#/gr%C3%B6%C3%9Fe"], id="pointer not ASCII"),
    pytest.param(text({"name": "x" * 50_001}), JSON, ["#/name"], id="50,001 characters"),
    pytest.param(text({f"f{n}": n for n in range(1001)}), JSON, ["#"], id="1,001 fields"),
    pytest.param(text([]), JSON, ["#"], id="an empty list"),
    pytest.param(text("name"), JSON, ["#"], id="a string"),
    pytest.param(text(1), JSON, ["#"], id="a number"),
    pytest.param(text(None), JSON, ["#"], id="null"),
    pytest.param(b"", JSON, ["#"], id="empty"),
    pytest.param(b" \r\n\t ", JSON, ["#"], id="blanks"),
    pytest.param(b"{}", JSON, ["#"], id="no field"),
    pytest.param(b"{", JSON, ["#"], id="cut"),
    pytest.param(b'{"name": "x"', JSON, ["#"], id="not closed"),
    pytest.param(b'{"name": "x"}}', JSON, ["#"], id="more after it"),
    pytest.param(b'{"name": "x",}', JSON, ["#"], id="comma at the end"),
    pytest.param(b'{"name": "x" /* y */}', JSON, ["#"], id="comment"),
    pytest.param(b'{"name": "a\nb"}', JSON, ["#"], id="control character"),
    pytest.param(b'{"name": 007}', JSON, ["#"], id="leading zeros"),
    pytest.param(b'{"name": undefined}', JSON, ["#"], id="undefined"),
    pytest.param(text({"rowIndex": 5}), JSON, ["#"], id="only rowIndex"),
    pytest.param(text({"apiKey": "x", "spreadsheetId": "y"}), JSON, ["#"], id="only credentials"),
    pytest.param(b"\x00" * 100, JSON, ["#"], id="NULs"),
    pytest.param(b"name=x", JSON, ["#"], id="a form called JSON"),
    pytest.param(b'{"name": NaN}', "text/plain", ["#/name"], id="NaN as text"),
    pytest.param(b'{"name": []}', FORM, ["#/name"], id="JSON called a form"),
    pytest.param(b"name", "text/plain", ["#"], id="text"),
    pytest.param(b"", "", ["#"], id="no body, no type"),
    pytest.param(b"", FORM, ["#"], id="empty form"),
    pytest.param(b"name=%ff", FORM, ["#"], id="form not UTF-8"),
    pytest.param(b"name=x&name=y", FORM, ["#/name"], id="name twice in a form"),
    pytest.param(b"rowIndex=5&apiKey=x", FORM, ["#"], id="form without a field"),
    pytest.param(b"&".join([b"a=1"] * 1001), FORM, ["#"], id="1,001 fields of a form"),
]

# Body, the pointers to its unknown fields, and their names as the message has them.
UNKNOWN = [
    pytest.param({"nope": 1}, ["#/nope"], id="alone"),
    pytest.param({"name": "x", "nope": 1}, ["#/nope"], id="beside a known one"),
    pytest.param({"nope": None, "name": "x"}, ["#/nope"], id="null"),
    pytest.param({"a": 1, "name": "x", "b": 2}, ["#/a", "#/b"], id="two"),
    pytest.param({"__proto__": 1}, ["#/__proto__"], id="__proto__"),
    pytest.param({"constructor": 1}, ["#/constructor"], id="constructor"),
    pytest.param({"NAME": "x"}, ["#/NAME"], id="another case"),
    pytest.param({"na me": "x"}, ["#/na%20me"], id="blank inside"),
    pytest.param({"": "x"}, ["#/"], id="empty"),
    pytest.param({" ": "x"}, ["#/%20"], id="blank"),
    pytest.param({"a/b~c": "x"}, ["#/a~1b~0c"], id="escaped"),
    pytest.param({"A": "x"}, ["#/A"], id="a column's letter"),
    pytest.param({"0": "x"}, ["#/0"], id="a column's number"),
]

UNSUPPORTED = [
    pytest.param({"Content-Type": "text/xml"}, b"<name>x</name>", id="XML"),
    pytest.param({"Content-Type": "text/csv"}, b"name\nx", id="CSV"),
    pytest.param({"Content-Type": "multipart/form-data; boundary=b"}, b"--b--", id="multipart"),
    pytest.param({"Content-Type": "application/octet-stream"}, b"\x00", id="bytes"),
    pytest.param({"Content-Type": "nonsense"}, b"x", id="no type"),
    pytest.param({"Content-Type": JSON, "Content-Encoding": "gzip"}, b'{"name":"x"}', id="gzip"),
    pytest.param({"Content-Type": JSON, "Content-Encoding": "br"}, b'{"name":"x"}', id="br"),
    pytest.param({"Content-Type": JSON, "Content-Encoding": "GZIP, x"}, b"{}", id="encodings"),
]


@pytest.mark.parametrize(("body", "content_type", "pointers"), BODIES)
def test_a_body_that_is_not_right_is_refused(
    shared_api: Api, body: bytes, content_type: str, pointers: list[str]
) -> None:
    """The error points at every wrong place; nothing is asked of Google, nothing is written."""
    before = shared_api.emulator.everything()
    headers = {"Content-Type": content_type} if content_type else {}

    answers = [
        shared_api.send(method, path, content=body, headers=headers) for method, path in WRITES
    ]

    for answer in answers:
        assert refused(answer) == (400, 104)
        assert [problem["pointer"] for problem in answer.json()["errors"]] == pointers
        assert answer.json()["outcome"] == "not_applied"
    assert shared_api.emulator.stats()["calls"] == {}
    assert shared_api.emulator.everything() == before


@pytest.mark.parametrize(("body", "pointers"), UNKNOWN)
def test_a_field_that_is_no_header_is_refused(
    shared_api: Api, body: dict[str, Any], pointers: list[str]
) -> None:
    """The error names the fields there are; it costs a look at the header at most, no write."""
    before = shared_api.emulator.everything()

    answers = [shared_api.send(method, path, json=body) for method, path in WRITES]

    for answer in answers:
        assert refused(answer) == (400, 104)
        assert [problem["pointer"] for problem in answer.json()["errors"]] == pointers
        assert '"name", "state", "country", "population"' in answer.json()["message"]
    reads, writes = shared_api.emulator.calls()
    assert reads <= len(WRITES)
    assert writes == 0
    assert shared_api.emulator.everything() == before


@pytest.mark.parametrize(
    ("worksheet", "body"),
    [
        ("BlankHeader", {"": "x"}),
        ("BlankFirst", {"": "x", "name": "y"}),
        ("RowIndex", {"rowIndex": "7"}),
        ("Spaced", {"na me": "x"}),
        ("Spaced", {" name ": "x", "name": "y"}),
    ],
    ids=["blank header", "blank first header", "rowIndex", "blank inside", "one column twice"],
)
def test_a_header_trap_is_refused(shared_api: Api, worksheet: str, body: dict[str, str]) -> None:
    """Columns without a name, and one called rowIndex, are not written by any name."""
    before = shared_api.emulator.everything()

    answers = [
        shared_api.post(worksheet, json=body),
        shared_api.send("PUT", f"{worksheet}/2", json=body),
    ]

    assert [refused(answer) for answer in answers] == [(400, 104)] * 2
    assert shared_api.emulator.calls()[1] == 0
    assert shared_api.emulator.everything() == before


@pytest.mark.parametrize(
    "body", [{"name": None}, {"name": ""}, {"name": "", "state": None}], ids=["null", "''", "both"]
)
def test_a_new_row_without_a_value_is_refused(shared_api: Api, body: dict[str, Any]) -> None:
    """A row of empty cells would not be there; to empty cells of a row that is there is fine."""
    before = shared_api.emulator.everything()

    answer = shared_api.post("Cities", json=body)

    assert refused(answer) == (400, 104)
    assert shared_api.emulator.calls()[1] == 0
    assert shared_api.emulator.everything() == before


@pytest.mark.parametrize(("headers", "body"), UNSUPPORTED)
def test_a_body_of_another_kind_is_refused(
    shared_api: Api, headers: dict[str, str], body: bytes
) -> None:
    """Neither JSON nor a form, or packed: 415, without a call."""
    before = shared_api.emulator.everything()

    answers = [
        shared_api.send(method, path, content=body, headers=headers) for method, path in WRITES
    ]

    assert [refused(answer) for answer in answers] == [(415, 4150)] * len(WRITES)
    assert shared_api.emulator.stats()["calls"] == {}
    assert shared_api.emulator.everything() == before


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json; charset=utf-8", b'{"name":"x"}'),
        ("Application/JSON", b'{"name":"x"}'),
        ("application/vnd.api+json", b'{"name":"x"}'),
        ("text/plain;charset=UTF-8", b' \n{"name":"x"}'),
        ("", b'{"name":"x"}'),
        (FORM, b'{"name":"x"}'),
        ("image/png", b'{"name":"x"}'),
        (FORM, b"name=x"),
        ("Application/X-WWW-Form-Urlencoded; charset=utf-8", b"name=x"),
    ],
)
def test_a_body_of_the_right_kind_is_taken_whatever_it_is_called(
    shared_api: Api, content_type: str, body: bytes
) -> None:
    """A JSON object is one by its first character; a form by its type."""
    sent = [("Authorization", shared_api.keys["paid"])]
    sent += [("Content-Type", content_type)] if content_type else []

    answer = send_raw(shared_api, "PUT", "/v2/sheets/Cities/2", headers=sent, body=body)

    assert answer.json() == {"rowIndex": 2, "name": "x"}
