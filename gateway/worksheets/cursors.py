"""Cursors: the place after a page, sealed for its request.

Rules
- A cursor is encrypted and authenticated (AES-SIV, RFC 5297) with a key derived from the pepper:
  all processes can read it, and a client learns only its length.
- Cursors are deterministic: equal pages have equal cursors, and so equal tags.
- A cursor is bound to a key, a worksheet, `where` and `order`; with others it is invalid.
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
"""Maximum number of characters of a cursor."""

_decode = msgspec.msgpack.Decoder(Place).decode
_encode = msgspec.msgpack.Encoder().encode


class Cursors:
    """Seals of one gateway; `key` has 32 bytes."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESSIV(key)

    def seal(self, target: Target, asked: bytes) -> "Seal":
        """The seal of a list of a key's worksheet; `asked` are its `where` and `order`."""
        return Seal(self._cipher, _encode((target.access.key_id, target.worksheet, asked)))


class Seal(msgspec.Struct, frozen=True):
    """Makes and reads the cursors of one list."""

    cipher: AESSIV
    bound: bytes
    """Associated data of the cursors: key, worksheet, `where` and `order`."""

    def of(self, place: Place) -> str:
        """Seal a place to a cursor."""
        sealed = self.cipher.encrypt(_encode(place), [self.bound])
        return urlsafe_b64encode(sealed).rstrip(b"=").decode("ascii")

    def open(self, cursor: str) -> Place:
        """Open a cursor; "" is the place before the first row. Raises InvalidQuery."""
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
