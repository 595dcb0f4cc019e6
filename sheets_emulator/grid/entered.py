"""Conversion of input to cells: typed (USER_ENTERED, en_US) or stored unchanged (RAW).

Rules:
- `0042`, `2,000,000.01`, ISO dates, `50%`, `$1,234.50`, `TRUE`, `'` and `3_1_0` are recorded from
  Google, or tested against Google by other projects. All else follows Google's documentation and
  the common behaviour of Sheets.
- All other input stays text, including blanks. Input with unknown behaviour stays text, too: blanks
  within a number, groups of other than three digits, a currency after the number, `$5%`.
- `=` starts a formula. `+` starts a formula, too, unless the text is a number or date: `+A1` is
  `=+A1`. `-A1` stays text.
- Input to cells with the plain text format stays text.
- Blanks around a number are ASCII blanks. A number with a non-breaking blank is text.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from re import Match, Pattern

from sheets_emulator.grid.cell import BLANK, Cell, CellValue, Content, number_format
from sheets_emulator.grid.dates import typed_date
from sheets_emulator.reply import Json

BOOLEANS = {"true": True, "false": False}
BLANKS = " \t\r\n"
ANY_DIGIT = re.compile(r"\d", re.ASCII)
SIGN = r"(?P<sign>[+-])?"
PLAIN = r"(?P<digits>\d+(?:\.\d*)?|\.\d+)"
AMOUNT = r"(?P<digits>(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)"
SYMBOLS: Mapping[str, str] = {"$": '"$"', "€": "[$€]", "£": "[$£]", "¥": "[$¥]"}
CURRENCY = rf"(?P<symbol>[{''.join(SYMBOLS)}])"


@dataclass(frozen=True, kw_only=True)
class NumberReader:
    """A kind of typed numbers, such as percents.

    `suffix` is appended to the digits before Python parses them. `format` gives the number format.
    """

    pattern: Pattern[str]
    suffix: Callable[[Match[str]], str]
    format: Callable[[Match[str]], Json | None]


def stored(value: CellValue) -> Cell:
    """Return the cell of a JSON value with RAW. The value is unchanged, and "" is a blank."""
    return BLANK if value == "" else Cell(value=value)


def entered(value: CellValue, old: Content = None) -> Cell:
    """Return the cell of a JSON value with USER_ENTERED. A text is parsed as if a person typed it.

    `old` is the content of the cell before the write.
    """
    if not isinstance(value, str):
        return Cell(value=value)
    is_plain_text = isinstance(old, Cell) and old.is_plain_text
    return stored(value.removeprefix("'")) if is_plain_text else typed(value)


def typed(text: str) -> Cell:
    """Return the cell of a text that a person typed."""
    if text.startswith("'"):
        return stored(text[1:])
    if text.startswith("=") and len(text) > 1:
        return Cell(formula=text)
    bare = text.strip(BLANKS)
    if bare.lower() in BOOLEANS:
        return Cell(value=BOOLEANS[bare.lower()])
    found = _typed_number(bare) or typed_date(bare) if ANY_DIGIT.search(bare) else None
    return found or _typed_sum(text) or stored(text)


def _typed_sum(text: str) -> Cell | None:
    """Return the formula of a text that starts with `+`, or None for another text."""
    return Cell(formula=f"={text}") if text.startswith("+") and len(text) > 1 else None


def _typed_number(text: str) -> Cell | None:
    """Return the cell of a typed number, or None for other texts. Parentheses mean negative."""
    if not (text.startswith("(") and text.endswith(")")):
        return _signed_number(text)
    inner = text[1:-1]
    cell = None if "-" in inner or "+" in inner else _signed_number(inner)
    if cell is None or not isinstance(cell.value, float):
        return None
    return replace(cell, value=0.0 - cell.value)


def _signed_number(text: str) -> Cell | None:
    for reader in NUMBER_READERS:
        match = reader.pattern.fullmatch(text)
        if match:
            value = _value(match, reader)
            return None if value is None else Cell(value=value, format=reader.format(match))
    return None


def _value(match: Match[str], reader: NumberReader) -> float | None:
    """Return the number, or None if it is too large for a double. Negative zero becomes zero."""
    size = float(match["digits"].replace(",", "") + reader.suffix(match))
    if size == float("inf"):
        return None
    return 0.0 - size if match["sign"] == "-" else size


def _nothing(_: Match[str]) -> str:
    return ""


def _hundredth(_: Match[str]) -> str:
    return "e-2"


def _exponent(match: Match[str]) -> str:
    return match["exponent"]


def _decimals(match: Match[str]) -> str:
    return ".00" if re.search(r"\.\d", match["digits"]) else ""


def _plain_format(match: Match[str]) -> Json | None:
    is_grouped = "," in match["digits"]
    return number_format("NUMBER", f"#,##0{_decimals(match)}") if is_grouped else None


def _percent_format(match: Match[str]) -> Json:
    return number_format("PERCENT", f"0{_decimals(match)}%")


def _scientific_format(_: Match[str]) -> Json:
    return number_format("SCIENTIFIC", "0.00E+00")


def _currency_format(match: Match[str]) -> Json:
    return number_format("CURRENCY", f"{SYMBOLS[match['symbol']]}#,##0{_decimals(match)}")


def _reader(
    pattern: str, suffix: Callable[[Match[str]], str], form: Callable[[Match[str]], Json | None]
) -> NumberReader:
    return NumberReader(pattern=re.compile(pattern, re.ASCII), suffix=suffix, format=form)


NUMBER_READERS = (
    _reader(rf"{SIGN}{AMOUNT}", _nothing, _plain_format),
    _reader(rf"{SIGN}{AMOUNT} ?%", _hundredth, _percent_format),
    _reader(rf"{SIGN}{PLAIN}(?P<exponent>[eE][+-]?\d+)", _exponent, _scientific_format),
    _reader(rf"{SIGN}{CURRENCY}{AMOUNT}", _nothing, _currency_format),
    _reader(rf"{CURRENCY}{SIGN}{AMOUNT}", _nothing, _currency_format),
)
