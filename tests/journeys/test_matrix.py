"""20 keys x 10 spreadsheets x worksheets x operations: what is not granted seems not to exist.

Denied requests cost no Google call and get the same bytes as requests about things that do not
exist.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import httpx2
import pytest

from gateway.storage.key_store import KeyRequest
from tests.journeys.conftest import (
    Api,
    EmulatorControl,
    KeysOnDisk,
    make_keys,
    running_emulator,
    running_gateways,
)
from tests.journeys.matrix import (
    BOOKS,
    CELLS,
    KEYS,
    SPREADSHEETS,
    WORKBOOK,
    Cell,
    denial,
    ended,
    ending,
    visible,
)


@pytest.fixture(scope="module")
def matrix_emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorControl]:
    with running_emulator(tmp_path_factory.mktemp("matrix"), WORKBOOK) as control:
        yield control


@pytest.fixture(scope="module")
def matrix_keys(tmp_path_factory: pytest.TempPathFactory) -> KeysOnDisk:
    return make_keys(tmp_path_factory.mktemp("keys"), KEYS)


@pytest.fixture(scope="module")
def matrix(matrix_emulator: EmulatorControl, matrix_keys: KeysOnDisk) -> Iterator[Api]:
    """One gateway with cached rows for all keys, after another key has read everything."""
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
    """The matrix has 20 keys, 10 spreadsheets, and over 50 cells of each kind of denial."""
    denials = [denial(request, asked) for request in KEYS.values() for asked in CELLS]

    assert (len(KEYS), len(SPREADSHEETS), len(CELLS)) == (20, 10, 600)
    assert {each: denials.count(each) > 50 for each in set(denials)} == {
        None: True,
        (404, 101): True,
        (403, 4032): True,
        (405, 4050): True,
    }


@pytest.mark.parametrize("key", KEYS)
def test_a_denied_request_answers_as_one_for_nothing(matrix: Api, key: str) -> None:
    """A denied request gets the bytes of a request for something that does not exist."""
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
    """The same request for a spreadsheet or worksheet that does not exist, with the same denial."""
    grants = request.grants
    if grants.spreadsheets is not None and asked.spreadsheet not in grants.spreadsheets:
        return replace(asked, spreadsheet="nowhere", worksheet="None")
    if grants.worksheets is None:
        return replace(asked, worksheet="None")
    return asked if asked.worksheet in grants.worksheets else replace(asked, worksheet="None")


@pytest.mark.parametrize("key", KEYS)
def test_a_granted_request_shows_only_what_is_granted(matrix: Api, key: str) -> None:
    """A granted request has the expected status, and its answer only granted cells."""
    request = KEYS[key]
    granted = [asked for asked in CELLS if denial(request, asked) is None]
    for asked in granted:
        answer = asked.ask(matrix, key)

        assert ended(answer)[0] == ending(request, asked)[0]
        assert ended(answer) in (ending(request, asked), (ended(answer)[0], None))
        shown = set(re.findall(r"(book\d|private|missing)/(\w+)/(\w+)/", answer.text))
        assert {(book, title) for book, title, _ in shown} <= {(asked.spreadsheet, asked.worksheet)}
        readable = request.grants.columns.readable
        if readable is not None:
            assert {column for *_, column in shown} <= readable
            if asked.operation.row == "/schema":
                assert "hidden" not in answer.text
            _check_hidden(matrix, key, asked, answer)


@pytest.mark.parametrize("key", KEYS)
def test_a_list_of_worksheets_shows_no_more_than_what_is_granted(matrix: Api, key: str) -> None:
    """A list of worksheets shows only granted worksheets, fields and operations."""
    grants = KEYS[key].grants
    titles = ["Open", "Shut"] if grants.worksheets is None else ["Open"]
    names = ["name", "hidden", "note"] if grants.columns.readable is None else ["name", "note"]
    for spreadsheet in SPREADSHEETS:
        calls = matrix.emulator.stats()["calls"]
        answer = matrix.get("/v2/sheets", key=key, spreadsheet=spreadsheet)

        if grants.spreadsheets is not None and spreadsheet not in grants.spreadsheets:
            assert ended(answer) == (404, 101)
            assert matrix.emulator.stats()["calls"] == calls
        elif spreadsheet in BOOKS:
            sheets = answer.json()["sheets"]
            assert [each["name"] for each in sheets] == titles
            assert [[field["name"] for field in each["fields"]] for each in sheets] == [
                names for _ in titles
            ]
            assert {"update" in each["may"] for each in sheets} == {grants.may_update}
            assert "hidden" in names or "hidden" not in answer.text


def _check_hidden(api: Api, key: str, asked: Cell, answer: httpx2.Response) -> None:
    """Check that a request about a hidden field is answered as about a field that does
    not exist.
    """
    if "hidden" in repr(asked.operation.options):
        operation = asked.operation.renamed("hidden", "absent")
        absent = visible(replace(asked, operation=operation).ask(api, key))

        assert repr(visible(answer)) == repr(absent).replace("absent", "hidden")
