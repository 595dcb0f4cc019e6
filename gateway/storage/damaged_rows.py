"""Checks of rows read from the database, which a disk or an operator can damage.

Rules
- SQLite stores a value of any type in any column. So flags and bytes are read as stored, and are
  checked before they are converted. A text that is not UTF-8 is read with lone surrogates, which
  `checked` rejects.
- Other rows can be read despite a damaged row, and a damaged key is invalid. The error names table
  and row, but no value.
"""

from collections.abc import Mapping
from typing import Literal, TypeVar

import msgspec
from sqlalchemy import Boolean, LargeBinary, RowMapping, Table

T = TypeVar("T", bound=msgspec.Struct)

Row = Mapping[str, object] | RowMapping
"""Row of a table: values by column name."""


class AsStoredFlag(Boolean):
    """Boolean column whose values are read unchanged. SQLAlchemy would read most as True."""

    def result_processor(self, _dialect: object, _coltype: object) -> None:
        return None


class AsStoredBytes(LargeBinary):
    """Bytes column whose values are read unchanged. SQLAlchemy would convert or reject some."""

    def result_processor(self, _dialect: object, _coltype: object) -> None:
        return None


Flag = bool | Literal[0, 1]
"""Stored flag: a bool, or a number in SQLite."""


class DamagedRow(ValueError):
    """A row cannot be decoded. The message names the row, and says how to repair the database."""

    def __init__(self, table: Table, row: Row, problem: str) -> None:
        self.table = table.name
        self.row = "/".join(_shown(row.get(column.name)) for column in table.primary_key)
        self.problem = problem
        super().__init__(
            f"the row {self.row} of the table {self.table} in the key store is damaged "
            f"({problem}): delete the row, or restore the key store from a backup"
        )


def checked(table: Table, row: Row, kind: type[T]) -> T:
    """Convert a row to the struct class `kind`, whose fields name columns. Raises DamagedRow."""
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
