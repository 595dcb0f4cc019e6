"""The gatekeeper: from the key of a request to its caller.

Rules:
- What the store said of a key is believed for `ttl_seconds` from when it was asked, so that a
  revocation counts after that at the latest. An expiry counts at its instant.
- The key itself is kept nowhere; what is kept goes by its digest, and there is a bound to it.
- One look-up of a key is under way at a time; whoever brings the same key meanwhile joins it.
- A key that counts is never refused for what others do at its address: whether a key is known is
  asked first, failures are counted after. Keys that count are kept apart from those that do not,
  and keys that nobody knows wait for their turn at the store: guessing pushes out no key in use.
"""

import asyncio
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from cachetools import LRUCache
from sqlalchemy.exc import SQLAlchemyError

from gateway.access.caller import Caller, Grants
from gateway.access.failed_keys import FailedKeys
from gateway.access.keys import CHECKSUM_DIGITS, PREFIX, SECRET_DIGITS, digest, is_well_formed
from gateway.access.store import KeyRecord
from gateway.errors import InvalidApiKey, MissingApiKey, PlanLimit
from gateway.limit_errors import KeysUnavailable, TooManyAuthFailures
from gateway.observe import current_event, request_failed
from gateway.plan_settings import PlanSettings

MAX_KEPT = 10_000
MAX_LOOK_UPS = 8
"""Of keys that nobody knows yet, at once; the store has connections for more than these."""
RETRY_SECONDS = 5
"""After which a store that failed may answer again."""

WhereFrom = Callable[[], str]
"""Gives the address of the client; it is asked only where a key does not count."""

_KEY_LENGTH = len(PREFIX) + SECRET_DIGITS + CHECKSUM_DIGITS
NO_KEY = (
    "A key is needed. Send it as 'Authorization: Bearer KEY', in the header API-Key or X-API-Key, "
    "or, to read only, in the query parameter apiKey."
)
# One text for all reasons: which of them it was is nobody's business but the operator's.
BAD_KEY = (
    "This key is not valid: it is mistyped, unknown, revoked or expired. Copy it once more, or "
    "ask the gateway's operator for a new one."
)


class Keys(Protocol):
    """The key store, as far as a gatekeeper needs it."""

    async def find(self, digest: bytes) -> KeyRecord | None:
        """The key with this digest, be it revoked or expired, or None; SQLAlchemyError."""


@dataclass(frozen=True, slots=True)
class _Holder:
    """Who holds a key that is not revoked; `caller` is None if its plan is not configured."""

    plan_name: str
    expires_at: datetime | None
    caller: Caller | None


@dataclass(frozen=True, slots=True)
class _Known:
    """Who holds a key, and until when that is believed."""

    holder: _Holder
    until_seconds: float


@dataclass(frozen=True)
class Gatekeeper:
    """Knows every key of the store; `clock` gives the present instant in UTC.

    `used` is told the id of each key that was looked up and counts.
    """

    store: Keys
    pepper: bytes = field(repr=False)
    plans: Mapping[str, PlanSettings]
    clock: Callable[[], datetime]
    timer: Callable[[], float] = time.monotonic
    ttl_seconds: float = 4.5  # and half a second of passes are the 5 of a revocation
    failures: FailedKeys = field(repr=False, default_factory=FailedKeys)
    used: Callable[[str], None] = field(repr=False, default=lambda _: None)
    _kept: LRUCache[bytes, _Known] = field(
        init=False, repr=False, default_factory=lambda: LRUCache(MAX_KEPT)
    )
    _refused_until: LRUCache[bytes, float] = field(
        init=False, repr=False, default_factory=lambda: LRUCache(MAX_KEPT)
    )
    _under_way: dict[bytes, asyncio.Task[_Holder | None]] = field(
        init=False, repr=False, default_factory=dict
    )
    _turns: asyncio.Semaphore = field(
        init=False, repr=False, default_factory=lambda: asyncio.Semaphore(MAX_LOOK_UPS)
    )

    async def identify(self, key: str | None, where_from: WhereFrom) -> Caller:
        """The caller who holds this key; any text may come, and costs one look-up at most.

        Raises `MissingApiKey` for none or a blank one, `InvalidApiKey` alike for all others that
        do not count, or `TooManyAuthFailures` if too many of those came from this address,
        `PlanLimit` for a valid key whose plan is not configured any more, and `KeysUnavailable`
        if the store cannot be asked.
        """
        if key is None or not key.strip():
            raise MissingApiKey(NO_KEY)
        if len(key) != _KEY_LENGTH or not key.isascii():
            raise self._refusal(where_from)
        found = digest(key, self.pepper)
        known = self._kept.get(found)
        if known is not None and self.timer() < known.until_seconds:
            holder: _Holder | None = known.holder
        elif known is not None:
            holder = await self._join(found)
        elif self._is_refused(found) or not is_well_formed(key):
            holder = None
        else:
            holder = await self._find(found, where_from)
        if holder is None or not self._counts(holder):
            raise self._refusal(where_from)
        if holder.caller is None:
            raise PlanLimit(
                f"The plan '{holder.plan_name}' of this key is not configured any more. Ask the "
                "gateway's operator to bring it back, or for a key on another plan."
            )
        return holder.caller

    def _counts(self, holder: _Holder) -> bool:
        return holder.expires_at is None or self.clock() < holder.expires_at

    def _is_refused(self, found: bytes) -> bool:
        return self.timer() < self._refused_until.get(found, -math.inf)

    def _refusal(self, where_from: WhereFrom) -> InvalidApiKey | TooManyAuthFailures:
        wait_seconds = self.failures.count(where_from())
        return self._too_many(wait_seconds) if wait_seconds else InvalidApiKey(BAD_KEY)

    def _too_many(self, wait_seconds: float) -> TooManyAuthFailures:
        return TooManyAuthFailures(
            "Too many keys that are not valid came from this address. Wait for the seconds in "
            "Retry-After, and check the key; one that is in use goes on working meanwhile.",
            retry_after_seconds=math.ceil(wait_seconds),
            per_minute=self.failures.per_minute,
        )

    async def _find(self, found: bytes, where_from: WhereFrom) -> _Holder | None:
        """Look a key up that nobody knows, if its address may ask for that."""
        if found in self._under_way:
            return await self._join(found)
        async with self._turns:
            known = self._kept.get(found)
            if known is not None and self.timer() < known.until_seconds:
                return known.holder
            if self._is_refused(found):
                return None
            wait_seconds = 0.0 if found in self._under_way else self.failures.check(where_from())
            if wait_seconds:
                raise self._too_many(wait_seconds)
            return await self._join(found)

    async def _join(self, found: bytes) -> _Holder | None:
        task = self._under_way.get(found)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._look_up(found))
            task.add_done_callback(lambda done: self._land(found, done))
            self._under_way[found] = task
        return await asyncio.shield(task)  # whoever leaves takes it from nobody

    async def _look_up(self, found: bytes) -> _Holder | None:
        asked_at = self.timer()
        record = await self._record(found)
        until_seconds = asked_at + self.ttl_seconds
        holder = None if record is None else _holder(record, self.plans)
        if record is None or holder is None:
            self._kept.pop(found, None)
            self._refused_until[found] = until_seconds
            return None
        self._kept[found] = _Known(holder, until_seconds)
        if self._counts(holder):
            self.used(record.id)
        return holder

    async def _record(self, found: bytes) -> KeyRecord | None:
        try:
            return await self.store.find(found)
        except SQLAlchemyError as error:
            request_failed(current_event(), error)
        raise KeysUnavailable(
            "The gateway cannot look up keys now; nothing was done. Send it again.",
            retry_after_seconds=RETRY_SECONDS,
        )

    def _land(self, found: bytes, task: asyncio.Task[_Holder | None]) -> None:
        del self._under_way[found]
        if not task.cancelled():
            task.exception()  # looked at, for those who waited may all have left


def _holder(record: KeyRecord, plans: Mapping[str, PlanSettings]) -> _Holder | None:
    if record.revoked_at is not None:
        return None
    plan = plans.get(record.plan)
    return _Holder(
        plan_name=record.plan,
        expires_at=record.expires_at,
        caller=None if plan is None else _caller(record, plan),
    )


def _caller(record: KeyRecord, plan: PlanSettings) -> Caller:
    grants = Grants(
        spreadsheets=record.spreadsheets,
        worksheets=record.worksheets,
        read_only=record.read_only,
        origins=record.origins,
        columns=record.columns,
        formulas=record.formulas,
    )
    return Caller(
        key_id=record.id,
        name=record.name,
        plan_name=record.plan,
        plan=plan,
        grants=grants,
        expires=record.expires_at is not None,
    )
