"""Headers that identify a request, X-Request-Id and Idempotency-Key, and the type of answers."""

import re
from collections.abc import Sequence

import pytest

from gateway.web.pages import ASSETS
from tests.journeys.operations import JSON, WRITES
from tests.surfaces.stage import Headers, Surface


@pytest.mark.parametrize("given", ["a", "7f.A_z-9", "r" * 64])
@pytest.mark.parametrize("path", ["Cities/2", "Cities/99", "/nowhere", "/livez"])
def test_request_id(surface: Surface, path: str, given: str) -> None:
    """A valid X-Request-Id, of letters, digits, dot, dash and underscore, is returned once."""
    answer = surface.send("GET", path, headers=[("X-Request-Id", given)])

    assert [value for name, value in answer.pairs if name == b"x-request-id"] == [given.encode()]
    assert answer.status_code == 200 or answer.json()["requestId"] == given


@pytest.mark.parametrize(
    "given", [None, "", "r" * 65, "a b", "a/b", "<x>", "a,b", "\xe4", "{}", "a\tb", "%0a", 'a"b']
)
def test_request_id_of_the_gateway(surface: Surface, given: str | None) -> None:
    """Without a valid X-Request-Id, each request gets a new ID."""
    headers = [] if given is None else [("X-Request-Id", given)]

    answers = [surface.send("GET", "Cities/2", headers=headers) for _ in range(5)]

    assert {answer.status_code for answer in answers} == {200}
    ids = {answer.headers["x-request-id"] for answer in answers}
    assert len(ids) == 5
    assert all(re.fullmatch(r"[0-9a-f]{16}", each) for each in ids)


@pytest.mark.parametrize(
    "values",
    [
        *([""], ['""'], ["x" * 256], ['"' + "x" * 256 + '"'], ["a b"], ['"a b"'], ["a\tb"]),
        *(["kü"], ["\x7f"], ['"k'], ['"'], ['"a"b"'], [r'"a\b"'], ['"k";p=1'], ["k", "l"]),
    ],
    ids=repr,
)
@pytest.mark.parametrize(("method", "path"), WRITES)
def test_invalid_idempotency_key(
    surface: Surface, method: str, path: str, values: Sequence[str]
) -> None:
    """An Idempotency-Key has 1 to 255 visible ASCII characters. Others are rejected."""
    headers = [JSON, *(("Idempotency-Key", value) for value in values)]

    code, _ = surface.refused(method, path, headers=headers, body=b'{"name":"x"}')

    assert code == (400, 4004)


@pytest.mark.parametrize(("other", "status"), [("k", 201), ("l", 400)])
def test_x_idempotency_key_beside_idempotency_key(
    surface: Surface, other: str, status: int
) -> None:
    """The same key in both headers is one key. Two different keys are an error."""
    headers = [JSON, ("Idempotency-Key", "k"), ("X-Idempotency-Key", other)]

    answer = surface.send("POST", "Cities", headers=headers, body=b'{"name":"x"}')

    assert answer.status_code == status


def test_idempotency_key_of_a_read_is_ignored(surface: Surface) -> None:
    """A read ignores even an invalid Idempotency-Key."""
    answer = surface.send("GET", "Cities/2", headers=[("Idempotency-Key", "a b")])

    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("method", "target", "headers"),
    [
        *(("GET", target, []) for target in ("Cities", "Cities/2", "/livez", "/readyz", "/")),
        ("POST", "New", [JSON]),
        ("PATCH", "Cities/2", [JSON]),
        ("GET", "Nowhere", []),
        ("GET", "Nowhere", [("Accept", "application/problem+json")]),
        ("GET", "/nowhere", []),
        *(("GET", path, []) for path in ("/openapi.json", "/docs")),
        *(("GET", f"/docs/{name}", []) for name in ASSETS),
    ],
    ids=str,
)
def test_encoding_of_text(surface: Surface, method: str, target: str, headers: Headers) -> None:
    """Every text answer declares UTF-8, because some clients assume Latin-1 otherwise."""
    answer = surface.send(method, target, headers=headers, body=b'{"name":"Z\xc3\xbcrich"}')

    assert answer.headers["content-type"].endswith("; charset=utf-8")
    assert answer.content.decode("utf-8")
