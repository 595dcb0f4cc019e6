"""Tests of forty simultaneous appends by unmodified gspread."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

from gspread.utils import InsertDataOption, a1_range_to_grid_range

from sheets_emulator.app import EmulatorOptions
from tests.sheets_emulator.stock.served import serving, stock_gspread

APPENDS = 40
LATENCY_MS = 100
WAIT_LIMIT_SECONDS = 30

Rows = dict[str, int]
"""Row index that each append's answer gives, from zero, by the appended text."""


def appended(
    folder: Path, option: InsertDataOption, *, racing_inserts: bool = False
) -> tuple[Rows, list[str]]:
    """Append forty rows at once.

    Returns the row index that each answer gives, and the texts in the first column below the
    header.
    """
    options = EmulatorOptions(latency_ms=LATENCY_MS, racing_inserts=racing_inserts)
    with serving(folder, options) as served, stock_gspread(served) as client:
        sheet = client.create("Race").sheet1
        sheet.update_acell("A1", "head")
        told = all_at_once(lambda text: sheet.append_row([text], insert_data_option=option))
        found = [str(value) for value in sheet.col_values(1)[1:]]
        return {text: _row(answer) for text, answer in told.items()}, found


def all_at_once(append: Callable[[str], Any]) -> dict[str, Any]:
    """Return the answers of forty simultaneous calls, by the text that each call appends."""
    start = Barrier(APPENDS)

    def run(text: str) -> Any:
        start.wait(WAIT_LIMIT_SECONDS)
        return append(text)

    texts = [f"row {number}" for number in range(APPENDS)]
    with ThreadPoolExecutor(APPENDS) as pool:
        return dict(zip(texts, pool.map(run, texts), strict=True))


def _row(answer: Any) -> int:
    cells = answer["updates"]["updatedRange"].rpartition("!")[2]
    return int(a1_range_to_grid_range(cells)["startRowIndex"])


def test_parallel_appends_lose_rows(tmp_path: Path) -> None:
    """With OVERWRITE, the default, acknowledged rows overwrite each other (reported by users)."""
    told, found = appended(tmp_path, InsertDataOption.overwrite)
    print(f"{APPENDS - len(found)} of {APPENDS} rows are lost")

    assert len(told) == APPENDS
    assert len(found) == len(set(told.values())) < APPENDS
    assert set(found) <= set(told)


def test_parallel_inserts_lose_no_rows(tmp_path: Path) -> None:
    """With INSERT_ROWS, each row is at the position that its answer gives."""
    told, found = appended(tmp_path, InsertDataOption.insert_rows)

    assert sorted(found) == sorted(told)
    assert {text: row - 1 for text, row in told.items()} == {
        text: place for place, text in enumerate(found)
    }


def test_racing_inserts_lose_no_rows_but_report_old_positions(tmp_path: Path) -> None:
    """With `racing_inserts`, some rows are not at the position that their answer gives."""
    told, found = appended(tmp_path, InsertDataOption.insert_rows, racing_inserts=True)
    stale = [text for place, text in enumerate(found) if told[text] != place + 1]
    print(f"{len(stale)} of {APPENDS} rows are not where they were told to be")

    assert sorted(found) == sorted(told)
    assert stale != []
