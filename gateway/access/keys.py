"""API keys as text: creation, checksum, digest.

A key is `sgw_`, 30 uniformly random base62 digits (178 bits), and 6 digits with the CRC32 of the
rest, so that typos need no look-up. 178 bits need no slow hash: the digest is HMAC-SHA256 with a
pepper that is not in the store.
"""

import hashlib
import hmac
import re
import secrets
import string
import zlib
from collections.abc import Callable

PREFIX = "sgw_"
SECRET_DIGITS = 30
CHECKSUM_DIGITS = 6
ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase

RandomBytes = Callable[[int], bytes]

_FORM = re.compile(rf"{PREFIX}[0-9A-Za-z]{{{SECRET_DIGITS + CHECKSUM_DIGITS}}}")
# Higher bytes are drawn again: they would favour the first digits of the alphabet.
_UNIFORM_BELOW = 256 - 256 % len(ALPHABET)


def mint_key(random_bytes: RandomBytes = secrets.token_bytes) -> str:
    unchecked = PREFIX + random_digits(SECRET_DIGITS, random_bytes)
    return unchecked + _checksum(unchecked)


def is_well_formed(key: str) -> bool:
    """True if a text has the form and checksum of a key, known or not."""
    if not _FORM.fullmatch(key):
        return False
    return _checksum(key[:-CHECKSUM_DIGITS]) == key[-CHECKSUM_DIGITS:]


def digest(key: str, pepper: bytes) -> bytes:
    """The stored digest of a key."""
    return hmac.digest(pepper, key.encode("ascii"), hashlib.sha256)


def random_digits(count: int, random_bytes: RandomBytes) -> str:
    """Uniformly random base62 digits."""
    digits = ""
    while len(digits) < count:
        drawn = random_bytes(count - len(digits))
        digits += "".join(ALPHABET[b % len(ALPHABET)] for b in drawn if b < _UNIFORM_BELOW)
    return digits


def _checksum(text: str) -> str:
    number, digits = zlib.crc32(text.encode("ascii")), ""
    for _ in range(CHECKSUM_DIGITS):
        number, digit = divmod(number, len(ALPHABET))
        digits = ALPHABET[digit] + digits
    return digits
