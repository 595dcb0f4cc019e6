"""Parsing of .csv files: encodings, separators and quotes."""

import re

import pytest

from sheets_emulator.grid.cell import whole
from sheets_emulator.state.seed_csv import CsvError, read_csv


def cells_of(content: bytes) -> list[list[object]]:
    """The values of the file's cells, by row."""
    return [[whole(cell).value for cell in row] for row in read_csv(content).rows]


SEPARATORS = [
    pytest.param('name,size\n"A, B",1\n', [["name", "size"], ["A, B", 1]], id="comma"),
    pytest.param("name;size\nA, B;1\n", [["name", "size"], ["A, B", 1]], id="semicolon"),
    pytest.param("name\tsize\nA, B\t1\n", [["name", "size"], ["A, B", 1]], id="tab"),
    pytest.param("name|size\nA, B|1\n", [["name", "size"], ["A, B", 1]], id="bar"),
    pytest.param("name\nA\n", [["name"], ["A"]], id="one column"),
    pytest.param("a;b\n", [["a", "b"]], id="header only"),
    pytest.param("", [], id="empty"),
    pytest.param("sep=;\na, b;c\n1;2\n", [["a, b", "c"], [1, 2]], id="sep= line"),
    pytest.param("SEP=,\r\na;b,c\r\n", [["a;b", "c"]], id="sep= line with a comma"),
    pytest.param('"sep=|"\na|b\n', [["a", "b"]], id="sep= line in quotes"),
    pytest.param("sep=^\na^b\n", [["a", "b"]], id="sep= line with another sign"),
    pytest.param(
        "name;city, state;n\nA;Austin;1\n",
        [["name", "city, state", "n"], ["A", "Austin", 1]],
        id="comma in the header",
    ),
    pytest.param(
        "name;city, state\nA;Austin, TX\n",
        [["name", "city, state"], ["A", "Austin, TX"]],
        id="comma in every line",
    ),
    pytest.param(
        'a;b\n"x\ny, z";2\n"1;2";3\n',
        [["a", "b"], ["x\ny, z", 2], ["1;2", 3]],
        id="line break in quotes",
    ),
    pytest.param("a;b;c\n1;2\n3\n4;5;6\n", [["a", "b", "c"], [1, 2], [3], [4, 5, 6]], id="ragged"),
    pytest.param(
        "Prices\n\nname;price\nA, B;1\n",
        [["Prices"], [], ["name", "price"], ["A, B", 1]],
        id="title above the header",
    ),
    pytest.param('"a, b";size\n"x, y";1\n', [["a, b", "size"], ["x, y", 1]], id="quoted"),
    pytest.param("a;b\n1,5;2\n", [["a", "b"], ["1,5", 2]], id="decimal comma"),
    pytest.param("Notes; more\nPlain text\n", [["Notes; more"], ["Plain text"]], id="text"),
    pytest.param("Text\nSo; then\nOr; else\n", [["Text"], ["So; then"], ["Or; else"]], id="prose"),
    pytest.param('a, b\nx, "y, z"\n', [["a", " b"], ["x", "y, z"]], id="blank before a quote"),
    pytest.param(
        'name,nick\nA, "Bob" Smith\nB,x\n',
        [["name", "nick"], ["A", ' "Bob" Smith'], ["B", "x"]],
        id="blank before a quote that ends within the cell",
    ),
    pytest.param(
        'a,b\nx, y\nz, "1, 2"\n', [["a", "b"], ["x", " y"], ["z", "1, 2"]], id="blank before text"
    ),
    pytest.param(
        'a,b\n"x, "", y", "z"\n',
        [["a", "b"], ['x, ", y', "z"]],
        id="blank before a quote in quotes",
    ),
    pytest.param('a,b\n1, "x\ny"\n', [["a", "b"], [1, "x\ny"]], id="blank before lines in quotes"),
    pytest.param(
        'a,b\n1, x\n2, "\n3, "\n',
        [["a", "b"], [1, " x"], [2, ' "'], [3, ' "']],
        id="ditto marks",
    ),
    pytest.param('a,b\n3" pipe,1\n', [["a", "b"], ['3" pipe', 1]], id="quote within a cell"),
    pytest.param('a,b\n"3"" pipe",1\n', [["a", "b"], ['3" pipe', 1]], id="doubled quote"),
    pytest.param("a,b\r1,2\r", [["a", "b"], [1, 2]], id="line breaks of old Macintoshes"),
]


@pytest.mark.parametrize(("text", "cells"), SEPARATORS)
def test_the_separator_is_detected(text: str, cells: list[list[object]]) -> None:
    """The separator is detected from the rows. Separators within quotes and texts split no cell."""
    assert cells_of(text.encode()) == cells


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"]
)
def test_the_encoding_is_detected(encoding: str) -> None:
    """UTF-8, UTF-16, UTF-32 and Windows-1252 are detected from the bytes of the file."""
    content = "name;Größe\nœuvre – „x“ l’été;5 €\n".encode(encoding)

    assert cells_of(content) == [["name", "Größe"], ["œuvre – „x“ l’été", "5 €"]]


def test_windows_1252_is_noted() -> None:
    """A file read as Windows-1252 gets a warning, because other encodings have the same bytes."""
    notes = read_csv("Größe\n".encode("cp1252")).notes

    assert notes == [
        "the text is not UTF-8 and was read as Windows-1252: check letters with accents, or save "
        "the file as CSV UTF-8"
    ]


@pytest.mark.parametrize(
    "text", ["Ångström ÄÖÜ", "Ångström «CAFÉ»", "søk ÆØÅ blåbær", "Pärnu jäääär", "garçon «ÉTÉ»"]
)
def test_rare_letter_sequences_of_windows_1252_are_read(text: str) -> None:
    """Letter sequences that are rare in Windows-1252 texts do not prevent detection."""
    assert cells_of(f"{text}\n".encode("cp1252")) == [[text]]


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("имя;город\n", "cp1251"),
        ("名前;都市\n", "shift-jis"),
        ("名字;城市\n", "gbk"),
        ("Grüße;Öl\n", "cp850"),
        ("Grüße;Öl\n", "mac-roman"),
        ("όνομα;πόλη\n", "cp1253"),
        ("имя;город\nПавел;COVIDом\n", "cp1251"),
        ("今天的天氣很好;我們一起去公園散步\n使用者名稱與密碼;台北市信義區\n", "big5"),
        ("이름;오늘은 날씨가 좋아서\n", "euc-kr"),
    ],
)
def test_other_encodings_are_rejected(text: str, encoding: str) -> None:
    """A file in another encoding raises an error and is not read with wrong letters."""
    with pytest.raises(CsvError, match="not clearly Windows-1252: save the file as CSV UTF-8"):
        read_csv(text.encode(encoding))


def test_damaged_utf_8_is_rejected() -> None:
    """A UTF-8 file with one wrong byte is not read as Windows-1252."""
    with pytest.raises(CsvError, match="not clearly Windows-1252"):
        read_csv("Größe;Höhe\n".encode() + b"\xff\n")


def test_utf_16_with_half_a_character_is_rejected() -> None:
    """A UTF-16 byte order mark followed by an odd number of bytes raises an error."""
    with pytest.raises(CsvError, match="save the file as CSV UTF-8"):
        read_csv(b"\xff\xfea\0b")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param('a,b\n1,2\n3,"x\n4,5\n', 3, id="to the end"),
        pytest.param('a,b\n1,"x\n2,"y"\n3,4\n', 2, id="to the next quote"),
        pytest.param('a,b\n"1\n2\n3",4\n5,"\n', 5, id="after line breaks in quotes"),
        pytest.param('a,b\n"1\n2","x\n3\n', 3, id="in the last line of a record"),
        pytest.param('sep=;\na;b\n1;"x\n', 3, id="after a sep= line"),
        pytest.param('a,b\n"x" y,1\n', 2, id="text after a quote"),
        pytest.param('"a,b\n1,2\n', 1, id="in the header"),
        pytest.param('a,b\n1,"x\n' + "2,3\n" * 50_000, 2, id="before many lines"),
    ],
)
def test_an_open_quote_is_reported_with_its_line(text: str, line: int) -> None:
    """A quote that is not closed raises an error with the line number."""
    with pytest.raises(CsvError, match=rf"^line {line}: a quote opens a cell and is not closed"):
        read_csv(text.encode())


@pytest.mark.parametrize("length", [50_001, 200_000])
def test_a_cell_that_is_too_long_is_reported_with_its_line(length: int) -> None:
    """A quoted cell of more than 50000 characters raises an error with the line number."""
    with pytest.raises(CsvError, match=r"^line 2: a cell has more than 50000 characters"):
        read_csv(f'a,b\n"{"x" * length}",1\n'.encode())


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("a,b\n1,2\n", []),
        ("a,b\n1,2,\n", []),
        (
            "a,b\nA,x, y\nB,z\n",
            ["rows with more cells than other rows: 1, the first is row 2. Enclose texts"],
        ),
        (
            "a;b,c\n1;2,y\n",
            ["cells were separated by semicolons, but commas are possible, too. To"],
        ),
        ("sep=;\na;b,c\n1;2,y\n", []),
    ],
    ids=["plain", "blank cell", "torn", "two fit", "named"],
)
def test_ambiguous_cells_and_separators_are_noted(text: str, notes: list[str]) -> None:
    """A warning reports rows with too many cells, and files that two separators fit."""
    found = read_csv(text.encode()).notes

    assert len(found) == len(notes)
    for note, words in zip(found, notes, strict=True):
        assert note.startswith(words)


@pytest.mark.parametrize(
    "text", ["00501", "+442079460000", "-007", "1234567890123456", "1E5", "12e3", "007.5"]
)
def test_numbers_that_lose_characters_are_noted(text: str) -> None:
    """Postcodes, phone numbers and codes that lose characters as numbers get a warning."""
    found = read_csv(f"n,code\nx,y\nz,{text}\n1,{text}\n".encode())

    assert found.notes == [
        "numbers that are displayed differently than in the file: 2, the first is in B3. Leading "
        "zeros, a +, exponents and digits after the 15th are lost. Write a ' before texts such as "
        "postcodes"
    ]


@pytest.mark.parametrize(
    "text", ["0", "0.5", "9.90", "'00501", "123456789012345", "+44 20", "1e999", "00:30", "+1-2"]
)
def test_other_numbers_and_texts_are_not_noted(text: str) -> None:
    """Texts, and numbers that lose at most a trailing zero, get no warning."""
    assert read_csv(f"n,code\nx,{text}\n".encode()).notes == []


@pytest.mark.parametrize("text", ["1,50", "-0,5", "2.000,75", "1,500"])
def test_decimal_commas_are_noted(text: str) -> None:
    """Decimal commas in a file with semicolons get a warning, because 1,500 is read as 1500."""
    found = read_csv(f"name;n\nx;{text}\ny;{text}\n".encode())

    assert found.notes == [
        "numbers with a comma: 2, the first is in B2. The comma is read as in the USA: 1,500 is "
        "1500, and 1,50 is a text. Write a decimal point"
    ]


@pytest.mark.parametrize("text", ["name;n\nx, y;1.5\n", "name\tn\nx\t1,500\n", 'n,m\n"1,500",2\n'])
def test_other_commas_are_not_noted(text: str) -> None:
    """Commas in texts, and in numbers of files without semicolons, get no warning."""
    assert read_csv(text.encode()).notes == []


def test_one_long_line_is_reported_with_its_number() -> None:
    """A line that makes a grid of more than 10,000,000 cells is an error with the line number."""
    text = "a,b\n" * 2000 + "," * 5000 + "\n"

    with pytest.raises(CsvError, match=re.escape("line 2001 has 5001 cells and there are 2001")):
        read_csv(text.encode())


def test_a_line_with_too_many_cells_is_rejected() -> None:
    """A line with more than 18278 cells, Google's maximum (column ZZZ), raises an error."""
    with pytest.raises(CsvError, match="line 2 has 18279 cells, but a row can have at most 18278"):
        read_csv(b"a,b\n" + b"," * 18_278 + b"\n")


def test_blank_lines_count_as_rows() -> None:
    """Blank lines count as rows of the grid, so 10,000,001 blank lines raise an error."""
    with pytest.raises(CsvError, match="the file has more than 10000000 lines: delete some"):
        read_csv(b"\n" * 10_000_001)
