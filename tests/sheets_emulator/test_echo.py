"""The range in an answer, for any title, any order of corners, and any size of the grid."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sheets_emulator.app import EmulatorOptions
from tests.sheets_emulator.bench import Bench, build_bench, message, write_seed
from tests.sheets_emulator.requests_of import properties_of

MOST_ROWS, MOST_COLUMNS = 30, 60
TITLES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8),
    st.from_regex(r"[A-Za-z]{1,4}[0-9]{1,3}", fullmatch=True),
    st.sampled_from(["'", "''", "a!b", "'!A1", "A1:B2", "R1C1", "A/B:append", "%41", "It's", "+"]),
)
PLACES = st.tuples(
    st.none() | st.integers(1, MOST_ROWS + 5), st.none() | st.integers(1, MOST_COLUMNS + 5)
)


@dataclass(frozen=True, kw_only=True)
class Range:
    """Two corners, each (row, column) from 1. None is an open end."""

    first: tuple[int | None, int | None]
    last: tuple[int | None, int | None]

    @property
    def text(self) -> str:
        return f"{_cell(self.first)}:{_cell(self.last)}"

    def echoed(self, rows: int, columns: int) -> str | None:
        """The range in the answer for a grid of this size, or None if the start is outside."""
        top, bottom = _extent(self.first[0], self.last[0], rows)
        left, right = _extent(self.first[1], self.last[1], columns)
        if top > rows or left > columns:
            return None
        first, last = _cell((top, left)), _cell((min(bottom, rows), min(right, columns)))
        return first if first == last else f"{first}:{last}"


def _extent(first: int | None, last: int | None, size: int) -> tuple[int, int]:
    if first is not None and last is not None:
        return min(first, last), max(first, last)
    return first or last or 1, size


def _cell(place: tuple[int | None, int | None]) -> str:
    row, column = place
    return f"{_letters(column) if column else ''}{row or ''}"


def _letters(column: int) -> str:
    """The letters of a column; 1 is A and 27 is AA."""
    quotient, rest = divmod(column - 1, 26)
    return (_letters(quotient) if quotient else "") + chr(ord("A") + rest)


def _is_range(found: Range) -> bool:
    """True if both corners name a row, a column or both, and together make a range."""
    corners = found.first, found.last
    is_named = all(any(corner) for corner in corners)
    return is_named and (any(map(all, corners)) or _form(corners[0]) == _form(corners[1]))


def _form(corner: tuple[int | None, int | None]) -> tuple[bool, bool]:
    return corner[0] is None, corner[1] is None


RANGES = st.builds(Range, first=PLACES, last=PLACES).filter(_is_range)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """An emulator with one worksheet. Each example sets the title and the size."""
    folder: Path = tmp_path_factory.mktemp("echo")
    seed = write_seed(folder / "seed", {"book/Data.csv": "x\n"})
    built = build_bench(folder, EmulatorOptions(seed=seed))
    with built.client:
        yield built


def resized(bench: Bench, rows: int, columns: int) -> None:
    """Set the size of the worksheet."""
    grid = {"rowCount": rows, "columnCount": columns}
    bench.edit(properties_of("gridProperties", sheetId=0, gridProperties=grid))


def titled(bench: Bench, title: str) -> None:
    """Set the title of the worksheet, and skip the example if the title is not allowed."""
    assume(bench.edit(properties_of("title", sheetId=0, title=title)).status_code == 200)


def quoted(title: str) -> str:
    doubled = title.replace("'", "''")
    return f"'{doubled}'"


def unquoted(text: str) -> tuple[str, str]:
    """The title without quotes, and the cells, of a range in an answer."""
    title, _, cells = text.rpartition("!")
    is_quoted = title.startswith("'")
    return (title[1:-1].replace("''", "'") if is_quoted else title), cells


@settings(max_examples=120)
@given(
    asked=RANGES,
    rows=st.integers(1, MOST_ROWS),
    columns=st.integers(1, MOST_COLUMNS),
)
def test_range_is_sorted_and_limited_to_the_grid(
    bench: Bench, asked: Range, rows: int, columns: int
) -> None:
    """The range has sorted corners within the grid. A start outside the grid gets 400."""
    bench.edit(properties_of("title", sheetId=0, title="Data"))
    resized(bench, rows, columns)
    answer = bench.call("GET", f"/v4/spreadsheets/book/values/Data!{asked.text}")
    expected = asked.echoed(rows, columns)

    if expected is None:
        assert answer.status_code == 400
        size = f"Max rows: {rows}, max columns: {columns}"
        assert message(answer).endswith(f"exceeds grid limits. {size}")
    else:
        assert answer.json()["range"] == f"Data!{expected}"


@settings(max_examples=60)
@given(asked=RANGES, marks=st.lists(st.booleans(), min_size=4, max_size=4))
def test_dollar_signs_and_case_change_nothing(
    bench: Bench, asked: Range, marks: list[bool]
) -> None:
    """`$` signs and lower-case letters in a range do not change the answer."""
    bench.edit(properties_of("title", sheetId=0, title="Data"))
    resized(bench, MOST_ROWS, MOST_COLUMNS)
    plain = bench.values(f"Data!{asked.text}")
    rows_and_columns = (*asked.first[::-1], *asked.last[::-1])
    parts = [
        _cell((None, part) if number % 2 == 0 else (part, None)).lower()
        for number, part in enumerate(rows_and_columns)
    ]
    signs = ["$" if mark and part else "" for mark, part in zip(marks, parts, strict=True)]
    first, row, last, last_row = map(str.__add__, signs, parts)
    marked = bench.values(f"data!{first}{row}:{last}{last_row}")

    assert marked == plain


@settings(max_examples=120)
@given(title=TITLES)
def test_range_in_an_answer_can_be_read_again(bench: Bench, title: str) -> None:
    """The range in an answer can be read again, and gives the same range, for every title."""
    titled(bench, title)
    resized(bench, 3, 2)
    echo: Any = bench.values(quoted(title))["range"]
    again = bench.values(echo)["range"]
    cell = bench.values(f"{quoted(title)}!B2")["range"]

    assert unquoted(echo) == (title, "A1:B3")
    assert again == echo
    assert unquoted(cell) == (title, "B2")


@settings(max_examples=60)
@given(title=TITLES)
def test_writes_answer_the_same_worksheet_name(bench: Bench, title: str) -> None:
    """Update, append and clear answer the same text for the worksheet."""
    titled(bench, title)
    resized(bench, 3, 2)
    whole = quoted(title)
    updated = bench.update(f"{whole}!A1", [["x"]]).json()["updatedRange"]
    appended = bench.append(whole, [["y"]]).json()
    path = f"/v4/spreadsheets/book/values/{quote_path(whole)}:clear"
    cleared = bench.call("POST", path, {}).json()["clearedRange"]
    prefix = updated.removesuffix("A1")

    assert unquoted(updated) == (title, "A1")
    assert appended["tableRange"] == updated
    assert appended["updates"]["updatedRange"] == f"{prefix}A2"
    assert cleared == f"{prefix}A1:B3"


def quote_path(text: str) -> str:
    """A range with each byte percent-encoded, for a path."""
    return "".join(f"%{byte:02X}" for byte in text.encode())
