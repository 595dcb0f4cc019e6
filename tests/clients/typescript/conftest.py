"""The compiled client in Node, through a faulty machine, on the gateway of the Python client."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.clients.middlebox import Middlebox
from tests.clients.typescript.package import NodeSheet, Package, make_package
from tests.journeys.conftest import (
    Api,
)

Connect = Callable[..., NodeSheet]
"""Makes a worksheet; arguments are the options of the client, all with defaults."""


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Package:
    return make_package(tmp_path_factory.mktemp("package") / "typescript")


@pytest.fixture
def api(gateway_of_package: Api) -> Api:
    """The gateway on a freshly seeded emulator."""
    gateway_of_package.emulator.reset()
    return gateway_of_package


@pytest.fixture
def connect(package: Package, api: Api, middlebox: Middlebox) -> Connect:
    def connect(
        name: str = "Cities",
        *,
        package: Package = package,
        waits_really: bool = False,
        faults_url: str | None = None,
        of_sheet: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> NodeSheet:
        given = {
            "baseUrl": middlebox.url,
            "apiKey": api.keys["paid"],
            "spreadsheetId": "demo",
            **options,
        }
        return NodeSheet(
            package=package,
            options=given,
            name=name,
            waits_really=waits_really,
            faults_url=faults_url,
            of_sheet=of_sheet or {},
        )

    return connect


@pytest.fixture
def cities(connect: Connect) -> NodeSheet:
    """The worksheet `Cities`, whose rows 2 to 11 are ten cities."""
    return connect()
