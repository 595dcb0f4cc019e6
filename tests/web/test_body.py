"""Bodies of writes: what is taken, and what is refused with its place."""

import json
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import InvalidBody, UnsupportedMediaType
from gateway.table.record import MAX_CELL_CHARACTERS, Stored
from gateway.web.body import parse_fields
from gateway.web.fields import MAX_FIELDS

JSON, FORM = "application/json", "application/x-www-form-urlencoded"


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
        ("{}", {}),
    ],
    ids=str,
)
def test_json_objects_are_fields(body: str, fields: Mapping[str, Stored]) -> None:
    """Strings stay strings, numbers and booleans stay typed."""
    parsed = parse_fields(body.encode(), JSON)

    assert dict(parsed) == fields
    assert [type(value) for value in parsed.values()] == [type(each) for each in fields.values()]


@pytest.mark.parametrize(
    "content_type",
    ["", "text/plain", FORM, "text/json", "application/octet-stream", "application/ld+json"],
)
def test_an_object_is_json_whatever_its_type_says(content_type: str) -> None:
    """What begins with a brace is read as JSON."""
    assert parse_fields(b' {"a":1}', content_type) == {"a": 1}


@pytest.mark.parametrize(
    ("value", "detail"),
    [
        pytest.param('{"b":1}', "not an object or a list", id="object"),
        pytest.param("{}", "not an object or a list", id="empty object"),
        pytest.param("[1]", "not an object or a list", id="list"),
        pytest.param("[]", "not an object or a list", id="empty list"),
        pytest.param("NaN", "not finite", id="NaN"),
        pytest.param("Infinity", "not finite", id="Infinity"),
        pytest.param("-Infinity", "not finite", id="-Infinity"),
        pytest.param("1e999", "not finite", id="1e999"),
        pytest.param("9007199254740993", "2^53", id="2^53 + 1"),
        pytest.param("-9007199254740993", "2^53", id="-2^53 - 1"),
        pytest.param("9" * 5000, "2^53", id="5,000 digits"),
        pytest.param("-" + "1" + "0" * 17, "2^53", id="18 digits"),
        pytest.param(r'"\ud800"', "surrogate", id="high surrogate"),
        pytest.param(r'"x\udc00y"', "surrogate", id="low surrogate"),
        pytest.param(
            json.dumps("x" * (MAX_CELL_CHARACTERS + 1)), "50000 char", id="50,001 characters"
        ),
    ],
)
def test_values_that_cannot_be_stored_are_refused(value: str, detail: str) -> None:
    """Each wrong value is told by its pointer, and by it alone."""
    with pytest.raises(InvalidBody) as refused:
        parse_fields(f'{{"ok":1,"a/b":{value},"also":""}}'.encode(), JSON)

    (problem,) = refused.value.problems
    assert problem.pointer == "#/a~1b"
    assert detail in problem.detail
    assert "#/a~1b" in refused.value.message


def test_the_longest_text_is_taken() -> None:
    """50,000 characters fit, whatever they take in bytes."""
    assert parse_fields(json.dumps({"a": "é" * MAX_CELL_CHARACTERS}).encode(), JSON) == {
        "a": "é" * MAX_CELL_CHARACTERS
    }


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        pytest.param('{"a":1,"a":1}', ["#/a"], id="twice, alike"),
        pytest.param('{"a":1,"b":2,"a":[],"a":3}', ["#/a", "#/a"], id="three times"),
        pytest.param(r'{"a":1,"\u0061":2}', ["#/a"], id="twice, spelled otherwise"),
        pytest.param(r'{"\ud800":1}', ["#/%3F"], id="half of a surrogate pair"),
        pytest.param('{"a":[],"b":{},"c":1e999}', ["#/a", "#/b", "#/c"], id="several"),
    ],
)
def test_every_wrong_member_is_told(body: str, pointers: list[str]) -> None:
    """Repeated and unusable names have their places, too."""
    with pytest.raises(InvalidBody) as refused:
        parse_fields(body.encode(), JSON)

    assert [problem.pointer for problem in refused.value.problems] == pointers


def test_the_places_are_bounded() -> None:
    """A body that is wrong all over is answered with its first 20 places."""
    with pytest.raises(InvalidBody) as refused:
        parse_fields(json.dumps({f"f{number}": [] for number in range(50)}).encode(), JSON)

    assert len(refused.value.problems) == 20


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        pytest.param(b"", "not JSON at line 1, column 1", id="empty"),
        pytest.param(b"{", "not JSON at line 1, column 2", id="cut off"),
        pytest.param(b'{"a":1,}', "not JSON", id="trailing comma"),
        pytest.param(b"{'a':1}", "not JSON", id="single quotes"),
        pytest.param(b'{"a":1}x', "not JSON", id="something behind"),
        pytest.param(b'{"a":01}', "not JSON", id="leading zero"),
        pytest.param(b'{"a":"\n"}', "not JSON", id="bare control character"),
        pytest.param(b'\xef\xbb\xbf{"a":1}', "not JSON", id="byte order mark"),
        pytest.param('{"a":1}'.encode("utf-16"), "not UTF-8 at byte 0", id="UTF-16 with a mark"),
        pytest.param('{"a":1}'.encode("utf-16-le"), "not JSON", id="UTF-16 without"),
        pytest.param(b'{"a":"\xed\xa0\x80"}', "not UTF-8 at byte 6", id="surrogate in UTF-8"),
        pytest.param(b'{"a":"\xff"}', "not UTF-8 at byte 6", id="Latin-1"),
        pytest.param(b'{"a":' * 100_000, "nested too deep", id="objects 100,000 deep"),
        pytest.param(b'{"a":' + b"[" * 100_000, "nested too deep", id="lists 100,000 deep"),
        pytest.param(b"[]", "must be a JSON object", id="list"),
        pytest.param(b'[{"a":1}]', "must be a JSON object", id="list of objects"),
        pytest.param(b"null", "must be a JSON object", id="null"),
        pytest.param(b'"x"', "must be a JSON object", id="string"),
        pytest.param(b"5", "must be a JSON object", id="number"),
        pytest.param(b"9" * 5000, "must be a JSON object", id="5,000 digits"),
        pytest.param(b"NaN", "must be a JSON object", id="NaN"),
    ],
)
def test_what_is_no_json_object_is_refused(body: bytes, detail: str) -> None:
    """The whole body is the place, and the message says what is wrong."""
    with pytest.raises(InvalidBody, match=detail) as refused:
        parse_fields(body, JSON)

    assert [problem.pointer for problem in refused.value.problems] == ["#"]


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        pytest.param("a=x&b=5", {"a": "x", "b": "5"}, id="all values are strings"),
        pytest.param("a=x+y%20z%26", {"a": "x y z&"}, id="decoded once"),
        pytest.param("a=%2541", {"a": "%41"}, id="not decoded twice"),
        pytest.param("a=&b", {"a": "", "b": ""}, id="empty values"),
        pytest.param("gr%C3%B6%C3%9Fe=1", {"größe": "1"}, id="beyond ASCII"),
        pytest.param("", {}, id="empty"),
    ],
)
def test_forms_are_fields(body: str, fields: Mapping[str, Stored]) -> None:
    """A form's values are stored as strings."""
    assert parse_fields(body.encode(), FORM) == fields


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        pytest.param(b"a=1&b=2&a=3", "#/a", id="twice"),
        pytest.param(b"a=" + b"x" * (MAX_CELL_CHARACTERS + 1), "#/a", id="50,001 characters"),
        pytest.param(b"a=%ff", "#", id="not UTF-8 when decoded"),
        pytest.param(b"a=%ED%A0%80", "#", id="surrogate"),
        pytest.param(b"a=\xff", "#", id="not UTF-8"),
    ],
)
def test_wrong_forms_are_refused(body: bytes, pointer: str) -> None:
    """Forms obey the rules of JSON bodies."""
    with pytest.raises(InvalidBody) as refused:
        parse_fields(body, FORM)

    assert [problem.pointer for problem in refused.value.problems] == [pointer]


@given(text=st.text(st.sampled_from("ab=&+%04159ABCcFfé"), max_size=40))
def test_a_form_is_what_everybody_reads(text: str) -> None:
    """The names and values that the standard library finds; broken escapes stay as they are."""
    try:
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        pairs = [("twice", "")] * 2
    if len(dict(pairs)) == len(pairs):
        assert parse_fields(text.encode(), FORM) == dict(pairs)
    else:
        with pytest.raises(InvalidBody):
            parse_fields(text.encode(), FORM)


def test_the_fields_of_a_form_are_counted_before_they_are_looked_at() -> None:
    """A thousand and one are too many, whatever is in them."""
    with pytest.raises(InvalidBody, match="more than 1000 fields"):
        parse_fields(b"a=%ff&" * MAX_FIELDS, FORM)


@pytest.mark.parametrize("content_type", [JSON, FORM])
def test_a_body_may_have_1000_fields(content_type: str) -> None:
    """1,000 fields are taken, one more is refused."""
    encode = json.dumps if content_type == JSON else urlencode
    most = {f"f{number}": "" for number in range(MAX_FIELDS)}

    fields = parse_fields(encode(most).encode(), content_type)

    assert len(fields) == MAX_FIELDS
    with pytest.raises(InvalidBody, match="fields"):
        parse_fields(encode({**most, "one more": ""}).encode(), content_type)


@pytest.mark.parametrize("content_type", ["", "text/plain"])
@pytest.mark.parametrize("body", [b"", b"a=1", b"[1]", b"hello", b"\xff"], ids=repr)
def test_untyped_bodies_must_be_objects(content_type: str, body: bytes) -> None:
    """Without a type that says otherwise, only a JSON object is a body."""
    with pytest.raises(InvalidBody, match="must be a JSON object"):
        parse_fields(body, content_type)


@pytest.mark.parametrize(
    "content_type",
    [
        "application/xml",
        "multipart/form-data",
        "text/csv",
        "image/png",
        "json",
        "application/jsonx",
    ],
)
@pytest.mark.parametrize("body", [b"", b"a,b", b"\xff\xd8"], ids=repr)
def test_other_types_are_not_read(content_type: str, body: bytes) -> None:
    """Neither an object nor a form: the type is refused, whatever the bytes are."""
    with pytest.raises(UnsupportedMediaType, match="application/json"):
        parse_fields(body, content_type)
