"""Bodies of writes: everything that is refused, with the place of each problem."""

import json
import sys
from collections.abc import Mapping, Sequence

import pytest

from gateway.table.record import MAX_CELL_CHARACTERS, MAX_PROBLEMS
from gateway.web.body import MAX_ROWS
from gateway.web.parsing import MAX_FIELDS
from tests.journeys.operations import WRITES
from tests.surfaces.stage import FIELDS, Surface

JSON, FORM = "application/json", "application/x-www-form-urlencoded"
Case = tuple[bytes, str, list[str], str]


def text(value: object) -> bytes:
    return json.dumps(value).encode()


VALUES: Mapping[str, str] = {
    '{"b":1}': "not an object or a list",
    "{}": "not an object or a list",
    "[1]": "not an object or a list",
    "[]": "not an object or a list",
    "[" * 500 + "]" * 500: "not an object or a list",
    "NaN": "NaN and infinite",
    "Infinity": "NaN and infinite",
    "-Infinity": "NaN and infinite",
    "1e999": "NaN and infinite",
    "-1e999": "NaN and infinite",
    "9007199254740993": "2^53",
    "-9007199254740993": "2^53",
    "9" * 5000: "2^53",
    "-1" + "0" * 17: "2^53",
    r'"\ud800"': "surrogate",
    r'"x\udc00y"': "surrogate",
    json.dumps("x" * (MAX_CELL_CHARACTERS + 1)): "50000 char",
}
"""Values that cannot be stored."""


def deep(pointer: str) -> tuple[list[str], str]:
    """Return the pointer and message for a body that Python's parser rejects before 3.13."""
    return (["#"], "nested too deep") if sys.version_info < (3, 13) else ([pointer], "")


MEMBERS: Sequence[Case] = [
    (b'{"name":1,"name":1}', JSON, ["#/name"], ""),
    (b'{"name":1,"b":2,"name":[],"name":3}', JSON, ["#/name", "#/name"], ""),
    (b'{"name":null,"\\u006eame":"y"}', JSON, ["#/name"], ""),
    (b'{"\\ud800":1}', JSON, ["#/%3F"], ""),
    (b'{"a":[],"b":{},"c":1e999}', JSON, ["#/a", "#/b", "#/c"], ""),
    (text({"a/b~c d": []}), JSON, ["#/a~1b~0c%20d"], ""),
    (text({"größe": []}), JSON, ["#/gr%C3%B6%C3%9Fe"], ""),
    (text({f"f{n}": [] for n in range(50)}), JSON, [f"#/f{n}" for n in range(MAX_PROBLEMS)], ""),
    (text({f"f{n}": n for n in range(MAX_FIELDS + 1)}), JSON, ["#"], "fields"),
    (b'{"name": NaN}', "text/plain", ["#/name"], "NaN and infinite"),
    (b'{"name": []}', FORM, ["#/name"], "not an object or a list"),
]
NO_OBJECT: Sequence[Case] = [
    (b"", JSON, ["#"], "it is empty"),
    (b" \r\n\t ", JSON, ["#"], "not JSON"),
    (b"{", JSON, ["#"], "not JSON at line 1, column 2"),
    (b'{"name": "x"', JSON, ["#"], "not JSON"),
    (b'{"name": "x"}}', JSON, ["#"], "not JSON"),
    (b'{"name":1,}', JSON, ["#"], "not JSON"),
    (b"{'name':1}", JSON, ["#"], "not JSON"),
    (b'{"name": "x" /* y */}', JSON, ["#"], "not JSON"),
    (b'{"name":01}', JSON, ["#"], "not JSON"),
    (b'{"name": undefined}', JSON, ["#"], "not JSON"),
    (b'{"name":"\n"}', JSON, ["#"], "not JSON"),
    (b"\x00" * 100, JSON, ["#"], "not JSON"),
    (b"name=x", JSON, ["#"], "not JSON"),
    ('{"a":1}'.encode("utf-16"), JSON, ["#"], "not UTF-8 at byte offset 0"),
    ('{"a":1}'.encode("utf-16-le"), JSON, ["#"], "not JSON"),
    (b'{"a":"\xed\xa0\x80"}', JSON, ["#"], "not UTF-8 at byte offset 6"),
    (b'{"a":"\xff"}', JSON, ["#"], "not UTF-8 at byte offset 6"),
    (b'{"a":' * 100_000, JSON, *deep("#/a")),
    (b'{"a":' + b"[" * 100_000, JSON, *deep("#/a")),
    (b'{"name":' + b"[" * 100_000 + b"]" * 100_000 + b"}", JSON, *deep("#/name")),
    (b"null", JSON, ["#"], "must be a JSON object"),
    (b"true", JSON, ["#"], "must be a JSON object"),
    (b'"x"', JSON, ["#"], "must be a JSON object"),
    (b"5", JSON, ["#"], "must be a JSON object"),
    (b"9" * 5000, JSON, ["#"], "must be a JSON object"),
    (b"NaN", JSON, ["#"], "must be a JSON object"),
    (b"5", "application/vnd.api+json", ["#"], "must be a JSON object"),
    (b"{}", JSON, ["#"], "no field"),
    (text({"rowIndex": 5}), JSON, ["#"], "no field"),
    (text({"apiKey": "x", "spreadsheetId": "y"}), JSON, ["#"], "no field"),
    *(
        (body, content_type, ["#"], said)
        for content_type in ("", "text/plain")
        for body, said in (
            (b"", "it is empty"),
            (b"a=1", "it is a form"),
            (b"hello", "double quotes"),
            (b"\xff", "not UTF-8 at byte offset 0"),
        )
    ),
]
FORMS: Sequence[Case] = [
    (b"", FORM, ["#"], ""),
    (b"rowIndex=5&apiKey=x", FORM, ["#"], ""),
    (b"name=1&b=2&name=3", FORM, ["#/name"], ""),
    (b"name=" + b"x" * (MAX_CELL_CHARACTERS + 1), FORM, ["#/name"], "50000 char"),
    (b"name=%ff", FORM, ["#"], ""),
    (b"name=%ED%A0%80", FORM, ["#"], ""),
    (b"name=\xff", FORM, ["#"], ""),
    (b"&".join([b"a=1"] * (MAX_FIELDS + 1)), FORM, ["#"], "limit of 1000 fields"),
    (b"a=%ff&" * MAX_FIELDS, FORM, ["#"], "limit of 1000 fields"),
]
MULTIPART = b'--b\r\nContent-Disposition: form-data; name="name"\r\n\r\nx\r\n--b--\r\n'
MISTAKEN: Sequence[Case] = [
    (b'{"name":"a\nb"}', JSON, ["#"], "a raw line break. Write it as \\n"),
    (b'{"name":"a', JSON, ["#"], "no closing quote"),
    (b"", JSON, ["#"], "it is empty"),
    (b" \r\n", JSON, ["#"], "only whitespace"),
    (text('{"name":"x"}'), JSON, ["#"], "it is JSON encoded twice. Encode it once"),
    (text('{"name":"x"}'), "", ["#"], "it is JSON encoded twice. Encode it once"),
    (b"[object Object]", JSON, ["#"], "Send JSON.stringify of the object"),
    (b"[object Object]", FORM, ["#"], "Send JSON.stringify of the object"),
    (MULTIPART, JSON, ["#"], "multipart/form-data, which is not supported"),
    (MULTIPART, FORM, ["#"], "multipart/form-data is not supported"),
    (MULTIPART, "", ["#"], "multipart/form-data, which is not supported"),
    (b"name=x&state=y", JSON, ["#"], "Send it with Content-Type: application/x-www-form-urlenc"),
    ("{“name”:“x”}".encode(), JSON, ["#"], "a curly quote is not allowed here"),
    ('{"name":"x"}'.encode("utf-16"), JSON, ["#"], "it is UTF-16. Encode it as UTF-8"),
    ('{"name":"x"}'.encode("utf-16-le"), JSON, ["#"], "it is UTF-16. Encode it as UTF-8"),
    ('{"name":"ü"}'.encode("latin-1"), JSON, ["#"], "such as Latin-1. Encode"),
]
"""Bodies that are meant as JSON, and words about what is wrong with each."""
REFUSED: Sequence[Case] = [
    *(
        (f'{{"name":"","a/b":{value},"state":""}}'.encode(), JSON, ["#/a~1b"], said)
        for value, said in VALUES.items()
    ),
    *MEMBERS,
    *NO_OBJECT,
    *MISTAKEN,
    *FORMS,
]
BLANK_FORM = (
    "The body was read as a form, and none of its fields has a value. A new row needs at least "
    'one value; a JSON body looks like {"name": "Ann"}'
)
LISTS: Sequence[Case] = [
    (b"[]", JSON, ["#"], ""),
    (b"[" * 100_000, JSON, *deep("#/0")),
    (b"[1]", JSON, ["#/0"], ""),
    (b'[["name"]]', JSON, ["#/0"], ""),
    (
        text([{"name": 1}, None, "x", [], [{}], {"name": 2}]),
        JSON,
        ["#/1", "#/2", "#/3", "#/4"],
        "",
    ),
    (text([{"name": 1}, {}]), JSON, ["#/1"], "no field"),
    (text([{"rowIndex": 2}, {"name": 1}]), JSON, ["#/0"], "no field"),
    (text([{"name": 1}, {"b": [], "c": {}}]), JSON, ["#/1/b", "#/1/c"], ""),
    (b'[{"name":1},{"name":1,"name":2}]', JSON, ["#/1/name"], ""),
    (b'[{"a/b":NaN},{"b":1e999}]', JSON, ["#/0/a~1b", "#/1/b"], "NaN and infinite"),
    (b'[{"name":9007199254740993}]', JSON, ["#/0/name"], "2^53"),
    (b'[{"name":"\\ud800"}]', JSON, ["#/0/name"], "surrogate"),
    (text([{"name": "x" * (MAX_CELL_CHARACTERS + 1)}]), JSON, ["#/0/name"], "50000 char"),
    (text([{"rowIndex": []}]), JSON, ["#/0/rowIndex"], ""),
    (text([{"name": 1}, dict.fromkeys(map(str, range(MAX_FIELDS + 1)), "")]), JSON, ["#/1"], ""),
    (b'[{"name":1},', JSON, ["#"], "not JSON"),
    (b'[{"name":1}]x', JSON, ["#"], "not JSON"),
    (text([{"name": 0}] * (MAX_ROWS + 1)), JSON, ["#"], "500"),
    (text([[]] * (MAX_ROWS + 1)), JSON, ["#"], "500"),
    (text([0] * 30), JSON, [f"#/{n}" for n in range(MAX_PROBLEMS)], ""),
    (
        text([{"a": [], "b": []}] * 30),
        JSON,
        [f"#/{n}/{name}" for n in range(MAX_PROBLEMS // 2) for name in "ab"],
        "",
    ),
    (
        text([{str(n): [] for n in range(30)}]),
        JSON,
        [f"#/0/{n}" for n in range(MAX_PROBLEMS)],
        "",
    ),
    (b"'{name:Austin}'", FORM, ["#"], BLANK_FORM),
    (b"name=&state=", FORM, ["#"], BLANK_FORM),
    (text([{"name": 1}, {"name": None, "state": ""}]), JSON, ["#/1"], "value"),
    (text({"name": None}), JSON, ["#"], "value"),
    (text({"name": ""}), JSON, ["#"], "value"),
    (text({"name": "", "state": None}), JSON, ["#"], "value"),
]
"""Lists that creates reject. Updates take no list, and can empty cells."""


def check_refused(surface: Surface, method: str, path: str, case: Case, *, reads: int = 0) -> None:
    body, content_type, pointers, said = case
    headers = [("Content-Type", content_type)] if content_type else []

    code, answer = surface.refused(method, path, headers=headers, body=body, reads=reads)

    assert code == (400, 104)
    assert [problem["pointer"] for problem in answer.json()["errors"]] == pointers
    assert said in answer.json()["message"]
    assert pointers[0] in answer.json()["message"] or pointers == ["#"] or reads


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: f"{case[0][:25]!r} {case[1]}")
@pytest.mark.parametrize(("method", "path"), WRITES)
def test_body_that_is_refused(surface: Surface, method: str, path: str, case: Case) -> None:
    """The error points to every problem, its message describes the first, and no call is made."""
    check_refused(surface, method, path, case)


@pytest.mark.parametrize("case", LISTS, ids=lambda case: f"{case[0][:25]!r} {case[1]}")
def test_body_that_a_create_refuses(surface: Surface, case: Case) -> None:
    """A list is rejected as a whole, with a pointer to each problem. A row needs a value."""
    reads = 1 if case[3] == "value" else 0

    check_refused(surface, "POST", "Cities", case, reads=reads)


@pytest.mark.parametrize("content_type", [JSON, "", "text/plain", FORM])
@pytest.mark.parametrize("body", [b"[]", b'[{"name":1}]', b"[1]"])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_update_takes_no_list(
    surface: Surface, method: str, body: bytes, content_type: str
) -> None:
    """An update of a single row takes one object."""
    case = (body, content_type, ["#"], "must be a JSON object")

    check_refused(surface, method, "Cities/2", case)


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({"nope": 1}, ["#/nope"]),
        ({"name": "x", "nope": 1}, ["#/nope"]),
        ({"nope": None, "name": "x"}, ["#/nope"]),
        ({"a": 1, "name": "x", "b": 2}, ["#/a", "#/b"]),
        ({"__proto__": 1}, ["#/__proto__"]),
        ({"constructor": 1}, ["#/constructor"]),
        ({"NAME": "x"}, ["#/NAME"]),
        ({"na me": "x"}, ["#/na%20me"]),
        ({"": "x"}, ["#/"]),
        ({" ": "x"}, ["#/%20"]),
        ({"a/b~c": "x"}, ["#/a~1b~0c"]),
        ({"A": "x"}, ["#/A"]),
        ({"0": "x"}, ["#/0"]),
    ],
    ids=str,
)
@pytest.mark.parametrize(("method", "path"), WRITES)
def test_field_that_is_no_header(
    surface: Surface, method: str, path: str, body: Mapping[str, object], pointers: list[str]
) -> None:
    """The error lists the fields of the worksheet and costs at most a read of the header."""
    check_refused(surface, method, path, (text(body), JSON, pointers, FIELDS), reads=1)


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ([{"name": "x"}, {"name": "y", "nope": 1}], ["#/1/nope"]),
        ([{"name": "x"}, {"name": 1, "name ": 2}], ["#/1/name%20"]),
        (
            [{"name": "a"}, {"name": "b"}, {"mayor": "x", " name": "d", "name": "e"}],
            ["#/2/mayor", "#/2/name"],
        ),
    ],
    ids=["unknown", "column twice", "several"],
)
def test_field_of_a_list_that_is_no_header(
    surface: Surface, body: Sequence[object], pointers: list[str]
) -> None:
    """Nothing of the list is written; the error lists the fields of the worksheet."""
    check_refused(surface, "POST", "Cities", (text(body), JSON, pointers, FIELDS), reads=1)


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
@pytest.mark.parametrize(("method", "row"), [("POST", ""), ("PUT", "/2")])
def test_header_that_is_no_field(
    surface: Surface, method: str, row: str, worksheet: str, body: Mapping[str, str]
) -> None:
    """Columns without a name, and a column named `rowIndex`, cannot be written."""
    code, _ = surface.refused(method, f"{worksheet}{row}", body=text(body), reads=2)

    assert code == (400, 104)


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        *(
            ({"Content-Type": content_type}, JSON)
            for content_type in (
                *("application/xml", "text/xml", "text/csv", "image/png", "json", "nonsense"),
                *("application/jsonx", "application/octet-stream"),
            )
        ),
        ({"Content-Type": "multipart/form-data; boundary=b"}, "new FormData(form)"),
        *(
            ({"Content-Type": JSON, "Content-Encoding": encoding}, "Content-Encoding")
            for encoding in ("gzip", "GZIP, x", "br", "deflate, gzip", "identity, gzip", "x")
        ),
    ],
    ids=str,
)
@pytest.mark.parametrize("body", [b"", b"a,b", b"\xff\xd8", b"--b--"], ids=repr)
@pytest.mark.parametrize(("method", "path"), WRITES)
def test_body_of_another_type(
    surface: Surface, method: str, path: str, headers: Mapping[str, str], said: str, body: bytes
) -> None:
    """A compressed body, or one that is neither JSON nor a form, gets an error with valid types."""
    code, answer = surface.refused(method, path, headers=[*headers.items()], body=body)

    assert code == (415, 4150)
    assert said in answer.json()["message"]


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        *(
            ({"Content-Type": content_type} if content_type else {}, b' \n{"name":"x"}')
            for content_type in (
                *(JSON, "application/json; charset=utf-8", "Application/JSON", " text/plain "),
                *("application/vnd.api+json", "application/ld+json", "text/plain;charset=UTF-8"),
                *("text/json", "application/octet-stream", "image/png", FORM, ""),
            )
        ),
        ({"Content-Type": FORM}, b"name=x"),
        ({"Content-Type": f"{FORM.upper()}; charset=utf-8"}, b"name=x&rowIndex=7&apiKey=k"),
        ({"Content-Type": JSON}, b'{"name":"x","rowIndex":7,"apiKey":"k","spreadsheetId":"s"}'),
        *(
            ({"Content-Type": JSON, "Content-Encoding": encoding}, b'{"name":"x"}')
            for encoding in ("", "identity", " Identity ")
        ),
    ],
    ids=str,
)
def test_body_that_is_read(surface: Surface, headers: Mapping[str, str], body: bytes) -> None:
    """A body that begins like a JSON object is JSON, and a form needs its type.

    The key and `rowIndex` in a body are dropped.
    """
    updated = surface.send("PUT", "D3/2", headers=[*headers.items()], body=body)
    created = surface.send("POST", "D3", headers=[*headers.items()], body=body)

    assert updated.json() == {"rowIndex": 2, "name": "x"}
    assert created.json() == {"rowIndex": 3, "name": "x"}
    assert surface.cells()["D3"] == [["name"], ["x"], ["x"]]


@pytest.mark.parametrize(
    "content_type", ["", "text/plain", FORM, "application/octet-stream", "application/ld+json"]
)
def test_list_that_is_read(surface: Surface, content_type: str) -> None:
    """A body that begins like a JSON list is JSON, too."""
    headers = [("Content-Type", content_type)] if content_type else []

    created = surface.send("POST", "D3", headers=headers, body=b'\n [{"name":"x"}]')

    assert created.json() == {"results": [{"rowIndex": 3, "name": "x"}]}


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        *((JSON, blanks + b'{"name":"x"}') for blanks in (b"", b"\r\n")),
        (JSON, b'[{"name":"x"}]'),
        ("", b'{"name":"x"}'),
        ("text/plain", b'[{"name":"x"}]'),
        (FORM, b"name=x"),
        (FORM, b'{"name":"x"}'),
    ],
)
def test_body_after_a_byte_order_mark(surface: Surface, content_type: str, body: bytes) -> None:
    """A byte order mark before the body, which Windows programs write, is ignored."""
    headers = [("Content-Type", content_type)] if content_type else []

    created = surface.send("POST", "D3", headers=headers, body=b"\xef\xbb\xbf" + body)

    assert created.status_code == 201
    assert surface.cells()["D3"] == [["name"], ["cell"], ["x"]]


def test_list_of_updates_after_a_byte_order_mark(surface: Surface) -> None:
    """A list of updates is recognised after a byte order mark."""
    body = b'\xef\xbb\xbf [{"rowIndex":2,"name":"x"}]'

    answer = surface.send("PATCH", "D3", headers=[("Content-Type", JSON)], body=body)

    assert answer.json() == {"results": [{"rowIndex": 2, "name": "x"}]}


@pytest.mark.parametrize(
    ("body", "place", "said"),
    [
        ({"data": [{"name": "x"}]}, "#/data", "Send the list itself"),
        ({"cities": [{"name": "x"}]}, "#/cities", "Send the list itself"),
        ({"values": [["x"]]}, "#/values", "Send the list itself"),
        ({"rows": [{"name": "x" * 9000}]}, "#/rows", "Send the list itself"),
        ({"data": {"name": "x"}}, "#/data", "Send the object itself"),
        ([{"fields": {"name": "x"}}], "#/0/fields", "Send the object itself"),
        ({"address": {"city": "x"}}, "#/address", ""),
        ({"name": ["x"]}, "#/name", ""),
        ({"data": [], "name": "x"}, "#/data", ""),
    ],
    ids=range(9),
)
def test_rows_inside_an_object(surface: Surface, body: object, place: str, said: str) -> None:
    """Rows inside an object are rejected with the advice to send the rows alone."""
    code, answer = surface.refused("POST", "Cities", body=text(body))

    assert code == (400, 104)
    assert [each["pointer"] for each in answer.json()["errors"]] == [place]
    assert said in answer.json()["message"]
    assert said or "itself" not in answer.json()["message"]
