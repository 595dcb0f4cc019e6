"""Parts of an .xlsx file, which is a ZIP archive of XML documents that refer to each other.

Rules:
- A hostile file of a few kilobytes can unpack to gigabytes. So parts are parsed as streams, and
  their size, the length of a tag and the depth of elements are limited.
- Only parts that a caller requests are unpacked, so damage in other parts is not found.
- A DOCTYPE is an error, so that only XML's own entities exist.
"""

import io
import posixpath
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from xml.parsers import expat

BLOCK_BYTES = 2**16
MAX_UNPACKED_BYTES = 2**30
SMALL_BYTES, MAX_RATIO = 2**25, 50
"""Maximum ratio of unpacked to packed bytes, above `SMALL_BYTES` of unpacked bytes.

Most files have a ratio of 10. Few have 20.
"""
MAX_TAG_BYTES = 2**20
MAX_DEPTH = 64
MAX_RELATIONS = 10_000
PACKING = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
ENCRYPTED = 1
SHOWN_LENGTH = 40
SAVE_AGAIN = "Open it in a spreadsheet program and save it again."

Attributes = Mapping[str, str]
Start = Callable[[str, Attributes], None]
End = Callable[[str], None]
Text = Callable[[str], None]


class XlsxError(Exception):
    """The file cannot be read. The message has the reason, without the file name."""


class Package:
    """Reader of the parts of an .xlsx file. Names of parts are compared case-insensitively."""

    def __init__(self, archive: zipfile.ZipFile, size: int) -> None:
        self._archive = archive
        self._left = min(MAX_UNPACKED_BYTES, SMALL_BYTES + MAX_RATIO * size)
        self._parts = {_part_name(info.filename): info for info in archive.infolist()}

    def relations(self, part: str) -> Mapping[str, tuple[str, str]]:
        """Return kind and target part of each relation of a part, by ID.

        A `part` of "" is the package itself.
        """
        folder, name = posixpath.split(part)
        found: dict[str, tuple[str, str]] = {}

        def start(element: str, attributes: Attributes) -> None:
            if element != "Relationship" or attributes.get("TargetMode") == "External":
                return
            if len(found) == MAX_RELATIONS:
                raise XlsxError(f"a part has more than {MAX_RELATIONS} relations. {SAVE_AGAIN}")
            kind = attributes.get("Type", "").rpartition("/")[2]
            target = posixpath.join("/", folder, attributes.get("Target", "").replace("\\", "/"))
            found[attributes.get("Id", "")] = kind, posixpath.normpath(target)

        relations = f"{folder}/_rels/{name}.rels"
        if _part_name(relations) in self._parts:
            self.parse(relations, start)
        return found

    def parse(
        self, part: str, start: Start, end: End | None = None, text: Text | None = None
    ) -> None:
        """Parse a part and call the handlers for its elements. Names have no namespace prefix.

        Raises XlsxError, and errors of zipfile, zlib and expat for a damaged file.
        """
        info = self._parts.get(_part_name(part))
        if info is None:
            raise XlsxError(
                f"it cannot be read as .xlsx: its part {shortened(part.lstrip('/'))} is missing. "
                f"{SAVE_AGAIN}"
            )
        if info.flag_bits & ENCRYPTED:
            raise XlsxError("the file is protected with a password: save it without a password.")
        if info.compress_type not in PACKING:
            raise zipfile.BadZipFile("unknown compression")
        parser = expat.ParserCreate()
        depth = unread = 0

        def open_element(name: str, attributes: Attributes) -> None:
            nonlocal depth, unread
            depth, unread = depth + 1, 0
            if depth > MAX_DEPTH:
                raise XlsxError(f"its XML is nested more than {MAX_DEPTH} levels. {SAVE_AGAIN}")
            start(name.rpartition(":")[2], attributes)

        def close_element(name: str) -> None:
            nonlocal depth
            depth -= 1
            if end is not None:
                end(name.rpartition(":")[2])

        parser.buffer_text = True
        parser.StartElementHandler = open_element
        parser.EndElementHandler = close_element
        parser.CharacterDataHandler = text
        parser.StartDoctypeDeclHandler = _refuse_doctype
        with self._archive.open(info) as stream:
            while block := stream.read(BLOCK_BYTES):
                self._left -= len(block)
                unread += len(block)
                if self._left < 0:
                    raise XlsxError(
                        "the unpacked file is too large: delete cells with only formats."
                    )
                if unread > MAX_TAG_BYTES:
                    raise XlsxError(
                        f"it has a tag or text of more than {MAX_TAG_BYTES} bytes. {SAVE_AGAIN}"
                    )
                parser.Parse(block, False)
        parser.Parse(b"", True)


@contextmanager
def open_package(content: bytes) -> Iterator[Package]:
    """Open the .xlsx file with this content. Raises XlsxError for damage, also within the block."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            yield Package(archive, len(content))
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise XlsxError(f"it cannot be read as .xlsx: {error}. {SAVE_AGAIN}") from error
    except expat.ExpatError as error:
        raise XlsxError(
            f"it cannot be read as .xlsx: its XML is damaged: {error}. {SAVE_AGAIN}"
        ) from error
    except (LookupError, ValueError) as error:  # messages of these errors can contain cells
        raise XlsxError(f"it cannot be read as .xlsx: it is damaged. {SAVE_AGAIN}") from error


def part_of(relations: Mapping[str, tuple[str, str]], kind: str) -> str | None:
    """Return the part of the first relation of this kind, or None."""
    return next((part for found, part in relations.values() if found == kind), None)


def shortened(text: str) -> str:
    """Shorten a text of the file for a message, because it can be a megabyte long."""
    return text if len(text) <= SHOWN_LENGTH else f"{text[: SHOWN_LENGTH - 1]}…"


def _part_name(name: str) -> str:
    return name.replace("\\", "/").lstrip("/").casefold()


def _refuse_doctype(*_: object) -> None:
    raise XlsxError(f"it cannot be read as .xlsx: its XML has a DOCTYPE. {SAVE_AGAIN}")
