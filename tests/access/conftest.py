"""Fixtures of tests of API keys: a key store, its watched version, and a client address."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from gateway.access.keys import ActiveKeys
from gateway.storage.key_store import KeyStore
from tests.access.watched import WatchedStore, active_keys
from tests.clock import ManualClock
from tests.storage.conftest import NOW, store

__all__ = ["NOW", "database", "here", "keys", "store", "watched"]


def here() -> str:
    """The IP address of the client."""
    return "192.0.2.1"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Path at which no key store exists yet."""
    return tmp_path / "keys.db"


@pytest.fixture
def watched(store: KeyStore) -> WatchedStore:
    return WatchedStore(store)


@pytest.fixture
async def keys(watched: WatchedStore, clock: ManualClock) -> AsyncIterator[ActiveKeys]:
    """Active keys of the store, not loaded yet."""
    async with aclosing(active_keys(watched, clock)) as made:
        yield made
