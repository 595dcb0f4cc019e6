"""Random requests to all routes: no request gets 500 or causes an exception."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from httpx2 import Response
from hypothesis import given, settings
from hypothesis import strategies as st

from sheets_emulator.app import EmulatorOptions
from tests.sheets_emulator.any_body import BODIES, JUNK, ROOT, bodies
from tests.sheets_emulator.bench import Bench, build_bench, write_seed

ALLOWED = {200, 204, 400, 401, 403, 404, 405, 501}
EDIT = f"{ROOT}/book:batchUpdate"
ROWS = "a,1,=B1,,,\nb,2,=SUM(B1:B2),,,\n,,,,,\nc,3%,2020-01-01,,,\n" + ",,,,,\n" * 4
METHODS = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
PATHS = st.sampled_from(
    [
        *BODIES,
        f"{ROOT}/book",
        f"{ROOT}/closed",
        f"{ROOT}/book/values/Data",
        f"{ROOT}/book/values/Data!A1:B2:clear",
        f"{ROOT}/book/values:batchGet",
        f"{ROOT}/%FF/values/%FF",
        f"{ROOT}/book/values/%00",
        f"{ROOT}/book/sheets/{'9' * 30}:copyTo",
        f"{ROOT}//values/",
        "/drive/v3/files",
        "/drive/v3/files/book",
        "/drive/v3/files/book/copy",
        "/drive/v3/files/%FF/permissions",
        "/token",
        "/_emulator/stats",
        "/_emulator/spreadsheets/book",
        "/",
    ]
)
NAMES = st.sampled_from(
    [
        *("ranges", "fields", "majorDimension", "valueInputOption", "valueRenderOption", "alt"),
        *("insertDataOption", "includeGridData", "prettyPrint", "q", "includeValuesInResponse"),
        *("dateTimeRenderOption", "nope", "", "\udcff"),
    ]
)
PARAMETERS = st.one_of(
    st.sampled_from(
        [
            *("Data", "Data!A1", "A:ZZZ9999999", "'", "*", "sheets.data", "a(b(c", "true", "RAW"),
            *("USER_ENTERED", "COLUMNS", "FORMULA", "INSERT_ROWS", "FORMATTED_STRING", "("),
            *('name = "x"', 'name = "', "sheets(data(rowData(values(note))),properties)", "=" * 99),
        ]
    ),
    st.text(max_size=5),
)
QUERIES = st.lists(st.tuples(NAMES, PARAMETERS), max_size=4).map(
    lambda pairs: "&".join(
        f"{quote(name, errors='surrogateescape')}={quote(value, errors='replace')}"
        for name, value in pairs
    )
)
BYTES = st.one_of(
    st.binary(max_size=30),
    st.sampled_from(
        [
            b"",
            b"[" * 20_000,
            b'{"values":' * 5_000,
            b'{"values": [[' + b"[" * 3_000,
            b'{"values": ' + b"[" * 900 + b"]" * 900 + b"}",
            b'{"values": [[' + b"9" * 5_000 + b"]]}",
            b'{"values": [[1e400, -1e400, NaN, Infinity]]}',
            b'{"values": [["\\ud800"]]}',
            b'{"values": [["\xff\xfe"]]}',
            b'{"values": [["x"]]',
            b'\xef\xbb\xbf{"values": [["x"]]}',
            b'{"values": [["x"]], "values": 7}',
            b'{"requests": [{"addSheet": {}}, {"addSheet": {"properties": {"sheetId": 1e3}}}]}',
            b"null",
            b"7",
        ]
    ),
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """An emulator with some values, formulas and a spreadsheet that is not shared."""
    folder: Path = tmp_path_factory.mktemp("any")
    seed = write_seed(folder / "seed", {"book/Data.csv": ROWS, "closed.unshared": ""})
    built = build_bench(folder, EmulatorOptions(seed=seed))
    with built.client:
        yield built


def send(bench: Bench, method: str, url: str, body: bytes = b"") -> Response:
    """The answer to a request with a token and these bytes as body."""
    headers = {"Authorization": f"Bearer {bench.token}"}
    return bench.client.request(method, url, content=body, headers=headers)


def written(body: object) -> bytes:
    return json.dumps(body).encode()


def is_readable(bench: Bench) -> bool:
    """True if spreadsheets.get, values.get and the control route can read `book`."""
    whole = f"{ROOT}/book"
    urls = [f"{whole}?includeGridData=true", "/_emulator/spreadsheets/book"]
    for sheet in bench.emulator.service.store.workbook("book").sheets:
        title = quote("'" + sheet.title.replace("'", "''") + "'", safe="")
        urls.append(f"{whole}/values/{title}")
    return {send(bench, "GET", url).status_code for url in urls} == {200}


@settings(max_examples=250)
@given(method=METHODS, path=PATHS, query=QUERIES, body=st.one_of(BYTES, JUNK.map(written)))
def test_any_bytes_to_any_route_get_an_expected_status(
    bench: Bench, method: str, path: str, query: str, body: bytes
) -> None:
    """Any method, path, query and body gets an expected status and no 500."""
    answer = send(bench, method, f"{path}?{query}", body)
    bench.client.post("/_emulator/reset")

    assert answer.status_code in ALLOWED, answer.text


@pytest.mark.parametrize("is_wild", [False, True], ids=["tame", "wild"])
@settings(max_examples=150)
@given(data=st.data())
def test_any_body_of_a_call_gets_an_expected_status(
    bench: Bench, data: st.DataObject, is_wild: bool
) -> None:
    """Random bodies with members of Google's definition get no 500, and `book` stays readable."""
    bench.client.post("/_emulator/reset")
    path = data.draw(st.sampled_from([*BODIES, *[EDIT] * 8]))
    body = data.draw(bodies(BODIES[path], is_wild=is_wild))
    answer = send(bench, "POST", path, written(body))

    assert answer.status_code in ALLOWED, answer.text
    assert is_readable(bench)


@settings(max_examples=100)
@given(data=st.data(), query=QUERIES, is_wild=st.booleans())
def test_any_values_in_any_range_get_an_expected_status(
    bench: Bench, data: st.DataObject, query: str, is_wild: bool
) -> None:
    """values.update with random values and ranges gets no 500, and `book` stays readable."""
    bench.client.post("/_emulator/reset")
    text = data.draw(st.one_of(st.sampled_from(["Data!A1", "Data", "C9:A1"]), st.text(max_size=9)))
    path = f"{ROOT}/book/values/{quote(text, safe='', errors='replace')}"
    body = data.draw(bodies("ValueRange", is_wild=is_wild))
    answer = send(bench, "PUT", f"{path}?valueInputOption=USER_ENTERED&{query}", written(body))

    assert answer.status_code in ALLOWED, answer.text
    assert is_readable(bench)


@settings(max_examples=100)
@given(body=st.one_of(BYTES, JUNK.map(written), st.lists(JUNK).map(written)))
def test_any_list_of_faults_is_accepted_or_rejected(bench: Bench, body: bytes) -> None:
    """A random list of faults gets 200 or 400."""
    answer = send(bench, "POST", "/_emulator/faults", body)
    bench.fault()

    assert answer.status_code in (200, 400)


def test_many_valid_bodies_take_effect(bench: Bench) -> None:
    """More than a fifth of random valid batchUpdates get 200."""
    statuses: list[int] = []

    @settings(max_examples=60, derandomize=True, database=None)
    @given(body=bodies(BODIES[EDIT], is_wild=False))
    def draw(body: object) -> None:
        bench.client.post("/_emulator/reset")
        statuses.append(send(bench, "POST", EDIT, written(body)).status_code)

    draw()

    assert statuses.count(200) > len(statuses) / 5
