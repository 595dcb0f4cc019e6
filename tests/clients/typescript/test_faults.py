"""Lost, cut and replaced answers: after each, every write was done once."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from gateway.server.sockets import bind
from tests.clients.middlebox import Fault, Middlebox
from tests.clients.python.test_failures import CONFLICT, ODD_ERRORS, ODD_SUCCESSES
from tests.clients.python.test_faults import BATCH, EVERY_FAULT, LOST, SEARCH, TEXTS, UNDER_WAY
from tests.clients.typescript.conftest import Connect
from tests.clients.typescript.package import NodeSheet
from tests.journeys.conftest import Api, OpenGateway

AUSTIN = {"name": "Austin", "population": 961855}
CREATE = ["create", AUSTIN]
READ = ["get", 2]
LIMITED = (
    '{"type":"SheetsonError","name":"RateLimited","code":4290,"message":"","status":429,'
    '"requestId":"x","retryable":true,"outcome":"not_applied"}'
)
WRITES: Mapping[str, Sequence[Any]] = {
    "create": CREATE,
    "create many": ["create", [AUSTIN, {"name": "Waco"}]],
    "update": ["update", 2, {"name": "x"}],
    "update many": ["updateMany", [{"rowIndex": 2, "name": "x"}]],
    "upsert": ["upsert", AUSTIN, {"on": "name"}],
    "upsert many": ["upsert", [AUSTIN, {"name": "Dallas"}], {"on": "name"}],
    "update where": ["updateWhere", {"state": "Texas"}, {"state": "TX"}],
    "delete": ["delete", 2],
    "delete where": ["deleteWhere", {"rowIndex": {"$lte": 3}}],
}

WRONG_ON: Sequence[Any] = ({}, {"on": None}, {"on": ""}, {"on": []})


@EVERY_FAULT
def test_a_row_is_created_once(
    cities: NodeSheet, middlebox: Middlebox, api: Api, fault: Fault
) -> None:
    """The create is repeated with its key until an answer comes."""
    middlebox.fail(fault, fault)
    created = cities.do(CREATE).value
    keys = middlebox.sent("Idempotency-Key")

    assert (created["rowIndex"], created["fields"]["population"]) == (12, "961855")
    assert created["etag"]
    assert api.emulator.texts("Cities")[11:] == [TEXTS]
    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert None not in keys


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_every_write_is_done_once(
    cities: NodeSheet, middlebox: Middlebox, api: Api, write: Sequence[Any]
) -> None:
    """With lost answers the result and the sheet are the same as without."""
    plain = cities.do(write).value
    expected = api.emulator.texts("Cities")
    api.emulator.reset()
    middlebox.fail(LOST, LOST)

    assert cities.do(write).value == plain
    assert api.emulator.texts("Cities") == expected
    assert len(middlebox.arrived) == 1 + 3


@EVERY_FAULT
def test_a_read_is_repeated(cities: NodeSheet, middlebox: Middlebox, fault: Fault) -> None:
    """Reads have no effect, so every fault is a reason to ask again."""
    middlebox.fail(fault)

    assert cities.do(READ).value["fields"]["name"] == "New York"
    assert len(middlebox.arrived) == 2


def test_retry_after_is_waited_for(cities: NodeSheet, middlebox: Middlebox) -> None:
    """A wait is as long as the answer says, and grows otherwise."""
    slow = Fault(status=429, headers={"Retry-After": "7"})
    middlebox.fail(Fault(), slow, Fault())

    assert cities.do(READ).waits == [0.5, 7, 2]


def test_a_write_under_way_is_waited_for(connect: Connect, middlebox: Middlebox, api: Api) -> None:
    """The answers until then are no tries."""
    middlebox.fail(LOST, *[UNDER_WAY] * 9)
    ran = connect(retry={"tries": 2}).do(CREATE)

    assert ran.waits == [0.5, *[1] * 9]
    assert ran.value["rowIndex"] == 12
    assert api.emulator.texts("Cities")[11:] == [TEXTS]


@pytest.mark.parametrize(("tries", "requests"), [(1, 1), (2, 6)])
def test_a_wait_for_a_write_under_way_has_a_limit(
    connect: Connect, middlebox: Middlebox, tries: int, requests: int
) -> None:
    """The total time, or no wait at all without repeating."""
    middlebox.fail(*[UNDER_WAY] * 9)
    error = connect(retry={"tries": tries, "totalSeconds": 5}).do(CREATE).error

    assert (error["code"], error["outcome"]) == (4090, "unknown")
    assert len(middlebox.arrived) == requests


def test_the_gateways_429_is_waited_for(start_gateway: OpenGateway, connect: Connect) -> None:
    """A key over its rate waits, and then all of its rows are written once."""
    api = start_gateway({"plans.paid.requests_per_minute": 60})
    api.emulator.reset()
    creates = [["create", {"name": str(number)}] for number in range(14)]
    ran = connect(baseUrl=api.url, waits_really=True).do(*creates)

    assert ran.waits
    assert [line[0] for line in api.emulator.texts("Cities")[11:]] == [str(n) for n in range(14)]


def test_the_gateways_504_is_settled_by_the_key(
    start_gateway: OpenGateway, connect: Connect
) -> None:
    """A create of unknown outcome is repeated after `Retry-After`, and is one row."""
    api = start_gateway({"google.read_timeout_seconds": 1.0})
    api.emulator.reset()
    api.emulator.faults(
        {"call": BATCH, "apply": True, "status": 503},
        {"call": SEARCH, "times": 999, "status": 503},
    )
    ran = connect(baseUrl=api.url, faults_url=f"{api.emulator.url}/_emulator/faults").do(CREATE)

    assert ran.waits == [10]
    assert ran.value["rowIndex"] == 12
    assert api.emulator.texts("Cities")[11:] == [TEXTS]


@pytest.mark.parametrize(
    ("call", "code"),
    [
        pytest.param(["create", {"town": "x"}], 104, id="field"),
        pytest.param(["get", 99], 103, id="row"),
        pytest.param(["list", {"where": {"town": "x"}}], 4002, id="where"),
        pytest.param(["update", 2, {"name": "x"}, {"ifMatch": '"x"'}], 4120, id="tag"),
    ],
)
def test_refusals_are_not_repeated(
    cities: NodeSheet, middlebox: Middlebox, call: Sequence[Any], code: int
) -> None:
    """A request that would be refused again is sent once."""
    assert cities.do(call).error["code"] == code
    assert len(middlebox.arrived) == 1


@pytest.mark.parametrize(("seconds", "tries"), [("60", 2), ("61", 1), ("3600", 1), ("1" * 10, 1)])
def test_a_long_retry_after_ends_the_call(
    connect: Connect, middlebox: Middlebox, seconds: str, tries: int
) -> None:
    """Nobody waits for an hour without having asked for it, nor for less than was asked."""
    middlebox.fail(*[Fault(status=503, headers={"Retry-After": seconds})] * 2)
    error = connect(retry={"tries": 2, "totalSeconds": 9999}).do(READ).error

    assert error["retryAfterSeconds"] == float(seconds)
    assert len(middlebox.arrived) == tries


def test_the_tries_are_limited(connect: Connect, middlebox: Middlebox) -> None:
    """The last try's failure is thrown, and says that the row may be there."""
    middlebox.fail(*[Fault()] * 9)
    error = connect(retry={"tries": 3}).do(CREATE).error

    assert len(middlebox.arrived) == 3
    assert error["kind"] == "ConnectionFailed"
    assert (error["outcome"], error["mayBeApplied"]) == ("unknown", True)
    assert error["idempotencyKey"] == middlebox.sent("Idempotency-Key")[0]


def test_the_total_time_is_limited(connect: Connect, middlebox: Middlebox) -> None:
    """No try starts later than the limit."""
    middlebox.fail(*[Fault(status=503, headers={"Retry-After": "20"})] * 9)
    ran = connect(retry={"tries": 9, "totalSeconds": 50}).do(READ)

    assert ran.error["code"] == 0
    assert ran.waits == [20, 20]


@pytest.mark.parametrize("seconds", [3e6, 1e306], ids=["a month", "Infinity ms"])
def test_a_long_timeout_is_none_at_once(
    connect: Connect, middlebox: Middlebox, seconds: float
) -> None:
    """A timer of more than 2**31 - 1 ms would end after one."""
    row = connect(timeoutSeconds=seconds, retry={"tries": 1}).do(READ).value

    assert row["rowIndex"] == 2


def test_a_silent_gateway_is_given_up(connect: Connect, middlebox: Middlebox, api: Api) -> None:
    """A try that gets no answer in time counts as a broken connection."""
    middlebox.fail(Fault(is_forwarded=True, is_held=True))
    created = connect(timeoutSeconds=0.5).do(CREATE).value

    assert created["rowIndex"] == 12
    assert api.emulator.texts("Cities")[11:] == [TEXTS]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        pytest.param(Fault(status=502), "Bad gateway", id="a page"),
        pytest.param(Fault(status=403, text="["), "not the gateway's", id="half of JSON"),
        pytest.param(Fault(status=200), "Bad gateway", id="200 with a page"),
        pytest.param(Fault(status=200, text='{"ok": true}'), "ok", id="200 with other JSON"),
        pytest.param(
            Fault(status=302, headers={"Location": "https://example.org/"}),
            "points to https://example.org/",
            id="redirect",
        ),
    ],
)
@pytest.mark.parametrize("call", [READ, CREATE], ids=["read", "write"])
def test_an_answer_of_others_is_named(
    connect: Connect, middlebox: Middlebox, fault: Fault, words: str, call: Sequence[Any]
) -> None:
    """A proxy's answer is an error of its own, which proves nothing about a write."""
    middlebox.fail(fault)
    error = connect(retry={"tries": 1}).do(call).error

    assert (error["status"], error["code"], error["name"]) == (fault.status, 0, "NotFromGateway")
    assert words in error["message"]
    assert error.get("outcome") == ("unknown" if call is CREATE else None)


@ODD_ERRORS
def test_an_odd_error_of_the_gateway_keeps_its_type(
    connect: Connect, middlebox: Middlebox, odd: Mapping[str, object], code: int, outcome: str
) -> None:
    """Members of another shape count as absent."""
    middlebox.fail(Fault(status=412, text=json.dumps({**CONFLICT, **odd})))
    error = connect(retry={"tries": 1}).do(CREATE).error

    assert (error["status"], error["code"], error["name"]) == (412, code, "PreconditionFailed")
    assert (error["outcome"], error["message"], error["errors"]) == (outcome, "", [])
    assert not error.keys() & {"existing", "rowIndex"}


@ODD_SUCCESSES
def test_an_odd_success_leaves_the_outcome_open(
    connect: Connect, middlebox: Middlebox, name: str, text: str
) -> None:
    """A result that the API does not have is not the gateway's."""
    middlebox.fail(Fault(status=200, text=text))
    error = connect(retry={"tries": 1}).do(WRITES[name]).error

    assert (error["name"], error["outcome"]) == ("NotFromGateway", "unknown")


def test_a_refusal_after_an_open_try_leaves_the_outcome_open(
    connect: Connect, middlebox: Middlebox
) -> None:
    """`not_applied` of the second request does not count for the first, whose answer was lost."""
    middlebox.fail(LOST, Fault(status=429, text=LIMITED))
    error = connect(retry={"tries": 2}).do(CREATE).error

    assert (error["code"], error["outcome"], error["mayBeApplied"]) == (4290, "unknown", True)


@pytest.mark.parametrize("call", [READ, CREATE], ids=["read", "write"])
def test_a_refused_connection_wrote_nothing(connect: Connect, call: Sequence[Any]) -> None:
    """Without a connection nothing was sent, so the write is certainly not applied."""
    with bind("127.0.0.1", 0) as nobody:
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
    error = connect(baseUrl=url).do(call).error

    assert (error["kind"], error["mayBeApplied"]) == ("ConnectionFailed", False)
    assert error.get("outcome") == ("not_applied" if call is CREATE else None)
    assert "at try 5" in error["message"]


@pytest.mark.parametrize("key", ["sgw_\nx", "sgw_é", "sgw a", "sgw_\x7f"])
def test_a_key_that_no_header_takes_is_refused_unseen(connect: Connect, key: str) -> None:
    """The message does not show the key."""
    error = connect(apiKey=key).do(READ).error

    assert error["kind"] == "TypeError"
    assert error["message"].startswith("The API key is not visible ASCII text.")
    assert "sgw" not in error["message"]


@pytest.mark.parametrize(
    "rest",
    ["//user:secret@example.org", "//user:sec/ret@example.org", "//h/?token=secret", "//h/#secret"],
)
def test_a_base_url_has_only_a_path(connect: Connect, rest: str) -> None:
    """The rest would go into wrong places; the error does not show it."""
    error = connect(baseUrl=f"http:{rest}").do(READ).error

    assert error["kind"] == "TypeError"
    assert "base URL" in error["message"]
    assert "sec" not in str(error)


@pytest.mark.parametrize(
    "call",
    [
        *(["get", row] for row in (0, -1, 2.5, "2", "../Orders/2", True, None)),
        ["update", "../Orders/2", {"name": "x"}],
        ["delete", '?where={"name":"x"}'],
        ["delete"],
        *(["upsert", {"name": "x"}, options] for options in WRONG_ON),
    ],
    ids=str,
)
def test_wrong_arguments_are_not_sent(
    cities: NodeSheet, middlebox: Middlebox, call: Sequence[Any]
) -> None:
    """They would be a request for something else."""
    assert cities.do(call).error["kind"] == "TypeError"
    assert middlebox.arrived == []


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_no_path_has_is_not_sent(
    connect: Connect, middlebox: Middlebox, name: str
) -> None:
    """It would be a request for another resource."""
    assert connect(name).do(["list"]).error["kind"] == "TypeError"
    assert middlebox.arrived == []


def test_a_key_of_a_write_that_is_null_is_none(cities: NodeSheet, middlebox: Middlebox) -> None:
    """The text "null" would be the same key for all writes."""
    cities.do(*[["create", {"name": "x"}, {"idempotencyKey": None}]] * 2)
    keys = middlebox.sent("Idempotency-Key")

    assert len(set(keys)) == 2
    assert "null" not in keys
