"""Tokenizer of number formats.

Rules:
- Tokens are placeholders such as `h` or `#`, and literals. `;` separates the sections of a format.
- Names and meanings follow Google's guide to date and number formats.
- Quoted and escaped text, colours and conditions never count as date letters.
- `sections` returns None for a format that is too long, has more than four sections or has an
  unknown bracket. Numbers are then displayed in the automatic format.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from itertools import groupby

MAX_PATTERN_LENGTH = 500  # characters; bounds the time to format one number
MAX_SECTIONS = 4
SCANNER = re.compile(
    r"""
      "(?P<quoted>[^"]*)"?
    | \\(?P<escaped>.?)
    | _(?P<blank>.?)
    | \*(?P<fill>.?)
    | \[(?P<elapsed>[hH]+|[mM]+|[sS]+)]
    | \[\$(?P<currency>[^]-]*)(?:-[^]]*)?]
    | \[(?P<condition>(?:<=|>=|<>|<|>|=)-?\d+(?:\.\d+)?)]
    | \[(?P<colour>(?i:black|blue|cyan|green|magenta|red|white|yellow|color\ ?\d{1,2}))]
    | \[(?P<bracket>[^]]*)]
    | (?P<section>;)
    | (?P<general>(?i:general))
    | (?P<half>(?i:am/pm|a/p)|(?<![A-Za-z])[AP]M(?![A-Za-z]))
    | (?P<exponent>[eE][+-])(?=[0#?])
    | (?P<date>[yY]+|m+|M+|[dD]+|[hH]+|[sS]+)
    | (?P<digit>[0#?])
    | (?P<point>\.)
    | (?P<commas>,+)
    | (?P<percent>%)
    | (?P<slash>/)
    | (?P<text>@)
    | (?P<plain>.)
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)


class Kind(Enum):
    """Kind of a token."""

    LITERAL = auto()
    DIGIT = auto()
    POINT = auto()
    COMMAS = auto()
    PERCENT = auto()
    EXPONENT = auto()
    SLASH = auto()
    TEXT = auto()
    DATE = auto()
    ELAPSED = auto()
    HALF = auto()
    CONDITION = auto()
    SECTION = auto()
    NOTHING = auto()
    UNKNOWN = auto()


KINDS: Mapping[str, Kind] = {
    "quoted": Kind.LITERAL,
    "escaped": Kind.LITERAL,
    "currency": Kind.LITERAL,
    "plain": Kind.LITERAL,
    "blank": Kind.LITERAL,
    "fill": Kind.NOTHING,
    "colour": Kind.NOTHING,
    "bracket": Kind.UNKNOWN,
    "general": Kind.UNKNOWN,
    "section": Kind.SECTION,
    "condition": Kind.CONDITION,
    "elapsed": Kind.ELAPSED,
    "half": Kind.HALF,
    "exponent": Kind.EXPONENT,
    "date": Kind.DATE,
    "digit": Kind.DIGIT,
    "point": Kind.POINT,
    "commas": Kind.COMMAS,
    "percent": Kind.PERCENT,
    "slash": Kind.SLASH,
    "text": Kind.TEXT,
}
DATE_KINDS = frozenset({Kind.DATE, Kind.ELAPSED, Kind.HALF})


@dataclass(frozen=True, kw_only=True)
class Token:
    """A token. `text` is the displayed text or the placeholder letters."""

    kind: Kind
    text: str


Tokens = tuple[Token, ...]


def sections(pattern: str) -> tuple[Tokens, ...] | None:
    """Return the tokens of each section, or None for an unknown format."""
    if len(pattern) > MAX_PATTERN_LENGTH:
        return None
    tokens = [_token(match) for match in SCANNER.finditer(pattern)]
    if any(token.kind is Kind.UNKNOWN for token in tokens):
        return None
    found = _split(token for token in tokens if token.kind is not Kind.NOTHING)
    return found if len(found) <= MAX_SECTIONS else None


def has(tokens: Tokens, *kinds: Kind) -> bool:
    """True if one of the tokens has one of these kinds."""
    return any(token.kind in kinds for token in tokens)


def _token(match: re.Match[str]) -> Token:
    group = match.lastgroup or "plain"
    text = " " if group == "blank" else match[group]
    return Token(kind=KINDS[group], text=text)


def _split(tokens: Iterable[Token]) -> tuple[Tokens, ...]:
    """Split tokens at the `;` tokens. Adjacent `;` tokens give an empty section."""
    found: list[Tokens] = [()]
    for is_mark, run in groupby(tokens, key=lambda token: token.kind is Kind.SECTION):
        if is_mark:
            found += [() for _ in run]
        else:
            found[-1] = tuple(run)
    return tuple(found)
