"""Errors that a caller gets from a failed call."""

import copy
import json
import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from gateway.server.sockets import bind
from sheets_gateway_client import (
    ConnectionFailed,
    Problem,
    RetryOptions,
    SheetsError,
    SheetsFailure,
)
from tests.clients.middlebox import Fault, Middlebox
from tests.clients.python.conftest import Connect
from tests.clients.python.test_faults import WRITES
from tests.journeys.conftest import Api

ONCE = RetryOptions(tries=1)

CONFLICT: Mapping[str, object] = {
    "type": "SheetsonError",
    "name": "PreconditionFailed",
    "code": 4120,
    "message": "",
    "status": 412,
    "requestId": "x",
    "retryable": False,
    "outcome": "not_applied",
}
ODD_ERRORS = pytest.mark.parametrize(
    ("odd", "code", "outcome"),
    [
        pytest.param({"existing": {"name": "x"}}, 4120, "not_applied", id="existing"),
        pytest.param({"existing": [1]}, 4120, "not_applied", id="existing list"),
        pytest.param({"rowIndex": "x"}, 4120, "not_applied", id="rowIndex"),
        pytest.param({"code": None}, 0, "not_applied", id="code null"),
        pytest.param({"code": "x"}, 0, "not_applied", id="code text"),
        pytest.param({"errors": None}, 4120, "not_applied", id="errors null"),
        pytest.param({"errors": ["x", None]}, 4120, "not_applied", id="errors text"),
        pytest.param({"errors": 1}, 4120, "not_applied", id="errors number"),
        pytest.param({"outcome": "perhaps"}, 4120, "unknown", id="outcome text"),
        pytest.param({"outcome": None}, 4120, "unknown", id="outcome null"),
        pytest.param({"outcome": []}, 4120, "unknown", id="outcome list"),
        pytest.param({"message": None, "requestId": None}, 4120, "not_applied", id="texts null"),
    ],
)
ODD_SUCCESSES = pytest.mark.parametrize(
    ("name", "text"),
    [
        ("create", "null"),
        ("create", '{"rowIndex": null}'),
        ("create many", '{"results": [null]}'),
        ("update many", '{"results": ["x"]}'),
        ("upsert", '{"results": [null]}'),
        ("upsert", '{"results": []}'),
        ("upsert many", '{"results": [null]}'),
        ("update where", '{"results": [null], "count": 1}'),
        ("delete where", '{"results": ["x"], "count": 1}'),
    ],
)
"""Answers to writes: the name of the write in `WRITES`, and the text of a 200."""
WRONG_ROWS: Sequence[Any] = (0, -1, 2.0, "2", "../Orders/2", True, None)
WRONG_ON: Sequence[Any] = (None, "", [])


def test_an_error_has_all_members(cities: Any, api: Api) -> None:
    """Code, name, message, status, outcome, request ID, and the places of mistakes."""
    with pytest.raises(SheetsError) as raised:
        cities.create([{"name": "a"}, {"nmae": "b"}])
    error = raised.value

    assert (error.code, error.name, error.status) == (104, "InvalidBody", 400)
    assert (error.outcome, error.retryable, error.may_be_applied) == ("not_applied", False, False)
    assert error.request_id
    assert [type(each) for each in error.errors] == [Problem]
    assert error.errors[0].pointer == "#/1/nmae"
    assert 'its fields are "name"' in error.message
    assert str(error) == f"400 InvalidBody (104): {error.message}"


def test_a_failed_read_has_no_outcome(cities: Any) -> None:
    """Only writes have outcomes and keys."""
    with pytest.raises(SheetsError) as raised:
        cities.get(99)

    assert (raised.value.outcome, raised.value.may_be_applied) == (None, False)
    assert raised.value.idempotency_key is None


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        pytest.param(Fault(status=502), "Bad gateway", id="a page"),
        pytest.param(Fault(status=502, text=""), "begins: ''", id="nothing"),
        pytest.param(Fault(status=403, text="[" * 100_000), "not the gateway's", id="deep"),
        pytest.param(Fault(status=200), "Bad gateway", id="200 with a page"),
        pytest.param(Fault(status=200, text='{"ok": true}'), "ok", id="200 with other JSON"),
        pytest.param(
            Fault(status=308, headers={"Location": "https://example.org/"}),
            "points to https://example.org/",
            id="redirect",
        ),
    ],
)
@pytest.mark.parametrize("is_write", [False, True], ids=["read", "write"])
def test_an_answer_of_others_is_named(
    connect: Connect, middlebox: Middlebox, fault: Fault, words: str, is_write: bool
) -> None:
    """A proxy's answer is an error of its own, which proves nothing about a write."""
    sheet = connect(retry=ONCE).sheet("Cities")
    middlebox.fail(fault)
    with pytest.raises(SheetsError, match=words) as raised:
        sheet.create({"name": "x"}) if is_write else sheet.get(2)

    assert (raised.value.status, raised.value.code) == (fault.status, 0)
    assert raised.value.name == "NotFromGateway"
    assert raised.value.outcome == ("unknown" if is_write else None)


def test_a_refusal_after_an_open_try_leaves_the_outcome_open(
    connect: Connect, middlebox: Middlebox
) -> None:
    """`not_applied` of the second request does not count for the first, whose answer was lost."""
    limited = (
        '{"type":"SheetsonError","name":"RateLimited","code":4290,"message":"","status":429,'
        '"requestId":"x","retryable":true,"outcome":"not_applied"}'
    )
    middlebox.fail(Fault(is_forwarded=True), Fault(status=429, text=limited))
    with pytest.raises(SheetsError) as raised:
        connect(retry=RetryOptions(tries=2)).sheet("Cities").create({"name": "x"})

    assert raised.value.code == 4290
    assert (raised.value.outcome, raised.value.may_be_applied) == ("unknown", True)


@pytest.mark.parametrize("is_write", [False, True], ids=["read", "write"])
def test_a_refused_connection_wrote_nothing(connect: Connect, is_write: bool) -> None:
    """Without a connection nothing was sent, so the write is certainly not applied."""
    with bind("127.0.0.1", 0) as nobody:
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
    sheet = connect(base_url=url).sheet("Cities")
    with pytest.raises(ConnectionFailed, match="at try 5") as raised:
        sheet.create({"name": "x"}) if is_write else sheet.get(2)

    assert raised.value.outcome == ("not_applied" if is_write else None)
    assert not raised.value.may_be_applied
    assert raised.value.__cause__ is not None


@ODD_ERRORS
def test_an_odd_error_of_the_gateway_keeps_its_type(
    connect: Connect, middlebox: Middlebox, odd: Mapping[str, object], code: int, outcome: str
) -> None:
    """Members of another shape count as absent."""
    middlebox.fail(Fault(status=412, text=json.dumps({**CONFLICT, **odd})))
    with pytest.raises(SheetsError) as raised:
        connect(retry=ONCE).sheet("Cities").create({"name": "x"})
    error = raised.value

    assert (error.status, error.code, error.name) == (412, code, "PreconditionFailed")
    assert (error.outcome, error.message) == (outcome, "")
    assert (error.existing, error.row_index, error.errors) == (None, None, [])


@ODD_SUCCESSES
def test_an_odd_success_leaves_the_outcome_open(
    connect: Connect, middlebox: Middlebox, name: str, text: str
) -> None:
    """A result that the API does not have is not the gateway's."""
    sheet = connect(retry=ONCE).sheet("Cities")
    middlebox.fail(Fault(status=200, text=text))
    with pytest.raises(SheetsError) as raised:
        WRITES[name](sheet)

    assert (raised.value.name, raised.value.outcome) == ("NotFromGateway", "unknown")


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))],  # noqa: S301
    ids=["copy", "deepcopy", "pickle"],
)
@pytest.mark.parametrize("fault", [Fault(), Fault(status=502)], ids=["connection", "answer"])
def test_failures_can_be_copied(
    connect: Connect, middlebox: Middlebox, fault: Fault, duplicate: Callable[[Any], Any]
) -> None:
    """Processes of a pool pass them on, with all members."""
    middlebox.fail(fault)
    with pytest.raises(SheetsFailure) as raised:
        connect(retry=ONCE).sheet("Cities").create({"name": "x"})
    error = raised.value
    copied = duplicate(error)

    assert (type(copied), str(copied)) == (type(error), str(error))
    assert vars(copied) == vars(error)
    assert copied.idempotency_key


@pytest.mark.parametrize("key", ["sgw_\nx", "sgw_é", "sgw a", "sgw_\x7f"])
def test_a_key_that_no_header_takes_is_refused_unseen(connect: Connect, key: str) -> None:
    """The message does not show the key."""
    with pytest.raises(ValueError, match="visible ASCII") as raised:
        connect(api_key=key)

    assert "sgw" not in str(raised.value)


@pytest.mark.parametrize(
    "rest",
    ["//user:secret@example.org", "//user:sec/ret@example.org", "//h/?token=secret", "//h/#secret"],
)
def test_a_base_url_has_only_a_path(connect: Connect, rest: str) -> None:
    """The rest would go into wrong places; the message does not show it."""
    with pytest.raises(ValueError, match="base URL") as raised:
        connect(base_url=f"http:{rest}")

    assert "sec" not in str(raised.value)


@pytest.mark.parametrize(
    "act",
    [
        *(lambda sheet, row=row: sheet.get(row) for row in WRONG_ROWS),
        lambda sheet: sheet.update("../Orders/2", {"name": "x"}),
        lambda sheet: sheet.delete('?where={"name":"x"}'),
        lambda sheet: sheet.delete(None),
        *(lambda sheet, on=on: sheet.upsert({"name": "x"}, on=on) for on in WRONG_ON),
    ],
)
def test_wrong_arguments_are_not_sent(
    cities: Any, middlebox: Middlebox, act: Callable[[Any], object]
) -> None:
    """They would be a request for something else."""
    with pytest.raises(ValueError, match=r"row number|upsert"):
        act(cities)

    assert middlebox.arrived == []


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_no_path_has_is_not_sent(
    connect: Connect, middlebox: Middlebox, name: str
) -> None:
    """It would be a request for another resource."""
    with pytest.raises(ValueError, match="name of a worksheet"):
        connect().sheet(name).list()

    assert middlebox.arrived == []
