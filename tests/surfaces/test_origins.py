"""Origins of pages: keys with origins, and preflights."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.conftest import PAGE
from tests.journeys.failure import is_open, refused
from tests.journeys.operations import ROW
from tests.surfaces.stage import KEYS, Surface, open_surface

CREDENTIAL_HEADERS = [
    *("authorization", "api-key", "x-api-key", "authentication"),
    *("x-spreadsheet-id", "x-sheetson-spreadsheet-id"),
    *("content-type", "idempotency-key", "if-match", "if-none-match", "x-request-id"),
]
VARY = ["Origin", "Access-Control-Request-Method", "Access-Control-Request-Headers"]


@pytest.mark.parametrize(
    ("key", "origins"),
    [
        ("pages", [PAGE]),
        ("pages", [PAGE, PAGE]),
        ("pages", ["https://APP.example.org:443"]),
        ("pages", []),
        ("paid", ["null"]),
        ("paid", [""]),
        ("paid", ["https://a.example", "https://b.example"]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_allowed_origin(surface: Surface, key: str, origins: Sequence[str], method: str) -> None:
    """Programs without an origin are served, and keys without origins serve all pages."""
    headers = [("Origin", origin) for origin in origins]

    answer = surface.send(method, "Cities/2", key=key, headers=headers, body=ROW)

    allowed = [value for name, value in answer.pairs if name == b"access-control-allow-origin"]
    assert answer.status_code == 200
    assert allowed == ([b"*"] if origins else [])
    assert answer.headers["vary"] == "Origin"


@pytest.mark.parametrize(
    "origins",
    [
        *(["http://app.example.org"], [f"{PAGE}:8443"], [f"{PAGE}.evil.example"], [f"{PAGE}/"]),
        *(["https://example.org"], ["null"], [""], [PAGE, ""], [PAGE, "null"]),
        *([PAGE, "https://evil.example"], ["https://evil.example", PAGE]),
        *([f"{PAGE}, https://evil.example"], [f"{PAGE} https://evil.example"]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_other_origin(surface: Surface, origins: Sequence[str], method: str) -> None:
    """Another origin is rejected, also in a second header line or as `null`.

    Pages can read the error.
    """
    headers = [("Origin", origin) for origin in origins]

    code, answer = surface.refused(method, "Cities/2", key="pages", headers=headers, body=ROW)

    allowed = [value for name, value in answer.pairs if name == b"access-control-allow-origin"]
    assert code == (403, 4031)
    assert allowed == [b"*"]


@pytest.mark.parametrize(
    "asked",
    [None, ", ".join(CREDENTIAL_HEADERS), "authorization,x-own", *CREDENTIAL_HEADERS],
    ids=lambda asked: str(asked)[:25],
)
@pytest.mark.parametrize(
    "path", ["Cities", "Cities/", "Cities/2", "Nowhere", "/nowhere", "/v1/x", "%ff"]
)
def test_preflight(surface: Surface, path: str, asked: str | None) -> None:
    """Every preflight gets the same answer, with the headers that it asks for."""
    headers = [] if asked is None else [("Access-Control-Request-Headers", asked)]
    expected = {
        "access-control-allow-origin": "*",
        "access-control-allow-methods": "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT",
        **({"access-control-allow-headers": asked} if asked else {}),
        "access-control-max-age": "86400",
    }
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "ODD"):
        for origin in (PAGE, "null"):
            for key in (None, "pages"):
                answer = surface.send(
                    "OPTIONS",
                    path,
                    key=key,
                    spreadsheet=None,
                    headers=[
                        *headers,
                        ("Origin", origin),
                        ("Access-Control-Request-Method", method),
                    ],
                )
                lines = {name: text for name, text in answer.headers.items() if "access-" in name}

                assert (answer.status_code, answer.content) == (204, b"")
                assert lines == expected
                assert answer.headers["vary"].split(", ") == VARY
    assert (surface.calls.reads, surface.calls.writes) == (0, 0)


@pytest.mark.parametrize("path", ["Cities", "Cities/99", "/nowhere", "/livez"])
@pytest.mark.parametrize("headers", [[], [("Origin", PAGE)]], ids=["program", "page"])
def test_what_differs_by_origin_says_so(
    surface: Surface, path: str, headers: Sequence[tuple[str, str]]
) -> None:
    """`Vary` makes caches keep answers to programs and to pages apart, errors included."""
    answer = surface.send("GET", path, headers=headers)

    assert "Origin" in answer.headers["vary"].split(", ")
    assert ("access-control-allow-origin" in answer.headers) == bool(headers)


REFUSED: Sequence[tuple[Mapping[str, Any], tuple[int, int]]] = [
    ({}, (429, 4290)),
    ({"key": "revoked"}, (429, 4292)),
    ({"spreadsheet": "other"}, (429, 4290)),
    ({"key": None}, (401, 4010)),
]


def test_refusals_and_preflights_of_a_page_that_must_wait(tmp_path: Path) -> None:
    """Pages can read the rate headers of errors. Preflights are never charged or counted."""
    limits = {"plans.paid.requests_per_minute": 1, "access.failures_per_minute": 1}
    names = {name: KEYS[name] for name in ("paid", "revoked")}
    with open_surface(tmp_path, names, limits) as surface:
        for _ in range(20):
            sent = [("Origin", PAGE), ("Access-Control-Request-Method", "PUT")]
            preflight = surface.send("OPTIONS", "Cities", headers=sent)
            assert preflight.status_code == 204
        for _ in range(10):
            assert surface.send("GET", "Cities").status_code == 200
        assert refused(surface.send("GET", "Cities", key="revoked")) == (401, 4011)
        for options, code in REFUSED:
            answer = surface.send("GET", "Cities", headers=[("Origin", "null")], **options)

            assert refused(answer) == code
            assert is_open(answer.headers)
        assert surface.send("OPTIONS", "Cities", headers=sent).status_code == 204
