"""Path segments: split on the raw path, each decoded once, so `A%2FB` is one worksheet."""

import re
import urllib.parse

from gateway.errors import InvalidPath
from gateway.table.quoting import quoted

_ROW = re.compile(r"[1-9][0-9]{0,7}")


def decode_title(segment: str) -> str:
    """The worksheet name of a raw path segment."""
    try:
        title = urllib.parse.unquote_to_bytes(segment).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidPath("The worksheet name in the path is not percent-encoded UTF-8.") from error
    if "\0" in title:
        raise InvalidPath("The worksheet name in the path holds a NUL character.")
    return title


def encode_title(title: str) -> str:
    return urllib.parse.quote(title, safe="")


def parse_row(segment: str) -> int:
    """The row number of a raw path segment."""
    text = urllib.parse.unquote(segment)
    if _ROW.fullmatch(text) is None:
        raise InvalidPath(
            f"{quoted(text)} is not a row number. The path takes a row's rowIndex: a whole number "
            "from 1 with at most 8 digits. To search, use ?where= on the worksheet; a / in a "
            "worksheet's name is written %2F."
        )
    return int(text)
