"""View of a header: the one way from a field name to a column that the caller may see.

Rules: a header finds no names, only a view of it does, and a view has the columns alone that its
holder may see. To a view a hidden column and one that is not there are the same: nothing that is
made of it, be it a record, a message or a tag, tells them apart.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec

from gateway.errors import UnknownField
from gateway.table.quoting import quoted
from gateway.table.tag import row_tag

ROW_INDEX = "rowIndex"
"""The field that every record has; a column of that name is not part of a record."""

_NAMES_IN_MESSAGES = 50


@dataclass(frozen=True)
class ColumnGrant:
    """The fields that a key may see and write, by name; None is all, of those that it sees."""

    readable: frozenset[str] | None = None
    writable: frozenset[str] | None = None

    def withholds(self, name: str) -> bool:
        """Whether a field that is granted to be seen may not be written, whatever the header."""
        return bool(self._withheld) and name.strip() in self._withheld

    @cached_property
    def _withheld(self) -> frozenset[str]:
        """The fields that are seen and not written, trimmed: blanks may be all that differs."""
        if self.readable is None or self.writable is None:
            return frozenset()
        return frozenset(map(str.strip, self.readable)) - frozenset(map(str.strip, self.writable))


ALL_COLUMNS = ColumnGrant()


class Selection(msgspec.Struct, frozen=True):
    """Field names wanted; those that are no header are passed over, but for those in `checked`."""

    names: tuple[str, ...]
    checked: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class View:
    """The columns of a header that its holder sees."""

    columns: Mapping[str, int]
    """Field name, exactly as written, to column (from 0), in sheet order."""
    trimmed: Mapping[str, int]
    """The same with the blanks around each name cut."""
    header_cells: Sequence[str]
    """What the holder sees of row 1."""
    is_whole: bool = True
    """Whether nothing is hidden, the cells below blank headers included."""
    writable: frozenset[int] | None = None
    """The columns that the holder may write; None is all of these."""

    def find(self, name: str) -> int | None:
        """The column of a name that a client sent: as it is, else without blanks around it."""
        column = self.columns.get(name)
        return self.trimmed.get(name.strip()) if column is None else column

    def check_fields(self, parameter: str, names: Iterable[str]) -> None:
        """UnknownField that lists the fields, if a parameter's names are not all among them."""
        unknown = [name for name in names if name != ROW_INDEX and self.find(name) is None]
        if unknown:
            fields = ", ".join(filter(None, [ROW_INDEX, self.listing()]))
            raise UnknownField(
                f"{parameter} names {quoted(unknown[0])}, which is not a field of this worksheet; "
                f"its fields are {fields}.",
                parameter=parameter,
                names=unknown,
            )

    def column(self, name: str) -> int:
        """The column of a name that was checked to be a field."""
        column = self.find(name)
        if column is None:
            raise ValueError("a query is evaluated on checked fields only")
        return column

    def may_write(self, column: int) -> bool:
        return self.writable is None or column in self.writable

    def select(self, keys: Selection | None) -> list[tuple[str, int]]:
        """Name and column of the fields wanted (None: all), in sheet order."""
        if keys is None:
            return list(self.columns.items())
        self.check_fields("keys", keys.checked)
        wanted = {self.find(name) for name in keys.names}
        return [(name, column) for name, column in self.columns.items() if column in wanted]

    def listing(self) -> str:
        """The field names for a message, at most 50 of them, cut where long; "" if none is seen."""
        names = list(self.columns)
        more = len(names) - _NAMES_IN_MESSAGES
        shown = ", ".join(map(quoted, names[:_NAMES_IN_MESSAGES]))
        return f"{shown} and {more} more" if more > 0 else shown

    def tag(self, displayed: Sequence[object]) -> str:
        """The entity tag of a displayed row: over all that is seen of it and of its header."""
        if self.is_whole:
            return row_tag(self.header_cells, displayed)
        width = len(displayed)
        seen = [displayed[at] if at < width else None for at in self.columns.values()]
        return row_tag(self.header_cells, seen)
