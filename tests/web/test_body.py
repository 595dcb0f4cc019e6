"""Bodies of writes as fields and rows; refusals are in tests/surfaces."""

import json
from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl, urlencode

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message

from gateway.errors import BodyTooLarge, InvalidBody, RequestTimeout
from gateway.settings.model import ServerSettings
from gateway.table.record import MAX_CELL_CHARACTERS, Stored
from gateway.web.body import (
    MAX_ROWS,
    begins_list,
    parse_fields,
    parse_rows,
    read_body,
)
from gateway.web.parsing import MAX_FIELDS
from tests.web.requests import Sender, make_request, make_scope

JSON, FORM = "application/json", "application/x-www-form-urlencoded"
SMALL = ServerSettings(max_body_bytes=10)


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ('{"a":"x"}', {"a": "x"}),
        ('{"a":"007","b":"=1+1"}', {"a": "007", "b": "=1+1"}),
        ('{"a":5,"b":-0.5,"c":1e3}', {"a": 5, "b": -0.5, "c": 1000.0}),
        ('{"a":true,"b":false,"c":null,"d":""}', {"a": True, "b": False, "c": None, "d": ""}),
        ('{"a":9007199254740992}', {"a": 2**53}),
        ('{"a":-9007199254740992}', {"a": -(2**53)}),
        (r'{"\ud83d\ude00":"\ud83d\ude00"}', {"😀": "😀"}),
        ('\t\n {"a":1}\r\n', {"a": 1}),
        ('{"a":"\\u0000\\n"}', {"a": "\0\n"}),
    ],
    ids=str,
)
def test_json_objects_are_fields(body: str, fields: Mapping[str, Stored]) -> None:
    """Strings stay strings, numbers and booleans stay typed."""
    parsed = parse_fields(body.encode(), JSON)

    assert dict(parsed) == fields
    assert [type(value) for value in parsed.values()] == [type(each) for each in fields.values()]


def test_the_longest_text_is_taken() -> None:
    """50,000 characters fit, independent of their size in bytes."""
    assert parse_fields(json.dumps({"a": "é" * MAX_CELL_CHARACTERS}).encode(), JSON) == {
        "a": "é" * MAX_CELL_CHARACTERS
    }


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        pytest.param("a=x&b=5", {"a": "x", "b": "5"}, id="all values are strings"),
        pytest.param("a=x+y%20z%26", {"a": "x y z&"}, id="decoded once"),
        pytest.param("a=%2541", {"a": "%41"}, id="not decoded twice"),
        pytest.param("a=&b", {"a": "", "b": ""}, id="empty values"),
        pytest.param("gr%C3%B6%C3%9Fe=1", {"größe": "1"}, id="beyond ASCII"),
    ],
)
def test_forms_are_fields(body: str, fields: Mapping[str, Stored]) -> None:
    """A form's values are stored as strings."""
    assert parse_fields(body.encode(), FORM) == fields


@pytest.mark.parametrize(("body", "content_type"), [("{}", JSON), ("", FORM)])
def test_a_body_without_fields_is_refused(body: str, content_type: str) -> None:
    """There would be nothing to write."""
    with pytest.raises(InvalidBody, match="no field"):
        parse_fields(body.encode(), content_type)


@given(text=st.text(st.sampled_from("ab=&+%04159ABCcFfé"), max_size=40))
def test_a_form_is_what_everybody_reads(text: str) -> None:
    """The names and values that the standard library finds; broken escapes stay as they are."""
    try:
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        pairs = [("twice", "")] * 2
    if pairs and len(dict(pairs)) == len(pairs):
        assert parse_fields(text.encode(), FORM) == dict(pairs)
    else:
        with pytest.raises(InvalidBody):
            parse_fields(text.encode(), FORM)


@pytest.mark.parametrize("content_type", [JSON, FORM])
def test_a_body_may_have_1000_fields(content_type: str) -> None:
    """1,000 fields are taken, one more is refused."""
    encode = json.dumps if content_type == JSON else urlencode
    most = {f"f{number}": "" for number in range(MAX_FIELDS)}

    fields = parse_fields(encode(most).encode(), content_type)

    assert len(fields) == MAX_FIELDS
    with pytest.raises(InvalidBody, match="fields"):
        parse_fields(encode({**most, "one more": ""}).encode(), content_type)


@pytest.mark.parametrize(
    ("body", "content_type", "rows", "is_array"),
    [
        pytest.param('{"a":1}', JSON, [{"a": 1}], False, id="object"),
        pytest.param("a=1&b=", FORM, [{"a": "1", "b": ""}], False, id="form"),
        pytest.param('[{"a":1}]', JSON, [{"a": 1}], True, id="list of one"),
        pytest.param(
            ' [{"a":1},{"b":"x","a":null},{"a":true}] ',
            JSON,
            [{"a": 1}, {"b": "x", "a": None}, {"a": True}],
            True,
            id="list",
        ),
        pytest.param(
            '[{"a":1,"rowIndex":7},{"apiKey":"k","spreadsheetId":"s","a":2}]',
            JSON,
            [{"a": 1}, {"a": 2}],
            True,
            id="credentials in a list",
        ),
        pytest.param('{"a":1,"rowIndex":7}', JSON, [{"a": 1}], False, id="rowIndex in an object"),
    ],
)
def test_rows_are_read(
    body: str, content_type: str, rows: Sequence[Mapping[str, Stored]], is_array: bool
) -> None:
    """Each object is a row, in the order of the list; what is never stored is dropped from each."""
    parsed = parse_rows(body.encode(), content_type)

    assert [dict(row) for row in parsed.rows] == rows
    assert parsed.is_array is is_array


def test_a_list_may_have_500_rows() -> None:
    body = json.dumps([{"a": number} for number in range(MAX_ROWS)])

    assert len(parse_rows(body.encode(), JSON).rows) == MAX_ROWS == 500


def test_a_form_that_empties_cells_is_an_update() -> None:
    """Only a new row needs a value."""
    assert parse_fields(b"name=&state=", FORM) == {"name": "", "state": ""}


async def test_rows_are_read_from_a_request() -> None:
    """The body may come in pieces, and its type with parameters."""
    scope = make_scope("POST", headers={"Content-Type": "Application/JSON; charset=utf-8"})

    body = await read_body(make_request(scope, b'[{"a"', b':1},{"a":2}]'), "k", parse_rows)

    assert [dict(row) for row in body.rows] == [{"a": 1}, {"a": 2}]
    assert body.is_array


async def test_a_body_may_come_in_pieces() -> None:
    """Chunks are put together, up to the largest body."""
    request = make_request(make_scope("POST", settings=SMALL), b'{"a"', b":12", b"", b"34}")

    assert await read_body(request, "k", parse_fields) == {"a": 1234}


async def test_a_body_is_given_up_as_soon_as_it_is_too_large() -> None:
    """Without an announced length, what follows the limit is not read."""
    sender = Sender([b'{"a":"', b"xxxxx", b"yyyyy", b'"}'])

    request = make_request(make_scope("POST", settings=SMALL), receive=sender)
    with pytest.raises(BodyTooLarge, match="10 bytes"):
        await read_body(request, "k", parse_fields)

    assert sender.taken == 2


@pytest.mark.parametrize("length", ["11", "9" * 5000, "1" + "0" * 20, "-1", "abc", "1e1"])
async def test_an_announced_length_is_believed(length: str) -> None:
    """A length over the limit, or none at all, is refused before anything is read."""
    sender = Sender([b'{"a":1}'])
    scope = make_scope("POST", headers={"Content-Length": length}, settings=SMALL)

    with pytest.raises(BodyTooLarge):
        await read_body(make_request(scope, receive=sender), "k", parse_fields)

    assert sender.taken == 0


@pytest.mark.parametrize(
    ("chunks", "is_list", "taken"),
    [
        ([b"[1]"], True, 1),
        ([b"", b" \n\t\r", b"[1", b"]"], True, 3),
        ([b'{"a":[]}', b" "], False, 1),
        ([b""], False, 1),
        ([b" "], False, 1),
        ([b" " * 1024, b"[]"], False, 1),
    ],
    ids=["list", "cut", "object", "nothing", "blank", "long blanks"],
)
async def test_a_list_is_told_by_its_first_byte(
    chunks: Sequence[bytes], is_list: bool, taken: int
) -> None:
    """No more of the body is taken than needed, and the request can still be read as a whole."""
    sender = Sender(chunks)
    request = make_request(make_scope("PATCH"), receive=sender)
    found = await begins_list(request)

    assert (found, sender.taken) == (is_list, taken)
    assert await read_body(request, "k", lambda body, _: body) == b"".join(chunks)


async def test_a_body_that_does_not_begin() -> None:
    """It is waited for as long as for other bodies."""

    async def never() -> Message:
        await anyio.sleep_forever()
        return {"type": "http.disconnect"}

    settings = ServerSettings(body_timeout_seconds=0.01)
    with pytest.raises(RequestTimeout):
        await begins_list(make_request(make_scope("PATCH", settings=settings), receive=never))
