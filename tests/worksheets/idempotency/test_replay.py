"""Answers of writes, stored as JSON text."""

from dataclasses import replace

import pytest

from gateway.errors import (
    GatewayError,
    HeaderChanged,
    Problem,
    ProtectedCells,
    RowNumberUnknown,
    UpstreamError,
    UpstreamRefusal,
)
from gateway.worksheets.replay import Restorer, decode_answer, encode_answer
from gateway.worksheets.writes import Written

ROW = Written(row=5, record={"rowIndex": 5, "b": "ü 🏙", "a": None}, tag='"t"', ignored=("x", "y"))


@pytest.mark.parametrize("rows", [(ROW,), (ROW, replace(ROW, row=6))], ids=["one", "two"])
def test_rows_come_back_as_they_were(rows: tuple[Written, ...]) -> None:
    """Every member of the rows and the order of the fields come back."""
    decoded = decode_answer(encode_answer(rows), Restorer(()))

    assert decoded == rows
    assert not isinstance(decoded, GatewayError)
    assert list(decoded[0].record) == ["rowIndex", "b", "a"]


@pytest.mark.parametrize(
    "error",
    [
        UpstreamError("misplaced", outcome="applied"),
        ProtectedCells("what", problems=[Problem("#/a", "why")], outcome="applied"),
        UpstreamRefusal("a cell's text"),
        RowNumberUnknown("moved"),
        HeaderChanged("another header", row=7),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_comes_back_as_it_was(error: GatewayError) -> None:
    """Class, message, pointers, outcome and row of an error come back, but no message of Google."""
    text = encode_answer(error)
    decoded = decode_answer(text, Restorer(()))

    assert isinstance(decoded, type(error))
    assert isinstance(decoded, GatewayError)
    assert (decoded.message, decoded.outcome) == (error.message, error.outcome)
    assert decoded.problems == error.problems
    assert getattr(decoded, "row", None) == getattr(error, "row", None)
    assert "a cell's text" not in text


def test_an_error_that_is_no_more_is_one_of_googles() -> None:
    """An error class that was removed from the program comes back as an error of Google."""
    text = encode_answer(UpstreamError("m")).replace("UpstreamError", "Gone1")
    decoded = decode_answer(text, Restorer(()))

    assert type(decoded) is UpstreamError
