"""Tests of rows as a pandas DataFrame."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas
import pytest

from sheets_gateway_client import AsyncSheets, Row, Sheets
from sheets_gateway_client.frames import data_frame
from tests.clients.middlebox import Middlebox
from tests.clients.python.test_package import PACKAGE, PATIENCE_SECONDS
from tests.journeys.conftest import Api


def frame(rows: Sequence[Mapping[str, object]], keys: str | Sequence[str] | None = None) -> Any:
    """Return the DataFrame of rows, which start at row 2."""
    return data_frame([Row(row_index=at, fields=row) for at, row in enumerate(rows, 2)], keys)


COLUMNS = {
    "whole": ([1, None, 3.0], "Int64", [1, pandas.NA, 3]),
    "decimal": ([1, 2.5], "Float64", [1.0, 2.5]),
    "large": ([1e300, 1], "Float64", [1e300, 1.0]),
    "boolean": ([True, None], "boolean", [True, pandas.NA]),
    "text": (["a", None], "string", ["a", pandas.NA]),
    "date": (
        ["2026-02-01", None, "9999-12-31T23:59:59.125"],
        "datetime64[ms]",
        [pandas.Timestamp(2026, 2, 1), pandas.NaT, pandas.Timestamp("9999-12-31T23:59:59.125")],
    ),
    "clock": (["10:30:00", "PT25H30M"], "string", ["10:30:00", "PT25H30M"]),
    "date and text": (["2026-02-01", "soon"], "string", ["2026-02-01", "soon"]),
    "no date": (["2026-02-30"], "string", ["2026-02-30"]),
    "date of another form": (["20260201"], "string", ["20260201"]),
    "number and text": ([1, "x", None], "object", [1, "x", pandas.NA]),
    "boolean and number": ([True, 1.5], "object", [True, 1.5]),
    "empty": ([None, None], "object", [pandas.NA, pandas.NA]),
    "empty as a text": ([1, ""], "Int64", [1, pandas.NA]),
}
"""Cells of a column, its pandas type, and its values in pandas."""


@pytest.mark.parametrize(("cells", "kind", "values"), COLUMNS.values(), ids=COLUMNS)
def test_a_column_has_a_type(cells: Sequence[object], kind: str, values: Sequence[object]) -> None:
    """A column has the type of its cells if all have one type, and NA for missing cells."""
    column = frame([{"x": cell} for cell in cells])["x"]

    assert str(column.dtype) == kind
    assert list(map(str, column)) == list(map(str, values))


def test_a_frame_has_rows_by_their_number() -> None:
    """The index is the row number, fields keep their order, and omitted fields are NA."""
    found = frame([{"b": 1, "a": "x"}, {"b": 2, "c": True}])

    assert (found.index.name, list(found.index), list(found)) == (
        "rowIndex",
        [2, 3],
        ["b", "a", "c"],
    )
    assert found.loc[3, "a"] is pandas.NA


@pytest.mark.parametrize(
    ("keys", "columns"), [(None, []), ("a", ["a"]), (["b", "a"], ["b", "a"])], ids=str
)
def test_a_frame_without_rows_has_the_requested_fields(keys: Any, columns: Sequence[str]) -> None:
    """Without rows the columns in `keys` exist, so programs that use them do not fail."""
    found = frame([], keys)

    assert (len(found), list(found)) == (0, columns)


@pytest.fixture(params=["sync", "async"])
def frame_of(request: pytest.FixtureRequest, api: Api, middlebox: Middlebox) -> Callable[..., Any]:
    """Return a function that reads a worksheet with a client whose other calls return text."""
    settings = (middlebox.url, api.keys["paid"], "demo")

    async def read(name: str, options: Mapping[str, Any]) -> Any:
        async with AsyncSheets(*settings, values="displayed") as sheets:
            return await sheets.sheet(name).to_dataframe(**options)

    def frame_of(name: str, **options: Any) -> Any:
        if request.param == "async":
            return asyncio.run(read(name, options))
        with Sheets(*settings, values="displayed") as sheets:
            return sheets.sheet(name).to_dataframe(**options)

    return frame_of


def test_a_frame_has_all_pages(frame_of: Callable[..., Any], middlebox: Middlebox) -> None:
    """A frame has the rows of all pages, with filter, order and fields of the list."""
    found = frame_of("Cities", where={"state": "Texas"}, order="-name", keys=["name"], page_size=2)

    assert found["name"].to_dict() == {8: "San Antonio", 5: "Houston", 10: "Dallas"}
    assert len(middlebox.arrived) == 2


def test_a_frame_has_typed_columns(frame_of: Callable[..., Any]) -> None:
    """Columns have typed values even if the client is set to displayed text."""
    found = frame_of("Orders")

    assert [str(kind) for kind in found.dtypes] == [
        *("string", "Float64", "datetime64[ms]", "Int64", "string")
    ]
    assert found["price"].sum() == 1253.5
    assert list(found["due"].dt.strftime("%d.%m.%Y")) == ["02.01.2024", "03.02.2024"]
    assert found["note"].isna().to_list() == [True, False]


def test_without_pandas_the_error_says_how_to_install_it() -> None:
    """Without pandas, `to_dataframe` raises the error before a request."""
    program = (
        "import sys\n"
        "sys.modules['pandas'] = None\n"
        "from sheets_gateway_client import Sheets\n"
        "Sheets('http://127.0.0.1:9', 'sgw_x').sheet('x').to_dataframe()\n"
    )
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )

    assert done.stderr.splitlines()[-1] == (
        "ImportError: to_dataframe() needs pandas: pip install 'sheets-gateway-client[pandas]'"
    )
