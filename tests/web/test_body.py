"""Write bodies parsed into fields and rows. More rejected bodies are in tests/surfaces."""

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
    """Strings of a JSON object stay strings; numbers and booleans keep their types."""
    parsed = parse_fields(body.encode(), JSON)

    assert dict(parsed) == fields
    assert [type(value) for value in parsed.values()] == [type(each) for each in fields.values()]


def test_a_text_of_50000_characters_is_accepted() -> None:
    """A value can have 50,000 characters, however many bytes those characters take."""
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
    """All values of an HTML form are strings."""
    assert parse_fields(body.encode(), FORM) == fields


@pytest.mark.parametrize(("body", "content_type"), [("{}", JSON), ("", FORM)])
def test_a_body_without_fields_is_refused(body: str, content_type: str) -> None:
    """A body without any field raises InvalidBody, because it would write nothing."""
    with pytest.raises(InvalidBody, match="no field"):
        parse_fields(body.encode(), content_type)


@given(text=st.text(st.sampled_from("ab=&+%04159ABCcFfé"), max_size=40))
def test_forms_are_parsed_as_by_the_standard_library(text: str) -> None:
    """A form gives the pairs of `parse_qsl`; repeated names and invalid UTF-8 are errors."""
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
    """A body with 1,000 fields is accepted; a body with 1,001 fields raises InvalidBody."""
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
def test_objects_and_lists_are_parsed_into_rows(
    body: str, content_type: str, rows: Sequence[Mapping[str, Stored]], is_array: bool
) -> None:
    """Each JSON object is one row, in order of the list, without fields that are never stored."""
    parsed = parse_rows(body.encode(), content_type)

    assert [dict(row) for row in parsed.rows] == rows
    assert parsed.is_array is is_array


def test_a_list_may_have_500_rows() -> None:
    """A JSON list of 500 rows is accepted."""
    body = json.dumps([{"a": number} for number in range(MAX_ROWS)])

    assert len(parse_rows(body.encode(), JSON).rows) == MAX_ROWS == 500


def test_a_form_of_empty_values_is_accepted() -> None:
    """A form with only empty values is valid, because an update can empty cells."""
    assert parse_fields(b"name=&state=", FORM) == {"name": "", "state": ""}


async def test_rows_are_read_from_a_request() -> None:
    """A list of rows can arrive in chunks, and its `Content-Type` can have parameters."""
    scope = make_scope("POST", headers={"Content-Type": "Application/JSON; charset=utf-8"})

    body = await read_body(make_request(scope, b'[{"a"', b':1},{"a":2}]'), "k", parse_rows)

    assert [dict(row) for row in body.rows] == [{"a": 1}, {"a": 2}]
    assert body.is_array


async def test_chunks_of_a_body_are_joined() -> None:
    """The chunks of a body are joined, up to the largest allowed body."""
    request = make_request(make_scope("POST", settings=SMALL), b'{"a"', b":12", b"", b"34}")

    assert await read_body(request, "k", parse_fields) == {"a": 1234}


async def test_reading_stops_when_a_body_is_too_large() -> None:
    """Without `Content-Length`, the gateway stops to receive chunks after the size limit."""
    sender = Sender([b'{"a":"', b"xxxxx", b"yyyyy", b'"}'])

    request = make_request(make_scope("POST", settings=SMALL), receive=sender)
    with pytest.raises(BodyTooLarge, match="10 bytes"):
        await read_body(request, "k", parse_fields)

    assert sender.taken == 2


@pytest.mark.parametrize("length", ["11", "9" * 5000, "1" + "0" * 20, "-1", "abc", "1e1"])
async def test_a_bad_content_length_is_rejected_before_reading(length: str) -> None:
    """A `Content-Length` that is too large or not a number raises BodyTooLarge before any read."""
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
async def test_begins_list_reads_up_to_the_first_byte_of_json(
    chunks: Sequence[bytes], is_list: bool, taken: int
) -> None:
    """`begins_list` reads only the chunks that it needs; the whole body can be read afterwards."""
    sender = Sender(chunks)
    request = make_request(make_scope("PATCH"), receive=sender)
    found = await begins_list(request)

    assert (found, sender.taken) == (is_list, taken)
    assert await read_body(request, "k", lambda body, _: body) == b"".join(chunks)


async def test_begins_list_has_the_timeout_of_bodies() -> None:
    """`begins_list` raises RequestTimeout if no byte arrives within `body_timeout_seconds`."""

    async def never() -> Message:
        await anyio.sleep_forever()
        return {"type": "http.disconnect"}

    settings = ServerSettings(body_timeout_seconds=0.01)
    with pytest.raises(RequestTimeout):
        await begins_list(make_request(make_scope("PATCH", settings=settings), receive=never))
