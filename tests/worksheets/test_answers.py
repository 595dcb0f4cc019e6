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
    MOST_OF_BLOCK,
    MOST_SINGLY,
    OVERHEAD_BYTES,
    Bodies,
    EncodedRows,
    Encoder,
    Encodings,
    Paging,
)
from gateway.worksheets.answers import Encoded as EncodedPage

LAST_ROW = 101
TABLE = make_table(
    [["name", *(f"c{row}" for row in range(2, LAST_ROW + 1))], ["state", "", "MA"], ["x", "y"]]
)
ROOM = 1_000_000


@dataclass(eq=False)
class CountingEncoder:
    """An encoder that counts the rows, and their bytes, of each call."""

    empty: None = None
    is_typed: bool = False
    counts: list[int] = field(default_factory=list)
    byte_counts: list[int] = field(default_factory=list)

    def rows(self, rows: Iterable[object]) -> list[bytes]:
        made = [msgspec.json.encode(row) for row in rows]
        self.counts.append(len(made))
        self.byte_counts.append(sum(map(len, made)))
        return made

    def page(self, rows: Bodies, paging: Paging, cursor: str | None = None) -> EncodedPage:
        raise NotImplementedError


def places(rows: Sequence[int]) -> Sequence[int]:
    """The places of rows in a worksheet whose header is row 1."""
    if isinstance(rows, range):
        return range(rows.start - 1, rows.stop - 1)
    return [row - 1 for row in rows]


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

    found = [kept.get(encoder, None, ALL_COLUMNS, places(rows)) for _ in range(40)]

    assert [numbers_in(bodies) for bodies in found] == [[*rows]] * 40
    assert found[0] == fresh.get(encoder, None, ALL_COLUMNS, places([*rows]))


def test_a_page_makes_the_blocks_that_it_touches_once() -> None:
    """Pages of consecutive rows share blocks, whose rows are encoded once."""
    kept, encoder = EncodedRows(TABLE, ROOM, 16), CountingEncoder()

    for first in (2, 10, 17, 2):
        kept.get(encoder, None, ALL_COLUMNS, places(range(first, first + 8)))

    assert encoder.counts == [16, 16]


def test_neighbouring_blocks_are_made_in_one_call() -> None:
    """A page of many blocks is encoded at once between those that are cached."""
    kept, encoder = EncodedRows(TABLE, ROOM, 4), CountingEncoder()
    kept.get(encoder, None, ALL_COLUMNS, places(range(43, 44)))

    found = kept.get(encoder, None, ALL_COLUMNS, places(range(3, LAST_ROW)))

    assert encoder.counts == [4, 40, 56]
    single = EncodedRows(TABLE, ROOM, 4)
    assert found == single.get(encoder, None, ALL_COLUMNS, places([*range(3, LAST_ROW)]))
    encoder.counts.clear()
    assert kept.get(encoder, None, ALL_COLUMNS, places(range(3, LAST_ROW))) == found
    assert kept.get(encoder, None, ALL_COLUMNS, places(range(2, 4))).rows[1] == found.rows[0]
    assert encoder.counts == []


LONG = make_table([["name", *["x" * 50_000] * 40, *["y"] * 60], ["state", *["MA"] * 100]])
"""Rows of 50,000 characters above short ones."""


@pytest.mark.parametrize("rows", [range(5, 6), [5], range(40, 43), [41, 42, 43]], ids=str)
def test_a_block_of_long_rows_is_not_made_for_one_of_them(rows: Sequence[int]) -> None:
    """However often rows are requested, a call encodes few bytes besides theirs."""
    kept, encoder = EncodedRows(LONG, 64 * ROOM, 64), CountingEncoder()

    found = [kept.get(encoder, None, ALL_COLUMNS, places(rows)) for _ in range(MOST_SINGLY + 3)]

    single = EncodedRows(LONG, 64 * ROOM, 1).get(
        CountingEncoder(), None, ALL_COLUMNS, places([*rows])
    )
    assert found == [single] * (MOST_SINGLY + 3)
    assert max(encoder.byte_counts) <= sum(map(len, single.rows)) + MOST_OF_BLOCK
    assert max(encoder.counts) <= len(rows)


def test_short_rows_beside_long_ones_have_blocks() -> None:
    """A page that touches a long block caches the other one."""
    kept, encoder = EncodedRows(LONG, 64 * ROOM, 64), CountingEncoder()

    found = kept.get(encoder, None, ALL_COLUMNS, places(range(64, 68)))
    again = kept.get(encoder, None, ALL_COLUMNS, places(range(66, 68)))

    assert encoder.counts == [38]
    assert again.rows == found.rows[2:]


def test_rows_that_exceed_the_limit_drop_no_others() -> None:
    """A page over the limit is encoded, but what was cached before stays."""
    kept, encoder, other = EncodedRows(TABLE, 10_000, 16), CountingEncoder(), CountingEncoder()
    kept.get(encoder, None, ALL_COLUMNS, places(range(2, 8)))

    kept.get(other, None, ALL_COLUMNS, places(range(2, LAST_ROW + 1)))
    kept.get(encoder, None, ALL_COLUMNS, places(range(2, 8)))

    assert (encoder.counts, other.counts) == ([16], [100])


@pytest.mark.parametrize("rows", [range(5, 5), range(500, 500), range(2, 2), range(9, 2), []])
@pytest.mark.parametrize("last_row", [0, 1, LAST_ROW])
def test_an_empty_page_makes_no_block(rows: Sequence[int], last_row: int) -> None:
    """A worksheet without rows and a page past the end cost nothing."""
    table = make_table([TABLE.displayed[0][:last_row]])
    kept, encoder = EncodedRows(table, ROOM, 16), CountingEncoder()

    assert kept.get(encoder, None, ALL_COLUMNS, places(rows)) == Bodies([], b"")
    assert (encoder.counts, kept.byte_count) == ([], 0)


@pytest.mark.parametrize("rows", [[7], range(7, 8)], ids=str)
def test_the_limit_counts_each_selection(rows: Sequence[int]) -> None:
    """Selections, which clients choose, are counted with their names."""
    kept, encoder = EncodedRows(TABLE, ROOM, 1), CountingEncoder()

    for number in range(20):
        for _ in range(2):
            keys = Selection(("name", f"{number:0500}"))
            kept.get(encoder, keys, ALL_COLUMNS, places(rows))

    least = 20 * (OVERHEAD_BYTES + 500)
    assert least < kept.byte_count < least + 20 * 500


def test_all_rows_of_the_first_page_count() -> None:
    """Rows that were encoded singly count from the first page on, also after a drop."""
    kept, encoder, other = EncodedRows(TABLE, 4_000, 4), CountingEncoder(), CountingEncoder()
    kept.get(other, None, ALL_COLUMNS, places(range(2, 30)))
    before = kept.byte_count

    kept.get(encoder, None, ALL_COLUMNS, places([7] * MOST_SINGLY))
    after = kept.byte_count
    kept.get(encoder, None, ALL_COLUMNS, places([7]))

    assert after < before
    assert encoder.counts == [MOST_SINGLY, 4]


def test_scattered_rows_are_encoded_singly_until_their_block_is_worth_it() -> None:
    """A block of rows that are rarely requested is not made for one of them."""
    kept, encoder = EncodedRows(TABLE, ROOM, 16), CountingEncoder()

    for _ in range(MOST_SINGLY + 5):
        kept.get(encoder, None, ALL_COLUMNS, places([7]))

    assert encoder.counts == [*[1] * MOST_SINGLY, 16]


def test_an_answer_makes_few_blocks_of_scattered_rows() -> None:
    """The other rows of the answer are encoded singly, so that no answer encodes all rows."""
    kept, encoder = EncodedRows(TABLE, ROOM, 4), CountingEncoder()
    rows = [*range(LAST_ROW, 1, -4)]
    for _ in range(MOST_SINGLY):
        kept.get(encoder, None, ALL_COLUMNS, places(rows))
    encoder.counts.clear()

    kept.get(encoder, None, ALL_COLUMNS, places(rows))

    assert encoder.counts == [*[4] * MADE_AT_ONCE, len(rows) - MADE_AT_ONCE]


@pytest.mark.parametrize("max_bytes", [0, 100, 1_500, 5_000])
@pytest.mark.parametrize("is_scattered", [False, True])
def test_kept_rows_have_a_bound(max_bytes: int, is_scattered: bool) -> None:
    """Blocks over the limit are not kept, and answers are the same."""
    kept, encoder = EncodedRows(TABLE, max_bytes, 16), CountingEncoder()
    numbers = range(2, LAST_ROW + 1)
    rows: Sequence[int] = [*numbers] if is_scattered else numbers

    for _ in range(MOST_SINGLY + 3):
        assert numbers_in(kept.get(encoder, None, ALL_COLUMNS, places(rows))) == [*numbers]

    assert kept.byte_count <= max_bytes


@pytest.mark.parametrize("is_scattered", [False, True])
def test_the_oldest_blocks_are_dropped_first(is_scattered: bool) -> None:
    """Rows that exceed the limit a little are mostly answered from blocks, page after page."""
    kept, encoder = EncodedRows(TABLE, ROOM, 4), CountingEncoder()
    kept.get(encoder, None, ALL_COLUMNS, places(range(2, LAST_ROW + 1)))
    kept, encoder = EncodedRows(TABLE, kept.byte_count * 3 // 4, 4), CountingEncoder()
    for first in range(2, LAST_ROW - 3, 4):
        kept.get(encoder, None, ALL_COLUMNS, places(range(first, first + 4)))
    encoder.counts.clear()

    newest = range(LAST_ROW - 51, LAST_ROW - 7)
    kept.get(encoder, None, ALL_COLUMNS, places([*newest] if is_scattered else newest))

    assert encoder.counts == []


def test_short_cells_under_long_names_have_room() -> None:
    """The blocks of all rows fit, although they are several times as large as the cells."""
    table = make_table([[name, *["ee"] * 1_000] for name in ("population", "state", "name")])
    kept, encoder = Encodings(table, 15_000).rows, CountingEncoder()
    for _ in range(2):
        for first in range(2, 1_001, 20):
            kept.get(encoder, None, ALL_COLUMNS, places(range(first, first + 20)))

    assert sum(encoder.counts) == 1_000


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
    made.get(encoder, None, ALL_COLUMNS, places(range(2, 3)))

    assert isinstance(encoder, CountingEncoder)
    assert 1 <= encoder.counts[0] <= 256
    assert encoder.counts[0] * displayed_bytes // 1_000 <= 49_152 or encoder.counts[0] == 1
