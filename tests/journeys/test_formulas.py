"""Texts that look like formulas are stored as text, in every kind of write."""

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.journeys.conftest import Api, EmulatorControl, KeysOnDisk, OpenGateway, running_gateways
from tests.journeys.failure import refused
from tests.journeys.formula_payloads import PAYLOADS
from tests.journeys.waiting import until

TYPED_IN = {"google.value_input": "user_entered"}
MODES: Mapping[str, Mapping[str, object]] = {"raw": {}, "user_entered": TYPED_IN}
SHORT = [payload for payload in PAYLOADS if len(payload) < 1000]
LONG = [payload for payload in PAYLOADS if len(payload) >= 1000]

Write = Callable[[Api, str], httpx2.Response]
WRITES: Mapping[str, Write] = {
    "create": lambda api, text: api.post("New", json={"name": text, "population": 1}),
    "create by form": lambda api, text: api.post("New", data={"name": text, "population": "1"}),
    "create as list": lambda api, text: api.post("New", json=[{"name": text}, {"name": text}]),
    "update by POST": lambda api, text: api.post("Cities/2", json={"name": text}),
    "update by PUT": lambda api, text: api.send("PUT", "Cities/3", json={"name": text}),
    "update by PATCH": lambda api, text: api.send("PATCH", "Cities/4", json={"name": text}),
    "update by form": lambda api, text: api.send("PUT", "Cities/5", data={"name": text}),
}


@pytest.fixture(scope="module", params=MODES)
def gateway_of_a_mode(
    request: pytest.FixtureRequest, emulator: EmulatorControl, access: KeysOnDisk
) -> Iterator[Api]:
    """A gateway that stores values as they are, or one that has them typed in."""
    with running_gateways(emulator, access) as start:
        yield start(MODES[request.param])


@pytest.fixture
def writing_api(gateway_of_a_mode: Api) -> Api:
    """That gateway on a freshly seeded emulator."""
    gateway_of_a_mode.emulator.reset()
    return gateway_of_a_mode


def written(answer: httpx2.Response) -> list[dict[str, Any]]:
    """The records in the answer to a write."""
    body: dict[str, Any] = answer.json()
    records: list[dict[str, Any]] = body.get("results", [body])
    return records


def formulas(api: Api) -> list[str]:
    """The formulas of the two worksheets that are written to."""
    cells = [
        cell for title in ("New", "Cities") for row in api.emulator.cells(title) for cell in row
    ]
    return [cell["formula"] for cell in cells if cell["formula"]]


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_no_payload_becomes_a_formula(writing_api: Api, write: Write) -> None:
    """Every payload is answered, held and read back as it was sent; no formula is anywhere."""
    api = writing_api
    for payload in [*SHORT, *(LONG if write is WRITES["create"] else ())]:
        answer = write(api, payload)

        assert answer.status_code in (200, 201), (payload, answer.text)
        for record in written(answer):
            title = "New" if answer.status_code == 201 else "Cities"
            read = api.get(f"{title}/{record['rowIndex']}")
            cell = api.emulator.cell(title, record["rowIndex"], 1)
            assert record["name"] == read.json()["name"] == payload
            assert (cell["value"], cell["text"]) == (payload, payload)

    assert formulas(api) == []


def test_a_key_that_may_write_formulas(open_gateway: OpenGateway) -> None:
    """With typed input, this key writes formulas and another one does not."""
    api = open_gateway(TYPED_IN)

    created = api.post("New", key="formulas", json={"name": "=1+1", "state": "+2+3"})
    updated = api.send("PUT", "Cities/2", key="formulas", json={"name": "=D2*2"})
    other = api.post("New", json={"name": "=1+1"})

    assert created.json() == {"rowIndex": 2, "name": "2", "state": "5"}
    assert updated.json() == {"rowIndex": 2, "name": "17608380"}
    assert other.json() == {"rowIndex": 3, "name": "=1+1"}
    assert api.emulator.cell("New", 2, 1)["formula"] == "=1+1"
    assert formulas(api) == ["=1+1", "=+2+3", "=D2*2"]


def test_the_grant_means_nothing_where_values_are_kept(api: Api) -> None:
    """Without the setting a formula is a text for everybody."""
    answer = api.post("New", key="formulas", json={"name": "=1+1"})

    assert answer.json() == {"rowIndex": 2, "name": "=1+1"}
    assert formulas(api) == []


# What is sent, what is answered, and what the cell holds then.
TYPED = [
    pytest.param("0042", "42", 42, id="number"),
    pytest.param("2,000,000.01", "2,000,000.01", 2_000_000.01, id="grouped"),
    pytest.param("2020-01-01", "2020-01-01", 43831, id="date"),
    pytest.param("50%", "50%", 0.5, id="percentage"),
    pytest.param("$1,234.50", "$1,234.50", 1234.5, id="money"),
    pytest.param("TRUE", "TRUE", True, id="boolean"),
    pytest.param("'0042", "0042", "0042", id="forced text"),
    pytest.param("'", "'", "'", id="apostrophe"),
    pytest.param("Oslo", "Oslo", "Oslo", id="text"),
    pytest.param(5, "5", 5, id="JSON number"),
    pytest.param(-5.5, "-5.5", -5.5, id="negative JSON number"),
    pytest.param(True, "TRUE", True, id="JSON boolean"),
]


@pytest.mark.parametrize(("sent", "shown", "held"), TYPED)
def test_what_is_typed_in_is_read_as_typed(
    open_gateway: OpenGateway, sent: object, shown: str, held: object
) -> None:
    """The answer shows what the sheet displays, and a later search sees what the cell holds."""
    api = open_gateway({**TYPED_IN, "cache.rows_ttl_seconds": 60})
    api.get("New", params={"where": '{"name":"x"}'})  # both renderings are kept

    created = api.post("New", json={"name": sent, "state": "x"})
    updated = api.send("PUT", "Cities/2", json={"name": sent})
    found = api.get("New", params={"where": '{"state":"x"}', "order": "name"})
    where = json.dumps({"name": held})

    assert (created.json()["name"], updated.json()["name"]) == (shown, shown)
    assert api.emulator.cell("New", 2, 1)["value"] == held
    assert api.emulator.cell("Cities", 2, 1)["value"] == held
    assert [record["name"] for record in found.json()["results"]] == [shown]
    assert len(api.get("New", params={"where": where}).json()["results"]) == 1


@pytest.mark.parametrize("is_applied", [True, False], ids=["applied", "not applied"])
@pytest.mark.parametrize("fault", [{"status": 503}, {"drop": True}], ids=["503", "dropped"])
@pytest.mark.parametrize(
    ("path", "call"),
    [("New", "values.append"), ("Cities/2", "values.batchUpdate")],
    ids=["create", "update"],
)
def test_an_open_write_that_is_typed_in_stays_unknown(
    open_gateway: OpenGateway, path: str, call: str, fault: Mapping[str, Any], is_applied: bool
) -> None:
    """It has no fence, so it is neither sent again nor found by its content, nor is its retry."""
    api = open_gateway(TYPED_IN)
    headers = {"Idempotency-Key": str(uuid4())}
    api.emulator.faults({"call": call, "apply": is_applied, **fault})
    answers = [api.post(path, json={"name": "=1+1"}, headers=headers) for _ in range(2)]
    answers.append(open_gateway().post(path, json={"name": "=1+1"}, headers=headers))

    for answer in answers:
        assert (refused(answer), answer.json()["outcome"]) == ((504, 5041), "unknown")
        assert answer.headers["retry-after"] == "185"
        assert answer.json()["retryable"] is False
    assert api.emulator.stats()["writes"] == 1
    title, row = ("New", 2) if path == "New" else ("Cities", 2)
    texts = [line[0] for line in api.emulator.texts(title)]
    assert texts.count("=1+1") == (texts[row - 1 : row] == ["=1+1"]) == is_applied
    assert formulas(api) == []


def test_a_misplaced_row_is_not_written_again(open_gateway: OpenGateway) -> None:
    """Where values are typed in, a row that went elsewhere is the answer for good."""
    api = open_gateway(TYPED_IN)
    headers = {"Idempotency-Key": str(uuid4())}
    misplaced = {"range": "Cities!B12:D12", "values": [["x"]]}
    updates = {"updatedRange": misplaced["range"], "updatedData": misplaced}
    fault = {"status": 200, "apply": True, "text": json.dumps({"updates": updates})}
    api.emulator.faults({"call": "values.append", **fault})
    first, again = (api.post("Cities", json={"name": "x"}, headers=headers) for _ in range(2))

    assert refused(first) == refused(again) == (502, 5020)
    assert first.json()["outcome"] == again.json()["outcome"] == "applied"
    assert again.headers["idempotent-replayed"] == "true"
    assert api.emulator.stats()["writes"] == 1


def test_a_grid_that_cannot_grow(open_gateway: OpenGateway) -> None:
    """Where Google fails to make room for a row that is typed in, it is not written."""
    api = open_gateway(TYPED_IN)
    before = api.emulator.texts("BlankFirst")
    api.emulator.faults({"call": "spreadsheets.batchUpdate", "status": 503, "apply": True})
    answer = api.post("BlankFirst", json={"name": "n"})

    assert refused(answer) == (502, 5020)
    assert answer.json()["outcome"] == "not_applied"
    assert api.emulator.texts("BlankFirst") == before
    assert "values.append" not in api.emulator.stats()["calls"]


@pytest.mark.parametrize("payload", ["=1+1", "+A1", "-1+1", "@x", "\t=1"])
@pytest.mark.parametrize("is_applied", [True, False], ids=["applied", "not applied"])
def test_a_payload_of_an_open_write_stays_a_text(api: Api, payload: str, is_applied: bool) -> None:
    """Found by its fence or sent again, a create or an update stores its text once."""
    answers = []
    for method, path in [("POST", "New"), ("PUT", "Cities/2")]:
        api.emulator.faults({"call": "spreadsheets.batchUpdate", "apply": is_applied, "drop": True})
        answers.append(api.send(method, path, json={"name": payload}))

    assert [answer.status_code for answer in answers] == [201, 200]
    assert [answer.json() for answer in answers] == [{"rowIndex": 2, "name": payload}] * 2
    assert len(api.emulator.texts("New")) == 2
    assert api.emulator.cell("Cities", 2, 1)["value"] == payload
    assert formulas(api) == []


@pytest.mark.parametrize("keys", [("formulas", "paid"), ("paid", "formulas")])
def test_keys_that_wait_together_keep_to_their_grants(
    open_gateway: OpenGateway, keys: tuple[str, str]
) -> None:
    """A group of writes is of keys that may all write formulas, or of such as may not."""
    api = open_gateway(TYPED_IN)
    api.get("New")
    api.emulator.faults({"call": "values.append", "delay_ms": 300})
    with ThreadPoolExecutor(9) as pool:
        before = pool.submit(api.post, "New", json={"name": "first"})
        is_under_way = until(lambda: "values.append" in api.emulator.stats()["calls"])
        sent = [(key, f"={number}") for number in range(1, 5) for key in keys]
        answers = [pool.submit(api.post, "New", key=key, json={"name": text}) for key, text in sent]
        told = [answer.result().json()["name"] for answer in answers]

    assert is_under_way
    assert before.result().status_code == 201
    assert told == [text.removeprefix("=") if key == "formulas" else text for key, text in sent]
    assert sorted(formulas(api)) == ["=1", "=2", "=3", "=4"]
