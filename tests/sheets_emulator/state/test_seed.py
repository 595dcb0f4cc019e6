"""Seeds: folders and files with the initial spreadsheets of an emulator."""

import io
import os
import zipfile
from pathlib import Path

import pytest

from sheets_emulator.state.seed import MAX_FILE_BYTES, SeedError, read_seed, read_spreadsheet
from tests.sheets_emulator.bench import write_seed
from tests.sheets_emulator.conftest import BenchBuilder
from tests.sheets_emulator.xlsx import Tab, formula, text, xlsx


def test_grid_is_exactly_as_large_as_the_data(build: BenchBuilder) -> None:
    """The grid has as many rows as the file and as many columns as the widest row."""
    bench = build({"A": "a,b,c\n1\n\n2,3\n", "B": "", "C": "\n"})

    assert [bench.size(index) for index in range(3)] == [(4, 3), (1, 1), (1, 1)]
    assert bench.grid("A") == [["a", "b", "c"], ["1"], [], ["2", "3"]]


def test_csv_cells_are_parsed_like_typed_text(build: BenchBuilder) -> None:
    """Numbers, dates, booleans and formulas in a CSV file are parsed as if a user typed them."""
    bench = build({"A": '0042,"2,000.5",2020-01-01,TRUE,\'007,=1+1,\n'})

    assert bench.grid("A") == [["42", "2,000.50", "2020-01-01", "TRUE", "007", "2"]]
    assert bench.grid("A", valueRenderOption="UNFORMATTED_VALUE") == [
        [42, 2000.5, 43831, True, "007", 2]
    ]
    assert bench.size() == (1, 7)


def test_file_names_are_titles_percent_decoded_once(build: BenchBuilder) -> None:
    """The title of a worksheet is the decoded file name. Worksheets are sorted by file name."""
    bench = build({"A%2FB": "1\n", "It's 100%25": "2\n", "v1.2": "3\n"})

    assert [sheet["title"] for sheet in bench.sheets()] == ["A/B", "It's 100%", "v1.2"]
    assert [sheet["sheetId"] for sheet in bench.sheets()] == [0, 1, 2]


def test_unshared_spreadsheet_gets_403_and_an_unknown_one_404(build: BenchBuilder) -> None:
    """A spreadsheet that is not shared gets 403. An unknown spreadsheet gets 404."""
    bench = build({"A": "1\n"})
    closed = bench.call("GET", "/v4/spreadsheets/closed")
    unknown = bench.call("GET", "/v4/spreadsheets/none/values/A")

    assert closed.status_code == 403
    assert closed.json()["error"] == {
        "code": 403,
        "message": "The caller does not have permission",
        "status": "PERMISSION_DENIED",
    }
    assert unknown.status_code == 404
    assert unknown.json()["error"]["message"] == "Requested entity was not found."


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        pytest.param({"book.xlsx/A.csv": "x"}, "book.xlsx: .* file", id="xlsx"),
        pytest.param(
            {"book/A.csv": "", "book.unshared": ""}, "another entry for 'book'", id="and unshared"
        ),
        pytest.param(
            {"book.unshared": "", "book.xlsx": ""}, "book.xlsx: there is another", id="and xlsx"
        ),
        pytest.param({"book.unshared/A.csv": "x"}, "book.unshared: .* file", id="unshared"),
        pytest.param({"book.json/A.csv": "x"}, "book.json: this must be a file", id="edits"),
        pytest.param({"book.json": "{}", "book.unshared": ""}, "is not shared", id="not shared"),
        pytest.param({"notes.txt": ""}, "notes.txt: this is not a folder", id="another file"),
        pytest.param({"book.csv": ""}, "book.csv: this is not a folder", id="worksheet outside"),
        pytest.param({"book/.hidden": ""}, "at least one .csv", id="no worksheet"),
        pytest.param(
            {"book/A.csv": "", "book/readme.txt": ""},
            "readme.txt: this is not a .csv file",
            id="no CSV",
        ),
        pytest.param({"book/A.csv/B.csv": ""}, "A.csv: this is not a .csv file", id="directory"),
        pytest.param(
            {"book/A B.csv": "", "book/A%20B.csv": ""},
            'book: A sheet with the name "A B" already exists',
            id="one title twice",
        ),
        pytest.param(
            {"book/S.csv": "", "book/s.csv": ""}, 'name "s" already', id="titles but for the case"
        ),
        pytest.param({f"book/{'x' * 101}.csv": ""}, "than 100 characters", id="title too long"),
        pytest.param({"book/A.csv": '"open\n'}, "A.csv", id="malformed CSV"),
        pytest.param({"book/A.csv": "x" * 50_001}, "50000 characters", id="cell too long"),
        pytest.param(
            {"book/A.csv": f'"{"x" * 131_073}"'}, "A.csv: .* 50000 char", id="cell far too long"
        ),
        pytest.param({"book/A.csv": "," * 4000 + "x\n" * 2501}, "10000000 cells", id="too many"),
        pytest.param({"book/%FF.csv": "x"}, "percent-encoded", id="title that is no UTF-8"),
        pytest.param({"book/\udcff.csv": "x"}, "not UTF-8", id="file name that is no UTF-8"),
        pytest.param({"\udcff.unshared": "x"}, "not UTF-8", id="id that is no UTF-8"),
    ],
)
def test_invalid_seed_is_an_error_with_the_reason(
    tmp_path: Path, files: dict[str, str], complaint: str
) -> None:
    """An invalid seed raises an error with the name of the file and the reason."""
    with pytest.raises(SeedError, match=complaint):
        read_seed(write_seed(tmp_path, files))


@pytest.mark.parametrize(
    ("text", "formula"),
    [("+44 1632 960000", None), ("+cmd|' /C calc'!A0", None), ("+x", None), ("+A1", "=+A1")],
)
def test_text_after_a_plus_is_not_a_formula_in_a_seed(
    build: BenchBuilder, text: str, formula: str | None
) -> None:
    """A phone number in a seed is text. Typed with USER_ENTERED, it is a formula error."""
    bench = build({"Data": f"1\n{text}\n"})
    cell = bench.client.get("/_emulator/spreadsheets/book").json()["Data"][1][0]

    assert (cell["formula"], cell["text"]) == (formula, "1" if formula else text)


@pytest.mark.parametrize(
    ("files", "path", "titles"),
    [
        pytest.param({"b.csv": "x", "A.CSV": "x", "notes.txt": ""}, ".", ["A", "b"], id="folder"),
        pytest.param({"A.csv": "x"}, "A.csv", ["A"], id="file"),
    ],
)
def test_one_folder_or_file_is_read_as_a_spreadsheet(
    tmp_path: Path, files: dict[str, str], path: str, titles: list[str]
) -> None:
    """Each .csv or .CSV file of a folder is a worksheet. Other files are ignored."""
    seed = read_spreadsheet(write_seed(tmp_path, files) / path, "book")

    assert [sheet.title for sheet in seed.workbooks["book"].sheets] == titles
    assert seed.notes == []


def test_spreadsheet_files_among_csv_files_are_noted(tmp_path: Path) -> None:
    """A warning names .xlsx, .tsv and other spreadsheet files in a folder that are not read."""
    names = ["A.csv", "B.xlsx", "C.TSV", "D.ods", "E.xls", "~$B.xlsx", ".F.xlsx", "notes.txt"]
    seed = read_spreadsheet(write_seed(tmp_path, dict.fromkeys(names, "x")), "book")

    assert seed.notes == [
        f"{tmp_path}: 4 files were not read: B.xlsx, C.TSV, D.ods and others. In a folder only "
        ".csv files are worksheets: save the files as .csv, or name an .xlsx file instead of the "
        "folder"
    ]


@pytest.mark.parametrize(
    ("files", "path", "complaint"),
    [
        pytest.param({}, "none.xlsx", "none.xlsx: no such file or folder", id="missing"),
        pytest.param({"a/notes.txt": ""}, "a", "a: there is no .csv file", id="empty folder"),
        pytest.param({"a.xls": ""}, "a.xls", "a.xls: this is not a .xlsx or", id="format"),
    ],
)
def test_a_path_that_is_not_a_spreadsheet_is_named(
    tmp_path: Path, files: dict[str, str], path: str, complaint: str
) -> None:
    """A missing path, a folder without .csv files or another format is an error with the path."""
    with pytest.raises(SeedError, match=complaint):
        read_spreadsheet(write_seed(tmp_path, files) / path, "book")


XLSX_FILE = xlsx(Tab(title="A", cells={"A1": text("x")}))
PROTECTED = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(504)


def archive(*names: str) -> bytes:
    """A ZIP archive that has empty files with these names."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as written:
        for name in names:
            written.writestr(name, "")
    return packed.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        pytest.param("A.xlsx", b"", "an empty file, not an .xlsx file: save", id="empty"),
        pytest.param("A.xlsx", b"a,b\n1,2\n", "a text file, perhaps CSV, .*rename it to", id="CSV"),
        pytest.param("A.xlsx", b"\xef\xbb\xbfa;b\n", "perhaps CSV.* rename it to .csv", id="BOM"),
        pytest.param("A.xlsx", b"\n<!DOCTYPE HTML><p>", "an HTML page, not an .xlsx", id="HTML"),
        pytest.param("A.xlsx", b"<table><tr>", "an HTML page, not an .xlsx file", id="table"),
        pytest.param("A.xlsx", b"<?xml version='1.0'?>", "an XML document, not", id="XML"),
        pytest.param("A.xlsx", PROTECTED, "an .xls file, or another old format", id="xls"),
        pytest.param(
            "A.xlsx",
            PROTECTED + "EncryptedPackage".encode("utf-16-le"),
            "the file is protected with a password: save it without a password",
            id="password",
        ),
        pytest.param(
            "A.xlsx", archive("mimetype", "content.xml"), "an OpenDocument file", id="ods"
        ),
        pytest.param("A.xlsx", archive("xl/workbook.bin"), "an .xlsb file, not an", id="xlsb"),
        pytest.param("A.xlsx", archive("a.txt"), "a ZIP archive, not an .xlsx file", id="zip"),
        pytest.param("A.xlsx", b"%PDF-1.7\n", "a PDF document, not an .xlsx file", id="PDF"),
        pytest.param("A.xlsx", b"GIF89a\0\1", "an image, not an .xlsx file", id="GIF"),
        pytest.param("A.xlsx", b"PAR1\x15\0", "a Parquet file, not an .xlsx", id="Parquet"),
        pytest.param("A.xlsx", b"{\\rtf1\\ansi", "an RTF document, not an .xlsx", id="RTF"),
        pytest.param("A.xlsx", b"\0\1\2", "a file of an unknown kind, not an", id="unknown"),
        pytest.param("A.xlsx", XLSX_FILE[:-80], "it cannot be read as .xlsx", id="cut"),
        pytest.param("A.csv", XLSX_FILE, "an .xlsx file, not a .csv file: rename it", id="xlsx"),
        pytest.param("A.csv", b"<html>", "an HTML page, not a .csv file: save", id="HTML as CSV"),
        pytest.param("A.csv", b"%PDF-1.7\n", "a PDF document, not a .csv file", id="PDF as CSV"),
        pytest.param("A.csv", b"a,b\0\1\n", "NUL characters, so it is not text", id="NUL"),
        pytest.param("A.ods", b"", "this is not a .xlsx or .csv file: save", id="name"),
        pytest.param(f"{'x' * 300}.csv", None, "File name too long", id="name too long"),
    ],
)
def test_a_file_of_another_format_gets_an_error_with_its_format(
    tmp_path: Path, name: str, content: bytes | None, words: str
) -> None:
    """The bytes show the format of a file. The error names the format and says what to do."""
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SeedError, match=words) as caught:
        read_spreadsheet(path, "book")

    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("header", ["PAR1", "GIF8", "%PDF", "{\\rtf", "<header>", "<metadata>"])
def test_a_csv_header_that_looks_like_a_signature_is_read(tmp_path: Path, header: str) -> None:
    """A CSV text that starts like a PDF or an image, but has no control bytes, is read."""
    seed = read_spreadsheet(write_seed(tmp_path, {"A.csv": f"{header},x\n"}) / "A.csv", "book")

    assert seed.workbooks["book"].sheets[0].content(0, 0) == header


def test_notes_name_the_file(tmp_path: Path) -> None:
    """Each warning about a guess starts with the path of the file."""
    write_seed(tmp_path, {"book/A.csv": "a,b\n1,2,3\n"})
    (tmp_path / "other.xlsx").write_bytes(
        xlsx(Tab(title="A", cells={"A1": formula("1+1", "")})),
    )
    notes = read_seed(tmp_path).notes

    assert [note.partition(": ")[0] for note in notes] == [
        f"{tmp_path}/book/A.csv",
        f"{tmp_path}/other.xlsx",
    ]


def test_hidden_files_are_ignored(tmp_path: Path) -> None:
    """Hidden files are ignored, except .csv files, whose titles can start with a dot."""
    files = {".gitignore": "", "book/.DS_Store": "", "book/.env.csv": "x\n", "shut.unshared": ""}
    seed = read_seed(write_seed(tmp_path, files))

    assert [sheet.title for sheet in seed.workbooks["book"].sheets] == [".env"]
    assert seed.unshared == {"shut"}


def test_seed_has_to_be_a_directory(tmp_path: Path) -> None:
    """A seed path that is not a directory raises an error."""
    with pytest.raises(SeedError, match="not a directory"):
        read_seed(tmp_path / "none")


def test_files_of_the_seed_are_never_written(build: BenchBuilder, tmp_path: Path) -> None:
    """Writes and a reset leave the files of the seed unchanged."""
    bench = build({"A": "x\n"})
    bench.append("A!A1", [["y"]])
    bench.client.post("/_emulator/reset")

    assert (tmp_path / "seed/book/A.csv").read_text() == "x\n"


OUTSIDE = "this links to a file outside the folder: copy the file here"
IRREGULAR = "this is a pipe or a device: name a regular file"


@pytest.mark.parametrize(
    ("link", "target", "complaint"),
    [
        pytest.param("book/Z.csv", "/dev/zero", OUTSIDE, id="device"),
        pytest.param("book/Z.csv", "../../secret.csv", OUTSIDE, id="file"),
        pytest.param("other", "../folder", OUTSIDE, id="folder"),
        pytest.param("other.xlsx", "/dev/zero", OUTSIDE, id="xlsx"),
    ],
)
def test_a_link_out_of_the_seed_is_not_followed(
    tmp_path: Path, link: str, target: str, complaint: str
) -> None:
    """A symbolic link to a path outside the seed raises an error with the name of the link."""
    write_seed(tmp_path, {"folder/A.csv": "x", "secret.csv": "x"})
    seed = write_seed(tmp_path / "seed", {"book/A.csv": "x"})
    (seed / link).symlink_to(target)

    with pytest.raises(SeedError, match=f"{link}: {complaint}"):
        read_seed(seed)


def test_a_link_out_of_a_folder_is_not_followed(tmp_path: Path) -> None:
    """A .csv link to a path outside the folder raises an error. Other links are ignored."""
    folder = write_seed(tmp_path / "folder", {"A.csv": "x"})
    (folder / "notes").symlink_to("/dev/zero")
    assert len(read_spreadsheet(folder, "book").workbooks["book"].sheets) == 1
    (folder / "Z.csv").symlink_to("/dev/zero")

    with pytest.raises(SeedError, match=rf"Z\.csv: {OUTSIDE}"):
        read_spreadsheet(folder, "book")


def test_a_link_within_the_seed_is_followed(tmp_path: Path) -> None:
    """A link to another file of the seed is read, because Kubernetes mounts files as links."""
    seed = write_seed(tmp_path, {".data/A.csv": "x", "book/B.csv": "y"})
    (seed / "book" / "A.csv").symlink_to("../.data/A.csv")

    assert [sheet.title for sheet in read_seed(seed).workbooks["book"].sheets] == ["A", "B"]


@pytest.mark.parametrize("name", ["A.csv", "A.xlsx"])
def test_a_pipe_is_an_error_at_once(tmp_path: Path, name: str) -> None:
    """A pipe, given as the path or found in a folder, raises an error at once."""
    os.mkfifo(tmp_path / name)

    with pytest.raises(SeedError, match=f"{name}: {IRREGULAR}"):
        read_spreadsheet(tmp_path / name, "book")
    if name == "A.csv":
        with pytest.raises(SeedError, match=f"{name}: {IRREGULAR}"):
            read_spreadsheet(tmp_path, "book")


def test_a_device_is_not_read(tmp_path: Path) -> None:
    """A path that is a link to a device raises an error, and the device is not read."""
    (tmp_path / "A.csv").symlink_to("/dev/zero")

    with pytest.raises(SeedError, match=rf"A\.csv: {IRREGULAR}"):
        read_spreadsheet(tmp_path / "A.csv", "book")


@pytest.mark.parametrize("name", ["A.csv", "A.xlsx"])
def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, name: str) -> None:
    """A file above the maximum size raises an error before the file is read."""
    with (tmp_path / name).open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)

    with pytest.raises(SeedError, match=f"{name}: a spreadsheet can have at most 104857600 bytes"):
        read_spreadsheet(tmp_path / name, "book")
