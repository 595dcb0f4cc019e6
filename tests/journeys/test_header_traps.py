"""A header of a thousand columns, some of them traps: every name means its own column, or none."""

import csv
import io
from collections.abc import Iterator

import pytest

from tests.journeys.conftest import (
    Api,
    EmulatorControl,
    KeysOnDisk,
    running_emulator,
    running_gateways,
)
from tests.journeys.failure import refused

COLUMNS = 1_000
TRAPS = (
    *("rowIndex", "__proto__", "constructor", "toString", "a,b", "-a", "$or", "a.b", "a[b]", '"'),
    *("results", "type", "code", "message", "hasNextPage", "apiKey", "spreadsheetId", "limit"),
    *("", "twice", "twice", " twice", "TWICE", "null", "TRUE", "1", "A1", "é", "e\u0301", "😀"),
)
HEADER = [*TRAPS, *(f"column {number}" for number in range(COLUMNS - len(TRAPS)))]
NEVER_STORED = {"rowIndex", "apiKey", "spreadsheetId"}
WRITABLE = [name for name in dict.fromkeys(HEADER) if name and name not in NEVER_STORED]


def as_csv(*rows: list[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


@pytest.fixture(scope="module")
def wide(
    tmp_path_factory: pytest.TempPathFactory, access: KeysOnDisk
) -> Iterator[tuple[Api, EmulatorControl]]:
    """A gateway on an emulator with a wide worksheet whose cells contain their positions."""
    cells = [f"cell {number}" for number in range(COLUMNS)]
    workbook = {"demo": {"Wide": as_csv(HEADER, cells)}}
    with (
        running_emulator(tmp_path_factory.mktemp("wide"), workbook) as control,
        running_gateways(control, access) as start,
    ):
        yield start(), control


def test_each_name_is_read_from_its_first_column(wide: tuple[Api, EmulatorControl]) -> None:
    """`rowIndex` stays the row's number, a blank header is no field, and order is the sheet's."""
    record = wide[0].get("Wide/2").json()
    named = {name: HEADER.index(name) for name in dict.fromkeys(HEADER) if name}
    del named["rowIndex"]

    assert record.pop("rowIndex") == 2
    assert record == {name: f"cell {column}" for name, column in named.items()}
    assert [*record] == [*named]


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_each_name_is_written_to_its_first_column(
    wide: tuple[Api, EmulatorControl], method: str
) -> None:
    """All of them in one request; the columns that no field means stay as they were."""
    api, control = wide
    values = {name: f"{method} {HEADER.index(name)}" for name in WRITABLE}
    path = "Wide" if method == "POST" else "Wide/2"

    answer = api.send(method, path, json=values)
    row = answer.json()["rowIndex"]
    cells = [cell["text"] for cell in control.cells("Wide")[row - 1]]
    untouched = [n for n, name in enumerate(HEADER) if values.get(name) != f"{method} {n}"]

    assert answer.status_code in (200, 201)
    assert {name: cells[HEADER.index(name)] for name in WRITABLE} == values
    assert {cells[n] for n in untouched} <= {"", *(f"cell {n}" for n in untouched)}


@pytest.mark.parametrize(
    "name", ["", " ", "rowindex", "twice ", "E\u0301", "column 999", "A", "ALL1"]
)
def test_a_name_that_is_none_is_refused(wide: tuple[Api, EmulatorControl], name: str) -> None:
    """Nothing is written to a column by what only resembles its name or place."""
    api, control = wide
    before = control.everything()

    answer = api.post("Wide", json={name: "x", "twice": "y"})

    assert refused(answer) == (400, 104)
    assert control.everything() == before
