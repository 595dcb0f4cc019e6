"""Rows of .csv files, as programs of all countries write them.

Rules:
- The content decides the encoding: a byte order mark, UTF-16 by its NUL bytes, or UTF-8. Other
  content is Windows-1252 if its letters and signs are likelier than in other encodings, and a note
  says so. Any other file is an error.
- A first line `sep=;` names the separator. Otherwise the separator is `,`, `;`, TAB or `|`: the one
  that divides most of the first records into the same number of cells. If two separators fit
  equally well, a note names them.
- Separators and line breaks in quotes belong to the cell. A quote that is not closed is an error
  with its line number, because everything up to the next quote would be one cell. Blanks before a
  cell in quotes are dropped. All other blanks stay.
- Cells are parsed as if a person typed them. But a text that starts with `+` and is not a supported
  formula stays a text, such as a phone number with blanks. A note counts numbers that are perhaps
  codes, such as `00501`.
"""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from sheets_emulator.formulas.formula import parse
from sheets_emulator.formulas.result import CellError
from sheets_emulator.grid.box import column_name
from sheets_emulator.grid.cell import MAX_TEXT_LENGTH, Content, bare
from sheets_emulator.grid.entered import stored, typed
from sheets_emulator.grid.sheet import Row
from sheets_emulator.grid.workbook import MAX_CELLS, MAX_COLUMNS

SEPARATORS: Mapping[str, str] = {";": "semicolons", ",": "commas", "\t": "tabs", "|": "bars"}
"""Names of separators. If two separators fit equally well, the first one in this list is used."""
LOOKED_AT = 100
"""Number of records from which the separator is found."""
SEP_LINE = re.compile(r'"?sep=([^"\r\n])"?(?:\r\n|\r|\n|\Z)', re.IGNORECASE)
TOO_LONG = f"a cell has more than {MAX_TEXT_LENGTH} characters: shorten the text."
PAST_READER = "field larger than field limit"
"""Start of the error message of Python's csv module for a text that is too long."""
BYTE_ORDER_MARKS: Mapping[bytes, str] = {  # UTF-32 first: it starts like UTF-16
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
NOT_WESTERN = re.compile(
    rb"(?<=[A-Za-z])[\x80\x82\x84\x85\x91\x93-\x95\x99](?=[A-Za-z])"  # signs within words
    rb"|[\x81\x83\x86-\x8b\x8d-\x90\x98\x9a\x9b\x9d-\x9f]"  # rare letters; letters in other codes
    rb"|[\0-\x08\x0e-\x1f]"
)
"""Pattern of bytes that show another encoding: DOS, Macintosh or East Asian."""
HARDLY_WESTERN = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}"  # UTF-8, damaged elsewhere
    rb"|[\xc0-\xff]{3,}"  # Cyrillic, Greek or East Asian words
)
"""Pattern of bytes that are frequent in other encodings, and rare in Windows-1252 (`É»`, `ÆØÅ`)."""
WESTERN = re.compile(rb"(?<=[A-Za-z])[\xc0-\xff](?![\x80-\xff])|[\xc0-\xff](?=[A-Za-z])")
"""Pattern of an accented letter next to a letter from A to Z, which is rare in other encodings."""


CODE = re.compile(r"-?0\d[\d.]*|\+\d+|-?\d{16,}|\d+[Ee][+-]?\d+")
"""Pattern of codes whose digits a number would change, such as postcodes and phone numbers."""
COMMA_NUMBER = re.compile(r"[+-]?\d[\d.]*,\d+")
"""Pattern of a number with a decimal comma, as in files with semicolons as separators."""
CODES = (
    "numbers that are displayed differently than in the file: {count}, the first is in {first}. "
    "Leading zeros, a +, exponents and digits after the 15th are lost. Write a ' before texts such "
    "as postcodes"
)
COMMAS = (
    "numbers with a comma: {count}, the first is in {first}. The comma is read as in the USA: "
    "1,500 is 1500, and 1,50 is a text. Write a decimal point"
)


class CsvError(Exception):
    """The file cannot be read. The message has the reason, without the file name."""


@dataclass(frozen=True, kw_only=True)
class Csv:
    """Rows of a file. `notes` are messages about guesses, and about data that looks wrong."""

    rows: list[Row]
    notes: Sequence[str]


def read_csv(content: bytes) -> Csv:
    """Read the rows of a .csv file. Raises CsvError if the file cannot be read."""
    notes: list[str] = []
    text = _decoded(content, notes)
    named = SEP_LINE.match(text)
    first_line = 1
    if named is not None:
        first_line, text = 2, text[named.end() :]
    separator = named[1] if named is not None else _separator(text, notes)
    lines = _lines(text, separator, first_line)
    if any(map(_has_late_quote, lines)):
        lines = _lines(_without_late_quotes(text, separator), separator, first_line)
    _note_wide_lines(lines, separator, notes)
    rows = [tuple(map(_content, cells)) for cells in lines]
    _note_numbers(lines, rows, separator, notes)
    return Csv(rows=rows, notes=notes)


def _decoded(content: bytes, notes: list[str]) -> str:
    try:
        text = content.decode(_unicode(content))
    except UnicodeDecodeError as error:
        if content.startswith(tuple(BYTE_ORDER_MARKS)) or not _is_western(content):
            raise CsvError(
                "the text is not valid Unicode and not clearly Windows-1252: save the file as CSV "
                "UTF-8."
            ) from error
        notes.append(
            "the text is not UTF-8 and was read as Windows-1252: check letters with accents, or "
            "save the file as CSV UTF-8"
        )
        text = content.decode("cp1252")
    if "\0" in text:
        raise CsvError("the file has NUL characters, so it is not text: save it as CSV UTF-8.")
    return text


def _is_western(content: bytes) -> bool:
    """True if a text that is not Unicode looks like Windows-1252."""
    if NOT_WESTERN.search(content):
        return False
    doubts = len(HARDLY_WESTERN.findall(content))
    return not doubts or doubts < len(WESTERN.findall(content))


def _unicode(content: bytes) -> str:
    """Return the name of the likely Unicode encoding. The default is UTF-8."""
    for mark, name in BYTE_ORDER_MARKS.items():
        if content.startswith(mark):
            return name
    some = content[:1000]
    low, high = some[::2].count(0), some[1::2].count(0)
    if max(low, high) * 4 > len(some) and not min(low, high):  # UTF-16: a NUL in each Latin letter
        return "utf-16-be" if low else "utf-16-le"
    return "utf-8"


@dataclass(frozen=True, kw_only=True)
class _Fit:
    """Rating of a separator. The best separator has the largest rating."""

    share: float
    """Share of the records that have the most frequent number of cells."""
    prose: float
    """Share of the separators that a blank follows."""
    cells: int


def _separator(text: str, notes: list[str]) -> str:
    """Return the separator that fits the first records best. The default is the comma."""
    fits = {each: fit for each in SEPARATORS if (fit := _fit(text, each)) is not None}
    if not fits:
        return ","
    best = max(fits, key=lambda each: (fits[each].share, -fits[each].prose, fits[each].cells))
    rivals = [SEPARATORS[each] for each in fits if fits[each] == fits[best] and each != best]
    if rivals:
        notes.append(
            f"cells were separated by {SEPARATORS[best]}, but {rivals[0]} are possible, too. To "
            "choose, write a first line such as sep=;"
        )
    return best


def _fit(text: str, separator: str) -> _Fit | None:
    """Rate a separator. Returns None if the separator does not divide most records."""
    records = [record for record in _first_records(text, separator) if any(record)]
    counts = Counter(map(len, records))
    parted = [record for record in records if len(record) > 1]
    if 2 * len(parted) <= len(records):
        return None
    later = [cell for record in parted for cell in record[1:]]
    prose = sum(cell.startswith(" ") for cell in later) / len(later)
    if separator != "," and prose and len(records[0]) == 1:  # prose below a header of one cell
        return None
    (cells, count), *_ = counts.most_common(1)
    return _Fit(share=count / len(records), prose=prose, cells=cells)


def _first_records(text: str, separator: str) -> list[list[str]]:
    records: list[list[str]] = []
    with suppress(csv.Error):  # an open quote
        records.extend(islice(csv.reader(_stream(text), delimiter=separator), LOOKED_AT))
    return records


def _lines(text: str, separator: str, first_line: int) -> list[list[str]]:
    reader = csv.reader(_stream(text), delimiter=separator, strict=True)
    lines: list[list[str]] = []
    blank: list[str] = []
    width = 1  # blank rows take cells, too
    line = widest = first_line
    try:
        for cells in reader:
            if len(cells) > width:
                width, widest = len(cells), line
                if width > MAX_COLUMNS:
                    raise CsvError(
                        f"line {line} has {width} cells, but a row can have at most "
                        f"{MAX_COLUMNS}: shorten the line."
                    )
            lines.append(cells or blank)
            if len(lines) * width > MAX_CELLS:
                if width == 1:
                    raise CsvError(f"the file has more than {MAX_CELLS} lines: delete some.")
                raise CsvError(
                    f"line {widest} has {width} cells and there are {len(lines)} rows or more, but "
                    f"a spreadsheet can have at most {MAX_CELLS} cells: shorten the line."
                )
            if cells and max(map(len, cells)) > MAX_TEXT_LENGTH:
                raise CsvError(f"line {line}: {TOO_LONG}")
            line = first_line + reader.line_num
    except csv.Error as error:
        open_line = _line_of_open_quote(text, separator)
        if open_line is None:
            reason = TOO_LONG if str(error).startswith(PAST_READER) else f"{error}."
            raise CsvError(f"line {line}: {reason}") from error
        raise CsvError(
            f"line {first_line + open_line}: a quote opens a cell and is not closed: write a quote "
            "at the end of the cell, and double the quotes within the cell."
        ) from error
    return lines


def _stream(text: str) -> io.StringIO:
    return io.StringIO(text, newline="")


def _line_of_open_quote(text: str, separator: str) -> int | None:
    """Return the number of lines before the first cell with an open quote, or None."""
    apart = re.escape(separator)
    cell = re.compile(
        rf'(?: *"[^"]*(?:""[^"]*)*"|[^"{apart}\r\n][^{apart}\r\n]*|)({apart}|\r\n?|\n|\Z)'
    )
    at = 0
    while at < len(text):
        found = cell.match(text, at)
        if found is None:
            return len(re.findall(r"\r\n?|\n", text[:at]))
        at = found.end()
    return None


def _without_late_quotes(text: str, separator: str) -> str:
    """Remove the blanks before cells in quotes. All other blanks stay.

    A quote before a separator or a line break is a ditto mark, not the start of a cell in quotes.
    """
    apart = re.escape(separator)
    cell = re.compile(
        rf' +("(?!["{apart}\r\n])[^"]*(?:""[^"]*)*")(?=[{apart}\r\n]|\Z)'
        rf'|("[^"]*(?:""[^"]*)*"|[^{apart}\r\n]+)'
    )
    return cell.sub(lambda found: found[1] or found[2], text)


def _has_late_quote(cells: Sequence[str]) -> bool:
    """True if a quote after a blank was read as a part of a cell."""
    return any(cell.startswith(" ") and cell.lstrip(" ").startswith('"') for cell in cells)


def _note_wide_lines(lines: Sequence[Sequence[str]], separator: str, notes: list[str]) -> None:
    """Add a note about rows with more cells than other rows.

    The reason can be a separator in a text.
    """
    widths = [_width(cells) for cells in lines]
    usual = max(Counter(filter(None, widths)).most_common(1), default=(0, 0))[0]
    usual = max(usual, widths[0] if widths else 0)
    wide = [row for row, width in enumerate(widths, start=1) if width > usual]
    if wide:
        name = SEPARATORS.get(separator, separator)
        notes.append(
            f"rows with more cells than other rows: {len(wide)}, the first is row {wide[0]}. "
            f"Enclose texts that contain {name} in quotes"
        )


def _note_numbers(
    lines: Sequence[Sequence[str]], rows: Sequence[Row], separator: str, notes: list[str]
) -> None:
    """Add notes about numbers that are displayed differently than in the file, or have a comma."""
    counts, first = Counter[str](), dict[str, str]()
    for number, (cells, row) in enumerate(zip(lines, rows, strict=True), start=1):
        for column, (text, content) in enumerate(zip(cells, row, strict=True)):
            if CODE.fullmatch(text) and not isinstance(content, str):
                note = CODES
            elif separator == ";" and COMMA_NUMBER.fullmatch(text):
                note = COMMAS
            else:
                continue
            counts[note] += 1
            first.setdefault(note, f"{column_name(column)}{number}")
    notes.extend(note.format(count=counts[note], first=place) for note, place in first.items())


def _width(cells: Sequence[str]) -> int:
    """Return the number of cells up to the last non-blank cell."""
    width = len(cells)
    while width and not cells[width - 1]:
        width -= 1
    return width


def _content(text: str) -> Content:
    cell = typed(text)
    is_failed = cell.formula is not None and isinstance(parse(cell.formula), CellError)
    return bare(stored(text) if is_failed and text.startswith("+") else cell)
