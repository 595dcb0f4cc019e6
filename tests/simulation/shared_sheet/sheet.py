"""The worksheet that two gateways and a script share, and its sparse rows.

Rules
- A row's identity is a value in it, in one of two columns with a blank column between them. So the
  values of many neighbouring rows do not touch, and what looks for the table at A1 finds its end
  above them.
- Column A is blank most often.
"""

import random
from collections.abc import Iterator, Sequence

from tests.simulation.fire.clients import Create
from tests.simulation.fire.ledger import IDENTITY, Fields, fields_of

SPREADSHEET = "shared"
TITLE = "Shared"
HEADER = ("kind", "id", "name", "", "code", "note")
TEXT = "\n".join(
    (
        ",".join(HEADER),
        ",id:seed,name:seed,,,",
        ",,,,id:seed,note:seed",
        "kind:seed,id:seed,,,,",
        "",
    )
)
LONGEST_ARRAY = 4


def sparse_row(chance: random.Random, number: int, *, is_left: bool | None = None) -> Fields:
    """A row with its identity to the left or to the right of the blank column."""
    if chance.random() < 0.5 if is_left is None else is_left:
        others = {"kind": 0.2, "name": 0.5}
        identity = "id"
    else:
        others = {"note": 0.5}
        identity = "code"
    named = [name for name, share in others.items() if chance.random() < share]
    texts = {name: f"{name}:{number}" for name in named}
    return fields_of({**texts, identity: f"{IDENTITY}{number}"})


def cells_of(row: Fields) -> Sequence[str]:
    """The row's texts from column A."""
    texts = dict(row)
    return [texts.get(name, "") for name in HEADER]


def identity_of(row: Fields) -> str:
    """The value by which a row is known; "" if it has none."""
    return next((text for _, text in row if text.startswith(IDENTITY)), "")


def sparse_creates(
    chance: random.Random, *, first: int, arrays: float = 0.1, keyed: float = 0.7
) -> Iterator[Create]:
    """Creates without end, each row with a number of its own; arrays and keys are shares."""
    number = first
    while True:
        key = f"key-{number}" if chance.random() < keyed else None
        is_array = chance.random() < arrays
        size = chance.randint(1, LONGEST_ARRAY) if is_array else 1
        yield Create(
            rows=tuple(sparse_row(chance, number + offset) for offset in range(size)),
            is_array=is_array,
            key=key,
            is_repeated=key is not None and chance.random() < 0.2,
        )
        number += size
