"""20 keys x 10 spreadsheets x worksheets x operations x columns: what is not granted is not there.

Nothing of it is in any answer, it costs no call to Google, and it answers byte by byte as what does
not exist. Tenants of one gateway cannot tell that there are others.
"""

import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import httpx2
import pytest

from gateway.access.issue import KeyRequest
from gateway.rows.view import ALL_COLUMNS, ColumnGrant
from tests.journeys.conftest import (
    Api,
    EmulatorControl,
    KeysOnDisk,
    make_keys,
    running_emulator,
    running_gateways,
)
from tests.journeys.failure import anonymous, refused
from tests.journeys.waiting import PATIENCE_SECONDS

BOOKS = [f"book{number}" for number in range(8)]
SPREADSHEETS = [*BOOKS, "private", "missing"]
"""Eight that are there, one that is not shared with the account, one that is not there."""
WORKSHEETS = ["Open", "Shut", "Nowhere"]


def cell(book: str, worksheet: str, column: str, row: int) -> str:
    """What a cell holds: where it is, so that it is known wherever it turns up."""
    return f"{book}/{worksheet}/{column}/{row}"


WORKBOOK: Mapping[str, Mapping[str, str]] = {
    book: {
        worksheet: "name,hidden,note\n"
        + "".join(
            ",".join(cell(book, worksheet, column, row) for column in ("name", "hidden", "note"))
            + "\n"
            for row in range(2, 6)
        )
        for worksheet in ("Open", "Shut")
    }
    for book in BOOKS
}

SOME = ColumnGrant(frozenset({"name", "note"}), frozenset({"note"}))
GRANTED_BOOKS = {
    "b0": frozenset({"book0"}),
    "b1": frozenset({"book1"}),
    "b0-2": frozenset({"book0", "book1", "book2"}),
    "far": frozenset({"book7", "private", "missing"}),
    "any": None,
}


def make_requests() -> Iterator[tuple[str, KeyRequest]]:
    """A key for each way to be kept to something; every third may only read."""
    grants = product(GRANTED_BOOKS, ("open", "all"), ("some", "whole"))
    for number, (books, titles, fields) in enumerate(grants):
        name, is_read_only = f"{books} {titles} {fields}", number % 3 == 0
        some = ColumnGrant(SOME.readable) if is_read_only else SOME
        yield (
            name,
            KeyRequest(
                name=name,
                spreadsheets=GRANTED_BOOKS[books],
                worksheets=frozenset({"Open"}) if titles == "open" else None,
                columns=some if fields == "some" else ALL_COLUMNS,
                read_only=is_read_only,
            ),
        )


KEYS: Mapping[str, KeyRequest] = dict(make_requests())


@dataclass(frozen=True)
class Operation:
    """A request; `fields` are those that it names, by which they are sought or written."""

    method: str
    row: str
    options: Mapping[str, Any] = field(default_factory=dict)
    fields: frozenset[str] = frozenset()

    @property
    def is_write(self) -> bool:
        return self.method not in ("GET", "HEAD")

    def renamed(self, old: str, new: str) -> "Operation":
        """The same with another field, which is as long."""
        options = json.loads(json.dumps(self.options).replace(old, new))
        return Operation(self.method, self.row, options, self.fields)


def seeking(parameter: str, text: str, name: str) -> Operation:
    return Operation("GET", "", {"params": {parameter: text}}, frozenset({name}))


def writing(method: str, row: str, *names: str) -> Operation:
    return Operation(method, row, {"json": dict.fromkeys(names, "new")}, frozenset(names))


OPERATIONS = [
    Operation("GET", ""),
    Operation("GET", "/2"),
    Operation("HEAD", "/2"),
    Operation("GET", "", {"params": {"keys": "hidden,note"}}),
    seeking("where", '{"note":{"$exists":true}}', "note"),
    seeking("where", '{"hidden":{"$text":"book"}}', "hidden"),
    seeking("where", '{"$not":{"hidden":"x"}}', "hidden"),
    seeking("order", "-hidden", "hidden"),
    writing("POST", "", "note"),
    writing("POST", "", "hidden"),
    writing("POST", "", "name", "note"),
    writing("POST", "/2", "note"),
    writing("PUT", "/2", "name"),
    writing("PATCH", "/2", "hidden"),
]


@dataclass(frozen=True)
class Cell:
    """One cell of the matrix."""

    spreadsheet: str
    worksheet: str
    operation: Operation

    def ask(self, api: Api, key: str) -> httpx2.Response:
        operation = self.operation
        return api.send(
            operation.method,
            self.worksheet + operation.row,
            key=key,
            spreadsheet=self.spreadsheet,
            **operation.options,
        )


CELLS = [Cell(*each) for each in product(SPREADSHEETS, WORKSHEETS, OPERATIONS)]


def denial(request: KeyRequest, asked: Cell) -> tuple[int, int] | None:
    """Status and code of what a key was not granted, be it there or not; None if it was."""
    if request.spreadsheets is not None and asked.spreadsheet not in request.spreadsheets:
        return 404, 101
    if request.worksheets is not None and asked.worksheet not in request.worksheets:
        return 403, 4032
    if not asked.operation.is_write:
        return None
    if request.read_only:
        return 405, 4050
    columns = request.columns
    withheld = asked.operation.fields & (columns.readable or frozenset())
    return (403, 4032) if withheld - (columns.writable or withheld) else None


def ending(request: KeyRequest, asked: Cell) -> tuple[int, int | None]:
    """Status and code of what a key was granted, as far as its columns go."""
    if asked.spreadsheet == "private":
        return 403, 101
    if asked.spreadsheet == "missing":
        return 404, 101
    if asked.worksheet == "Nowhere":
        return 404, 105
    operation, readable = asked.operation, request.columns.readable
    if readable is not None and operation.fields - readable:
        return 400, 104 if operation.is_write else 4002
    return 201 if operation.is_write and not operation.row else 200, None


def ended(answer: httpx2.Response) -> tuple[int, int | None]:
    if answer.status_code < 400 or not answer.content:
        return answer.status_code, None
    return refused(answer)


def visible(answer: httpx2.Response, *besides: str) -> tuple[Any, ...]:
    """All of an answer that its receiver sees, besides its times, its id and what is left."""
    varying = {"age", "date", "ratelimit", "server-timing", "x-request-id", *besides}
    headers = sorted(
        (name, re.sub(r"ttl=-?\d+", "ttl", value))
        for name, value in answer.headers.items()
        if name not in varying
    )
    return answer.status_code, headers, anonymous(answer)


@pytest.fixture(scope="module")
def matrix_emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorControl]:
    with running_emulator(tmp_path_factory.mktemp("matrix"), WORKBOOK) as control:
        yield control


@pytest.fixture(scope="module")
def matrix_keys(tmp_path_factory: pytest.TempPathFactory) -> KeysOnDisk:
    return make_keys(tmp_path_factory.mktemp("keys"), KEYS)


@pytest.fixture(scope="module")
def matrix(matrix_emulator: EmulatorControl, matrix_keys: KeysOnDisk) -> Iterator[Api]:
    """One gateway for all keys, which keeps what it read; another key has read everything."""
    with running_gateways(matrix_emulator, matrix_keys) as start:
        api = start({"cache.rows_ttl_seconds": 600, "cache.header_ttl_seconds": 600})
        for book, worksheet in product(BOOKS, ("Open", "Shut")):
            for path in (worksheet, f"{worksheet}/2", f"{worksheet}?order=hidden"):
                api.get(path, key="any all whole", spreadsheet=book)
        yield api


def everything(emulator: EmulatorControl) -> Mapping[str, Any]:
    """All cells of all books."""
    books = {book: emulator.client.get(f"/_emulator/spreadsheets/{book}") for book in BOOKS}
    return {book: answer.raise_for_status().json() for book, answer in books.items()}


def test_the_matrix_is_as_large_as_it_says() -> None:
    """20 keys and 10 spreadsheets, each way to read and write, fields that are hidden or kept."""
    denials = [denial(request, asked) for request in KEYS.values() for asked in CELLS]

    assert (len(KEYS), len(SPREADSHEETS), len(CELLS)) == (20, 10, 420)
    assert {each: denials.count(each) > 50 for each in set(denials)} == {
        None: True,
        (404, 101): True,
        (403, 4032): True,
        (405, 4050): True,
    }


@pytest.mark.parametrize("key", KEYS)
def test_what_is_not_granted_is_not_there(matrix: Api, key: str) -> None:
    """Denied cells have their code, the bytes of what does not exist, and cost no call."""
    request = KEYS[key]
    denied = [(asked, expected) for asked in CELLS if (expected := denial(request, asked))]
    before, calls = everything(matrix.emulator), matrix.emulator.stats()["calls"]

    answers = [(asked.ask(matrix, key), nowhere(request, asked).ask(matrix, key), expected)
               for asked, expected in denied]  # fmt: skip

    assert matrix.emulator.stats()["calls"] == calls
    assert everything(matrix.emulator) == before
    for answer, absent, expected in answers:
        assert ended(answer) in (expected, (expected[0], None))
        assert visible(answer) == visible(absent)
        assert "book" not in answer.text


def nowhere(request: KeyRequest, asked: Cell) -> Cell:
    """The same of a spreadsheet, or else of a worksheet, that is not there, denied alike."""
    if request.spreadsheets is not None and asked.spreadsheet not in request.spreadsheets:
        return replace(asked, spreadsheet="nowhere", worksheet="None")
    if request.worksheets is None:
        return replace(asked, worksheet="None")
    return asked if asked.worksheet in request.worksheets else replace(asked, worksheet="None")


@pytest.mark.parametrize("key", KEYS)
def test_what_is_granted_shows_no_more_than_that(matrix: Api, key: str) -> None:
    """Granted cells end as they should; what answers hold was granted, wherever it stands."""
    request = KEYS[key]
    granted = [asked for asked in CELLS if denial(request, asked) is None]
    for asked in granted:
        answer = asked.ask(matrix, key)

        assert ended(answer)[0] == ending(request, asked)[0]
        assert ended(answer) in (ending(request, asked), (ended(answer)[0], None))
        shown = set(re.findall(r"(book\d|private|missing)/(\w+)/(\w+)/", answer.text))
        assert {(book, title) for book, title, _ in shown} <= {(asked.spreadsheet, asked.worksheet)}
        if request.columns.readable is not None:
            assert {column for *_, column in shown} <= request.columns.readable
            _check_hidden(matrix, key, asked, answer)


def _check_hidden(api: Api, key: str, asked: Cell, answer: httpx2.Response) -> None:
    """The answer is that to the same request about a field that is not there."""
    if "hidden" in repr(asked.operation.options):
        operation = asked.operation.renamed("hidden", "absent")
        absent = visible(replace(asked, operation=operation).ask(api, key))

        assert repr(visible(answer)) == repr(absent).replace("absent", "hidden")


SCRIPT: Sequence[tuple[str, str, Mapping[str, Any]]] = [
    ("GET", "Open", {}),
    ("GET", "Open", {"params": {"where": '{"note":{"$text":"3"}}', "count": "true"}}),
    ("GET", "Open", {"params": {"order": "-name", "limit": "2"}}),
    ("GET", "Open", {"params": {"order": "hidden"}}),
    ("GET", "Open/3", {}),
    ("POST", "Open/3", {"json": {"note": "changed"}}),
    ("GET", "Open/3", {}),
    ("POST", "Open", {"json": {"note": "created"}}),
    ("POST", "Open", {"json": {"name": "x", "note": "y"}}),
    ("POST", "Open", {"json": {"hidden": "x"}}),
    ("PATCH", "Open/4", {"json": {"note": "x"}, "headers": {"If-Match": '"stale"'}}),
    ("PATCH", "Open/4", {"json": {"note": "x"}, "headers": {"If-Match": "*"}}),
    ("GET", "Shut", {}),
    ("GET", "Open", {"params": {"no-cache": "true"}}),
    ("GET", "Open", {"params": {"keys": "hidden,name"}}),
]
SAME_BOOK: Sequence[tuple[str, str, Mapping[str, Any]]] = [
    ("GET", "Open", {}),
    ("GET", "Open", {"params": {"order": "hidden"}}),
    ("GET", "Open/3", {}),
    ("PATCH", "Open/3", {"json": {"hidden": "theirs"}}),
    ("PATCH", "Open/4", {"json": {"hidden": "theirs too"}}),
    ("GET", "Open", {"params": {"where": '{"hidden":{"$text":"theirs"}}'}}),
    ("POST", "Open", {"json": {"nope": "x"}}),
]


def played(api: Api, key: str) -> list[httpx2.Response]:
    """The answers to the script, of the first book."""
    return [
        api.send(method, path, key=key, spreadsheet="book0", **options)
        for method, path, options in SCRIPT
    ]


@contextmanager
def traffic(
    api: Api, key: str, book: str, script: Sequence[tuple[str, str, Mapping[str, Any]]]
) -> Iterator[list[int]]:
    """Another tenant's requests, from before the block until its end; their statuses."""
    has_begun, is_over = threading.Event(), threading.Event()
    statuses: list[int] = []

    def run() -> None:
        with httpx2.Client(base_url=api.url, timeout=30.0) as client:
            other = Api(url=api.url, emulator=api.emulator, keys=api.keys, client=client)
            while script and not is_over.is_set():
                for method, path, options in script:
                    answer = other.send(method, path, key=key, spreadsheet=book, **options)
                    statuses.append(answer.status_code)
                    has_begun.set()

    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(run) for _ in range(2)]
        try:
            assert has_begun.wait(PATIENCE_SECONDS if script else 0) is bool(script)
            yield statuses
        finally:
            is_over.set()
    for each in runs:
        each.result()


@pytest.mark.parametrize(
    ("key", "book", "script", "settings", "besides"),
    [
        pytest.param(
            "b1 all whole",
            "book1",
            SCRIPT,
            {"cache.rows_ttl_seconds": 60},
            (),
            id="another book, kept",
        ),
        pytest.param("b1 all whole", "book1", SCRIPT, {}, (), id="another book, looking each time"),
        pytest.param(
            "b0-2 all whole", "book0", SAME_BOOK, {}, ("cache-status",), id="hidden columns"
        ),
    ],
)
def test_a_tenant_is_answered_as_if_it_were_alone(
    matrix_emulator: EmulatorControl,
    tmp_path: Path,
    key: str,
    book: str,
    script: Sequence[tuple[str, str, Mapping[str, Any]]],
    settings: Mapping[str, object],
    besides: Sequence[str],
) -> None:
    """A's answers beside B's traffic are those without, byte by byte; so is A's worksheet.

    B uses another book, or the columns of the same rows that A does not see.
    """
    found = []
    for others in (None, script):
        (tmp_path / str(others is None)).mkdir()
        keys = make_keys(tmp_path / str(others is None), KEYS)
        with running_gateways(matrix_emulator, keys) as start:
            api = start(settings)
            with traffic(api, key, book, others or ()) as statuses:
                answers = [visible(answer, *besides) for answer in played(api, "b0 all some")]
            rows = [row[:1] + row[2:] for row in api.emulator.texts("Open", "book0")]
        found.append((answers, rows))

    assert found[0] == found[1]
    assert {status for status, *_ in answers} == {200, 201, 400, 403, 412}
    assert {status for status in statuses if status < 300}
    assert max(statuses) < 500
