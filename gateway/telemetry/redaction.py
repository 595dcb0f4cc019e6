"""Mask secrets in log lines.

Rules
- This is a safety net: no code logs a secret on purpose. Clients put keys into paths, and libraries
  quote URLs and tokens in errors.
- Everything that looks like a secret is masked, including truncated secrets.
- Patterns find most spellings. If decoding reveals a secret that they miss, such as a doubly
  encoded one, the whole value is masked.
"""

import re
from collections.abc import Sequence
from re import Match, Pattern
from urllib.parse import unquote

MASK = "***"


def _percent(text: str) -> str:
    """A pattern for a text whose characters may be percent-encoded, also repeatedly."""
    return "".join(f"(?:{re.escape(each)}|%(?:25)*{ord(each):02x})" for each in text)


_DIGIT = r"(?:[0-9A-Za-z]|%(?:25)*[3-7][0-9A-Fa-f])"

_CHARACTER = r"(?:\\[^\"]|[^&\s\"'#\\])"
"""A character of a parameter within JSON text: an escape is masked whole or, before a quote, not at
all.
"""

_SECRETS: Sequence[tuple[Pattern[str], str]] = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), masked)
    for pattern, masked in (
        # Our keys, and parameters that contain one, whatever the value is.
        (rf"{_percent('sgw_')}{_DIGIT}+", f"sgw_{MASK}"),
        (rf"({_percent('apiKey')}(?:=|%(?:25)*3d))(?:(?!%(?:25)*26){_CHARACTER})+", rf"\1{MASK}"),
        # Google's access tokens, the signed claims for them, and any bearer token.
        (r"\bya29\.[\w.-]+", f"ya29.{MASK}"),
        (r"(?<![\w-])eyJ[\w-]{8,}\.[\w.-]+", f"eyJ{MASK}"),
        (r"\b(bearer)\s+[\w.~+/=-]{8,}", rf"\1 {MASK}"),
        # A private key, complete or truncated.
        (
            r"(-----BEGIN [A-Z ]*PRIVATE KEY-----)(?:(?!-----END)(?:\\[^\"]|[^\"'\\]))*",
            rf"\1{MASK}",
        ),
        # User and password of a URL.
        (r"(?<![a-z0-9+.-])([a-z][a-z0-9+.-]*://)[^/\s\"'@]+@", rf"\1{MASK}@"),
    )
)

_VALUE = re.compile(r'(?:[^"\\]|\\.)+', re.DOTALL)
"""Text between the quotes of JSON; other texts have few quotes."""

_ENCODED_PERCENTS = re.compile("%(?:25)+")

_MARKS = ("sgw_", "apikey", "ya29.", "eyj", "bearer", "-----begin", "://")
"""Every text with a match of the patterns contains one of these, in lower case."""

_MOST_ENCODINGS = 5
"""Maximum depth of encodings in harmless values."""


def redacted(text: str) -> str:
    """The text with secrets masked."""
    plain = _decoded(text)
    if plain is not None:
        small = plain.lower()
        if not any(mark in small for mark in _MARKS):
            return text
    if "%" in text:
        text = _VALUE.sub(_without_encoded, text)
    return _masked(text)


def _without_encoded(found: Match[str]) -> str:
    """The value, or a mask if the patterns would miss part of a secret in it."""
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
    """The text without percent-encoding at any depth; None if it is too deep."""
    for _ in range(_MOST_ENCODINGS):
        if "%" not in text:
            return text
        before = text
        text = unquote(_ENCODED_PERCENTS.sub("%", text) if "%25" in text else text)
        if text == before:
            return text
    return None
