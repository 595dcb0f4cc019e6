"""Encoded rows of a snapshot: which are kept, how many, and in what order they are answered."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec
import pytest

from gateway.errors import UnknownField
from gateway.table.header import ALL_COLUMNS, ColumnGrant, Selection
from gateway.table.table import make_table
from gateway.worksheets.answers import (
    MADE_AT_ONCE,
    MOST_SINGLY,
    Bodies,
    EncodedRows,
    Encoder,
    Encodings,
)
from gateway.worksheets.answers import Encoded as EncodedPage

LAST_ROW = 101
TABLE = make_table(
    [["name", *(f"c{row}" for row in range(2, LAST_ROW + 1))], ["state", "", "MA"], ["x", "y"]]
)
ROOM = 1_000_000


@dataclass(eq=False)
class CountingEncoder:
    """An encoder that counts the rows of each call."""

    empty: None = None
    counts: list[int] = field(default_factory=list)

    def rows(self, rows: Iterable[object]) -> list[bytes]:
        made = [msgspec.json.encode(row) for row in rows]
        self.counts.append(len(made))
        return made

    def page(self, rows: Bodies, *, has_next: bool, total: int | None) -> EncodedPage:
        raise NotImplementedError


def numbers_in(bodies: Bodies) -> list[int]:
    return [msgspec.json.decode(body)["rowIndex"] for body in bodies.rows]


def names_in(body: bytes) -> list[str]:
    return [*msgspec.json.decode(body)]


@pytest.mark.parametrize(
    "rows",
    [
        *(range(2, 26), range(9, 12), range(2, LAST_ROW + 1), range(LAST_ROW, LAST_ROW + 1)),
        *(range(5, 5), range(33, 35), [7, 3, 99, 3], [LAST_ROW], [], [*range(LAST_ROW, 1, -1)]),
    ],
    ids=str,
)
def test_rows_come_in_the_requested_order(rows: Sequence[int]) -> None:
    """Whatever was kept before, the rows of an answer are those of the request."""
    kept, encoder = EncodedRows(TABLE, ROOM, 16), CountingEncoder()
    fresh = EncodedRows(TABLE, ROOM, 16)

    found = [kept.get(encoder, None, ALL_COLUMNS, rows) for _ in range(40)]

    assert [numbers_in(bodies) for bodies in found] == [[*rows]] * 40
    assert found[0] == fresh.get(encoder, None, ALL_COLUMNS, [*rows])


def test_a_page_makes_the_blocks_that_it_touches_once() -> None:
    """Pages of consecutive rows share blocks, whose rows are encoded once."""
    kept, encoder = EncodedRows(TABLE, ROOM, 16), CountingEncoder()

    for first in (2, 10, 17, 2):
        kept.get(encoder, None, ALL_COLUMNS, range(first, first + 8))

    assert encoder.counts == [16, 16]


def test_scattered_rows_are_encoded_singly_until_their_block_is_worth_it() -> None:
    """A block of rows that are rarely requested is not made for one of them."""
    kept, encoder = EncodedRows(TABLE, ROOM, 16), CountingEncoder()

    for _ in range(MOST_SINGLY + 5):
        kept.get(encoder, None, ALL_COLUMNS, [7])

    assert encoder.counts == [*[1] * MOST_SINGLY, 16]


def test_an_answer_makes_few_blocks_of_scattered_rows() -> None:
    """The other rows of the answer are encoded singly, so that no answer encodes all rows."""
    kept, encoder = EncodedRows(TABLE, ROOM, 4), CountingEncoder()
    rows = [*range(LAST_ROW, 1, -4)]
    for _ in range(MOST_SINGLY):
        kept.get(encoder, None, ALL_COLUMNS, rows)
    encoder.counts.clear()

    kept.get(encoder, None, ALL_COLUMNS, rows)

    assert encoder.counts == [*[4] * MADE_AT_ONCE, len(rows) - MADE_AT_ONCE]


@pytest.mark.parametrize("max_bytes", [0, 100, 1_500, 5_000])
@pytest.mark.parametrize("is_scattered", [False, True])
def test_kept_rows_have_a_bound(max_bytes: int, is_scattered: bool) -> None:
    """Blocks over the limit are not kept, and answers are the same."""
    kept, encoder = EncodedRows(TABLE, max_bytes, 16), CountingEncoder()
    numbers = range(2, LAST_ROW + 1)
    rows: Sequence[int] = [*numbers] if is_scattered else numbers

    for _ in range(MOST_SINGLY + 3):
        assert numbers_in(kept.get(encoder, None, ALL_COLUMNS, rows)) == [*numbers]

    assert kept.byte_count <= max_bytes


def test_selections_and_columns_have_rows_of_their_own() -> None:
    """A key that does not see a column gets no row that was made for one that does."""
    kept, encoder = EncodedRows(TABLE, ROOM, 16), CountingEncoder()
    limited = ColumnGrant(readable=frozenset({"name"}), tag_key=b"secret")

    bodies = [
        kept.get(encoder, keys, grant, rows).rows[0]
        for rows in (range(3, 5), [3, 4])
        for keys in (None, Selection(("state",)), Selection(("state", "name")))
        for grant in (ALL_COLUMNS, limited)
        if grant is ALL_COLUMNS or keys is None
    ]

    shown = [["rowIndex", "name", "state", "x"], ["rowIndex", "name"]]
    shown += [["rowIndex", "state"], ["rowIndex", "name", "state"]]
    assert [names_in(body) for body in bodies] == shown * 2


def test_a_selection_without_a_field_is_refused_without_rows() -> None:
    """An empty page names the unknown field, as a full one does."""
    kept, encoder = EncodedRows(TABLE, ROOM, 16), CountingEncoder()

    for rows in (range(5, 5), [], range(5, 6), [5]):
        with pytest.raises(UnknownField, match="mayor"):
            kept.get(encoder, Selection(("mayor",)), ALL_COLUMNS, rows)


@pytest.mark.parametrize(
    ("columns", "displayed_bytes"),
    [(1, 0), (1, 10**4), (10, 75_000), (200, 10**7), (2, 10**9)],
)
def test_blocks_of_long_rows_have_fewer_rows(columns: int, displayed_bytes: int) -> None:
    """A block holds at most 256 rows and about 48 KiB, but at least a row."""
    table = make_table([[f"field {column}", *["cell"] * 1_000] for column in range(columns)])
    encoder: Encoder = CountingEncoder()

    made = Encodings(table, displayed_bytes).rows
    made.get(encoder, None, ALL_COLUMNS, range(2, 4))

    assert isinstance(encoder, CountingEncoder)
    assert 1 <= encoder.counts[0] <= 256
    assert encoder.counts[0] * displayed_bytes // 1_000 <= 49_152 or encoder.counts[0] == 1
