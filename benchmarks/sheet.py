"""The worksheet of all servers, with the same cells in each run.

Names, populations and areas are unique, so that every question has one right answer.
"""

import csv
import random
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from datetime import date, timedelta
from pathlib import Path

FIRST_ROW = 2
"""Row number of the first city in the worksheet."""

_SYLLABLES = ("bar", "den", "kel", "lo", "mir", "nu", "ros", "ta", "vel", "zor")
_STATES, _COUNTRIES, _MAYORS = 50, 20, 5_000
_FIRST_DAY, _DAYS = date(1900, 3, 1), 44_000


@dataclass(frozen=True, kw_only=True)
class City:
    """A row: repeated and unique texts, integers, decimals, a date and a boolean."""

    name: str
    state: str
    country: str
    population: int
    area: float
    elevation: int
    founded: str
    mayor: str
    capital: bool
    note: str


FIELDS = tuple(field.name for field in fields(City))
WORDS = tuple(first + second + third for first in _SYLLABLES for second in _SYLLABLES
              for third in _SYLLABLES[:3])  # fmt: skip
"""The words of the notes; a note contains three of them."""

MOST_POPULATION = 10_000_000
MOST_AREA = 100_000
MOST_ELEVATION = 5_000


def make_cities(count: int) -> Sequence[City]:
    """Return `count` cities, the same in each run."""
    chance = random.Random(7)  # noqa: S311 - the same worksheet in each run
    populations = chance.sample(range(1_000, MOST_POPULATION), count)
    areas = chance.sample(range(100, MOST_AREA * 100), count)
    return [
        City(
            name=f"{chance.choice(WORDS).title()} {number:06d}",
            state=f"State {chance.randrange(_STATES)}",
            country=f"Country {chance.randrange(_COUNTRIES)}",
            population=population,
            area=area / 100,
            elevation=chance.randrange(MOST_ELEVATION),
            founded=(_FIRST_DAY + timedelta(days=chance.randrange(_DAYS))).isoformat(),
            mayor=f"Mayor {chance.randrange(_MAYORS)}",
            capital=chance.random() < 0.01,
            note=" ".join(chance.choices(WORDS, k=3)),
        )
        for number, (population, area) in enumerate(zip(populations, areas, strict=True))
    ]


def write_csv(path: Path, cities: Iterable[City]) -> None:
    """Write the cities as CSV, with a header."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(FIELDS)
        writer.writerows(map(_shown, cities))


def write_numbered_csv(path: Path, cities: Iterable[City]) -> None:
    """Write the cities as CSV with `id` as first field: the row number in the worksheet."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("id", *FIELDS))
        writer.writerows([row, *_shown(city)] for row, city in enumerate(cities, FIRST_ROW))


def _shown(city: City) -> list[object]:
    return [str(value).upper() if isinstance(value, bool) else value for value in astuple(city)]
