"""The gatekeeper: from the key of a request to its caller.

Rules:
- What the store said of a key is believed for `ttl_seconds` from when it was asked, so that a
  revocation counts after that at the latest. An expiry counts at its instant.
- The key itself is kept nowhere; what is kept goes by its digest, and there is a bound to it.
- One look-up of a key is under way at a time; whoever brings the same key meanwhile joins it.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from cachetools import LRUCache

from gateway.access.caller import Caller, Grants
from gateway.access.keys import CHECKSUM_DIGITS, PREFIX, SECRET_DIGITS, digest, is_well_formed
from gateway.access.store import KeyRecord
from gateway.config import PlanSettings
from gateway.errors import InvalidApiKey, MissingApiKey, PlanLimit

MAX_KEPT = 10_000
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
        """The key with this digest, be it revoked or expired, or None."""

    async def ping(self) -> None:
        """Returns if keys can be looked up now, and raises otherwise."""


@dataclass(frozen=True, slots=True)
class _Holder:
    """Who holds a key that is not revoked; `caller` is None if its plan is not configured."""

    plan_name: str
    expires_at: datetime | None
    caller: Caller | None


@dataclass(frozen=True, slots=True)
class _Known:
    """What a look-up gave, and until when that is believed; None is a key that does not count."""

    holder: _Holder | None
    until_seconds: float


@dataclass(frozen=True)
class Gatekeeper:
    """Knows every key of the store; `clock` gives the present instant in UTC."""

    store: Keys
    pepper: bytes = field(repr=False)
    plans: Mapping[str, PlanSettings]
    clock: Callable[[], datetime]
    timer: Callable[[], float] = time.monotonic
    ttl_seconds: float = 5.0
    _kept: LRUCache[bytes, _Known] = field(
        init=False, repr=False, default_factory=lambda: LRUCache(MAX_KEPT)
    )
    _under_way: dict[bytes, asyncio.Task[_Holder | None]] = field(
        init=False, repr=False, default_factory=dict
    )

    async def identify(self, key: str | None) -> Caller:
        """The caller who holds this key; any text may come, and costs one look-up at most.

        Raises `MissingApiKey` for none or a blank one, `InvalidApiKey` alike for all others that
        do not count, `PlanLimit` for a valid key whose plan is not configured any more.
        """
        if key is None or not key.strip():
            raise MissingApiKey(NO_KEY)
        if len(key) != _KEY_LENGTH or not key.isascii():
            raise InvalidApiKey(BAD_KEY)
        found = digest(key, self.pepper)
        known = self._kept.get(found)
        if known is not None and self.timer() < known.until_seconds:
            return self._caller(known.holder)
        if not is_well_formed(key):
            raise InvalidApiKey(BAD_KEY)
        return self._caller(await self._join(found))

    def _caller(self, holder: _Holder | None) -> Caller:
        if holder is None or (holder.expires_at is not None and holder.expires_at <= self.clock()):
            raise InvalidApiKey(BAD_KEY)
        if holder.caller is None:
            raise PlanLimit(
                f"The plan '{holder.plan_name}' of this key is not configured any more. Ask the "
                "gateway's operator to bring it back, or for a key on another plan."
            )
        return holder.caller

    async def _join(self, found: bytes) -> _Holder | None:
        task = self._under_way.get(found)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._look_up(found))
            task.add_done_callback(lambda done: self._land(found, done))
            self._under_way[found] = task
        return await asyncio.shield(task)  # whoever leaves takes it from nobody

    async def _look_up(self, found: bytes) -> _Holder | None:
        asked_at = self.timer()
        record = await self.store.find(found)
        holder = None if record is None else _holder(record, self.plans)
        self._kept[found] = _Known(holder, until_seconds=asked_at + self.ttl_seconds)
        return holder

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
    )
    return Caller(
        key_id=record.id, name=record.name, plan_name=record.plan, plan=plan, grants=grants
    )
