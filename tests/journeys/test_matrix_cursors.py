"""20 keys x 10 spreadsheets x worksheets x reads, page by page: cursors show no hidden cell.

Two emulators have the same spreadsheets with different hidden cells. A key that does not see the
hidden column gets the same bytes from both.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.journeys.conftest import Api, KeysOnDisk, make_keys, running_emulator, running_gateways
from tests.journeys.matrix import (
    BOOKS,
    CELLS,
    KEYS,
    SPREADSHEETS,
    WORKSHEETS,
    Cell,
    Operation,
    cell,
    denial,
    ended,
    ending,
    visible,
)
from tests.journeys.test_matrix import nowhere

ROWS = range(2, 9)
LIMIT = 2
ALL = "any all whole"
"""The key that can read everything."""
OTHERS = ["", "1", "z" * 300, "2026-01-02", "TRUE", "#N/A", "x"]
"""Hidden cells of the second emulator: other lengths, types and order."""
NARROW = [name for name, request in KEYS.items() if request.grants.columns.readable is not None]
READS = [asked for asked in CELLS if not asked.operation.is_write]


def is_list(operation: Operation) -> bool:
    return operation.row == "" and "format" not in operation.options.get("params", {})


def twin(*, is_second: bool) -> Mapping[str, Mapping[str, str]]:
    """The spreadsheets. Visible cells occur in two rows each; in `Shut` also the hidden cells."""

    def line(book: str, worksheet: str, row: int) -> str:
        pair, of_hidden = row // 2, row if worksheet == "Open" else row // 2
        name, note = (cell(book, worksheet, column, pair) for column in ("name", "note"))
        own, other = cell(book, worksheet, "hidden", of_hidden), OTHERS[of_hidden % len(OTHERS)]
        hidden = other if is_second else own
        return f"{name},{hidden},{note}\n"

    return {
        book: {
            worksheet: "name,hidden,note\n" + "".join(line(book, worksheet, row) for row in ROWS)
            for worksheet in ("Open", "Shut")
        }
        for book in BOOKS
    }


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Api, Api]]:
    """Two gateways with the same keys and pepper on the two emulators, after a key has
    read all pages.
    """
    folder = tmp_path_factory.mktemp("twins")
    (folder / "first").mkdir()
    database, keys = make_keys(folder / "first", KEYS)
    shutil.copytree(folder / "first", folder / "second")
    copy = folder / "second" / database.name
    with ExitStack() as stack:
        yield (
            _gateway(stack, folder / "a", (database, keys), is_second=False),
            _gateway(stack, folder / "b", (copy, keys), is_second=True),
        )


def _gateway(stack: ExitStack, folder: Path, keys: KeysOnDisk, *, is_second: bool) -> Api:
    folder.mkdir()
    emulator = stack.enter_context(running_emulator(folder, twin(is_second=is_second)))
    start = stack.enter_context(running_gateways(emulator, keys))
    api = start({"cache.rows_ttl_seconds": 600, "cache.header_ttl_seconds": 600})
    for spreadsheet, worksheet in product(SPREADSHEETS, WORKSHEETS):
        walk(api, ALL, Cell(spreadsheet, worksheet, Operation("GET", "")))
    return api


@dataclass(frozen=True)
class Page:
    """A page as a client gets it: comparable parts, rows, and the cursor of the next page."""

    seen: tuple[Any, ...]
    rows: Sequence[Mapping[str, Any]] = ()
    cursor: str | None = None


def paged(asked: Cell, cursor: str) -> Cell:
    """The same request with limit and cursor."""
    options = asked.operation.options
    parameters = {**options.get("params", {}), "limit": LIMIT, "cursor": cursor}
    operation = replace(asked.operation, options={**options, "params": parameters})
    return replace(asked, operation=operation)


def page(api: Api, key: str, asked: Cell, cursor: str = "") -> tuple[Page, httpx2.Response]:
    answer = paged(asked, cursor).ask(api, key)
    seen = (*visible(answer), answer.headers.get("link"))
    if answer.status_code != 200:
        return Page(seen), answer
    body = answer.json()
    return Page(seen, body["results"], body["cursor"]), answer


def walk(api: Api, key: str, asked: Cell) -> Sequence[Page]:
    """All pages of a list, up to the page without a cursor."""
    pages, cursor = list[Page](), ""
    while True:
        found, _ = page(api, key, asked, cursor)
        pages.append(found)
        if not found.cursor:
            return pages
        cursor = found.cursor


def differences(twins: tuple[Api, Api], key: str, cells: Sequence[Cell]) -> set[str]:
    """Names of the parts that differ between the two gateways."""
    found: set[str] = set()
    for asked in cells:
        first, second = (walk(each, key, asked) for each in twins)
        for name, part in PARTS.items():
            if [part(each) for each in first] != [part(each) for each in second]:
                found.add(name)
    return found


PARTS: Mapping[str, Any] = {
    "statuses": lambda page: page.seen[0],
    "cells": lambda page: page.rows,
    "cursors": lambda page: page.cursor,
    "lengths of cursors": lambda page: len(page.cursor or ""),
    "bytes": lambda page: page.seen,
}


def test_the_matrix_is_as_large_as_it_says() -> None:
    """Half of the 20 keys do not see the hidden column, and they have 432 granted lists."""
    lists = [asked for asked in READS if is_list(asked.operation)]
    granted = [each for key in NARROW for each in lists if denial(KEYS[key], each) is None]

    assert (len(NARROW), len(READS), len(lists), len(granted)) == (10, 420, 180, 432)


@pytest.mark.parametrize("key", NARROW)
def test_hidden_cells_change_no_page(twins: tuple[Api, Api], key: str) -> None:
    """For each read, both gateways give the same status, cells, cursor and bytes."""
    assert differences(twins, key, READS) == set()


@pytest.mark.parametrize("key", KEYS)
def test_all_pages_have_each_row_once(twins: tuple[Api, Api], key: str) -> None:
    """All pages of a list have each row once, with granted fields; other reads refuse a cursor."""
    request = KEYS[key]
    readable = request.grants.columns.readable
    for asked in READS:
        if denial(request, asked) is not None:
            continue
        pages = walk(twins[0], key, asked)
        rows = [row for each in pages for row in each.rows]
        status = ending(request, asked)[0] if is_list(asked.operation) else 400

        assert {each.seen[0] for each in pages} == {status}
        if status == 200:
            assert sorted(row["rowIndex"] for row in rows) == [*ROWS]
            assert len(pages) == 4
            assert all(readable is None or {*row} <= readable | {"rowIndex"} for row in rows)


@pytest.mark.parametrize("key", [key for key in KEYS if key != ALL])
def test_a_cursor_of_another_key_is_refused(twins: tuple[Api, Api], key: str) -> None:
    """A cursor of another key gets the same 400 as random text and costs no call.

    Without access, the answer is that of a worksheet that does not exist.
    """
    api, request = twins[0], KEYS[key]
    lists = [each for each in READS if is_list(each.operation) and each.spreadsheet in BOOKS]
    made = [(each, page(api, ALL, each)[0].cursor) for each in lists if each.worksheet != "Nowhere"]
    calls = api.emulator.stats()["calls"]
    for asked, cursor in made:
        assert cursor is not None
        found, answer = page(api, key, asked, cursor)
        denied = denial(request, asked)

        assert ended(answer) == (denied or (400, 4002))
        assert found == page(api, key, nowhere(request, asked) if denied else asked, cursor)[0]
        assert found == page(api, key, asked, "A" * len(cursor))[0]
        assert "book" not in answer.text
    assert len(made) == 96
    assert api.emulator.stats()["calls"] == calls


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"keys": "name,note"}, {"cursors", "bytes"}),
        (
            {"keys": "name,note", "order": "-hidden"},
            {"cells", "cursors", "lengths of cursors", "bytes"},
        ),
        (
            {"keys": "name", "where": '{"hidden":{"$text":"book"}}'},
            {"statuses", "cells", "cursors", "lengths of cursors", "bytes"},
        ),
    ],
    ids=["a cursor with digests of hidden cells", "order", "where"],
)
def test_a_leak_is_found(
    twins: tuple[Api, Api], options: Mapping[str, str], found: set[str]
) -> None:
    """Control: for a key that sees the column, the comparison reports the differences."""
    asked = Cell("book0", "Open", Operation("GET", "", {"params": options}))

    assert differences(twins, ALL, [asked]) == found
