"""Quoting of a client's text in a message."""

LONGEST = 100
"""Maximum characters of a text in a message, so that answers do not grow with requests."""


def quoted(text: str, *, longest: int = LONGEST) -> str:
    """The text in quotes, long texts cut, invisible characters escaped."""
    cut = text if len(text) <= longest else f"{text[:longest]}…"
    return f'"{printable(cut)}"'


def printable(text: str) -> str:
    """The text with invisible characters escaped, because terminals interpret some of them."""
    return "".join(map(_seen, text))


def _seen(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")
