"""Rows and pages, as values of the client."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Value = str | int | float | bool | None
"""A value to write. Strings stay text; `None` empties the cell."""

Fields = Mapping[str, Value]


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row; `row["name"]` is the text that the cell displays, None if it is empty.

    Typed, it is a number, a boolean or a text; a date is an ISO text, and an error is None.
    """

    row_index: int
    """The row's number in the worksheet: the first record is row 2."""
    fields: Mapping[str, Any]
    etag: str | None = None
    """State of the whole row, for `if_match`. Lists and writes of several rows have none."""
    created: bool | None = None
    """True for a new row of an upsert, False for an existing one; else None."""

    def __getitem__(self, name: str) -> Any:
        if name not in self.fields:
            named = ", ".join(map(repr, self.fields)) or "none"
            raise KeyError(f"Row {self.row_index} has no field {name!r}; its fields are {named}.")
        return self.fields[name]


@dataclass(frozen=True, kw_only=True)
class Page:
    """One page of a list."""

    rows: Sequence[Row]
    has_next_page: bool
    total: int | None = None
    """Number of all matching rows, with `count=True`."""
    cursor: str | None = None
    """Cursor of the next page, with `cursor`; None after the last page."""

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, kw_only=True)
class Affected:
    """Rows of a write by filter; the numbers are those before the write."""

    count: int
    row_indexes: Sequence[int]
