"""Cursors of paged lists: an encrypted position, valid for one list only.

Rules
- A cursor is encrypted and authenticated (AES-SIV, RFC 5297). The encryption key is derived from
  the pepper, so all processes can decrypt the cursor. A client learns only the length of the
  position.
- Cursors are deterministic: equal pages have equal cursors, and therefore equal ETags.
- A cursor is valid only for the API key, worksheet, `where` and `order` of its list.
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
    """Encryption of the gateway's cursors. `key` has 32 bytes."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESSIV(key)

    def seal(self, target: Target, asked: bytes) -> "Seal":
        """Return the codec for cursors of one list. `asked` has the list's `where` and `order`."""
        return Seal(self._cipher, _encode((target.access.key_id, target.worksheet, asked)))


class Seal(msgspec.Struct, frozen=True):
    """Encrypts and decrypts the cursors of one list."""

    cipher: AESSIV
    bound: bytes
    """Associated data that authenticates the list: API key ID, worksheet, `where` and `order`."""

    def of(self, place: Place) -> str:
        """Encrypt a position to a cursor."""
        sealed = self.cipher.encrypt(_encode(place), [self.bound])
        return urlsafe_b64encode(sealed).rstrip(b"=").decode("ascii")

    def open(self, cursor: str) -> Place:
        """Decrypt a cursor to a position. Raises InvalidQuery for a cursor of another list.

        The cursor "" gives the position before the first row.
        """
        if not cursor:
            return Place()
        try:
            sealed = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
            if len(cursor) <= LONGEST and urlsafe_b64encode(sealed).rstrip(b"=") == cursor.encode():
                return _decode(self.cipher.decrypt(sealed, [self.bound]))
        except (Error, UnicodeEncodeError, InvalidTag, ValueError):
            pass
        raise InvalidQuery(
            "cursor does not belong to this list. Send the complete cursor with the same API key, "
            "worksheet, where and order as in the request that returned it, or send cursor= "
            "without a value for the first page."
        )
