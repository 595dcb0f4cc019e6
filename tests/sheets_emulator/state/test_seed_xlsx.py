"""Seeds that are .xlsx files."""

import io
import struct
import zipfile
from pathlib import Path
from time import process_time

import pytest

from sheets_emulator.app import EmulatorOptions
from sheets_emulator.grid.cell import Cell, Content
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.state.seed import SeedError, read_seed
from sheets_emulator.state.seed_xlsx import Contents, SheetReader, read_xlsx
from sheets_emulator.state.xlsx_package import (
    MAX_TAG_BYTES,
    SAVE_AGAIN,
    XlsxError,
    open_package,
)
from tests.sheets_emulator.bench import build_bench
from tests.sheets_emulator.xlsx import (
    MAIN,
    Tab,
    blank,
    boolean,
    error,
    formula,
    iso_date,
    number,
    text,
    with_parts,
    with_rows,
    worksheet,
    xlsx,
)


def without(content: bytes, part: str) -> bytes:
    """The .xlsx file without the part that has this name."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(packed, "w") as new:
        for name in old.namelist():
            if name != part:
                new.writestr(name, old.read(name))
    return packed.getvalue()


def with_formats(count: int, code: str = "0.0") -> bytes:
    """A file with `count` number formats. Cell A1 has the last of these formats."""
    formats = "".join(
        f'<numFmt numFmtId="{at}" formatCode="{code}&quot;{at}&quot;"/>'
        for at in range(1000, 1000 + count)
    )
    cells = "".join(f'<xf numFmtId="{at}"/>' for at in range(1000, 1000 + count))
    styles = (
        f'<styleSheet xmlns="{MAIN}"><numFmts>{formats}</numFmts><cellXfs>{cells}</cellXfs>'
        "</styleSheet>"
    )
    content = xlsx(Tab(title="A", cells={"A1": f's="{count - 1}"><v>0.5</v></c>'}))
    return with_parts(content, {"xl/styles.xml": styles.encode()})


def sheets_of(folder: Path, content: bytes) -> list[Sheet]:
    """The worksheets of a seed that has only this file."""
    (folder / "book.xlsx").write_bytes(content)
    return read_seed(folder).workbooks["book"].sheets


def first_cell(folder: Path, cell: str, *, is_1904: bool = False) -> Content:
    """Cell A1 as the emulator reads it from this XML of a cell."""
    (sheet,) = sheets_of(folder, xlsx(Tab(title="A", cells={"A1": cell}), is_1904=is_1904))
    return sheet.content(0, 0)


def test_file_is_served_as_google_imports_it(tmp_path: Path) -> None:
    """The file name is the id and the title. Cells have the types and formats that Google shows."""
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

    assert shown == [["name", "since"], ["007", "1/1/2020"]]
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
        pytest.param(boolean(True), True, id="true"),
        pytest.param(boolean(False), False, id="false"),
        pytest.param(formula("1+1", "2"), 2.0, id="result of a formula"),
        pytest.param(error("#N/A"), "#N/A", id="error"),
        pytest.param(error("#DIV/0!"), "#DIV/0!", id="another error"),
        pytest.param(formula("1+1", ""), None, id="formula without a result"),
        pytest.param(number(""), None, id="number without a value"),
    ],
)
def test_values_keep_their_types(tmp_path: Path, cell: str, value: Content) -> None:
    """Texts are not parsed as typed input, and numbers become floats."""
    found = first_cell(tmp_path, cell)

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("cell", "serial", "pattern"),
    [
        pytest.param(number("0.5", "0.00%"), 0.5, "0.00%", id="percentage"),
        pytest.param(number("43831", "m/d/yyyy"), 43831.0, "m/d/yyyy", id="date"),
        pytest.param(
            number("43831.25", "m/d/yyyy h:mm"), 43831.25, "m/d/yyyy h:mm", id="date and time"
        ),
        pytest.param(number("0.75", "h:mm:ss"), 0.75, "h:mm:ss", id="time"),
        pytest.param(number("1.25", "[h]:mm:ss"), 1.25, "[h]:mm:ss", id="duration"),
        pytest.param(number("-0.5", "[h]:mm:ss"), -0.5, "[h]:mm:ss", id="negative duration"),
        pytest.param(iso_date("2020-01-01"), 43831.0, "yyyy-mm-dd", id="ISO date"),
        pytest.param(
            iso_date("2020-01-01T06:00:00"), 43831.25, "yyyy-mm-dd h:mm:ss", id="ISO date and time"
        ),
        pytest.param(iso_date("06:00:00"), 0.25, "h:mm:ss", id="ISO time"),
        pytest.param(number("59", "m/d/yyyy"), 60.0, "m/d/yyyy", id="28 February 1900"),
        pytest.param(number("61", "m/d/yyyy"), 61.0, "m/d/yyyy", id="1 March 1900"),
    ],
)
def test_numbers_keep_their_format(tmp_path: Path, cell: str, serial: float, pattern: str) -> None:
    """Dates are serial numbers with a format, without Excel's nonexistent 29 February 1900."""
    found = first_cell(tmp_path, cell)

    assert isinstance(found, Cell)
    assert found.value == pytest.approx(serial, abs=1e-9)
    assert found.pattern == pattern


def test_dates_can_count_from_1904(tmp_path: Path) -> None:
    """Dates in files that count days from 1904 become the same dates."""
    found = first_cell(tmp_path, number("42369", "m/d/yyyy"), is_1904=True)

    assert isinstance(found, Cell)
    assert found.value == 43831.0


def test_grid_starts_at_a1_and_ends_with_the_data(tmp_path: Path) -> None:
    """Leading blank rows and columns are in the grid. Trailing cells with only a format are not."""
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
    """Chart sheets are left out. Hidden and very hidden worksheets become hidden."""
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
def test_invalid_file_is_an_error_with_the_reason(
    tmp_path: Path, content: bytes, complaint: str
) -> None:
    """The error is one line with the name of the file and the reason."""
    with pytest.raises(SeedError, match=rf"book\.xlsx: .*{complaint}") as caught:
        sheets_of(tmp_path, content)

    assert "\n" not in str(caught.value)


CELL = "<row><c><v>1</v></c></row>"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(xlsx(Tab(title="A"))[:-80], id="cut short"),
        pytest.param(xlsx(Tab(title="A", cells={"A1": 't="s"><v>7</v></c>'})), id="corrupt"),
        pytest.param(with_rows("<row>"), id="XML"),
        pytest.param(with_rows(CELL.replace("1", "nan")), id="no number"),
        pytest.param(with_rows('<row><c r="A0"><v>1</v></c></row>'), id="no place"),
        pytest.param(with_rows('<row r="0"><c><v>1</v></c></row>'), id="row 0"),
        pytest.param(with_rows(f"{CELL}<row r='-1'><c><v>1</v></c></row>"), id="row -1"),
        pytest.param(with_rows("<a>" * 100), id="depth"),
        pytest.param(with_rows(" " * 2**21), id="long text"),
        pytest.param(
            with_parts(xlsx(Tab(title="A")), {"xl/workbook.xml": b"<!DOCTYPE a>"}), id="DOCTYPE"
        ),
        pytest.param(without(xlsx(Tab(title="A")), "xl/sheets/0.xml"), id="no worksheet"),
        pytest.param(without(xlsx(Tab(title="A")), "xl/workbook.xml"), id="no workbook"),
        pytest.param(
            without(xlsx(Tab(title="A")), "xl/_rels/workbook.xml.rels"), id="no relations"
        ),
    ],
)
def test_damaged_file_gets_an_error_with_advice_to_save_it_again(content: bytes) -> None:
    """The error ends with the advice to save the file again in a spreadsheet program."""
    with pytest.raises(XlsxError) as caught:
        read_xlsx(content)

    assert str(caught.value).endswith(SAVE_AGAIN)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(
            xlsx(*(Tab(title=str(at)) for at in range(1001))),
            "the file has more than 1000 worksheets: delete some.",
            id="worksheets",
        ),
        pytest.param(
            with_rows(f"<row>{'<c/>' * 18_278}<c><v>1</v></c></row>"),
            "the worksheet A has more than 18278 columns: delete the cells far from the others.",
            id="columns",
        ),
        pytest.param(
            with_formats(4097), "the file has more than 4096 number formats", id="formats"
        ),
        pytest.param(
            with_rows(f'<row><c t="str"><v>{"x" * 50_001}</v></c></row>'),
            "a cell has more than 50000 characters: shorten the text.",
            id="text",
        ),
    ],
)
def test_a_file_above_a_maximum_gets_an_error_with_advice(content: bytes, words: str) -> None:
    """The error names the maximum that the file exceeds, and what to delete or shorten."""
    with pytest.raises(XlsxError, match=words):
        read_xlsx(content)


def test_protected_file_is_an_error(tmp_path: Path) -> None:
    """The error says that the file is protected with a password."""
    with pytest.raises(SeedError, match=r"book\.xlsx: the file is protected with a password"):
        sheets_of(tmp_path, encrypted())


def encrypted() -> bytes:
    """A file with a password: Microsoft's compound file format, with empty parts."""
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


NUMBER = "<v>1</v>"
FAR = [
    pytest.param(
        f'<row r="1"><c r="A1">{NUMBER}</c></row><row r="9"><c r="XFD1048576">{NUMBER}</c></row>',
        "A has a cell at XFD1048576, so that it extends to row 1048576 and column 16384",
        id="stray",
    ),
    pytest.param(
        f'<row r="5000"><c r="XFD5000">{NUMBER}</c></row>', "a cell at XFD5000", id="nearer"
    ),
    pytest.param(
        f'<row r="1"><c r="XFD1">{NUMBER}</c></row><row r="5000"><c r="A5000">{NUMBER}</c></row>',
        "a cell at XFD1 and A5000",
        id="two",
    ),
    pytest.param(
        f"<row>{f'<c>{NUMBER}</c>' * 100}</row><row r='1048576'><c>{NUMBER}</c></row>",
        "a cell at CV1 and A1048576",
        id="no places",
    ),
    pytest.param(
        f'<row r="5000"><c r="&#88;FD5000">{NUMBER}</c></row>', "a cell at XFD5000", id="escaped"
    ),
    pytest.param(
        '<row r="5000"><c r="XFD5000"><f>A1</f></c></row>', "a cell at XFD5000", id="formula"
    ),
    pytest.param(
        f'<row r="1"><c t="n"{" " * 2_000_000}r="XFD1">{NUMBER}</c></row>',
        f"a tag or text of more than {MAX_TAG_BYTES} bytes",
        id="long tag",
    ),
    pytest.param(f'<row r="1"><c r="A0">{NUMBER}</c></row>', "no valid reference", id="no row"),
]


@pytest.mark.parametrize(("rows", "complaint"), FAR)
def test_a_cell_too_far_away_is_an_error(tmp_path: Path, rows: str, complaint: str) -> None:
    """The error names the cell that makes the grid too large, or the invalid XML."""
    with pytest.raises(SeedError, match=complaint):
        sheets_of(tmp_path, with_rows(rows))


def test_a_cell_too_far_away_is_found_in_utf_16(tmp_path: Path) -> None:
    """A cell that makes the grid too large is also found in UTF-16 XML."""
    rows = f'<row r="5000"><c r="XFD5000">{NUMBER}</c></row>'
    part = worksheet(rows).decode().encode("utf-16")

    with pytest.raises(SeedError, match="a cell at XFD5000"):
        sheets_of(tmp_path, with_parts(xlsx(Tab(title="A")), {"xl/sheets/0.xml": part}))


def test_all_worksheets_together_have_a_maximum(tmp_path: Path) -> None:
    """Two worksheets that together exceed the maximum of cells raise an error."""
    tabs = [Tab(title=title, cells={"XFD400": number("1")}) for title in "AB"]

    with pytest.raises(SeedError, match="the worksheet B has a cell at XFD400"):
        sheets_of(tmp_path, xlsx(*tabs))


BLANK_FORMATS = [
    pytest.param(f'<row r="1"><c r="A1">{NUMBER}</c></row>{rows}', id=name)
    for name, rows in (
        ("row", '<row r="1048576" s="1" customFormat="1"/>'),
        ("cell", '<row r="1048576"><c r="XFD1048576" s="1"/></row>'),
        ("no value", '<row r="1048576"><c r="XFD1048576" s="1"><v></v></c></row>'),
        ("empty text", '<row r="9"><c r="XFD9" t="inlineStr"><is><t></t></is></c></row>'),
        ("no place", '<row r="1048576"><c s="1"/><c s="1"/></row>'),
        ("rows", "".join(f'<row r="{row}" s="1"/>' for row in range(2, 60_000))),
    )
]


@pytest.mark.parametrize("rows", BLANK_FORMATS)
def test_formats_do_not_make_a_grid_larger(tmp_path: Path, rows: str) -> None:
    """Rows and cells with a format but no value or formula do not extend the grid."""
    (sheet,) = sheets_of(tmp_path, with_rows(rows))

    assert (sheet.row_count, sheet.column_count) == (1, 1)


@pytest.mark.parametrize(
    ("rows", "cells"),
    [
        pytest.param(
            '<row r="2"><c r="B2"><v>2</v></c></row><row r="1"><c r="A1"><v>1</v></c></row>',
            [(1.0,), (None, 2.0)],
            id="rows in another order",
        ),
        pytest.param(
            '<row r="1"><c r="B1"><v>2</v></c><c r="A1"><v>1</v></c></row>',
            [(1.0, 2.0)],
            id="cells in another order",
        ),
        pytest.param(
            "<row><c><v>1</v></c><c/><c><v>3</v></c></row><row/><row><c><v>4</v></c></row>",
            [(1.0, None, 3.0), (), (4.0,)],
            id="no places",
        ),
        pytest.param(
            '<row r="1"><c r="A1"><v>1</v></c><c><v>2</v></c></row>', [(1.0, 2.0)], id="some places"
        ),
        pytest.param(
            '<row><c t="inlineStr"><is><r><t>Tō</t></r><rPh><t>x</t></rPh><r><t>kyō</t></r></is>'
            "</c></row>",
            [("Tōkyō",)],
            id="rich text with its pronunciation",
        ),
        pytest.param(
            '<row><c t="inlineStr"><is><t>a_x000D_b_x005F_x000D_</t></is></c></row>',
            [("a\rb_x000D_",)],
            id="escaped characters",
        ),
        pytest.param(
            '<row><c t="inlineStr"><is><t> a </t></is></c></row>', [("a",)], id="blanks around"
        ),
        pytest.param(
            '<row><c t="str"><f>A2</f><v></v></c><c><v>2</v></c></row>',
            [(None, 2.0)],
            id="formula with an empty result",
        ),
    ],
)
def test_cells_written_by_other_programs_are_read(
    tmp_path: Path, rows: str, cells: list[tuple[Content, ...]]
) -> None:
    """Cells can lack a reference or be in any order, and texts can have markup and escapes."""
    (sheet,) = sheets_of(tmp_path, with_rows(rows))

    assert sheet.rows == cells


def test_formulas_without_a_result_are_noted() -> None:
    """Formulas without a stored result are blank. A warning has their count and first cell."""
    cells = {"A1": text("sum"), "A2": formula("1+1", "2"), "A3": formula("1+2", "")}
    one = read_xlsx(xlsx(Tab(title="It's", cells=cells)))
    two = read_xlsx(xlsx(Tab(title="A", cells={**cells, "B9": formula("A1", "")})))

    assert one.notes == [
        "1 formula without a stored result is blank, the first in 'It''s'!A3. Open the file in a "
        "spreadsheet program and save it, to store the results"
    ]
    assert two.notes[0].startswith(
        "2 formulas without a stored result are blank, the first in A!A3"
    )
    assert (two.sheets[0].row_count, two.sheets[0].column_count) == (9, 2)


@pytest.mark.parametrize("value", ["1", "true", "0"])
def test_results_that_must_be_computed_again_are_noted(value: str) -> None:
    """Formulas in a file with `fullCalcOnLoad` get a warning, as results can be wrong."""
    content = xlsx(Tab(title="A", cells={"A1": text("sum"), "A2": formula("1+1", "0")}))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        book = archive.read("xl/workbook.xml").decode()
    calculation = f'<calcPr calcId="1" fullCalcOnLoad="{value}"/></workbook>'
    changed = book.replace("</workbook>", calculation).encode()
    found = read_xlsx(with_parts(content, {"xl/workbook.xml": changed}))

    assert found.notes == (
        []
        if value == "0"
        else [
            "1 formula has a result that the file marks as outdated, the first in A!A2: values can "
            "be wrong. Open the file in a spreadsheet program and save it, to store the results"
        ]
    )


def test_a_file_can_redefine_a_built_in_format() -> None:
    """A format in `numFmts` replaces the built-in format with the same id. `dxfs` does not."""
    styles = (
        f'<styleSheet xmlns="{MAIN}"><numFmts><numFmt numFmtId="44" formatCode="0.0"/></numFmts>'
        '<cellXfs><xf numFmtId="44"/></cellXfs>'
        '<dxfs><dxf><numFmt numFmtId="44" formatCode="0.000"/></dxf></dxfs></styleSheet>'
    )
    content = xlsx(Tab(title="A", cells={"A1": number("1")}))
    (sheet,) = read_xlsx(with_parts(content, {"xl/styles.xml": styles.encode()})).sheets
    found = sheet.content(0, 0)

    assert isinstance(found, Cell)
    assert found.pattern == "0.0"


def test_unsupported_formats_are_noted() -> None:
    """A number with an unsupported format is displayed without the format, with a warning."""
    styles = (
        f'<styleSheet xmlns="{MAIN}"><numFmts><numFmt numFmtId="164" formatCode="#,# ?/?"/>'
        '<numFmt numFmtId="165" formatCode="?.?/?"/></numFmts><cellXfs><xf numFmtId="0"/>'
        '<xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="4"/></cellXfs></styleSheet>'
    )
    cells = {f"A{row}": f's="{row}"><v>0.5</v></c>' for row in (1, 3)}
    content = with_parts(xlsx(Tab(title="A", cells=cells)), {"xl/styles.xml": styles.encode()})

    assert read_xlsx(content).notes == [
        "numbers with the format '#,# ?/?' are displayed as plain numbers, because the format is "
        "unknown"
    ]


def test_long_formats_are_shortened_in_notes() -> None:
    """A warning shortens a long format and escapes control characters."""
    (note,) = read_xlsx(with_formats(1, "# ?/?\u202e" + "0" * 1000)).notes

    assert note == (
        r"numbers with the format '# ?/?\u202e"
        + "0" * 33
        + "…' are displayed as plain numbers, because the format is unknown"
    )


def test_long_titles_are_shortened_in_errors() -> None:
    """An error shortens a worksheet title of 1000 characters."""
    content = xlsx(Tab(title="x" * 1000, cells={"XFD5000": number("1")}))

    with pytest.raises(XlsxError, match=f"the worksheet {'x' * 39}… has a cell|'{'x' * 39}…' has"):
        read_xlsx(content)


def test_alternating_rows_are_not_copied_for_each_cell() -> None:
    """The time grows with the size of the file, also if cells of two rows alternate."""
    wide = f'<row r="1"><c r="ZZZ1">{NUMBER}</c></row><row r="2"><c r="ZZZ2">{NUMBER}</c></row>'
    turns = "".join(
        f'<row r="{row}"><c r="A{row}">{NUMBER}</c></row>' for _ in range(60_000) for row in (1, 2)
    )
    content = with_rows(wide + turns)
    started = process_time()
    (sheet,) = read_xlsx(content).sheets

    assert (sheet.content(0, 0), sheet.content(1, 18_277)) == (1.0, 1.0)
    assert process_time() - started < 3


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(
            f"<sheetData>{CELL}</sheetData><extLst><row r='9'><c>{NUMBER}</c></row></extLst>",
            id="after the data",
        ),
        pytest.param(
            f"<x><row><c>{NUMBER}</c></row></x><sheetData>{CELL}</sheetData>", id="before the data"
        ),
        pytest.param(
            f"<sheetData><row><c>{NUMBER}<extLst><ext><f>1</f><v>2</v><t>3</t><c r='B9'/></ext>"
            "</extLst></c></row></sheetData>",
            id="within a cell",
        ),
        pytest.param(
            f"<sheetData><row><c>{NUMBER}</c><extLst><c>{NUMBER}</c></extLst></row></sheetData>",
            id="within a row",
        ),
    ],
)
def test_only_cells_in_the_sheet_data_are_read(part: str) -> None:
    """Elements outside `sheetData` and in extensions are not cells, even with the same names."""
    worksheet = f'<worksheet xmlns="{MAIN}">{part}</worksheet>'.encode()
    (sheet,) = read_xlsx(with_parts(xlsx(Tab(title="A")), {"xl/sheets/0.xml": worksheet})).sheets

    assert sheet.rows == [(1.0,)]


def test_the_relationships_of_a_workbook_are_unpacked_once() -> None:
    """The limit of unpacked bytes counts the relationships of a workbook once."""
    links = f'<Relationship TargetMode="External" Target="{"x" * 900_000}"/>' * 13
    name = "xl/_rels/workbook.xml.rels"
    content = xlsx(Tab(title="A", cells={"A1": number("1")}))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        part = archive.read(name).replace(b"</Relationships>", links.encode() + b"</Relationships>")
    (sheet,) = read_xlsx(with_parts(content, {name: part})).sheets

    assert sheet.rows == [(1.0,)]


def test_a_damaged_worksheet_is_an_error(tmp_path: Path) -> None:
    """A part of the ZIP archive with a wrong checksum raises an error."""
    content = xlsx(Tab(title="A", cells={"A1": number("1")}))
    packed = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as new,
    ):
        for name in old.namelist():
            new.writestr(name, old.read(name))

    with pytest.raises(SeedError, match="Bad CRC-32"):
        sheets_of(tmp_path, packed.getvalue().replace(b"<v>1</v>", b"<v>2</v>", 1))


BOMBS = [
    pytest.param(b" " * 2**21, "a tag or text of more than", id="blanks"),
    pytest.param(b'<c a="%s"/>' % (b"x" * 900_000) * 42, "unpacked file is too large", id="cells"),
    pytest.param(b"<a>" * 1000, "nested more than 64 levels", id="depth"),
    pytest.param(
        b"<row>" + b'<c t="str"><v>%s</v></c>' % (b"x" * 60_000) + b"</row>", "50000", id="text"
    ),
]


@pytest.mark.parametrize(("rows", "complaint"), BOMBS)
def test_a_file_that_is_too_large_when_unpacked_is_an_error(
    tmp_path: Path, rows: bytes, complaint: str
) -> None:
    """A small file whose XML is too large, too deep or has too long texts raises an error."""
    with pytest.raises(SeedError, match=complaint):
        sheets_of(tmp_path, with_rows(rows.decode()))


def test_too_many_texts_are_an_error() -> None:
    """Texts that exceed the limit of bytes in memory together raise an error."""
    texts = "".join(
        f'<row><c t="inlineStr"><is><t>{row}{"x" * 40_000}</t></is></c></row>' for row in range(80)
    )
    contents = Contents(styles=[], is_1904=False, is_uncomputed=False, text_bytes=1_000_000)
    reader = SheetReader("A", contents, 1000)

    with (
        open_package(with_rows(texts)) as package,
        pytest.raises(XlsxError, match="too many texts"),
    ):
        package.parse("xl/sheets/0.xml", reader.start, reader.end, reader.text)


def test_xml_entities_are_an_error(tmp_path: Path) -> None:
    """XML with a DOCTYPE raises an error, because entities can be recursive or external."""
    part = b'<!DOCTYPE a [<!ENTITY b "c">]>' + worksheet("<row><c><v>1</v></c></row>")

    with pytest.raises(SeedError, match="its XML has a DOCTYPE"):
        sheets_of(tmp_path, with_parts(xlsx(Tab(title="A")), {"xl/sheets/0.xml": part}))
