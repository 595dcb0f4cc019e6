"""Pages of all rows with `where` and `order`, as the how-to explains, on columns of every kind."""

import json
from collections.abc import Iterator, Mapping, Sequence

import httpx2
import pytest

from gateway.commands.demo import Demo, running_demo
from gateway.commands.options import DEMO_SPREADSHEET
from gateway.server.sockets import bind
from sheets_emulator.state.seed import read_spreadsheet

COLUMNS: Mapping[str, Sequence[str]] = {
    "names": ("adam", "Bob", "carl", "Dora", "eve", "Émile", "Zoe", "ähm"),
    "numbers": ("10", "9", "-3", "2.5", "1000000", "0"),
    "prices": ("$5.00", '"$1,250.50"', "$0.50", "$12.00", "$7.25"),
    "percentages": ("5%", "50%", "12%", "100%", "7%"),
    "days": ("2026-01-05", "2025-12-31", "2026-11-02", "2026-02-10"),
    "american days": ("1/5/2026", "12/31/2025", "11/2/2026", "2/10/2026"),
    "moments": ("2026-01-05 9:00:00", "2026-01-05 14:30:00", "2025-01-05 23:00:00"),
    "times": ("9:00:00", "14:05:00", "23:59:59", "0:30:00", "12:00:00"),
    "American times": ("9:00 AM", "2:05 PM", "11:59 PM", "12:30 AM"),
    "durations": ("25:00:00", "100:30:00", "30:15:00"),
    "booleans": ("TRUE", "FALSE"),
    "codes": ("A-10", "a-9", "B-1", "a 9", "A_10"),
}
"""Cells of one kind with different displays, by worksheet."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """Run the demo with a worksheet for each kind of column."""
    folder = tmp_path_factory.mktemp("columns")
    for name, cells in COLUMNS.items():
        (folder / f"{name}.csv").write_text("\n".join(["x", *cells, ""]), "utf-8")
    seed = read_spreadsheet(folder, DEMO_SPREADSHEET)
    unlimited = {"GATEWAY_PLANS__PAID__REQUESTS_PER_MINUTE": "100000"}
    with running_demo(bind("127.0.0.1", 0), unlimited, seed) as running:
        yield running


def pages(demo: Demo, name: str, options: Mapping[str, str]) -> Iterator[Sequence[int]]:
    """Yield the row numbers of each page, at most 20 pages."""
    where: Mapping[str, str] = {}
    for _ in range(20):
        page = httpx2.get(
            f"{demo.url}/v2/sheets/{name}",
            params={"order": "x", **options, **where},
            headers={"API-Key": demo.full_key},
        ).json()
        yield [row["rowIndex"] for row in page["results"]]
        if not page["hasNextPage"]:
            break
        where = {"where": json.dumps({"x": {"$gt": page["results"][-1]["x"]}})}


@pytest.mark.parametrize("values", ["displayed", "typed"])
@pytest.mark.parametrize("limit", ["1", "2", "3"])
@pytest.mark.parametrize("name", COLUMNS)
def test_each_row_comes_once(demo: Demo, name: str, limit: str, values: str) -> None:
    """Pages by `order` and `$gt` give each row once, in order, for any display of the cells."""
    whole = next(pages(demo, name, {"limit": "100", "values": values}))
    found = [row for page in pages(demo, name, {"limit": limit, "values": values}) for row in page]

    assert sorted(whole) == list(range(2, 2 + len(COLUMNS[name])))
    assert found == whole
