"""What `check --write` finds, and that it leaves nothing."""

import pytest

from gateway.commands.doctor.reasons import CheckContext
from gateway.commands.doctor.spreadsheet import check_writing
from gateway.errors import SpreadsheetNotShared
from tests.fakes import BOOK, FakeSheets
from tests.worksheets.scripted_sheets import Cost, ScriptedSheets

CONTEXT = CheckContext(account="a@example.org", project=None, key_file=None, endpoint="https://x")
LINES = [["name"], ["Boston"]]


@pytest.mark.parametrize(("repeatable_ids", "level"), [(False, "ok"), (True, "warning")])
async def test_used_ids_are_tried(repeatable_ids: bool, level: str) -> None:
    fake = FakeSheets(repeatable_ids=repeatable_ids)
    cities = fake.add("Cities", LINES)
    sheets = ScriptedSheets(fake)

    (finding,) = await check_writing(sheets, BOOK, CONTEXT)

    assert finding.level == level
    assert (fake.fences, cities.lines()) == ([], LINES)
    assert sheets.cost() == Cost(0, 3)


async def test_full_metadata_proves_nothing() -> None:
    """A refusal for lack of room is not taken for one of a used id."""
    fake = FakeSheets(repeatable_ids=True)
    sheets = ScriptedSheets(fake)
    sheets.before("put_fence", lambda: setattr(fake, "metadata_room", 48), nth=2)

    (finding,) = await check_writing(sheets, BOOK, CONTEXT)

    assert finding.level == "warning"
    assert fake.fences == []


async def test_a_viewer_is_told() -> None:
    fake = FakeSheets()
    fake.add("Cities", LINES)
    sheets = ScriptedSheets(fake)
    sheets.before("put_fence", SpreadsheetNotShared("Share it."))

    (finding,) = await check_writing(sheets, BOOK, CONTEXT)
    assert finding.level == "problem"
    assert "cannot be written to" in finding.text
