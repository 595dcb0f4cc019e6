"""The table of typed values matches what the gateway stores and answers."""

import json
import re
from collections.abc import Iterator, Mapping

import httpx2
import pytest

from gateway.commands.demo import Demo, running_demo
from gateway.commands.options import DEMO_SPREADSHEET
from gateway.server.sockets import bind
from sheets_emulator.state.seed import read_spreadsheet
from tests.docs.blocks import TOP

PAGE = (TOP / "docs" / "how-to" / "typed-values.md").read_text("utf-8")
ROWS = re.findall(
    r"^\| ([a-z ]+) \| `(.+?)` \| (?:`(.*)` )?\| (.+?) \| `(.+)` \|$", PAGE, re.MULTILINE
)
SHEET = """\
number,price,percentage,date,date with time,time,duration,checkbox,text,error
7,$4.50,50%,2026-01-05,2026-01-05 9:00:00,9:00:00,25:00:00,FALSE,abc,=1/0
"""
KINDS = {
    "a text": str,
    "a number": int | float,
    "a date": int,
    "a date with a time": float | int,
    "a time": float,
    "a duration": float,
    "a boolean": bool,
    "nothing": type(None),
    "the formula, as before": str,
}
"""Types of values that the emulator stores; dates and times are numbers."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """Run the demo with a column of each kind. Each test changes one cell."""
    folder = tmp_path_factory.mktemp("kinds")
    (folder / "Kinds.csv").write_text(SHEET)
    seed = read_spreadsheet(folder, DEMO_SPREADSHEET)
    fresh = {"GATEWAY_CACHE__ROWS_TTL_SECONDS": "0"}
    with running_demo(bind("127.0.0.1", 0), fresh, seed) as running:
        yield running


@pytest.fixture(autouse=True)
def _seeded(demo: Demo) -> None:
    httpx2.post(f"{demo.emulator_url}/_emulator/reset").raise_for_status()


def read(demo: Demo, values: str) -> Mapping[str, object]:
    """Return the current row, displayed or typed."""
    url = f"{demo.url}/v2/sheets/Kinds/2?values={values}"
    found: Mapping[str, object] = httpx2.get(url, headers={"API-Key": demo.full_key}).json()
    return found


def write(demo: Demo, fields: Mapping[str, object]) -> httpx2.Response:
    url = f"{demo.url}/v2/sheets/Kinds/2?values=typed"
    return httpx2.patch(url, headers={"API-Key": demo.full_key}, json=fields)


def test_the_table_has_every_kind() -> None:
    """The table has a line for each kind of column."""
    assert len(ROWS) == PAGE.count("\n| ") - 1
    assert {row[0] for row in ROWS} == set(SHEET.splitlines()[0].split(","))


@pytest.mark.parametrize(("column", "sent", "displayed", "held", "got"), ROWS)
def test_a_line_is_correct(
    demo: Demo, column: str, sent: str, displayed: str, held: str, got: str
) -> None:
    """A value is stored, displayed and answered as its line in the table says."""
    written = write(demo, {column: json.loads(sent)})
    texts, typed = read(demo, "displayed"), read(demo, "typed")
    cells = httpx2.get(f"{demo.emulator_url}/_emulator/spreadsheets/{DEMO_SPREADSHEET}").json()
    at = SHEET.splitlines()[0].split(",").index(column)
    cell = next(iter(cells["Kinds"][1][at:]), {"value": None, "formula": None})
    answers = [written.json()[column], typed[column]]

    assert written.is_success, written.text
    assert [json.dumps(each) for each in answers] == [got, got]
    assert texts[column] == (displayed or None)
    assert isinstance(cell["value"], KINDS[held])
    assert bool(cell["formula"]) == (held == "the formula, as before")


def test_a_date_with_an_offset_is_rejected(demo: Demo) -> None:
    """A time with an offset gets 400, and the message has the accepted notation."""
    refused = write(demo, {"date with time": "2026-02-01T23:30:00Z"})

    assert (refused.status_code, refused.json()["code"]) == (400, 104)
    assert "in the form 2026-02-01T23:30:00." in refused.json()["message"]
