"""Cells of the first worksheet of `book`, in the JSON of spreadsheets.get."""

from typing import Any

from tests.sheets_emulator.bench import Bench

GridData = dict[str, Any]


def grid_data(bench: Bench, text: str = "Data", fields: str = "*") -> GridData:
    """The GridData of a range. `fields` selects members of the cells."""
    answer = bench.call(
        "GET",
        "/v4/spreadsheets/book",
        ranges=text,
        fields=f"sheets.data(startRow,startColumn,rowData.values({fields}))",
    )
    data: GridData = answer.json()["sheets"][0]["data"][0]
    return data


def cells(bench: Bench, text: str = "Data", fields: str = "*") -> list[list[GridData]]:
    """The CellData of a range, by row."""
    return [row.get("values", []) for row in grid_data(bench, text, fields).get("rowData", [])]


def merges(bench: Bench) -> list[tuple[int, ...]]:
    """The merges of the first worksheet: (top, left, bottom, right), counted from 0."""
    answer = bench.call("GET", "/v4/spreadsheets/book", fields="sheets.merges").json()
    names = ("startRowIndex", "startColumnIndex", "endRowIndex", "endColumnIndex")
    found = answer["sheets"][0].get("merges", [])
    return [tuple(merge[name] for name in names) for merge in found]
