"""The creates of a fire, and the worksheets that they are for."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.simulation.fire.clients import Create
from tests.simulation.fire.ledger import Fields, Grid, fields_of

SPREADSHEET = "fire"
HEADER = ("id", "name", "", "note")
"""A blank header, since it sends rows to other columns if nobody takes care."""
SEEDS: Sequence[Sequence[Sequence[str]]] = (
    (("id:seed", "name:seed", "", "note:seed"),),
    (),
    (("id:seed", "", "", ""), ("", "", "", ""), ("", "name:seed", "", "note:seed")),
    (("id:seed", "name:seed", "", ""), ("", "", "", ""), ("", "", "", "note:seed")),
)
"""The rows below the header of the worksheets by turns: plain, none, a gap, a total below a gap."""
FIRST_SHARED = 1_000_000_000
SHARED_CONTENTS = 5
FIRST_VISITED = 2_000_000_000
"""The number of the first row that no client of the gateway sent."""


@dataclass(frozen=True, kw_only=True)
class Mixture:
    """Which of the creates are arrays, carry a key, or have the content of others: shares."""

    arrays: float = 0.1
    keyed: float = 0.7
    repeated: float = 0.2
    """Of those with a key."""
    shared: float = 0.05
    longest_array: int = 5


USUAL = Mixture()


def seeds(worksheets: int) -> dict[str, Grid]:
    """What the worksheets hold before the fire, by their titles."""
    return {f"Fire{index}": (HEADER, *SEEDS[index % len(SEEDS)]) for index in range(worksheets)}


def csv_of(grid: Grid) -> str:
    """A worksheet as the emulator is seeded with it."""
    return "".join(",".join(row) + "\n" for row in grid)


def draw(chance: random.Random, mixture: Mixture, *, first: int, count: int) -> list[Create]:
    """So many creates; each row has a number of its own, or one of a few that many share."""
    return list(_draw(chance, mixture, first, count))


def _draw(chance: random.Random, mixture: Mixture, first: int, count: int) -> Iterator[Create]:
    number = first
    for index in range(count):
        key = f"key-{first + index}" if chance.random() < mixture.keyed else None
        is_repeated = key is not None and chance.random() < mixture.repeated
        if chance.random() < mixture.shared:
            shared = FIRST_SHARED + chance.randrange(SHARED_CONTENTS)
            yield Create(rows=(_whole(shared),), key=key, is_repeated=is_repeated)
            continue
        is_array = chance.random() < mixture.arrays
        size = chance.randint(1, mixture.longest_array) if is_array else 1
        rows = tuple(_partial(chance, number + offset) for offset in range(size))
        number += size
        yield Create(rows=rows, is_array=is_array, key=key, is_repeated=is_repeated)


def _whole(number: int) -> Fields:
    return fields_of({name: f"{name}:{number}" for name in ("id", "name", "note")})


def _partial(chance: random.Random, number: int) -> Fields:
    names = ["id", *(name for name in ("name", "note") if chance.random() < 0.7)]
    return fields_of({name: f"{name}:{number}" for name in names})
