"""API keys as text: minting, checksum, digest.

A key is `sgw_`, 30 base62 digits drawn uniformly (178 bits), and the CRC32 of all that as 6 more
digits, so that a typo is refused without a look-up. 178 bits need no slow hash: the digest is
HMAC-SHA256 with a pepper that is not in the store.
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
# Bytes from here on would favour the first digits of the alphabet: they are drawn again.
_UNIFORM_BELOW = 256 - 256 % len(ALPHABET)


def mint_key(random_bytes: RandomBytes = secrets.token_bytes) -> str:
    """A new key."""
    unchecked = PREFIX + random_digits(SECRET_DIGITS, random_bytes)
    return unchecked + _checksum(unchecked)


def is_well_formed(key: str) -> bool:
    """Whether any text has the form and the checksum of a key, be it known or not."""
    if not _FORM.fullmatch(key):
        return False
    return _checksum(key[:-CHECKSUM_DIGITS]) == key[-CHECKSUM_DIGITS:]


def digest(key: str, pepper: bytes) -> bytes:
    """What the store knows of a well-formed key: 32 bytes that lead back to nothing."""
    return hmac.digest(pepper, key.encode("ascii"), hashlib.sha256)


def random_digits(count: int, random_bytes: RandomBytes) -> str:
    """That many base62 digits, each as likely as any other."""
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
