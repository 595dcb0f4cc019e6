"""Quotes around a client's text in a message, and escapes of invisible characters."""

import json

LONGEST = 100
"""Maximum characters of a quoted text, so that long requests do not cause long answers."""


def quoted(text: str, *, longest: int = LONGEST) -> str:
    """Put a text in quotes. Cut a long text, and escape invisible characters."""
    cut = text if len(text) <= longest else f"{text[:longest]}…"
    return f'"{printable(cut)}"'


def printable(text: str) -> str:
    """Escape invisible characters, because terminals execute some of them."""
    return "".join(map(_seen, text))


def printable_json(value: object) -> str:
    """Encode a value as JSON, with escapes for invisible characters."""
    text = json.dumps(value, ensure_ascii=False)
    escaped = (each if each.isprintable() else json.dumps(each)[1:-1] for each in text)
    return "".join(escaped).replace("\x7f", "\\u007f")  # which `json.dumps` does not escape


def _seen(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")
