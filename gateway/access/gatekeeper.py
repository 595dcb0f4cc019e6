"""Authentication: from the key of a request to its caller.

Rules:
- A valid key is never refused because of others: the active keys in memory are checked first. The
  limit of invalid keys only decides how the others are refused.
- An expiry takes effect at once, a revocation as described in `gateway.access.active_keys`.
- The key itself is not stored.
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
