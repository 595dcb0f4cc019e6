"""Admin keys, and sign-in to the console.

An admin key has the format of an API key (`gateway.access.keys`) with the prefix `sga_`. An API key
does not work as an admin key, and an admin key does not work as an API key. Secrets of sessions
(`sgs_`) and of sign-in links (`sgl_`) have the same format, belong to an admin key, and expire.

Rules
- A valid secret always works, even if too many invalid secrets came from the same address. The
  store is searched first, and only failures count.
- The store has only digests of secrets, made with the pepper of the API keys.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from secrets import token_bytes

from gateway.access import keys
from gateway.access.address_rates import AddressRates
from gateway.errors import InvalidApiKey, MissingApiKey, TooManyAuthFailures
from gateway.storage.admin_secrets import AdminSecret, AdminSecrets, SecretKind

PREFIXES: Mapping[SecretKind, str] = {"key": "sga_", "session": "sgs_", "link": "sgl_"}
SESSION = timedelta(hours=12)
LINK = timedelta(minutes=10)
FAILURES_PER_MINUTE = 10
ID_PREFIX, ID_DIGITS = "adm_", 8

_WRONG = (
    "This is not a valid admin key or sign-in link; API keys do not open the console. Make an "
    "admin key (sga_…) with 'sheets-gateway admin create'; a link works once, within 10 minutes."
)


@dataclass(frozen=True)
class Admins:
    """Creates and checks admin keys, sessions and sign-in links. `clock` returns UTC."""

    secrets: AdminSecrets = field(repr=False)
    pepper: bytes = field(repr=False)
    clock: Callable[[], datetime]
    failures: AddressRates = field(
        repr=False, default_factory=lambda: AddressRates(FAILURES_PER_MINUTE)
    )
    random_bytes: keys.RandomBytes = field(repr=False, default=token_bytes)

    async def create(self, name: str) -> tuple[AdminSecret, str]:
        """Create an admin key. Returns its stored record and the key itself."""
        key_id = ID_PREFIX + keys.random_digits(ID_DIGITS, self.random_bytes)
        return await self._issue("key", key_id, name, None)

    async def link(self, owner: AdminSecret) -> str:
        """Create a token, valid for 10 minutes, of a sign-in link for the owner of an admin key."""
        return (await self._issue("link", owner.key_id, owner.name, LINK))[1]

    async def sign_in(self, secret: str, where_from: keys.WhereFrom) -> str:
        """Create a session for the owner of `secret`, an admin key or the token of a link.

        Returns the session's secret. Raises as `identify`.
        """
        found = await self._find(secret, "key", "link")
        if found is not None and found.kind == "link":
            found = found if await self.secrets.remove(found.digest) else None
        if found is None:
            raise self._refusal(secret, where_from)
        return (await self._issue("session", found.key_id, found.name, SESSION))[1]

    async def identify(self, key: str, where_from: keys.WhereFrom) -> AdminSecret:
        """Return the record of an admin key. Raises Unauthorized or TooManyAuthFailures."""
        found = await self._find(key, "key")
        if found is None:
            raise self._refusal(key, where_from)
        return found

    async def session(self, secret: str) -> AdminSecret | None:
        """Return the record of a session by its secret, or None if unknown or expired."""
        return await self._find(secret, "session")

    async def _find(self, secret: str, *kinds: SecretKind) -> AdminSecret | None:
        if not secret.isascii() or not secret.startswith(tuple(PREFIXES[each] for each in kinds)):
            return None
        found = await self.secrets.find(keys.digest(secret, self.pepper), self.clock())
        return found if found is not None and found.kind in kinds else None

    async def _issue(
        self, kind: SecretKind, key_id: str, name: str, lifetime: timedelta | None
    ) -> tuple[AdminSecret, str]:
        secret, now = keys.mint_key(self.random_bytes, prefix=PREFIXES[kind]), self.clock()
        record = AdminSecret(
            digest=keys.digest(secret, self.pepper),
            kind=kind,
            key_id=key_id,
            name=name,
            last4=secret[-4:],
            created_at=now,
            expires_at=None if lifetime is None else now + lifetime,
        )
        await self.secrets.add(record)
        return record, secret

    def _refusal(
        self, secret: str, where_from: keys.WhereFrom
    ) -> InvalidApiKey | MissingApiKey | TooManyAuthFailures:
        if not secret:
            return MissingApiKey("Enter an admin key.")
        wait_seconds = self.failures.count(where_from())
        if not wait_seconds:
            return InvalidApiKey(_WRONG)
        return TooManyAuthFailures(
            "Too many wrong admin keys came from this address. Check the key, and wait; "
            "valid keys and open sessions still work.",
            retry_after_seconds=math.ceil(wait_seconds),
            per_minute=self.failures.per_minute,
        )
