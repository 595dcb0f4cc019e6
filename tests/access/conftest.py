"""An address to call from, beside what the tests of the storage have."""

from tests.storage.conftest import NOW, anyio_backend, clock, database, store

__all__ = ["NOW", "anyio_backend", "clock", "database", "here", "store"]


def here() -> str:
    """The address that a client of these tests has."""
    return "192.0.2.1"
