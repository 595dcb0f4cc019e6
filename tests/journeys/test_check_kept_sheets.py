"""Findings of `check` about typical worksheets of people: titles, checkboxes, totals, tables."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from tests.journeys.conftest import EmulatorControl, running_emulator
from tests.journeys.report import Checkup, Report
from tests.kept_sheets import BUDGET, ORDERS, STOCK, TASKS, KeptSheet, Request, write_kept_sheets

LAST = 60
"""Last row to which columns are filled down."""


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorControl]:
    folder = tmp_path_factory.mktemp("kept")
    write_kept_sheets(folder / "seed", "demo", filled_rows=LAST)
    with running_emulator(folder, {}) as running:
        yield running


@pytest.fixture
def checkup(emulator: EmulatorControl, tmp_path: Path) -> Checkup:
    emulator.reset()
    return Checkup(folder=tmp_path, emulator=emulator)


def of_worksheet(report: Report, title: str) -> Sequence[str]:
    """Level and text of the findings about a worksheet."""
    place = f'worksheet "{title}": '
    return [line.replace(place, "") for line in report.lines if place in line]


def setting(title: str, line: str) -> str:
    return (
        f'add to the configuration [[worksheets]] with the lines spreadsheet = "demo", '
        f'title = "{title}", {line}'
    )


WHO = "gateway@emulator.iam.gserviceaccount.com"
RECORD_FIELD = 'record_field = "order"'
PROTECTED = (
    "note     the range 1:3 is protected. This is fine: the gateway writes only below the header"
)
FINDINGS: Mapping[str, Sequence[str]] = {
    "Tasks": [
        "ok       1 field",
        'warning  row 1 has one cell, "Team tasks", and row 3 has 7. If row 1 is a title, delete '
        f"the rows above the field names, or {setting('Tasks', 'header_row = 3')}; else write "
        "names into row 1",
        "note     no records in rows 7 to 60: only FALSE and blanks",
        PROTECTED,
    ],
    "Orders": [
        "ok       5 fields",
        "warning  rows 4 to 60 have values only in columns B and E, which are filled down, and "
        f"count as records. To leave them out, {setting('Orders', RECORD_FIELD)}",
    ],
    "Guests": ["ok       2 fields"],
    "Budget": [
        "ok       2 fields",
        "warning  rows 6 to 7 below the data count as records. If this is a total or a note, move "
        "it above the header or to another worksheet",
    ],
    "Stock": [
        "ok       1 field",
        'warning  row 1 has one cell, "Stock list", and row 3 has 4. If row 1 is a title, delete '
        f"the rows above the field names, or {setting('Stock', 'header_row = 3')}; else write "
        "names into row 1",
        'note     native table "Stock", A3:D6: new rows go into it',
        "warning  row 6 has the totals of the native table, and counts as a record. Move totals "
        "above the header or to another worksheet",
        "warning  row 8 below the data counts as a record. If this is a total or a note, move it "
        "above the header or to another worksheet",
    ],
}


@pytest.fixture(scope="module")
def report(emulator: EmulatorControl, tmp_path_factory: pytest.TempPathFactory) -> Report:
    emulator.reset()
    checkup = Checkup(folder=tmp_path_factory.mktemp("check"), emulator=emulator)
    found = checkup.run("--spreadsheet", "demo")

    assert emulator.calls() == (5, 0)
    return found


@pytest.mark.parametrize("title", FINDINGS)
def test_a_worksheet_is_described(report: Report, title: str) -> None:
    """`check` reports what surrounds the records of a worksheet and proposes the settings."""
    assert of_worksheet(report, title) == FINDINGS[title]


def range_of(sheet: KeptSheet, *bounds: int) -> Request:
    names = ("startRowIndex", "endRowIndex", "startColumnIndex", "endColumnIndex")
    return {"sheetId": sheet.sheet_id, **dict(zip(names, bounds, strict=False))}


def protected(sheet: KeptSheet, *bounds: int, **more: object) -> Request:
    return {"addProtectedRange": {"protectedRange": {"range": range_of(sheet, *bounds), **more}}}


def entered(sheet: KeptSheet, row: int, *cells: Request) -> Request:
    """Request that writes cells into a row, from column A on; `row` counts from 1."""
    start = {"sheetId": sheet.sheet_id, "rowIndex": row - 1, "columnIndex": 0}
    rows = [{"values": [{"userEnteredValue": each} for each in cells]}]
    return {"updateCells": {"start": start, "rows": rows, "fields": "userEnteredValue"}}


def frozen(sheet: KeptSheet, rows: int) -> Request:
    properties = {"sheetId": sheet.sheet_id, "gridProperties": {"frozenRowCount": rows}}
    fields = "gridProperties.frozenRowCount"
    return {"updateSheetProperties": {"properties": properties, "fields": fields}}


TEXT: Request = {"stringValue": "x"}
EDITS = [
    pytest.param(
        BUDGET,
        [protected(BUDGET, 1, 4, 1, 2)],
        f"warning  the range B2:B4 is protected, so Google refuses writes there. Let {WHO} edit it",
        id="protected cells",
    ),
    pytest.param(
        BUDGET,
        [protected(BUDGET, unprotectedRanges=[range_of(BUDGET, 1, 9)])],
        "warning  the range A:ZZZ (with exceptions) is protected",
        id="protected worksheet",
    ),
    pytest.param(
        TASKS,
        [entered(TASKS, 1, TEXT, TEXT)],
        "warning  row 1 has 2 cells, and row 3 has 7. If row 1 is a title",
        id="title of two cells above frozen rows",
    ),
    pytest.param(
        ORDERS,
        [frozen(ORDERS, 2), entered(ORDERS, 2, TEXT)],
        "warning  rows 4 to 60 have values only in",
        id="frozen record",
    ),
    pytest.param(
        TASKS,
        [entered(TASKS, LAST + 3, TEXT)],
        "warning  row 63 below the data counts as a record, and so do rows 7 to 62. If this is",
        id="note below checkboxes",
    ),
    pytest.param(
        BUDGET,
        [
            {"deleteRange": {"range": range_of(BUDGET, 4, 9), "shiftDimension": "ROWS"}},
            entered(BUDGET, 5, TEXT, {"formulaValue": "=SUM(B2:B4)"}),
        ],
        "warning  row 5 below the data counts as a record",
        id="total directly below the data",
    ),
    pytest.param(
        STOCK,
        [entered(STOCK, 1, TEXT, TEXT)],
        "warning  row 1 has 2 cells, and row 3 has 4. If row 1 is a title",
        id="title of two cells above a native table",
    ),
]


@pytest.mark.parametrize(("sheet", "edits", "words"), EDITS)
def test_edits_change_the_description(
    checkup: Checkup, sheet: KeptSheet, edits: Sequence[Request], words: str
) -> None:
    """After an edit, `check` reports the new protections, frozen rows, tables and gaps."""
    checkup.emulator.faults({"call": "*", "edit": {"requests": edits}})
    checkup.run("--spreadsheet", "demo")
    report = checkup.run("--spreadsheet", "demo")

    assert any(each.startswith(words) for each in of_worksheet(report, sheet.title))


def test_a_large_worksheet_is_described_by_its_first_rows(checkup: Checkup) -> None:
    """In a very large worksheet, `check` does not read all rows, and a note says so."""
    rows = {"sheetId": BUDGET.sheet_id, "dimension": "ROWS", "length": 50_000}
    checkup.emulator.faults({"call": "*", "edit": {"requests": [{"appendDimension": rows}]}})
    checkup.run("--spreadsheet", "demo")
    report = checkup.run("--spreadsheet", "demo")

    assert of_worksheet(report, "Budget")[1:] == [
        "note     its rows are not checked, because it has too many cells"
    ]


SETTINGS = [
    pytest.param(
        TASKS,
        "header_row = 3",
        [
            "ok       7 fields",
            "note     no records in rows 7 to 60: only FALSE and blanks",
            PROTECTED,
        ],
        id="header row",
    ),
    pytest.param(
        ORDERS,
        RECORD_FIELD,
        ["ok       5 fields", 'note     no records in rows 4 to 60: no value in "order"'],
        id="record field",
    ),
    pytest.param(
        BUDGET,
        'record_field = "amount"',
        [
            "ok       2 fields",
            "warning  row 6 below the data counts as a record. If this is a total or a note, move "
            "it above the header or to another worksheet",
            'note     no records in row 7: no value in "amount"',
        ],
        id="record field and notes",
    ),
    pytest.param(
        TASKS,
        'header_row = 3\nrecord_field = "label"',
        [
            "ok       7 fields",
            "warning  column F, the record_field, has formulas: each new row needs a value that "
            "takes the place of its formula. Choose a field without formulas",
            'note     no records in rows 7 to 60: no value in "label"',
            PROTECTED,
        ],
        id="computed record field",
    ),
    pytest.param(
        ORDERS,
        'record_field = "number"',
        [
            'problem  no field "number", its record_field, so the worksheet is not served. Write '
            "it into row 1, or correct record_field",
            "warning  rows 4 to 60 have values only in columns B and E, which are filled down, "
            "and count as records. To leave them out, write into its table [[worksheets]] "
            f"{RECORD_FIELD}",
        ],
        id="missing record field",
    ),
    pytest.param(
        TASKS,
        "header_row = 3\nfilled_down = false",
        [
            "ok       7 fields",
            PROTECTED,
        ],
        id="all rows are records",
    ),
    pytest.param(
        BUDGET,
        "header_row = 1000",
        [
            "warning  row 1000 is blank, so the worksheet is not served. Write column names into "
            "row 1000"
        ],
        id="header below everything",
    ),
]


@pytest.mark.parametrize(("sheet", "line", "findings"), SETTINGS)
def test_settings_change_the_description(
    checkup: Checkup, sheet: KeptSheet, line: str, findings: Sequence[str]
) -> None:
    """`check` does not propose settings that exist, and counts records as the gateway
    serves them.
    """
    table = f'[[worksheets]]\nspreadsheet = "demo"\ntitle = "{sheet.title}"\n{line}\n'
    report = checkup.run("--spreadsheet", "demo", tables=table)

    assert of_worksheet(report, sheet.title) == findings
