"""Encrypted cursors: equal for all processes with one pepper, unreadable for others."""

import pytest

from gateway.access.pepper import cursor_key
from gateway.errors import InvalidQuery
from gateway.query.place import CONTEXT, LONGEST_CURSOR, Cursors, Place, Seal, Value
from gateway.table.cells import EMPTY, NUMBER, TEXT
from gateway.worksheets.access import WorksheetId

KEY = cursor_key(b"a pepper")
BOOK = ("key_a", WorksheetId("book", "Cities"))
PLACES = [
    Place(),
    Place(7, (), bytes(48), bytes(12), b"12345678"),
    Place(10**6, (Value(EMPTY), Value(NUMBER, 0.5), Value(NUMBER, str(2**70))), b""),
    Place(2, (Value(TEXT, None, "Städte", b"12345678"),), bytes(6 * CONTEXT)),
]


@pytest.mark.parametrize("place", PLACES)
def test_all_processes_with_a_pepper_read_a_cursor(place: Place) -> None:
    """Equal positions have equal cursors."""
    one, other = (Cursors(cursor_key(b"a pepper")).seal(*BOOK, b"order") for _ in range(2))

    assert other.open(one.of(place)) == place
    assert one.of(place) == other.of(place)
    assert len(one.of(place)) <= LONGEST_CURSOR


@pytest.mark.parametrize(
    "seal",
    [
        Cursors(cursor_key(b"an old pepper")).seal(*BOOK, b"order"),
        Cursors(KEY).seal(*BOOK, b"another order"),
        Cursors(KEY).seal("key_b", BOOK[1], b"order"),
        Cursors(KEY).seal("key_a", WorksheetId("book", "Other"), b"order"),
        Cursors(KEY).seal("key_a", WorksheetId("other", "Cities"), b"order"),
    ],
    ids=["pepper", "order", "key", "worksheet", "spreadsheet"],
)
def test_a_cursor_is_closed_to_others(seal: Seal) -> None:
    """A cursor of another key, worksheet, `where` or `order` is invalid."""
    cursor = Cursors(KEY).seal(*BOOK, b"order").of(PLACES[1])

    with pytest.raises(InvalidQuery):
        seal.open(cursor)


def test_a_cursor_shows_nothing_of_a_cell() -> None:
    """A cursor is encrypted."""
    place = Place(2, (Value(TEXT, None, "a text of a cell"),), bytes(6))

    assert "text" not in Cursors(KEY).seal(*BOOK, b"").of(place)
    assert Cursors(KEY).seal(*BOOK, b"").open("") == Place()
