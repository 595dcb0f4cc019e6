"""Small spreadsheet files with quirks of many programs, and a program that reads them."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from sheets_emulator.grid.cell import whole
from sheets_emulator.state.seed import SeedError, read_spreadsheet
from tests.peak_memory import peak_kib
from tests.sheets_emulator.xlsx import (
    FORMATS,
    Tab,
    error,
    formula,
    number,
    text,
    with_rows,
    xlsx,
)

ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252")
LINE_BREAKS = {"unix": "\n", "windows": "\r\n", "mac": "\r"}
SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
ERRORS = ("#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#GETTING_DATA")
STRAYS = (
    *("XFD1048576", "XFD5000", "XFD700", "ZZ20000", "ZZZ600", "J1048576", "Z400000", "CV100001"),
    *("K1000000", "XFD9999", "AAA14300", "BZ200000", "AB500000", "XEZ1048000", "NTP1048576"),
)
"""References of cells that make a grid of more than 10,000,000 cells."""
BLANKS = (
    '<c r="{}" s="1"/>',
    '<c r="{}" s="1"></c>',
    '<c r="{}" s="1" t="str"><v></v></c>',
    '<c r="{}" t="inlineStr"><is><t></t></is></c>',
)
OTHER_KINDS: Mapping[str, tuple[bytes, str]] = {
    "empty.xlsx": (b"", "an empty file"),
    "csv.xlsx": (b"name,size\nA,1\n", "rename it to .csv"),
    "html.xlsx": (b"<!DOCTYPE html><table><tr><td>x", "an HTML page"),
    "old.xlsx": (bytes.fromhex("d0cf11e0a1b11ae1") * 64, "an .xls file"),
    "pdf.xlsx": (b"%PDF-1.7\n%\xe2\xe3", "a PDF document"),
    "cut.xlsx": (xlsx(Tab(title="A"))[:-40], "cannot be read as .xlsx"),
    "xlsx.csv": (xlsx(Tab(title="A")), "rename it to .xlsx"),
    "html.csv": (b"<html><body>Sign in", "an HTML page"),
    "binary.csv": (b"a,b\0\1\n", "NUL characters"),
    "cyrillic.csv": ("имя,город\n".encode("cp1251"), "not clearly Windows-1252"),
    "dos.csv": ("Größe,Höhe\n".encode("cp850"), "not clearly Windows-1252"),
    "half.csv": (b"\xff\xfea\0b", "save the file as CSV UTF-8"),
}

Cells = Sequence[Sequence[object]]


@dataclass(frozen=True, kw_only=True)
class Quirk:
    """A file, with the cells of the first worksheet or with words of the expected error."""

    name: str
    content: bytes
    cells: Cells = ()
    error: str | None = None


def quirks() -> Iterator[Quirk]:
    yield from _texts()
    yield from _open_quotes()
    yield from _values()
    yield from _formats_without_values()
    yield from _strays()
    for name, (content, words) in OTHER_KINDS.items():
        yield Quirk(name=name, content=content, error=words)


def _texts() -> Iterator[Quirk]:
    """CSV files with quotes, ragged lines and separators within texts, in each encoding."""
    for name, encoding, end in product(SEPARATORS, ENCODINGS, LINE_BREAKS):
        yield _text(f"{name} {encoding} {end}.csv", SEPARATORS[name], LINE_BREAKS[end], encoding)
    for name, encoding in product(SEPARATORS, ENCODINGS):
        yield _text(f"named {name} {encoding}.csv", SEPARATORS[name], "\n", encoding, has_name=True)


def _text(name: str, separator: str, end: str, encoding: str, *, has_name: bool = False) -> Quirk:
    others = "".join(each for each in SEPARATORS.values() if each not in (separator, "\t"))
    records = [
        ["name", f"city{others} state", "Größe"],
        [f'"x{separator}y"', f'"two{end}lines"', "1"],
        ['"say ""hi"""', "A"],
        ["short"],
        ["é", f"p{others}q", "2"],
    ]
    lines = [f"sep={separator}"] if has_name else []
    lines += [separator.join(record) for record in records]
    cells: Cells = [
        ["name", f"city{others} state", "Größe"],
        [f"x{separator}y", f"two{end}lines", 1],
        ['say "hi"', "A"],
        ["short"],
        ["é", f"p{others}q", 2],
    ]
    content = "".join(f"{line}{end}" for line in lines).encode(encoding)
    return Quirk(name=name, content=content, cells=cells)


def _open_quotes() -> Iterator[Quirk]:
    for (name, separator), line in product(SEPARATORS.items(), (2, 5, 50, 90)):
        lines = [f"a{separator}b", *[f"1{separator}2"] * 100]
        lines[line - 1] = f'1{separator}"x'
        content = "\n".join(lines).encode()
        yield Quirk(name=f"open {name} {line}.csv", content=content, error=f"line {line}: a quote")


def _values() -> Iterator[Quirk]:
    """XLSX files with errors, formulas without a result, and number formats."""
    for at, words in enumerate(ERRORS):
        computed = f't="e"><f>1/0</f><v>{words}</v></c>'
        for name, cell in (("error", error(words)), ("result", computed)):
            content = xlsx(Tab(title="A", cells={"A1": text("x"), "A2": cell}))
            yield Quirk(name=f"{name} {at}.xlsx", content=content, cells=[["x"], [words]])
    for count in range(1, 10):
        cells = {"A1": text("x")} | {f"A{row + 2}": formula("A1", "") for row in range(count)}
        yield Quirk(
            name=f"{count} formulas.xlsx",
            content=xlsx(Tab(title="A", cells=cells)),
            cells=[["x"], *[[None]] * count],
        )
    for at, code in enumerate(FORMATS):
        cells = {"A1": text("x"), "A2": number("43831.5", code)}
        yield Quirk(
            name=f"format {at}.xlsx",
            content=xlsx(Tab(title="A", cells=cells)),
            cells=[["x"], [43831.5]],
        )


def _formats_without_values() -> Iterator[Quirk]:
    """Whole columns and rows with a format but no value, to the last row of Excel."""
    first = '<row r="1"><c r="A1"><v>1</v></c></row>'
    for step in range(1, 21):
        rows = "".join(
            f'<row r="{row}" s="1" customFormat="1"><c r="B{row}" s="1"/></row>'
            for row in range(1_048_576 - 10_000 * step, 1_048_577, step)
        )
        yield Quirk(name=f"styles {step}.xlsx", content=with_rows(first + rows), cells=[[1]])


def _strays() -> Iterator[Quirk]:
    for place in STRAYS:
        cells = {"A1": text("x"), "B1": text("y"), place: number("1")}
        content = xlsx(Tab(title="A", cells=cells))
        yield Quirk(
            name=f"{place}.xlsx", content=content, error=f"the worksheet A has a cell at {place}"
        )
    for place, (at, blank) in product(("XFD1048576", "XFD5000", "A1048576"), enumerate(BLANKS)):
        rows = f'<row r="1"><c r="A1"><v>1</v></c></row><row>{blank.format(place)}</row>'
        yield Quirk(name=f"blank {at} {place}.xlsx", content=with_rows(rows), cells=[[1]])


def main(folder: Path) -> None:
    """Print a JSON line for each file of a folder, and the peak memory in KiB at the end."""
    for path in sorted(folder.iterdir()):
        found: dict[str, object] = {"name": path.name}
        try:
            (sheet,) = read_spreadsheet(path, "book").workbooks["book"].sheets
            found["cells"] = [[whole(cell).value for cell in row] for row in sheet.rows]
        except SeedError as error:
            found["error"] = str(error)
        print(json.dumps(found))
    print(peak_kib())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
