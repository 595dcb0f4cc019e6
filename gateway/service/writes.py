"""A write to a worksheet, and what its answer shows."""

from collections.abc import Mapping
from dataclasses import dataclass

from gateway.rows.header import ROW_INDEX, Header
from gateway.rows.record import Placement, Stored


@dataclass(frozen=True)
class Create:
    """A row to append; `fields` as the client named them."""

    fields: Mapping[str, Stored]


@dataclass(frozen=True)
class Update:
    """Cells of an existing row (2 or below) to write."""

    row: int
    fields: Mapping[str, Stored]


Write = Create | Update


@dataclass(frozen=True, kw_only=True)
class Written:
    """Where a write went, what its cells display now, and the fields that were dropped."""

    row: int
    record: Mapping[str, object]
    ignored: tuple[str, ...]


def written_record(
    row: int, placement: Placement, header: Header, texts: Mapping[int, str]
) -> Written:
    """The written fields in sheet order; `texts` is what each column displays, "" if empty."""
    record: dict[str, object] = {ROW_INDEX: row}
    for name, column in header.columns.items():
        if column in placement.cells:
            record[name] = texts[column] or None
    return Written(row=row, record=record, ignored=placement.ignored)
