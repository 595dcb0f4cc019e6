"""Cursors: the place behind a page, sealed for the request that it belongs to.

Rules
- A cursor is encrypted and authenticated (AES-SIV, RFC 5297) with a key of the pepper: all
  processes read it, and a client learns nothing from it but its length.
- It is deterministic: equal pages have equal cursors, and so equal tags.
- It belongs to a key, a worksheet, `where` and `order`: with others it cannot be read.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from gateway.errors import InvalidQuery
from gateway.query.place import Place
from gateway.worksheets.access import Target

LONGEST = 1024
"""Characters of a cursor."""

_decode = msgspec.msgpack.Decoder(Place).decode
_encode = msgspec.msgpack.Encoder().encode


class Cursors:
    """Seals of one gateway; `key`: 32 bytes."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESSIV(key)

    def seal(self, target: Target, asked: bytes) -> "Seal":
        """The seal of a list of a key's worksheet; `asked` are its `where` and `order`."""
        return Seal(self._cipher, _encode((target.access.key_id, target.worksheet, asked)))


class Seal(msgspec.Struct, frozen=True):
    """Makes and reads the cursors of one list."""

    cipher: AESSIV
    bound: bytes
    """What they belong to."""

    def of(self, place: Place) -> str:
        """The cursor of a place."""
        sealed = self.cipher.encrypt(_encode(place), [self.bound])
        return urlsafe_b64encode(sealed).rstrip(b"=").decode("ascii")

    def open(self, cursor: str) -> Place:
        """The place of a cursor; the one before the first row for "". Raises InvalidQuery."""
        if not cursor:
            return Place()
        try:
            sealed = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
            if len(cursor) <= LONGEST and urlsafe_b64encode(sealed).rstrip(b"=") == cursor.encode():
                return _decode(self.cipher.decrypt(sealed, [self.bound]))
        except (Error, UnicodeEncodeError, InvalidTag, ValueError):
            pass
        raise InvalidQuery(
            "cursor is not one of this list. It belongs to one API key, worksheet, where and "
            "order: send these as in the request whose answer had it, and the cursor whole. To "
            "begin again, send cursor= without a value."
        )
