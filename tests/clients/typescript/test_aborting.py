"""Calls that the caller ends with an AbortSignal."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.clients.middlebox import Fault, Middlebox
from tests.clients.typescript.package import Package, node, run
from tests.journeys.conftest import Api

PATIENT = {"totalSeconds": 1e9, "maxWaitSeconds": 1e9}
ABORT = Path(__file__).with_name("abort.mjs")


@pytest.mark.parametrize(
    ("fault", "abort_ms", "requests"),
    [
        pytest.param(Fault(is_held=True), 300, 1, id="while it waits for an answer"),
        pytest.param(
            Fault(status=503, headers={"Retry-After": "50"}), 300, 1, id="while it waits to repeat"
        ),
        pytest.param(
            Fault(status=503, headers={"Retry-After": "3000000"}), 300, 1, id="while it waits long"
        ),
        pytest.param(Fault(), 0, 0, id="before it begins"),
    ],
)
def test_an_aborted_call_ends_at_once(
    package: Package, api: Api, middlebox: Middlebox, fault: Fault, abort_ms: int, requests: int
) -> None:
    """An aborted call rejects with the signal's reason, sends no request, and Node can exit."""
    middlebox.fail(fault)
    options = {"baseUrl": middlebox.url, "apiKey": api.keys["paid"], "retry": PATIENT}
    given = {"module": package.module, "options": options, "abortMs": abort_ms}
    done = run([node(), str(ABORT)], input=json.dumps(given))
    found: dict[str, Any] = json.loads(done.stdout)

    assert found["outcome"] == "the reason", done.stderr
    assert found["ms"] < 10_000
    assert len(middlebox.arrived) == requests
