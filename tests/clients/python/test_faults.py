"""Lost, cut and replaced answers: after each, every write was done once."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from sheets_gateway_client import ConnectionFailed, RetryOptions, SheetsError
from tests.clients.middlebox import Fault, Middlebox
from tests.clients.python.conftest import Connect, Waits
from tests.journeys.conftest import Api, OpenGateway

AUSTIN = {"name": "Austin", "population": 961855}
TEXTS = ["Austin", "", "", "961855"]
BATCH, SEARCH = "spreadsheets.batchUpdate", "developerMetadata.search"

LOST = Fault(is_forwarded=True)
UNDER_WAY = Fault(
    status=409,
    headers={"Retry-After": "1"},
    text='{"type":"SheetsonError","name":"IdempotencyInProgress","code":4090,"message":"",'
    '"status":409,"requestId":"x","retryable":true,"outcome":"unknown"}',
)
FAULTS: Mapping[str, Fault] = {
    "the answer is lost": LOST,
    "the answer is cut": Fault(kept_bytes=10),
    "the answer is cut before its body": Fault(kept_bytes=0),
    "the connection breaks": Fault(),
    "a proxy's 502 after the write": Fault(is_forwarded=True, status=502),
    "a proxy's 502 before the write": Fault(status=502),
    "a proxy's 503": Fault(status=503, headers={"Retry-After": "3"}),
    "a proxy's 504 after the write": Fault(is_forwarded=True, status=504),
    "a proxy's 429": Fault(status=429, text="slow down", headers={"Retry-After": "3"}),
    "a proxy's 500 in JSON": Fault(is_forwarded=True, status=500, text='{"message": "oops"}'),
}
EVERY_FAULT = pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())

WRITES: Mapping[str, Callable[[Any], object]] = {
    "create": lambda sheet: sheet.create(AUSTIN),
    "create many": lambda sheet: sheet.create([AUSTIN, {"name": "Waco"}]),
    "update": lambda sheet: sheet.update(2, {"name": "x"}),
    "update many": lambda sheet: sheet.update_many([{"rowIndex": 2, "name": "x"}]),
    "upsert": lambda sheet: sheet.upsert(AUSTIN, on="name"),
    "upsert many": lambda sheet: sheet.upsert([AUSTIN, {"name": "Dallas"}], on="name"),
    "update where": lambda sheet: sheet.update_where({"state": "Texas"}, {"state": "TX"}),
    "delete": lambda sheet: sheet.delete(2),
    "delete where": lambda sheet: sheet.delete_where({"rowIndex": {"$lte": 3}}),
}
EVERY_WRITE = pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())


@EVERY_FAULT
def test_a_row_is_created_once(cities: Any, middlebox: Middlebox, api: Api, fault: Fault) -> None:
    """The create is repeated with its key until an answer comes."""
    middlebox.fail(fault, fault)
    created = cities.create(AUSTIN)
    keys = middlebox.sent("Idempotency-Key")

    assert (created.row_index, created["population"]) == (12, "961855")
    assert created.etag is not None
    assert api.emulator.texts("Cities")[11:] == [TEXTS]
    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert None not in keys


@EVERY_WRITE
def test_every_write_is_done_once(
    connect: Connect, middlebox: Middlebox, api: Api, write: Callable[[Any], object]
) -> None:
    """With lost answers the result and the sheet are the same as without."""
    cities = connect().sheet("Cities")
    plain = write(cities)
    expected = api.emulator.texts("Cities")
    api.emulator.reset()
    middlebox.fail(LOST, LOST)

    assert write(cities) == plain
    assert api.emulator.texts("Cities") == expected
    assert len(middlebox.arrived) == 1 + 3


@EVERY_FAULT
def test_a_read_is_repeated(cities: Any, middlebox: Middlebox, fault: Fault) -> None:
    """Reads have no effect, so every fault is a reason to ask again."""
    middlebox.fail(fault)

    assert cities.get(2)["name"] == "New York"
    assert len(middlebox.arrived) == 2


def test_retry_after_is_waited_for(cities: Any, middlebox: Middlebox, waits: Waits) -> None:
    """A wait is as long as the answer says, and grows otherwise."""
    slow = Fault(status=429, headers={"Retry-After": "7"})
    middlebox.fail(Fault(), slow, Fault())
    cities.get(2)

    assert waits.seconds == [0.5, 7.0, 2.0]


def test_a_write_under_way_is_waited_for(
    connect: Connect, middlebox: Middlebox, waits: Waits, api: Api
) -> None:
    """The answers until then are no tries."""
    middlebox.fail(LOST, *[UNDER_WAY] * 9)
    created = connect(retry=RetryOptions(tries=2)).sheet("Cities").create(AUSTIN)

    assert waits.seconds == [0.5, *[1.0] * 9]
    assert created.row_index == 12
    assert api.emulator.texts("Cities")[11:] == [TEXTS]


@pytest.mark.parametrize(("tries", "requests"), [(1, 1), (2, 6)])
def test_a_wait_for_a_write_under_way_has_a_limit(
    connect: Connect, middlebox: Middlebox, tries: int, requests: int
) -> None:
    """The total time, or no wait at all without repeating."""
    middlebox.fail(*[UNDER_WAY] * 9)
    with pytest.raises(SheetsError) as raised:
        connect(retry=RetryOptions(tries=tries, total_seconds=5)).sheet("Cities").create(AUSTIN)

    assert (raised.value.code, raised.value.outcome) == (4090, "unknown")
    assert len(middlebox.arrived) == requests


@pytest.mark.parametrize("connect", ["async"], indirect=True)
def test_the_gateways_429_is_waited_for(
    start_gateway: OpenGateway, connect: Connect, waits: Waits
) -> None:
    """A key over its rate waits, and then all of its rows are written once."""
    waits.is_real = True
    api = start_gateway({"plans.paid.requests_per_minute": 60})
    api.emulator.reset()
    cities = connect(base_url=api.url).sheet("Cities")
    for number in range(14):
        cities.create({"name": str(number)})

    assert waits.seconds
    assert [line[0] for line in api.emulator.texts("Cities")[11:]] == [str(n) for n in range(14)]


@pytest.mark.parametrize(
    ("connect", "is_done"),
    [pytest.param("sync", False, id="not done"), pytest.param("async", True, id="done")],
    indirect=["connect"],
)
def test_the_gateways_504_is_settled_by_the_key(
    start_gateway: OpenGateway, connect: Connect, waits: Waits, is_done: bool
) -> None:
    """A create of unknown outcome is repeated after `Retry-After`, and is one row."""
    api = start_gateway({"google.read_timeout_seconds": 1.0})
    api.emulator.reset()
    api.emulator.faults(
        {"call": BATCH, "apply": is_done, "status": 503},
        {"call": SEARCH, "times": 999, "status": 503},
    )
    waits.on_wait = api.emulator.faults
    created = connect(base_url=api.url).sheet("Cities").create(AUSTIN)

    assert created.row_index == 12
    assert waits.seconds == [10.0]
    assert api.emulator.texts("Cities")[11:] == [TEXTS]


@pytest.mark.parametrize("connect", ["sync"], indirect=True)
def test_a_retryable_answer_is_repeated(
    start_gateway: OpenGateway, connect: Connect, waits: Waits
) -> None:
    """Google fails for a moment, and the gateway says that it may be asked again."""
    api = start_gateway()
    api.emulator.reset()
    api.emulator.faults({"call": "*", "times": 99, "status": 503})
    waits.on_wait = api.emulator.faults
    row = connect(base_url=api.url).sheet("Cities").get(2)

    assert row["name"] == "New York"
    assert len(waits.seconds) == 1


@pytest.mark.parametrize(
    ("act", "code"),
    [
        pytest.param(lambda sheet: sheet.create({"town": "x"}), 104, id="field"),
        pytest.param(lambda sheet: sheet.get(99), 103, id="row"),
        pytest.param(lambda sheet: sheet.list(where={"town": "x"}), 4002, id="where"),
        pytest.param(lambda sheet: sheet.update(2, {"name": "x"}, if_match='"x"'), 4120, id="tag"),
    ],
)
def test_refusals_are_not_repeated(
    cities: Any, middlebox: Middlebox, act: Callable[[Any], object], code: int
) -> None:
    """A request that would be refused again is sent once."""
    with pytest.raises(SheetsError) as raised:
        act(cities)

    assert raised.value.code == code
    assert len(middlebox.arrived) == 1


def test_a_long_retry_after_ends_the_call(cities: Any, middlebox: Middlebox, waits: Waits) -> None:
    """Nobody waits for an hour without having asked for it."""
    middlebox.fail(Fault(status=503, headers={"Retry-After": "3600"}))
    with pytest.raises(SheetsError) as raised:
        cities.get(2)

    assert raised.value.retry_after_seconds == 3600
    assert waits.seconds == []
    assert len(middlebox.arrived) == 1


def test_the_tries_are_limited(connect: Connect, middlebox: Middlebox) -> None:
    """The last try's failure is raised, and says that the row may be there."""
    middlebox.fail(*[Fault()] * 9)
    with pytest.raises(ConnectionFailed) as raised:
        connect(retry=RetryOptions(tries=3)).sheet("Cities").create(AUSTIN)

    assert len(middlebox.arrived) == 3
    assert (raised.value.outcome, raised.value.may_be_applied) == ("unknown", True)
    assert raised.value.idempotency_key == middlebox.sent("Idempotency-Key")[0]


def test_the_total_time_is_limited(connect: Connect, middlebox: Middlebox, waits: Waits) -> None:
    """No try starts later than the limit."""
    middlebox.fail(*[Fault(status=503, headers={"Retry-After": "20"})] * 9)
    with pytest.raises(SheetsError):
        connect(retry=RetryOptions(tries=9, total_seconds=50)).sheet("Cities").get(2)

    assert waits.seconds == [20.0, 20.0]


def test_a_silent_gateway_is_given_up(connect: Connect, middlebox: Middlebox, api: Api) -> None:
    """A try that gets no answer in time counts as a broken connection."""
    middlebox.fail(Fault(is_forwarded=True, is_held=True))
    created = connect(timeout_seconds=0.5).sheet("Cities").create(AUSTIN)

    assert created.row_index == 12
    assert api.emulator.texts("Cities")[11:] == [TEXTS]
