"""Static files, read once."""

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gateway.table.header import opaque_tag
from gateway.web.answers import Answer, header_lines
from gateway.web.head import Head, is_known

CHUNK_BYTES = 64 * 1024
"""Size of the pieces passed to a connection."""

_MEDIA_TYPES: Mapping[str, str] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
}
_REFUSING_WEIGHTS = frozenset({"q=0", "q=0.0", "q=0.00", "q=0.000"})


@dataclass(frozen=True, kw_only=True)
class Asset:
    """Content of a file or page, plain and compressed, as an answer."""

    content: Sequence[bytes]
    """In chunks shared by all answers, so that slow readers do not hold copies."""
    packed: Sequence[bytes]
    headers: Sequence[tuple[bytes, bytes]]
    tag: str

    def answer(self, head: Head) -> Answer:
        if is_known(head, self.tag):
            return Answer(304, self.headers)
        is_packed = accepts_gzip(head)
        content = self.packed if is_packed else self.content
        length = (b"content-length", b"%d" % sum(map(len, content)))
        coding = [(b"content-encoding", b"gzip")] if is_packed else []
        return Answer(200, [*self.headers, length, *coding], content)


def make_asset(content: bytes, suffix: str, headers: Mapping[str, str]) -> Asset:
    """An asset of some content; its tag is weak, because both encodings have it."""
    tag = f"W/{opaque_tag(content)}"
    lines = {**headers, "Content-Type": _MEDIA_TYPES[suffix], "ETag": tag} | {
        "Vary": "Accept-Encoding"
    }
    return Asset(
        content=_chunks(content),
        packed=_chunks(gzip.compress(content, mtime=0)),
        headers=header_lines(lines),
        tag=tag,
    )


def _chunks(content: bytes) -> Sequence[bytes]:
    return [content[at : at + CHUNK_BYTES] for at in range(0, len(content), CHUNK_BYTES)]


def read_asset(file: Path, headers: Mapping[str, str]) -> Asset:
    """Read a file; its suffix gives the media type."""
    return make_asset(file.read_bytes(), file.suffix, headers)


def accepts_gzip(head: Head) -> bool:
    """True if `Accept-Encoding` names gzip (RFC 9110, 12.5.3); `*` does not suffice."""
    codings = ",".join(head.values(b"accept-encoding")).lower().replace(" ", "").split(",")
    weights = dict(coding.partition(";")[::2] for coding in codings)
    return "gzip" in weights and weights["gzip"] not in _REFUSING_WEIGHTS
