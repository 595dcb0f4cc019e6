"""Rows and pages that the client returns."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Value = str | int | float | bool | None
"""A cell value to write; None empties the cell."""

Fields = Mapping[str, Value]


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row. `row["name"]` is the displayed text of the cell, or None if the cell is empty.

    With typed values the cell is a number, a boolean or a string. Dates are ISO strings, and
    errors such as `#N/A` are None.
    """

    row_index: int
    """Row number in the worksheet; the first record is row 2."""
    fields: Mapping[str, Any]
    """Cell values by field name."""
    etag: str | None = None
    """ETag of the whole row, for `if_match`; None in lists and in writes of several rows."""
    created: bool | None = None
    """True if an upsert created the row, False if the row existed; None for other calls."""

    def __getitem__(self, name: str) -> Any:
        if name not in self.fields:
            named = ", ".join(map(repr, self.fields)) or "none"
            raise KeyError(f"Row {self.row_index} has no field {name!r}. Its fields are {named}.")
        return self.fields[name]


@dataclass(frozen=True, kw_only=True)
class Page:
    """One page of a list."""

    rows: Sequence[Row]
    has_next_page: bool
    total: int | None = None
    """Number of matching rows on all pages; None without `count=True`."""
    cursor: str | None = None
    """Cursor of the next page; None after the last page, and in lists without `cursor`."""

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, kw_only=True)
class Affected:
    """The rows that a write by filter changed or deleted."""

    count: int
    row_indexes: Sequence[int]
    """Row numbers before the write."""
