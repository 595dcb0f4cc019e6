"""Bugs planted in a copy of the client: the tests of faults find each."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.middlebox import Fault, Middlebox
from tests.clients.typescript import test_faults
from tests.clients.typescript.conftest import Connect
from tests.clients.typescript.package import Package, make_package
from tests.journeys.conftest import Api

Check = Callable[[Connect, Middlebox, Api], None]


def creates_once(connect: Connect, middlebox: Middlebox, api: Api) -> None:
    test_faults.test_a_row_is_created_once(connect(), middlebox, api, Fault(is_forwarded=True))


def waits_for_retry_after(connect: Connect, middlebox: Middlebox, _: Api) -> None:
    test_faults.test_retry_after_is_waited_for(connect(), middlebox)


def ends_at_a_long_wait(connect: Connect, middlebox: Middlebox, _: Api) -> None:
    test_faults.test_a_long_retry_after_ends_the_call(connect, middlebox, "3600", 1)


def keeps_refusals(connect: Connect, middlebox: Middlebox, _: Api) -> None:
    call = ["create", {"town": "x"}]
    test_faults.test_refusals_are_not_repeated(connect(), middlebox, call, 104)


def remembers_open_tries(connect: Connect, middlebox: Middlebox, _: Api) -> None:
    test_faults.test_a_refusal_after_an_open_try_leaves_the_outcome_open(connect, middlebox)


def names_redirects(connect: Connect, middlebox: Middlebox, _: Api) -> None:
    fault = Fault(status=302, headers={"Location": "/v2/sheets/Cities/2"})
    words = "points to"
    test_faults.test_an_answer_of_others_is_named(connect, middlebox, fault, words, ["get", 2])


@pytest.mark.parametrize(
    ("check", "file", "old", "new"),
    [
        pytest.param(
            creates_once,
            "client.ts",
            "{ ...this.#headers, ...call.headers }",
            '{ ...this.#headers, ...call.headers, "Idempotency-Key": crypto.randomUUID() }',
            id="a new key for each try",
        ),
        pytest.param(
            creates_once,
            "calls.ts",
            '    "Idempotency-Key": idempotencyKey,\n',
            "",
            id="no key",
        ),
        pytest.param(
            waits_for_retry_after,
            "retry.ts",
            "const seconds = Math.max(backoff, atLeastSeconds);",
            "const seconds = backoff + 0 * atLeastSeconds;",
            id="Retry-After ignored",
        ),
        pytest.param(
            ends_at_a_long_wait,
            "retry.ts",
            "const seconds = Math.max(backoff, atLeastSeconds);",
            "const seconds = Math.min(Math.max(backoff, atLeastSeconds), options.maxWaitSeconds);",
            id="Retry-After cut short",
        ),
        pytest.param(
            keeps_refusals,
            "retry.ts",
            'body.retryable || body.outcome === "unknown"',
            "true",
            id="refusals repeated",
        ),
        pytest.param(
            remembers_open_tries,
            "retry.ts",
            "isOpen: tries.isOpen || isOpen",
            "isOpen",
            id="an open try forgotten",
        ),
        pytest.param(names_redirects, "client.ts", '"manual"', '"follow"', id="redirects followed"),
    ],
)
def test_a_planted_bug_is_found(
    tmp_path: Path,
    package: Package,
    connect: Connect,
    middlebox: Middlebox,
    api: Api,
    check: Check,
    file: str,
    old: str,
    new: str,
) -> None:
    """The check passes with the client as it is, and fails with the bug."""
    check(connect, middlebox, api)
    api.emulator.reset()
    middlebox.arrived.clear()
    middlebox.faults.clear()
    modules = package.folder / "node_modules"
    buggy = make_package(tmp_path / "typescript", (file, old, new), modules=modules)
    with pytest.raises(AssertionError):
        check(lambda **options: connect(**{"package": buggy, **options}), middlebox, api)
