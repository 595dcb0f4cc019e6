"""Cache of a snapshot's encoded rows: which rows, how many, and the order of answers."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import pytest

from gateway.errors import UnknownField
from gateway.table.header import ALL_COLUMNS, ColumnGrant, Selection
from gateway.table.table import make_table
from gateway.worksheets.answers import (
    MAX_PLACES,
    OVERHEAD_BYTES,
    Answers,
    Bodies,
    EncodedRows,
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
    """An encoder that counts the rows that it encodes."""

    empty: None = None
    is_typed: bool = False
    count: int = 0

    def row(self, row: object, /) -> bytes:
        self.count += 1
        return msgspec.json.encode(row)

    def page(self, rows: Bodies, paging: Paging, cursor: str | None = None) -> EncodedPage:
        raise NotImplementedError


def places(rows: Sequence[int]) -> Sequence[int]:
    """Positions of rows in a worksheet whose header is row 1."""
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
    """An answer has the requested rows, whatever rows are cached."""
    kept, encoder = EncodedRows(TABLE, ROOM), CountingEncoder()
    fresh = EncodedRows(TABLE, ROOM)

    found = [kept.get(encoder, None, TABLE.header.whole, places(rows)) for _ in range(40)]

    assert [numbers_in(bodies) for bodies in found] == [[*rows]] * 40
    assert found[0] == fresh.get(encoder, None, TABLE.header.whole, places([*rows]))


@pytest.mark.parametrize("rows", [range(9, 17), [16, 9, 30, 9]], ids=str)
def test_each_row_is_encoded_once(rows: Sequence[int]) -> None:
    """A page encodes only rows that are not cached."""
    kept, encoder = EncodedRows(TABLE, ROOM), CountingEncoder()

    counts = []
    for each in (range(10, 12), rows, rows, range(2, LAST_ROW + 1)):
        kept.get(encoder, None, TABLE.header.whole, places(each))
        counts.append(encoder.count)

    new = len({*rows} - {10, 11})
    assert counts == [2, 2 + new, 2 + new, LAST_ROW - 1]


@pytest.mark.parametrize("rows", [range(5, 5), range(500, 500), range(2, 2), range(9, 2), []])
@pytest.mark.parametrize("last_row", [0, 1, LAST_ROW])
def test_an_empty_page_encodes_nothing(rows: Sequence[int], last_row: int) -> None:
    """Pages of an empty worksheet and pages past the end encode nothing."""
    table = make_table([TABLE.displayed[0][:last_row]])
    kept, encoder = EncodedRows(table, ROOM), CountingEncoder()

    assert kept.get(encoder, None, table.header.whole, places(rows)) == Bodies((), b"")
    assert (encoder.count, kept.byte_count) == (0, 0)


def test_the_limit_counts_each_selection() -> None:
    """The names of a selection count for the limit, because clients choose them."""
    kept, encoder = EncodedRows(TABLE, ROOM), CountingEncoder()

    for number in range(20):
        for _ in range(2):
            keys = Selection(("name", f"{number:0500}"))
            kept.get(encoder, keys, TABLE.header.whole, places([7]))

    least = 20 * (OVERHEAD_BYTES + 500)
    assert encoder.count == 20
    assert least < kept.byte_count < least + 20 * 1_000


@pytest.mark.parametrize("max_bytes", [0, 100, 1_500, 3_000, 5_000, 20_000])
@pytest.mark.parametrize("is_scattered", [False, True])
def test_cached_rows_have_a_bound(max_bytes: int, is_scattered: bool) -> None:
    """Rows over the limit are not cached, and answers are the same."""
    kept, encoder = EncodedRows(TABLE, max_bytes), CountingEncoder()

    for first in [2, 40, 60, 2] * 3:
        rows = range(first, first + 40)
        for each in ([*rows] if is_scattered else rows, rows):
            assert numbers_in(kept.get(encoder, None, TABLE.header.whole, places(each))) == [*rows]
            assert kept.byte_count <= max_bytes

    assert (encoder.count == len(range(2, 100))) is (max_bytes == 20_000)


def test_rows_that_exceed_the_limit_drop_no_others() -> None:
    """A page over the limit is encoded, and rows cached before stay."""
    kept, encoder, other = EncodedRows(TABLE, 10_000), CountingEncoder(), CountingEncoder()
    kept.get(encoder, None, TABLE.header.whole, places(range(2, 8)))

    kept.get(other, None, TABLE.header.whole, places(range(2, LAST_ROW + 1)))
    kept.get(encoder, None, TABLE.header.whole, places(range(2, 8)))

    assert (encoder.count, other.count) == (6, 100)


def test_the_oldest_encodings_are_dropped_first() -> None:
    """A page that does not fit is cached, and the oldest cached rows are dropped."""
    kept = EncodedRows(TABLE, 18_000)
    encoders = [CountingEncoder() for _ in range(4)]
    for encoder in encoders[:3]:
        kept.get(encoder, None, TABLE.header.whole, places(range(2, 26)))
    kept.get(encoders[0], None, TABLE.header.whole, places([26]))

    kept.get(encoders[3], None, TABLE.header.whole, places(range(2, 27)))
    for encoder in encoders:
        encoder.count = 0
    for encoder in (encoders[3], encoders[0], encoders[2], encoders[1]):
        kept.get(encoder, None, TABLE.header.whole, places(range(2, 26)))

    assert [encoder.count for encoder in encoders] == [0, 24, 0, 0]


@pytest.mark.parametrize("last_row", [20_000, MAX_PLACES + 1])
def test_many_selections_of_a_tall_worksheet_are_cached(last_row: int) -> None:
    """The memory of a selection depends on the requested rows, not on the worksheet's size."""
    table = make_table([["name", *["x"] * last_row]])
    kept, encoder = EncodedRows(table, ROOM), CountingEncoder()

    for _ in range(2):
        for number in range(60):
            keys = Selection(("name", f"{number}"))
            for rows in (range(1, 25), [9, 7, 9]):
                kept.get(encoder, keys, table.header.whole, rows)

    assert encoder.count == 24 * 60


@pytest.mark.parametrize("rows", [range(2, 26), [9, 7, 9]], ids=str)
def test_rows_of_a_tall_worksheet_are_in_no_list_of_all(rows: Sequence[int]) -> None:
    """Rows of a tall worksheet are cached without lists of all positions."""
    table = make_table([["name", *["x"] * MAX_PLACES]])
    kept, encoder = EncodedRows(table, ROOM), CountingEncoder()

    found = [
        numbers_in(kept.get(encoder, None, table.header.whole, places(rows))) for _ in range(2)
    ]

    assert found == [[*rows]] * 2
    assert (encoder.count, kept.byte_count < 10_000) == (len({*rows}), True)


def test_short_cells_under_long_names_have_room() -> None:
    """All rows fit into the cache, although they are several times as large as the cells."""
    table = make_table([[name, *["ee"] * 1_000] for name in ("population", "state", "name")])
    kept, encoder = Encodings(table, 15_000).rows, CountingEncoder()
    for _ in range(2):
        for first in range(2, 1_001, 20):
            kept.get(encoder, None, table.header.whole, places(range(first, first + 20)))

    assert encoder.count == 1_000


def test_an_answer_to_a_long_query_drops_no_others() -> None:
    """An answer that exceeds the limit by its query is not cached, and leaves the others."""
    answers = Answers(10_000)
    answers.keep("short", EncodedPage(b"body", "tag"))
    answers.keep("long", EncodedPage(b"body", "tag"), 2_000)

    assert answers.get("short") is not None
    assert answers.get("long") is None


def test_selections_and_columns_have_rows_of_their_own() -> None:
    """A key that does not see a column gets no row encoded for a key that sees the column."""
    kept, encoder = EncodedRows(TABLE, ROOM), CountingEncoder()
    limited = ColumnGrant(readable=frozenset({"name"}), tag_key=b"secret")

    bodies = [
        kept.get(encoder, keys, TABLE.header.seen_with(grant), rows).rows[0]
        for rows in (range(3, 5), [3, 4])
        for keys in (None, Selection(("state",)), Selection(("state", "name")))
        for grant in (ALL_COLUMNS, limited)
        if grant is ALL_COLUMNS or keys is None
    ]

    shown = [["rowIndex", "name", "state", "x"], ["rowIndex", "name"]]
    shown += [["rowIndex", "state"], ["rowIndex", "name", "state"]]
    assert [names_in(body) for body in bodies] == shown * 2


def test_a_selection_without_a_field_is_refused_without_rows() -> None:
    """An empty page reports the unknown field, as a full page does."""
    kept, encoder = EncodedRows(TABLE, ROOM), CountingEncoder()

    for rows in (range(5, 5), [], range(5, 6), [5]):
        with pytest.raises(UnknownField, match="mayor"):
            kept.get(encoder, Selection(("mayor",)), TABLE.header.whole, rows)
