"""Paths, query parameters, bodies and encodings of the API."""

import gzip

import pytest

from tests.sheets_emulator.bench import Bench, message, values_path
from tests.sheets_emulator.conftest import BenchBuilder

BOOK = "/v4/spreadsheets/book"
DATA = values_path("Data")
LIST_VALUE = "type.googleapis.com/google.protobuf.ListValue"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v4/spreadsheets"),
        ("GET", "/v4/spreadsheets/"),
        ("GET", f"{BOOK}/values"),
        ("GET", f"{BOOK}/values/"),
        ("GET", f"{BOOK}:batchUpdate"),
        ("POST", f"{BOOK}/values/Data"),
        ("POST", f"{BOOK}/values/Data%3Aappend"),
        ("POST", f"{BOOK}/values:batchGet"),
        ("GET", f"{BOOK}/values/A/B"),
        ("DELETE", BOOK),
        ("GET", f"{BOOK}:getByDataFilter"),
        ("GET", f"{BOOK}/sheets/0:copyTo"),
        ("POST", f"{BOOK}/sheets/0:copyFrom"),
        ("POST", "/v4/spreadsheets/:getByDataFilter"),
        ("GET", "/v4/spreadsheetsx/book"),
        ("GET", "/"),
        ("GET", "/token"),
    ],
)
def test_other_paths_are_not_found(bench: Bench, method: str, path: str) -> None:
    """An unknown path or method gets 404 with an HTML page, as from Google."""
    answer = bench.call(method, path)

    assert answer.status_code == 404
    assert answer.headers["Content-Type"].startswith("text/html")


def test_verb_is_split_off_before_the_path_is_decoded(build: BenchBuilder) -> None:
    """An encoded `:append` is part of the title, and an unencoded `:append` is the verb."""
    bench = build({"x%3Aappend": "a\n"})
    path = f"{BOOK}/values/%27x%3Aappend%27:append?valueInputOption=RAW"
    answer = bench.call("POST", path, {"values": [["b"]]})

    assert answer.json()["updates"]["updatedRange"] == "'x:append'!A2"


def test_path_that_is_not_utf_8_is_an_invalid_argument(bench: Bench) -> None:
    """A path whose decoded bytes are not UTF-8 gets 400."""
    assert bench.call("GET", f"{BOOK}/values/%FF").status_code == 400


@pytest.mark.parametrize("path", [DATA, BOOK, f"{BOOK}/values:batchGet"])
def test_unknown_query_parameter_gets_400(bench: Bench, path: str) -> None:
    """The error for an unknown query parameter has the name of the parameter."""
    answer = bench.call("GET", path, valueRenderOptions="FORMULA")
    text = (
        'Invalid JSON payload received. Unknown name "valueRenderOptions": Cannot bind query '
        "parameter. Field 'valueRenderOptions' could not be found in request message."
    )

    assert answer.status_code == 400
    assert answer.json()["error"] == {
        "code": 400,
        "message": text,
        "status": "INVALID_ARGUMENT",
        "details": [
            {
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": [{"description": text}],
            }
        ],
    }


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("valueRenderOption", "PRETTY", "(type.googleapis.com/google.apps.sheets.v4.ValueRender"),
        ("majorDimension", "rows", "(type.googleapis.com/google.apps.sheets.v4.Dimension)"),
    ],
)
def test_wrong_value_of_a_parameter_gets_400(
    bench: Bench, name: str, value: str, complaint: str
) -> None:
    """An unknown value of an enumeration in a query parameter gets 400."""
    answer = bench.call("GET", DATA, **{name: value})

    assert answer.status_code == 400
    assert complaint in message(answer)


def test_parameters_of_every_google_api_are_known(bench: Bench) -> None:
    """`alt`, `key` and `quotaUser` are accepted. Names can be in snake_case."""
    answer = bench.call(
        "GET", DATA, alt="json", key="k", quotaUser="u", major_dimension="COLUMNS"
    ).json()

    assert answer["majorDimension"] == "COLUMNS"


def test_value_input_option_is_required(bench: Bench) -> None:
    """A write without `valueInputOption` gets 400."""
    answer = bench.call("PUT", values_path("Data!A1"), {"values": [["x"]]})

    assert answer.status_code == 400
    assert message(answer) == "'valueInputOption' is required but not specified"


@pytest.mark.parametrize(
    ("body", "place", "shown"),
    [
        ({"values": "X", "majorDimension": None}, "data.values", '"X"'),
        ({"values": ["X"]}, "data.values[0]", '"X"'),
        ({"values": [[1], {"a": 1}]}, "data.values[1]", '{"a":1}'),
    ],
)
def test_wrong_json_type_is_reported_before_the_range(
    bench: Bench, body: object, place: str, shown: str
) -> None:
    """Recorded from Google: a wrong type of `values` is reported, not the unknown worksheet."""
    answer = bench.call("PUT", values_path("Nope!A1"), body, valueInputOption="RAW")
    text = f"Invalid value at '{place}' ({LIST_VALUE}), {shown}"

    assert answer.status_code == 400
    assert message(answer) == text
    assert answer.json()["error"]["details"][0]["fieldViolations"] == [
        {"field": place, "description": text}
    ]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"{", id="cut off"),
        pytest.param(b"[]", id="list"),
        pytest.param(b'"x"', id="string"),
        pytest.param(b'{"values": [[NaN]]}', id="not a number"),
        pytest.param(b'{"values": [[1e999]]}', id="past all doubles"),
        pytest.param(b'{"values": [[' + b"9" * 400 + b"]]}", id="whole number past all doubles"),
        pytest.param(b'{"values": [["\\ud800"]]}', id="half a character"),
        pytest.param(b'{"values": [["\xff"]]}', id="no UTF-8"),
        pytest.param(b'{"values": ' + b"[" * 5000 + b"]" * 5000 + b"}", id="deep"),
        pytest.param(b'{"value": []}', id="unknown name"),
        pytest.param(b'{"values": [[{"a": 1}]]}', id="object as a value"),
        pytest.param(b'{"range": 5}', id="range that is no text"),
        pytest.param(b'{"majorDimension": "DIAGONAL"}', id="no such dimension"),
    ],
)
def test_invalid_body_is_an_invalid_argument(bench: Bench, content: bytes) -> None:
    """Invalid JSON, a wrong type or an invalid number in a body gets 400 without effect."""
    headers = {"Authorization": f"Bearer {bench.token}"}
    path = f"{DATA}:append?valueInputOption=RAW"
    answer = bench.client.post(path, content=content, headers=headers)

    assert answer.status_code == 400
    assert answer.json()["error"]["status"] == "INVALID_ARGUMENT"
    assert bench.grid("Data") == []


def test_answers_are_indented_unless_pretty_print_is_false(bench: Bench) -> None:
    """Answers and errors are indented by two blanks, or compact with `prettyPrint=false`."""
    pretty = bench.call("GET", DATA).text
    compact = bench.call("GET", DATA, prettyPrint="false").text
    error = bench.call("GET", values_path("Nope"), prettyPrint="false").text

    assert pretty.startswith('{\n  "range": "Data!A1:E5",\n')
    assert compact == '{"range":"Data!A1:E5","majorDimension":"ROWS"}'
    assert error.startswith('{"error":{"code":400,')


def test_large_answers_are_compressed_if_the_client_accepts_gzip(build: BenchBuilder) -> None:
    """Answers above one kilobyte are compressed if the client accepts gzip."""
    bench = build({"Data": "some text\n" * 200})
    headers = {"Authorization": f"Bearer {bench.token}", "Accept-Encoding": "gzip"}
    with bench.client.stream("GET", DATA, headers=headers) as answer:
        zipped = b"".join(answer.iter_raw())
    plain = bench.client.get(DATA, headers={**headers, "Accept-Encoding": "identity"})

    assert answer.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain.headers
    assert gzip.decompress(zipped) == plain.content
    assert "Content-Encoding" not in bench.call("GET", values_path("Data!A1")).headers


def test_field_masks_select_fields_of_all_answers(bench: Bench) -> None:
    """`fields` works for reads and writes. An unknown field gets 400 without effect."""
    masked = bench.append("Data", [["x"]], fields="updates.updatedRange")
    refused = bench.append("Data", [["y"]], fields="updates.range")

    assert masked.json() == {"updates": {"updatedRange": "Data!A1"}}
    assert refused.status_code == 400
    assert bench.grid("Data") == [["x"]]
