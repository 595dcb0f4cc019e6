"""Quotes around a client's text in a message."""

LONGEST = 100
"""Maximum characters of a quoted text, so that long requests do not cause long answers."""


def quoted(text: str, *, longest: int = LONGEST) -> str:
    """Put a text in quotes. Cut a long text, and escape invisible characters."""
    cut = text if len(text) <= longest else f"{text[:longest]}…"
    return f'"{printable(cut)}"'


def printable(text: str) -> str:
    """Escape invisible characters, because terminals execute some of them."""
    return "".join(map(_seen, text))


def _seen(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")
