"""Compare the query engine with a reference evaluator on random worksheets and queries.

python -m tests.query.cases --cases 250000 [--seed 1]

Each case compares one page: its rows, `has_next` and the total. Several queries use the same table,
so that a later query meets the indexes of an earlier query.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from gateway.query.evaluate import Page
from gateway.query.query import Query, SortTerm, parse_where
from gateway.table.steps import finish
from gateway.table.table import Table, make_table
from tests.query.reference import matching_rows, ordered_rows, plain
from tests.query.sheet import BLANK, SheetCell, evaluate, text_cell

FIELDS = ("a", "b", " c ", "d")
NAMES = (*FIELDS, "rowIndex")
QUERIES_OF_TABLE = 8
TEXTS = (
    *("007", "+44 20", "1,250", "nan", "NaN", "inf", "-inf", "1e400", "１２３", "٣", "-0", "1e5"),
    *(
        "5",
        "-3.5",
        "0.50",
        "5.0",
        "1250",
        "43845",
        "1.",
        ".5",
        "1 ",
        "TRUE",
        "FALSE",
        "true",
        "True",
    ),
    *("a", "A", "b", "B", "ab", "aB", "ß", "SS", "ss", "ﬀ", "ff", "İ", "ı", "é", "e\u0301", "Ω"),
    *("ω", "\ud800", "😀", "\uffff", "\U0010ffff", " ", "\u00a0", "\n", "\x00", "null", "None"),
    *("$", "-", "2020-01-15", "2020-01-15T12:00", "2020-01-15 12:00:00.0004+09:00", "2020-02-30"),
    *("12:00", "12:00:00.000", "PT12H", "9:30", "33:30", "t1:00", "-1:30", "$5.00", "50%"),
    *("1/15/2020", "2020-01-16", "2019-12-31T23:59:59Z", "#N/A", "=1+1", "/", "0x10", "²"),
)
NUMBERS = (
    *(0, 1, 2, 5, -1, -3.5, 0.5, 7, 12, 1250, 1234.5, 100_000, 1e15, 2**53, 10**20, 1e-5, 5.0, 0.1),
    *(43_845, 43_845.5, 43_845.5 + 5e-9, 43_845.5 - 5e-9, 43_846, 43_830.999988425926, -0.0),
)
SHOWN: tuple[Callable[[float], str], ...] = (
    str,
    str,
    lambda number: f"{number:,.2f}",
    lambda number: f"${number:,.2f}",
    lambda number: f"{number:.0%}",
    lambda number: f"{number:,.0f}".replace(",", "\u00a0"),
    lambda number: f"{number:.1f} €",
    lambda _: "1/15/2020",
    lambda _: "2020-01-15",
    lambda _: "12:00:00",
    lambda _: "TRUE",
    lambda _: "-",
    lambda _: ".5",
    lambda _: "",
)

Rows = Sequence[Mapping[str, SheetCell]]
Cells = Callable[[Random], SheetCell]


@dataclass(frozen=True, kw_only=True)
class Case:
    """Query on a worksheet."""

    rows: Rows
    where: Mapping[str, Any] | None
    order: tuple[tuple[str, bool], ...]
    skip: int
    limit: int
    wants_total: bool

    @property
    def query(self) -> Query:
        return Query(
            where=None if self.where is None else parse_where(self.where),
            order=tuple(SortTerm(field, descending=is_down) for field, is_down in self.order),
            skip=self.skip,
            limit=self.limit,
            wants_total=self.wants_total,
        )

    def expected(self) -> Page:
        """Return the page of the reference evaluator."""
        matching = matching_rows(self.rows, self.where or {})
        ordered = ordered_rows(self.rows, matching, self.order)
        end = self.skip + self.limit
        total = len(ordered) if self.wants_total else None
        return Page(ordered[self.skip : end], end < len(ordered), total)

    def described(self, page: Page) -> str:
        """Return the query, a page, and at most 20 rows of the worksheet as text."""
        cells = "\n".join(f"{row} {cells}" for row, cells in enumerate(self.rows[:20], 2))
        return f"{self.query}\n{cells}\nanswered {page}"


def make_cases(seed: int) -> Iterator[tuple[Table, Case]]:
    """Yield tables and cases without end. Equal seeds yield equal cases."""
    random = Random(seed)  # noqa: S311
    while True:
        cells = make_rows(random)
        table = make_renderings(cells, random)
        rows = without_end(cells)
        for _ in range(QUERIES_OF_TABLE):
            yield table, make_case(rows, random)


def first_difference(seed: int, count: int) -> str | None:
    """Describe the first case in which engine and reference differ. Returns None without a
    difference.
    """
    for number, (table, case) in enumerate(make_cases(seed), 1):
        page = evaluate(table, case.query)
        expected = case.expected()
        if (list(page.rows), page.has_next, page.total) != (
            *(expected.rows, expected.has_next),
            expected.total,
        ):
            return f"case {number} of seed {seed}\n{case.described(page)}\nexpected {expected}"
        if number == count:
            return None
    return None


def make_rows(random: Random) -> Rows:
    """Return the rows of a random worksheet. Each column has one or several kinds of cells."""
    count = random.choice((0, 1, 2, 3, 5, 8, 12, 12, 20, 20, 40))
    if random.random() < 0.01:
        count = 200
    makers = {field: random.choice(COLUMNS) for field in FIELDS}
    return [{field: maker(random) for field, maker in makers.items()} for _ in range(count)]


def without_end(rows: Rows) -> Rows:
    """Return the rows up to the last row with a displayed text that is not a boolean FALSE."""
    count = len(rows)
    while count and all(not cell.text or cell.value is False for cell in rows[count - 1].values()):
        count -= 1
    return rows[:count]


def make_renderings(rows: Rows, random: Random) -> Table:
    """Return a table of the rows. Blank cells are "" or None, or are left out at the ends of
    columns.
    """
    displayed, typed = [], []
    is_trimmed = random.random() < 0.8
    for field in FIELDS:
        cells = [text_cell(field), *(row[field] for row in rows)]
        displayed.append(_column([cell.text for cell in cells], random, is_trimmed))
        typed.append(_column([cell.value for cell in cells], random, is_trimmed))
    return finish(make_table(displayed).with_typed(typed))


def make_case(rows: Rows, random: Random) -> Case:
    operands = [cell for row in rows[:6] for cell in row.values()]
    return Case(
        rows=rows,
        where=None if random.random() < 0.1 else make_where(random, operands, 0),
        order=tuple(
            (random.choice(NAMES), random.random() < 0.5)
            for _ in range(random.choice((0, 1, 1, 1, 2, 3)))
        ),
        skip=random.choice((0, 0, 0, 1, 3, 10, 100)),
        limit=random.choice((0, 1, 2, 5, 24, 100)),
        wants_total=random.random() < 0.5,
    )


def make_where(random: Random, cells: Sequence[SheetCell], depth: int) -> dict[str, Any]:
    choice = random.random()
    if depth < 3 and choice < 0.35:
        name = random.choice(("$and", "$or", "$not"))
        if name == "$not":
            return {name: make_where(random, cells, depth + 1)}
        return {
            name: [make_where(random, cells, depth + 1) for _ in range(random.choice((1, 2, 2, 3)))]
        }
    fields = random.sample(NAMES, random.choice((0, 1, 1, 1, 2, 2, 3)))
    return {field: make_criterion(random, cells) for field in fields}


def make_criterion(random: Random, cells: Sequence[SheetCell]) -> Any:
    choice = random.random()
    if choice < 0.25:
        return make_operand(random, cells)
    if choice < 0.35:
        return {"$not": {random.choice(SIMPLE): make_operand(random, cells)}}
    if choice < 0.5:
        operands = [make_operand(random, cells) for _ in range(random.choice((0, 1, 2, 4)))]
        return {random.choice(("$in", "$nin")): operands}
    if choice < 0.6:
        return {"$text": make_part(random, cells)}
    if choice < 0.65:
        return {"$exists": random.random() < 0.5}
    names = random.sample(SIMPLE, random.choice((1, 1, 2)))
    return {name: make_operand(random, cells) for name in names}


def make_part(random: Random, cells: Sequence[SheetCell]) -> str:
    """Return a text that some cells can contain, for `$text`."""
    text = random.choice(cells).text if cells and random.random() < 0.5 else random.choice(TEXTS)
    start = random.choice((0, 0, 1))
    part = text[start : start + random.choice((0, 1, 1, 2, 9))]
    return random.choice((part, part.upper(), part.lower(), part.casefold()))


def make_operand(random: Random, cells: Sequence[SheetCell]) -> Any:
    """Return an operand that often equals a cell of the worksheet."""
    choice = random.random()
    if cells and choice < 0.4:
        cell = random.choice(cells)
        return _as_json(random.choice((cell.text, cell.value, str(cell.value))))
    if choice < 0.65:
        return random.choice(NUMBERS)
    if choice < 0.7:
        return random.choice((None, "", True, False))
    if choice < 0.8:
        return random.choice((str, plain))(random.choice(NUMBERS))
    if choice < 0.85:
        return random.randint(-1, 45)
    return random.choice(TEXTS)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=250_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    difference = first_difference(options.seed, options.cases)
    print(ascii(difference) if difference else f"no difference in {options.cases} cases")
    return 1 if difference else 0


def _column(cells: list[Any], random: Random, is_trimmed: bool) -> tuple[Any, ...]:
    blanks = ("", None)
    cells = [random.choice(blanks) if cell in blanks else cell for cell in cells]
    while is_trimmed and cells and cells[-1] in blanks:
        cells.pop()
    return tuple(cells)


def _as_json(value: object) -> object:
    return value if isinstance(value, str | int | float | bool) else None


def _text(random: Random) -> SheetCell:
    if random.random() < 0.7:
        return text_cell(random.choice(TEXTS))
    return text_cell("".join(random.choices("aAbB01 -é", k=random.randint(1, 3))))


def _number(random: Random) -> SheetCell:
    number = random.choice((random.choice(NUMBERS), random.randint(-3, 12), random.uniform(-9, 9)))
    return SheetCell(random.choice(SHOWN)(number), number)


def _integer(random: Random) -> SheetCell:
    number = random.randint(-5, 30)
    return SheetCell(f"{number:,}", number)


def _date(random: Random) -> SheetCell:
    serial = 43_845 + random.choice((0, 0.5, 1, 0.5 + 5e-9, random.randint(-30, 30)))
    return SheetCell(random.choice(("1/15/2020", "15 Jan", "2020-01-15", "43,845")), serial)


def _clock(random: Random) -> SheetCell:
    """Return a time of day or a duration, as a number or as a text."""
    minutes = random.choice((0, 540, 570, 720, 1439, 1440, 1530, random.randint(0, 3000)))
    shown = f"{minutes // 60}:{minutes % 60:02}"
    text = random.choice((shown, f"{shown}:00", f"{minutes // 60} h {minutes % 60} min"))
    if random.random() < 0.3:
        return text_cell(random.choice((shown, f"PT{minutes}M", "PT9H30M", "9:30")))
    return SheetCell(text, minutes / 1440)


def _boolean(random: Random) -> SheetCell:
    """Return a boolean. FALSE has one word in a worksheet, because the locale decides the word."""
    value = random.random() < 0.5
    return SheetCell(random.choice(("TRUE", "WAHR", "") if value else ("FALSE", "")), value)


def _odd(random: Random) -> SheetCell:
    """Return an error, a text that displays nothing, or a cell that changed between the two
    reads.
    """
    return random.choice(
        (
            SheetCell("#N/A", "#N/A (Did not find value.)"),
            SheetCell("", "hidden"),
            SheetCell("late", None),
            SheetCell("5", "six"),
            SheetCell("5", ""),
        )
    )


def _blank(_: Random) -> SheetCell:
    return BLANK


def _mixed(*makers: Cells) -> Cells:
    return lambda random: random.choice(makers)(random)


SIMPLE = ("$eq", "$ne", "$neq", "$lt", "$lte", "$gt", "$gte")
COLUMNS: tuple[Cells, ...] = (
    *(_text, _number, _integer, _date, _boolean, _blank),
    *(_mixed(_text, _blank), _mixed(_number, _blank), _mixed(_integer, _integer, _blank)),
    *(_mixed(_text, _number), _mixed(_date, _text, _blank), _mixed(_date, _integer)),
    *(_clock, _mixed(_clock, _date, _text), _mixed(_text, _boolean), _mixed(_text, _odd)),
    _mixed(_text, _number, _date, _clock, _boolean, _odd, _blank),
)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
