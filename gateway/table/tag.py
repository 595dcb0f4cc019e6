"""Row tag (ETag): changes with every displayed cell of the row or its header."""

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

_DIGEST_BYTES = 12


@dataclass(frozen=True)
class IfMatch:
    """The row states that an update accepts: those with these tags, or any (None)."""

    tags: frozenset[str] | None

    @property
    def is_any(self) -> bool:
        """True for `*`."""
        return self.tags is None

    def holds(self, tag: str) -> bool:
        """True if a row with this tag may be updated."""
        return self.tags is None or tag in self.tags


def row_tag(header_cells: Sequence[str], displayed_cells: Sequence[object]) -> str:
    """A strong entity tag (RFC 9110, 8.8.3), quotes and all, over a whole row and its header.

    Every displayed cell counts, also below a blank header; empty ones at the end do not.
    """
    return opaque_tag(msgspec.json.encode([_trimmed(header_cells), _trimmed(displayed_cells)]))


def keyed_row_tag(
    key: bytes,
    columns: Mapping[str, int],
    row: int,
    header_cells: Sequence[str],
    displayed_cells: Sequence[object],
) -> str:
    """A tag over a whole row for a reader who sees only these columns of it.

    Without the key, a reader could guess hidden cells. With the row number, equal cells of two rows
    do not show; those that stood in one row one after another do.
    """
    if not key:
        raise ValueError("a tag over hidden cells needs a key")
    content = [[*columns.items()], row, _trimmed(header_cells), _trimmed(displayed_cells)]
    return opaque_tag(msgspec.json.encode(content), key)


def opaque_tag(content: bytes, key: bytes = b"") -> str:
    """A digest of the content as an entity tag; 16 characters that are safe in a URL, quoted.

    With a key it is an HMAC.
    """
    digest = hmac.digest(key, content, "sha256") if key else hashlib.sha256(content).digest()
    return f'"{base64.urlsafe_b64encode(digest[:_DIGEST_BYTES]).decode("ascii")}"'


def _trimmed(cells: Sequence[object]) -> list[str]:
    texts = ["" if cell is None else str(cell) for cell in cells]
    while texts and not texts[-1]:
        texts.pop()
    return texts
