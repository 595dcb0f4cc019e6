"""Conversion of records: from the fields of a request to the cells of a row, and back.

The parameter `at` is the JSON pointer to the object of a row in the body, such as `#/3` in a list.
"""

import urllib.parse
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from gateway.errors import InvalidBody, NotGranted, Problem
from gateway.table.cells import CLOCK_TEXT, DATE_TEXT, NUMERAL, composed, displayed_number, text_key
from gateway.table.header import ROW_INDEX, ColumnGrant, View
from gateway.table.quoting import quoted
from gateway.table.steps import finish
from gateway.table.typed import typed_rows

Record = Mapping[str, object]
"""JSON object of a row: `rowIndex`, and each field with its displayed text, or None if empty."""

Stored = str | int | float | bool | None
"""Value that a client can send for a cell. None and "" empty the cell."""

MAX_CELL_CHARACTERS = 50_000
"""Google's maximum number of characters of a cell."""

MAX_PROBLEMS = 20
"""Maximum number of problems that one error lists."""

_LONGEST_NAME = 100
_MOST_NAMED = 10
_NONE = "none"

WHOLE_BODY = "#"
"""JSON pointer to the whole body."""

NEVER_STORED = frozenset({ROW_INDEX, "apiKey", "spreadsheetId"})
"""Names in request bodies that are never written, even if they are fields of the worksheet."""


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Fields of a request body as cells."""

    cells: Mapping[int, Stored]
    """Value by column (from 0)."""
    ignored: tuple[str, ...] = ()
    """Names in the body that are not fields of the worksheet."""


def pointer(*path: str, at: str = WHOLE_BODY) -> str:
    """Append names to the JSON pointer `at` (RFC 6901, section 6: a URI fragment), such as `#/3`.

    Long names are cut.
    """
    for part in path:
        escaped = part[:_LONGEST_NAME].replace("~", "~0").replace("/", "~1")
        at += "/" + urllib.parse.quote(escaped, safe="~$@!*();:,", errors="replace")
    return at


def place(
    fields: Mapping[str, Stored],
    view: View,
    *,
    ignore_unknown: bool,
    at: str = WHOLE_BODY,
) -> Placement:
    """Find the column of every field of a request body.

    Raises InvalidBody for names that are not fields, unless `ignore_unknown` is True, and for a
    body without any field. Raises NotGranted for fields that the key can read but not write.
    """
    cells: dict[int, Stored] = {}
    unknown: list[str] = []
    withheld: list[str] = []
    twice: list[str] = []
    for name, value in fields.items():
        column = view.find(name)
        if column is None:
            unknown.append(name)
        elif not view.may_write(column):
            withheld.append(name)
        elif column in cells:
            twice.append(name)
        else:
            cells[column] = value
    if withheld:
        raise _not_granted(withheld, at)
    if twice or (unknown and not ignore_unknown):
        raise _misplaced(unknown if not ignore_unknown else [], twice, view, at)
    if not cells:
        raise InvalidBody(
            "No field of the body is a field of this worksheet; "
            f"its fields are {view.listing() or _NONE}.",
            problems=[Problem(at, "The object has no field of this worksheet.")],
        )
    return Placement(cells=cells, ignored=tuple(unknown))


def check_granted(
    fields: Mapping[str, Stored], grant: ColumnGrant, *, at: str = WHOLE_BODY
) -> None:
    """Raise NotGranted for fields that the key can read but not write.

    This check compares names with the settings, and needs no read of the header.
    """
    withheld = [name for name in fields if grant.withholds(name)] if grant.withheld else ()
    if withheld:
        raise _not_granted(withheld, at)


def key_form(value: Stored) -> Hashable:
    """Returns the number, the date or time, or the text that a key value represents.

    A key value is a value by which an upsert finds its row. Key values that can match the same cell
    have equal results. A date or time is (kind, sort key).
    """
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if not isinstance(value, str):
        return value
    text = composed(value)
    kind, key = text_key(text)
    if kind == NUMERAL:
        return key
    return (kind, key) if kind in (DATE_TEXT, CLOCK_TEXT) else text


def new_key_form(value: Stored) -> Hashable:
    """Like `key_form` for a column with formatted numbers, where `$5.00` represents 5."""
    form = key_form(value)
    number = displayed_number(form) if isinstance(value, str) and isinstance(form, str) else None
    return form if number is None else number


def same_key(
    row: Sequence[Stored],
    forms: Sequence[Hashable],
    number: int,
    seen: Sequence[dict[Hashable, int]],
) -> int | None:
    """Find the number of the first earlier row of an upsert with the same key, or return None.

    `row` are the key values of row `number` (from 0) of the request, and `forms` the results of
    `key_form`. `seen` has a mapping for each key field, empty before the first row. This function
    adds the row to `seen`. Two texts are the same key only if they are identical or represent the
    same date or time. A number is the same key as every text that represents this number.
    """
    same = (1 << number) - 1
    for value, form, rows in zip(row, forms, seen, strict=True):
        own = equal = (form, form)
        if isinstance(form, int | float):
            if isinstance(value, str):
                own, equal = (form, composed(value)), ((form,), composed(value))
            else:
                own = (form, (form,))
        same &= rows.get(equal[0], 0) | rows.get(equal[1], 0)
        for each in own:
            rows[each] = rows.get(each, 0) | 1 << number
    return (same & -same).bit_length() - 1 if same else None


def new_row(cells: Mapping[int, Stored]) -> list[Stored]:
    """Convert values by column to a list of cells from column A on. None is a blank cell."""
    row: list[Stored] = []
    for column, value in cells.items():
        if value is not None and value != "":
            row += [None] * (column + 1 - len(row))
            row[column] = value
    return row


def check_has_value(
    values: Iterable[Stored], *, at: str = WHOLE_BODY, skips_false: bool = False
) -> None:
    """Raise InvalidBody if a new row has no value.

    With `skips_false`, the value `false` does not count.
    """
    detail = "A new row needs at least one field with a value."
    for value in values:
        if value is not None and value != "":
            if value is not False or not skips_false:
                return
            detail = (
                "A new row needs a value other than false, because a row of only false is not a "
                "record of this worksheet."
            )
    raise InvalidBody(detail, problems=[Problem(at, detail)])


def check_record_field(
    cells: Mapping[int, Stored], column: int, view: View, *, at: str = WHOLE_BODY
) -> None:
    """Raise InvalidBody if a new row has no value in the record field, which is in `column`.

    The record field is the field that, by the settings, has a value in every record. The message
    names it only if the API key is allowed to write it.
    """
    if cells.get(column) not in (None, ""):
        return
    detail = (
        "A row with only these fields is not a record of this worksheet. Ask the gateway's "
        "operator which field is missing."
    )
    if column in view.names and view.may_write(column):
        name = quoted(view.names[column])
        detail = (
            f"A new row needs a value in {name}. Rows without this value are not records of this "
            "worksheet."
        )
    raise InvalidBody(detail, problems=[Problem(at, detail)])


def changed_runs(
    cells: Mapping[int, Stored], displayed: Sequence[object] | None = None
) -> list[tuple[int, list[Stored]]]:
    """Group the cells to write in an update into runs of neighbours: (first column, values).

    `displayed` are the displayed cells of the row. Texts that equal the displayed text are left
    out, because clients send whole records back, and numbers, dates and formulas must not become
    texts. If `displayed` is None, no cell is left out.
    """
    runs: list[tuple[int, list[Stored]]] = []
    for column in sorted(cells):
        value = cells[column]
        written = "" if value is None else value
        if (
            displayed is not None
            and isinstance(written, str)
            and written == text_at(displayed, column)
        ):
            continue
        if runs and runs[-1][0] + len(runs[-1][1]) == column:
            runs[-1][1].append(written)
        else:
            runs.append((column, [written]))
    return runs


def text_at(row: Sequence[object], column: int) -> str:
    """Displayed text of a cell, or "" past the end of the row."""
    cell = row[column] if column < len(row) else None
    return "" if cell is None else str(cell)


def row_record(
    row: int,
    columns: Mapping[int, str],
    displayed: Sequence[object],
    typed: Sequence[object] | None = None,
) -> dict[str, object]:
    """Convert a row to a JSON object: `rowIndex`, and the value of each field, or None if empty.

    `columns` are field names by column. With `typed`, the typed cells of the row, the values are
    typed.
    """
    cells = displayed
    if typed is not None:
        (cells,) = finish(typed_rows([(displayed, typed)], columns))
    width = len(cells)
    record: dict[str, object] = {ROW_INDEX: row}
    for at, name in columns.items():
        cell = cells[at] if at < width else None
        record[name] = None if cell == "" else cell
    return record


def not_written(problems: Sequence[Problem]) -> InvalidBody:
    """Returns the error for a write that these problems prevented, at least one."""
    first = problems[0]
    return InvalidBody(
        f"Nothing was written. First: {first.pointer} - {first.detail}",
        problems=problems[:MAX_PROBLEMS],
    )


def _not_granted(names: Sequence[str], at: str) -> NotGranted:
    return NotGranted(
        f"This key is not allowed to write {_quoted(names)}, so nothing was written. "
        "Send other fields only, or ask the gateway's operator for another key.",
        problems=[
            Problem(pointer(name, at=at), "This key is not allowed to write this field.")
            for name in names[:MAX_PROBLEMS]
        ],
    )


def _misplaced(unknown: Sequence[str], twice: Sequence[str], view: View, at: str) -> InvalidBody:
    problems = [
        *(Problem(pointer(name, at=at), "The worksheet has no such field.") for name in unknown),
        *(Problem(pointer(name, at=at), "Another field names the same column.") for name in twice),
    ][:MAX_PROBLEMS]
    faults = [
        *_fault(unknown, "is not a field of this worksheet", "are not fields of this worksheet"),
        *_fault(twice, "names a column that another field names too", "name columns twice"),
    ]
    return InvalidBody(
        f"{', and '.join(faults)}; its fields are {view.listing() or _NONE}.", problems=problems
    )


def _fault(names: Sequence[str], of_one: str, of_many: str) -> list[str]:
    return [f"{_quoted(names)} {of_one if len(names) == 1 else of_many}"] if names else []


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(map(quoted, names[:_MOST_NAMED]))
