"""Lossless tokenizer of formulas.

Rules:
- Joining the texts of all lexemes (tokens) gives the original formula.
- The first invalid character starts the last lexeme, `junk`. Such a formula cannot be parsed, and
  further tokenizing could take quadratic time.
- A reference has at most three letters and eight digits. A longer text is a name.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

COLUMN = r"\$?[A-Za-z]{1,3}"
ROW = r"\$?[1-9][0-9]{0,7}"
TO = r"\s*+:\s*+"
CELLS = (
    rf"(?:{COLUMN}{ROW}(?:{TO}(?:{COLUMN}{ROW}|{COLUMN}|{ROW}))?"
    rf"|{COLUMN}{TO}(?:{COLUMN}{ROW}|{COLUMN})"
    rf"|{ROW}{TO}(?:{COLUMN}{ROW}|{ROW}))(?![\w.$!]|\s*+\()"
)
TITLE = r"(?:'(?:[^']|'')++'|\w[\w.]*+)!"
LEXEME = re.compile(
    rf"""
    (?P<text>"(?:[^"]|"")*+")
    |(?P<call>[^\W\d][\w.]*+\s*+\()
    |(?P<area>(?:{TITLE})?{CELLS})
    |(?P<lost>(?:{TITLE})?\#REF!(?:{CELLS})?)
    |(?P<error>\#(?:DIV/0!|ERROR!|N/A|NAME\?|NULL!|NUM!|VALUE!))
    |(?P<number>(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?)
    |(?P<name>[^\W\d][\w.]*+)
    |(?P<blank>\s++)
    |(?P<mark><>|<=|>=|[-+*/^&=<>%(),;{{}}:])
    |(?P<junk>.++)
    """,
    re.VERBOSE | re.DOTALL,
)


class Lexeme(NamedTuple):
    """A token of a formula. `kind` is the name of a group in `LEXEME`."""

    kind: str
    text: str


def lexemes(text: str) -> Iterator[Lexeme]:
    for match in LEXEME.finditer(text):
        yield Lexeme(match.lastgroup or "junk", match[0])


def split_area(text: str) -> tuple[str | None, str]:
    """Split a reference such as `'My sheet'!A1:B2` into title and cells.

    The title is None if missing.
    """
    title, _, cells = text.rpartition("!")
    if not title:
        return None, cells
    return title[1:-1].replace("''", "'") if title.startswith("'") else title, cells
