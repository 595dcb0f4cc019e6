"""Gateways for typed writes, on an emulator with their worksheets."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.conftest import (
    KEYS,
    Api,
    EmulatorControl,
    OpenGateway,
    make_keys,
    running_emulator,
    running_gateways,
)
from tests.journeys.typed_writes.sheets import (
    WORKBOOK,
)


@pytest.fixture(scope="module")
def typed_emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorControl]:
    with running_emulator(tmp_path_factory.mktemp("typed"), WORKBOOK) as control:
        yield control


@pytest.fixture(scope="module")
def gateway(
    typed_emulator: EmulatorControl, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Api]:
    """A gateway that reads the header before every write."""
    keys = make_keys(tmp_path_factory.mktemp("access"), KEYS)
    with running_gateways(typed_emulator, keys) as opened:
        yield opened({"cache.header_ttl_seconds": 0})


@pytest.fixture
def typed(gateway: Api) -> Iterator[Api]:
    """The gateway of the module on freshly seeded worksheets."""
    gateway.emulator.reset()
    yield gateway
    gateway.emulator.check()


@pytest.fixture
def start(typed_emulator: EmulatorControl, tmp_path: Path) -> Iterator[OpenGateway]:
    """Starts gateways with an empty write ledger on freshly seeded worksheets."""
    with running_gateways(typed_emulator, make_keys(tmp_path, KEYS)) as opened:
        yield opened


@pytest.fixture
def fresh(start: OpenGateway) -> Api:
    """A gateway with an empty cache, for tests that count calls."""
    return start()
