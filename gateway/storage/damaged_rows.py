"""Rows as they are read from the database: checked, since a disk or an operator may damage them.

Rules
- SQLite stores any value in any column. So nothing is converted before it is checked: flags and
  bytes come as they are stored, and bytes that are not UTF-8 as a text that cannot be encoded.
- A damaged row hurts itself alone, and grants nothing. Its error names table and row, and no value.
"""

from collections.abc import Mapping
from typing import Literal, TypeVar

import msgspec
from sqlalchemy import Boolean, LargeBinary, RowMapping, Table

T = TypeVar("T", bound=msgspec.Struct)

Row = Mapping[str, object] | RowMapping
"""A row by the names of its columns."""


class AsStoredFlag(Boolean):
    """A Boolean as it is stored: SQLAlchemy makes True of most values in SQLite."""

    def result_processor(self, _dialect: object, _coltype: object) -> None:
        return None


class AsStoredBytes(LargeBinary):
    """Bytes as they are stored: SQLAlchemy makes bytes of numbers, and TypeErrors of texts."""

    def result_processor(self, _dialect: object, _coltype: object) -> None:
        return None


Flag = bool | Literal[0, 1]
"""A stored flag: SQLite has numbers."""


class DamagedRow(ValueError):
    """A row cannot be read; the message says which, and what an operator can do."""

    def __init__(self, table: Table, row: Row, problem: str) -> None:
        self.table = table.name
        self.row = "/".join(_shown(row.get(column.name)) for column in table.primary_key)
        self.problem = problem
        super().__init__(
            f"the row {self.row} of the table {self.table} in the key store is damaged "
            f"({problem}): delete it, or restore the key store from a backup"
        )


def checked(table: Table, row: Row, kind: type[T]) -> T:
    """The columns of a row that are the fields of a struct `kind`. Raises DamagedRow."""
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
