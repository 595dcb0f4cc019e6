"""The admin API: its errors, who may use it, and each of its operations."""

import json
from collections.abc import Sequence

import pytest

from gateway.admin.console import API, COOKIE, OPERATIONS, Operation
from tests.admin.conftest import SAME_ORIGIN, Console
from tests.asgi_client import Answer

OF_API = [each for each in OPERATIONS if each.path.startswith(API)]
UNSAFE = [each for each in OPERATIONS if each.method != "GET"]


def name_of(operation: object) -> str | None:
    return f"{operation.method} {operation.path}" if isinstance(operation, Operation) else None


def path_of(operation: Operation) -> str:
    return operation.path.replace("{id}", "key_unknown1")


def ask(console: Console, method: str, path: str, json_body: object = None) -> Answer:
    """Send a program's request with the admin key, below `/admin/v1`."""
    headers = [("Authorization", f"Bearer {console.admin_key}")]
    body = b"" if json_body is None else json.dumps(json_body).encode()
    return console.send(method, f"{API}{path}", headers=headers, body=body, session="")


def refused(answer: Answer) -> tuple[int, int]:
    """Status and code of an error in the form of the API."""
    members = answer.json()
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    assert {"type", "name", "message", "requestId", "retryable"} <= members.keys()
    assert members["status"] == answer.status_code
    return answer.status_code, members["code"]


@pytest.mark.parametrize("operation", OF_API, ids=name_of)
@pytest.mark.parametrize("credentials", ["none", "API key", "Basic", "a wrong session"])
def test_each_operation_needs_an_admin_key(
    console: Console, operation: Operation, credentials: str
) -> None:
    """Others get 401 as JSON."""
    headers: Sequence[tuple[str, str]] = {
        "none": SAME_ORIGIN,
        "API key": [("Authorization", f"Bearer {console.surface.keys['paid']}")],
        "Basic": [("Authorization", "Basic YTpi")],
        "a wrong session": [("Cookie", f"{COOKIE}=x"), *SAME_ORIGIN],
    }[credentials]

    answer = console.send(operation.method, path_of(operation), headers=headers, session="")

    assert refused(answer) == (401, 4011 if credentials == "API key" else 4010)
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("method", "path", "expected", "allowed"),
    [
        ("GET", "", (404, 4040), None),
        ("GET", "/nothing", (404, 4040), None),
        ("PUT", "/keys", (405, 4051), "GET, HEAD"),
        ("OPTIONS", "/keys", (405, 4051), "GET, HEAD"),
        ("GET", "/keys?since=1", (400, 4002), None),
        ("GET", "/keys?apiKey=x", (400, 4002), None),
    ],
)
def test_errors_are_those_of_the_api(
    console: Console, method: str, path: str, expected: tuple[int, int], allowed: str | None
) -> None:
    """404, 405 with the allowed methods, and 400 for a parameter that it does not have."""
    answer = ask(console, method, path)

    assert refused(answer) == expected
    assert answer.headers.get("allow") == allowed
    assert "default-src 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("operation", UNSAFE, ids=name_of)
@pytest.mark.parametrize(
    "headers",
    [
        [("Sec-Fetch-Site", "cross-site")],
        [("Sec-Fetch-Site", "same-site")],
        [("Sec-Fetch-Site", "same-site"), ("Origin", "https://gateway.example")],
        [("Origin", "https://evil.example")],
        [("Origin", "null")],
        [],
    ],
)
def test_no_other_site_changes_anything(
    console: Console, operation: Operation, headers: list[tuple[str, str]]
) -> None:
    """Each unsafe operation of the table is refused before it runs."""
    answer = console.send(operation.method, path_of(operation), headers=headers)

    assert answer.status_code == 403
    assert b"did not come from a page of the console" in answer.content


def test_a_list_of_keys_has_no_secret(console: Console) -> None:
    """It has the members of `keys list --json`; HEAD has the same headers."""
    answer, head = ask(console, "GET", "/keys"), ask(console, "HEAD", "/keys")
    (found,) = [each for each in answer.json()["keys"] if each["name"] == "deleting"]

    assert answer.json()["damaged"] == []
    assert found["may"] == ["read", "create", "update", "delete"]
    assert (found["state"], found["worksheets"]) == ("active", None)
    assert found["last4"] == console.surface.keys["deleting"][-4:]
    assert not any(key.encode() in answer.said for key in console.surface.keys.values())
    assert head.status_code == 200
    assert head.headers["content-length"] == str(len(answer.content))
