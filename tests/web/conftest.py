"""The event loop that the gateway runs on."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """Tests of coroutines run on asyncio."""
    return "asyncio"
