"""What became of open writes whose values were typed in: where it cannot be told, nothing is."""

from collections.abc import Sequence

import pytest

from gateway.errors import UpstreamError, WriteOutcomeUnknown
from gateway.table.cell_match import as_entered
from gateway.table.record import Stored
from gateway.worksheets.reconciliation import Reconciler, find_rows
from tests.fakes import FakeSheets, Held
from tests.worksheets.conftest import CITIES, WORKSHEET

ANSWERED = WriteOutcomeUnknown("?", was_answered=True)


def sheets_with(*below: Sequence[Held | None]) -> FakeSheets:
    """The cities, and rows below them from row 5 on."""
    sheets = FakeSheets()
    sheets.add("Cities", [*CITIES, *below], rows=100)
    return sheets


async def found(sheets: FakeSheets, *rows: Sequence[Stored]) -> int | None:
    return await find_rows(sheets, WORKSHEET, rows, from_row=5, compare=as_entered)


async def at_once(_: float) -> None:
    """No pause."""


async def test_a_typed_number_is_found() -> None:
    """A text of digits that became a number is the row that was sent."""
    sheets = sheets_with(["Other", "NV", 1], ["Reno", "NV", 264165])

    assert await found(sheets, ["Reno", "NV", "264165"]) == 6


async def test_a_row_that_surely_is_the_one_comes_first() -> None:
    """A row above it that only may be it changes nothing."""
    sheets = sheets_with(["Reno", "NV", 0.5], ["Reno", "NV", "50%"])

    assert await found(sheets, ["Reno", "NV", "50%"]) == 6


async def test_a_row_of_which_it_cannot_be_told() -> None:
    """It is neither found nor missing."""
    sheets = sheets_with(["Reno", "NV", 0.5])

    with pytest.raises(UpstreamError, match="may be"):
        await found(sheets, ["Reno", "NV", "50%"])


async def test_a_row_that_surely_is_another() -> None:
    """A plain number that is another one tells."""
    sheets = sheets_with(["Reno", "NV", 7])

    assert await found(sheets, ["Reno", "NV", "5"]) is None


async def test_an_append_of_which_it_cannot_be_told_stays_open() -> None:
    """Nobody is told that a row was not written which may be there."""
    reconciler = Reconciler(sheets_with(["Reno", "NV", 0.5]), sleep=at_once, compare=as_entered)

    with pytest.raises(WriteOutcomeUnknown) as caught:
        await reconciler.settle_append(
            WORKSHEET, [["Reno", "NV", "50%"]], from_row=5, error=ANSWERED
        )

    assert caught.value is ANSWERED
