"""Reference evaluator of queries, written from the API documentation alone.

The evaluator is slow and simple. Engine and evaluator share only the parser of dates and times, so
that a mistake in one of them is a difference.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import cmp_to_key
from typing import Any
from unicodedata import normalize

from gateway.table.moments import displayed_moment, moment_in
from tests.query.sheet import SheetCell

CLASSES = ("number", "date", "clock", "text", "boolean", "error", "empty")
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_ERRORS = ["#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A", "#ERROR!", "#SPILL!"]

Row = Mapping[str, SheetCell]


def matching_rows(rows: Sequence[Row], where: Mapping[str, Any]) -> list[int]:
    """Return the numbers (from 2) of the rows that match a decoded `where`."""
    numbered = [with_number(row, number) for number, row in enumerate(rows, 2)]
    return [number for number, row in enumerate(numbered, 2) if meets(row, where, numbered)]


def ordered_rows(
    rows: Sequence[Row], numbers: Sequence[int], order: Sequence[tuple[str, bool]]
) -> list[int]:
    """Return the row numbers sorted by `order`, a list of (field, is descending)."""

    def compare(left: int, right: int) -> int:
        for field, descending in order:
            one, other = (with_number(rows[n - 2], n)[field] for n in (left, right))
            if difference := place_in_order(one, other, descending):
                return difference
        return left - right

    return sorted(numbers, key=cmp_to_key(compare))


def with_number(row: Row, number: int) -> Row:
    """Return the row with `rowIndex`, and with texts in NFC."""
    cells = {name: SheetCell(nfc(cell.text), cell.value) for name, cell in row.items()}
    return {**cells, "rowIndex": SheetCell(str(number), number)}


def nfc(value: Any) -> Any:
    """Return a text in NFC, and any other value unchanged."""
    return normalize("NFC", value) if isinstance(value, str) else value


def meets(row: Row, where: Mapping[str, Any], rows: Sequence[Row]) -> bool:
    """True if the row matches all members of a `where` object."""
    return all(member_meets(row, name, value, rows) for name, value in where.items())


def member_meets(row: Row, name: str, value: Any, rows: Sequence[Row]) -> bool:
    """True if the row matches a combinator, or a field with a value or with operators."""
    if name == "$and":
        return all(meets(row, part, rows) for part in value)
    if name == "$or":
        return any(meets(row, part, rows) for part in value)
    if name == "$not":
        return not meets(row, value, rows)
    column = [each[name] for each in rows]
    return cell_meets(row[name], value if isinstance(value, dict) else {"$eq": value}, column)


def cell_meets(cell: SheetCell, operators: Mapping[str, Any], column: Sequence[SheetCell]) -> bool:
    """True if the cell matches all operators."""
    return all(operator_meets(cell, name, nfc(value), column) for name, value in operators.items())


def operator_meets(cell: SheetCell, operator: str, value: Any, column: Sequence[SheetCell]) -> bool:
    """True if the cell matches one operator with its operand."""
    plain: dict[str, Callable[[], bool]] = {
        "$eq": lambda: equal(cell, value),
        "$ne": lambda: not equal(cell, value),
        "$neq": lambda: not equal(cell, value),
        "$in": lambda: any(equal(cell, nfc(part)) for part in value),
        "$nin": lambda: not any(equal(cell, nfc(part)) for part in value),
        "$text": lambda: value.casefold() in cell.text.casefold(),
        "$exists": lambda: (kind(cell) != "empty") == value,
        "$not": lambda: not cell_meets(cell, value, column),
        "$lt": lambda: side(cell, value, column) < 0,
        "$lte": lambda: side(cell, value, column) < 0 or is_equal_in_range(cell, value, column),
        "$gt": lambda: side(cell, value, column) > 0,
        "$gte": lambda: side(cell, value, column) > 0 or is_equal_in_range(cell, value, column),
    }
    return plain[operator]()


def kind(cell: SheetCell) -> str:
    """Return the class of a cell."""
    return value_of(cell)[0]


def value_of(cell: SheetCell) -> tuple[str, Any]:
    """Return the class of a cell, and its value in the class."""
    if isinstance(cell.value, bool):
        return "boolean", cell.value
    if isinstance(cell.value, int | float):
        if number_of_text(cell.text) is None and (at := displayed_moment(cell.text, cell.value)):
            return "clock" if at.is_clock else "date", at.milliseconds
        return "number", cell.value
    if not cell.text and not cell.value:
        return "empty", None
    return value_of_text(cell.text)


def value_of_text(text: str) -> tuple[str, Any]:
    """Return the class of a text, and the value that the text represents."""
    number = number_of_text(text)
    if number is not None:
        return "number", number
    if moment := moment_in(text):
        return "clock" if moment.is_clock else "date", moment.milliseconds
    return ("error", text) if text in _ERRORS else ("text", text.casefold())


def is_of_the_sheet(cell: SheetCell) -> bool:
    """True for a typed number or boolean, False for a text."""
    return isinstance(cell.value, int | float)


def number_of_text(text: str) -> float | None:
    """Return the number that a text in plain ASCII notation represents, or None for other texts."""
    return float(text) if _NUMBER.fullmatch(text) and math.isfinite(float(text)) else None


def equal(cell: SheetCell, value: Any) -> bool:
    """True if the cell equals an operand of any JSON type."""
    if value is None or value == "":
        return kind(cell) == "empty"
    if isinstance(value, bool):
        return kind(cell) == "boolean" and cell.value is value
    if not isinstance(value, str):
        if kind(cell) != "number":
            return False
        return cell.value == value if is_of_the_sheet(cell) else cell.text == plain(value)
    if kind(cell) == "empty":
        return False
    names_its_value = is_of_the_sheet(cell) and value_of(cell) == value_of_text(value)
    return cell.text == value or (names_its_value and kind(cell) in ("number", "date", "clock"))


def stands_at(value: Any, column: Sequence[SheetCell]) -> tuple[str, tuple[Any, str]] | None:
    """Return the class of the operand of a range, and its sort key in this class, or None."""
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "boolean", (value, "")
    if not isinstance(value, str):
        return "number", (value, "")
    own, key = value_of_text(value)
    shown = [each for each in column if is_of_the_sheet(each) and each.text == value]
    others = [sort_key(each) for each in shown if kind(each) != own]
    if others and (own == "text" or all(kind(each) != own for each in column)):
        number, place = min(others)
        return CLASSES[number], place
    held = [each for each in column if kind(each) == own and equal(each, value)]
    if shown and not others and not any(value_of(each) == (own, key) for each in held):
        return own, min(sort_key(each) for each in shown)[1]
    return own, (key, value if own != "error" else "")


def side(cell: SheetCell, value: Any, column: Sequence[SheetCell]) -> int:
    """Return -1 if the cell is below the operand, 1 if above, or 0 if equal or of another class."""
    stand = stands_at(value, column)
    if stand is None or kind(cell) != stand[0] or equal(cell, value):
        return 0
    return -1 if sort_key(cell)[1] < stand[1] else 1


def is_equal_in_range(cell: SheetCell, value: Any, column: Sequence[SheetCell]) -> bool:
    """True if the cell equals the operand and has the class of the operand."""
    stand = stands_at(value, column)
    return stand is not None and kind(cell) == stand[0] and equal(cell, value)


def three_way(left: Any, right: Any) -> int:
    return int(left > right) - int(left < right)


def plain(value: float) -> str:
    """Return a number in plain notation, with all digits of its exact float."""
    text = f"{Decimal(repr(value + 0)):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def place_in_order(left: SheetCell, right: SheetCell, descending: bool) -> int:
    """Compare two cells for sorting. Empty cells are last in both directions."""
    if "empty" in (kind(left), kind(right)):
        return (kind(left) == "empty") - (kind(right) == "empty")
    difference = three_way(sort_key(left), sort_key(right))
    return -difference if descending else difference


def sort_key(cell: SheetCell) -> tuple[int, tuple[Any, str]]:
    """Return a key to sort by class and value. At equal values, numbers come before texts by
    code point.
    """
    of_class, key = value_of(cell)
    is_text = not is_of_the_sheet(cell) and of_class != "error"
    return CLASSES.index(of_class), (key, cell.text if is_text else "")
