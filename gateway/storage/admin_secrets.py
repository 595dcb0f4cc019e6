"""Stored secrets of administrators: admin keys, sessions of the console, and sign-in links.

The database has only digests. Sessions and links expire. They belong to an admin key, and are
deleted with this key. A link is valid once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
from sqlalchemy import Column, LargeBinary, Select, String, Table, delete, insert, select
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
    """Stored admin key, session or sign-in link. `key_id` and `name` identify the admin key."""

    digest: bytes
    kind: SecretKind
    key_id: str
    name: str
    last4: str
    created_at: datetime
    expires_at: datetime | None = None


class AdminSecrets:
    """Table of administrators' secrets in one database."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def add(self, secret: AdminSecret) -> None:
        """Store a secret, and delete all secrets that expired before its `created_at`."""
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
        """Returns the secret with this digest, or None if the secret is unknown or expired."""
        expires_at = admin_secrets.c.expires_at
        is_valid = expires_at.is_(None) | (expires_at > _text(now))
        found = await self._find(
            select(admin_secrets).where(is_valid & (admin_secrets.c.digest == digest))
        )
        return found[0] if found else None

    async def remove(self, digest: bytes) -> bool:
        """Delete a secret. Returns False if it is not stored, or another caller deleted it."""
        return await self._delete(admin_secrets.c.digest == digest)

    async def revoke(self, key_id: str) -> bool:
        """Delete an admin key with its sessions and links. Returns False for an unknown ID."""
        return await self._delete(admin_secrets.c.key_id == key_id)

    async def keys(self) -> Sequence[AdminSecret]:
        """Returns all admin keys, the oldest first."""
        table = admin_secrets.c
        query = select(admin_secrets).where(table.kind == "key").order_by(table.created_at)
        return await self._find(query)

    async def _find(self, query: Select[Any]) -> Sequence[AdminSecret]:
        async with self._engine.connect() as connection:
            rows = (await connection.execute(query)).all()
        return [msgspec.convert(row, AdminSecret, from_attributes=True) for row in rows]

    async def _delete(self, condition: Any) -> bool:
        async with self._engine.begin() as connection:
            done = await connection.execute(delete(admin_secrets).where(condition))
        return done.rowcount > 0


def _text(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat(timespec="microseconds")
