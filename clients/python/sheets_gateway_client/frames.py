"""Convert typed rows to a pandas DataFrame. pandas is optional and imported on first use."""

import importlib
import re
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sheets_gateway_client.rows import Row

if TYPE_CHECKING:  # precise where pandas-stubs are installed
    from pandas import DataFrame as DataFrame  # type: ignore[import-untyped,import-not-found,unused-ignore]
else:
    DataFrame = Any

_MISSING = (None, "")
"""Values of empty cells and of errors; `""` needs the gateway setting `empty_cell = ""`."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d{1,3})?)?", re.ASCII)
_LARGEST_WHOLE = 2**53


def require_pandas() -> Any:
    """Return the module pandas. Raises ImportError with the install command."""
    try:
        return importlib.import_module("pandas")
    except ImportError as error:
        raise ImportError(
            "to_dataframe() needs pandas: pip install 'sheets-gateway-client[pandas]'"
        ) from error


def data_frame(rows: Sequence[Row], keys: str | Sequence[str] | None) -> DataFrame:
    """Return a DataFrame with one column for each field and the index `rowIndex`.

    Fields in `keys` have a column even if there are no rows.
    """
    pandas = require_pandas()
    wanted = [keys] if isinstance(keys, str) else keys or ()
    names = dict.fromkeys([*wanted, *(name for row in rows for name in row.fields)])
    index = pandas.Index([row.row_index for row in rows], dtype="int64", name="rowIndex")
    columns = {name: _column([row.fields.get(name) for row in rows], index) for name in names}
    return pandas.DataFrame(columns, index=index)


def _column(cells: Sequence[Any], index: Any) -> Any:
    """Return a Series of the cells' type, or of `object` if the cells have several types."""
    pandas = require_pandas()
    filled = [None if cell in _MISSING else cell for cell in cells]
    kinds = {type(cell) for cell in filled if cell is not None}
    if kinds == {bool}:
        return pandas.Series(filled, index, dtype="boolean")
    if kinds and kinds <= {int, float}:
        is_whole = all(cell % 1 == 0 and abs(cell) <= _LARGEST_WHOLE for cell in filled if cell)
        return pandas.Series(filled, index, dtype="Int64" if is_whole else "Float64")
    if kinds == {str}:
        moments = _moments(filled)
        if moments is not None:
            return pandas.Series(moments, index, dtype="datetime64[ms]")
        return pandas.Series(filled, index, dtype="string")
    missing = [pandas.NA if cell is None else cell for cell in filled]
    return pandas.Series(missing, index, dtype="object")


def _moments(cells: Sequence[str | None]) -> Sequence[datetime | None] | None:
    """Parse ISO dates and date-times. Returns None if a string is not a valid one."""
    if not all(cell is None or _DATE.fullmatch(cell) for cell in cells):
        return None
    try:
        return [None if cell is None else datetime.fromisoformat(cell) for cell in cells]
    except ValueError:  # a string such as 2026-02-30
        return None
