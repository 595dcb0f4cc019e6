"""Expensive worksheets and queries, with skewed and huge values, and conditions up to each
limit.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from gateway.query.query import MAX_CONDITIONS, Query, SortTerm, parse_where
from tests.query.reference import plain
from tests.query.sheet import BLANK, SheetCell, text_cell

MOST_OPERANDS = 300
MOST_TERMS = 16

Cells = Callable[[Random], SheetCell]
Where = dict[str, Any]


def _skewed(random: Random) -> SheetCell:
    return text_cell("usual" if random.random() < 0.99 else f"rare {random.randrange(9)}")


def _few(random: Random) -> SheetCell:
    number = random.randrange(4)
    return SheetCell(f"{number}.0", number)


def _many(random: Random) -> SheetCell:
    number = random.randrange(1_000)
    return SheetCell(f"{number:,}", number)


def _huge(random: Random) -> SheetCell:
    """Return a number of at least 2^53 as a text, an integer or a float."""
    number = 2**53 + random.randrange(3)
    value = random.choice((str(number), f"{number}0", number, float(number), 1e22, "1e400"))
    return SheetCell(value if isinstance(value, str) else plain(value), value)


def _date(random: Random) -> SheetCell:
    serial = 43_845 + random.choice((0, 1, 0.5, 0.5 + 3e-9, random.random()))
    return SheetCell(random.choice(("1/15/2020", "2020-01-15")), serial)


def _text(random: Random) -> SheetCell:
    return text_cell("".join(random.choices("aAbß\n", k=random.choice((1, 3, 60)))))


def _truth(random: Random) -> SheetCell:
    value = random.random() < 0.9
    return random.choice((SheetCell(str(value).upper(), value), text_cell("TRUE"), BLANK))


def _mixed(random: Random) -> SheetCell:
    return random.choice((_skewed, _few, _huge, _date, _text, _truth))(random)


COLUMNS: Mapping[str, Cells] = {
    "skewed": _skewed,
    "few": _few,
    "many": _many,
    "huge": _huge,
    "date": _date,
    "text": _text,
    "truth": _truth,
    "mixed": _mixed,
    "empty": lambda random: BLANK if random.random() < 0.95 else _mixed(random),
}
NAMES = (*COLUMNS, "rowIndex")
RANGES = ("$lt", "$lte", "$gt", "$gte")


def costly_rows(random: Random, count: int) -> Sequence[Mapping[str, SheetCell]]:
    """Return `count` rows, of which the last row is not blank."""
    return [{name: make(random) for name, make in COLUMNS.items()} for _ in range(count)]


def costly_query(random: Random) -> tuple[Where, Query]:
    """Return a decoded `where` with up to MAX_CONDITIONS conditions, and a query with this
    condition.
    """
    left = [random.choice((1, 3, 10, MAX_CONDITIONS))]
    where = _where(random, left, depth=1)
    order = tuple(
        SortTerm(random.choice(NAMES), descending=random.random() < 0.5)
        for _ in range(random.choice((0, 0, 1, 2, MOST_TERMS)))
    )
    query = Query(
        where=parse_where(where),
        order=order,
        skip=random.choice((0, 0, 5, 200)),
        limit=random.choice((0, 1, 24, 100)),
        wants_total=random.random() < 0.5,
    )
    return where, query


def _where(random: Random, left: list[int], depth: int) -> Where:
    name = random.choice(("$and", "$or", "$not", None)) if depth < 7 else None
    if name == "$not":
        return {name: _where(random, left, depth + 1)}
    if name is not None:
        parts = []
        for _ in range(random.choice((1, 2, 8, 30))):
            if left[0] > 0:
                parts.append(_where(random, left, depth + 1))
        return {name: parts} if parts else {}
    if left[0] <= 0:
        return {}
    left[0] -= 1
    return {random.choice(NAMES): _criterion(random)}


def _criterion(random: Random) -> Where:
    choice = random.random()
    if choice < 0.3:
        count = random.choice((1, 5, MOST_OPERANDS))
        return {random.choice(("$in", "$nin")): _operands(random, count)}
    if choice < 0.5:
        return {"$text": random.choice(("a", "B", "usual", "no such text", "1", "ab" * 20, ""))}
    if choice < 0.6:
        return {"$exists": random.random() < 0.5}
    operator = random.choice((*RANGES, "$ne", "$eq"))
    return {operator: _operand(random)}


def _operands(random: Random, count: int) -> list[Any]:
    """Return one value repeated, one value in many notations, or many values."""
    choice = random.random()
    if choice < 0.3:
        return [_operand(random)] * count
    if choice < 0.6:
        number = 2**53 + random.randrange(3)
        makers: Sequence[Callable[[int], str]] = (
            lambda at: f"{number}{'0' * (at % 3)}",
            lambda at: f"{number}e{at % 5}",
            lambda at: f"2020-01-15T12:00:00.{at:09d}",
            lambda at: f"2020-01-15T12:00+{at % 15:02d}:00",
        )
        make = random.choice(makers)
        return [make(at) for at in range(count)]
    if choice < 0.8:
        return [random.randrange(1_000) for _ in range(count)]
    return [_operand(random) for _ in range(count)]


def _operand(random: Random) -> Any:
    cell = _mixed(random)
    value = cell.value if isinstance(cell.value, str | int | float) else None
    return random.choice((cell.text, value, "", None, random.randrange(400), random.random()))
