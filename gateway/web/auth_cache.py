"""Cache authorised reads for 0.5 s.

Rules
- A pass is for one head: the same credentials, worksheet and origin to the byte. It says who called
  and what they may read, and nothing of rates: each request is charged.
- It goes by a keyed digest, so that no key is kept; the digest's key is made at start.
- It counts for `TTL_SECONDS`, which is part of the time after which a revocation counts.
"""

import secrets
import time
from collections.abc import Callable
from hashlib import blake2b
from typing import NamedTuple

from gateway.access.caller import Caller
from gateway.web.head import Head
from gateway.worksheets.access import Target

TTL_SECONDS = 0.5
MAX_KEPT = 4096
LONGEST_TITLE = 256
"""Of worksheets that are cached; Google's titles are shorter still."""

_TELLING = (
    b"authorization",
    b"authentication",
    b"api-key",
    b"x-api-key",
    b"x-spreadsheet-id",
    b"x-sheetson-spreadsheet-id",
    b"origin",
)
"""The headers that decide who may read what."""

_DIGEST_BYTES = 16
_ABSENT = b"\1"


class CachedCaller(NamedTuple):
    """Who was let in, to which worksheet, and until when that is believed."""

    caller: Caller
    target: Target
    until_seconds: float
    reading: str
    """The second reading of the worksheet's name that it took, "" for none."""


class AuthCache:
    """The authorised reads of one gateway."""

    def __init__(self, timer: Callable[[], float] = time.monotonic) -> None:
        self._timer = timer
        self._secret = secrets.token_bytes(32)
        self._kept: dict[bytes, CachedCaller] = {}

    def find(self, number: bytes) -> CachedCaller | None:
        found = self._kept.get(number)
        return found if found is not None and self._timer() < found.until_seconds else None

    def issue(self, number: bytes, caller: Caller, target: Target, reading: str = "") -> None:
        """Let this head in again for a moment; a key that may expire in it shows itself anew."""
        if caller.expires or len(target.worksheet.title) > LONGEST_TITLE:
            return
        if len(self._kept) >= MAX_KEPT:
            self._kept.clear()
        self._kept[number] = CachedCaller(caller, target, self._timer() + TTL_SECONDS, reading)

    def number(self, head: Head, credentials: bytes, segment: str) -> bytes:
        """What a pass goes by; `credentials` are those of the URL, `segment` names the worksheet.

        No header line and no part of a URL holds the bytes that part them here.
        """
        lines = head.lines
        parts = [b"\0".join(lines[name]) if name in lines else _ABSENT for name in _TELLING]
        parts += (credentials, segment.encode("latin-1", "replace"))
        told = b"\n".join(parts)
        return blake2b(told, digest_size=_DIGEST_BYTES, key=self._secret).digest()
