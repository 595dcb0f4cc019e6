"""Decoding of Google's answers: required shape and limited memory."""

from collections.abc import Mapping
from typing import Any

import pytest

from gateway.google.calls import (
    GROWTH,
    Apply,
    ListWorksheets,
    ReadRanges,
    ReadValues,
    check_growth,
)
from gateway.google.pipeline import Call
from gateway.google.rendering import KnownColumns, Limits
from gateway.google.sheets import Batch, Fence, Render
from gateway.google.wire import Answer, AnswerTooLarge
from gateway.table.steps import finish

MAX_BYTES = 400_000
LIMITS = Limits(answer_bytes=MAX_BYTES, rendering_bytes=MAX_BYTES, columns=KnownColumns())
READ_VALUES = ReadValues("book", "A1", Render.DISPLAYED)
READ_RANGES = ReadRanges("book", ["A1"])
LIST_WORKSHEETS = ListWorksheets("book")
APPLY = Apply("book", Batch(sheet_id=0, fence=Fence(id=1, key="k", token="t"), ranges=["A1"]))


def repeated(start: bytes, item: bytes, end: bytes) -> bytes:
    """Return a JSON body of nearly `MAX_BYTES` that repeats `item`."""
    return start + b",".join([item] * (MAX_BYTES // (len(item) + 1) - 10)) + end


def answer_of(body: bytes) -> Answer:
    return Answer(status=200, headers={}, body=body, digest=b"")


GROWING: Mapping[str, tuple[Call[Any], bytes, bytes, bytes]] = {
    "no cells": (READ_VALUES, b'{"range":"T!A1","values":[', b"[]", b"]}"),
    "a cell each": (READ_VALUES, b'{"range":"T!A1","values":[', b"[1]", b"]}"),
    "letters": (READ_VALUES, b'{"range":"T!A1","values":[[', b'"a"', b"]]}"),
    "ranges": (READ_RANGES, b'{"valueRanges":[', b'{"range":""}', b"]}"),
    "applied": (
        APPLY,
        b'{"updatedSpreadsheet":{"sheets":[{"properties":{"title":"T"},"data":[{"rowData":[',
        b"{}",
        b"]}]}]}}",
    ),
}


@pytest.mark.parametrize("case", GROWING)
def test_an_answer_that_would_grow_in_memory_is_not_decoded(case: str) -> None:
    """An answer of many small items raises AnswerTooLarge even with few enough bytes."""
    operation, *parts = GROWING[case]

    with pytest.raises(AnswerTooLarge):
        finish(operation.decode(answer_of(repeated(*parts)), LIMITS))


def test_an_answer_of_the_largest_size_is_decoded() -> None:
    """Long texts with commas, and lists of worksheets, are within the memory limit."""
    text = b"Call me Ishmael. Some years ago, never mind how long precisely, having little money"
    rows = repeated(b'{"range":"T!A1","values":[', b'["%b","%b"]' % (text, text), b"]}")
    sheets = repeated(
        b'{"sheets":[',
        b'{"properties":{"title":"T","gridProperties":{"rowCount":9,"columnCount":9}}}',
        b"]}",
    )

    assert len(finish(READ_VALUES.decode(answer_of(rows), LIMITS)).cells) > 2000
    assert len(finish(LIST_WORKSHEETS.decode(answer_of(sheets), LIMITS))) > 4000


def test_a_full_window_of_the_widest_worksheet_is_decoded() -> None:
    """101 rows of 18,278 short cells are within the default memory limit."""
    cells = b",".join([b'"a"'] * 18_278)
    body = b'{"range":"T!A1","values":[%b]}' % b",".join([b"[%b]" % cells] * 101)

    finish(check_growth(body, GROWTH * 33_554_432))
