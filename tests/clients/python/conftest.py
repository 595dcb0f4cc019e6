"""The gateway for tests of the Python client."""

import pytest

from tests.journeys.conftest import Api


@pytest.fixture
def api(gateway_of_package: Api) -> Api:
    """Return the gateway, with a newly seeded emulator."""
    gateway_of_package.emulator.reset()
    return gateway_of_package
