"""A gateway for whole clients, on a spreadsheet of its own."""

from collections.abc import Iterator

import pytest

from tests.clients.workbook import CLIENTS_WORKBOOK
from tests.journeys.conftest import (
    KEYS,
    Api,
    EmulatorControl,
    KeysOnDisk,
    make_keys,
    running_emulator,
    running_gateways,
)


@pytest.fixture(scope="package")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorControl]:
    """An emulator with the spreadsheet for clients."""
    with running_emulator(tmp_path_factory.mktemp("clients"), CLIENTS_WORKBOOK) as control:
        yield control


@pytest.fixture(scope="package")
def access(tmp_path_factory: pytest.TempPathFactory) -> KeysOnDisk:
    """The keys of the journeys."""
    return make_keys(tmp_path_factory.mktemp("access"), KEYS)


@pytest.fixture(scope="module")
def gateway_of_module(emulator: EmulatorControl, access: KeysOnDisk) -> Iterator[Api]:
    """One gateway for all tests of a module; nothing that it has read is kept."""
    with running_gateways(emulator, access) as start:
        yield start({"cache.header_ttl_seconds": 0})


@pytest.fixture
def api(gateway_of_module: Api) -> Iterator[Api]:
    """That gateway on a freshly seeded emulator."""
    gateway_of_module.emulator.reset()
    yield gateway_of_module
    gateway_of_module.emulator.check()
