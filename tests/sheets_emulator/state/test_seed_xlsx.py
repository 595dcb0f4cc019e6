"""Spreadsheets of a seed that are .xlsx files."""

import io
import struct
import zipfile
from pathlib import Path

import pytest

from sheets_emulator.app import EmulatorOptions
from sheets_emulator.grid.cell import Cell, Content
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.state.seed import SeedError, read_seed
from sheets_emulator.state.seed_xlsx import MAX_UNPACKED_BYTES
from tests.sheets_emulator.bench import build_bench
from tests.sheets_emulator.xlsx import (
    Tab,
    blank,
    boolean,
    error,
    formula,
    iso_date,
    number,
    text,
    xlsx,
)


def sheets_of(folder: Path, content: bytes) -> list[Sheet]:
    """The worksheets that a seed with this file has."""
    (folder / "book.xlsx").write_bytes(content)
    return read_seed(folder).workbooks["book"].sheets


def first_cell(folder: Path, cell: str, *, is_1904: bool = False) -> Content:
    (sheet,) = sheets_of(folder, xlsx(Tab(title="A", cells={"A1": cell}), is_1904=is_1904))
    return sheet.content(0, 0)


def test_file_is_served_like_an_imported_one(tmp_path: Path) -> None:
    """Its name is the id and the title; its cells are shown and typed as Google would."""
    seed = tmp_path / "seed"
    seed.mkdir()
    cells = {
        "A1": text("name"),
        "B1": text("since"),
        "A2": text("007"),
        "B2": number("43831", "m/d/yyyy"),
    }
    (seed / "book.xlsx").write_bytes(xlsx(Tab(title="It's A", cells=cells)))
    with (bench := build_bench(tmp_path, EmulatorOptions(seed=seed))).client:
        shown = bench.grid("'It''s A'")
        typed = bench.grid("'It''s A'", valueRenderOption="UNFORMATTED_VALUE")
        size = bench.size()

    assert shown == [["name", "since"], ["007", "2020-01-01"]]
    assert typed == [["name", "since"], ["007", 43831]]
    assert size == (2, 2)


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        pytest.param(text("007"), "007", id="text that looks like a number"),
        pytest.param(text("=1+1"), "=1+1", id="text that looks like a formula"),
        pytest.param(text("'x"), "'x", id="text with an apostrophe"),
        pytest.param(text(" a\nb "), " a\nb ", id="text with blanks"),
        pytest.param(text(""), None, id="empty text"),
        pytest.param(number("42"), 42.0, id="whole number"),
        pytest.param(number("0.1"), 0.1, id="number"),
        pytest.param(number("-1e300"), -1e300, id="large number"),
        pytest.param(number("0.5", "0.00%"), 0.5, id="percentage"),
        pytest.param(boolean(True), True, id="true"),
        pytest.param(boolean(False), False, id="false"),
        pytest.param(formula("1+1", "2"), 2.0, id="result of a formula"),
        pytest.param(error("#N/A"), None, id="error"),
    ],
)
def test_values_keep_their_types(tmp_path: Path, cell: str, value: Content) -> None:
    """A text is never read as typed, and a number is a float."""
    found = first_cell(tmp_path, cell)

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("cell", "serial", "pattern"),
    [
        pytest.param(number("43831", "m/d/yyyy"), 43831.0, "yyyy-mm-dd", id="date"),
        pytest.param(
            number("43831.25", "m/d/yyyy h:mm"), 43831.25, "yyyy-mm-dd h:mm:ss", id="date and time"
        ),
        pytest.param(number("0.75", "h:mm:ss"), 0.75, "h:mm:ss", id="time"),
        pytest.param(number("1.25", "[h]:mm:ss"), 1.25, "[h]:mm:ss", id="duration"),
        pytest.param(number("-0.5", "[h]:mm:ss"), -0.5, "[h]:mm:ss", id="negative duration"),
        pytest.param(iso_date("2020-01-01"), 43831.0, "yyyy-mm-dd", id="ISO date"),
        pytest.param(
            iso_date("2020-01-01T06:00:00"), 43831.25, "yyyy-mm-dd h:mm:ss", id="ISO date and time"
        ),
        pytest.param(number("59", "m/d/yyyy"), 60.0, "yyyy-mm-dd", id="28 February 1900"),
        pytest.param(number("61", "m/d/yyyy"), 61.0, "yyyy-mm-dd", id="1 March 1900"),
    ],
)
def test_dates_are_serials_with_a_format(
    tmp_path: Path, cell: str, serial: float, pattern: str
) -> None:
    """Each sort of date and time has a format; Excel's 29 February 1900 is no day here."""
    found = first_cell(tmp_path, cell)

    assert isinstance(found, Cell)
    assert found.value == pytest.approx(serial, abs=1e-9)
    assert found.pattern == pattern


def test_dates_may_count_from_1904(tmp_path: Path) -> None:
    """Files of old Macintoshes count days from another one; the date is the same."""
    found = first_cell(tmp_path, number("42369", "m/d/yyyy"), is_1904=True)

    assert isinstance(found, Cell)
    assert found.value == 43831.0


def test_grid_starts_at_a1_and_ends_with_the_data(tmp_path: Path) -> None:
    """Leading blank rows and columns count, formats without a value do not."""
    tabs = (
        Tab(title="Offset", cells={"C4": text("x"), "B5": number("1"), "F9": blank("0.00%")}),
        Tab(title="Blank"),
        Tab(title="Formats", cells={"B2": blank("m/d/yyyy")}),
    )
    sheets = sheets_of(tmp_path, xlsx(*tabs))

    assert [(sheet.row_count, sheet.column_count) for sheet in sheets] == [(5, 3), (1, 1), (1, 1)]
    assert sheets[0].content(3, 2) == "x"
    assert sheets[0].content(4, 1) == 1.0


def test_worksheets_are_in_order_and_hidden_ones_stay_hidden(tmp_path: Path) -> None:
    """Sheets that are no worksheets are left out."""
    tabs = (
        Tab(title="B & <C>"),
        Tab(title="Chart", kind="chartsheet"),
        Tab(title="A", state="hidden", cells={"A1": text("x")}),
        Tab(title="🙂", state="veryHidden"),
    )
    sheets = sheets_of(tmp_path, xlsx(*tabs))

    assert [(sheet.sheet_id, sheet.title, sheet.hidden) for sheet in sheets] == [
        (0, "B & <C>", False),
        (1, "A", True),
        (2, "🙂", True),
    ]
    assert sheets[1].content(0, 0) == "x"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        pytest.param(b"", "cannot be read as .xlsx", id="empty"),
        pytest.param(b"name,state\n", "cannot be read as .xlsx", id="another file"),
        pytest.param(xlsx(Tab(title="A"))[:-80], "cannot be read as .xlsx", id="cut short"),
        pytest.param(
            xlsx(Tab(title="A", cells={"A1": 't="s"><v>7</v></c>'})), "as .xlsx", id="corrupt"
        ),
        pytest.param(
            xlsx(Tab(title="A", cells={"A1": text("x" * 50_001)})), "50000 char", id="text too long"
        ),
        pytest.param(
            xlsx(Tab(title="A"), Tab(title="A")), 'name "A" already', id="one title twice"
        ),
        pytest.param(xlsx(), "at least one worksheet", id="no worksheet"),
        pytest.param(
            xlsx(Tab(title="A", kind="chartsheet")), "at least one worksheet", id="chart only"
        ),
        pytest.param(
            xlsx(Tab(title="A", cells={"A1": number("1e999")})), "the number inf", id="infinity"
        ),
    ],
)
def test_file_that_cannot_be_used_says_why(tmp_path: Path, content: bytes, complaint: str) -> None:
    """The error names the file and what is wrong with it, in one line."""
    with pytest.raises(SeedError, match=rf"book\.xlsx: .*{complaint}") as caught:
        sheets_of(tmp_path, content)

    assert "\n" not in str(caught.value)


def test_protected_file_says_so(tmp_path: Path) -> None:
    """A file with a password is no .xlsx inside."""
    with pytest.raises(SeedError, match=r"book\.xlsx: it is protected with a password"):
        sheets_of(tmp_path, encrypted())


def encrypted() -> bytes:
    """The container of a file with a password: Microsoft's compound file, its parts empty."""
    free, end, fat_sector = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
    head = struct.pack(
        "<8s16xHHHHH6xIIIIIIIII",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        *(0x3E, 3, 0xFFFE, 9, 6),
        *(0, 1, 1, 0, 4096, end, 0, end, 0),
    )
    header = head + struct.pack("<109I", 0, *[free] * 108)
    fat = struct.pack("<128I", fat_sector, end, end, *[free] * 125)
    entries = (("Root Entry", 5), ("EncryptedPackage", 2), ("EncryptionInfo", 2), ("", 0))
    directory = b"".join(
        struct.pack(
            "<64sHBBIII36xIQ",
            name.encode("utf-16-le"),
            2 * len(name) + 2,
            *(kind, 1, free, free, *((1, 2, 512) if kind == 5 else (free, end, 0))),
        )
        for name, kind in entries
    )
    return header + fat + directory + bytes(512)


@pytest.mark.parametrize(
    "sheet",
    [
        '<row r="1"><c r="A1"><v>1</v></c></row><row><c r="XFD1048576"><v>2</v></c></row>',
        f"<row r='1'>{'<c><v>1</v></c>' * 100}</row><row s=\"1\"  r = '1048576'><c/></row>",
        f'<x:row r="999999"><x:c t="n"{" " * 2_000_000}r="XFD1"/></x:row>',
    ],
    ids=["stray", "no places", "long tag"],
)
def test_a_cell_too_far_away_is_refused(tmp_path: Path, sheet: str) -> None:
    """All cells up to it would be made, billions of them: it is found in the file before."""
    old = xlsx(Tab(title="A", cells={"A1": number("1")}))
    new = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(old)) as read,
        zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as write,
    ):
        for name in read.namelist():
            is_sheet = name.startswith("xl/sheets/")
            body = f"<worksheet><sheetData>{sheet}</sheetData></worksheet>".encode()
            write.writestr(name, body if is_sheet else read.read(name))

    with pytest.raises(SeedError, match=r"delete the cells far from the others|a tag of more than"):
        sheets_of(tmp_path, new.getvalue())


def test_a_damaged_part_hides_no_cell(tmp_path: Path) -> None:
    """The file reader skips a part that it needs not, and the cells of the others are made."""
    content = io.BytesIO(xlsx(Tab(title="A", cells={"A1": number("1")})))
    with zipfile.ZipFile(content, "a") as archive:
        archive.writestr("xl/x", "undamaged")
    damaged = content.getvalue().replace(b"undamaged", b"not whole", 1)

    with pytest.raises(SeedError, match="Bad CRC-32"):
        sheets_of(tmp_path, damaged)


def test_a_file_that_is_unpacked_too_large_is_refused(tmp_path: Path) -> None:
    """A small file may become gigabytes."""
    content = io.BytesIO(xlsx(Tab(title="A", cells={"A1": number("1")})))
    with (
        zipfile.ZipFile(content, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("xl/x", "w") as part,
    ):
        for _ in range(MAX_UNPACKED_BYTES // 2**24 + 1):
            part.write(bytes(2**24))

    with pytest.raises(SeedError, match="unpacked larger than"):
        sheets_of(tmp_path, content.getvalue())
