"""A second evaluator, written from the contract's words alone, slow and plain.

It works on decoded JSON and on cells as a sheet gives them, and shares nothing with the package,
so that a mistake in one shows as a difference between the two.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cmp_to_key
from typing import Any
from unicodedata import normalize

from tests.query.sheet import SheetCell

MILLISECOND = 1 / 86_400_000
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_DECORATION = re.compile("[$€£¥₿%, \u00a0\u202f'’]")
_ISO = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d(:\d\d)?)?)?", re.ASCII
)

Row = Mapping[str, SheetCell]


def matching_rows(rows: Sequence[Row], where: Mapping[str, Any]) -> list[int]:
    """The row numbers (from 2) of the rows that a decoded `where` is met by."""
    return [number for number, row in enumerate(rows, 2) if meets(with_number(row, number), where)]


def ordered_rows(
    rows: Sequence[Row], numbers: Sequence[int], order: Sequence[tuple[str, bool]]
) -> list[int]:
    """The row numbers by the fields of `order`, each with whether it is descending."""

    def compare(left: int, right: int) -> int:
        for field, descending in order:
            one, other = (with_number(rows[n - 2], n)[field] for n in (left, right))
            if difference := place_in_order(one, other, descending):
                return difference
        return left - right

    return sorted(numbers, key=cmp_to_key(compare))


def with_number(row: Row, number: int) -> Row:
    """The row with its `rowIndex`, and its texts in NFC."""
    cells = {name: SheetCell(nfc(cell.text), cell.value) for name, cell in row.items()}
    return {**cells, "rowIndex": SheetCell(str(number), number)}


def nfc(value: Any) -> Any:
    """A text in NFC, any other value as it is."""
    return normalize("NFC", value) if isinstance(value, str) else value


def meets(row: Row, where: Mapping[str, Any]) -> bool:
    """Several members are AND."""
    return all(member_meets(row, name, value) for name, value in where.items())


def member_meets(row: Row, name: str, value: Any) -> bool:
    """A combinator, or a field with its value or its operators."""
    if name == "$and":
        return all(meets(row, part) for part in value)
    if name == "$or":
        return any(meets(row, part) for part in value)
    if name == "$not":
        return not meets(row, value)
    return cell_meets(row[name], value if isinstance(value, dict) else {"$eq": value})


def cell_meets(cell: SheetCell, operators: Mapping[str, Any]) -> bool:
    """Several operators are AND."""
    return all(operator_meets(cell, name, nfc(value)) for name, value in operators.items())


def operator_meets(cell: SheetCell, operator: str, value: Any) -> bool:
    """One operator with its operand."""
    ranges: dict[str, Callable[[int], bool]] = {
        "$lt": lambda difference: difference < 0,
        "$lte": lambda difference: difference <= 0,
        "$gt": lambda difference: difference > 0,
        "$gte": lambda difference: difference >= 0,
    }
    if operator in ranges:
        difference = compared(cell, value)
        return difference is not None and ranges[operator](difference)
    plain: dict[str, Callable[[], bool]] = {
        "$eq": lambda: equal(cell, value),
        "$ne": lambda: not equal(cell, value),
        "$neq": lambda: not equal(cell, value),
        "$in": lambda: any(equal(cell, nfc(part)) for part in value),
        "$nin": lambda: not any(equal(cell, nfc(part)) for part in value),
        "$text": lambda: value.casefold() in cell.text.casefold(),
        "$exists": lambda: (kind(cell) != "empty") == value,
        "$not": lambda: not cell_meets(cell, value),
    }
    return plain[operator]()


def kind(cell: SheetCell) -> str:
    """Number (also text that is one), boolean, text or empty."""
    if isinstance(cell.value, bool):
        return "boolean"
    if is_number_cell(cell) or number_of_text(cell.text) is not None:
        return "number"
    return "text" if cell.text or cell.value not in ("", None) else "empty"


def is_number_cell(cell: SheetCell) -> bool:
    return isinstance(cell.value, int | float) and not isinstance(cell.value, bool)


def number_of_text(text: str) -> float | None:
    """Only plain ASCII notation that is finite is a number."""
    return float(text) if _NUMBER.fullmatch(text) and math.isfinite(float(text)) else None


def number(cell: SheetCell) -> float:
    """Of a cell whose kind is number."""
    return cell.value if isinstance(cell.value, int | float) else float(cell.text)


def is_date_cell(cell: SheetCell) -> bool:
    """True for a number cell whose displayed text is no number."""
    is_number = number_of_text(_DECORATION.sub("", cell.text)) is not None
    return is_number_cell(cell) and cell.text != "" and not is_number


def truth(cell: SheetCell) -> bool | None:
    """Boolean cells, and text TRUE and FALSE."""
    if isinstance(cell.value, bool):
        return cell.value
    if kind(cell) != "text":
        return None
    return {"TRUE": True, "FALSE": False}.get(cell.text)


def equal(cell: SheetCell, value: Any) -> bool:
    """The contract's *Comparison* for equality, by kind of operand."""
    if value is None or value == "":
        return kind(cell) == "empty"
    if isinstance(value, bool):
        return truth(cell) is value
    if not isinstance(value, str):
        return kind(cell) == "number" and number(cell) == value
    moment = serial(value)
    return (
        cell.text == value
        or (is_number_cell(cell) and plain(number(cell)) == value)
        or (moment is not None and is_date_cell(cell) and same_time(number(cell), moment))
    )


def compared(cell: SheetCell, value: Any) -> int | None:
    """-1, 0, 1, or None where a range does not apply."""
    if kind(cell) == "empty" or value is None or value == "":
        return None
    if isinstance(value, bool):
        held = truth(cell)
        return None if held is None else held - value
    as_number = number_of_text(value) if isinstance(value, str) else value
    if as_number is not None:
        return three_way(number(cell), as_number) if kind(cell) == "number" else None
    moment = serial(value)
    if moment is not None and is_date_cell(cell):
        near = same_time(number(cell), moment)
        return 0 if near else three_way(number(cell), moment)
    if kind(cell) == "text":
        return three_way([ord(c) for c in cell.text], [ord(c) for c in value])
    return None


def three_way(left: Any, right: Any) -> int:
    return int(left > right) - int(left < right)


def plain(value: float) -> str:
    """A number in plain notation, with enough digits to identify its double."""
    text = f"{Decimal(repr(value + 0)):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def serial(text: str) -> float | None:
    """The wall-clock part of an ISO 8601 date or time as days since 1899-12-30."""
    if _ISO.fullmatch(text) is None:
        return None
    try:
        moment = datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        return None
    return (moment - datetime(1899, 12, 30)).total_seconds() / 86_400


def same_time(left: float, right: float) -> bool:
    return abs(left - right) <= MILLISECOND


def place_in_order(left: SheetCell, right: SheetCell, descending: bool) -> int:
    """Empty cells last both ways; else by kind, then by value."""
    if "empty" in (kind(left), kind(right)):
        return (kind(left) == "empty") - (kind(right) == "empty")
    difference = three_way(sort_key(left), sort_key(right))
    return -difference if descending else difference


def sort_key(cell: SheetCell) -> tuple[int, Any]:
    """Numbers, then text (case-insensitive, then by code point), then booleans."""
    keys: dict[str, Callable[[], tuple[int, Any]]] = {
        "number": lambda: (1, number(cell)),
        "text": lambda: (2, (cell.text.casefold(), cell.text)),
        "boolean": lambda: (3, cell.value),
    }
    return keys[kind(cell)]()
