"""What a caller learns of a call that failed."""

from typing import Any

import pytest

from gateway.server.sockets import bind
from sheets_gateway_client import ConnectionFailed, Problem, RetryOptions, SheetsError
from tests.clients.middlebox import Fault, Middlebox
from tests.clients.python.conftest import Connect
from tests.journeys.conftest import Api

ONCE = RetryOptions(tries=1)


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


@pytest.mark.parametrize("key", ["", "sgw_\n", "sgw_é", "sgw a"])
def test_a_key_that_no_header_takes_is_refused_unseen(connect: Connect, key: str) -> None:
    """The message does not show the key."""
    with pytest.raises(ValueError, match="visible ASCII") as raised:
        connect(api_key=f"{key}\x7f")

    assert "sgw" not in str(raised.value)


def test_a_value_that_json_does_not_have_is_refused(cities: Any, middlebox: Middlebox) -> None:
    """NaN is refused before anything is sent."""
    with pytest.raises(ValueError, match="JSON compliant"):
        cities.create({"population": float("nan")})

    assert middlebox.arrived == []
