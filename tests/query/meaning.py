"""A slow, simple model of equality, ranges and order of cells, and a checker of engines.

Cells are created with their class: the number format gives the class of a number, the notation that
of a text. So the model parses no display, and shares only LONGEST_CLOCK with the engine. `failures`
lists contradictions between answers of `where` and `order` on one column.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cmp_to_key
from random import Random
from typing import Any, NamedTuple
from unicodedata import normalize

from gateway.table.moments import LONGEST_CLOCK
from tests.query.sheet import SheetCell
from tests.table.number_formats import FORMATS, Format, drawn_number, is_twin

CLASSES = ("number", "date", "clock", "text", "boolean", "error", "empty")
"""Classes of cells in sort order."""

EPOCH = datetime(1899, 12, 30)
NUMBER_TEXT = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
ERRORS = ("#N/A", "#DIV/0!", "#REF!", "#NAME?")
POOL = (
    *(
        0,
        1,
        2,
        5,
        9.9,
        9.95,
        9.99,
        10,
        12.5,
        -3.5,
        0.1,
        0.30000000000000004,
        100,
        501,
        1905,
        100_000,
        1_000_000,
    ),
    *(46_054, 46_054.75, 46_055, 46_082, 0.875, 0.25, 25.5 / 24, -1.5 / 24, 46_054 + 1e-9, 2**53),
    *(46_054.75 + 0.4 / 86_400_000, 46_054.75 + 1 / 86_400_000, 0.875 + 0.3 / 86_400_000),
)
"""Numbers that occur in several cells of a column with different formats."""
TEXTS = (
    *("9.9", "9.90", "1.1", "1.10", "1E5", "100000", "100000.0", "5", "5.0", "-3.5", "-3.50", "0"),
    *("2026-02-01", "2026-02-01T00:00", "2026-02-01 00:00:00", "2026-02-01T18:00:00"),
    *("2026-02-01t18:00", "2026-02-01T18:00Z", "2026-02-02", "2026-02-30", "2026-03-01"),
    *("21:00", "21:00:00", "PT21H", "PT25H30M", "25:30", "25:30:00", "-PT1H30M", "-1:30:00"),
    *("PT1.5S", "8:00 AM", "9:00 PM", "$5.00", "5%", "05.01.2026", "1 Feb", "Feb 1, 2026", "1,905"),
    *("a", "A", "b", "B", "Bob", "bob", "adam", "Émile", "émile", "ß", "ss", "SS", "Ω", "ω", "é"),
    *(
        "TRUE",
        "TRUE",
        "FALSE",
        "FALSE",
        "true",
        "007",
        "+44 20",
        "nan",
        "1e400",
        "#N/A!",
        "null",
        " ",
        "-",
        "😀",
    ),
)


class Cell(NamedTuple):
    """Cell with displayed text, typed value, class, and value in the class.

    The value in the class is a number, milliseconds, a case-folded text, a boolean, or an error
    text.
    """

    text: str
    value: object
    of_class: str
    key: Any

    @property
    def is_of_the_sheet(self) -> bool:
        return not isinstance(self.value, str)


Operand = str | int | float | bool | None


def number_cell(form: Format, number: float) -> Cell:
    """Return a cell with this number in this format."""
    value = int(number) if number.is_integer() else number
    moment = form.moment(number)
    if moment is None:
        return Cell(form.display(number), value, "number", value)
    of_class = "clock" if moment.is_clock else "date"
    return Cell(form.display(number), value, of_class, moment.milliseconds)


def text_cell(text: str) -> Cell:
    """Return a cell with this text, which can be an error."""
    return Cell(text, text, *class_of_text(text))


def drawn_column(random: Random, longest: int) -> list[Cell]:
    """Return a random column of few numbers, formats and texts, in which many cells are equal."""
    numbers = random.sample(POOL, 6)
    formats = random.sample(FORMATS, 12)
    texts = [*random.sample(TEXTS, 8), *(plain(number) for number in numbers[:2])]
    return [
        _drawn_cell(numbers, formats, texts, random) for _ in range(random.randrange(1, longest))
    ]


def _drawn_cell(
    numbers: Sequence[float], formats: Sequence[Format], texts: Sequence[str], random: Random
) -> Cell:
    draw = random.randrange(14)
    if draw == 0:
        return Cell("", "", "empty", None)
    if draw == 1:
        value = random.random() < 0.5
        return Cell(str(value).upper(), value, "boolean", value)
    if draw == 2:
        return text_cell(random.choice(ERRORS))
    if draw < 6:
        return text_cell(random.choice(texts))
    form = random.choice(formats)
    number = float(random.choice(numbers)) if draw < 13 else drawn_number(form.kind, random)
    if is_twin(form, number):
        return Cell("", "", "empty", None)
    cell = number_cell(form, number)
    return text_cell(cell.text) if draw == 6 else cell


def drawn_operand(cells: Sequence[Cell], random: Random) -> Operand:
    """Return a random operand, mostly near the value or the displayed text of a cell."""
    draw, cell = random.randrange(8), random.choice(cells)
    if draw < 3:
        return cell.text
    if draw == 3 and isinstance(cell.value, int | float):
        return cell.value
    if draw == 4 and cell.text in ("TRUE", "FALSE"):
        return cell.text == "TRUE"
    if draw == 4 and cell.of_class in ("date", "clock"):
        return random.choice(spellings(cell.of_class, cell.key))
    return random.choice((*POOL, *TEXTS, *ERRORS, True, False, None, ""))


def spellings(of_class: str, milliseconds: int) -> list[str]:
    """Return texts that represent this date or time, and a text for one millisecond later."""
    if of_class == "date":
        at = EPOCH + timedelta(milliseconds=milliseconds)
        near = at + timedelta(milliseconds=1)
        return [at.isoformat(), at.isoformat(" ", "milliseconds"), f"{near.isoformat()}Z"]
    sign, seconds = "-" if milliseconds < 0 else "", Decimal(abs(milliseconds)) / 1_000
    hours, rest = divmod(seconds, 3_600)
    return [f"{sign}PT{seconds:f}S", f"{sign}{hours}:{rest // 60:02}:{rest % 60:06.3f}"]


def class_of_text(text: str) -> tuple[str, Any]:
    """Return the class of a text, and the value in this class that the text represents."""
    if text == "":
        return "empty", None
    if text in ERRORS:
        return "error", text
    if NUMBER_TEXT.fullmatch(text) and abs(float(text)) < float("inf"):
        return "number", float(text)
    milliseconds = date_of_text(text)
    if milliseconds is not None:
        return "date", milliseconds
    milliseconds = clock_of_text(text)
    return ("text", text.casefold()) if milliseconds is None else ("clock", milliseconds)


def date_of_text(text: str) -> int | None:
    """Return the milliseconds of an ISO date or date-time without its offset, or None."""
    match = re.fullmatch(r"(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(:\d\d)?(\.\d+)?([Zz])?)?", text)
    if match is None or (match[4] and not match[3]):
        return None
    try:
        at = datetime.strptime(f"{match[1]} {match[2] or '00:00'}", "%Y-%m-%d %H:%M")
    except ValueError:
        return None
    seconds = Fraction((match[3] or ":0")[1:] + (match[4] or ""))
    return round((at - EPOCH) // timedelta(milliseconds=1) + seconds * 1_000)


def clock_of_text(text: str) -> int | None:
    """Return the milliseconds of a clock such as `14:05` or a duration such as
    `PT25H30M`, or None.
    """
    match = re.fullmatch(r"(-?)(\d+):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?", text) or re.fullmatch(
        r"(-?)PT(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?", text
    )
    if match is None:
        return None
    seconds = 3_600 * int(match[2] or 0) + 60 * int(match[3] or 0) + Fraction(match[4] or 0)
    if seconds * 1_000 > LONGEST_CLOCK:
        return None
    return round(seconds * 1_000) * (-1 if match[1] else 1)


def equal(cell: Cell, operand: Operand) -> bool:
    """True if the cell equals the operand, as `docs/reference/cells.md` defines equality."""
    if operand is None or operand == "":
        return cell.of_class == "empty"
    if isinstance(operand, bool):
        return cell.value is operand
    if not isinstance(operand, str):
        if cell.is_of_the_sheet:
            return cell.of_class == "number" and cell.key == operand
        return cell.text == plain(operand)
    is_named = (cell.of_class, cell.key) == class_of_text(operand)
    is_value = cell.is_of_the_sheet and cell.of_class in ("number", "date", "clock")
    return cell.text == operand or (is_value and is_named)


def plain(number: float) -> str:
    """Return a number in plain notation."""
    text = f"{Decimal(repr(number)):f}"
    return re.sub(r"\.?0*$", "", text) if "." in text else text


def place(cell: Cell) -> tuple[Any, ...]:
    """Return the sort key of a cell in its class. At equal values, typed values sort before
    texts.
    """
    return cell.key, "" if cell.is_of_the_sheet or cell.of_class == "error" else cell.text


def stand(operand: Operand, cells: Sequence[Cell]) -> tuple[str, tuple[Any, ...]] | None:
    """Return class and sort key of the operand of a range, or None if no cell can match."""
    if operand is None or operand == "":
        return None
    if isinstance(operand, bool):
        return "boolean", (operand, "")
    if not isinstance(operand, str):
        return "number", (operand, "")
    own, key = class_of_text(operand)
    displaying = [cell for cell in cells if cell.is_of_the_sheet and cell.text == operand]
    others = [(CLASSES.index(cell.of_class), place(cell)) for cell in displaying]
    others = [each for each in others if CLASSES[each[0]] != own]
    if others and (own == "text" or all(cell.of_class != own for cell in cells)):
        lowest = min(others)
        return CLASSES[lowest[0]], lowest[1]
    is_held = any(
        cell.key == key and equal(cell, operand) for cell in cells if cell.of_class == own
    )
    if displaying and not others and not is_held:
        return own, min(map(place, displaying))
    return own, (key, "" if own == "error" else operand)


def compared(left: Cell, right: Cell) -> int:
    """Compare two cells for sorting. Returns a negative number, zero or a positive number."""
    one, other = CLASSES.index(left.of_class), CLASSES.index(right.of_class)
    if one != other or left.of_class == "empty":
        return one - other
    return (place(left) > place(right)) - (place(left) < place(right))


@dataclass(frozen=True, kw_only=True)
class Meaning:
    """Model of equality, ranges and order. A planted bug replaces one function of the model."""

    equal: Callable[[Cell, Operand], bool] = equal
    stand: Callable[[Operand, Sequence[Cell]], tuple[str, tuple[Any, ...]] | None] = stand
    compared: Callable[[Cell, Cell], int] = compared
    place: Callable[[Cell], tuple[Any, ...]] = place

    def rows(self, cells: Sequence[Cell], operator: str, operand: Any) -> list[int]:
        """Return the positions of matching cells."""
        return [
            at for at, cell in enumerate(cells) if self._matches(cells, cell, operator, operand)
        ]

    def order(self, cells: Sequence[Cell], *, descending: bool) -> list[int]:
        """Return the positions of the cells in sort order. Empty cells are last in both
        directions.
        """
        sign = -1 if descending else 1

        def key(left: int, right: int) -> int:
            one, other = cells[left], cells[right]
            has_empty = "empty" in (one.of_class, other.of_class)
            return self.compared(one, other) * (1 if has_empty else sign) or left - right

        return sorted(range(len(cells)), key=cmp_to_key(key))

    def _matches(self, cells: Sequence[Cell], cell: Cell, operator: str, operand: Any) -> bool:
        if operator in ("$eq", "$ne"):
            return self.equal(cell, operand) is (operator == "$eq")
        if operator in ("$in", "$nin"):
            return any(self.equal(cell, each) for each in operand) is (operator == "$in")
        found = self.stand(operand, cells)
        if found is None or found[0] != cell.of_class:
            return False
        if self.equal(cell, operand):
            return operator in ("$lte", "$gte")
        is_below = self.place(cell) < found[1]
        return is_below is (operator in ("$lt", "$lte"))


class Answers(NamedTuple):
    """Functions that answer `where` and `order`, from the engine or from the model."""

    rows: Callable[[Sequence[Cell], str, Any], list[int]]
    order: Callable[[Sequence[Cell], bool], list[int]]


def answers_of(meaning: Meaning) -> Answers:
    return Answers(
        meaning.rows, lambda cells, descending: meaning.order(cells, descending=descending)
    )


def failures(answers: Answers, cells: Sequence[Cell], operands: Sequence[Operand]) -> Iterator[str]:
    """Yield a line for each wrong answer on one column."""
    model, everything = Meaning(), list(range(len(cells)))
    order = answers.order(cells, False)
    for descending in (False, True):
        if answers.order(cells, descending) != model.order(cells, descending=descending):
            yield f"order, descending: {descending}"
    if sorted(order) != everything:
        yield "order is not total"
        return
    rank = {row: at for at, row in enumerate(order)}
    for operand in operands:
        lists = {"$in": [operand], "$nin": [operand]}
        found = {
            name: answers.rows(cells, name, lists.get(name, operand))
            for name in ("$eq", "$ne", "$in", "$nin", "$lt", "$lte", "$gt", "$gte")
        }
        for name, rows in found.items():
            if rows != model.rows(cells, name, lists.get(name, operand)):
                yield f"{name} {operand!r}"
        yield from _parts(cells, rank, operand, {name: set(rows) for name, rows in found.items()})
    if answers.rows(cells, "$in", operands) != model.rows(cells, "$in", operands):
        yield f"$in {operands!r}"


def _parts(
    cells: Sequence[Cell], rank: dict[int, int], operand: Operand, found: dict[str, set[int]]
) -> Iterator[str]:
    """Yield a line for each contradiction between the matching rows for one operand."""
    less, same, greater = found["$lt"], found["$eq"], found["$gt"]
    everything = set(range(len(cells)))
    if found["$in"] != same or found["$ne"] != everything - same or found["$nin"] != found["$ne"]:
        yield f"$eq, $in, $ne, $nin {operand!r}"
    if less & same or greater & same or less & greater:
        yield f"$lt, $eq, $gt overlap: {operand!r}"
    classes = {cells[row].of_class for row in (found["$lte"] | found["$gte"])}
    of_class = {row for row in everything if cells[row].of_class in classes}
    if len(classes) > 1 or "empty" in classes:
        yield f"a range of two classes: {operand!r}"
    if classes and less | greater | (same & of_class) != of_class:
        yield f"$lt, $eq, $gt leave out rows: {operand!r}"
    if found["$lte"] != less | (same & of_class) or found["$gte"] != greater | (same & of_class):
        yield f"$lte, $gte {operand!r}"
    if less and greater and max(rank[row] for row in less) > min(rank[row] for row in greater):
        yield f"$lt is not below $gt in order: {operand!r}"


def sheet_cells(cells: Sequence[Cell]) -> list[SheetCell]:
    """Return the cells as a worksheet stores them, with texts in NFD."""
    return [SheetCell(decomposed(cell.text), decomposed(cell.value)) for cell in cells]


def decomposed(value: Any) -> Any:
    return normalize("NFD", value) if isinstance(value, str) else value
