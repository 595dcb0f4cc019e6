"""Gateways for client tests, on a spreadsheet that only these tests use."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import cache

import pytest

from gateway.storage.key_store import Grants, KeyRequest
from tests.clients.middlebox import Machine, Middlebox, running_machine
from tests.clients.typescript.package import Package, make_package
from tests.clients.workbook import CLIENTS_WORKBOOK
from tests.journeys.conftest import (
    DEMO,
    KEYS,
    Api,
    EmulatorControl,
    KeysOnDisk,
    OpenGateway,
    make_keys,
    running_emulator,
    running_gateways,
)

LIBRARY_KEYS: Mapping[str, KeyRequest] = {
    "paid": KeyRequest(
        name="paid", grants=Grants(spreadsheets=DEMO, may_delete=True, may_refresh=True)
    )
}
LIBRARY_SETTINGS: Mapping[str, object] = {"plans.paid.deletes": True, "cache.header_ttl_seconds": 0}


@pytest.fixture(scope="package")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorControl]:
    """Run an emulator with the spreadsheet for clients."""
    with running_emulator(tmp_path_factory.mktemp("clients"), CLIENTS_WORKBOOK) as control:
        yield control


@pytest.fixture(scope="package")
def access(tmp_path_factory: pytest.TempPathFactory) -> KeysOnDisk:
    """Return the keys of the journeys, and a key with delete rights."""
    deleter = KeyRequest(name="deleter", grants=Grants(spreadsheets=DEMO, may_delete=True))
    return make_keys(tmp_path_factory.mktemp("access"), {**KEYS, "deleter": deleter})


@pytest.fixture(scope="module")
def gateway_of_module(emulator: EmulatorControl, access: KeysOnDisk) -> Iterator[Api]:
    """Run one gateway for all tests of a module. The gateway caches no rows and no headers."""
    with running_gateways(emulator, access) as start:
        yield start({"cache.header_ttl_seconds": 0, "plans.paid.deletes": True})


@pytest.fixture
def api(gateway_of_module: Api) -> Iterator[Api]:
    """Return the module's gateway with a newly seeded emulator."""
    gateway_of_module.emulator.reset()
    yield gateway_of_module
    gateway_of_module.emulator.check()


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Package:
    """Compile the TypeScript client."""
    return make_package(tmp_path_factory.mktemp("package") / "typescript")


@pytest.fixture(scope="package")
def start_gateway(
    emulator: EmulatorControl, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OpenGateway]:
    """Return a function that starts gateways for the client libraries."""
    access = make_keys(tmp_path_factory.mktemp("library-access"), LIBRARY_KEYS)
    with running_gateways(emulator, access) as start:
        yield lambda overrides=None: start({**LIBRARY_SETTINGS, **(overrides or {})})


@pytest.fixture(scope="package")
def gateway_of_package(start_gateway: OpenGateway) -> Api:
    """Start one gateway for the client libraries."""
    return start_gateway()


@pytest.fixture(scope="module")
def machine() -> Iterator[Callable[[str], Machine]]:
    """Return a function that starts one machine in front of a gateway for all tests of a module."""
    with ExitStack() as stack:
        yield cache(lambda url: stack.enter_context(running_machine(url)))


@pytest.fixture
def middlebox(api: Api, machine: Callable[[str], Machine]) -> Iterator[Middlebox]:
    renewed = machine(api.url).renewed()
    yield renewed
    renewed.release()
