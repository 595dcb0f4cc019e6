"""Forty stock gspread clients append at once, as users of Google do."""

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
"""Where each row was told to be, by its text; rows count from zero."""


def appended(
    folder: Path, option: InsertDataOption, *, racing_inserts: bool = False
) -> tuple[Rows, list[str]]:
    """Answers of forty appends, and the first column after all of them."""
    options = EmulatorOptions(latency_ms=LATENCY_MS, racing_inserts=racing_inserts)
    with serving(folder, options) as served, stock_gspread(served) as client:
        sheet = client.create("Race").sheet1
        sheet.update_acell("A1", "head")
        told = all_at_once(lambda text: sheet.append_row([text], insert_data_option=option))
        found = [str(value) for value in sheet.col_values(1)[1:]]
        return {text: _row(answer) for text, answer in told.items()}, found


def all_at_once(append: Callable[[str], Any]) -> dict[str, Any]:
    """The answers to forty calls that are begun at the same time, by the text of each."""
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
    """OVERWRITE, the default: rows that were answered with success are not there (reported)."""
    told, found = appended(tmp_path, InsertDataOption.overwrite)
    print(f"{APPENDS - len(found)} of {APPENDS} rows are lost")

    assert len(told) == APPENDS
    assert len(found) == len(set(told.values())) < APPENDS
    assert set(found) <= set(told)


def test_parallel_inserts_lose_none(tmp_path: Path) -> None:
    """INSERT_ROWS: every row is where its answer says."""
    told, found = appended(tmp_path, InsertDataOption.insert_rows)

    assert sorted(found) == sorted(told)
    assert {text: row - 1 for text, row in told.items()} == {
        text: place for place, text in enumerate(found)
    }


def test_racing_inserts_lose_none_but_report_old_places(tmp_path: Path) -> None:
    """With `racing_inserts` all rows are there, but not all where their answers say."""
    told, found = appended(tmp_path, InsertDataOption.insert_rows, racing_inserts=True)
    stale = [text for place, text in enumerate(found) if told[text] != place + 1]
    print(f"{len(stale)} of {APPENDS} rows are not where they were told to be")

    assert sorted(found) == sorted(told)
    assert stale != []
