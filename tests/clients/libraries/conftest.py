"""Fixtures: senders of the client libraries, and gateways behind a faulty machine."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

import sheets_gateway_client
from gateway.server.sockets import bind
from tests.clients.case import all_cells
from tests.clients.libraries.case import Stage
from tests.clients.libraries.senders import NodeSender, PythonSender, Sender
from tests.clients.middlebox import Machine
from tests.clients.typescript.package import Package, node
from tests.journeys.conftest import OpenGateway

RUN = Path(__file__).with_name("run.mjs")

StageOf = Callable[[Mapping[str, object]], Stage]
SenderOf = Callable[[str], Sender]


@pytest.fixture(scope="module")
def sender_of(request: pytest.FixtureRequest) -> Iterator[SenderOf]:
    """Return a function that starts each named sender once per module."""
    with start_blocking_portal() as portal, ExitStack() as stack:

        @cache
        def sender_of(name: str) -> Sender:
            if name == "typescript":
                package: Package = request.getfixturevalue("package")
                sender: Sender = NodeSender.start(
                    [node(), str(RUN)], package.folder / "dist" / "index.js"
                )
            else:
                own_portal = portal if name == "async" else None
                sender = PythonSender(module=sheets_gateway_client, portal=own_portal)
            stack.callback(sender.close)
            return sender

        yield sender_of


@pytest.fixture(scope="module")
def stage_of(start_gateway: OpenGateway, machine: Callable[[str], Machine]) -> StageOf:
    """Return a function that starts a gateway for each set of settings, once per module."""
    with bind("127.0.0.1", 0) as closed:
        closed_url = f"http://127.0.0.1:{closed.getsockname()[1]}"

    @cache
    def stage_of(*settings: tuple[str, object]) -> Stage:
        api = start_gateway(dict(settings))
        api.emulator.reset()
        seeded = all_cells(api.emulator)
        return Stage(api=api, machine=machine(api.url), seeded=seeded, closed_url=closed_url)

    return lambda settings: stage_of(*settings.items())
