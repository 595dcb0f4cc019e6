"""Tests of the documented way to connect gspread to the emulator."""

from pathlib import Path
from typing import Any

from tests.sheets_emulator.stock.served import Served

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "emulator.md"


def example(served: Served) -> str:
    """Return the Python example of the page, with the URL and key file of this emulator."""
    block = PAGE.read_text("utf-8").partition("```python\n")[2].partition("```")[0]
    replaced = {"http://127.0.0.1:9099": served.url, "key.json": str(served.credentials_file)}
    for written, meant in replaced.items():
        assert block.count(f'"{written}"') == 1
        block = block.replace(written, meant)
    return block


def test_the_documented_example_works(served: Served) -> None:
    """After the documented set-up, gspread creates a spreadsheet and appends and reads a row."""
    names: dict[str, Any] = {}
    exec(example(served), names)  # noqa: S102 - our own page
    client = names["client"]
    with client.http_client.session:
        sheet = client.create("Documented").sheet1
        sheet.append_row(["a", 1])
        values = sheet.get_all_values()
        files = client.list_spreadsheet_files("Documented")

    assert values == [["a", "1"]]
    assert [file["id"] for file in files] == [sheet.spreadsheet_id]
