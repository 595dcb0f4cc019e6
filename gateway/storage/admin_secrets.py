"""Secrets of administrators: admin keys, sessions of the console, and links for signing in.

Rules: only digests are stored. Sessions and links expire, and belong to an admin key: revoking the
key deletes them. A link is valid once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import Column, LargeBinary, String, Table, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncEngine

from gateway.storage.database import TIME, metadata

SecretKind = Literal["key", "session", "link"]

admin_secrets = Table(
    "admin_secrets",
    metadata,
    Column("digest", LargeBinary, primary_key=True),
    Column("kind", String, nullable=False),
    Column("key_id", String, nullable=False, index=True),
    Column("name", String, nullable=False),
    Column("last4", String, nullable=False),
    Column("created_at", TIME, nullable=False),
    Column("expires_at", TIME),
)


@dataclass(frozen=True, kw_only=True)
class AdminSecret:
    """A secret, with `key_id` and `name` of its admin key."""

    digest: bytes
    kind: SecretKind
    key_id: str
    name: str
    last4: str
    created_at: datetime
    expires_at: datetime | None = None


class AdminSecrets:
    """The table of secrets in one database."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def add(self, secret: AdminSecret) -> None:
        """Store a secret, and delete those that have expired."""
        values = {
            **vars(secret),
            "created_at": _text(secret.created_at),
            "expires_at": secret.expires_at and _text(secret.expires_at),
        }
        expired = admin_secrets.c.expires_at <= _text(secret.created_at)
        async with self._engine.begin() as connection:
            await connection.execute(delete(admin_secrets).where(expired))
            await connection.execute(insert(admin_secrets).values(**values))

    async def find(self, digest: bytes, now: datetime) -> AdminSecret | None:
        """The secret with this digest; None if it is unknown or expired."""
        query = select(admin_secrets).where(admin_secrets.c.digest == digest)
        async with self._engine.connect() as connection:
            row = (await connection.execute(query)).mappings().first()
        found = None if row is None else _secret(dict(row))
        is_over = found is None or (found.expires_at is not None and found.expires_at <= now)
        return None if is_over else found

    async def remove(self, digest: bytes) -> bool:
        """Delete a secret; False if it does not exist, so that only one of two callers succeeds."""
        return await self._delete(admin_secrets.c.digest == digest)

    async def revoke(self, key_id: str) -> bool:
        """Delete an admin key with its sessions and links; False if there is none."""
        return await self._delete(admin_secrets.c.key_id == key_id)

    async def keys(self) -> Sequence[AdminSecret]:
        """All admin keys, oldest first."""
        table = admin_secrets.c
        query = select(admin_secrets).where(table.kind == "key").order_by(table.created_at)
        async with self._engine.connect() as connection:
            rows = (await connection.execute(query)).mappings().all()
        return [_secret(dict(row)) for row in rows]

    async def _delete(self, condition: Any) -> bool:
        async with self._engine.begin() as connection:
            done = await connection.execute(delete(admin_secrets).where(condition))
        return done.rowcount > 0


def _secret(row: Mapping[str, Any]) -> AdminSecret:
    expires_at = row["expires_at"]
    times = {
        "created_at": datetime.fromisoformat(row["created_at"]),
        "expires_at": expires_at and datetime.fromisoformat(expires_at),
    }
    return AdminSecret(**{**row, **times})


def _text(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat(timespec="microseconds")
