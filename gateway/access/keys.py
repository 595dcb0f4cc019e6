"""API keys: format and digest of a key, active keys in memory, and authentication.

A key is `sgw_`, 30 random base62 digits (178 bits), and 6 digits of a CRC32 checksum. The gateway
finds most typing errors by the checksum, without the key store. The store has HMAC-SHA256 digests
with a pepper, which is outside the store. 178 random bits need no slow hash.

Rules
- A valid key always works, even if too many invalid keys came from the same address. The active
  keys in memory are searched first, and only failures count for the limit per address.
- An expiry takes effect at once, and a revocation after a refresh.
- The key itself is not stored.
- A text that cannot be a key, such as `Basic …`, gets an error with the reason, and does not count
  as a failure. The error contains no part of the text, which might contain a key.

Rules for the active keys in memory, by digest. A refresh reads changes from the store.
- An answer of the store is valid for `BELIEVED_SECONDS` after its request was sent, which limits
  the delay of a revocation.
- A key is unknown only after a refresh that began after the request with the key. So a new key
  works at once, and a failure of the store makes no key unknown.
- One refresh runs at a time, at most one in `PAUSE_SECONDS`, and all requests share the refresh
  (single-flight). So many guessed keys cost no more than one.
- After a failed refresh the known keys stay, until their validity ends.
- While a PostgreSQL server is unavailable, earlier answers are valid for longer, and requests with
  known keys wait for the server only briefly (`server_outage`).
- After a signal of a change (from this process or from PostgreSQL), callers must not cache results
  of `find` until the next refresh.
- The memory contains only digests of keys.
"""

import asyncio
import hashlib
import hmac
import math
import re
import secrets
import string
import time
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache

from cachetools import LRUCache

from gateway import errors
from gateway.access.address_rates import AddressRates
from gateway.access.caller import Caller
from gateway.settings.model import PlanSettings
from gateway.storage.damaged_rows import DamagedRow
from gateway.storage.key_store import KeyChange, KeyRecord, KeyStore, StoredKey, record_of
from gateway.table.header import ColumnGrant
from gateway.telemetry import events

PREFIX = "sgw_"
SECRET_DIGITS = 30
CHECKSUM_DIGITS = 6
ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase

RandomBytes = Callable[[int], bytes]

_FORM = re.compile(rf"{PREFIX}[0-9A-Za-z]{{{SECRET_DIGITS + CHECKSUM_DIGITS}}}")
# Higher bytes are drawn again: they would favour the first digits of the alphabet.
_UNIFORM_BELOW = 256 - 256 % len(ALPHABET)


def mint_key(random_bytes: RandomBytes = secrets.token_bytes, *, prefix: str = PREFIX) -> str:
    unchecked = prefix + random_digits(SECRET_DIGITS, random_bytes)
    return unchecked + _checksum(unchecked)


def is_well_formed(key: str) -> bool:
    """True if a text has the format and the checksum of a key. The key need not exist."""
    has_form = _FORM.fullmatch(key) is not None
    return has_form and _checksum(key[:-CHECKSUM_DIGITS]) == key[-CHECKSUM_DIGITS:]


def digest(key: str, pepper: bytes) -> bytes:
    """Return the digest of a key as in the store: 32 bytes of HMAC-SHA256 with the pepper."""
    return hmac.digest(pepper, key.encode("ascii"), hashlib.sha256)


def random_digits(count: int, random_bytes: RandomBytes) -> str:
    """Return uniformly random base62 digits."""
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
"""Wrong schemes in `Authorization`, and header names that clients send instead of a scheme."""
_FIRST_WORD = re.compile(r"([A-Za-z][A-Za-z0-9-]{0,30})(?:\s|%20|[:=,])")
_UTF8_QUOTES = ("\xe2\x80\x9c", "\xe2\x80\x9d", "\xe2\x80\x98", "\xe2\x80\x99")
_MARKS = (*"\"'`“”„‘’<{[($", *_UTF8_QUOTES)
"""Characters around placeholders: brackets, quotes, and UTF-8 quotes read as Latin-1."""
_ABSENT = frozenset({"null", "undefined", "none", "nil", "nan", "false", "true"})


def around_key(text: str) -> str:
    """Return a sentence about the mistake in a text that is not a key, or "" if unknown.

    A mistake is, for example, a quotation mark before the key.
    """
    word = _FIRST_WORD.match(text)
    scheme = word[1].lower() if word else ""
    if scheme == "bearer":
        return "'Bearer' is repeated, has no blank after it, or is in a header for the key alone."
    if scheme in _SCHEMES:
        return f"{_SCHEMES[scheme]} is not a scheme of this API."
    if text.startswith(_MARKS):
        return "There is a quote or a bracket before the key."
    if text.lower() in _ABSENT:
        return "The key is a word such as 'undefined', so the variable for the key is empty."
    return ""


BELIEVED_SECONDS = 4.5
REFRESH_SECONDS = 2.0
"""Age of the key store's last answer at which the next use of a key starts a refresh."""
PAUSE_SECONDS = 0.05
RETRY_SECONDS = 5
"""`Retry-After` of the error while the store fails."""
MAX_HOLDERS = 10_000
"""Maximum number of keys that are cached decoded. Other keys are decoded at each use."""


@dataclass(frozen=True, kw_only=True)
class Outage:
    """Limits for reads of keys while the store fails. The defaults are for a SQLite file."""

    grace_seconds: float = BELIEVED_SECONDS
    """Seconds for which an answer of the store is valid."""
    wait_seconds: float | None = None
    """Maximum wait for the store while an earlier answer is valid. None means no limit."""
    answer_seconds: float | None = None
    """Maximum seconds to read a page of changes. None means no limit."""
    retry_seconds: float = PAUSE_SECONDS
    """Minimum seconds between the starts of a failed refresh and of the next refresh."""
    log_seconds: float = 0.0
    """Minimum seconds between two logged failures of an outage."""


OF_FILE = Outage()


def server_outage(grace_seconds: float) -> Outage:
    """Return the limits for a PostgreSQL server, whose answers are valid for `grace_seconds`."""
    return Outage(
        grace_seconds=grace_seconds,
        wait_seconds=0.25,
        answer_seconds=2.0,
        retry_seconds=1.0,
        log_seconds=60.0,
    )


COARSENESS = timedelta(hours=1)
MAX_NOTED = 100_000
"""Maximum number of keys whose last use is cached. Other uses are stored more often."""

Touch = Callable[[str, datetime], Awaitable[object]]
"""Function that stores the time at which the key with this ID was used."""

Changes = Callable[
    [KeyChange | None, datetime], Awaitable[Sequence[tuple[KeyChange, StoredKey | None]] | None]
]
"""Function that reads a page of key changes, as `KeyStore.changes` does."""


@dataclass(frozen=True, slots=True)
class Holder:
    """An active key: its record, and its caller, or None if the plan is not configured."""

    record: KeyRecord
    caller: Caller | None


class ActiveKeys:
    """Cache of the active keys of a store, by digest.

    `clock` returns UTC. `tag_key` is the secret for ETags of rows with hidden cells.
    """

    def __init__(
        self,
        changes: Changes,
        plans: Mapping[str, PlanSettings],
        *,
        clock: Callable[[], datetime],
        tag_key: bytes,
        outage: Outage = OF_FILE,
        timer: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._changes = changes
        self._clock = clock
        self._outage = outage
        self._timer = timer
        self._sleep = sleep
        self._keys: dict[bytes, StoredKey] = {}
        self._holder = lru_cache(MAX_HOLDERS)(lambda key: _holder(key, plans, tag_key))
        self._last: KeyChange | None = None
        self._refresh: asyncio.Task[None] | None = None
        self._begun = 0
        self._done = 0
        self._needed = 0
        """Number of the first refresh that reads all signalled changes."""
        self._is_failing = False
        self._logged_at = -math.inf
        self._began_at = -math.inf
        self._as_of = -math.inf

    async def load(self) -> None:
        """Read all keys before the first request. Raises KeysUnavailable."""
        await self._refreshed()

    @property
    def outlasts_outage(self) -> bool:
        """True if known keys stay valid while the PostgreSQL server is unavailable."""
        return self._outage != OF_FILE and self._is_valid(self._timer())

    def fresh_until(self) -> float:
        """Return the time of `timer` until which callers can cache results of `find`."""
        return -math.inf if self._done < self._needed else self._as_of + REFRESH_SECONDS

    def changed(self) -> None:
        """Start a refresh after a signal that keys changed.

        If a refresh is running, another one follows, because it might have read before the change.
        """
        self._needed = self._begun + 1
        self._under_way()

    async def settled(self) -> None:
        """Wait until this process has read all signalled changes. Raises KeysUnavailable."""
        while self._done < self._needed:
            await self._refreshed()

    def __contains__(self, digest: bytes) -> bool:
        return digest in self._keys

    async def aclose(self) -> None:
        """Wait for a running refresh."""
        while self._refresh is not None:
            await asyncio.wait([self._refresh])

    async def find(self, digest: bytes) -> Holder | None:
        """Return the holder of the key with this digest, even if the key has expired.

        Returns None if the key is unknown, revoked or damaged. Raises `KeysUnavailable` if the
        store fails and no earlier answer is valid.
        """
        if digest not in self._keys:
            needed = self._begun + 1  # a running refresh might have read before the key was added
            while self._done < needed:
                await self._refreshed()
        else:
            now = self._timer()
            if self._as_of <= now - BELIEVED_SECONDS:
                await self._renewed(now)
            if self._as_of <= now - REFRESH_SECONDS or self._done < self._needed:
                self._under_way()
        key = self._keys.get(digest)
        return None if key is None else self._holder(key)

    def _is_valid(self, now: float) -> bool:
        return self._as_of > now - self._outage.grace_seconds

    async def _renewed(self, now: float) -> None:
        """Wait for a new answer of the store, only briefly if an earlier answer is valid.

        Raises `KeysUnavailable` if the store fails and no earlier answer is valid.
        """
        is_valid = self._is_valid(now)
        if is_valid and self._is_failing:
            return
        try:
            async with asyncio.timeout(self._outage.wait_seconds if is_valid else None):
                while self._as_of <= now - BELIEVED_SECONDS:
                    await self._refreshed()
        except (errors.KeysUnavailable, TimeoutError):
            if not is_valid:
                raise
            self._is_failing = True

    async def _refreshed(self) -> None:
        await asyncio.shield(self._under_way())  # a cancelled request does not end the refresh

    def _under_way(self) -> asyncio.Task[None]:
        if self._refresh is None:
            self._refresh = asyncio.get_running_loop().create_task(self._run())
            # An error is already logged, and perhaps no request waits for the refresh any more.
            self._refresh.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._refresh

    async def _run(self) -> None:
        try:
            pause_seconds = self._outage.retry_seconds if self._is_failing else PAUSE_SECONDS
            pause_seconds += self._began_at - self._timer()
            if pause_seconds > 0:
                await self._sleep(pause_seconds)
            self._begun += 1
            self._began_at = self._timer()
            await self._read_changes()
            self._done, self._as_of = self._begun, self._began_at
            self._is_failing, self._logged_at = False, -math.inf
        except Exception as error:  # the edge of a background task: perhaps no request waits for it
            self._is_failing, now = True, self._timer()
            if now >= self._logged_at + self._outage.log_seconds:
                self._logged_at = now
                events.request_failed(events.current_event(), error)
            raise errors.KeysUnavailable(retry_after_seconds=RETRY_SECONDS) from error
        finally:
            self._refresh = None
        if self._done < self._needed:
            self._under_way()

    async def _read_changes(self) -> None:
        keys, last = self._keys, self._last
        while True:
            async with asyncio.timeout(self._outage.answer_seconds):
                changes = await self._changes(last, self._clock())
            if changes == []:
                break
            if changes is None:
                keys, last = {}, None  # the known keys stay valid until all pages are read
                continue
            for last, key in changes:
                if key is None:
                    keys.pop(last.digest, None)
                else:
                    keys[last.digest] = key
        self._keys, self._last = keys, last


def _holder(key: StoredKey, plans: Mapping[str, PlanSettings], tag_key: bytes) -> Holder | None:
    """Decode a stored key. Logs a damaged key, and then returns None."""
    try:
        record = record_of(key)
    except DamagedRow as error:
        events.damaged_row(error.table, error.row, error.problem)
        return None
    return Holder(record, caller_of(record, plans, tag_key))


def caller_of(
    record: KeyRecord, plans: Mapping[str, PlanSettings], tag_key: bytes
) -> Caller | None:
    """Return the caller of a key's record, or None if the plan is not configured.

    A create-only key sees only the fields that it can write, so that errors reveal no other fields.
    """
    plan = plans.get(record.plan)
    if plan is None:
        return None
    columns = record.grants.columns
    if not record.grants.may_read and columns.writable is not None:
        columns = ColumnGrant(readable=columns.writable)
    if columns.readable is not None:
        columns = replace(columns, tag_key=tag_key)
    return Caller(key=replace(record, grants=replace(record.grants, columns=columns)), plan=plan)


class LastUse:
    """Stores the last use of each key, at most once an hour, one key at a time, without retries."""

    def __init__(self, touch: Touch, clock: Callable[[], datetime]) -> None:
        self._touch, self._clock = touch, clock
        self._noted: LRUCache[str, datetime] = LRUCache(MAX_NOTED)
        self._waiting: dict[str, datetime] = {}
        self._task: asyncio.Task[None] | None = None

    def note(self, key_id: str) -> None:
        """Record that a key was used now. A background task stores the use."""
        now, noted = self._clock(), self._noted.get(key_id)
        if noted is not None and now - noted < COARSENESS:
            return
        self._noted[key_id] = self._waiting[key_id] = now
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._keep_all())

    async def aclose(self) -> None:
        """Wait until all noted uses are stored."""
        if self._task is not None:
            await self._task

    async def _keep_all(self) -> None:
        while self._waiting:
            key_id, used_at = self._waiting.popitem()
            try:
                await self._touch(key_id, used_at)
            except Exception as error:  # the edge of a background task
                events.last_use_failed(key_id, error)


async def warn_of_any_spreadsheet_keys(store: KeyStore, now: datetime) -> None:
    """Log the IDs of active keys without spreadsheet restrictions, and the damaged keys."""
    records = await store.list(lambda row: events.damaged_row(row.table, row.row, row.problem))
    key_ids = [record.id for record in records if may_use_any_spreadsheet(record, now)]
    if key_ids:
        events.any_spreadsheet_keys(key_ids)


def may_use_any_spreadsheet(record: KeyRecord, now: datetime) -> bool:
    """True if a key is active and its grants do not limit spreadsheets."""
    return record.grants.spreadsheets is None and record.is_active(now)


WhereFrom = Callable[[], str]
"""Function that returns the client's address, called only for invalid keys."""


@dataclass(frozen=True)
class Gatekeeper:
    """Authenticates callers. `clock` returns UTC; `used` gets the ID of each valid key."""

    keys: ActiveKeys = field(repr=False)
    pepper: bytes = field(repr=False)
    clock: Callable[[], datetime]
    failures: AddressRates = field(repr=False, default_factory=AddressRates)
    used: Callable[[str], None] = field(repr=False, default=lambda _: None)

    async def identify(self, key: str | None, where_from: WhereFrom) -> Caller:
        """Authenticate a key, which can be any text.

        Raises `MissingApiKey` if the key is missing or blank, `InvalidApiKey` for every kind of
        invalid key, `TooManyAuthFailures` after too many invalid keys from the same address,
        `PlanLimit` if the key's plan is no longer configured, and `KeysUnavailable` if the store
        fails.
        """
        if key is None or not key.strip():
            raise errors.MissingApiKey()
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
            raise errors.PlanLimit(
                f"The plan '{holder.record.plan}' of this key is no longer configured. Ask "
                "the gateway's operator to restore the plan, or for a key with another plan."
            )
        return holder.caller

    def _refusal(
        self, key: str, where_from: WhereFrom
    ) -> errors.InvalidApiKey | errors.TooManyAuthFailures:
        if found := around_key(key):
            return errors.InvalidApiKey(f"{found} Send the key as 'Authorization: Bearer KEY'.")
        wait_seconds = self.failures.count(where_from())
        if not wait_seconds:  # one message for all reasons, because only operators must know them
            return errors.InvalidApiKey()
        return errors.TooManyAuthFailures(
            retry_after_seconds=math.ceil(wait_seconds), per_minute=self.failures.per_minute
        )
