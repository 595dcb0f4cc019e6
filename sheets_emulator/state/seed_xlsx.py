"""Spreadsheets from .xlsx files, converted like Google's import.

Rules:
- Texts stay texts. A formula becomes its last result, and an error cell becomes the text of the
  error (`#N/A`).
- A formula without a result, as some libraries write it, becomes a blank cell, and a note counts
  such formulas. Another note counts results that the file marks as outdated, because XlsxWriter
  stores 0 as each result.
- Number formats stay. Numbers in an unknown format are displayed as plain numbers, and a note names
  the format.
- The grid starts at A1 and ends at the last cell with a value or a formula. `<dimension>` and
  formats do not make the grid larger.
- Hidden worksheets stay hidden. Charts are left out.
- One cell far away would create billions of blank cells, so the size of the grid is checked before
  cells are created. Equal contents are one object, because small files can have many equal cells.
- calamine and other readers create all cells up to the last one. These readers also drop errors and
  formats, and do not show whether a formula has a result. So this module reads the XML.
"""

import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from itertools import repeat

from sheets_emulator.formats.number_kind import kind_of
from sheets_emulator.formats.pattern import written
from sheets_emulator.formats.serial import EPOCH, from_moment
from sheets_emulator.grid.a1 import print_title
from sheets_emulator.grid.box import column_index, column_name
from sheets_emulator.grid.cell import MAX_TEXT_LENGTH, Cell, CellValue, Content, bare, number_format
from sheets_emulator.grid.sheet import Row, Sheet
from sheets_emulator.grid.workbook import MAX_CELLS, MAX_COLUMNS
from sheets_emulator.reply import Json
from sheets_emulator.state.xlsx_package import (
    SAVE_AGAIN,
    Attributes,
    Package,
    XlsxError,
    open_package,
    part_of,
    shortened,
)

TEXT_BYTES, TEXT_RATIO = 2**26, 20
"""Maximum bytes of texts in memory: a base value, and a multiple of the file's size."""
MAX_SHEETS = 1000
MAX_STYLES = 65_536
MAX_FORMATS = 4096
MAX_REMEMBERED = 65_536
NAMED_FORMATS = 3
DAYS_1904 = 1462
"""Days from Excel's usual first day to the first day of files that count dates from 1904."""
LEAP_DAY_1900 = 60
"""Serial number of 29 February 1900 in Excel. Smaller serial numbers are one day off."""
DATES = ("DATE", "DATE_TIME")
TIMES = (*DATES, "TIME")
REFERENCE_BYTES = 8

BUILT_IN: Mapping[int, str] = {
    1: "0",
    2: "0.00",
    3: "#,##0",
    4: "#,##0.00",
    9: "0%",
    10: "0.00%",
    11: "0.00E+00",
    12: "# ?/?",
    13: "# ??/??",
    14: "m/d/yyyy",
    15: "d-mmm-yy",
    16: "d-mmm",
    17: "mmm-yy",
    18: "h:mm am/pm",
    19: "h:mm:ss am/pm",
    20: "h:mm",
    21: "h:mm:ss",
    22: "m/d/yyyy h:mm",
    37: "#,##0;(#,##0)",
    38: "#,##0;(#,##0)",
    39: "#,##0.00;(#,##0.00)",
    40: "#,##0.00;(#,##0.00)",
    41: "#,##0",
    42: "#,##0",
    43: "#,##0.00",
    44: "#,##0.00",
    45: "mm:ss",
    46: "[h]:mm:ss",
    47: "mm:ss.0",
    48: "##0.0E+0",
    49: "@",
    **dict.fromkeys((*range(27, 37), *range(50, 59)), "yyyy-mm-dd"),  # dates in East Asia
}
"""Built-in number formats by the number in the file (ECMA-376, part 1, 18.8.30)."""

COMPUTE = "Open the file in a spreadsheet program and save it, to store the results"
NO_PLACE = f"it cannot be read as .xlsx: a cell has no valid reference. {SAVE_AGAIN}"
BLANKS = " \t\r\n"
PLACE = re.compile(r"([A-Z]{1,3})([1-9][0-9]{0,6})", re.ASCII)
TIME_ONLY = re.compile(r"T?\d\d:", re.ASCII)
ESCAPED = re.compile(r"_x(?![Dd][89A-Fa-f])([0-9A-Fa-f]{4})_")
"""Pattern of an escaped character, such as `_x000D_`, but not of a lone surrogate."""


@dataclass(frozen=True, kw_only=True)
class Xlsx:
    """Worksheets of a file. `notes` are messages about differences from the file."""

    sheets: list[Sheet]
    notes: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Tab:
    """A sheet in the workbook's list. `relation` is the ID of the relation to its part."""

    title: str
    relation: str
    is_hidden: bool


@dataclass(frozen=True, kw_only=True)
class Style:
    """Number format of cells. A `format` of None is the automatic format.

    `kind` is Google's NumberFormatType. `unknown` is a format of the file that the emulator cannot
    display.
    """

    format: Json | None = None
    kind: str = ""
    unknown: str | None = None


AUTOMATIC = Style()


def read_xlsx(content: bytes) -> Xlsx:
    """Read the worksheets of an .xlsx file, in order.

    Raises XlsxError if the file cannot be read.
    """
    with open_package(content) as package:
        book = part_of(package.relations(""), "officeDocument") or "/xl/workbook.xml"
        tabs, is_1904, is_uncomputed = _tabs(package, book)
        relations = package.relations(book)
        if tabs and not relations:
            raise XlsxError(
                f"it cannot be read as .xlsx: the data of its worksheets is missing. {SAVE_AGAIN}"
            )
        contents = Contents(
            styles=_styles(package, part_of(relations, "styles")),
            is_1904=is_1904,
            is_uncomputed=is_uncomputed,
            text_bytes=TEXT_BYTES + TEXT_RATIO * len(content),
        )
        _read_shared(package, part_of(relations, "sharedStrings"), contents)
        sheets: list[Sheet] = []
        left = MAX_CELLS
        for tab in tabs:
            kind, part = relations.get(tab.relation, ("", ""))
            if kind == "worksheet":
                reader = SheetReader(tab.title, contents, left)
                package.parse(part, reader.start, reader.end, reader.text)
                sheets.append(reader.sheet(len(sheets), is_hidden=tab.is_hidden))
                left -= sheets[-1].cell_count
        return Xlsx(sheets=sheets, notes=list(contents.notes()))


def _tabs(package: Package, book: str) -> tuple[list[Tab], bool, bool]:
    """Return the sheets of a workbook, and two flags.

    The flags are True if dates count from 1904, and if results of formulas are outdated.
    """
    tabs: list[Tab] = []
    is_1904 = is_uncomputed = False

    def start(name: str, attributes: Attributes) -> None:
        nonlocal is_1904, is_uncomputed
        if name == "workbookPr":
            is_1904 = attributes.get("date1904") in ("1", "true")
        elif name == "calcPr":
            is_uncomputed = attributes.get("fullCalcOnLoad") in ("1", "true")
        elif name == "sheet":
            ids = (value for key, value in attributes.items() if key.endswith(":id"))
            tab = Tab(
                title=attributes.get("name", ""),
                relation=next(ids, ""),
                is_hidden=attributes.get("state", "visible") != "visible",
            )
            tabs.append(tab)
            if len(tabs) > MAX_SHEETS:
                raise XlsxError(f"the file has more than {MAX_SHEETS} worksheets: delete some.")

    package.parse(book, start)
    return tabs, is_1904, is_uncomputed


def _styles(package: Package, part: str | None) -> list[Style]:
    """Return the number formats. Cells refer to a format by index."""
    codes: dict[str, str] = {str(number): code for number, code in BUILT_IN.items()}
    numbers: list[str] = []
    is_inside = False

    def start(name: str, attributes: Attributes) -> None:
        nonlocal is_inside
        if name == "numFmt" and not numbers and len(codes) < MAX_STYLES:
            codes[attributes.get("numFmtId", "")] = attributes.get("formatCode", "")
        elif name == "cellXfs":
            is_inside = True
        elif name == "xf" and is_inside and len(numbers) < MAX_STYLES:
            numbers.append(attributes.get("numFmtId", ""))

    def end(name: str) -> None:
        nonlocal is_inside
        is_inside = is_inside and name != "cellXfs"

    if part is not None:
        package.parse(part, start, end)
    used = [codes.get(number, "") for number in numbers]
    distinct = set(used)
    if len(distinct) > MAX_FORMATS:
        raise XlsxError(f"the file has more than {MAX_FORMATS} number formats: delete some.")
    made = {code: _style(code) for code in distinct}
    return [made[code] for code in used]


def _style(code: str) -> Style:
    if code.casefold() in ("", "general"):
        return AUTOMATIC
    if code == "@":
        return Style(format=number_format("TEXT", code))
    is_known = any(written(number, code) is not None for number in (1.0, 0.0, -1.0))
    kind = kind_of(code)
    return Style(format=number_format(kind, code), kind=kind, unknown=None if is_known else code)


def _read_shared(package: Package, part: str | None, contents: "Contents") -> None:
    """Read the shared texts into `contents.shared`. Cells refer to a text by index."""
    text = TextReader()

    def end(name: str) -> None:
        text.end(name)
        if name == "si":
            contents.shared.append(contents.text(text.take()))

    if part is not None:
        package.parse(part, text.start, end, text.text)


class TextReader:
    """Reader of a cell's text from its `<t>` elements, or from `<v>`. Pronunciation is left out.

    Blanks around the text of a `<t>` count only with `xml:space="preserve"`, as in Excel.
    """

    def __init__(self) -> None:
        self._value = ""
        self._texts: list[str] = []
        self._pieces: list[str] = []
        self._length = 0
        self._is_open = self._is_pronunciation = self._is_trimmed = False

    def start(self, name: str, attributes: Attributes) -> None:
        if name in ("v", "t"):
            self._is_open = not self._is_pronunciation
            self._is_trimmed = name == "t" and attributes.get("xml:space") != "preserve"
        elif name == "rPh":
            self._is_pronunciation = True

    def end(self, name: str) -> None:
        if name in ("v", "t"):
            text = "".join(self._pieces)
            self._pieces.clear()
            if name == "v":
                self._value = text
            else:
                self._texts.append(text.strip(BLANKS) if self._is_trimmed else text)
            self._is_open = False
        elif name == "rPh":
            self._is_pronunciation = False

    def text(self, text: str) -> None:
        if self._is_open:
            self._pieces.append(text)
            self._length += len(text)
            if self._length > MAX_TEXT_LENGTH:
                raise XlsxError(
                    f"a cell has more than {MAX_TEXT_LENGTH} characters: shorten the text."
                )

    def take(self) -> str:
        """Return the text that was read since the last call."""
        text = "".join(self._texts) or self._value
        self._value, self._length = "", 0
        self._texts.clear()
        return text


class Contents:
    """Factory of cell contents. Equal contents are one object."""

    def __init__(
        self, *, styles: Sequence[Style], is_1904: bool, is_uncomputed: bool, text_bytes: int
    ) -> None:
        self.shared: list[str] = []
        self.is_uncomputed = is_uncomputed
        self._styles = styles
        self._first_day = DAYS_1904 if is_1904 else 0
        self._text_bytes = text_bytes
        self._texts: dict[str, str] = {}
        self._remembered: dict[tuple[str, str, str], Content] = {}
        self._unknown: dict[str, None] = {}
        self._blank_formulas = self._uncomputed = 0
        self._first_blank_formula = self._first_uncomputed = ""

    def text(self, text: str) -> str:
        """Return the text without escapes.

        Equal texts are one object. Raises XlsxError above the limit.
        """
        if text not in self._texts:
            self._texts[text] = ESCAPED.sub(_unescaped, text) if "_x" in text else text
            self._text_bytes -= sys.getsizeof(text)
        self._text_bytes -= REFERENCE_BYTES
        if self._text_bytes < 0:
            raise XlsxError("the file has too many texts: split it into several files.")
        return self._texts[text]

    def of(self, kind: str, style: str, text: str) -> Content:
        """Return the content of a cell with this type, style number and text."""
        key = kind, style, text
        if key not in self._remembered:
            if len(self._remembered) == MAX_REMEMBERED:
                self._remembered.clear()
            self._remembered[key] = self._new(kind, style, text)
        return self._remembered[key]

    def note_blank_formula(self, place: str) -> None:
        self._blank_formulas += 1
        self._first_blank_formula = self._first_blank_formula or place

    def note_uncomputed(self, place: str) -> None:
        self._uncomputed += 1
        self._first_uncomputed = self._first_uncomputed or place

    def notes(self) -> Iterator[str]:
        """Yield messages about differences from the file."""
        if self._blank_formulas:
            is_one = self._blank_formulas == 1
            yield (
                f"{self._blank_formulas} formula{'' if is_one else 's'} without a stored result "
                f"{'is' if is_one else 'are'} blank, the first in {self._first_blank_formula}. "
                f"{COMPUTE}"
            )
        if self._uncomputed:
            have = "formula has a result" if self._uncomputed == 1 else "formulas have results"
            yield (
                f"{self._uncomputed} {have} that the file marks as outdated, the first in "
                f"{self._first_uncomputed}: values can be wrong. {COMPUTE}"
            )
        if self._unknown:
            some = ", ".join(repr(shortened(code)) for code in list(self._unknown)[:NAMED_FORMATS])
            more = len(self._unknown) - NAMED_FORMATS
            yield (
                f"numbers with the format {some}{f' and {more} more' if more > 0 else ''} are "
                "displayed as plain numbers, because the format is unknown"
            )

    def _new(self, kind: str, style_number: str, text: str) -> Content:
        number = int(style_number)
        style = self._styles[number] if 0 <= number < len(self._styles) else AUTOMATIC
        value = VALUES[kind](text) if text else None
        if isinstance(value, int) and kind == "s":
            value = self.shared[value]
        elif isinstance(value, datetime):
            value = from_moment(value)
            style = style if style.kind in TIMES else _iso_style(text)
        elif isinstance(value, float):
            value = self._serial(value) if style.kind in DATES else value
            if style.unknown is not None:
                self._unknown[style.unknown] = None
        elif isinstance(value, str):
            value = self.text(value)
        return None if value in (None, "") else bare(Cell(value=value, format=style.format))

    def _serial(self, number: float) -> float:
        """Convert a serial number of the file to Google's serial number."""
        if self._first_day:
            return number + self._first_day
        return number + 1 if 0 <= number < LEAP_DAY_1900 else number


class SheetReader:
    """Reader of a worksheet's cells, for a grid of at most `max_cells`."""

    def __init__(self, title: str, contents: Contents, max_cells: int) -> None:
        self._title = title
        self._printed_title = print_title(shortened(title))
        self._contents = contents
        self._max_cells = max_cells
        self._rows: list[Row] = []
        self._open_row: list[Content] = []
        """Cells of the current row, which move to `_rows` or `_reopened` at the end of the row."""
        self._open_at = 0
        self._reopened: dict[int, list[Content]] = {}
        """Rows that the file has several times.

        Lists are fast for hostile files that repeat rows often.
        """
        self._height = self._width = 0
        self._lowest = self._rightmost = ""
        self._row = self._column = -1
        self._reference: str | None = None
        """Reference of the last cell in the file, such as `B2`.

        None after the reference was parsed.
        """
        self._cell: Attributes | None = None
        self._text = TextReader()
        self._has_formula = False
        self._is_inside = self._is_extension = False
        """True within `<sheetData>`, and within an `<extLst>` there, whose cells are ignored."""

    def start(self, name: str, attributes: Attributes) -> None:
        if not self._is_inside:
            self._is_inside = name == "sheetData"
        elif self._is_extension or name == "extLst":
            self._is_extension = True
        elif self._cell is not None:
            self._has_formula = self._has_formula or name == "f"
            self._text.start(name, attributes)
        elif name == "c":
            self._cell = attributes
            reference = attributes.get("r")
            if reference is None:
                self._locate()
                self._column += 1
            else:
                self._reference = reference
        elif name == "row":
            given = attributes.get("r")
            self._row = self._row + 1 if given is None else int(given) - 1
            self._column, self._reference = -1, None

    def end(self, name: str) -> None:
        if name == "sheetData":
            self._is_inside = False
        elif name == "extLst":
            self._is_extension = False
        if self._cell is None or self._is_extension:
            return
        if name != "c":
            self._text.end(name)
            return
        kind = self._cell.get("t", "n")
        text = self._text.take()
        if text or self._has_formula:
            self._locate()
            if not text and kind != "str":
                self._contents.note_blank_formula(self._print_place())
            elif self._has_formula and self._contents.is_uncomputed:
                self._contents.note_uncomputed(self._print_place())
            content = self._contents.of(kind, self._cell.get("s") or "0", text)
            if content is not None or self._has_formula:
                self._put(content)
        self._cell, self._has_formula = None, False

    def text(self, text: str) -> None:
        self._text.text(text)

    def sheet(self, sheet_id: int, *, is_hidden: bool) -> Sheet:
        """Return the worksheet. Call `sheet` after the whole part was parsed."""
        self._close_row()
        for row, cells in self._reopened.items():
            self._rows[row] = tuple(cells)
        return Sheet(
            sheet_id=sheet_id,
            title=self._title,
            row_count=max(self._height, 1),
            column_count=max(self._width, 1),
            hidden=is_hidden,
            rows=self._rows,
        )

    def _locate(self) -> None:
        """Set row and column of the last cell from its reference."""
        if self._reference is not None:
            match = PLACE.fullmatch(self._reference)
            if match is None:
                raise XlsxError(NO_PLACE)
            self._row, self._column = int(match[2]) - 1, column_index(match[1])
            self._reference = None

    def _put(self, content: Content) -> None:
        self._make_room()
        if self._row != self._open_at:
            self._close_row()
            self._open_at = self._row
            self._open_row = self._reopen() if self._row < len(self._rows) else []
        missing = self._column - len(self._open_row)
        if missing >= 0:
            self._open_row.extend(repeat(None, missing))
            self._open_row.append(content)
        else:
            self._open_row[self._column] = content

    def _make_room(self) -> None:
        """Extend the grid to the current cell. Raises XlsxError if the grid becomes too large."""
        if 0 <= self._row < self._height and self._column < self._width:
            return
        if self._row < 0:
            raise XlsxError(NO_PLACE)
        if self._column >= MAX_COLUMNS:
            raise XlsxError(
                f"the worksheet {self._printed_title} has more than {MAX_COLUMNS} columns: delete "
                "the cells far from the others."
            )
        place = f"{column_name(self._column)}{self._row + 1}"
        if self._row >= self._height:
            self._height, self._lowest = self._row + 1, place
        if self._column >= self._width:
            self._width, self._rightmost = self._column + 1, place
        if self._height * self._width > self._max_cells:
            places = " and ".join(dict.fromkeys((self._rightmost, self._lowest)))
            raise XlsxError(
                f"the worksheet {self._printed_title} has a cell at {places}, so that it "
                f"extends to row {self._height} and column {self._width}. A spreadsheet can have "
                f"at most {MAX_CELLS} cells: delete the cells far from the others."
            )

    def _reopen(self) -> list[Content]:
        if self._row not in self._reopened:
            self._reopened[self._row] = list(self._rows[self._row])
        return self._reopened[self._row]

    def _close_row(self) -> None:
        if self._open_row and self._open_at >= len(self._rows):
            self._rows.extend(repeat((), self._open_at + 1 - len(self._rows)))
            self._rows[self._open_at] = tuple(self._open_row)
        self._open_row = []

    def _print_place(self) -> str:
        return f"{self._printed_title}!{column_name(self._column)}{self._row + 1}"


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1], 16))


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise XlsxError(f"a cell has the number {number}. {SAVE_AGAIN}")
    return number


def _moment(text: str) -> datetime | str:
    """Parse a date or time in ISO 8601. Other texts are returned unchanged."""
    try:
        if TIME_ONLY.match(text):
            return datetime.combine(EPOCH, time.fromisoformat(text)).replace(tzinfo=None)
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        return text


def _iso_style(text: str) -> Style:
    """Return the style of a date or time in ISO 8601 without its own format."""
    if TIME_ONLY.match(text):
        return _style("h:mm:ss")
    return _style("yyyy-mm-dd h:mm:ss" if "T" in text else "yyyy-mm-dd")


def _place_in_list(text: str) -> int:
    number = int(text)
    if number < 0:
        raise LookupError(number)
    return number


VALUES: Mapping[str, Callable[[str], CellValue | datetime]] = {
    "n": _number,
    "s": _place_in_list,
    "str": str,
    "inlineStr": str,
    "b": lambda text: text.strip() in ("1", "true"),
    "e": str,
    "d": _moment,
}
"""Functions that parse a cell's text, by the cell's type. The text of type "s" is an index."""
