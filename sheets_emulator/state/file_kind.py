"""Kinds of files by their content, because file names can be wrong."""

import io
import re
import zipfile
from collections.abc import Mapping

XLSX = "an .xlsx file"
TEXT = "a text file, perhaps CSV"
EMPTY = "an empty file"
LOCKED = "a file with a password"
UNKNOWN = "a file of an unknown kind"

_ZIP = b"PK\x03\x04"
_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
"""First bytes of files in Microsoft's old formats, and of new files with a password."""
_STARTS: Mapping[bytes, str] = {
    b"%PDF-1.": "a PDF document",
    b"%PDF-2.": "a PDF document",
    b"{\\rtf1": "an RTF document",
    b"\x1f\x8b": "a gzip archive",
    b"7z\xbc\xaf": "a 7z archive",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
    b"GIF8": "an image",
    b"SQLite format 3\0": "an SQLite database",
    b"PAR1": "a Parquet file",
}
_LETTERS = (b"GIF8", b"PAR1")
"""First bytes that a text can have, too. A binary file also has control bytes."""
_MEMBERS: Mapping[str, str] = {
    "xl/workbook.bin": "an .xlsb file",
    "word/document.xml": "a Word document",
    "ppt/presentation.xml": "a presentation",
    "content.xml": "an OpenDocument file (.ods)",
    "Index/Document.iwa": "a Numbers file",
}
_MARKUP = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(!doctype html|html|head|meta|table|\?xml)\b", re.I)
_CONTROL = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")


def kind_of_file(content: bytes) -> str:
    """Return a description of a file's kind for the end of a message, such as "an .xlsx file"."""
    if not content:
        return EMPTY
    if content.startswith(_ZIP):
        return _kind_of_archive(content)
    if content.startswith(_OLE):
        is_locked = "EncryptedPackage".encode("utf-16-le") in content
        return LOCKED if is_locked else "an .xls file, or another old format of Microsoft's"
    markup = _MARKUP.match(content)
    if markup is not None:
        return "an XML document" if markup[1] == b"?xml" else "an HTML page"
    has_control = _CONTROL.search(content) is not None
    starts = (
        kind
        for start, kind in _STARTS.items()
        if content.startswith(start) and (has_control or start not in _LETTERS)
    )
    return next(starts, UNKNOWN if has_control else TEXT)


def _kind_of_archive(content: bytes) -> str:
    """Return the kind of a ZIP archive. A damaged archive counts as an .xlsx file."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = set(archive.namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return XLSX
    kinds = (kind for member, kind in _MEMBERS.items() if member in names)
    return next(kinds, XLSX if "[Content_Types].xml" in names else "a ZIP archive")
