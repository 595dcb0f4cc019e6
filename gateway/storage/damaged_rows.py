"""Checks of rows read from the database, because a disk or an operator may damage them.

Rules
- SQLite stores any value in any column. So values are checked before they are converted: flags and
  bytes are read as stored, and bytes that are not UTF-8 become a text that cannot be encoded.
- A damaged row affects no other row, and grants nothing. Its error names table and row, no value.
"""

from collections.abc import Mapping
from typing import Literal, TypeVar

import msgspec
from sqlalchemy import Boolean, LargeBinary, RowMapping, Table

T = TypeVar("T", bound=msgspec.Struct)

Row = Mapping[str, object] | RowMapping
"""A row, with its values by column name."""


class AsStoredFlag(Boolean):
    """A Boolean as stored; SQLAlchemy would turn most values in SQLite into True."""

    def result_processor(self, _dialect: object, _coltype: object) -> None:
        return None


class AsStoredBytes(LargeBinary):
    """Bytes as stored; SQLAlchemy would convert numbers to bytes, and raise TypeError for texts."""

    def result_processor(self, _dialect: object, _coltype: object) -> None:
        return None


Flag = bool | Literal[0, 1]
"""A stored flag, which is a number in SQLite."""


class DamagedRow(ValueError):
    """A row cannot be read; the message names it, and the operator's remedy."""

    def __init__(self, table: Table, row: Row, problem: str) -> None:
        self.table = table.name
        self.row = "/".join(_shown(row.get(column.name)) for column in table.primary_key)
        self.problem = problem
        super().__init__(
            f"the row {self.row} of the table {self.table} in the key store is damaged "
            f"({problem}): delete it, or restore the key store from a backup"
        )


def checked(table: Table, row: Row, kind: type[T]) -> T:
    """Convert the columns of a row that are fields of the struct `kind`. Raises DamagedRow."""
    values = {name: row[name] for name in kind.__struct_fields__}
    try:
        for each in values.values():
            if isinstance(each, str):
                each.encode()
        return msgspec.convert(values, kind)
    except UnicodeEncodeError:
        problem = "it has text that is not UTF-8"
    except msgspec.ValidationError as error:
        problem = str(error)
    raise DamagedRow(table, row, problem)


def _shown(value: object) -> str:
    return value if isinstance(value, str) and value.isprintable() else ascii(value)[:80]
