"""Authentication: from the key of a request to its caller.

Rules:
- A key that counts is never refused for what others do: whether a key is known is asked first, of
  all active keys in memory. The allowance of wrong keys only decides how the others are refused.
- An expiry counts at its instant, a revocation as `gateway.access.active_keys` says.
- The key itself is kept nowhere.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from gateway.access.active_keys import ActiveKeys
from gateway.access.caller import Caller
from gateway.access.failed_keys import FailedKeys
from gateway.access.keys import digest, is_well_formed
from gateway.errors import InvalidApiKey, MissingApiKey, PlanLimit, TooManyAuthFailures

WhereFrom = Callable[[], str]
"""Gives the address of the client; it is asked only where a key does not count."""

NO_KEY = (
    "A key is needed. Send it as 'Authorization: Bearer KEY', in the header API-Key or X-API-Key, "
    "or, to read only, in the query parameter apiKey."
)
# One text for all reasons: which of them it was is nobody's business but the operator's.
BAD_KEY = (
    "This key is not valid: it is mistyped, unknown, revoked or expired. Copy it once more, or "
    "ask the gateway's operator for a new one."
)


@dataclass(frozen=True)
class Gatekeeper:
    """Knows every key of the store; `clock` gives the present instant in UTC.

    `used` is told the id of each key that is used and counts.
    """

    keys: ActiveKeys = field(repr=False)
    pepper: bytes = field(repr=False)
    clock: Callable[[], datetime]
    failures: FailedKeys = field(repr=False, default_factory=FailedKeys)
    used: Callable[[str], None] = field(repr=False, default=lambda _: None)

    async def identify(self, key: str | None, where_from: WhereFrom) -> Caller:
        """The caller who holds this key; any text may come.

        Raises `MissingApiKey` for none or a blank one, `InvalidApiKey` alike for all others that
        do not count, or `TooManyAuthFailures` if too many of those came from this address,
        `PlanLimit` for a valid key whose plan is not configured any more, and `KeysUnavailable`
        if the store cannot be asked.
        """
        if key is None or not key.strip():
            raise MissingApiKey(NO_KEY)
        holder = None
        if key.isascii():
            found = digest(key, self.pepper)
            # The checksum spares the store what is mistyped; a known key need not wait for it.
            if found in self.keys or is_well_formed(key):
                holder = await self.keys.find(found)
        expires_at = None if holder is None else holder.expires_at
        if holder is None or (expires_at is not None and self.clock() >= expires_at):
            raise self._refusal(where_from)
        self.used(holder.key_id)
        if holder.caller is None:
            raise PlanLimit(
                f"The plan '{holder.plan_name}' of this key is not configured any more. Ask the "
                "gateway's operator to bring it back, or for a key on another plan."
            )
        return holder.caller

    def _refusal(self, where_from: WhereFrom) -> InvalidApiKey | TooManyAuthFailures:
        wait_seconds = self.failures.count(where_from())
        if not wait_seconds:
            return InvalidApiKey(BAD_KEY)
        return TooManyAuthFailures(
            "Too many keys that are not valid came from this address. Wait for the seconds in "
            "Retry-After, and check the key; valid keys go on working meanwhile.",
            retry_after_seconds=math.ceil(wait_seconds),
            per_minute=self.failures.per_minute,
        )
