"""Records: from request fields to the cells of a row, and back."""

import urllib.parse
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from gateway.errors import InvalidBody, NotGranted, Problem
from gateway.table.cells import CLOCK_TEXT, DATE_TEXT, NUMERAL, displayed_number, text_key
from gateway.table.header import ROW_INDEX, ColumnGrant, View
from gateway.table.quoting import quoted
from gateway.table.steps import finish
from gateway.table.texts import composed
from gateway.table.typed import typed_rows

Record = Mapping[str, object]
"""`rowIndex`, then each field with the displayed text of its cell, or None if it is empty."""

Stored = str | int | float | bool | None
"""A value as a client may send it; None and "" empty the cell."""

MAX_CELL_CHARACTERS = 50_000
"""Google's maximum number of characters of a cell."""

MAX_PROBLEMS = 20
"""Maximum number of places in one error, so that answers do not grow with requests."""

_LONGEST_NAME = 100
_MOST_NAMED = 10
_NONE = "none"

WHOLE_BODY = "#"
"""The pointer to a body as a whole."""

NEVER_STORED = frozenset({ROW_INDEX, "apiKey", "spreadsheetId"})
"""Names in bodies that are never written, even if the header has them."""


@dataclass(frozen=True, kw_only=True)
class Placement:
    """The fields of a request as cells: column to value, and the ignored names."""

    cells: Mapping[int, Stored]
    ignored: tuple[str, ...] = ()


def pointer(*path: str, at: str = WHOLE_BODY) -> str:
    """A JSON pointer as a URI fragment (RFC 6901, section 6), below `at`; long names are cut."""
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
    """Find the column of every field. Raises InvalidBody for names that are not headers.

    Raises NotGranted for fields that the key may see but not write. `at` points at the object
    within the body, such as `#/3` in a list.
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
            problems=[Problem(at, "The object holds no field of the worksheet.")],
        )
    return Placement(cells=cells, ignored=tuple(unknown))


def check_granted(
    fields: Mapping[str, Stored], grant: ColumnGrant, *, at: str = WHOLE_BODY
) -> None:
    """Raise NotGranted for fields that the key may see but not write, whatever the header is."""
    withheld = [name for name in fields if grant.withholds(name)] if grant.withheld else ()
    if withheld:
        raise _not_granted(withheld, at)


def key_form(value: Stored) -> Hashable:
    """Normal form of a key value: equal for all values that could match the same cell.

    It is the number, the moment or the text that the value represents.
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
    """Normal form as `key_form`, for a new cell in a column of formatted numbers.

    A text that displays a number in a usual format, such as `$5.00`, has the form of that number.
    """
    form = key_form(value)
    number = displayed_number(form) if isinstance(value, str) and isinstance(form, str) else None
    return form if number is None else number


def same_key(
    row: Sequence[Stored],
    forms: Sequence[Hashable],
    number: int,
    seen: Sequence[dict[Hashable, int]],
) -> int | None:
    """Number of the first earlier row with the same key as a row, which is added to `seen`.

    `seen` has, for each key field, the rows of each form as bits. Two texts are the same key only
    if they are identical or represent the same moment; a number equals every text of its form.
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
    """The cells of a row to append, from column A; None for a cell without a value."""
    row: list[Stored] = []
    for column, value in cells.items():
        if value is not None and value != "":
            row += [None] * (column + 1 - len(row))
            row[column] = value
    return row


def check_has_value(
    values: Iterable[Stored], *, at: str = WHOLE_BODY, skips_false: bool = False
) -> None:
    """Raise InvalidBody for a new row without a value.

    With `skips_false` also for a row with only `FALSE` and blank cells.
    """
    detail = "A new row needs at least one field with a value."
    for value in values:
        if value is not None and value != "":
            if value is not False or not skips_false:
                return
            detail = (
                "A new row needs a value other than false: rows of false are not records in "
                "this worksheet."
            )
    raise InvalidBody(detail, problems=[Problem(at, detail)])


def check_record_field(
    cells: Mapping[int, Stored], column: int, view: View, *, at: str = WHOLE_BODY
) -> None:
    """Raise InvalidBody for a new row without a value in the record field.

    The message names the field if the view may write it.
    """
    if cells.get(column) not in (None, ""):
        return
    detail = "A row with these fields alone is not a record in this worksheet."
    if column in view.names and view.may_write(column):
        name = quoted(view.names[column])
        detail = (
            f"A new row needs a value of {name}: rows without it are not records in this worksheet."
        )
    raise InvalidBody(detail, problems=[Problem(at, detail)])


def changed_runs(
    cells: Mapping[int, Stored], displayed: Sequence[object] | None = None
) -> list[tuple[int, list[Stored]]]:
    """Neighbouring cells to write in an update, as (first column, values).

    Omits strings equal to the displayed text, and null for an empty cell: clients send whole
    records back, which must not turn numbers, dates and formulas into text or empty cells. Without
    `displayed` all cells are written.
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
    """The text of a cell of a displayed row; "" past its end."""
    cell = row[column] if column < len(row) else None
    return "" if cell is None else str(cell)


def row_record(
    row: int,
    columns: Mapping[int, str],
    displayed: Sequence[object],
    typed: Sequence[object] | None = None,
) -> dict[str, object]:
    """`rowIndex` and the named columns of a displayed row; an empty cell is None.

    With the `typed` cells of the row the record has typed values.
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
    """The error for values with these problems, at least one; it lists the first ones."""
    first = problems[0]
    return InvalidBody(
        f"Nothing was written. First: {first.pointer} - {first.detail}",
        problems=problems[:MAX_PROBLEMS],
    )


def _not_granted(names: Sequence[str], at: str) -> NotGranted:
    return NotGranted(
        f"This key may read {_quoted(names)}, but not write it; nothing was written. Leave it out, "
        "or ask the gateway's operator for a key that may.",
        problems=[
            Problem(pointer(name, at=at), "This key may not write it.")
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
