"""Mask secrets in what is about to be logged.

Rules
- This is a net below everything else: nobody hands a secret to the log on purpose. Clients put
  keys into paths, libraries quote URLs and tokens in their errors.
- What only looks like a secret goes too; a part of one that was cut goes as well.
- Patterns find most spellings. Where they miss a secret that decoding shows, as in the encoding of
  an encoding, all of the value goes.
"""

import re
from collections.abc import Sequence
from re import Match, Pattern
from urllib.parse import unquote

MASK = "***"


def _percent(text: str) -> str:
    """The pattern of a text each of whose characters may be percent-encoded, once or more."""
    return "".join(f"(?:{re.escape(each)}|%(?:25)*{ord(each):02x})" for each in text)


_DIGIT = r"(?:[0-9A-Za-z]|%(?:25)*[3-7][0-9A-Fa-f])"

_CHARACTER = r"(?:\\[^\"]|[^&\s\"'#\\])"
"""Of a parameter in JSON's text: an escape goes whole or, before a quote, not at all."""

_SECRETS: Sequence[tuple[Pattern[str], str]] = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), masked)
    for pattern, masked in (
        # A key of ours, and the parameter that carries one, whatever is in it.
        (rf"{_percent('sgw_')}{_DIGIT}+", f"sgw_{MASK}"),
        (rf"({_percent('apiKey')}(?:=|%(?:25)*3d))(?:(?!%(?:25)*26){_CHARACTER})+", rf"\1{MASK}"),
        # Google's access tokens, the signed claims that they are made for, whatever is a bearer.
        (r"\bya29\.[\w.-]+", f"ya29.{MASK}"),
        (r"(?<![\w-])eyJ[\w-]{8,}\.[\w.-]+", f"eyJ{MASK}"),
        (r"\b(bearer)\s+[\w.~+/=-]{8,}", rf"\1 {MASK}"),
        # A private key, whole or its beginning.
        (
            r"(-----BEGIN [A-Z ]*PRIVATE KEY-----)(?:(?!-----END)(?:\\[^\"]|[^\"'\\]))*",
            rf"\1{MASK}",
        ),
        # User and password of a URL.
        (r"(?<![a-z0-9+.-])([a-z][a-z0-9+.-]*://)[^/\s\"'@]+@", rf"\1{MASK}@"),
    )
)

_VALUE = re.compile(r'(?:[^"\\]|\\.)+', re.DOTALL)
"""What stands between the quotes of JSON; in other texts there are few."""

_ENCODED_PERCENTS = re.compile("%(?:25)+")

_MARKS = ("sgw_", "apikey", "ya29.", "eyj", "bearer", "-----begin", "://")
"""One of these, in small letters, is in every text that the patterns find something in."""

_MOST_ENCODINGS = 5
"""No value is encoded so often with a good intention."""


def redacted(text: str) -> str:
    """The text with whatever looks like a secret masked."""
    plain = _decoded(text)
    if plain is not None:
        small = plain.lower()
        if not any(mark in small for mark in _MARKS):
            return text
    if "%" in text:
        text = _VALUE.sub(_without_encoded, text)
    return _masked(text)


def _without_encoded(found: Match[str]) -> str:
    """The value, or a mask if it has a secret of which the patterns would leave some."""
    value = found[0]
    if "%" not in value:
        return value
    plain = _decoded(value)
    is_seen = plain is not None and _masked(plain) == _decoded(_masked(value))
    return value if is_seen else MASK


def _masked(text: str) -> str:
    for pattern, masked in _SECRETS:
        text = pattern.sub(masked, text)
    return text


def _decoded(text: str) -> str | None:
    """The text without percent-encoding, however often it was encoded; None if too often."""
    for _ in range(_MOST_ENCODINGS):
        if "%" not in text:
            return text
        before = text
        text = unquote(_ENCODED_PERCENTS.sub("%", text) if "%25" in text else text)
        if text == before:
            return text
    return None


def redacted_line(line: bytes) -> bytes:
    """A line of ASCII with whatever looks like a secret masked."""
    if b"sgw" not in line and b"%" not in line and b"=" not in line:
        return line  # most, and quickly: a path or a name holds nothing else that could be one
    return redacted(line.decode("ascii")).encode("ascii")
