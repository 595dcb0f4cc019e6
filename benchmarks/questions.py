"""Questions about the worksheet in no server's query language, and their right answers."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

from benchmarks.sheet import (
    FIRST_ROW,
    MOST_AREA,
    MOST_ELEVATION,
    MOST_POPULATION,
    WORDS,
    City,
)

PAGE = 24

Kind = Literal["again", "plain", "typed", "range", "equality", "row", "other order", "fifty"]
Operator = Literal["eq", "gte", "lte", "text"]


@dataclass(frozen=True)
class Test:
    """A comparison of one field; `text` searches a part of the text, ignoring case."""

    field: str
    operator: Operator
    value: str | int | float


@dataclass(frozen=True, kw_only=True)
class Question:
    """One row by its number, or a page of the rows that meet all tests and one of the choices."""

    row: int | None = None
    tests: tuple[Test, ...] = ()
    choices: tuple[tuple[Test, ...], ...] = ()
    falling: str | None = None
    """Field to sort by, in descending order; None for the order of the worksheet."""
    skip: int = 0
    is_typed: bool = False
    """True for typed values instead of displayed text."""


def ask(kind: Kind, cities: Sequence[City], *, seed: int) -> Iterator[Question]:
    """Yield endless questions of a kind, as different as the kind allows."""
    chance = random.Random(f"{kind} {seed}")  # noqa: S311 - the same questions in each run
    return _KINDS[kind](cities, chance)


def right_answer(question: Question, cities: Sequence[City]) -> list[str]:
    """Return the names of the cities that answer a question, in order."""
    if question.row is not None:
        return [cities[question.row - FIRST_ROW].name]
    found = [city for city in cities if _meets(city, question)]
    if question.falling is not None:
        name = question.falling
        found.sort(key=lambda city: getattr(city, name), reverse=True)
    return [city.name for city in found[question.skip : question.skip + PAGE]]


def _again(_: Sequence[City], __: random.Random) -> Iterator[Question]:
    while True:
        yield Question()


def _plain(cities: Sequence[City], chance: random.Random) -> Iterator[Question]:
    while True:
        yield from (Question(skip=skip) for skip in _shuffled(len(cities) - PAGE, chance))


def _typed(cities: Sequence[City], chance: random.Random) -> Iterator[Question]:
    for question in _plain(cities, chance):
        yield replace(question, is_typed=True)


def _range(_: Sequence[City], chance: random.Random) -> Iterator[Question]:
    while True:
        low, high = sorted((chance.randrange(MOST_POPULATION), chance.randrange(MOST_POPULATION)))
        yield Question(tests=_between("population", low, high), falling="population")


def _equality(cities: Sequence[City], chance: random.Random) -> Iterator[Question]:
    while True:
        for number in _shuffled(len(cities), chance):
            yield Question(tests=(Test("name", "eq", cities[number].name),))


def _row(cities: Sequence[City], chance: random.Random) -> Iterator[Question]:
    while True:
        for number in _shuffled(len(cities), chance):
            yield Question(row=number + FIRST_ROW)


def _other_order(_: Sequence[City], chance: random.Random) -> Iterator[Question]:
    """Yield ranges of all widths, from about ten rows in 100,000 to all rows."""
    while True:
        width = int(MOST_POPULATION * 10 ** chance.uniform(-4, 0))
        low = chance.randrange(MOST_POPULATION - width + 1)
        yield Question(tests=_between("population", low, low + width), falling="area")


def _fifty(_: Sequence[City], chance: random.Random) -> Iterator[Question]:
    """Yield fifty conditions, one with a text search, which about 70 of 100,000 rows meet."""
    while True:
        populations = [chance.randrange(MOST_POPULATION) for _ in range(12)]
        areas = [chance.randrange(MOST_AREA) for _ in range(12)]
        yield Question(
            tests=(
                Test("note", "text", chance.choice(WORDS)),
                Test("elevation", "gte", chance.randrange(MOST_ELEVATION // 10)),
            ),
            choices=(
                *(_between("population", low, low + 35_000) for low in populations),
                *(_between("area", low, low + 350) for low in areas),
            ),
            falling="population",
        )


_KINDS: Mapping[Kind, Callable[[Sequence[City], random.Random], Iterator[Question]]] = {
    "again": _again,
    "plain": _plain,
    "typed": _typed,
    "range": _range,
    "equality": _equality,
    "row": _row,
    "other order": _other_order,
    "fifty": _fifty,
}


def _between(field: str, low: int, high: int) -> tuple[Test, ...]:
    return Test(field, "gte", low), Test(field, "lte", high)


def _shuffled(count: int, chance: random.Random) -> list[int]:
    return chance.sample(range(count), count)


def _meets(city: City, question: Question) -> bool:
    choices = question.choices or ((),)
    return all(_holds(city, test) for test in question.tests) and any(
        all(_holds(city, test) for test in choice) for choice in choices
    )


def _holds(city: City, test: Test) -> bool:
    return _OPERATORS[test.operator](getattr(city, test.field), test.value)


_OPERATORS: Mapping[Operator, Callable[..., bool]] = {
    "eq": lambda cell, value: bool(cell == value),
    "gte": lambda cell, value: bool(cell >= value),
    "lte": lambda cell, value: bool(cell <= value),
    "text": lambda cell, value: value.casefold() in cell.casefold(),
}


def first(kind: Kind, cities: Sequence[City], count: int, *, seed: int = 0) -> list[Question]:
    """Return the first `count` questions of a kind."""
    return list(islice(ask(kind, cities, seed=seed), count))
