"""Bodies of creates: one object, a form, or a list of objects."""

import json
from collections.abc import Mapping, Sequence

import pytest

from gateway.errors import InvalidBody, UnsupportedMediaType
from gateway.table.record import Stored
from gateway.web.body import MAX_ROWS, parse_fields, parse_rows, read_rows
from gateway.web.fields import MAX_FIELDS
from tests.web.requests import make_request, make_scope

JSON, FORM = "application/json", "application/x-www-form-urlencoded"


def pointers(body: object) -> Sequence[str]:
    """The places of what is wrong with a body."""
    text = body if isinstance(body, str) else json.dumps(body)
    with pytest.raises(InvalidBody) as refused:
        parse_rows(text.encode(), JSON)
    assert refused.value.problems[0].detail in refused.value.message
    return [problem.pointer for problem in refused.value.problems]


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


@pytest.mark.parametrize(
    "content_type", ["", "text/plain", FORM, "application/octet-stream", "application/ld+json"]
)
def test_a_list_is_json_whatever_its_type_says(content_type: str) -> None:
    """What begins with a bracket is read as JSON, of an update as well, which takes no list."""
    assert parse_rows(b'\n [{"a":1}]', content_type).is_array
    with pytest.raises(InvalidBody, match="must be a JSON object"):
        parse_fields(b' [{"a":1}]', content_type)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param([], ["#"], id="empty list"),
        pytest.param([1], ["#/0"], id="number"),
        pytest.param([{"a": 1}, None, "x", [], [{}], {"a": 2}], ["#/1", "#/2", "#/3", "#/4"]),
        pytest.param([{"a": 1}, {}], ["#/1"], id="empty object"),
        pytest.param([{"rowIndex": 2}, {"a": 1}], ["#/0"], id="nothing but rowIndex"),
        pytest.param([{"a": 1}, {"b": [], "c": {}}], ["#/1/b", "#/1/c"], id="nested values"),
        pytest.param('[{"a":1},{"a":1,"a":2}]', ["#/1/a"], id="twice"),
        pytest.param('[{"a/b":NaN},{"b":1e999}]', ["#/0/a~1b", "#/1/b"], id="not finite"),
        pytest.param('[{"a":9007199254740993}]', ["#/0/a"], id="too large"),
        pytest.param('[{"a":"\\ud800"}]', ["#/0/a"], id="half of a surrogate pair"),
        pytest.param([{"a": "x" * 50_001}], ["#/0/a"], id="50,001 characters"),
        pytest.param([{"rowIndex": []}], ["#/0/rowIndex"], id="a dropped field is checked"),
        pytest.param(
            [{"a": 1}, dict.fromkeys(map(str, range(MAX_FIELDS + 1)), "")], ["#/1"], id="1,001"
        ),
        pytest.param('[{"a":1},', ["#"], id="cut off"),
        pytest.param('[{"a":1}]x', ["#"], id="something behind"),
        pytest.param("[" * 100_000, ["#"], id="nested too deep"),
        pytest.param({}, ["#"], id="empty object alone"),
        pytest.param('"x"', ["#"], id="string"),
    ],
)
def test_whatever_is_wrong_is_told_with_its_element(body: object, expected: Sequence[str]) -> None:
    """Every wrong element and every wrong field has its place; nothing of the list is taken."""
    assert pointers(body) == expected


def test_a_list_may_have_500_rows() -> None:
    """500 rows are taken; one more is refused as a whole, whatever is in it."""
    most = [{"a": number} for number in range(MAX_ROWS)]

    assert len(parse_rows(json.dumps(most).encode(), JSON).rows) == MAX_ROWS == 500
    assert pointers([*most, {"a": 0}]) == ["#"]
    assert pointers([[]] * (MAX_ROWS + 1)) == ["#"]


@pytest.mark.parametrize(
    "body",
    [[0] * 30, [{"a": [], "b": []}] * 30, [{str(number): [] for number in range(30)}]],
    ids=["elements", "fields of many", "fields of one"],
)
def test_the_places_are_bounded(body: object) -> None:
    """A list that is wrong all over is answered with its first 20 places."""
    assert len(pointers(body)) == 20


@pytest.mark.parametrize("body", ["'{name:Austin}'", "name=&state="], ids=["cmd.exe", "empty"])
def test_a_form_without_a_value_is_told_to_be_one(body: str) -> None:
    """Who meant to send JSON reads that it was taken for a form, and what JSON looks like."""
    with pytest.raises(InvalidBody) as refused:
        parse_rows(body.encode(), FORM)

    assert "needs at least one field with a value; the body was read as a form" in str(
        refused.value
    )
    assert '{"name": "Ann"}' in str(refused.value)


def test_a_form_that_empties_cells_is_an_update() -> None:
    """Only a new row needs a value."""
    assert parse_fields(b"name=&state=", FORM) == {"name": "", "state": ""}


def test_a_form_of_a_browser_with_files_is_told_how_to_be_sent() -> None:
    """`multipart/form-data` is a form, too: it is said what to send in its place."""
    with pytest.raises(UnsupportedMediaType, match=r"new URLSearchParams\(new FormData\(form\)\)"):
        parse_rows(b"--x", "multipart/form-data")


def test_other_types_hold_no_rows() -> None:
    """Neither JSON nor a form: the type is refused."""
    with pytest.raises(UnsupportedMediaType):
        parse_rows(b"a,b", "text/csv")


async def test_rows_are_read_from_a_request() -> None:
    """The body may come in pieces, and its type with parameters."""
    scope = make_scope("POST", headers={"Content-Type": "Application/JSON; charset=utf-8"})

    body = await read_rows(make_request(scope, b'[{"a"', b':1},{"a":2}]'), "k")

    assert [dict(row) for row in body.rows] == [{"a": 1}, {"a": 2}]
    assert body.is_array


async def test_compressed_rows_are_refused() -> None:
    """The rules of single objects hold for lists."""
    scope = make_scope("POST", headers={"Content-Encoding": "gzip"})

    with pytest.raises(UnsupportedMediaType, match="Content-Encoding"):
        await read_rows(make_request(scope, b'[{"a":1}]'), "k")
