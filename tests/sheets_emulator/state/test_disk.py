"""The SQLite file of an emulator, which has its spreadsheets."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sheets_emulator.grid.cell import Cell, number_format
from sheets_emulator.grid.sheet import Row, Sheet
from sheets_emulator.grid.workbook import Workbook, new_sheet
from sheets_emulator.state.disk import Disk, DiskError, open_disk
from tests.sheets_emulator.drawn import workbooks

EXAMPLES = settings(max_examples=60)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """A new, empty file, which is open."""
    opened = open_disk(tmp_path / "book.db")
    yield opened
    opened.close()


def book(*rows: Row) -> Workbook:
    """A spreadsheet with one worksheet that has these rows."""
    return Workbook(
        spreadsheet_id="book", title="Book", sheets=[replace(new_sheet(), rows=list(rows))]
    )


def reopened(disk: Disk) -> Disk:
    """Close the file, and open the same file again."""
    disk.close()
    return open_disk(disk.path)


def shown(workbook: Workbook) -> list[str]:
    """The rows of each worksheet as text, so that `TRUE`, 1 and 1.0 differ."""
    return [repr(sheet.rows) for sheet in workbook.sheets]


def rewritten_rows(disk: Disk, before: Workbook, after: Workbook) -> int:
    """Number of database rows that a save changes."""
    changes = disk.connection.total_changes
    disk.save([(before, after)], created=0)
    return disk.connection.total_changes - changes


@EXAMPLES
@given(workbooks("book"), workbooks("other"))
def test_saved_spreadsheets_are_loaded(first: Workbook, second: Workbook) -> None:
    """A file that is opened again has the same spreadsheets and types of values."""
    with TemporaryDirectory() as folder:
        disk = open_disk(Path(folder) / "book.db")
        disk.save([(None, first), (None, second)], created=2)
        disk = reopened(disk)
        loaded, created = disk.load(), disk.created()
        disk.close()

    assert loaded == [first, second]
    assert [shown(each) for each in loaded] == [shown(first), shown(second)]
    assert created == 2


@EXAMPLES
@given(st.data(), workbooks(), workbooks())
def test_any_change_of_a_spreadsheet_is_saved_completely(
    data: st.DataObject, before: Workbook, drawn: Workbook
) -> None:
    """Saving the difference of any two spreadsheets stores the second one completely."""
    old_rows: list[Row] = [(), *(row for sheet in before.sheets for row in sheet.rows)]
    after = replace(
        drawn,
        sheets=[
            replace(sheet, rows=data.draw(st.lists(st.sampled_from([*old_rows, *sheet.rows]))))
            for sheet in drawn.sheets
        ],
    )
    with TemporaryDirectory() as folder:
        disk = open_disk(Path(folder) / "book.db")
        disk.save([(None, before)], created=0)
        disk.save([(before, after)], created=0)
        loaded = disk.load()
        disk.save([(after, None)], created=0)
        emptied = disk.load()
        tables = {name: size(disk, name) for name in ("spreadsheets", "sheets", "rows")}
        disk.close()

    assert loaded == [after]
    assert shown(loaded[0]) == shown(after)
    assert emptied == []
    assert tables == {"spreadsheets": 0, "sheets": 0, "rows": 0}


def size(disk: Disk, table: str) -> int:
    """Number of rows of a database table."""
    found = disk.connection.execute(f"SELECT count(*) FROM {table}")  # noqa: S608 - our own name
    return int(found.fetchone()[0])


def test_only_changed_rows_are_written(disk: Disk) -> None:
    """An append below 5000 rows writes two database rows: the new row and the worksheet."""
    before = book(*((float(row), "x") for row in range(5000)))
    disk.save([(None, before)], created=0)
    appended = before.copy()
    appended.sheets[0].write(5000, 0, [Cell(value="new")])
    edited = appended.copy()
    edited.sheets[0].write(17, 0, [Cell(value="new")])
    inserted = edited.copy()
    inserted.sheets[0].replace_rows([(), *inserted.sheets[0].rows])
    counts = [
        rewritten_rows(disk, before, appended),
        rewritten_rows(disk, appended, edited),
        rewritten_rows(disk, edited, edited.copy()),
        rewritten_rows(disk, edited, inserted),
    ]

    # The insertion writes 5001 rows, deletes one row, and writes the worksheet.
    assert counts == [2, 1, 0, 5003]
    assert disk.load() == [inserted]


def test_a_person_can_read_the_file(disk: Disk) -> None:
    """`rows.cells` has plain values as JSON, and an object for a cell with a format or formula."""
    dated = Cell(value=43831.0, format=number_format("DATE", "yyyy-mm-dd"))
    formula = Cell(formula="=A1", note="why")
    disk.save([(None, book(("a", None, 1.5, True), (), (dated, formula)))], created=0)
    disk.close()
    with closing(sqlite3.connect(disk.path)) as person:
        rows = person.execute('SELECT spreadsheet, sheet_id, "row", cells FROM rows').fetchall()
        titles = person.execute("SELECT json_extract(properties, '$.title') FROM sheets").fetchall()

    assert rows == [
        ("book", 0, 1, '["a",null,1.5,true]'),
        (
            "book",
            0,
            3,
            '[{"value":43831.0,"format":{"numberFormat":{"type":"DATE","pattern":"yyyy-mm-dd"}}},'
            '{"formula":"=A1","note":"why"}]',
        ),
    ]
    assert titles == [("Sheet1",)]


def test_a_save_that_fails_changes_nothing(disk: Disk) -> None:
    """A failed save changes neither spreadsheets nor their count, and the next save succeeds."""
    before = book(("a",))
    disk.save([(None, before)], created=1)
    bad = book(*[("x",)] * 100, ("\ud800",))
    with pytest.raises(DiskError, match="UnicodeEncodeError") as caught:
        disk.save([(before, bad), (None, replace(before, spreadsheet_id="new"))], created=2)
    after_failure = disk.load(), disk.created()
    good = book(("b",))
    disk.save([(before, good)], created=1)

    assert "\ud800" not in str(caught.value)
    assert after_failure == ([before], 1)
    assert disk.load() == [good]


def test_a_bug_of_the_emulator_is_not_reported_as_a_disk_error(disk: Disk) -> None:
    """A TypeError of the emulator is not converted to DiskError. The save changes nothing."""
    before = book(("a",))
    disk.save([(None, before)], created=1)
    mistaken = book(("b",))
    mistaken.sheets[0].look = {"unknown": object()}
    with pytest.raises(TypeError, match="cannot store a object"):
        disk.save([(before, mistaken)], created=2)

    assert (disk.load(), disk.created()) == ([before], 1)


def test_a_full_disk_is_reported(disk: Disk) -> None:
    """A save on a full disk raises DiskError and changes nothing."""
    before = book(("a",))
    disk.save([(None, before)], created=1)
    disk.connection.execute("PRAGMA max_page_count = 20")
    large = book(*[("x" * 1000,)] * 1000)
    with pytest.raises(DiskError, match="full"):
        disk.save([(before, large)], created=1)

    assert disk.load() == [before]


def test_the_file_is_readable_only_by_its_owner(disk: Disk) -> None:
    """The file has a private key, so the file and SQLite's write-ahead log have mode 0600."""
    modes = {path.name: path.stat().st_mode & 0o777 for path in disk.path.parent.iterdir()}

    assert modes == {"book.db": 0o600, "book.db-wal": 0o600}


def test_stored_texts_are_found_after_the_file_is_reopened(disk: Disk) -> None:
    """`recall` returns the last text stored under a name, or None for an unknown name."""
    disk.remember("key", "old")
    disk.remember("key", "new")
    again = reopened(disk)
    recalled = again.recall("key"), again.recall("other")
    again.close()

    assert recalled == ("new", None)


def test_only_one_process_can_open_the_file(disk: Disk) -> None:
    """Opening the file of a running emulator raises DiskError. The emulator continues."""
    with pytest.raises(DiskError, match=r"book\.db: another process uses this file"):
        open_disk(disk.path)
    disk.save([(None, book(("a",)))], created=0)
    with pytest.raises(DiskError, match="another process"):
        open_disk(disk.path)

    assert disk.load() == [book(("a",))]


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        pytest.param("CREATE TABLE x (y)", "another program", id="tables of another program"),
        pytest.param("PRAGMA user_version = 1", "another program", id="version of another program"),
        pytest.param("PRAGMA application_id = 7", "another program", id="another program's mark"),
    ],
)
def test_a_database_of_another_program_is_not_changed(
    tmp_path: Path, statement: str, complaint: str
) -> None:
    """Opening a database of another program raises DiskError and changes nothing."""
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as other, other:
        other.execute(statement)
    content = path.read_bytes()
    with pytest.raises(DiskError, match=complaint):
        open_disk(path)

    assert path.read_bytes() == content


def test_a_file_of_another_version_is_rejected(disk: Disk) -> None:
    """The error names the version of the file, and the version that the emulator can read."""
    disk.connection.execute("PRAGMA user_version = 2")
    disk.close()

    with pytest.raises(DiskError, match="version 2, but this emulator reads 1"):
        open_disk(disk.path)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE rows SET cells = '[1'",
        "UPDATE rows SET cells = '[[]]'",
        'UPDATE rows SET "row" = 9',
        'UPDATE rows SET "row" = 0',
        "UPDATE rows SET \"row\" = 'first'",
        "UPDATE sheets SET kept_rows = 'many'",
        "UPDATE sheets SET kept_rows = -1",
        "UPDATE sheets SET sheet_id = 'x'",
        "UPDATE sheets SET properties = '{}'",
        """UPDATE sheets SET properties = replace(hex(zeroblob(99999)), '00', '{"a":')""",
        "UPDATE spreadsheets SET properties = '[]'",
        "UPDATE emulator SET value = 'many'",
    ],
)
def test_a_file_that_was_damaged_by_hand_is_an_error(disk: Disk, statement: str) -> None:
    """Loading a file with invalid contents raises DiskError."""
    disk.save([(None, book(("a",)))], created=0)
    disk.connection.execute(statement)

    with pytest.raises(DiskError, match="the stored data is damaged"):
        print(disk.load(), disk.created())


def test_a_new_worksheet_can_have_the_id_of_a_deleted_one(disk: Disk) -> None:
    """A new worksheet with the id of a deleted worksheet has no rows of the deleted one."""
    before = book(("a",), ("b",), ("c",))
    after = replace(before, sheets=[Sheet(sheet_id=0, title="New", row_count=9, column_count=9)])
    disk.save([(None, before)], created=0)
    disk.save([(before, after)], created=0)

    assert disk.load() == [after]
    assert size(disk, "rows") == 0
