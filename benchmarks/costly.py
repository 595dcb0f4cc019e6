"""A worksheet with difficult columns, and the most expensive queries within the gateway's limits.

Rules
- Each column has a difficulty: the same value in 99 of 100 rows, unique values, or mixed types.
- A shape generates a different query for each number, so no answer is cached. Its `where` has at
  most 4 KiB, 50 conditions and 8 levels; its URL has at most 8 KiB.
- A new shape is one line of `SHAPES`; its name begins with the number of its group.
"""

import csv
import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import count, cycle
from pathlib import Path
from urllib.parse import quote

WORKSHEET = "Data"
PATH = f"/v2/sheets/{WORKSHEET}"

_WHERE_BYTES = 4_096
_URL_BYTES = 8_192
_CONDITIONS = 50
_UNESCAPED = "\"'{}[],:;$!*()@/?<=>|^`"
"""Characters that stay unescaped in URLs, so that 4 KiB of JSON fit."""

_RARE = 100
"""One of this many rows has another than the usual value."""
_SAME_DAY = "2024-05-06"
_FIRST_DAY, _DAYS = date(1950, 1, 1), 40_000
_SERIAL_DAY = 36_526
_KINDS: Sequence[Callable[[int], str]] = (
    lambda row: str(row * 3),
    lambda row: f"item {row}",
    lambda row: "TRUE" if row % 2 else "FALSE",
    lambda row: (_FIRST_DAY + timedelta(days=row % _DAYS)).isoformat(),
    lambda row: f"'00{row}",
    lambda row: f"'{row}.5",
)
"""Functions that make the mixed column's cells in turn; an apostrophe makes a number a text."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column: the text typed into each row, and the value that an update writes."""

    name: str
    typed: Callable[[int], object]
    changed: Callable[[int], object] = "mark {}".format


def _mostly(usual: Iterable[str], rare: Callable[[int], object]) -> Callable[[int], object]:
    """Return a function that gives one of the usual values in 99 of 100 rows.

    A query cannot distinguish the usual values.
    """
    values = tuple(usual)
    return lambda row: values[row % len(values)] if row % _RARE else rare(row)


def _columns(rows: int) -> Sequence[Column]:
    codes = random.Random(3).sample(range(rows), rows)  # noqa: S311 - the same in each run
    return (
        Column(name="code", typed=lambda row: _code(codes[row])),
        Column(name="serial", typed=lambda row: codes[row], changed=lambda number: -number),
        Column(name="long", typed=lambda row: f"{'Aa' * 75} town {codes[row]:07d} {'bcdef ' * 6}"),
        Column(name="mixed", typed=lambda row: _KINDS[row % len(_KINDS)](row)),
        Column(
            name="day",
            typed=lambda row: (_FIRST_DAY + timedelta(days=codes[row] % _DAYS)).isoformat(),
            changed=lambda number: _SERIAL_DAY + number,
        ),
        Column(name="few", typed=lambda row: "vwxyz"[row % 5]),
        Column(name="same_text", typed=_mostly(["s"], "t{}".format)),
        Column(name="same_number", typed=_mostly(["7"], int), changed=float),
        Column(
            name="same_big",
            typed=_mostly([f"1{'0' * 20}"], lambda row: f"{row}{'0' * 17}"),
            changed=lambda number: 1e19 + number * 1e10,
        ),
        Column(
            name="big_text",
            typed=_mostly([f"'1{'0' * 19}{end}" for end in range(10)], int),
            changed=lambda number: f"1{number:020d}",
        ),
        Column(
            name="same_day",
            typed=_mostly([_SAME_DAY], lambda row: f"2023-01-{1 + row % 28:02d}"),
            changed=lambda number: _SERIAL_DAY + number,
        ),
        Column(
            name="truth",
            typed=_mostly(["TRUE"], lambda _: "FALSE"),
            changed=lambda number: number % 2 == 0,
        ),
        Column(name="beyond", typed=_mostly(["1e400"], "1e{}".format)),
        Column(name="sparse", typed=_mostly([""], "filled {}".format)),
        Column(name="same_case", typed=_mostly(["Alike", "alike", "ALIKE"], "odd {}".format)),
        Column(
            name="same_share", typed=_mostly(["7%"], "{}%".format), changed=lambda number: -number
        ),
    )


COLUMNS = tuple(column.name for column in _columns(1))
_SAME = tuple(name for name in COLUMNS if name.startswith("same_"))
_SKEWED = (*_SAME, "big_text", "truth", "beyond", "sparse", "few")
_UNIQUE_LAST = (*_SKEWED, *(name for name in COLUMNS if name not in _SKEWED))
_USUAL: Mapping[str, str] = {
    "same_text": '"s"',
    "same_number": "7",
    "same_big": "1e20",
    "big_text": "1e20",
    "same_day": f'"{_SAME_DAY}"',
    "truth": "true",
    "beyond": '"1e400"',
    "sparse": "null",
    "same_case": '"alike"',
    "same_share": "0.07",
}
"""Operands that 99 of 100 rows equal, by column."""


def write_worksheet(path: Path, rows: int) -> None:
    """Write the CSV of a worksheet with `rows` rows below its header."""
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = _columns(rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows([column.typed(row) for column in columns] for row in range(rows))


def changed_row(number: int) -> bytes:
    """Return the body of an update that changes a cell of each column, with values of `number`."""
    cells = {column.name: column.changed(number) for column in _columns(1)}
    return json.dumps(cells).encode()


def small_query(number: int, rows: int) -> str:
    """Return the path of a cheap query, which finds a row by its unique text."""
    return _path({"where": json.dumps({"code": _code(number * 7919 % rows)}), "limit": "1"})


def count_query(number: int) -> str:
    """Return the path of a typical query, which counts the rows that meet two conditions."""
    where = {"few": "vwxyz"[number % 5], "serial": {"$gt": number}}
    return _path({"where": json.dumps(where), "count": "true", "limit": "1"})


def plain_query() -> str:
    """Return the path of a query that makes the gateway reread the typed rows, without an index."""
    return _path({"where": '{"rowIndex":2}', "no-cache": "true"})


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A kind of expensive query; `make` returns the query parameters of a number."""

    name: str
    make: Callable[[int, int], Mapping[str, str]]
    is_quick: bool = False
    """True if a quick run includes the shape."""

    def path(self, number: int, rows: int, *, has_total: bool) -> str:
        """Return the path of a number's query; with `has_total` it also counts all matches."""
        parameters = dict(self.make(number, rows))
        return _path(parameters | ({"count": "true"} if has_total else {}))


def _code(number: int) -> str:
    return f"code {number:07d}"


def _clock(number: int) -> str:
    """Return minutes and seconds, different for each number."""
    return f"{number // 60:02d}:{number % 60:02d}"


def _path(parameters: Mapping[str, str]) -> str:
    if len(parameters.get("where", "")) > _WHERE_BYTES:
        raise ValueError(f"This where is longer than {_WHERE_BYTES} bytes.")
    query = "&".join(f"{name}={quote(text, safe=_UNESCAPED)}" for name, text in parameters.items())
    path = f"{PATH}?{query}"
    if len(path) > _URL_BYTES:
        raise ValueError(f"This URL is longer than {_URL_BYTES} bytes.")
    return path


def _filled(room: int, items: Iterable[str]) -> str:
    """Join as many items with commas as fit into `room` characters."""
    taken: list[str] = []
    for item in items:
        room -= len(item) + 1
        if room < 0:
            break
        taken.append(item)
    return ",".join(taken)


def _listed(field: str, operator: str, items: Iterable[str]) -> str:
    """Return a condition with the longest possible list of operands."""
    opening, end = f'{{"{field}":{{"{operator}":[', "]}}"
    return f"{opening}{_filled(_WHERE_BYTES - len(opening) - len(end), items)}{end}"


def _list_of(
    field: str, operator: str, items: Callable[[int], Iterable[str]], **others: str
) -> Callable[[int, int], Mapping[str, str]]:
    """Return a maker of queries with a long list of operands."""
    return lambda number, rows: {"where": _listed(field, operator, items(number)), **others}


def _many_of(
    combinator: str, condition: Callable[[int, int], str], most: int = _CONDITIONS, **others: str
) -> Callable[[int, int], Mapping[str, str]]:
    """Return a maker of queries with many conditions.

    `condition` gets the number of the condition and of the query.
    """
    opening, end = f'{{"{combinator}":[', "]}"
    room = _WHERE_BYTES - len(opening) - len(end)

    def make(number: int, rows: int) -> Mapping[str, str]:
        conditions = (condition(at, number) for at in range(most))
        return {"where": f"{opening}{_filled(room, conditions)}{end}", **others}

    return make


def _again(operand: str) -> Callable[[int], Iterator[str]]:
    """Return a function that yields a new operand, and then endlessly `operand`."""

    def operands(number: int) -> Iterator[str]:
        yield str(10**9 + number)
        yield from cycle([operand])

    return operands


def _exponents(number: int) -> Iterator[str]:
    """Yield texts of the number 10 ** 20 with exponents, the shortest first."""
    yield f'"1{number:04d}e16"'
    for zeros in count():
        for sign in ("e", "E", "e+", "E+"):
            for shift in range(8):
                yield f'"1{"0" * shift}{sign}{"0" * zeros}{20 - shift}"'


def _integers(number: int) -> Iterator[str]:
    """Return texts of integers that have the same double as 10 ** 20."""
    return (f'"{10**20 + number + step}"' for step in range(1_000))


def _overflows(number: int) -> Iterator[str]:
    """Return texts of numbers that exceed every double, the usual one first."""
    return (f'"1e{exponent}"' for exponent in (400, *range(401 + number, 2_000)))


def _moments(number: int) -> Iterator[str]:
    """Yield texts of one day, with fractions of milliseconds and with time offsets."""
    yield f'"2022-01-01T00:{_clock(number)}"'
    yield f'"{_SAME_DAY}"'
    for clock in (" 00:00", "T00:00", " 00:00:00", "T00:00:00"):
        yield f'"{_SAME_DAY}{clock}"'
        yield from (f'"{_SAME_DAY}{clock}{sign}{hour:02d}"' for sign in "-+" for hour in range(24))
    yield from (f'"{_SAME_DAY} 00:00:00.000{digits}"' for digits in range(1_000))


def _ordered(terms: Iterable[str], **others: str) -> Callable[[int, int], Mapping[str, str]]:
    """Return a maker of queries for neighbouring pages of an order."""
    order = ",".join(terms)
    return lambda number, rows: {"order": order, "skip": str(number), **others}


def _skipping(number: int, rows: int) -> Mapping[str, str]:
    return {"order": ",".join(_UNIQUE_LAST), "skip": str(rows // 2 + number)}


def _deep(number: int, rows: int) -> Mapping[str, str]:
    """Return nested combinators, with conditions that most rows meet, or almost none."""
    levels = (
        f'{{"same_text":{{"$ne":"s"}},"day":{{"$lt":"20{number % 100:02d}-01-01"}}}}',
        f'{{"same_number":{{"$nin":[7,{number},8]}},"mixed":{{"$gte":"item 1"}}}}',
        f'{{"sparse":{{"$exists":true}},"serial":{{"$gt":{number}}}}}',
        f'{{"long":{{"$text":"town {number % 10}"}},"code":{{"$lt":"code 9"}}}}',
        f'{{"same_big":{{"$ne":"1e{number}"}},"same_day":{{"$lte":"{_SAME_DAY}"}}}}',
        f'{{"truth":{{"$ne":true}},"same_case":{{"$gt":"a{number}"}}}}',
    )
    deep = f'{{"few":{{"$nin":["v","w","{number}"]}},"beyond":{{"$ne":"1e400"}}}}'
    for depth, level in enumerate(levels):
        combinator = "$and" if depth % 2 else "$or"
        deep = f'{{"{combinator}":[{level},{deep},{{"truth":{{"$ne":true}}}}]}}'
    return {"where": f'{{"$not":{deep}}}', "order": "-long"}


def _everything(number: int, rows: int) -> Mapping[str, str]:
    """Return a query with all columns, and as many operators as conditions are allowed."""
    conditions = (
        '"{field}":{{"$ne":"none {number}"}}',
        '"{field}":{{"$nin":[{number}.5,"no"]}}',
        '"{field}":{{"$not":{{"$text":"none {number}"}}}}',
        '"{field}":{{"$not":{{"$gt":{number}e99,"$exists":true}}}}',
        '"{field}":{{"$not":{{"$in":["2001-01-01T00:{clock}",null]}}}}',
        '"{field}":{{"$not":{{"$lte":"2001-01-01 00:{clock}"}}}}',
        '"{field}":{{"$not":{{"$lt":"A{number}"}}}}',
        '"{field}":{{"$not":{{"$gte":true,"$lt":{number}}}}}',
    )
    made = [
        conditions[at % len(conditions)].format(
            # shift the columns in each round, so that each gets all operators
            field=COLUMNS[(at + at // len(COLUMNS)) % len(COLUMNS)],
            number=number,
            clock=_clock(number),
        )
        for at in range(5 * len(conditions))
    ]
    return {"where": f'{{"$or":[{",".join(f"{{{each}}}" for each in made)}]}}', "order": "-mixed"}


def _usual(at: int, number: int) -> str:
    """Return a condition that excludes the usual value of a skewed column."""
    field = list(_USUAL)[at % len(_USUAL)]
    operand = _USUAL[field]
    return f'{{"{field}":{{"$nin":[{operand},"{number} {at}"]}}}}'


def _keys(opening: str, end: str, mark: str) -> Callable[[int, int], Mapping[str, str]]:
    """Return a maker of queries for as many fields as a URL can name.

    One field exists, and the others do not.
    """

    def make(number: int, rows: int) -> Mapping[str, str]:
        names = (f"{mark}{each}{mark}" for each in cycle(["few", *"abcdefghijklmnopqrstuvw"]))
        room = _URL_BYTES - len(PATH) - 60
        return {
            "keys": f"{opening}{_filled(room, names)}{end}",
            "limit": "100",
            "skip": f"{number}",
        }

    return make


SHAPES: Sequence[Shape] = (
    Shape(name="1-nin-number", make=_list_of("same_number", "$nin", _again("7")), is_quick=True),
    Shape(name="1-nin-text", make=_list_of("same_text", "$nin", _again('"s"'))),
    Shape(name="1-in-number", make=_list_of("same_number", "$in", _again("7"), order="-code")),
    Shape(name="1-in-text", make=_list_of("same_text", "$in", _again('"s"'), order="long")),
    Shape(
        name="1-nin-distinct",
        make=_list_of("serial", "$nin", lambda number: map(str, count(number)), order="-serial"),
    ),
    Shape(name="2-nin-exponents", make=_list_of("same_big", "$nin", _exponents), is_quick=True),
    Shape(name="2-in-exponents", make=_list_of("same_big", "$in", _exponents, order="code")),
    Shape(name="2-nin-integers", make=_list_of("same_big", "$nin", _integers)),
    Shape(name="2-nin-numerals", make=_list_of("big_text", "$nin", _exponents)),
    Shape(name="2-nin-beyond", make=_list_of("beyond", "$nin", _overflows)),
    Shape(name="2-nin-days", make=_list_of("same_day", "$nin", _moments), is_quick=True),
    Shape(name="2-in-days", make=_list_of("same_day", "$in", _moments, order="code")),
    Shape(
        name="3-text-none",
        make=_many_of("$or", lambda at, number: f'{{"long":{{"$text":"no {number} {at}"}}}}'),
        is_quick=True,
    ),
    Shape(
        name="3-text-all",
        make=_many_of(
            "$and",
            lambda at, number: f'{{"long":{{"$text":"{"a" * (1 + (at + number) % 100)}"}}}}',
            order="-code",
        ),
    ),
    Shape(
        name="3-text-not",
        make=_many_of(
            "$or",
            lambda at, number: (
                f'{{"$not":{{"long":{{"$text":"{"A" * (1 + (at + number) % 100)}"}}}}}}'
            ),
        ),
    ),
    Shape(
        name="3-text-slow",
        make=_many_of(
            "$or",
            lambda at, number: f'{{"long":{{"$text":"{"a" * 20}{number}b{at}{"a" * 20}"}}}}',
        ),
    ),
    Shape(name="4-order-up", make=_ordered(_UNIQUE_LAST), is_quick=True),
    Shape(name="4-order-down", make=_ordered(f"-{name}" for name in _UNIQUE_LAST)),
    Shape(
        name="4-order-mixed",
        make=_ordered(f"{'-' * (at % 2)}{name}" for at, name in enumerate(_UNIQUE_LAST)),
    ),
    Shape(
        name="4-order-where",
        make=_ordered(
            (f"-{name}" for name in _UNIQUE_LAST), where='{"same_text":{"$ne":"x"},"few":"v"}'
        ),
    ),
    Shape(name="4-order-texts", make=_ordered(["code"])),
    Shape(name="4-order-long", make=_ordered(["-long"])),
    Shape(name="5-deep", make=_deep, is_quick=True),
    Shape(
        name="6-ne-all",
        make=_many_of(
            "$and", lambda at, number: f'{{"same_text":{{"$ne":"x {number} {at}"}}}}', order="-code"
        ),
    ),
    Shape(name="6-ne-usual", make=_many_of("$or", _usual), is_quick=True),
    Shape(
        name="6-days",
        make=_many_of(
            "$or",
            lambda at, number: (
                f'{{"day":{{"$gte":"20{at:02d}-01-01 00:{_clock(number)}",'
                f'"$lt":"20{at:02d}-03-01"}}}}'
            ),
            most=_CONDITIONS // 2,
            order="code",
        ),
    ),
    Shape(
        name="6-mixed",
        make=_many_of(
            "$or",
            lambda at, number: (
                f'{{"mixed":{{"$gte":{number}.{at}}}}}'
                if at % 2
                else f'{{"mixed":{{"$lt":"item {number} {at}"}}}}'
            ),
            order="long",
        ),
    ),
    Shape(name="7-keys", make=_keys("", "", "")),
    Shape(name="7-keys-array", make=_keys("[", "]", '"')),
    Shape(
        name="8-skip-past", make=lambda number, rows: {"where": "{}", "skip": f"{10**6 + number}"}
    ),
    Shape(name="8-skip-order", make=_skipping),
    Shape(
        name="9-row-text",
        make=_many_of("$or", lambda at, number: f'{{"rowIndex":{{"$text":"x{number} {at}"}}}}'),
        is_quick=True,
    ),
    Shape(
        name="9-row-in",
        make=_list_of("rowIndex", "$in", lambda number: map(str, count(number)), order="-long"),
    ),
    Shape(name="10-everything", make=_everything, is_quick=True),
)
