"""Quote a client's text in a message."""

LONGEST = 100
"""Characters of it that a message has: an answer does not grow with the request."""


def quoted(text: str, *, longest: int = LONGEST) -> str:
    """The text in quotes, cut where long; what cannot be seen is escaped."""
    cut = text if len(text) <= longest else f"{text[:longest]}…"
    return f'"{printable(cut)}"'


def printable(text: str) -> str:
    """The text, what cannot be seen of it escaped: a terminal obeys some of that."""
    return "".join(map(_seen, text))


def _seen(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")
