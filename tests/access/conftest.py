"""A key store in a directory of its own, and a clock that stands still."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gateway.access.store import KeyStore

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def anyio_backend() -> str:
    """The event loop that the gateway runs on."""
    return "asyncio"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A file name that no key store has yet."""
    return tmp_path / "keys.db"


@pytest.fixture
async def store(database: Path) -> AsyncIterator[KeyStore]:
    """An open, empty key store."""
    async with KeyStore.open(database) as opened:
        yield opened
