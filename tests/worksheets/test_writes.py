"""Contents of a write and of its answer."""

import pytest

from gateway.table.header import parse_header, row_tag
from gateway.table.record import Placement
from gateway.worksheets.writes import Write, written_row

HEADER = parse_header(["name", "", "state", "note"])


@pytest.mark.parametrize(
    ("is_array", "paths"), [(False, ["#", "#"]), (True, ["#/0", "#/1"])], ids=["object", "list"]
)
def test_where_a_row_is_in_the_body(is_array: bool, paths: list[str]) -> None:
    """Errors point to the object itself, or to its index in the list."""
    create = Write.create(rows=({"a": 1}, {"a": 2}), is_array=is_array)

    assert [create.path(number) for number in range(2)] == paths


@pytest.mark.parametrize("value", ["x" * 1000, "€" * 400, 10**15, 1.5, True, None, ""])
def test_bytes_are_not_underrated(value: str | int | float | bool | None) -> None:
    """A value counts at least its bytes in the request to Google, including quotes."""
    sent = len(str(value).encode()) + 2

    assert Write.update(row=2, fields={"a": value}).byte_count >= sent
    assert Write.create(rows=({"a": value, "b": value}, {"a": value})).byte_count >= 3 * sent


def test_memory_is_that_of_texts_and_of_many_fields() -> None:
    """Wide texts count as stored, and so does each row; a list counts all its rows."""
    narrow, wide = {"a": "x" * 1000}, {"a": "x" * 999 + "🏙"}
    many = {str(number): 1 for number in range(1000)}
    sizes = [Write.create(rows=(row,)).memory_bytes for row in (narrow, wide, many)]

    assert 1000 < sizes[0] < 2000
    assert 4000 < sizes[1] < 5000
    assert sizes[2] > 30_000
    assert Write.create(rows=(narrow, wide, many)).memory_bytes == sum(sizes)
    assert Write.update(row=2, fields=wide).memory_bytes == sizes[1]


def test_an_answer_shows_the_written_fields() -> None:
    """Fields are in sheet order, empty ones are null, and the tag covers the whole row."""
    displayed = ["Reno", "hidden", "", "7"]
    placement = Placement(cells={3: 7, 2: "", 1: "x"}, ignored=("mayor",))

    written = written_row(5, placement, HEADER.whole, displayed, has_tag=True)

    assert list(written.record.items()) == [("rowIndex", 5), ("state", None), ("note", "7")]
    assert written.tag == row_tag(HEADER.cells, displayed)
    assert written.ignored == ("mayor",)


def test_cells_past_the_end_of_the_row_are_empty() -> None:
    """Google leaves out blank cells at the end of a row."""
    placement = Placement(cells={0: "Reno", 3: ""})

    written = written_row(5, placement, HEADER.whole, ["Reno"], has_tag=False)

    assert written.record == {"rowIndex": 5, "name": "Reno", "note": None}
