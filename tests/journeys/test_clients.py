"""Every documented request of existing clients."""

import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from gateway.storage.key_store import Grants, KeyRequest
from tests.clients.case import Case, all_cells, changed, first_fields, send_case
from tests.clients.plain_readings import PLAIN_READINGS
from tests.clients.refusals import REFUSALS
from tests.clients.second_readings import SECOND_READINGS
from tests.clients.switches import SWITCHES
from tests.clients.workbook import CLIENTS_WORKBOOK
from tests.fuzz.stage import captured_log
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
from tests.journeys.failure import refused
from tests.journeys.raw import RawAnswer
from tests.journeys.waiting import until

SERVED = [*SECOND_READINGS, *PLAIN_READINGS]
MORE_KEYS: Mapping[str, KeyRequest] = {
    "my-sheet": KeyRequest(
        name="my-sheet", grants=Grants(spreadsheets=DEMO, worksheets=frozenset({"My Sheet"}))
    ),
}
KEPT = {"cache.rows_ttl_seconds": 60}
"""Settings with cached rows, as in production."""


@dataclass(frozen=True)
class Field:
    """A gateway on the spreadsheet for clients, and its log."""

    api: Api
    log: io.StringIO

    def line_of(self, answer: RawAnswer) -> dict[str, Any]:
        """The log line of an answered request. Waits, because the line can follow the answer."""
        marked = re.compile(f'"id": ?"{answer.headers["x-request-id"]}".*"reading"')
        found: list[str] = []

        def is_found() -> bool:
            found[:] = [line for line in self.log.getvalue().splitlines() if marked.search(line)]
            return bool(found)

        assert until(is_found)
        line: dict[str, Any] = json.loads(found[0])
        return line


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorControl]:
    """An emulator with the spreadsheet for clients."""
    with running_emulator(tmp_path_factory.mktemp("clients"), CLIENTS_WORKBOOK) as control:
        yield control


@pytest.fixture(scope="module")
def access(tmp_path_factory: pytest.TempPathFactory) -> KeysOnDisk:
    """The keys of all journeys, and some for clients."""
    return make_keys(tmp_path_factory.mktemp("access"), {**KEYS, **MORE_KEYS})


@pytest.fixture(scope="module")
def field_of_module(emulator: EmulatorControl, access: KeysOnDisk) -> Iterator[Field]:
    """One gateway for all requests, without a cached header."""
    with captured_log() as log, running_gateways(emulator, access) as start:
        yield Field(api=start({"cache.header_ttl_seconds": 0}), log=log)


@pytest.fixture
def field(field_of_module: Field) -> Iterator[Field]:
    """The gateway of the module on a freshly seeded emulator."""
    field_of_module.api.emulator.reset()
    yield field_of_module
    field_of_module.api.emulator.check()


@pytest.mark.parametrize("case", SERVED, ids=lambda case: case.id)
def test_a_client_is_served(field: Field, case: Case) -> None:
    """Each client request gets the expected answer and changes only the expected cells."""
    before = all_cells(field.api.emulator)
    answer = send_case(field.api, case)
    after = all_cells(field.api.emulator)

    assert answer.status_code == case.status, answer.text
    assert case.names is None or first_fields(answer) == list(case.names)
    assert case.answer is None or answer.json() == case.answer
    assert changed(before, after) == case.changes


@pytest.mark.parametrize("case", SERVED, ids=lambda case: case.id)
def test_the_log_names_the_second_interpretation(field: Field, case: Case) -> None:
    """The log line names the alternative interpretations of a request, or null for none."""
    line = field.line_of(send_case(field.api, case))

    assert line["reading"] == case.reading
    assert line["status"] == case.status


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case.id)
def test_unsupported_requests_get_a_helpful_error(field: Field, case: Case) -> None:
    """The error of an unsupported request says what to send instead, and nothing is written."""
    before = all_cells(field.api.emulator)
    answer = send_case(field.api, case)

    assert refused(answer) == (case.status, case.code)
    assert case.message in answer.json()["message"]
    assert changed(before, all_cells(field.api.emulator)) == {}
    assert field.line_of(answer)["reading"] == case.reading


@pytest.mark.parametrize("case", SWITCHES, ids=lambda case: case.id)
def test_a_setting_serves_migrating_clients(open_gateway: OpenGateway, case: Case) -> None:
    """With the compatibility setting, a client of another service gets the answer that it
    expects.
    """
    api = open_gateway(case.settings)
    before = all_cells(api.emulator)
    answer = send_case(api, case)
    after = all_cells(api.emulator)

    assert answer.status_code == case.status, answer.text
    assert case.code is None or refused(answer)[1] == case.code
    assert case.names is None or first_fields(answer) == list(case.names)
    assert case.answer is None or answer.json() == case.answer
    assert changed(before, after) == case.changes


@pytest.mark.parametrize(
    ("target", "reads"),
    [
        pytest.param(
            "Cities?where=%257B%2522state%2522%253A%2522Texas%2522%257D", [2, 0], id="where"
        ),
        pytest.param("Totals?order=total%2520sales", [2, 0], id="order"),
        pytest.param("Totals?order=total%20sales", [2, 0], id="order, plainly"),
        pytest.param("Totals/2?keys=total%2520sales", [1, 0], id="keys"),
        pytest.param("My%20Sheet", [1, 0], id="worksheet, plainly"),
        pytest.param("My%2520Sheet", [3, 0], id="worksheet, encoded twice"),
        pytest.param("My+Sheet", [3, 0], id="worksheet, plus"),
    ],
)
def test_the_cost_of_a_second_interpretation(
    open_gateway: OpenGateway, target: str, reads: list[int]
) -> None:
    """Only an alternative worksheet name costs more: 2 reads, once."""
    api = open_gateway(KEPT)
    costs = []
    for _ in reads:
        before = api.emulator.calls()
        assert api.get(target).status_code == 200
        costs.append(api.emulator.calls()[0] - before[0])

    assert costs == reads


def test_an_alternative_worksheet_name_is_searched_once(api: Api) -> None:
    """Later creates under an alternative worksheet name cost one write each and no search."""
    for _ in range(4):
        assert api.post("My%2520Sheet", json={"name": "c"}).status_code == 201

    assert api.emulator.calls() == (3, 4)
