"""Tests of the decision after each request, without a network."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from sheets_gateway_client import ConnectionFailed, RetryOptions, SheetsError
from sheets_gateway_client.answers import Answer, retry_after_seconds
from sheets_gateway_client.calls import create_row, get_row
from sheets_gateway_client.retry import Broken, Instant, Tries, Wait, next_step

NOW = datetime(2026, 11, 24, 12, 0, 0, tzinfo=UTC)
INSTANT = Instant(now=100.0, date=NOW, chance=1.0)
TRIES = Tries(options=RetryOptions(), started_at=100.0)
READ = get_row("Cities", 2, keys=None, no_cache=False)
WRITE = create_row("Cities", {"name": "x"}, None)
URL = "http://127.0.0.1:8000/v2/sheets/Cities"
ROW = Answer(status=200, headers={"etag": '"x"'}, text='{"rowIndex":2,"name":"x"}', url=URL)
SENT = Broken(error=OSError("cut"), was_sent=True, url=URL)
UNSENT = Broken(error=OSError("refused"), was_sent=False, url=URL)


def error(code: int = 5041, **members: Any) -> Answer:
    """Return an error answer of the gateway, with members of the body and `headers`."""
    headers = members.pop("headers", {})
    body = {"type": "SheetsonError", "code": code, "status": 504, "retryable": False, **members}
    return Answer(status=body["status"], headers=headers, text=json.dumps(body), url=URL)


def step(result: Answer | Broken, tries: Tries = TRIES, call: Any = WRITE, **when: Any) -> Any:
    """Return the decision after a result; errors are returned, not raised."""
    try:
        return next_step(call, tries, result, replace(INSTANT, **when))
    except (SheetsError, ConnectionFailed) as raised:
        return raised


@pytest.mark.parametrize(
    ("results", "outcome"),
    [
        pytest.param([UNSENT], "not_applied", id="never sent"),
        pytest.param([SENT], "unknown", id="sent"),
        pytest.param([SENT, UNSENT], "unknown", id="sent before"),
        pytest.param([UNSENT, error(104, outcome="not_applied")], "not_applied", id="refused"),
        pytest.param([SENT, error(104, outcome="not_applied")], "unknown", id="refused late"),
        pytest.param([SENT, error(4091, outcome="applied")], "applied", id="applied"),
        pytest.param(
            [SENT, error(104, outcome="not_applied", headers={"idempotent-replayed": "true"})],
            "not_applied",
            id="replayed",
        ),
    ],
)
def test_the_outcome_covers_all_requests(results: list[Answer | Broken], outcome: str) -> None:
    """After a lost answer, only the answer to that write makes the outcome known."""
    tries = replace(TRIES, options=RetryOptions(tries=len(results)))
    for result in results[:-1]:
        tries = step(result, tries).tries

    assert step(results[-1], tries).outcome == outcome


@pytest.mark.parametrize(
    ("count", "chance", "seconds"),
    [(0, 1.0, 0.5), (0, 0.0, 0.25), (1, 1.0, 1.0), (2, 0.5, 1.5), (3, 1.0, 4.0), (30, 1.0, 60.0)],
)
def test_waits_grow_with_jitter(count: int, chance: float, seconds: float) -> None:
    """Waits double up to the limit, and the random jitter subtracts up to half."""
    options = RetryOptions(tries=99)
    tries = replace(TRIES, count=count, options=options)

    assert step(SENT, tries, chance=chance).seconds == seconds


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("7", 7.0),
        (" 7 ", 7.0),
        ("0", 0.0),
        ("9999999999", 9999999999.0),
        ("9" * 400, float("inf")),
        ("Tue, 24 Nov 2026 12:00:09 GMT", 9.0),
        ("Tue, 24 Nov 2026 11:00:00 GMT", 0.0),
        ("Tue, 24 Nov 2026 12:00:09 -0000", 9.0),
        ("", None),
        ("soon", None),
        ("-7", None),
        ("1e9", None),
        ("９", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(given: str, seconds: float | None) -> None:
    """`Retry-After` is a number of seconds or a date; any other value counts as absent."""
    answer = Answer(status=503, headers={"retry-after": given}, text="", url=URL)

    assert retry_after_seconds(answer, NOW) == seconds


@pytest.mark.parametrize(("now", "is_repeated"), [(279.5, True), (279.6, False)])
def test_all_requests_have_a_time_limit(now: float, is_repeated: bool) -> None:
    """No request starts after the total time."""
    assert isinstance(step(SENT, now=now), Wait) is is_repeated
