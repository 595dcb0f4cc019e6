"""API keys: creation, checksum, digest; and authentication, from a key to its caller.

A key is `sgw_`, 30 uniformly random base62 digits (178 bits), and 6 digits with the CRC32 of the
rest, so that typos need no look-up. 178 bits need no slow hash: the digest is HMAC-SHA256 with a
pepper that is not in the store.

Rules
- A valid key is never refused because of others: the active keys in memory are checked first. The
  limit of invalid keys only decides how the others are refused.
- An expiry takes effect at once, a revocation as described in `gateway.access.active_keys`.
- The key itself is not stored.
- A text that no key can be, such as another scheme, is refused with the reason and not counted: it
  is no guess. The reason has words of this module only, never a part of the text, which may hold a
  key.
- Invalid keys have a limit per client address, which counts only failures. An IPv6 client has a /64
  network, so that counts as its address. The number of addresses is bounded; the one that failed
  longest ago is forgotten first.
"""

import hashlib
import hmac
import math
import re
import secrets
import string
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from ipaddress import IPv6Address, ip_address

from gateway.access.active_keys import ActiveKeys
from gateway.access.caller import Caller
from gateway.errors import InvalidApiKey, MissingApiKey, PlanLimit, TooManyAuthFailures
from gateway.gcra import Gcra, rate_limit

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


_SCHEMES: Mapping[str, str] = {
    name.lower(): name
    for name in (
        *("Basic", "Digest", "Token", "ApiKey", "Api-Key", "X-API-Key", "Key", "JWT", "OAuth"),
        *("Negotiate", "NTLM", "Hawk", "AWS4-HMAC-SHA256", "Authorization"),
    )
}
"""Other schemes of `Authorization`, and names of headers in the place of one."""
_FIRST_WORD = re.compile(r"([A-Za-z][A-Za-z0-9-]{0,30})(?:\s|%20|[:=,])")
_UTF8_QUOTES = ("\xe2\x80\x9c", "\xe2\x80\x9d", "\xe2\x80\x98", "\xe2\x80\x99")
_MARKS = (*"\"'`“”„‘’<{[($", *_UTF8_QUOTES)
"""Quotes, also as a header has them, in UTF-8 read as Latin-1, and signs of placeholders."""
_ABSENT = frozenset({"null", "undefined", "none", "nil", "nan", "false", "true"})


def around_key(text: str) -> str:
    """Describe what stands before a key, or instead of one; "" for anything else."""
    word = _FIRST_WORD.match(text)
    scheme = word[1].lower() if word else ""
    if scheme == "bearer":
        return "Bearer stands twice, or without a blank behind it, or in a place for the key alone."
    if scheme in _SCHEMES:
        return f"{_SCHEMES[scheme]} is not a scheme of this API."
    if text.startswith(_MARKS):
        return "A quote or bracket stands before the key."
    if text.lower() in _ABSENT:
        return "The key is a word for a missing value: the variable that should hold it is empty."
    return ""


DEFAULT_PER_MINUTE = 20
MAX_KEPT = 10_000
_NETWORK_BYTES = 8

WhereFrom = Callable[[], str]
"""Returns the client's address; called only for invalid keys."""

NO_KEY = (
    "A key is needed. Send it as 'Authorization: Bearer KEY', in the header API-Key or X-API-Key, "
    "or, to read only, in the query parameter apiKey."
)
# One text for all reasons, which concern only the operator.
BAD_KEY = (
    "This key is not valid: it is mistyped, unknown, revoked or expired. Copy it once more, or "
    "ask the gateway's operator for a new one."
)


class FailedKeys:
    """Rate limit of failures per address; the burst is one minute's number. 0 means no limit."""

    def __init__(
        self,
        per_minute: int = DEFAULT_PER_MINUTE,
        timer: Callable[[], float] = time.monotonic,
        max_kept: int = MAX_KEPT,
    ) -> None:
        self.per_minute = per_minute
        self._limit = rate_limit(per_minute, burst=per_minute)
        self._timer = timer
        self._max_kept = max_kept
        self._failures: OrderedDict[str, Gcra] = OrderedDict()

    def count(self, address: str) -> float:
        """Count a failure; returns 0, or the seconds to wait if it exceeds the limit."""
        return self._failures_of(address).take(self._limit, self._timer())

    def _failures_of(self, address: str) -> Gcra:
        network, all_failures = network_of(address), self._failures
        failures = all_failures.get(network)
        if failures is not None:
            all_failures.move_to_end(network)
            return failures
        if len(all_failures) >= self._max_kept:
            all_failures.popitem(last=False)
        failures = all_failures[network] = Gcra()
        return failures


def network_of(address: str) -> str:
    """The address that counts for a client: IPv4, the /64 network of IPv6, or any other text."""
    if ":" not in address:
        return address
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(IPv6Address(parsed.packed[:_NETWORK_BYTES].ljust(16, b"\0")))


@dataclass(frozen=True)
class Gatekeeper:
    """Identifies callers by key; `clock` returns UTC, `used` receives the ID of each valid key."""

    keys: ActiveKeys = field(repr=False)
    pepper: bytes = field(repr=False)
    clock: Callable[[], datetime]
    failures: FailedKeys = field(repr=False, default_factory=FailedKeys)
    used: Callable[[str], None] = field(repr=False, default=lambda _: None)

    async def identify(self, key: str | None, where_from: WhereFrom) -> Caller:
        """The caller with this key, which may be any text.

        Raises `MissingApiKey` for none or a blank one, `InvalidApiKey` for every kind of invalid
        key, `TooManyAuthFailures` if too many of those came from this address, `PlanLimit` if the
        key's plan is no longer configured, and `KeysUnavailable` if the store fails.
        """
        if key is None or not key.strip():
            raise MissingApiKey(NO_KEY)
        holder = None
        if key.isascii():
            found = digest(key, self.pepper)
            # The checksum saves a refresh for mistyped keys; a known key needs none.
            if found in self.keys or is_well_formed(key):
                holder = await self.keys.find(found)
        expires_at = None if holder is None else holder.record.expires_at
        if holder is None or (expires_at is not None and self.clock() >= expires_at):
            raise self._refusal(key, where_from)
        self.used(holder.record.id)
        if holder.caller is None:
            raise PlanLimit(
                f"The plan '{holder.record.plan}' of this key is not configured any more. Ask the "
                "gateway's operator to bring it back, or for a key on another plan."
            )
        return holder.caller

    def _refusal(self, key: str, where_from: WhereFrom) -> InvalidApiKey | TooManyAuthFailures:
        if found := around_key(key):
            return InvalidApiKey(f"{found} Send it as 'Authorization: Bearer KEY'.")
        wait_seconds = self.failures.count(where_from())
        if not wait_seconds:
            return InvalidApiKey(BAD_KEY)
        return TooManyAuthFailures(
            "Too many keys that are not valid came from this address. Wait for the seconds in "
            "Retry-After, and check the key; valid keys go on working meanwhile.",
            retry_after_seconds=math.ceil(wait_seconds),
            per_minute=self.failures.per_minute,
        )
