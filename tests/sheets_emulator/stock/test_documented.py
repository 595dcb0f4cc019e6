"""The documented way to point gspread at the emulator."""

from pathlib import Path
from typing import Any

from tests.sheets_emulator.stock.served import Served

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "emulator.md"


def example(served: Served) -> str:
    """The Python block of the page, with the address and the key file of a served emulator."""
    block = PAGE.read_text("utf-8").partition("```python\n")[2].partition("```")[0]
    replaced = {"http://127.0.0.1:9099": served.url, "key.json": str(served.credentials_file)}
    for written, meant in replaced.items():
        assert block.count(f'"{written}"') == 1
        block = block.replace(written, meant)
    return block


def test_the_documented_lines_work_as_they_are(served: Served) -> None:
    """gspread, set up by them, makes a spreadsheet, appends a row and reads it back."""
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
