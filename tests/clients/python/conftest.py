"""The gateway of the Python client."""

import pytest

from tests.journeys.conftest import Api


@pytest.fixture
def api(gateway_of_package: Api) -> Api:
    """The gateway on a freshly seeded emulator."""
    gateway_of_package.emulator.reset()
    return gateway_of_package
