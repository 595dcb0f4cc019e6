"""Forms of `multipart/form-data` (RFC 7578, as browsers write them: HTML, 4.10.21.8).

Rules
- A part with a file name is refused, an empty one too: cells hold no files.
- A body that ends before its last boundary is refused, so that no cut text is stored.
- Names and values are UTF-8. In names, `"`, CR and LF are sent as `%22`, `%0D` and `%0A`.
"""

import re
from collections.abc import Iterator
from urllib.parse import urlencode

from gateway.errors import UnsupportedMediaType
from gateway.web.parsing import invalid_body

_BOUNDARY = re.compile(r';\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))\s*(?:;|\Z)', re.IGNORECASE)
_DISPOSITION = re.compile(
    r'content-disposition:\s*form-data\s*;\s*name="([^"]*)"\s*', re.IGNORECASE
)
_FILE = re.compile(r"content-disposition:.*;\s*filename\*?\s*=", re.IGNORECASE)
_CODING = re.compile(r"content-transfer-encoding:(?!\s*(?:7bit|8bit|binary)\s*\Z)", re.IGNORECASE)
_ESCAPES = {"%22": '"', "%0D": "\r", "%0A": "\n"}
_ESCAPE = re.compile("|".join(_ESCAPES))

_NO_FILES = "A form with a file is not stored: cells hold no files. Leave the file field out."
_BROKEN = "The form is not valid multipart/form-data. Send a form without an enctype."


def as_urlencoded(body: bytes, content_type: str) -> bytes:
    """Convert a form to urlencoded. Raises InvalidBody, and UnsupportedMediaType for a file."""
    try:
        return urlencode([*_fields(body, content_type)]).encode("ascii")
    except UnicodeDecodeError as error:
        raise invalid_body("The form is not UTF-8. Encode its page as UTF-8.") from error


def _fields(body: bytes, content_type: str) -> Iterator[tuple[str, str]]:
    boundary = _BOUNDARY.search(content_type)
    if boundary is None:
        raise invalid_body(_BROKEN)
    delimiter = b"\r\n--" + (boundary[1] or boundary[2]).encode("latin-1")
    preamble, *parts = (b"\r\n" + body).split(delimiter)
    if preamble or not parts or not parts.pop().startswith(b"--"):
        raise invalid_body(_BROKEN)
    for part in parts:
        start, blank, value = part.partition(b"\r\n\r\n")
        padding, *lines = start.decode("utf-8").split("\r\n")
        if not blank or padding.strip(" \t") or any(map(_CODING.match, lines)):
            raise invalid_body(_BROKEN)
        if any(map(_FILE.match, lines)):
            raise UnsupportedMediaType(_NO_FILES)
        names = [found[1] for found in map(_DISPOSITION.fullmatch, lines) if found is not None]
        if len(names) != 1:
            raise invalid_body(_BROKEN)
        yield _ESCAPE.sub(lambda found: _ESCAPES[found[0]], names[0]), value.decode("utf-8")
