"""Values that are written and read again, with all input options and render options."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sheets_emulator.app import EmulatorOptions
from tests.sheets_emulator.bench import Bench, build_bench, write_seed

OPTIONS = ("FORMATTED_VALUE", "UNFORMATTED_VALUE", "FORMULA")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
LOOKS_TYPED = st.sampled_from(
    ["007", "=1+1", "TRUE", "1e5", "2020-01-01", "50%", "$5", "'x", " ", "1,000", "#N/A", "-0"]
)
NUMBERS = st.one_of(
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
)
DIGITS = st.decimals(-999_999, 999_999, places=4, allow_nan=False, allow_infinity=False)
DATES = st.dates().filter(lambda day: day.year >= 1900)
TIMES = st.times()
DISPLAYED = st.one_of(
    st.integers(-(10**12), 10**12).map(str),
    st.integers(-(10**9), 10**9).map(lambda number: f"{number:,}"),
    DIGITS.map(str),
    DIGITS.map(lambda number: f"{number:,.2f}"),
    st.integers(-500, 500).map(lambda number: f"{number}%"),
    DIGITS.map(lambda number: f"{number:.2f}%"),
    st.integers(0, 10**6).map(lambda number: f"${number:,}"),
    DIGITS.filter(lambda number: number >= 0).map(lambda number: f"${number:.2f}"),
    st.floats(1e-8, 1e12).map(lambda number: f"{number:.2E}"),
    DATES.map(str),
    DATES.map(lambda day: f"{day.month}/{day.day}/{day.year}"),
    DATES.map(lambda day: day.strftime("%d-%b-") + str(day.year)),
    TIMES.map(lambda time: f"{time:%H:%M:%S}"),
    TIMES.map(lambda time: f"{time:%I:%M %p}"),
    st.datetimes(min_value=datetime(1900, 1, 1)).map(lambda moment: f"{moment:%Y-%m-%d %H:%M:%S}"),
    st.booleans().map(str),
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """An emulator with one worksheet. Each example writes to the first rows."""
    folder: Path = tmp_path_factory.mktemp("round_trips")
    seed = write_seed(folder / "seed", {"book/Data.csv": ",,,\n,,,\n"})
    built = build_bench(folder, EmulatorOptions(seed=seed))
    with built.client:
        yield built


def read(bench: Bench, cell: str, option: str, **parameters: str) -> Any:
    """The value of one cell with this `valueRenderOption`."""
    return bench.grid(f"Data!{cell}", valueRenderOption=option, **parameters)[0][0]


def fresh(bench: Bench) -> None:
    """Make all cells blank, without formats, by a reset to the seed."""
    bench.client.post("/_emulator/reset")


@pytest.mark.parametrize("option", OPTIONS)
@settings(max_examples=80)
@given(text=st.one_of(TEXTS, LOOKS_TYPED))
def test_raw_text_is_the_same_in_every_rendering(bench: Bench, option: str, text: str) -> None:
    """A string written with RAW is read unchanged with every `valueRenderOption`."""
    bench.update("Data!A1", [[text]])

    assert read(bench, "A1", option) == text


@settings(max_examples=80)
@given(number=NUMBERS, way=st.sampled_from(["RAW", "USER_ENTERED"]))
@example(number=-0.0, way="RAW")
def test_number_is_read_as_written(bench: Bench, number: float, way: str) -> None:
    """A JSON number written with RAW or USER_ENTERED is read as the same number."""
    fresh(bench)
    bench.update("Data!A1", [[number]], way)

    assert read(bench, "A1", "UNFORMATTED_VALUE") == number
    assert read(bench, "A1", "FORMULA") == number


@pytest.mark.parametrize("way", ["RAW", "USER_ENTERED"])
@pytest.mark.parametrize("value", [True, False], ids=str)
def test_boolean_is_read_as_written(bench: Bench, value: bool, way: str) -> None:
    """A JSON boolean is read as a boolean, and displayed as TRUE or FALSE."""
    fresh(bench)
    bench.update("Data!A1", [[value]], way)

    assert read(bench, "A1", "UNFORMATTED_VALUE") is value
    assert read(bench, "A1", "FORMULA") is value
    assert read(bench, "A1", "FORMATTED_VALUE") == str(value).upper()


@settings(max_examples=150)
@given(typed=DISPLAYED)
def test_displayed_text_can_be_typed_again(bench: Bench, typed: str) -> None:
    """Typing the displayed text of a number, date, time or amount displays the same text."""
    fresh(bench)
    bench.update("Data!A1", [[typed]], "USER_ENTERED")
    shown = read(bench, "A1", "FORMATTED_VALUE")
    bench.update("Data!B1:C1", [[shown, shown]], "USER_ENTERED")
    bench.update("Data!A1", [[shown]], "USER_ENTERED")
    kinds = {type(read(bench, cell, "UNFORMATTED_VALUE")) for cell in ("A1", "B1")}

    assert [read(bench, cell, "FORMATTED_VALUE") for cell in ("A1", "B1")] == [shown, shown]
    assert len({kind is str for kind in kinds}) == 1


@settings(max_examples=100)
@given(typed=DISPLAYED)
def test_formula_rendering_of_a_value_can_be_written_raw(bench: Bench, typed: str) -> None:
    """A value read with FORMULA and written with RAW gives the same unformatted value."""
    fresh(bench)
    bench.update("Data!A1", [[typed]], "USER_ENTERED")
    value = read(bench, "A1", "FORMULA")
    bench.update("Data!B1", [[value]])

    assert read(bench, "A1", "UNFORMATTED_VALUE") == value
    assert read(bench, "B1", "UNFORMATTED_VALUE") == value


@settings(max_examples=60)
@given(
    rows=st.lists(
        st.lists(st.one_of(st.just(""), TEXTS, st.booleans()), max_size=4), min_size=1, max_size=4
    )
)
def test_rows_are_read_without_trailing_blanks(bench: Bench, rows: list[list[Any]]) -> None:
    """Written rows and columns are read without trailing blank cells and rows."""
    fresh(bench)
    grid = {"rowCount": 4, "columnCount": 4}
    fields = {"properties": {"sheetId": 0, "gridProperties": grid}, "fields": "gridProperties"}
    bench.edit({"updateSheetProperties": fields})
    bench.update("Data!A1", rows)
    unformatted = bench.grid("Data", valueRenderOption="UNFORMATTED_VALUE")
    columns = bench.grid("Data", valueRenderOption="UNFORMATTED_VALUE", majorDimension="COLUMNS")
    bench.update("Data!A1", [[""] * 4] * 4)
    path = "/v4/spreadsheets/book/values/Data!A1?valueInputOption=RAW"
    bench.call("PUT", path, {"majorDimension": "COLUMNS", "values": columns})

    assert unformatted == trimmed([trimmed(row, "") for row in rows], [])
    assert bench.grid("Data", valueRenderOption="UNFORMATTED_VALUE") == unformatted


def trimmed(items: list[Any], blank: object) -> list[Any]:
    """The items without trailing blanks."""
    kept = list(items)
    while kept and kept[-1] == blank and not isinstance(kept[-1], bool):
        kept.pop()
    return kept
