"""Decoding of answers by column: in parts, with a limit on memory."""

import json
import sys
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import SheetTooLarge
from gateway.google.rendering import (
    MAX_COLUMNS,
    PART_BYTES,
    SHARED_BYTES,
    WHOLE_BYTES,
    KnownColumns,
    Limits,
    decode_in_parts,
    read_rendering,
    size_of,
)
from gateway.google.sheets import Rendering, Value
from gateway.google.translation import UNREADABLE
from gateway.google.wire import Answer
from gateway.table.steps import Work, finish

PLENTY = 10**12

TEXTS = st.text(alphabet='",\\[]{}: abé🏙\n\x07', max_size=12) | st.text(max_size=5)
CELLS = TEXTS | st.integers(-(10**15), 10**15) | st.floats(allow_nan=False, allow_infinity=False)
COLUMNS = st.lists(CELLS | st.booleans() | st.none() | st.just(""), max_size=60)


def answer_of(body: Any, *, digest: bytes = b"new") -> Answer:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Answer(status=200, headers={}, body=raw, digest=digest)


def rendering_of(*columns: Any, max_bytes: int = PLENTY) -> Rendering:
    answer = answer_of({"range": "T!A1:Z9", "values": columns})
    rendering = finish(reading(answer, max_bytes=max_bytes))
    if rendering is None:
        raise LookupError("nothing was known")
    return rendering


def reading(
    answer: Answer,
    *,
    known: bytes | None = None,
    max_bytes: int = PLENTY,
    columns: KnownColumns | None = None,
) -> Work[Rendering | None]:
    """Return the decoding of an answer; `columns` are the columns shared with other answers."""
    columns = KnownColumns() if columns is None else columns
    return read_rendering(answer, known, Limits(max_bytes, max_bytes, columns))


@given(
    cells=COLUMNS,
    part_bytes=st.integers(0, 80),
    is_ascii=st.booleans(),
    separators=st.sampled_from([(",", ":"), (" ,\n ", ":")]),
)
def test_decoding_in_parts_changes_no_cell(
    cells: list[Value], part_bytes: int, is_ascii: bool, separators: tuple[str, str]
) -> None:
    """A column that is decoded in parts has the same cells, of the same types."""
    array = json.dumps(cells, ensure_ascii=is_ascii, separators=separators).encode()

    found, _ = finish(decode_in_parts(array, part_bytes, PLENTY))

    assert [(type(cell), cell) for cell in found] == [(type(cell), cell) for cell in cells]


@pytest.mark.parametrize(
    "cells",
    [
        pytest.param([","] * 9, id="commas"),
        pytest.param(['","'] * 9, id="what-looks-like-a-cut"),
        pytest.param(["a\\", '"', '\\"'] * 4, id="ends-in-backslash-or-quote"),
        pytest.param([1, ",", 2.5, True, None, ""] * 3, id="mixed"),
    ],
)
def test_texts_that_look_like_cell_boundaries(cells: list[Value]) -> None:
    """A comma or bracket in a text is never taken for a boundary of cells."""
    array = json.dumps(cells, separators=(",", ":")).encode()

    found = {finish(decode_in_parts(array, size, PLENTY))[0] for size in range(len(array))}

    assert found == {tuple(cells)}


@pytest.mark.parametrize(
    "array",
    [b'[1,[2,3],"x",4]', b'[1,{"a":2,"b":3},4]', b'["a","b]', b"[1,2", b'{"a":1,"b":2}', b'"a,b"'],
    ids=["nested", "object-in-it", "open-text", "no-end", "object", "text"],
)
def test_an_invalid_column_is_an_error_for_any_part_size(array: bytes) -> None:
    """A JSON text that is not a list of cells is an error for every size of the parts."""
    for part_bytes in range(len(array)):
        with pytest.raises(UNREADABLE):
            finish(decode_in_parts(array, part_bytes, PLENTY))


def test_a_long_column_is_decoded_completely() -> None:
    """A column that is decoded in parts is the same as in the answer."""
    cells = [f"row {row}, with a comma" if row % 3 else row for row in range(120_000)]
    rendering = rendering_of(cells, ["b"])

    assert len(json.dumps(cells)) > WHOLE_BYTES
    assert rendering.columns == (tuple(cells), ("b",))


def test_long_columns_are_decoded_in_turns() -> None:
    """Decoding of a long column yields to the event loop after each part."""
    answer = answer_of({"range": "T!A1:A9", "values": [["text"] * 600_000]})
    turns = sum(1 for _ in reading(answer))

    assert turns >= len(answer.body) // PART_BYTES - 1


def test_blank_ends_are_left_out() -> None:
    """Blank cells at the end of a column, and blank columns at the end, are left out."""
    rendering = rendering_of([], ["a", "", None, ""], ["", 0, False], ["", ""], [])

    assert rendering.columns == ((), ("a",), ("", 0, False))


def test_a_blank_worksheet_has_no_columns() -> None:
    """An answer without `values`, which Google sends for a blank worksheet, has no columns."""
    rendering = finish(reading(answer_of({"range": "T!A1:Z9"}), known=b"old"))

    assert rendering == Rendering(range="T!A1:Z9", columns=(), digest=b"new", byte_count=0)


def test_a_known_answer_is_not_decoded() -> None:
    """An answer with the known digest gives None without being decoded."""
    assert finish(reading(answer_of(b"no JSON"), known=b"new", max_bytes=0)) is None


@pytest.mark.parametrize(
    ("columns", "max_bytes"),
    [
        pytest.param([["text"] * 50, "no column"], 1000, id="whole"),
        pytest.param([[*["text"] * 300_000, ["no cell"]]], 1000, id="in-the-first-part"),
        pytest.param([[*["text"] * 300_000, ["no cell"]]], 6_000_000, id="in-a-later-part"),
    ],
)
def test_decoding_stops_at_the_size_limit(columns: Any, max_bytes: int) -> None:
    """Data after the size limit is not decoded, so invalid data there is not found."""
    with pytest.raises(SheetTooLarge, match=r"cache\.max_worksheet_bytes"):
        rendering_of(*columns, max_bytes=max_bytes)


def test_the_size_limit_is_for_all_columns_together() -> None:
    """SheetTooLarge is raised if the columns together take more bytes than the limit."""
    columns = [[f"text {row}" for row in range(10)]] * 10
    byte_count = rendering_of(*columns).byte_count

    assert rendering_of(*columns, max_bytes=byte_count).columns == tuple(map(tuple, columns))
    with pytest.raises(SheetTooLarge):
        rendering_of(*columns, max_bytes=byte_count - 1)


@pytest.mark.parametrize("column", [b"[]", b'[""]', b'["",""]'], ids=["none", "one", "two"])
def test_more_columns_than_a_sheet_can_have_take_no_memory(column: bytes) -> None:
    """An answer with a million columns is rejected with less memory than its body takes."""
    columns = b",".join([column] * 1_000_000)
    answer = answer_of(b'{"range":"T!A1","values":[%b]}' % columns)
    with pytest.raises(UNREADABLE):
        finish(reading(answer))  # the first call builds the decoder of wide answers
    tracemalloc.start()
    try:
        with pytest.raises(UNREADABLE, match="at most length 18278"):
            finish(reading(answer))
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak_bytes < len(answer.body)


def test_the_widest_sheet_is_read() -> None:
    """An answer with `MAX_COLUMNS` columns is decoded; one more column is an error."""
    columns = [[f"[{column}]"] for column in range(MAX_COLUMNS)]

    assert rendering_of(*columns).columns == tuple(map(tuple, columns))
    with pytest.raises(UNREADABLE):
        rendering_of(*columns, ["one too many"])


def test_brackets_in_texts_are_no_columns() -> None:
    """Brackets in texts do not change where a column ends."""
    columns = [['[[",[]'] * 9000, [], ["[", "]"], [""], []]

    assert rendering_of(*columns).columns == (tuple(columns[0]), (), ("[", "]"))


@pytest.mark.parametrize("column", [["x"] * 50, ["x", ["y"]]], ids=["too-large", "unreadable"])
def test_an_error_does_not_keep_the_answer(column: list[Any]) -> None:
    """The traceback of a decoding error does not keep the answer in memory."""
    with pytest.raises((SheetTooLarge, *UNREADABLE)) as caught:
        finish(reading(answer_of({"range": "T!A1", "values": [column]}), max_bytes=100))

    frames = [entry.frame for entry in caught.traceback]
    assert frames[-1].code.name == "read_rendering"
    assert "answer" not in frames[-1].f_locals


@pytest.mark.parametrize(
    "cells",
    [
        pytest.param([], id="none"),
        pytest.param([""] * 50_000, id="blank"),
        pytest.param(["", "some text"] * 25_000, id="every-second-blank"),
        pytest.param(([""] * 9 + ["some text"]) * 5000, id="every-tenth-filled"),
        pytest.param([f"text {row}" for row in range(999)], id="few"),
        pytest.param([row * 1.5 for row in range(50_000)], id="numbers"),
        pytest.param([f"köln 🏙 {row}" for row in range(50_000)], id="emoji"),
    ],
)
def test_the_estimated_size_in_memory(cells: list[Value]) -> None:
    """The size estimated from a sample of cells is within 5 % of the exact size."""
    exact = sum(8 + (sys.getsizeof(cell) + 8 if cell else 0) for cell in cells)

    assert size_of(cells) == pytest.approx(exact, rel=0.05)


LONG = ["text"] * SHARED_BYTES


def test_equal_columns_are_decoded_once() -> None:
    """Equal long columns of two answers are one object while any answer is in memory."""
    columns = KnownColumns()
    first = finish(reading(answer_of({"range": "T!A1", "values": [LONG, LONG]}), columns=columns))
    second = finish(reading(answer_of({"range": "T!A1", "values": [[1], LONG]}), columns=columns))

    assert first is not None
    assert second is not None
    assert first.columns == (tuple(LONG),) * 2
    assert first.columns[0] is first.columns[1] is second.columns[1]
    assert second.columns[0] == (1,)
    del first, second
    assert not columns


def test_a_shared_column_has_no_limit_of_another_answer() -> None:
    """A column shared with an answer that is too large does not fail in a smaller answer."""
    column = [f"text of a cell {row}" for row in range(100_000)]
    others = ["x" * 50 + str(row) for row in range(50_000)]
    alone = rendering_of(column).byte_count
    columns, max_bytes = KnownColumns(), alone + 1_000
    large = reading(
        answer_of({"range": "T!A1", "values": [others, column]}),
        max_bytes=max_bytes,
        columns=columns,
    )
    small = reading(
        answer_of({"range": "T!A1", "values": [column]}), max_bytes=max_bytes, columns=columns
    )
    while len(columns) < 2:  # until the large answer has begun the column
        next(large)
    for _ in range(3):
        next(large)
    found = finish(small)

    assert found is not None
    assert found.byte_count == alone
    with pytest.raises(SheetTooLarge):
        finish(large)


@pytest.mark.parametrize("cells", [300, 300_000], ids=["whole", "in-parts"])
def test_answers_that_are_decoded_in_turns_share_columns(cells: int) -> None:
    """A column that one answer is decoding is continued by another answer, not decoded twice."""
    columns = KnownColumns()
    body = {"range": "T!A1", "values": [[f"text of a cell {row}" for row in range(cells)], ["b"]]}
    readings = [reading(answer_of(body), columns=columns) for _ in range(2)]
    found: list[Rendering | None] = []
    while len(found) < 2:
        for each in readings:
            try:
                next(each)
            except StopIteration as done:
                if done.value is not None:
                    found.append(done.value)

    one, other = found
    assert one is not None
    assert other is not None
    assert one.columns == other.columns == (tuple(body["values"][0]), ("b",))
    assert one.columns[0] is other.columns[0]


def test_a_cancelled_decoding_is_continued() -> None:
    """A column is decoded to its end by the next answer if the first decoding was cancelled."""
    columns = KnownColumns()
    answer = answer_of({"range": "T!A1", "values": [["text of a cell"] * 300_000]})
    left = reading(answer, columns=columns)
    for _ in range(20):
        next(left)
    left.close()
    rendering = finish(reading(answer, columns=columns))

    assert rendering is not None
    assert rendering.columns == (("text of a cell",) * 300_000,)


@pytest.mark.parametrize("cell", [["no cell"], "x" * 1000], ids=["unreadable", "too-large"])
def test_columns_that_fail_are_not_shared(cell: Any) -> None:
    """A column that cannot be decoded raises an error in each answer."""
    columns = KnownColumns()
    answer = answer_of({"range": "T!A1", "values": [[*LONG, cell]]})
    for _ in range(2):
        with pytest.raises((SheetTooLarge, *UNREADABLE)):
            finish(reading(answer, columns=columns, max_bytes=SHARED_BYTES))


@pytest.mark.parametrize("end", [[], ["", None]], ids=["filled", "blank"])
def test_shared_columns_have_no_blank_end(end: list[Value]) -> None:
    """Blank cells at the end of a long, shared column are left out."""
    assert rendering_of([*LONG, *end]).columns == (tuple(LONG),)
