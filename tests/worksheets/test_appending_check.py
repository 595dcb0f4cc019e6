"""Where appended rows are by Google's answer, and whether that is where they should be."""

from collections.abc import MutableMapping, Sequence
from typing import Any

import pytest

from gateway.errors import UpstreamError
from gateway.google.sheets import Values
from gateway.table.record import Stored
from gateway.worksheets.values_writer import AppendResult, check_append
from tests.worksheets.conftest import WORKSHEET

ONE: Sequence[Sequence[Stored]] = [["Reno", None, 1]]
STARTS_BLANK: Sequence[Sequence[Stored]] = [[None, "NV", None, 1]]
SEVERAL: Sequence[Sequence[Stored]] = [["Reno"], [None, "NV", 1], [None, None, 2]]
INDENTED: Sequence[Sequence[Stored]] = [[None, "NV"], [None, None, 1]]


def landed(
    range_: str, rows: Sequence[Sequence[Stored]], *, anchor_row: int = 5, cells: Any = ()
) -> AppendResult:
    return check_append(WORKSHEET, Values(range=range_, cells=cells), rows, anchor_row=anchor_row)


@pytest.mark.parametrize(
    ("range_", "rows", "anchor_row", "first_row"),
    [
        pytest.param("Cities!A5:C5", ONE, 5, 5, id="at the anchor"),
        pytest.param("Cities!A9:C9", ONE, 5, 9, id="below others' rows"),
        pytest.param("'Cities'!A5:C5", ONE, 5, 5, id="quoted"),
        pytest.param("Cities!A5", [["Reno"]], 5, 5, id="one cell"),
        pytest.param("Cities!A5:D5", STARTS_BLANK, 5, 5, id="skipped cells counted"),
        pytest.param("Cities!B5:D5", STARTS_BLANK, 5, 5, id="skipped cells not counted"),
        pytest.param("Cities!A5:C7", SEVERAL, 5, 5, id="several rows"),
        pytest.param("Cities!A5:C6", INDENTED, 5, 5, id="several with a blank start"),
        pytest.param("Cities!B5:C6", INDENTED, 5, 5, id="several without the blanks"),
        pytest.param("Cities!A2:C2", ONE, 1, 2, id="under the header"),
    ],
)
def test_where_it_should_be(
    range_: str, rows: Sequence[Sequence[Stored]], anchor_row: int, first_row: int
) -> None:
    """At the anchor or below, in the columns that were sent, as many rows as were sent."""
    assert landed(range_, rows, anchor_row=anchor_row).first_row == first_row


@pytest.mark.parametrize(
    ("range_", "rows"),
    [
        pytest.param("Cities!A4:C4", ONE, id="above the anchor"),
        pytest.param("Cities!B5:D5", ONE, id="shifted"),
        pytest.param("Cities!A5:D5", ONE, id="wider"),
        pytest.param("Cities!A5:B5", ONE, id="narrower"),
        pytest.param("Cities!A5:C6", ONE, id="taller"),
        pytest.param("Cities!C5:D5", STARTS_BLANK, id="more skipped than were"),
        pytest.param("Cities!A5:C6", SEVERAL, id="a row is missing"),
        pytest.param("Cities!A5:C8", SEVERAL, id="a row too many"),
        pytest.param("Cities!B5:D7", SEVERAL, id="several, shifted"),
    ],
)
def test_where_it_should_not_be(
    range_: str, rows: Sequence[Sequence[Stored]], events: list[MutableMapping[str, Any]]
) -> None:
    """Anything else is told and logged: the rows are somewhere, and must not be sent again."""
    with pytest.raises(UpstreamError) as caught:
        landed(range_, rows)

    assert caught.value.outcome == "applied"
    assert [event["event"] for event in events] == ["misplaced-write"]


def test_the_header_is_never_a_place() -> None:
    """Rows in row 1 are misplaced, though the anchor is there in a worksheet of one row."""
    with pytest.raises(UpstreamError):
        landed("Cities!A1:C1", ONE, anchor_row=1)


@pytest.mark.parametrize("range_", ["CITIES!A5:C5", "Other!A5:C5", "Cities!A:C", "?"])
def test_an_echo_of_another_place(range_: str) -> None:
    """An answer that names another worksheet, or none that can be read, is of a done write."""
    with pytest.raises(UpstreamError) as caught:
        landed(range_, ONE)

    assert caught.value.outcome == "applied"


@pytest.mark.parametrize("range_", ["Cities!A5:D6", "Cities!B5:D6"], ids=["whole", "cut"])
def test_texts_are_counted_from_column_a(range_: str) -> None:
    """What the rows display is told by column, also if the answer begins at a later one."""
    rows: Sequence[Sequence[Stored]] = [[None, "NV", None, 1], [None, "CO", None, 2]]
    left = () if range_ == "Cities!B5:D6" else ("",)
    cells = ((*left, "NV", "", 1), (*left, "CO", None, "2"))

    append_result = landed(range_, rows, cells=cells)

    assert [list(append_result.texts(index)) for index in range(2)] == [
        ["", "NV", "", "1"],
        ["", "CO", "", "2"],
    ]


def test_blank_rows_at_the_end_display_nothing() -> None:
    """Google leaves blank lists at the end out; their rows are there all the same."""
    append_result = landed("Cities!A5:A6", [["=x"], ["y"]], cells=(("",),))

    assert [list(append_result.texts(index)) for index in range(2)] == [[""], []]
