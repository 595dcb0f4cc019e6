"""Tests of the raw calls with which the contract suite creates its worksheets."""

import httpx2

from tests.contract.place import PROTECTED, Place
from tests.contract.spreadsheet import open_spreadsheet


async def test_raw_calls_wait_for_quota(emulator: Place) -> None:
    """A raw call without quota is repeated after a minute."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    faults = [{"call": "spreadsheets.batchUpdate", "status": 429}]
    httpx2.post(f"{emulator.endpoint}/_emulator/faults", json=faults).raise_for_status()
    async with open_spreadsheet(emulator, sleep=sleep) as spreadsheet:
        sheet_id = await spreadsheet.add_worksheet("Quota", rows=2, columns=2)
        await spreadsheet.delete_worksheets([sheet_id])

    assert slept == [60]


async def test_a_worksheet_is_made_filled_and_deleted(emulator: Place) -> None:
    """Raw values stay texts, USER_ENTERED values are parsed, and the worksheet can be deleted."""
    async with open_spreadsheet(emulator) as spreadsheet:
        sheet_id = await spreadsheet.add_worksheet("Made", rows=3, columns=2)
        await spreadsheet.update("'Made'!A1", [["007", None]])
        await spreadsheet.update("'Made'!A1", [[None, "007"]], option="USER_ENTERED")
        updates = await spreadsheet.append("'Made'!A1", [[1]], insertion="OVERWRITE")
        entered = await spreadsheet.formulas("'Made'!A1:B3")
        sheets = spreadsheet.sheets()
        [made] = [
            each
            for each in await sheets.list_worksheets(spreadsheet.id)
            if each.sheet_id == sheet_id
        ]
        await spreadsheet.delete_worksheets([sheet_id])
        left = await sheets.list_worksheets(spreadsheet.id)

    assert entered == [["007", 7], [1]]
    assert updates["updatedRange"] == "Made!A2"
    assert (made.title, made.rows, made.columns) == ("Made", 3, 2)
    assert [each.title for each in left] == ["Start", PROTECTED]
