"""A header of a thousand columns, some of them traps: every name means its own column, or none."""

import json

import pytest

from tests.surfaces.stage import Surface

COLUMNS = 1_000
TRAPS = (
    *("rowIndex", "__proto__", "constructor", "toString", "a,b", "-a", "$or", "a.b", "a[b]", '"'),
    *("results", "type", "code", "message", "hasNextPage", "apiKey", "spreadsheetId", "limit"),
    *("", "twice", "twice", " twice", "TWICE", "null", "TRUE", "1", "A1", "é", "e\u0301", "😀"),
)
HEADER = [*TRAPS, *(f"column {number}" for number in range(COLUMNS - len(TRAPS)))]
NEVER_STORED = {"rowIndex", "apiKey", "spreadsheetId"}
WRITABLE = [name for name in dict.fromkeys(HEADER) if name and name not in NEVER_STORED]


@pytest.fixture
def wide(surface: Surface) -> Surface:
    """A worksheet whose cells contain their positions."""
    surface.sheets.add("Wide", [HEADER, [f"cell {number}" for number in range(COLUMNS)]])
    return surface


def test_each_name_is_read_from_its_first_column(wide: Surface) -> None:
    """Each name is read from its first column.

    `rowIndex` is the row number, blank names are left out.
    """
    named = {name: f"cell {HEADER.index(name)}" for name in HEADER if name and name != "rowIndex"}
    record = wide.send("GET", "Wide/2").json()

    assert [*record.items()] == [("rowIndex", 2), *named.items()]


@pytest.mark.parametrize(("method", "path", "row"), [("POST", "Wide", 3), ("PATCH", "Wide/2", 2)])
def test_each_name_is_written_to_its_first_column(
    wide: Surface, method: str, path: str, row: int
) -> None:
    """One request writes all names to their first columns. Other columns stay unchanged."""
    before = dict(wide.sheets.worksheets[-1].cells)
    places = {(row, HEADER.index(name) + 1): f"new {name}" for name in WRITABLE}
    body = {name: f"new {name}" for name in WRITABLE}

    answer = wide.send(method, path, body=json.dumps(body).encode())

    assert answer.json()["rowIndex"] == row
    assert wide.sheets.worksheets[-1].cells == before | places


@pytest.mark.parametrize(
    "name", ["", " ", "rowindex", "twice ", "E\u0301", "column 999", "A", "ALL1"]
)
def test_a_name_that_is_none_is_refused(wide: Surface, name: str) -> None:
    """A name that only resembles a field or its position is rejected, and nothing is written."""
    body = json.dumps({name: "x", "twice": "y"}).encode()
    code, _ = wide.refused("POST", "Wide", body=body, reads=2)

    assert code == (400, 104)
